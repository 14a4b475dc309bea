"""Changes of a running scene: connect, cut, re-root, add, remove, and new parameters of drives."""

from __future__ import annotations

from collections import Counter
from inspect import getattr_static
from typing import Any, NamedTuple

import numpy as np

from kinemorph._files import quoted
from kinemorph._toml import nearest_name
from kinemorph.motion.events import Event
from kinemorph.scenes.files.scene_events import Condition, condition
from kinemorph.scenes.files.scene_parts import THE_WORLD, Parts, body_names, body_of, joint_names, joint_of
from kinemorph.scenes.files.scene_tables import BodyTable, ChangeTable, JointTable, SetTable
from kinemorph.scenes.structure.breaking import Breaking
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest.forest import Edit
from kinemorph.world.body import Body
from kinemorph.world.control.drives import AppliedForce, Handle, Number
from kinemorph.world.control.events import EventRecord
from kinemorph.world.world import World

VECTORS = ("force", "torque")  # of a push
CHANGE_KEYS = ("cut", "remove", "add", "connect", "reroot", "set", "stop")  # in the order in which a change makes them


class SceneEvent(NamedTuple):
    """A change that was made, or was due and could not be made."""

    time: float  # s
    name: str
    what: str  # connect, cut, ...
    change: Edit | None  # what `World.connect`, `cut`, ... have said of it
    missed: str = ""  # why it was not made: what it names is not there


