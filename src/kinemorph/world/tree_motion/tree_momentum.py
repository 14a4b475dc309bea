"""Momentum and centre of mass of floating trees, and the impulses from outside that change them.

A step conserves momentum only to its order, since the solve uses the mass matrix of the start. The external impulse is
known exactly: M = Lᵀ L, so a change of z is an impulse Lᵀ dz, and its part at the base, the sum of all U dz, is that of
contacts, pushes and the like; joint forces cancel there. The error of momentum is corrected by a motion of all links
as one rigid body, which changes no joint.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import is_positive_definite
from kinemorph.multibody.algorithms.kinematics import move_link, place_link
from kinemorph.multibody.layout import LINK_DATA, dof_data_of, dofs_of, link_data_of, links_of
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import Sym3, add6, mul_vec, rotate_sym, sym_vec, tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load6, load9, store3, store3_at
from kinemorph.spatial.triangle import cholesky, inverse, tri_tvec, tri_vec
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub


@kernel(inline=False)
def sum_over_tree(tree: Any, q: Any, v: Any, anew: bool, turns: bool) -> tuple[float, Vec3, Vec3, Vec3, Sym3, float]:
    """Mass, centre of mass, angular momentum about it, momentum, inertia about it, kinetic energy with armatures.

    `anew`: update the link data from q and v first; else use it as it is, and omit inertia and energy. Angular momentum
    and inertia are complete only if it `turns`.
    """
    links, rows = links_of(tree), link_data_of(tree)
    dofs, dof_rows = dofs_of(tree), dof_data_of(tree)
    mass = kinetic = 0.0
    moment = angular = linear = (0.0, 0.0, 0.0)
    inertia = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(tree["n"]):
        link, d = links[i], rows[i + 1]
        if anew:
            P = rows[link["parent"] + 1]
            R, r = place_link(link, P, d, dof_rows, q)
            move_link(link, P, d, dof_rows, q, v, R, r)
        R, w, u = load9(d["R"]), load3(d["w"]), load3(d["v"])
        lever = sub(load3(d["p"]), load3(rows[1]["p"]))  # about the first link's origin, against cancellation
        h, m = mul_vec(R, load3(link["h"])), link["mass"]
        f, n = axpy(cross(w, h), m, u), cross(h, u)
        if anew and turns:
            I = rotate_sym(R, load6(link["I"]))
            n = add(n, sym_vec(I, w))
            I, _ = shift_rigid(lever, I, h, m)
            inertia = add6(inertia, I)
        elif anew or turns:
            n = add(n, mul_vec(R, sym_vec(load6(link["I"]), tmul_vec(R, w))))
        if anew:
            kinetic += 0.5 * (dot(w, n) + dot(u, f))
        linear, angular = add(linear, f), add(angular, add(n, cross(lever, f)))
        moment, mass = add(moment, axpy(h, m, lever)), mass + m
    if anew:
        for k in range(tree["nv"]):
            kinetic += 0.5 * (dofs[k]["armature"] + dofs[k]["implicit"]) * v[k] * v[k]
    if mass > 0.0:
        c = scale(moment, 1.0 / mass)
        inertia, _ = shift_rigid(scale(c, -1.0), inertia, moment, mass)
        return mass, add(load3(rows[1]["p"]), c), sub(angular, cross(c, linear)), linear, inertia, kinetic
    return mass, load3(rows[1]["p"]), angular, linear, inertia, kinetic


@kernel
def sum_outside_impulses(tree: Any, x: Any, centre: Vec3) -> tuple[Vec3, Vec3]:
    """External impulse of a change x of z: moment about `centre` and impulse (N s). Link data is that of the solve."""
    links, rows = links_of(tree), link_data_of(tree)
    dof_rows = dof_data_of(tree)
    n = f = (0.0, 0.0, 0.0)
    for i in range(tree["n"]):
        l, d = links[i], rows[i + 1]
        moment = force = (0.0, 0.0, 0.0)
        for k in range(l["iv"], l["iv"] + l["nv"]):
            dof_data = dof_rows[k]
            moment, force = axpy(moment, x[k], load3(dof_data["U"])), axpy(force, x[k], load3_at(dof_data["U"], 3))
        n, f = add(n, add(moment, cross(sub(load3(d["p"]), centre), force))), add(f, force)
    return n, f


@kernel
def move_as_rigid_body(tree: Any, q: Any, v: Any, shift: Vec3, w: Vec3, u: Vec3, centre: Vec3) -> None:
    """Move a floating tree as one body: add `shift` (m) to q, and the twist w, u about `centre` to v; world axes."""
    link, data = links_of(tree)[0], rows_at(tree["rows"], 2, LINK_DATA)[1]
    R = load9(data["R"])
    store3(q, add(load3(q), tmul_vec(load9(link["R"]), shift)))
    store3(v, add(load3(v), tmul_vec(R, w)))
    store3_at(v, 3, add(load3_at(v, 3), tmul_vec(R, add(u, cross(w, sub(load3(data["p"]), centre))))))


@kernel
def compute_angular_velocity(I: Sym3, momentum: Vec3) -> Vec3:
    """Angular velocity I⁻¹ momentum; zero if the inertia I is singular."""
    if not is_positive_definite(I):
        return (0.0, 0.0, 0.0)
    K = inverse(cholesky(I))
    return tri_tvec(K, tri_vec(K, momentum))
