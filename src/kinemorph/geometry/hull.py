"""Convex hulls of points: Qhull finds them, and its coplanar facets become faces with any number of edges.

Qhull merges facets that bend less than rounding, or less than a given centrum radius, while it builds the hull: the
merged facets stay convex, which merging afterwards could not promise. SciPy hands them out cut into triangles; those of
one facet have the very same plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.geometry.meshes.distinct_points import distinct_points
from kinemorph.geometry.shapes import LARGEST_SIZE

MOST_VERTICES = 65536  # V-Clip walks on fewer; a hull with more is a mistake or wants `max_vertices`
THICKEST_MERGE = 1e-4  # sizes: what is merged within this is still a face

Array = np.ndarray[Any, np.dtype[Any]]


def hull_faces(
    points: npt.ArrayLike, flat: float = 1e-9, max_vertices: int | None = None
) -> Iterator[tuple[Array, list[Array]]]:
    """The vertices of the hull, (n, 3), and the vertices of its faces, counterclockwise seen from outside.

    Facets that are within `flat` (in sizes of the hull) of one plane become one face, and what is no corner any more is
    left out. `max_vertices` limits the vertices: the points that are furthest in evenly spread directions stay.

    These are attempts, the best one first: where facets bend by about `flat`, merging can spoil a face, and less of it
    is better.
    """
    cloud, centre, size = _check_points(points, flat)
    small = (cloud - centre) / size  # Qhull's tolerances are lengths: at size 1 they mean the same for all scales
    if max_vertices is not None:
        if not 4 <= max_vertices <= MOST_VERTICES:
            raise ValueError(f"hull: max_vertices is {max_vertices}; expected 4 to {MOST_VERTICES} vertices")
        keep = _choose_furthest(small, max_vertices)
        cloud, small = cloud[keep], small[keep]
    # QJ moves the points by rounding errors until nothing is coplanar: not pretty, but always a polyhedron.
    for options in (f"C-{flat:.3g}", f"C-{flat / 100.0:.3g}", "", "QJ"):
        corners, loops = _run_qhull(small, options)
        if len(corners) > MOST_VERTICES:
            raise ValueError(
                f"hull: it has more than {MOST_VERTICES} vertices; "
                "pass max_vertices=1024, say, for the hull of the furthest points"
            )
        if _is_closed(loops):
            yield cloud[corners], loops


def hull_triangles(points: Array) -> Array:
    """Triangles of given points around all of them, counterclockwise seen from outside."""
    from scipy.spatial import ConvexHull, QhullError  # late: it takes long to import

    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError) as error:
        raise ValueError(f"there is no hull around the points: {str(error).splitlines()[0][:80]}") from None
    faces = hull.simplices.astype(np.int64)
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return faces


@np.errstate(over="ignore")  # the size may be infinite, though no number is
def _check_points(points: npt.ArrayLike, flat: float) -> tuple[Array, Array, float]:
    """The points, each once, with the middle and the size of the box around them; flat sets are refused."""
    if not 0.0 <= flat <= THICKEST_MERGE:
        raise ValueError(f"hull: flat is {flat}; expected 0 to {THICKEST_MERGE:g} of the size")
    try:
        cloud = np.array(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("hull: expected points of shape (n, 3), got something else than numbers") from None
    if cloud.ndim != 2 or cloud.shape[1] != 3:
        raise ValueError(f"hull: expected points of shape (n, 3), got shape {cloud.shape}")
    bad = ~np.isfinite(cloud).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"hull: point {row} is {cloud[row].tolist()} ({bad.sum()} of {len(cloud)} are not finite)")
    cloud = cloud[distinct_points(cloud)[0]] + 0.0  # -0.0 becomes 0.0
    if not len(cloud):
        raise ValueError("hull: there are no points")
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    centre, size = low + 0.5 * (high - low), float((high - low).max())
    if not 0.0 < size <= LARGEST_SIZE or np.abs(cloud).max() > LARGEST_SIZE:
        what = "only one place" if size == 0.0 else f"an infinite size, or one beyond {LARGEST_SIZE:g} m"
        raise ValueError(f"hull: the points have {what}; a sphere is Polyhedron.point() and a radius")
    # The three widths of the set, from the directions in which it spreads most.
    spread = (cloud - centre) / size
    axes = np.linalg.eigh(np.cov(spread.T, bias=True))[1] if len(cloud) > 1 else np.eye(3)
    widths = np.sort(np.ptp(spread @ axes, axis=0))[::-1]
    least = max(10.0 * flat, 1e-12)
    if widths[1] <= least:
        raise ValueError(
            f"hull: the {len(cloud)} points are on one line, {size:g} m long; "
            "use Polyhedron.segment with a radius (a capsule), or add points off the line"
        )
    if widths[2] <= least:
        raise ValueError(
            f"hull: the {len(cloud)} points are flat (thickness {widths[2] * size:.3g} m of {size:g} m); give it a "
            "thickness, or use Polyhedron.polygon for a flat one"
        )
    return cloud, centre, size


def _run_qhull(points: Array, options: str, stop: int = MOST_VERTICES + 1) -> tuple[Array, list[Array]]:
    """Which points are corners, and the loops of the faces in terms of these; Qhull stops after `stop` corners."""
    from scipy.spatial import ConvexHull, QhullError  # here: it takes a while, and few programs need hulls

    try:
        hull = ConvexHull(points, qhull_options=f"{options} TA{stop}")
    except QhullError as error:
        if options == "QJ":
            reason = str(error).strip().splitlines()[0]
            raise ValueError(f"hull: Qhull gives up on these {len(points)} points: {reason}") from None
        return np.zeros(0, np.int64), []
    planes, facet = np.unique(hull.equations, axis=0, return_inverse=True)
    n = len(points)
    pairs = np.unique(np.repeat(facet.ravel(), 3) * n + hull.simplices.ravel())  # of a facet and a vertex
    face, vertex = np.divmod(pairs, n)
    return _sorted_loops(points, planes[:, :3], face, vertex)


def _sorted_loops(points: Array, normals: Array, face: Array, vertex: Array) -> tuple[Array, list[Array]]:
    """Around a point inside, the corners of a convex polygon are in the order of their angles."""
    count = np.bincount(face)
    middle = np.add.reduceat(points[vertex], np.cumsum(count) - count) / count[:, None]
    across = np.eye(3)[np.abs(normals).argmin(axis=1)]
    x = np.cross(across, normals)
    y = np.cross(normals, x)
    arm = points[vertex] - middle[face]
    angle = np.arctan2(np.einsum("ij,ij->i", y[face], arm), np.einsum("ij,ij->i", x[face], arm))
    corners, index = np.unique(vertex[np.lexsort((angle, face))], return_inverse=True)
    return corners, np.split(index, np.cumsum(count)[:-1])


def _is_closed(loops: list[Array]) -> bool:
    """Whether each edge has a face on its left and one on its right, each vertex three or more, like a ball in all."""
    if len(loops) < 4:
        return False
    tail = np.concatenate(loops)
    head = np.concatenate([np.roll(loop, -1) for loop in loops])
    n = int(tail.max()) + 1
    there = np.unique(tail * n + head)
    paired = len(there) == len(tail) and np.array_equal(there, np.sort(head * n + tail))
    return bool(paired and np.bincount(tail).min() > 2 and n - len(tail) // 2 + len(loops) == 2)


def _choose_furthest(points: Array, max_vertices: int) -> Array:
    """Which points are furthest in `max_vertices` directions spread evenly over the sphere (a Fibonacci spiral)."""
    some, _ = _run_qhull(points, "", stop=16 * int(max_vertices))  # it begins with the furthest: enough of a cloud
    some = some if len(some) else np.arange(len(points))
    if len(some) <= max_vertices:
        return some
    k = np.arange(max_vertices) + 0.5
    z, turn = 1.0 - 2.0 * k / max_vertices, np.pi * (1.0 + 5.0**0.5) * k
    r = np.sqrt(1.0 - z * z)
    directions = np.column_stack([r * np.cos(turn), r * np.sin(turn), z])
    cube = points[some] / np.ptp(points[some], axis=0)  # a long body gets its share of corners at the ends
    return some[np.unique((cube @ directions.T).argmax(axis=0))]
