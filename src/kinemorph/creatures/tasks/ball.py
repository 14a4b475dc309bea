"""Hitting a ball: a creature whose root does not move, without weight."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kinemorph.creatures.settings import Root
from kinemorph.creatures.tasks.task import Marks, Stage, Task, closeness
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.world.body import Body

RADIUS, NEAR = 0.1, 0.02  # m, of the ball; and the least way to it
AFTER = 0.2  # s, that a hit takes, until the ball flies
CROWD = 16  # balls of a life without senses, which does not depend on where they are: as light as air
LIGHT_BALL = Shape.sphere(RADIUS, group=2, mask=1)


@checked_on_failure
@dataclass(frozen=True)
class HitBall(Task):
    """Hit a ball on the x axis, the farther the higher the level: upwards, with few parts (Fontijne 4.5)."""

    seconds: float = 4.0
    gravity: float = 0.0
    patience: float = 0.0
    root: Root = Root.FIXED
    moves: bool = False  # the score itself needs motion, and a creature may face the ball from the start
    near: float = 0.5  # m, from the root
    far: float = 1.0

    def place(self, stage: Stage) -> tuple[float, float, float]:
        """Where the ball is."""
        return self.near + stage.level * (self.far - self.near), 0.0, 0.0

    def begin(self, stage: Stage) -> None:
        ball = stage.add_ball(self.place(stage), RADIUS)
        stage.mind.target = ball
        stage.stop_when(Event.contact(ball, times=1))

    def mark(self, stage: Stage) -> Marks:
        if stage.gap < RADIUS + NEAR:
            return Marks(0.0, 0.0, 0.0)  # it was there already
        if not stage.early or stage.spent:
            return Marks(closeness(stage.late_gap(), stage.gap), 0.0, 0.0)
        spent, end = stage.time, stage.world.time - stage.time + self.seconds
        stage.world.run(min(AFTER, self.seconds - spent))
        ball = stage.mind.target
        assert isinstance(ball, Body)
        z = ball.position[2] + ball.velocity[2] * (end - stage.world.time)  # it flies on: nothing pulls
        return Marks(1.2 + 0.3 * (1.0 - spent / self.seconds), max(0.0, float(z)) / stage.parts, 1.0)


@checked_on_failure
@dataclass(frozen=True)
class HitBallAnywhere(HitBall):
    """Hit a ball at varying places: a quarter of a sphere around, eight octants by the draw's number."""

    azimuth: float = math.radians(90.0)
    elevation: float = math.radians(45.0)
    crowd: int = 0  # so many balls at once, which do not meet each other: what it hits of them, it hits by chance
    trials: ClassVar[int] = 2  # one place is hit blindly, several are not

    def place(self, stage: Stage) -> tuple[float, float, float]:
        return self._somewhere(stage, stage.number)

    def blinded(self) -> HitBallAnywhere:
        return replace(self, crowd=CROWD)

    def begin(self, stage: Stage) -> None:
        if not self.crowd:
            return super().begin(stage)
        places = [self._somewhere(stage, number) for number in range(self.crowd)]
        balls = [stage.world.add(LIGHT_BALL, at=at, density=1.0) for at in places]
        stage.mind.target = balls[0]
        stage.notes["balls"] = list(zip(balls, places))

    def mark(self, stage: Stage) -> Marks:
        if not self.crowd:
            return super().mark(stage)
        hits = [bool((ball.position != place).any()) for ball, place in stage.notes["balls"]]
        return Marks(0.0, 0.0, float(np.mean(hits)))

    def _somewhere(self, stage: Stage, number: int) -> tuple[float, float, float]:
        u, v, r = stage.rng.random(3)
        k = number % 8  # four ranges of azimuth, two of elevation
        a = stage.level * self.azimuth * (2.0 * ((k % 4 + u) / 4.0) - 1.0)
        b = stage.level * self.elevation * (2.0 * ((k // 4 + v) / 2.0) - 1.0)
        r = self.near + r * (self.far - self.near)
        return float(r * math.cos(b) * math.cos(a)), float(r * math.cos(b) * math.sin(a)), float(r * math.sin(b))
