"""Brain instances: brains that live in a world. Their rows are tables of the world; a handle only says which."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinemorph.brain import layout
from kinemorph.multibody.layout import DOF
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import LOOP, joint_row
from kinemorph.multibody.tables import BYTE, CACHE_LINE_BYTES, Tables, aligned_at
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import vector
from kinemorph.structure.forest.layout import EDIT, OUTCOME
from kinemorph.structure.forest.validation import require, require_finite, require_range, require_rows
from kinemorph.world.body import Body
from kinemorph.world.brains.instance_rows import MIND, MINDS, MINDS_KIND, NO_TARGET

if TYPE_CHECKING:
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
F8 = np.dtype(np.float64)
# Tables of rows that minds have a stretch of: the table, its room, and in a MIND its first row and how many.
STRETCHES: tuple[tuple[str, str, str, Callable[[Any], int]], ...] = (
    ("neurons", "neuron_room", "neurons", lambda one: int(one["neuron_count"])),
    ("senses", "sense_room", "senses", lambda one: int(one["sense_count"])),
    ("effects", "effect_room", "effects", lambda one: int(one["effect_count"])),
    (
        "signals", "signal_room", "signals",
        lambda one: layout.FIRST_NEURON_SIGNAL + int(one["neuron_count"] + one["sense_count"]),
    ),
    ("rings", "ring_room", "rings", lambda one: layout.LONGEST_DELAY_PASSES * int(one["ring_count"])),
)  # fmt: skip
STRETCH = {name: (first, count) for name, _, first, count in STRETCHES}
ROWS = {"neurons": layout.NEURON, "senses": layout.SENSE, "effects": layout.EFFECT, "signals": F8, "rings": F8}
OF_GRASPS = {"edits": (1, EDIT), "outcomes": (1, OUTCOME), "fixed": (1, LOOP), "free": (1, LOOP), "free_dofs": (6, DOF)}
USED: dict[str, str | None] = {"fresh": None, **dict.fromkeys(OF_GRASPS)}
FIXED, LOOSE = Joint.fixed(), Joint.free()


class BrainInstances:
    """The rows of all minds of a world."""

    __slots__ = ("_tables", "header", "room")
    room: InstanceMemory  # of the mind that came last

    def __init__(self, tables: Tables) -> None:
        """`tables` are as `first_tables` are."""
        self._tables, self.header = tables, tables.header

    @classmethod
    def first_tables(cls) -> Tables:
        """All tables, as they are at first."""
        return cls(Tables(MINDS, USED))._fill()

    def _fill(self) -> Tables:
        self.header["kind"] = MINDS_KIND
        self._tables.make("minds", 0, MIND)
        for name, dtype in ROWS.items():
            self._tables.make(name, 0, dtype)
        for name, (room, dtype) in OF_GRASPS.items():
            self._tables.make(name, room, dtype)
        self._make_scratch()
        return self._tables

    def _make_scratch(self) -> None:
        """What rows do not keep: room for fresh signals, and what grasps need."""
        self._tables.make("fresh", int(self.header["signal_room"][0]), F8)
        self._tables["fixed"][:], self._tables["free"][:] = joint_row(FIXED), joint_row(LOOSE)
        self._tables["free_dofs"][:] = LOOSE.rows[1]

    @property
    def address(self) -> int:
        return self._tables.address

    @property
    def count(self) -> int:
        """Rows that have ever been used."""
        return int(self.header["mind_count"][0])

    def __getitem__(self, name: str) -> Any:
        return self._tables[name]

    def part(self, name: str, row: int) -> Any:
        """The rows of one mind in a table."""
        one = self["minds"][row]
        first, count = STRETCH[name]
        start = int(one[first])
        return self[name][start : start + count(one)]

    def add(self, room: InstanceMemory, alone: bool) -> int:
        """Add a mind with its parts of all tables, as `engage` has filled them; ended ones give up their places.

        If it is alone the tables are its own, and the header says so already.
        """
        if alone:
            self._tables.move_to(room.memory, room.places)
            return 0
        parts = {name: np.ndarray(*place[:2], room.memory, place[2]) for name, place in room.places.items()}
        mind, count, h = parts["minds"], self.count, self.header[0]
        ended = [i for i, body in enumerate(self["minds"]["body"].tolist()) if body < 0]
        row = ended[0] if ended else count
        all_parts = [parts if i == row else self._parts(i) for i in range(max(count, row + 1))]
        minds = np.zeros(len(all_parts), MIND)
        minds[:count] = self["minds"]
        mind["generation"] = minds[row]["generation"]
        minds[row] = mind[0]
        for name, has_room, first, _ in STRETCHES:
            joined = np.concatenate([one[name] for one in all_parts])
            self._tables.take(name, joined)
            h[has_room] = len(joined)
            minds[first] = [0, *itertools.accumulate(len(one[name]) for one in all_parts[:-1])]
        self._tables.take("minds", minds)
        h["mind_room"] = h["mind_count"] = len(minds)
        self._tables.make("fresh", int(h["signal_room"]), F8)
        return row

    def _parts(self, row: int) -> dict[str, Any]:
        """The rows of one mind in all tables; none, if it has ended."""
        if self["minds"][row]["body"] >= 0:
            return {name: self.part(name, row).copy() for name, *_ in STRETCHES}
        one = self["minds"][row]
        for name in ("neuron_count", "sense_count", "effect_count", "ring_count"):
            one[name] = 0
        counts = {"signals": layout.FIRST_NEURON_SIGNAL}
        return {name: np.zeros(counts.get(name, 0), ROWS[name]) for name, *_ in STRETCHES}

    def __getstate__(self) -> Tables:
        return self._tables

    def __setstate__(self, tables: Tables) -> None:
        self._tables, self.header = tables, tables.header
        self._make_scratch()

    def plain(self) -> Iterable[Any]:
        """All that decides how minds go on, for digests."""
        h = self.header[0]
        if not self.count:
            return
        yield np.array([h["grasps_pending"], h["changed"]], np.int64)
        for i in np.flatnonzero(self["minds"]["body"] >= 0).tolist():
            one = self["minds"][i]
            yield from (one[name] for name in MIND.names or () if name not in PLACES)
            for name, *_ in STRETCHES:
                rows = self.part(name, i)
                yield from ([rows] if rows.dtype.names is None else [rows[field] for field in rows.dtype.names])


class InstanceMemory:
    """Memory for a mind: its MIND row, and its parts of all tables, of zeros.

    `addresses` are those of the tables in `ORDER`, followed by how many rows each of them has.
    """

    __slots__ = ("addresses", "memory", "places")

    def __init__(self, neurons: int, senses: int, effects: int, rings: int) -> None:
        signals, at = layout.FIRST_NEURON_SIGNAL + neurons + senses, 0
        counts = 1, signals, neurons, senses, effects, signals, layout.LONGEST_DELAY_PASSES * rings
        self.places: dict[str, tuple[int, Any, int]] = {}
        starts = []
        for (name, dtype, size), count in zip(ORDER, counts, strict=True):
            self.places[name] = count, dtype, at
            starts.append(at)
            at += (count * size + CACHE_LINE_BYTES - 1) // CACHE_LINE_BYTES * CACHE_LINE_BYTES
        self.memory, start = aligned_at(at, BYTE)
        self.addresses = np.array([start + at for at in starts] + [*counts], np.int64)


ORDER = [(name, dtype, dtype.itemsize) for name, dtype in (("minds", MIND), ("fresh", F8), *ROWS.items())]


PLACES = {"generation", "unused", "neurons", "senses", "effects", "signals", "rings"}


@checked_on_failure
class BrainInstance:
    """A brain in the body of a figure: it senses, thinks and acts in every step of the world that it is due.

    `target` is the body or the point that it may sense, `blank` whether all senses read 0, `asleep` whether it neither
    thinks nor acts. It ends with the body that it is in, the first of its figure.
    """

    __slots__ = ("_generation", "row", "world")

    def __init__(self, world: World, row: int) -> None:
        self.world, self.row = world, row
        self._generation = int(world._brain_instances["minds"][row]["generation"])

    def on(self, world: World) -> Self:
        """The same one in a copy of its world."""
        if type(world) is not type(self.world) or self.row >= len(world._brain_instances["minds"]):
            raise ValueError(f"{self!r}: world is {repr_of(world)}, which is no copy of its world")
        other = type(self)(world, self.row)
        other._generation = self._generation
        return other

    @property
    def alive(self) -> bool:
        """Whether it goes on thinking."""
        return self._found() is not None

    def _found(self) -> Any:
        minds = self.world._brain_instances["minds"]
        if self.row >= len(minds):
            return None
        one = minds[self.row]
        goes_on = one["generation"] == self._generation and self.world.forest.has_body(int(one["body"]))
        return one if goes_on else None

    def _one(self) -> Any:
        one = self._found()
        if one is None:
            raise KeyError(f"mind {self.row} has ended: the body that it was in is gone")
        return one

    def check_alive(self) -> None:
        """Raise KeyError if it has ended."""
        self._one()

    @property
    def body(self) -> Body:
        """The body that it is in."""
        return self.world.body(int(self._one()["body"]))

    @property
    def target(self) -> Body | Array | None:
        """What it may sense the way to: a body, or a point (m)."""
        one = self._one()
        if one["target"] == NO_TARGET:
            return None
        if one["target"] < 0:
            return np.array(one["point"])
        return self.world.body(int(one["target"])) if self.world.forest.has_body(int(one["target"])) else None

    @target.setter
    def target(self, target: Body | Iterable[float] | None) -> None:
        self._one()
        aim, point = target_fields(self.world, target)
        self.world.brains.set_instance(self.row, {"target": aim, "point": point} if aim == -1 else {"target": aim})

    @property
    def blank(self) -> bool:
        """Whether all of its senses read 0."""
        return bool(self._one()["blank"])

    @blank.setter
    def blank(self, value: bool) -> None:
        self._one()
        self.world.brains.set_instance(self.row, {"blank": int(bool(value))})

    @property
    def asleep(self) -> bool:
        """Whether it neither thinks nor acts; when it wakes, its first pass comes before the next step."""
        return bool(self._one()["asleep"])

    @asleep.setter
    def asleep(self, value: bool) -> None:
        self._one()
        self.world.brains.set_instance(self.row, {"asleep": int(bool(value))})

    @property
    def values(self) -> Array:
        """What its neurons said in the last pass."""
        one = self._one()
        signals = self.world._brain_instances.part("signals", self.row)
        return np.array(signals[layout.FIRST_NEURON_SIGNAL : layout.FIRST_NEURON_SIGNAL + int(one["neuron_count"])])

    @property
    def sensed(self) -> Array:
        """What its senses read in the last pass."""
        first = layout.FIRST_NEURON_SIGNAL + int(self._one()["neuron_count"])
        return np.array(self.world._brain_instances.part("signals", self.row)[first:])

    @property
    def holds(self) -> list[int]:
        """The joints by which its grasps hold something now."""
        self._one()
        held = self.world._brain_instances.part("effects", self.row)["held"].tolist()
        return [joint for joint in held if joint >= 0 and self.world.forest.has_joint(joint)]

    @property
    def nan_count(self) -> int:
        """Values that would have been no number, and became 0."""
        return int(self._one()["lost"])

    @property
    def ticks(self) -> int:
        """Passes that it has made."""
        return int(self._one()["ticks"])

    def __repr__(self) -> str:
        return f"BrainInstance in {self.body!r}" if self.alive else "BrainInstance that has ended"


def target_fields(world: World, target: Any) -> tuple[int, tuple[float, ...]]:
    """The fields `target` and `point` of a MIND."""
    if target is None:
        return NO_TARGET, NO_POINT
    if isinstance(target, Body):
        return world._id(target), NO_POINT
    if isinstance(target, int | np.integer):
        return world._id(int(target)), NO_POINT
    return -1, tuple(vector(target, 3, "mind: target").tolist())


NO_POINT = (0.0, 0.0, 0.0)


def check_instances(tables: Any) -> None:
    """Raise ValueError unless these are tables of minds that kernels may follow, drives aside."""
    require(isinstance(tables, Tables) and tables.header.dtype == MINDS, "minds have other tables")
    minds = tables.header[0]
    require(minds["kind"] == MINDS_KIND and tables.used == USED, "minds have another layout")
    rooms = {name: int(minds[room]) for name, room, *_ in STRETCHES}
    of_grasps = {name: room for name, (room, _) in OF_GRASPS.items()}
    rooms |= {"minds": int(minds["mind_room"]), "fresh": int(minds["signal_room"]), **of_grasps}
    dtypes = ROWS | {name: dtype for name, (_, dtype) in OF_GRASPS.items()} | {"minds": MIND, "fresh": F8}
    require({name for name, _ in tables} == set(rooms), "minds have other tables")
    for name, rows in tables:
        require_rows(rows, dtypes[name], f"{name} of minds", rooms[name])
    fits = minds["mind_count"] == minds["mind_room"] and 0 <= minds["changed"] < 8
    require(fits, "minds are not as many as they are")
    for name in ("neurons", "senses", "effects"):
        require_finite(tables[name], name)
    require(all(np.isfinite(tables[name]).all() for name in ("signals", "rings")), "minds have no numbers")
    require_range(tables["neurons"]["function"], 0, len(layout.Function), "functions of neurons")
    require_range(tables["senses"]["what"], 0, len(layout.Sensed), "senses")
    require_range(tables["senses"]["axis"], 0, 6, "axes of senses")
    require_range(tables["effects"]["what"], 0, len(layout.Acted), "effects")
    require_range(tables["effects"]["body"], -1, 1 << 62, "bodies of effects")
    require_range(tables["effects"]["held"], -1, 1 << 62, "joints of effects")
    for one in tables["minds"]:
        _check_mind(tables, one, rooms)


def _check_mind(tables: Tables, one: Any, rooms: dict[str, int]) -> None:
    for name, _, first, count in STRETCHES:
        start, length = int(one[first]), count(one)
        require(start >= 0 and length >= 0 and start + length <= rooms[name], f"a mind has no such {name}")
    require(all(one[name] >= 0 for name in ("neuron_count", "sense_count", "ring_count")), "a mind has no such rows")
    require(-1 <= one["body"] < 1 << 62 and NO_TARGET <= one["target"] < 1 << 62, "a mind is in no body")
    require(one["period"] > 0.0 or one["body"] < 0, "a mind has no rate")
    require(np.isfinite([one["start"], one["period"], one["weight"], *one["point"]]).all(), "a mind has no numbers")
    require(0 <= one["ticks"] < 1 << 62 and (one["weight"] > 0.0 or one["body"] < 0), "a mind has no time or weight")
    signals = layout.FIRST_NEURON_SIGNAL + int(one["neuron_count"] + one["sense_count"])
    a, b = int(one["neurons"]), int(one["effects"])
    neurons = tables["neurons"][a : a + int(one["neuron_count"])]
    require_range(neurons["sources"].ravel(), 0, signals, "sources of neurons")
    require_range(tables["effects"][b : b + int(one["effect_count"])]["source"], 0, signals, "sources of effects")
    rings = neurons["ring"][neurons["function"] == layout.Function.DELAY]
    require_range(rings, 0, int(one["ring_count"]), "rings of delays")
