"""Restitution: the velocities after impacts, from approach speeds and coefficients of restitution.

The solve of a step is without restitution: it finds which contacts close, and the positions at the end. If one pair of
trees collides, its contacts then get their parting speeds. If an impact propagates through other contacts, as in
Newton's cradle, the velocities are computed anew: pairs of trees bounce one after the other, each with its current
approach speed, until none approaches; then all contacts are solved without restitution.
"""

from __future__ import annotations

from typing import Any

from kinemorph.contact.gauss_seidel.iteration import rub_within
from kinemorph.contact.gauss_seidel.row_products import kick, strike, strike_three, velocity
from kinemorph.contact.layout import (
    Bounded,
    contact_constraints,
    displacement_of,
    dof_constraints,
    g_of,
    whitened_rows,
    x_of,
    z0_of,
    z_of,
    za_of,
)
from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sqrt

LEAST_BOUNCE_PASSES = 2  # over all contacts that bounce simultaneously
MOST_PAIR_TURNS = 30  # over pairs that bounce one after the other
AT_ONCE = 4  # smallest number of passes over the contacts of one pair
MOST_BOUNCE_PASSES = 60
EVEN = 1e-7  # share of the approach speed: a pass that changes less is the last, so that flat impacts cause no spin
CARRY = 4  # passes without restitution after the pairs
DRIVEN = int(Bounded.DRIVEN)


@kernel
def meet(solver: Any, island: Any) -> int:
    """Set `approach` (m/s) of contacts with restitution, before impulses act. Returns how many exceed the threshold.

    A contact that closes its gap within the step has the speed of that moment: v² - 2 a s.
    """
    touches = contact_constraints(solver)[island["first_touch"] :]
    Y, z, za = whitened_rows(solver), z_of(solver), za_of(solver)
    count = 0
    for i in range(island["touch_count"]):
        contact = touches[i]
        if contact["restitution"] > 0.0:
            v, a = velocity(contact, 0, Y, z), velocity(contact, 0, Y, za)
            if v < 0.0:
                contact["approach"] = -sqrt(max(v * v - 2.0 * a * max(contact["s0"], 0.0), 0.0))
                count += 1 if contact["approach"] < -solver["bounce"] else 0
    return count


@kernel
def slide(contact: Any, Y: Any, z: Any, most: float) -> None:
    """Solve the total tangential impulses of a contact within a disc of radius `most` (N s)."""
    v1, v2 = velocity(contact, 1, Y, z) + contact["w1"], velocity(contact, 2, Y, z) + contact["w2"]
    contact["p1"], contact["p2"] = contact["sum1"], contact["sum2"]
    p1, p2 = rub_within(contact, v1, v2, most)
    strike_three(contact, Y, z, 0.0, p1 - contact["sum1"], p2 - contact["sum2"])
    contact["sum1"], contact["sum2"] = p1, p2


