"""Time: many steps in one call, on the manifold of configurations, with springs, dampers and constant joint forces."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.aba import articulated_body
from kinemorph.multibody.checks import (
    NO_FORCES,
    NOT_FINITE,
    Array,
    Matrix,
    Vector,
    as_arrays,
    belongs,
    complain,
    finite,
)
from kinemorph.multibody.configuration import advance, subtract
from kinemorph.multibody.data import Data
from kinemorph.multibody.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import DOF, LINK, TREE
from kinemorph.multibody.model import Model
from kinemorph.multibody.springs import pull
from kinemorph.spatial.rows import get, load3_at, put, store3_at
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross


class Method(IntEnum):
    """How time advances."""

    EULER = 0  # semi-implicit: first order, one evaluation a step
    RK4 = 1  # fourth order, four evaluations a step


MOST_STEPS = 10_000_000

# rows of the workspace, each max(nq, nv) long
Q1, K1, K2, K3, K4, A1, A2, A3, A4, TAU, Q_FULL, V_FULL, Q_HALF, V_HALF, REST, V1 = range(16)
WORK_ROWS = 16


@kernel(inline=False)
def forces(tree: Any, q: Any, v: Any, tau: Any, work: Any) -> None:
    """Total joint force: what is applied, minus dampers, minus springs about their rest."""
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    total = work[TAU]
    if tree["springs"] != 0:
        pull(tree, work[REST], q, total)
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - get(total, k) - dofs[k]["damping"] * get(v, k))
    else:
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - dofs[k]["damping"] * get(v, k))


@kernel(inline=False)
def accelerations(tree: Any, q: Any, v: Any, tau: Any, external: Any, work: Any, a: Any) -> None:
    forces(tree, q, v, tau, work)
    articulated_body(tree, q, v, work[TAU], external, a)


@kernel
def euler_step(tree: Any, q: Any, v: Any, h: Scalar, tau: Any, external: Any, work: Any) -> None:
    """v += h a, then q moves with the new v."""
    accelerations(tree, q, v, tau, external, work, work[A1])
    for k in range(tree["nv"]):
        put(v, k, get(v, k) + h * get(work[A1], k))
    advance(tree, q, v, h, q)


@kernel
def bend(w: Vec3, u: Vec3) -> Vec3:
    """u + ½ w x u + 1/12 w x (w x u)"""
    wu = cross(w, u)
    return axpy(axpy(u, 0.5, wu), 1.0 / 12.0, cross(w, wu))


@kernel(inline=False)
def straighten(tree: Any, s: Any, h: Scalar, v: Any, k: Any) -> None:
    """The rate k of the coordinates s h of q ⊕ s h when the velocity there is v.

    Coordinates of rotations turn with the motion: k = v + ½ [s h, v] + 1/12 [s h, [s h, v]] (Munthe-Kaas), to the order
    that RK4 needs. All other joints have k = v.
    """
    links = rows_at(tree["links"], tree["n"], LINK)
    for i in range(tree["n"]):
        l = links[i]
        j = l["iv"]
        if l["kind"] == SPHERICAL:
            w = load3_at(s, j)
            store3_at(k, j, bend((w[0] * h, w[1] * h, w[2] * h), load3_at(v, j)))
        elif l["kind"] == FREE:
            w = load3_at(s, j)
            u = load3_at(s, j + 3)
            w = (w[0] * h, w[1] * h, w[2] * h)
            u = (u[0] * h, u[1] * h, u[2] * h)
            x = load3_at(v, j)
            y = load3_at(v, j + 3)
            x1 = cross(w, x)
            y1 = add(cross(w, y), cross(u, x))
            store3_at(k, j, axpy(axpy(x, 0.5, x1), 1.0 / 12.0, cross(w, x1)))
            store3_at(k, j + 3, axpy(axpy(y, 0.5, y1), 1.0 / 12.0, add(cross(w, y1), cross(u, x1))))
        else:
            for c in range(j, j + l["nv"]):
                put(k, c, get(v, c))


@kernel(inline=False)
def stage(tree: Any, q: Any, v: Any, h: Scalar, tau: Any, external: Any, work: Any, before: int) -> None:
    """One stage of RK4: from the rates of the stage before (rows K, A) at a step h, those of the next."""
    k, a = work[before], work[before + 4]
    for i in range(tree["nv"]):
        put(work[V1], i, get(v, i) + h * get(a, i))
    advance(tree, q, k, h, work[Q1])
    straighten(tree, k, h, work[V1], work[before + 1])
    accelerations(tree, work[Q1], work[V1], tau, external, work, work[before + 5])


@kernel(inline=False)
def rk4_step(tree: Any, q: Any, v: Any, h: Scalar, tau: Any, external: Any, work: Any, q_out: Any, v_out: Any) -> None:
    """One step of the classical method, its slopes taken in the coordinates around q (Munthe-Kaas)."""
    nv = tree["nv"]
    for i in range(nv):
        put(work[K1], i, get(v, i))
    accelerations(tree, q, v, tau, external, work, work[A1])
    stage(tree, q, v, 0.5 * h, tau, external, work, K1)
    stage(tree, q, v, 0.5 * h, tau, external, work, K2)
    stage(tree, q, v, h, tau, external, work, K3)
    sixth = h / 6.0
    for i in range(nv):
        k = get(work[K1], i) + 2.0 * (get(work[K2], i) + get(work[K3], i)) + get(work[K4], i)
        a = get(work[A1], i) + 2.0 * (get(work[A2], i) + get(work[A3], i)) + get(work[A4], i)
        put(work[K1], i, k)
        put(v_out, i, get(v, i) + sixth * a)
    advance(tree, q, work[K1], sixth, q_out)


@kernel
def distance(tree: Any, q0: Any, v0: Any, q1: Any, v1: Any, work: Any) -> float:
    """The largest difference of two states, relative to 1 + |v| for velocities. work[K1] keeps q1 ⊖ q0."""
    subtract(tree, q0, q1, work[K1])
    largest = 0.0
    for k in range(tree["nv"]):
        largest = max(largest, abs(work[K1, k]), abs(v1[k] - v0[k]) / (1.0 + abs(v1[k])))
    return largest


@kernel(inline=False)
def adaptive_step(
    tree: Any, q: Any, v: Any, h: float, tau: Any, external: Any, tolerance: float, work: Any
) -> tuple[bool, float]:
    """Try a step h as one and as two halves (Fontijne 3.3). Returns whether it was taken, and the next h to try.

    The difference of the two estimates the error; it is also added to the better one (Richardson).
    """
    rk4_step(tree, q, v, h, tau, external, work, work[Q_FULL], work[V_FULL])
    rk4_step(tree, q, v, 0.5 * h, tau, external, work, work[Q_HALF], work[V_HALF])
    rk4_step(tree, work[Q_HALF], work[V_HALF], 0.5 * h, tau, external, work, work[Q_HALF], work[V_HALF])
    error = distance(tree, work[Q_FULL], work[V_FULL], work[Q_HALF], work[V_HALF], work) / tolerance
    if not error <= 1.0:  # also if it is NaN
        return False, h * max(0.2, 0.9 * error**-0.25) if error < 1e12 else 0.1 * h
    advance(tree, work[Q_HALF], work[K1], 1.0 / 15.0, q)
    for k in range(tree["nv"]):
        v[k] = work[V_HALF, k] + (work[V_HALF, k] - work[V_FULL, k]) / 15.0
    return True, h * min(5.0, 0.9 * max(error, 1e-10) ** -0.2)


@entry(nogil=True)
def _run(
    address: int, method: int, q: Vector, v: Vector, h: float, steps: int, every: int, tau: Vector, external: Matrix,
    work: Matrix, q_log: Matrix, v_log: Matrix,
) -> int:  # fmt: skip
    """Advance (q, v) in place, and write every `every`-th state. Returns the steps made, fewer if one failed."""
    tree = rows_at(address, 1, TREE)[0]
    nq, nv = tree["nq"], tree["nv"]
    if q.shape[0] != nq or v.shape[0] != nv or tau.shape[0] != nv:
        return -1
    if external.shape[0] > 0 and (external.shape[0] != tree["n"] or external.shape[1] != 6):
        return -1
    for i in range(steps):
        if method == 0:
            euler_step(tree, q, v, h, tau, external, work)
        else:
            rk4_step(tree, q, v, h, tau, external, work, q, v)
        if not (finite(q) and finite(v)):
            return i
        if (i + 1) % every == 0 and (i + 1) // every < q_log.shape[0]:
            row = (i + 1) // every
            for k in range(nq):
                q_log[row, k] = q[k]
            for k in range(nv):
                v_log[row, k] = v[k]
    return steps


@entry(nogil=True)
def _run_adaptive(
    address: int, q: Vector, v: Vector, times: Vector, tau: Vector, external: Matrix, tolerance: float, h: float,
    most: int, work: Matrix, q_log: Matrix, v_log: Matrix,
) -> int:  # fmt: skip
    """Advance (q, v) from times[0] to each later time. Returns how many of the times were reached."""
    tree = rows_at(address, 1, TREE)[0]
    nq, nv = tree["nq"], tree["nv"]
    if q.shape[0] != nq or v.shape[0] != nv or tau.shape[0] != nv:
        return -1
    if external.shape[0] > 0 and (external.shape[0] != tree["n"] or external.shape[1] != 6):
        return -1
    tries = 0
    for i in range(times.shape[0]):
        t = times[i - 1] if i > 0 else times[0]
        while t < times[i]:
            tries += 1
            if tries > most or t + h == t:
                return i
            last = t + h * (1.0 + 1e-9) >= times[i]
            taken, proposed = adaptive_step(tree, q, v, times[i] - t if last else h, tau, external, tolerance, work)
            if taken:
                t = times[i] if last else t + h
            if not (taken and last):  # a step that was cut to meet a time says little about the next
                h = proposed
        for k in range(nq):
            q_log[i, k] = q[k]
        for k in range(nv):
            v_log[i, k] = v[k]
    return times.shape[0]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States over time: `q[i]` and `v[i]` at time `t[i]`, in seconds."""

    t: npt.NDArray[Any]
    q: Array
    v: Array


