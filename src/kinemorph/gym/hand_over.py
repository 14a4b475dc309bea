"""To hand over: two arms, a ball, and grips that are joints: they connect and cut. The structure is what is learnt."""

from __future__ import annotations

import math

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.gym.task import Aim, Task, scatter
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Array, Pose
from kinemorph.world.world import World

PART, HEIGHT, APART = 0.4, 0.8, 0.55  # m: of upper arm and forearm; of the shoulders; of each from the middle
STIFF, DAMP, MOST = 300.0, 20.0, 60.0  # N m/rad, N m s/rad, N m
BALL, WEIGHT, REACH = 0.06, 0.3, 0.1  # m, kg, m: how near a hand must be to take it
SIDES = ("left", "right")
START, SWING = {"left": (0.3, 0.4), "right": (-1.4, 0.3)}, 1.5  # rad, of shoulders and elbows; for an action of 1
LOW = 0.15  # m: a ball that is lower was dropped


def arm(side: str) -> Model:
    """An arm in the plane y = 0 that points to the other one; its hand is the end of its forearm."""
    b = Builder(f"{side} arm")
    way = 1.0 if side == "left" else -1.0
    bar = Shape.capsule(0.03, PART, Pose.turn((0, 1, 0), 0.5 * math.pi, (0.5 * way * PART, 0.0, 0.0)), mask=0)
    rod = Inertia.cylinder(1.0, 0.03, PART).moved(Pose.turn((0, 1, 0), 0.5 * math.pi, (0.5 * way * PART, 0.0, 0.0)))
    palm = Shape.sphere(0.05, Pose((way * PART, 0.0, 0.0)), colour=(0.9, 0.6, 0.2, 1.0), mask=0)
    shoulder, elbow = (Joint.revolute("y", name=f"{side} {which}") for which in ("shoulder", "elbow"))
    b.link(f"{side} upper arm", None, shoulder, (-way * APART, 0.0, HEIGHT), rod, bar)
    b.link(f"{side} forearm", f"{side} upper arm", elbow, (way * PART, 0.0, 0.0), rod, [bar, palm])
    return b.build()


class HandOver(Task):
    """The left hand holds a ball: the right one is to have it, alone. Grips above 0 take and hold, below 0 let go."""

    names = (
        *(f"{side} {which}.{n}" for side in SIDES for which in ("shoulder", "elbow") for n in ("q", "v")),
        *(f"ball.{n}" for n in ("x", "z", "vx", "vz")),
        *(f"{side} grip.{n}" for side in SIDES for n in ("q", "v")),  # there while that hand carries the ball
    )
    actions = (*(f"{side} {which}" for side in SIDES for which in ("shoulder", "elbow")), *(f"{s} grip" for s in SIDES))
    longest = 250

    def world(self) -> World:
        world = World(dt=2.5e-3, sleep=False)
        world.add_ground()
        servos, self._rest = [], np.array([*START["left"], *START["right"]])
        for side in SIDES:
            figure = world.add(arm(side), q=START[side])
            for which, at in zip(("shoulder", "elbow"), START[side], strict=True):
                joint = figure.joint(f"{side} {which}")
                servos.append(world.servo(joint, at, stiffness=STIFF, damping=DAMP, effort_limit=MOST))
        self._aim = Aim(servos)
        shape = Shape.sphere(BALL, colour=(0.8, 0.25, 0.2, 1.0))
        density = WEIGHT / (4.0 / 3.0 * math.pi * BALL**3)
        world.add(shape, at=self.hand(world, "left"), density=density, name="ball")
        return world

    def begin(self, world: World, rng: np.random.Generator) -> None:
        for side in SIDES:
            scatter(world, f"{side} upper arm", rng, 0.03)
        tree = world.forest.tree_of(world["ball"].id)
        world.forest.set_state(tree, q=np.r_[self.hand(world, "left"), 1.0, 0.0, 0.0, 0.0])
        self.grip(world, "left")

    @staticmethod
    def hand(world: World, side: str) -> Array:
        """m, where the palm of a hand is."""
        way = 1.0 if side == "left" else -1.0
        return world[f"{side} forearm"].pose.apply((way * PART, 0.0, 0.0))

    @staticmethod
    def holds(world: World, side: str) -> bool:
        """Whether a hand holds the ball."""
        return any(
            name == f"{side} grip" and world.forest.has_joint(id) for id, name in world.registry.joint_names.items()
        )

    def grip(self, world: World, side: str) -> None:
        """Take the ball, if it is near."""
        palm = self.hand(world, side)
        if float(np.linalg.norm(palm - world["ball"].position)) < REACH:
            world.connect(world[f"{side} forearm"], world["ball"], Joint.revolute("y", name=f"{side} grip"), palm)

    def act(self, world: World, action: Array) -> None:
        self._aim(world, self._rest + SWING * action[:4])
        for side, told in zip(SIDES, action[4:], strict=True):
            holds = self.holds(world, side)
            if told > 0.0 and not holds:
                self.grip(world, side)
            elif told < 0.0 and holds:
                world.cut(world.joint_id(f"{side} grip"))

    def reward(self, world: World, action: Array) -> float:
        """Less for each metre from the right hand to the ball; 10 when it is handed over, -10 when it was dropped."""
        far = float(np.linalg.norm(self.hand(world, "right") - world["ball"].position))
        return -far + (10.0 if self.succeeded(world) else -10.0 if self.dropped(world) else 0.0)

    @staticmethod
    def dropped(world: World) -> bool:
        """Whether the ball is on the ground, or nearly so."""
        return bool(world["ball"].position[2] < LOW)

    def succeeded(self, world: World) -> bool:
        return self.holds(world, "right") and not self.holds(world, "left")

    def over(self, world: World) -> bool:
        return self.succeeded(world) or self.dropped(world)
