"""Ray casts and closest points on a single convex shape.

The closest feature to a point is found by a V-Clip walk with a single vertex on the other side. A ray cast is a
sequence of such points: the distance to a convex body along a line is a convex function, so Newton's method from
outside converges monotonically to where the distance equals the radius, and never oversteps it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kinemorph.collision.narrow import features
from kinemorph.collision.narrow.closest_points import connect_points
from kinemorph.collision.narrow.depth import unit_vector
from kinemorph.collision.narrow.features import E, F, V
from kinemorph.collision.round.solids import closest_on_round
from kinemorph.geometry.polyhedron import CORE, Polyhedron, edges_of, faces_of, vertex_edges_of, vertices_of
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.pose import Vector, vector
from kinemorph.spatial.rows import load3, load3_at, store3_at
from kinemorph.spatial.vec3 import Vec3, axpy, cross, dot, sub

LARGEST_RAY_LENGTH = 1e150  # m: squares of larger distances overflow
MOST_RAY_ITERATIONS = 60  # Newton steps along a ray; a handful is usual
# Kind and row of a feature, its closest point, unit normal, distance.
ClosestFeature = tuple[int, int, Vec3, Vec3, float]


@kernel(inline=False)
def find_closest_feature(core: Any, x: Vec3, kind: int, index: int) -> ClosestFeature:
    """The feature of a core closest to x, from a first guess; the distance is negative inside a solid."""
    if core["sides"] > 0:
        y, n, distance = closest_on_round(core, x)
        return V, 0, y, n, distance
    c = load3(core["centre"])
    far = abs(x[0] - c[0]) + abs(x[1] - c[1]) + abs(x[2] - c[2]) + abs(c[0]) + abs(c[1]) + abs(c[2])
    tol = features.FEATURE_TOLERANCE * (far + core["radius_bound"])
    for _ in range(100 + 4 * core["n_faces"]):
        if kind == V:
            e = features.edge_towards(core, index, x, tol)
            if e == features.NOT_FOUND:
                y = features.core_vertex(core, index)
                return _outside_result(core, V, index, x, y, tol)
            kind, index = E, e
        elif kind == E:
            k, j = features.point_outside_edge(core, index, x, tol)
            if j == features.NOT_FOUND:
                return _outside_result(core, E, index, x, _project_on_edge(core, index, x), tol)
            kind, index = k, j
        else:
            e = features.point_outside_face(core, index, x, tol)
            above = features.height_above_face(core, index, x)
            if e == features.NOT_FOUND and above < -tol:
                f, above = features.highest_face(core, x)
                if above > tol and f != index:
                    index = f
                    continue
                index = f
            if e == features.NOT_FOUND:
                n = load3(faces_of(core)[index]["normal"])
                return F, index, axpy(x, -above, n), n, above
            kind, index = E, e
    return _scan_features(core, x)


@kernel
def _project_on_edge(core: Any, index: int, x: Vec3) -> Vec3:
    row = edges_of(core)[index]
    tail = features.core_vertex(core, row["tail"])
    d = load3(row["direction"])
    return axpy(tail, min(max(dot(sub(x, tail), d), 0.0), row["length"]), d)


@kernel(inline=False)
def _outside_result(core: Any, kind: int, index: int, x: Vec3, y: Vec3, tol: float) -> ClosestFeature:
    """The result for x closest to point y of a vertex or edge. On the core itself, a normal that points outwards."""
    _, _, n, distance = connect_points(x, y)
    if distance <= tol and core["n_edges"] > 0:
        e = index
        if kind == V:
            first = vertices_of(core)[index]["first"]
            e = int(vertex_edges_of(core)[first])
        edge = edges_of(core)[e]
        if core["n_faces"] > 0:
            n = load3(faces_of(core)[edge["left"]]["normal"])
        else:
            d = load3(edge["direction"])
            n = unit_vector(cross(d, (1.0, 0.0, 0.0) if abs(d[0]) < 0.6 else (0.0, 1.0, 0.0)))
    return kind, index, y, n, distance


@kernel(inline=False)
def _scan_features(core: Any, x: Vec3) -> ClosestFeature:
    """The same by trying all features: used if rounding makes the walk cycle."""
    if core["n_faces"] > 0:
        f, above = features.highest_face(core, x)
        if above <= 0.0 or features.point_outside_face(core, f, x, 0.0) == features.NOT_FOUND:
            n = load3(faces_of(core)[f]["normal"])
            return F, f, axpy(x, -above, n), n, above
    best = _outside_result(core, V, 0, x, features.core_vertex(core, 0), 0.0)
    for e in range(core["n_edges"]):
        place = _outside_result(core, E, e, x, _project_on_edge(core, e, x), 0.0)
        if place[4] < best[4]:
            best = place
    for f in range(core["n_faces"]):
        above = features.height_above_face(core, f, x)
        if 0.0 <= above < best[4] and features.point_outside_face(core, f, x, 0.0) == features.NOT_FOUND:
            n = load3(faces_of(core)[f]["normal"])
            best = (F, f, axpy(x, -above, n), n, above)
    return best


@kernel(inline=False)
def cast_at_core(core: Any, radius: float, origin: Vec3, direction: Vec3, longest: float) -> tuple[float, Vec3]:
    """Distance (m) along a unit direction to the shape, and the normal there; inf if there is no hit.

    A ray that starts inside hits at once, with the normal of the closest point of the surface.
    """
    kind, i, _, n, distance = find_closest_feature(core, origin, V, 0)
    near = 10.0 * features.FEATURE_TOLERANCE * (abs(distance) + core["radius_bound"] + radius)
    t = 0.0
    for _ in range(MOST_RAY_ITERATIONS):
        gap = distance - radius
        if gap <= near:
            return t, n
        speed = -dot(n, direction)
        if speed <= 0.0 or speed * (longest - t) < gap:  # it moves away, or would hit too late
            return np.inf, n
        t += gap / speed
        kind, i, _, n, distance = find_closest_feature(core, axpy(origin, t, direction), kind, i)
    return np.inf, n  # it grazes


@entry
def cast_all_at_core(
    address: int, radius: float, origins: Any, directions: Any, longest: float, distances: Any, normals: Any
) -> None:
    """`cast_at_core` for rows of origins and unit directions (n, 3)."""
    core = rows_at(address, 1, CORE)[0]
    for k in range(distances.shape[0]):
        distances[k], n = cast_at_core(core, radius, load3(origins[k]), load3(directions[k]), longest)
        store3_at(normals[k], 0, n)


@entry
def locate_points(address: int, radius: float, points: Any, distances: Any, normals: Any) -> None:
    """Signed distances and normals of rows of points (n, 3) from a shape."""
    core = rows_at(address, 1, CORE)[0]
    kind, i = V, 0
    for k in range(distances.shape[0]):
        kind, i, _, n, distance = find_closest_feature(core, load3_at(points[k], 0), kind, i)
        distances[k] = distance - radius
        store3_at(normals[k], 0, n)


class SurfacePoint(NamedTuple):
    """A point on the surface of a shape: where a ray hits it, or closest to a point."""

    distance: float  # m, along the ray; of a point from the surface, negative inside
    point: tuple[float, float, float]  # m, on the surface
    normal: tuple[float, float, float]  # unit, outwards


def core_cast(
    core: Polyhedron, radius: float, origin: Iterable[float], direction: Iterable[float], longest: float = math.inf
) -> SurfacePoint | None:
    """The first point of a shape on a ray, in the frame of its core; None if there is none nearer than `longest`."""
    start = vector(origin, 3, "core_cast: origin")
    way = vector(direction, 3, "core_cast: direction")
    way = unit_direction(way, "core_cast")
    if not np.abs(start).max() < LARGEST_RAY_LENGTH:
        raise ValueError(f"core_cast: origin {start.tolist()} is too far away, more than {LARGEST_RAY_LENGTH} m")
    t, normals = np.zeros(1), np.zeros((1, 3))
    cast_all_at_core(core.address, float(radius), start.reshape(1, 3), way.reshape(1, 3), float(longest), t, normals)
    if t[0] == np.inf:
        return None
    return SurfacePoint(float(t[0]), as_triple(start + t[0] * way), as_triple(normals[0]))


def core_closest_point(core: Polyhedron, radius: float, point: Iterable[float]) -> SurfacePoint:
    """The point of the surface of a shape closest to a point, in the frame of its core."""
    x = vector(point, 3, "core_closest_point: point")
    distances, normals = np.zeros(1), np.zeros((1, 3))
    locate_points(core.address, float(radius), x.reshape(1, 3), distances, normals)
    if not math.isfinite(distances[0]):  # too far away
        raise ValueError(f"core_closest_point: {x.tolist()} is too far away for its distance to be a number")
    return SurfacePoint(float(distances[0]), as_triple(x - distances[0] * normals[0]), as_triple(normals[0]))


def unit_direction(direction: Vector, what: str) -> Vector:
    largest = np.abs(direction).max()
    if largest == 0.0:
        raise ValueError(f"{what}: direction is zero")
    way = direction / largest  # first, so that no square overflows or vanishes
    return way / np.linalg.norm(way)


def as_triple(x: Any) -> tuple[float, float, float]:
    return float(x[0]), float(x[1]), float(x[2])
