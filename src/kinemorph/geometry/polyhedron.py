"""Convex polyhedra with full adjacency, as rows: the cores of shapes, on which V-Clip walks from feature to feature.

A **core** is a solid, a flat polygon (two faces back to back), a segment (one edge) or a point; a shape is a core plus
a radius. Seen from outside, the edges of a face run counterclockwise, and so do the edges around a vertex. Lengths in
metres, in the core's own frame.

The Voronoi regions of the features need no rows of their own. A point p is in the region of
- a face, if it is above its plane and `inward · (p - tail) >= 0` for each of its edges;
- an edge, if `0 <= direction · (p - tail) <= length` and neither `left_normal · (p - tail)` nor
  `right_normal · (p - tail)` is positive;
- a vertex, if no edge around it goes towards p: `±direction · (p - x) <= 0`, with + where the vertex is its tail.
`inward` is `left_normal` where the face sees the edge forwards and `right_normal` where it sees it reversed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.geometry import convexity
from kinemorph.geometry.hull import hull_faces
from kinemorph.geometry.hull_cache import hull_entry, load_hull, save_hull
from kinemorph.geometry.meshes.mesh import load_mesh
from kinemorph.geometry.meshes.tessellate import SEGMENTS
from kinemorph.geometry.shapes import LARGEST_SIZE, Shape, ShapeKind
from kinemorph.jit.rows import row, table
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_number, repr_of
from kinemorph.spatial.pose import Pose, vector

VERTEX = np.dtype(
    [
        ("x", "f8", 3),  # m, position
        ("first", "i4"),  # its edges are edge_at[first : first + count], counterclockwise seen from outside
        ("count", "i4"),  # 0 for a point, 1 for the ends of a segment, 2 for a polygon, 3 and more for a solid
    ],
    align=True,
)

EDGE = np.dtype(
    [
        ("tail", "i4"),  # vertex where it starts
        ("head", "i4"),  # vertex where it ends
        ("left", "i4"),  # face on the left when one walks from tail to head on the outside; -1 for a segment
        ("right", "i4"),  # face on the right; -1 for a segment
        ("direction", "f8", 3),  # unit, tail to head: normal of the Voronoi planes through the two ends
        ("length", "f8"),  # m
        ("left_normal", "f8", 3),  # unit, in the left face, away from the edge: n × d. Zero for a segment
        ("right_normal", "f8", 3),  # unit, in the right face, away from the edge: n × (-d). Zero for a segment
    ],
    align=True,
)

FACE = np.dtype(
    [
        ("normal", "f8", 3),  # unit, outwards
        ("offset", "f8"),  # m, normal · x = offset on the plane; no vertex of the face is above it
        ("first", "i4"),  # its edges are face_edges[first : first + count], counterclockwise seen from outside
        ("count", "i4"),  # 3 and more
    ],
    align=True,
)

CORE = np.dtype(
    [
        ("n_vertices", "i8"),
        ("n_edges", "i8"),
        ("n_faces", "i8"),
        ("n_edge_at", "i8"),  # entries of edge_at, which are those of face_edges for solids: 2 n_edges
        ("vertices", "i8"),  # address of the VERTEX rows
        ("edges", "i8"),  # address of the EDGE rows
        ("faces", "i8"),  # address of the FACE rows
        ("edge_at", "i8"),  # address of int32: edges around the vertices
        ("face_edges", "i8"),  # address of int32: edges of the faces, 2 edge + (1 where the face sees it head to tail)
        ("centre", "f8", 3),  # m, mean of the vertices: a point inside
        ("radius_bound", "f8"),  # m, of the ball about the centre that holds it
        # A round solid, of which it is the prism or pyramid that touches from inside; else all of this is 0.
        ("sides", "i8"),  # of the prism; vertices 0 and `sides` are at angle 0 on the rims of the two discs
        ("generator", "i8"),  # the edge between these two
        ("half", "f8"),  # m, of the length along z
        ("low", "f8"),  # m, radius of the disc at -half
        ("high", "f8"),  # m, radius of the disc at +half; 0 is the tip of a cone
        ("slope", "f8"),  # z of the unit normal of the round side
    ]
)

CACHED_CORES = 512  # cores that are kept in memory
MESH_FLAT = 1e-8  # facets of a mesh this close to a plane, in sizes, are one face: files carry rounded numbers
KEPT_CONVEX = 1e-3  # how far, in sizes, a vertex of a kept hull may be from where a convex body has it

Array = np.ndarray[Any, np.dtype[Any]]


@checked_first
@dataclass(frozen=True, eq=False)
class Polyhedron:
    """A convex polyhedron, polygon, segment or point: rows that kernels read through `address`. Nothing changes it.

    Make one with `box`, `prism`, `cone`, `hull`, `polygon`, `segment`, `point`, or `of_faces` for your own.
    """

    vertices: Array  # VERTEX rows
    edges: Array  # EDGE rows
    faces: Array  # FACE rows
    edge_at: Array  # int32, edges around the vertices
    face_edges: Array  # int32, edges of the faces: 2 edge + (1 where the face sees it head to tail)
    discs: tuple[float, float] | None = None  # m, radii at the bottom and the top of the round solid that it stands for
    address: int = field(init=False)  # address of a CORE: valid while this object lives
    _core: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        core = np.zeros(1, CORE)
        core["n_vertices"], core["n_edges"], core["n_faces"] = map(len, (self.vertices, self.edges, self.faces))
        core["n_edge_at"] = len(self.edge_at)
        for name in ("vertices", "edges", "faces", "edge_at", "face_edges"):
            array = getattr(self, name)
            array.flags.writeable = False
            core[name] = array.ctypes.data
        core["centre"] = self.points.mean(axis=0)
        core["radius_bound"] = np.linalg.norm(self.points - core["centre"], axis=1).max()
        if self.discs:
            self._make_round(core, *self.discs)
        core.flags.writeable = False
        object.__setattr__(self, "_core", core)
        object.__setattr__(self, "address", int(core.ctypes.data))

    def __reduce__(self) -> Any:  # a copy has its rows elsewhere, and needs an address of its own
        return Polyhedron, (*(array.copy() for array in self._rows), self.discs)

    def _make_round(self, core: Array, low: float, high: float) -> None:
        top = float(self.points[:, 2].max())
        sides = len(self.vertices) - 1 if high == 0.0 else len(self.vertices) // 2
        ends = (self.edges["tail"] == 0) & (self.edges["head"] == sides)
        core["sides"], core["generator"], core["half"] = sides, int(np.flatnonzero(ends)[0]), top
        core["low"], core["high"], core["slope"] = low, high, (low - high) / math.hypot(2.0 * top, low - high)

    @property
    def _rows(self) -> Rows:
        return self.vertices, self.edges, self.faces, self.edge_at, self.face_edges

    # --- what it is ---

    @property
    def points(self) -> Array:
        """Positions of the vertices, (n, 3)."""
        points: Array = self.vertices["x"]
        return points

    @property
    def centre(self) -> Array:
        """The mean of the vertices: a point inside."""
        centre: Array = self._core["centre"][0]
        return centre

    @property
    def radius_bound(self) -> float:
        """Radius of the ball about `centre` that holds it."""
        return float(self._core["radius_bound"][0])

    @property
    def bounds(self) -> Array:
        """The lowest and the highest corner of the box around it, (2, 3)."""
        return np.array([self.points.min(axis=0), self.points.max(axis=0)])

    @cached_property
    def loops(self) -> tuple[Array, ...]:
        """The vertices of each face, counterclockwise seen from outside."""
        signed = self.face_edges
        starts = np.where(signed & 1, self.edges["head"][signed >> 1], self.edges["tail"][signed >> 1])
        return tuple(np.split(starts, self.faces["first"][1:])) if len(self.faces) else ()

    @property
    def triangles(self) -> Array:
        """The faces as fans of triangles, (m, 3) int32."""
        fans = [(loop[0], b, c) for loop in self.loops for b, c in pairwise(loop[1:])]
        return np.array(fans, dtype=np.int32).reshape(-1, 3)

    def moved(self, pose: Pose) -> Polyhedron:
        """The same polyhedron in an outer frame, where this frame stands at `pose`."""
        return self.reshaped(pose.apply(self.points))

    def scaled(self, factor: float) -> Polyhedron:
        factor = as_number(factor)
        if not 0.0 < factor * max(1.0, float(np.abs(self.points).max())) <= LARGEST_SIZE:
            raise ValueError(
                f"Polyhedron.scaled: factor {factor} must be positive and finite, for {LARGEST_SIZE:g} m at most"
            )
        return self.reshaped(self.points * factor)

    def reshaped(self, points: Array) -> Polyhedron:
        """With the same topology and other positions of the vertices, such as after a stretch. Nothing is checked."""
        return _place_vertices(self._rows, points)

    def __repr__(self) -> str:
        v, e, f = len(self.vertices), len(self.edges), len(self.faces)
        return f"Polyhedron of {v} vertices, {e} edges and {f} faces"

    # --- constructors ---

    @staticmethod
    def point(at: Iterable[float] = (0.0, 0.0, 0.0)) -> Polyhedron:
        """The core of a sphere."""
        return assemble_polyhedron(vector(at, 3, "Polyhedron.point: at").reshape(1, 3), ())

    @staticmethod
    def segment(length: float) -> Polyhedron:
        """The core of a capsule: along z, its middle at the origin."""
        (length,) = _check_positive("segment", length=length)
        return assemble_polyhedron(np.array([[0.0, 0.0, -length / 2.0], [0.0, 0.0, length / 2.0]]), ())

    @staticmethod
    def box(size: Iterable[float]) -> Polyhedron:
        """Full edge lengths along x, y and z, its middle at the origin."""
        x, y, z = _check_positive(
            "box", **dict(zip("xyz", vector(size, 3, "Polyhedron.box: size").tolist(), strict=True))
        )
        return box_from_row(make_box_row(np.array([x, y, z])))

    @staticmethod
    def prism(radius: float, length: float, sides: int = SEGMENTS) -> Polyhedron:
        """A cylinder with flat sides: along z, its middle at the origin, its edges on the cylinder."""
        radius, length = _check_positive("prism", radius=radius, length=length)
        ring = _ring("prism", radius, sides)
        points = np.vstack([np.c_[ring, np.full(sides, -length / 2.0)], np.c_[ring, np.full(sides, length / 2.0)]])
        i = np.arange(sides)
        j = (i + 1) % sides
        return assemble_polyhedron(points, [i[::-1], i + sides, *np.column_stack([i, j, j + sides, i + sides])])

    @staticmethod
    def cone(radius: float, length: float, sides: int = SEGMENTS) -> Polyhedron:
        """A pyramid in a cone: along z from its base at -length/2 to its tip at +length/2."""
        radius, length = _check_positive("cone", radius=radius, length=length)
        ring = _ring("cone", radius, sides)
        points = np.vstack([np.c_[ring, np.full(sides, -length / 2.0)], [(0.0, 0.0, length / 2.0)]])
        i = np.arange(sides)
        return assemble_polyhedron(points, [i[::-1], *np.column_stack([i, (i + 1) % sides, np.full(sides, sides)])])

    @staticmethod
    def polygon(points: npt.ArrayLike) -> Polyhedron:
        """A flat convex polygon, such as a triangle of the ground: a face and its back, with nothing in between."""
        corners = np.array(points, dtype=np.float64)
        if corners.ndim != 2:
            raise ValueError(f"polygon: points have shape {corners.shape}, expected (n, 3)")
        loop = np.arange(len(corners))
        return Polyhedron.of_faces(corners, [loop, loop[::-1]])

    @staticmethod
    def hull(points: npt.ArrayLike, flat: float = 1e-9, max_vertices: int | None = None) -> Polyhedron:
        """The least convex polyhedron around points; facets within `flat` sizes of a plane are one face.

        Of a hull of more than `max_vertices` only the points stay that are furthest in evenly spread directions; it is
        then a little smaller.
        """
        spare: Polyhedron | None = None
        for corners, loops in hull_faces(points, flat, max_vertices):
            core = assemble_polyhedron(corners, loops)
            with suppress(ValueError):
                convexity.check_convex(core, max(convexity.CONVEX_ERROR, 10.0 * flat))
                spare = spare or core
                convexity.check_vertices_below(core, max(convexity.BELOW_ERROR, 20.0 * flat))
                return core
        if spare is None:
            raise ValueError("hull: the points are too close to each other to tell faces apart; try another flat")
        return spare

    @staticmethod
    def of_faces(points: npt.ArrayLike, loops: Sequence[npt.ArrayLike]) -> Polyhedron:
        """From vertices (n, 3) and the vertices of each face, counterclockwise seen from outside; all is checked."""
        corners = np.array(points, dtype=np.float64)
        if corners.ndim != 2 or corners.shape[1] != 3 or not np.isfinite(corners).all():
            raise ValueError(f"a polyhedron needs finite vertices of shape (n, 3), got shape {corners.shape}")
        if np.abs(corners).max(initial=0.0) > LARGEST_SIZE:
            raise ValueError(f"a vertex of a polyhedron is at {np.abs(corners).max():g} m, beyond {LARGEST_SIZE:g} m")
        faces = [_face(loop) for loop in loops]
        convexity.check_closed(corners, faces)
        core = assemble_polyhedron(corners, faces)
        convexity.check_convex(core)
        return core


@checked_first
def core_of(shape: Shape, max_vertices: int | None = None) -> tuple[Polyhedron, float]:
    """The core of a shape and the radius around it, in the shape's own frame. For a mesh, the core of its convex hull.

    `max_vertices` is for the hull of a mesh. The last cores are kept in memory, hulls of meshes on disk, until their
    file changes.
    """
    if shape.kind is not ShapeKind.MESH:
        return _core(shape.kind, shape.size)
    return _hull_of(shape, max_vertices)[0], 0.0


def hollow_of(shape: Shape) -> float:
    """Largest depth of a mesh below its hull, as a share of its size: 0 if it is convex, as all other shapes are."""
    if shape.kind is not ShapeKind.MESH:
        return 0.0
    core, depth = _hull_of(shape, None)
    return depth / float(np.ptp(core.bounds, axis=0).max())


def _hull_of(shape: Shape, max_vertices: int | None) -> tuple[Polyhedron, float]:
    """The hull of a mesh, and the depth (m) of the mesh below it."""
    if shape.path is None:
        raise ValueError(f"shape {shape.name!r}: a mesh needs a path")
    path = os.path.abspath(shape.path)
    try:
        status = os.stat(path)
        stamp = status.st_mtime_ns, status.st_size
    except OSError:
        stamp = 0, 0  # load_mesh says what is wrong
    return _hull_of_mesh(path, stamp, shape.size, max_vertices)


@lru_cache(maxsize=CACHED_CORES)
def _hull_of_mesh(
    path: str, stamp: tuple[int, int], scale: tuple[float, ...], max_vertices: int | None
) -> tuple[Polyhedron, float]:
    entry = hull_entry(path, scale, MESH_FLAT, max_vertices)
    if (known := load_hull(entry)) and (core := _check_entry(*known)):
        return core, known[2]
    try:
        mesh = load_mesh(path, scale)
        core = Polyhedron.hull(mesh.vertices, MESH_FLAT, max_vertices)
        depth = convexity.hollow_depth(core, mesh.vertices, mesh.faces)
        save_hull(entry, core.points, core.loops, depth)
        return core, depth
    except ValueError as error:
        raise error if path in str(error) else ValueError(f"{path}: {error}") from None


def _check_entry(points: Any, loops: Sequence[Any], depth: float) -> Polyhedron | None:
    """The polyhedron of a cache entry with a valid checksum; None if its geometry is not valid."""
    try:
        if points.dtype != np.float64 or points.shape[1:] != (3,) or any(loop.dtype != np.int32 for loop in loops):
            return None
        if not (np.isfinite(points).all() and 0.0 <= depth < np.inf):
            return None
        convexity.check_closed(points, loops)
        core = assemble_polyhedron(points, loops)
        convexity.check_convex(core, KEPT_CONVEX)
    except (ValueError, LookupError, AttributeError):
        return None
    return core


@lru_cache(maxsize=CACHED_CORES)
def _core(kind: ShapeKind, size: tuple[float, ...]) -> tuple[Polyhedron, float]:
    if kind is ShapeKind.SPHERE:
        return Polyhedron.point(), size[0]
    if kind is ShapeKind.CAPSULE:
        return Polyhedron.segment(size[1]), size[0]
    if kind is ShapeKind.CYLINDER:
        return replace(Polyhedron.prism(size[0], size[1]), discs=(size[0], size[0])), 0.0
    if kind is ShapeKind.CONE:
        return replace(Polyhedron.cone(size[0], size[1]), discs=(size[0], 0.0)), 0.0
    return Polyhedron.box(size), 0.0


BOX_CORNERS = np.array([[i, j, k] for k in (-0.5, 0.5) for j in (-0.5, 0.5) for i in (-0.5, 0.5)])
BOX_LOOPS = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
BOX_ROWS = np.dtype([("vertices", VERTEX, 8), ("edges", EDGE, 12), ("faces", FACE, 6), ("core", CORE)])
BOX_PARTS = "vertices", "edges", "faces", "core"
BOX_PLACES = {name: int(BOX_ROWS.fields[name][1]) for name in BOX_PARTS}  # type: ignore[index]


@lru_cache(maxsize=1)
def unit_box() -> tuple[Polyhedron, Array, Array, Array]:
    """A box of size 1, the bytes of its rows, and the axes of its edges and of the normals of its faces."""
    box = assemble_polyhedron(BOX_CORNERS, BOX_LOOPS)
    along, across = np.abs(box.edges["direction"]).argmax(axis=1), np.abs(box.faces["normal"]).argmax(axis=1)
    rows = (box.vertices, box.edges, box.faces, box._core)
    return box, np.frombuffer(b"".join(array.tobytes() for array in rows), np.uint8), along, across


def make_box_row(size: Array) -> Array:
    """BOX_ROWS of one box, an array of one, in one piece: `boxes.make_boxes` makes the same for many.

    Its directions are those of all boxes: only lengths are computed.
    """
    _, content, along, across = unit_box()
    rows = np.frombuffer(bytearray(content), BOX_ROWS)
    half, core = 0.5 * size, rows["core"]
    np.multiply(BOX_CORNERS, size, rows["vertices"]["x"][0])
    rows["edges"]["length"], rows["faces"]["offset"] = size[along], half[across]
    for name in ("vertices", "edges", "faces"):
        core[name] = rows.ctypes.data + BOX_PLACES[name]
    x, y, z = half.tolist()
    core["radius_bound"] = math.sqrt(x * x + y * y + z * z)  # to the bit as it is elsewhere
    rows.flags.writeable = False
    return rows


def box_from_row(row: Array) -> Polyhedron:
    """A box of its row, an array of one."""
    unit, *_ = unit_box()
    parts = {name: row[name][0] for name in BOX_PARTS[:-1]}
    box = object.__new__(Polyhedron)
    box.__dict__.update(
        parts, edge_at=unit.edge_at, face_edges=unit.face_edges, discs=None, _core=row["core"],
        address=row.ctypes.data + BOX_PLACES["core"],
    )  # fmt: skip
    return box


def _face(loop: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """The vertices of a face, checked to be whole numbers."""
    given = np.asarray(loop)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise TypeError(
            f"of_faces: loops has {repr_of(loop)}, and must be lists of whole numbers, the vertices of faces"
        )
    return given.astype(np.int32)


def _check_positive(what: str, **sizes: float) -> list[float]:
    for name, value in sizes.items():
        if not 0.0 < as_number(value) <= LARGEST_SIZE:
            raise ValueError(
                f"Polyhedron.{what}: {name} {value} must be positive and finite, {LARGEST_SIZE:g} m at most"
            )
    return [float(value) for value in sizes.values()]


def _ring(what: str, radius: float, sides: int) -> Array:
    if sides < 3:
        raise ValueError(f"Polyhedron.{what}: it needs 3 sides or more, not {sides}")
    turn = 2.0 * np.pi * np.arange(sides) / sides
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])


# --- rows from loops ---

Rows = tuple[Array, Array, Array, Array, Array]  # of a Polyhedron


def assemble_polyhedron(points: Array, loops: Sequence[Any]) -> Polyhedron:
    """The polyhedron of faces that are known to be valid."""
    return _place_vertices(_link_faces(len(points), loops) if loops else _segment(len(points)), points)


def _link_faces(n: int, loops: Sequence[Any]) -> Rows:
    """Rows with topology, without positions."""
    vertices, faces = np.zeros(n, VERTEX), np.zeros(len(loops), FACE)
    faces["count"] = counts = np.array([len(loop) for loop in loops])
    faces["first"] = np.cumsum(counts) - counts

    # A half-edge is a side of a face, from its corner `tail` to `head`; `after` is the next one in the face.
    tail = np.concatenate([np.asarray(loop, dtype=np.int64) for loop in loops])
    face = np.repeat(np.arange(len(loops)), counts)
    after = convexity.next_in_face(faces)
    edge, forwards, backwards = _pair_half_edges(tail, tail[after], n)
    edges = np.zeros(len(forwards), EDGE)
    edges["tail"], edges["head"] = tail[forwards], tail[backwards]
    edges["left"], edges["right"] = face[forwards], face[backwards]
    face_edges = 2 * edge
    face_edges[backwards] += 1

    twin = np.empty_like(tail)
    twin[forwards], twin[backwards] = backwards, forwards
    around = _order_around_vertices(tail, twin[np.argsort(after)])
    vertices["count"] = np.bincount(tail, minlength=n)
    vertices["first"] = np.cumsum(vertices["count"]) - vertices["count"]
    return vertices, edges, faces, edge[around].astype(np.int32), face_edges.astype(np.int32)


def _segment(n: int) -> Rows:
    """The same for two vertices and the edge between them, or for a single vertex."""
    vertices, edges = np.zeros(n, VERTEX), np.zeros(n - 1, EDGE)
    vertices["first"], vertices["count"] = np.arange(n), n - 1
    edges["head"], edges["left"], edges["right"] = 1, -1, -1
    return vertices, edges, np.zeros(0, FACE), np.zeros(2 * len(edges), np.int32), np.zeros(0, np.int32)


@np.errstate(divide="ignore", invalid="ignore")  # a face without area gets NaN for a normal, and `check_convex` sees it
def _place_vertices(rows: Rows, points: Array) -> Polyhedron:
    """The polyhedron with this topology and these positions."""
    vertices, edges, faces = (array.copy() for array in rows[:3])
    edge_at, face_edges = rows[3:]
    vertices["x"] = points
    along = points[edges["head"]] - points[edges["tail"]]
    edges["length"] = np.linalg.norm(along, axis=1)
    edges["direction"] = d = along / edges["length"][:, None]
    if len(faces):
        first, edge = faces["first"], face_edges >> 1
        corner = points[np.where(face_edges & 1, edges["head"][edge], edges["tail"][edge])]
        face = np.repeat(np.arange(len(faces)), faces["count"])
        # Newell's sum, taken from a corner of the face: far from the origin, products of coordinates would cancel.
        arm = corner - corner[first][face]
        normal = np.add.reduceat(np.cross(arm, arm[convexity.next_in_face(faces)]), first)
        faces["normal"] = n = normal / np.linalg.norm(normal, axis=1)[:, None]
        faces["offset"] = np.maximum.reduceat(convexity.row_dots(n[face], corner), first)
        edges["left_normal"] = np.cross(n[edges["left"]], d)
        edges["right_normal"] = np.cross(d, n[edges["right"]])
    return Polyhedron(vertices, edges, faces, edge_at, face_edges)


def _pair_half_edges(tail: Array, head: Array, n: int) -> tuple[Array, Array, Array]:
    """The edge of each half-edge, and the half-edges of each edge: from its lower vertex up, and back."""
    key = np.minimum(tail, head) * n + np.maximum(tail, head)
    order = np.lexsort((tail > head, key))
    edge = np.empty_like(order)
    edge[order] = np.arange(len(order)) // 2
    return edge, order[0::2], order[1::2]


def _order_around_vertices(tail: Array, beyond: Array) -> Array:
    """The half-edges out of each vertex, counterclockwise; `beyond` of one is the next to its left."""
    _, here = np.unique(tail, return_index=True)
    start, place, turns = here, np.arange(len(here)), []
    while len(here):  # all vertices turn at once; those that have come round drop out
        turns.append((place, here))
        here = beyond[here]
        busy = here != start[place]
        here, place = here[busy], place[busy]
    vertex = np.concatenate([v for v, _ in turns])
    return np.concatenate([h for _, h in turns])[np.argsort(vertex, kind="stable")]


# --- accessors of tables, by their headers ---

edges_of = table(EDGE, "edges", "n_edges")
faces_of = table(FACE, "faces", "n_faces")
vertices_of = table(VERTEX, "vertices", "n_vertices")
vertex_edges_of = table(np.int32, "edge_at", "n_edge_at")
face_edges_of = table(np.int32, "face_edges", "n_edge_at")
core_row_of = row(CORE, "core")
core1_of = row(CORE, "core1")
core2_of = row(CORE, "core2")
