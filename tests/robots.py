"""The robots of example-robot-data, for tests and benchmarks. The package has data only, nothing to import."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from kinemorph._files import ModelWarning
from kinemorph.io.urdf import load_urdf
from kinemorph.multibody.model import Model


def folder() -> Path | None:
    """Where the robots are, None if example-robot-data is not installed."""
    try:
        path = distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
    except PackageNotFoundError:
        return None
    return Path(str(path))


FOLDER = folder()
# every URDF file by a short name, such as "talos_data/talos_reduced"
ROBOTS = (
    {f"{path.relative_to(FOLDER).parts[0]}/{path.stem}": path for path in sorted(FOLDER.rglob("*.urdf"))}
    if FOLDER
    else {}
)
# xacro has left nothing in it: no name, no links. Pinocchio refuses it; kinemorph makes an empty model.
EMPTY = "ur_description/ur3"


def load(name: str, floating: bool = False, merge_fixed: bool = True) -> Model:
    """A robot, whatever is odd about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(ROBOTS[name], floating, merge_fixed=merge_fixed)
