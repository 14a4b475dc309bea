"""The hierarchical hash: which boxes share a tile (Fontijne 2.3, after Mirtich).

Space is divided into cubes of every power of two. Level 0 is the finest, each next one twice as coarse (the thesis
counts the other way). A box is *native* to the finest level where it covers at most t tiles, and a *guest* of every
coarser level that is native to some other box. Two boxes that overlap share a tile at the coarser of their native
levels, where one of them is native: so natives form pairs with all boxes in their tiles, guests with natives only.

A tile is a row of an open-addressing table with two lists of entries, natives and guests. A box has a chain of its
entries. When it moves, entries of tiles that it left are freed, and new tiles are entered; as long as it covers the
same tiles, nothing changes. Empty tiles stay until the table is full; then it is built again, which also closes levels
without natives.

Kernels cannot allocate. When a table is full they set a bit in `full` and only keep memory safe: the tiles of every box
follow from its BOX row, so `fill` restores all tables once they are larger.
"""

from math import inf
from typing import Any

import numpy as np

from kinemorph.collision.broad import hash_rows
from kinemorph.collision.broad.hash_pairs import hash_words, share_tile, unshare_tile
from kinemorph.collision.broad.hash_rows import boxes_of, entries_of, tiles_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.rows import store3
from kinemorph.spatial.vec3 import Vec3

Z_BIT = hash_rows.LEVEL_BITS
Y_BIT = hash_rows.LEVEL_BITS + hash_rows.PLACE_BITS
X_BIT = hash_rows.LEVEL_BITS + 2 * hash_rows.PLACE_BITS
BLOCK_MASK = ~(1 << X_BIT | 1 << Y_BIT | 1 << Z_BIT)  # bits of a key that the tiles of a block share
ROW_MASK = (1 << 48) - 1  # largest number of rows of a table, less one
LARGEST_TILE_COORDINATE = 2.0**50  # larger tile coordinates are not exact enough
LEVEL_GROWTH_FACTOR = 1.25  # factor by which a box may grow without leaving a level that it has just reached
OVERSIZED_BUDGET_FACTOR = 4  # times the budget, at the coarsest level (Fontijne 2.3.3)
NO_TILES = (0.0, 0.0, 0.0), (-1.0, -1.0, -1.0)  # first and last of an empty range of tiles


# --- one tile ---


@kernel
def tile_key(x: int, y: int, z: int, level: int) -> int:
    """Pack coordinates and level of a tile into one number. Coordinates repeat after 2^19 tiles: no box is as large,
    and the overlap test of boxes rejects false pairs.
    """
    place = (
        (x & hash_rows.PLACE_MASK) << hash_rows.PLACE_BITS | (y & hash_rows.PLACE_MASK)
    ) << hash_rows.PLACE_BITS | (z & hash_rows.PLACE_MASK)
    return place << hash_rows.LEVEL_BITS | level


@kernel
def in_tile_range(x: int, first: int, last: int) -> bool:
    """Whether a coordinate, modulo 2^19, is from `first` to `last`."""
    return ((x - first) & hash_rows.PLACE_MASK) <= last - first


@kernel
def tile_hash(key: int) -> int:
    """Hash of a tile, where its search begins. Blocks of 2 x 2 x 2 tiles are adjacent in memory, because boxes visit
    neighbours together; the blocks themselves are scattered.
    """
    block = key & BLOCK_MASK
    corner = key >> X_BIT & 1 | (key >> Y_BIT & 1) << 1 | (key >> Z_BIT & 1) << 2
    return (hash_words(block >> 32, block & 0xFFFFFFFF) & ROW_MASK) << 3 | corner


@kernel
def find_or_create_tile(grid: Any, key: int) -> int:
    """The row of a tile, created if missing; -1 when the table is half full."""
    mask = grid["tile_mask"]
    tiles = rows_at(grid["tiles"], mask + 1, hash_rows.TILE)
    k = tile_hash(key) & mask
    while tiles[k]["key"] != hash_rows.EMPTY_TILE_KEY:
        if tiles[k]["key"] == key:
            return k
        k = (k + 1) & mask
    if 2 * grid["tile_count"] > mask:
        grid["full"] |= hash_rows.FULL_TILES
        return -1
    grid["tile_count"] += 1
    tiles[k]["key"] = key
    tiles[k]["natives"] = -1
    tiles[k]["guests"] = -1
    return k


