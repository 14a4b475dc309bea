"""Surface material of a shape: friction and restitution."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import LOW_BITS, check_finite, check_whole
from kinemorph.spatial.pose import vector

RANGES = {
    **dict.fromkeys(("friction", "torsional", "rolling", "margin"), (0.0, math.inf)),
    "restitution": (0.0, 1.0),
    "tangential": (-1.0, 1.0),
}  # of numbers of a material
ALL_GROUPS_MASK = 0xFFFFFFFF  # the mask of a shape that meets all groups


@checked_first
@dataclass(frozen=True)
class Material:
    """Friction and restitution of a surface. The world combines the materials of two shapes."""

    friction: float = 1.0  # Coulomb's coefficient, against sliding
    torsional: float = 0.005  # m, against spinning about the normal
    rolling: float = 0.0001  # m, against rolling
    restitution: float = 0.0  # of the normal velocity, 0 to 1
    directions: int = 3  # 1: no friction at all, 3: sliding, 4: and spinning, 6: and rolling
    margin: float = 0.0  # m: it touches from this distance on
    priority: int = 0  # where two materials differ in it, the higher one alone decides
    tangential: float = 0.0  # restitution along the surface, -1 (none sticks) to 1; contact model "impulse" only
    surface: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m/s, of the surface along itself, shape's axes: a conveyor

    def __post_init__(self) -> None:
        for name, (least, most) in RANGES.items():
            object.__setattr__(self, name, check_finite(f"Material: {name}", getattr(self, name), least, most))
        object.__setattr__(self, "priority", check_whole("Material: priority", self.priority, -LOW_BITS, LOW_BITS))
        x, y, z = vector(self.surface, 3, "Material: surface").tolist()
        object.__setattr__(self, "surface", (x, y, z))
        directions = check_whole("Material: directions", self.directions, 1, 6)
        if directions not in (1, 3, 4, 6):
            raise ValueError(f"Material: directions {directions} must be 1, 3, 4 or 6")
        object.__setattr__(self, "directions", directions)
