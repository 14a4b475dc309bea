"""Tasks with grasps: carry a ball to a goal, and go along bars hand over hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kinemorph.creatures.tasks.task import Array, Marks, Stage, Task, closeness
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.multibody.model.joint import Joint
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import length

CROWD = 16  # goals of a life without senses, which does not depend on where they are
SECTORS = 1, 6, 4, 3, 0, 7, 5, 2  # of the range of bearings: the first few draws are to both sides
FOREMOST_HAND_SHARE = 0.5  # of its own way, what the ways of its foremost and of its hindmost hand count


@checked_on_failure
@dataclass(frozen=True)
class Carry(Task):
    """Bring a ball that lies ahead to a goal behind it, which is seen: held, pushed or thrown, but there at the end.

    The goal is more or less to the side, eight bearings by the draw's number: without senses most are missed.
    """

    grasps: bool = True
    goal: float = 2.0  # m, from where it starts
    bearing: float = math.radians(60.0)  # to each side, at level 1
    crowd: int = 0  # so many goals at once: how near the ball comes to them, it comes by chance
    trials: ClassVar[int] = 2

    def blinded(self) -> Carry:
        return replace(self, crowd=CROWD)

    def begin(self, stage: Stage) -> None:
        x, y, _ = stage.centre
        aside = stage.level * 0.2 * (2.0 * float(stage.rng.random()) - 1.0)
        ball = stage.add_ball((x + 0.5 * stage.length + 0.25, y + aside, 0.101))
        numbers = range(self.crowd) if self.crowd else (stage.number,)
        goals = [stage.centre + self._somewhere(stage, number) for number in numbers]
        stage.mind.target = (*goals[0][:2].tolist(), 0.1)
        stage.notes["ways"] = [(goal[:2], length(goal[:2] - ball.position[:2])) for goal in goals]

    def mark(self, stage: Stage) -> Marks:
        noted, ball = stage.notes["ways"], stage.world["ball"].position[:2]
        ways = [(length(goal - ball), start) for goal, start in noted]
        if self.crowd:
            return Marks(0.0, 0.0, float(np.mean([max(0.0, closeness(now, start)) for now, start in ways])))
        ((now, start),) = ways
        closer = closeness(length(stage.centre[:2] - ball), 0.5 * stage.length + 0.25)
        return Marks(closeness(now, start) + 0.1 * max(0.0, closer), max(0.0, start - now), start - now)

    def _somewhere(self, stage: Stage, number: int) -> Array:
        """m, the way from the creature to a goal."""
        share = (SECTORS[number % 8] + float(stage.rng.random())) / 8.0
        angle = stage.level * self.bearing * (2.0 * share - 1.0)
        return self.goal * np.array((math.cos(angle), math.sin(angle), 0.0))


@checked_on_failure
@dataclass(frozen=True)
class Brachiate(Task):
    """Go along bars: grasp, swing, let go. It begins with one hand on the first bar; below there is nothing."""

    grasps: bool = True
    patience: float = 0.0
    bars: int = 12
    apart: float = 0.4  # m
    depth: float = 2.0  # m below the bars where a life ends

    def prepare(self, stage: Stage) -> None:
        """There is no ground; bars come when it wakes, for the first is where its hand is."""

    def begin(self, stage: Stage) -> None:
        world = stage.world
        hand = stage.hand()
        at = hand.position
        across = Pose.rpy(math.pi / 2, 0.0, 0.0)
        for k in range(1, self.bars):  # the first is in its hand
            place = Pose((at[0] + k * self.apart, at[1], at[2]), across.rotation)
            world.add_ground(Shape.capsule(0.02, 2.0, pose=place), material=stage.soil)
        world.brains.set_grasp(stage.mind.row, hand, world.connect(None, hand, Joint.fixed()))
        stage.mind.target = (at[0] + 100.0, at[1], at[2])
        stage.notes["first"] = float(at[0])
        stage.stop_when(Event.height(stage.figure["part0"].id, float(at[2]) - self.depth, direction=-1))

    def mark(self, stage: Stage) -> Marks:
        x, holds = stage.way[0], bool(stage.mind.holds)
        along = x if holds else min(x, 0.0) + 0.25 * min(max(x, 0.0), self.apart)
        value = (
            along + FOREMOST_HAND_SHARE * sum(self.reach(stage))
        ) / self.apart  # not by its length: a short creature reaches no bar
        return Marks(max(-1.0, value), max(0.0, x) if holds else 0.0, along)

    def reach(self, stage: Stage) -> tuple[float, float]:
        """How far (m) ahead of its first hold the foremost and the hindmost of the grasping parts are.

        A second hold allows to let go of the first bar; the hindmost part counts once that has been let go.
        """
        forest, first = stage.world.forest, stage.notes["first"]
        held = [stage.world.body(id).position[0] - first for joint in stage.mind.holds for id in forest.sides(joint)]
        return max(0.0, float(max(held, default=0.0))), max(0.0, float(min(held, default=0.0)))
