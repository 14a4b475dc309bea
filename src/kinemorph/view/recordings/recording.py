"""A recording: where bodies were over time, what they look like, and when the tree that carries them changed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinemorph._extras import in_notebooks
from kinemorph._files import PathLike
from kinemorph.geometry.meshes.mesh import Mesh, load_mesh, mesh_of
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.motion.log import Log
from kinemorph.motion.rollout import Trajectory
from kinemorph.multibody.algorithms.kinematics import kinematics
from kinemorph.multibody.checks import check_data, check_model
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Array, Pose

Parents = Mapping[str, str | None]  # of each link its parent, None for the base

SOIL = (0.72, 0.74, 0.76, 1.0)  # colour of ground
MARKER = (0.95, 0.75, 0.10, 1.0)  # colour of joints that close loops
# How far, in m and in entries of rotation matrices, two shapes of one link may be from a rigid motion.
SAME_SHAPE_POSE = 1e-6


@dataclass(frozen=True)
class Body:
    """The shapes of a link, under the link's name. Its frame is the frame that the link had when it was first seen."""

    name: str
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """An event at time `t` (s), after `frame` frames, and the parents of all bodies from then on."""

    t: float
    what: str
    parents: Parents
    frame: int

    @property
    def roots(self) -> tuple[str, ...]:
        """The links that the base carries."""
        return tuple(link for link, parent in self.parents.items() if parent is None)


