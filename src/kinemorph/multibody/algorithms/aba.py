"""Forward dynamics: the accelerations that joint forces cause (articulated-body algorithm)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.joints import FREE, REVOLUTE
from kinemorph.multibody.algorithms.kinematics import move_link, place_link
from kinemorph.multibody.checks import NO_FORCES, NOT_FINITE, OK, Array, Matrix, Vector, fault_of_dynamics, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data, dofs_of, link_data, links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.inertia import articulated_force, shift_articulated, shift_force
from kinemorph.spatial.mat3 import (
    Mat3,
    Sym3,
    add6,
    add9,
    mul,
    mul_vec,
    rotate_sym,
    skew,
    sub_outer,
    sub_outer_sym,
    sym_vec,
    tmul_vec,
    transpose,
)  # fmt: skip
from kinemorph.spatial.rows import get, load3, load3_at, load6, load9, put, store3, store3_at, store6, store9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross, dot, scale, sub


@kernel(inline=False)
def articulated_body(tree: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """a from q, v, tau and the external forces on links."""
    give_way(tree, q, v, tau, external)
    outward(tree, a)


@kernel(inline=False)
def give_way(tree: Any, q: Any, v: Any, tau: Any, external: Any) -> None:
    """Passes 1 and 2: motion, articulated inertias and bias forces; field u of each degree of freedom."""
    links = links_of(tree)
    dofs = dofs_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    n = tree["n"]
    # pass 1: outward, motion, and inertia and bias force of each link alone
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        R, r = place_link(l, P, d, dof_rows, q)
        w, bw, bv = move_link(l, P, d, dof_rows, q, v, R, r)
        store3(d["bw"], bw)
        store3(d["bv"], bv)
        pn = pf = (0.0, 0.0, 0.0)
        if weighs(l):
            I, h = start(l, d, R)
            pn = cross(w, sym_vec(I, w))
            pf = cross(w, cross(w, h))
        else:
            start_weightless(d)
        if external.shape[0] > 0:
            pn = sub(pn, load3(external[i]))
            pf = sub(pf, load3_at(external[i], 3))
        store3(d["n"], pn)
        store3(d["f"], pf)
    # pass 2: inward, articulated inertias and bias forces
    for i in range(n - 1, -1, -1):
        l = links[i]
        d = rows[i + 1]
        if l["kind"] == FREE and l["parent"] < 0:
            k = l["iv"]
            free_root(l, d, dofs, dof_rows, load3(d["n"]), load3(d["f"]), load3_at(tau, k), load3_at(tau, k + 3))
            continue
        A, H, M = fold(l, d, dofs, dof_rows)
        pn, pf = push(l, dof_rows, load3(d["n"]), load3(d["f"]), tau)
        if l["parent"] >= 0:
            P = rows[l["parent"] + 1]
            if is_at_parent(l):
                bw = load3(d["bw"])
                add_articulated(P, A, H, M)
                pn, pf = add(pn, sym_vec(A, bw)), add(pf, tmul_vec(H, bw))
            else:
                bn, bf = articulated_force(A, H, M, load3(d["bw"]), load3(d["bv"]))
                hand_over(P, load3(d["r"]), A, H, M)
                pf = add(pf, bf)
                pn = shift_force(load3(d["r"]), add(pn, bn), pf)
            store3(P["n"], add(load3(P["n"]), pn))
            store3(P["f"], add(load3(P["f"]), pf))


@kernel
def outward(tree: Any, a: Any) -> None:
    """Pass 3: accelerations of joints and links from field u of each degree of freedom."""
    links = links_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    for i in range(tree["n"]):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        al = load3(P["al"])
        acc = add(add(load3(P["a"]), cross(al, load3(d["r"]))), load3(d["bv"]))
        al, acc = respond(l, dof_rows, add(al, load3(d["bw"])), acc, a)
        store3(d["al"], al)
        store3(d["a"], acc)


@kernel
def start(link: Any, data: Any, R: Mat3) -> tuple[Sym3, Vec3]:
    """Inertia of one link alone, in world axes, into its row. Returns its two moments."""
    I = rotate_sym(R, load6(link["I"]))
    h = mul_vec(R, load3(link["h"]))
    m = link["mass"]
    store6(data["A"], I)
    store9(data["H"], skew(h))
    store6(data["M"], (m, 0.0, 0.0, m, 0.0, m))
    return I, h


@kernel
def weighs(link: Any) -> bool:
    """Whether a link has inertia. All but the last link of a joint that is made of several have none."""
    I = link["I"]
    return link["mass"] != 0.0 or I[0] + I[3] + I[5] != 0.0


@kernel
def start_weightless(data: Any) -> None:
    """`start` for a link without inertia."""
    zero = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    store6(data["A"], zero)
    store9(data["H"], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    store6(data["M"], zero)


@kernel
def is_at_parent(link: Any) -> bool:
    """Whether a link's origin always coincides with that of its parent, so that nothing needs to be shifted."""
    p = link["p"]
    return link["kind"] == REVOLUTE and p[0] == 0.0 and p[1] == 0.0 and p[2] == 0.0


