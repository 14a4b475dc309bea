"""Passive forces: springs and dampers in joints, in loops and between links."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.constraint.loop_springs import push_loops
from kinemorph.jit.api import entry, for_lanes, generic, kernel, rows_at
from kinemorph.multibody.algorithms.kinematics import move_all, place_all
from kinemorph.multibody.checks import NO_FORCES, UNUSABLE, Array, Vector, as_arrays, belongs, complain, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import NUMBER, TREE, TREE_KIND, dofs_of
from kinemorph.multibody.model.elements import push_elements
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.model.springs import pull
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.rows import get, put


@kernel(inline=False)
def joint_forces(tree: Any, rest: Any, q: Any, v: Any, tau: Any, total: Any) -> None:
    """Total joint forces: applied forces minus dampers minus springs about their rest."""
    dofs = dofs_of(tree)
    if tree["springs"] != 0:
        pull(tree, rest, q, total)
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - get(total, k) - dofs[k]["damping"] * get(v, k))
    else:
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - dofs[k]["damping"] * get(v, k))


@kernel(inline=False)
def push_links(tree: Any, q: Any, v: Any) -> float:
    """Compute all wrenches on links, into `pushes`: given ones, and those of force elements and loop joints.

    Returns the elastic energy.
    """
    place_all(tree, q)
    move_all(tree, q, v)
    size = 6 * tree["n"]
    flat = rows_at(tree["pushes"], size, NUMBER)
    given = rows_at(tree["given"], size if tree["given"] != 0 else 0, NUMBER)
    for k in range(size):
        flat[k] = given[k] if tree["given"] != 0 else 0.0
    total = flat.reshape((tree["n"], 6))
    energy = push_elements(tree, total)
    if tree["system"] != 0:
        energy += push_loops(tree, total)
    return energy


@generic
def push(tree: Any, q: Any, v: Any) -> None:
    """Compute passive wrenches on links if there are any; `pushes` are then the external wrenches for the dynamics."""
    if tree["pushes"] != 0:
        push_links(tree, q, v)


@for_lanes(push)
def _push_lanes(tree: Any, q: Any, v: Any) -> None:
    """Batches are of models without such forces."""


@entry
def _passive(address: int, rest: Vector, q: Vector, v: Vector, zero: Vector, tau: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    if tree["kind"] != TREE_KIND or tree["busy"] != 0:
        return UNUSABLE
    if finite(q) and finite(v):
        joint_forces(tree, rest, q, v, zero, tau)
        push(tree, q, v)
    return 0


@checked_on_failure
def passive_forces(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
    """Passive forces at a state: joint forces (nv), and forces on links (n x 6).

    Springs and dampers in joints are the first; force elements and loop joints with springs are the second, as `aba`
    and `forward_dynamics` take them.
    """
    belongs(model, data)
    q64, v64 = as_arrays(model, q=q, v=v)
    tau = np.zeros(model.nv)
    total = data.pushed_by(NO_FORCES)
    status = _passive(data.address, model.rest.copy(), q64, v64, np.zeros(model.nv), tau)
    if status or not (np.isfinite(q64).all() and np.isfinite(v64).all()):
        complain(model, status, q=q, v=v)
    return tau, total.copy() if len(total) else np.zeros((model.n, 6))
