"""Impacts that bounce: what restitution and friction make of the speed with which contacts meet.

The solve of a step lets nothing bounce: it finds which contacts close, and where bodies are by then. Where one of them
alone has met something, it then parts with its share of the speed that it met with. Where an impact goes on through
others that touch, as through the balls of Newton's cradle, the velocities are found anew: pairs of bodies bounce one
after the other, each with the speed that it has when its turn comes, until none approaches; then all contacts carry
what they have to, without a bounce.
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

LEAST_BOUNCE_PASSES = 2  # over contacts that bounce at once, at least
MOST_PAIR_TURNS = 30  # of pairs that bounce one after the other
AT_ONCE = 4  # passes over the contacts of one pair, at least
MOST_BOUNCE_PASSES = 60
EVEN = 1e-7  # of the speed that they meet with: a pass that changes less is the last, and what hits flat does not spin
CARRY = 4  # passes after them
DRIVEN = int(Bounded.DRIVEN)


@kernel
def meet(solver: Any, island: Any) -> int:
    """How fast contacts approach, before anything acts: a bounce gives some of it back. How many do so.

    A contact that closes its gap within the step meets with the speed that it has there: v² - 2 a s.
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
    """Friction within what all of a normal impulse allows, with the sums of the tangents so far."""
    v1, v2 = velocity(contact, 1, Y, z) + contact["w1"], velocity(contact, 2, Y, z) + contact["w2"]
    contact["p1"], contact["p2"] = contact["sum1"], contact["sum2"]
    p1, p2 = rub_within(contact, v1, v2, most)
    strike_three(contact, Y, z, 0.0, p1 - contact["sum1"], p2 - contact["sum2"])
    contact["sum1"], contact["sum2"] = p1, p2


@kernel
def only_takes(solver: Any, island: Any) -> bool:
    """Whether nothing in an island adds energy: no drive, and no surface that moves."""
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
    """Have no more energy than before the step, with what forces have done on the way: bounce by so much less.

    Bodies were moved as if nothing bounced, and so may be where those that bounce would not be, or be so fast. z0 is
    what they have without a bounce, x what they had before the step.
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
    """Contacts that met faster than the threshold, and pressed, part with a share of that speed."""
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
                    contact["p1"], contact["p2"] = pushed1, pushed2  # what a later step may start from
        if even:
            break
    if only_takes(solver, island):
        keep_energy(solver, island)


# ------------------------------------------------------------------------------------------- impacts that are passed on


@kernel
def start_impacts(solver: Any, island: Any) -> None:
    """Remember the velocities before the step."""
    z, x = z_of(solver), x_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        x[k] = z[k]


@kernel
def same_trees(a: Any, b: Any) -> bool:
    return a["tree1"] == b["tree1"] and a["tree2"] == b["tree2"]


@kernel
def goes_on(solver: Any, island: Any) -> bool:
    """Whether contacts of more than one pair of trees that bounce have pressed: links of one bounce at once."""
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
    """Contacts that act carry what they have to, without a bounce; with `resting`, those that met with no speed."""
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
    """The velocities that the step would end with if contacts carried what they did before it, and no more.

    As at the start of a substep, what is kept is scaled so that it adds no energy.
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
    for i in range(island["bound_count"]):  # joints keep what they had
        constraint = bounds[i]
        kick(Y, constraint["y"], z, constraint["o"], constraint["l"], constraint["sum"])
    carry(solver, island, True)  # else the weight of what rests would bounce
    for i in range(island["touch_count"]):  # by how much they met faster than they would be at the end of the step
        t = touches[i]
        t["approach"] = t["approach"] - velocity(t, 0, Y, z) if t["approach"] < -solver["bounce"] else 0.0


@kernel
def bounce_pair(solver: Any, touches: Any, first: int, stop: int, start: bool) -> bool:
    """The contacts of one pair of trees bounce at once, if one of them approaches. Whether one does."""
    Y, z = whitened_rows(solver), z_of(solver)
    least = 0.0
    for i in range(first, stop):
        t = touches[i]
        if t["acted"] != 0:
            v = velocity(t, 0, Y, z)
            t["s"] = v + t["approach"] if start else v  # the separation is of no use any more
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
    """Impacts that go on through others. False if there are none, and nothing has changed then."""
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
