"""Rigid bodies that change while they move: connect, cut, re-root, evolve. Import as `km`."""

from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.multibody.aba import aba
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.configuration import difference, follow, integrate, neutral, random_configuration
from kinemorph.multibody.crba import crba
from kinemorph.multibody.impulse import collision_matrix, impulse_response
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.integrators import Trajectory, rollout, rollout_adaptive, step
from kinemorph.multibody.jacobian import jacobian, jacobian_drift
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import acceleration_of, kinematics, pose_of, velocity_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.ltl import ltl, ltl_solve
from kinemorph.multibody.model import Data, Mimic, Model
from kinemorph.multibody.rnea import rnea
from kinemorph.multibody.totals import Energy, com, com_velocity, energy, momentum
from kinemorph.spatial.pose import Pose

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "Data",
    "Energy",
    "Inertia",
    "Joint",
    "JointKind",
    "Mimic",
    "Model",
    "Pose",
    "Role",
    "Shape",
    "ShapeKind",
    "Trajectory",
    "aba",
    "acceleration_of",
    "collision_matrix",
    "com",
    "com_velocity",
    "crba",
    "difference",
    "energy",
    "follow",
    "impulse_response",
    "integrate",
    "jacobian",
    "jacobian_drift",
    "kinematics",
    "ltl",
    "ltl_solve",
    "momentum",
    "neutral",
    "pose_of",
    "random_configuration",
    "rnea",
    "rollout",
    "rollout_adaptive",
    "step",
    "velocity_of",
]