@checked_first
class Recording:
    """Poses of bodies, frame by frame, with the changes of structure in between.

    Add frames as they come, with whatever model holds then. Links are known by name: one that a frame's model does not
    have is absent from that frame. A model that carries its links in another way than the one before makes a chapter,
    unless `chapter` has said so already. Joints that close loops are bodies too: balls of `marker` metres.

    >>> recording = Recording("demo")
    >>> recording
    Recording 'demo': 0 bodies, 0 frames, 0 chapters
    """

    def __init__(self, name: str = "", marker: float = 0.03) -> None:
        self.name, self.marker = name, marker
        self.bodies: list[Body] = []
        self.base_shapes: list[Shape] = []
        self.chapters: list[Chapter] = []
        self.meshes: dict[Path, Mesh] = {}  # kept here, as files move and change
        self._rows: dict[str, int] = {}  # of each body its place in `bodies`
        self._times: list[float] = []
        self._frames: list[tuple[npt.NDArray[np.intp], Array]] = []  # which bodies, and their poses
        self._taken = 0  # frames that are elsewhere by now
        self._now: _Layout | None = None

    @staticmethod
    def from_trajectory(model: Model, trajectory: Trajectory) -> Recording:
        """A recording of a rollout of one model."""
        recording = Recording(model.name)
        for t, q in zip(trajectory.t, trajectory.q, strict=True):
            recording.add(model, q, float(t))
        return recording

    @staticmethod
    def from_log(log: Log, name: str = "", marker: float = 0.03) -> Recording:
        """A recording of a log of `km.simulate`, with its changes of structure as chapters."""
        recording = Recording(name or log.stretches[0].model.name, marker)
        changes = [h for h in log.happenings if h.changed]
        for i, stretch in enumerate(log.stretches):
            if i:
                recording.chapter(changes[i - 1].t, changes[i - 1].name, stretch.model)
            for t, q in zip(stretch.t, stretch.q, strict=True):
                recording.add(stretch.model, q, float(t))
        return recording

    @property
    def t(self) -> Array:
        """The time of each frame, in seconds. Two frames may have one time: before and after a chapter."""
        return np.array(self._times)

    @property
    def poses(self) -> Array:
        """(frames, bodies, 7): position and quaternion w x y z in the world; NaN where a body is absent."""
        poses = np.full((len(self._frames), len(self.bodies), 7), np.nan)
        for out, (rows, values) in zip(poses, self._frames, strict=True):
            out[rows] = values
        return poses

    @property
    def parents(self) -> Parents:
        """The parents of all bodies now."""
        return self.chapters[-1].parents if self.chapters else {}

    def add(self, model: Model, state: Data | npt.ArrayLike, t: float) -> None:
        """Add a frame: a model at time t, at a configuration q or as a `Data` has it after any algorithm."""
        check_model(model)
        t = self._time(t)
        if isinstance(state, Data):
            data = state
            check_data(model, data)
        else:
            data = self._now.data if self._now is not None and self._now.model is model else Data(model)
            kinematics(model, data, state)
        layout = self._layout(model)  # only now: it takes in bodies, and what is refused changes nothing
        if layout.parents != self.parents:
            self.add_chapter(
                t, describe_change(self.parents, layout.parents) if self.chapters else "start", layout.parents
            )
        R, p = (np.concatenate([data.links[x], data.base[x][np.newaxis]])[layout.carriers] for x in "Rp")
        R = R.reshape(-1, 3, 3)
        self.add_poses(t, layout.rows, poses_of(R @ layout.R, p + (R @ layout.p[:, :, None])[:, :, 0]))

    def chapter(
        self,
        t: float,
        what: str,
        model: Model | None = None,
        *,
        root: str | None = None,
        parents: Parents | None = None,
    ) -> Chapter:
        """Say what happens at time t, between the frames before and after: "connect", "cut", "reroot", or any text.

        How links hang on each other from now on is taken from `model`; or it is as before, with the entries of
        `parents` changed, and then turned round so that the base carries `root`.
        """
        if not what:
            raise ValueError(f"recording {self.name!r}: the chapter at t = {t} s needs a name")
        if model is not None:
            after: Parents = self._layout(model).parents
        else:
            after = {**self.parents, **(parents or {})}
            after = after if root is None else reroot_parents(after, root)
        return self.add_chapter(t, what, after)

    # What the two above are made of; also for bodies that are no links of a model, and for reading files.

    def add_body(self, body: Body) -> int:
        """Add a body, and return its row in `poses`."""
        if body.name in self._rows:
            raise ValueError(f"recording {self.name!r}: there is already a body {body.name!r}")
        self._need_meshes(shapes_to_show(body.shapes))
        self._rows[body.name] = len(self.bodies)
        self.bodies.append(body)
        return len(self.bodies) - 1

    def add_base_shape(self, shape: Shape) -> None:
        """Add a shape that stands in the world and never moves."""
        self._need_meshes([shape])
        self.base_shapes.append(shape)

    def add_poses(self, t: float, rows: npt.NDArray[np.intp], poses: Array) -> None:
        """Add a frame: the poses (position, quaternion w x y z) of the bodies in some rows."""
        t = self._time(t)
        if not np.isfinite(poses).all():
            raise ValueError(f"recording {self.name!r}: a pose at t = {t} s is not finite")
        self._times.append(t)
        self._frames.append((rows, poses))

    def add_chapter(self, t: float, what: str, parents: Parents) -> Chapter:
        """Add a chapter, with the parent of every link that there is from then on."""
        t = self._time(t)
        for name in (*parents, *parents.values()):
            if name is not None and name not in self._rows:
                raise ValueError(f"recording {self.name!r}: chapter {what!r} names {name!r}, which is no body of it")
        depths(parents)
        self.chapters.append(Chapter(t, what, dict(parents), self._taken + len(self._times)))
        return self.chapters[-1]

    def add_frames(
        self, frames: Iterable[tuple[float, npt.NDArray[np.intp], Array]], chapters: Iterable[Chapter]
    ) -> Chapter | None:
        """Add frames, with chapters between them; returns the first chapter that would come after more frames."""
        frames, waiting = list(frames), deque(chapters)
        if any(len(frame) != 3 for frame in frames) or not all(isinstance(one, Chapter) for one in waiting):
            raise TypeError("add_frames: frames must be a list of (time, rows, poses), and chapters of Chapter")
        for frame in (*frames, None):
            while waiting and waiting[0].frame == self._taken + len(self._times):
                chapter = waiting.popleft()
                self.add_chapter(chapter.t, chapter.what, chapter.parents)
            if frame is not None:
                self.add_poses(*frame)
        return waiting[0] if waiting else None

    def row(self, name: str) -> int:
        """The row of a body in `poses`."""
        if name not in self._rows:
            raise KeyError(f"recording {self.name!r} has no body {repr_of(name)}")
        return self._rows[name]

    def take_frames(self) -> tuple[Array, list[tuple[npt.NDArray[np.intp], Array]]]:
        """The times and frames so far, to be stored elsewhere: they are removed here."""
        times, frames = self.t, self._frames
        self._taken += len(frames)
        self._times, self._frames = [], []
        return times, frames

    def mesh_of(self, shape: Shape) -> Mesh:
        """The surface of a shape in its own frame. Meshes are those of the day, not what the files are now."""
        if shape.kind is not ShapeKind.MESH or shape.path is None:
            return mesh_of(shape)
        mesh = self.meshes[shape.path]
        return mesh if shape.size == (1.0, 1.0, 1.0) else mesh.scaled(np.array(shape.size))

    def save(self, path: PathLike) -> None:
        """Write everything into one file (.npz), whole or not at all."""
        from kinemorph.view.recordings.recording_file import save_recording

        save_recording(self, path)

    @staticmethod
    def load(path: PathLike) -> Recording:
        """A recording from a file. Any fault of the file raises FileError."""
        from kinemorph.view.recordings.recording_file import load

        return load(path)

    def _time(self, t: float) -> float:
        last = max([*self._times[-1:], *(e.t for e in self.chapters[-1:])], default=-math.inf)
        if not (math.isfinite(t) and t >= last):
            raise ValueError(f"recording {self.name!r}: it is at {last} s already and cannot go to t = {t} s")
        return float(t)

    def _layout(self, model: Model) -> _Layout:
        """How the links of a model become bodies; links that are new become new bodies, and so do loops."""
        if self._now is None or self._now.model is not model:
            places = []
            for name, shapes in zip(model.names, model.shapes, strict=True):
                where = f"recording {self.name!r}: link {name!r}"
                places.append(
                    _shape_frame_change(self.bodies[self._rows[name]].shapes, shapes, where)
                    if name in self._rows
                    else Pose()
                )
            for shape in (*(s for shapes in model.shapes for s in shapes_to_show(shapes)), *model.base_shapes):
                if shape.kind is ShapeKind.MESH and shape.path is not None and shape.path not in self.meshes:
                    self.meshes[shape.path] = load_mesh(shape.path)
            for name, shapes in zip(model.names, model.shapes, strict=True):
                if name not in self._rows:
                    self.add_body(Body(name, shapes))
            for shape in model.base_shapes:
                if not any(_are_same_shape(shape, s) and _near(shape.pose, s.pose) for s in self.base_shapes):
                    self.add_base_shape(shape)
            names = [*model.names]
            carriers = [*range(model.n)]
            for name, row in zip(model.loop_names, model.loop_rows, strict=True):
                ball = f"joint {name}"
                if ball not in self._rows:
                    self.add_body(Body(ball, (Shape.sphere(self.marker, colour=MARKER, role=Role.VISUAL),)))
                names.append(ball)
                carriers.append(int(row["a"]))  # -1, the base, is the last of the rows
                places.append(Pose(row["pa"], row["Ra"].reshape(3, 3)))
            self._now = _Layout(
                model,
                Data(model),
                np.array([self._rows[name] for name in names], dtype=np.intp),
                np.array(carriers, dtype=np.intp),
                np.array([place.rotation for place in places]).reshape(-1, 3, 3),
                np.array([place.position for place in places]).reshape(-1, 3),
                parents_of(model),
            )
        return self._now

    def _need_meshes(self, shapes: Sequence[Shape]) -> None:
        for shape in shapes:
            if shape.kind is ShapeKind.MESH and shape.path not in self.meshes:
                raise ValueError(f"recording {self.name!r}: it has no mesh {str(shape.path)!r}")

    _repr_html_ = in_notebooks("recording")

    def __repr__(self) -> str:
        counts = f"{len(self.bodies)} bodies, {len(self._times)} frames, {len(self.chapters)} chapters"
        span = f", {self._times[0]:g} to {self._times[-1]:g} s" if self._times else ""
        return f"Recording {self.name!r}: {counts}{span}"