@kernel
def fold(link: Any, data: Any, dofs: Any, dof_rows: Any) -> tuple[Sym3, Mat3, Sym3]:
    """A link's articulated inertia as its parent feels it through the joint.

    The degrees of freedom of a joint are eliminated one after the other: IA ← IA - U Uᵀ with U = IA s / √(sᵀ IA s).
    That is the Cholesky factorisation of Sᵀ IA S without its small matrix, and works for joints of any size.
    """
    A = load6(data["A"])
    H = load9(data["H"])
    M = load6(data["M"])
    k = link["iv"]
    if link["kind"] == REVOLUTE:
        e = dof_rows[k]
        s = load3(e["S"])
        n, f = sym_vec(A, s), tmul_vec(H, s)
        xn, xf = keep(e, n, f, dot(s, n) + (dofs[k]["armature"] + dofs[k]["implicit"]))
        return sub_outer_sym(A, n, xn), sub_outer(H, n, xf), sub_outer_sym(M, f, xf)
    for j in range(k, k + link["nv"]):
        e = dof_rows[j]
        w = load3(e["S"])
        v = load3_at(e["S"], 3)
        n, f = articulated_force(A, H, M, w, v)
        xn, xf = keep(e, n, f, dot(w, n) + dot(v, f) + (dofs[j]["armature"] + dofs[j]["implicit"]))
        A, H, M = sub_outer_sym(A, n, xn), sub_outer(H, n, xf), sub_outer_sym(M, f, xf)
    return A, H, M


@kernel
def keep(dof: Any, n: Vec3, f: Vec3, size: Scalar) -> tuple[Vec3, Vec3]:
    """Store D = 1 / √size and U = D IA s of a degree of freedom, for which size = sᵀ IA s. Returns IA s / size.

    With that IA - U Uᵀ does not depend on the latency of the square root.
    """
    d = 1.0 / size
    D = sqrt(d)
    put(dof["D"], 0, D)
    store3(dof["U"], scale(n, D))
    store3_at(dof["U"], 3, scale(f, D))
    return scale(n, d), scale(f, d)


@kernel
def free_root(link: Any, data: Any, dofs: Any, dof_rows: Any, pn: Vec3, pf: Vec3, moment: Vec3, force: Vec3) -> None:
    """`fold` and `push` of a free root, which passes nothing on; tau is a moment and a force.

    Along its own axes S is the unit matrix, so that IA s is a row of IA, and the degrees of freedom depend little on
    each other.
    """
    R = load9(data["R"])
    T = transpose(R)
    A, H, M = rotate_sym(T, load6(data["A"])), mul(mul(T, load9(data["H"])), R), rotate_sym(T, load6(data["M"]))
    pn, pf = mul_vec(T, pn), mul_vec(T, pf)
    k = link["iv"]
    n, f = (A[0], A[1], A[2]), (H[0], H[1], H[2])
    xn, xf, pn, pf = free_one(dofs[k], dof_rows[k], R, n, f, A[0], moment[0] - pn[0], pn, pf)
    A, H, M = sub_outer_sym(A, n, xn), sub_outer(H, n, xf), sub_outer_sym(M, f, xf)
    n, f = (A[1], A[3], A[4]), (H[3], H[4], H[5])
    xn, xf, pn, pf = free_one(dofs[k + 1], dof_rows[k + 1], R, n, f, A[3], moment[1] - pn[1], pn, pf)
    A, H, M = sub_outer_sym(A, n, xn), sub_outer(H, n, xf), sub_outer_sym(M, f, xf)
    n, f = (A[2], A[4], A[5]), (H[6], H[7], H[8])
    xn, xf, pn, pf = free_one(dofs[k + 2], dof_rows[k + 2], R, n, f, A[5], moment[2] - pn[2], pn, pf)
    H, M = sub_outer(H, n, xf), sub_outer_sym(M, f, xf)
    n, f = (H[0], H[3], H[6]), (M[0], M[1], M[2])
    xn, xf, pn, pf = free_one(dofs[k + 3], dof_rows[k + 3], R, n, f, M[0], force[0] - pf[0], pn, pf)
    H, M = sub_outer(H, n, xf), sub_outer_sym(M, f, xf)
    n, f = (H[1], H[4], H[7]), (M[1], M[3], M[4])
    xn, xf, pn, pf = free_one(dofs[k + 4], dof_rows[k + 4], R, n, f, M[3], force[1] - pf[1], pn, pf)
    H, M = sub_outer(H, n, xf), sub_outer_sym(M, f, xf)
    n, f = (H[2], H[5], H[8]), (M[2], M[4], M[5])
    free_one(dofs[k + 5], dof_rows[k + 5], R, n, f, M[5], force[2] - pf[2], pn, pf)


