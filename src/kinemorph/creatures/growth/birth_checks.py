"""Why a creature is rejected before it lives: cheap tests of its grown parts, each with a name."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.creatures.growth.solids import reach
from kinemorph.jit.api import entry, kernel
from kinemorph.spatial.fused import fma
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import Vec3, cross, dot, neg, scale, sub

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Numbers = np.ndarray[tuple[int, int], np.dtype[np.float64]]
PARALLEL_EDGE_SINE = 1e-6  # sine of edges whose cross product is no direction


class Reason(IntEnum):
    """Why a creature is rejected at birth."""

    NONE = 0
    ONE_PART = 1
    TINY_PART = 2
    OVERLAP = 3
    EXTENT = 4
    NEURONS = 5


NONE, ONE_PART, TINY_PART, OVERLAP, EXTENT = (int(reason) for reason in list(Reason)[:5])  # cheaper to return
REASONS = {
    Reason.NONE: "",
    Reason.ONE_PART: "one part",
    Reason.TINY_PART: "tiny part",
    Reason.OVERLAP: "overlap at birth",
    Reason.EXTENT: "too long",
    Reason.NEURONS: "too many neurons",
}


@entry
def reason_against(parts: Records, growth: Records, bounds: Numbers) -> int:
    """A `Reason` to reject a creature of these parts. `bounds` become the corners of the box around it."""
    g, n = growth[0], parts.shape[0]
    bound_parts(parts, bounds)
    if n < g["least_parts"]:
        return ONE_PART
    for i in range(n):
        h = parts[i]["half"]
        if min(h[0], h[1], h[2]) < g["least_half"]:
            return TINY_PART
    for i in range(n):
        for j in range(i):
            joined = parts[i]["parent"] == j or parts[j]["parent"] == i
            if not joined and are_overlapping(parts[i], parts[j], g["overlap"]):
                return OVERLAP
    if extent_of(parts) > g["extent"]:
        return EXTENT
    return NONE


@kernel
def largest(part: Any) -> float:
    """The largest extent of a part."""
    h = part["half"]
    return 2.0 * max(h[0], h[1], h[2])


@kernel(inline=False)
def are_overlapping(a: Any, b: Any, share: float) -> bool:
    """Whether two parts are in each other deeper than a share of the largest extent of the smaller one.

    They are not if they can be told apart along one of these directions: their axes, the cross products of these, and
    the line between their middles. For two boxes these are all that count; of round forms an overlap may be seen that
    is a little less deep than the limit.
    """
    allowed = share * min(largest(a), largest(b))
    A, B = load9(a["R"]), load9(b["R"])
    d = sub(load3(b["p"]), load3(a["p"]))
    far = math.sqrt(dot(d, d))
    if far > PARALLEL_EDGE_SINE * allowed and depth_along(a, b, A, B, d, scale(d, 1.0 / far)) <= allowed:
        return False
    for i in range(3):
        u, v = (A[i], A[i + 3], A[i + 6]), (B[i], B[i + 3], B[i + 6])
        if depth_along(a, b, A, B, d, u) <= allowed or depth_along(a, b, A, B, d, v) <= allowed:
            return False
    for i in range(3):
        for j in range(3):
            w = cross((A[i], A[i + 3], A[i + 6]), (B[j], B[j + 3], B[j + 6]))
            length = math.sqrt(dot(w, w))
            if length > PARALLEL_EDGE_SINE and depth_along(a, b, A, B, d, scale(w, 1.0 / length)) <= allowed:
                return False
    return True


@kernel
def depth_along(a: Any, b: Any, A: Any, B: Any, d: Vec3, u: Vec3) -> float:
    """How far two parts would have to move along a unit vector to be apart, their middles being d from each other."""
    u = u if dot(d, u) >= 0.0 else neg(u)
    ra = reach(a["form"], load3(a["half"]), tmul_vec(A, u))
    rb = reach(b["form"], load3(b["half"]), tmul_vec(B, neg(u)))
    return ra + rb - dot(d, u)


@kernel
def corner(part: Any, index: int) -> Vec3:
    """A corner of the box around a part."""
    h, R, p = load3(part["half"]), load9(part["R"]), load3(part["p"])
    x = h[0] if index & 1 else -h[0]
    y = h[1] if index & 2 else -h[1]
    z = h[2] if index & 4 else -h[2]
    return (
        p[0] + R[0] * x + R[1] * y + R[2] * z,
        p[1] + R[3] * x + R[4] * y + R[5] * z,
        p[2] + R[6] * x + R[7] * y + R[8] * z,
    )


@kernel(inline=False)
def bound_parts(parts: Any, bounds: Any) -> None:
    """The corners of the box around the boxes of parts, in the frame of the root."""
    for d in range(3):
        bounds[0, d], bounds[1, d] = math.inf, -math.inf
    for i in range(parts.shape[0]):
        R, h, p = load9(parts[i]["R"]), load3(parts[i]["half"]), load3(parts[i]["p"])
        for d in range(3):
            r = fma(abs(R[3 * d + 2]), h[2], fma(abs(R[3 * d]), h[0], abs(R[3 * d + 1]) * h[1]))
            bounds[0, d] = min(bounds[0, d], p[d] - r)
            bounds[1, d] = max(bounds[1, d], p[d] + r)


@kernel(inline=False)
def extent_of(parts: Any) -> float:
    """The largest distance between corners of the boxes around parts."""
    most = 0.0
    for i in range(parts.shape[0]):
        for j in range(i + 1):
            for a in range(8):
                x = corner(parts[i], a)
                for b in range(8):
                    e = sub(corner(parts[j], b), x)
                    most = max(most, dot(e, e))
    return math.sqrt(most)
