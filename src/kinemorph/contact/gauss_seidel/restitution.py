"""Restitution: the velocities after impacts, from approach speeds and coefficients of restitution.

The solve of a step is without restitution: it finds which contacts close, and the positions at the end. If one pair of
trees collides, its contacts then get their parting speeds. If an impact propagates through other contacts, as in
Newton's cradle, the velocities are computed anew: pairs of trees bounce one after the other, each with its current
approach speed, until none approaches; then all contacts are solved without restitution.
"""

from __future__ import annotations

from typing import Any

from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.friction import solve_friction
from kinemorph.contact.gauss_seidel.row_products import (
    apply_contact_impulses,
    apply_normal_impulse,
    apply_row_impulse,
    contact_velocity,
)
from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sqrt

LEAST_BOUNCE_PASSES = 2  # over all contacts that bounce simultaneously
MOST_PAIR_TURNS = 30  # over pairs that bounce one after the other
LEAST_PAIR_PASSES = 4  # smallest number of passes over the contacts of one pair
MOST_BOUNCE_PASSES = 60
# share of the approach speed: a pass that changes less is the last, so that flat impacts cause no spin
BOUNCE_TOLERANCE = 1e-7
CARRY_PASSES = 4  # passes without restitution after the pairs
DRIVEN = int(layout.DofConstraintKind.DRIVEN)


@kernel
def find_approach_speeds(solver: Any, island: Any) -> int:
    """Set `approach` (m/s) of contacts with restitution, before impulses act. Returns how many exceed the threshold.

    A contact that closes its gap within the step has the speed of that moment: v² - 2 a s.
    """
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    Y, z, za = layout.whitened_rows(solver), layout.z_of(solver), layout.za_of(solver)
    count = 0
    for i in range(island["contact_count"]):
        contact = contacts[i]
        if contact["restitution"] > 0.0:
            v, a = contact_velocity(contact, 0, Y, z), contact_velocity(contact, 0, Y, za)
            if v < 0.0:
                contact["approach"] = -sqrt(max(v * v - 2.0 * a * max(contact["initial_separation"], 0.0), 0.0))
                count += 1 if contact["approach"] < -solver["bounce_speed"] else 0
    return count


@kernel
def solve_total_friction(contact: Any, Y: Any, z: Any, most: float) -> None:
    """Solve the total tangential impulses of a contact within a disc of radius `most` (N s)."""
    v1 = contact_velocity(contact, 1, Y, z) + contact["surface_velocity1"]
    v2 = contact_velocity(contact, 2, Y, z) + contact["surface_velocity2"]
    contact["tangent_impulse1"] = contact["total_tangent_impulse1"]
    contact["tangent_impulse2"] = contact["total_tangent_impulse2"]
    p1, p2 = solve_friction(contact, v1, v2, most)
    d1, d2 = p1 - contact["total_tangent_impulse1"], p2 - contact["total_tangent_impulse2"]
    apply_contact_impulses(contact, Y, z, 0.0, d1, d2)
    contact["total_tangent_impulse1"], contact["total_tangent_impulse2"] = p1, p2


