"""The mass matrix (composite-rigid-body algorithm)."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.calls import (
    BAD_SIZE,
    NOT_FINITE,
    OK,
    Array,
    Vector,
    as_arrays,
    complain,
    finite,
    refuse_stale,
)
from kinemorph.multibody.joints import REVOLUTE
from kinemorph.multibody.kinematics import orient
from kinemorph.multibody.layout import DOF, LINK, NUMBER, TREE, dof_data, link_data
from kinemorph.multibody.model import Data, Model
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import add6, mul_vec, rotate_sym, sym_vec
from kinemorph.spatial.rows import get, load3, load3_at, load6, put, store3, store6
from kinemorph.spatial.vec3 import add, cross, dot, scale


@kernel(inline=False)
def composite(tree: Any, q: Any, M: Any) -> None:
    """The mass matrix into M (nv², row by row). Entries of unrelated degrees of freedom are zero and not written."""
    links = rows_at(tree["links"], tree["n"], LINK)
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    n = tree["n"]
    nv = tree["nv"]
    # Here one point serves all links of a tree, the origin of its first link: composites then simply add up, and a
    # column of M is a row of dot products. Field U holds the linear part of S as seen from that point.
    # pass 1: outward, the inertia of each link alone
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = orient(l, P, d, dof_rows, q)
        o = add(load3(P["o"]), r) if l["parent"] >= 0 else (0.0, 0.0, 0.0)
        store3(d["o"], o)
        for k in range(l["iv"], l["iv"] + l["nv"]):
            e = dof_rows[k]
            U = cross(o, load3(e["S"]))
            if l["kind"] != REVOLUTE:
                U = add(U, load3_at(e["S"], 3))
            store3(e["U"], U)
        I, h = shift_rigid(o, rotate_sym(R, load6(l["I"])), mul_vec(R, load3(l["h"])), l["mass"])
        store6(d["A"], I)
        store3(d["H"], h)
        put(d["M"], 0, l["mass"])
    # pass 2: inward, composites, and the column that each degree of freedom has with those that carry it
    for i in range(n - 1, -1, -1):
        l = links[i]
        d = rows[i + 1]
        I = load6(d["A"])
        h = load3(d["H"])
        m = get(d["M"], 0)
        for k in range(l["iv"], l["iv"] + l["nv"]):
            w = load3(dof_rows[k]["S"])
            v = load3(dof_rows[k]["U"])
            moment = add(sym_vec(I, w), cross(h, v))
            f = add(scale(v, m), cross(w, h))
            put(M, k * nv + k, dot(w, moment) + dot(v, f) + dofs[k]["armature"])
            j = dofs[k]["parent"]
            while j >= 0:
                x = dot(load3(dof_rows[j]["S"]), moment) + dot(load3(dof_rows[j]["U"]), f)
                put(M, k * nv + j, x)
                put(M, j * nv + k, x)
                j = dofs[j]["parent"]
        if l["parent"] >= 0:
            P = rows[l["parent"] + 1]
            store6(P["A"], add6(load6(P["A"]), I))
            store3(P["H"], add(load3(P["H"]), h))
            put(P["M"], 0, get(P["M"], 0) + m)


@entry
def _crba(handle: int, q: Vector) -> int:
    tree = rows_at(handle, 1, TREE)[0]
    if q.shape[0] != tree["nq"]:
        return BAD_SIZE
    if not finite(q):
        return NOT_FINITE
    composite(tree, q, rows_at(tree["M"], tree["nv"] * tree["nv"], NUMBER))
    return OK


def crba(model: Model, data: Data, q: npt.ArrayLike) -> Array:
    """The mass matrix M(q), armatures included: symmetric, full. It is `data.M`: copy it to keep it."""
    if data.revision != model.revision:
        refuse_stale(model, data)
    try:
        status = _crba(data.handle, q)
    except (TypeError, ValueError):
        (q64,) = as_arrays(model, q=q)
        status = _crba(data.handle, q64)
    if status:
        complain(model, status, q=q)
    return data.M
