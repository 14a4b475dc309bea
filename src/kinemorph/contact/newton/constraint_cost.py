"""Cost rows: impulse laws of the rows of a direct solve, each minus the gradient of a convex cost (as in MuJoCo).

    normal    pn = max(0, qn - K (vn + bias))
    tangents  p  = the projection of q - K (v + w) onto the disc of radius `tangent_limit`
    drives    p  = q - K v clamped to [low, high]

A touching contact is an implicit stiff spring and damper: a step removes a share 1 / (1 + τ) of its overlap, and under
a load f (N) it rests with an overlap of f dt² (1 + τ) / K. K is a multiple of the mass of the whole island, the largest
load of a contact, and larger still under larger forces, so that this overlap is negligible. Friction does not creep,
because q is the impulse of the previous step, updated in each round. The same holds for stiff motors; their K is
limited, so that contacts and limits can stop them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.basis import slice_product
from kinemorph.contact.gauss_seidel.row_products import apply_row_impulse, apply_three_impulses
from kinemorph.contact.layout import DofConstraintKind, contact_constraints, cost_rows, dof_constraints, slices_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sqrt

DRY, DRIVEN, FAST = int(DofConstraintKind.DRY), int(DofConstraintKind.DRIVEN), int(DofConstraintKind.FAST)
OVERLAP_DECAY_STEPS = 1.0  # τ, steps
STIFFNESS_RATIO = 20.0  # K, as a multiple of the island's mass
LARGEST_LOAD_DEPTH = 1e-4  # m or rad: largest overlap under a load
# largest factor on K under a load, because the K of jammed bodies would otherwise grow without limit
LARGEST_STIFFENING = 100.0
LARGEST_STIFFNESS_RATIO = 1e5  # largest K of a drive over its effective mass, because larger ones lose digits


@kernel
def contact_bias(gap: float, dt: float, push: float) -> float:
    """Velocity bias (m/s): allowed approach for a gap (m), minus the required parting speed for an overlap."""
    return gap / dt if gap > 0.0 else max(gap / (dt * (1.0 + OVERLAP_DECAY_STEPS)), -push)


@kernel
def clamp_friction_estimate(cost: Any, q1: float, q2: float) -> None:
    """Set q of the tangents to the projection of (q1, q2) onto the disc of radius `tangent_limit`."""
    size, limit = q1 * q1 + q2 * q2, cost["tangent_limit"]
    ratio = limit / sqrt(size) if size > limit * limit else 1.0
    cost["q1"], cost["q2"] = q1 * ratio, q2 * ratio


@kernel(inline=False)
def fill_contact_costs(solver: Any, island: Any) -> None:
    """Fill the cost rows of contacts. Initial estimates are the stored impulses of a substep times the substeps."""
    contacts = contact_constraints(solver)[island["first_contact"] :]
    costs = cost_rows(island)
    parts = float(solver["substeps"])
    dt = solver["h"] * parts
    firm, carries = STIFFNESS_RATIO * island["mass"], parts * dt * (1.0 + OVERLAP_DECAY_STEPS) / LARGEST_LOAD_DEPTH
    for i in range(island["contact_count"]):
        contact, cost = contacts[i], costs[i]
        n = contact["length1"] + contact["length2"]
        cost["offset1"], cost["length1"] = contact["offset1"], contact["length1"]
        cost["offset2"], cost["length2"] = contact["offset2"], contact["length2"]
        cost["normal_row"], cost["tangent_row"], cost["normal"] = contact["y"], contact["y"] + n, 1
        cost["touching"] = 1 if contact["initial_separation"] <= 0.0 else 0
        cost["tangents"] = 2 if contact["friction"] > 0.0 else 0
        cost["driven"] = 0
        cost["penalty"] = max(firm, min(contact["normal_impulse"] * carries, LARGEST_STIFFENING * firm))
        cost["bias"], cost["qn"] = contact_bias(contact["initial_separation"], dt, solver["parting_speed"]), 0.0
        cost["friction"] = contact["friction"]
        cost["tangent_limit"] = contact["friction"] * contact["normal_impulse"] * parts
        clamp_friction_estimate(cost, contact["tangent_impulse1"] * parts, contact["tangent_impulse2"] * parts)
        cost["tangent_velocity1"] = contact["surface_velocity1"]
        cost["tangent_velocity2"] = contact["surface_velocity2"]


@kernel(inline=False)
def fill_dof_costs(solver: Any, island: Any) -> None:
    """Fill the cost rows of limits, speed limits, dry friction and drives."""
    dof_rows = dof_constraints(solver)[island["first_dof_constraint"] :]
    slices = slices_of(solver)
    costs = cost_rows(island)[island["contact_count"] :]
    parts = float(solver["substeps"])
    dt = solver["h"] * parts
    carries = parts * dt * (1.0 + OVERLAP_DECAY_STEPS) / LARGEST_LOAD_DEPTH
    for i in range(island["dof_constraint_count"]):
        constraint, cost = dof_rows[i], costs[i]
        bears = max(1.0, max(1.0 / slices[constraint["tree"]]["mass"], constraint["load_per_mass"]) * island["mass"])
        firm = STIFFNESS_RATIO * bears * constraint["effective_mass"]
        cost["offset1"], cost["length1"] = 0, 0
        cost["offset2"], cost["length2"] = constraint["offset"], constraint["length"]
        cost["normal_row"] = cost["tangent_row"] = constraint["y"]
        cost["penalty"], cost["bias"], cost["qn"], cost["q1"], cost["q2"] = firm, 0.0, 0.0, 0.0, 0.0
        cost["friction"], cost["tangent_limit"] = 0.0, 0.0
        cost["tangent_velocity1"], cost["tangent_velocity2"] = 0.0, 0.0
        cost["normal"], cost["touching"], cost["tangents"], cost["driven"] = 0, 0, 1, 0
        if constraint["kind"] == DRY:
            cost["tangent_limit"] = constraint["largest_force"] * dt
            clamp_friction_estimate(cost, constraint["p"] * parts, 0.0)
        elif constraint["kind"] == DRIVEN:
            mass = sqrt(constraint["effective_mass"] * island["mass"])
            most = STIFFNESS_RATIO * LARGEST_STIFFENING * mass / carries  # the largest load of contacts
            fill_drive_cost(constraint, cost, dt, min(max(constraint["p"], -most), most) * parts)
        elif constraint["kind"] == FAST:
            cost["normal"], cost["tangents"], cost["bias"] = 1, 0, constraint["target"]
        else:
            cost["normal"] = 1
            cost["touching"] = 1 if constraint["initial_separation"] <= 0.0 else 0
            cost["tangents"] = 0
            cost["penalty"] = max(firm, min(constraint["p"] * carries, LARGEST_STIFFENING * firm))
            cost["bias"] = contact_bias(constraint["initial_separation"], dt, solver["parting_speed"])


@kernel
def fill_drive_cost(constraint: Any, cost: Any, dt: float, before: float) -> None:
    """The law of a drive over a whole step: q is its impulse at zero velocity at the end.

    If the drive is stiffer than K may be, a spring in series yields by the difference to the impulse `before`. At rest
    the drive then bears its full load: otherwise a heavy figure would sink on motors in light legs.
    """
    k = constraint["effective_mass"] * LARGEST_STIFFNESS_RATIO
    own = dt * (constraint["damping"] + dt * constraint["stiffness"])
    stays = 0.0
    if constraint["damping"] == np.inf:
        k, stays = constraint["effective_mass"] * STIFFNESS_RATIO * LARGEST_STIFFENING, 1.0
        q = k * constraint["target"]
    else:
        q = dt * (
            constraint["force"]
            + constraint["stiffness"] * constraint["initial_separation"]
            + constraint["damping"] * constraint["target"]
        )
        if own > k:  # v = (q - p) / own + (before - p) / k
            stays = own / (own + k)
            q, k = (1.0 - stays) * q, k * stays
        else:
            k = own
    cost["driven"], cost["penalty"], cost["q1"] = 1, k, q + stays * before
    cost["low"], cost["high"] = constraint["smallest_force"] * dt, constraint["largest_force"] * dt
    cost["before"], cost["kept_share"] = before, stays


@kernel
def cost_row_velocity(cost: Any, Y: Any, y: int, z: Any) -> float:
    """Velocity along one row y of a cost row."""
    x = slice_product(Y, y + cost["length1"], z, cost["offset2"], cost["length2"])
    return x + slice_product(Y, y, z, cost["offset1"], cost["length1"]) if cost["length1"] > 0 else x


@kernel
def cost_row_velocities(cost: Any, Y: Any, z: Any) -> tuple[float, float, float]:
    vn = cost_row_velocity(cost, Y, cost["normal_row"], z) if cost["normal"] != 0 else 0.0
    v1 = cost_row_velocity(cost, Y, cost["tangent_row"], z) if cost["tangents"] > 0 else 0.0
    v2 = (
        cost_row_velocity(cost, Y, cost["tangent_row"] + cost["length1"] + cost["length2"], z)
        if cost["tangents"] > 1
        else 0.0
    )
    return vn, v1, v2


@kernel
def cost_row_impulses(cost: Any, share: float) -> tuple[float, float, float]:
    """Impulses by the law, at the velocities plus `share` times their Newton step."""
    K = cost["penalty"]
    pn = 0.0
    if cost["normal"] != 0:
        pn = max(0.0, cost["qn"] - K * (cost["normal_velocity"] + share * cost["normal_velocity_step"]))
    if cost["tangents"] == 0:
        return pn, 0.0, 0.0
    p1 = cost["q1"] - K * (cost["tangent_velocity1"] + share * cost["tangent_velocity_step1"])
    p2 = cost["q2"] - K * (cost["tangent_velocity2"] + share * cost["tangent_velocity_step2"])
    if cost["driven"] != 0:
        return 0.0, min(max(p1, cost["low"]), cost["high"]), 0.0
    size, most = p1 * p1 + p2 * p2, cost["tangent_limit"]
    if size > most * most:
        ratio = most / sqrt(size)
        return pn, p1 * ratio, p2 * ratio
    return pn, p1, p2


@kernel
def cost_row_slopes(cost: Any, share: float) -> tuple[float, float, float, float]:
    """Minus the derivative of the law at the same point: of the normal, and entries 11, 12, 22 of the tangents."""
    K = cost["penalty"]
    normal_velocity = cost["normal_velocity"] + share * cost["normal_velocity_step"]
    gn = K if cost["normal"] != 0 and cost["qn"] > K * normal_velocity else 0.0
    if cost["tangents"] == 0:
        return gn, 0.0, 0.0, 0.0
    p1 = cost["q1"] - K * (cost["tangent_velocity1"] + share * cost["tangent_velocity_step1"])
    p2 = cost["q2"] - K * (cost["tangent_velocity2"] + share * cost["tangent_velocity_step2"])
    if cost["driven"] != 0:
        return 0.0, K if cost["low"] < p1 < cost["high"] else 0.0, 0.0, 0.0
    size, most = p1 * p1 + p2 * p2, cost["tangent_limit"]
    if size > most * most:
        across = K * most / (size * sqrt(size))  # sliding: only the direction changes
        return gn, across * p2 * p2, -across * p1 * p2, across * p1 * p1
    return gn, K, 0.0, K


@kernel
def apply_cost_row(cost: Any, Y: Any, z: Any, sign: float) -> None:
    """z ← z ± Y p."""
    pn, p1, p2 = sign * cost["normal_impulse"], sign * cost["tangent_impulse1"], sign * cost["tangent_impulse2"]
    l1, l2 = cost["length1"], cost["length2"]
    if cost["tangents"] == 2:
        if l1 > 0:
            apply_three_impulses(Y, cost["normal_row"], l1 + l2, z, cost["offset1"], l1, pn, p1, p2)
        apply_three_impulses(Y, cost["normal_row"] + l1, l1 + l2, z, cost["offset2"], l2, pn, p1, p2)
    else:
        p = pn if cost["normal"] != 0 else p1
        if l1 > 0:
            apply_row_impulse(Y, cost["normal_row"], z, cost["offset1"], l1, p)
        apply_row_impulse(Y, cost["normal_row"] + l1, z, cost["offset2"], l2, p)


@kernel(inline=False)
def store_solution(solver: Any, island: Any) -> None:
    """Write the impulses of a direct solve to its contact and dof rows, divided among the substeps."""
    contacts = contact_constraints(solver)[island["first_contact"] :]
    dof_rows = dof_constraints(solver)[island["first_dof_constraint"] :]
    costs = cost_rows(island)
    part = 1.0 / solver["substeps"]
    for i in range(island["contact_count"]):
        contact, g = contacts[i], costs[i]
        contact["normal_impulse"] = part * g["normal_impulse"]
        contact["tangent_impulse1"] = part * g["tangent_impulse1"]
        contact["tangent_impulse2"] = part * g["tangent_impulse2"]
        contact["total_normal_impulse"] = contact["last_normal_impulse"] = g["normal_impulse"]
        contact["total_tangent_impulse1"] = g["tangent_impulse1"]
        contact["total_tangent_impulse2"] = g["tangent_impulse2"]
        contact["acted"] = g["touching"]  # overlap may have been corrected, although the final impulse is zero
    for i in range(island["dof_constraint_count"]):
        constraint, g = dof_rows[i], costs[island["contact_count"] + i]
        constraint["total_impulse"] = g["normal_impulse"] + g["tangent_impulse1"]  # one of which is zero
        constraint["p"] = part * constraint["total_impulse"]
