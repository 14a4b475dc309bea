"""Layout of the constraint rows of loops: their numbers, the paths of their links to the base, and their islands."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.jit.rows import table
from kinemorph.multibody.layout import TREE, dofs_of, links_of
from kinemorph.multibody.model.loops import LOOP
from kinemorph.multibody.system import (
    F8,
    I8,
    ISLAND,
    ROW,
    SYSTEM_KIND,
    constraint_rows_of,
    members_of,
    path_of,
    row_islands_of,
    tree_addresses_of,
)

SIZES = np.dtype(
    [
        ("m", "i8"),  # constraint rows of all loops
        ("nq", "i8"),  # positions of all loop joints
        ("nv", "i8"),  # and velocities
        ("path", "i8"),  # degrees of freedom on the paths of all loops
        ("Y", "i8"),  # numbers y of all rows
        ("G", "i8"),  # entries of the matrices of all islands
        ("islands", "i8"),
    ]
)
ROW_SIZE, ISLAND_SIZE = ROW.itemsize, ISLAND.itemsize

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Integers = np.ndarray[tuple[int], np.dtype[np.int64]]


@kernel
def last_dof(tree: Any, link: int) -> int:
    """The degree of freedom nearest to a link on its path to the base, -1 if there is none."""
    links = links_of(tree)
    while link >= 0 and links[link]["nv"] == 0:
        link = links[link]["parent"]
    if link < 0:
        return -1
    return links[link]["iv"] + links[link]["nv"] - 1


@kernel
def root_link_of(tree: Any, link: int) -> int:
    """The root of the tree of a link, -1 for the base."""
    links = links_of(tree)
    while link >= 0 and links[link]["parent"] >= 0:
        link = links[link]["parent"]
    return link


@kernel
def fill_path(tree: Any, body_a: int, body_b: int, offset: int, path: Any, at: int) -> int:
    """Find the degrees of freedom on the paths of two links to the base, the last first. Returns their number.

    They are written to `path` from entry `at` on, if that is not negative, counted from `offset`.
    """
    dofs = dofs_of(tree)
    ka, kb = last_dof(tree, body_a), last_dof(tree, body_b)
    count = 0
    while ka >= 0 or kb >= 0:
        k = max(ka, kb)
        if at >= 0:
            path[at + count] = offset + k
        count += 1
        if ka == k:
            ka = dofs[k]["parent"]
        if kb == k:
            kb = dofs[k]["parent"]
    return count


@kernel(inline=False)
def measure_loops(trees: Any, loops: Any, sizes: Any) -> None:
    """Set the first row and entries of each loop's joint and the island of each loop; count all sizes."""
    m = iq = iv = length = numbers = 0
    no_path = rows_at(0, 0, I8)
    for i in range(loops.shape[0]):
        loop = loops[i]
        loop["first"], loop["iq"], loop["iv"] = m, iq, iv
        A, B = rows_at(trees[loop["tree_a"]], 1, TREE)[0], rows_at(trees[loop["tree_b"]], 1, TREE)[0]
        if loop["tree_a"] == loop["tree_b"]:
            count = fill_path(B, loop["a"], loop["b"], 0, no_path, -1)
        else:
            count = fill_path(B, loop["b"], -1, 0, no_path, -1) + fill_path(A, loop["a"], -1, 0, no_path, -1)
        loop["top_a"], loop["top_b"] = root_link_of(A, loop["a"]), root_link_of(B, loop["b"])
        m += loop["m"]
        iq += loop["nq"]
        iv += loop["nv"]
        length += count
        numbers += count * loop["m"]
    sizes["m"], sizes["nq"], sizes["nv"], sizes["path"], sizes["Y"] = m, iq, iv, length, numbers
    find_islands(loops, sizes)


@kernel
def share_tree(x: Any, y: Any) -> bool:
    """Whether two loops have a tree in common."""
    a = x["top_a"] >= 0 and (
        (x["tree_a"] == y["tree_a"] and x["top_a"] == y["top_a"])
        or (x["tree_a"] == y["tree_b"] and x["top_a"] == y["top_b"])
    )
    b = x["top_b"] >= 0 and (
        (x["tree_b"] == y["tree_a"] and x["top_b"] == y["top_a"])
        or (x["tree_b"] == y["tree_b"] and x["top_b"] == y["top_b"])
    )
    return a or b


@kernel(inline=False)
def find_islands(loops: Any, sizes: Any) -> None:
    """Number the islands of loops in the order of their first loops."""
    count = loops.shape[0]
    for i in range(count):
        label = i
        for j in range(i):
            if loops[j]["island"] < label and share_tree(loops[i], loops[j]):
                label = loops[j]["island"]
        for j in range(i):
            if loops[j]["island"] != label and share_tree(loops[i], loops[j]):
                old = loops[j]["island"]
                for k in range(i):
                    if loops[k]["island"] == old:
                        loops[k]["island"] = label
        loops[i]["island"] = label
    islands = entries = 0
    for i in range(count):  # labels are indices of loops: make them 0, 1, 2, ...
        if loops[i]["island"] == i:
            m = 0
            for j in range(i, count):
                if loops[j]["island"] == i:
                    loops[j]["island"] = -1 - islands
                    m += loops[j]["m"]
            islands += 1
            entries += m * m
    for i in range(count):
        loops[i]["island"] = -1 - loops[i]["island"]
    sizes["islands"], sizes["G"] = islands, entries


