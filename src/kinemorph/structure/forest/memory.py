"""Memory of a forest: reusable rows of tables, blocks for trees, and scratch for one call.

Kernels never allocate from the system. If memory is too small, the header says so; Python grows it and calls again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.jit.prefetch import CACHE_LINE_BYTES
from kinemorph.multibody.algorithms.free_body import FREE_BODY, update_free_body
from kinemorph.multibody.layout import DOF, DOF_DATA, LINK, LINK_DATA, TREE, TREE_KIND, dofs_of
from kinemorph.multibody.system import I8
from kinemorph.spatial.mat3 import IDENTITY
from kinemorph.spatial.rows import store3, store9
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.layout import bodies_of, joints_of, loop_slots_of, tree_of, trees_of

ID_INDEX_MASK = (1 << 32) - 1  # mask of the index in an id; the bits above are the generation
SMALLEST_BLOCK_BYTES = 512  # bytes of the smallest block; there are eight sizes to a doubling
BLOCK_CLASS_COUNT = 256  # of blocks
LINK_ROW_SIZE, LINK_SIZE, DOF_SIZE = LINK_DATA.itemsize, LINK.itemsize, DOF.itemsize
DOF_ROW_SIZE, TREE_HEADER_SIZE, LONE_SIZE = DOF_DATA.itemsize, TREE.itemsize, FREE_BODY.itemsize

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


# ---------------------------------------------------------------------------------------------------------- tables


@kernel
def pool_of(forest: Any, which: int) -> Any:
    return rows_at(forest["pools"], 4, layout.POOL)[which]


@kernel
def has_room(forest: Any, which: int, count: int) -> bool:
    """Whether a pool has `count` free rows; if not, the header says how many it needs."""
    pool = pool_of(forest, which)
    if pool["capacity"] - pool["used"] >= count:
        return True
    forest["want"] = which
    forest["need"] = pool["used"] + count
    return False


@kernel
def take_row(pool: Any, rows: Any) -> int:
    """Take a row of a pool that has room. Returns its index."""
    i = pool["free"]
    if i >= 0:
        pool["free"] = rows[i]["next"]
    else:
        i = pool["count"]
        pool["count"] += 1
    rows[i]["next"] = layout.IN_USE
    pool["used"] += 1
    return i


@kernel
def free_row(pool: Any, rows: Any, index: int) -> None:
    """Free a row; its id is stale from now on."""
    rows[index]["generation"] += 1
    rows[index]["next"] = pool["free"]
    pool["free"] = index
    pool["used"] -= 1


@kernel
def find_row(pool: Any, rows: Any, name: int) -> int:
    """The index of an id, -1 if it is stale."""
    i = name & ID_INDEX_MASK
    if name < 0 or i >= pool["count"]:
        return -1
    if rows[i]["next"] != layout.IN_USE or rows[i]["generation"] != name >> 32:
        return -1
    return i


@kernel
def id_of(rows: Any, index: int) -> int:
    generation: Any = np.int64(rows[index]["generation"])
    return (generation << 32) | index


# --------------------------------------------------------------------------------------------------------- scratch


@kernel
def claim_scratch(forest: Any, size: int) -> int:
    """Address of `size` bytes of scratch, uninitialized; 0 if there are not as many."""
    used = forest["scratch_used"]
    forest["scratch_used"] = used + ((size + 15) & -16)
    if forest["scratch_used"] > forest["scratch_size"]:
        forest["want"] = layout.SCRATCH
        forest["need"] = max(forest["need"], forest["scratch_used"])
        return 0
    return forest["scratch"] + used


@kernel
def address_of(rows: Any) -> int:
    """The address of an array as a signed integer: Numba would make a float of a sum of both kinds."""
    start: Any = np.int64(rows.ctypes.data)
    return start


@kernel(inline=False)
def copy_words(source: int, target: int, size: int) -> None:
    """Copy bytes, a multiple of eight."""
    count = size >> 3
    a, b = rows_at(source, count, I8), rows_at(target, count, I8)
    for k in range(count):
        b[k] = a[k]


@kernel(inline=False)
def clear_words(target: int, size: int) -> None:
    count = size >> 3
    words = rows_at(target, count, I8)
    for k in range(count):
        words[k] = 0


# ---------------------------------------------------------------------------------------------------------- blocks


@kernel
def block_size_of(index: int) -> int:
    """Bytes of the blocks of a class."""
    base = SMALLEST_BLOCK_BYTES << (index >> 3)
    return base + (index & 7) * (base >> 3)


@kernel
def block_class_of(size: int) -> int:
    """The class of the smallest blocks that have at least `size` bytes."""
    c = 0
    while block_size_of(c) < size:
        c += 1
    return c


@kernel(inline=False)
def allocate_block(forest: Any, index: int) -> int:
    """Address of a block of a class, 0 if there is no memory."""
    lists = rows_at(forest["lists"], BLOCK_CLASS_COUNT, I8)
    block = lists[index]
    if block != 0:
        lists[index] = rows_at(block, 1, I8)[0]
        return block
    size = block_size_of(index)
    if forest["at"] + size > forest["end"]:
        forest["want"] = layout.CHUNK
        forest["need"] = size
        return 0
    block = forest["at"]
    forest["at"] = block + size
    return block


@kernel
def free_block(forest: Any, block: int, index: int) -> None:
    """Free a block."""
    lists = rows_at(forest["lists"], BLOCK_CLASS_COUNT, I8)
    rows_at(block, 1, I8)[0] = lists[index]
    lists[index] = block


@kernel
def state_offset_of(count: int, nv: int) -> int:
    """Bytes of a tree's header, and of its LONE row if it may be a free rigid body."""
    return TREE_HEADER_SIZE + LONE_SIZE if count == 1 and nv == 6 else TREE_HEADER_SIZE


