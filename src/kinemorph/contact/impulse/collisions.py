"""Collisions of the impulse model: the law of `contact.impulse.collision_law` at the points of one pair after another.

All approaching points of a pair collide as one point, at their mean weighted by approach speed, with rows averaged by
the same weights. A box that lands flat is then hit below its centre, whatever the order of its corners, and does not
spin. With boosted micro-collisions (Fontijne 3.4.4) the points collide one after the other, as in the thesis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import CONTACT, memories_of, pairs_of
from kinemorph.constraint.basis import slice_product
from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.row_products import apply_row_impulse, contact_velocity
from kinemorph.contact.impulse.collision_law import collision_impulse
from kinemorph.contact.material_mixing import mix_tangential_restitution
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.rows import load3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, dot

MOST_COLLISION_ROUNDS = 30  # over all pairs
SAME_IMPACT_NORMAL_COSINE = 1.0 - 1e-6  # cosine above which normals count as equal
AT_LIMIT_DISTANCE = 1e-3  # rad or m: a joint closer to its limit is stopped there
LOWER, UPPER = int(layout.DofConstraintKind.LOWER), int(layout.DofConstraintKind.UPPER)

IMPACTS = np.dtype(
    [
        ("epsilon", "f8"),  # m, width of the collision envelope
        ("slow", "f8"),  # m/s: slower collisions are micro-collisions
        ("boost", "f8"),  # their largest restitution e_max; 0 if contacts without restitution replace them
        ("turn", "i8"),  # number of solves; its parity alternates the order of the pairs
        ("collision_count", "i8"),  # collisions so far
        ("struck", "i8"),  # whether there were any in the step
    ]
)


@kernel
def is_colliding(r: Any, contact: Any, gap: float, v: float) -> bool:
    """Whether a contact with normal velocity v (m/s) collides."""
    return (
        contact["initial_separation"] + gap <= r["epsilon"]
        and v < (0.0 if r["boost"] > 0.0 else -r["slow"])
        and contact["effective_mass"] > 0.0
    )


@kernel
def add_contact_rows(contact: Any, weight: float, Y: Any, a: Any, b: Any, c: Any) -> None:
    """Add `weight` times the three rows of a contact to a, b and c."""
    stride = contact["length1"] + contact["length2"]
    for k in range(stride):
        a[k] += weight * Y[contact["y"] + k]
        b[k] += weight * Y[contact["y"] + stride + k]
        c[k] += weight * Y[contact["y"] + 2 * stride + k]


@kernel
def add_to_total(contact: Any, share: float, p: Vec3) -> None:
    """Add a share of an impulse to the totals of a contact."""
    contact["total_normal_impulse"] += share * p[0]
    contact["total_tangent_impulse1"] += share * p[1]
    contact["total_tangent_impulse2"] += share * p[2]


@kernel(inline=False)
def apply_collision(
    contact: Any, a: Any, b: Any, c: Any, z: Any, e: float, tangential: float
) -> tuple[float, float, float]:
    """Apply a collision along rows a, b, c, with the slices and friction of a contact. Returns the impulse (N s)."""
    o1, l1, o2, l2 = contact["offset1"], contact["length1"], contact["offset2"], contact["length2"]
    n = l1 + l2
    u = (
        slice_product(a, 0, z, o1, l1) + slice_product(a, l1, z, o2, l2),
        slice_product(b, 0, z, o1, l1) + slice_product(b, l1, z, o2, l2) + contact["surface_velocity1"],
        slice_product(c, 0, z, o1, l1) + slice_product(c, l1, z, o2, l2) + contact["surface_velocity2"],
    )
    K = (
        slice_product(a, 0, a, 0, n), slice_product(a, 0, b, 0, n), slice_product(a, 0, c, 0, n),
        slice_product(b, 0, b, 0, n), slice_product(b, 0, c, 0, n), slice_product(c, 0, c, 0, n),
    )  # fmt: skip
    p = collision_impulse(u, K, e, tangential, contact["friction"])
    for k in range(l1):
        z[o1 + k] += a[k] * p[0] + b[k] * p[1] + c[k] * p[2]
    for k in range(l2):
        z[o2 + k] += a[l1 + k] * p[0] + b[l1 + k] * p[1] + c[l1 + k] * p[2]
    return p


@kernel
def collision_restitution(r: Any, contact: Any, gap: float, speed: float) -> float:
    """Restitution of a contact; that of a micro-collision grows with depth in the envelope (Fontijne eq. 3.38)."""
    if r["boost"] == 0.0 or speed >= r["slow"]:
        return contact["restitution"]
    depth = min(max((r["epsilon"] - contact["initial_separation"] - gap) / r["epsilon"], 0.0), 1.0)
    return contact["restitution"] + (r["boost"] - contact["restitution"]) * depth


@kernel(inline=False)
def collide_pair(solver: Any, r: Any, constraints: Any, first: int, stop: int, tangential: float) -> float:
    """Collide the contacts of one pair, from `first` to before `stop`. Returns the normal impulse, 0 for none."""
    Y, z = layout.whitened_rows(solver), layout.z_of(solver)
    a, b, c = layout.g_of(solver), layout.z0_of(solver), layout.x_of(solver)
    lead, least = -1, 0.0
    for i in range(first, stop):
        v = contact_velocity(constraints[i], 0, Y, z)
        if v < least and is_colliding(r, constraints[i], solver["gap"], v):
            lead, least = i, v
    if lead < 0:
        return 0.0
    contact = constraints[lead]
    n, along, total = load3(contact["normal"]), load3(contact["tangent1"]), 0.0
    for k in range(contact["length1"] + contact["length2"]):
        a[k] = b[k] = c[k] = 0.0
    if r["boost"] > 0.0:
        add_contact_rows(contact, 1.0, Y, a, b, c)
        u1, u2 = contact_velocity(contact, 1, Y, z), contact_velocity(contact, 2, Y, z)
        e = collision_restitution(r, contact, solver["gap"], sqrt(least * least + u1 * u1 + u2 * u2))
        p = apply_collision(contact, a, b, c, z, e, tangential)
        add_to_total(contact, 1.0, p)
        return p[0]
    for k in range(2):  # their sum, then their rows
        for i in range(first, stop):
            other = constraints[i]
            v = contact_velocity(other, 0, Y, z)
            other["approach"] = 0.0
            if not (
                is_colliding(r, other, solver["gap"], v) and dot(load3(other["normal"]), n) > SAME_IMPACT_NORMAL_COSINE
            ):
                continue
            if dot(load3(other["tangent1"]), along) > SAME_IMPACT_NORMAL_COSINE:
                if k == 0:
                    total -= v
                else:
                    other["approach"] = -v / total
                    add_contact_rows(other, -v / total, Y, a, b, c)
    p = apply_collision(contact, a, b, c, z, contact["restitution"], tangential)
    for i in range(first, stop):
        add_to_total(constraints[i], constraints[i]["approach"], p)
    return p[0]


@kernel(inline=False)
def stop_joints_at_limits(solver: Any, island: Any) -> bool:
    """Joint impulses (Fontijne 3.6.8) that stop motion beyond limits. Returns whether there was any."""
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    Y, z = layout.whitened_rows(solver), layout.z_of(solver)
    some = False
    for i in range(island["dof_constraint_count"]):
        constraint = dof_rows[i]
        if (constraint["kind"] == LOWER or constraint["kind"] == UPPER) and constraint[
            "initial_separation"
        ] < AT_LIMIT_DISTANCE:
            v = slice_product(Y, constraint["y"], z, constraint["offset"], constraint["length"])
            if v < 0.0:
                apply_row_impulse(
                    Y, constraint["y"], z, constraint["offset"], constraint["length"], -v * constraint["effective_mass"]
                )
                some |= v < -AT_LIMIT_DISTANCE
    return some


@kernel(inline=False)
def collide_island(solver: Any, collisions: Any, r: Any, island: Any) -> None:
    """Solve the collisions of an island, from its present velocities, until no pair approaches."""
    constraints = layout.contact_constraints(solver)[island["first_contact"] :]
    room = collisions["contact_room"]
    contacts, pairs = rows_at(collisions["contacts"], 2 * room, CONTACT), pairs_of(collisions)
    memories = memories_of(collisions)
    materials = layout.materials_of(solver)
    agreed = layout.pair_materials_of(solver)
    now, count = half_start(collisions["step"], room), island["contact_count"]
    for turn in range(MOST_COLLISION_ROUNDS):
        some = False
        backward = (turn + r["turn"]) & 1 != 0
        at = count if backward else 0
        while (at > 0) if backward else (at < count):
            pair = contacts[now + constraints[at - 1 if backward else at]["contact"]]["pair"]
            first = stop = at
            if backward:
                while first > 0 and contacts[now + constraints[first - 1]["contact"]]["pair"] == pair:
                    first -= 1
                at = first
            else:
                while stop < count and contacts[now + constraints[stop]["contact"]]["pair"] == pair:
                    stop += 1
                at = stop
            tangential = mix_tangential_restitution(materials, agreed, pairs[pair]["a"], pairs[pair]["b"])
            p = collide_pair(solver, r, constraints, first, stop, tangential)
            if p > 0.0:
                some = True
                r["collision_count"] += 1
                memories[pairs[pair]["row"]]["struck"] += p
        if island["dof_constraint_count"] > 0 and stop_joints_at_limits(solver, island):
            some = True
        if not some:
            break


@kernel(inline=False)
def collide_islands(solver: Any, collisions: Any, r: Any) -> None:
    """Solve the collisions of all islands, from the velocities z to new ones in z."""
    islands = layout.islands_of(solver)
    for i in range(solver["island_count"]):
        if islands[i]["contact_count"] > 0:
            collide_island(solver, collisions, r, islands[i])
    r["turn"] += 1
    r["struck"] = 1
