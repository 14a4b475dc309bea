"""Voronoi region tests of V-Clip on one core: is a point or an edge in the region of a feature, and if not, which
neighbour is nearer?

A **feature** is a vertex v, an edge e or a face f, given by kind and row. Points and directions are in the frame of the
core. `tol` (m) is the distance by which a plane must be crossed; with strict tests on both sides of every plane, two
neighbours never both refer a point to each other.
"""

from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.geometry.polyhedron import edges_of, face_edges_of, faces_of, vertex_edges_of, vertices_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, axpy, cross, dot, sub

INDEX = np.dtype(np.int32)
FEATURE_TOLERANCE = 1e-14  # of the sizes and distances involved: some ten roundings
CROSS_PRODUCT_ROUNDING = 1e-15  # of the sizes: rounding error of cross products of unit vectors
PARALLEL_SLOPE = 1e-12  # an edge that rises less than this over its length is parallel to a face
SCANNED_VERTICES = 64  # vertices of a large core that are scanned before hill climbing
NOT_FOUND = -1  # no neighbour is nearer
FEATURES_MEET = -2  # the features touch or cross: no neighbour can be preferred


class Feature(IntEnum):
    """Kinds of features of a core. The value is stored in rows."""

    VERTEX = 0
    EDGE = 1
    FACE = 2


V, E, F = int(Feature.VERTEX), int(Feature.EDGE), int(Feature.FACE)  # as plain integers for kernels


@kernel
def core_vertex(core: Any, v: int) -> Vec3:
    return load3(vertices_of(core)[v]["x"])


@kernel
def tolerance(core_a: Any, core_b: Any, p: Vec3) -> float:
    """Length (m) that counts as zero between two cores; the origin of one of them is at p in the other."""
    cA = load3(core_a["centre"])
    cB = load3(core_b["centre"])
    far = abs(cA[0]) + abs(cA[1]) + abs(cA[2]) + abs(cB[0]) + abs(cB[1]) + abs(cB[2])
    return FEATURE_TOLERANCE * (
        far + core_a["radius_bound"] + core_b["radius_bound"] + abs(p[0]) + abs(p[1]) + abs(p[2])
    )


@kernel
def edge_towards(core: Any, v: int, x: Vec3, tol: float) -> int:
    """The edge of vertex v with the steepest approach to x, or NOT_FOUND: then x is in the Voronoi region of v."""
    edges = edges_of(core)
    edge_at = vertex_edges_of(core)
    vertex = vertices_of(core)[v]
    r = sub(x, load3(vertex["x"]))
    found = NOT_FOUND
    most = tol
    for k in range(vertex["first"], vertex["first"] + vertex["count"]):
        e = edge_at[k]
        s = dot(load3(edges[e]["direction"]), r)
        s = s if edges[e]["tail"] == v else -s
        if s > most:
            most = s
            found = e
    return found


@kernel
def edge_down(core: Any, v: int, n: Vec3) -> int:
    """The edge of vertex v that descends most steeply against n, or NOT_FOUND."""
    edges = edges_of(core)
    edge_at = vertex_edges_of(core)
    vertex = vertices_of(core)[v]
    found = NOT_FOUND
    least = -PARALLEL_SLOPE
    for k in range(vertex["first"], vertex["first"] + vertex["count"]):
        e = edge_at[k]
        s = dot(load3(edges[e]["direction"]), n)
        s = s if edges[e]["tail"] == v else -s
        if s < least:
            least = s
            found = e
    return found


@kernel(inline=False)
def support_vertex(core: Any, v: int, n: Vec3) -> int:
    """The support vertex: the one farthest along n; v is a guess.

    A scan of a few dozen vertices comes first. On larger cores, hill climbing along edges from the best of them leads
    to the top of a convex body.
    """
    vertices = vertices_of(core)
    most = dot(n, load3(vertices[v]["x"]))
    stride = core["n_vertices"] // SCANNED_VERTICES
    for k in range(0, core["n_vertices"], max(stride, 1)):
        s = dot(n, load3(vertices[k]["x"]))
        if s > most:
            most = s
            v = k
    return climb_to_vertex(core, v, n) if stride > 1 else v


@kernel(inline=False)
def most_aligned_face(core: Any, v: int, n: Vec3) -> tuple[int, float]:
    """The face most aligned with n at the support vertex, and the cosine; NOT_FOUND and -1 if there are no faces."""
    if core["n_faces"] == 0:
        return NOT_FOUND, -1.0
    edges = edges_of(core)
    edge_at = vertex_edges_of(core)
    faces = faces_of(core)
    vertex = vertices_of(core)[support_vertex(core, v, n)]
    found = NOT_FOUND
    most = -2.0
    for k in range(vertex["first"], vertex["first"] + vertex["count"]):
        for f in (edges[edge_at[k]]["left"], edges[edge_at[k]]["right"]):
            s = dot(load3(faces[f]["normal"]), n)
            if s > most:
                most = s
                found = f
    return found, most


