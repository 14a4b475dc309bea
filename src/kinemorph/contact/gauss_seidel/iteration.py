"""Projected Gauss-Seidel over the constraint rows of an island, with soft contacts and a relax pass (as Box2D 3).

The biased pass corrects overlap softly (ω, ζ), at most at the parting speed of the header. After the positions have
moved, the relax pass solves without bias and with friction, so that overlap correction adds no energy. A speculative
contact (separation > 0) may close its gap within the substep, and no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.contact.gauss_seidel.row_products import (
    along,
    in_registers,
    is_small,
    kick,
    measure,
    measure_small,
    put,
    put_small,
    row_of,
    strike,
    strike_three,
    struck,
    struck_small,
    take,
    take_small,
    times,
    velocities,
    velocity,
)
from kinemorph.contact.layout import (
    Bounded,
    contact_constraints,
    displacement_of,
    dof_constraints,
    whitened_rows,
    z_of,
)
from kinemorph.jit.api import kernel
from kinemorph.spatial.lanes.four import columns, fma, lane
from kinemorph.spatial.scalar import sqrt

UPPER, DRIVEN, FAST = int(Bounded.UPPER), int(Bounded.DRIVEN), int(Bounded.FAST)


@kernel
def half_of_touches(island: Any) -> int:
    """Number of contacts in the first half of an island, if an iteration alternates between two halves; else 0.

    Contacts of one pair are adjacent and depend on each other's result. Alternating with contacts of other bodies lets
    the processor overlap their computations; an island of one tree has no other bodies.
    """
    return (island["touch_count"] + 1) >> 1 if island["first_tree"] != island["last_tree"] else 0


@kernel
def in_turn(k: int, half: int) -> int:
    """Index of the k-th contact of an iteration."""
    return (k >> 1) + half * (k & 1) if half > 0 else k


@kernel
def rub_within(contact: Any, v1: float, v2: float, most: float) -> tuple[float, float]:
    """Tangential impulses for a slip velocity: sticking inside a disc of radius `most`, else opposite to the slip."""
    p1, p2 = sticking(contact, v1, v2)
    return slipping(contact, v1, v2, most) if p1 * p1 + p2 * p2 > most * most else (p1, p2)


@kernel
def sticking(contact: Any, v1: float, v2: float) -> tuple[float, float]:
    """Tangential impulses that stop the slip."""
    p1 = fma(-contact["b12"], v2, fma(-contact["b11"], v1, contact["p1"]))
    return p1, fma(-contact["b22"], v2, fma(-contact["b12"], v1, contact["p2"]))


@kernel
def slipping(contact: Any, v1: float, v2: float, most: float) -> tuple[float, float]:
    """Tangential impulses opposite to the slip, clamped to a disc of radius `most`.

    Scaling by the inverse 2 x 2 matrix and clamping would converge to a force that is not opposite to the slip.
    """
    p1, p2 = fma(-contact["least"], v1, contact["p1"]), fma(-contact["least"], v2, contact["p2"])
    size = p1 * p1 + p2 * p2
    ratio = most / sqrt(size) if size > most * most else 1.0
    return ratio * p1, ratio * p2


@kernel
def softness(solver: Any) -> tuple[float, float, float]:
    """Bias rate β (1/s), mass scale and impulse scale of soft contacts, from ζ and ω h of the header."""
    x = solver["stiffness"]  # ω h
    a1 = 2.0 * solver["damping"] + x
    a2 = x * a1
    return x / (solver["h"] * a1), a2 / (1.0 + a2), 1.0 / (1.0 + a2)


@kernel
def pressed(contact: Any, v: float, gap: float, h: float, push: float, soft: tuple[float, float, float]) -> float:
    """Change of the normal impulse in the biased pass, from the separation (m) and the normal velocity (m/s)."""
    beta, mass, less = soft
    contact["s"] = gap
    keep, give, start = 1.0, contact["inverse"], gap / h
    if not gap > 0.0:
        keep, give, start = 1.0 - less, mass * contact["inverse"], max(beta * gap, -push)
    p = max(0.0, fma(-give, v, fma(-give, start, keep * contact["pn"])))
    d = p - contact["pn"]
    contact["pn"] = p
    if p > 0.0:
        contact["acted"] = 1
    return d


@kernel
def press(solver: Any, island: Any, first: bool, soft: tuple[float, float, float]) -> None:
    """The biased pass over the contacts of an island: normal impulses only."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    moved = displacement_of(solver)
    h, push = solver["h"], solver["push"]
    half = half_of_touches(island)
    for k in range(island["touch_count"]):
        contact = touches[in_turn(k, half)]
        if in_registers(contact):
            x, y = take(contact, z), row_of(contact, 0, Y)
            gap = contact["s0"] if first else contact["s0"] + measure(y, take(contact, moved))
            put(contact, z, struck(x, y, pressed(contact, measure(y, x), gap, h, push, soft)))
        elif contact["l1"] == 0 and is_small(contact["l2"]):
            o, l = contact["o2"], contact["l2"]
            a, b = take_small(z, o, l), take_small(Y, contact["y"], l)
            gap = contact["s0"] if first else contact["s0"] + measure_small(b, take_small(moved, o, l))
            put_small(z, o, l, struck_small(a, b, pressed(contact, measure_small(b, a), gap, h, push, soft)))
        else:
            gap = contact["s0"] if first else contact["s0"] + velocity(contact, 0, Y, moved)
            strike(contact, Y, z, pressed(contact, velocity(contact, 0, Y, z), gap, h, push, soft))


