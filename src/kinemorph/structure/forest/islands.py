"""Islands of trees that loops couple: how they are collected, and the system of constraints over them.

Loops are found through lists that start at the bodies, so uncoupled trees are never visited.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.layout import TREE, links_of
from kinemorph.multibody.loop_layout import SIZES, lay_out, measure_loops, place_system
from kinemorph.multibody.model.loops import LOOP
from kinemorph.multibody.system import I8, SYSTEM
from kinemorph.structure.forest.layout import bodies_of, loop_slots_of, tree_of, trees_of
from kinemorph.structure.forest.memory import claim_scratch, clear_words, copy_words

SYSTEM_SIZE, LOOP_SIZE, SIZES_SIZE = SYSTEM.itemsize, LOOP.itemsize, SIZES.itemsize


@kernel
def next_side(loops: Any, side: int) -> int:
    """The next side of a loop on the same body, -1 for none."""
    return loops[side >> 1]["next_b"] if side & 1 else loops[side >> 1]["next_a"]


@kernel(inline=False)
def collect_coupled_trees(forest: Any, first: int, second: int) -> None:
    """Collect all trees that loops couple to one or two trees (-1 for none), these first, and all these loops."""
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    loops = loop_slots_of(forest)
    forest["turn"] += 1
    forest["first_tree"], forest["tree_count"] = -1, 0
    forest["first_loop"], forest["loop_count"] = -1, 0
    turn = forest["turn"]
    last = last_loop = -1
    t = first
    waiting = second
    while t >= 0 or waiting >= 0:
        if t < 0:
            t, waiting = waiting, -1
        if trees[t]["mark"] != turn:  # the given trees; others are appended when found
            trees[t]["mark"], trees[t]["follows"], trees[t]["place"] = turn, -1, forest["tree_count"]
            forest["tree_count"] += 1
            if last < 0:
                forest["first_tree"] = t
            else:
                trees[last]["follows"] = t
            last = t
        if trees[t]["sides"] > 0:
            tree = tree_of(trees[t])
            links = links_of(tree)
            for i in range(tree["n"]):
                side = bodies[links[i]["body"]]["side"]
                while side >= 0:
                    k = side >> 1
                    if loops[k]["mark"] != turn:
                        loops[k]["mark"], loops[k]["follows"] = turn, -1
                        forest["loop_count"] += 1
                        if last_loop < 0:
                            forest["first_loop"] = k
                        else:
                            loops[last_loop]["follows"] = k
                        last_loop = k
                    other = loops[k]["a"] if side & 1 else loops[k]["b"]
                    if other >= 0 and trees[bodies[other]["tree"]]["mark"] != turn:
                        u = bodies[other]["tree"]
                        trees[u]["mark"], trees[u]["follows"], trees[u]["place"] = turn, -1, forest["tree_count"]
                        forest["tree_count"] += 1
                        trees[last]["follows"] = u
                        last = u
                    side = next_side(loops, side)
        t = trees[t]["follows"]


@kernel
def set_loop_links(loop: Any, ta: int, body_a: int, tb: int, body_b: int) -> None:
    """Set the links and trees of a system that a loop ties. The base, link -1, is in all trees."""
    loop["a"], loop["b"] = body_a, body_b
    loop["tree_a"] = ta if body_a >= 0 else tb
    loop["tree_b"] = tb if body_b >= 0 else ta


@kernel(inline=False)
def assemble_system(forest: Any, more: int) -> int:
    """Assemble the system of the collected trees and loops and, last, of the loop at address `more`, if it is not 0.

    That loop must have the places of its trees already. Returns the address of the system, 0 if scratch is too small.
    """
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    loops = loop_slots_of(forest)
    count = forest["tree_count"]
    rows = forest["loop_count"] + (1 if more != 0 else 0)
    at = claim_scratch(forest, SYSTEM_SIZE)
    at_trees = claim_scratch(forest, 8 * count)
    at_loops = claim_scratch(forest, rows * LOOP_SIZE)
    at_sizes = claim_scratch(forest, SIZES_SIZE)
    if at_sizes == 0:
        return 0
    addresses, found = rows_at(at_trees, count, I8), rows_at(at_loops, rows, LOOP)
    sizes = rows_at(at_sizes, 1, SIZES)[0]
    nv = 0
    t = forest["first_tree"]
    while t >= 0:
        addresses[trees[t]["place"]] = trees[t]["address"]
        trees[t]["offset"] = nv
        nv += tree_of(trees[t])["nv"]
        t = trees[t]["follows"]
    forest["rates"] = nv
    i = 0
    k = forest["first_loop"]
    while k >= 0:
        copy_words(forest["ties"] + k * LOOP_SIZE, at_loops + i * LOOP_SIZE, LOOP_SIZE)
        a, b = loops[k]["a"], loops[k]["b"]
        ta = trees[bodies[a]["tree"]]["place"] if a >= 0 else 0
        tb = trees[bodies[b]["tree"]]["place"] if b >= 0 else 0
        set_loop_links(found[i], ta, bodies[a]["link"] if a >= 0 else -1, tb, bodies[b]["link"] if b >= 0 else -1)
        i += 1
        k = loops[k]["follows"]
    if more != 0:
        copy_words(more, at_loops + i * LOOP_SIZE, LOOP_SIZE)
    measure_loops(addresses, found, sizes)
    system = rows_at(at, 1, SYSTEM)[0]
    place_system(system, 0, count, nv, found, sizes, forest["dependence"])
    size = system["F"] + 8 * sizes["G"]  # of a system that starts at 0
    memory = claim_scratch(forest, size)
    if memory == 0:
        return 0
    clear_words(memory, size)
    place_system(system, memory, count, nv, found, sizes, forest["dependence"])
    own, offsets = rows_at(system["trees"], count, I8), rows_at(system["offsets"], count, I8)
    nv = 0
    for t in range(count):
        own[t], offsets[t] = addresses[t], nv
        nv += rows_at(addresses[t], 1, TREE)[0]["nv"]
    lay_out(system, found)
    return at