@kernel
def links_offset_of(count: int, nq: int, nv: int) -> int:
    """Bytes of a tree before the row of its first link, which is aligned to a cache line."""
    size = state_offset_of(count, nv) + 48 * nq + LINK_ROW_SIZE
    return (size + CACHE_LINE_BYTES - 1) // CACHE_LINE_BYTES * CACHE_LINE_BYTES


@kernel
def tree_size(count: int, nq: int, nv: int) -> int:
    """Bytes of a tree."""
    rest = count * LINK_SIZE + nv * DOF_SIZE + count * LINK_ROW_SIZE + nv * DOF_ROW_SIZE
    return links_offset_of(count, nq, nv) + rest


@kernel(inline=False)
def lay_out_tree(block: int, count: int, nq: int, nv: int) -> int:
    """Write the header of a tree of this size at the start of a block. Returns the address of its state's numbers.

    The data of a free rigid body come first, so that its dynamics touch few cache lines.
    """
    tree = rows_at(block, 1, TREE)[0]
    tree["kind"], tree["busy"], tree["M"], tree["system"], tree["springs"] = TREE_KIND, 0, 0, 0, 0
    tree["free_body"] = 0
    tree["elements"], tree["element_count"], tree["pushes"], tree["gears"] = 0, 0, 0, 0
    tree["n"], tree["nq"], tree["nv"] = count, nq, nv
    state = block + state_offset_of(count, nv)
    at = block + links_offset_of(count, nq, nv)
    tree["rows"] = at - LINK_ROW_SIZE
    at += count * LINK_ROW_SIZE
    tree["links"] = at
    at += count * LINK_SIZE
    tree["dofs"] = at
    tree["dof_rows"] = at + nv * DOF_SIZE
    return state


@kernel(inline=False)
def clear_tree_rows(forest: Any, block: int) -> None:
    """Clear the rows that algorithms read before they write: the base, and the parts of S that are always zero."""
    tree = rows_at(block, 1, TREE)[0]
    clear_words(tree["rows"], LINK_ROW_SIZE)
    clear_words(tree["dof_rows"], tree["nv"] * DOF_ROW_SIZE)
    base = rows_at(tree["rows"], 1, LINK_DATA)[0]
    store9(base["R"], IDENTITY)
    base["a"][0], base["a"][1], base["a"][2] = -forest["gx"], -forest["gy"], -forest["gz"]


