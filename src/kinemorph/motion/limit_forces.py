"""Joints at their limits: the force that holds them there, and steps of a mechanism some of whose joints are held.

A joint at a limit that pushes against it loses a degree of freedom: J a + J̇ v = 0 along the limit, with a force that
only pushes back. Accelerations are linear in joint forces, loops and gears included, so the response to a unit force of
each stop is what forward dynamics make of it, and a matrix as small as there are stops says how large the forces are.

Of most joints J is one degree of freedom. Of a ball joint, whose limits are on the parts of its rotation vector φ, it
is the row of φ̇ = B(φ) ω, which turns as the joint moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.dynamics import constrained_body
from kinemorph.constraint.gears import DEPENDENT_GEAR_SHARE, solve_gears
from kinemorph.constraint.passive import apply_passive_link_forces, fill_joint_forces
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.motion.events import EVENT, HELD, STOP
from kinemorph.motion.integrators import (
    A1,
    A2,
    A3,
    A4,
    EULER,
    K1,
    K2,
    K3,
    Q1,
    REST,
    TAU,
    V1,
    accelerations,
    close_step_loops,
    euler_move,
    euler_step,
    rk4_approach,
    rk4_combine,
    rk4_step,
)  # fmt: skip
from kinemorph.multibody.algorithms.joints import SPHERICAL
from kinemorph.multibody.checks import Matrix, Vector
from kinemorph.multibody.layout import TREE, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.quaternion import exp, log, log_shift
from kinemorph.spatial.rows import load3, load3_at, load4_at, store3, store3_at, store4_at
from kinemorph.spatial.scalar import sincos, sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale

ROUNDS = 3  # of stops and loops in turn, and of forces: what is left of the first solve is rounding
SIDE_CHANGE_ANGLE = 0.01  # rad: by more than this a held ball joint moves only if its rotation vector changes sides

HOLD = np.dtype(
    [
        ("link", "i8"),
        ("entry", "i8"),  # of the joint's position, or of its rotation vector
        ("row", "i8"),  # its EVENT row
        ("sign", "f8"),  # 1 for a lower limit, -1 for an upper one
        ("level", "f8"),  # rad or m
        ("m", "f8", 3),  # J, of the joint's degrees of freedom; `aim`
        ("bias", "f8"),  # J̇ v; `aim`
        ("force", "f8"),  # N m or N, along J; `stopped`
    ],
    align=True,
)


def stop_workspace_size(count: int, nv: int) -> int:
    """Numbers that `stopped` needs for so many stops."""
    return (2 + count) * nv + 2 * count * (count + 1)


@kernel
def pick(x: Vec3, other_index: int) -> float:
    return x[0] if other_index == 0 else x[1] if other_index == 1 else x[2]


@kernel
def unit(other_index: int, size: float) -> Vec3:
    return (size if other_index == 0 else 0.0, size if other_index == 1 else 0.0, size if other_index == 2 else 0.0)


@kernel
def position_of(link: Any, q: Any, entry: int) -> float:
    """An entry of a joint's position; of a ball joint, of its rotation vector."""
    if link["kind"] == SPHERICAL:
        return pick(log(load4_at(q, link["iq"])), entry)
    return q[link["iq"] + entry]


@kernel(inline=False)
def rotation_vector_acceleration(phi: Vec3, w: Vec3) -> Vec3:
    """φ̈ of a rotation vector φ at constant ω: with φ̇ = ω + ½ φ x ω + c φ x (φ x ω), what changes as φ does."""
    t2 = dot(phi, phi)
    pw = cross(phi, w)
    ppw = cross(phi, pw)
    if t2 < 1e-4:
        c = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * (1.0 / 30240.0))
        change = 1.0 / 360.0 + t2 * (1.0 / 7560.0)  # c' / t
    else:
        x = 0.5 * sqrt(t2)
        s, cs = sincos(x)
        cot = cs / s
        c = (1.0 - x * cot) / t2
        change = ((x / (s * s) - cot) / (8.0 * x * x) - (1.0 - x * cot) / (4.0 * x * x * x)) / (2.0 * x)
    rate = add(axpy(w, 0.5, pw), scale(ppw, c))
    rw = cross(rate, w)
    turn = add(cross(rate, pw), cross(phi, rw))
    return add(axpy(scale(rw, 0.5), c, turn), scale(ppw, change * dot(phi, rate)))


