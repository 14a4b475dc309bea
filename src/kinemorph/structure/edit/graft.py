"""Graft: hang a subtree elsewhere, the one operation behind re-root, connect and cut, linear in the number of links
(SPW).

A link `top` gets another joint, on the base or on another link, and the joint of a link `end` between it and the base
is removed. If `end` is `top` itself, its subtree moves: a cut. If `end` is further up, the joints in between are
inverted, and all that `end` carries moves: a re-root, if `end` is the root. Along this chain of inversion (SPW 6.1) a
link's frame moves, because it sits on the joint that carries it: with X the tree transform of a joint, the link that
owned it gets its frame moved by X, and the link that used it becomes the owner, at the inverse of the shift of its own
frame. Subtrees that hang on the chain keep their parent (SPW rule ii) and are re-expressed. This is SPW eqs. 9 to 22
without the detour through absolute bind poses: only relative transforms are needed, so depth adds no rounding errors.

Links that stay and links that move may end in different trees; the rows of the host tree's own links are already in
place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.inversion import invert_axes
from kinemorph.multibody.layout import LINK, TREE, dofs_of, links_of
from kinemorph.multibody.loop_layout import last_dof
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import IDENTITY, Mat3, mul, rotate_sym, skew, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load6, load9, store3, store6, store9
from kinemorph.spatial.vec3 import Vec3, neg, sub
from kinemorph.structure.edit.graft_joint import invert_dofs
from kinemorph.structure.forest.layout import FRAME, host_of, source_of
from kinemorph.structure.forest.memory import DOF_SIZE, LINK_SIZE, copy_words

I4 = np.dtype("i4")


@kernel(inline=False)
def order_links(graft: Any) -> None:
    """Order the links: those that stay, then the chain of inversion from `top` up to `end`, then all others that move.

    Each group keeps its order; the links that move are those that `end` carries.
    """
    tree = source_of(graft)
    n = tree["n"]
    links = links_of(tree)
    order, where = rows_at(graft["order"], n, I4), rows_at(graft["where"], n, I4)
    top, end = graft["top"], graft["end"]
    count = 0
    for i in range(n):  # for the time being, what moves is at -1
        up = links[i]["parent"]
        if i == end or (up >= 0 and where[up] < 0):
            where[i] = -1
        else:
            order[count] = i
            where[i] = count
            count += 1
    graft["stay_count"] = count
    i = top
    length = 0
    while length == 0 or order[count - 1] != end:
        order[count] = i
        where[i] = count
        count += 1
        length += 1
        i = links[i]["parent"]
    graft["length"] = length
    for i in range(end, n):
        if where[i] < 0:
            order[count] = i
            where[i] = count
            count += 1


@kernel
def to_shifted_frame(shift: Any, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """A pose given in a link's old frame, in its new frame."""
    E = load9(shift["R"])
    return mul(transpose(E), R), tmul_vec(E, sub(p, load3(shift["p"])))


@kernel
def orthonormalize(R: Mat3) -> Mat3:
    """The nearest rotation, by a Newton step. Without it each edit would double the error of R, as it uses Rᵀ for
    R⁻¹."""
    S = mul(transpose(R), R)
    a, b, c = -0.5 * S[1], -0.5 * S[2], -0.5 * S[5]
    return mul(R, (1.5 - 0.5 * S[0], a, b, a, 1.5 - 0.5 * S[4], c, b, c, 1.5 - 0.5 * S[8]))


@kernel
def set_tree_transform(row: Any, R: Mat3, p: Vec3) -> None:
    """Set the tree transform of a row whose axes are set, and the constants Rs and Rc that follow from both."""
    a = load3(row["axis"])
    store9(row["R"], R)
    store3(row["p"], p)
    K = mul(R, skew(a))
    store9(row["Rs"], K)
    C = mul(K, skew(a))  # [a]×² = a aᵀ - 1
    store9(row["Rc"], (-C[0], -C[1], -C[2], -C[3], -C[4], -C[5], -C[6], -C[7], -C[8]))


@kernel
def move_inertia(link: Any, shift: Any, row: Any) -> None:
    """The link's inertia in its new frame (SPW eqs. 19 and 20: its pivot has moved)."""
    R = load9(shift["R"])
    I, h = shift_rigid(neg(load3(shift["p"])), load6(link["I"]), load3(link["h"]), link["mass"])
    store6(row["I"], rotate_sym(transpose(R), I))
    store3(row["h"], tmul_vec(R, h))


