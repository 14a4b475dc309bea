"""Robots: the arm that comes with kinemorph, any model file, and those of example-robot-data, if it is installed."""

from __future__ import annotations

import math
import warnings
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from kinemorph._files import ModelWarning
from kinemorph.io.model_formats import load
from kinemorph.io.sdf.load_sdf import parse_sdf
from kinemorph.multibody.model.model import Model

ARM = Path(__file__).parents[1] / "data" / "arm.urdf"
FAMOUS = {  # the robots that benchmarks and demos name
    "anymal": "anymal_b_simple_description/anymal",
    "g1": "g1_description/g1_29dof_rev_1_0",
    "human": "human_description/human",
    "panda": "panda_description/panda",
    "talos": "talos_data/talos_full_v2",
    "ur5": "ur_description/ur5_robot",
}

# For `with_dofs`: a robot with its motors off that neither limits nor friction stop, which rollouts would warn of.
UNSTOPPED = {"lower": -np.inf, "upper": np.inf, "velocity_limit": np.inf, "effort_limit": np.inf, "friction": 0.0}


def folder() -> Path | None:
    """Where the robots are, None if the package is not installed. It has data only, nothing to import."""
    try:
        path = distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
    except PackageNotFoundError:
        return None
    return Path(str(path))


def robot_files() -> dict[str, Path]:
    """Every URDF file by a name such as "talos_data/talos_reduced"."""
    root = folder()
    if root is None:
        return {}
    return {f"{path.relative_to(root).parts[0]}/{path.stem}": path for path in sorted(root.rglob("*.urdf"))}


def is_file_name(name: str) -> bool:
    """Whether a robot is named as a model file, by its path."""
    return Path(name).suffix.lower() in (".urdf", ".sdf", ".xml", ".mjcf")


def robot_file(name: str) -> Path:
    """The model file of a robot: "arm", a path of a file, or a name of `FAMOUS` or of `robot_files`."""
    if name == "arm":
        return ARM
    if is_file_name(name):
        return Path(name)
    files = robot_files()
    if not files:
        raise FileNotFoundError(
            f"there is no robot {name!r} here, but 'arm', and any file of yours (URDF, SDF, MJCF); "
            "for others: pip install example-robot-data"
        )
    try:
        return files[FAMOUS.get(name, name)]
    except KeyError:
        raise KeyError(f"there is no robot {name!r}; there are {', '.join(['arm', *FAMOUS, *files])}") from None


def robot(name: str, floating: bool = False) -> Model:
    """A robot as a model. What is odd about its file is not warned about here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load(robot_file(name), floating)


def cassie(floating: bool = True) -> Model:
    """Cassie, a biped whose legs are closed chains: a rod behind each shin, and one to each foot. Its file is SDF.

    The file rounds right angles, which tilts the hinges of the right plantar rod against each other by 7e-8 rad. That
    linkage moves in a plane, or not at all: with the tilt it could only stay closed to some 1e-9 m. So here they are
    straight.
    """
    root = folder()
    if root is None:
        raise FileNotFoundError("the robots are not here: pip install example-robot-data")
    path = root / "cassie_description" / "robots" / "cassie_v2.sdf"
    text = path.read_text().replace("1.5708", repr(math.pi / 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return parse_sdf(text, floating, source=str(path), folder=path.parent)
