"""Forward dynamics: the accelerations that joint forces cause (articulated-body algorithm)."""

from typing import Any

from kinemorph._jit import kernel
from kinemorph.multibody.joints import FREE, REVOLUTE
from kinemorph.multibody.kinematics import move, place
from kinemorph.spatial.inertia import articulated_force, shift_articulated, shift_force
from kinemorph.spatial.mat3 import (
    add6, add9, mul_vec, rotate_sym, skew, sub_outer, sub_outer_sym, sym_vec, tmul_vec,
)  # fmt: skip
from kinemorph.spatial.rows import (
    get, load3, load3_at, load6, load9, put, store3, store3_at, store6, store9,
)  # fmt: skip
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import add, axpy, cross, dot, scale, sub


@kernel
def aba(links: Any, dofs: Any, rows: Any, dof_rows: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    n = links.shape[0]
    # pass 1: outward, motion, and inertia and bias force of each link alone
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = place(l, P, d, dof_rows, q)
        w, bw, bv = move(l, P, d, dof_rows, q, v, R, r)
        store3(d["bw"], bw)
        store3(d["bv"], bv)
        h = mul_vec(R, load3(l["h"]))
        A = rotate_sym(R, load6(l["I"]))
        m = l["mass"]
        pn = cross(w, sym_vec(A, w))
        pf = cross(w, cross(w, h))
        if external.shape[0] > 0:
            pn = sub(pn, load3(external[i]))
            pf = sub(pf, load3_at(external[i], 3))
        store6(d["A"], A)
        store9(d["H"], skew(h))
        store6(d["M"], (m, 0.0, 0.0, m, 0.0, m))
        store3(d["n"], pn)
        store3(d["f"], pf)
    # pass 2: inward, articulated inertias and bias forces
    for i in range(n - 1, -1, -1):
        l = links[i]
        if l["kind"] == REVOLUTE:
            fold_revolute(l, dofs, rows[l["parent"] + 1], rows[i + 1], dof_rows, tau)
        else:
            fold(l, dofs, rows[l["parent"] + 1], rows[i + 1], dof_rows, tau)
    # pass 3: outward, accelerations
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        al_parent = load3(P["al"])
        al = add(al_parent, load3(d["bw"]))
        acc = add(add(load3(P["a"]), cross(al_parent, load3(d["r"]))), load3(d["bv"]))
        if l["kind"] == REVOLUTE:
            k = l["iv"]
            e = dof_rows[k]
            x = (get(e["u"], 0) - dot(load3(e["U"]), al) - dot(load3_at(e["U"], 3), acc)) * get(e["L"], 0)
            put(a, k, x)
            al = axpy(al, x, load3(e["S"]))
        else:
            solve_joint(l, dof_rows, al, acc, a)
            for k in range(l["iv"], l["iv"] + l["nv"]):
                al = axpy(al, get(a, k), load3(dof_rows[k]["S"]))
                acc = axpy(acc, get(a, k), load3_at(dof_rows[k]["S"], 3))
        store3(d["al"], al)
        store3(d["a"], acc)


@kernel
def fold_revolute(l: Any, dofs: Any, P: Any, d: Any, dof_rows: Any, tau: Any) -> None:
    k = l["iv"]
    e = dof_rows[k]
    s = load3(e["S"])
    A = load6(d["A"])
    H = load9(d["H"])
    M = load6(d["M"])
    pn = load3(d["n"])
    pf = load3(d["f"])
    Un = sym_vec(A, s)
    Uf = tmul_vec(H, s)
    D = 1.0 / (dot(s, Un) + dofs[k]["armature"])
    u = get(tau, k) - dot(s, pn)
    store3(e["U"], Un)
    store3_at(e["U"], 3, Uf)
    put(e["L"], 0, D)
    put(e["u"], 0, u)
    Gn = scale(Un, D)
    Gf = scale(Uf, D)
    A = sub_outer_sym(A, Un, Gn)
    H = sub_outer(H, Un, Gf)
    M = sub_outer_sym(M, Uf, Gf)
    bn, bf = articulated_force(A, H, M, load3(d["bw"]), load3(d["bv"]))
    pn = add(axpy(pn, u, Gn), bn)
    pf = add(axpy(pf, u, Gf), bf)
    hand_over(P, load3(d["r"]), A, H, M, pn, pf)


@kernel
def hand_over(P: Any, r: Any, A: Any, H: Any, M: Any, pn: Any, pf: Any) -> None:
    """Add a link's articulated inertia and bias force to its parent's."""
    A, H, M = shift_articulated(r, A, H, M)
    store6(P["A"], add6(load6(P["A"]), A))
    store9(P["H"], add9(load9(P["H"]), H))
    store6(P["M"], add6(load6(P["M"]), M))
    store3(P["n"], add(load3(P["n"]), shift_force(r, pn, pf)))
    store3(P["f"], add(load3(P["f"]), pf))


@kernel
def fold(l: Any, dofs: Any, P: Any, d: Any, dof_rows: Any, tau: Any) -> None:
    """The same for any joint: SᵀU is a small matrix, kept as its Cholesky factor."""
    k0 = l["iv"]
    nv = l["nv"]
    A = load6(d["A"])
    H = load9(d["H"])
    M = load6(d["M"])
    pn = load3(d["n"])
    pf = load3(d["f"])
    for j in range(nv):
        e = dof_rows[k0 + j]
        Un, Uf = articulated_force(A, H, M, load3(e["S"]), load3_at(e["S"], 3))
        store3(e["U"], Un)
        store3_at(e["U"], 3, Uf)
        put(e["u"], 0, get(tau, k0 + j) - dot(load3(e["S"]), pn) - dot(load3_at(e["S"], 3), pf))
    for i in range(nv):
        Si = dof_rows[k0 + i]["S"]
        Li = dof_rows[k0 + i]["L"]
        for j in range(i + 1):
            Uj = dof_rows[k0 + j]["U"]
            Lj = dof_rows[k0 + j]["L"]
            x = dot(load3(Si), load3(Uj)) + dot(load3_at(Si, 3), load3_at(Uj, 3))
            for c in range(j):
                x = x - get(Li, c) * get(Lj, c)
            if i == j:
                put(Li, i, 1.0 / sqrt(x + dofs[k0 + i]["armature"]))
            else:
                put(Li, j, x * get(Lj, j))
    if l["kind"] == FREE:  # nothing is handed over: a free link pulls at nobody
        return
    # U ← U L⁻ᵀ and u ← L⁻¹ u, so that the articulated inertia is IA - U Uᵀ
    for i in range(nv):
        e = dof_rows[k0 + i]
        L = e["L"]
        Un = load3(e["U"])
        Uf = load3_at(e["U"], 3)
        u = get(e["u"], 0)
        for c in range(i):
            g = dof_rows[k0 + c]
            Un = axpy(Un, -get(L, c), load3(g["U"]))
            Uf = axpy(Uf, -get(L, c), load3_at(g["U"], 3))
            u = u - get(L, c) * get(g["u"], 0)
        D = get(L, i)
        Un = scale(Un, D)
        Uf = scale(Uf, D)
        u = u * D
        store3(e["U"], Un)
        store3_at(e["U"], 3, Uf)
        put(e["u"], 0, u)
        A = sub_outer_sym(A, Un, Un)
        H = sub_outer(H, Un, Uf)
        M = sub_outer_sym(M, Uf, Uf)
        pn = axpy(pn, u, Un)
        pf = axpy(pf, u, Uf)
    bn, bf = articulated_force(A, H, M, load3(d["bw"]), load3(d["bv"]))
    hand_over(P, load3(d["r"]), A, H, M, add(pn, bn), add(pf, bf))


@kernel
def solve_joint(l: Any, dof_rows: Any, al: Any, acc: Any, a: Any) -> None:
    """Joint accelerations D⁻¹ (u - Uᵀ a') by the factor that `fold` left."""
    k0 = l["iv"]
    nv = l["nv"]
    free = l["kind"] == FREE
    for i in range(nv):
        e = dof_rows[k0 + i]
        x = get(e["u"], 0) - dot(load3(e["U"]), al) - dot(load3_at(e["U"], 3), acc)
        if free:  # U and u are as they were
            for c in range(i):
                x = x - get(e["L"], c) * get(a, k0 + c)
            x = x * get(e["L"], i)
        put(a, k0 + i, x)
    for i in range(nv - 1, -1, -1):
        x = get(a, k0 + i)
        for c in range(i + 1, nv):
            x = x - get(dof_rows[k0 + c]["L"], i) * get(a, k0 + c)
        put(a, k0 + i, x * get(dof_rows[k0 + i]["L"], i))