@kernel(inline=False)
def fill_chain_shifts(graft: Any) -> None:
    """Fill in the shifts of the frames of the chain; that of `top` is given."""
    tree = source_of(graft)
    links = links_of(tree)
    order, shifts = rows_at(graft["order"], tree["n"], I4), rows_at(graft["shifts"], tree["n"], FRAME)
    top, start = graft["top"], graft["stay_count"]
    store9(shifts[top]["R"], orthonormalize(load9(shifts[top]["R"])))
    for c in range(start + 1, start + graft["length"]):  # the owner's frame moves to the joint that it owned
        user = links[order[c - 1]]
        store9(shifts[order[c]]["R"], load9(user["R"]))
        store3(shifts[order[c]]["p"], load3(user["p"]))


@kernel
def copy_joint(link: Any, row: Any) -> None:
    """Copy axes, sizes and identity of a joint."""
    store3(row["axis"], load3(link["axis"]))
    store3(row["axis2"], load3(link["axis2"]))
    row["kind"], row["pitch"] = link["kind"], link["pitch"]
    row["nq"], row["nv"], row["joint"], row["turned"] = link["nq"], link["nv"], link["joint"], link["turned"]


@kernel
def fill_grafted_link(graft: Any, links: Any, place: int, parent: int, row: Any) -> None:
    """Fill the row of the link at a place: joint and inertia on the chain, the joint's frame if its parent is there."""
    n = links.shape[0]
    order, shifts = rows_at(graft["order"], n, I4), rows_at(graft["shifts"], n, FRAME)
    start, length = graft["stay_count"], graft["length"]
    l = links[order[place]]
    row["parent"] = parent
    if place == start:
        joint = rows_at(graft["joint"], 1, LINK)[0]
        copy_joint(joint, row)
        set_tree_transform(row, orthonormalize(load9(joint["R"])), load3(joint["p"]))
        move_inertia(l, shifts[order[place]], row)
    elif start < place < start + length:
        user = links[order[place - 1]]
        invert_axes(user, row)
        row["nq"], row["nv"], row["joint"], row["turned"] = user["nq"], user["nv"], user["joint"], 1 - user["turned"]
        R, p = to_shifted_frame(shifts[order[place - 1]], IDENTITY, (0.0, 0.0, 0.0))
        set_tree_transform(row, orthonormalize(R), p)
        move_inertia(l, shifts[order[place]], row)
    elif place > start:
        up = rows_at(graft["where"], n, I4)[l["parent"]]
        if up < start + length:  # it hangs on the chain
            R, p = to_shifted_frame(shifts[l["parent"]], load9(l["R"]), load3(l["p"]))
            set_tree_transform(row, orthonormalize(R), p)


@kernel
def set_dof_parents(tree: Any, row: Any, link: int) -> None:
    """Set the link and the parent of each degree of freedom of a link's joint."""
    dofs = dofs_of(tree)
    before = last_dof(tree, row["parent"])
    for k in range(row["iv"], row["iv"] + row["nv"]):
        dofs[k]["link"] = link
        dofs[k]["parent"] = before
        before = k


@kernel(inline=False)
def fill_graft_rows(graft: Any) -> None:
    """Fill the rows of links and of degrees of freedom of both trees, after `order_links` and `fill_chain_shifts`."""
    source = source_of(graft)
    n, start, length = source["n"], graft["stay_count"], graft["length"]
    links = links_of(source)
    order, where = rows_at(graft["order"], n, I4), rows_at(graft["where"], n, I4)
    iq = iv = 0
    tree = rows_at(graft["rest"] if start > 0 else graft["host"], 1, TREE)[0]
    off = 0  # from a place in the order to a link of the tree
    for s in range(n):
        i = order[s]
        link = links[i]
        parent = where[link["parent"]] if link["parent"] >= 0 else -1
        if s >= start:
            if s == start:
                tree = host_of(graft)
                iq, iv, off = graft["iq0"], graft["iv0"], graft["n0"] - start
                parent = graft["parent"]
            elif s < start + length:
                parent = s - 1 + off
            else:
                parent = parent + off
        row = links_of(tree)[s + off]
        if start <= s < start + length:  # of the chain nothing else stays
            row["body"], row["mass"] = link["body"], link["mass"]
        else:
            copy_words(source["links"] + i * LINK_SIZE, tree["links"] + (s + off) * LINK_SIZE, LINK_SIZE)
        fill_grafted_link(graft, links, s, parent, row)
        row["iq"], row["iv"] = iq, iv
        inverted = start < s < start + length
        user = links[order[s - 1]] if inverted else link
        drives = graft["dofs"] if s == start else source["dofs"] + user["iv"] * DOF_SIZE
        copy_words(drives, tree["dofs"] + iv * DOF_SIZE, row["nv"] * DOF_SIZE)
        if inverted:
            invert_dofs(row["kind"], row["nv"], dofs_of(tree), iv)
        set_dof_parents(tree, row, s + off)
        iq += row["nq"]
        iv += row["nv"]
