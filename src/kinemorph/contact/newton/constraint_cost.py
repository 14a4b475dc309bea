"""Cost rows: impulse laws of the rows of a direct solve, each minus the gradient of a convex cost (as in MuJoCo).

    normal    pn = max(0, qn - K (vn + bias))
    tangents  p  = the projection of q - K (v + w) onto the disc of radius `most`
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

from kinemorph.constraint.basis import product
from kinemorph.contact.gauss_seidel.row_products import kick, kick_three
from kinemorph.contact.layout import (
    Bounded,
    contact_constraints,
    cost_rows,
    dof_constraints,
    slices_of,
)
from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sqrt

DRY, DRIVEN, FAST = int(Bounded.DRY), int(Bounded.DRIVEN), int(Bounded.FAST)
FADE = 1.0  # τ, steps
FIRM = 20.0  # K, as a multiple of the island's mass
SINK = 1e-4  # m or rad: largest overlap under a load
FIRMEST = 100.0  # largest factor on K under a load, because the K of jammed bodies would otherwise grow without limit
LARGEST_STIFFNESS_RATIO = 1e5  # largest K of a drive over its effective mass, because larger ones lose digits


@kernel
def bias_of(gap: float, dt: float, push: float) -> float:
    """Velocity bias (m/s): allowed approach for a gap (m), minus the required parting speed for an overlap."""
    return gap / dt if gap > 0.0 else max(gap / (dt * (1.0 + FADE)), -push)


@kernel
def stay_in(cost: Any, q1: float, q2: float) -> None:
    """Set q of the tangents to the projection of (q1, q2) onto the disc of radius `most`."""
    size, most = q1 * q1 + q2 * q2, cost["most"]
    ratio = most / sqrt(size) if size > most * most else 1.0
    cost["q1"], cost["q2"] = q1 * ratio, q2 * ratio


@kernel(inline=False)
def grip_touches(solver: Any, island: Any) -> None:
    """Fill the cost rows of contacts. Initial estimates are the stored impulses of a substep times the substeps."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    grips = cost_rows(island)
    parts = float(solver["substeps"])
    dt = solver["h"] * parts
    firm, carries = FIRM * island["mass"], parts * dt * (1.0 + FADE) / SINK
    for i in range(island["touch_count"]):
        contact, cost = touches[i], grips[i]
        n = contact["l1"] + contact["l2"]
        cost["o1"], cost["l1"], cost["o2"], cost["l2"], cost["yn"], cost["yt"] = (
            contact["o1"],
            contact["l1"],
            contact["o2"],
            contact["l2"],
            contact["y"],
            contact["y"] + n,
        )
        cost["normal"], cost["touching"], cost["tangents"] = (
            1,
            1 if contact["s0"] <= 0.0 else 0,
            2 if contact["friction"] > 0.0 else 0,
        )
        cost["driven"] = 0
        cost["K"] = max(firm, min(contact["pn"] * carries, FIRMEST * firm))
        cost["bias"], cost["qn"] = bias_of(contact["s0"], dt, solver["push"]), 0.0
        cost["friction"], cost["most"] = contact["friction"], contact["friction"] * contact["pn"] * parts
        stay_in(cost, contact["p1"] * parts, contact["p2"] * parts)
        cost["v1"], cost["v2"] = contact["w1"], contact["w2"]


@kernel(inline=False)
def grip_bounds(solver: Any, island: Any) -> None:
    """Fill the cost rows of limits, speed limits, dry friction and drives."""
    bounds = dof_constraints(solver)[island["first_bound"] :]
    spans = slices_of(solver)
    grips = cost_rows(island)[island["touch_count"] :]
    parts = float(solver["substeps"])
    dt = solver["h"] * parts
    carries = parts * dt * (1.0 + FADE) / SINK
    for i in range(island["bound_count"]):
        constraint, cost = bounds[i], grips[i]
        bears = max(1.0, max(1.0 / spans[constraint["tree"]]["mass"], constraint["bears"]) * island["mass"])
        firm = FIRM * bears * constraint["inverse"]
        cost["o1"], cost["l1"], cost["o2"], cost["l2"], cost["yn"], cost["yt"] = (
            0,
            0,
            constraint["o"],
            constraint["l"],
            constraint["y"],
            constraint["y"],
        )
        cost["K"], cost["bias"], cost["qn"], cost["q1"], cost["q2"] = firm, 0.0, 0.0, 0.0, 0.0
        cost["friction"], cost["most"], cost["v1"], cost["v2"] = 0.0, 0.0, 0.0, 0.0
        cost["normal"], cost["touching"], cost["tangents"], cost["driven"] = 0, 0, 1, 0
        if constraint["what"] == DRY:
            cost["most"] = constraint["most"] * dt
            stay_in(cost, constraint["p"] * parts, 0.0)
        elif constraint["what"] == DRIVEN:
            most = (
                FIRM * FIRMEST * sqrt(constraint["inverse"] * island["mass"]) / carries
            )  # the largest load of contacts
            grip_drive(constraint, cost, dt, min(max(constraint["p"], -most), most) * parts)
        elif constraint["what"] == FAST:
            cost["normal"], cost["tangents"], cost["bias"] = 1, 0, constraint["target"]
        else:
            cost["normal"], cost["touching"], cost["tangents"] = 1, 1 if constraint["s0"] <= 0.0 else 0, 0
            cost["K"] = max(firm, min(constraint["p"] * carries, FIRMEST * firm))
            cost["bias"] = bias_of(constraint["s0"], dt, solver["push"])


