"""Following a target that moves."""

from __future__ import annotations

from dataclasses import dataclass

from kinemorph.creatures.tasks.task import Marks, Stage, Task, closeness
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.joint import Joint


@dataclass(frozen=True)
class Follow(Task):
    """Stay close to a target that goes round on a circle, ahead of it at first, left or right by the draw's number."""

    radius: float = 1.5  # m, of the circle
    speed: float = 0.2  # m/s, of the target

    def begin(self, stage: Stage) -> None:
        side = 1.0 if stage.number % 2 == 0 else -1.0
        x, y, _ = stage.centre
        ahead = x + 1.0 + 0.5 * float(stage.rng.random())
        arm, small = Builder("target"), Inertia.box(0.01, (0.1, 0.1, 0.1))
        arm.link("arm", None, Joint.revolute("z", name="turn"), inertia=small)
        arm.link("mark", "arm", Joint.fixed(), at=(0.0, -side * self.radius, 0.0), inertia=small)
        figure = stage.world.add(arm.build(), at=(ahead, y + side * self.radius, 0.1))
        stage.world.motor(figure.joint("turn"), side * stage.level * self.speed / self.radius)
        stage.mind.target = figure["mark"]

    def mark(self, stage: Stage) -> Marks:
        gap = stage.late_gap()
        return Marks(closeness(gap, stage.gap), 1.0 / (1.0 + gap / stage.size), gap)
