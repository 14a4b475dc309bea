"""Gauss-Seidel over the rows of a step: each impulse in turn takes from the velocities what its row forbids.

A biased pass lets touching contacts push out softly (ω, ζ), as fast as `push` at most; then velocities move bodies, and
a relax pass takes the bias out again, with friction, so that pushing out adds no energy. A contact that does not touch
yet may close its gap, and no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import kernel, rows_at
from kinemorph.constraint import basis
from kinemorph.contact.layout import BOUND, TOUCH, Bounded
from kinemorph.multibody.system import F8
from kinemorph.spatial.scalar import sqrt

DRY, DRIVEN, FAST = int(Bounded.DRY), int(Bounded.DRIVEN), int(Bounded.FAST)


@kernel
def product(Y: Any, y: int, z: Any, o: int, l: int) -> float:
    """yᵀ z of one stretch; of a lone body's six numbers without a loop."""
    if l == 6:
        a = Y[y] * z[o] + Y[y + 3] * z[o + 3]
        b = Y[y + 1] * z[o + 1] + Y[y + 4] * z[o + 4]
        return (a + b) + (Y[y + 2] * z[o + 2] + Y[y + 5] * z[o + 5])
    return basis.product(Y, y, z, o, l)


@kernel
def velocity(t: Any, row: int, Y: Any, z: Any) -> float:
    """How fast the two sides of a touch part, along its normal (row 0) or slide along a tangent (1, 2)."""
    y = t["y"] + row * (t["l1"] + t["l2"])
    x = product(Y, y + t["l1"], z, t["o2"], t["l2"])
    return x + product(Y, y, z, t["o1"], t["l1"]) if t["l1"] > 0 else x


@kernel
def kick(Y: Any, y: int, z: Any, o: int, l: int, p: float) -> None:
    """z ← z + y p."""
    if l == 6:
        for k in range(6):
            z[o + k] += Y[y + k] * p
    else:
        for k in range(l):
            z[o + k] += Y[y + k] * p


@kernel
def kick_three(Y: Any, y: int, stride: int, z: Any, o: int, l: int, p: float, p1: float, p2: float) -> None:
    if l == 6:
        for k in range(6):
            z[o + k] += Y[y + k] * p + Y[y + stride + k] * p1 + Y[y + 2 * stride + k] * p2
    else:
        for k in range(l):
            z[o + k] += Y[y + k] * p + Y[y + stride + k] * p1 + Y[y + 2 * stride + k] * p2


@kernel
def strike(t: Any, Y: Any, z: Any, p: float) -> None:
    """A normal impulse acts."""
    if t["l1"] > 0:
        kick(Y, t["y"], z, t["o1"], t["l1"], p)
    kick(Y, t["y"] + t["l1"], z, t["o2"], t["l2"], p)


@kernel
def strike_three(t: Any, Y: Any, z: Any, p: float, p1: float, p2: float) -> None:
    """A normal and two tangential impulses act."""
    stride = t["l1"] + t["l2"]
    if t["l1"] > 0:
        kick_three(Y, t["y"], stride, z, t["o1"], t["l1"], p, p1, p2)
    kick_three(Y, t["y"] + t["l1"], stride, z, t["o2"], t["l2"], p, p1, p2)


@kernel
def rub(t: Any, v1: float, v2: float, pn: float) -> tuple[float, float]:
    """New tangential impulses for slip velocities v1 and v2."""
    return rub_within(t, v1, v2, t["friction"] * pn)


@kernel
def rub_within(t: Any, v1: float, v2: float, most: float) -> tuple[float, float]:
    """New impulses for two velocities: sticking if a disc of radius `most` allows it, else against the slip.

    Scaling by the inverse matrix and then clipping would settle at a force that is not opposite to the slip.
    """
    p1 = t["p1"] - t["b11"] * v1 - t["b12"] * v2
    p2 = t["p2"] - t["b12"] * v1 - t["b22"] * v2
    if p1 * p1 + p2 * p2 > most * most:
        p1 = t["p1"] - t["least"] * v1
        p2 = t["p2"] - t["least"] * v2
        size = p1 * p1 + p2 * p2
        if size > most * most:
            ratio = most / sqrt(size)
            p1 *= ratio
            p2 *= ratio
    return p1, p2


@kernel
def softness(s: Any) -> tuple[float, float, float]:
    """β, and the shares of mass and impulse, of the soft contacts of a substep (CONTACT: ζ and ω)."""
    x = s["stiffness"]  # ω h
    a1 = 2.0 * s["damping"] + x
    a2 = x * a1
    return x / (s["h"] * a1), a2 / (1.0 + a2), 1.0 / (1.0 + a2)