@kernel(inline=False)
def fill_stop_jacobians(tree: Any, holds: Any, q: Any, v: Any) -> None:
    """J and J̇ v of all stops at a state."""
    links = links_of(tree)
    for i in range(holds.shape[0]):
        projection = holds[i]
        l = links[projection["link"]]
        if l["kind"] == SPHERICAL:
            phi = log(load4_at(q, l["iq"]))
            store3(projection["m"], log_shift(phi, unit(projection["entry"], projection["sign"])))
            projection["bias"] = projection["sign"] * pick(
                rotation_vector_acceleration(phi, load3_at(v, l["iv"])), projection["entry"]
            )
        else:
            store3(projection["m"], (projection["sign"], 0.0, 0.0))
            projection["bias"] = 0.0


@kernel
def rate_along_stop(tree: Any, projection: Any, v: Any) -> float:
    """How fast a joint leaves its limit; of accelerations, without J̇ v."""
    link = links_of(tree)[projection["link"]]
    if link["kind"] == SPHERICAL:
        return dot(load3(projection["m"]), load3_at(v, link["iv"]))
    return projection["sign"] * v[link["iv"] + projection["entry"]]


@kernel
def add_force(tree: Any, projection: Any, force: float, tau: Any) -> None:
    """Joint forces of a stop."""
    link = links_of(tree)[projection["link"]]
    if link["kind"] == SPHERICAL:
        store3_at(tau, link["iv"], axpy(load3_at(tau, link["iv"]), force, load3(projection["m"])))
    else:
        tau[link["iv"] + projection["entry"]] += force * projection["sign"]


@kernel(inline=False)
def fill_stop_responses(tree: Any, holds: Any, q: Any, v: Any, tau: Any, external: Any, a: Any, room: Any) -> None:
    """What a unit force of each stop adds to accelerations, and to those along all stops.

    The room gets: forces (nv), accelerations without stops (nv), responses (count x nv), and the matrix (count²).
    """
    count, nv = holds.shape[0], tree["nv"]
    forces, free, responses = room[:nv], room[nv : 2 * nv], room[2 * nv : (2 + count) * nv]
    G = room[(2 + count) * nv :]
    fill_stop_jacobians(tree, holds, q, v)
    constrained_body(tree, q, v, tau, external, a)
    for i in range(nv):
        free[i], forces[i] = a[i], tau[i]
    for k in range(count):
        add_force(tree, holds[k], 1.0, forces)
        constrained_body(tree, q, v, forces, external, a)
        for i in range(nv):
            responses[k * nv + i], forces[i] = a[i] - free[i], tau[i]
    for k in range(count):
        for i in range(count):
            G[i * count + k] = rate_along_stop(tree, holds[i], responses[k * nv : (k + 1) * nv])


@kernel(inline=False)
def accelerations_at_stops(tree: Any, holds: Any, q: Any, v: Any, tau: Any, external: Any, a: Any, room: Any) -> None:
    """a from q, v and joint forces, with the joints held that are at stops; the forces of these are in their rows."""
    count, nv = holds.shape[0], tree["nv"]
    fill_stop_responses(tree, holds, q, v, tau, external, a, room)
    forces, free = room[:nv], room[nv : 2 * nv]
    start = (2 + count) * nv
    G, LD = room[start : start + count * count], room[start + count * count : start + 2 * count * count]
    b, least = room[start + 2 * count * count :], room[start + count * (2 * count + 1) :]
    for i in range(nv):
        a[i] = free[i]
    for k in range(count):
        holds[k]["force"] = 0.0
    for _ in range(2):  # responses are differences, so the first forces are a little off
        for k in range(count):
            b[k] = -(rate_along_stop(tree, holds[k], a) + holds[k]["bias"])
            least[k] = DEPENDENT_GEAR_SHARE * G[k * count + k]
            for i in range(count):
                LD[k * count + i] = G[k * count + i]
        solve_gears(LD, b, least, count)
        for k in range(count):
            holds[k]["force"] += b[k]
            add_force(tree, holds[k], b[k], forces)
        constrained_body(tree, q, v, forces, external, a)


@kernel(inline=False)
def stopped_accelerations(tree: Any, run: Any, q: Any, v: Any, tau: Any, external: Any, work: Any, a: Any) -> None:
    """`accelerations`, with the stops of a run."""
    if run["hold_count"] == 0:
        accelerations(tree, q, v, tau, external, work, a)
        return
    fill_joint_forces(tree, work[REST], q, v, tau, work[TAU])
    apply_passive_link_forces(tree, q, v)
    room = rows_at(run["hold_room"], run["hold_room_length"], F8)
    accelerations_at_stops(tree, rows_at(run["holds"], run["hold_count"], HOLD), q, v, work[TAU], external, a, room)


