"""How a world is kept: branches, snapshots, digests and journals. `World` is made of this and of what it does."""

from __future__ import annotations

import copy
import os
from typing import Any, Self

from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.world.control.events import Watches
from kinemorph.world.control.timers import Timers
from kinemorph.world.persistence.digest import digest_of
from kinemorph.world.persistence.journal import Journal, live_again
from kinemorph.world.persistence.snapshot import SNAPSHOT, load_world, refusing, save_world


@checked_on_failure
class Keeping:
    """What has a state, by `__getstate__`, that it can take over again, by `_hold`."""

    _onlookers: list[Any]  # journals and films that look on
    _moving: int
    _watches: Watches
    _timers: Timers
    threads: int

    def __getstate__(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _alone(self) -> None:
        raise NotImplementedError

    def _hold(self, *state: Any) -> None:
        raise NotImplementedError

    def branch(self) -> Self:
        """A world of its own that goes on from here: both take the same way, bit for bit, until one is changed."""
        made = copy.deepcopy(self)
        made.threads = self.threads
        return made

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def save(self) -> bytes:
        """All of it as bytes: a world that is loaded from them goes on bit for bit as this one does."""
        return save_world(self.__getstate__())

    @classmethod
    def load(cls, data: bytes) -> Self:
        """The world of a snapshot. Bytes that are damaged, of another version or of anything else are a `FileError`.

        A snapshot has no functions: give each controller and each action its own again, by `every` and `when` with the
        same name, before the first step. They go on where they were.
        """
        world, _ = cls._of(data)
        return world

    @classmethod
    def _of(cls, data: bytes) -> tuple[Self, tuple[Any, ...]]:
        """The world of a snapshot, and the parts that it is made of: whatever can fail has not."""
        state, world = load_world(data), cls.__new__(cls)
        with refusing(SNAPSHOT):
            world._hold(*state)
            world.__getstate__()  # all tables follow each other
        return world, state

    def restore(self, data: bytes) -> None:
        """Be as in a snapshot again; if that cannot be read, `FileError`, and nothing has changed.

        Handles of bodies that were there then go on working; those of others are refused. Controllers and events that
        were waited for then are again, with their functions and handles, also those that are over or cancelled by now.
        """
        if self._moving:
            self._alone()
            raise RuntimeError("world: it cannot be restored by what is called in between steps")
        _, state = type(self)._of(data)  # what another world could be made of can be taken over
        watches, timers = self._watches, self._timers
        self._hold(*state)
        self._watches.adopt(watches)
        self._timers.adopt(timers)
        for onlooker in self._onlookers:
            onlooker.heard("restore", (data,), {}, True)

    def record(self, path: str | os.PathLike[str], every: int = 100) -> Journal:
        """A journal of what is done to the world while this is entered, with a check every so many steps.

        >>> with world.record("run.journal"):  # doctest: +SKIP
        ...     world.run(10.0)
        >>> again = World.rerun("run.journal")  # doctest: +SKIP
        """
        return Journal(self, path, every)

    @classmethod
    def rerun(cls, path: str | os.PathLike[str], most_steps: int = 10_000_000) -> Self:
        """The world of a journal, made again from its inputs.

        If it does not come to the same, `DivergenceError` names the first step and body that differ. A journal with
        more than `most_steps` steps is refused before the first of them: a few bytes can ask for very many.
        """
        again: Self = live_again(path, cls.load, most_steps)
        return again

    def hash(self) -> str:
        """A digest of all that decides how the world goes on, wherever its tables are: 32 hexadecimal digits."""
        self.__getstate__()  # which brings all tables up to date
        return digest_of(self)
