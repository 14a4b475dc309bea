"""Events: functions of a moving mechanism whose change of sign stops time, and what to do then.

The common functions are rows that kernels evaluate (`measure`), so that one call makes many steps and stops at the
first change of sign. Names are looked up again whenever the structure has changed: a link keeps its name, and the place
of a point on it, whatever carries it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from numbers import Integral
from typing import Any

import numpy as np

from kinemorph.constraint.loops import joint_frames
from kinemorph.jit.api import kernel
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import link_data_of, links_of
from kinemorph.multibody.loop_layout import system_loops_of
from kinemorph.multibody.model.declared import declared_position, declared_velocity
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.multibody.system import constraint_rows_of, system_of
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_number, check_limit, check_text, check_whole, repr_of
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.pose import vector
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, dot, sub
from kinemorph.structure.report import ModelEdit

Function = Callable[[Model, State, Data], float]  # of the structure, its state, and its data after `kinematics`
Outcome = ModelEdit | tuple[Model, State] | None
Action = Callable[..., Outcome]  # of the structure and its state and, if it takes three arguments, its data

DEAD = 1e-12  # how near to zero a function has no sign


class EventKind(IntEnum):
    """What an event's function measures. The value is what rows store."""

    CALL = 0  # a Python function
    TIME = 1  # s
    ALONG = 2  # m, how far a point is along a direction, seen from a place
    DISTANCE = 3  # m, of two points
    POSITION = 4  # rad or m, an entry of q
    VELOCITY = 5  # rad/s or m/s, an entry of v
    FORCE = 6  # N, of a loop on its second link, along a direction of its joint's frame on the first
    MOMENT = 7  # N m, likewise
    CONTACT = 8  # 1 if two bodies of a world touch, else -1
    IMPULSE = 9  # N s, with which they have pressed in a step
    LIMIT = 10  # 1 if a joint is at one of its limits, else -1
    SLEEP = 11  # 1 if a body sleeps, else -1
    LOAD = 12  # N or N m, mean force or moment through a joint of a world in a step


CALL, TIME, ALONG, DISTANCE, POSITION, VELOCITY, FORCE, MOMENT, CONTACT, IMPULSE, LIMIT, SLEEP, LOAD = map(
    int, EventKind
)
STOP, HELD = LOAD + 1, LOAD + 2  # of joints at limits, by a simulation itself: how far it is, and what holds it there
IN_WORLDS = EventKind.CONTACT, EventKind.IMPULSE, EventKind.LIMIT, EventKind.SLEEP, EventKind.LOAD

EVENT = np.dtype(
    [
        ("kind", "i4"),  # EventKind
        ("direction", "i4"),  # the sign after the change: 1 upwards, -1 downwards, 0 either
        ("awake", "i4"),  # whether what it measures exists now
        ("side", "i4"),  # sign of the function so far, 0 if it is not known yet
        ("a", "i4"),  # link, -1 for the base
        ("b", "i4"),  # link, of a joint the one that it carries; or a loop
        ("index", "i4"),  # entry of the joint's part of q or v; of a LOAD 1 for its moment, 0 for its force
        ("pa", "f8", 3),  # m, point on a
        ("pb", "f8", 3),  # m, point on b
        ("n", "f8", 3),  # direction
        ("level", "f8"),  # value at which the function is zero
        ("dead", "f8"),  # a function nearer to zero than this has no sign
        ("g", "f8"),  # the function; `measure`
    ],
    align=True,
)


