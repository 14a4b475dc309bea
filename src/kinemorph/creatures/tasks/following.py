"""Following a target that moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kinemorph.creatures.tasks.task import Marks, Stage, Task, closeness
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure

AT_TARGET_DISTANCE = 0.3  # m: so near is at the target


@lru_cache(maxsize=8)
def _target_arm(reach: float) -> Model:
    """What carries a target round: the same one for all lives."""
    arm, small = Builder("target"), Inertia.box(0.01, (0.1, 0.1, 0.1))
    arm.link("arm", None, Joint.revolute("z", name="turn"), inertia=small)
    arm.link("mark", "arm", Joint.fixed(), at=(0.0, reach, 0.0), inertia=small)
    return arm.build()


@checked_on_failure
@dataclass(frozen=True)
class Follow(Task):
    """Stay close to a target that goes round on a circle, ahead of it at first, left or right by the draw's number.

    What is reported is the share of its life that some part of it is there.
    """

    radius: float = 1.5  # m, of the circle
    speed: float = 0.2  # m/s, of the target
    looks: int = 45  # how often in each half of a life it is seen whether it is there

    def begin(self, stage: Stage) -> None:
        side = 1.0 if stage.number % 2 == 0 else -1.0
        x, y, _ = stage.centre
        ahead = x + 1.0 + 0.5 * float(stage.rng.random())
        figure = stage.world.add(_target_arm(-side * self.radius), at=(ahead, y + side * self.radius, 0.1))
        stage.world.motor(figure.joint("turn"), side * stage.level * self.speed / self.radius)
        stage.mind.target = figure["mark"]
        stage.notes |= {"middle": np.array((ahead - x, side * self.radius)), "side": side}

    def mark(self, stage: Stage) -> Marks:
        gap = stage.late_gap()
        there = sum(seen < AT_TARGET_DISTANCE for seen in stage.gaps) / (2 * self.looks)
        return Marks(closeness(gap, self.rest_gap(stage)) + there, 1.0 / (1.0 + gap / stage.size), there)

    def rest_gap(self, stage: Stage) -> float:
        """The mean distance (m) of the target in the second half from a creature that stays where it was."""
        t = np.linspace(0.5, 1.0, 50) * self.seconds
        angle = stage.notes["side"] * stage.level * self.speed / self.radius * np.append(0.0, t)
        arm = stage.notes["side"] * self.radius * np.array([(math.sin(a), -math.cos(a)) for a in angle.tolist()]).T
        far = np.linalg.norm(stage.notes["middle"][:, None] + arm, axis=0)
        return float((far[1:] - far[0]).mean() + stage.gap)
