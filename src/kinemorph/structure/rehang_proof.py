"""What follows when a link hangs elsewhere: where entries and loops have gone, and the proof that no body has moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.checks import Matrix, Vector
from kinemorph.multibody.joints import FREE, PLANAR, SPHERICAL, UNIVERSAL
from kinemorph.multibody.kinematics import move, place
from kinemorph.multibody.layout import DOF, LINK, TREE, link_data
from kinemorph.spatial.mat3 import IDENTITY, mul, mul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import cross, sub
from kinemorph.structure.rehang_rows import Integers, Q, Records, V, unshift


@kernel(inline=False)
def map_entries(links: Any, new_links: Any, order: Any, start: int, length: int, q_map: Any, v_map: Any) -> None:
    """Where the entries of joints have gone; those of the joint that was replaced are gone (-1).

    The two angles of an inverted universal joint change places, and so do their numbers.
    """
    for k in range(q_map.shape[0]):
        q_map[k] = -1
    for k in range(v_map.shape[0]):
        v_map[k] = -1
    for s in range(links.shape[0]):
        if s == start:
            continue
        inverted = start < s < start + length
        l = links[order[s - 1] if inverted else order[s]]
        swaps = 1 if inverted and l["kind"] == UNIVERSAL else 0
        for k in range(l["nq"]):
            q_map[l["iq"] + k] = new_links[s]["iq"] + (k ^ swaps)
        for k in range(l["nv"]):
            v_map[l["iv"] + k] = new_links[s]["iv"] + (k ^ swaps)


@kernel
def move_loops(loops: Any, shifts: Any, where: Any) -> None:
    """Loops of the old tree become loops of the new one: other indices of links, and other frames of some."""
    for i in range(loops.shape[0]):
        loop = loops[i]
        if loop["a"] >= 0:
            R, p = unshift(shifts[loop["a"]], load9(loop["Ra"]), load3(loop["pa"]))
            store9(loop["Ra"], R)
            store3(loop["pa"], p)
            loop["a"] = where[loop["a"]]
        if loop["b"] >= 0:
            R, p = unshift(shifts[loop["b"]], load9(loop["Rb"]), load3(loop["pb"]))
            store9(loop["Rb"], R)
            store3(loop["pb"], p)
            loop["b"] = where[loop["b"]]


@kernel
def acts(dof: Any) -> bool:
    return dof["armature"] != 0.0 or dof["damping"] != 0.0 or dof["stiffness"] != 0.0


@kernel
def alike(x: Any, y: Any) -> bool:
    return x["armature"] == y["armature"] and x["damping"] == y["damping"] and x["stiffness"] == y["stiffness"]


@kernel(inline=False)
def first_lossy(links: Any, dofs: Any, order: Any, start: int, length: int) -> int:
    """The first link whose inverted joint has numbers that mean something else from its other side, -1 if none has.

    The axes of a ball turn with the other body then, so its three numbers must be equal; a distance along axes that
    turn is not the same one, so nothing may act along it or limit it.
    """
    for c in range(start + 1, start + length):
        l = links[order[c - 1]]
        kind = l["kind"]
        k = l["iv"]
        if (kind == SPHERICAL or kind == FREE) and not (alike(dofs[k], dofs[k + 1]) and alike(dofs[k], dofs[k + 2])):
            return order[c - 1]
        for j in range(k + 3 if kind == FREE else k, k + 6 if kind == FREE else k + 2 if kind == PLANAR else k):
            if acts(dofs[j]) or dofs[j]["lower"] > -np.inf or dofs[j]["upper"] < np.inf:
                return order[c - 1]
    return -1


@kernel(inline=False)
def differences(
    tree: Any, new_links: Any, order: Any, start: int, shifts: Any, new: Any, rows: Any, dof_rows: Any, out: Any
) -> None:  # fmt: skip
    """Largest differences of poses and of velocities of bodies before and after, to out[0] and out[1].

    out[2] is the largest entry of v. `rows` and `dof_rows` are those of a tree like the new one, the base filled in.
    """
    before = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    pose = 0.0
    twist = 0.0
    for s in range(tree["n"]):
        l = new_links[s]
        P = rows[l["parent"] + 1]
        d = rows[s + 1]
        R, r = place(l, P, d, dof_rows, new[Q])
        w, _, _ = move(l, P, d, dof_rows, new[Q], new[V], R, r)
        b = before[order[s] + 1]
        shift = shifts[order[s]]
        Rb = load9(b["R"])
        lever = mul_vec(Rb, load3(shift["p"]))
        E = mul(Rb, load9(shift["R"]))
        for k in range(9):
            pose = max(pose, abs(R[k] - E[k]))
        off = sub(sub(load3(d["p"]), load3(b["p"])), lever)
        dw = sub(w, load3(b["w"]))
        dv = sub(sub(load3(d["v"]), load3(b["v"])), cross(load3(b["w"]), lever))
        for k in range(3):
            pose = max(pose, abs(off[k]))
            twist = max(twist, abs(dw[k]), abs(dv[k]))
    out[0] = pose
    out[1] = twist
    for k in range(new.shape[1]):
        out[2] = max(out[2], abs(new[V, k]))


@entry
def rehang_rest(
    handle: int, start: int, length: int, new_links: Records, shifts: Records, order: Integers, where: Integers,
    new: Matrix, rows: Records, dof_rows: Records, loops: Records, q_map: Integers, v_map: Integers, out: Vector,
) -> int:  # fmt: skip
    """The maps of entries, the loops, and the differences that should not be there, after `rehang_tree`.

    Returns a link whose joint does not act as before, -1 if there is none.
    """
    tree = rows_at(handle, 1, TREE)[0]
    links = rows_at(tree["links"], tree["n"], LINK)
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    map_entries(links, new_links, order, start, length, q_map, v_map)
    move_loops(loops, shifts, where)
    store9(rows[0]["R"], IDENTITY)
    differences(tree, new_links, order, start, shifts, new, rows, dof_rows, out)
    return first_lossy(links, dofs, order, start, length)