@checked_first
@dataclass(frozen=True, eq=False)
class Event:
    """Something to wait for, and what to do when it happens.

    Its function is zero at the event; `direction` says which changes of sign count: 1 upwards, -1 downwards, 0 both.
    `action` gets the model and the state at that instant (and, if it takes three arguments, its `Data` after
    `kinematics`), and returns a `ModelEdit` of `connect`, `cut` or `reroot`, or a model and a state, or None if nothing
    changes. Where `only`, a function of the same, says False, nothing has happened. `times` is how often the
    event happens at most, and the simulation ends when it has happened `ends` times (True is once, 0 is never).
    """

    name: str
    function: Function | None = None
    direction: int = 0
    action: Action | None = None
    only: Callable[..., bool] | None = None
    ends: bool | int = 0
    times: float = np.inf
    kind: EventKind = EventKind.CALL
    level: float = 0.0
    places: tuple[Any, ...] = ()  # names or indices; in worlds also bodies, and None for anything
    points: tuple[Iterable[float], ...] = ()
    along: Iterable[float] = (0.0, 0.0, 1.0)
    entry: int = 0
    later: bool = False  # what it measures need not be there at the start

    @staticmethod
    def at(time: float, action: Action | None = None, name: str = "", **more: Any) -> Event:
        """At a given time, once."""
        return _make_event(name or f"t = {_level_text(time)} s", EventKind.TIME, action, more, level=time, direction=1)

    @staticmethod
    def height(
        place: Any,
        level: float = 0.0,
        action: Action | None = None,
        *,
        point: Iterable[float] = (0.0, 0.0, 0.0),
        normal: Iterable[float] = (0.0, 0.0, 1.0),
        seen_from: Any = -1,
        **more: Any,
    ) -> Event:
        """A point of a link or frame passes a plane: `level` along `normal`, as another place (or the world) sees it.

        It counts going down, if `direction` does not say otherwise.
        """
        settings = {"direction": -1, **more}
        name = settings.pop("name", f"{place} at {_level_text(level)} m")
        return _make_event(
            name, EventKind.ALONG, action, settings, places=(seen_from, place), points=((0.0, 0.0, 0.0), point),
            along=normal, level=level,
        )  # fmt: skip

    @staticmethod
    def distance(
        a: Any,
        b: Any,
        level: float,
        action: Action | None = None,
        *,
        points: tuple[Iterable[float], Iterable[float]] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        **more: Any,
    ) -> Event:
        """Two points are so many metres apart."""
        name = more.pop("name", f"{a} to {b} {_level_text(level)} m")
        return _make_event(name, EventKind.DISTANCE, action, more, places=(a, b), points=points, level=level)

    @staticmethod
    def position(joint: Any, level: float, action: Action | None = None, *, entry: int = 0, **more: Any) -> Event:
        """An entry of a joint's position passes a value, as the joint was declared, whatever the root is by then."""
        name = more.pop("name", f"{joint} at {_level_text(level)}")
        return _make_event(name, EventKind.POSITION, action, more, places=(joint,), entry=entry, level=level)

    @staticmethod
    def velocity(joint: Any, level: float = 0.0, action: Action | None = None, *, entry: int = 0, **more: Any) -> Event:
        """An entry of a joint's velocity passes a value, likewise; at 0 the joint turns back."""
        name = more.pop("name", f"{joint} moves at {_level_text(level)}")
        return _make_event(name, EventKind.VELOCITY, action, more, places=(joint,), entry=entry, level=level)

    @staticmethod
    def force(
        loop: Any,
        along: Iterable[float],
        level: float = 0.0,
        action: Action | None = None,
        *,
        moment: bool = False,
        **more: Any,
    ) -> Event:
        """The force (or moment) of a loop on its second link, along a direction of its frame on the first."""
        name = more.pop("name", f"{loop} bears {_level_text(level)}")
        kind = EventKind.MOMENT if moment else EventKind.FORCE
        return _make_event(name, kind, action, more, places=(loop,), along=along, level=level)

    # --- what happens in worlds only ---

    @staticmethod
    def contact(a: Any, b: Any = None, action: Action | None = None, **more: Any) -> Event:
        """Two bodies begin to touch; with `direction=-1` they part. Without b: a and anything; b may be "ground"."""
        settings = {"direction": 1, **more}
        name = settings.pop(
            "name", f"{_place_name(a)} {_direction_text(settings, 'touches', 'parts from')} {_place_name(b)}"
        )
        return _make_event(name, EventKind.CONTACT, action, settings, places=(a, b))

    @staticmethod
    def impact(a: Any, b: Any = None, level: float = 0.0, action: Action | None = None, **more: Any) -> Event:
        """Two bodies press with more than so many N s in one step."""
        settings = {"direction": 1, **more}
        name = settings.pop("name", f"{_place_name(a)} hits {_place_name(b)} with {_level_text(level)} N s")
        return _make_event(name, EventKind.IMPULSE, action, settings, places=(a, b), level=level)

    @staticmethod
    def limit(joint: Any, action: Action | None = None, **more: Any) -> Event:
        """A joint comes to one of its limits; with `direction=-1` it leaves it."""
        settings = {"direction": 1, **more}
        name = settings.pop("name", f"{joint} {_direction_text(settings, 'at', 'leaves')} its limit")
        return _make_event(name, EventKind.LIMIT, action, settings, places=(joint,))

    @staticmethod
    def sleep(body: Any, action: Action | None = None, **more: Any) -> Event:
        """A body falls asleep; with `direction=-1` it wakes."""
        settings = {"direction": 1, **more}
        name = settings.pop("name", f"{_place_name(body)} {_direction_text(settings, 'sleeps', 'wakes')}")
        return _make_event(name, EventKind.SLEEP, action, settings, places=(body,))

    @staticmethod
    def load(
        joint: Any, level: float, action: Action | None = None, *, moment: bool = False, **more: Any
    ) -> Event:  # fmt: skip
        """A joint bears more than so many N, or N m about its place if `moment`: the mean of a step, in any direction.

        With `direction=-1`: no more than that, after more.
        """
        settings = {"direction": 1, **more}
        name = settings.pop("name", f"{joint} bears {_level_text(level)} {'N m' if moment else 'N'}")
        if as_number(level) < 0.0:
            raise ValueError(f"event {name!r}: its level, what a joint bears, is a length, and never below 0")
        return _make_event(name, EventKind.LOAD, action, settings, places=(joint,), entry=int(moment), level=level)


