"""Inverse dynamics: the joint forces that make a tree accelerate as given (recursive Newton-Euler)."""

from typing import Any

from kinemorph._jit import kernel
from kinemorph.multibody.joints import REVOLUTE
from kinemorph.multibody.kinematics import move, place
from kinemorph.spatial.mat3 import mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.rows import get, load3, load3_at, load6, load9, put, store3
from kinemorph.spatial.vec3 import add, axpy, cross, dot, scale, sub


@kernel
def rnea(links: Any, dofs: Any, rows: Any, dof_rows: Any, q: Any, v: Any, a: Any, external: Any, tau: Any) -> None:
    n = links.shape[0]
    # pass 1: outward, accelerations and the force each link needs
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = place(l, P, d, dof_rows, q)
        w, bw, bv = move(l, P, d, dof_rows, q, v, R, r)
        al_parent = load3(P["al"])
        al = add(al_parent, bw)
        acc = add(add(load3(P["a"]), cross(al_parent, r)), bv)
        if l["kind"] == REVOLUTE:
            al = axpy(al, get(a, l["iv"]), load3(dof_rows[l["iv"]]["S"]))
        else:
            for k in range(l["iv"], l["iv"] + l["nv"]):
                al = axpy(al, get(a, k), load3(dof_rows[k]["S"]))
                acc = axpy(acc, get(a, k), load3_at(dof_rows[k]["S"], 3))
        store3(d["al"], al)
        store3(d["a"], acc)
        # Newton and Euler about the link's origin; the moment in the link's axes, where I is constant
        h = mul_vec(R, load3(l["h"]))
        I = load6(l["I"])
        wl = tmul_vec(R, w)
        n0 = mul_vec(R, add(sym_vec(I, tmul_vec(R, al)), cross(wl, sym_vec(I, wl))))
        f = add(scale(acc, l["mass"]), add(cross(al, h), cross(w, cross(w, h))))
        m = add(n0, cross(h, acc))
        if external.shape[0] > 0:
            m = sub(m, load3(external[i]))
            f = sub(f, load3_at(external[i], 3))
        store3(d["n"], m)
        store3(d["f"], f)
    # pass 2: inward, joint forces
    for i in range(n - 1, -1, -1):
        l = links[i]
        d = rows[i + 1]
        m = load3(d["n"])
        f = load3(d["f"])
        if l["kind"] == REVOLUTE:
            k = l["iv"]
            put(tau, k, dot(load3(dof_rows[k]["S"]), m) + dofs[k]["armature"] * get(a, k))
        else:
            for k in range(l["iv"], l["iv"] + l["nv"]):
                S = dof_rows[k]["S"]
                put(tau, k, dot(load3(S), m) + dot(load3_at(S, 3), f) + dofs[k]["armature"] * get(a, k))
        P = rows[l["parent"] + 1]
        store3(P["n"], add(load3(P["n"]), add(m, cross(load3(d["r"]), f))))
        store3(P["f"], add(load3(P["f"]), f))
