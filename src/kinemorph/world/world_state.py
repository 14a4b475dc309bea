"""What a world has and what knows that world, without holding it: a world goes with its last handle."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinemorph.world.world import World


class OfWorld:
    """A part of a world that asks it for other parts."""

    __slots__ = ("_joined",)
    _joined: Callable[[], World | None]

    def join(self, world: World) -> None:
        """Be that of a world."""
        self._joined = weakref.ref(world)

    @property
    def _world(self) -> World:
        world = self._joined()
        if world is None:
            raise ReferenceError("the world that this was of is gone")
        return world