def step(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike | None = None,
    dt: float = 1e-3,
    steps: int = 1,
    method: str = "rk4",
    external: npt.ArrayLike = NO_FORCES,
) -> tuple[Array, Array]:
    """The state after `steps` steps of `dt` seconds, with constant joint forces; springs and dampers act as well.

    `method` is "rk4" (fourth order) or "euler" (semi-implicit, first order, a quarter of the cost).
    """
    end = rollout(model, data, q, v, tau, dt, steps, method, every=max(1, steps), external=external)
    return end.q[-1], end.v[-1]


def rollout(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike | None = None,
    dt: float = 1e-3,
    steps: int = 1000,
    method: str = "rk4",
    every: int = 1,
    external: npt.ArrayLike = NO_FORCES,
) -> Trajectory:
    """Like `step`, and keeps the start and every `every`-th state."""
    if type(data) is not Data or data.model is not model:
        belongs(model, data)
    kind, steps, every = checked_steps(method, dt, steps, every)
    applied = np.zeros(model.nv) if tau is None else tau
    q_now, v_now, tau64, external64 = checked(model, q=q, v=v, tau=applied, external=external)
    count = steps // every + 1
    q_log, v_log = np.empty((count, model.nq)), np.empty((count, model.nv))
    q_log[0], v_log[0] = q_now, v_now
    made = _run(
        data.address, kind, q_now, v_now, float(dt), steps, every, tau64, external64,
        workspace(model), q_log, v_log,
    )  # fmt: skip
    if made < steps:
        raise ArithmeticError(
            f"model {model.name!r}: step {made + 1} (t = {made * dt:g} s) gave a state that is not finite; "
            f"a smaller dt than {dt:g} s may help"
        )
    return Trajectory(np.arange(count) * (dt * every), q_log, v_log)


