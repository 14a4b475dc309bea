"""The trees of a forest as bytes, and back: blocks have addresses of their own wherever they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.layout import TREE
from kinemorph.structure.forest_layout import CHUNK, DONE, FOREST, FULL, IN_USE, TREE_SLOT, TREES
from kinemorph.structure.forest_memory import (
    Bytes,
    address_of,
    allocate,
    class_of,
    copy_words,
    describe_tree,
    lay_tree,
    pool_of,
    size_of,
    tree_size,
)

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]


@kernel
def size_of_tree(block: int) -> int:
    tree = rows_at(block, 1, TREE)[0]
    return tree_size(tree["n"], tree["nq"], tree["nv"])


@entry
def bytes_of(address: int) -> int:
    """How many bytes all trees have."""
    forest = rows_at(address, 1, FOREST)[0]
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    size = 0
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            size += size_of_tree(trees[t]["address"])
    return size


@entry
def pack(address: int, memory: Bytes) -> None:
    """Copy all trees, one after the other."""
    forest = rows_at(address, 1, FOREST)[0]
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    at = address_of(memory)
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            size = size_of_tree(trees[t]["address"])
            copy_words(trees[t]["address"], at, size)
            at += size


@entry
def unpack(address: int, memory: Bytes) -> int:
    """Give all trees of a table blocks in this forest, with what `pack` has kept. Returns a status."""
    forest = rows_at(address, 1, FOREST)[0]
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    count = pool_of(forest, TREES)["count"]
    room, at = 0, address_of(memory)
    for t in range(count):
        if trees[t]["next"] == IN_USE:
            size = size_of_tree(at)
            room += size_of(class_of(size))
            at += size
    if forest["at"] + room > forest["end"]:
        forest["want"], forest["need"] = CHUNK, room
        return FULL
    at = address_of(memory)
    for t in range(count):
        if trees[t]["next"] == IN_USE:
            at += adopt(forest, trees[t], at)
    return DONE


@kernel
def adopt(forest: Any, slot: Any, at: int) -> int:
    """A block for the tree that is kept at an address. Returns its size there."""
    size = size_of_tree(at)
    tree = rows_at(at, 1, TREE)[0]
    n, nq, nv = tree["n"], tree["nq"], tree["nv"]
    block = allocate(forest, class_of(size))
    copy_words(at, block, size)
    slot["address"], slot["state"] = block, lay_tree(block, n, nq, nv)
    describe_tree(block)
    return size
