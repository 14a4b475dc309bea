"""Islands: trees connected by contacts, loops or force elements, found by union-find; each is solved independently."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import contacts_of, pairs_of, shapes_of
from kinemorph.contact.layout import FULL_CONTACTS, FULL_Z, contact_order, islands_of, slices_of, supports_of
from kinemorph.jit.api import kernel
from kinemorph.structure.forest.layout import IN_USE, LOOPS, TREES, bodies_of, loop_slots_of, tree_of, trees_of
from kinemorph.structure.forest.memory import pool_of

EQUAL_ROW_ENTRIES = 16  # entries of z: all rows of a tree with no more have the same length
I4, I8 = np.dtype("i4"), np.dtype("i8")
HASH_FACTOR, HASH_MASK = 2654435, (1 << 40) - 1  # products stay below 2⁶³


@kernel
def find_root(slices: Any, tree_index: int) -> int:
    """Root of a tree in the union-find, the connected tree of lowest index; with path halving."""
    while slices[tree_index]["root"] != tree_index:
        slices[tree_index]["root"] = slices[slices[tree_index]["root"]]["root"]
        tree_index = slices[tree_index]["root"]
    return tree_index


@kernel
def join_trees(slices: Any, one: int, other: int) -> None:
    one, other = find_root(slices, one), find_root(slices, other)
    if one < other:
        slices[other]["root"] = one
    else:
        slices[one]["root"] = other


@kernel
def tree_index(bodies: Any, body: int) -> int:
    """The tree of a body, -1 for the base."""
    return bodies[body]["tree"] if body >= 0 else -1


@kernel
def join_touching_trees(solver: Any, forest: Any, collisions: Any) -> None:
    """Union-find over trees connected by contacts and loops."""
    slices = slices_of(solver)
    bodies = bodies_of(forest)
    loops = loop_slots_of(forest)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    for t in range(pool_of(forest, TREES)["count"]):
        slices[t]["root"] = t
    for k in range(pool_of(forest, LOOPS)["count"]):
        if loops[k]["next"] == IN_USE and loops[k]["a"] >= 0 and loops[k]["b"] >= 0:
            join_trees(slices, bodies[loops[k]["a"]]["tree"], bodies[loops[k]["b"]]["tree"])
    for k in range(collisions["n_pairs"]):
        if pairs[k]["count"] > 0:
            a = tree_index(bodies, shapes[pairs[k]["a"]]["link"])
            b = tree_index(bodies, shapes[pairs[k]["b"]]["link"])
            if a >= 0 and b >= 0 and a != b:
                join_trees(slices, a, b)


@kernel
def slice_width(slot: Any) -> int:
    """Entries of z of a tree with joints. Trees with loops are contiguous, and so have no padding."""
    nv = tree_of(slot)["nv"]
    return (nv + 3) & ~3 if slot["sides"] == 0 else nv


@kernel
def row_length(tree_slice: Any, count: int) -> int:
    """Length of a row that needs the first `count` entries of a slice: a multiple of four if possible, and the whole
    slice for a small tree, so that its rows can be solved four at a time."""
    width = tree_slice["width"]
    return width if width <= EQUAL_ROW_ENTRIES else min((count + 3) & ~3, width)


@kernel
def clear_padding(tree_slice: Any, nv: int, z: Any) -> None:
    """Set the padding of a tree's slice of z to zero."""
    for k in range(tree_slice["offset"] + nv, tree_slice["offset"] + tree_slice["width"]):
        z[k] = 0.0


@kernel
def list_islands(solver: Any, forest: Any, forget: bool) -> bool:
    """List the awake islands, and assign slices of z to their trees. False if z is too short.

    Resets `touched` of sleeping trees, and with `forget` of all trees.
    """
    slices, islands = slices_of(solver), islands_of(solver)
    trees = trees_of(forest)
    number = 0
    for t in range(pool_of(forest, TREES)["count"]):
        tree_slice = slices[t]
        tree_slice["offset"], tree_slice["next"], tree_slice["projection"] = -1, -1, -1
        root = find_root(slices, t)
        sleeps = solver["any_asleep"] != 0 and tree_slice["asleep"] != 0
        if forget or sleeps:
            tree_slice["touched"] = 0
        if trees[t]["next"] != IN_USE or sleeps:
            tree_slice["island"] = -1
            continue
        if root == t:
            tree_slice["island"] = number
            islands[number]["first_tree"] = islands[number]["last_tree"] = t
            islands[number]["contact_count"] = islands[number]["pairs"] = islands[number]["direct"] = 0
            islands[number]["loop_projection_count"] = islands[number]["torsional_count"] = 0
            number += 1
            continue
        tree_slice["island"] = slices[root]["island"]
        island = islands[tree_slice["island"]]
        slices[island["last_tree"]]["next"] = t
        island["last_tree"] = t
    solver["island_count"] = number
    nz = 0
    for i in range(number):
        islands[i]["offset"] = nz
        t = islands[i]["first_tree"]
        while t >= 0:
            slices[t]["offset"] = nz
            jointed = solver["any_jointed"] != 0 and slices[t]["jointed"] != 0
            slices[t]["width"] = slice_width(trees[t]) if jointed else 6
            nz += slices[t]["width"]
            t = slices[t]["next"]
        islands[i]["nz"] = nz - islands[i]["offset"]
    solver["nz"] = nz
    if nz > solver["z_room"]:
        solver["full"] |= FULL_Z
        return False
    return True