@kernel
def is_dissipative(solver: Any, island: Any) -> bool:
    """Whether no row of an island can add energy: it has no drive and no moving surface."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    for i in range(island["contact_count"]):
        if contacts[i]["surface_velocity1"] != 0.0 or contacts[i]["surface_velocity2"] != 0.0:
            return False
    for i in range(island["dof_constraint_count"]):
        if dof_rows[i]["kind"] == DRIVEN:
            return False
    return True


@kernel(inline=False)
def limit_bounce_energy(solver: Any, island: Any) -> None:
    """Scale the restitution so that the energy does not exceed that before the step plus the work of forces.

    Bodies have moved as if nothing bounced, so their positions may not fit the velocities after the bounce. z0 is the
    velocity without restitution, x the velocity before the step.
    """
    z, z0, x = layout.z_of(solver), layout.z0_of(solver), layout.x_of(solver)
    za, moved = layout.za_of(solver), layout.displacement_of(solver)
    a = b = c = 0.0  # |z0 + share (z - z0)|² is a share² + 2 b share + c, and is to be no more than what there is
    for k in range(island["offset"], island["offset"] + island["nz"]):
        d = z[k] - z0[k]
        a += d * d
        b += d * z0[k]
        c += z0[k] * z0[k] - x[k] * x[k] - 2.0 * za[k] * moved[k]
    if a + 2.0 * b + c <= 0.0:
        return
    share = min(max((sqrt(b * b - a * c) - b) / a, 0.0), 1.0) if c < 0.0 else 0.0
    for k in range(island["offset"], island["offset"] + island["nz"]):
        z[k] = z0[k] + share * (z[k] - z0[k])


@kernel(inline=False)
def apply_restitution(solver: Any, island: Any) -> None:
    """Restitution of contacts that approached faster than the threshold and had a normal impulse, by Gauss-Seidel."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    Y, z, z0 = layout.whitened_rows(solver), layout.z_of(solver), layout.z0_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        z0[k] = z[k]
    for n in range(MOST_BOUNCE_PASSES):
        even = n + 1 >= LEAST_BOUNCE_PASSES
        for i in range(island["contact_count"]):
            contact = contacts[i]
            if contact["approach"] < -solver["bounce_speed"] and contact["total_normal_impulse"] > 0.0:
                last, mass, approach = contact["last_normal_impulse"], contact["effective_mass"], contact["approach"]
                v = contact_velocity(contact, 0, Y, z)
                p = max(0.0, last - (v + contact["restitution"] * approach) * mass)
                even = even and abs(p - last) <= -BOUNCE_TOLERANCE * approach * mass
                apply_normal_impulse(contact, Y, z, p - last)
                contact["total_normal_impulse"] += p - last
                contact["last_normal_impulse"] = p
                if contact["friction"] > 0.0:
                    pushed1, pushed2 = contact["tangent_impulse1"], contact["tangent_impulse2"]
                    solve_total_friction(contact, Y, z, contact["friction"] * contact["total_normal_impulse"])
                    contact["tangent_impulse1"] = pushed1  # for the warm start of the next step
                    contact["tangent_impulse2"] = pushed2
        if even:
            break
    if is_dissipative(solver, island):
        limit_bounce_energy(solver, island)


# ------------------------------------------------------------------------------------------------- propagating impacts


@kernel
def store_velocities(solver: Any, island: Any) -> None:
    """x ← z, the velocities before the step."""
    z, x = layout.z_of(solver), layout.x_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        x[k] = z[k]


@kernel
def same_trees(contact: Any, other: Any) -> bool:
    return contact["tree1"] == other["tree1"] and contact["tree2"] == other["tree2"]


@kernel
def has_several_pairs(solver: Any, island: Any) -> bool:
    """Whether contacts with restitution had impulses between more than one pair of trees."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    found = -1
    for i in range(island["contact_count"]):
        contact = contacts[i]
        if contact["restitution"] > 0.0 and contact["total_normal_impulse"] > 0.0:
            if found < 0:
                found = i
            elif not same_trees(contact, contacts[found]):
                return True
    return False


@kernel(inline=False)
def solve_without_bounce(solver: Any, island: Any, resting: bool) -> None:
    """Solve active contacts without restitution; with `resting`, only those without an impact."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    Y, z = layout.whitened_rows(solver), layout.z_of(solver)
    for _ in range(CARRY_PASSES):
        for i in range(island["contact_count"]):
            contact = contacts[i]
            if contact["acted"] == 0 or (resting and contact["approach"] < -solver["bounce_speed"]):
                continue
            p = max(0.0, contact["normal_impulse"] - contact_velocity(contact, 0, Y, z) * contact["effective_mass"])
            apply_normal_impulse(contact, Y, z, p - contact["normal_impulse"])
            contact["normal_impulse"] = p
            if contact["friction"] > 0.0:
                v1 = contact_velocity(contact, 1, Y, z) + contact["surface_velocity1"]
                v2 = contact_velocity(contact, 2, Y, z) + contact["surface_velocity2"]
                p1, p2 = solve_friction(contact, v1, v2, contact["friction"] * p)
                d1, d2 = p1 - contact["tangent_impulse1"], p2 - contact["tangent_impulse2"]
                apply_contact_impulses(contact, Y, z, 0.0, d1, d2)
                contact["tangent_impulse1"], contact["tangent_impulse2"] = p1, p2


