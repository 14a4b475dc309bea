"""Copy the trees of a forest to plain tables and back: rows of links and degrees of freedom, and states.

Computed rows and addresses are left out: a restored tree gets a new block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import DOF, LINK, TREE
from kinemorph.multibody.system import F8
from kinemorph.structure.forest.layout import CHUNK, DONE, FOREST, FULL, IN_USE, REST, TREES, Q, tree_of, trees_of
from kinemorph.structure.forest.memory import (
    DOF_SIZE,
    LINK_SIZE,
    address_of,
    allocate_block,
    block_class_of,
    block_size_of,
    clear_tree_rows,
    copy_words,
    lay_out_tree,
    pool_of,
    tree_size,
    update_tree_header,
)

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
STATE_VECTOR_COUNT = 6  # of a tree's state, each with room for nq numbers

EXTENT = np.dtype([("n", "i8"), ("nq", "i8"), ("nv", "i8")])  # size of a tree: links, entries of q and of v


@entry
def measure_trees(address: int, extents: Records) -> None:
    """Fill in the sizes of all trees, in the order of their indices."""
    forest = rows_at(address, 1, FOREST)[0]
    trees = trees_of(forest)
    i = 0
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            tree = tree_of(trees[t])
            extents[i]["n"], extents[i]["nq"], extents[i]["nv"] = tree["n"], tree["nq"], tree["nv"]
            i += 1


@kernel
def copy_state_vectors(source: int, target: int, nq: int, nv: int) -> None:
    """Copy the vectors of a state; entries behind the end of a shorter vector become 0."""
    for k in range(STATE_VECTOR_COUNT):
        count = nq if k == Q or k == REST else nv
        a, b = rows_at(source + 8 * nq * k, nq, F8), rows_at(target + 8 * nq * k, nq, F8)
        for i in range(nq):
            b[i] = a[i] if i < count else 0.0


@entry
def pack_trees(address: int, extents: Records, links: Records, dofs: Records, numbers: Vector) -> None:
    """Copy the rows and states of all trees, one after the other."""
    forest = rows_at(address, 1, FOREST)[0]
    trees = trees_of(forest)
    at_links, at_dofs, at_numbers = address_of(links), address_of(dofs), address_of(numbers)
    i = 0
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            tree = tree_of(trees[t])
            n, nq, nv = extents[i]["n"], extents[i]["nq"], extents[i]["nv"]
            copy_words(tree["links"], at_links, n * LINK_SIZE)
            copy_words(tree["dofs"], at_dofs, nv * DOF_SIZE)
            copy_state_vectors(trees[t]["state"], at_numbers, nq, nv)
            at_links, at_dofs, at_numbers = at_links + n * LINK_SIZE, at_dofs + nv * DOF_SIZE, at_numbers + 48 * nq
            i += 1


@entry
def unpack_trees(address: int, extents: Records, links: Records, dofs: Records, numbers: Vector) -> int:
    """Allocate blocks for all trees of the tables, and fill them with the rows of `pack`. Returns a status."""
    forest = rows_at(address, 1, FOREST)[0]
    trees = trees_of(forest)
    room = 0
    for i in range(extents.shape[0]):
        room += block_size_of(block_class_of(tree_size(extents[i]["n"], extents[i]["nq"], extents[i]["nv"])))
    if forest["at"] + room > forest["end"]:
        forest["want"], forest["need"] = CHUNK, room
        return FULL
    at_links, at_dofs, at_numbers = address_of(links), address_of(dofs), address_of(numbers)
    i = 0
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            n, nq, nv = extents[i]["n"], extents[i]["nq"], extents[i]["nv"]
            restore_tree(forest, trees[t], n, nq, nv, at_links, at_dofs, at_numbers)
            at_links, at_dofs, at_numbers = at_links + n * LINK_SIZE, at_dofs + nv * DOF_SIZE, at_numbers + 48 * nq
            i += 1
    return DONE


@kernel(inline=False)
def restore_tree(forest: Any, slot: Any, count: int, nq: int, nv: int, links: int, dofs: int, numbers: int) -> None:
    """Allocate a block for a tree, and copy its rows and state from the given addresses."""
    c = block_class_of(tree_size(count, nq, nv))
    block = allocate_block(forest, c)
    slot["address"], slot["state"], slot["size"] = block, lay_out_tree(block, count, nq, nv), c
    clear_tree_rows(forest, block)
    tree = rows_at(block, 1, TREE)[0]
    copy_words(links, tree["links"], count * LINK_SIZE)
    copy_words(dofs, tree["dofs"], nv * DOF_SIZE)
    copy_state_vectors(numbers, slot["state"], nq, nv)
    update_tree_header(block)


def unpadded(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of rows with zeros in the padding between fields, which kernels leave uninitialized."""
    clean = np.zeros(len(rows), rows.dtype)
    for name in rows.dtype.names or ():
        clean[name] = rows[name]
    return clean


def allocate_tree_rows(extents: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """Zeroed rows of links and of degrees of freedom and states for trees of these extents."""
    n, nq, nv = (int(extents[name].sum()) for name in ("n", "nq", "nv"))
    return np.zeros(n, LINK), np.zeros(nv, DOF), np.zeros(STATE_VECTOR_COUNT * nq)