@entry
def set_gravity(address: int, gx: float, gy: float, gz: float) -> None:
    """Set the gravity of all trees (m/s²)."""
    set_forest_gravity(rows_at(address, 1, layout.FOREST)[0], gx, gy, gz)


@kernel(inline=False)
def set_forest_gravity(forest: Any, gx: float, gy: float, gz: float) -> None:
    """The same, for kernels: the bases of the trees accelerate against gravity."""
    forest["gx"], forest["gy"], forest["gz"] = gx, gy, gz
    trees = trees_of(forest)
    for t in range(pool_of(forest, layout.TREES)["count"]):
        if trees[t]["next"] == layout.IN_USE:
            tree = tree_of(trees[t])
            store3(rows_at(tree["rows"], 1, LINK_DATA)[0]["a"], (-gx, -gy, -gz))
            if tree["free_body"] != 0:
                store3(rows_at(tree["free_body"], 1, FREE_BODY)[0]["g"], (gx, gy, gz))


@kernel(inline=False)
def update_tree_header(block: int) -> None:
    """Update a tree's header after its rows of links and degrees of freedom have changed."""
    tree = rows_at(block, 1, TREE)[0]
    update_free_body(tree, block + TREE_HEADER_SIZE)
    dofs = dofs_of(tree)
    tree["springs"] = 0
    for k in range(tree["nv"]):
        if dofs[k]["stiffness"] != 0.0:
            tree["springs"] = 1


@kernel(inline=False)
def free_chunk_rest(forest: Any) -> None:
    """Turn the rest of a chunk, before another one replaces it, into free blocks."""
    while forest["end"] - forest["at"] >= SMALLEST_BLOCK_BYTES:
        c = block_class_of(forest["end"] - forest["at"])
        if block_size_of(c) > forest["end"] - forest["at"]:
            c -= 1
        free_block(forest, forest["at"], c)
        forest["at"] += block_size_of(c)


@entry
def begin_forest(address: int, size: int, gx: float, gy: float, gz: float, dependence: float) -> None:
    """Set the size of the first chunk of memory, gravity and `dependence`."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    forest["at"], forest["end"] = forest["start"], forest["start"] + size
    forest["gx"], forest["gy"], forest["gz"], forest["dependence"] = gx, gy, gz, dependence


@entry
def add_chunk(address: int, memory: Bytes) -> None:
    """Make a new chunk of memory the newest one."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    free_chunk_rest(forest)
    forest["start"] = forest["at"] = (address_of(memory) + CACHE_LINE_BYTES - 1) & -CACHE_LINE_BYTES
    forest["end"] = address_of(memory) + memory.shape[0]


@entry
def clear_forest(address: int) -> None:
    """Remove everything from a forest: no ids, and all memory of its newest chunk is free."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    pools = rows_at(forest["pools"], 4, layout.POOL)
    for i in range(pools[layout.TREES]["count"]):
        trees_of(forest)[i]["generation"] = 0
    for i in range(pools[layout.BODIES]["count"]):
        bodies_of(forest)[i]["generation"] = 0
    for i in range(pools[layout.JOINTS]["count"]):
        joints_of(forest)[i]["generation"] = 0
    for i in range(pools[layout.LOOPS]["count"]):
        loop_slots_of(forest)[i]["generation"] = 0
    for i in range(4):
        pools[i]["count"] = pools[i]["used"] = 0
        pools[i]["free"] = -1
    clear_words(forest["lists"], 8 * BLOCK_CLASS_COUNT)
    forest["at"] = forest["start"]


@kernel
def count_trees(forest: Any) -> int:
    """Number of rows of the table of trees that have ever been used."""
    return pool_of(forest, layout.TREES)["count"]
