"""Support features of two solids along a normal (corners and rims, lines, flats), and where they overlap in projection.

If points of both coincide as seen along the normal, it is a local optimum. Otherwise the pieces there lead to a better
normal.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow.depth import unit_vector
from kinemorph.collision.narrow.features import (
    NOT_FOUND,
    E,
    F,
    V,
    clip_edge_to_face,
    closest_on_segments,
    core_vertex,
    most_aligned_face,
)
from kinemorph.collision.round.normals import Separation
from kinemorph.collision.round.solids import piece_disc, piece_point
from kinemorph.geometry.polyhedron import edges_of, face_edges_of, faces_of, vertex_edges_of, vertices_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, scale, sub

FARTHEST_TOLERANCES = 1e3  # tolerances within which points count as farthest: 1e-11 of the sizes
LARGEST_TILT = 0.05  # rad, largest tilt from the axis of a disc, where the gradient is undefined
ZERO_VECTOR = (0.0, 0.0, 0.0)
CORNER, LINE, FLAT = 0, 1, 2
# Kind of the support feature, its ends, the piece at the second, and an edge.
SupportFeature = tuple[int, Vec3, Vec3, int, int]
Closest = tuple[Vec3, Vec3, Vec3, float]  # points of a and b, unit normal from b to a, distance


@kernel
def split_residual(x: Vec3, y: Vec3, way: Separation) -> Closest:
    """Closest points from nearly coincident ones: the residual is split between the two."""
    distance, n = way[0], way[1]
    r = scale(axpy(sub(x, y), -distance, n), 0.5)
    return sub(x, r), add(y, r), n, distance


@kernel(inline=False)
def support_points(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, x: Vec3, way: Separation, near: float
) -> tuple[Vec3, Vec3, float, Separation]:
    """Points of core_a and core_b farthest along a normal, and how far (m) they are apart as seen along it. Zero proves
    the normal; otherwise the returned pieces and normal lead to a better one.

    x is a guess of the point of core_a.
    """
    distance, n, a, b = way
    m = neg(tmul_vec(R, n))
    one, other = support_feature(core_a, a, m, near), support_feature(core_b, b, n, near)
    if one[0] == FLAT and other[0] == FLAT:
        return _points_on_flats(core_a, core_b, R, p, way)
    if one[0] == FLAT:
        y, beside, a, out = _part_above(
            core_a, a, tmul_vec(R, sub(other[1], p)), tmul_vec(R, sub(other[2], p)), m, near
        )
        y = add(mul_vec(R, y), p)
        tilted = _tilt_normal(n, neg(mul_vec(R, out)), beside, distance)
        return axpy(y, distance, n), y, beside, (distance, tilted, a, b)
    x1, x2 = add(mul_vec(R, one[1]), p), add(mul_vec(R, one[2]), p)
    if other[0] == FLAT:
        x, beside, b, out = _part_above(core_b, b, x1, x2, n, near)
        return x, axpy(x, -distance, n), beside, (distance, _tilt_normal(n, out, beside, distance), a, b)
    s, u = _closest_on_lines(x1, sub(x2, x1), other[1], sub(other[2], other[1]), n)
    x, y = axpy(x1, s, sub(x2, x1)), axpy(other[1], u, sub(other[2], other[1]))
    r = _perpendicular_part(sub(x, y), n)
    return x, y, math.sqrt(dot(r, r)), (distance, n, one[3] if s > 0.5 else a, other[3] if u > 0.5 else b)


@kernel(inline=False)
def _points_on_flats(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, way: Separation
) -> tuple[Vec3, Vec3, float, Separation]:
    """The same for two flats, of which at least one is a disc."""
    distance, n, a, b = way
    if core_a["sides"] == 0:  # a face of A on a disc of B
        c, r = piece_disc(core_b, b)
        x, beside, a, out = _point_on_face(core_a, a, tmul_vec(R, sub(c, p)), r, neg(tmul_vec(R, n)))
        x, out = add(mul_vec(R, x), p), neg(mul_vec(R, out))
        return x, axpy(x, -distance, n), beside, (distance, _tilt_normal(n, out, beside, distance), a, b)
    c, r = piece_disc(core_a, a)
    c = add(mul_vec(R, c), p)
    if core_b["sides"] == 0:
        y, beside, b, out = _point_on_face(core_b, b, c, r, n)
    else:
        y, beside, out = _point_on_disc(piece_disc(core_b, b), c, r, n)
    return axpy(y, distance, n), y, beside, (distance, _tilt_normal(n, out, beside, distance), a, b)


@kernel(inline=False)
def _point_on_disc(disc: tuple[Vec3, float], centre: Vec3, r: float, n: Vec3) -> tuple[Vec3, float, Vec3]:
    """Centre of the overlap of a disc with one of radius r about c; or their gap (m), and the direction towards it."""
    y, s = disc
    w = _perpendicular_part(sub(centre, y), n)
    away = math.sqrt(dot(w, w))
    out = scale(w, 1.0 / away) if away > 0.0 else w
    if away > r + s:
        return axpy(y, s, out), away - r - s, out
    return axpy(y, 0.5 * (max(-s, away - r) + min(s, away + r)), out), 0.0, out


@kernel(inline=False)
def _point_on_face(core: Any, vertex: int, centre: Vec3, r: float, n: Vec3) -> tuple[Vec3, float, int, Vec3]:
    """Point of the face at a vertex closest to the centre of a disc of radius r, its distance (m) from the disc, the
    nearest vertex, and the direction to the disc.
    """
    f, _ = most_aligned_face(core, vertex, n)
    if f == NOT_FOUND:
        return centre, 0.0, vertex, ZERO_VECTOR
    edges = edges_of(core)
    face = faces_of(core)[f]
    face_edges = face_edges_of(core)
    centre = axpy(centre, -dot(n, sub(centre, core_vertex(core, vertex))), n)  # in the plane of the face
    inside, least, found = True, math.inf, centre
    for k in range(face["first"], face["first"] + face["count"]):
        side = face_edges[k]
        edge = edges[side >> 1]
        tail, d = core_vertex(core, edge["tail"]), load3(edge["direction"])
        inward = load3(edge["right_normal"]) if side & 1 else load3(edge["left_normal"])
        inside = inside and dot(inward, sub(centre, tail)) >= 0.0
        s = min(max(dot(sub(centre, tail), d), 0.0), edge["length"])
        w = sub(centre, axpy(tail, s, d))
        if dot(w, w) < least:
            least, found = dot(w, w), axpy(tail, s, d)
            vertex = int(edge["tail"] if s < 0.5 * edge["length"] else edge["head"])
    away = math.sqrt(least)
    if inside or away == 0.0:
        return centre, 0.0, vertex, ZERO_VECTOR
    return found, max(away - r, 0.0), vertex, scale(sub(centre, found), 1.0 / away)


@kernel
def _tilt_normal(n: Vec3, out: Vec3, beside: float, distance: float) -> Vec3:
    """The normal of a disc tilted outwards, by at most the angle of a point so far beside and above its rim."""
    lean = LARGEST_TILT if beside > LARGEST_TILT * abs(distance) else beside / abs(distance)
    return unit_vector(axpy(n, lean, out))


@kernel(inline=False)
def support_feature(core: Any, piece: int, n: Vec3, near: float) -> SupportFeature:
    """The support feature of a solid along n, from piece `piece`."""
    x = piece_point(core, piece, n)
    if core["sides"] > 0:
        other = int(core["sides"]) - piece
        y = piece_point(core, other, n)
        disc = piece_disc(core, piece)[1]
        if disc * math.sqrt(n[0] * n[0] + n[1] * n[1]) <= near and disc > 0.0:
            return FLAT, x, x, piece, NOT_FOUND
        return (LINE, x, y, other, NOT_FOUND) if dot(n, sub(x, y)) <= near else (CORNER, x, x, piece, NOT_FOUND)
    edges = edges_of(core)
    edge_at = vertex_edges_of(core)
    vertex = vertices_of(core)[piece]
    y, count, end, line = x, 0, piece, NOT_FOUND
    for k in range(vertex["first"], vertex["first"] + vertex["count"]):
        edge = edges[edge_at[k]]
        other = int(edge["head"] if edge["tail"] == piece else edge["tail"])
        z = core_vertex(core, other)
        if dot(n, sub(x, z)) <= near:
            y, end, line = z, other, int(edge_at[k])
            count += 1
    return min(count, FLAT), x, y, end, line


@kernel(inline=False)
def named_support_feature(core: Any, piece: int, n: Vec3, near: float) -> tuple[int, int]:
    """The support feature as kind and row; a vertex for round solids, whose features are named when needed."""
    if core["sides"] > 0:
        return V, piece
    front = support_feature(core, piece, n, near)
    if front[0] == FLAT and core["n_faces"] > 0:
        return F, most_aligned_face(core, piece, n)[0]
    return (E, front[4]) if front[0] != CORNER else (V, piece)


@kernel
def _perpendicular_part(r: Vec3, n: Vec3) -> Vec3:
    """The part of a vector perpendicular to n."""
    return axpy(r, -dot(r, n), n)


@kernel(inline=False)
def _closest_on_lines(x: Vec3, r: Vec3, y: Vec3, q: Vec3, n: Vec3) -> tuple[float, float]:
    """Closest points of two lines, which may be points, as seen along n: as shares of each."""
    r, q, w = _perpendicular_part(r, n), _perpendicular_part(q, n), _perpendicular_part(sub(y, x), n)
    first, second = math.sqrt(dot(r, r)), math.sqrt(dot(q, q))
    if first == 0.0 and second == 0.0:
        return 0.0, 0.0
    if first == 0.0:
        return 0.0, min(max(-dot(w, q) / (second * second), 0.0), 1.0)
    if second == 0.0:
        return min(max(dot(w, r) / (first * first), 0.0), 1.0), 0.0
    zero = (0.0, 0.0, 0.0)
    s, u = closest_on_segments(zero, scale(r, 1.0 / first), first, w, scale(q, 1.0 / second), second)
    return s / first, u / second


@kernel(inline=False)
def _part_above(core: Any, piece: int, x: Vec3, y: Vec3, n: Vec3, near: float) -> tuple[Vec3, float, int, Vec3]:
    """Middle of the part of a line above the disc or face of a piece, and the gap (m) if no part is above; then also
    the piece at the gap, and the direction across it.
    """
    r = sub(y, x)
    length = math.sqrt(dot(r, r))
    d = scale(r, 1.0 / length) if length > 0.0 else n
    if core["sides"] == 0:
        f, _ = most_aligned_face(core, piece, n)
        if f == NOT_FOUND:
            return x, 0.0, piece, ZERO_VECTOR
        lo, hi, beyond, _ = clip_edge_to_face(core, f, x, d, length, near)
        if lo <= hi:
            return axpy(x, 0.5 * (lo + hi), d), 0.0, piece, ZERO_VECTOR
        return x, math.inf, int(edges_of(core)[beyond]["tail"]), ZERO_VECTOR
    c, radius = piece_disc(core, piece)
    q = _perpendicular_part(sub(x, c), n)
    s = min(max(-dot(q, d), 0.0), length)  # closest to the centre
    w = axpy(q, s, d)
    away = math.sqrt(dot(w, w))
    if away > radius:
        return axpy(x, s, d), away - radius, piece, scale(w, 1.0 / away)
    half = math.sqrt(radius * radius - away * away)
    return axpy(x, 0.5 * (max(s - half, 0.0) + min(s + half, length)), d), 0.0, piece, ZERO_VECTOR