@kernel
def climb_to_vertex(core: Any, v: int, n: Vec3) -> int:
    """The support vertex along n, reached from v along edges."""
    edges = edges_of(core)
    edge_at = vertex_edges_of(core)
    vertices = vertices_of(core)
    most = dot(n, load3(vertices[v]["x"]))
    for _ in range(core["n_vertices"]):
        vertex = vertices[v]
        best = v
        for k in range(vertex["first"], vertex["first"] + vertex["count"]):
            edge = edges[edge_at[k]]
            other = edge["head"] if edge["tail"] == v else edge["tail"]
            s = dot(n, load3(vertices[other]["x"]))
            if s > most:
                most = s
                best = other
        if best == v:
            break
        v = best
    return v


@kernel
def point_outside_edge(core: Any, index: int, x: Vec3, tol: float) -> tuple[int, int]:
    """The neighbour of edge e whose side of a Voronoi plane x is on, as kind and row; or NOT_FOUND.

    The end planes come first: only between the ends does a step into a face shorten the distance.
    """
    edge = edges_of(core)[index]
    r = sub(x, core_vertex(core, edge["tail"]))
    s = dot(r, load3(edge["direction"]))
    if s < -tol:
        return V, edge["tail"]
    if s > edge["length"] + tol:
        return V, edge["head"]
    left = dot(r, load3(edge["left_normal"]))  # zero for a segment
    right = dot(r, load3(edge["right_normal"]))
    if left > tol and left >= right:
        return F, edge["left"]
    if right > tol:
        return F, edge["right"]
    return E, NOT_FOUND


@kernel
def point_outside_face(core: Any, f: int, x: Vec3, tol: float) -> int:
    """The edge of face f whose Voronoi plane x violates most, or NOT_FOUND."""
    edges = edges_of(core)
    face_edges = face_edges_of(core)
    face = faces_of(core)[f]
    found = NOT_FOUND
    least = -tol
    for k in range(face["first"], face["first"] + face["count"]):
        side = face_edges[k]
        edge = edges[side >> 1]
        inward = load3(edge["right_normal"]) if side & 1 else load3(edge["left_normal"])
        s = dot(inward, sub(x, core_vertex(core, edge["tail"])))
        if s < least:
            least = s
            found = side >> 1
    return found


@kernel
def height_above_face(core: Any, f: int, x: Vec3) -> float:
    """Signed height (m) of a point above the plane of a face."""
    face = faces_of(core)[f]
    return dot(load3(face["normal"]), x) - face["offset"]


@kernel
def highest_face(core: Any, x: Vec3) -> tuple[int, float]:
    """The face with the largest signed height of x, and that height (m): negative means inside. A scan of all faces."""
    faces = faces_of(core)
    found = 0
    most = -np.inf
    for f in range(core["n_faces"]):
        s = dot(load3(faces[f]["normal"]), x) - faces[f]["offset"]
        if s > most:
            most = s
            found = f
    return found, most


@kernel
def edge_outside_edge(core: Any, index: int, t: Vec3, direction: Vec3, length: float, tol: float) -> tuple[int, int]:
    """The neighbour of an edge that is nearer to the edge from t, as kind and row; NOT_FOUND, or FEATURES_MEET.

    The incoming edge is clipped at the planes through the ends of e. Where it enters or leaves, the sign of the
    derivative of its distance tells whether the closest point is beyond (Fontijne 2.4). The planes to the faces of e
    follow, for the clipped part.
    """
    edge = edges_of(core)[index]
    tail = core_vertex(core, edge["tail"])
    u = load3(edge["direction"])
    r = sub(t, tail)
    s0 = dot(r, u)
    ds = dot(direction, u)
    s1 = s0 + length * ds
    if s0 < -tol and s1 < -tol:
        return V, edge["tail"]
    if s0 > edge["length"] + tol and s1 > edge["length"] + tol:
        return V, edge["head"]
    lo = 0.0
    hi = length
    rd = dot(r, direction)
    if s0 < 0.0 and ds > 0.0:  # it enters at the tail, at lo; beyond lo the distance to the tail changes by rd + lo
        lo = min(-s0 / ds, length)
        if rd + lo > tol:
            return V, edge["tail"]
    elif s1 < 0.0 and ds < 0.0:
        hi = max(-s0 / ds, 0.0)
        if rd + hi < -tol:
            return V, edge["tail"]
    excess = edge["length"] - s0
    if excess < 0.0 and ds < 0.0:
        lo = max(lo, min(excess / ds, length))
        if rd + lo - edge["length"] * ds > tol:
            return V, edge["head"]
    elif s1 > edge["length"] and ds > 0.0:
        hi = min(hi, max(excess / ds, 0.0))
        if rd + hi - edge["length"] * ds < -tol:
            return V, edge["head"]
    if edge["left"] < 0:
        return E, NOT_FOUND
    left = _crosses_into_face(core, edge["left"], load3(edge["left_normal"]), r, direction, lo, hi, tol)
    if left != NOT_FOUND:
        return F, left
    return F, _crosses_into_face(core, edge["right"], load3(edge["right_normal"]), r, direction, lo, hi, tol)


