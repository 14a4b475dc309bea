"""Getting somewhere: along x on the ground, or in water."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kinemorph.creatures.tasks.task import Marks, Stage, Task, Vector
from kinemorph.spatial.arguments.annotated import checked_on_failure

SIDEWAYS_SHARE = 0.3  # of what counts for the way, what counts against what goes aside
TARGET_DISTANCE = 100.0  # m: where the target is, that shows the way


def forward_speed(stage: Stage, x: float, aside: float) -> float:
    """Body lengths a second along x, less some of what it went aside."""
    return max(-1.0, (x - SIDEWAYS_SHARE * aside) / stage.task.seconds / stage.size)


@checked_on_failure
@dataclass(frozen=True)
class Locomotion(Task):
    """Go along x. A creature that jumps higher than its own length is out (Fontijne 4.5).

    It looks aside at first, the ground is more or less slippery and bouncy, and it is knocked about: gaits that only
    happen to go straight stumble elsewhere. Draws that are much harder than what is asked differ in weight,
    too, and throw it up: gaits that stand this walk in other engines as well (docs/results/tuning.md).
    """

    slip: float = 0.4
    weigh: float = 0.8
    hop: float = 2.0
    bounce: float = 0.1
    fine: float = 4.0
    turn: float = 0.7
    kick: float = 0.12
    looks: int = 4
    aim: ClassVar[Vector] = (TARGET_DISTANCE, 0.0, 0.0)

    def mark(self, stage: Stage) -> Marks:
        seen = stage.seen()
        x, y, _ = seen["centre"] - stage.start
        aside = abs(y)
        jumps = seen["top"] - stage.start[2] > stage.size
        thesis = 0.0 if jumps else max(0.0, x) / (aside + stage.size)
        return Marks(-1.0 if jumps else forward_speed(stage, x, aside), thesis, x / self.seconds / stage.size)


@checked_on_failure
@dataclass(frozen=True)
class Swim(Task):
    """Go along x in water, without weight, by the drag on faces (Sims 1994)."""

    gravity: float = 0.0
    patience: float = 0.0
    density: float = 1000.0  # kg/m³
    aim: ClassVar[Vector] = (TARGET_DISTANCE, 0.0, 0.0)

    def prepare(self, stage: Stage) -> None:
        stage.world.forces.set_fluid(self.density)

    def mark(self, stage: Stage) -> Marks:
        way = stage.way
        x, aside = way[0], float(np.hypot(*way[1:]))
        return Marks(forward_speed(stage, x, aside), max(0.0, x) / (aside + stage.size), x / self.seconds / stage.size)
