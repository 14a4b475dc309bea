"""Articulated impulse response: jumps of velocities from impulses on a link or at joints (Fontijne 3.6.7 and 3.6.8).

The limit of the articulated-body algorithm over a vanishing time: finite forces drop out, impulses stay. In terms of
eqs. 3.60 and 3.62, with the sign of the zero-acceleration impulse Y corrected: going inward, Y ← Y + U u with u = D (Q
- sᵀ Y); going outward, Δq̇ = D (u - Uᵀ Δv_parent).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.aba import fold, free_root, hand_over, push, respond, start
from kinemorph.multibody.algorithms.jacobian import local_point, world_point
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.algorithms.kinematics import place_link
from kinemorph.multibody.checks import NOT_FINITE, OK, Array, Vector, fault_of_positions, fault_of_state, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data, dofs_of, link_data, links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.inertia import shift_force
from kinemorph.spatial.mat3 import Sym3, sub_outer_sym
from kinemorph.spatial.pose import vector
from kinemorph.spatial.rows import get, load3, load3_at, store3, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, scale, sub


@kernel(inline=False)
def articulate(tree: Any, q: Any) -> None:
    """Articulated inertias at q, without forces: the part that all impulse responses at q share."""
    links = links_of(tree)
    dofs = dofs_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    n = tree["n"]
    for i in range(n):
        l = links[i]
        d = rows[i + 1]
        R, _ = place_link(l, rows[l["parent"] + 1], d, dof_rows, q)
        start(l, d, R)
    for i in range(n - 1, -1, -1):
        l = links[i]
        d = rows[i + 1]
        if l["kind"] == FREE and l["parent"] < 0:
            none = (0.0, 0.0, 0.0)
            free_root(l, d, dofs, dof_rows, none, none, none, none)
            continue
        A, H, M = fold(l, d, dofs, dof_rows)
        if l["parent"] >= 0:
            hand_over(rows[l["parent"] + 1], load3(d["r"]), A, H, M)


@kernel(inline=False)
def propagate_impulses(tree: Any, joint_impulse: Any, dv: Any) -> None:
    """Velocity jump of all joints, after `articulate`; rows n and f hold minus the impulses on links (the Y)."""
    links = links_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    n = tree["n"]
    for i in range(n - 1, -1, -1):
        l = links[i]
        d = rows[i + 1]
        Yn, Yf = push(l, dof_rows, load3(d["n"]), load3(d["f"]), joint_impulse)  # eq. 3.60
        if l["parent"] >= 0:
            P = rows[l["parent"] + 1]
            store3(P["n"], add(load3(P["n"]), shift_force(load3(d["r"]), Yn, Yf)))
            store3(P["f"], add(load3(P["f"]), Yf))
    propagate_jumps(tree, dv)


@kernel(inline=False)
def propagate_jumps(tree: Any, dv: Any) -> None:
    """Velocity jump of all joints from their field u (eqs. 3.62 and 3.59)."""
    links = links_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    for i in range(tree["n"]):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]  # the base does not jump
        w = load3(P["jw"])
        w, u = respond(l, dof_rows, w, add(load3(P["jv"]), cross(w, load3(d["r"]))), dv)
        store3(d["jw"], w)
        store3(d["jv"], u)


@kernel
def apply_point_impulse(
    tree: Any, link: int, x: Vec3, moment: Vec3, impulse: Vec3, joint_impulse: Any, dv: Any
) -> None:
    """Velocity jump from an impulsive moment and an impulse at world point x of a link, and from joint impulses."""
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    zero = (0.0, 0.0, 0.0)
    for i in range(tree["n"]):
        store3(rows[i + 1]["n"], zero)
        store3(rows[i + 1]["f"], zero)
    if link >= 0:
        d = rows[link + 1]
        store3(d["n"], sub(zero, add(moment, cross(sub(x, load3(d["p"])), impulse))))
        store3(d["f"], sub(zero, impulse))
    propagate_impulses(tree, joint_impulse, dv)


@entry
def _impulse_response(
    address: int,
    q: Vector,
    link: int,
    point: tuple[float, float, float],
    moment: tuple[float, float, float],
    impulse: tuple[float, float, float],
    joint_impulse: Vector,
    dv: Vector,
) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_state(tree, q, joint_impulse)
    if fault != OK:
        return fault
    articulate(tree, q)
    apply_point_impulse(tree, link, world_point(tree, link, point), moment, impulse, joint_impulse, dv)
    return OK if finite(dv) else NOT_FINITE


@kernel(inline=False)
def collision_matrix_at(tree: Any, link: int, x: Vec3) -> Sym3:
    """K of world point x, after `articulate`, from the path to the base alone.

    Three unit impulses go inward side by side. With the share u = D sᵀ Y that each joint takes from them, K = J M⁻¹ Jᵀ
    = Σ u uᵀ, symmetric and positive semidefinite by construction; no outward pass is needed.
    """
    links = links_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    fx, fy, fz = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    r = sub(x, load3(rows[link + 1]["p"]))
    nx, ny, nz = cross(r, fx), cross(r, fy), cross(r, fz)
    K = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    while link >= 0:
        l = links[link]
        for k in range(l["iv"], l["iv"] + l["nv"]):
            e = dof_rows[k]
            w = load3(e["S"])
            v = load3_at(e["S"], 3)
            u = (dot(w, nx) + dot(v, fx), dot(w, ny) + dot(v, fy), dot(w, nz) + dot(v, fz))
            u = scale(u, get(e["D"], 0))
            K = sub_outer_sym(K, neg(u), u)
            Un = load3(e["U"])
            Uf = load3_at(e["U"], 3)
            nx, ny, nz = axpy(nx, -u[0], Un), axpy(ny, -u[1], Un), axpy(nz, -u[2], Un)
            fx, fy, fz = axpy(fx, -u[0], Uf), axpy(fy, -u[1], Uf), axpy(fz, -u[2], Uf)
        r = load3(rows[link + 1]["r"])
        nx, ny, nz = shift_force(r, nx, fx), shift_force(r, ny, fy), shift_force(r, nz, fz)
        link = l["parent"]
    return K


@entry
def _collision_matrix(address: int, q: Vector, link: int, point: tuple[float, float, float], K: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_positions(tree, q)
    if fault != OK:
        return fault
    articulate(tree, q)
    S = collision_matrix_at(tree, link, world_point(tree, link, point))
    store9(K, (S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5]))
    return OK if finite(K) else NOT_FINITE


@checked_on_failure
def impulse_response(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    place: str | int = -1,
    impulse: Iterable[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    point: Iterable[float] = (0.0, 0.0, 0.0),
    joints: npt.ArrayLike | None = None,
) -> Array:
    """Jump of v from an impulse on a link or frame and from impulses at joints, M⁻¹ (Jᵀ impulse + joints), in O(n).

    `impulse` is an impulsive moment (3) and an impulse (3) in world axes, or the impulse alone; it acts at `point`,
    which is given in the axes of `place`. `joints` has an entry for each degree of freedom.
    """
    link, local = local_point(model, data, place, point)
    given = list(impulse)
    six = vector(given if len(given) != 3 else [0.0, 0.0, 0.0, *given], 6, "impulse").tolist()
    at_joints = np.zeros(model.nv) if joints is None else joints
    dv = np.empty(model.nv)
    moment, push = (six[0], six[1], six[2]), (six[3], six[4], six[5])
    try:
        status = _impulse_response(data.address, q, link, local, moment, push, at_joints, dv)
    except (TypeError, ValueError):
        q64, joints64 = checks.as_arrays(model, q=q, joints=at_joints)
        status = _impulse_response(data.address, q64, link, local, moment, push, joints64, dv)
    if status:
        checks.raise_for_status(model, status, q=q, joints=at_joints)
    return dv


@checked_on_failure
def collision_matrix(
    model: Model, data: Data, q: npt.ArrayLike, place: str | int, point: Iterable[float] = (0.0, 0.0, 0.0)
) -> Array:
    """K (3 x 3): an impulse p at a point changes the point's velocity by K p, world axes (Fontijne eq. 3.53)."""
    link, local = local_point(model, data, place, point)
    K = np.zeros(9)
    try:
        status = _collision_matrix(data.address, q, link, local, K)
    except (TypeError, ValueError):
        (q64,) = checks.as_arrays(model, q=q)
        status = _collision_matrix(data.address, q64, link, local, K)
    if status:
        checks.raise_for_status(model, status, q=q)
    return K.reshape(3, 3)
