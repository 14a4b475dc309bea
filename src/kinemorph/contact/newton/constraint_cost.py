"""Grips: the laws by which the rows of a direct solve answer velocities with impulses, each the slope of a convex cost.

    normal    pn = max(0, qn - K (vn + bias))
    tangents  p  = the point of the disc of radius `most` that is next to q - K (v + w)
    drives    p  = the number between `low` and `high` that is next to q - K v

A touching contact is a stiff spring with a damper, implicit: a step takes a share 1 / (1 + τ) of its overlap away, and
under a load f it rests with an overlap of f dt² (1 + τ) / K. K is so large that this is nothing: a multiple of the mass
of the whole island, which is all that a contact may have to carry, and larger still under larger forces. Friction holds
without creeping, since q is what held in the step before, and is brought up to date. So is what a motor held,
which is no firmer than a contact or a limit may become: these stop it.
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
SINK = 1e-4  # m, or rad: the most that a load presses in
FIRMEST = 100.0  # times as firm, at most, under a load: what is jammed would else become firmer without end
LARGEST_STIFFNESS_RATIO = (
    1e5  # K of a drive, as a multiple of the mass that it feels: beyond, digits would be lost for nothing
)


@kernel
def bias_of(gap: float, dt: float, push: float) -> float:
    """What a gap allows of approach, or overlap asks for of parting."""
    return gap / dt if gap > 0.0 else max(gap / (dt * (1.0 + FADE)), -push)


@kernel
def stay_in(g: Any, q1: float, q2: float) -> None:
    """Set q to the point of the disc that is next to one."""
    size, most = q1 * q1 + q2 * q2, g["most"]
    ratio = most / sqrt(size) if size > most * most else 1.0
    g["q1"], g["q2"] = q1 * ratio, q2 * ratio


@kernel(inline=False)
def grip_touches(solver: Any, island: Any) -> None:
    """The grips of contacts, with what they held in the step before: impulses there are those of a substep."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    grips = cost_rows(island)
    parts = float(solver["substeps"])
    dt = solver["h"] * parts
    firm, carries = FIRM * island["mass"], parts * dt * (1.0 + FADE) / SINK
    for i in range(island["touch_count"]):
        t, g = touches[i], grips[i]
        n = t["l1"] + t["l2"]
        g["o1"], g["l1"], g["o2"], g["l2"], g["yn"], g["yt"] = t["o1"], t["l1"], t["o2"], t["l2"], t["y"], t["y"] + n
        g["normal"], g["touching"], g["tangents"] = 1, 1 if t["s0"] <= 0.0 else 0, 2 if t["friction"] > 0.0 else 0
        g["driven"] = 0
        g["K"] = max(firm, min(t["pn"] * carries, FIRMEST * firm))
        g["bias"], g["qn"] = bias_of(t["s0"], dt, solver["push"]), 0.0
        g["friction"], g["most"] = t["friction"], t["friction"] * t["pn"] * parts
        stay_in(g, t["p1"] * parts, t["p2"] * parts)
        g["v1"], g["v2"] = t["w1"], t["w2"]


@kernel(inline=False)
def grip_bounds(solver: Any, island: Any) -> None:
    """The grips of limits, largest speeds, dry friction and drives."""
    bounds = dof_constraints(solver)[island["first_bound"] :]
    spans = slices_of(solver)
    grips = cost_rows(island)[island["touch_count"] :]
    parts = float(solver["substeps"])
    dt = solver["h"] * parts
    carries = parts * dt * (1.0 + FADE) / SINK
    for i in range(island["bound_count"]):
        b, g = bounds[i], grips[i]
        bears = max(1.0, max(1.0 / spans[b["tree"]]["mass"], b["bears"]) * island["mass"])
        firm = FIRM * bears * b["inverse"]
        g["o1"], g["l1"], g["o2"], g["l2"], g["yn"], g["yt"] = 0, 0, b["o"], b["l"], b["y"], b["y"]
        g["K"], g["bias"], g["qn"], g["q1"], g["q2"] = firm, 0.0, 0.0, 0.0, 0.0
        g["friction"], g["most"], g["v1"], g["v2"] = 0.0, 0.0, 0.0, 0.0
        g["normal"], g["touching"], g["tangents"], g["driven"] = 0, 0, 1, 0
        if b["what"] == DRY:
            g["most"] = b["most"] * dt
            stay_in(g, b["p"] * parts, 0.0)
        elif b["what"] == DRIVEN:
            most = FIRM * FIRMEST * sqrt(b["inverse"] * island["mass"]) / carries  # all that contacts may have to hold
            grip_drive(b, g, dt, min(max(b["p"], -most), most) * parts)
        elif b["what"] == FAST:
            g["normal"], g["tangents"], g["bias"] = 1, 0, b["target"]
        else:
            g["normal"], g["touching"], g["tangents"] = 1, 1 if b["s0"] <= 0.0 else 0, 0
            g["K"] = max(firm, min(b["p"] * carries, FIRMEST * firm))
            g["bias"] = bias_of(b["s0"], dt, solver["push"])


