"""Optional overlays of the viewer: points, lines, frames of boxes, texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kinemorph._escaping import plain
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.inertia import moments_of
from kinemorph.spatial.pose import Array, Pose
from kinemorph.view.colours import as_bytes
from kinemorph.view.replays.overlays import cube_frame
from kinemorph.world.spawn import free_position
from kinemorph.world.world import World

Colour = tuple[float, float, float]

AXES = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SCREW, JointKind.CYLINDRICAL)
MOST_WORDS = 100  # a browser is slow with more
ARC = 24  # parts of a turn that shows limits


class Marks:
    """The handles of what is drawn. `size` (m) is how large a mark is."""

    def __init__(self, scene: Any, size: float) -> None:
        self.scene, self.size = scene, size
        self._handles: dict[str, Any] = {}
        self._words: dict[str, list[Any]] = {}

    def points(self, name: str, points: Sequence[Any], colour: Colour) -> None:
        """Dots at points."""
        at = np.asarray(points, np.float32).reshape(-1, 3)
        if handle := self._shown(name, len(at)):
            handle.points = at
        elif len(at):
            self._handles[name] = self.scene.add_point_cloud(
                f"/marks/{name}", at, as_bytes(colour), point_size=0.3 * self.size, point_shape="circle",
                precision="float32",
            )  # fmt: skip

    def lines(self, name: str, segments: Sequence[Any], colour: Colour) -> None:
        """Lines between pairs of points."""
        ends = np.asarray(segments, np.float32).reshape(-1, 2, 3)
        if handle := self._shown(name, len(ends)):
            handle.points = ends
        elif len(ends):
            self._handles[name] = self.scene.add_line_segments(
                f"/marks/{name}", ends, as_bytes(colour), thickness=2.5, thickness_units="screen"
            )

    def boxes(self, name: str, poses: Sequence[Any], sides: Sequence[Any], colour: Colour) -> None:
        """Edges of boxes at poses (n, 7)."""
        at, scales = np.asarray(poses, np.float64).reshape(-1, 7), np.asarray(sides, np.float64).reshape(-1, 3)
        if handle := self._shown(name, len(at)):
            handle.batched_positions, handle.batched_wxyzs, handle.batched_scales = at[:, :3], at[:, 3:], scales
        elif len(at):
            vertices, faces = cube_frame()
            self._handles[name] = self.scene.add_batched_meshes_simple(
                f"/marks/{name}", vertices, faces, at[:, 3:], at[:, :3], batched_scales=scales,
                batched_colors=as_bytes(colour), lod="off", cast_shadow=False, receive_shadow=False,
            )  # fmt: skip

    def words(self, name: str, texts: Mapping[Any, tuple[str, Any]]) -> None:
        """Words at points."""
        labels = self._words.setdefault(name, [])
        wanted = [*texts.values()][:MOST_WORDS]
        while len(labels) > len(wanted):
            labels.pop().remove()
        for label, (text, point) in zip(labels, wanted, strict=False):
            label.text, label.position = plain(text), point
        for k in range(len(labels), len(wanted)):
            text, point = wanted[k]
            labels.append(
                self.scene.add_label(f"/marks/{name}/{k}", plain(text), position=point, anchor="bottom-center")
            )

    def clear(self, name: str) -> None:
        """Remove all parts of a mark; their names begin with its own."""
        for part in [part for part in self._handles if part.startswith(name)]:
            self._handles.pop(part).remove()
        for part in [part for part in self._words if part.startswith(name)]:
            for label in self._words.pop(part):
                label.remove()

    def _shown(self, name: str, count: int) -> Any:
        """The handle of what is drawn already; nothing is drawn of nothing."""
        handle = self._handles.get(name)
        if handle is not None and not count:
            self._handles.pop(name).remove()
            return None
        return handle


def _contact_points(world: World, marks: Marks) -> None:
    marks.points("contact points", [t.point for t in world.contacts()], (0.85, 0.1, 0.1))


def _contact_normals(world: World, marks: Marks) -> None:
    lines = [(t.point, t.point + 1.5 * marks.size * t.normal) for t in world.contacts()]
    marks.lines("contact normals", lines, (0.2, 0.4, 0.9))


def _contact_forces(world: World, marks: Marks) -> None:
    """As long as marks are large, if one bears the mean weight of a body."""
    masses = [mass for tree in world.queries.trees() for mass in tree.links["mass"].tolist()]
    usual = 9.81 * sum(masses) / max(len(masses), 1)
    lines = [(t.point, t.point + 3.0 * marks.size * t.force / max(usual, 1e-12)) for t in world.contacts()]
    marks.lines("contact forces", lines, (0.9, 0.55, 0.1))


def _joints(world: World, marks: Marks) -> None:
    dots, axes = [], []
    for tree in world.queries.trees():
        for link, d in zip(tree.links, tree.frames, strict=True):
            if link["kind"] != JointKind.FREE:
                dots.append(d["p"])
            if link["kind"] in AXES:
                along = marks.size * (d["R"].reshape(3, 3) @ link["axis"])
                axes.append((d["p"] - along, d["p"] + along))
    marks.points("joints", dots, (0.1, 0.5, 0.3))
    marks.lines("joints, axes", axes, (0.1, 0.5, 0.3))


def _joint_limits(world: World, marks: Marks) -> None:
    """Where a hinge or slider may go, and where it is."""
    ways, hands = [], []
    for tree in world.queries.trees():
        dofs, q = tree.dofs, tree.q
        for link, d in zip(tree.links, tree.frames, strict=True):
            if link["kind"] not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                continue
            low, high = (float(dofs[link["iv"]][end]) for end in ("lower", "upper"))
            if not np.isfinite(low) or not np.isfinite(high):
                continue
            now, R, p, axis = float(q[link["iq"]]), d["R"].reshape(3, 3), d["p"], link["axis"]
            if link["kind"] == JointKind.PRISMATIC:
                ways.append((p + R @ axis * (low - now), p + R @ axis * (high - now)))
                continue
            across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
            across *= 2.0 * marks.size / np.linalg.norm(across)
            turns = np.linspace(max(low, now - np.pi), min(high, now + np.pi), ARC) - now
            arc = [p + R @ Pose.turn(axis, turn).apply(across) for turn in turns]
            ways += [*pairwise(arc)]
            hands.append((p, p + R @ across))
    marks.lines("joint limits", ways, (0.9, 0.3, 0.6))
    marks.lines("joint limits, now", hands, (0.6, 0.1, 0.4))


def _centres(world: World, marks: Marks) -> None:
    points = [place.position for place, _ in _masses(world)]
    marks.points("centres of mass", points, (0.5, 0.1, 0.7))


def _inertia(world: World, marks: Marks) -> None:
    """The box of even density that has the inertia of each body."""
    found = _masses(world)
    marks.boxes("inertia", [free_position(place) for place, _ in found], [sides for _, sides in found], (0.5, 0.1, 0.7))


def _bounds(world: World, marks: Marks) -> None:
    """The boxes of the broad phase, as far as bodies may come in a step."""
    rows = world.shapes.rows[: world.shapes.count]
    boxes = world.collisions.boxes[(rows["form"] != 0) & (rows["link"] >= 0)]
    middle, sides = 0.5 * (boxes["low"] + boxes["high"]), boxes["high"] - boxes["low"]
    finite = np.isfinite(sides).all(axis=1)
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (int(finite.sum()), 1))
    marks.boxes("bounds", np.hstack([middle[finite], turn]), sides[finite], (0.45, 0.6, 0.75))  # type: ignore[arg-type]


def _names(world: World, marks: Marks) -> None:
    """At centres of mass: the frames of several links may be at one place."""
    words = {}
    for tree in world.queries.trees():
        for id, link, d in zip(tree.bodies.tolist(), tree.links, tree.frames, strict=True):
            com = link["h"] / link["mass"] if link["mass"] > 0.0 else np.zeros(3)
            words[id] = world.registry.body_names[id], d["p"] + d["R"].reshape(3, 3) @ com
    marks.words("names", words)


def _loop_residuals(world: World, marks: Marks) -> None:
    """Where loops are closed, and how far the two sides of each joint are apart."""
    points, texts = [], {}
    for joint in world.forest.loops.tolist():
        a, b = world.queries.loop_points(joint)
        points.append(a)
        texts[joint] = (f"{np.linalg.norm(a - b):.0e} m", a)
    marks.points("loop residuals", points, (0.95, 0.75, 0.1))
    marks.words("loop residuals, words", texts)


def _roots(world: World, marks: Marks) -> None:
    """The body of each tree that the base carries, where there are others on it, or where it does not float."""
    roots = []
    for tree in world.queries.trees():
        if len(tree.links) > 1 or tree.links[0]["kind"] != JointKind.FREE:
            roots.append(tree.frames[0]["p"])
    marks.points("roots", roots, (0.95, 0.16, 0.02))


def _masses(world: World) -> list[tuple[Pose, Array]]:
    """Of each body with mass its principal frame, and the sides of the box that has its inertia."""
    found = []
    for tree in world.queries.trees():
        for link, d in zip(tree.links, tree.frames, strict=True):
            mass, com, I = moments_of(link)
            if mass <= 0.0:
                continue
            moments, axes = np.linalg.eigh(I)
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            sides = np.sqrt(np.maximum(6.0 / mass * (moments.sum() - 2.0 * moments), 0.0))
            R = d["R"].reshape(3, 3)
            found.append((Pose(d["p"] + R @ com, R @ axes), sides))
    return found


MARKS: dict[str, Callable[[World, Marks], None]] = {
    "contact points": _contact_points,
    "contact normals": _contact_normals,
    "contact forces": _contact_forces,
    "joints": _joints,
    "joint limits": _joint_limits,
    "centres of mass": _centres,
    "inertia": _inertia,
    "bounds": _bounds,
    "names": _names,
    "loop residuals": _loop_residuals,
    "roots": _roots,
}
INSIDE = {"joints", "joint limits", "centres of mass", "inertia", "loop residuals", "roots"}  # of bodies, most of them
