"""Ids that know what they are of, and those of joints and shapes whose: plain numbers, which other worlds refuse."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from kinemorph.world.world import World


class Id(int):
    """A number that a world has given out. Copies and pickles of it are plain numbers."""

    what: ClassVar[str]
    _whose: Callable[[], World | None]

    @classmethod
    def of(cls, world: World, number: int) -> Self:
        """The id of something of a world."""
        made = cls(number)
        made._whose = weakref.ref(world)
        return made

    def check(self, world: World, wanted: type[Id]) -> None:
        """Refuse the id of something else, or of another world."""
        if not isinstance(self, wanted):
            raise TypeError(f"world: {self:d} is the id of a {self.what}, not of a {wanted.what}")
        if self._whose() is not world:
            there = "in a copy of that one it has the same number, int(id)"
            raise ValueError(f"world: {self.what} {self:d} is of another world; {there}")

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def __deepcopy__(self, memo: object) -> int:
        return int(self)


class BodyId(Id):
    """Of a body: what `Body.id` says. In copies of its world, and in futures of it, it stands for the same body."""

    what = "body"

    def check(self, world: World, wanted: type[Id]) -> None:
        """Refuse it where something else is asked for."""
        if wanted is not BodyId:
            raise TypeError(f"world: {self:d} is the id of a body, not of a {wanted.what}")


class JointId(Id):
    """Of a joint: what `Figure.joint`, `connect` and others say."""

    what = "joint"


class ShapeId(Id):
    """Of a shape: what `add_ground`, contacts and rays say."""

    what = "shape"
