"""To stand up: a figure of a foot, a shin, a thigh and a torso crouches, and is to rise and keep standing."""

from __future__ import annotations

import numpy as np

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.gym.task import Aim, Task, scatter
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Array, Pose
from kinemorph.world.world import World

FOOT = (0.36, 0.24, 0.06)  # m
PARTS = {"shin": (0.35, 2.0), "thigh": (0.35, 4.0), "torso": (0.45, 8.0)}  # m, kg
JOINTS = ("ankle", "knee", "hip")
CROUCH, SWING = (1.0, -2.2, 1.7), 2.5  # rad, rad for an action of 1
MOST, STIFF, DAMP = 80.0, 500.0, 25.0  # N m, N m/rad, N m s/rad
TALL = sum(length for length, _ in PARTS.values())  # m, from the ankle to the head
UPRIGHT, PATIENCE = 0.95, 25  # share of that, and actions for which it must stand
RUBBER = Material(friction=1.0)


def crouched() -> Model:
    """A foot on the ground, and a leg and a torso above it, which bend about y."""
    b = Builder("crouched")
    b.link("foot", None, Joint.free(), inertia=Inertia.box(2.0, FOOT), shapes=Shape.box(FOOT))
    carrier, at = "foot", (-0.04, 0.0, 0.5 * FOOT[2])
    for (part, (length, mass)), joint in zip(PARTS.items(), JOINTS, strict=True):
        bar = Shape.capsule(0.05, length - 0.1, Pose((0.0, 0.0, 0.5 * length)), mask=0)
        inertia = Inertia.cylinder(mass, 0.05, length, (0.0, 0.0, 0.5 * length))
        b.link(part, carrier, Joint.revolute("y", name=joint, lower=-2.5, upper=2.5), at, inertia, bar)
        carrier, at = part, (0.0, 0.0, length)
    return b.build()


class StandUp(Task):
    """Rise, and stand for half a second. Actions are targets of ankle, knee and hip: 0 is straight."""

    names = (
        *(f"foot.{n}" for n in ("z", "ahead", "up")),
        *(f"torso.{n}" for n in ("z", "vx", "vz", "wy", "ahead", "up")),
        *(f"{joint}.{n}" for joint in JOINTS for n in ("q", "v")),
    )
    actions = JOINTS
    longest = 250

    def world(self) -> World:
        world = World(dt=2.5e-3, sleep=False, material=RUBBER)
        world.add_ground()
        figure = world.add(crouched(), q=np.r_[0.0, 0.0, 0.5 * FOOT[2], 1.0, 0.0, 0.0, 0.0, CROUCH])
        servos = [
            world.servo(figure.joint(name), at, stiffness=STIFF, damping=DAMP, effort_limit=MOST)
            for name, at in zip(JOINTS, CROUCH, strict=True)
        ]
        self._aim = Aim(servos)
        return world

    def begin(self, world: World, rng: np.random.Generator) -> None:
        scatter(world, "foot", rng, 0.02, 7)
        world.memory["stood"] = 0.0

    @staticmethod
    def height(world: World) -> float:
        """How high the head is above the ankle, as a share of how high it can be."""
        length, _ = PARTS["torso"]
        head = world["torso"].pose.apply((0.0, 0.0, length))
        return float(head[2] - FOOT[2]) / TALL

    def act(self, world: World, action: Array) -> None:
        self._aim(world, SWING * action)

    def reward(self, world: World, action: Array) -> float:
        """The height of the head, less a little for the speed of the torso; 10 when it has stood."""
        high, fast = self.height(world), float(np.linalg.norm(world["torso"].velocity))
        stands = high > UPRIGHT and world["foot"].pose.rotation[2, 2] > UPRIGHT
        world.memory["stood"] = world.memory["stood"] + 1.0 if stands else 0.0
        return high - 0.1 * fast + (10.0 if self.succeeded(world) else 0.0)

    def succeeded(self, world: World) -> bool:
        return bool(world.memory.get("stood", 0.0) >= PATIENCE)

    def over(self, world: World) -> bool:
        return self.succeeded(world) or self.height(world) < 0.2
