"""When within a step a function of time changes its sign first.

The functions of all events are known at any moment s of a step by `values(s)`, which makes a step of that length. The
arrays of events are rows of `EVENT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinemorph.motion.events import DEAD, TIME
from kinemorph.multibody.checks import Array

EVENT_TIME_ERROR = 1e-11  # s: how well the time of an event is known
SAME_TIME = 1e-10  # s: events nearer to each other than this happen at once, in the order in which they were given
INSTANT = 1e-9  # s: from how a function moves in this time one sees where it goes,
STILL_CHANGE = 1e-14  # if it moves by more than this
LARGEST_ROOT_VALUE = 1e-9  # no function is as far from zero as this at an event, unless the event made it jump

Values = Callable[[float], Array]
Rows = np.ndarray[Any, Any]


class Crossing(NamedTuple):
    """The first events of a step: when, which, and which functions move then."""

    s: float
    fired: list[int]
    moves: Any


class HappensAgainError(Exception):
    """An event has just happened, and its function goes on through zero as if it had not. `index` says which."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


def signs_of_values(rows: Rows) -> Any:
    """Of each function: 1, -1, or 0 in the dead zone."""
    return np.where(np.abs(rows["g"]) > rows["dead"], np.sign(rows["g"]), 0.0).astype(np.int32)


def find_crossed_events(rows: Rows) -> list[int]:
    """Events whose function has changed its sign, as the kernel `crosses` has it."""
    s = signs_of_values(rows)
    counts = (rows["direction"] == 0) | (rows["direction"] == s)
    return np.flatnonzero((rows["awake"] != 0) & (rows["side"] != 0) & (s == -rows["side"]) & counts).tolist()


def first_crossing(values: Values, rows: Rows, length: float) -> Crossing:
    """The first events within a step at whose end some have crossed."""
    values(length)
    candidates = find_crossed_events(rows)
    side = rows["side"].astype(np.float64)
    end = length
    waiting = candidates
    while waiting:
        for i in waiting:
            if side[i] * values(end)[i] <= 0.0:
                end = _find_root(values, i, side[i], end, rows[i]["kind"] == TIME)
        values(end)  # one that was back at the end of the step may have crossed by now
        waiting = [i for i in find_crossed_events(rows) if i not in candidates]
        candidates = candidates + waiting
    after = values(min(end + SAME_TIME, length))
    before = values(max(end - INSTANT, 0.0))
    fired = [i for i in candidates if side[i] * after[i] <= 0.0]
    return Crossing(end, fired, np.abs(values(end) - before) > STILL_CHANGE)


def update_event_sides(values: Values, rows: Rows, fired: list[int], stopped: Any) -> None:
    """After events: where a function goes now is its side.

    If it goes nowhere although it did before (`stopped`), it is still on the side that it came from: the event has
    stopped it. If it never moved, its next sign counts.
    """
    now = values(0.0)
    moved = values(INSTANT) - now
    for i in fired:
        if abs(now[i]) > max(LARGEST_ROOT_VALUE, abs(moved[i])):  # it has jumped
            rows[i]["side"] = np.sign(now[i])
        elif abs(moved[i]) > STILL_CHANGE:
            rows[i]["side"] = np.sign(moved[i])
        else:
            rows[i]["dead"] = max(DEAD, 4.0 * abs(now[i]))  # it stays as near to zero as its time was found
            rows[i]["side"] = rows[i]["side"] if stopped[i] else 0
    values(0.0)


def _find_root(values: Values, i: int, side: float, hi: float, at_once: bool) -> float:
    """The end of an interval of EXACT seconds in which event i happens: regula falsi (Illinois), with bisection."""
    lo, f_lo, f_hi = 0.0, side * values(0.0)[i], side * values(hi)[i]
    if f_lo <= 0.0:
        if at_once:
            return 0.0
        lo, f_lo = _find_return_crossing(values, i, side, hi)
    last = turn = 0
    while hi - lo > EVENT_TIME_ERROR:
        turn += 1
        s = hi - f_hi * (hi - lo) / (f_hi - f_lo) if turn % 4 else 0.5 * (lo + hi)
        # at the root the other end comes near, too
        s = min(max(s, lo + 0.4 * EVENT_TIME_ERROR), hi - 0.4 * EVENT_TIME_ERROR)
        f = side * values(s)[i]
        if f > 0.0:
            lo, f_lo, f_hi = s, f, f_hi * (0.5 if last > 0 else 1.0)
            last = 1
        else:
            hi, f_hi, f_lo = s, f, f_lo * (0.5 if last < 0 else 1.0)
            last = -1
    return hi


def _find_return_crossing(values: Values, i: int, side: float, hi: float) -> tuple[float, float]:
    """The function has just been zero, left for its old side and come back within one step: when was it there?"""
    for k in range(1, 31):
        s = hi * 0.5**k
        f = side * values(s)[i]
        if f > 0.0:
            return s, f
    raise HappensAgainError(i)
