"""The robots of example-robot-data, for tests."""

from __future__ import annotations

import warnings

from kinemorph._files import ModelWarning
from kinemorph.io.urdf.load_urdf import load_urdf
from kinemorph.multibody.model.model import Model
from kinemorph.scenes.robots.catalog import folder, robot_files

FOLDER = folder()
ROBOTS = robot_files()
# xacro has left nothing in it: no name, no links. Pinocchio refuses it; kinemorph makes an empty model.
EMPTY = "ur_description/ur3"


def load(name: str, floating: bool = False, merge_fixed: bool = True) -> Model:
    """A robot, whatever is odd about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(ROBOTS[name], floating, merge_fixed=merge_fixed)
