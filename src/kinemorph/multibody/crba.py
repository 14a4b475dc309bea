"""The mass matrix (composite-rigid-body algorithm)."""

from typing import Any

from kinemorph._jit import kernel
from kinemorph.multibody.kinematics import place
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import add6, mul_vec, rotate_sym, sym_vec
from kinemorph.spatial.rows import get, load3, load3_at, load6, put, store3, store3_at, store6
from kinemorph.spatial.vec3 import add, cross, dot, scale


@kernel
def crba(links: Any, dofs: Any, rows: Any, dof_rows: Any, q: Any, M: Any) -> None:
    """Mass matrix into M (nv², row by row). Only entries of related degrees of freedom are written."""
    n = links.shape[0]
    nv = dofs.shape[0]
    # Here one common point serves all links of a tree, the origin of its first link: composites then simply add up,
    # and a column of M is a row of dot products.
    # pass 1: outward, inertia of each link alone
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = place(l, P, d, dof_rows, q)
        o = add(load3(P["o"]), r) if l["parent"] >= 0 else (0.0, 0.0, 0.0)
        store3(d["o"], o)
        for k in range(l["iv"], l["iv"] + l["nv"]):
            e = dof_rows[k]
            U = cross(o, load3(e["S"]))
            if l["kind"] != 1:
                U = add(U, load3_at(e["S"], 3))
            store3(e["U"], U)
        I, h = shift_rigid(o, rotate_sym(R, load6(l["I"])), mul_vec(R, load3(l["h"])), l["mass"])
        store6(d["A"], I)
        store3(d["H"], h)
        put(d["M"], 0, l["mass"])
    # pass 2: inward, composites and columns
    for i in range(n - 1, -1, -1):
        l = links[i]
        d = rows[i + 1]
        I = load6(d["A"])
        h = load3(d["H"])
        m = get(d["M"], 0)
        for k in range(l["iv"] + l["nv"] - 1, l["iv"] - 1, -1):
            w = load3(dof_rows[k]["S"])
            v = load3(dof_rows[k]["U"])
            m_w = add(sym_vec(I, w), cross(h, v))
            f = add(scale(v, m), cross(w, h))
            put(M, k * nv + k, dot(w, m_w) + dot(v, f) + dofs[k]["armature"])
            j = dofs[k]["parent"]
            while j >= 0:
                x = dot(load3(dof_rows[j]["S"]), m_w) + dot(load3(dof_rows[j]["U"]), f)
                put(M, k * nv + j, x)
                put(M, j * nv + k, x)
                j = dofs[j]["parent"]
        if l["parent"] >= 0:
            P = rows[l["parent"] + 1]
            store6(P["A"], add6(load6(P["A"]), I))
            store3(P["H"], add(load3(P["H"]), h))
            put(P["M"], 0, get(P["M"], 0) + m)
