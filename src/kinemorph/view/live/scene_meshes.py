"""The bodies of a world as meshes of a scene: one mesh for all uses of a shape, which follows what comes and goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kinemorph.geometry.meshes.mesh import mesh_of
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import multiply_all, rotate_all
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.view.body_poses import Meshes, base_shapes, parents_of_bodies, solid_shapes, visible_shapes
from kinemorph.view.colours import (
    Piece,
    add_batch,
    add_grid,
    add_ground,
    as_bytes,
    default_colour,
    depth_colour,
    given_colour,
    pieces,
)
from kinemorph.view.pictures.picture import PALETTE
from kinemorph.view.recordings.recording import SOIL, depths, height_of_level_ground
from kinemorph.world.spawn import free_position
from kinemorph.world.world import World

Colours = Literal["own", "trees", "islands"]

PICKED, SECOND, ASLEEP = (1.0, 0.85, 0.1), (0.2, 0.9, 0.9), (0.62, 0.64, 0.67)
CLEAR = 0.45  # how much of a body is seen that lets marks inside it be seen


@dataclass(eq=False)
class _Batch:
    """All uses of a piece of a mesh: which body each is on, where on it, and what it looks like."""

    key: object  # of its mesh, and of the bodies that it is on
    handle: Any
    ids: npt.NDArray[np.int64]
    rows: npt.NDArray[np.intp]  # of these bodies among the poses
    mounts: Array  # (n, 7)
    own: list[tuple[float, ...] | None]
    bounds: Array  # (2, 3) of the piece


class SceneMeshes:
    """The meshes of a world in a scene. `listen(mesh, ids)` is called for each new mesh, to register mouse events."""

    def __init__(self, scene: Any, world: World, listen: Callable[[Any, npt.NDArray[np.int64]], None]) -> None:
        self.scene, self.world, self.listen = scene, world, listen
        self.colours: Colours = "own"
        self.solid = False  # whether what collides is shown, not what is to be seen
        self.clear = False  # whether bodies can be looked into
        self.picked: list[int] = []  # ids of the bodies that are chosen: the first, and the second
        self.meshes: Meshes = {}
        self.ids = np.zeros(0, np.int64)
        self.poses = np.zeros((0, 7))
        self._batches: list[_Batch] = []
        self._ground: list[Any] = []
        self._boxes: list[Array] = []  # corners (8, 3) around each thing that stands, but for level ground
        self._born: dict[int, int] = {}
        self._standing: list[int] = []
        self._was_solid = False
        self._painted: tuple[object, ...] = ()
        self._count = 0  # of meshes so far: a name is never used again
        self._pieces: dict[object, list[Piece]] = {}

    def draw(self, changes: int = 0) -> None:
        """Show the world as it is, after so many inputs: if these are no more than before, colours stay."""
        states = self.world.states()
        self.ids, self.poses = states.ids, states.poses
        fresh = self._follow()
        opacity = CLEAR if self.clear else None
        for batch in self._batches:
            at = self.poses[batch.rows]
            if batch.handle.opacity != opacity:
                batch.handle.opacity = opacity
            batch.handle.batched_positions = at[:, :3] + rotate_all(at[:, 3:], batch.mounts[:, :3])
            batch.handle.batched_wxyzs = multiply_all(at[:, 3:], batch.mounts[:, 3:])
        look = changes, self.colours, *self.picked
        if fresh or look != self._painted or self.colours == "islands":
            self._painted = look
            self._paint()

    def look(self, colours: Colours, solid: bool) -> None:
        """Set what colours stand for, and whether collision shapes are shown."""
        self.colours, self.solid = colours, solid

    def corners(self) -> Array:
        """Corners of boxes around all bodies, as they were drawn last; the origin if there are none."""
        found = [np.zeros((1, 3))] if not self._batches else []
        for batch in self._batches:
            box = _corners(batch.bounds)
            at = self.poses[batch.rows]
            turn = multiply_all(at[:, 3:], batch.mounts[:, 3:])
            middle = at[:, :3] + rotate_all(at[:, 3:], batch.mounts[:, :3])
            found += [middle + rotate_all(turn, np.broadcast_to(corner, middle.shape)) for corner in box]
        return np.concatenate(found)

    def around(self) -> Array:
        """The same, with what stands no farther from bodies than they are large: what a camera is to see."""
        points = self.corners()
        low, high = points.min(axis=0), points.max(axis=0)
        room = float(np.linalg.norm(high - low))
        near = [box for box in self._boxes if (box > low - room).all() and (box < high + room).all()]
        return np.concatenate([points, *near])

    @property
    def size(self) -> float:
        """How large all of it is (m)."""
        return max(float(np.linalg.norm(np.ptp(self.corners(), axis=0))), 0.5)

    # ------------------------------------------------------------------------------------------- added, removed bodies

    def _follow(self) -> bool:
        """New meshes where bodies or ground have come or gone; whether there are any of bodies."""
        fresh = self._follow_bodies()
        standing = [*self.world.registry.ground_shapes, *self.world.registry.models, self.solid]
        if standing != self._standing:
            self._standing = standing
            self._set_ground()
        return fresh

    def _follow_bodies(self) -> bool:
        if self.world.registry.births == self._born and self.solid == self._was_solid:
            return False
        self._born, self._was_solid = dict(self.world.registry.births), self.solid
        look = solid_shapes if self.solid else visible_shapes
        groups: dict[object, list[tuple[int, int, Shape]]] = {}
        for row, id in enumerate(self.ids.tolist()):
            for shape in look(self.world, id, self.meshes):
                groups.setdefault(_key(shape), []).append((row, id, shape))
        before: dict[object, list[_Batch]] = {}
        for batch in self._batches:
            before.setdefault(batch.key, []).append(batch)
        self._batches = []
        for mesh, group in groups.items():
            key = mesh, self.solid, tuple(self._born[id] for _, id, _ in group)
            kept = before.pop(key, [])  # batches of the same bodies as before
            for batch in kept:
                batch.rows = np.array([row for row, _, _ in group], np.intp)
            self._batches += kept or self._group(key, group)
        for gone in before.values():
            for batch in gone:
                batch.handle.remove()
        return True

    def _group(self, key: object, group: list[tuple[int, int, Shape]]) -> list[_Batch]:
        rows, ids, shapes = ([*column] for column in zip(*group, strict=True))
        mounts = np.array([free_position(s.pose) for s in shapes])
        made = []
        for piece in self._pieces_of(shapes[0]):
            self._count += 1
            own = [given_colour(shape, piece) for shape in shapes]
            colours = np.zeros((len(rows), 3), np.uint8)
            handle = add_batch(self.scene, f"/bodies/{self._count}", piece, shapes[0], self.poses[rows], colours)
            made.append(_Batch(key, handle, np.array(ids), np.array(rows, np.intp), mounts, own, _bounds(piece)))
            self.listen(handle, made[-1].ids)
        return made

    def _pieces_of(self, shape: Shape) -> list[Piece]:
        """The pieces of a shape's mesh, which are made once."""
        key = _key(shape)
        if key not in self._pieces:
            mesh = self.meshes[shape.path] if shape.kind is ShapeKind.MESH and shape.path is not None else None
            scale = np.array(shape.size)
            found = mesh_of(shape) if mesh is None else mesh if (scale == 1.0).all() else mesh.scaled(scale)
            self._pieces[key] = pieces(found)
        return self._pieces[key]

    def _set_ground(self) -> None:
        for handle in self._ground:
            handle.remove()
        self._ground, self._boxes = [], []
        shapes = base_shapes(self.world, self.meshes, self.solid).values()
        level = max((top for shape in shapes if (top := height_of_level_ground(shape)) is not None), default=None)
        if level is not None:
            self._count += 1
            self._ground.append(add_grid(self.scene, f"/ground/{self._count}", level, self.size))
        for shape in shapes:
            if level is not None and height_of_level_ground(shape) == level:
                continue
            for piece in self._pieces_of(shape):
                self._count += 1
                place = free_position(shape.pose)[None]
                name, colour = f"/ground/{self._count}", as_bytes(given_colour(shape, piece) or default_colour(-1))
                if shape.colour == SOIL:
                    self._ground.append(add_ground(self.scene, name, piece, place[0], colour))
                else:
                    self._ground.append(add_batch(self.scene, name, piece, shape, place, colour))
                self._boxes.append(shape.pose.apply(_corners(_bounds(piece))))

    # --------------------------------------------------------------------------------------------------------- colours

    def _paint(self) -> None:
        """Colours of all bodies; viser sends those that differ."""
        tint = self._tints()
        for batch in self._batches:
            colours = np.empty((len(batch.ids), 3), np.uint8)
            for k, id in enumerate(batch.ids.tolist()):
                own = batch.own[k] if self.colours == "own" else None
                colours[k] = as_bytes(own or tint.get(id) or default_colour(id & ID_INDEX_MASK))
            for id, colour in zip(self.picked, (PICKED, SECOND), strict=False):
                colours[batch.ids == id] = as_bytes(colour)
            if not np.array_equal(batch.handle.batched_colors, colours):
                batch.handle.batched_colors = colours

    def _tints(self) -> dict[int, tuple[float, ...]]:
        """Colours of bodies that stand for something: how far they are from their root, or their island and sleep."""
        world = self.world
        if self.colours == "islands":
            spans = world.solver["slices"]
            trees = {id: world.forest.tree_of(id) & ID_INDEX_MASK for id in self.ids.tolist()}
            return {
                id: ASLEEP if spans[t]["asleep"] else PALETTE[int(spans[t]["island"]) % len(PALETTE)]
                for id, t in trees.items()
                if t < len(spans)
            }
        if self.colours == "own" and len(self.ids) == len(world.forest.trees):
            return {}  # each body by itself
        names = {str(id): None if p is None else str(p) for id, p in parents_of_bodies(world).items()}
        deep = depths(names)
        deepest = max(deep.values(), default=0)
        joined = {*(id for id, p in names.items() if p is not None), *(p for p in names.values() if p is not None)}
        tied = joined if self.colours == "own" else names.keys()
        return {int(id): depth_colour(deep[id], deepest) for id in tied}


def _bounds(piece: Piece) -> Array:
    return np.stack([piece.vertices.min(axis=0), piece.vertices.max(axis=0)])


def _corners(bounds: Array) -> Array:
    low, high = bounds
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def _key(shape: Shape) -> object:
    return shape.kind, shape.size, shape.path
