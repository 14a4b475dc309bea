"""Passive forces: springs and dampers in joints, in loops and between links."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.constraint.loop_springs import add_loop_spring_wrenches
from kinemorph.jit.api import entry, for_lanes, generic, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.kinematics import move_links, place_links
from kinemorph.multibody.checks import NO_FORCES, UNUSABLE, Array, Vector, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import NUMBER, TREE, TREE_KIND, dofs_of
from kinemorph.multibody.model.elements import add_element_forces
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.model.springs import fill_spring_forces
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.rows import get, put


@kernel(inline=False)
def fill_joint_forces(tree: Any, rest: Any, q: Any, v: Any, tau: Any, total: Any) -> None:
    """Total joint forces: applied forces minus dampers minus springs about their rest."""
    dofs = dofs_of(tree)
    if tree["springs"] != 0:
        fill_spring_forces(tree, rest, q, total)
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - get(total, k) - dofs[k]["damping"] * get(v, k))
    else:
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - dofs[k]["damping"] * get(v, k))


@kernel(inline=False)
def fill_link_forces(tree: Any, q: Any, v: Any) -> float:
    """Compute all wrenches on links, into `pushes`: given ones, and those of force elements and loop joints.

    Returns the elastic energy.
    """
    place_links(tree, q)
    move_links(tree, q, v)
    size = 6 * tree["n"]
    flat = rows_at(tree["pushes"], size, NUMBER)
    given = rows_at(tree["given"], size if tree["given"] != 0 else 0, NUMBER)
    for k in range(size):
        flat[k] = given[k] if tree["given"] != 0 else 0.0
    total = flat.reshape((tree["n"], 6))
    energy = add_element_forces(tree, total)
    if tree["system"] != 0:
        energy += add_loop_spring_wrenches(tree, total)
    return energy


@generic
def apply_passive_link_forces(tree: Any, q: Any, v: Any) -> None:
    """Compute passive wrenches on links if there are any; `pushes` are then the external wrenches for the dynamics."""
    if tree["pushes"] != 0:
        fill_link_forces(tree, q, v)


@for_lanes(apply_passive_link_forces)
def _apply_passive_link_forces_lanes(tree: Any, q: Any, v: Any) -> None:
    """Batches are of models without such forces."""


@entry
def _passive(address: int, rest: Vector, q: Vector, v: Vector, zero: Vector, tau: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    if tree["kind"] != TREE_KIND or tree["busy"] != 0:
        return UNUSABLE
    if finite(q) and finite(v):
        fill_joint_forces(tree, rest, q, v, zero, tau)
        apply_passive_link_forces(tree, q, v)
    return 0


@checked_on_failure
def passive_forces(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
    """Passive forces at a state: joint forces (nv), and forces on links (n x 6).

    Springs and dampers in joints are the first; force elements and loop joints with springs are the second, as `aba`
    and `forward_dynamics` take them.
    """
    checks.check_data(model, data)
    q64, v64 = checks.as_arrays(model, q=q, v=v)
    tau = np.zeros(model.nv)
    total = data.pushed_by(NO_FORCES)
    status = _passive(data.address, model.rest.copy(), q64, v64, np.zeros(model.nv), tau)
    if status or not (np.isfinite(q64).all() and np.isfinite(v64).all()):
        checks.raise_for_status(model, status, q=q, v=v)
    return tau, total.copy() if len(total) else np.zeros((model.n, 6))
