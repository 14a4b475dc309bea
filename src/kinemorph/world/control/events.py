"""Events of a world: what to wait for, and what to do when it has happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.motion.event_time import find_crossed_events, signs_of_values
from kinemorph.motion.events import DEAD, EVENT, Event, EventKind, check_events
from kinemorph.multibody.layout import JointKind
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import vector
from kinemorph.spatial.products import length
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.control.event_functions import ANYTHING, GROUND, measure_events_now
from kinemorph.world.control.known_events import known_again, lasting, learn, next_number
from kinemorph.world.world_state import OfWorld

if TYPE_CHECKING:
    from kinemorph.world.body import Body
    from kinemorph.world.world import World

OF_LOOPS = EventKind.FORCE, EventKind.MOMENT
OF_JOINTS = EventKind.POSITION, EventKind.VELOCITY, EventKind.LIMIT, EventKind.LOAD, *OF_LOOPS
OF_POINTS = EventKind.ALONG, EventKind.DISTANCE
TOUCHING = EventKind.CONTACT, EventKind.IMPULSE
NO_EVENTS = np.zeros(0, EVENT)


@dataclass(frozen=True, eq=False)
class EventRecord:
    """An event that has happened in a world: what its action is told."""

    event: Event
    time: float  # s
    body: Body | None  # that it is about, if it is about one
    other: Body | None  # None: the ground, or nothing
    value: float  # of what it measures: N s, m, rad, ...
    why: str  # for a body that has woken: by what

    @property
    def name(self) -> str:
        return self.event.name


Action = Callable[["World", EventRecord], Any]


@checked_on_failure
class EventMonitor:
    """An event that a world waits for. `count` is how often it has happened; after `cancel` it never will again."""

    __slots__ = ("_all", "_lacks", "_number", "_places", "_saved", "action", "cancelled", "count", "event")
    _all: EventMonitors  # that it is one of

    def __init__(
        self, event: Event, action: Action | None, places: list[int | None], number: int, count: int = 0
    ) -> None:  # fmt: skip
        self.event, self.action, self.count, self.cancelled = event, action, count, False
        self._saved = False  # in a snapshot
        self._number = number  # by which snapshots know it: its world has given it to no other one
        self._lacks = False  # functions that it had when a snapshot was made
        self._places = places  # ids of its bodies or its joint; None where it is the ground, or anything

    def cancel(self) -> None:
        """It is not waited for any more."""
        self.cancelled = True

    @property
    def done(self) -> bool:
        """Whether it will not happen any more."""
        return self.cancelled or self.count >= self.event.times

    @property
    def value(self) -> float:
        """What it has measured in the last step: N s, N, m, rad, ..., as `EventRecord.value` is."""
        return self._all.value_of(self)

    def _resume(self, other: EventMonitor) -> EventMonitor:
        """Be waited for as another one, of a snapshot, is."""
        self.count, self.cancelled, self._places = other.count, False, other._places
        self._lacks = self._lacks and other._lacks
        return self

    def __repr__(self) -> str:
        return f"EventMonitor of {self.event.name!r}, which has happened {self.count} times"


class EventMonitors(OfWorld):
    """All events that a world waits for, and their rows.

    An event is known after it is over: a world that goes back to before it has happened, or was cancelled, waits for it
    again, with the functions and the handle that it had.
    """

    __slots__ = ("_known", "_monitors", "_rows")

    def __init__(self) -> None:
        self._monitors: list[EventMonitor] = []
        self._rows = NO_EVENTS
        self._known: dict[int, EventMonitor] = {}  # all that there have been, by their numbers

    def join(self, world: World) -> None:
        """Be those of a world."""
        super().join(world)
        for monitor, row in zip(self._monitors, self._rows, strict=True):
            monitor._all = self
            self._describe(monitor, row)
        if self._monitors:  # most worlds wait for nothing
            self._lend()

    def __getstate__(self) -> tuple[Any, ...]:
        return self._monitors, self._rows, lasting(self._known, self._monitors)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._monitors, self._rows, self._known = state

    def __len__(self) -> int:
        return len(self._monitors)

    def __iter__(self) -> Any:
        return iter(self._monitors)

    def add(self, event: Event, action: Action | None) -> EventMonitor:
        """Wait for an event from now on."""
        check_events([event], world=True)
        if action is not None and not callable(action):
            raise TypeError(f"event {event.name!r}: its action must be a function, not {repr_of(action)}")
        for monitor in self._monitors:
            if monitor._lacks and monitor.event.name == event.name:  # it comes from a snapshot, and goes on
                if monitor.event.kind != event.kind:
                    raise ValueError(
                        f"event {event.name!r} was of kind {monitor.event.kind.name}, not {event.kind.name}"
                    )
                monitor.event, monitor.action, monitor._lacks = event, action, False
                return monitor
        monitor = EventMonitor(
            event, action, [self._id(event, place) for place in event.places], next_number(self._known)
        )
        row = np.zeros(1, EVENT)
        self._describe(monitor, row[0])
        if not row[0]["awake"] and event.kind in OF_LOOPS:
            raise ValueError(
                f"event {event.name!r}: that joint closes no loop; Event.load tells what one of a tree bears"
            )
        if not row[0]["awake"]:
            raise ValueError(
                f"event {event.name!r}: there is no entry {event.entry} of that joint, or it closes a loop"
            )
        monitor._all = self
        self._monitors.append(monitor)
        self._rows = np.concatenate([self._rows, row])
        self._lend()
        try:
            self._begin(monitor)
        except BaseException:  # of a function of the user's
            self._monitors, self._rows = self._monitors[:-1], self._rows[:-1].copy()
            self._lend()
            raise
        learn(self._known, monitor, self._monitors)
        return monitor

    def _begin(self, monitor: EventMonitor) -> None:
        """On which side the function of the last one is now."""
        event, new = monitor.event, self._rows[-1]
        if event.kind is EventKind.LOAD:  # what it has borne before now is not known
            new["side"] = -1
        elif event.kind in TOUCHING:  # a contact that exists already does not begin
            touching = any(self._is_about(monitor, touch) for touch in self._world.contacts())
            new["side"] = 1 if touching and event.kind is EventKind.CONTACT else -1
        else:
            before = self._rows["g"].copy()
            measure_events_now(self._world._address)
            self._rows["g"][:-1] = before[:-1]
            self._call()
            new["side"] = signs_of_values(self._rows)[-1]
            if event.kind is EventKind.TIME and event.level >= self._world.time:
                new["side"] = -1

    def _id(self, event: Event, place: Any) -> int | None:
        """The id of a body, or of a joint, that is given by its name, itself or its id."""
        if event.kind in OF_JOINTS:
            return self._world.joint_id(place)
        if place is None or (isinstance(place, int) and place == GROUND):
            return None
        if isinstance(place, str):
            return None if place == "ground" and place not in self._world else self._world[place].id
        return self._world._id(place)

    def _describe(self, monitor: EventMonitor, row: Any) -> None:
        e = monitor.event
        row["kind"], row["direction"], row["level"], row["dead"] = e.kind, e.direction, e.level, DEAD
        points = tuple(e.points) or ((0.0,) * 3,) * 2
        if len(points) != 2:
            raise ValueError(f"event {e.name!r}: points is {repr_of(e.points)}, and must be two points")
        row["pa"], row["pb"] = (vector(p, 3, f"event {e.name!r}") for p in points)
        n = vector(e.along, 3, f"event {e.name!r}")
        row["n"] = n / length(n)
        self._find(monitor, row)

    def _find(self, monitor: EventMonitor, row: Any) -> None:
        """Where its bodies or its joint are now; it rests for ever once one of them is gone."""
        e, world = monitor.event, self._world
        row["awake"] = not monitor.done
        alive = world.forest.has_joint if e.kind in OF_JOINTS else world.forest.has_body
        if any(id is not None and not alive(id) for id in monitor._places):
            row["awake"] = 0
            return
        if e.kind in OF_JOINTS:
            joint = monitor._places[0] or 0
            row["b"], row["index"] = joint & ID_INDEX_MASK, e.entry
            loop = world.forest.closes_loop(joint)
            if e.kind is EventKind.LOAD:
                if not loop and world.forest._carried(joint)[1]["kind"] == JointKind.FREE:
                    raise ValueError(f"event {e.name!r}: joint {joint} is free, and bears nothing")
                return
            if e.kind in OF_LOOPS:
                row["awake"] = row["awake"] and loop  # one that carries a body bears what `load` tells
                return
            if loop:  # it has no part of q and v for now
                row["awake"] = 0
                return
            size = len((world.forest.velocity if e.kind is EventKind.VELOCITY else world.forest.position)(joint))
            if e.kind is not EventKind.LIMIT and not 0 <= e.entry < size:
                row["awake"] = 0
            return
        for side, place, id in zip("ab", e.places, monitor._places, strict=False):
            nothing = ANYTHING if place is None else GROUND
            row[side] = nothing if id is None else id & ID_INDEX_MASK

    def _is_about(self, monitor: EventMonitor, touch: Any) -> bool:
        sides = [None if body is None else body.id for body in (touch.body, touch.other)]
        a, b = monitor._places
        anything = monitor.event.places[1] is None
        return any(x == a and (anything or y == b) for x, y in (sides, sides[::-1]))

    def follow(self) -> None:
        """The structure has changed."""
        for monitor, row in zip(self._monitors, self._rows, strict=True):
            self._find(monitor, row)

    def value_of(self, monitor: EventMonitor) -> float:
        """What an event that is waited for has measured in the last step."""
        row = self._rows[self._monitors.index(monitor)]
        return float(row["g"] + row["level"])

    @property
    def _retired(self) -> bool:
        """Whether the world waits for other events by now: an action has made it forget all, or restored it."""
        return self._world._monitors is not self

    def _lend(self) -> None:
        h = self._world._header[0]
        h["events"], h["event_count"] = self._rows.ctypes.data, len(self._rows)

    @property
    def calls(self) -> bool:
        """Whether some functions are Python's, so that steps must be made one by one."""
        return any(w.event.kind is EventKind.CALL and not w.done for w in self._monitors)

    def _call(self) -> None:
        for monitor, row in zip(self._monitors, self._rows, strict=True):
            e = monitor.event
            if e.kind is EventKind.CALL and e.function is not None and not monitor.done:
                try:
                    g = float(e.function(self._world))  # type: ignore[call-arg, arg-type, misc]
                except Exception as error:
                    raise self._world._failure(f"event {e.name!r}", error) from error
                if not np.isfinite(g):
                    raise self._world._failure(f"event {e.name!r}", f"its function is {g}")
                row["g"] = g

    def happen(self) -> bool:
        """After a step: let all happen that has happened in it, in the order of `add`. Whether the run ends."""
        self._call()
        fired = find_crossed_events(self._rows)
        s = signs_of_values(self._rows)
        values = self._rows["g"] + self._rows["level"]
        self._rows["side"] = np.where((s != 0) & (self._rows["awake"] != 0), s, self._rows["side"])
        ends = False
        for i in fired:
            monitor = self._monitors[i]
            if self._rows[i]["awake"] and not monitor.done:  # it may be gone by an event of the same step
                ends |= self._one(monitor, float(values[i]))
                if self._retired:
                    return ends
        if any(monitor.done for monitor in self._monitors):
            keep = [not monitor.done for monitor in self._monitors]
            self._monitors = [monitor for monitor, kept in zip(self._monitors, keep, strict=True) if kept]
            self._rows = self._rows[np.array(keep)]
            self._lend()
        return ends

    def _one(self, monitor: EventMonitor, value: float) -> bool:
        e, world = monitor.event, self._world
        of_bodies = e.kind not in OF_JOINTS
        bodies = [None if id is None or not of_bodies else world.body(id) for id in (*monitor._places, None, None)[:2]]
        if e.kind is EventKind.ALONG:  # the first place is the one that looks
            bodies.reverse()
        if e.kind in TOUCHING and e.places[1] is None:  # whatever it was
            hardest = max(world.contacts(monitor._places[0]), key=lambda touch: touch.normal_force, default=None)
            bodies[1] = None if hardest is None else hardest.other
        woken = bodies[0] if e.kind is EventKind.SLEEP and value < 0.0 else None
        why = "" if woken is None else world.sleep.why_awake(woken)
        moment = EventRecord(e, world.time, bodies[0], bodies[1], value, why)
        try:
            if e.only is not None and not e.only(world, moment):
                return False
            monitor.count += 1
            for action in (e.action, monitor.action):
                if action is not None:
                    action(world, moment)
        except Exception as error:
            raise world._failure(f"event {e.name!r}", error) from error
        return monitor.count == e.ends

    # --- snapshots, which have no functions ---

    def plain(self) -> tuple[Any, ...]:
        """What a snapshot keeps: of each the plain parts of its event, its bodies or joint, and its row."""
        listed, waits = [], [not monitor.cancelled for monitor in self._monitors]
        for monitor in compress(self._monitors, waits):
            e, monitor._saved = monitor.event, True
            lacks = monitor._lacks or any(f is not None for f in (e.action, e.only, e.function, monitor.action))
            grounds = [place is not None for place in e.places]
            numbers = [float(x) for part in (*e.points, e.along) for x in part]
            settings = e.direction, int(e.ends), float(e.times), int(e.kind), float(e.level), int(e.entry)
            places = list(monitor._places)
            listed.append((e.name, *settings, grounds, numbers, places, monitor._number, monitor.count, lacks))
        return listed, self._rows if all(waits) else self._rows[np.array(waits)]

    @staticmethod
    def of(plain: tuple[Any, ...]) -> EventMonitors:
        """The same without functions."""
        made = EventMonitors()
        listed, made._rows = plain
        for name, direction, ends, times, kind, level, entry, grounds, numbers, ids, number, count, lacks in listed:
            each = [tuple(numbers[k : k + 3]) for k in range(0, len(numbers), 3)]
            places = tuple(
                (GROUND if id is None else id) if there else None for there, id in zip(grounds, ids, strict=True)
            )
            event = Event(
                name, None, direction, ends=ends, times=times, kind=EventKind(kind), level=level, entry=entry,
                places=places, points=tuple(each[:-1]), along=each[-1],
            )  # fmt: skip
            monitor = EventMonitor(event, None, ids, number, count)
            monitor._lacks, monitor._saved = lacks, True
            made._monitors.append(monitor)
            made._known[number] = monitor
        return made

    def adopt(self, others: EventMonitors) -> None:
        """Have the events that a world has known in place of those of a snapshot that are the same."""
        found = known_again(self._monitors, others._known, lambda monitor: _likeness(monitor.event))
        self._monitors = [old._resume(monitor) for old, monitor in zip(found, self._monitors, strict=True)]
        self._known = others._known
        for monitor in self._known.values():
            monitor._all = self

    def refuse_orphans(self) -> None:
        """Raise for an event of a snapshot that has no functions yet."""
        for monitor in self._monitors:
            if monitor._lacks:
                text = f"world: event {monitor.event.name!r} of a snapshot has no action yet"
                raise RuntimeError(f"{text}: give it one by world.when with an event of that name")


def _likeness(e: Event) -> tuple[Any, ...]:
    """By what an event is known again."""
    return e.name, e.kind, e.direction, float(e.level)
