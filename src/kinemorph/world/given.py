"""Arguments as users give them: what is wrong with one is a sentence that names it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from kinemorph.geometry.material import Material
from kinemorph.spatial.pose import Pose, vector


def finite(what: str, value: float, least: float = -math.inf, most: float = math.inf) -> float:
    """A number that is finite and in a range, or one sentence."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and least <= number <= most):
        span = "finite" if least == -math.inf else f"from {least:g} to {most:g}"
        raise ValueError(f"{what} is {value}, and must be {span}")
    return number


def positive(what: str, value: float) -> float:
    """A finite number above 0."""
    number = finite(what, value)
    if not number > 0.0:
        raise ValueError(f"{what} is {value}, and must be above 0")
    return number


def largest(what: str, value: float) -> float:
    """A largest force: a number from 0 on, or infinity."""
    number = float(value)
    if not number >= 0.0:
        raise ValueError(f"{what} is {value}, and must be 0 or more")
    return number


def place_at(what: str, at: Pose | Iterable[float]) -> Pose:
    """A pose, or the position of one."""
    return at if isinstance(at, Pose) else Pose(vector(at, 3, what))


def refuse(what: str, whose: str, **given: Any) -> None:
    """Refuse arguments that mean nothing here."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{what}: {name} is for {whose}")


def a_material(where: str, material: Material) -> None:
    """Refuse what is no material."""
    if not isinstance(material, Material):
        raise TypeError(f"{where}: a material is a kinemorph.Material, not {material!r:.60}")