@kernel
def take_entry(grid: Any) -> int:
    e = grid["entry_free"]
    if e >= 0:
        grid["entry_free"] = entries_of(grid)[e]["sibling"]
        return e
    e = grid["entry_count"]
    if e == grid["entry_room"]:
        grid["full"] |= hash_rows.FULL_ENTRIES
        return -1
    grid["entry_count"] = e + 1
    return e


@kernel(inline=False)
def enter_tile(grid: Any, box_id: int, x: int, y: int, z: int, level: int) -> None:
    """Enter a box into a tile: form pairs with its natives, and at the native level with its guests too."""
    key = tile_key(x, y, z, level)
    k = find_or_create_tile(grid, key)
    e = take_entry(grid) if k >= 0 else -1
    if e < 0:
        return
    entries = entries_of(grid)
    tile = tiles_of(grid)[k]
    box = boxes_of(grid)[box_id]
    count_shared_tiles(grid, box_id, tile["natives"], 1)
    if level == box["level"]:
        count_shared_tiles(grid, box_id, tile["guests"], 1)
        head = tile["natives"]
        tile["natives"] = e
    else:
        head = tile["guests"]
        tile["guests"] = e
    if head >= 0:
        entries[head]["before"] = e
    new = entries[e]
    new["key"] = key
    new["box"] = box_id
    new["tile"] = k
    new["next"] = head
    new["before"] = -1
    new["sibling"] = box["entry"]
    box["entry"] = e


@kernel(inline=False)
def leave_tile(grid: Any, box_id: int, entry: int) -> None:
    """Free an entry of a box; the caller removes it from the chain of the box."""
    entries = entries_of(grid)
    old = entries[entry]
    tile = tiles_of(grid)[old["tile"]]
    native = (old["key"] & hash_rows.LEVEL_MASK) == boxes_of(grid)[box_id]["level"]
    after = old["next"]
    if after >= 0:
        entries[after]["before"] = old["before"]
    if old["before"] >= 0:
        entries[old["before"]]["next"] = after
    elif native:
        tile["natives"] = after
    else:
        tile["guests"] = after
    count_shared_tiles(grid, box_id, tile["natives"], -1)
    if native:
        count_shared_tiles(grid, box_id, tile["guests"], -1)
    old["sibling"] = grid["entry_free"]
    grid["entry_free"] = entry


@kernel
def count_shared_tiles(grid: Any, box_id: int, entry: int, change: int) -> None:
    """Count a shared tile more or less with each box of a list of entries."""
    entries = entries_of(grid)
    while entry >= 0:
        if change > 0:
            share_tile(grid, box_id, int(entries[entry]["box"]))  # int: another type would be another compilation
        else:
            unshare_tile(grid, box_id, int(entries[entry]["box"]))
        entry = entries[entry]["next"]


# --- the tiles of one box ---


@kernel
def count_covered_tiles(low: Any, high: Any, scale: float) -> float:
    """Number of tiles that a box covers (Fontijne eq. 2.3); inf where tile coordinates are too large.

    Unlike in the thesis, a face that just touches the next tile counts as in it: boxes that touch then share a tile.
    """
    n = 1.0
    for d in range(3):
        first = np.floor(low[d] * scale)
        last = np.floor(high[d] * scale)
        if not (first > -LARGEST_TILE_COORDINATE and last < LARGEST_TILE_COORDINATE):
            return inf
        n *= last - first + 1.0
    return n


@kernel
def bound_covered_tiles(low: Any, high: Any, scale: float) -> float:
    """Number of tiles that a box LEVEL_GROWTH times as large could cover in the worst position."""
    n = 1.0
    for d in range(3):
        n *= np.floor(LEVEL_GROWTH_FACTOR * (high[d] - low[d]) * scale) + 2.0
    return n


