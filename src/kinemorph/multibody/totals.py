"""Sums over all links: centre of mass, momentum, energy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.calls import BAD_SIZE, NOT_FINITE, OK, Array, Vector, as_arrays, complain, finite, refuse_stale
from kinemorph.multibody.kinematics import move, place
from kinemorph.multibody.layout import DOF, LINK, TREE, dof_data, link_data
from kinemorph.multibody.model import Data, Model
from kinemorph.multibody.springs import stretch
from kinemorph.spatial.mat3 import mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.pose import vector
from kinemorph.spatial.rows import get, load3, load6, put, store3_at
from kinemorph.spatial.vec3 import add, axpy, cross, dot


class Energy(NamedTuple):
    """Joules. `potential` is gravity's, zero where the world's origin is; `elastic` is in the joints' springs."""

    kinetic: float
    potential: float
    elastic: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential + self.elastic


@kernel(inline=False)
def sum_up(tree: Any, q: Any, v: Any, out: Any) -> None:
    """out: mass, first moment (3), angular momentum about the world's origin (3), momentum (3), kinetic energy."""
    links = rows_at(tree["links"], tree["n"], LINK)
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
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
        R, r = place(l, P, d, dof_rows, q)
        w, _, _ = move(l, P, d, dof_rows, q, v, R, r)
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
    put(out, 0, mass)
    store3_at(out, 1, moment)
    store3_at(out, 4, angular)
    store3_at(out, 7, linear)
    put(out, 10, kinetic)


@entry
def _totals(handle: int, q: Vector, v: Vector, out: Vector) -> int:
    tree = rows_at(handle, 1, TREE)[0]
    if q.shape[0] != tree["nq"] or v.shape[0] != tree["nv"]:
        return BAD_SIZE
    if not (finite(q) and finite(v)):
        return NOT_FINITE
    sum_up(tree, q, v, out)
    return OK if finite(out) else NOT_FINITE


@entry
def _stretch(handle: int, rest: Vector, q: Vector, out: Vector) -> None:
    stretch(rows_at(handle, 1, TREE)[0], rest, q, out)


def _sums(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike | None) -> Array:
    if data.revision != model.revision:
        refuse_stale(model, data)
    v = np.zeros(model.nv) if v is None else v
    out = np.empty(11)
    try:
        status = _totals(data.handle, q, v, out)
    except (TypeError, ValueError):
        q64, v64 = as_arrays(model, q=q, v=v)
        status = _totals(data.handle, q64, v64, out)
    if status:
        complain(model, status, q=q, v=v)
    return out


def _centre(model: Model, moment: Array) -> Array:
    if model.mass == 0.0:
        raise ValueError(f"model {model.name!r} has no mass, and so no centre of mass")
    return moment / model.mass


def com(model: Model, data: Data, q: npt.ArrayLike) -> Array:
    """Centre of mass in the world."""
    return _centre(model, _sums(model, data, q, None)[1:4])


def com_velocity(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Velocity of the centre of mass in the world."""
    return _centre(model, _sums(model, data, q, v)[7:10])


def momentum(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike, about: Any = (0.0, 0.0, 0.0)) -> Array:
    """Angular and linear momentum (6), world axes; the angular part about a point, or about "com"."""
    sums = _sums(model, data, q, v)
    o = sums[1:4] / sums[0] if isinstance(about, str) and about == "com" else vector(about, 3, "momentum: about")
    return np.concatenate([sums[4:7] - np.cross(o, sums[7:10]), sums[7:10]])


def energy(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> Energy:
    """Kinetic, potential and elastic energy. Armatures count as kinetic."""
    sums = _sums(model, data, q, v)
    elastic = 0.0
    if model.dofs["stiffness"].any():
        out = np.empty(model.nv)
        (q64,) = as_arrays(model, q=q)
        _stretch(model.handle, model.rest.copy(), q64, out)
        elastic = 0.5 * float(model.dofs["stiffness"] @ out**2)
    return Energy(float(sums[10]), float(-model.gravity @ sums[1:4]), elastic)