@kernel
def free_one(
    dof: Any, e: Any, R: Mat3, n: Vec3, f: Vec3, size: Scalar, more: Scalar, pn: Vec3, pf: Vec3
) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Eliminate one degree of freedom of a free root, for which sᵀ IA s is `size`, and tau - sᵀ pA is `more`.

    Returns IA s / x and the remaining pA, neither of which needs the square root; all along the root's own axes.
    """
    size = size + (dof["armature"] + dof["implicit"])
    keep(e, mul_vec(R, n), mul_vec(R, f), size)
    put(e["u"], 0, more * get(e["D"], 0))
    d = 1.0 / size
    xn, xf = scale(n, d), scale(f, d)
    return xn, xf, axpy(pn, more, xn), axpy(pf, more, xf)


@kernel
def push(link: Any, dof_rows: Any, pn: Vec3, pf: Vec3, tau: Any) -> tuple[Vec3, Vec3]:
    """Bias force as the parent feels it through the joint: pA ← pA + U u, u = (tau - sᵀ pA) D."""
    k = link["iv"]
    if link["kind"] == REVOLUTE:
        e = dof_rows[k]
        u = (get(tau, k) - dot(load3(e["S"]), pn)) * get(e["D"], 0)
        put(e["u"], 0, u)
        return axpy(pn, u, load3(e["U"])), axpy(pf, u, load3_at(e["U"], 3))
    if link["kind"] == FREE:  # half of its S is zero
        for j in range(k, k + 6):
            e = dof_rows[j]
            taken = dot(load3(e["S"]), pn) if j < k + 3 else dot(load3_at(e["S"], 3), pf)
            u = (get(tau, j) - taken) * get(e["D"], 0)
            put(e["u"], 0, u)
            pn, pf = axpy(pn, u, load3(e["U"])), axpy(pf, u, load3_at(e["U"], 3))
        return pn, pf
    for j in range(k, k + link["nv"]):
        e = dof_rows[j]
        u = (get(tau, j) - dot(load3(e["S"]), pn) - dot(load3_at(e["S"], 3), pf)) * get(e["D"], 0)
        put(e["u"], 0, u)
        pn = axpy(pn, u, load3(e["U"]))
        pf = axpy(pf, u, load3_at(e["U"], 3))
    return pn, pf


@kernel
def hand_over(parent: Any, r: Vec3, A: Sym3, H: Mat3, M: Sym3) -> None:
    """Shift a link's articulated inertia to its parent's origin and add it to the parent's."""
    A, H, M = shift_articulated(r, A, H, M)
    add_articulated(parent, A, H, M)


@kernel
def add_articulated(parent: Any, A: Sym3, H: Mat3, M: Sym3) -> None:
    store6(parent["A"], add6(load6(parent["A"]), A))
    store9(parent["H"], add9(load9(parent["H"]), H))
    store6(parent["M"], add6(load6(parent["M"]), M))


@kernel
def respond(link: Any, dof_rows: Any, al: Vec3, acc: Vec3, a: Any) -> tuple[Vec3, Vec3]:
    """Joint accelerations (u - Uᵀ a') D, last degree of freedom first; with them, the acceleration of the link."""
    k = link["iv"]
    if link["kind"] == REVOLUTE:
        e = dof_rows[k]
        x = (get(e["u"], 0) - dot(load3(e["U"]), al) - dot(load3_at(e["U"], 3), acc)) * get(e["D"], 0)
        put(a, k, x)
        return axpy(al, x, load3(e["S"])), acc
    for j in range(k + link["nv"] - 1, k - 1, -1):
        e = dof_rows[j]
        x = (get(e["u"], 0) - dot(load3(e["U"]), al) - dot(load3_at(e["U"], 3), acc)) * get(e["D"], 0)
        put(a, j, x)
        al = axpy(al, x, load3(e["S"]))
        acc = axpy(acc, x, load3_at(e["S"], 3))
    return al, acc


@entry
def _aba(address: int, q: Vector, v: Vector, tau: Vector, external: Matrix, a: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_dynamics(tree, q, v, tau, external, a)
    if fault != OK:
        return fault
    articulated_body(tree, q, v, tau, external, a)
    return OK if finite(a) else NOT_FINITE


def aba(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    external: npt.ArrayLike = NO_FORCES,
) -> Array:
    """Accelerations a that joint forces tau (and external forces) cause: M⁻¹ (tau - C(q, v) - g(q) + Jᵀ external).

    `external` has a row [moment, force] for each link: world axes, acting at the link's origin.
    """
    if getattr(data, "model", None) is not model:
        checks.check_data(model, data)
    a = np.empty(data.nv)
    try:
        status = _aba(data.address, q, v, tau, external, a)
    except (TypeError, ValueError):  # not arrays of the right type; Numba has no type for an empty list
        q64, v64, tau64, external64 = checks.as_arrays(model, q=q, v=v, tau=tau, external=external)
        status = _aba(data.address, q64, v64, tau64, external64, a)
    if status:
        checks.raise_for_status(model, status, q=q, v=v, tau=tau, external=external)
    return a
