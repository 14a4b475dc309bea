"""Collision pairs and their counts of shared tiles: an open-addressing table in front of dense rows.

Fontijne 2.3.3: a pair is born when two boxes come to share a tile, counts the tiles they share at the coarser of their
native levels, and lingers for a few updates after the count has dropped to zero. A pair keeps its row as long as it
lives, so that others can keep what they know of the pair in a row of the same number; rows of pairs that are gone are
used again. The table of slots finds a row by two ids in constant time.
"""

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.collision.hash_rows import BOX, BOX_PAIR, FILTER, FULL_PAIRS, GONE, IGNORED, INDEX, MEETING, VACANT


@kernel
def wanted(p: Any, q: Any) -> bool:
    """Whether two boxes may meet at all, by what they are."""
    return (p["mask"] & q["group"]) != 0 and (q["mask"] & p["group"]) != 0 and p["fixed"] + q["fixed"] < 2


@kernel
def scatter(high: int, low: int) -> int:
    """A number from 0 to 2^62 for two of 32 bits: close ones are sent far apart.

    Nothing overflows on the way. Overflow of signed numbers is undefined for LLVM, and two places that compile the
    same formula could come to different results.
    """
    x = low * 0x3C6EF373 ^ high * 0x2545F491
    x = (x ^ x >> 31) & 0xFFFFFFFF
    x *= 0x27D4EB2F
    return x ^ x >> 32


@kernel
def home(i: int, j: int) -> int:
    """Where the search for the pair i < j begins."""
    return scatter(int(i), int(j))


@kernel
def slot_of(h: Any, i: int, j: int) -> int:
    """The slot that has the row of a pair, or the free one where it belongs."""
    slots = rows_at(h["slots"], h["slot_mask"] + 1, INDEX)
    pairs = rows_at(h["pairs"], h["pair_room"], BOX_PAIR)
    a = min(i, j)
    b = max(i, j)
    s = home(a, b) & h["slot_mask"]
    while slots[s]["i"] != VACANT and (pairs[slots[s]["i"]]["a"] != a or pairs[slots[s]["i"]]["b"] != b):
        s = (s + 1) & h["slot_mask"]
    return s


@kernel
def row_of(h: Any, i: int, j: int) -> int:
    """The row of a pair, made if there is none; -1 if the pair is not wanted or there is no room."""
    slot = rows_at(h["slots"], h["slot_mask"] + 1, INDEX)[slot_of(h, i, j)]
    if slot["i"] != VACANT:
        return slot["i"]
    filters = rows_at(h["filters"], h["n"], FILTER)
    if not wanted(filters[i], filters[j]):
        return -1
    pairs = rows_at(h["pairs"], h["pair_room"], BOX_PAIR)
    row = h["pair_free"]
    if row >= 0:
        h["pair_free"] = GONE - pairs[row]["shared"]
    elif h["pair_count"] < h["pair_room"]:
        row = h["pair_count"]
        h["pair_count"] = row + 1
    else:
        h["full"] |= FULL_PAIRS
        return -1
    h["pairs_made"] += 1
    rows_at(h["lives"], h["pair_room"], INDEX)[row]["i"] += 1
    slot["i"] = row
    pair = pairs[row]
    pair["a"] = min(i, j)
    pair["b"] = max(i, j)
    pair["shared"] = 0
    pair["linger"] = h["linger"]
    return row


@kernel(inline=False)
def share_tile(h: Any, i: int, j: int) -> None:
    """Two boxes share one more tile."""
    row = row_of(h, i, j)
    if row >= 0:
        pair = rows_at(h["pairs"], h["pair_room"], BOX_PAIR)[row]
        if pair["shared"] == 0 and pair["linger"] != IGNORED:
            pair["linger"] = h["linger"]
        pair["shared"] += 1


@kernel(inline=False)
def unshare_tile(h: Any, i: int, j: int) -> None:
    """Two boxes share one tile less. The pair stays: `age` lets it go in time."""
    row = rows_at(h["slots"], h["slot_mask"] + 1, INDEX)[slot_of(h, i, j)]["i"]
    if row != VACANT:  # else nobody wants the pair, or the table was full when it was to be made
        rows_at(h["pairs"], h["pair_room"], BOX_PAIR)[row]["shared"] -= 1


