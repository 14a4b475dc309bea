"""The past of a world that is looked at: snapshots at some steps, from which any step since can be lived through again.

A world takes the same way again, bit for bit, from a snapshot to the next input. So a snapshot after each input, and
one now and then, are enough to come back to any step: also to one before a joint was made or cut. A world that lives on
from its past, across an input that it was given then, does so without it: that input and what came of it are forgotten.
Where steps were made between an input and the next call of `keep`, such as those of a frame while the mouse pulls,
there is no way back into these steps but to the step that the input came at.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Any

from kinemorph.world.world import World

EVERY = 0.1  # s of a world between two snapshots, about
HISTORY_BYTES = 1 << 28  # bytes of all snapshots; the oldest give way


class History:
    """Snapshots of a world. `keep` is to be called after steps and inputs that belong together."""

    def __init__(self, world: World, most: int = HISTORY_BYTES) -> None:
        self.world, self.most = world, most
        self.start = world.save()
        self._every = max(1, round(EVERY / world.dt))
        self._steps: list[int] = [self.now]
        self._saved: list[bytes] = [self.start]
        self._inputs: list[tuple[int, int]] = []  # steps that inputs came at, and those of the snapshots after them
        self._size = len(self.start)
        self._changed = False
        self._came: int | None = None  # the step of the first input since the last snapshot
        self._left = self._last = self.now  # the step that it was put back to or kept at, and the latest of its life
        self.changes = 0  # inputs that were heard of
        world.observers.append(self)

    def close(self) -> None:
        """Watch the world no more."""
        self.world.observers.remove(self)

    @property
    def now(self) -> int:
        """How many steps the world has made."""
        return self.world.step_count

    @property
    def first(self) -> int:
        """The earliest step that it can go back to."""
        return self._steps[0]

    @property
    def last(self) -> int:
        """The latest step that it knows of."""
        return max(self._last, self.now)

    # The interface of a world's observers; see `view.recordings.film`.

    def due(self, step: int) -> int:
        """Never, of itself."""
        return step + (1 << 40)

    def look(self) -> None:
        """Nothing to do between steps."""

    def heard(self, name: str, args: Any, named: Any, worked: bool) -> None:
        """Something was done to the world: what comes is no longer what would have come."""
        self._changed |= worked
        self.changes += worked
        if worked and self._came is None and not self.world.is_stepping:  # else the world itself will do it again
            self._came = self.now

    def saw(self, what: str) -> None:
        """A creature has taken hold of something, or let go, as it will again."""
        self.changes += 1

    # ---------------------------------------------------------------------------------------------------------- time

    def keep(self) -> None:
        """Take a snapshot, if something was done to the world since the last one, or some time has passed."""
        now = self.now
        later = self._after(self._left)
        if now > self._left and later is not None and later[0] <= now:
            self._forget(later[1])
            self._last = now
        if self._changed:
            self._forget(now)
            self._inputs.append((now if self._came is None else self._came, now))
            self._last = now
        self._left, self._last = now, max(self._last, now)
        if self._changed or now >= self._steps[-1] + self._every:
            self._changed, self._came = False, None
            self._add(now)

    def go_to(self, step: int) -> None:
        """Be as it was after so many steps; the earliest that is known, if that is too long ago."""
        step = max(step, self.first)
        later = self._after(step)
        if later is not None:
            step = max(min(step, later[0]), self.first)
        i = bisect_right(self._steps, step) - 1
        before = self._changed, self._came
        self.world.restore(self._saved[i])
        self.world.step(step - self._steps[i])
        self._left = step
        self._changed, self._came = before  # what the world's own events and controllers do again is no input

    def reset(self) -> None:
        """Back to the start."""
        self.world.restore(self.start)
        self._steps, self._saved, self._inputs, self._size = [], [], [], 0
        self._changed, self._came = False, None
        self._left = self._last = self.now
        self._add(self.now)

    def _add(self, now: int) -> None:
        self._steps.append(now)
        self._saved.append(self.world.save())
        self._size += len(self._saved[-1])
        while self._size > self.most and len(self._saved) > 1:
            self._size -= len(self._saved.pop(0))
            self._steps.pop(0)

    def _after(self, step: int) -> tuple[int, int] | None:
        """The first input whose snapshot is later than a step."""
        k = bisect_right(self._inputs, step, key=itemgetter(1))
        return self._inputs[k] if k < len(self._inputs) else None

    def _forget(self, since: int) -> None:
        """Drop the snapshots and inputs of a step and of all later ones."""
        while self._steps and self._steps[-1] >= since:
            self._steps.pop()
            self._size -= len(self._saved.pop())
        while self._inputs and self._inputs[-1][1] >= since:
            self._inputs.pop()
