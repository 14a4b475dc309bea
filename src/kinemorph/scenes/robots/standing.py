"""A robot of a URDF file in a world, in the pose that users expect: on the ground, its joints held.

URDF says neither whether a robot is nailed to the world, nor where it stands, nor what its motors do.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinemorph.geometry.meshes.mesh import mesh_of
from kinemorph.geometry.shapes import Role
from kinemorph.io.link_merging import ROOT_JOINT
from kinemorph.io.model_formats import load
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.algorithms.crba import crba
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Array
from kinemorph.world.world import World

WORLD = ("world", "world_link", "map")  # how a root is called that stands for the world
HOLDS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SCREW)
HOLD_FREQUENCY = 40.0  # rad/s: a held joint swings back so fast
HOLD_DAMPING_RATIO = 1.0  # of that swing; 1 is critical


def load_standing(path: Path, floating: bool | None = None) -> Model:
    """The model of a URDF file. If `floating` is None, `moves_freely` decides whether it floats."""
    if floating is not None:
        return load(path, floating)
    model = load(path, True)
    return model if moves_freely(model) else load(path, False)


def moves_freely(model: Model) -> bool:
    """Whether a robot, read with a root that floats, moves about: its root has mass, and is no stand of a single arm.

    What is fixed to the root counts as part of it. A root that carries one chain alone is taken for a stand. A robot of
    which nothing collides would fall for ever.
    """
    if not model.n or model.names[0] in WORLD or not model.links["mass"][0] > 0.0:
        return False
    if all(shape.role is Role.VISUAL for shapes in model.shapes for shape in shapes):
        return False
    return int((model.links["parent"] == 0).sum()) != 1


def add_standing_robot(world: World, model: Model, hold: bool = True) -> None:
    """Add a robot to a world with its lowest point at z = 0; if it is fixed, only if it would reach below that.

    Its joints are at zero, or at the limit next to it. With `hold` servos keep them there.
    """
    q = start(model)
    floats = bool(model.n) and model.joint_names[0] == ROOT_JOINT
    height = -lowest_point(model, q)
    if floats:
        q[2] += height
        figure = world.add(model, q=q)
    else:
        figure = world.add(model, at=(0.0, 0.0, max(height, 0.0)), q=q)
    if hold:
        followers = {mimic.joint for mimic in model.mimics}
        inertia = np.diag(crba(model, Data(model), q))
        for link, name in zip(model.links, model.joint_names, strict=True):
            if JointKind(int(link["kind"])) not in HOLDS or name in followers:
                continue
            m = float(inertia[link["iv"]])
            stiffness, damping = m * HOLD_FREQUENCY**2, 2.0 * HOLD_DAMPING_RATIO * m * HOLD_FREQUENCY
            world.servo(figure.joint(name), float(q[link["iq"]]), stiffness=stiffness, damping=damping)


def about(world: World, hold: bool) -> str:
    """A sentence on how the robot of a world is fixed and held, with the options that change it."""
    root = world.bodies[0]
    if world.queries.link_of(root.id)["kind"] == JointKind.FREE:
        words = f"{root.name!r} moves freely (--floating False nails it to the world)"
    else:
        words = "its root is nailed to the world (--floating True lets it move)"
    if hold and world.drives:
        words += "; servos hold the joints (--no-hold lets them hang)"
    return words


def start(model: Model) -> Array:
    """Joints at zero, or at the limit next to it."""
    q = neutral(model)
    for link in model.links:
        if JointKind(int(link["kind"])) in HOLDS:
            dof = model.dofs[link["iv"]]
            q[link["iq"]] = np.clip(0.0, dof["lower"], dof["upper"])
    return q


def lowest_point(model: Model, q: Array) -> float:
    """The height (m) of the lowest point of what collides, or else of what is seen; 0 if there is nothing."""
    data = Data(model)
    kinematics(model, data, q)
    heights = {Role.COLLISION: np.inf, Role.VISUAL: np.inf}
    for i, shapes in enumerate((model.base_shapes, *model.shapes), start=-1):
        for shape in shapes:
            low = float((pose_of(model, data, i) @ shape.pose).apply(mesh_of(shape).vertices)[:, 2].min())
            role = Role.VISUAL if shape.role is Role.VISUAL else Role.COLLISION
            heights[role] = min(heights[role], low)
    return next((height for height in heights.values() if np.isfinite(height)), 0.0)