@dataclass(frozen=True, eq=False)
class _Layout:
    """How links and loops are bodies of a recording: their rows, and where body frames stand on links."""

    model: Model
    data: Data  # to place links in, if only q is given
    rows: npt.NDArray[np.intp]
    carriers: npt.NDArray[np.intp]  # the link of each body, -1 for the base
    R: Array  # (n, 3, 3) link_R_body
    p: Array  # (n, 3)
    parents: dict[str, str | None]


def height_of_level_ground(shape: Shape) -> float | None:
    """The height (m) of level ground that goes on without an end."""
    if shape.colour == SOIL and shape.kind is ShapeKind.BOX and shape.pose.rotation[2, 2] > 1.0 - 1e-9:
        return float(shape.pose.position[2] + 0.5 * shape.size[2])
    return None


def level_ground(recording: Recording) -> float | None:
    """The height (m) of the highest level ground, which pictures and pages draw in their own way."""
    return max((top for s in recording.base_shapes if (top := height_of_level_ground(s)) is not None), default=None)


def standing_shapes(recording: Recording) -> list[Shape]:
    """The static shapes to draw, without the level ground."""
    level = level_ground(recording)
    return [
        s
        for s in shapes_to_show(recording.base_shapes)
        if height_of_level_ground(s) is None or height_of_level_ground(s) != level
    ]