@kernel(inline=False)
def delete_pair(h: Any, row: int) -> None:
    """Give a row and its slot back."""
    pairs = rows_at(h["pairs"], h["pair_room"], BOX_PAIR)
    slots = rows_at(h["slots"], h["slot_mask"] + 1, INDEX)
    hole = slot_of(h, pairs[row]["a"], pairs[row]["b"])
    s = hole
    while True:  # close the gap: move up each later row that a search could no longer reach
        s = (s + 1) & h["slot_mask"]
        other = slots[s]["i"]
        if other == VACANT:
            break
        start = home(pairs[other]["a"], pairs[other]["b"])
        if ((s - start) & h["slot_mask"]) >= ((s - hole) & h["slot_mask"]):
            slots[hole]["i"] = other
            hole = s
    slots[hole]["i"] = VACANT
    pair = pairs[row]
    pair["a"] = 0
    pair["b"] = 0
    pair["linger"] = IGNORED  # `collect` passes by without a second look
    pair["shared"] = GONE - h["pair_free"]
    h["pair_free"] = row


@kernel(inline=False)
def grow_old(h: Any, row: int) -> None:
    """An update passes for a pair that shares no tile: in time it goes (the hysteresis of Fontijne 2.3.3)."""
    pair = rows_at(h["pairs"], h["pair_room"], BOX_PAIR)[row]
    if pair["linger"] == 0:
        delete_pair(h, row)
    elif pair["linger"] != IGNORED:
        pair["linger"] -= 1


@kernel(inline=False)
def collect(h: Any, passed: int, close: int) -> int:
    """Write the pairs whose boxes overlap, sorted by ids; with `close` (0, 1) all that share a tile or did so of late.

    Returns how many. `passed` updates (0, 1) go by. Two passes of counting sort, by b and then by a, are linear in
    boxes and pairs, whatever the table looks like.
    """
    boxes = rows_at(h["boxes"], h["n"], BOX)
    pairs = rows_at(h["pairs"], h["pair_room"], BOX_PAIR)
    found = rows_at(h["found"], h["pair_room"], MEETING)
    spare = rows_at(h["spare"], h["pair_room"], MEETING)
    tally = rows_at(h["tally"], h["n"] + 1, INDEX)
    m = 0
    for row in range(h["pair_count"]):
        pair = pairs[row]
        if pair["shared"] == 0 and passed:
            grow_old(h, row)
        found[m]["ij"][0] = pair["a"]  # written in any case: to add 0 or 1 is faster than to guess a branch
        found[m]["ij"][1] = pair["b"]
        found[m]["row"] = row
        m += (overlap(boxes[pair["a"]], boxes[pair["b"]]) | close) & (pair["linger"] != IGNORED)
    sort_by(found, spare, m, 1, tally)
    sort_by(spare, found, m, 0, tally)
    return m


@kernel
def overlap(p: Any, q: Any) -> int:
    """1 if two boxes overlap or touch, else 0."""
    pl, ph, ql, qh = p["low"], p["high"], q["low"], q["high"]
    return (
        (pl[0] <= qh[0]) & (ql[0] <= ph[0]) & (pl[1] <= qh[1])
        & (ql[1] <= ph[1]) & (pl[2] <= qh[2]) & (ql[2] <= ph[2])
    )  # fmt: skip


@kernel
def sort_by(source: Any, target: Any, m: int, side: int, tally: Any) -> None:
    """A stable counting sort of the first m meetings by one of the two ids."""
    for i in range(tally.shape[0]):
        tally[i]["i"] = 0
    for k in range(m):
        tally[source[k]["ij"][side] + 1]["i"] += 1
    for i in range(1, tally.shape[0]):
        tally[i]["i"] += tally[i - 1]["i"]
    for k in range(m):
        at = tally[source[k]["ij"][side]]
        target[at["i"]]["ij"][0] = source[k]["ij"][0]
        target[at["i"]]["ij"][1] = source[k]["ij"][1]
        target[at["i"]]["row"] = source[k]["row"]
        at["i"] += 1
