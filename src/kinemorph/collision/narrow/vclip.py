"""V-Clip: a walk from feature to feature to the closest pair of two convex cores (Mirtich 1997, as in Fontijne 2.4).

Two features are the closest ones of two convex bodies if their closest points lie in each other's Voronoi regions
(theorem 2). If not, the violated plane tells which neighbour is nearer, and the walk continues there. Started at the
features of the step before, it usually only verifies them, for any number of features.

A state is a pair of kinds. The cores are exchanged so that the simpler feature comes first, which leaves five states:
VV, VE, VF, EE, EF. For a vertex, the derivative tests of V-Clip ask on which side of a plane the closest point of the
other edge lies; that point is one division away, so it is tested itself. Edges against edges and faces are clipped, and
judged by the sign of the derivative of the distance at the cuts: the closest point of two nearly parallel edges is
ill-defined, that sign is not. Both states compute it by the same expression, so that rounding cannot make the walk
cycle (Fontijne 2.8).

Beyond the textbook: an edge parallel to a face is accepted as closest pair EF, without a choice between its ends;
touching features end the walk, because the derivative does not exist there; steps are limited.
"""

from typing import Any

import numpy as np

from kinemorph.collision.narrow import features
from kinemorph.collision.narrow.features import E, F, V
from kinemorph.geometry.polyhedron import edges_of, face_edges_of, faces_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, sub

WALK_CONTINUES = 0
CLOSEST = 1  # the features are the closest ones
OVERLAP = 2  # the cores overlap or touch
TOO_MANY_STEPS = 3  # the step limit was reached

Step = tuple[int, int, int, int, int]  # result, then kind and row of the features of core_a and core_b


@kernel(inline=False)
def walk_to_closest(
    core_a: Any,
    core_b: Any,
    R: Mat3,
    p: Vec3,
    kind_a: int,
    index_a: int,
    kind_b: int,
    index_b: int,
    tol: float,
    limit: int,
) -> tuple[int, int, int, int, int, int]:
    """Walk from two features to the closest ones. Returns the result, the final features and the number of steps.

    A point x of core_a is R x + p in the frame of core_b.
    """
    q = neg(tmul_vec(R, p))
    swapped = False
    for step in range(limit):
        if kind_a > kind_b:
            core_a, core_b = core_b, core_a
            R, p, q = transpose(R), q, p
            kind_a, index_a, kind_b, index_b = kind_b, index_b, kind_a, index_a
            swapped = not swapped
        if kind_b == V:
            found, kind_a, index_a, kind_b, index_b = _vertex_vertex(core_a, core_b, R, p, q, index_a, index_b, tol)
        elif kind_a == V and kind_b == E:
            found, kind_a, index_a, kind_b, index_b = _vertex_edge(core_a, core_b, R, p, q, index_a, index_b, tol)
        elif kind_a == V:
            found, kind_a, index_a, kind_b, index_b = _vertex_face(core_a, core_b, R, p, index_a, index_b, tol)
        elif kind_b == E:
            found, kind_a, index_a, kind_b, index_b = _edge_edge(core_a, core_b, R, p, q, index_a, index_b, tol)
        elif kind_a == E:
            found, kind_a, index_a, kind_b, index_b = _edge_face(core_a, core_b, R, p, index_a, index_b, tol)
        else:  # FF is not a state: it comes from stale features only
            found, kind_a, index_a, kind_b, index_b = WALK_CONTINUES, V, 0, F, index_b
        if found != WALK_CONTINUES:
            if swapped:
                return (found, kind_b, index_b, kind_a, index_a, step + 1)
            return (found, kind_a, index_a, kind_b, index_b, step + 1)
    if swapped:
        return (TOO_MANY_STEPS, kind_b, index_b, kind_a, index_a, limit)
    return (TOO_MANY_STEPS, kind_a, index_a, kind_b, index_b, limit)


@kernel
def _vertex_vertex(core_a: Any, core_b: Any, R: Mat3, p: Vec3, q: Vec3, index_a: int, index_b: int, tol: float) -> Step:
    x = features.core_vertex(core_a, index_a)
    y = features.core_vertex(core_b, index_b)
    e = features.edge_towards(core_b, index_b, add(mul_vec(R, x), p), tol)
    if e != features.NOT_FOUND:
        return WALK_CONTINUES, V, index_a, E, e
    e = features.edge_towards(core_a, index_a, add(tmul_vec(R, y), q), tol)
    if e != features.NOT_FOUND:
        return WALK_CONTINUES, E, e, V, index_b
    return CLOSEST, V, index_a, V, index_b


@kernel
def _vertex_edge(core_a: Any, core_b: Any, R: Mat3, p: Vec3, q: Vec3, index_a: int, index_b: int, tol: float) -> Step:
    x = add(mul_vec(R, features.core_vertex(core_a, index_a)), p)
    kind, i = features.point_outside_edge(core_b, index_b, x, tol)
    if i != features.NOT_FOUND:
        return WALK_CONTINUES, V, index_a, kind, i
    row = edges_of(core_b)[index_b]
    tail = features.core_vertex(core_b, row["tail"])
    u = load3(row["direction"])
    foot = axpy(tail, dot(sub(x, tail), u), u)
    e = features.edge_towards(core_a, index_a, add(tmul_vec(R, foot), q), tol)
    if e != features.NOT_FOUND:
        return WALK_CONTINUES, E, e, E, index_b
    return CLOSEST, V, index_a, E, index_b