class Changes:
    """The changes of a scene: those that are waited for, those that wait for a body or joint to come, and the past."""

    def __init__(self, parts: Parts, tables: tuple[ChangeTable, ...], acting: dict[str, Handle]) -> None:
        self.parts, self.tables, self.acting = parts, tables, acting
        self.happened: list[SceneEvent] = []
        self.breaking = Breaking({})
        self._waiting = list(range(len(tables)))  # not in the world yet
        self._conditions: dict[int, Condition] = {}

    # ------------------------------------------------------------------------------------------------ before it runs

    def check(self, world: World) -> None:
        """Refuse what can never be, before anything moves."""
        bodies, joints = body_names(world), joint_names(world)
        added = [t.add.name for t in self.tables if t.add is not None]
        made = [t.connect.name for t in self.tables if t.connect is not None and t.connect.name]
        for name in added:
            bodies.setdefault(name, 1)
        for name in made:
            joints.setdefault(name, 1)
        taken = set(self.breaking.strengths)
        for k, table in enumerate(self.tables):
            place = f"change[{k}]"
            if (table.at is None) is (table.when is None):
                raise self.parts.toml.error(place, "give at (s) or when, one of them")
            if self.name(k) in taken:
                raise self.parts.toml.error(f"{place}.name", f"something is called {self.name(k)!r} already")
            taken.add(self.name(k))
            if table.when is not None:
                with self.parts.toml.at(f"{place}.when"):
                    self._conditions[k] = condition(table.when)
                    for noun, name in self._conditions[k].named:
                        _known(name, bodies if noun == "body" else joints, noun)
            if not table.ends and all(getattr(table, deed) is None for deed in CHANGE_KEYS):
                raise self.parts.toml.error(place, f"it changes nothing: give one of {', '.join(CHANGE_KEYS)} and ends")
            self._check_names(place, table, bodies, joints)
            if table.set is not None:
                self._check_set(f"{place}.set", table.set)
            if table.stop is not None and table.stop not in self.acting:
                raise self.parts.toml.error(
                    f"{place}.stop", nearest_name(table.stop, list(self.acting), "thing that acts")
                )

    def _check_names(self, place: str, table: ChangeTable, bodies: Counter[str], joints: Counter[str]) -> None:
        named = [("cut", "joint", table.cut), ("remove", "body", table.remove), ("reroot", "body", table.reroot)]
        if table.connect is not None:
            self.check_between(f"{place}.connect", table.connect.between, bodies)
            self.parts.joint(f"{place}.connect", table.connect)
            named += [("connect.between", "body", name) for name in table.connect.between if name != THE_WORLD]
        if table.add is not None and table.add.row is not None:
            raise self.parts.toml.error(f"{place}.add.row", "a change adds one body; give the others changes of theirs")
        for key, noun, name in named:
            if name is not None:
                with self.parts.toml.at(f"{place}.{key}"):
                    _known(name, joints if noun == "joint" else bodies, noun)

    def check_between(self, place: str, between: tuple[str, str], bodies: Counter[str]) -> None:
        """Refuse what two bodies cannot be."""
        if between[0] == between[1] or between[1] == THE_WORLD:
            text = f"{quoted(between[0])} and {quoted(between[1])}: name two bodies, or {THE_WORLD!r} and a body"
            raise self.parts.toml.error(f"{place}.between", text)
        for k, name in enumerate(between):
            if name != THE_WORLD:
                with self.parts.toml.at(f"{place}.between[{k}]"):
                    _known(name, bodies, "body")

    def _check_set(self, place: str, table: SetTable) -> None:
        if table.name not in self.acting:
            raise self.parts.toml.error(f"{place}.name", nearest_name(table.name, list(self.acting), "thing that acts"))
        kind, given = type(self.acting[table.name]), _given_numbers(table)
        if not given:
            settable = [name for name in SetTable.__struct_fields__ if name != "name" and _can_set(kind, name)]
            raise self.parts.toml.error(place, f"it sets nothing: give one of {', '.join(settable)}")
        for name, value in given:
            if not _can_set(kind, name):
                raise self.parts.toml.error(f"{place}.{name}", f"a {_called(kind)} has none that can be set")
            is_vector = isinstance(value, tuple)
            if is_vector is not (kind is AppliedForce) or (is_vector and len(value) != 3):
                many = "three numbers" if kind is AppliedForce else "one number"
                raise self.parts.toml.error(f"{place}.{name}", f"that of a {_called(kind)} is {many}")

    # ---------------------------------------------------------------------------------------------------- while it runs

    def name(self, k: int) -> str:
        """The name of a change."""
        return self.tables[k].name or f"change {k}"

    def arm(self, world: World) -> None:
        """Wait for those changes whose bodies and joints are there."""
        for k in list(self._waiting):
            table, name = self.tables[k], self.name(k)
            more: dict[str, Any] = {"name": name, "times": table.times, "ends": int(table.ends)}
            try:
                if table.at is not None:
                    event = Event.at(table.at, **more)
                else:
                    event = self._conditions[k].event(
                        lambda name: body_of(world, name).id, lambda name: joint_of(world, name), **more
                    )
            except KeyError:  # it comes later
                continue
            self._waiting.remove(k)
            with self.parts.toml.at(f"change[{k}]"):
                world.when(event, SceneChange(self, k))

    def perform(self, world: World, k: int, moment: EventRecord) -> None:
        """Make all that a change names; what is not there by now, or never came, is noted, and the rest is made."""
        table, place, name = self.tables[k], f"change[{k}]", self.name(k)
        with self.parts.toml.at(place):
            for what in CHANGE_KEYS:
                if (told := getattr(table, what)) is None:
                    continue
                try:
                    change = getattr(self, f"_{what}")(world, f"{place}.{what}", told)
                except KeyError as error:
                    missed = " ".join(str(error.args[0] if error.args else error).split())
                    self.happened.append(SceneEvent(moment.time, name, what, None, missed))
                else:
                    self.happened.append(SceneEvent(moment.time, name, what, change))
            if table.ends:
                self.happened.append(SceneEvent(moment.time, name, "end", None))
        self.arm(world)

    def _cut(self, world: World, place: str, joint: str) -> Edit:
        return world.cut(joint_of(world, joint))

    def _remove(self, world: World, place: str, body: str) -> Edit:
        return world.remove(body_of(world, body))

    def _add(self, world: World, place: str, table: BodyTable) -> None:
        self.parts.bodies(world, place, table, {body.name: body for body in world.bodies})

    def _reroot(self, world: World, place: str, body: str) -> Edit:
        return world.reroot(body_of(world, body))

    def _set(self, world: World, place: str, table: SetTable) -> None:
        for number, value in _given_numbers(table):
            setattr(self.acting[table.name].on(world), number, value)

    def _stop(self, world: World, place: str, name: str) -> None:
        handle = self.acting[name].on(world)
        if not handle.alive:
            raise KeyError(f"{quoted(name)} is gone: stopped, or what it acted on")
        handle.withdraw()

    def _connect(self, world: World, place: str, table: JointTable) -> Edit:
        if table.name is not None and table.name in joint_names(world):
            raise self.parts.toml.error(f"{place}.name", f"there is a joint {table.name!r} already")
        a, b = (None if name == THE_WORLD else body_of(world, name) for name in table.between)
        change = self.connect(world, place, table, a, b)
        if table.name is not None and table.strength > 0.0:
            self.breaking.watch(world, table.name)
        return change

    def connect(self, world: World, place: str, table: JointTable, a: Body | None, b: Body | None) -> Edit:
        """Join two bodies, or the world and a body, where they are now."""
        assert b is not None
        where: Pose | None = None
        if table.at == "middle":
            first = np.zeros(3) if a is None else a.position
            where = self.parts.turned(place, table.turn, 0.5 * (first + b.position))
        elif table.at is not None or table.turn is not None:
            where = self.parts.turned(place, table.turn, b.position if table.at is None else table.at)
        change = world.connect(a, b, self.parts.joint(place, table), where, table.how)
        if table.strength > 0.0:
            if table.name is None:
                raise self.parts.toml.error(f"{place}.name", "a joint that can break needs a name")
            self.breaking.strengths[table.name] = table.strength
        return change


class SceneChange:
    """The callback of a world for a change that is due."""

    def __init__(self, changes: Changes, k: int) -> None:
        self.changes, self.k = changes, k

    def __call__(self, world: World, moment: EventRecord) -> None:
        self.changes.perform(world, self.k, moment)


def _known(name: str, names: Counter[str], noun: str) -> None:
    if name not in names:
        raise ValueError(nearest_name(name, list(names), noun))
    if names[name] > 1:
        raise ValueError(f"there are {names[name]} of {noun} {quoted(name)}; say which, as FIGURE/{name}")


def _called(kind: type[Handle]) -> str:
    """The name of this kind of handle in scene files."""
    return "push" if kind is AppliedForce else kind.word


def _can_set(kind: type[Handle], name: str) -> bool:
    """Whether what acts has such a number."""
    return isinstance(getattr_static(kind, name, None), Number | property)


def _given_numbers(table: SetTable) -> list[tuple[str, Any]]:
    numbers = ((name, getattr(table, name)) for name in table.__struct_fields__ if name != "name")
    return [(name, value) for name, value in numbers if value is not None]
