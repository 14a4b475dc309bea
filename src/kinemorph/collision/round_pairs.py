"""From two prisms to the round solids that they stand for: distance, normal and closest points of a pair.

What V-Clip or the depth says of the prisms is near the truth: their sides are within 0.5 % of the radius. The prisms
are inside of the solids, so that solids which are as far apart as the prisms along the normal of these need nothing
else. Else the true normal is found near that one, and the points where the solids are farthest along it: a corner or a
point of a rim, or the middle of what an edge, a side or a face have in common.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.collision.depth import unit
from kinemorph.collision.features import HERE, INDEX, between_segments, clip_to_face, facing, position
from kinemorph.collision.round_normals import Way, along, best_around
from kinemorph.collision.round_solids import middle, point_of
from kinemorph.geometry.polyhedron import EDGE, VERTEX
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, scale, sub

SAME = 1e3  # tolerances: what is farthest to within so much takes part, 1e-11 of the sizes
ROUNDS = 12  # of normals; most often one is enough
WORTH = 1e-3  # of the radii: a depth that is less by no more than this is not looked for off the rims
LEAN = 0.05  # rad, at most, away from the normal of a disc: in it, the way uphill is not known
NOTHING = (0.0, 0.0, 0.0)
CORNER, LINE, FLAT = 0, 1, 2
Front = tuple[int, Vec3, Vec3, int]  # what of a solid is farthest, its ends, and the piece at the second of them
Closest = tuple[Vec3, Vec3, Vec3, float]  # a point of A, a point of B, unit normal from B to A, distance


@kernel(inline=False)
def true_closest(A: Any, B: Any, R: Mat3, p: Vec3, x: Vec3, n: Vec3, distance: float, tol: float) -> Closest:
    """What is true of two solids whose cores are so far apart along n, A at x."""
    best = along(A, B, R, p, n, 0, 0)
    if distance - best[0] <= SAME * tol:
        return x, axpy(x, -distance, n), n, distance
    x, y, beside, start = _points(A, B, R, p, x, best, SAME * tol)
    if not beside <= SAME * tol:
        x, y, best = _search(A, B, R, p, x, best, start, distance, tol)
    distance, n = best[0], best[1]
    r = scale(axpy(sub(x, y), -distance, n), 0.5)  # next to nothing: each point takes its half of it
    return sub(x, r), add(y, r), n, distance


@kernel(inline=False)
def _search(
    A: Any, B: Any, R: Mat3, p: Vec3, x: Vec3, best: Way, start: Way, most: float, tol: float
) -> tuple[Vec3, Vec3, Way]:
    """The best normal near one that is known, and the points there; of solids that overlap, also off their rims.

    They are at most as far apart as their prisms, which are inside of them: a little less is not worth another look.
    """
    y = x
    enough = min(0.0, most - WORTH * (A["low"] + B["low"]))
    for look in range(-1, 4):
        if look >= 0:
            if best[0] >= enough or (B if look < 2 else A)["sides"] == 0:
                continue
            m = neg(tmul_vec(R, best[1]))
            n = _off_rim(look, best[1]) if look < 2 else neg(mul_vec(R, _off_rim(look - 2, m)))
            start = along(A, B, R, p, n, best[2], best[3])
        for _ in range(ROUNDS):
            before = best[0]
            best = best_around(A, B, R, p, start, best)
            if look >= 0 and best[0] == before:
                break
            x, y, beside, start = _points(A, B, R, p, x, best, SAME * tol)
            if beside <= SAME * tol:
                break
    return x, y, best


@kernel
def _off_rim(top: int, n: Vec3) -> Vec3:
    """The normal in the middle between those of a disc and of the side beside it, where n is.

    Two solids that overlap have several ways apart that are shorter than those around, and a rim that is cut by an
    edge may have a shorter one than the prism saw.
    """
    aside = math.sqrt(n[0] * n[0] + n[1] * n[1])
    return unit((n[0] / aside, n[1] / aside, 1.0 if top else -1.0)) if aside > 0.0 else n


@kernel(inline=False)
def _points(A: Any, B: Any, R: Mat3, p: Vec3, x: Vec3, way: Way, near: float) -> tuple[Vec3, Vec3, float, Way]:
    """Points of A and B that are farthest along a normal, and how far they are beside each other as seen along it: if
    that is nothing, the normal is the best one, else the pieces there are and a normal lead to a better one.

    x is where A is if nothing is known.
    """
    distance, n, a, b = way
    m = neg(tmul_vec(R, n))
    one, other = _front(A, a, m, near), _front(B, b, n, near)
    if one[0] == FLAT and other[0] == FLAT:
        return x, axpy(x, -distance, n), math.inf, way
    if one[0] == FLAT:
        y, beside, a, out = _above(A, a, tmul_vec(R, sub(other[1], p)), tmul_vec(R, sub(other[2], p)), m, near)
        y = add(mul_vec(R, y), p)
        return axpy(y, distance, n), y, beside, (distance, _leant(n, neg(mul_vec(R, out)), beside, distance), a, b)
    x1, x2 = add(mul_vec(R, one[1]), p), add(mul_vec(R, one[2]), p)
    if other[0] == FLAT:
        x, beside, b, out = _above(B, b, x1, x2, n, near)
        return x, axpy(x, -distance, n), beside, (distance, _leant(n, out, beside, distance), a, b)
    s, u = _crossing(x1, sub(x2, x1), other[1], sub(other[2], other[1]), n)
    x, y = axpy(x1, s, sub(x2, x1)), axpy(other[1], u, sub(other[2], other[1]))
    r = _across(sub(x, y), n)
    return x, y, math.sqrt(dot(r, r)), (distance, n, one[3] if s > 0.5 else a, other[3] if u > 0.5 else b)


@kernel
def _leant(n: Vec3, out: Vec3, beside: float, distance: float) -> Vec3:
    """A normal of a disc leant outwards, by no more than what leads to a point so far beside and above its rim."""
    lean = LEAN if beside > LEAN * abs(distance) else beside / abs(distance)
    return unit(axpy(n, lean, out))


@kernel(inline=False)
def _front(core: Any, v: int, n: Vec3, near: float) -> Front:
    """What of a solid is farthest along n, with piece v."""
    x = point_of(core, v, n)
    if core["sides"] > 0:
        other = int(core["sides"]) - v
        y = point_of(core, other, n)
        if middle(core, v)[1] * math.sqrt(n[0] * n[0] + n[1] * n[1]) <= near and middle(core, v)[1] > 0.0:
            return FLAT, x, x, v
        return (LINE, x, y, other) if dot(n, sub(x, y)) <= near else (CORNER, x, x, v)
    edges = rows_at(core["edges"], core["n_edges"], EDGE)
    edge_at = rows_at(core["edge_at"], core["n_edge_at"], INDEX)
    vertex = rows_at(core["vertices"], core["n_vertices"], VERTEX)[v]
    y, level, end = x, 0, v
    for k in range(vertex["first"], vertex["first"] + vertex["count"]):
        edge = edges[edge_at[k]]
        other = int(edge["head"] if edge["tail"] == v else edge["tail"])
        z = position(core, other)
        if dot(n, sub(x, z)) <= near:
            y, end = z, other
            level += 1
    return min(level, FLAT), x, y, end


@kernel
def _across(r: Vec3, n: Vec3) -> Vec3:
    """A vector as seen along n."""
    return axpy(r, -dot(r, n), n)


@kernel(inline=False)
def _crossing(x: Vec3, r: Vec3, y: Vec3, q: Vec3, n: Vec3) -> tuple[float, float]:
    """Where two lines, which may be points, are closest as seen along n: shares of each."""
    r, q, w = _across(r, n), _across(q, n), _across(sub(y, x), n)
    first, second = math.sqrt(dot(r, r)), math.sqrt(dot(q, q))
    if first == 0.0 and second == 0.0:
        return 0.0, 0.0
    if first == 0.0:
        return 0.0, min(max(-dot(w, q) / (second * second), 0.0), 1.0)
    if second == 0.0:
        return min(max(dot(w, r) / (first * first), 0.0), 1.0), 0.0
    zero = (0.0, 0.0, 0.0)
    s, u = between_segments(zero, scale(r, 1.0 / first), first, w, scale(q, 1.0 / second), second)
    return s / first, u / second


@kernel(inline=False)
def _above(core: Any, v: int, x: Vec3, y: Vec3, n: Vec3, near: float) -> tuple[Vec3, float, int, Vec3]:
    """The middle of the part of a line that is above the disc or face at piece v, and how far beside it all of it is;
    then also the piece where it is beside it, and towards where."""
    r = sub(y, x)
    length = math.sqrt(dot(r, r))
    d = scale(r, 1.0 / length) if length > 0.0 else n
    if core["sides"] == 0:
        f, _ = facing(core, v, n)
        if f == HERE:
            return x, 0.0, v, NOTHING
        lo, hi, beyond, _ = clip_to_face(core, f, x, d, length, near)
        if lo <= hi:
            return axpy(x, 0.5 * (lo + hi), d), 0.0, v, NOTHING
        return x, math.inf, int(rows_at(core["edges"], core["n_edges"], EDGE)[beyond]["tail"]), NOTHING
    c, radius = middle(core, v)
    q = _across(sub(x, c), n)
    s = min(max(-dot(q, d), 0.0), length)  # where it is closest to the middle
    w = axpy(q, s, d)
    away = math.sqrt(dot(w, w))
    if away > radius:
        return axpy(x, s, d), away - radius, v, scale(w, 1.0 / away)
    half = math.sqrt(radius * radius - away * away)
    return axpy(x, 0.5 * (max(s - half, 0.0) + min(s + half, length)), d), 0.0, v, NOTHING