@kernel
def sort_contacts(solver: Any, forest: Any, collisions: Any) -> bool:
    """Write the contacts of awake islands, island by island, into `order`. False if there is no room."""
    slices, islands = slices_of(solver), islands_of(solver)
    bodies = bodies_of(forest)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    if collisions["n_contacts"] > solver["contact_room"]:
        solver["full"] |= FULL_CONTACTS
        return False
    order = contact_order(solver)
    found, count = supports_of(solver), 0  # touching pairs and their islands; the table is not yet used otherwise
    for k in range(collisions["n_pairs"]):
        pair = pairs[k]
        i = island_of(slices, bodies, shapes, pair) if pair["count"] > 0 else -1
        if i >= 0:
            islands[i]["contact_count"] += pair["count"]
            islands[i]["pairs"] = (islands[i]["pairs"] * HASH_FACTOR + pair["a"] * 65537 + pair["b"] + 1) & HASH_MASK
            found[count]["below"], found[count]["above"] = k, i
            count += 1
    first = 0
    for i in range(solver["island_count"]):
        islands[i]["first_contact"] = first
        first += islands[i]["contact_count"]
        islands[i]["contact_count"] = 0
    for k in range(count):
        pair, island = pairs[found[k]["below"]], islands[found[k]["above"]]
        at = island["first_contact"] + island["contact_count"]
        for j in range(pair["count"]):
            order[at + j] = pair["first"] + j
        island["contact_count"] += pair["count"]
    solver["contact_count"] = first
    return True


@kernel(inline=False)
def drop_far_contacts(solver: Any, collisions: Any, within: float) -> None:
    """Remove contacts from `order` that are more than `within` (m) farther than the closest contact of their pair.

    With 0 each pair keeps one contact.
    """
    islands, order = islands_of(solver), contact_order(solver)
    contacts = contacts_of(collisions)
    pairs = pairs_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    total = 0
    for i in range(solver["island_count"]):
        first, stop = islands[i]["first_contact"], islands[i]["first_contact"] + islands[i]["contact_count"]
        islands[i]["first_contact"] = start = total
        for k in range(first, stop):
            this = contacts[now + order[k]]
            if this["distance"] > pairs[this["pair"]]["distance"] + within:
                continue
            alone = within > 0.0 or total == start or contacts[now + order[total - 1]]["pair"] != this["pair"]
            if alone:
                order[total] = order[k]
                total += 1
        islands[i]["contact_count"] = total - start
    solver["contact_count"] = total


@kernel(inline=False)
def drop_flying_contacts(solver: Any, collisions: Any) -> None:
    """Remove contacts from `order` that the collision law of the impulse model handles: they bear no load."""
    islands, order = islands_of(solver), contact_order(solver)
    contacts = contacts_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    total = 0
    for i in range(solver["island_count"]):
        first, stop = islands[i]["first_contact"], islands[i]["first_contact"] + islands[i]["contact_count"]
        islands[i]["first_contact"] = start = total
        for k in range(first, stop):
            if contacts[now + order[k]]["flies"] == 0:
                order[total] = order[k]
                total += 1
        islands[i]["contact_count"] = total - start
    solver["contact_count"] = total


@kernel
def island_of(slices: Any, bodies: Any, shapes: Any, pair: Any) -> int:
    """Island of a touching pair, -1 if it sleeps."""
    b = tree_index(bodies, shapes[pair["b"]]["link"])
    if b < 0:
        b = tree_index(bodies, shapes[pair["a"]]["link"])
    return slices[b]["island"] if b >= 0 else -1
