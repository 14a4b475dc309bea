"""Whitened rows and velocities: y = L⁻ᵀ jᵀ and z = L v, with M = Lᵀ L.

With the articulated inertias in place (`articulate`, or any forward dynamics) the row's velocity is yᵀ z, an impulse λ
makes z ← z + y λ, and yᵀ y is the inverse mass of the row. A row's wrench goes inward along the paths of its two links,
and each joint on them takes u = D sᵀ Y of it; so y has numbers for these joints alone. Where the two paths meet, the
rests of both are added.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms import free_body
from kinemorph.multibody.algorithms.aba import is_at_parent
from kinemorph.multibody.algorithms.joints import FREE, REVOLUTE
from kinemorph.multibody.layout import TREE, dof_data_of, link_data_of, links_of
from kinemorph.multibody.system import I8, constraint_rows_of, path_of, tree_addresses_of, y_numbers_of
from kinemorph.spatial.inertia import shift_force
from kinemorph.spatial.mat3 import mul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, sub

ACROSS_SINE_SQUARED = 1e-10  # squared sine of an angle below which a wrench counts as orthogonal to a joint's direction
LEAST_LEVER_SQUARED = 1e-18  # m²: a shorter lever may be rounding of where its ends are, and is taken for as long


@kernel
def whiten_through_joint(
    link: Any, data: Any, dof_rows: Any, n: Vec3, f: Vec3, x: Vec3, n0: float, f0: float, y: Any, at: int
) -> tuple[Vec3, Vec3, float, int]:
    """Pass a wrench on a link through its joint: the joint's share goes to y. Returns the rest at the parent.

    The third result is the size that these numbers could have: n0 and f0 are the squares of the wrench where it
    started, x. A joint orthogonal to the wrench could have none of it, however light its link is beside others. The
    fourth is the next index in y; the last degree of freedom of a joint comes first, as on the path.
    """
    lever = sub(x, load3(data["p"]))
    n0 = n0 + max(dot(lever, lever), LEAST_LEVER_SQUARED * (1.0 + dot(x, x))) * f0
    size = 0.0
    first, count = link["iv"], link["nv"]
    for j in range(count):
        dof_data = dof_rows[first + j]
        w = load3(dof_data["S"])
        v = load3_at(dof_data["S"], 3)
        D = dof_data["D"][0]
        u = D * (dot(w, n) + dot(v, f))
        possible = D * D * (dot(w, w) * n0 + dot(v, v) * f0)
        if u * u > ACROSS_SINE_SQUARED * possible:
            size += possible
        y[at + count - 1 - j] = u
        n = axpy(n, -u, load3(dof_data["U"]))
        f = axpy(f, -u, load3_at(dof_data["U"], 3))
    return shift_force(load3(data["r"]), n, f), f, size, at + count


@kernel
def moment_at_origin(data: Any, x: Vec3, n: Vec3, f: Vec3) -> Vec3:
    """The moment about a link's origin of a wrench at x."""
    return add(n, cross(sub(x, load3(data["p"])), f))


@kernel
def whiten_to_base(tree: Any, link: int, n: Vec3, f: Vec3, x: Vec3, n0: float, f0: float, y: Any, at: int) -> float:
    """Pass a wrench on a link all the way to the base. Returns the size that its numbers could have."""
    if tree["free_body"] != 0:
        return whiten_free_body_row(tree, n, f, x, n0, f0, y, at) if link >= 0 else 0.0
    links = links_of(tree)
    rows = link_data_of(tree)
    dof_rows = dof_data_of(tree)
    size = 0.0
    while link >= 0:
        n, f, s, at = whiten_through_joint(links[link], rows[link + 1], dof_rows, n, f, x, n0, f0, y, at)
        link = links[link]["parent"]
        size += s
    return size