def _place_name(place: Any) -> str:
    name = getattr(place, "name", place)
    return "anything" if place is None else name if isinstance(name, str) else repr_of(name)


def _direction_text(settings: dict[str, Any], there: str, back: str) -> str:
    """What happens, by the direction that counts."""
    direction = settings["direction"]
    return back if isinstance(direction, Integral) and direction == -1 else there


def _level_text(level: float) -> str:
    if callable(level):
        raise TypeError("an event's level, such as 0.0, comes before its action")
    return repr_of(level) if math.isnan(as_number(level)) else f"{as_number(level):g}"


def _make_event(name: str, kind: EventKind, action: Action | None, more: dict[str, Any], **settings: Any) -> Event:
    if kind in (EventKind.ALONG, EventKind.DISTANCE) and any(place is None for place in settings["places"]):
        raise TypeError(f"event {name!r}: places are {repr_of(settings['places'])}, and must be two places, not None")
    return Event(name, action=action, kind=kind, **{**settings, **more})


@kernel
def point_of(data: Any, p: Vec3) -> Vec3:
    return add(load3(data["p"]), mul_vec(load9(data["R"]), p))


@kernel(inline=False)
def evaluate_event_functions(tree: Any, events: Any, time: float, q: Any, v: Any) -> None:
    """The functions of all events that are rows, after the links are placed (and the loops' forces known)."""
    links, rows = links_of(tree), link_data_of(tree)
    for i in range(events.shape[0]):
        event = events[i]
        kind = event["kind"]
        if event["awake"] == 0 or kind == CALL or kind >= STOP:
            continue
        g = time
        if kind == ALONG or kind == DISTANCE:
            A, B = rows[event["a"] + 1], rows[event["b"] + 1]
            d = sub(point_of(B, load3(event["pb"])), point_of(A, load3(event["pa"])))
            g = sqrt(dot(d, d)) if kind == DISTANCE else dot(load3(event["n"]), tmul_vec(load9(A["R"]), d))
        elif kind == POSITION:
            g = declared_position(links[event["b"]], q, event["index"])
        elif kind == VELOCITY:
            g = declared_velocity(links[event["b"]], q, v, event["index"])
        elif kind == FORCE or kind == MOMENT:
            system = system_of(tree)
            loop = system_loops_of(system)[event["b"]]
            wrenches = constraint_rows_of(system)
            n = mul_vec(joint_frames(loop, rows[loop["a"] + 1], rows[loop["b"] + 1])[0], load3(event["n"]))
            g = 0.0
            for j in range(loop["first"], loop["first"] + loop["m"]):
                w = wrenches[j]
                g += w["force"] * dot(n, load3(w["f"]) if kind == FORCE else load3(w["n"]))
        event["g"] = g - event["level"]


@kernel
def sign_of_event(event: Any) -> int:
    """1 or -1; 0 in the dead zone."""
    if event["g"] > event["dead"]:
        return 1
    return -1 if event["g"] < -event["dead"] else 0


