"""Closest features of two cores by exhaustive search: the fallback of V-Clip.

V-Clip falls back to this search when its walk exceeds its step limit, which takes degenerate geometry. The search is
exact and always ends. It is fast when the walk was close: projections on any direction n bound the distance from below,
so only features that reach into the slab between that bound and the best distance so far are compared.
"""

from typing import Any

import numpy as np

from kinemorph.collision.narrow.closest_points import closest_points
from kinemorph.collision.narrow.features import NOT_FOUND, E, F, V, core_vertex, point_outside_face
from kinemorph.geometry.polyhedron import edges_of, face_edges_of, faces_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec, transpose
from kinemorph.spatial.vec3 import Vec3, add, dot, neg

Best = tuple[float, int, int, int, int]  # distance, then kind and row of the feature of core_a and of core_b


@kernel(inline=False)
def find_closest_features(core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, best: Best, tol: float) -> Best:
    """The closest features of two cores that do not overlap, where a point x of core_a is R x + p in core_b.

    n is a direction from core_b to core_a, `best` the distance of any two features.
    """
    q = neg(tmul_vec(R, p))
    low, _ = _extent(core_a, R, p, n)
    _, high = _extent(core_b, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0), n)
    best = _compare_edges(core_a, core_b, R, p, n, low, high, best, tol)
    best = _compare_vertices_faces(core_a, core_b, R, p, n, low, high, best, tol)
    m = neg(tmul_vec(R, n))  # now from A to B, and in the frame of A
    shift = dot(n, p)
    best = _exchange(
        _compare_vertices_faces(core_b, core_a, transpose(R), q, m, -high + shift, -low + shift, _exchange(best), tol)
    )
    if core_a["n_edges"] == 0 or core_b["n_edges"] == 0:
        best = _compare_vertices(core_a, core_b, R, p, best)
    return best


@kernel
def _exchange(best: Best) -> Best:
    """Exchange the two features of a result."""
    return best[0], best[3], best[4], best[1], best[2]


@kernel(inline=False)
def _extent(core: Any, R: Mat3, p: Vec3, n: Vec3) -> tuple[float, float]:
    """The smallest and the largest n · (R x + p) over a core."""
    low = np.inf
    high = -np.inf
    for v in range(core["n_vertices"]):
        s = dot(n, add(mul_vec(R, core_vertex(core, v)), p))
        low = min(low, s)
        high = max(high, s)
    return low, high


@kernel(inline=False)
def _compare_edges(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, low: float, high: float, best: Best, tol: float
) -> Best:
    """Improve `best` by pairs of edges within the slab."""
    edges_a = edges_of(core_a)
    edges_b = edges_of(core_b)
    for a in range(core_a["n_edges"]):
        s = dot(n, add(mul_vec(R, core_vertex(core_a, edges_a[a]["tail"])), p))
        t = dot(n, add(mul_vec(R, core_vertex(core_a, edges_a[a]["head"])), p))
        if min(s, t) > high + best[0] + tol:
            continue
        for b in range(core_b["n_edges"]):
            u = max(dot(n, core_vertex(core_b, edges_b[b]["tail"])), dot(n, core_vertex(core_b, edges_b[b]["head"])))
            if u < low - best[0] - tol:
                continue
            _, _, _, distance = closest_points(core_a, core_b, R, p, E, a, E, b)
            if distance < best[0]:
                best = (distance, E, a, E, b)
    return best


@kernel(inline=False)
def _compare_vertices_faces(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, low: float, high: float, best: Best, tol: float
) -> Best:
    """Improve `best` by vertices of core_a above faces of core_b within the slab."""
    edges = edges_of(core_b)
    faces = faces_of(core_b)
    face_edges = face_edges_of(core_b)
    for f in range(core_b["n_faces"]):
        reach = -np.inf
        for k in range(faces[f]["first"], faces[f]["first"] + faces[f]["count"]):
            reach = max(reach, dot(n, core_vertex(core_b, edges[face_edges[k] >> 1]["tail"])))
            reach = max(reach, dot(n, core_vertex(core_b, edges[face_edges[k] >> 1]["head"])))
        if reach < low - best[0] - tol:
            continue
        for v in range(core_a["n_vertices"]):
            x = add(mul_vec(R, core_vertex(core_a, v)), p)
            if dot(n, x) > high + best[0] + tol or point_outside_face(core_b, f, x, 0.0) != NOT_FOUND:
                continue
            _, _, _, distance = closest_points(core_a, core_b, R, p, V, v, F, f)
            if 0.0 <= distance < best[0]:
                best = (distance, V, v, F, f)
    return best


@kernel(inline=False)
def _compare_vertices(core_a: Any, core_b: Any, R: Mat3, p: Vec3, best: Best) -> Best:
    """Improve `best` by pairs with a vertex: needed if a core has no edges that contain its vertices."""
    for a in range(core_a["n_vertices"]):
        for b in range(core_b["n_vertices"]):
            _, _, _, distance = closest_points(core_a, core_b, R, p, V, a, V, b)
            if distance < best[0]:
                best = (distance, V, a, V, b)
        for b in range(core_b["n_edges"]):
            _, _, _, distance = closest_points(core_a, core_b, R, p, V, a, E, b)
            if distance < best[0]:
                best = (distance, V, a, E, b)
    for b in range(core_b["n_vertices"]):
        for a in range(core_a["n_edges"]):
            _, _, _, distance = closest_points(core_a, core_b, R, p, E, a, V, b)
            if distance < best[0]:
                best = (distance, E, a, V, b)
    return best