@kernel
def grip_drive(constraint: Any, cost: Any, dt: float, before: float) -> None:
    """The law of a drive over a whole step: q is its impulse at zero velocity at the end.

    If the drive is stiffer than K may be, a spring in series yields by the difference to the impulse `before`. At rest
    the drive then bears its full load: otherwise a heavy figure would sink on motors in light legs.
    """
    k, own = (
        constraint["inverse"] * LARGEST_STIFFNESS_RATIO,
        dt * (constraint["damping"] + dt * constraint["stiffness"]),
    )
    stays = 0.0
    if constraint["damping"] == np.inf:
        k, stays = constraint["inverse"] * FIRM * FIRMEST, 1.0
        q = k * constraint["target"]
    else:
        q = dt * (
            constraint["force"]
            + constraint["stiffness"] * constraint["s0"]
            + constraint["damping"] * constraint["target"]
        )
        if own > k:  # v = (q - p) / own + (before - p) / k
            stays = own / (own + k)
            q, k = (1.0 - stays) * q, k * stays
        else:
            k = own
    cost["driven"], cost["K"], cost["q1"], cost["low"], cost["high"] = (
        1,
        k,
        q + stays * before,
        constraint["least"] * dt,
        constraint["most"] * dt,
    )
    cost["before"], cost["stays"] = before, stays


@kernel
def along(cost: Any, Y: Any, y: int, z: Any) -> float:
    """Velocity along one row y of a cost row."""
    x = product(Y, y + cost["l1"], z, cost["o2"], cost["l2"])
    return x + product(Y, y, z, cost["o1"], cost["l1"]) if cost["l1"] > 0 else x


@kernel
def velocities(cost: Any, Y: Any, z: Any) -> tuple[float, float, float]:
    vn = along(cost, Y, cost["yn"], z) if cost["normal"] != 0 else 0.0
    v1 = along(cost, Y, cost["yt"], z) if cost["tangents"] > 0 else 0.0
    v2 = along(cost, Y, cost["yt"] + cost["l1"] + cost["l2"], z) if cost["tangents"] > 1 else 0.0
    return vn, v1, v2


@kernel
def impulses(cost: Any, x: float) -> tuple[float, float, float]:
    """Impulses by the law, at the velocities plus x times their Newton step."""
    K = cost["K"]
    pn = max(0.0, cost["qn"] - K * (cost["vn"] + x * cost["dn"])) if cost["normal"] != 0 else 0.0
    if cost["tangents"] == 0:
        return pn, 0.0, 0.0
    p1, p2 = cost["q1"] - K * (cost["v1"] + x * cost["d1"]), cost["q2"] - K * (cost["v2"] + x * cost["d2"])
    if cost["driven"] != 0:
        return 0.0, min(max(p1, cost["low"]), cost["high"]), 0.0
    size, most = p1 * p1 + p2 * p2, cost["most"]
    if size > most * most:
        ratio = most / sqrt(size)
        return pn, p1 * ratio, p2 * ratio
    return pn, p1, p2


@kernel
def slopes(cost: Any, x: float) -> tuple[float, float, float, float]:
    """Minus the derivative of the law at the same point: of the normal, and entries 11, 12, 22 of the tangents."""
    K = cost["K"]
    gn = K if cost["normal"] != 0 and cost["qn"] > K * (cost["vn"] + x * cost["dn"]) else 0.0
    if cost["tangents"] == 0:
        return gn, 0.0, 0.0, 0.0
    p1, p2 = cost["q1"] - K * (cost["v1"] + x * cost["d1"]), cost["q2"] - K * (cost["v2"] + x * cost["d2"])
    if cost["driven"] != 0:
        return 0.0, K if cost["low"] < p1 < cost["high"] else 0.0, 0.0, 0.0
    size, most = p1 * p1 + p2 * p2, cost["most"]
    if size > most * most:
        across = K * most / (size * sqrt(size))  # sliding: only the direction changes
        return gn, across * p2 * p2, -across * p1 * p2, across * p1 * p1
    return gn, K, 0.0, K


@kernel
def act(cost: Any, Y: Any, z: Any, sign: float) -> None:
    """z ← z ± Y p."""
    pn, p1, p2 = sign * cost["pn"], sign * cost["p1"], sign * cost["p2"]
    l1, l2 = cost["l1"], cost["l2"]
    if cost["tangents"] == 2:
        if l1 > 0:
            kick_three(Y, cost["yn"], l1 + l2, z, cost["o1"], l1, pn, p1, p2)
        kick_three(Y, cost["yn"] + l1, l1 + l2, z, cost["o2"], l2, pn, p1, p2)
    else:
        p = pn if cost["normal"] != 0 else p1
        if l1 > 0:
            kick(Y, cost["yn"], z, cost["o1"], l1, p)
        kick(Y, cost["yn"] + l1, z, cost["o2"], l2, p)


@kernel(inline=False)
def release(solver: Any, island: Any) -> None:
    """Write the impulses of a direct solve to its contact and dof rows, divided among the substeps."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    bounds = dof_constraints(solver)[island["first_bound"] :]
    grips = cost_rows(island)
    part = 1.0 / solver["substeps"]
    for i in range(island["touch_count"]):
        contact, g = touches[i], grips[i]
        contact["pn"], contact["p1"], contact["p2"] = part * g["pn"], part * g["p1"], part * g["p2"]
        contact["sum"] = contact["last"] = g["pn"]
        contact["sum1"], contact["sum2"] = g["p1"], g["p2"]
        contact["acted"] = g["touching"]  # overlap may have been corrected, although the final impulse is zero
    for i in range(island["bound_count"]):
        constraint, g = bounds[i], grips[island["touch_count"] + i]
        constraint["sum"] = g["pn"] + g["p1"]  # one of which is zero
        constraint["p"] = part * constraint["sum"]
