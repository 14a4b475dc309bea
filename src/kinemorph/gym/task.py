"""Tasks to learn: a world, actions and rewards, independent of gymnasium."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.pose import Array
from kinemorph.world.control.drives import Servo
from kinemorph.world.world import World


class Task(ABC):
    """A task: its world, made once (each episode is a branch of it), what is seen and done, and what is good.

    Actions are numbers from -1 to 1. What an episode has to remember goes into `world.memory`, which goes along with
    the world, so that one task can do for many worlds at a time.
    """

    names: ClassVar[tuple[str, ...]]  # what is seen: see `Reading`
    actions: ClassVar[tuple[str, ...]]  # what is done
    period: ClassVar[float] = 0.02  # s, from one action to the next
    longest: ClassVar[int] = 500  # actions in an episode

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        checked_on_failure(cls)

    @abstractmethod
    def world(self) -> World:
        """The world, as it is at the start but for what is random."""

    def begin(self, world: World, rng: np.random.Generator) -> None:  # noqa: B027
        """Make a start of the world: what is random."""

    @abstractmethod
    def act(self, world: World, action: Array) -> None:
        """Do it: called before each `period`."""

    @abstractmethod
    def reward(self, world: World, action: Array) -> float:
        """How good it was: called after each `period`."""

    @abstractmethod
    def over(self, world: World) -> bool:
        """Whether the episode has ended, well or badly."""

    def succeeded(self, world: World) -> bool:
        """Whether what was asked for is done."""
        return False


class Aim:
    """Gives servos positions, in whichever copy of their world."""

    def __init__(self, servos: Sequence[Servo]) -> None:
        self._servos = list(servos)
        self._here: WeakKeyDictionary[World, list[Servo]] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {"_servos": self._servos}  # weak references cannot be copied, and are found again

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._servos, self._here = state["_servos"], WeakKeyDictionary()

    def __call__(self, world: World, targets: Array) -> None:
        here = self._here.get(world)
        if here is None:
            here = self._here[world] = [servo.on(world) for servo in self._servos]
        for servo, target in zip(here, targets.tolist(), strict=True):
            servo.position = target


def scatter(world: World, body: str, rng: np.random.Generator, size: float, first: int = 0) -> None:
    """Move the coordinates of a tree, from its `first` on, a little, each by a normal number of a size."""
    tree = world.forest.tree_of(world[body].id)
    q = world.forest.state(tree).q.copy()
    q[first:] += size * rng.normal(size=len(q) - first)
    world.forest.set_state(tree, q=q)