@kernel(inline=False)
def _crosses_into_face(
    core: Any, f: int, inward: Vec3, r: Vec3, direction: Vec3, lo: float, hi: float, tol: float
) -> int:
    """Face f, if edge r + λ `direction`, lo ≤ λ ≤ hi, is nearer to it than to the edge at the origin; else NOT_FOUND or
    FEATURES_MEET.
    """
    a0 = dot(r, inward)
    da = dot(direction, inward)
    at_lo = a0 + lo * da
    at_hi = a0 + hi * da
    if at_lo <= tol and at_hi <= tol:
        return NOT_FOUND
    if at_lo > tol and at_hi > tol:
        return f
    n = load3(faces_of(core)[f]["normal"])
    above = dot(axpy(r, -a0 / da, direction), n)  # where it crosses the Voronoi plane, it is this far above the edge
    if abs(above) <= tol:
        return FEATURES_MEET
    slope = dot(direction, n) if above > 0.0 else -dot(direction, n)  # of the distance
    if (at_lo > tol and slope > PARALLEL_SLOPE) or (at_hi > tol and slope < -PARALLEL_SLOPE):
        return f
    return NOT_FOUND


@kernel
def clip_edge_to_face(
    core: Any, f: int, tail: Vec3, direction: Vec3, length: float, slack: float
) -> tuple[float, float, int, int]:
    """The part lo .. hi (m) of the edge from `tail` above face f, and the edges of f that cut it off, or NOT_FOUND.

    lo > hi if nothing is left. The face is widened by `slack` (m) on all sides.
    """
    edges = edges_of(core)
    face_edges = face_edges_of(core)
    face = faces_of(core)[f]
    lo = 0.0
    hi = length
    edge_lo = NOT_FOUND
    edge_hi = NOT_FOUND
    for k in range(face["first"], face["first"] + face["count"]):
        side = face_edges[k]
        edge = edges[side >> 1]
        inward = load3(edge["right_normal"]) if side & 1 else load3(edge["left_normal"])
        a = dot(inward, sub(tail, core_vertex(core, edge["tail"]))) + slack
        da = dot(inward, direction)
        b = a + length * da
        if a < 0.0 and b < 0.0:
            return 1.0, 0.0, side >> 1, side >> 1
        if a < 0.0 <= b and -a > lo * da:
            lo = -a / da
            edge_lo = side >> 1
        elif b < 0.0 <= a and a < -hi * da:
            hi = -a / da
            edge_hi = side >> 1
    return lo, hi, edge_lo, edge_hi


@kernel
def closest_on_segments(t1: Vec3, d1: Vec3, l1: float, t2: Vec3, d2: Vec3, l2: float) -> tuple[float, float]:
    """Closest points of two segments, as lengths (m) from their tails.

    The sine of the angle comes from the cross product: 1 - cos² would lose half of its digits. The segments count as
    parallel where rounding could move the closest point by more than their length.
    """
    r = sub(t2, t1)
    n = cross(d1, d2)
    q = cross(r, d2)
    c = dot(d1, d2)
    nn = dot(n, n)
    if nn * nn * l1 * l1 > CROSS_PRODUCT_ROUNDING * CROSS_PRODUCT_ROUNDING * dot(q, q):
        s = dot(n, q) / nn
    else:  # parallel: the middle of what they share along d1
        a = dot(r, d1)
        b = a + c * l2
        s = 0.5 * (min(max(min(a, b), 0.0), l1) + max(min(max(a, b), l1), 0.0))
    s = min(max(s, 0.0), l1)
    u = min(max(-dot(axpy(r, -s, d1), d2), 0.0), l2)  # the foot of that point on segment 2, and back
    s = min(max(dot(axpy(r, u, d2), d1), 0.0), l1)
    if s == 0.0 or s == l1:  # cut off at an end: the foot of that is elsewhere
        u = min(max(-dot(axpy(r, -s, d1), d2), 0.0), l2)
    return s, u
