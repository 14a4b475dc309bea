"""Pairs of boxes and their counts of shared tiles: an open-addressing table of slots in front of dense rows.

Fontijne 2.3.3: a pair is created when two boxes come to share a tile, counts the tiles that they share at the coarser
of their native levels, and lingers for a few updates after the count has dropped to zero. A pair keeps its row, so
other tables can store data of the pair in a row of the same number; rows of removed pairs are reused. The table of
slots finds a row by two ids in constant time.
"""

from typing import Any

from kinemorph.collision.broad import hash_rows
from kinemorph.collision.broad.hash_rows import box_pairs_of, slots_of
from kinemorph.jit.api import kernel, rows_at


@kernel
def filters_allow_pair(filter_a: Any, filter_b: Any) -> bool:
    """Whether groups, masks and fixed flags of two boxes allow a pair."""
    return (
        (filter_a["mask"] & filter_b["group"]) != 0
        and (filter_b["mask"] & filter_a["group"]) != 0
        and filter_a["fixed"] + filter_b["fixed"] < 2
    )


@kernel
def hash_words(high: int, low: int) -> int:
    """Hash two numbers of 32 bits to one from 0 to 2^62; close numbers are scattered.

    Nothing overflows: overflow of signed numbers is undefined in LLVM, and two inlined copies of the formula could give
    different results.
    """
    x = low * 0x3C6EF373 ^ high * 0x2545F491
    x = (x ^ x >> 31) & 0xFFFFFFFF
    x *= 0x27D4EB2F
    return x ^ x >> 32


@kernel
def pair_hash(low_id: int, high_id: int) -> int:
    """Hash of the pair low_id < high_id, where its search begins."""
    return hash_words(int(low_id), int(high_id))


@kernel
def find_slot(grid: Any, first: int, second: int) -> int:
    """The slot that has the row of a pair, or the free slot for it."""
    slots = slots_of(grid)
    pairs = box_pairs_of(grid)
    a = min(first, second)
    b = max(first, second)
    s = pair_hash(a, b) & grid["slot_mask"]
    while slots[s]["i"] != hash_rows.VACANT_SLOT and (pairs[slots[s]["i"]]["a"] != a or pairs[slots[s]["i"]]["b"] != b):
        s = (s + 1) & grid["slot_mask"]
    return s


@kernel
def find_or_create_pair(grid: Any, first: int, second: int) -> int:
    """The row of a pair, created if missing; -1 if the filters exclude the pair, or a table is full."""
    slot = slots_of(grid)[find_slot(grid, first, second)]
    if slot["i"] != hash_rows.VACANT_SLOT:
        return slot["i"]
    filters = rows_at(grid["filters"], grid["n"], hash_rows.FILTER)
    if not filters_allow_pair(filters[first], filters[second]):
        return -1
    pairs = box_pairs_of(grid)
    row = grid["pair_free"]
    if row >= 0:
        grid["pair_free"] = hash_rows.FREE_PAIR_BASE - pairs[row]["shared"]
    elif grid["pair_count"] < grid["pair_room"]:
        row = grid["pair_count"]
        grid["pair_count"] = row + 1
    else:
        grid["full"] |= hash_rows.FULL_PAIRS
        return -1
    grid["pairs_made"] += 1
    rows_at(grid["lives"], grid["pair_room"], hash_rows.INDEX_ROW)[row]["i"] += 1
    slot["i"] = row
    pair = pairs[row]
    pair["a"] = min(first, second)
    pair["b"] = max(first, second)
    pair["shared"] = 0
    pair["linger"] = grid["linger"]
    _append_new_pair(grid, pair, row)
    return row


@kernel
def _append_new_pair(grid: Any, pair: Any, row: int) -> None:
    """Add a new pair to the list for the sorted order; if they are too many, the order is made from scratch."""
    n = grid["n_fresh"]
    if n >= 0 and n < hash_rows.MOST_NEW_PAIRS:
        fresh = rows_at(grid["fresh"], hash_rows.MOST_NEW_PAIRS, hash_rows.LISTED_PAIR)[n]
        fresh["ij"][0] = pair["a"]
        fresh["ij"][1] = pair["b"]
        fresh["row"] = row
        grid["n_fresh"] = n + 1
    else:
        grid["n_fresh"] = -1


@kernel(inline=False)
def share_tile(grid: Any, first: int, second: int) -> None:
    """Count one more tile that two boxes share."""
    row = find_or_create_pair(grid, first, second)
    if row >= 0:
        pair = box_pairs_of(grid)[row]
        if pair["shared"] == 0 and pair["linger"] != hash_rows.IGNORED:
            pair["linger"] = grid["linger"]
        pair["shared"] += 1


@kernel(inline=False)
def unshare_tile(grid: Any, first: int, second: int) -> None:
    """Count one shared tile less. The pair stays until `age_pair` removes it."""
    row = slots_of(grid)[find_slot(grid, first, second)]["i"]
    if row != hash_rows.VACANT_SLOT:  # else the filters exclude the pair, or the table was full at its creation
        box_pairs_of(grid)[row]["shared"] -= 1


@kernel(inline=False)
def delete_pair(grid: Any, row: int) -> None:
    """Free the row of a pair and its slot."""
    pairs = box_pairs_of(grid)
    slots = slots_of(grid)
    hole = find_slot(grid, pairs[row]["a"], pairs[row]["b"])
    s = hole
    while True:  # close the gap: move up each later row that a search could no longer reach
        s = (s + 1) & grid["slot_mask"]
        other = slots[s]["i"]
        if other == hash_rows.VACANT_SLOT:
            break
        start = pair_hash(pairs[other]["a"], pairs[other]["b"])
        if ((s - start) & grid["slot_mask"]) >= ((s - hole) & grid["slot_mask"]):
            slots[hole]["i"] = other
            hole = s
    slots[hole]["i"] = hash_rows.VACANT_SLOT
    pair = pairs[row]
    pair["a"] = 0
    pair["b"] = 0
    pair["linger"] = hash_rows.IGNORED  # so that it is not collected
    pair["shared"] = hash_rows.FREE_PAIR_BASE - grid["pair_free"]
    grid["pair_free"] = row


@kernel(inline=False)
def age_pair(grid: Any, row: int) -> None:
    """Age a pair without shared tiles by one update, and remove it in time (the hysteresis of Fontijne 2.3.3)."""
    pair = box_pairs_of(grid)[row]
    if pair["linger"] == 0:
        delete_pair(grid, row)
    elif pair["linger"] != hash_rows.IGNORED:
        pair["linger"] -= 1
