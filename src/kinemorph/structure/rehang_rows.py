"""Hanging a link elsewhere: the one operation behind re-root, connect and cut, linear in the number of links (SPW).

A link gets another joint, on the base or on another link, and a joint between it and the base is gone. If that is the
joint that carried it, what it carries comes along: a cut. If it is one further up, the joints in between change sides,
and what hung on the lost joint comes along: a re-root, if that was the top of the tree. On that way, the chain of
inversion (SPW 6.1), a link's frame moves, because it sits on the joint that carries it: with X the tree transform of a
joint, the link that owned it gets its frame moved by X, and the link that used it becomes the owner, at the inverse of
how its own frame has moved. What hangs on the chain keeps its parent (SPW rule ii) and is re-expressed. This is SPW
eqs. 9 to 22 without the detour through absolute bind poses: only relative transforms are needed, so depth adds no
rounding errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.checks import Matrix, finite
from kinemorph.multibody.inversion import extract_position, extract_velocity, invert_axes, invert_force, invert_state
from kinemorph.multibody.joints import PLANAR, UNIVERSAL, bias
from kinemorph.multibody.kinematics import accelerate_all
from kinemorph.multibody.layout import DOF, LINK, NQ, NV, TREE, link_data
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import IDENTITY, Mat3, mul, mul_vec, rotate_sym, skew, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load6, load9, store3, store6, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, neg, sub

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Integers = np.ndarray[tuple[int], np.dtype[np.int32]]
Table = np.ndarray[tuple[int, int], np.dtype[np.int32]]

SHIFT = np.dtype([("R", "f8", 9), ("p", "f8", 3)])  # a link's new frame, seen from its old one

Q, V, A, TAU, REST, JUMP, SPARE = range(7)  # rows of a state on its way through a change
SIZES = np.array([NQ, NV], dtype=np.int32)


@kernel
def order_links(links: Any, top: int, end: int, order: Any, where: Any, moved: Any) -> tuple[int, int]:
    """What stays first, then the chain of inversion from `top` up to `end`, then the rest of what moves.

    Each is in the order that it had; what moves is all that `end` carries. Returns where the chain starts and its
    length.
    """
    n = links.shape[0]
    i = top
    length = 1
    while i != end:
        i = links[i]["parent"]
        length += 1
    count = 0
    for i in range(n):
        up = links[i]["parent"]
        moved[i] = 1 if i == end or (up >= 0 and moved[up] == 1) else 0
        where[i] = -1
        if moved[i] == 0:
            order[count] = i
            where[i] = count
            count += 1
    start = count
    i = top
    for _ in range(length):
        order[count] = i
        where[i] = count
        count += 1
        i = links[i]["parent"]
    for i in range(n):
        if where[i] < 0:
            order[count] = i
            where[i] = count
            count += 1
    return start, length


@kernel
def unshift(s: Any, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """A place given in a link's old frame, in its new frame."""
    E = load9(s["R"])
    return mul(transpose(E), R), tmul_vec(E, sub(p, load3(s["p"])))


@kernel
def straight(R: Mat3) -> Mat3:
    """The nearest rotation, by a Newton step. Else each change would double what R lacks, as Rᵀ stands for R⁻¹."""
    S = mul(transpose(R), R)
    a, b, c = -0.5 * S[1], -0.5 * S[2], -0.5 * S[5]
    return mul(R, (1.5 - 0.5 * S[0], a, b, a, 1.5 - 0.5 * S[4], c, b, c, 1.5 - 0.5 * S[8]))


@kernel
def set_joint(row: Any, R: Mat3, p: Vec3) -> None:
    """Tree transform of a row whose axes are set, and the constants that follow from both."""
    a = load3(row["axis"])
    store9(row["R"], R)
    store3(row["p"], p)
    K = mul(R, skew(a))
    store9(row["Rs"], K)
    C = mul(K, skew(a))  # [a]×² = a aᵀ - 1
    store9(row["Rc"], (-C[0], -C[1], -C[2], -C[3], -C[4], -C[5], -C[6], -C[7], -C[8]))


@kernel
def move_inertia(l: Any, s: Any, row: Any) -> None:
    """The link's inertia in its new frame (SPW eqs. 19 and 20: its pivot has moved)."""
    R = load9(s["R"])
    m = l["mass"]
    I, h = shift_rigid(neg(load3(s["p"])), load6(l["I"]), load3(l["h"]), m)
    row["mass"] = m
    store6(row["I"], rotate_sym(transpose(R), I))
    store3(row["h"], tmul_vec(R, h))


