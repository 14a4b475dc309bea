"""Rigid bodies that change while they move: connect, cut, re-root, evolve. Import as `km`."""

from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Data, Mimic, Model
from kinemorph.spatial.pose import Pose

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "Data",
    "Inertia",
    "Joint",
    "JointKind",
    "Mimic",
    "Model",
    "Pose",
    "Role",
    "Shape",
    "ShapeKind",
]
