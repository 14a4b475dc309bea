"""Jumping: straight up, or away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinemorph.creatures.tasks.task import Marks, Stage, Task
from kinemorph.spatial.arguments.annotated import checked_on_failure

EFFORT = 0.2  # what raising the centre of mass counts, while something touches the ground still


def measure_jump(stage: Stage) -> tuple[float, float, float]:
    """How high its lowest point got, in body heights; how high its centre rose, and how far, in body lengths."""
    high = max(0.0, stage.life["highest"] - max(stage.height, 0.0))
    rise = max(0.0, stage.life["top"] - stage.start[2])
    return high / stage.tall, rise / stage.size, float(np.hypot(*stage.way[:2])) / stage.size


@checked_on_failure
@dataclass(frozen=True)
class JumpUp(Task):
    """Clear the ground with all of the body, and come down where it was. At low levels it weighs little (Fontijne
    4.8.3)."""

    seconds: float = 5.0
    light: float = 0.05

    def mark(self, stage: Stage) -> Marks:
        high, rise, away = measure_jump(stage)
        return Marks(high + EFFORT * rise - 0.1 * min(away, 1.0), high / (away + 1.0), high)


@checked_on_failure
@dataclass(frozen=True)
class JumpAway(Task):
    """Clear the ground with all of the body, and come down elsewhere."""

    seconds: float = 5.0

    def mark(self, stage: Stage) -> Marks:
        high, rise, away = measure_jump(stage)
        value = high * away + 0.5 * EFFORT * (rise + min(away, 1.0))
        return Marks(value, high * away * stage.tall * stage.size, high)
