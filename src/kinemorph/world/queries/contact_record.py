"""What a world says of its contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kinemorph.world.body import Body

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A point where two shapes touch, as the last step left it. Forces are the mean of that step, on `body`."""

    body: Body | None  # None: the ground, and what else does not move
    other: Body | None
    shape: int  # ids of both shapes
    other_shape: int
    point: Array  # m, world
    normal: Array  # unit, world, away from `other`
    distance: float  # m, negative: depth
    force: Array  # N, world: normal force and friction
    impulse: Array  # N s, of the last step
    moment: Array  # N m, world, about the point: of friction against rolling and spinning

    @property
    def normal_force(self) -> float:
        """N, how hard they press."""
        return float(self.normal @ self.force)

    @property
    def friction(self) -> Array:
        """N, the part of the force along the surface."""
        along: Array = self.force - self.normal_force * self.normal
        return along

    @property
    def torsion(self) -> float:
        """N m, the part of the moment about the normal: against spinning; the rest is against rolling."""
        return float(self.normal @ self.moment)
