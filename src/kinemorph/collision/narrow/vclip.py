"""V-Clip: from feature to feature towards the closest pair (Mirtich 1997, as in Fontijne 2.4).

Two features are the closest of two convex bodies if their closest points lie in each other's Voronoi regions (theorem
2). If not, the plane that is violated says which neighbour is nearer, and the walk goes on there. Started at the
features of the step before, it usually has nothing to do but to check them, whatever the number of features.

A state is a pair of kinds. The two cores change places whenever that brings the simpler feature first, so five states
are enough: VV, VE, VF, EE, EF. For a vertex the derivative tests of V-Clip ask on which side of a plane the closest
point of the other edge lies; that point is one division away, so here it is tested itself. Edges against edges and
faces are clipped, and judged by the sign of the derivative of the distance where they were cut: the closest point of
two nearly parallel edges may be anywhere, that sign is always sharp. Both states compute it by the same expression,
lest rounding send the walk back and forth (Fontijne 2.8).

Beyond the textbook: an edge parallel to a face is accepted as closest pair EF, instead of a choice among its
ends; touching features end the walk, because no derivative exists there; and the steps are counted.
"""

from typing import Any

import numpy as np

from kinemorph.collision.narrow.features import (
    FEATURES_MEET,
    HERE,
    INDEX,
    SLOPE,
    E,
    F,
    V,
    between_segments,
    clip_to_face,
    edge_down,
    edge_outside_edge,
    edge_towards,
    height,
    highest_face,
    point_outside_edge,
    point_outside_face,
    position,
)
from kinemorph.geometry.polyhedron import edges_of, faces_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, sub

GOES_ON = 0
CLOSEST = 1  # the features are the closest
OVERLAP = 2  # the cores overlap or touch
TOO_MANY_STEPS = 3  # too many steps

Step = tuple[int, int, int, int, int]  # what it is, then kind and row of the feature of A and of that of B


@kernel(inline=False)
def walk(
    A: Any, B: Any, R: Mat3, p: Vec3, ka: int, a: int, kb: int, b: int, tol: float, limit: int
) -> tuple[int, int, int, int, int, int]:
    """What the walk found, the features of A and B where it ended, and the steps it took.

    A point x of A is R x + p in the frame of B.
    """
    q = neg(tmul_vec(R, p))
    swapped = False
    for step in range(limit):
        if ka > kb:
            A, B = B, A
            R, p, q = transpose(R), q, p
            ka, a, kb, b = kb, b, ka, a
            swapped = not swapped
        if kb == V:
            found, ka, a, kb, b = _vertex_vertex(A, B, R, p, q, a, b, tol)
        elif ka == V and kb == E:
            found, ka, a, kb, b = _vertex_edge(A, B, R, p, q, a, b, tol)
        elif ka == V:
            found, ka, a, kb, b = _vertex_face(A, B, R, p, a, b, tol)
        elif kb == E:
            found, ka, a, kb, b = _edge_edge(A, B, R, p, q, a, b, tol)
        elif ka == E:
            found, ka, a, kb, b = _edge_face(A, B, R, p, a, b, tol)
        else:  # FF is no state: nothing but a stale cache gives it
            found, ka, a, kb, b = GOES_ON, V, 0, F, b
        if found != GOES_ON:
            return (found, kb, b, ka, a, step + 1) if swapped else (found, ka, a, kb, b, step + 1)
    return (TOO_MANY_STEPS, kb, b, ka, a, limit) if swapped else (TOO_MANY_STEPS, ka, a, kb, b, limit)


@kernel
def _vertex_vertex(A: Any, B: Any, R: Mat3, p: Vec3, q: Vec3, a: int, b: int, tol: float) -> Step:
    x = position(A, a)
    y = position(B, b)
    e = edge_towards(B, b, add(mul_vec(R, x), p), tol)
    if e != HERE:
        return GOES_ON, V, a, E, e
    e = edge_towards(A, a, add(tmul_vec(R, y), q), tol)
    if e != HERE:
        return GOES_ON, E, e, V, b
    return CLOSEST, V, a, V, b


@kernel
def _vertex_edge(A: Any, B: Any, R: Mat3, p: Vec3, q: Vec3, a: int, b: int, tol: float) -> Step:
    x = add(mul_vec(R, position(A, a)), p)
    kind, i = point_outside_edge(B, b, x, tol)
    if i != HERE:
        return GOES_ON, V, a, kind, i
    row = edges_of(B)[b]
    tail = position(B, row["tail"])
    u = load3(row["direction"])
    foot = axpy(tail, dot(sub(x, tail), u), u)
    e = edge_towards(A, a, add(tmul_vec(R, foot), q), tol)
    if e != HERE:
        return GOES_ON, E, e, E, b
    return CLOSEST, V, a, E, b