@kernel(inline=False)
def whiten_free_body_row(tree: Any, n: Vec3, f: Vec3, x: Vec3, n0: float, f0: float, y: Any, at: int) -> float:
    """`inward` for a free rigid body, in closed form. Returns the size that its numbers could have."""
    lone, d = free_body.free_body_of(tree), free_body.free_body_link(tree)
    R = load9(d["R"])
    centre = mul_vec(R, load3(lone["c"]))
    lever = sub(sub(x, load3(d["p"])), centre)
    turn, push = free_body.whiten_free_body_wrench(lone, R, sub(n, cross(centre, f)), f)
    n0 = n0 + max(dot(lever, lever), LEAST_LEVER_SQUARED * (1.0 + dot(x, x))) * f0
    size = lone["light"] * lone["light"] * f0
    K = lone["K"]
    first, second, third = K[0] * K[0], K[1] * K[1] + K[2] * K[2], K[3] * K[3] + K[4] * K[4] + K[5] * K[5]
    if turn[0] * turn[0] > ACROSS_SINE_SQUARED * first * n0:
        size += first * n0
    if turn[1] * turn[1] > ACROSS_SINE_SQUARED * second * n0:
        size += second * n0
    if turn[2] * turn[2] > ACROSS_SINE_SQUARED * third * n0:
        size += third * n0
    y[at], y[at + 1], y[at + 2] = push[2], push[1], push[0]
    y[at + 3], y[at + 4], y[at + 5] = turn[2], turn[1], turn[0]
    return size


@kernel
def whiten_row(A: Any, B: Any, row: Any, Y: Any) -> None:
    """y of one row, and its scale; A and B are the trees of its two links."""
    x, n, f = load3(row["x"]), load3(row["n"]), load3(row["f"])
    nn, ff = dot(n, n), dot(f, f)
    a, b, at = row["a"], row["b"], row["y"]
    rows_a = link_data_of(A)
    rows = link_data_of(B)
    nb, fb = moment_at_origin(rows[b + 1], x, n, f), f
    na, fa = neg(moment_at_origin(rows_a[a + 1], x, n, f)), neg(f)
    size = 0.0
    if row["tree_a"] != row["tree_b"]:
        size = whiten_to_base(B, b, nb, fb, x, nn, ff, Y, at)
        row["scale"] = size + whiten_to_base(A, a, na, fa, x, nn, ff, Y, at + row["split"])
        return
    if B["free_body"] != 0:  # the other side is the base
        row["scale"] = whiten_to_base(B, b, nb, fb, x, nn, ff, Y, at) + whiten_to_base(B, a, na, fa, x, nn, ff, Y, at)
        return
    links = links_of(B)
    dof_rows = dof_data_of(B)
    while a != b:  # the link of larger index steps inward until they meet
        if b > a:
            nb, fb, s, at = whiten_through_joint(links[b], rows[b + 1], dof_rows, nb, fb, x, nn, ff, Y, at)
            b = links[b]["parent"]
        else:
            na, fa, s, at = whiten_through_joint(links[a], rows[a + 1], dof_rows, na, fa, x, nn, ff, Y, at)
            a = links[a]["parent"]
        size += s
    row["scale"] = size + whiten_to_base(B, b, add(nb, na), add(fb, fa), x, nn, ff, Y, at)


@kernel(inline=False)
def whiten(system: Any) -> None:
    """Compute y and the scale of all rows, whose wrenches are set; the articulated inertias must be in place."""
    trees = tree_addresses_of(system)
    rows = constraint_rows_of(system)
    Y = y_numbers_of(system)
    for j in range(system["m"]):
        row = rows[j]
        whiten_row(rows_at(trees[row["tree_a"]], 1, TREE)[0], rows_at(trees[row["tree_b"]], 1, TREE)[0], row, Y)


@kernel(inline=False)
def apply_row_forces(system: Any) -> None:
    """Add the row forces to field u of the joints: u ← u + Yᵀ λ."""
    trees = tree_addresses_of(system)
    offsets = rows_at(system["offsets"], system["tree_count"], I8)
    rows = constraint_rows_of(system)
    path = path_of(system)
    Y = y_numbers_of(system)
    for j in range(system["m"]):
        row = rows[j]
        force = row["force"]
        if force != 0.0:
            b, a = row["tree_b"], row["tree_a"]
            add_joint_forces(rows_at(trees[b], 1, TREE)[0], offsets[b], row, 0, row["split"], path, Y)
            add_joint_forces(rows_at(trees[a], 1, TREE)[0], offsets[a], row, row["split"], row["length"], path, Y)


