"""Forward dynamics of a forest: tree by tree, then loops by island."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.dynamics import solve_loop_forces
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.jit.prefetch import CACHE_LINE_BYTES, prefetch
from kinemorph.multibody.algorithms.free_body import accelerate_tree, accelerate_tree_again
from kinemorph.multibody.checks import NO_FORCES, finite
from kinemorph.multibody.system import F8, SYSTEM
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.elements import add_forest_element_forces, measure_element_forces, update_slot_motion
from kinemorph.structure.forest.islands import assemble_system, collect_coupled_trees
from kinemorph.structure.forest.layout import a_of, q_of, tau_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import claim_scratch, links_offset_of, pool_of, state_offset_of

PREFETCHED_TREES = 4  # trees that are prefetched while one is computed
HOT_LINK_BYTES = 8 * (9 + 5 * 3)  # bytes of a link's row that the dynamics of a free rigid body uses: R to a

Records = np.ndarray[tuple[int], np.dtype[np.void]]


@kernel
def prefetch_tree(block: int) -> None:
    """Prefetch the cache lines that the dynamics of a free rigid body uses: header, LONE, state, then its link."""
    for at in range(0, state_offset_of(1, 6) + 8 * 7 * (layout.TAU + 1), CACHE_LINE_BYTES):
        prefetch(block + at)
    link = links_offset_of(1, 7, 6)
    for at in range(link, link + HOT_LINK_BYTES, CACHE_LINE_BYTES):
        prefetch(block + at)


@kernel(inline=False)
def accelerate_trees(forest: Any) -> int:
    """Compute accelerations of all trees without loops, with the wrenches on links in `pushes`.

    Returns the first tree that has no finite acceleration, -1 if all have.
    """
    trees = trees_of(forest)
    count = pool_of(forest, layout.TREES)["count"]
    bad = -1
    for t in range(count):
        if t + PREFETCHED_TREES < count:
            prefetch_tree(trees[t + PREFETCHED_TREES]["address"])
        if trees[t]["next"] == layout.IN_USE:
            slot, tree = trees[t], tree_of(trees[t])
            q, v, tau, a = q_of(slot, tree), v_of(slot, tree), tau_of(slot, tree), a_of(slot, tree)
            if tree["pushes"] != 0:
                pushes = rows_at(tree["pushes"], 6 * tree["n"], F8).reshape((tree["n"], 6))
                accelerate_tree(tree, q, v, tau, pushes, a)
                tree["pushes"] = 0
            else:
                accelerate_tree(tree, q, v, tau, NO_FORCES, a)
            if bad < 0 and not finite(a):
                bad = t
    return bad


@kernel(inline=False)
def solve_all_loop_forces(forest: Any, outcome: Any) -> int:
    """Correct the accelerations by the forces of the loops, island by island. Returns a status."""
    trees = trees_of(forest)
    start = forest["turn"]  # islands that are done have marks after this
    for t in range(pool_of(forest, layout.TREES)["count"]):
        if trees[t]["next"] == layout.IN_USE and trees[t]["sides"] > 0 and trees[t]["mark"] <= start:
            forest["scratch_used"] = 0
            collect_coupled_trees(forest, t, -1)
            at = assemble_system(forest, 0)
            if at == 0:
                return layout.FULL
            solve_loop_forces(rows_at(at, 1, SYSTEM)[0])
            u = forest["first_tree"]
            while u >= 0:
                tree = tree_of(trees[u])
                a = a_of(trees[u], tree)
                accelerate_tree_again(tree, a)
                if not finite(a):
                    outcome["tree"] = u
                    return layout.NOT_FINITE
                u = trees[u]["follows"]
    return layout.DONE


@entry
def accelerate_forest(address: int, outcomes: Records) -> int:
    """Compute accelerations of all trees into their states. The outcome has a tree without a finite one."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    if forest["kind"] != layout.FOREST_KIND:
        return layout.NO_FOREST
    forest["scratch_used"] = forest["need"] = 0
    if forest["element_count"] > 0:
        memory = claim_scratch(forest, measure_element_forces(forest))
        if memory == 0:
            return layout.FULL
        add_forest_element_forces(forest, memory)
    outcomes[0]["tree"] = accelerate_trees(forest)
    if outcomes[0]["tree"] >= 0:
        return layout.NOT_FINITE
    if pool_of(forest, layout.LOOPS)["used"] > 0:
        return solve_all_loop_forces(forest, outcomes[0])
    return layout.DONE


@entry
def update_trees_motion(address: int, first: int, last: int) -> int:
    """Compute poses, velocities and accelerations of the links of trees `first` to `last` - 1, by index."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    if forest["kind"] != layout.FOREST_KIND or forest["busy"] != 0:
        return layout.NO_FOREST
    trees = trees_of(forest)
    for t in range(first, last):
        if trees[t]["next"] == layout.IN_USE:
            update_slot_motion(trees[t])
    return layout.DONE
