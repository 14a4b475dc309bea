"""What a shape is made of, as far as it touches others."""

from __future__ import annotations

import math
from dataclasses import dataclass

EVERYTHING = 0xFFFFFFFF  # the mask of a shape that meets all groups


@dataclass(frozen=True)
class Material:
    """How a surface rubs and bounces. What the materials of two shapes make together is for the world to say."""

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
        lengths = (self.friction, self.torsional, self.rolling, self.margin)
        if not all(0.0 <= x < math.inf for x in lengths):
            raise ValueError(
                f"Material: friction, torsional, rolling and margin {lengths} must be finite, not negative"
            )
        if not 0.0 <= self.restitution <= 1.0:
            raise ValueError(f"Material: restitution {self.restitution} must be from 0 to 1")
        if not -1.0 <= self.tangential <= 1.0:
            raise ValueError(f"Material: tangential restitution {self.tangential} must be from -1 to 1")
        if len(self.surface) != 3 or not all(map(math.isfinite, self.surface)):
            raise ValueError(f"Material: surface {self.surface} must be three finite numbers")
        if self.directions not in (1, 3, 4, 6):
            raise ValueError(f"Material: directions {self.directions} must be 1, 3, 4 or 6")