@kernel(inline=False)
def project_onto_stops(tree: Any, run: Any, q: Any, v: Any, gap: float, step: Any) -> float:
    """Put joints that are held exactly where they are held. Returns how far loops stay open."""
    holds, links = rows_at(run["holds"], run["hold_count"], HOLD), links_of(tree)
    for _ in range(ROUNDS if run["hold_count"] > 0 else 0):
        for i in range(holds.shape[0]):
            projection = holds[i]
            l = links[projection["link"]]
            if l["kind"] != SPHERICAL:
                q[l["iq"] + projection["entry"]], v[l["iv"] + projection["entry"]] = projection["level"], 0.0
                continue
            phi = log(load4_at(q, l["iq"]))
            if abs(pick(phi, projection["entry"]) - projection["level"]) > SIDE_CHANGE_ANGLE:
                continue
            phi = add(phi, unit(projection["entry"], projection["level"] - pick(phi, projection["entry"])))
            store4_at(q, l["iq"], exp(phi))
            m = log_shift(phi, unit(projection["entry"], 1.0))
            w = load3_at(v, l["iv"])
            store3_at(v, l["iv"], axpy(w, -dot(m, w) / dot(m, m), m))
        gap = close_step_loops(tree, q, v, step)
    return gap


@kernel(inline=False)
def make_step_at_stops(tree: Any, run: Any, q: Any, v: Any, dt: float, tau: Any, external: Any, work: Any) -> float:
    """One step of Euler's method or RK4, in place. Returns how far loops stay open."""
    euler = run["method"] == EULER
    if run["hold_count"] == 0:
        return (
            euler_step(tree, q, v, dt, tau, external, work) if euler else rk4_step(tree, q, v, dt, tau, external, work)
        )
    stopped_accelerations(tree, run, q, v, tau, external, work, work[A1])
    if euler:
        return project_onto_stops(tree, run, q, v, euler_move(tree, q, v, dt, work), work[K1])
    rk4_approach(tree, q, v, 0.5 * dt, work, K1)
    stopped_accelerations(tree, run, work[Q1], work[V1], tau, external, work, work[A2])
    rk4_approach(tree, q, v, 0.5 * dt, work, K2)
    stopped_accelerations(tree, run, work[Q1], work[V1], tau, external, work, work[A3])
    rk4_approach(tree, q, v, dt, work, K3)
    stopped_accelerations(tree, run, work[Q1], work[V1], tau, external, work, work[A4])
    return project_onto_stops(tree, run, q, v, rk4_combine(tree, q, v, dt, work), work[K1])


@kernel(inline=False)
def measure_stops(tree: Any, run: Any, events: Any, q: Any) -> None:
    """How far joints are from their limits, and what holds those that are at one."""
    links, holds = links_of(tree), rows_at(run["holds"], run["hold_count"], HOLD)
    for i in range(events.shape[0]):
        e = events[i]
        if e["kind"] == STOP:
            e["g"] = e["n"][0] * (position_of(links[e["b"]], q, e["index"]) - e["level"])
    for k in range(holds.shape[0]):
        e = events[holds[k]["row"]]
        if e["kind"] == HELD:
            x = position_of(links[holds[k]["link"]], q, holds[k]["entry"])
            e["g"] = holds[k]["force"] if abs(x - holds[k]["level"]) < SIDE_CHANGE_ANGLE else -1.0


@entry
def _probe(
    address: int, holds_address: int, count: int, q: Vector, v: Vector, tau: Vector, external: Matrix, work: Matrix,
    room: Vector, found: Matrix,
) -> None:  # fmt: skip
    """Of stops at a state: J v, and J a + J̇ v without any of them (rows 0 and 1 of `found`)."""
    tree, holds = rows_at(address, 1, TREE)[0], rows_at(holds_address, count, HOLD)
    fill_joint_forces(tree, work[REST], q, v, tau, work[TAU])
    apply_passive_link_forces(tree, q, v)
    fill_stop_responses(tree, holds, q, v, work[TAU], external, work[A1], room)
    free = room[tree["nv"] : 2 * tree["nv"]]
    for k in range(count):
        found[0, k] = rate_along_stop(tree, holds[k], v)
        found[1, k] = rate_along_stop(tree, holds[k], free) + holds[k]["bias"]


@entry
def _gaps(address: int, events_address: int, count: int, q: Vector) -> None:
    """How far joints are from their limits, into the events."""
    tree, events = rows_at(address, 1, TREE)[0], rows_at(events_address, count, EVENT)
    links = links_of(tree)
    for i in range(count):
        event = events[i]
        event["g"] = event["n"][0] * (position_of(links[event["b"]], q, event["index"]) - event["level"])


probe, gaps = _probe, _gaps