@kernel
def _vertex_face(core_a: Any, core_b: Any, R: Mat3, p: Vec3, index_a: int, index_b: int, tol: float) -> Step:
    x = add(mul_vec(R, features.core_vertex(core_a, index_a)), p)
    e = features.point_outside_face(core_b, index_b, x, tol)
    if e != features.NOT_FOUND:
        return WALK_CONTINUES, V, index_a, E, e
    if features.height_above_face(core_b, index_b, x) < -tol:
        # Inside, or a local minimum behind the body: decided by a scan.
        f, above = features.highest_face(core_b, x)
        return (WALK_CONTINUES, V, index_a, F, f) if above > tol else (OVERLAP, V, index_a, F, index_b)
    n = load3(faces_of(core_b)[index_b]["normal"])
    e = features.edge_down(core_a, index_a, tmul_vec(R, n))
    if e != features.NOT_FOUND:
        return WALK_CONTINUES, E, e, F, index_b
    return CLOSEST, V, index_a, F, index_b


@kernel
def _edge_edge(core_a: Any, core_b: Any, R: Mat3, p: Vec3, q: Vec3, index_a: int, index_b: int, tol: float) -> Step:
    edge_a = edges_of(core_a)[index_a]
    edge_b = edges_of(core_b)[index_b]
    t = add(mul_vec(R, features.core_vertex(core_a, edge_a["tail"])), p)
    d = mul_vec(R, load3(edge_a["direction"]))
    kind, i = features.edge_outside_edge(core_b, index_b, t, d, edge_a["length"], tol)
    if i >= 0:
        return WALK_CONTINUES, E, index_a, kind, i
    touch = i == features.FEATURES_MEET
    t = add(tmul_vec(R, features.core_vertex(core_b, edge_b["tail"])), q)
    d = tmul_vec(R, load3(edge_b["direction"]))
    kind, i = features.edge_outside_edge(core_a, index_a, t, d, edge_b["length"], tol)
    if i >= 0:
        return WALK_CONTINUES, kind, i, E, index_b
    return OVERLAP if touch or i == features.FEATURES_MEET else CLOSEST, E, index_a, E, index_b


@kernel
def _edge_face(core_a: Any, core_b: Any, R: Mat3, p: Vec3, index_a: int, index_b: int, tol: float) -> Step:
    row = edges_of(core_a)[index_a]
    t = add(mul_vec(R, features.core_vertex(core_a, row["tail"])), p)
    d = mul_vec(R, load3(row["direction"]))
    lo, hi, edge_lo, edge_hi = features.clip_edge_to_face(core_b, index_b, t, d, row["length"], 0.0)
    if lo > hi:  # it misses the face: the closest feature is on its boundary
        return WALK_CONTINUES, E, index_a, E, _nearest_rim(core_b, index_b, edge_lo, t, d, row["length"])
    n = load3(faces_of(core_b)[index_b]["normal"])
    above_lo = features.height_above_face(core_b, index_b, axpy(t, lo, d))
    above_hi = features.height_above_face(core_b, index_b, axpy(t, hi, d))
    if max(above_lo, above_hi) < -tol:  # as for a vertex: inside, or behind the body
        f, above = features.highest_face(core_b, axpy(t, 0.5 * (lo + hi), d))
        return (WALK_CONTINUES, E, index_a, F, f) if above > tol else (OVERLAP, E, index_a, F, index_b)
    if min(above_lo, above_hi) <= tol:
        return OVERLAP, E, index_a, F, index_b
    slope = dot(d, n)  # of the distance along the edge
    if abs(slope) <= features.PARALLEL_SLOPE:
        up = tmul_vec(R, n)
        sinks = max(-dot(load3(row["left_normal"]), up), -dot(load3(row["right_normal"]), up))
        if sinks <= features.PARALLEL_SLOPE:
            return CLOSEST, E, index_a, F, index_b
    if slope >= 0.0:
        if edge_lo != features.NOT_FOUND:
            return (WALK_CONTINUES, E, index_a, E, edge_lo)
        return (WALK_CONTINUES, V, row["tail"], F, index_b)
    if edge_hi != features.NOT_FOUND:
        return (WALK_CONTINUES, E, index_a, E, edge_hi)
    return (WALK_CONTINUES, V, row["head"], F, index_b)


@kernel(inline=False)
def _nearest_rim(core: Any, f: int, cut: int, t: Vec3, direction: Vec3, length: float) -> int:
    """The edge of face f closest to the edge from t; among equals `cut`, beyond which that edge lies."""
    edges = edges_of(core)
    sides = face_edges_of(core)
    row = faces_of(core)[f]
    found = cut
    least = np.inf
    for k in range(row["first"] - 1, row["first"] + row["count"]):
        e = cut if k < row["first"] else sides[k] >> 1
        tail = features.core_vertex(core, edges[e]["tail"])
        u = load3(edges[e]["direction"])
        s1, s2 = features.closest_on_segments(t, direction, length, tail, u, edges[e]["length"])
        r = sub(axpy(t, s1, direction), axpy(tail, s2, u))
        if dot(r, r) < least * (1.0 - features.PARALLEL_SLOPE):
            least = dot(r, r)
            found = e
    return found