@kernel(inline=False)
def restart_from_stored(solver: Any, island: Any) -> None:
    """Set z to the velocities at the end of the step under the forces and the stored contact impulses alone.

    As at the start of a substep, the stored impulses are scaled so that they add no energy.
    """
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    Y, z, za = layout.whitened_rows(solver), layout.z_of(solver), layout.za_of(solver)
    x, g = layout.x_of(solver), layout.g_of(solver)
    parts = float(solver["substeps"])
    first, stop = island["offset"], island["offset"] + island["nz"]
    for k in range(first, stop):
        z[k], g[k] = x[k] + solver["h"] * parts * za[k], 0.0
    for i in range(island["contact_count"]):
        t = contacts[i]
        if t["total_normal_impulse"] > 0.0:
            apply_contact_impulses(t, Y, g, parts * t["kept"][0], parts * t["kept"][1], parts * t["kept"][2])
    along = size = 0.0
    for k in range(first, stop):
        along -= z[k] * g[k]
        size += g[k] * g[k]
    share = min(max(along / size, 0.0), 1.0) if size > 0.0 else 0.0
    for k in range(first, stop):
        z[k] += share * g[k]
    for i in range(island["contact_count"]):
        t = contacts[i]
        pressed = parts * share if t["total_normal_impulse"] > 0.0 else 0.0
        t["acted"] = 1 if t["total_normal_impulse"] > 0.0 else 0
        t["normal_impulse"] = pressed * t["kept"][0]
        t["tangent_impulse1"] = pressed * t["kept"][1]
        t["tangent_impulse2"] = pressed * t["kept"][2]
        t["total_normal_impulse"] = t["total_tangent_impulse1"] = t["total_tangent_impulse2"] = 0.0
    for i in range(island["dof_constraint_count"]):  # dof rows keep their impulses
        constraint = dof_rows[i]
        apply_row_impulse(
            Y, constraint["y"], z, constraint["offset"], constraint["length"], constraint["total_impulse"]
        )
    solve_without_bounce(solver, island, True)  # else the weight of resting bodies would cause restitution
    for i in range(island["contact_count"]):  # approach speed at impact less the speed at the end of the step
        t = contacts[i]
        t["approach"] = t["approach"] - contact_velocity(t, 0, Y, z) if t["approach"] < -solver["bounce_speed"] else 0.0


@kernel
def bounce_pair(solver: Any, contacts: Any, first: int, stop: int, start: bool) -> bool:
    """Simultaneous restitution of the contacts of one pair of trees. False if none of them approaches."""
    Y, z = layout.whitened_rows(solver), layout.z_of(solver)
    least = 0.0
    for i in range(first, stop):
        t = contacts[i]
        if t["acted"] != 0:
            v = contact_velocity(t, 0, Y, z)
            t["separation"] = v + t["approach"] if start else v  # the separation is no longer needed
            t["last_normal_impulse"] = t["total_tangent_impulse1"] = t["total_tangent_impulse2"] = 0.0
            least = min(least, t["separation"])
    if least > -solver["bounce_speed"]:
        return False
    for n in range(MOST_BOUNCE_PASSES):
        even = n + 1 >= LEAST_PAIR_PASSES
        for i in range(first, stop):
            t = contacts[i]
            if t["acted"] == 0:
                continue
            back = t["restitution"] * t["separation"] if t["separation"] < -solver["bounce_speed"] else 0.0
            p = max(0.0, t["last_normal_impulse"] - (contact_velocity(t, 0, Y, z) + back) * t["effective_mass"])
            even = even and abs(p - t["last_normal_impulse"]) <= -BOUNCE_TOLERANCE * least * t["effective_mass"]
            apply_normal_impulse(t, Y, z, p - t["last_normal_impulse"])
            t["last_normal_impulse"] = p
            if t["friction"] > 0.0:
                kept1, kept2 = t["tangent_impulse1"], t["tangent_impulse2"]
                solve_total_friction(t, Y, z, t["friction"] * p)
                t["tangent_impulse1"], t["tangent_impulse2"] = kept1, kept2
        if even:
            break
    return True


@kernel(inline=False)
def propagate_impacts(solver: Any, island: Any) -> bool:
    """Solve impacts that propagate through several pairs. False, and no change, if there is only one pair."""
    if not has_several_pairs(solver, island):
        return False
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    count = island["contact_count"]
    z, z0 = layout.z_of(solver), layout.z0_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        z0[k] = z[k]
    restart_from_stored(solver, island)
    for turn in range(MOST_PAIR_TURNS):
        some = False
        first = 0
        while first < count:
            stop = first + 1
            while stop < count and same_trees(contacts[first], contacts[stop]):
                stop += 1
            if bounce_pair(solver, contacts, first, stop, turn == 0):
                some = True
                for i in range(first, stop):
                    contacts[i]["total_normal_impulse"] += (
                        contacts[i]["last_normal_impulse"] if contacts[i]["acted"] != 0 else 0.0
                    )
            first = stop
        if not some:
            break
    solve_without_bounce(solver, island, False)
    if is_dissipative(solver, island):
        limit_bounce_energy(solver, island)
    part = 1.0 / solver["substeps"]
    for i in range(count):
        t = contacts[i]
        t["total_normal_impulse"] += t["normal_impulse"]
        t["total_tangent_impulse1"] = t["tangent_impulse1"]
        t["total_tangent_impulse2"] = t["tangent_impulse2"]
        t["normal_impulse"] *= part
        t["tangent_impulse1"] *= part
        t["tangent_impulse2"] *= part
    return True
