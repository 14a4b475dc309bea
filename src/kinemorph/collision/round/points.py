"""Support features of two solids along a normal (corners and rims, lines, flats), and where they overlap in projection.

If points of both coincide as seen along the normal, it is a local optimum. Otherwise the pieces there lead to a better
normal.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow.depth import unit
from kinemorph.collision.narrow.features import HERE, INDEX, E, F, V, between_segments, clip_to_face, facing, position
from kinemorph.collision.round.normals import Way
from kinemorph.collision.round.solids import middle, point_of
from kinemorph.geometry.polyhedron import edges_of, faces_of, vertices_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, scale, sub

FARTHEST_TOLERANCES = 1e3  # tolerances within which points count as farthest: 1e-11 of the sizes
LEAN = 0.05  # rad, largest tilt from the axis of a disc, where the gradient is undefined
NOTHING = (0.0, 0.0, 0.0)
CORNER, LINE, FLAT = 0, 1, 2
Front = tuple[int, Vec3, Vec3, int, int]  # kind of the support feature, its ends, the piece at the second, and an edge
Closest = tuple[Vec3, Vec3, Vec3, float]  # points of a and b, unit normal from b to a, distance


@kernel
def level(x: Vec3, y: Vec3, way: Way) -> Closest:
    """Closest points from nearly coincident ones: the residual is split between the two."""
    distance, n = way[0], way[1]
    r = scale(axpy(sub(x, y), -distance, n), 0.5)
    return sub(x, r), add(y, r), n, distance


@kernel(inline=False)
def points_along(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, x: Vec3, way: Way, near: float
) -> tuple[Vec3, Vec3, float, Way]:
    """Points of core_a and core_b farthest along a normal, and how far (m) they are apart as seen along it. Zero proves
    the normal; otherwise the returned pieces and normal lead to a better one.

    x is a guess of the point of core_a.
    """
    distance, n, a, b = way
    m = neg(tmul_vec(R, n))
    one, other = front_of(core_a, a, m, near), front_of(core_b, b, n, near)
    if one[0] == FLAT and other[0] == FLAT:
        return _on_flats(core_a, core_b, R, p, way)
    if one[0] == FLAT:
        y, beside, a, out = _above(core_a, a, tmul_vec(R, sub(other[1], p)), tmul_vec(R, sub(other[2], p)), m, near)
        y = add(mul_vec(R, y), p)
        return axpy(y, distance, n), y, beside, (distance, _leant(n, neg(mul_vec(R, out)), beside, distance), a, b)
    x1, x2 = add(mul_vec(R, one[1]), p), add(mul_vec(R, one[2]), p)
    if other[0] == FLAT:
        x, beside, b, out = _above(core_b, b, x1, x2, n, near)
        return x, axpy(x, -distance, n), beside, (distance, _leant(n, out, beside, distance), a, b)
    s, u = _crossing(x1, sub(x2, x1), other[1], sub(other[2], other[1]), n)
    x, y = axpy(x1, s, sub(x2, x1)), axpy(other[1], u, sub(other[2], other[1]))
    r = _across(sub(x, y), n)
    return x, y, math.sqrt(dot(r, r)), (distance, n, one[3] if s > 0.5 else a, other[3] if u > 0.5 else b)


@kernel(inline=False)
def _on_flats(core_a: Any, core_b: Any, R: Mat3, p: Vec3, way: Way) -> tuple[Vec3, Vec3, float, Way]:
    """The same for two flats, of which at least one is a disc."""
    distance, n, a, b = way
    if core_a["sides"] == 0:  # a face of A on a disc of B
        c, r = middle(core_b, b)
        x, beside, a, out = _on_face(core_a, a, tmul_vec(R, sub(c, p)), r, neg(tmul_vec(R, n)))
        x, out = add(mul_vec(R, x), p), neg(mul_vec(R, out))
        return x, axpy(x, -distance, n), beside, (distance, _leant(n, out, beside, distance), a, b)
    c, r = middle(core_a, a)
    c = add(mul_vec(R, c), p)
    if core_b["sides"] == 0:
        y, beside, b, out = _on_face(core_b, b, c, r, n)
    else:
        y, beside, out = _on_disc(middle(core_b, b), c, r, n)
    return axpy(y, distance, n), y, beside, (distance, _leant(n, out, beside, distance), a, b)


@kernel(inline=False)
def _on_disc(disc: tuple[Vec3, float], c: Vec3, r: float, n: Vec3) -> tuple[Vec3, float, Vec3]:
    """Centre of the overlap of a disc with one of radius r about c; or their gap (m), and the direction towards it."""
    y, s = disc
    w = _across(sub(c, y), n)
    away = math.sqrt(dot(w, w))
    out = scale(w, 1.0 / away) if away > 0.0 else w
    if away > r + s:
        return axpy(y, s, out), away - r - s, out
    return axpy(y, 0.5 * (max(-s, away - r) + min(s, away + r)), out), 0.0, out


@kernel(inline=False)
def _on_face(core: Any, vertex: int, c: Vec3, r: float, n: Vec3) -> tuple[Vec3, float, int, Vec3]:
    """Point of the face at a vertex closest to the centre c of a disc of radius r, its distance (m) from the disc, the
    nearest vertex, and the direction to the disc.
    """
    f, _ = facing(core, vertex, n)
    if f == HERE:
        return c, 0.0, vertex, NOTHING
    edges = edges_of(core)
    face = faces_of(core)[f]
    face_edges = rows_at(core["face_edges"], core["n_edge_at"], INDEX)
    c = axpy(c, -dot(n, sub(c, position(core, vertex))), n)  # in the plane of the face
    inside, least, found = True, math.inf, c
    for k in range(face["first"], face["first"] + face["count"]):
        side = face_edges[k]
        edge = edges[side >> 1]
        tail, d = position(core, edge["tail"]), load3(edge["direction"])
        inward = load3(edge["right_normal"]) if side & 1 else load3(edge["left_normal"])
        inside = inside and dot(inward, sub(c, tail)) >= 0.0
        s = min(max(dot(sub(c, tail), d), 0.0), edge["length"])
        w = sub(c, axpy(tail, s, d))
        if dot(w, w) < least:
            least, found = dot(w, w), axpy(tail, s, d)
            vertex = int(edge["tail"] if s < 0.5 * edge["length"] else edge["head"])
    away = math.sqrt(least)
    if inside or away == 0.0:
        return c, 0.0, vertex, NOTHING
    return found, max(away - r, 0.0), vertex, scale(sub(c, found), 1.0 / away)


@kernel
def _leant(n: Vec3, out: Vec3, beside: float, distance: float) -> Vec3:
    """The normal of a disc tilted outwards, by at most the angle of a point so far beside and above its rim."""
    lean = LEAN if beside > LEAN * abs(distance) else beside / abs(distance)
    return unit(axpy(n, lean, out))


@kernel(inline=False)
def front_of(core: Any, piece: int, n: Vec3, near: float) -> Front:
    """The support feature of a solid along n, from piece `piece`."""
    x = point_of(core, piece, n)
    if core["sides"] > 0:
        other = int(core["sides"]) - piece
        y = point_of(core, other, n)
        if middle(core, piece)[1] * math.sqrt(n[0] * n[0] + n[1] * n[1]) <= near and middle(core, piece)[1] > 0.0:
            return FLAT, x, x, piece, HERE
        return (LINE, x, y, other, HERE) if dot(n, sub(x, y)) <= near else (CORNER, x, x, piece, HERE)
    edges = edges_of(core)
    edge_at = rows_at(core["edge_at"], core["n_edge_at"], INDEX)
    vertex = vertices_of(core)[piece]
    y, count, end, line = x, 0, piece, HERE
    for k in range(vertex["first"], vertex["first"] + vertex["count"]):
        edge = edges[edge_at[k]]
        other = int(edge["head"] if edge["tail"] == piece else edge["tail"])
        z = position(core, other)
        if dot(n, sub(x, z)) <= near:
            y, end, line = z, other, int(edge_at[k])
            count += 1
    return min(count, FLAT), x, y, end, line


@kernel(inline=False)
def feature_along(core: Any, piece: int, n: Vec3, near: float) -> tuple[int, int]:
    """The support feature as kind and row; a vertex for round solids, whose features are named when needed."""
    if core["sides"] > 0:
        return V, piece
    front = front_of(core, piece, n, near)
    if front[0] == FLAT and core["n_faces"] > 0:
        return F, facing(core, piece, n)[0]
    return (E, front[4]) if front[0] != CORNER else (V, piece)


@kernel
def _across(r: Vec3, n: Vec3) -> Vec3:
    """The part of a vector perpendicular to n."""
    return axpy(r, -dot(r, n), n)


@kernel(inline=False)
def _crossing(x: Vec3, r: Vec3, y: Vec3, q: Vec3, n: Vec3) -> tuple[float, float]:
    """Closest points of two lines, which may be points, as seen along n: as shares of each."""
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
def _above(core: Any, piece: int, x: Vec3, y: Vec3, n: Vec3, near: float) -> tuple[Vec3, float, int, Vec3]:
    """Middle of the part of a line above the disc or face of a piece, and the gap (m) if no part is above; then also
    the piece at the gap, and the direction across it.
    """
    r = sub(y, x)
    length = math.sqrt(dot(r, r))
    d = scale(r, 1.0 / length) if length > 0.0 else n
    if core["sides"] == 0:
        f, _ = facing(core, piece, n)
        if f == HERE:
            return x, 0.0, piece, NOTHING
        lo, hi, beyond, _ = clip_to_face(core, f, x, d, length, near)
        if lo <= hi:
            return axpy(x, 0.5 * (lo + hi), d), 0.0, piece, NOTHING
        return x, math.inf, int(edges_of(core)[beyond]["tail"]), NOTHING
    c, radius = middle(core, piece)
    q = _across(sub(x, c), n)
    s = min(max(-dot(q, d), 0.0), length)  # closest to the centre
    w = axpy(q, s, d)
    away = math.sqrt(dot(w, w))
    if away > radius:
        return axpy(x, s, d), away - radius, piece, scale(w, 1.0 / away)
    half = math.sqrt(radius * radius - away * away)
    return axpy(x, 0.5 * (max(s - half, 0.0) + min(s + half, length)), d), 0.0, piece, NOTHING
