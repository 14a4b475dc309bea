"""Closed-form dynamics of a free rigid body: one link on a free joint in which no force acts.

Most bodies of a world are of this kind, and need none of the passes of the tree algorithms. With c its centre of mass
and L Lᵀ the inertia about it in link axes, its whitened velocity is z = [Lᵀ w, √m v_c], angular part in link axes and
linear part in world axes: ½ zᵀ z is the kinetic energy, as for any tree (`constraint.whiten`). A wrench (n, f) at x is
y = [L⁻¹ Rᵀ (n + (x - x_c) × f), f / √m] there, and its impulse adds y to z.

A forest stores a `LONE` row for such a body, and its address in the tree's header; then `fly`,
`answer`, `articulate_free_body` and `jump_free_body` replace `articulated_body`, `outward`, `articulate` and
the jump pass of `impulse`; the kernels at the end choose. The whitened force u is in this row;
the rows of degrees of freedom are unused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.aba import articulated_body, outward
from kinemorph.multibody.algorithms.impulse import articulate, propagate_jumps
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.algorithms.kinematics import accelerate_links
from kinemorph.multibody.layout import LINK_DATA, dofs_of, links_of
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import IDENTITY, Mat3, Sym3, mul, mul_vec, tmul_vec
from kinemorph.spatial.quaternion import to_matrix
from kinemorph.spatial.rows import load3, load3_at, load4_at, load6, load9, store3, store3_at, store6, store9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.triangle import cholesky, inverse, tri_tvec, tri_vec
from kinemorph.spatial.vec3 import Vec3, add, cross, neg, scale, sub

FREE_BODY = np.dtype(
    [
        ("c", "f8", 3),  # m, centre of mass, on the link
        ("mass", "f8"),  # kg
        ("light", "f8"),  # 1 / √mass
        ("L", "f8", 6),  # Ic = L Lᵀ: the inertia about the centre of mass, link axes; a Tri3
        ("K", "f8", 6),  # L⁻¹
        ("g", "f8", 3),  # m/s², gravity
        ("askew", "i8"),  # whether the joint's frame, which is in the LINK row, differs from that of the base
        ("u", "f8", 6),  # whitened joint force with all other forces, or impulse; in the layout of z
    ]
)
INERTIA_ROUNDING_SHARE = 1e-13  # share of an inertia that is rounding


# ------------------------------------------------------------------------------------------------- classification


@kernel
def is_floating(links: Any, dofs: Any) -> bool:
    """Whether the root joint of a tree is free, and no armature, spring, damper, friction or limit acts in it."""
    if links[0]["kind"] != FREE:
        return False
    for k in range(6):
        acts = dofs[k]["armature"] != 0.0 or dofs[k]["damping"] != 0.0 or dofs[k]["stiffness"] != 0.0
        if acts or dofs[k]["friction"] != 0.0 or dofs[k]["lower"] > -np.inf or dofs[k]["upper"] < np.inf:
            return False
    return True


@kernel
def is_positive_definite(S: Sym3) -> bool:
    """Whether an inertia is positive definite beyond rounding."""
    least = INERTIA_ROUNDING_SHARE * (S[0] + S[3] + S[5])
    if not S[0] > least:
        return False
    y = S[3] - S[1] * S[1] / S[0]
    if not y > least:
        return False
    yz = S[4] - S[1] * S[2] / S[0]
    return S[5] - S[2] * S[2] / S[0] - yz * yz / y > least


@kernel(inline=False)
def update_free_body(tree: Any, at: int) -> None:
    """Decide from its LINK and DOF rows whether a tree is a free rigid body, and write its LONE row, to address `at`.

    To be called again whenever the link's inertia or frame, the forces of its joint, or gravity have changed.
    """
    tree["free_body"] = 0
    links, dofs = links_of(tree), dofs_of(tree)
    if tree["n"] != 1 or not is_floating(links, dofs):
        return
    l = links[0]
    m, h = l["mass"], load3(l["h"])
    if not m > 0.0:
        return
    c = scale(h, 1.0 / m)
    I, _ = shift_rigid(neg(c), load6(l["I"]), h, m)
    if not is_positive_definite(I):
        return
    L = cholesky(I)
    lone = rows_at(at, 1, FREE_BODY)[0]
    store3(lone["c"], c)
    lone["mass"], lone["light"] = m, 1.0 / sqrt(m)
    store6(lone["L"], L)
    store6(lone["K"], inverse(L))
    store3(lone["g"], neg(load3(rows_at(tree["rows"], 1, LINK_DATA)[0]["a"])))
    store3(lone["u"], (0.0, 0.0, 0.0))
    store3_at(lone["u"], 3, (0.0, 0.0, 0.0))
    R, p = l["R"], l["p"]
    lone["askew"] = 0
    for k in range(9):
        if R[k] != IDENTITY[k]:
            lone["askew"] = 1
    if p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0:
        lone["askew"] = 1
    tree["free_body"] = at


@kernel
def free_body_of(tree: Any) -> Any:
    """The LONE row of a free rigid body."""
    return rows_at(tree["free_body"], 1, FREE_BODY)[0]


@kernel
def free_body_link(tree: Any) -> Any:
    """The LINK_DATA of its link."""
    return rows_at(tree["rows"], 2, LINK_DATA)[1]


# ---------------------------------------------------------------------------------------------- whitened velocities


@kernel
def whiten_free_body(lone: Any, R: Mat3, w: Vec3, v: Vec3) -> tuple[Vec3, Vec3]:
    """z of angular velocity w and velocity v of the link's origin, both in link axes, as in the tree's v."""
    v_c = add(v, cross(w, load3(lone["c"])))
    return tri_tvec(load6(lone["L"]), w), scale(mul_vec(R, v_c), lone["mass"] * lone["light"])


@kernel
def unwhiten_free_body(lone: Any, R: Mat3, turn: Vec3, push: Vec3) -> tuple[Vec3, Vec3]:
    """The velocities w and v, in link axes, of z = [turn, push]."""
    w = tri_tvec(load6(lone["K"]), turn)
    return w, sub(scale(tmul_vec(R, push), lone["light"]), cross(w, load3(lone["c"])))


@kernel
def whiten_free_body_wrench(lone: Any, R: Mat3, n: Vec3, f: Vec3) -> tuple[Vec3, Vec3]:
    """y of a wrench on the link, taken at the centre of mass, world axes."""
    return tri_vec(load6(lone["K"]), tmul_vec(R, n)), scale(f, lone["light"])


# ----------------------------------------------------------------------------------------------------------- motion


@kernel
def free_body_pose(tree: Any, lone: Any, q: Any) -> tuple[Mat3, Vec3]:
    """Pose of the link in the world."""
    R, p = to_matrix(load4_at(q, 3)), load3(q)
    if lone["askew"] != 0:
        l = links_of(tree)[0]
        E = load9(l["R"])
        R, p = mul(E, R), add(load3(l["p"]), mul_vec(E, p))
    return R, p


@kernel
def place_and_move_free_body(tree: Any, lone: Any, data: Any, q: Any, v: Any) -> Mat3:
    """Compute pose and velocity of the link, into its row. Returns world_R_link."""
    R, p = free_body_pose(tree, lone, q)
    store9(data["R"], R)
    store3(data["p"], p)
    store3(data["w"], mul_vec(R, load3(v)))
    store3(data["v"], mul_vec(R, load3_at(v, 3)))
    return R


@kernel
def store_free_body_acceleration(
    lone: Any, data: Any, R: Mat3, w: Vec3, v: Vec3, turn: Vec3, push: Vec3, a: Any
) -> None:
    """Compute accelerations of joint and link from the whitened force [turn, push]; w and v are in link axes."""
    al = tri_tvec(load6(lone["K"]), turn)
    c = load3(lone["c"])
    about = add(cross(al, c), cross(w, cross(w, c)))  # acceleration of the centre of mass relative to the origin
    own = scale(push, lone["light"])  # acceleration of the centre of mass, without gravity
    store3(a, al)
    store3_at(a, 3, sub(sub(tmul_vec(R, add(own, load3(lone["g"]))), about), cross(w, v)))
    store3(data["al"], mul_vec(R, al))
    store3(data["a"], sub(own, mul_vec(R, about)))


@kernel(inline=False)
def accelerate_free_body(tree: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """Forward dynamics: a from q, v, tau and the external wrench on the link, with its motion in its row."""
    lone, d = free_body_of(tree), free_body_link(tree)
    R = place_and_move_free_body(tree, lone, d, q, v)
    w, n, f = load3(v), load3(tau), load3_at(tau, 3)
    if external.shape[0] > 0:
        n = add(n, tmul_vec(R, load3(external[0])))
        f = add(f, tmul_vec(R, load3_at(external[0], 3)))
    L = load6(lone["L"])
    spin = tri_vec(L, tri_tvec(L, w))
    n = sub(sub(n, cross(load3(lone["c"]), f)), cross(w, spin))
    turn, push = tri_vec(load6(lone["K"]), n), scale(mul_vec(R, f), lone["light"])
    store3(lone["u"], turn)
    store3_at(lone["u"], 3, push)
    store_free_body_acceleration(lone, d, R, w, load3_at(v, 3), turn, push, a)


@kernel(inline=False)
def accelerate_free_body_again(tree: Any, a: Any) -> None:
    """Accelerations from the whitened force u, after `fly` and after constraints have added to u."""
    lone, d = free_body_of(tree), free_body_link(tree)
    R = load9(d["R"])
    w, v = tmul_vec(R, load3(d["w"])), tmul_vec(R, load3(d["v"]))
    store_free_body_acceleration(lone, d, R, w, v, load3(lone["u"]), load3_at(lone["u"], 3), a)


@kernel(inline=False)
def update_free_body_motion(tree: Any, q: Any, v: Any, a: Any) -> None:
    """Compute pose, velocity and acceleration of the link."""
    lone, d = free_body_of(tree), free_body_link(tree)
    R = place_and_move_free_body(tree, lone, d, q, v)
    store3(d["al"], mul_vec(R, load3(a)))
    own = add(load3_at(a, 3), cross(load3(v), load3_at(v, 3)))
    store3(d["a"], sub(mul_vec(R, own), load3(lone["g"])))


@kernel(inline=False)
def articulate_free_body(tree: Any, q: Any) -> None:
    """Compute the pose of the link: all that impulse responses need."""
    lone, d = free_body_of(tree), free_body_link(tree)
    R, p = free_body_pose(tree, lone, q)
    store9(d["R"], R)
    store3(d["p"], p)


@kernel(inline=False)
def jump_free_body(tree: Any, dv: Any) -> None:
    """Velocity jump from the whitened impulse u."""
    lone, d = free_body_of(tree), free_body_link(tree)
    w, v = unwhiten_free_body(lone, load9(d["R"]), load3(lone["u"]), load3_at(lone["u"], 3))
    store3(dv, w)
    store3_at(dv, 3, v)


# ------------------------------------------------------------------------------------- of a tree of either kind


@kernel
def accelerate_tree(tree: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """Forward dynamics: a from q, v, tau and the external wrenches on links."""
    if tree["free_body"] != 0:
        accelerate_free_body(tree, q, v, tau, external, a)
    else:
        articulated_body(tree, q, v, tau, external, a)


@kernel
def accelerate_tree_again(tree: Any, a: Any) -> None:
    """Accelerations from field u of each joint, after constraints have added to it."""
    if tree["free_body"] != 0:
        accelerate_free_body_again(tree, a)
    else:
        outward(tree, a)


@kernel
def move_tree(tree: Any, q: Any, v: Any, a: Any) -> None:
    """Compute poses, velocities and accelerations of links."""
    if tree["free_body"] != 0:
        update_free_body_motion(tree, q, v, a)
    else:
        accelerate_links(tree, q, v, a)


@kernel
def articulate_tree(tree: Any, q: Any) -> None:
    """Compute the part that all impulse responses at q share."""
    if tree["free_body"] != 0:
        articulate_free_body(tree, q)
    else:
        articulate(tree, q)


@kernel
def jump_tree(tree: Any, dv: Any) -> None:
    """Velocity jump of all joints from their field u."""
    if tree["free_body"] != 0:
        jump_free_body(tree, dv)
    else:
        propagate_jumps(tree, dv)
