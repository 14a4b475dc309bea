"""Steps with forces that are a Python function: it is asked at every stage, so that the method keeps its order."""

from __future__ import annotations

from collections.abc import Callable

from kinemorph.motion.integrators import A1, A2, ADAPTIVE, EULER, K1, Q1, Q_FULL, Q_NEXT, V1, V_FULL, V_NEXT
from kinemorph.motion.stepping import Runs, accelerate, approach, combine, compare
from kinemorph.multibody.checks import Array

# joint forces and forces on links at q, v and a time
ForceCallback = Callable[[Array, Array, float], tuple[Array, Array]]


def make_callback_step(address: int, runs: Runs, ask: ForceCallback, q: Array, v: Array, h: float, work: Array) -> None:
    """Make a step from (q, v), into the rows Q_NEXT and V_NEXT, like the kernel `take`."""
    run = runs[0]
    nq, nv, t, method = len(q), len(v), float(run["t"]), int(run["method"])

    def one(q: Array, v: Array, t: float, h: float) -> float:
        """One step of RK4 or Euler, in place."""
        accelerate(address, runs, q, v, *ask(q, v, t), work, A1)
        if method != EULER:
            for i, share in enumerate((0.5, 0.5, 1.0)):
                approach(address, q, v, share * h, work, K1 + i)
                q1, v1 = work[Q1, :nq], work[V1, :nv]
                accelerate(address, runs, q1, v1, *ask(q1, v1, t + share * h), work, A2 + i)
        return float(combine(address, runs, q, v, h, work))

    work[Q_NEXT, :nq], work[V_NEXT, :nv] = q, v
    next_q, next_v = work[Q_NEXT, :nq], work[V_NEXT, :nv]
    run["error"] = 0.0
    if method != ADAPTIVE:
        run["open"] = one(next_q, next_v, t, h)
    else:
        work[Q_FULL, :nq], work[V_FULL, :nv] = q, v
        one(work[Q_FULL, :nq], work[V_FULL, :nv], t, h)
        one(next_q, next_v, t, 0.5 * h)
        run["open"] = one(next_q, next_v, t + 0.5 * h, 0.5 * h)
        compare(address, runs, work)
    run["made"] = 1
