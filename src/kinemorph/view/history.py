"""The past of a world that is looked at: snapshots at some steps, from which any step since can be lived through again.

A world takes the same way again, bit for bit, from a snapshot to the next input. So a snapshot after each input, and
one now and then, are enough to come back to any step: also to one before a joint was made or cut.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from kinemorph.world.world import World

EVERY = 0.1  # s of a world between two snapshots, about
MOST = 1 << 28  # bytes of all snapshots; the oldest give way


class History:
    """Snapshots of a world. `keep` is to be called after steps and inputs that belong together."""

    def __init__(self, world: World, most: int = MOST) -> None:
        self.world, self.most = world, most
        self.start = world.save()
        self._every = max(1, round(EVERY / world.dt))
        self._steps: list[int] = [self.now]
        self._saved: list[bytes] = [self.start]
        self._size = len(self.start)
        self._changed = False
        self.changes = 0  # inputs that were heard of
        world._onlookers.append(self)

    def close(self) -> None:
        """Watch the world no more."""
        self.world._onlookers.remove(self)

    @property
    def now(self) -> int:
        """How many steps the world has made."""
        return int(self.world._header[0]["steps"])

    @property
    def first(self) -> int:
        """The earliest step that it can go back to."""
        return self._steps[0]

    @property
    def last(self) -> int:
        """The latest step that it knows of."""
        return max(self._steps[-1], self.now)

    # What a world asks those who look on; see `view.film`.

    def due(self, step: int) -> int:
        """Never, of itself."""
        return step + (1 << 40)

    def look(self) -> None:
        """Nothing to do between steps."""

    def heard(self, name: str, args: Any, named: Any, worked: bool) -> None:
        """Something was done to the world: what comes is no longer what would have come."""
        self._changed |= worked
        self.changes += worked

    # ---------------------------------------------------------------------------------------------------------- time

    def keep(self) -> None:
        """Take a snapshot, if something was done to the world since the last one, or some time has passed."""
        now = self.now
        if self._changed:
            self._forget(now)
        elif now < self._steps[-1] + self._every:
            return
        self._changed = False
        self._add(now)

    def go_to(self, step: int) -> None:
        """Be as it was after so many steps; the earliest that is known, if that is too long ago."""
        step = max(step, self.first)
        i = bisect_right(self._steps, step) - 1
        before = self._changed
        self.world.restore(self._saved[i])
        self.world.step(step - self._steps[i])
        self._changed = before  # what the world's own events and controllers do again is no input

    def reset(self) -> None:
        """Back to the start."""
        self.world.restore(self.start)
        self._steps, self._saved, self._size, self._changed = [], [], 0, False
        self._add(self.now)

    def _add(self, now: int) -> None:
        self._steps.append(now)
        self._saved.append(self.world.save())
        self._size += len(self._saved[-1])
        while self._size > self.most and len(self._saved) > 1:
            self._size -= len(self._saved.pop(0))
            self._steps.pop(0)

    def _forget(self, now: int) -> None:
        """What comes after now, and what is now but without the last input, will not be again."""
        while self._steps and self._steps[-1] >= now:
            self._steps.pop()
            self._size -= len(self._saved.pop())