def rollout_adaptive(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    times: npt.ArrayLike,
    tau: npt.ArrayLike | None = None,
    tolerance: float = 1e-9,
    external: npt.ArrayLike = NO_FORCES,
    most_steps: int = MOST_STEPS,
) -> Trajectory:
    """States at given times, by RK4 with step doubling: each step's error estimate stays below `tolerance`."""
    if type(data) is not Data or data.model is not model:
        belongs(model, data)
    applied = np.zeros(model.nv) if tau is None else tau
    q_now, v_now, tau64, external64, t = checked(model, q=q, v=v, tau=applied, external=external, times=times)
    if t.ndim != 1 or not t.size or (np.diff(t) < 0.0).any():
        raise ValueError("times must be a list of numbers that do not decrease, the start first")
    if not tolerance > 0.0:
        raise ValueError(f"tolerance {tolerance} must be positive")
    q_log, v_log = np.empty((t.size, model.nq)), np.empty((t.size, model.nv))
    reached = _run_adaptive(
        data.address, q_now, v_now, t, tau64, external64, float(tolerance), 1e-3, most_steps, workspace(model),
        q_log, v_log,
    )  # fmt: skip
    if reached < t.size:
        raise ArithmeticError(
            f"model {model.name!r}: could not reach t = {t[reached]:g} s within tolerance {tolerance:g} and "
            f"{most_steps} steps; the motion may be too stiff"
        )
    return Trajectory(t.copy(), q_log, v_log)


def workspace(model: Model, rows: int = WORK_ROWS, least: int = 1) -> Array:
    """Rows for the stages of a step, `least` or more numbers long."""
    work = np.zeros((rows, max(model.nq, model.nv, least)))
    work[REST, : model.nq] = model.rest
    return work


def checked(model: Model, **values: Any) -> Any:
    """Copies of what users pass, by name, after the same checks as everywhere."""
    arrays = [array.copy() for array in as_arrays(model, **values)]
    if not all(np.isfinite(array).all() for array in arrays):
        complain(model, NOT_FINITE, **values)
    return arrays


def checked_steps(method: str, dt: float, steps: int, every: int) -> tuple[int, int, int]:
    """The number of a method, how many steps to make, and every how many to keep one, if all of that makes sense."""
    steps, every = operator.index(steps), operator.index(every)
    if str(method).upper() not in Method.__members__:
        raise ValueError(f"method {method!r} is not one of {', '.join(m.name.lower() for m in Method)}")
    if not (np.isfinite(dt) and steps >= 0 and every >= 1):
        raise ValueError(f"dt {dt} must be finite, steps {steps} not negative, every {every} at least 1")
    return int(Method[str(method).upper()]), steps, every
