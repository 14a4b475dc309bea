"""Arguments of worlds as users give them: what is wrong with one is a sentence that names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinemorph.geometry.material import Material
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose, vector

UPRIGHT = np.eye(3)


def place_at(what: str, at: Pose | Iterable[float]) -> Pose:
    """A pose, or the position of one."""
    return at if isinstance(at, Pose) else Pose.known(vector(at, 3, what), UPRIGHT.copy())


def refuse(what: str, whose: str, **given: Any) -> None:
    """Refuse arguments that mean nothing here."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{what}: {name} is for {whose}")


def a_material(where: str, material: Material) -> None:
    """Refuse what is no material."""
    if not isinstance(material, Material):
        raise TypeError(f"{where}: a material is a kinemorph.Material, not {repr_of(material)}")
