"""Controllers in Python: functions of a world that are called at their own rate, between steps (Fontijne 3.7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_number, check_finite, check_text, repr_of
from kinemorph.world.control.known_events import known_again, lasting, learn, next_number
from kinemorph.world.world_state import OfWorld

if TYPE_CHECKING:
    from kinemorph.world.world import World

Task = Callable[["World"], Any]
Plain = tuple[str, float, float, int, int]  # name, period, start, count and number of a timer
EARLY_STEP_SHARE = 1e-6  # of a step: a time that is so near has come


@checked_on_failure
class Timer:
    """A function that a world calls every so many seconds of its own time, until `cancel`."""

    __slots__ = ("_count", "_number", "_saved", "_start", "action", "cancelled", "name", "period")

    def __init__(
        self, action: Task | None, period: float, name: str, start: float, number: int, count: int = 0
    ) -> None:  # fmt: skip
        self.action, self.period, self.name, self.cancelled = action, period, name, False
        self._start, self._count = start, count
        self._saved = False  # in a snapshot
        self._number = number  # by which snapshots know it: its world has given it to no other one

    @property
    def due(self) -> float:
        """s, when it is called next."""
        return self._start + self._count * self.period  # not a sum of periods, which would drift

    def cancel(self) -> None:
        """It is not called any more."""
        self.cancelled = True

    def _resume(self, other: Timer) -> Timer:
        """Be called as another one, of a snapshot, is."""
        self._start, self._count, self.cancelled = other._start, other._count, False
        return self

    def __repr__(self) -> str:
        return f"Timer {self.name!r}, every {self.period:g} s, next at {self.due:g} s"


class Timers(OfWorld):
    """All functions that a world calls, in the order in which they came.

    A timer is known after it was cancelled: a world that goes back to before that calls it again.
    """

    __slots__ = ("_known", "_timers")

    def __init__(self) -> None:
        self._timers: list[Timer] = []
        self._known: dict[int, Timer] = {}  # all that there have been, by their numbers

    def __getstate__(self) -> tuple[Any, ...]:
        return self._timers, lasting(self._known, self._timers)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._timers, self._known = state

    def __len__(self) -> int:
        return len(self._timers)

    def __iter__(self) -> Any:
        return iter(self._timers)

    def add(self, action: Task, period: float, name: str, start: float | None) -> Timer:
        """Call a function every `period` seconds, the first time at `start`, or before the next step."""
        if not callable(action):
            raise TypeError(f"world: every takes a function of the world, not {repr_of(action)}")
        if not self._world.dt * (1.0 - EARLY_STEP_SHARE) <= as_number(period) < math.inf:
            raise ValueError(f"world: a period of {repr_of(period)} s must be a step ({self._world.dt} s) or longer")
        name = check_text("every: name", name) or getattr(action, "__name__", "controller")
        for timer in self._timers:
            if timer.action is None and timer.name == name:  # it comes from a snapshot, and goes on
                if timer.period != period:
                    raise ValueError(f"world: controller {name!r} was called every {timer.period} s, not {period}")
                timer.action = action
                return timer
        first = self._world.time if start is None else check_finite("every: start", start)
        if not first >= self._world.time - EARLY_STEP_SHARE * self._world.dt:
            raise ValueError(f"world: a timer cannot start at {start} s, it is {self._world.time:g} s already")
        timer = Timer(action, float(period), name, float(first), next_number(self._known))
        self._timers.append(timer)
        learn(self._known, timer, self._timers)
        return timer

    def steps_until_due(self, most: int) -> int:
        """How many steps may be made before a function is called; at least one."""
        world = self._world
        for timer in self._timers:
            if not timer.cancelled:
                # which may be without end
                left = min((timer.due - world.time) / world.dt - EARLY_STEP_SHARE, float(most))
                most = min(most, max(1, math.ceil(left)))
        return most

    def call(self) -> None:
        """Call all that are due."""
        world = self._world
        for timer in list(self._timers):
            if not timer.cancelled and timer.due <= world.time + EARLY_STEP_SHARE * world.dt:
                timer._count += 1
                try:
                    if timer.action is not None:
                        timer.action(world)
                except Exception as error:
                    raise world._failure(f"controller {timer.name!r}", error) from error
        if any(timer.cancelled for timer in self._timers):
            self._timers = [timer for timer in self._timers if not timer.cancelled]

    # --- snapshots, which have no functions ---

    def plain(self) -> list[Plain]:
        """What a snapshot keeps."""
        waiting = [timer for timer in self._timers if not timer.cancelled]
        for timer in waiting:
            timer._saved = True
        return [(t.name, t.period, t._start, t._count, t._number) for t in waiting]

    @staticmethod
    def of(plain: list[Plain]) -> Timers:
        """Timers without functions."""
        made = Timers()
        made._timers = [Timer(None, period, name, start, number, count) for name, period, start, count, number in plain]
        for timer in made._timers:
            timer._saved = True
            made._known[timer._number] = timer
        return made

    def adopt(self, others: Timers) -> None:
        """Have the timers that a world has known in place of those of a snapshot that are the same."""
        found = known_again(self._timers, others._known, lambda timer: (timer.name, timer.period))
        self._timers = [old._resume(timer) for old, timer in zip(found, self._timers, strict=True)]
        self._known = others._known

    def refuse_orphans(self) -> None:
        """Raise for a timer of a snapshot that has no function yet."""
        for timer in self._timers:
            if timer.action is None:
                call = f"world.every({timer.period:g}, function, name={timer.name!r})"
                raise RuntimeError(f"world: controller {timer.name!r} of a snapshot has no function yet: {call}")