@kernel
def copy_axes(old: Any, new: Any) -> None:
    store3(new["axis"], load3(old["axis"]))
    store3(new["axis2"], load3(old["axis2"]))
    new["kind"] = old["kind"]
    new["pitch"] = old["pitch"]


@kernel
def copy_dof(old: Any, new: Any) -> None:
    new["armature"] = old["armature"]
    new["damping"] = old["damping"]
    new["stiffness"] = old["stiffness"]
    new["friction"] = old["friction"]
    new["lower"] = old["lower"]
    new["upper"] = old["upper"]
    new["speed"] = old["speed"]
    new["effort"] = old["effort"]


@kernel
def invert_dofs(kind: int, nv: int, old: Any, first: int, new: Any, to: int) -> None:
    """Numbers of a joint's degrees of freedom when it is seen from the other side: limits change ends."""
    for j in range(nv):
        source = first + (nv - 1 - j if kind == UNIVERSAL else j)
        copy_dof(old[source], new[to + j])
        lower = old[source]["lower"]
        new[to + j]["lower"] = -old[source]["upper"]
        new[to + j]["upper"] = -lower
        if kind == PLANAR and j < 2:  # distances along axes that now turn have no fixed limits
            new[to + j]["lower"] = -np.inf
            new[to + j]["upper"] = np.inf


@kernel(inline=False)
def rehang_rows(
    links: Any, dofs: Any, top: int, end: int, joint: Any, joint_dofs: Any, new_links: Any, new_dofs: Any,
    shifts: Any, order: Any, where: Any, last: Any, sizes: Any,
) -> tuple[int, int]:  # fmt: skip
    """Rows of the tree with link `top` carried by `joint`, a row with its parent (old index), axes and tree transform.

    shifts[top] is given; the others are found. `order[new] = old` and `where[old] = new`; `last[new]` is the degree of
    freedom nearest above what hangs on a link. Returns where the chain of inversion starts, and its length.
    """
    start, length = order_links(links, top, end, order, where, last)
    store9(shifts[top]["R"], straight(load9(shifts[top]["R"])))
    for i in range(links.shape[0]):
        if i != top:
            store9(shifts[i]["R"], IDENTITY)
            store3(shifts[i]["p"], (0.0, 0.0, 0.0))
    for c in range(start + 1, start + length):  # the owner's frame moves to the joint that it owned
        user = links[order[c - 1]]
        store9(shifts[order[c]]["R"], load9(user["R"]))
        store3(shifts[order[c]]["p"], load3(user["p"]))
    iq = 0
    iv = 0
    for s in range(links.shape[0]):
        row = new_links[s]
        hang(links, s, start, length, joint, shifts, order, where, row)
        row["iq"] = iq
        row["iv"] = iv
        row["nq"] = sizes[0, row["kind"]]
        row["nv"] = sizes[1, row["kind"]]
        i = order[s]
        move_inertia(links[i], shifts[i], row)
        if start < s < start + length:
            invert_dofs(row["kind"], row["nv"], dofs, links[order[s - 1]]["iv"], new_dofs, iv)
        else:
            for j in range(row["nv"]):
                copy_dof(joint_dofs[j] if s == start else dofs[links[i]["iv"] + j], new_dofs[iv + j])
        before = last[row["parent"]] if row["parent"] >= 0 else -1
        for k in range(iv, iv + row["nv"]):
            new_dofs[k]["link"] = s
            new_dofs[k]["parent"] = before
            before = k
        last[s] = before
        iq += row["nq"]
        iv += row["nv"]
    return start, length


@kernel
def hang(
    links: Any, s: int, start: int, length: int, joint: Any, shifts: Any, order: Any, where: Any, row: Any
) -> None:  # fmt: skip
    """Parent and joint of the link that comes to place s."""
    l = links[order[s]]
    row["parent"] = -1
    if s == start:
        copy_axes(joint, row)
        if joint["parent"] >= 0:
            row["parent"] = where[joint["parent"]]
        set_joint(row, straight(load9(joint["R"])), load3(joint["p"]))
    elif start < s < start + length:
        row["parent"] = s - 1
        invert_axes(links[order[s - 1]], row)
        R, p = unshift(shifts[order[s - 1]], IDENTITY, (0.0, 0.0, 0.0))
        set_joint(row, straight(R), p)
    else:
        copy_axes(l, row)
        R = load9(l["R"])
        p = load3(l["p"])
        if l["parent"] >= 0:
            row["parent"] = where[l["parent"]]
            if start <= row["parent"] < start + length:
                R, p = unshift(shifts[l["parent"]], R, p)
                R = straight(R)
        set_joint(row, R, p)


