"""Velocities after a plastic connection (N&Y section V).

A joint that has just been made is a loop that is closed but whose two sides still move apart. The impulses at all loops
that end this, with the impulses at the joints of the tree, conserve momentum and lose the least energy: with J_C of all
loops, old and new, Δv = - M⁻¹ J_Cᵀ (J_C M⁻¹ J_Cᵀ)⁻¹ J_C v, which is N&Y eqs. 25 to 38 for any joints and any number of
chains. Rows that depend on others, because a constraint holds already or a side cannot move, bear no impulse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinemorph._jit import entry, rows_at
from kinemorph.multibody.calls import Array, Vector
from kinemorph.multibody.layout import TREE
from kinemorph.multibody.totals import sum_up
from kinemorph.structure.closure import project_velocity
from kinemorph.structure.loop_rows import errors
from kinemorph.structure.loops import CHAIN, ClosedData, Mechanism


class Impact(NamedTuple):
    v: Array  # velocities after it
    impulses: Array  # moment and impulse (6) on link b at every loop, at the successor's origin, world axes
    energy_lost: float  # J
    momentum_error: float  # N s and N m s: by how much the momentum of the tree changed
    errors: Array  # m and rad: how far each loop is open


@entry
def _impact(handle: int, q: Vector, v: Vector, step: Vector, out: Vector) -> float:
    """v becomes that after the impact. out: the sums of the tree before and after it. Returns the energy lost."""
    chain = rows_at(handle, 1, CHAIN)[0]
    tree = rows_at(chain["tree"], 1, TREE)[0]
    sum_up(tree, q, v, out[:11])
    project_velocity(chain, q, v, step)
    sum_up(tree, q, v, out[11:])
    return out[10] - out[21]


@entry
def _errors(handle: int) -> float:
    return errors(rows_at(handle, 1, CHAIN)[0])


def impact(mechanism: Mechanism, data: ClosedData, q: Array, v: Array) -> Impact:
    """Velocities after all loops of a mechanism have begun to hold."""
    after, sums = v.copy(), np.zeros(22)
    lost = _impact(data.handle, q, after, np.zeros(len(v)), sums)
    impulses = data.wrenches
    _errors(data.handle)
    c = np.abs(data.rows["c"])
    opened = np.array([c[l["first"] : l["first"] + l["m"]].max(initial=0.0) for l in data.loops])
    return Impact(after, impulses, lost, float(np.abs(sums[15:21] - sums[4:10]).max()), opened)
