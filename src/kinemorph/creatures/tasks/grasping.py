"""Tasks with grasps: carry a ball to a goal, and go along bars hand over hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kinemorph.creatures.tasks.task import Marks, Stage, Task, closeness
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.multibody.joint import Joint
from kinemorph.spatial.pose import Pose

AHEAD = 0.5  # of its own way, what the ways of its foremost and of its hindmost hand count


@dataclass(frozen=True)
class Carry(Task):
    """Bring a ball that lies ahead to a goal behind it: held, pushed or thrown, but there at the end."""

    grasps: bool = True
    goal: float = 2.0  # m, from where it starts

    def begin(self, stage: Stage) -> None:
        x, y, _ = stage.centre
        aside = stage.level * 0.2 * (2.0 * float(stage.rng.random()) - 1.0)
        stage.add_ball((x + 0.5 * stage.length + 0.25, y + aside, 0.101))
        stage.mind.target = (x + self.goal, y, 0.1)

    def mark(self, stage: Stage) -> Marks:
        goal, ball = np.array(stage.mind.target)[:2], stage.world["ball"].position[:2]
        start, now = self.goal - 0.5 * stage.length - 0.25, float(np.linalg.norm(goal - ball))
        closer = closeness(float(np.linalg.norm(stage.centre[:2] - ball)), 0.5 * stage.length + 0.25)
        return Marks(closeness(now, start) + 0.1 * max(0.0, closer), max(0.0, start - now), start - now)


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
        world.set_hold(stage.mind.row, hand, world.connect(None, hand, Joint.fixed()))
        stage.mind.target = (at[0] + 100.0, at[1], at[2])
        stage.notes["first"] = float(at[0])
        stage.stop_when(Event.height(stage.figure["part0"].id, float(at[2]) - self.depth, direction=-1))

    def mark(self, stage: Stage) -> Marks:
        x, holds = stage.way[0], bool(stage.mind.holds)
        along = x if holds else min(x, 0.0) + 0.25 * min(max(x, 0.0), self.apart)
        value = (along + AHEAD * sum(self.reach(stage))) / self.apart  # not by its length: who is short reaches no bar
        return Marks(max(-1.0, value), max(0.0, x) if holds else 0.0, along)

    def reach(self, stage: Stage) -> tuple[float, float]:
        """m, how far ahead of its first hand the foremost and the hindmost part are that hold on.

        Who has a second bar can let go of the first; who has let go of it is on its way.
        """
        forest, first = stage.world.forest, stage.notes["first"]
        held = [stage.world.body(id).position[0] - first for joint in stage.mind.holds for id in forest.sides(joint)]
        return max(0.0, float(max(held, default=0.0))), max(0.0, float(min(held, default=0.0)))
