"""Static ground for collision detection: a half-space, a triangle mesh, or a height field, as flat rows for kernels.

Triangles are one-sided and without thickness: they need not be closed, and their front is outside. Triangles store the
vertex across each of their edges, and vertices their neighbours, because only the whole surface tells whether an edge
of a triangle is an edge of the ground. Lengths in metres, in the ground's own frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.geometry.meshes.distinct_points import distinct_points
from kinemorph.geometry.meshes.faults import check_mesh
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.polyhedron import VERTEX
from kinemorph.spatial.arguments.annotated import checked_first, checked_on_failure
from kinemorph.spatial.pose import vector


class GroundKind(IntEnum):
    """Storage of the ground. The value is stored in rows."""

    HALF_SPACE = 0
    SOUP = 1
    FIELD = 2


GROUND = np.dtype(
    [
        ("kind", "i8"),  # GroundKind
        ("normal", "f8", 3),  # half-space: unit, out of the ground
        ("offset", "f8"),  # half-space: m, normal · x = offset on its surface
        ("n", "i8"),  # number of triangles
        ("triangles", "i8"),  # soup: address of the TRIANGLE rows, in the order of the leaves
        ("n_points", "i8"),
        ("points", "i8"),  # soup: address of VERTEX rows; their neighbours are ring[first : first + count]
        ("n_ring", "i8"),
        ("ring", "i8"),  # soup: address of int32
        ("leaves", "i8"),  # soup: leaves of the tree of boxes, a power of two; leaf k begins at triangle k n / leaves
        ("boxes", "i8"),  # soup: address of BOUNDS rows; node i has the children 2 i and 2 i + 1, the root is 1
        ("heights", "i8"),  # field: address of float64, nx rows of ny
        ("nx", "i8"),
        ("ny", "i8"),
        ("x0", "f8"),  # field: m, position of its first row and column
        ("y0", "f8"),
        ("dx", "f8"),  # field: m, between rows, along x
        ("dy", "f8"),  # field: m, between columns, along y
    ]
)

TRIANGLE = np.dtype(
    [
        ("corners", "i4", 3),  # vertices, counterclockwise seen from outside; side k is from corner k to the next
        ("across", "i4", 3),  # the vertex of the neighbour at side k that is not on it; -1 at a border
        ("sides", "i4", 3),  # number of side k, which its neighbour has too
        ("face", "i4"),  # which face of the mesh it is
    ]
)

BOUNDS = np.dtype([("low", "f8", 3), ("high", "f8", 3)])

MOST_LEAF_TRIANGLES = 4  # triangles in a leaf of the tree of boxes, at most
MOST_GROUND_CELLS = 10**8  # triangles or heights: ids of contacts have room for five times as many
THIN_TRIANGLE_SHARE = 1e-9  # twice the area over the square of the longest side: less is no triangle

Array = np.ndarray[Any, np.dtype[Any]]


@checked_first
class Ground:
    """Static geometry without a volume of its own. Kernels read it through `address`. It is immutable."""

    __slots__ = ("_header", "_rows", "address")

    def __init__(self, kind: GroundKind, rows: dict[str, Array], **header: Any) -> None:
        self._header = np.zeros(1, GROUND)
        self._header["kind"] = kind
        for name, array in rows.items():
            array.flags.writeable = False
            self._header[name] = array.ctypes.data
        for name, value in header.items():
            self._header[name] = value
        self._header.flags.writeable = False
        self._rows = rows  # kept alive here: the header knows their addresses only
        self.address = int(self._header.ctypes.data)

    def __reduce__(self) -> Any:  # a copy has its rows elsewhere, and needs an address of its own
        header = {name: self._header[name][0] for name in GROUND.names or () if name not in ("kind", *self._rows)}
        return _copy_ground, (type(self), int(self._header["kind"][0]), self._rows, header)

    @property
    def kind(self) -> GroundKind:
        return GroundKind(int(self._header["kind"][0]))

    @property
    def bounds(self) -> Array:
        """The lowest and the highest corner of its box, (2, 3): infinite where it is unbounded."""
        h = self._header[0]
        kind = self.kind
        if kind is GroundKind.HALF_SPACE:
            return np.array(UNBOUNDED)
        if kind is GroundKind.SOUP:
            points = self._rows["points"]["x"]
            return np.array([points.min(axis=0), points.max(axis=0)])
        x, y = h["x0"] + h["dx"] * (h["nx"] - 1), h["y0"] + h["dy"] * (h["ny"] - 1)
        return np.array([[h["x0"], h["y0"], -np.inf], [x, y, self._rows["heights"].max()]])


def _copy_ground(which: type[Ground], kind: int, rows: dict[str, Array], header: dict[str, Any]) -> Ground:
    ground = which.__new__(which)
    Ground.__init__(ground, GroundKind(kind), {name: array.copy() for name, array in rows.items()}, **header)
    return ground


UNBOUNDED = (-math.inf,) * 3, (math.inf,) * 3


@checked_first
class HalfSpace(Ground):
    """All points x with normal · x <= offset: solid below a plane. The normal is normalised."""

    __slots__ = ()

    def __init__(self, normal: Iterable[float] = (0.0, 0.0, 1.0), offset: float = 0.0) -> None:
        n = vector(normal, 3, "HalfSpace: normal")
        length = math.hypot(*n)
        if not length > 0.0:
            raise ValueError("HalfSpace: the normal is zero")
        if not math.isfinite(offset):
            raise ValueError(f"HalfSpace: offset {offset} is not finite")
        super().__init__(GroundKind.HALF_SPACE, {}, normal=n / length, offset=float(offset))

    def __repr__(self) -> str:
        return f"HalfSpace(normal={self._header['normal'][0].tolist()}, offset={float(self._header['offset'][0])})"


@checked_first
class HeightField(Ground):
    """The ground over a rectangle size[0] by size[1] (m), its middle at the origin; heights[i, j] at x_i, y_j.

    Each cell is two triangles, parted by the diagonal from its lowest x and y. All below is solid.
    """

    __slots__ = ()

    def __init__(self, heights: npt.ArrayLike, size: tuple[float, float]) -> None:
        z = np.array(heights, dtype=np.float64, order="C")
        if z.ndim != 2 or min(z.shape) < 2:
            raise ValueError(f"HeightField: expected heights in 2 rows and columns or more, got shape {z.shape}")
        if not np.isfinite(z).all():
            i, j = np.argwhere(~np.isfinite(z))[0].tolist()
            raise ValueError(f"HeightField: heights[{i}, {j}] is {z[i, j]}, which is not finite")
        if z.size > MOST_GROUND_CELLS:
            raise ValueError(f"HeightField: {z.size} heights are more than {MOST_GROUND_CELLS}")
        width, depth = vector(size, 2, "HeightField: size").tolist()
        if not (width > 0.0 and depth > 0.0):
            raise ValueError(f"HeightField: size {tuple(size)} must be positive")
        nx, ny = z.shape
        super().__init__(
            GroundKind.FIELD,
            {"heights": z},
            **{"n": 2 * (nx - 1) * (ny - 1), "nx": nx, "ny": ny, "n_points": z.size},
            **{"x0": -0.5 * width, "y0": -0.5 * depth, "dx": width / (nx - 1), "dy": depth / (ny - 1)},
        )

    @property
    def heights(self) -> Array:
        return self._rows["heights"]

    @property
    def mesh(self) -> Mesh:
        """Its triangles: face 2 k and 2 k + 1 are cell k."""
        h = self._header[0]
        nx, ny = self.heights.shape
        x, y = h["x0"] + h["dx"] * np.arange(nx), h["y0"] + h["dy"] * np.arange(ny)
        points = np.stack([*np.meshgrid(x, y, indexing="ij"), self.heights], axis=-1).reshape(-1, 3)
        a = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
        faces = np.stack([a, a + ny, a + ny + 1, a, a + ny + 1, a + 1], axis=-1).reshape(-1, 3)
        return Mesh(points, faces.astype(np.int32))

    def __repr__(self) -> str:
        nx, ny = self.heights.shape
        return f"HeightField of {nx} by {ny} heights"


@checked_on_failure
class Terrain(Ground):
    """The triangles of a mesh as thin ground that need not be closed; those without area are left out.

    Vertices in the same place count as one. Shapes are pushed out at the front of a triangle, where its corners are
    counterclockwise.
    """

    __slots__ = ("mesh",)

    def __init__(self, mesh: Mesh) -> None:
        check_mesh(mesh, "Terrain")
        if len(mesh.faces) > MOST_GROUND_CELLS:
            raise ValueError(f"Terrain: {len(mesh.faces)} triangles are more than {MOST_GROUND_CELLS}")
        self.mesh = mesh
        first, place = distinct_points(mesh.vertices)
        points, corners = mesh.vertices[first], place[mesh.faces]
        face = _find_proper_triangles(points[corners])
        if not len(face):
            raise ValueError(f"Terrain: none of the {len(mesh.faces)} faces has an area")
        leaf_order, boxes = _make_box_tree(points[corners[face]])
        triangles = np.zeros(len(face), TRIANGLE)
        triangles["face"] = face[leaf_order]
        triangles["corners"] = corners[triangles["face"]]
        triangles["across"], triangles["sides"], ends = _find_neighbours(triangles["corners"], len(points))
        vertices = np.zeros(len(points), VERTEX)
        vertices["x"] = points
        vertices["count"] = np.bincount(ends.ravel(), minlength=len(points))
        vertices["first"] = np.cumsum(vertices["count"]) - vertices["count"]
        order = np.argsort(ends.T.ravel(), kind="stable")
        ring = ends[:, ::-1].T.ravel()[order].astype(np.int32)
        super().__init__(
            GroundKind.SOUP,
            {"triangles": triangles, "points": vertices, "ring": ring, "boxes": boxes},
            **{"n": len(triangles), "n_points": len(vertices), "n_ring": len(ring), "leaves": len(boxes) // 2},
        )

    def __reduce__(self) -> Any:
        return Terrain, (self.mesh,)

    def __repr__(self) -> str:
        return f"Terrain of {int(self._header['n'][0])} triangles"


def _find_proper_triangles(corners: Array) -> Array:
    """Indices of triangles that are not degenerate."""
    sides = np.roll(corners, -1, axis=1) - corners
    twice_area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    longest = (sides * sides).sum(axis=2).max(axis=1)
    return np.flatnonzero(twice_area > THIN_TRIANGLE_SHARE * longest)


def _make_box_tree(corners: Array) -> tuple[Array, Array]:
    """The triangles in the order of the leaves, and the boxes of the nodes: a heap, level by level.

    Each node has half of its parent's triangles, apart along the axis on which their middles spread most.
    """
    n = len(corners)
    levels = max(0, math.ceil(math.log2(n / MOST_LEAF_TRIANGLES)))
    middles = corners.mean(axis=1)
    order = np.arange(n)
    for level in range(levels):
        starts = (np.arange(2**level) * n) >> level
        node = np.repeat(np.arange(2**level), np.diff(np.r_[starts, n]))
        x = middles[order]
        spread = np.maximum.reduceat(x, starts) - np.minimum.reduceat(x, starts)
        key = x[np.arange(n), spread.argmax(axis=1)[node]]
        order = order[np.lexsort((key, node))]
    leaves = 2**levels
    starts = (np.arange(leaves) * n) >> levels
    boxes = np.zeros(2 * leaves, BOUNDS)
    boxes["low"][leaves:] = np.minimum.reduceat(corners.min(axis=1)[order], starts)
    boxes["high"][leaves:] = np.maximum.reduceat(corners.max(axis=1)[order], starts)
    while leaves > 1:
        below = boxes[leaves : 2 * leaves]
        leaves //= 2
        boxes["low"][leaves : 2 * leaves] = np.minimum(below["low"][0::2], below["low"][1::2])
        boxes["high"][leaves : 2 * leaves] = np.maximum(below["high"][0::2], below["high"][1::2])
    return order, boxes


def _find_neighbours(corners: Array, n: int) -> tuple[Array, Array, Array]:
    """For each side of each triangle the vertex across and the side's number; and the two ends of each numbered side.

    A side of three triangles or more has no neighbour across.
    """
    tail, head = corners.ravel().astype(np.int64), np.roll(corners, -1, axis=1).ravel()
    opposite = np.roll(corners, -2, axis=1).ravel()
    key, side, count = np.unique(
        np.minimum(tail, head) * n + np.maximum(tail, head), return_inverse=True, return_counts=True
    )
    order = np.argsort(side, kind="stable")
    first = np.cumsum(count) - count
    two = first[count == 2]
    across = np.full(len(tail), -1)
    across[order[two]], across[order[two + 1]] = opposite[order[two + 1]], opposite[order[two]]
    return across.reshape(-1, 3), side.reshape(-1, 3), np.column_stack([key // n, key % n])
