"""Export a new model: trees of a forest, and trees of the old model that the edit did not touch."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import TREE, dofs_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.structure.edit.from_model import Integers, Records, Vector, is_loop_selected, tree_end
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.islands import LOOP_SIZE
from kinemorph.structure.forest.layout import bodies_of, joints_of, loop_slots_of, loops_of, tree_of, trees_of
from kinemorph.structure.forest.memory import DOF_SIZE, LINK_SIZE, address_of, claim_scratch, copy_words, pool_of

MODEL_EXPORT = np.dtype(
    [
        ("model", "i8"),  # address of the old model's header
        ("numbers", "i8"),  # of its state
        ("bodies", "i8"),  # number of the forest's bodies that came from it,
        ("joints", "i8"),  # of its joints,
        ("loops", "i8"),  # of its loops
        ("trees", "i8"),  # and of its trees
        ("new", "i8"),  # id of the joint that the edit made
        ("n", "i8"),  # sizes of the new model
        ("nq", "i8"),
        ("nv", "i8"),
        ("body_ids", "i8"),  # scratch: ids in the model of the forest's bodies and joints
        ("joint_ids", "i8"),
        ("links", "i8"),  # addresses of the new rows and of the new state
        ("dofs", "i8"),
        ("state", "i8"),
        ("first", "i8"),  # where the next tree goes: its first link and entries
        ("iq", "i8"),
        ("iv", "i8"),
    ]
)
I4 = np.dtype("i4")


@kernel(inline=False)
def export_tree_rows(harvest: Any, tree: Any, state: int, start: int, n: int) -> None:
    """Append rows and state of n links from `start` on, which are a tree, to the new model; ids stay."""
    links = links_of(tree)
    new_links = links_of(harvest)
    new_dofs = dofs_of(harvest)
    first, iq, iv = harvest["first"], harvest["iq"], harvest["iv"]
    q0, v0 = links[start]["iq"], links[start]["iv"]
    end = links[start + n - 1]
    nq, nv = end["iq"] + end["nq"] - q0, end["iv"] + end["nv"] - v0
    copy_words(tree["links"] + start * LINK_SIZE, harvest["links"] + first * LINK_SIZE, n * LINK_SIZE)
    copy_words(tree["dofs"] + v0 * DOF_SIZE, harvest["dofs"] + iv * DOF_SIZE, nv * DOF_SIZE)
    for i in range(n):
        row = new_links[first + i]
        if row["parent"] >= 0:
            row["parent"] += first - start
        row["iq"] += iq - q0
        row["iv"] += iv - v0
    for k in range(nv):
        row = new_dofs[iv + k]
        row["link"] += first - start
        if row["parent"] >= 0:
            row["parent"] += iv - v0
    for which in range(6):
        old = rows_at(state + 8 * tree["nq"] * which, tree["nq"], F8)
        new = rows_at(harvest["state"] + 8 * harvest["nq"] * which, harvest["nq"], F8)
        position = which == layout.Q or which == layout.REST
        count, source, to = (nq, q0, iq) if position else (nv, v0, iv)
        for k in range(count):
            new[to + k] = old[source + k]
    harvest["first"], harvest["iq"], harvest["iv"] = first + n, iq + nq, iv + nv


@kernel(inline=False)
def export_tree(forest: Any, harvest: Any, tree_index: int, bodies: Any) -> None:
    """Append a tree of the forest to the new model; its bodies and joints get their ids in models."""
    slot = trees_of(forest)[tree_index]
    tree = tree_of(slot)
    first, n = harvest["first"], tree["n"]
    export_tree_rows(harvest, tree, slot["state"], 0, n)
    links = links_of(harvest)
    body_ids = rows_at(harvest["body_ids"], harvest["bodies"], I4)
    own = bodies_of(forest)
    for i in range(first, first + n):
        slot = own[links[i]["body"]]
        row = bodies[body_ids[links[i]["body"]]]
        row["moved"] = slot["moved"]
        store9(row["R"], load9(slot["R"]))
        store3(row["p"], load3(slot["p"]))
        links[i]["joint"] = model_joint_id(forest, harvest, links[i]["joint"])
        links[i]["body"] = body_ids[links[i]["body"]]


@kernel
def model_joint_id(forest: Any, harvest: Any, other_index: int) -> int:
    """The id in models of a joint of the forest: its own, or that of the new joint."""
    if other_index >= harvest["joints"] or joints_of(forest)[other_index]["generation"] > 0:
        return harvest["new"]
    return rows_at(harvest["joint_ids"], harvest["joints"], I4)[other_index]


@kernel(inline=False)
def map_ids_to_model(harvest: Any, links: Any, loops: Any, here: Any) -> None:
    """Fill in the ids in the model of the bodies and joints that were copied into the forest."""
    n = links.shape[0]
    body_ids = rows_at(harvest["body_ids"], harvest["bodies"], I4)
    joint_ids = rows_at(harvest["joint_ids"], harvest["joints"], I4)
    for i in range(n):
        if here[i] >= 0:
            body_ids[here[i]] = links[i]["body"]
            joint_ids[here[n + i]] = links[i]["joint"]
    for k in range(loops.shape[0]):
        if here[2 * n + k] >= 0:
            joint_ids[here[2 * n + k]] = loops[k]["joint"]


@kernel(inline=False)
def export_loops(forest: Any, harvest: Any, old_links: Any, old: Any, new: Any, chosen: Any, bodies: Any) -> None:
    """Append loops in their old order, a new one last, between the links of their bodies."""
    slots = loop_slots_of(forest)
    ties = loops_of(forest)
    body_ids = rows_at(harvest["body_ids"], harvest["bodies"], I4)
    old_at, new_at = address_of(old), address_of(new)
    to = planted = 0
    for k in range(old.shape[0] + 1):
        if k < old.shape[0] and not is_loop_selected(old[k], chosen):
            a, b = old[k]["a"], old[k]["b"]
            copy_words(old_at + k * LOOP_SIZE, new_at + to * LOOP_SIZE, LOOP_SIZE)
            new[to]["a"] = bodies[old_links[a]["body"]]["link"] if a >= 0 else -1
            new[to]["b"] = bodies[old_links[b]["body"]]["link"] if b >= 0 else -1
            to += 1
            continue
        if to < new.shape[0] and slots[planted]["next"] == layout.IN_USE:
            a, b = slots[planted]["a"], slots[planted]["b"]
            copy_words(forest["ties"] + planted * LOOP_SIZE, new_at + to * LOOP_SIZE, LOOP_SIZE)
            new[to]["a"] = bodies[body_ids[a]]["link"] if a >= 0 else -1
            new[to]["b"] = bodies[body_ids[b]]["link"] if b >= 0 else -1
            new[to]["joint"] = model_joint_id(forest, harvest, ties[planted]["joint"])
            to += 1
        planted += 1


@entry
def measure_export(address: int, harvests: Records) -> int:
    """Add the sizes of the forest's trees to those of the untouched trees. Returns the number of the forest's loops."""
    forest, harvest = rows_at(address, 1, layout.FOREST)[0], harvests[0]
    trees = trees_of(forest)
    for t in range(pool_of(forest, layout.TREES)["count"]):
        if trees[t]["next"] == layout.IN_USE:
            tree = tree_of(trees[t])
            harvest["n"] += tree["n"]
            harvest["nq"] += tree["nq"]
            harvest["nv"] += tree["nv"]
    return pool_of(forest, layout.LOOPS)["used"]


@entry
def export_velocities(address: int, model_address: int, chosen: Integers, numbers: Vector) -> None:
    """Write velocities and jumps of the copied trees into the state of the model, if nothing else has changed."""
    forest, model = rows_at(address, 1, layout.FOREST)[0], rows_at(model_address, 1, TREE)[0]
    trees, links = trees_of(forest), links_of(model)
    nq = model["nq"]
    t = 0
    for i in range(model["n"]):
        if chosen[i] != 0:
            tree, first = tree_of(trees[t]), links[i]["iv"]
            for which in (layout.V, layout.JUMP):
                new = rows_at(trees[t]["state"] + 8 * tree["nq"] * which, tree["nv"], F8)
                for k in range(tree["nv"]):
                    numbers[nq * which + first + k] = new[k]
            t += 1


@entry
def export_model(
    address: int, harvests: Records, old_loops: Records, chosen: Integers, here: Integers, links: Records,
    dofs: Records, numbers: Vector, bodies: Records, loops: Records,
) -> int:  # fmt: skip
    """Fill the rows of a new model, after `import_model` of an old one into an empty forest and an edit there.

    Trees keep their order, new ones come last. `bodies` are a copy of the old model's. Returns a status.
    """
    forest, harvest = rows_at(address, 1, layout.FOREST)[0], harvests[0]
    forest["scratch_used"] = 0
    harvest["body_ids"] = claim_scratch(forest, 4 * harvest["bodies"])
    harvest["joint_ids"] = claim_scratch(forest, 4 * harvest["joints"])
    if harvest["joint_ids"] == 0 and harvest["joints"] > 0:
        return layout.FULL
    model = rows_at(harvest["model"], 1, TREE)[0]
    old_links = links_of(model)
    map_ids_to_model(harvest, old_links, old_loops, here)
    harvest["links"], harvest["dofs"], harvest["state"] = address_of(links), address_of(dofs), address_of(numbers)
    harvest["first"] = harvest["iq"] = harvest["iv"] = 0
    trees = trees_of(forest)
    i = t = 0
    while i < model["n"]:
        last = tree_end(old_links, i)
        if chosen[i] == 0:
            export_tree_rows(harvest, model, harvest["numbers"], i, last - i)
        else:
            for k in range(i, last):
                bodies[old_links[k]["body"]]["link"] = -1
            if trees[t]["next"] == layout.IN_USE:
                export_tree(forest, harvest, t, bodies)
            t += 1
        i = last
    for t in range(harvest["trees"], pool_of(forest, layout.TREES)["count"]):
        if trees[t]["next"] == layout.IN_USE:
            export_tree(forest, harvest, t, bodies)
    for i in range(links.shape[0]):
        bodies[links[i]["body"]]["link"] = i
    export_loops(forest, harvest, old_links, old_loops, loops, chosen, bodies)
    return layout.DONE
