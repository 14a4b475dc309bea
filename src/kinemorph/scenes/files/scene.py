"""Scenes: worlds that TOML files describe, with bodies, figures, joints, what acts in them, and what changes when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kinemorph._files import FileError, PathLike
from kinemorph._toml import Toml, checked, merged, nearest_name, refuse_not_finite
from kinemorph.multibody.model.elements import ForceElement
from kinemorph.scenes.files.scene_changes import Changes, SceneEvent
from kinemorph.scenes.files.scene_parts import KINDS, THE_WORLD, Parts, body_names, body_of, joint_names, joint_of
from kinemorph.scenes.files.scene_tables import MOST_BODIES, SceneTable, ServoTable
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.view.recordings.film import film
from kinemorph.view.recordings.recording import Recording
from kinemorph.world.body import Body
from kinemorph.world.control.drives import Handle, Servo
from kinemorph.world.world import World

SHIPPED = Path(__file__).parents[1] / "data"
EXCLUSIVE = {  # settings of kinds of tables of which the later one wins: defaults give way, and files to Python
    "body": (("density", "mass"), (*KINDS, "shapes")),
    "ground": (KINDS,),
    "figure": (("file", "robot", "human"),),
    "change": (("at", "when"),),
    "turn": (("degrees", "radians", "quaternion", "rpy"),),
}
PATH_SAMPLE_TIME = 0.01  # s, from one place of a path to the next
MOST_POSES = 2e7  # of a recording: a gigabyte


def shipped() -> dict[str, Path]:
    """The scene files that come with kinemorph, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def scene_file(what: PathLike) -> Path:
    """The file of a scene: a path, or the name of one that comes with kinemorph."""
    path, known = Path(what), shipped()
    if path.suffix.lower() == ".toml" or path.is_file():
        return path
    if str(what) in known:
        return known[str(what)]
    raise FileError(f"{nearest_name(str(what), list(known), 'scene')}; or name a file, which ends in .toml")


def read_scene(path: PathLike, changes: Mapping[str, Any] | None = None) -> tuple[Toml, SceneTable]:
    """Read and check the tables of a scene file, without making its world."""
    toml = Toml(scene_file(path))
    refuse_not_finite(toml)
    table: SceneTable = checked(SceneTable, _changed(toml, changes or {}), toml.where)
    return toml, table


@checked_first
def load_scene(path: PathLike, changes: Mapping[str, Any] | None = None) -> Scene:
    """Read a scene file, or one that comes with kinemorph by its name, and make its world.

    `changes` are put into the file's tables before they are checked: `{"world": {"dt": 1e-3}}`; in lists of tables, by
    name: `{"body": {"ball": {"mass": 2.0}}}`. FileError names the file, the line, the place in it and the value.
    """
    return Scene(path, changes)


