"""Closest points of two features: a point on each, the unit direction between them and the distance."""

import math
from typing import Any

from kinemorph.collision.narrow import features
from kinemorph.collision.narrow.features import E, F, V
from kinemorph.geometry.polyhedron import edges_of, faces_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, scale, sub

Closest = tuple[Vec3, Vec3, Vec3, float]  # points of core_a and core_b, unit normal from b to a, distance (m)
SKEW_SINE = 1e-3  # sine: edges at a larger angle take their cross product as normal, which is exact even if they touch


@kernel(inline=False)
def closest_points(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, kind_a: int, index_a: int, kind_b: int, index_b: int
) -> Closest:
    """Closest points of features of core_a and core_b, in the frame of core_b, where x of core_a is R x + p."""
    if kind_a <= kind_b:
        return _simpler_first(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    y, x, n, distance = _simpler_first(
        core_b, core_a, transpose(R), neg(tmul_vec(R, p)), kind_b, index_b, kind_a, index_a
    )
    return add(mul_vec(R, x), p), add(mul_vec(R, y), p), neg(mul_vec(R, n)), distance


@kernel
def _simpler_first(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, kind_a: int, index_a: int, kind_b: int, index_b: int
) -> Closest:
    """The same for kind_a <= kind_b: vertices before edges before faces."""
    if kind_a == V:
        x = add(mul_vec(R, features.core_vertex(core_a, index_a)), p)
        if kind_b == V:
            return connect_points(x, features.core_vertex(core_b, index_b))
        if kind_b == E:
            row = edges_of(core_b)[index_b]
            tail = features.core_vertex(core_b, row["tail"])
            d = load3(row["direction"])
            s = min(max(dot(sub(x, tail), d), 0.0), row["length"])
            return connect_points(x, axpy(tail, s, d))
        return _connect_to_face(core_b, index_b, x)
    row = edges_of(core_a)[index_a]
    t = add(mul_vec(R, features.core_vertex(core_a, row["tail"])), p)
    d = mul_vec(R, load3(row["direction"]))
    if kind_b == F:
        lo, hi, _, _ = features.clip_edge_to_face(core_b, index_b, t, d, row["length"], 0.0)
        return _connect_to_face(core_b, index_b, axpy(t, 0.5 * (lo + hi), d))
    other = edges_of(core_b)[index_b]
    tail = features.core_vertex(core_b, other["tail"])
    u = load3(other["direction"])
    s1, s2 = features.closest_on_segments(t, d, row["length"], tail, u, other["length"])
    x = axpy(t, s1, d)
    y = axpy(tail, s2, u)
    n = cross(d, u)
    sine = math.sqrt(dot(n, n))
    if sine < SKEW_SINE or s1 <= 0.0 or s2 <= 0.0 or s1 >= row["length"] or s2 >= other["length"]:
        return connect_points(x, y)
    distance = dot(n, sub(x, y)) / sine
    n = scale(n, 1.0 / sine if distance >= 0.0 else -1.0 / sine)
    return x, y, n, abs(distance)


@kernel
def connect_points(x: Vec3, y: Vec3) -> Closest:
    """Closest points x and y as a result: their direction and distance; along z if they coincide."""
    r = sub(x, y)
    distance = math.sqrt(dot(r, r))
    if distance == 0.0:
        return x, y, (0.0, 0.0, 1.0), 0.0
    return x, y, scale(r, 1.0 / distance), distance


@kernel
def _connect_to_face(core_b: Any, f: int, x: Vec3) -> Closest:
    """The result for a point x and face f: its foot, the normal of the face and its signed height."""
    n = load3(faces_of(core_b)[f]["normal"])
    above = features.height_above_face(core_b, f, x)
    return x, axpy(x, -above, n), n, above
