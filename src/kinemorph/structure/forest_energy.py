"""Sums over all bodies of a forest: mass, momentum and kinetic energy; and the energy in all its springs."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.constraint.loop_springs import joint_forces
from kinemorph.constraint.loops import frames
from kinemorph.multibody.checks import Vector
from kinemorph.multibody.energy_momentum import sum_up
from kinemorph.multibody.inversion import extract_position
from kinemorph.multibody.layout import DOF, LINK_DATA, TREE
from kinemorph.multibody.loops import LOOP
from kinemorph.multibody.springs import stretch
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, tmul_vec, transpose
from kinemorph.spatial.rows import load3, store3
from kinemorph.spatial.vec3 import add, sub
from kinemorph.structure.forest_elements import end_row, measure_pushes, push_bodies, set_moving
from kinemorph.structure.forest_layout import (
    BODY_SLOT,
    DONE,
    FOREST,
    FOREST_KIND,
    FULL,
    IN_USE,
    LOOP_SLOT,
    LOOPS,
    NO_FOREST,
    REST,
    TREE_SLOT,
    TREES,
    Q,
    V,
)
from kinemorph.structure.forest_memory import claim, clear_words, pool_of

Records = np.ndarray[tuple[int], np.dtype[np.void]]


@entry
def sum_forest(address: int, sums: Records) -> int:
    """Mass, momentum and kinetic energy of all bodies, into the first row; the second is scratch."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["kind"] != FOREST_KIND or forest["busy"] != 0:
        return NO_FOREST
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    total, each = sums[0], sums[1]
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            tree, state = rows_at(trees[t]["address"], 1, TREE)[0], trees[t]["state"]
            nq, nv = tree["nq"], tree["nv"]
            sum_up(tree, rows_at(state + 8 * nq * Q, nq, F8), rows_at(state + 8 * nq * V, nv, F8), each)
            total["mass"] += each["mass"]
            total["kinetic"] += each["kinetic"]
            store3(total["moment"], add(load3(total["moment"]), load3(each["moment"])))
            store3(total["angular"], add(load3(total["angular"]), load3(each["angular"])))
            store3(total["linear"], add(load3(total["linear"]), load3(each["linear"])))
    return DONE


@kernel(inline=False)
def in_joints(slot: Any, memory: int) -> float:
    """Energy in the springs of a tree's joints; the memory is for a number for each degree of freedom."""
    tree, state = rows_at(slot["address"], 1, TREE)[0], slot["state"]
    nq, nv = tree["nq"], tree["nv"]
    dofs, out = rows_at(tree["dofs"], nv, DOF), rows_at(memory, nv, F8)
    stretch(tree, rows_at(state + 8 * nq * REST, nq, F8), rows_at(state + 8 * nq * Q, nq, F8), out)
    energy = 0.0
    for k in range(nv):
        energy += 0.5 * dofs[k]["stiffness"] * out[k] * out[k]
    return energy


@kernel(inline=False)
def in_loop(forest: Any, k: int, memory: int) -> float:
    """Energy in the springs of the joint of a loop; the memory is for 13 numbers."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    slot = rows_at(forest["loops"], forest["loop_room"], LOOP_SLOT)[k]
    loop, a, b = rows_at(forest["ties"], forest["loop_room"], LOOP)[k], slot["a"], slot["b"]
    if a >= 0:
        set_moving(trees[bodies[a]["tree"]])
    if b >= 0:
        set_moving(trees[bodies[b]["tree"]])
    da, db = rows_at(end_row(forest, a, b), 1, LINK_DATA)[0], rows_at(end_row(forest, b, a), 1, LINK_DATA)[0]
    Ra, xa, Rb, xb = frames(loop, da, db)
    clear_words(memory, 104)
    q, v = rows_at(memory, 7, F8), rows_at(memory + 56, 6, F8)
    loop["iq"] = loop["iv"] = 0  # each system counts in its own way
    extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(xb, xa)), q)
    return joint_forces(loop, q, v)


@entry
def elastic_forest(address: int, energy: Vector) -> int:
    """The energy in the springs of joints, loops and force elements, into its first entry. Returns a status."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["kind"] != FOREST_KIND:
        return NO_FOREST
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    loops, ties = (
        rows_at(forest["loops"], forest["loop_room"], LOOP_SLOT),
        rows_at(forest["ties"], forest["loop_room"], LOOP),
    )
    forest["scratch_used"] = forest["need"] = 0
    most = 13
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            most = max(most, rows_at(trees[t]["address"], 1, TREE)[0]["nv"])
    memory, pushes = claim(forest, 8 * most), claim(forest, measure_pushes(forest))
    if pushes == 0:
        return FULL
    energy[0] = push_bodies(forest, pushes)
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            tree = rows_at(trees[t]["address"], 1, TREE)[0]
            tree["pushes"] = 0
            if tree["springs"] != 0:
                energy[0] += in_joints(trees[t], memory)
    for k in range(pool_of(forest, LOOPS)["count"]):
        if loops[k]["next"] == IN_USE and ties[k]["passive"] != 0:
            energy[0] += in_loop(forest, k, memory)
    return DONE