@kernel
def add_joint_forces(tree: Any, offset: int, row: Any, start: int, stop: int, path: Any, Y: Any) -> None:
    if tree["free_body"] != 0:
        left = free_body.free_body_of(tree)["u"]
        for e in range(start, stop):
            left[path[row["path"] + e] - offset] += row["force"] * Y[row["y"] + e]
        return
    dof_rows = dof_data_of(tree)
    for e in range(start, stop):
        dof_rows[path[row["path"] + e] - offset]["u"][0] += row["force"] * Y[row["y"] + e]


@kernel
def whitened_rate(dof_data: Any, v: float, w: Vec3, u: Vec3, turns: bool) -> tuple[float, Vec3, Vec3]:
    """z of one degree of freedom, and its link's velocity with it; if it `turns` (revolute), half of S is zero."""
    z = v / dof_data["D"][0] + dot(load3(dof_data["U"]), w) + dot(load3_at(dof_data["U"], 3), u)
    return z, axpy(w, v, load3(dof_data["S"])), u if turns else axpy(u, v, load3_at(dof_data["S"], 3))


@kernel
def unwhitened_rate(dof_data: Any, z: float, w: Vec3, u: Vec3, turns: bool) -> tuple[float, Vec3, Vec3]:
    """The inverse: v of one degree of freedom from its z."""
    v = (z - dot(load3_at(dof_data["U"], 3), u) - dot(load3(dof_data["U"]), w)) * dof_data["D"][0]
    return v, axpy(w, v, load3(dof_data["S"])), u if turns else axpy(u, v, load3_at(dof_data["S"], 3))


@kernel(inline=False)
def whiten_velocity(tree: Any, v: Any, z: Any) -> None:
    """z = L v: outward, the inverse of `unwhiten_velocity`. Kinetic energy is ½ zᵀ z."""
    if tree["free_body"] != 0:
        lone, d = free_body.free_body_of(tree), free_body.free_body_link(tree)
        turn, push = free_body.whiten_free_body(lone, load9(d["R"]), load3(v), load3_at(v, 3))
        store3(z, turn)
        store3_at(z, 3, push)
        return
    links = links_of(tree)
    rows = link_data_of(tree)
    dof_rows = dof_data_of(tree)
    for i in range(tree["n"]):
        link, d = links[i], rows[i + 1]
        w, u = carried_velocity(link, rows[link["parent"] + 1], d)
        for k in range(link["iv"] + link["nv"] - 1, link["iv"] - 1, -1):
            z[k], w, u = whitened_rate(dof_rows[k], v[k], w, u, link["kind"] == REVOLUTE)
        store3(d["jw"], w)
        store3(d["jv"], u)


@kernel(inline=False)
def unwhiten_velocity(tree: Any, z: Any, v: Any) -> None:
    """v = L⁻¹ z: outward, as pass 3 of `aba`; not for free rigid bodies."""
    links = links_of(tree)
    rows = link_data_of(tree)
    dof_rows = dof_data_of(tree)
    for i in range(tree["n"]):
        link, data = links[i], rows[i + 1]
        w, u = carried_velocity(link, rows[link["parent"] + 1], data)
        for k in range(link["iv"] + link["nv"] - 1, link["iv"] - 1, -1):
            v[k], w, u = unwhitened_rate(dof_rows[k], z[k], w, u, link["kind"] == REVOLUTE)
        store3(data["jw"], w)
        store3(data["jv"], u)