@kernel
def choose_native_level(grid: Any, box_id: int) -> int:
    """The native level of a box (Fontijne 2.3.2), with hysteresis.

    It becomes coarser when the box covers more tiles than the budget, but finer only if the finer level would not be
    left again soon.
    """
    box = boxes_of(grid)[box_id]
    fixed = rows_at(grid["filters"], grid["n"], hash_rows.FILTER)[box_id]["fixed"]
    t = grid["fixed_budget"] if fixed else grid["budget"]
    old = int(box["level"])
    level = max(old, 0)
    scale = box["scale"] if old >= 0 else grid["finest"]
    while level < grid["top"] and count_covered_tiles(box["low"], box["high"], scale) > t:
        level += 1
        scale *= 0.5
    if level == grid["top"]:
        n = count_covered_tiles(box["low"], box["high"], scale)
        if n > OVERSIZED_BUDGET_FACTOR * t or (old == hash_rows.OVERSIZED_LEVEL and n > t):
            return hash_rows.OVERSIZED_LEVEL
    if level == old:
        while level > 0 and bound_covered_tiles(box["low"], box["high"], 2.0 * scale) <= t:
            level -= 1
            scale *= 2.0
        while level < old and count_covered_tiles(box["low"], box["high"], scale) > t:  # far out only coarse tiles do
            level += 1
            scale *= 0.5
    return level


@kernel
def first_tile(box: Any) -> Vec3:
    """The lowest tile that a box covers at its level, as whole floats: compared without conversion."""
    low, scale = box["low"], box["scale"]
    return (np.floor(low[0] * scale), np.floor(low[1] * scale), np.floor(low[2] * scale))


@kernel
def last_tile(box: Any) -> Vec3:
    high, scale = box["high"], box["scale"]
    return (np.floor(high[0] * scale), np.floor(high[1] * scale), np.floor(high[2] * scale))


@kernel(inline=False)
def enter_level(grid: Any, box_id: int, level: int, first: Vec3, last: Vec3) -> None:
    """Enter the tiles of a level, except those between first and last (of the native level), already entered."""
    box = boxes_of(grid)[box_id]
    s = level - int(box["level"])
    p, q = first_tile(box), last_tile(box)
    x0, y0, z0 = int(first[0]) >> s, int(first[1]) >> s, int(first[2]) >> s
    x1, y1, z1 = int(last[0]) >> s, int(last[1]) >> s, int(last[2]) >> s
    for x in range(int(p[0]) >> s, (int(q[0]) >> s) + 1):
        for y in range(int(p[1]) >> s, (int(q[1]) >> s) + 1):
            known = in_tile_range(x, x0, x1) and in_tile_range(y, y0, y1)
            for z in range(int(p[2]) >> s, (int(q[2]) >> s) + 1):
                if not (known and in_tile_range(z, z0, z1)):
                    enter_tile(grid, box_id, x, y, z, level)


@kernel(inline=False)
def enter_levels(grid: Any, box_id: int, first: Vec3, last: Vec3) -> None:
    """The same at the native level and, as a guest, at all coarser open levels."""
    level = int(boxes_of(grid)[box_id]["level"])
    while grid["open"] >> level:
        if grid["open"] >> level & 1:
            enter_level(grid, box_id, level, first, last)
        level += 1


@kernel(inline=False)
def enter_box(grid: Any, box_id: int) -> None:
    """Enter a placed box into all its tiles; an oversized box forms pairs with all others instead."""
    boxes = boxes_of(grid)
    box = boxes[box_id]
    if box["level"] == hash_rows.OVERSIZED_LEVEL:
        for j in range(grid["n"]):
            if j != box_id and boxes[j]["level"] != hash_rows.ABSENT_LEVEL:
                share_tile(grid, box_id, j)
        box["entry"] = grid["all_over"]
        grid["all_over"] = box_id
        return
    box["entry"] = -1
    enter_levels(grid, box_id, NO_TILES[0], NO_TILES[1])
    j = grid["all_over"]
    while j >= 0:
        share_tile(grid, box_id, j)
        j = boxes[j]["entry"]


