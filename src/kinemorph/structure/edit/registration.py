"""Keep the tables of a forest (trees, bodies, joints, loops) up to date through every edit."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.layout import TREE, links_of
from kinemorph.multibody.model.loops import LOOP
from kinemorph.spatial.mat3 import IDENTITY
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.structure.edit.graft import orthonormalize, to_shifted_frame
from kinemorph.structure.forest import layout, memory
from kinemorph.structure.forest.islands import next_side
from kinemorph.structure.forest.layout import bodies_of, joints_of, loop_slots_of, loops_of, trees_of

LOOP_SIZE = LOOP.itemsize


@kernel(inline=False)
def register_tree(forest: Any, tree_index: int, block: int, state: int) -> None:
    """Register a tree at row t of the table, with its bodies and joints."""
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    joints = joints_of(forest)
    loops = loop_slots_of(forest)
    tree = rows_at(block, 1, TREE)[0]
    links = links_of(tree)
    sides = 0
    for i in range(tree["n"]):
        body, joint = bodies[links[i]["body"]], joints[links[i]["joint"]]
        body["tree"], body["link"] = tree_index, i
        joint["tree"], joint["link"] = tree_index, i
        side = body["side"]
        while side >= 0:
            sides += 1
            side = next_side(loops, side)
    slot = trees[tree_index]
    slot["address"], slot["state"], slot["sides"] = block, state, sides
    slot["size"] = memory.block_class_of(memory.tree_size(tree["n"], tree["nq"], tree["nv"]))


@kernel
def take_body_slot(forest: Any) -> int:
    """Take a row for a body whose own frame is that of its link, and that no loop ties."""
    bodies = bodies_of(forest)
    i = memory.take_row(memory.pool_of(forest, layout.BODIES), bodies)
    bodies[i]["moved"], bodies[i]["side"] = 0, -1
    store9(bodies[i]["R"], IDENTITY)
    store3(bodies[i]["p"], (0.0, 0.0, 0.0))
    return i


@kernel(inline=False)
def shift_body(forest: Any, body: int, shift: Any) -> None:
    """Re-express a body's own frame, and the loops on it, after its link's frame has been shifted."""
    row = bodies_of(forest)[body]
    R, p = to_shifted_frame(shift, load9(row["R"]), load3(row["p"]))
    store9(row["R"], orthonormalize(R))
    store3(row["p"], p)
    row["moved"] = 1
    loops = loop_slots_of(forest)
    ties = loops_of(forest)
    side = row["side"]
    while side >= 0:
        tie = ties[side >> 1]
        if side & 1:
            R, p = to_shifted_frame(shift, load9(tie["Rb"]), load3(tie["pb"]))
            store9(tie["Rb"], orthonormalize(R))
            store3(tie["pb"], p)
        else:
            R, p = to_shifted_frame(shift, load9(tie["Ra"]), load3(tie["pa"]))
            store9(tie["Ra"], orthonormalize(R))
            store3(tie["pa"], p)
        side = next_side(loops, side)


@kernel
def free_joint_slot(forest: Any, other_index: int) -> None:
    memory.free_row(memory.pool_of(forest, layout.JOINTS), joints_of(forest), other_index)


@kernel(inline=False)
def register_loop(forest: Any, row: int, dofs: int, body_a: int, body_b: int, joint: int) -> int:
    """Register a loop between two bodies (-1 for the base), from the addresses of its row and its DOF rows."""
    loops = loop_slots_of(forest)
    k = memory.take_row(memory.pool_of(forest, layout.LOOPS), loops)
    loop = loops[k]
    loop["a"], loop["b"], loop["joint"], loop["mark"] = body_a, body_b, joint, 0
    loop["next_a"] = loop["next_b"] = -1
    memory.copy_words(row, forest["ties"] + k * LOOP_SIZE, LOOP_SIZE)
    tie = loops_of(forest)[k]
    tie["joint"] = joint
    tie["tree_a"] = tie["tree_b"] = 0  # each system counts its trees in its own way
    memory.copy_words(dofs, forest["drives"] + 6 * k * memory.DOF_SIZE, tie["nv"] * memory.DOF_SIZE)
    if body_a >= 0:
        append_side(forest, body_a, 2 * k)
    if body_b >= 0:
        append_side(forest, body_b, 2 * k + 1)
    slot = joints_of(forest)[joint]
    slot["tree"], slot["link"], slot["loop"] = -1, -1, k
    return k


@kernel
def append_side(forest: Any, body: int, side: int) -> None:
    loops = loop_slots_of(forest)
    bodies = bodies_of(forest)
    at = bodies[body]["side"]
    if at < 0:
        bodies[body]["side"] = side
    else:
        while next_side(loops, at) >= 0:
            at = next_side(loops, at)
        set_next_side(loops, at, side)
    if bodies[body]["tree"] >= 0:
        trees_of(forest)[bodies[body]["tree"]]["sides"] += 1


@kernel
def set_next_side(loops: Any, side: int, to: int) -> None:
    if side & 1:
        loops[side >> 1]["next_b"] = to
    else:
        loops[side >> 1]["next_a"] = to


@kernel
def remove_side(forest: Any, body: int, side: int) -> None:
    loops = loop_slots_of(forest)
    bodies = bodies_of(forest)
    at = bodies[body]["side"]
    if at == side:
        bodies[body]["side"] = next_side(loops, side)
    else:
        while next_side(loops, at) != side:
            at = next_side(loops, at)
        set_next_side(loops, at, next_side(loops, side))
    trees_of(forest)[bodies[body]["tree"]]["sides"] -= 1


@kernel(inline=False)
def remove_loop(forest: Any, index: int) -> None:
    """Remove a loop; its joint stays, for the caller to free or to use in a tree."""
    loops = loop_slots_of(forest)
    if loops[index]["a"] >= 0:
        remove_side(forest, loops[index]["a"], 2 * index)
    if loops[index]["b"] >= 0:
        remove_side(forest, loops[index]["b"], 2 * index + 1)
    joints_of(forest)[loops[index]["joint"]]["loop"] = -1
    memory.free_row(memory.pool_of(forest, layout.LOOPS), loops, index)