@kernel(inline=False)
def rehang_state(
    tree: Any, new_links: Any, order: Any, start: int, length: int, top_shift: Any, parent: int, old: Any, other: Any,
    new: Any,
) -> None:  # fmt: skip
    """State of the new tree: rows Q to JUMP of `old` become those of `new`; `other` is scratch with a row more.

    The links' motion must be up to date in the tree's rows (`accelerate_all` of the old state). The new joint's place
    in row REST is not touched; in row JUMP it gets its velocity, as if it had been at rest.
    """
    links = rows_at(tree["links"], tree["n"], LINK)
    for s in range(tree["n"]):
        if s == start:
            continue
        inverted = start < s < start + length
        l = links[order[s - 1] if inverted else order[s]]
        row = new_links[s]
        if inverted:
            invert_state(l, old[REST], old[V], old[A], other[REST], other[SPARE], other[SPARE])
            invert_state(l, old[Q], old[JUMP], old[A], other[SPARE], other[JUMP], other[A])
            invert_state(l, old[Q], old[V], old[A], other[Q], other[V], other[A])
            invert_force(l, old[Q], old[TAU], other[TAU])
        for j in range(6):
            position = j == Q or j == REST
            count = l["nq"] if position else l["nv"]
            i = l["iq"] if position else l["iv"]
            to = row["iq"] if position else row["iv"]
            for k in range(count):
                new[j, to + k] = other[j, i + k] if inverted else old[j, i + k]
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    joint = new_links[start]
    extract_top(joint, rows[order[start] + 1], rows[parent + 1], top_shift, new)
    for k in range(joint["iv"], joint["iv"] + joint["nv"]):
        new[JUMP, k] = new[V, k]


@kernel
def extract_top(joint: Any, d: Any, P: Any, s: Any, new: Any) -> None:
    """Position, velocity and acceleration of the new joint, from how its link moves against its parent's row P."""
    R_old = load9(d["R"])
    R = mul(R_old, load9(s["R"]))
    r = mul_vec(R_old, load3(s["p"]))
    x = add(load3(d["p"]), r)
    R_parent = load9(P["R"])
    E = mul(R_parent, load9(joint["R"]))
    origin = add(load3(P["p"]), mul_vec(R_parent, load3(joint["p"])))
    extract_position(joint, mul(transpose(E), R), tmul_vec(E, sub(x, origin)), new[Q])  # SPW eq. 22
    w = load3(d["w"])
    wp = load3(P["w"])
    rp = sub(x, load3(P["p"]))
    dw = sub(w, wp)
    du = sub(add(load3(d["v"]), cross(w, r)), add(load3(P["v"]), cross(wp, rp)))
    extract_velocity(joint, new[Q], tmul_vec(R, dw), tmul_vec(R, du), new[V])
    al = load3(d["al"])
    alp = load3(P["al"])
    # both accelerations contain minus gravity, which drops out of the difference
    acc = add(load3(d["a"]), add(cross(al, r), cross(w, cross(w, r))))
    accp = add(load3(P["a"]), add(cross(alp, rp), cross(wp, cross(wp, rp))))
    dal = sub(sub(al, alp), cross(wp, dw))
    dacc = axpy(sub(acc, accp), -2.0, cross(wp, du))
    bw, bv = bias(joint, new[Q], new[V])
    extract_velocity(joint, new[Q], sub(tmul_vec(R, dal), bw), sub(tmul_vec(R, dacc), bv), new[A])


@entry
def rehang_tree(
    handle: int, top: int, end: int, joint: Records, joint_dofs: Records, new_links: Records, new_dofs: Records,
    shifts: Records, order: Integers, where: Integers, last: Integers, sizes: Table, old: Matrix, other: Matrix,
    new: Matrix,
) -> tuple[int, int]:  # fmt: skip
    """Rows and state of the new tree. Returns where the chain of inversion starts, and its length.

    The first is -1 if the state is not finite.
    """
    for j in range(4):
        if not finite(old[j]):
            return -1, 0
    tree = rows_at(handle, 1, TREE)[0]
    links = rows_at(tree["links"], tree["n"], LINK)
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    start, length = rehang_rows(
        links, dofs, top, end, joint[0], joint_dofs, new_links, new_dofs, shifts, order, where, last, sizes
    )  # fmt: skip
    nq, nv = tree["nq"], tree["nv"]
    accelerate_all(tree, old[Q, :nq], old[V, :nv], old[A, :nv])
    rehang_state(tree, new_links, order, start, length, shifts[top], joint[0]["parent"], old, other, new)
    return start, length
