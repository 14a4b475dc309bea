"""Films: recordings of worlds while they run, in memory or, for long runs, in a file that grows chunk by chunk."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._files import FileError
from kinemorph._jit import rows_at
from kinemorph.geometry.ground import Ground, HalfSpace
from kinemorph.geometry.mesh import Mesh
from kinemorph.geometry.parts import Parts
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.multibody.layout import LINK_DATA
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest_layout import BODIES
from kinemorph.structure.forest_memory import INDEX
from kinemorph.view.recording import Body, Recording, poses_of
from kinemorph.world.journal import ChunkFile, chunks_of
from kinemorph.world.world import World

Array = npt.NDArray[np.float64]

MAGIC = b"kmfilms\n"
VERSION = 1
FULL = 1 << 22  # bytes of poses that make a chunk,
LONG = 5.0  # s, and the time after which one is written in any case
PLATE = 20.0, 0.02  # m, width and thickness of what stands for half of space
SOIL = (0.72, 0.74, 0.76, 1.0)
CHANGES = ("connect", "cut", "reroot", "grasp", "let go")  # what are chapters of a recording


def film(
    world: World, path: str | os.PathLike[str] | None = None, *, rate: float = 60.0, name: str = "world"
) -> Film:  # fmt: skip
    """Film a world while this is entered, with `rate` frames a second of its time.

    >>> with film(world) as taken:  # doctest: +SKIP
    ...     world.run(2.0)
    >>> replay(taken.recording, "world.html")  # doctest: +SKIP

    With a path, frames go to that file as they come; `Recording.load` reads it, also after the process was killed.
    """
    return Film(world, path, rate, name)


class Film:
    """Watches a world and records where its bodies are, who comes and goes, and who carries whom."""

    def __init__(self, world: World, path: str | os.PathLike[str] | None, rate: float, name: str) -> None:
        if not rate > 0.0:
            raise ValueError(f"film: rate {rate} must be positive")
        self.world, self.path = world, None if path is None else Path(path)
        self.every = max(1, round(1.0 / (rate * world.dt)))
        self._recording = Recording(name)
        self._seen: dict[int, tuple[int, str]] = {}  # by id: birth of the body, and its name in the recording
        self._still: set[int] = set()  # shapes of the base that are in it
        self._file: ChunkFile | None = None
        self._told = (0, 0, 0, 0)  # bodies, base shapes, chapters and meshes that are in the file
        self._written = time.monotonic()

    @property
    def recording(self) -> Recording:
        """What was filmed; that of a file is read from it, when it is whole."""
        return self._recording if self.path is None else Recording.load(self.path)

    def __enter__(self) -> Film:
        if self.path is not None:
            self._file = ChunkFile(self.path, MAGIC, VERSION)
        self._notice("start")
        self.look()
        self._flush()
        self.world._onlookers.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.world._onlookers.remove(self)
        if self._recording.t[-1:].tolist() != [self.world.time]:
            self.look()
        self._flush()
        if self._file is not None:
            self._file.close()

    # ------------------------------------------------------------------------------------------------- looking on

    def due(self, step: int) -> int:
        """The next step after this one at which it wants to look."""
        return step - step % self.every + self.every

    def heard(self, name: str, args: Any, named: Any, worked: bool) -> None:
        """Something was done to the world."""
        if worked:
            self._notice(name)

    def saw(self, what: str) -> None:
        """The world has changed its structure by itself."""
        self._notice(what)

    def look(self) -> None:
        """A frame: the poses of all bodies."""
        ids, R, p = _places(self.world)
        rows = np.array([self._row(id) for id in ids], dtype=np.intp)
        self._recording.add_poses(self.world.time, rows, poses_of(R, p))
        size = 56 * len(ids) * len(self._recording.t)
        if size > FULL or time.monotonic() - self._written > LONG:
            self._flush()

    def _row(self, id: int) -> int:
        """The row of a body in the recording; a new one gets a name that no other has."""
        birth = self.world._births[id]
        if self._seen.get(id, (0, ""))[0] != birth:
            taken = {body.name for body in self._recording.bodies}
            plain = name = self.world._names[id]
            count = 1
            while name in taken:
                count += 1
                name = f"{plain} {count}"
            shapes = tuple(self._shape(shape) for shape in self.world._mounted.get(id & INDEX, []))
            self._recording.add_body(Body(name, shapes))
            self._seen[id] = birth, name
        return self._recording.row(self._seen[id][1])

    def _notice(self, what: str) -> None:
        """Ground that is new, and who carries whom now."""
        world, recording = self.world, self._recording
        for id in world._mounted.get(-1, []):
            if id not in self._still:
                self._still.add(id)
                recording.add_base_shape(self._shape(id))
        parents: dict[str, str | None] = {}
        for tree in world.forest.trees.tolist():
            members = world.forest.members(tree).tolist()
            names = [recording.bodies[self._row(id)].name for id in members]
            links = world.forest._links(tree & INDEX)
            parents |= {n: None if l["parent"] < 0 else names[l["parent"]] for n, l in zip(names, links, strict=True)}
        joints = {pair for pair in parents.items() if pair[1] is not None}
        before = {pair for pair in recording.parents.items() if pair[1] is not None}
        if what in (*CHANGES, "start") or joints != before:
            recording.add_chapter(world.time, what, parents)

    def _shape(self, id: int) -> Shape:
        """What a shape looks like, in the frame of its body: hulls and ground as meshes."""
        shapes = self.world.shapes
        row, solid = shapes.row_of(id), shapes[id]
        at = Pose.known(shapes.mounts["p"][row].copy(), shapes.mounts["R"][row].reshape(3, 3).copy())
        if isinstance(solid, Shape) and solid.kind is not ShapeKind.MESH:
            return replace(solid, pose=at)
        if isinstance(solid, HalfSpace):
            width, thick = PLATE
            normal, offset = solid._header["normal"][0], float(solid._header["offset"][0])
            plate = _turned_to(normal, normal * (offset - 0.5 * thick))
            return Shape.box((width, width, thick), at @ plate, role=Role.BOTH, colour=SOIL)
        colour = solid.colour if isinstance(solid, Shape) else None
        name = Path(f"shape {id}")
        self._recording.meshes[name] = _mesh(shapes.body(id))
        return Shape.mesh(name, pose=at, colour=SOIL if isinstance(solid, Ground) else colour)

    # --------------------------------------------------------------------------------------------------------- files

    def _flush(self) -> None:
        """Write what is not in the file yet, and forget its frames."""
        if self._file is None:
            return
        r = self._recording
        bodies, base, chapters, meshes = self._told
        self._told = len(r.bodies), len(r.base_shapes), len(r.chapters), len(r.meshes)
        t, frames = r.take_frames()
        counts = np.array([len(rows) for rows, _ in frames], np.int64)
        rows = np.concatenate([rows for rows, _ in frames] or [np.zeros(0, np.intp)]).astype(np.int64)
        poses = np.concatenate([poses for _, poses in frames] or [np.zeros((0, 7))])
        self._file.write(
            {
                "name": r.name,
                "meshes": {str(path): mesh for path, mesh in list(r.meshes.items())[meshes:]},
                "bodies": [(body.name, list(body.shapes)) for body in r.bodies[bodies:]],
                "base": list(r.base_shapes[base:]),
                "events": [(e.t, e.what, dict(e.parents), e.frame) for e in r.chapters[chapters:]],
                "t": t, "counts": counts, "rows": rows, "poses": poses,
            }
        )  # fmt: skip
        self._written = time.monotonic()


def load_film(path: str | os.PathLike[str]) -> Recording:
    """The recording of a film, up to its last whole chunk. Whatever is wrong with the file is a FileError."""
    recording: Recording | None = None
    try:
        for chunk in chunks_of(path, MAGIC, VERSION, "film"):
            recording = recording or Recording(_text(chunk["name"]))
            _add_chunk(recording, chunk)
    except FileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise FileError(f"{path}: a chunk of this film cannot be: {str(error)[:300]}") from None
    assert recording is not None
    return recording


def _add_chunk(recording: Recording, chunk: Any) -> None:
    for name, mesh in chunk["meshes"].items():
        if not isinstance(mesh, Mesh) or not len(mesh.faces) or mesh.faces.min() < 0:
            raise ValueError("a mesh is none")
        if mesh.faces.max() >= len(mesh.vertices):
            raise ValueError("a mesh names vertices that are not there")
        recording.meshes[Path(_text(name))] = mesh
    for name, shapes in chunk["bodies"]:
        recording.add_body(Body(_text(name), tuple(_shapes(shapes))))
    for shape in _shapes(chunk["base"]):
        recording.add_base_shape(shape)
    t, counts, rows, poses = (chunk[name] for name in ("t", "counts", "rows", "poses"))
    kinds = t.dtype == np.float64, counts.dtype == rows.dtype == np.int64, poses.dtype == np.float64
    fit = t.shape == counts.shape and rows.shape == (len(poses),) and poses.shape[1:] == (7,)
    if not (all(kinds) and fit and (counts >= 0).all() and counts.sum() == len(rows)):
        raise ValueError("its frames do not fit")
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(recording.bodies)):
        raise ValueError("a frame shows bodies that are not there")
    if len(poses) and not (np.abs(np.linalg.norm(poses[:, 3:], axis=1) - 1.0) < 1e-6).all():
        raise ValueError("there is a pose in it that is not one")
    chapters = iter([*chunk["events"], None])
    chapter = next(chapters)
    ends = np.cumsum(counts)
    for k in range(len(t) + 1):
        while chapter is not None and chapter[3] == len(recording.t):
            when, what, parents, _ = chapter
            if not isinstance(parents, dict) or not isinstance(when, float):
                raise ValueError("a chapter is none")
            recording.add_chapter(when, _text(what), parents)
            chapter = next(chapters)
        if k < len(t):
            part = slice(int(ends[k] - counts[k]), int(ends[k]))
            recording.add_poses(float(t[k]), rows[part].astype(np.intp), poses[part])
    if chapter is not None:
        raise ValueError("a chapter is where there is no frame")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    return value


def _shapes(values: Any) -> list[Shape]:
    if not isinstance(values, list) or not all(isinstance(shape, Shape) for shape in values):
        raise TypeError("a shape is none")
    return values


# ------------------------------------------------------------------------------------------------------------- places


def _places(world: World) -> tuple[list[int], Array, Array]:
    """Ids of all bodies, and where their own frames are."""
    forest = world.forest
    forest.kinematics()
    ids, R, p = [], [], []
    for tree in forest.trees.tolist():
        header = forest._tree(tree & INDEX)
        rows = rows_at(int(header["rows"]), int(header["n"]) + 1, LINK_DATA)[1:]
        members = forest.members(tree)
        own = forest._tables[BODIES][members & INDEX]
        turn = rows["R"].reshape(-1, 3, 3)
        ids += members.tolist()
        R.append(turn @ own["R"].reshape(-1, 3, 3))
        p.append(rows["p"] + (turn @ own["p"][:, :, None])[:, :, 0])
    if not ids:
        return [], np.zeros((0, 3, 3)), np.zeros((0, 3))
    return ids, np.concatenate(R), np.concatenate(p)


def _turned_to(normal: Array, position: Array) -> Pose:
    """A frame whose z is a normal."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, normal)
    x /= np.linalg.norm(x)
    return Pose(position, np.column_stack([x, np.cross(normal, x), normal]))


def _mesh(body: Parts | Ground) -> Mesh:
    """The surface of what a shape is made of."""
    if isinstance(body, Ground):
        mesh: Mesh = body.mesh  # type: ignore[attr-defined]
        return mesh
    points, faces, count = [], [], 0
    for part in body.parts:
        points.append(part.points)
        faces.append(part.triangles + count)
        count += len(part.points)
    return Mesh(np.concatenate(points), np.concatenate(faces).astype(np.int32))