@kernel
def grip_drive(b: Any, g: Any, dt: float, before: float) -> None:
    """The law of a drive over a whole step: q is its impulse where nothing moves at the end.

    One that is stiffer than K can be is made to yield by what its impulse differs from that `before`, so that where
    nothing changes it holds all that it should: a heavy figure would else sink on motors in light legs.
    """
    k, own = b["inverse"] * LARGEST_STIFFNESS_RATIO, dt * (b["damping"] + dt * b["stiffness"])
    stays = 0.0
    if b["damping"] == np.inf:
        k, stays = b["inverse"] * FIRM * FIRMEST, 1.0
        q = k * b["target"]
    else:
        q = dt * (b["force"] + b["stiffness"] * b["s0"] + b["damping"] * b["target"])
        if own > k:  # v = (q - p) / own + (before - p) / k
            stays = own / (own + k)
            q, k = (1.0 - stays) * q, k * stays
        else:
            k = own
    g["driven"], g["K"], g["q1"], g["low"], g["high"] = 1, k, q + stays * before, b["least"] * dt, b["most"] * dt
    g["before"], g["stays"] = before, stays


@kernel
def along(g: Any, Y: Any, y: int, z: Any) -> float:
    """The velocity of one of the rows of a grip."""
    x = product(Y, y + g["l1"], z, g["o2"], g["l2"])
    return x + product(Y, y, z, g["o1"], g["l1"]) if g["l1"] > 0 else x


@kernel
def velocities(g: Any, Y: Any, z: Any) -> tuple[float, float, float]:
    vn = along(g, Y, g["yn"], z) if g["normal"] != 0 else 0.0
    v1 = along(g, Y, g["yt"], z) if g["tangents"] > 0 else 0.0
    v2 = along(g, Y, g["yt"] + g["l1"] + g["l2"], z) if g["tangents"] > 1 else 0.0
    return vn, v1, v2


@kernel
def impulses(g: Any, x: float) -> tuple[float, float, float]:
    """The law, at velocities that a share x of a step farther on."""
    K = g["K"]
    pn = max(0.0, g["qn"] - K * (g["vn"] + x * g["dn"])) if g["normal"] != 0 else 0.0
    if g["tangents"] == 0:
        return pn, 0.0, 0.0
    p1, p2 = g["q1"] - K * (g["v1"] + x * g["d1"]), g["q2"] - K * (g["v2"] + x * g["d2"])
    if g["driven"] != 0:
        return 0.0, min(max(p1, g["low"]), g["high"]), 0.0
    size, most = p1 * p1 + p2 * p2, g["most"]
    if size > most * most:
        ratio = most / sqrt(size)
        return pn, p1 * ratio, p2 * ratio
    return pn, p1, p2


@kernel
def slopes(g: Any, x: float) -> tuple[float, float, float, float]:
    """Minus the derivative of the law: that of the normal, and 11, 12, 22 of the tangents."""
    K = g["K"]
    gn = K if g["normal"] != 0 and g["qn"] > K * (g["vn"] + x * g["dn"]) else 0.0
    if g["tangents"] == 0:
        return gn, 0.0, 0.0, 0.0
    p1, p2 = g["q1"] - K * (g["v1"] + x * g["d1"]), g["q2"] - K * (g["v2"] + x * g["d2"])
    if g["driven"] != 0:
        return 0.0, K if g["low"] < p1 < g["high"] else 0.0, 0.0, 0.0
    size, most = p1 * p1 + p2 * p2, g["most"]
    if size > most * most:
        across = K * most / (size * sqrt(size))  # sliding: only the direction can change
        return gn, across * p2 * p2, -across * p1 * p2, across * p1 * p1
    return gn, K, 0.0, K


@kernel
def act(g: Any, Y: Any, z: Any, sign: float) -> None:
    """z ← z ± Y p."""
    pn, p1, p2 = sign * g["pn"], sign * g["p1"], sign * g["p2"]
    l1, l2 = g["l1"], g["l2"]
    if g["tangents"] == 2:
        if l1 > 0:
            kick_three(Y, g["yn"], l1 + l2, z, g["o1"], l1, pn, p1, p2)
        kick_three(Y, g["yn"] + l1, l1 + l2, z, g["o2"], l2, pn, p1, p2)
    else:
        p = pn if g["normal"] != 0 else p1
        if l1 > 0:
            kick(Y, g["yn"], z, g["o1"], l1, p)
        kick(Y, g["yn"] + l1, z, g["o2"], l2, p)


@kernel(inline=False)
def release(solver: Any, island: Any) -> None:
    """The impulses of a direct solve as those of its touches and bounds, a substep each."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    bounds = dof_constraints(solver)[island["first_bound"] :]
    grips = cost_rows(island)
    part = 1.0 / solver["substeps"]
    for i in range(island["touch_count"]):
        t, g = touches[i], grips[i]
        t["pn"], t["p1"], t["p2"] = part * g["pn"], part * g["p1"], part * g["p2"]
        t["sum"] = t["last"] = g["pn"]
        t["sum1"], t["sum2"] = g["p1"], g["p2"]
        t["acted"] = g["touching"]  # overlap may have been pushed apart, though nothing presses now
    for i in range(island["bound_count"]):
        b, g = bounds[i], grips[island["touch_count"] + i]
        b["sum"] = g["pn"] + g["p1"]  # one of which is zero
        b["p"] = part * b["sum"]
