"""The mass matrix (composite-rigid-body algorithm)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.joints import REVOLUTE
from kinemorph.multibody.algorithms.kinematics import orient_link
from kinemorph.multibody.checks import NOT_FINITE, OK, Array, Vector, fault_of_positions, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import LINK_DATA, NUMBER, TREE, dof_data, dofs_of, link_data, links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import add6, mul_vec, rotate_sym, sym_vec
from kinemorph.spatial.rows import get, load3, load3_at, load6, put, store3, store6
from kinemorph.spatial.vec3 import add, cross, dot, scale


@kernel(inline=False)
def fill_mass_matrix(tree: Any, q: Any, M: Any, start: int, stop: int, size: int, base: int) -> None:
    """Fill the mass matrix of the links `start` to `stop` - 1, whole trees, into M (size², row by row).

    Entry (k, j) is number k size + j + base. Entries of unrelated degrees of freedom are zero and not written. The
    base's row ends with the composite of all links, which is finite only if all of M is.
    """
    links = links_of(tree)
    dofs = dofs_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    # Here one point serves all links of a tree, the origin of its first link: composites then simply add up, and a
    # column of M is a row of dot products. Field So holds the linear part of S as seen from that point.
    # pass 1: outward, the inertia of each link alone
    for i in range(start, stop):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = orient_link(l, P, d, dof_rows, q)
        o = add(load3(P["o"]), r) if l["parent"] >= 0 else (0.0, 0.0, 0.0)
        store3(d["o"], o)
        for k in range(l["iv"], l["iv"] + l["nv"]):
            e = dof_rows[k]
            So = cross(o, load3(e["S"]))
            if l["kind"] != REVOLUTE:
                So = add(So, load3_at(e["S"], 3))
            store3(e["So"], So)
        I, h = shift_rigid(o, rotate_sym(R, load6(l["I"])), mul_vec(R, load3(l["h"])), l["mass"])
        store6(d["Ic"], I)
        store3(d["hc"], h)
        put(d["mc"], 0, l["mass"])
    # pass 2: inward, composites, and the column that each degree of freedom has with those that carry it
    store6(rows[0]["Ic"], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    store3(rows[0]["hc"], (0.0, 0.0, 0.0))
    put(rows[0]["mc"], 0, 0.0)
    for i in range(stop - 1, start - 1, -1):
        l = links[i]
        d = rows[i + 1]
        I = load6(d["Ic"])
        h = load3(d["hc"])
        m = get(d["mc"], 0)
        for k in range(l["iv"], l["iv"] + l["nv"]):
            w = load3(dof_rows[k]["S"])
            v = load3(dof_rows[k]["So"])
            moment = add(sym_vec(I, w), cross(h, v))
            f = add(scale(v, m), cross(w, h))
            row, column = k * size + base, k + base
            put(M, row + k, dot(w, moment) + dot(v, f) + dofs[k]["armature"])
            j = dofs[k]["parent"]
            while j >= 0:
                x = dot(load3(dof_rows[j]["S"]), moment) + dot(load3(dof_rows[j]["So"]), f)
                put(M, row + j, x)
                put(M, j * size + column, x)
                j = dofs[j]["parent"]
        P = rows[l["parent"] + 1]
        store6(P["Ic"], add6(load6(P["Ic"]), I))
        store3(P["hc"], add(load3(P["hc"]), h))
        put(P["mc"], 0, get(P["mc"], 0) + m)


@entry
def _crba(address: int, q: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_positions(tree, q)
    if fault != OK:
        return fault
    nv = tree["nv"]
    fill_mass_matrix(tree, q, rows_at(tree["M"], nv * nv, NUMBER), 0, tree["n"], nv, 0)
    base = rows_at(tree["rows"], 1, LINK_DATA)[0]
    return OK if finite(base["Ic"]) and finite(base["hc"]) else NOT_FINITE


def crba(model: Model, data: Data, q: npt.ArrayLike) -> Array:
    """The mass matrix M(q), armatures included: symmetric, full. It is `data.M` itself: copy it to keep it."""
    try:
        if data.model is not model:
            checks.check_data(model, data)
    except AttributeError:
        checks.check_data(model, data)
    if (M := data._M) is None:
        M = data.M
    try:
        status = _crba(data.address, q)
    except (TypeError, ValueError):
        (q64,) = checks.as_arrays(model, q=q)
        status = _crba(data.address, q64)
    if status:
        checks.raise_for_status(model, status, q=q)
    return M


@entry
def _fill_mass_blocks(address: int, q: Vector, blocks: np.ndarray[tuple[int], np.dtype[np.void]], M: Vector) -> int:
    """Fill the mass matrices of trees, one after the other."""
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_positions(tree, q)
    if fault != OK:
        return fault
    at = 0
    for t in range(blocks.shape[0]):
        b = blocks[t]
        size = b["nv"]
        fill_mass_matrix(
            tree, q, M[at : at + size * size], b["first"], b["first"] + b["n"], size, -b["iv"] * (size + 1)
        )
        at += size * size
    return OK if finite(M) else NOT_FINITE


@checked_on_failure
def mass_blocks(model: Model, data: Data, q: npt.ArrayLike) -> list[Array]:
    """The mass matrix of each tree (nv x nv of the tree), in the order of `model.trees`.

    M(q) has no entries that couple different trees, so the blocks are all of it, in far less memory for many trees.
    """
    checks.check_data(model, data)
    (q64,) = checks.as_arrays(model, q=q)
    sizes = model.trees["nv"].astype(np.int64)
    M = np.zeros(int((sizes**2).sum()))
    status = _fill_mass_blocks(data.address, q64, model.trees, M)
    if status:
        checks.raise_for_status(model, status, q=q)
    parts = np.split(M, np.cumsum(sizes**2)[:-1])
    return [block.reshape(n, n) for block, n in zip(parts, sizes.tolist(), strict=True)]