@kernel
def has_crossed(event: Any) -> bool:
    """Whether the function has changed its sign in a way that counts."""
    s = sign_of_event(event)
    return (
        event["awake"] != 0
        and event["side"] != 0
        and s == -event["side"]
        and (event["direction"] == 0 or event["direction"] == s)
    )


@kernel
def update_event_side(event: Any) -> None:
    """Store the sign of the function after a step without this event. (Events of kind CALL are updated in Python.)"""
    s = sign_of_event(event)
    if s != 0 and event["kind"] != CALL:
        event["side"] = s
        event["dead"] = DEAD


def check_events(events: Iterable[Event], *, world: bool = False) -> tuple[Event, ...]:
    """The events as a tuple. Raises for wrong types and values before anything moves."""
    listed = tuple(events)
    for e in listed:
        if not isinstance(e, Event):
            raise TypeError(f"events must be kinemorph.Event objects, not {repr_of(e)}")
        check_text("event: name", e.name)
        if e.kind in IN_WORLDS and not world:
            raise ValueError(f"event {e.name!r} is of worlds, and a simulation has none: World.when waits for it")
        if type(e.direction) is not int or e.direction not in (-1, 0, 1):
            raise ValueError(f"event {e.name!r}: direction {repr_of(e.direction)} must be 1, -1 or 0")
        for what, function in (("action", e.action), ("only", e.only), ("function", e.function)):
            if function is not None and not callable(function):
                raise TypeError(f"event {e.name!r}: its {what} must be a function, not {repr_of(function)}")
        if not math.isfinite(as_number(e.level)):
            raise ValueError(f"event {e.name!r}: {repr_of(e.level)} is not a level that can be reached")
        if (e.function is None) is (e.kind is EventKind.CALL):
            raise ValueError(f"event {e.name!r} needs a function, or one of Event.at, height, distance, position, ...")
        check_limit(f"event {e.name!r}: times", e.times)
        check_whole(f"event {e.name!r}: ends", int(e.ends) if isinstance(e.ends, bool) else e.ends)
        check_whole(f"event {e.name!r}: entry", e.entry)
        for each in (*e.points, e.along):
            vector(each, 3, f"event {e.name!r}")
        if not any(e.along):
            raise ValueError(f"event {e.name!r}: a direction of length 0 points nowhere")
    return listed


def resolve_event_names(events: tuple[Event, ...], rows: np.ndarray[Any, Any], model: Model, strict: bool) -> None:
    """Look up names in a structure. An event whose joint or loop is not there sleeps; if `strict`, it is an error."""
    for e, row in zip(events, rows, strict=True):
        row["kind"], row["direction"], row["level"] = e.kind, e.direction, e.level
        length = float(np.linalg.norm(np.asarray(list(e.along), dtype=np.float64)))
        row["n"] = np.asarray(list(e.along), dtype=np.float64) / (length or 1.0)
        row["awake"] = 1
        try:
            if e.kind in (EventKind.ALONG, EventKind.DISTANCE):
                for place, point, link, at in zip(e.places, e.points, ("a", "b"), ("pa", "pb"), strict=True):
                    index, pose = model.place(place)
                    row[link], row[at] = index, pose.apply(list(point))
                if e.kind is EventKind.ALONG:  # the direction is one of the place, the kernel knows the link's
                    row["n"] = model.place(e.places[0])[1].rotation @ row["n"]
            elif e.kind in (EventKind.POSITION, EventKind.VELOCITY):
                where = (model.q_slice if e.kind is EventKind.POSITION else model.v_slice)(e.places[0])
                if not 0 <= e.entry < where.stop - where.start:
                    size = where.stop - where.start
                    raise KeyError(f"joint {e.places[0]!r} has {size} entries, there is none at {e.entry}")
                row["b"], row["index"] = model._joint_at(e.places[0]), e.entry
            elif e.kind in (EventKind.FORCE, EventKind.MOMENT):
                row["b"] = model.loop(str(e.places[0]))
        except (KeyError, IndexError) as error:
            if strict and not e.later:
                raise type(error)(f"event {e.name!r}: {error.args[0]}") from None
            row["awake"] = 0


def takes_data(function: Callable[..., Any]) -> bool:
    """Whether a function of a model and a state asks for the data as well: it takes three arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
    needed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    return len(needed) > 2
