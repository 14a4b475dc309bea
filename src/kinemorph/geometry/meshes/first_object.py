"""OBJ files as MuJoCo reads them: the first object with a surface, its polygons triangulated as in MuJoCo.

The triangulation matters for polygons that are not flat or not convex. It is decided in single precision, as there;
equal faces give equal masses. Other files that name an OBJ use all of its objects (`obj.read`).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError
from kinemorph.geometry.meshes.obj import Polygons, parse

Array = np.ndarray[Any, np.dtype[Any]]
MOST_EAR_TESTS = 10_000_000  # at corners of polygons, before a file is refused
SMALLEST_AREA = float(np.finfo(np.float32).eps)  # twice the area of a corner that says how a polygon lies


def read_first(path: Path) -> tuple[Array, Array, Array | None]:
    """All vertices of the file, and the triangles of its first object."""
    found = parse(path)
    with np.errstate(over="ignore"):  # values that are not finite are refused later
        single = found.vertices.astype(np.float32)
    faces = np.zeros((0, 3), dtype=np.int64)
    for start, end in pairwise([*found.starts, len(found.counts)]):
        if start < end:
            try:
                faces = _triangles(found, start, end, single)
            except ValueError as error:
                raise FileError(f"{path}: {error}") from None
        if len(faces):
            break
    return single.astype(np.float64), faces, None


def _triangles(found: Polygons, start: int, end: int, points: Array) -> Array:
    first, counts, corners = found.first[start:end], found.counts[start:end], found.corners
    pieces = [corners[first[counts == 3][:, np.newaxis] + np.arange(3)]]
    a, b, c, d = corners[first[counts == 4][:, np.newaxis] + np.arange(4)].T
    shorter = _squared(points[c] - points[a]) < _squared(points[d] - points[b])
    pieces.append(np.stack([a, b, np.where(shorter, c, d)], axis=1))
    pieces.append(np.stack([np.where(shorter, a, b), c, d], axis=1))
    for n in np.unique(counts[counts > 4]):
        pieces.append(_cut_ears(corners[first[counts == n][:, np.newaxis] + np.arange(n)], points))
    return np.concatenate(pieces)


def _squared(way: Array) -> Array:
    x, y, z = way.T
    return x * x + y * y + z * z


def _cut_ears(polygons: Array, points: Array) -> Array:
    """Cut ears off polygons of the same size (m, n): corners that are not hollow, with no other one in their triangle.

    All polygons are looked at side by side, one corner of each at a time.
    """
    m, n = polygons.shape
    x, y = _project_polygons(points[polygons])
    left = np.tile(np.arange(n), (m, 1))  # corners that are left, the first `count` of each row
    count = np.full(m, n)
    at = np.zeros(m, dtype=np.int64)
    before, patience = count.copy(), count.copy()  # looks that may be in vain; what is left after them is lost
    ears, looks = [], 0
    with np.errstate(all="ignore"):
        while len(rows := np.flatnonzero((count > 3) & (patience > 0))):
            looks += len(rows) * n
            if looks > MOST_EAR_TESTS:
                raise ValueError(f"a face has {n} corners and is hard to cut; cut it into triangles")
            size = count[rows]
            at[rows] %= size
            patience[rows] = np.where(size != before[rows], size, patience[rows] - 1)
            before[rows] = size
            turned = np.take_along_axis(left[rows], (at[rows, np.newaxis] + np.arange(n)) % size[:, np.newaxis], axis=1)
            px, py = (np.take_along_axis(each[rows], turned, axis=1) for each in (x, y))
            (a, b, c), (d, e, f) = px.T[:3], py.T[:3]
            turn = (b - a) * (f - e) - (e - d) * (c - b)
            side = (a * e - d * b) * np.float32(0.5)  # as seen from the origin: so it is there
            others = np.arange(3, n) < size[:, np.newaxis]
            ear = ~(turn * side < 0) & ~(_corners_inside(px, py) & others).any(axis=1)
            at[rows[~ear]] += 1
            found = rows[ear]
            ears.append(np.take_along_axis(polygons[found], turned[ear, :3], axis=1))
            gone = (at[found] + 1) % count[found]
            columns = np.arange(n)
            left[found] = np.take_along_axis(
                left[found], np.minimum(columns + (columns >= gone[:, np.newaxis]), n - 1), axis=1
            )
            count[found] -= 1
    rest = np.flatnonzero(count == 3)
    ears.append(np.take_along_axis(polygons[rest], left[rest, :3], axis=1))
    return np.concatenate(ears)


def _project_polygons(points: Array) -> tuple[Array, Array]:
    """Two coordinates of polygons (m, n, 3), without the one that the first true corner of each looks along."""
    way = np.roll(points, -1, axis=1) - points
    dx, dy, dz = np.moveaxis(way, 2, 0)
    ex, ey, ez = np.moveaxis(np.roll(way, -1, axis=1), 2, 0)
    areas = np.abs(np.stack([dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex], axis=2))
    true = (areas > SMALLEST_AREA).any(axis=2)
    row = np.arange(len(points))
    cx, cy, cz = areas[row, true.argmax(axis=1)].T
    along_x = ((cx > cy) & (cx > cz)) | ~true.any(axis=1)
    along_z = (cz > cx) & (cz > cy)
    x, y, z = np.moveaxis(points, 2, 0)
    return np.where(along_x[:, np.newaxis], y, x), np.where((along_z & ~along_x)[:, np.newaxis], y, z)


def _corners_inside(x: Array, y: Array) -> Array:
    """Whether rays from all other corners cross the sides of the triangle of the first three an odd number of times."""
    px, py = x[:, 3:], y[:, 3:]
    odd = np.zeros(px.shape, dtype=bool)
    for i, j in ((0, 2), (1, 0), (2, 1)):
        (xi, xj), (yi, yj) = x[:, [i, j], np.newaxis].swapaxes(0, 1), y[:, [i, j], np.newaxis].swapaxes(0, 1)
        odd ^= ((yi > py) != (yj > py)) & (px < (xj - xi) * (py - yi) / (yj - yi) + xi)
    return odd