@kernel
def whiten_motion(tree: Any, v: Any, z: Any, za: Any) -> None:
    """z = L v, and za = L a after `give_way`, without computing a itself; not for free rigid bodies.

    A joint has a = D (u - Uᵀ a'), where a' is the acceleration of its link if the joint had none: the bias b, which it
    would have if no joint before it accelerated, and their share. The latter is in L too and cancels: za = u - Uᵀ b, so
    no joint depends on another. A free root's velocity is in a rotating frame, which is no force: its b is left out.
    """
    links = links_of(tree)
    rows = link_data_of(tree)
    dof_rows = dof_data_of(tree)
    for i in range(tree["n"]):
        l, data, P = links[i], rows[i + 1], rows[links[i]["parent"] + 1]
        w, u = carried_velocity(l, P, data)
        al = load3(P["al"])
        acc = add(load3(P["a"]), cross(al, load3(data["r"])))
        if i > 0 or l["kind"] != FREE:
            al, acc = add(al, load3(data["bw"])), add(acc, load3(data["bv"]))
        for k in range(l["iv"] + l["nv"] - 1, l["iv"] - 1, -1):
            dof_data = dof_rows[k]
            z[k], w, u = whitened_rate(dof_data, v[k], w, u, l["kind"] == REVOLUTE)
            za[k] = dof_data["u"][0] - dot(load3(dof_data["U"]), al) - dot(load3_at(dof_data["U"], 3), acc)
        store3(data["jw"], w)
        store3(data["jv"], u)
        store3(data["al"], al)
        store3(data["a"], acc)


# ----------------------------------------------------- two at once, to hide the latency between degrees of freedom


@kernel
def whiten_velocity_pair(tree: Any, v: Any, z: Any, v2: Any, z2: Any) -> None:
    """`whiten_velocity` of two sets of velocities; not for free rigid bodies."""
    transform_velocity_pair(tree, 0, v, z, v2, z2, False)


@kernel
def unwhiten_velocity_pair(tree: Any, first: int, z: Any, v: Any, z2: Any, v2: Any) -> None:
    """`unwhiten_velocity` of two sets, from link `first` on; the velocities of earlier links must be set."""
    transform_velocity_pair(tree, first, z, v, z2, v2, True)


@kernel
def transform_velocity_pair(tree: Any, first: int, x: Any, y: Any, x2: Any, y2: Any, back: bool) -> None:
    """Transform both sets from x to y (with `back`: unwhiten), for the links from `first` on."""
    links = links_of(tree)
    rows = link_data_of(tree)
    dof_rows = dof_data_of(tree)
    for i in range(first, tree["n"]):
        l, d, P = links[i], rows[i + 1], rows[links[i]["parent"] + 1]
        w, u = carried_velocity(l, P, d)
        w2, u2 = carried_second_velocity(l, P, d)
        for k in range(l["iv"] + l["nv"] - 1, l["iv"] - 1, -1):
            e = dof_rows[k]
            turns = l["kind"] == REVOLUTE
            y[k], w, u = unwhitened_rate(e, x[k], w, u, turns) if back else whitened_rate(e, x[k], w, u, turns)
            y2[k], w2, u2 = unwhitened_rate(e, x2[k], w2, u2, turns) if back else whitened_rate(e, x2[k], w2, u2, turns)
        store_velocity_pair(d, w, u, w2, u2)


@kernel
def carried_velocity(link: Any, parent: Any, data: Any) -> tuple[Vec3, Vec3]:
    """The velocity of a link whose joint does not move, from its parent's row."""
    w, u = load3(parent["jw"]), load3(parent["jv"])
    return w, u if is_at_parent(link) else add(u, cross(w, load3(data["r"])))


@kernel
def carried_second_velocity(link: Any, parent: Any, data: Any) -> tuple[Vec3, Vec3]:
    """The same of the second set."""
    w, u = load3(parent["kw"]), load3(parent["kv"])
    return w, u if is_at_parent(link) else add(u, cross(w, load3(data["r"])))


@kernel
def store_velocity_pair(data: Any, w: Vec3, u: Vec3, w2: Vec3, u2: Vec3) -> None:
    store3(data["jw"], w)
    store3(data["jv"], u)
    store3(data["kw"], w2)
    store3(data["kv"], u2)
