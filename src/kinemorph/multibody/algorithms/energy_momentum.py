"""Sums over all links: centre of mass, momentum, kinetic energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.kinematics import move_link, place_link
from kinemorph.multibody.checks import LARGEST_FLOAT, NOT_FINITE, OK, Array, Vector, fault_of_state
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data, dofs_of, link_data, links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.mat3 import mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.pose import vector
from kinemorph.spatial.rows import get, load3, load6, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot

SUMS = np.dtype(
    [
        ("mass", "f8"),  # kg
        ("moment", "f8", 3),  # kg m, first moment about the world's origin
        ("angular", "f8", 3),  # N m s, angular momentum about the world's origin
        ("linear", "f8", 3),  # N s, momentum
        ("kinetic", "f8"),  # J, armatures included
    ]
)


@kernel(inline=False)
def sum_tree(tree: Any, q: Any, v: Any) -> tuple[Any, Vec3, Vec3, Vec3, Any]:
    """Sums over all links, in the order of SUMS; the links' rows get their poses and velocities."""
    links = links_of(tree)
    dofs = dofs_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    zero = (0.0, 0.0, 0.0)
    mass = 0.0
    moment, angular, linear = zero, zero, zero
    kinetic = 0.0
    for i in range(tree["n"]):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = place_link(l, P, d, dof_rows, q)
        w, _, _ = move_link(l, P, d, dof_rows, q, v, R, r)
        u = load3(d["v"])
        p = load3(d["p"])
        h = mul_vec(R, load3(l["h"]))
        m = l["mass"]
        f = axpy(cross(w, h), m, u)  # momentum of the link, and its moment about the link's origin
        n = add(mul_vec(R, sym_vec(load6(l["I"]), tmul_vec(R, w))), cross(h, u))
        mass += m
        moment = add(moment, axpy(h, m, p))
        linear = add(linear, f)
        angular = add(angular, add(n, cross(p, f)))
        kinetic = kinetic + 0.5 * (dot(w, n) + dot(u, f))
    for k in range(tree["nv"]):
        kinetic = kinetic + 0.5 * dofs[k]["armature"] * get(v, k) * get(v, k)
    return mass, moment, angular, linear, kinetic


@kernel(inline=False)
def store_sums(tree: Any, q: Any, v: Any, sums: Any) -> None:
    """Write the sums over all links into a row of SUMS."""
    mass, moment, angular, linear, kinetic = sum_tree(tree, q, v)
    sums["mass"] = mass
    store3(sums["moment"], moment)
    store3(sums["angular"], angular)
    store3(sums["linear"], linear)
    sums["kinetic"] = kinetic


@entry
def _store_sums(address: int, q: Vector, v: Vector, sums: np.ndarray[tuple[int], np.dtype[np.void]]) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_state(tree, q, v)
    if fault != OK:
        return fault
    store_sums(tree, q, v, sums[0])
    return OK if abs(sums[0]["kinetic"]) <= LARGEST_FLOAT and abs(sums[0]["moment"][0]) <= LARGEST_FLOAT else NOT_FINITE


def sums_of(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike | None) -> Any:
    """The sums of a state, as a row of SUMS."""
    if type(data) is not Data or data.model is not model:
        checks.check_data(model, data)
    v = np.zeros(model.nv) if v is None else v
    sums = np.zeros(1, SUMS)
    try:
        status = _store_sums(data.address, q, v, sums)
    except (TypeError, ValueError):
        q64, v64 = checks.as_arrays(model, q=q, v=v)
        status = _store_sums(data.address, q64, v64, sums)
    if status:
        checks.raise_for_status(model, status, q=q, v=v)
    return sums[0]


def _centre(model: Model, moment: Array) -> Array:
    if model.mass == 0.0:
        raise ValueError(f"model {model.name!r} has no mass, and so no centre of mass")
    return moment / model.mass


@checked_on_failure
def com(model: Model, data: Data, q: npt.ArrayLike) -> Array:
    """Centre of mass in the world."""
    return _centre(model, sums_of(model, data, q, None)["moment"])


@checked_on_failure
def com_velocity(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Velocity of the centre of mass in the world."""
    return _centre(model, sums_of(model, data, q, v)["linear"])


@checked_on_failure
def momentum(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike, about: Any = (0.0, 0.0, 0.0)) -> Array:
    """Angular and linear momentum (6), world axes; the angular part about a point, or about "com"."""
    sums = sums_of(model, data, q, v)
    at_com = isinstance(about, str) and about == "com"
    o = _centre(model, sums["moment"]) if at_com else vector(about, 3, "momentum: about")
    return np.concatenate([sums["angular"] - np.cross(o, sums["linear"]), sums["linear"]])
