"""Inverse dynamics: joint forces for given accelerations (recursive Newton-Euler algorithm)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.joints import REVOLUTE
from kinemorph.multibody.algorithms.kinematics import accelerate_link, move_link, place_link
from kinemorph.multibody.checks import NO_FORCES, NOT_FINITE, OK, Array, Matrix, Vector, fault_of_dynamics, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data, dofs_of, link_data, links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.inertia import shift_force
from kinemorph.spatial.mat3 import mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.rows import get, load3, load3_at, load6, put, store3
from kinemorph.spatial.vec3 import add, cross, dot, scale, sub


@kernel(inline=False)
def newton_euler(tree: Any, q: Any, v: Any, a: Any, external: Any, tau: Any) -> None:
    """tau from q, v, a and the external forces on links."""
    links = links_of(tree)
    dofs = dofs_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    n = links.shape[0]
    # pass 1: outward, accelerations, and the force that each link needs
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = place_link(l, P, d, dof_rows, q)
        w, bw, bv = move_link(l, P, d, dof_rows, q, v, R, r)
        al, acc = accelerate_link(l, P, d, dof_rows, a, r, bw, bv)
        # Newton and Euler about the link's origin; the moment in the link's own axes, where I is constant
        I = load6(l["I"])
        h = mul_vec(R, load3(l["h"]))
        wl = tmul_vec(R, w)
        spin = mul_vec(R, add(sym_vec(I, tmul_vec(R, al)), cross(wl, sym_vec(I, wl))))
        moment = add(spin, cross(h, acc))
        f = add(scale(acc, l["mass"]), add(cross(al, h), cross(w, cross(w, h))))
        if external.shape[0] > 0:
            moment = sub(moment, load3(external[i]))
            f = sub(f, load3_at(external[i], 3))
        store3(d["n"], moment)
        store3(d["f"], f)
    # pass 2: inward, joint forces
    for i in range(n - 1, -1, -1):
        l = links[i]
        d = rows[i + 1]
        moment = load3(d["n"])
        f = load3(d["f"])
        k = l["iv"]
        if l["kind"] == REVOLUTE:
            put(tau, k, dot(load3(dof_rows[k]["S"]), moment) + dofs[k]["armature"] * get(a, k))
        else:
            for j in range(k, k + l["nv"]):
                S = dof_rows[j]["S"]
                put(tau, j, dot(load3(S), moment) + dot(load3_at(S, 3), f) + dofs[j]["armature"] * get(a, j))
        if l["parent"] >= 0:
            P = rows[l["parent"] + 1]
            store3(P["n"], add(load3(P["n"]), shift_force(load3(d["r"]), moment, f)))
            store3(P["f"], add(load3(P["f"]), f))


@entry
def _rnea(address: int, q: Vector, v: Vector, a: Vector, external: Matrix, tau: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_dynamics(tree, q, v, a, external, tau)
    if fault != OK:
        return fault
    newton_euler(tree, q, v, a, external, tau)
    return OK if finite(tau) else NOT_FINITE


def rnea(
    model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, external: npt.ArrayLike = NO_FORCES
) -> Array:
    """Joint forces tau for accelerations a: M a + C(q, v) + g(q) - Jᵀ external.

    `external` has a row [moment, force] for each link: world axes, acting at the link's origin.
    """
    if getattr(data, "model", None) is not model:
        checks.check_data(model, data)
    tau = np.empty(data.nv)
    try:
        status = _rnea(data.address, q, v, a, external, tau)
    except (TypeError, ValueError):
        q64, v64, a64, external64 = checks.as_arrays(model, q=q, v=v, a=a, external=external)
        status = _rnea(data.address, q64, v64, a64, external64, tau)
    if status:
        checks.raise_for_status(model, status, q=q, v=v, a=a, external=external)
    return tau
