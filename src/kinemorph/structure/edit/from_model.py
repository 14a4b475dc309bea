"""Copy trees of a model into a forest: all of them, or those that an edit concerns."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.checks import LARGEST_FLOAT, finite
from kinemorph.multibody.layout import TREE, dofs_of, links_of
from kinemorph.multibody.loop_layout import root_link_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.quaternion import normalized
from kinemorph.spatial.rows import load3, load4_at, load9, store3, store4_at, store9
from kinemorph.structure.edit.forest_graft import allocate_tree, take_tree_slot
from kinemorph.structure.edit.registration import register_loop, register_tree, take_body_slot
from kinemorph.structure.forest import layout, memory
from kinemorph.structure.forest.islands import LOOP_SIZE
from kinemorph.structure.forest.layout import bodies_of, joints_of, trees_of

MODEL_IMPORT = np.dtype(
    [
        ("first", "i8"),  # links that the edit names, -1 for none: their trees are copied, and
        ("second", "i8"),  # those that loops couple to them
        ("every", "i8"),  # whether all trees are copied
        ("trees", "i8"),  # number of trees that were copied,
        ("bodies", "i8"),  # of their links,
        ("loops", "i8"),  # of loops that were copied with them,
        ("nq", "i8"),  # of entries of q
        ("nv", "i8"),
    ]
)

UNIT_LENGTH_ERROR = 2e-14  # largest error of the squared length of a normalized quaternion

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Integers = np.ndarray[tuple[int], np.dtype[np.int32]]
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


@kernel(inline=False)
def select_trees(model: Any, plant: Any, loops: Any, chosen: Any) -> None:
    """Mark the root links of the trees to copy with 1, all other links with 0; count links, loops and entries."""
    links = links_of(model)
    for i in range(model["n"]):
        chosen[i] = 1 if plant["every"] != 0 and links[i]["parent"] < 0 else 0
    if plant["first"] >= 0:
        chosen[root_link_of(model, plant["first"])] = 1
    if plant["second"] >= 0:
        chosen[root_link_of(model, plant["second"])] = 1
    more = plant["every"] == 0
    while more:
        more = False
        for k in range(loops.shape[0]):
            a, b = loops[k]["top_a"], loops[k]["top_b"]
            if a >= 0 and b >= 0 and chosen[a] != chosen[b]:
                chosen[a] = chosen[b] = 1
                more = True
    plant["trees"] = plant["bodies"] = plant["loops"] = plant["nq"] = plant["nv"] = 0
    inside = False
    for i in range(model["n"]):
        if links[i]["parent"] < 0:
            inside = chosen[i] != 0
            plant["trees"] += 1 if inside else 0
        if inside:
            plant["bodies"] += 1
            plant["nq"] += links[i]["nq"]
            plant["nv"] += links[i]["nv"]
    for k in range(loops.shape[0]):
        plant["loops"] += 1 if is_loop_selected(loops[k], chosen) else 0


@kernel
def is_loop_selected(loop: Any, chosen: Any) -> bool:
    """Whether a loop of the model is copied with the marked trees."""
    a, b = loop["top_a"], loop["top_b"]
    return (a >= 0 and chosen[a] != 0) or (b >= 0 and chosen[b] != 0)


@kernel
def tree_end(links: Any, first: int) -> int:
    """The index after the last link of a tree of a model."""
    i = first + 1
    while i < links.shape[0] and links[i]["parent"] >= 0:
        i += 1
    return i


@kernel(inline=False)
def has_room_for_import(forest: Any, plant: Any, model: Any, chosen: Any) -> bool:
    """Whether tables and newest memory chunk have room for all marked trees; else the header says what is short."""
    bodies, loops = plant["bodies"], plant["loops"]
    if not (memory.has_room(forest, layout.TREES, plant["trees"]) and memory.has_room(forest, layout.BODIES, bodies)):
        return False
    if not (memory.has_room(forest, layout.JOINTS, bodies + loops) and memory.has_room(forest, layout.LOOPS, loops)):
        return False
    links = links_of(model)
    size = i = 0
    while i < model["n"]:
        last = tree_end(links, i)
        if chosen[i] != 0:
            end = links[last - 1]
            nq, nv = end["iq"] + end["nq"] - links[i]["iq"], end["iv"] + end["nv"] - links[i]["iv"]
            size += memory.block_size_of(memory.block_class_of(memory.tree_size(last - i, nq, nv)))
        i = last
    if forest["at"] + size <= forest["end"]:
        return True
    forest["want"], forest["need"] = layout.CHUNK, size
    return False


@kernel(inline=False)
def import_tree(forest: Any, model: Any, numbers: int, first: int, last: int, bodies: Any, here: Any) -> None:
    """Copy the tree of links `first` to `last` - 1 of a model with its state into a new block; there is room."""
    links = links_of(model)
    iq, iv = links[first]["iq"], links[first]["iv"]
    end = links[last - 1]
    nq, nv, n = end["iq"] + end["nq"] - iq, end["iv"] + end["nv"] - iv, last - first
    block, state = allocate_tree(forest, n, nq, nv)
    tree = rows_at(block, 1, TREE)[0]
    new_links, new_dofs = links_of(tree), dofs_of(tree)
    own = bodies_of(forest)
    joints = joints_of(forest)
    memory.copy_words(model["links"] + first * memory.LINK_SIZE, tree["links"], n * memory.LINK_SIZE)
    memory.copy_words(model["dofs"] + iv * memory.DOF_SIZE, tree["dofs"], nv * memory.DOF_SIZE)
    for i in range(n):
        row = new_links[i]
        if row["parent"] >= 0:
            row["parent"] -= first
        row["iq"] -= iq
        row["iv"] -= iv
        old = bodies[row["body"]]
        row["body"] = take_body_slot(forest)
        row["joint"] = memory.take_row(memory.pool_of(forest, layout.JOINTS), joints)
        joints[row["joint"]]["loop"] = -1
        here[first + i], here[model["n"] + first + i] = row["body"], row["joint"]
        body = own[row["body"]]
        body["moved"] = old["moved"]
        store9(body["R"], load9(old["R"]))
        store3(body["p"], load3(old["p"]))
    for k in range(nv):
        new_dofs[k]["link"] -= first
        if new_dofs[k]["parent"] >= 0:
            new_dofs[k]["parent"] -= iv
    for which in range(6):
        given, to = rows_at(numbers + 8 * model["nq"] * which, model["nq"], F8), rows_at(state + 8 * nq * which, nq, F8)
        position = which == layout.Q or which == layout.REST
        start = iq if position else iv
        for k in range(nq if position else nv):
            to[k] = given[start + k] if which != layout.JUMP else 0.0
    normalize_quaternions(new_links, rows_at(state, nq, F8))
    memory.update_tree_header(block)
    register_tree(forest, take_tree_slot(forest), block, state)


@kernel
def normalize_quaternions(links: Any, q: Any) -> None:
    """Normalize quaternions whose length is not one; the others keep their bits."""
    for i in range(links.shape[0]):
        kind = links[i]["kind"]
        if kind == FREE or kind == SPHERICAL:
            k = links[i]["iq"] + (3 if kind == FREE else 0)
            x = load4_at(q, k)
            if abs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 1.0) > UNIT_LENGTH_ERROR:
                store4_at(q, k, normalized(x))


@kernel(inline=False)
def import_loops(forest: Any, loops: Any, drives: Any, chosen: Any, here: Any) -> None:
    """Copy the loops of the marked trees."""
    n = chosen.shape[0]
    for k in range(loops.shape[0]):
        here[2 * n + k] = -1
        if is_loop_selected(loops[k], chosen):
            joint = memory.take_row(memory.pool_of(forest, layout.JOINTS), joints_of(forest))
            a, b = loops[k]["a"], loops[k]["b"]
            row, dofs = memory.address_of(loops) + k * LOOP_SIZE, memory.address_of(drives) + 6 * k * memory.DOF_SIZE
            register_loop(forest, row, dofs, here[a] if a >= 0 else -1, here[b] if b >= 0 else -1, joint)
            here[2 * n + k] = joint


@kernel
def are_quaternions_valid(links: Any, q: Any) -> bool:
    """Whether every quaternion can be normalized: none is zero, and its squared length is finite."""
    for i in range(links.shape[0]):
        kind = links[i]["kind"]
        if kind == FREE or kind == SPHERICAL:
            k = links[i]["iq"] + (3 if kind == FREE else 0)
            x = load4_at(q, k)
            if not 0.0 < x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] <= LARGEST_FLOAT:
                return False
    return True


@kernel(inline=False)
def fill_imported_ids(forest: Any, here: Any, n: int, ids: Any) -> None:
    """Fill in the ids of all copied bodies and joints, as `here` has their indices, and then those of the trees."""
    bodies = bodies_of(forest)
    joints = joints_of(forest)
    trees = trees_of(forest)
    end = here.shape[0]
    for k in range(end):
        i = np.int64(here[k])
        ids[k] = i | np.int64(bodies[i]["generation"] if k < n else joints[i]["generation"]) << 32
    count = 0
    for k in range(n):
        t: Any = np.int64(bodies[here[k]]["tree"])
        if k == 0 or t != bodies[here[k - 1]]["tree"]:  # the bodies of a tree come one after the other
            ids[end + count] = t | np.int64(trees[t]["generation"]) << 32
            count += 1


@entry
def import_model(
    address: int, tree: int, first: int, second: int, plants: Records, bodies: Records, loops: Records,
    drives: Records, numbers: Vector, chosen: Integers, here: Integers, ids: Ids,
) -> int:  # fmt: skip
    """Copy trees of a model into a forest, with a state as `vector` has it. Returns a status.

    `tree` is the address of the model's header. If `ids` has room (for all trees), all trees are copied, else those of
    the links `first` and `second` (-1: none). `here` gets the indices of the links' bodies, of the joints that carry
    them, and of the loops' joints, -1 for what is not copied; `ids` gets the ids of the same, and then those of the
    trees. New bodies, joints and trees are in the order of the model.
    """
    forest, plant = rows_at(address, 1, layout.FOREST)[0], plants[0]
    if forest["kind"] != layout.FOREST_KIND or forest["busy"] != 0:
        return layout.NO_FOREST
    if not finite(numbers):
        return layout.NOT_FINITE
    plant["first"], plant["second"], plant["every"] = first, second, ids.shape[0] > 0
    model = rows_at(tree, 1, TREE)[0]
    links = links_of(model)
    if not are_quaternions_valid(links, numbers):
        return layout.NOT_FINITE
    select_trees(model, plant, loops, chosen)
    if not has_room_for_import(forest, plant, model, chosen):
        return layout.FULL
    i = 0
    while i < model["n"]:
        last = tree_end(links, i)
        if chosen[i] != 0:
            import_tree(forest, model, memory.address_of(numbers), i, last, bodies, here)
        else:
            for k in range(i, last):
                here[k] = here[model["n"] + k] = -1
        i = last
    import_loops(forest, loops, drives, chosen, here)
    if ids.shape[0] > 0:
        fill_imported_ids(forest, here, model["n"], ids)
    return layout.DONE