@kernel(inline=False)
def press(s: Any, island: Any, first: bool) -> None:
    """The biased pass over touches: normal impulses only."""
    touches = rows_at(s["touches"], s["touch_count"], TOUCH)[island["first_touch"] :]
    Y, z = rows_at(s["Y"], s["Y_room"], F8), rows_at(s["z"], s["nz"], F8)
    moved = rows_at(s["moved"], s["nz"], F8)
    beta, mass, soft = softness(s)
    per_step = 1.0 / s["h"]
    for i in range(island["touch_count"]):
        t = touches[i]
        gap = t["s0"] if first else t["s0"] + velocity(t, 0, Y, moved)
        t["s"] = gap
        v = velocity(t, 0, Y, z)
        if gap > 0.0:
            p = t["pn"] - (v + gap * per_step) * t["inverse"]
        else:
            p = t["pn"] - mass * (v + max(beta * gap, -s["push"])) * t["inverse"] - soft * t["pn"]
        p = max(0.0, p)
        strike(t, Y, z, p - t["pn"])
        t["pn"] = p
        if p > 0.0:
            t["acted"] = 1


@kernel(inline=False)
def relax(s: Any, island: Any) -> None:
    """The pass without bias over touches, with friction."""
    touches = rows_at(s["touches"], s["touch_count"], TOUCH)[island["first_touch"] :]
    Y, z = rows_at(s["Y"], s["Y_room"], F8), rows_at(s["z"], s["nz"], F8)
    moved = rows_at(s["moved"], s["nz"], F8)
    per_step = 1.0 / s["h"]
    for i in range(island["touch_count"]):
        t = touches[i]
        if (t["restitution"] > 0.0 or t["fast"] != 0) and t["s"] > 0.0 and t["pn"] == 0.0:  # it has met nothing yet
            if t["p1"] != 0.0 or t["p2"] != 0.0:
                strike_three(t, Y, z, 0.0, -t["p1"], -t["p2"])
                t["p1"] = t["p2"] = 0.0
            continue
        v = velocity(t, 0, Y, z)
        if t["s"] > 0.0:
            v += (t["s0"] + velocity(t, 0, Y, moved)) * per_step
        p = max(0.0, t["pn"] - v * t["inverse"])
        d = p - t["pn"]
        t["pn"] = p
        if t["friction"] > 0.0:
            v1 = velocity(t, 1, Y, z) + t["w1"] + t["an1"] * d  # z still lacks d
            v2 = velocity(t, 2, Y, z) + t["w2"] + t["an2"] * d
            p1, p2 = rub(t, v1, v2, p)
            strike_three(t, Y, z, d, p1 - t["p1"], p2 - t["p2"])
            t["p1"], t["p2"] = p1, p2
        else:
            strike(t, Y, z, d)


@kernel
def pull(b: Any, v: float, h: float) -> float:
    """The impulse of a drive in a substep, at the end of which it has its force; v has its impulse so far."""
    if b["damping"] == np.inf:
        p = b["p"] - (v - b["target"]) * b["inverse"]
    else:
        k = h * (b["damping"] + h * b["stiffness"])
        start = h * (b["force"] + b["stiffness"] * b["s"] + b["damping"] * b["target"])
        p = (start * b["inverse"] - k * (v * b["inverse"] - b["p"])) / (b["inverse"] + k)
    return min(max(p, b["least"] * h), b["most"] * h)


@kernel(inline=False)
def bound(s: Any, island: Any, biased: bool, first: bool) -> None:
    """Drives, dry friction, largest speeds and limits; only limits have a bias."""
    bounds = rows_at(s["bounds"], s["bound_count"], BOUND)[island["first_bound"] :]
    Y, z = rows_at(s["Y"], s["Y_room"], F8), rows_at(s["z"], s["nz"], F8)
    moved = rows_at(s["moved"], s["nz"], F8)
    beta, mass, soft = softness(s)
    h = s["h"]
    for i in range(island["bound_count"]):
        b = bounds[i]
        v = product(Y, b["y"], z, b["o"], b["l"])
        if b["what"] == DRY:
            most = b["most"] * h
            p = min(max(b["p"] - v * b["inverse"], -most), most)
        elif b["what"] == DRIVEN:
            if biased and not first:
                b["s"] = b["s0"] - product(Y, b["y"], moved, b["o"], b["l"])
            p = pull(b, v, h)
        elif b["what"] == FAST:
            p = max(0.0, b["p"] - (v + b["target"]) * b["inverse"])
        else:
            gap = b["s0"] if first else b["s0"] + product(Y, b["y"], moved, b["o"], b["l"])
            if biased:
                b["s"] = gap
            if b["s"] > 0.0:
                p = b["p"] - (v + gap / h) * b["inverse"]
            elif biased:
                p = b["p"] - mass * (v + beta * gap) * b["inverse"] - soft * b["p"]
            else:
                p = b["p"] - v * b["inverse"]
            p = max(0.0, p)
        kick(Y, b["y"], z, b["o"], b["l"], p - b["p"])
        b["p"] = p
        if p != 0.0:
            b["acted"] = 1
