"""Films: recordings of worlds while they run, in memory or, for long runs, in a file that grows chunk by chunk."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from kinemorph._files import FileError, PathLike
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.shapes import Shape
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.view.body_poses import base_shapes, visible_shapes
from kinemorph.view.body_poses import parents_of_bodies as parents_of
from kinemorph.view.recordings.recording import Body, Chapter, Recording
from kinemorph.world.persistence.journal import ChunkFile, chunks_of
from kinemorph.world.world import World

FILM_MAGIC = b"kmfilms\n"
FILM_VERSION = 1
FILM_CHUNK_BYTES = 1 << 22  # bytes of poses that make a chunk,
FILM_CHUNK_TIME = 5.0  # s, and the time after which one is written in any case
CHANGES = ("connect", "cut", "reroot", "grasp", "let go")  # what are chapters of a recording
BUILT = frozenset({"add_ground", "add", "remove", "connect", "tie", "cut", "reroot", "restore"})  # change parents


@checked_first
def film(
    world: World, path: PathLike | None = None, *, rate: float = 60.0, name: str = "world"
) -> Film:  # fmt: skip
    """Film a world while this is entered, with `rate` frames a second of its time.

    >>> with film(world) as taken:  # doctest: +SKIP
    ...     world.run(2.0)
    >>> replay(taken.recording, "world.html")  # doctest: +SKIP

    With a path, frames go to that file as they come; `Recording.load` reads it, also after the process was killed.
    """
    return Film(world, path, rate, name)


class Film:
    """Observes a world and records the poses and parents of its bodies, and which are added and removed."""

    def __init__(self, world: World, path: PathLike | None, rate: float, name: str) -> None:
        if not rate > 1e-9:
            raise ValueError(f"film: rate is {rate}, and must be positive")
        self.world, self.path = world, None if path is None else Path(path)
        self.every = max(1, round(1.0 / (rate * world.dt)))
        self._recording = Recording(name)
        self._seen: dict[int, tuple[int, str]] = {}  # by id: birth of the body, and its name in the recording
        self._sides: dict[int | str, str] = {}  # of each joint, by id and name, the names of the bodies on its sides
        self._still: set[int] = set()  # shapes of the base, and figures, that were looked at
        self._stood: set[tuple[int, int]] = set()  # those of them that are in the recording
        self._file: ChunkFile | None = None
        self._told = (0, 0, 0, 0)  # bodies, base shapes, chapters and meshes that are in the file
        self._written = time.monotonic()

    @property
    def recording(self) -> Recording:
        """The recording; with a file it is read from there, once the film has ended."""
        return self._recording if self.path is None else Recording.load(self.path)

    def __enter__(self) -> Film:
        if self.path is not None:
            self._file = ChunkFile(self.path, FILM_MAGIC, FILM_VERSION)
        self._notice("start")
        self.look()
        self._flush()
        self.world.observers.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.world.observers.remove(self)
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
        if worked and name in BUILT:
            self._notice(" ".join([name, *self._about(name, args, named)]))

    def _about(self, name: str, args: Any, named: Any) -> list[str]:
        """Which bodies something was done to, by their names in the recording."""
        given = dict(zip(("a", "b") if name == "connect" else ("joint",) if name == "cut" else ("body",), args)) | named
        if name == "cut":
            return [self._sides.get(given["joint"], "")]
        ids = [given[which] for which in ("a", "b", "body") if given.get(which) is not None]
        names = [self._seen[id][1] for id in ids if id in self._seen]
        if name == "connect" and len(names) == 1:
            names.append("the base")
        return [" and ".join(names)] if name in CHANGES and names else []

    def saw(self, what: str) -> None:
        """The world has changed its structure by itself."""
        self._notice(what)

    def look(self) -> None:
        """A frame: the poses of all bodies."""
        states = self.world.states()
        rows = np.array([self._row(id) for id in states.ids.tolist()], dtype=np.intp)
        self._recording.add_poses(self.world.time, rows, states.poses)
        size = 56 * len(states) * len(self._recording.t)
        if size > FILM_CHUNK_BYTES or time.monotonic() - self._written > FILM_CHUNK_TIME:
            self._flush()

    def _row(self, id: int) -> int:
        """The row of a body in the recording; a new one gets a name that no other has."""
        birth = self.world.registry.births[id]
        if self._seen.get(id, (0, ""))[0] != birth:
            taken = {body.name for body in self._recording.bodies}
            plain = name = self.world.registry.body_names[id]
            count = 1
            while name in taken:
                count += 1
                name = f"{plain} {count}"
            self._recording.add_body(Body(name, visible_shapes(self.world, id, self._recording.meshes)))
            self._seen[id] = birth, name
        return self._recording.row(self._seen[id][1])

    def _notice(self, what: str) -> None:
        """Record new ground, and the parents of all bodies now."""
        world, recording = self.world, self._recording
        standing = {*world.registry.ground_shapes, *world.registry.models}
        if standing - self._still:
            self._still |= standing
            for key, shape in base_shapes(world, recording.meshes).items():
                if key not in self._stood:
                    self._stood.add(key)
                    recording.add_base_shape(shape)
        carried = {id: recording.bodies[self._row(id)].name for id in world.forest.bodies.tolist()}
        parents = {carried[id]: None if p is None else carried[p] for id, p in parents_of(world).items()}
        self._sides = {
            joint: " and ".join(carried[id] for id in world.forest.sides(joint))
            for joint in world.forest.joints.tolist()
        }
        self._sides |= {name: self._sides[id] for id, name in world.registry.joint_names.items() if id in self._sides}
        joints = {pair for pair in parents.items() if pair[1] is not None}
        before = {pair for pair in recording.parents.items() if pair[1] is not None}
        if what.startswith((*CHANGES, "start")) or joints != before:
            recording.add_chapter(world.time, what, parents)

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


def load_film(path: PathLike) -> Recording:
    """The recording of a film, up to its last whole chunk. Any fault of the file raises FileError."""
    recording: Recording | None = None
    try:
        for chunk in chunks_of(path, FILM_MAGIC, FILM_VERSION, "film"):
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
    chapters = []
    for when, what, parents, frame in chunk["events"]:
        if not isinstance(parents, dict) or not isinstance(when, float):
            raise ValueError("a chapter is none")
        chapters.append(Chapter(when, _text(what), parents, frame))
    ends = np.cumsum(counts)[:-1]
    frames = zip(t.tolist(), np.split(rows.astype(np.intp), ends), np.split(poses, ends), strict=False)
    if recording.add_frames(frames, chapters) is not None:
        raise ValueError("a chapter is where there is no frame")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    return value


def _shapes(values: Any) -> list[Shape]:
    if not isinstance(values, list) or not all(isinstance(shape, Shape) for shape in values):
        raise TypeError("a shape is none")
    return values
