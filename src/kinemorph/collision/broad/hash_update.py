"""Entries of the hierarchical hash for Python: update, add, remove, rebuild. See `hash_tiles` and `hash_pairs`."""

from math import inf
from typing import Any

import numpy as np

from kinemorph.collision.broad import hash_rows
from kinemorph.collision.broad.hash_order import collect_overlapping
from kinemorph.collision.broad.hash_pairs import delete_pair, find_or_create_pair, find_slot
from kinemorph.collision.broad.hash_rows import box_pairs_of, boxes_of, slots_of, tiles_of
from kinemorph.collision.broad.hash_tiles import LEVEL_GROWTH_FACTOR, enter_box, rehash, withdraw_box
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.rows import load3, store3
from kinemorph.spatial.vec3 import Vec3

Ids = np.ndarray[tuple[int], np.dtype[np.int64]]
TABLE_FULL = -1  # a table is too small; other results are BAD_BOX or a number of pairs
BAD_BOX = -2


@entry
def update_boxes(address: int, lows: Any, highs: Any) -> int:
    """Move the boxes of `order`, age pairs, collect overlapping ones. Returns their number, TABLE_FULL or BAD_BOX."""
    grid = rows_at(address, 1, hash_rows.HASH)[0]
    order = rows_at(grid["order"], grid["moving"], hash_rows.INDEX_ROW)
    if not boxes_are_finite(lows, highs):
        return BAD_BOX
    for r in range(grid["moving"]):
        move_box(grid, int(order[r]["i"]), load3(lows[r]), load3(highs[r]))
    if grid["full"]:
        return TABLE_FULL
    return collect_overlapping(grid, 1)


@kernel
def move_box(grid: Any, box_id: int, low: Vec3, high: Vec3) -> None:
    """Move a box; while it stays in its tiles, only its corners change."""
    box = boxes_of(grid)[box_id]
    scale = box["scale"]
    size = 0.0
    same = True
    for d in range(3):
        same &= np.floor(low[d] * scale) == np.floor(box["low"][d] * scale)
        same &= np.floor(high[d] * scale) == np.floor(box["high"][d] * scale)
        size = max(size, high[d] - low[d])
    if same and 2.0 * LEVEL_GROWTH_FACTOR * size * scale >= 1.0:
        store3(box["low"], low)
        store3(box["high"], high)
    else:  # other tiles, or small enough for a finer level
        rehash(grid, box_id, low, high)


@kernel
def boxes_are_finite(lows: Any, highs: Any) -> bool:
    good = True
    for r in range(lows.shape[0]):
        for d in range(3):
            size = highs[r, d] - lows[r, d]
            good &= (size >= 0.0) & (size < inf)  # False for NaN, and so for any number that is not finite
    return good


@entry
def put_boxes(address: int, ids: Ids, boxes: Any) -> int:
    """Move or add boxes: BOUNDS rows in the order of ids. Returns how many were done, fewer if a table is full."""
    grid = rows_at(address, 1, hash_rows.HASH)[0]
    for k in range(ids.shape[0]):
        rehash(grid, ids[k], load3(boxes[k]["low"]), load3(boxes[k]["high"]))
        if grid["full"]:
            return k + 1
    return ids.shape[0]


@entry
def collect_pairs(address: int) -> int:
    """Collect the overlapping pairs, without an update."""
    return collect_overlapping(rows_at(address, 1, hash_rows.HASH)[0], 0)


@entry
def delete_box(address: int, box_id: int) -> None:
    """Remove a box and all its pairs."""
    grid = rows_at(address, 1, hash_rows.HASH)[0]
    withdraw_box(grid, box_id)
    pairs = box_pairs_of(grid)
    for row in range(grid["pair_count"]):
        if pairs[row]["shared"] >= 0 and (pairs[row]["a"] == box_id or pairs[row]["b"] == box_id):
            delete_pair(grid, row)


@entry
def set_linger(address: int, first: int, second: int, linger: int) -> int:
    """Set the updates for which a pair outlives its last shared tile; IGNORED creates the pair if it is missing."""
    grid = rows_at(address, 1, hash_rows.HASH)[0]
    slots = slots_of(grid)
    if linger != hash_rows.IGNORED and slots[find_slot(grid, first, second)]["i"] == hash_rows.VACANT_SLOT:
        return 0
    row = find_or_create_pair(grid, first, second)
    if row >= 0:
        box_pairs_of(grid)[row]["linger"] = linger
    return TABLE_FULL if grid["full"] else 0


@entry
def rebuild_tables(address: int) -> int:
    """Build all tables again from the rows of boxes and pairs. Returns 0 or TABLE_FULL."""
    grid = rows_at(address, 1, hash_rows.HASH)[0]
    n = grid["n"]
    boxes = boxes_of(grid)
    tiles = tiles_of(grid)
    slots = slots_of(grid)
    pairs = box_pairs_of(grid)
    for k in range(grid["tile_mask"] + 1):
        tiles[k]["key"] = hash_rows.EMPTY_TILE_KEY
    for s in range(grid["slot_mask"] + 1):
        slots[s]["i"] = hash_rows.VACANT_SLOT
    for row in range(grid["pair_count"]):
        if pairs[row]["shared"] >= 0:
            pairs[row]["shared"] = 0
            slots[find_slot(grid, pairs[row]["a"], pairs[row]["b"])]["i"] = row
    grid["full"] = grid["open"] = grid["tile_count"] = grid["entry_count"] = 0
    grid["entry_free"] = grid["all_over"] = -1
    for i in range(n):
        if boxes[i]["level"] >= 0:
            grid["open"] |= 1 << int(boxes[i]["level"])
    for i in range(n):
        grid["n"] = i + 1  # later boxes are not entered yet
        if boxes[i]["level"] != hash_rows.ABSENT_LEVEL:
            enter_box(grid, i)
        if grid["full"]:
            grid["n"] = n
            return TABLE_FULL
    return 0
