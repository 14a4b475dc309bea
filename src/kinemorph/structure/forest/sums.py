"""Sums over all or some bodies of a forest: momentum and energy; and gravity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinemorph.constraint.energy import Energy
from kinemorph.multibody.algorithms.energy_momentum import SUMS
from kinemorph.multibody.checks import Array
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.pose import vector
from kinemorph.structure.forest.energy import sum_elastic_energy, sum_forest
from kinemorph.structure.forest.layout import BODIES, FULL
from kinemorph.structure.forest.memory import set_gravity
from kinemorph.structure.forest.tables import ForestTables


@checked_on_failure
class ForestSums(ForestTables):
    """The part of a `Forest` that sums over bodies."""

    @property
    def gravity(self) -> Array:
        """m/s², the same for all trees."""
        return np.array([float(self.header[g]) for g in ("gx", "gy", "gz")])

    @gravity.setter
    def gravity(self, value: Iterable[float]) -> None:
        with self.claimed() as address:
            set_gravity(address, *vector(value, 3, "forest: gravity").tolist())

    def momentum(self, bodies: Iterable[int] | None = None) -> Array:
        """Angular and linear momentum of all bodies, or of these (6), world axes, about the world's origin."""
        sums = self.sums(bodies)
        return np.concatenate([sums["angular"], sums["linear"]])

    def energy(self, bodies: Iterable[int] | None = None) -> Energy:
        """Energy of all bodies, or of these. Armatures count as kinetic; springs of joints, loops and force elements
        count if all that they are between is among these bodies, or is the base."""
        bodies = None if bodies is None else list(bodies)
        chosen, elastic = self._chosen(bodies), np.zeros(1)
        with self.claimed() as address:
            while (status := sum_elastic_energy(address, chosen, elastic)) == FULL:
                self._grow()
        self._check(status)
        sums = self.sums(bodies)
        return Energy(float(sums["kinetic"]), float(-self.gravity @ sums["moment"]), float(elastic[0]))

    def kinetic_energy(self) -> float:
        """Kinetic energy of all bodies, J; armatures count."""
        return float(self.sums()["kinetic"])

    def potential_energy(self) -> float:
        """Energy of all bodies in gravity, zero at the world's origin, and of all springs, J: those of joints, of loops
        and of force elements."""
        energy = self.energy()
        return energy.potential + energy.elastic

    def sums(self, bodies: Iterable[int] | None = None) -> Any:
        """Mass, first moment, momentum and kinetic energy of all bodies, or of these: a row of SUMS."""
        sums = np.zeros(1, SUMS)
        self._check(sum_forest(self.address, self._chosen(bodies), sums))
        return sums[0]

    def _chosen(self, bodies: Iterable[int] | None) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """A mark for each body that is meant, by its index."""
        chosen = np.zeros(len(self._tables[BODIES]), np.uint8)
        chosen[slice(None) if bodies is None else [self._find(BODIES, body, "body") for body in bodies]] = 1
        return chosen

    def _check(self, status: int) -> None:
        if status:
            raise RuntimeError("this forest is in use by another thread")
