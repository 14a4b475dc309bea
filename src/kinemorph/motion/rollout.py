"""Trajectories: many steps in one call, from one state, with constant forces."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.constraint.closure import LoopError
from kinemorph.jit.api import entry
from kinemorph.motion.exceeded_limits import warn_ignored
from kinemorph.motion.integrators import ADAPTIVE, Method, make_integrator_workspace
from kinemorph.motion.stepping import RUN, Halt, march
from kinemorph.multibody import checks
from kinemorph.multibody.checks import NO_FORCES, Array, Matrix, Vector, check_quaternions, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_finite, check_whole, repr_of

MOST_ROLLOUT_STEPS = 10_000_000
FIRST_STEP = 1e-3  # s, of an adaptive rollout
LATEST_TIME = FIRST_STEP * 2.0**53  # s: at later times such steps are lost in rounding
STEPS_AT_ONCE = 10_000  # that are tried in one call, which Ctrl-C does not end
_METHODS = {m.name.lower(): int(m) for m in Method if m is not Method.ADAPTIVE}


@checked_on_failure
@dataclass(frozen=True, eq=False)
class Trajectory:
    """States over time: `q[i]` and `v[i]` at time `t[i]`, in seconds.

    `loop_error` is how far the loops were open at worst after any step (rad or m).
    """

    t: npt.NDArray[Any]
    q: Array
    v: Array
    loop_error: float = 0.0


@checked_on_failure
def step(
    model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike | None = None, dt: float = 1e-3,
    steps: int = 1, method: str = "rk4", external: npt.ArrayLike = NO_FORCES, gap: float = 1e-9,
) -> tuple[Array, Array]:  # fmt: skip
    """The state after `steps` steps of `dt` seconds, with constant joint forces; springs and dampers act as well.

    `method` is "rk4" (fourth order) or "euler" (semi-implicit, first order, a quarter of the cost). Loops are closed
    again after every step; one that stays open by more than `gap` (rad or m) raises `LoopError`.
    """
    end = rollout(model, data, q, v, tau, dt, steps, method, every=max(1, steps), external=external, gap=gap)
    return end.q[-1], end.v[-1]


@checked_on_failure
def rollout(
    model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike | None = None, dt: float = 1e-3,
    steps: int = 1000, method: str = "rk4", every: int = 1, external: npt.ArrayLike = NO_FORCES, gap: float = 1e-9,
) -> Trajectory:  # fmt: skip
    """Like `step`, and keeps the start and every `every`-th state."""
    checks.check_data(model, data)
    kind, steps, every = checked_steps(method, dt, steps, every)
    run, q_now, v_now, tau64, given = _start(model, q, v, tau, external, gap)
    row = run[0]
    row["method"], row["dt"], row["last"], row["every"] = kind, dt, steps, every
    row["frames"], row["budget"] = 1, -1
    count = steps // every + 1
    try:
        q_log, v_log = np.empty((count, model.nq)), np.empty((count, model.nv))
    except (ValueError, MemoryError):
        raise ValueError(f"rollout: steps {steps}, of which {count} are kept, need too much memory") from None
    q_log[0], v_log[0] = q_now, v_now
    work = make_integrator_workspace(model)
    with data.claimed() as address:
        pushes = data.pushed_by(given)
        halt = Halt(march(address, run.ctypes.data, q_now, v_now, tau64, pushes, work, q_log, v_log))
    if row["point"] < steps:
        raise _failure(model, row, halt, q_now, f"a smaller dt than {dt:g} s may help")
    warn_ignored(model, q_log, v_log, tau64)
    return Trajectory(np.arange(count) * (dt * every), q_log, v_log, float(row["worst"]))


@checked_on_failure
def rollout_adaptive(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    times: npt.ArrayLike,
    tau: npt.ArrayLike | None = None,
    tolerance: float = 1e-9,
    external: npt.ArrayLike = NO_FORCES,
    most_steps: int = MOST_ROLLOUT_STEPS,
    gap: float = 1e-9,
) -> Trajectory:
    """States at given times, by RK4 with step doubling: each step's error estimate stays below `tolerance`."""
    checks.check_data(model, data)
    (t,) = checks.checked_copies(model, times=times)
    check_finite("times: the largest", float(np.abs(t).max(initial=0.0)), 0.0, LATEST_TIME)
    if t.ndim != 1 or not t.size or (np.diff(t) < 0.0).any():
        raise ValueError("times must be a list of numbers that do not decrease, the start first")
    if not tolerance > 0.0:
        raise ValueError(f"tolerance {tolerance} must be positive")
    run, q_now, v_now, tau64, given = _start(model, q, v, tau, external, gap)
    run[0]["method"], run[0]["tolerance"], run[0]["h"] = ADAPTIVE, tolerance, FIRST_STEP
    run[0]["last"] = run[0]["every"] = 1
    left = check_whole("rollout_adaptive: most_steps", most_steps)
    q_log, v_log = np.empty((t.size, model.nq)), np.empty((t.size, model.nv))
    q_log[0], v_log[0] = q_now, v_now
    work = make_integrator_workspace(model)
    with data.claimed() as address:
        pushes = data.pushed_by(given)
        for i in range(1, t.size):
            run[0]["start"] = run[0]["t"] = t[i - 1]
            run[0]["dt"], run[0]["point"], run[0]["frames"], run[0]["tries"] = t[i] - t[i - 1], 0, 0, 0
            if t[i] > t[i - 1]:
                halt = Halt.PAUSE
                while halt is Halt.PAUSE and left > 0 and not run[0]["point"]:
                    run[0]["budget"] = piece = min(left, STEPS_AT_ONCE)
                    logs = q_log[i : i + 1], v_log[i : i + 1]
                    halt = Halt(march(address, run.ctypes.data, q_now, v_now, tau64, pushes, work, *logs))
                    left -= piece - int(run[0]["budget"])
                if not run[0]["point"]:
                    check_quaternions(model, q_now)
                    raise ArithmeticError(
                        f"model {model.name!r}: could not reach t = {t[i]:g} s within tolerance {tolerance:g} and "
                        f"{most_steps} steps; the motion may be too stiff"
                    )
            else:
                q_log[i], v_log[i] = q_now, v_now
    warn_ignored(model, q_log, v_log, tau64)
    return Trajectory(t.copy(), q_log, v_log, float(run[0]["worst"]))