@kernel
def end_address(at: int, count: int, size: int) -> int:
    """The address after `count` entries of a size."""
    return at + count * size


def system_bytes(sizes: Any, trees: int, nv: int) -> int:
    """Memory of a system besides its header and its loops."""
    m, islands = int(sizes["m"]), int(sizes["islands"])
    once, twice = (int(sum(sizes[field] for field in fields)) for fields in (("nq", "nv", "path", "Y"), ("m", "G")))
    return m * ROW_SIZE + islands * ISLAND_SIZE + 8 * (2 * trees + 6 * nv + once + 2 * twice)


@kernel(inline=False)
def place_system(system: Any, at: int, trees: int, nv: int, loops: Any, sizes: Any, dependence: float) -> None:
    """Write the header of a system whose memory (zeros) starts at an address."""
    m = sizes["m"]
    system["kind"], system["dependence"], system["rank"] = SYSTEM_KIND, dependence * dependence, 0
    system["tree_count"], system["nv"] = trees, nv
    system["loops"], system["count"], system["m"] = loops.ctypes.data, loops.shape[0], m
    system["path_length"], system["Y_length"], system["G_length"] = sizes["path"], sizes["Y"], sizes["G"]
    system["island_count"] = sizes["islands"]
    system["rows"] = at
    at = end_address(at, m, ROW_SIZE)
    system["islands"] = at
    at = end_address(at, sizes["islands"], ISLAND_SIZE)
    system["trees"] = at
    at = end_address(at, trees, 8)
    system["offsets"] = at
    at = end_address(at, trees, 8)
    system["path"] = at
    at = end_address(at, sizes["path"], 8)
    system["Y"] = at
    at = end_address(at, sizes["Y"], 8)
    system["W"] = at
    at = end_address(at, 6 * nv, 8)
    system["q"], system["nq_loops"] = at, sizes["nq"]
    at = end_address(at, sizes["nq"], 8)
    system["v"], system["nv_loops"] = at, sizes["nv"]
    at = end_address(at, sizes["nv"], 8)
    system["members"] = at
    at = end_address(at, m, 8)
    system["order"] = at
    at = end_address(at, m, 8)
    system["G"] = at
    system["F"] = end_address(at, sizes["G"], 8)


@kernel(inline=False)
def lay_out(system: Any, loops: Any) -> None:
    """Fill in the links and paths of the rows of all loops; addresses and offsets of the trees must be set."""
    trees = tree_addresses_of(system)
    offsets = rows_at(system["offsets"], system["tree_count"], I8)
    rows = constraint_rows_of(system)
    path = path_of(system)
    at = y = 0
    for i in range(loops.shape[0]):
        loop = loops[i]
        ta, tb = loop["tree_a"], loop["tree_b"]
        if ta == tb:
            split = count = fill_path(rows_at(trees[tb], 1, TREE)[0], loop["a"], loop["b"], offsets[tb], path, at)
        else:
            split = fill_path(rows_at(trees[tb], 1, TREE)[0], loop["b"], -1, offsets[tb], path, at)
            count = split + fill_path(rows_at(trees[ta], 1, TREE)[0], loop["a"], -1, offsets[ta], path, at + split)
        for j in range(loop["first"], loop["first"] + loop["m"]):
            row = rows[j]
            row["tree_a"], row["tree_b"], row["a"], row["b"] = ta, tb, loop["a"], loop["b"]
            row["path"], row["length"], row["split"], row["y"] = at, count, split, y
            y += count
        at += count
    fill_island_members(system, loops)


@kernel
def fill_island_members(system: Any, loops: Any) -> None:
    """List the rows of each island, and place its matrices."""
    islands = row_islands_of(system)
    members = members_of(system)
    count = entries = 0
    for k in range(system["island_count"]):
        islands[k]["first"], islands[k]["G"], islands[k]["rank"] = count, entries, 0
        for i in range(loops.shape[0]):
            if loops[i]["island"] == k:
                loops[i]["member"] = count - islands[k]["first"]
                for j in range(loops[i]["m"]):
                    members[count] = loops[i]["first"] + j
                    count += 1
        m = count - islands[k]["first"]
        islands[k]["m"] = m
        entries += m * m


@entry
def _measure(trees: Integers, loops: Records, sizes: Records) -> None:
    measure_loops(trees, loops, sizes[0])


@entry
def _make_system(systems: Records, at: int, tree: int, nv: int, loops: Records, sizes: Records, square: float) -> None:
    """Make a system of one tree."""
    system = systems[0]
    place_system(system, at, 1, nv, loops, sizes[0], square)
    rows_at(system["trees"], 1, I8)[0] = tree
    rows_at(system["offsets"], 1, I8)[0] = 0
    lay_out(system, loops)


measure_model, make_system = _measure, _make_system
__all__ = ["F8", "SIZES", "last_dof", "lay_out", "make_system", "measure_loops", "measure_model", "place_system"]


# --- an accessor of a table, by its header ---

system_loops_of = table(LOOP, "loops", "count")