@kernel
def _vertex_face(A: Any, B: Any, R: Mat3, p: Vec3, a: int, b: int, tol: float) -> Step:
    x = add(mul_vec(R, position(A, a)), p)
    e = point_outside_face(B, b, x, tol)
    if e != HERE:
        return GOES_ON, V, a, E, e
    if height(B, b, x) < -tol:  # inside, or a local minimum behind the body: no local test tells
        f, above = highest_face(B, x)
        return (GOES_ON, V, a, F, f) if above > tol else (OVERLAP, V, a, F, b)
    n = load3(faces_of(B)[b]["normal"])
    e = edge_down(A, a, tmul_vec(R, n))
    if e != HERE:
        return GOES_ON, E, e, F, b
    return CLOSEST, V, a, F, b


@kernel
def _edge_edge(A: Any, B: Any, R: Mat3, p: Vec3, q: Vec3, a: int, b: int, tol: float) -> Step:
    edge_a = edges_of(A)[a]
    edge_b = edges_of(B)[b]
    t = add(mul_vec(R, position(A, edge_a["tail"])), p)
    d = mul_vec(R, load3(edge_a["direction"]))
    kind, i = edge_outside_edge(B, b, t, d, edge_a["length"], tol)
    if i >= 0:
        return GOES_ON, E, a, kind, i
    touch = i == FEATURES_MEET
    t = add(tmul_vec(R, position(B, edge_b["tail"])), q)
    d = tmul_vec(R, load3(edge_b["direction"]))
    kind, i = edge_outside_edge(A, a, t, d, edge_b["length"], tol)
    if i >= 0:
        return GOES_ON, kind, i, E, b
    return OVERLAP if touch or i == FEATURES_MEET else CLOSEST, E, a, E, b


@kernel
def _edge_face(A: Any, B: Any, R: Mat3, p: Vec3, a: int, b: int, tol: float) -> Step:
    row = edges_of(A)[a]
    t = add(mul_vec(R, position(A, row["tail"])), p)
    d = mul_vec(R, load3(row["direction"]))
    lo, hi, edge_lo, edge_hi = clip_to_face(B, b, t, d, row["length"], 0.0)
    if lo > hi:  # it passes by: what is closest is on the rim
        return GOES_ON, E, a, E, _nearest_rim(B, b, edge_lo, t, d, row["length"])
    n = load3(faces_of(B)[b]["normal"])
    above_lo = height(B, b, axpy(t, lo, d))
    above_hi = height(B, b, axpy(t, hi, d))
    if max(above_lo, above_hi) < -tol:  # as for a vertex: inside, or behind the body
        f, above = highest_face(B, axpy(t, 0.5 * (lo + hi), d))
        return (GOES_ON, E, a, F, f) if above > tol else (OVERLAP, E, a, F, b)
    if min(above_lo, above_hi) <= tol:
        return OVERLAP, E, a, F, b
    slope = dot(d, n)  # of the distance along the edge
    if abs(slope) <= SLOPE:
        up = tmul_vec(R, n)
        sinks = max(-dot(load3(row["left_normal"]), up), -dot(load3(row["right_normal"]), up))
        if sinks <= SLOPE:
            return CLOSEST, E, a, F, b
    if slope >= 0.0:
        return (GOES_ON, E, a, E, edge_lo) if edge_lo != HERE else (GOES_ON, V, row["tail"], F, b)
    return (GOES_ON, E, a, E, edge_hi) if edge_hi != HERE else (GOES_ON, V, row["head"], F, b)


@kernel(inline=False)
def _nearest_rim(core: Any, f: int, cut: int, t: Vec3, d: Vec3, length: float) -> int:
    """The edge of face f that is closest to the edge from t along d; of equals `cut`, on whose far side that is."""
    edges = edges_of(core)
    sides = rows_at(core["face_edges"], core["n_edge_at"], INDEX)
    row = faces_of(core)[f]
    found = cut
    least = np.inf
    for k in range(row["first"] - 1, row["first"] + row["count"]):
        e = cut if k < row["first"] else sides[k] >> 1
        tail = position(core, edges[e]["tail"])
        u = load3(edges[e]["direction"])
        s1, s2 = between_segments(t, d, length, tail, u, edges[e]["length"])
        r = sub(axpy(t, s1, d), axpy(tail, s2, u))
        if dot(r, r) < least * (1.0 - SLOPE):
            least = dot(r, r)
            found = e
    return found