@checked_first
class Scene:
    """A world as a file describes it: `scene.world` can be run, asked and changed as any other."""

    def __init__(self, path: PathLike, changes: Mapping[str, Any] | None = None) -> None:
        toml, self.table = read_scene(path, changes)
        self.file = toml.file
        self.name = self.table.name or self.file.stem
        parts = Parts(toml, self.table.material)
        self.world = self._world(parts)
        self.acting: dict[str, Handle] = {}  # what acts, by name
        self.recording: Recording | None = None  # of the last run, also if that broke off
        self.changes = Changes(parts, self.table.change, self.acting)
        for k, ground in enumerate(self.table.ground):
            parts.ground(self.world, f"ground[{k}]", ground)
        self._bodies: dict[str, Body] = {}
        for k, body in enumerate(self.table.body):
            parts.bodies(self.world, f"body[{k}]", body, self._bodies)
        for k, figure in enumerate(self.table.figure):
            parts.figure(self.world, f"figure[{k}]", figure)
        if len(self.world.bodies) > MOST_BODIES:
            raise toml.error("", f"these are {len(self.world.bodies)} bodies, and {MOST_BODIES} are the most")
        self._join(toml)
        self._act(toml)
        self.changes.check(self.world)
        for name in self.changes.breaking.strengths:
            self.changes.breaking.watch(self.world, name)
        self.changes.arm(self.world)
        if not any(self.table.camera.direction):
            raise toml.error("camera.direction", "(0, 0, 0) is none; say from where to look")
        if self.table.camera.follow is not None and self.table.camera.follow not in body_names(self.world):
            raise toml.error(
                "camera.follow", nearest_name(self.table.camera.follow, list(body_names(self.world)), "body")
            )

    @property
    def about(self) -> str:
        """One sentence on what the scene shows."""
        return self.table.about

    @property
    def seconds(self) -> float:
        """s, how long a run of it is."""
        return self.table.seconds

    @property
    def happened(self) -> list[SceneEvent]:
        """The changes of its file that were made so far."""
        return list(self.changes.happened)

    @property
    def broken(self) -> list[tuple[float, str, float]]:
        """s, name and N: which joints broke so far, when, under what."""
        return list(self.changes.breaking.broken)

    def run(self, seconds: float | None = None) -> Recording:
        """Run its world, for as long as the file says if nothing is given, and record it."""
        seconds, rate = self.seconds if seconds is None else seconds, self.table.record.rate
        poses = seconds * min(rate, 1.0 / self.world.dt) * len(self.world.bodies)
        if poses > MOST_POSES:
            bodies = len(self.world.bodies)
            text = f"seconds {seconds:g} of {bodies} bodies are {poses:.2g} poses, more than {MOST_POSES:.2g}"
            raise FileError(f"{self.file}: {text}; record them with a lower rate")
        with film(self.world, rate=rate, name=self.name) as taken:
            self.recording = taken.recording
            self.world.run(seconds)
        return taken.recording

    def __repr__(self) -> str:
        return f"Scene {self.name!r}: {self.world!r}"

    # -------------------------------------------------------------------------------------------------------- making

    def _world(self, parts: Parts) -> World:
        table = self.table.world
        given = {name: getattr(table, name) for name in table.__struct_fields__}
        given["material"] = parts.material("world", table.material)
        with parts.toml.at("world"):
            return World(**{name: value for name, value in given.items() if value is not None})

    def _join(self, toml: Toml) -> None:
        bodies, taken = body_names(self.world), joint_names(self.world)
        for k, joint in enumerate(self.table.joint):
            place = f"joint[{k}]"
            self.changes.check_between(place, joint.between, bodies)
            if joint.name is not None and joint.name in taken:
                raise toml.error(f"{place}.name", f"there is a joint {joint.name!r} already; names are for one each")
            taken.update([joint.name] if joint.name else [])
            with toml.at(place):
                self.changes.connect(self.world, place, joint, *map(self._body, joint.between))
        for k, spring in enumerate(self.table.spring):
            place = f"spring[{k}]"
            self.changes.check_between(place, spring.between, bodies)
            with toml.at(place):
                element = ForceElement.spring(
                    None, None, spring.stiffness, spring.length, at_a=spring.at_a, at_b=spring.at_b,
                    damping=spring.damping, tension=spring.tension,
                )  # fmt: skip
                self.world.structure.tie(element, *map(self._body, spring.between))

    def _body(self, name: str) -> Body | None:
        """A body by its name, as it is found at once among many; None for the world."""
        return None if name == THE_WORLD else self._bodies.get(name) or body_of(self.world, name)

    def _act(self, toml: Toml) -> None:
        """Set going what acts."""
        joints, bodies, guided = joint_names(self.world), body_names(self.world), []
        self._refuse_circles(toml)
        drives, forces = self.world.drives, self.world.forces
        calls: dict[str, Callable[..., Handle]] = {
            "motor": drives.motor, "servo": drives.servo, "drive": drives.force, "couple": drives.couple,
            "push": forces.apply_force,
        }  # fmt: skip
        for kind, call in calls.items():
            for k, table in enumerate(getattr(self.table, kind)):
                place = f"{kind}[{k}]"
                given = {name: getattr(table, name) for name in table.__struct_fields__ if name not in ("name", "path")}
                given = {name: value for name, value in given.items() if value is not None}
                for key, names, noun in (
                    ("joint", joints, "joint"), ("source", joints, "joint"), ("body", bodies, "body")
                ):  # fmt: skip
                    if key in given and given[key] not in names:
                        raise toml.error(f"{place}.{key}", nearest_name(given[key], list(names), noun))
                with toml.at(place):
                    for key, find in (("joint", joint_of), ("source", joint_of), ("body", body_of)):
                        if key in given:
                            given[key] = find(self.world, given[key])
                    handle = call(**given)
                name = table.name or f"{kind} {k}"
                if name in self.acting:
                    raise toml.error(f"{place}.name", f"something that acts is called {name!r} already")
                self.acting[name] = handle
                if kind == "servo" and table.path is not None:
                    guided.append((handle, _path(toml, f"{place}.path", table)))
        if guided:
            self.world.every(max(PATH_SAMPLE_TIME, self.world.dt), Guide(guided), name="paths")

    def _refuse_circles(self, toml: Toml) -> None:
        """A joint may follow one that follows another one, but not itself in the end."""
        follows: dict[str, str] = {}
        for k, table in enumerate(self.table.couple):
            if table.joint in follows:
                raise toml.error(f"couple[{k}].joint", f"joint {table.joint!r} follows another one already")
            follows[table.joint] = table.source
            seen, at = {table.joint}, table.source
            while at in follows and at not in seen:
                seen.add(at)
                at = follows[at]
            if at in seen:
                raise toml.error(f"couple[{k}]", f"joint {table.joint!r} would follow itself in the end")