@kernel
def only_takes(solver: Any, island: Any) -> bool:
    """Whether no row of an island can add energy: it has no drive and no moving surface."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    bounds = dof_constraints(solver)[island["first_bound"] :]
    for i in range(island["touch_count"]):
        if touches[i]["w1"] != 0.0 or touches[i]["w2"] != 0.0:
            return False
    for i in range(island["bound_count"]):
        if bounds[i]["what"] == DRIVEN:
            return False
    return True


@kernel(inline=False)
def keep_energy(solver: Any, island: Any) -> None:
    """Scale the restitution so that the energy does not exceed that before the step plus the work of forces.

    Bodies have moved as if nothing bounced, so their positions may not fit the velocities after the bounce. z0 is the
    velocity without restitution, x the velocity before the step.
    """
    z, z0, x = z_of(solver), z0_of(solver), x_of(solver)
    za, moved = za_of(solver), displacement_of(solver)
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
def bounce(solver: Any, island: Any) -> None:
    """Restitution of contacts that approached faster than the threshold and had a normal impulse, by Gauss-Seidel."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    Y, z, z0 = whitened_rows(solver), z_of(solver), z0_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        z0[k] = z[k]
    for n in range(MOST_BOUNCE_PASSES):
        even = n + 1 >= LEAST_BOUNCE_PASSES
        for i in range(island["touch_count"]):
            contact = touches[i]
            if contact["approach"] < -solver["bounce"] and contact["sum"] > 0.0:
                p = max(
                    0.0,
                    contact["last"]
                    - (velocity(contact, 0, Y, z) + contact["restitution"] * contact["approach"]) * contact["inverse"],
                )
                even = even and abs(p - contact["last"]) <= -EVEN * contact["approach"] * contact["inverse"]
                strike(contact, Y, z, p - contact["last"])
                contact["sum"] += p - contact["last"]
                contact["last"] = p
                if contact["friction"] > 0.0:
                    pushed1, pushed2 = contact["p1"], contact["p2"]
                    slide(contact, Y, z, contact["friction"] * contact["sum"])
                    contact["p1"], contact["p2"] = pushed1, pushed2  # for the warm start of the next step
        if even:
            break
    if only_takes(solver, island):
        keep_energy(solver, island)


# ------------------------------------------------------------------------------------------------- propagating impacts


@kernel
def start_impacts(solver: Any, island: Any) -> None:
    """x ← z, the velocities before the step."""
    z, x = z_of(solver), x_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        x[k] = z[k]


@kernel
def same_trees(a: Any, b: Any) -> bool:
    return a["tree1"] == b["tree1"] and a["tree2"] == b["tree2"]


@kernel
def goes_on(solver: Any, island: Any) -> bool:
    """Whether contacts with restitution had impulses between more than one pair of trees."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    found = -1
    for i in range(island["touch_count"]):
        contact = touches[i]
        if contact["restitution"] > 0.0 and contact["sum"] > 0.0:
            if found < 0:
                found = i
            elif not same_trees(contact, touches[found]):
                return True
    return False


@kernel(inline=False)
def carry(solver: Any, island: Any, resting: bool) -> None:
    """Solve active contacts without restitution; with `resting`, only those without an impact."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    for _ in range(CARRY):
        for i in range(island["touch_count"]):
            contact = touches[i]
            if contact["acted"] == 0 or (resting and contact["approach"] < -solver["bounce"]):
                continue
            p = max(0.0, contact["pn"] - velocity(contact, 0, Y, z) * contact["inverse"])
            strike(contact, Y, z, p - contact["pn"])
            contact["pn"] = p
            if contact["friction"] > 0.0:
                v1, v2 = velocity(contact, 1, Y, z) + contact["w1"], velocity(contact, 2, Y, z) + contact["w2"]
                p1, p2 = rub_within(contact, v1, v2, contact["friction"] * p)
                strike_three(contact, Y, z, 0.0, p1 - contact["p1"], p2 - contact["p2"])
                contact["p1"], contact["p2"] = p1, p2


