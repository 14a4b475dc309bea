"""Forces that are there without anybody applying them: springs and dampers in joints, in loops and between links."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._jit import entry, for_lanes, generic, kernel, rows_at
from kinemorph.constraint.dynamics import constrained_body
from kinemorph.constraint.loop_springs import push_loops
from kinemorph.multibody.checks import UNUSABLE, Array, Matrix, Vector, as_arrays, belongs, complain, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.elements import push_elements
from kinemorph.multibody.kinematics import move_all, place_all
from kinemorph.multibody.layout import DOF, NUMBER, TREE, TREE_KIND
from kinemorph.multibody.model import Model
from kinemorph.multibody.springs import pull
from kinemorph.spatial.rows import get, put


@kernel(inline=False)
def joint_forces(tree: Any, rest: Any, q: Any, v: Any, tau: Any, total: Any) -> None:
    """Total joint force: what is applied, minus dampers, minus springs about their rest."""
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    if tree["springs"] != 0:
        pull(tree, rest, q, total)
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - get(total, k) - dofs[k]["damping"] * get(v, k))
    else:
        for k in range(tree["nv"]):
            put(total, k, get(tau, k) - dofs[k]["damping"] * get(v, k))


@kernel(inline=False)
def push_links(tree: Any, q: Any, v: Any, external: Any, total: Any) -> float:
    """All forces on links: those that are given, and those of elements and loop joints. Returns the springs' energy."""
    place_all(tree, q)
    move_all(tree, q, v)
    for i in range(tree["n"]):
        for k in range(6):
            total[i, k] = external[i, k] if external.shape[0] > 0 else 0.0
    energy = push_elements(tree, total)
    if tree["system"] != 0:
        energy += push_loops(tree, total)
    return energy


@generic
def passive_body(tree: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """Forward dynamics with all that pushes links by itself."""
    if tree["pushes"] != 0:
        total = rows_at(tree["pushes"], 6 * tree["n"], NUMBER).reshape((tree["n"], 6))
        push_links(tree, q, v, external, total)
        constrained_body(tree, q, v, tau, total, a)
    else:
        constrained_body(tree, q, v, tau, external, a)


@for_lanes(passive_body)
def _passive_body_lanes(tree: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """Batches are of models without such forces."""
    constrained_body(tree, q, v, tau, external, a)


@entry
def _passive(
    address: int, rest: Vector, q: Vector, v: Vector, zero: Vector, none: Matrix, tau: Vector, total: Matrix
) -> int:  # fmt: skip
    tree = rows_at(address, 1, TREE)[0]
    if tree["kind"] != TREE_KIND or tree["busy"] != 0:
        return UNUSABLE
    if finite(q) and finite(v):
        joint_forces(tree, rest, q, v, zero, tau)
        if tree["pushes"] != 0:
            push_links(tree, q, v, none, total)
    return 0


def passive_forces(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
    """What acts in time without being applied, at a state: joint forces (nv), and forces on links (n x 6).

    Springs and dampers in joints are the first; force elements and loop joints with springs are the second, as `aba`
    and `forward_dynamics` take them.
    """
    belongs(model, data)
    q64, v64 = as_arrays(model, q=q, v=v)
    tau, total = np.zeros(model.nv), np.zeros((model.n, 6))
    none = np.zeros((0, 6))
    status = _passive(data.address, model.rest.copy(), q64, v64, np.zeros(model.nv), none, tau, total)
    if status or not (np.isfinite(q64).all() and np.isfinite(v64).all()):
        complain(model, status, q=q, v=v)
    return tau, total