@kernel(inline=False)
def withdraw_box(grid: Any, box_id: int) -> None:
    """Undo `enter_box`: its level is ABSENT_LEVEL afterwards."""
    boxes = boxes_of(grid)
    box = boxes[box_id]
    if box["level"] == hash_rows.OVERSIZED_LEVEL:
        for j in range(grid["n"]):
            if j != box_id and boxes[j]["level"] != hash_rows.ABSENT_LEVEL:
                unshare_tile(grid, box_id, j)
        if grid["all_over"] == box_id:
            grid["all_over"] = box["entry"]
        else:
            j = grid["all_over"]
            while boxes[j]["entry"] != box_id:
                j = boxes[j]["entry"]
            boxes[j]["entry"] = box["entry"]
    else:
        leave_tiles(grid, box_id, NO_TILES[0], NO_TILES[1])
        j = grid["all_over"]
        while j >= 0:
            unshare_tile(grid, box_id, j)
            j = boxes[j]["entry"]
    box["level"] = hash_rows.ABSENT_LEVEL
    box["entry"] = -1


@kernel(inline=False)
def leave_tiles(grid: Any, box_id: int, first: Vec3, last: Vec3) -> None:
    """Leave all tiles except those between first and last (of the native level), scaled to coarser levels."""
    box = boxes_of(grid)[box_id]
    entries = entries_of(grid)
    kept = -1
    e = box["entry"]
    while e >= 0:
        after = entries[e]["sibling"]
        key = entries[e]["key"]
        s = (key & hash_rows.LEVEL_MASK) - int(box["level"])
        inside = in_tile_range(key >> X_BIT, int(first[0]) >> s, int(last[0]) >> s)
        inside = inside and in_tile_range(key >> Y_BIT, int(first[1]) >> s, int(last[1]) >> s)
        inside = inside and in_tile_range(key >> Z_BIT, int(first[2]) >> s, int(last[2]) >> s)
        if inside:
            kept = e
        else:
            leave_tile(grid, box_id, e)
            if kept >= 0:
                entries[kept]["sibling"] = after
            else:
                box["entry"] = after
        e = after


@kernel
def open_level(grid: Any, level: int) -> None:
    """Open a level for its first native: all boxes of finer levels become its guests."""
    if level < 0 or grid["open"] >> level & 1:
        return
    grid["open"] |= 1 << level
    boxes = boxes_of(grid)
    for j in range(grid["n"]):
        if boxes[j]["level"] >= 0 and boxes[j]["level"] < level:
            enter_level(grid, j, level, NO_TILES[0], NO_TILES[1])


@kernel(inline=False)
def rehash(grid: Any, box_id: int, low: Vec3, high: Vec3) -> None:
    """Move a box, and update its level and tiles."""
    box = boxes_of(grid)[box_id]
    first, last = first_tile(box), last_tile(box)
    store3(box["low"], low)
    store3(box["high"], high)
    level = choose_native_level(grid, box_id)
    if level != box["level"]:
        if box["level"] != hash_rows.ABSENT_LEVEL:
            withdraw_box(grid, box_id)
        open_level(grid, level)
        box["level"] = level
        box["scale"] = grid["finest"] * 0.5**level if level >= 0 else 0.0
        enter_box(grid, box_id)
    elif level != hash_rows.OVERSIZED_LEVEL:
        new_first, new_last = first_tile(box), last_tile(box)
        if not tiles_within(first, last, new_first, new_last):
            leave_tiles(grid, box_id, new_first, new_last)
        if not tiles_within(new_first, new_last, first, last):
            enter_levels(grid, box_id, first, last)


@kernel
def tiles_within(first: Vec3, last: Vec3, outer_first: Vec3, outer_last: Vec3) -> bool:
    """Whether a range of tiles is within another."""
    return (
        (outer_first[0] <= first[0]) & (last[0] <= outer_last[0]) & (outer_first[1] <= first[1])
        & (last[1] <= outer_last[1]) & (outer_first[2] <= first[2]) & (last[2] <= outer_last[2])
    )  # fmt: skip
