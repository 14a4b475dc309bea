"""How a forest moves: forward dynamics tree by tree, loops by island, and the sums over all bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph._jit_prefetch import LINE, prefetch
from kinemorph.constraint.dynamics import bear_loops
from kinemorph.multibody.checks import Matrix, finite
from kinemorph.multibody.energy_momentum import sum_up
from kinemorph.multibody.layout import TREE
from kinemorph.multibody.lone import accelerate_tree, accelerate_tree_again, move_tree
from kinemorph.multibody.system import F8, SYSTEM
from kinemorph.spatial.rows import load3, store3
from kinemorph.spatial.vec3 import add
from kinemorph.structure.forest_islands import assemble, collect
from kinemorph.structure.forest_layout import (
    DONE,
    FOREST,
    FOREST_KIND,
    FULL,
    IN_USE,
    LOOPS,
    NO_FOREST,
    NOT_FINITE,
    TAU,
    TREE_SLOT,
    TREES,
    A,
    Q,
    V,
)
from kinemorph.structure.forest_memory import ROWS, before_state, pool_of

AHEAD = 4  # trees that are on their way from memory while one is worked on
# what the dynamics of a lone body uses of its block: header, LONE row and state, then R to a of its link
HOT_STATE = before_state(1, 6) + 8 * 7 * (TAU + 1)
HOT_LINK = (before_state(1, 6) + 48 * 7 + ROWS) // LINE * LINE
HOT_END = before_state(1, 6) + 48 * 7 + ROWS + 8 * (9 + 5 * 3)

Records = np.ndarray[tuple[int], np.dtype[np.void]]


@kernel
def approach(block: int) -> None:
    """Bring the lines of a tree's block that the dynamics of a lone body uses closer."""
    for at in range(0, HOT_STATE, LINE):
        prefetch(block + at)
    for at in range(HOT_LINK, HOT_END, LINE):
        prefetch(block + at)


@kernel(inline=False)
def accelerate_trees(forest: Any, external: Any) -> int:
    """Accelerations of all trees as if there were no loops. Returns the first tree that has none, -1 if all have."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    count = pool_of(forest, TREES)["count"]
    for t in range(count):
        if t + AHEAD < count:
            approach(trees[t + AHEAD]["address"])
        if trees[t]["next"] == IN_USE:
            tree, state = rows_at(trees[t]["address"], 1, TREE)[0], trees[t]["state"]
            nq, nv = tree["nq"], tree["nv"]
            q, v = rows_at(state + 8 * nq * Q, nq, F8), rows_at(state + 8 * nq * V, nv, F8)
            tau, a = rows_at(state + 8 * nq * TAU, nv, F8), rows_at(state + 8 * nq * A, nv, F8)
            accelerate_tree(tree, q, v, tau, external, a)
            if not finite(a):
                return t
    return -1


@kernel(inline=False)
def bear_all_loops(forest: Any) -> int:
    """What the loops make of these accelerations, island by island. Returns a status."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    start = forest["turn"]  # islands that are done have marks after this
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE and trees[t]["sides"] > 0 and trees[t]["mark"] <= start:
            forest["scratch_used"] = 0
            collect(forest, t, -1)
            at = assemble(forest, 0)
            if at == 0:
                return FULL
            bear_loops(rows_at(at, 1, SYSTEM)[0])
            u = forest["first_tree"]
            while u >= 0:
                tree = rows_at(trees[u]["address"], 1, TREE)[0]
                accelerate_tree_again(tree, rows_at(trees[u]["state"] + 8 * tree["nq"] * A, tree["nv"], F8))
                u = trees[u]["follows"]
    return DONE


@kernel
def usable(forest: Any) -> bool:
    return forest["kind"] == FOREST_KIND and forest["busy"] == 0


@entry
def accelerate_forest(address: int, external: Matrix, outcomes: Records) -> int:
    """Accelerations of all trees into their states. A tree that has none is in the outcome."""
    forest = rows_at(address, 1, FOREST)[0]
    if not usable(forest):
        return NO_FOREST
    outcomes[0]["tree"] = accelerate_trees(forest, external)
    if outcomes[0]["tree"] >= 0:
        return NOT_FINITE
    if pool_of(forest, LOOPS)["used"] > 0:
        forest["need"] = 0
        return bear_all_loops(forest)
    return DONE


@kernel(inline=False)
def move_slot(slot: Any) -> None:
    """Poses, velocities and accelerations of the bodies of a tree."""
    tree, state = rows_at(slot["address"], 1, TREE)[0], slot["state"]
    nq, nv = tree["nq"], tree["nv"]
    q, v = rows_at(state + 8 * nq * Q, nq, F8), rows_at(state + 8 * nq * V, nv, F8)
    move_tree(tree, q, v, rows_at(state + 8 * nq * A, nv, F8))


@entry
def move_trees(address: int, first: int, last: int) -> int:
    """Poses, velocities and accelerations of the bodies of trees, by the indices of these; the last is left out."""
    forest = rows_at(address, 1, FOREST)[0]
    if not usable(forest):
        return NO_FOREST
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    for t in range(first, last):
        if trees[t]["next"] == IN_USE:
            move_slot(trees[t])
    return DONE


@entry
def sum_forest(address: int, sums: Records) -> int:
    """Mass, momentum and kinetic energy of all bodies, into the first row; the second is scratch."""
    forest = rows_at(address, 1, FOREST)[0]
    if not usable(forest):
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
