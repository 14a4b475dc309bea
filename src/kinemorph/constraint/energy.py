"""Energy of a model: kinetic, potential (gravity) and elastic (all springs)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph.constraint.passive import fill_link_forces
from kinemorph.jit.api import entry, rows_at
from kinemorph.multibody.algorithms.energy_momentum import sums_of
from kinemorph.multibody.checks import Vector, as_arrays
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dofs_of
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.model.springs import fill_spring_stretch
from kinemorph.spatial.arguments.annotated import checked_on_failure


class Energy(NamedTuple):
    """Joules. `potential` is gravity's, zero where the world's origin is; `elastic` is in the springs of joints,
    of loops and of force elements."""

    kinetic: float
    potential: float
    elastic: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential + self.elastic


@entry
def _elastic(address: int, rest: Vector, q: Vector, v: Vector, out: Vector) -> float:
    tree = rows_at(address, 1, TREE)[0]
    dofs = dofs_of(tree)
    energy = 0.0
    if tree["springs"] != 0:
        fill_spring_stretch(tree, rest, q, out)
        for k in range(tree["nv"]):
            energy += 0.5 * dofs[k]["stiffness"] * out[k] * out[k]
    if tree["pushes"] != 0:
        energy += fill_link_forces(tree, q, v)
    return energy


@checked_on_failure
def energy(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> Energy:
    """Kinetic, potential and elastic energy. Armatures count as kinetic."""
    sums = sums_of(model, data, q, v)
    elastic = 0.0
    if model.passive or model.header[0]["springs"]:
        q64, v64 = as_arrays(model, q=q, v=v)
        elastic = float(_elastic(data.address, model.rest.copy(), q64, v64, np.empty(model.nv)))
    return Energy(float(sums["kinetic"]), float(-model.gravity @ sums["moment"]), elastic)