@entry
def _all_finite(q: Vector, v: Vector, tau: Vector, external: Matrix) -> bool:
    """Whether all numbers are finite."""
    return finite(q) and finite(v) and finite(tau) and finite(external.reshape(external.size))


def _start(model: Model, q: Any, v: Any, tau: Any, external: Any, gap: float) -> tuple[Any, ...]:
    """A run and the arrays that it starts with."""
    if not gap > 0.0:
        raise ValueError(f"gap {gap} must be positive")
    applied = np.zeros(model.nv) if tau is None else tau
    q64, v64, tau64, external64 = checks.as_arrays(model, q=q, v=v, tau=applied, external=external)
    if not _all_finite(q64, v64, tau64, external64):
        checks.checked_copies(model, q=q, v=v, tau=applied, external=external)
    run = np.zeros(1, RUN)
    run[0]["gap"], run[0]["most_tries"] = gap, MOST_ROLLOUT_STEPS
    return run, q64.copy(), v64.copy(), tau64, external64


def _failure(model: Model, run: Any, halt: Halt, q: Array, advice: str) -> Exception:
    where = f"model {model.name!r}: step {run['point'] + 1} (t = {run['t']:g} s)"
    if halt is Halt.OPEN:
        text = f"{where} left a loop open by {run['open']:.3g} (rad or m); {advice}"
        return LoopError(
            f"{text}, or a larger gap than {run['gap']:g} if the loop itself is not exact", "", float(run["open"]), q
        )
    check_quaternions(model, q)
    return ArithmeticError(f"{where} gave a state that is not finite; {advice}")


def checked_steps(method: str, dt: float, steps: int, every: int) -> tuple[int, int, int]:
    """The number of a method, how many steps to make, and every how many to keep one, if all of that makes sense."""
    steps, every = operator.index(steps), operator.index(every)
    kind = _METHODS.get(str(method).lower())
    if kind is None:
        raise ValueError(f"method {repr_of(method)} is not one of {', '.join(_METHODS)}")
    if not (math.isfinite(dt) and steps >= 0 and every >= 1):
        raise ValueError(f"dt {dt} must be finite, steps {steps} not negative, every {every} at least 1")
    return kind, steps, every