class Guide:
    """Leads servos along their paths: a controller."""

    period: ClassVar[float] = PATH_SAMPLE_TIME

    def __init__(self, guided: list[tuple[Handle, Any]]) -> None:
        self.guided = guided

    def __call__(self, world: World) -> None:
        ahead = max(self.period, world.dt)
        for handle, path in self.guided:
            servo = handle.on(world)
            if isinstance(servo, Servo) and servo.alive:
                now, soon = (float(np.interp(t, path[:, 0], path[:, 1])) for t in (world.time, world.time + ahead))
                servo.position, servo.speed = now, (soon - now) / ahead


def _path(toml: Toml, place: str, table: ServoTable) -> Any:
    path = np.array(table.path)
    late = np.flatnonzero(np.diff(path[:, 0]) <= 0.0)
    if len(late):
        raise toml.error(f"{place}[{int(late[0]) + 1}]", "the times of a path must rise")
    return path


def _changed(toml: Toml, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a file with what each kind of table has by default, and with changes, those of lists by name."""
    table = dict(toml.table)
    usual, more = _tables(toml, "default", table.pop("default", {})), dict(changes.get("default", {}))
    for kind, common in usual.items():
        if isinstance(common, dict) and isinstance(more.get(kind), Mapping):
            usual = usual | {kind: drop_entries(kind, common, more[kind])}
    usual = merged(usual, more)
    changes = {name: value for name, value in changes.items() if name != "default"}
    for kind, common in usual.items():
        if not isinstance(common, dict) or not isinstance(table.get(kind, []), list):
            raise toml.error(f"default.{kind}", "defaults are tables, for kinds of which there are many, such as body")
        if kind not in SceneTable.__struct_fields__:
            raise toml.error(f"default.{kind}", nearest_name(kind, list(SceneTable.__struct_fields__), "table"))
        table[kind] = [
            drop_entries(kind, common, one) | one if isinstance(one, dict) else one for one in table.get(kind, [])
        ]
    for kind, value in changes.items():
        if isinstance(value, Mapping) and isinstance(table.get(kind), list):
            names = [one.get("name") for one in table[kind] if isinstance(one, dict)]
            for name in value:
                if name not in names:
                    raise toml.error(kind, nearest_name(str(name), [str(one) for one in names if one], kind))
            table[kind] = [
                merged(drop_entries(kind, one, value[one["name"]]), dict(value[one["name"]]))
                if isinstance(one, dict) and one.get("name") in value
                else one
                for one in table[kind]
            ]
        else:
            table = merged(table, {kind: dict(value) if isinstance(value, Mapping) else value})
    return table


def drop_entries(kind: str, table: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A table of a kind without what excludes something that more settings give."""
    groups = [group for group in EXCLUSIVE.get(kind, ()) if any(name in more for name in group)]
    gone = {name for group in groups for name in group if name not in more}
    left = {name: value for name, value in table.items() if name not in gone}
    for name in EXCLUSIVE:
        if isinstance(left.get(name), dict) and isinstance(more.get(name), Mapping):
            left[name] = drop_entries(name, left[name], more[name])
    return left


def _tables(toml: Toml, place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise toml.error(place, "this must be a table")
    return value