@kernel
def relaxed(contact: Any, v: float, v1: float, v2: float) -> tuple[float, float, float]:
    """Changes of the three impulses of a contact in the relax pass, from its three velocities.

    Friction is as in `rub_within`, but the slip by the normal impulse is added last, which shortens the dependency.
    """
    v1, v2 = v1 + contact["w1"], v2 + contact["w2"]
    p = max(0.0, fma(-contact["inverse"], v, contact["pn"]))
    d = p - contact["pn"]
    p1, p2 = sticking(contact, v1, v2)
    p1 = fma(-fma(contact["b11"], contact["an1"], contact["b12"] * contact["an2"]), d, p1)
    p2 = fma(-fma(contact["b12"], contact["an1"], contact["b22"] * contact["an2"]), d, p2)
    most = contact["friction"] * p
    if p1 * p1 + p2 * p2 > most * most:
        p1, p2 = slipping(contact, fma(contact["an1"], d, v1), fma(contact["an2"], d, v2), most)
    d1, d2 = p1 - contact["p1"], p2 - contact["p2"]
    contact["pn"], contact["p1"], contact["p2"] = p, p1, p2
    contact["sum"] += p
    contact["sum1"] += p1
    contact["sum2"] += p2
    return d, d1, d2


@kernel
def relax(solver: Any, island: Any) -> None:
    """The relax pass over the contacts of an island: no bias, with friction; adds impulses to the step's totals."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    moved = displacement_of(solver)
    h = solver["h"]
    half = half_of_touches(island)
    for k in range(island["touch_count"]):
        contact = touches[in_turn(k, half)]
        if (
            (contact["restitution"] > 0.0 or contact["fast"] != 0) and contact["s"] > 0.0 and contact["pn"] == 0.0
        ):  # it has no impact yet
            if contact["p1"] != 0.0 or contact["p2"] != 0.0:
                strike_three(contact, Y, z, 0.0, -contact["p1"], -contact["p2"])
                contact["p1"] = contact["p2"] = 0.0
        elif in_registers(contact):
            x, y, y1, y2 = take(contact, z), row_of(contact, 0, Y), row_of(contact, 1, Y), row_of(contact, 2, Y)
            v = measure(y, x)
            if contact["s"] > 0.0:
                v += (contact["s0"] + measure(y, take(contact, moved))) / h
            d, d1, d2 = relaxed(contact, v, measure(y1, x), measure(y2, x))
            put(contact, z, struck(struck(struck(x, y, d), y1, d1), y2, d2))
        elif contact["l1"] == 0 and is_small(contact["l2"]):
            o, l, at = contact["o2"], contact["l2"], contact["y"]
            a, b, b1, b2 = (
                take_small(z, o, l),
                take_small(Y, at, l),
                take_small(Y, at + l, l),
                take_small(Y, at + 2 * l, l),
            )
            v = measure_small(b, a)
            if contact["s"] > 0.0:
                v += (contact["s0"] + measure_small(b, take_small(moved, o, l))) / h
            d, d1, d2 = relaxed(contact, v, measure_small(b1, a), measure_small(b2, a))
            put_small(z, o, l, struck_small(struck_small(struck_small(a, b, d), b1, d1), b2, d2))
        else:
            v, v1, v2 = velocities(contact, Y, z)
            if contact["s"] > 0.0:
                v += (contact["s0"] + velocity(contact, 0, Y, moved)) / h
            d, d1, d2 = relaxed(contact, v, v1, v2)
            strike_three(contact, Y, z, d, d1, d2)


@kernel
def aim_drive(constraint: Any, h: float) -> None:
    """Set start, keep and give of a drive: an implicit spring and damper, with x and v at the end of the substep."""
    if constraint["damping"] == np.inf:
        constraint["start"], constraint["keep"], constraint["give"] = (
            constraint["target"] * constraint["inverse"],
            1.0,
            constraint["inverse"],
        )
    else:
        k = h * (constraint["damping"] + h * constraint["stiffness"])
        share = 1.0 / (constraint["inverse"] + k)
        force = (
            constraint["force"]
            + constraint["stiffness"] * constraint["s"]
            + constraint["damping"] * constraint["target"]
        )
        constraint["start"], constraint["keep"], constraint["give"] = (
            h * force * (constraint["inverse"] * share),
            k * share,
            k * (constraint["inverse"] * share),
        )
    constraint["low"], constraint["high"] = constraint["least"] * h, constraint["most"] * h


@kernel
def aim_limit(
    constraint: Any, gap: float, h: float, push: float, soft: tuple[float, float, float], biased: bool
) -> None:
    """Set start, keep and give of a limit with a known gap (rad or m), as for a contact."""
    beta, mass, less = soft
    if biased:
        constraint["s"] = gap
    constraint["keep"], constraint["give"] = 1.0, constraint["inverse"]
    if constraint["s"] > 0.0:
        constraint["start"] = -gap / h * constraint["inverse"]
    elif biased:
        constraint["start"] = -mass * max(beta * gap, -push) * constraint["inverse"]  # m/s, and rad/s here
        constraint["keep"], constraint["give"] = 1.0 - less, mass * constraint["inverse"]
    else:
        constraint["start"] = 0.0
    constraint["low"], constraint["high"] = 0.0, np.inf


@kernel
def aim(solver: Any, island: Any, biased: bool, first: bool, soft: tuple[float, float, float]) -> None:
    """Coefficients of all dof rows for the next pass, p ← start + keep p - give v, clamped to [low, high].

    Only limits have a bias. The expensive terms are computed here, because in the pass each row waits for the previous.
    """
    bounds = dof_constraints(solver)[island["first_bound"] :]
    Y, moved = whitened_rows(solver), displacement_of(solver)
    for i in range(island["bound_count"]):
        constraint = bounds[i]
        if constraint["what"] <= UPPER:
            gap = (
                constraint["s0"]
                if first
                else constraint["s0"] + along(Y, constraint["y"], moved, constraint["o"], constraint["l"])
            )
            aim_limit(constraint, gap, solver["h"], solver["push"], soft, biased)
        elif biased and constraint["what"] == DRIVEN:
            if not first:
                constraint["s"] = constraint["s0"] - along(Y, constraint["y"], moved, constraint["o"], constraint["l"])
            aim_drive(constraint, solver["h"])
        elif first:
            fast = constraint["what"] == FAST
            constraint["start"], constraint["keep"], constraint["give"] = (
                -constraint["target"] * constraint["inverse"] if fast else 0.0,
                1.0,
                constraint["inverse"],
            )
            constraint["low"], constraint["high"] = (
                0.0 if fast else -constraint["most"] * solver["h"],
                np.inf if fast else constraint["most"] * solver["h"],
            )


@kernel
def wanted(constraint: Any, v: float) -> float:
    """New impulse of a dof row, from its velocity (which includes its present impulse)."""
    return min(
        max(
            fma(-constraint["give"], v, fma(constraint["keep"], constraint["p"], constraint["start"])),
            constraint["low"],
        ),
        constraint["high"],
    )


@kernel
def take_over(constraint: Any, p: float) -> None:
    """Store the impulse of a dof row, and mark the row as acting if the impulse exceeds rounding."""
    constraint["p"] = p
    if abs(p) > constraint["trifle"]:
        constraint["acted"] = 1


@kernel
def bound(solver: Any, island: Any, limits: bool) -> None:
    """One iteration over drives, dry friction, speed limits and limits, or `limits` alone, as prepared."""
    bounds = dof_constraints(solver)[island["first_bound"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    i = 0
    while i < island["bound_count"]:
        constraint = bounds[i]
        if constraint["group"] != 0 and not limits:
            bound_four(constraint, bounds[i + 1], bounds[i + 2], bounds[i + 3], Y, z)
            i += 4
            continue
        if not limits or constraint["what"] <= UPPER:
            p = wanted(constraint, along(Y, constraint["y"], z, constraint["o"], constraint["l"]))
            kick(Y, constraint["y"], z, constraint["o"], constraint["l"], p - constraint["p"])
            take_over(constraint, p)
        i += 1


# -------------------------------------------------------------- four dof rows of a small tree, all of the same length


@kernel
def group_bounds(solver: Any, island: Any) -> None:
    """Find the dof rows that can be solved four at a time, and the products of their rows."""
    bounds = dof_constraints(solver)[island["first_bound"] :]
    Y, i = whitened_rows(solver), 0
    while i < island["bound_count"]:
        a = bounds[i]
        a["group"] = 1 if i + 4 <= island["bound_count"] and is_small(a["l"]) else 0
        for j in range(1, 4 if a["group"] != 0 else 1):
            if bounds[i + j]["o"] != a["o"] or bounds[i + j]["l"] != a["l"]:
                a["group"] = 0
        for j in range(1, 4 if a["group"] != 0 else 1):
            for k in range(j):
                bounds[i + j]["couples"][k] = along(Y, bounds[i + j]["y"], Y, bounds[i + k]["y"], a["l"])
        i += 4 if a["group"] != 0 else 1


@kernel
def bound_four(a: Any, constraint: Any, c: Any, d: Any, Y: Any, z: Any) -> None:
    """Solve four dof rows in order. Their velocities are computed at once, then corrected for the impulses of earlier
    rows through the products of the rows, which gives the result of four separate steps."""
    o, l = a["o"], a["l"]
    x, A, B = take_small(z, o, l), take_small(Y, a["y"], l), take_small(Y, constraint["y"], l)
    C, D = take_small(Y, c["y"], l), take_small(Y, d["y"], l)
    first, second, third, fourth = columns(times(A, x), times(B, x), times(C, x), times(D, x))
    v = (first + third) + (second + fourth)
    pa = wanted(a, lane(v, 0))
    da = pa - a["p"]
    pb = wanted(constraint, fma(constraint["couples"][0], da, lane(v, 1)))
    db = pb - constraint["p"]
    pc = wanted(c, fma(c["couples"][1], db, fma(c["couples"][0], da, lane(v, 2))))
    dc = pc - c["p"]
    last = fma(d["couples"][1], db, fma(d["couples"][0], da, lane(v, 3)))
    pd = wanted(d, fma(d["couples"][2], dc, last))
    put_small(z, o, l, struck_small(struck_small(struck_small(struck_small(x, A, da), B, db), C, dc), D, pd - d["p"]))
    take_over(a, pa)
    take_over(constraint, pb)
    take_over(c, pc)
    take_over(d, pd)
