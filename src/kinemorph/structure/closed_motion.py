"""Time for closed chains: many steps in one call; after each the loops are closed again, so that nothing drifts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.aba import articulated_body
from kinemorph.multibody.checks import NO_FORCES, Matrix, Vector, finite
from kinemorph.multibody.configuration import advance
from kinemorph.multibody.integrators import (
    A1,
    A2,
    A3,
    A4,
    K1,
    K2,
    K3,
    K4,
    Q1,
    TAU,
    V1,
    Trajectory,
    checked,
    checked_steps,
    forces,
    straighten,
    workspace,
)
from kinemorph.multibody.layout import TREE
from kinemorph.structure.closed import closed_body
from kinemorph.structure.closure import CLOSED, LoopError, project_position, project_velocity
from kinemorph.structure.loop_rows import check
from kinemorph.structure.loops import CHAIN, ClosedData, Mechanism


@dataclass(frozen=True, eq=False)
class ClosedTrajectory(Trajectory):
    """States over time, and how far the loops were open at worst after any step (rad or m)."""

    error: float


@kernel(inline=False)
def closed_accelerations(chain: Any, q: Any, v: Any, tau: Any, external: Any, work: Any, a: Any) -> None:
    """a, with springs and dampers; a tree without loops is no more work than it is by itself."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    forces(tree, q, v, tau, work)
    if chain["count"] == 0:
        articulated_body(tree, q, v, work[TAU], external, a)
    else:
        closed_body(chain, q, v, work[TAU], external, a)


@kernel(inline=False)
def closed_stage(chain: Any, q: Any, v: Any, h: float, tau: Any, external: Any, work: Any, before: int) -> None:
    """One stage of RK4: from the rates of the stage before (rows K, A) at a step h, those of the next."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    k, a = work[before], work[before + 4]
    for i in range(tree["nv"]):
        work[V1, i] = v[i] + h * a[i]
    advance(tree, q, k, h, work[Q1])
    straighten(tree, k, h, work[V1], work[before + 1])
    closed_accelerations(chain, work[Q1], work[V1], tau, external, work, work[before + 5])


@kernel(inline=False)
def closed_step(chain: Any, method: int, q: Any, v: Any, h: float, tau: Any, external: Any, work: Any) -> float:
    """One step of semi-implicit Euler or of RK4, then both projections. Returns how far the loops stay open."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    nv = tree["nv"]
    closed_accelerations(chain, q, v, tau, external, work, work[A1])
    if method == 0:
        for i in range(nv):
            v[i] += h * work[A1, i]
        advance(tree, q, v, h, q)
    else:
        for i in range(nv):
            work[K1, i] = v[i]
        closed_stage(chain, q, v, 0.5 * h, tau, external, work, K1)
        closed_stage(chain, q, v, 0.5 * h, tau, external, work, K2)
        closed_stage(chain, q, v, h, tau, external, work, K3)
        for i in range(nv):
            work[K1, i] += 2.0 * (work[K2, i] + work[K3, i]) + work[K4, i]
            v[i] += h / 6.0 * (work[A1, i] + 2.0 * (work[A2, i] + work[A3, i]) + work[A4, i])
        advance(tree, q, work[K1], h / 6.0, q)
    if chain["count"] == 0:
        return 0.0
    error = project_position(chain, q, work[K1], CLOSED)
    project_velocity(chain, q, v, work[K1])
    return error


@entry(nogil=True)
def _run(
    handle: int, method: int, q: Vector, v: Vector, h: float, steps: int, every: int, tau: Vector, external: Matrix,
    work: Matrix, q_log: Matrix, v_log: Matrix, worst: Vector,
) -> int:  # fmt: skip
    """Advance (q, v) in place, and write every `every`-th state. Returns the steps made, fewer if one failed.

    worst[0] becomes the largest error of a loop; one above worst[1] is a failure.
    """
    chain = rows_at(handle, 1, CHAIN)[0]
    for i in range(steps):
        error = closed_step(chain, method, q, v, h, tau, external, work)
        if not (finite(q) and finite(v)):
            return i
        worst[0] = max(worst[0], error)
        if worst[0] > worst[1]:
            return i
        if (i + 1) % every == 0 and (i + 1) // every < q_log.shape[0]:
            row = (i + 1) // every
            for k in range(q.shape[0]):
                q_log[row, k] = q[k]
            for k in range(v.shape[0]):
                v_log[row, k] = v[k]
    return steps


def closed_rollout(
    mechanism: Mechanism,
    data: ClosedData,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike | None = None,
    dt: float = 1e-3,
    steps: int = 1000,
    method: str = "rk4",
    every: int = 1,
    external: npt.ArrayLike = NO_FORCES,
    tolerance: float = 1e-9,
) -> ClosedTrajectory:
    """The motion from a state with closed loops, with constant joint forces; springs and dampers of the tree act too.

    `method` is "rk4" or "euler" (semi-implicit). After every step q and v are projected; a loop that stays open by more
    than `tolerance` raises `LoopError`.
    """
    check(mechanism, data)
    model = mechanism.model
    kind, steps, every = checked_steps(method, dt, steps, every)
    applied = np.zeros(model.nv) if tau is None else tau
    q_now, v_now, tau64, external64 = checked(model, q=q, v=v, tau=applied, external=external)
    count = steps // every + 1
    q_log, v_log = np.empty((count, model.nq)), np.empty((count, model.nv))
    q_log[0], v_log[0] = q_now, v_now
    worst = np.array([0.0, tolerance])
    made = _run(
        data.handle, kind, q_now, v_now, float(dt), steps, every, tau64, external64,
        workspace(model), q_log, v_log, worst,
    )  # fmt: skip
    if made < steps:
        where = f"model {model.name!r}: step {made + 1} (t = {made * dt:g} s)"
        if worst[0] > tolerance:
            text = (
                f"{where} left a loop open by {worst[0]:.3g} (rad or m); a smaller dt than {dt:g} s may help, "
                f"or a larger tolerance than {tolerance:g} if the loop itself is not exact"
            )
            raise LoopError(text, "", float(worst[0]), q_now)
        raise ArithmeticError(f"{where} gave a state that is not finite; a smaller dt than {dt:g} s may help")
    return ClosedTrajectory(np.arange(count) * (dt * every), q_log, v_log, float(worst[0]))
