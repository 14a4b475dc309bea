"""Persistence of a world: branches, snapshots, digests and journals."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING

from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.world.part import Part
from kinemorph.world.persistence.digest import digest_of
from kinemorph.world.persistence.journal import Journal
from kinemorph.world.persistence.snapshot import save_world

if TYPE_CHECKING:
    from kinemorph.world.world import World


@checked_on_failure
class Persistence(Part):
    """`world.persistence`: branches, snapshots, digests and journals of a world."""

    __slots__ = ()

    def branch(self) -> World:
        """A world of its own that goes on from here: both take the same way, bit for bit, until one is changed."""
        made = copy.deepcopy(self.world)
        made.threads = self.world.threads
        return made

    def save(self) -> bytes:
        """All of it as bytes: a world that is loaded from them goes on bit for bit as this one does."""
        return save_world(self.world.__getstate__())

    def restore(self, data: bytes) -> None:
        """Be as in a snapshot again; if that cannot be read, `FileError`, and nothing has changed.

        Handles of bodies that were there then go on working; those of others are refused. Controllers and events that
        were waited for then are again, with their functions and handles, also those that are over or cancelled by now.
        """
        world = self.world
        if world.is_stepping:
            world._check_thread()
            raise RuntimeError("world: it cannot be restored by what is called in between steps")
        _, state = type(world)._of_snapshot(data)  # what another world could be made of can be taken over
        monitors, timers = world._monitors, world._timers
        world._hold(*state)
        world._monitors.adopt(monitors)
        world._timers.adopt(timers)
        for observer in world.observers:
            observer.heard("restore", (data,), {}, True)

    def record(self, path: str | os.PathLike[str], every: int = 100) -> Journal:
        """A journal of what is done to the world while this is entered, with a check every so many steps.

        >>> with world.record("run.journal"):  # doctest: +SKIP
        ...     world.run(10.0)
        >>> again = World.rerun("run.journal")  # doctest: +SKIP
        """
        return Journal(self.world, path, every)

    def hash(self) -> str:
        """A digest of all that decides how the world goes on, wherever its tables are: 32 hexadecimal digits."""
        self.world.__getstate__()  # which brings all tables up to date
        return digest_of(self.world)
