"""Ray casts and closest points on a shape of any kind at its pose, for Python: viewers and sensors."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from kinemorph.collision.ground.rays import TREE_STACK, cast_all_at_ground
from kinemorph.collision.queries.core_rays import SurfacePoint, as_triple, core_cast, core_closest_point, unit_direction
from kinemorph.collision.queries.two_shapes import Pair
from kinemorph.collision.shapes.shape_table import Solid, core_and_radius
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.ground import Ground
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Shape
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose, Vector, vector

A_POINT = Polyhedron.point()


@checked_on_failure
def cast(
    shape: Solid, pose: Pose | None, origin: Iterable[float], direction: Iterable[float], longest: float = math.inf
) -> SurfacePoint | None:
    """The first point of a shape on a ray, or None; `direction` may have any length, `longest` is in metres.

    A ray that starts inside hits the shape at once. Triangles of the ground are hit from both sides.
    """
    start, way = vector(origin, 3, "cast: origin"), unit_direction(vector(direction, 3, "cast: direction"), "cast")
    if not longest >= 0.0:
        raise ValueError(f"cast: longest {longest} must not be negative")
    at = _placed(shape, pose)
    inside, along = at.inverse().apply(start), at.rotation.T @ way
    if isinstance(shape, Ground):
        hit = _cast_on_ground(shape, inside, along, longest)
    else:
        hits = (core_cast(core, radius, inside, along, longest) for core, radius in _parts(shape))
        hit = min((h for h in hits if h is not None), key=lambda h: h.distance, default=None)
    return hit and _seen_from(at, hit)


@checked_on_failure
def closest_point(shape: Solid, pose: Pose | None, point: Iterable[float]) -> SurfacePoint:
    """The point of the surface of a shape closest to a point; the distance is negative inside.

    Inside a concave body it is that of the part in which the point is deepest; below a height field it is along the
    normal of a triangle.
    """
    x = vector(point, 3, "closest_point: point")
    at = _placed(shape, pose)
    inside = at.inverse().apply(x)
    if isinstance(shape, Ground):
        d = Pair(shape, A_POINT).distance(None, Pose(inside))
        return _seen_from(at, SurfacePoint(d.distance, as_triple(d.point_a), as_triple(d.normal)))
    hits = (core_closest_point(core, radius, inside) for core, radius in _parts(shape))
    return _seen_from(at, min(hits, key=lambda h: h.distance))


def _placed(shape: Solid, pose: Pose | None) -> Pose:
    here = Pose() if pose is None else pose
    if not isinstance(here, Pose):
        raise TypeError(f"pose must be a km.Pose or None, not {repr_of(pose)}")
    return here @ shape.pose if isinstance(shape, Shape) else here


def _parts(shape: Solid) -> list[tuple[Polyhedron, float]]:
    if isinstance(shape, Shape) and shape.parts is not None:
        shape = shape.parts
    if isinstance(shape, Parts):
        return list(zip(shape.parts, shape.radii.tolist(), strict=True))
    return [core_and_radius(shape)]


def _cast_on_ground(ground: Ground, origin: Vector, direction: Vector, longest: float) -> SurfacePoint | None:
    t, normals = np.zeros(1), np.zeros((1, 3))
    cast_all_at_ground(
        ground.address, origin.reshape(1, 3), direction.reshape(1, 3), float(longest), t, normals, np.zeros(TREE_STACK)
    )
    if t[0] == math.inf:
        return None
    return SurfacePoint(float(t[0]), as_triple(origin + t[0] * direction), as_triple(normals[0]))


def _seen_from(pose: Pose, hit: SurfacePoint) -> SurfacePoint:
    return SurfacePoint(hit.distance, as_triple(pose.apply(hit.point)), as_triple(pose.rotation @ hit.normal))