def shapes_to_show(shapes: Sequence[Shape]) -> list[Shape]:
    """The visual shapes; if there are none, the collision shapes."""
    return [s for s in shapes if s.role is not Role.COLLISION] or list(shapes)


def parents_of(model: Model) -> dict[str, str | None]:
    """Of each link its parent, None for the base."""
    return {name: None if p < 0 else model.names[p] for name, p in zip(model.names, model.links["parent"], strict=True)}


def reroot_parents(parents: Parents, root: str) -> dict[str, str | None]:
    """The same tree, carried by the base at another link: the chain from it to the old root is turned round."""
    if root not in parents:
        raise ValueError(f"there is no link {root!r} to be the root; there are {', '.join(parents)}")
    depths(parents)  # on a cycle the way up would have no end
    after = dict(parents)
    below: str | None = None
    link: str | None = root
    while link is not None:
        after[link] = below
        below, link = link, parents[link]
    return after


def describe_change(before: Parents, after: Parents) -> str:
    """The name of a change of structure, from the joints between links that it makes and breaks."""
    made, broken = joints_between(before, after)
    if not made and not broken:
        return "reroot"
    return "connect" if not broken else "cut" if not made else "change"


def joints_between(before: Parents, after: Parents) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The pairs of links that a change joins, and those that it parts, sorted."""
    old, new = ({(min(a, b), max(a, b)) for a, b in p.items() if b is not None} for p in (before, after))
    return sorted(new - old), sorted(old - new)


def recording_of(what: Recording | Log) -> Recording:
    """A recording, whatever it is given as."""
    if isinstance(what, Log):
        return Recording.from_log(what)
    if not isinstance(what, Recording):
        raise TypeError(f"this takes a kinemorph.Recording or a kinemorph.Log, not {repr_of(what)}")
    return what


def depths(parents: Parents) -> dict[str, int]:
    """How far each link is from the root of its tree; the root has 0."""
    found: dict[str, int] = {}
    for start in parents:
        chain: list[str] = []
        link: str | None = start
        while link is not None and link not in found:
            if link in chain or link not in parents:
                raise ValueError(f"link {link!r} is its own ancestor" if link in chain else f"{link!r} has no parent")
            chain.append(link)
            link = parents[link]
        depth = -1 if link is None else found[link]
        for link in reversed(chain):
            depth += 1
            found[link] = depth
    return found


def _shape_frame_change(before: Sequence[Shape], after: Sequence[Shape], where: str) -> Pose:
    """Where the frame that shapes were given in before stands in the frame that they are given in now.

    Re-rooting may give a link another frame; its shapes show where the old one is.
    """
    if len(before) != len(after) or not all(map(_are_same_shape, before, after)):
        raise ValueError(f"{where} has other shapes than before; give a body that changes a new name")
    if not before:
        return Pose()
    place = after[0].pose @ before[0].pose.inverse()
    if not all(_near(a.pose, place @ b.pose) for a, b in zip(after, before, strict=True)):
        raise ValueError(f"{where}: its shapes have moved against each other; give a body that changes a new name")
    return place


def _are_same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes are one, wherever they are."""
    return (a.kind, a.size, a.role, a.colour, a.path, a.name) == (b.kind, b.size, b.role, b.colour, b.path, b.name)


def _near(a: Pose, b: Pose) -> bool:
    return bool(np.abs(a.matrix() - b.matrix()).max() < SAME_SHAPE_POSE)


def poses_of(R: Array, p: Array) -> Array:
    """Rows of position and quaternion w x y z."""
    from scipy.spatial.transform import Rotation  # late: it takes longer to import than the rest of kinemorph

    if not len(p):
        return np.empty((0, 7))
    return np.concatenate([p, Rotation.from_matrix(R).as_quat(canonical=True, scalar_first=True)], axis=1)
