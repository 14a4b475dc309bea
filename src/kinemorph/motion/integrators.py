"""One step of time, on the manifold of configurations, with springs, dampers and joint forces, and with loops closed.

Kernels are written for any scalar: batches make the same steps with four states in a register. A step of RK4 is in
pieces (`rk4_approach`, `rk4_combine`), so that forces which are a Python function can be asked for at every stage.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.constraint.closure import CLOSED_ERROR, project_position, project_velocity
from kinemorph.constraint.dynamics import constrained_body
from kinemorph.constraint.gears import follow_gears
from kinemorph.constraint.passive import apply_passive_link_forces, fill_joint_forces
from kinemorph.jit.api import for_lanes, generic, kernel
from kinemorph.multibody.algorithms.configuration import advance_configuration, subtract_configurations
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.checks import Array
from kinemorph.multibody.layout import links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.rows import get, load3_at, put, store3_at
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross


class Method(IntEnum):
    """How time advances."""

    EULER = 0  # semi-implicit: first order, one evaluation a step
    RK4 = 1  # fourth order, four evaluations a step
    ADAPTIVE = 2  # RK4 with step doubling


EULER, RK4, ADAPTIVE = (int(m) for m in Method)

# rows of the workspace, each max(nq, nv) long
Q1, K1, K2, K3, K4, A1, A2, A3, A4, TAU, Q_FULL, V_FULL, Q_NEXT, V_NEXT, REST, V1 = range(16)
WORK_ROWS = 16
GEAR_LOOP_ROUNDS = 3  # of gears and loops in turn: what one moves, the other moves back by less


@kernel(inline=False)
def accelerations(tree: Any, q: Any, v: Any, tau: Any, external: Any, work: Any, a: Any) -> None:
    fill_joint_forces(tree, work[REST], q, v, tau, work[TAU])
    apply_passive_link_forces(tree, q, v)
    constrained_body(tree, q, v, work[TAU], external, a)


@kernel(inline=False)
def project_state(tree: Any, q: Any, v: Any, step: Any) -> float:
    gap = 0.0
    for _ in range(GEAR_LOOP_ROUNDS if tree["gears"] != 0 else 1):
        if tree["gears"] != 0:
            follow_gears(tree, q, v)
        gap = project_position(tree, q, step, CLOSED_ERROR)
        project_velocity(tree, q, v, step)
    return gap


@generic
def close_step_loops(tree: Any, q: Any, v: Any, step: Any) -> float:
    """Project the state onto closed loops after a step. Returns the error that remains (rad or m)."""
    return project_state(tree, q, v, step) if tree["system"] != 0 else 0.0


@for_lanes(close_step_loops)
def _close_step_loops_lanes(tree: Any, q: Any, v: Any, step: Any) -> float:
    return 0.0


@kernel
def euler_step(tree: Any, q: Any, v: Any, dt: Scalar, tau: Any, external: Any, work: Any) -> float:
    """v += dt a, then q moves with the new v. Returns how far loops stay open."""
    accelerations(tree, q, v, tau, external, work, work[A1])
    return euler_move(tree, q, v, dt, work)


@kernel
def euler_move(tree: Any, q: Any, v: Any, dt: Scalar, work: Any) -> float:
    for k in range(tree["nv"]):
        put(v, k, get(v, k) + dt * get(work[A1], k))
    advance_configuration(tree, q, v, dt, q)
    return close_step_loops(tree, q, v, work[K1])


@kernel
def inverse_dexp(w: Vec3, u: Vec3) -> Vec3:
    """u + ½ w x u + 1/12 w x (w x u)"""
    wu = cross(w, u)
    return axpy(axpy(u, 0.5, wu), 1.0 / 12.0, cross(w, wu))


@kernel(inline=False)
def coordinate_rate(tree: Any, s: Any, dt: Scalar, v: Any, k: Any) -> None:
    """The rate k of the coordinates s dt of q ⊕ s dt when the velocity there is v.

    Coordinates of rotations turn with the motion: k = v + ½ [s dt, v] + 1/12 [s dt, [s dt, v]] (Munthe-Kaas), to the
    order that RK4 needs. All other joints have k = v.
    """
    links = links_of(tree)
    for i in range(tree["n"]):
        l = links[i]
        j = l["iv"]
        if l["kind"] == SPHERICAL:
            w = load3_at(s, j)
            store3_at(k, j, inverse_dexp((w[0] * dt, w[1] * dt, w[2] * dt), load3_at(v, j)))
        elif l["kind"] == FREE:
            w = load3_at(s, j)
            u = load3_at(s, j + 3)
            w = (w[0] * dt, w[1] * dt, w[2] * dt)
            u = (u[0] * dt, u[1] * dt, u[2] * dt)
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
def rk4_approach(tree: Any, q: Any, v: Any, dt: Scalar, work: Any, before: int) -> None:
    """The state of the next stage of RK4 (rows Q1, V1, and its rate), from the rates of the one before at a step dt.

    `before` is its row of rates, K1 to K3; with K1, the rate v of the first stage is set as well.
    """
    if before == K1:
        for i in range(tree["nv"]):
            put(work[K1], i, get(v, i))
    k, a = work[before], work[before + 4]
    for i in range(tree["nv"]):
        put(work[V1], i, get(v, i) + dt * get(a, i))
    advance_configuration(tree, q, k, dt, work[Q1])
    coordinate_rate(tree, k, dt, work[V1], work[before + 1])


@kernel(inline=False)
def rk4_combine(tree: Any, q: Any, v: Any, dt: Scalar, work: Any) -> float:
    """The state after a step of RK4, in place, from the rates of its four stages. Returns how far loops stay open."""
    sixth = dt / 6.0
    for i in range(tree["nv"]):
        k = get(work[K1], i) + 2.0 * (get(work[K2], i) + get(work[K3], i)) + get(work[K4], i)
        a = get(work[A1], i) + 2.0 * (get(work[A2], i) + get(work[A3], i)) + get(work[A4], i)
        put(work[K1], i, k)
        put(v, i, get(v, i) + sixth * a)
    advance_configuration(tree, q, work[K1], sixth, q)
    return close_step_loops(tree, q, v, work[K1])


@kernel(inline=False)
def rk4_step(tree: Any, q: Any, v: Any, dt: Scalar, tau: Any, external: Any, work: Any) -> float:
    """One step of the classical method in place, its slopes taken in the coordinates around q (Munthe-Kaas).

    Returns how far loops stay open.
    """
    accelerations(tree, q, v, tau, external, work, work[A1])
    rk4_approach(tree, q, v, 0.5 * dt, work, K1)
    accelerations(tree, work[Q1], work[V1], tau, external, work, work[A2])
    rk4_approach(tree, q, v, 0.5 * dt, work, K2)
    accelerations(tree, work[Q1], work[V1], tau, external, work, work[A3])
    rk4_approach(tree, q, v, dt, work, K3)
    accelerations(tree, work[Q1], work[V1], tau, external, work, work[A4])
    return rk4_combine(tree, q, v, dt, work)


@kernel
def relative_state_error(tree: Any, q0: Any, v0: Any, q1: Any, v1: Any, work: Any) -> float:
    """The largest difference of two states, relative to 1 + |v| for velocities. work[K1] keeps q1 ⊖ q0."""
    subtract_configurations(tree, q0, q1, work[K1])
    largest = 0.0
    for k in range(tree["nv"]):
        largest = max(largest, abs(work[K1, k]), abs(v1[k] - v0[k]) / (1.0 + abs(v1[k])))
    return largest


@kernel(inline=False)
def extrapolate_halved_step(tree: Any, tolerance: float, gap: float, work: Any) -> tuple[float, float]:
    """Compare a step as one (rows FULL) with the same as two halves (rows NEXT), and better the second (Fontijne 3.3).

    Returns how far loops stay open, and the error as a share of the tolerance. The difference of the two estimates the
    error; it is also added to the better one (Richardson).
    """
    q, v = work[Q_NEXT], work[V_NEXT]
    error = relative_state_error(tree, work[Q_FULL], work[V_FULL], q, v, work) / tolerance
    if error <= 1.0:
        advance_configuration(tree, q, work[K1], 1.0 / 15.0, q)
        for k in range(tree["nv"]):
            v[k] += (v[k] - work[V_FULL, k]) / 15.0
        gap = close_step_loops(tree, q, v, work[K1])
    return gap, error


def make_integrator_workspace(model: Model) -> Array:
    """Rows for the stages of a step."""
    work = np.zeros((WORK_ROWS, max(model.nq, model.nv, 1)))
    work[REST, : model.nq] = model.rest
    return work
