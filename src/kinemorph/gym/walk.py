"""To walk: four legs of two joints each, and a reward for every metre along x."""

from __future__ import annotations

from itertools import product
from typing import ClassVar

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

TORSO, MASS = (0.5, 0.24, 0.1), 5.0  # m, kg
LEG, THICK, LIMB = 0.2, 0.03, 0.4  # m, m, kg: length of thigh and shin, radius, mass of each
HIP, KNEE, SWING = 0.5, -1.0, 0.7  # rad: where joints rest, and how far an action moves them
STIFF, DAMP, MOST = 80.0, 3.0, 25.0  # N m/rad, N m s/rad, N m
LOWEST, TILTED = 0.12, 0.3  # m, and cosine: lower or more tilted is fallen
RUBBER = Material(friction=1.0)
LEGS = tuple(f"{end} {side}" for end, side in product(("front", "rear"), ("left", "right")))


def quadruped() -> Model:
    """Looks along x, and stands on its feet with its joints where they rest."""
    b = Builder("quadruped")
    torso = Shape.box(TORSO, colour=(0.3, 0.5, 0.7, 1.0))
    b.link("torso", None, Joint.free(), inertia=Inertia.box(MASS, TORSO), shapes=torso)
    bar = Shape.capsule(THICK, LEG, Pose((0.0, 0.0, -0.5 * LEG)), mask=0)
    inertia = Inertia.cylinder(LIMB, THICK, LEG, (0.0, 0.0, -0.5 * LEG))
    foot = Shape.sphere(THICK, Pose((0.0, 0.0, -LEG)), colour=(0.9, 0.6, 0.2, 1.0))
    for name in LEGS:
        at = (0.2 if name.startswith("front") else -0.2, 0.12 if name.endswith("left") else -0.12, -0.04)
        hip, knee = (Joint.revolute("y", name=f"{name} {which}", lower=-2.0, upper=2.0) for which in ("hip", "knee"))
        b.link(f"{name} thigh", "torso", hip, at, inertia, bar)
        b.link(f"{name} shin", f"{name} thigh", knee, (0.0, 0.0, -LEG), inertia, [bar, foot])
    return b.build()


class Walk(Task):
    """A quadruped is to walk along x. Actions are targets of its hips and knees."""

    joints: ClassVar = tuple(f"{leg} {which}" for leg in LEGS for which in ("hip", "knee"))
    names = (
        *(f"torso.{n}" for n in ("z", "vx", "vy", "vz", "wx", "wy", "wz", "ahead", "aside", "up")),
        *(f"{joint}.{n}" for joint in joints for n in ("q", "v")),
    )
    actions = joints

    def __init__(self) -> None:
        self._rest = np.array([HIP, KNEE] * len(LEGS))

    def world(self) -> World:
        world = World(dt=2.5e-3, sleep=False, material=RUBBER)
        world.add_ground()
        model = quadruped()
        height = LEG * (np.cos(HIP) + np.cos(HIP + KNEE)) + 0.04 + THICK
        q = np.r_[0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0, self._rest]
        figure = world.add(model, q=q)
        servos = [
            world.servo(figure.joint(name), at, stiffness=STIFF, damping=DAMP, effort_limit=MOST)
            for name, at in zip(self.joints, self._rest.tolist(), strict=True)
        ]
        self._aim = Aim(servos)
        return world

    def begin(self, world: World, rng: np.random.Generator) -> None:
        scatter(world, "torso", rng, 0.02, 7)
        world.memory["x"] = float(world["torso"].position[0])

    def act(self, world: World, action: Array) -> None:
        world.memory["x"] = float(world["torso"].position[0])
        self._aim(world, self._rest + SWING * action)

    def reward(self, world: World, action: Array) -> float:
        """m/s that it went ahead, less a little for its effort."""
        ahead = (float(world["torso"].position[0]) - world.memory["x"]) / self.period
        return ahead - 0.01 * float(action @ action)

    def over(self, world: World) -> bool:
        pose = world["torso"].pose
        return bool(pose.position[2] < LOWEST or pose.rotation[2, 2] < TILTED)