@kernel(inline=False)
def go_back(solver: Any, island: Any) -> None:
    """Set z to the velocities at the end of the step under the forces and the stored contact impulses alone.

    As at the start of a substep, the stored impulses are scaled so that they add no energy.
    """
    touches = contact_constraints(solver)[island["first_touch"] :]
    bounds = dof_constraints(solver)[island["first_bound"] :]
    Y, z, za = whitened_rows(solver), z_of(solver), za_of(solver)
    x, g = x_of(solver), g_of(solver)
    parts = float(solver["substeps"])
    first, stop = island["offset"], island["offset"] + island["nz"]
    for k in range(first, stop):
        z[k], g[k] = x[k] + solver["h"] * parts * za[k], 0.0
    for i in range(island["touch_count"]):
        t = touches[i]
        if t["sum"] > 0.0:
            strike_three(t, Y, g, parts * t["kept"][0], parts * t["kept"][1], parts * t["kept"][2])
    along = size = 0.0
    for k in range(first, stop):
        along -= z[k] * g[k]
        size += g[k] * g[k]
    share = min(max(along / size, 0.0), 1.0) if size > 0.0 else 0.0
    for k in range(first, stop):
        z[k] += share * g[k]
    for i in range(island["touch_count"]):
        t = touches[i]
        pressed = parts * share if t["sum"] > 0.0 else 0.0
        t["acted"] = 1 if t["sum"] > 0.0 else 0
        t["pn"], t["p1"], t["p2"] = pressed * t["kept"][0], pressed * t["kept"][1], pressed * t["kept"][2]
        t["sum"] = t["sum1"] = t["sum2"] = 0.0
    for i in range(island["bound_count"]):  # dof rows keep their impulses
        constraint = bounds[i]
        kick(Y, constraint["y"], z, constraint["o"], constraint["l"], constraint["sum"])
    carry(solver, island, True)  # else the weight of resting bodies would cause restitution
    for i in range(island["touch_count"]):  # approach speed at impact less the speed at the end of the step
        t = touches[i]
        t["approach"] = t["approach"] - velocity(t, 0, Y, z) if t["approach"] < -solver["bounce"] else 0.0


@kernel
def bounce_pair(solver: Any, touches: Any, first: int, stop: int, start: bool) -> bool:
    """Simultaneous restitution of the contacts of one pair of trees. False if none of them approaches."""
    Y, z = whitened_rows(solver), z_of(solver)
    least = 0.0
    for i in range(first, stop):
        t = touches[i]
        if t["acted"] != 0:
            v = velocity(t, 0, Y, z)
            t["s"] = v + t["approach"] if start else v  # the separation is no longer needed
            t["last"] = t["sum1"] = t["sum2"] = 0.0
            least = min(least, t["s"])
    if least > -solver["bounce"]:
        return False
    for n in range(MOST_BOUNCE_PASSES):
        even = n + 1 >= AT_ONCE
        for i in range(first, stop):
            t = touches[i]
            if t["acted"] == 0:
                continue
            back = t["restitution"] * t["s"] if t["s"] < -solver["bounce"] else 0.0
            p = max(0.0, t["last"] - (velocity(t, 0, Y, z) + back) * t["inverse"])
            even = even and abs(p - t["last"]) <= -EVEN * least * t["inverse"]
            strike(t, Y, z, p - t["last"])
            t["last"] = p
            if t["friction"] > 0.0:
                kept1, kept2 = t["p1"], t["p2"]
                slide(t, Y, z, t["friction"] * p)
                t["p1"], t["p2"] = kept1, kept2
        if even:
            break
    return True


@kernel(inline=False)
def pass_on(solver: Any, island: Any) -> bool:
    """Solve impacts that propagate through several pairs. False, and no change, if there is only one pair."""
    if not goes_on(solver, island):
        return False
    touches = contact_constraints(solver)[island["first_touch"] :]
    count = island["touch_count"]
    z, z0 = z_of(solver), z0_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        z0[k] = z[k]
    go_back(solver, island)
    for turn in range(MOST_PAIR_TURNS):
        some = False
        first = 0
        while first < count:
            stop = first + 1
            while stop < count and same_trees(touches[first], touches[stop]):
                stop += 1
            if bounce_pair(solver, touches, first, stop, turn == 0):
                some = True
                for i in range(first, stop):
                    touches[i]["sum"] += touches[i]["last"] if touches[i]["acted"] != 0 else 0.0
            first = stop
        if not some:
            break
    carry(solver, island, False)
    if only_takes(solver, island):
        keep_energy(solver, island)
    part = 1.0 / solver["substeps"]
    for i in range(count):
        t = touches[i]
        t["sum"], t["sum1"], t["sum2"] = t["sum"] + t["pn"], t["p1"], t["p2"]
        t["pn"], t["p1"], t["p2"] = part * t["pn"], part * t["p1"], part * t["p2"]
    return True
