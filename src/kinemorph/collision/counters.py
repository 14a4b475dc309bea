"""Collision pairs and their counters of shared tiles: an open-addressing table in front of dense rows.

Fontijne 2.3.3: a pair is born when two bodies come to share a tile, counts the tiles they share at the coarser of their
native levels, and lingers for a few updates after the count has dropped to zero. The rows are dense, so that going
through all pairs costs what there are pairs; the table finds a row by the two handles in constant time.
"""

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.collision.hash_rows import BODY, FREE, FULL_PAIRS, HANDLE, IGNORED, MEETING, PAIR, SLOT

POSITIVE = 0x7FFFFFFFFFFFFFFF


@kernel
def wanted(p: Any, q: Any) -> bool:
    """Whether two bodies may meet at all, by what they are."""
    return (p["mask"] & q["group"]) != 0 and (q["mask"] & p["group"]) != 0 and p["fixed"] + q["fixed"] < 2


@kernel
def pair_key(i: int, j: int) -> int:
    return int(min(i, j)) << 32 | int(max(i, j))


@kernel
def slot_of(h: Any, key: int) -> int:
    """The slot that holds a key, or the free one where it belongs."""
    slots = rows_at(h["slots"], h["slot_mask"] + 1, SLOT)
    s = home(key) & h["slot_mask"]
    while slots[s]["key"] != key and slots[s]["key"] != FREE:
        s = (s + 1) & h["slot_mask"]
    return s


@kernel
def home(key: int) -> int:
    x = key * 0x1E3779B97F4A7C15
    return (x ^ x >> 32) & POSITIVE


@kernel
def row_of(h: Any, i: int, j: int) -> int:
    """The row of a pair, made if there is none; -1 if the pair is not wanted or there is no room."""
    key = pair_key(i, j)
    slot = rows_at(h["slots"], h["slot_mask"] + 1, SLOT)[slot_of(h, key)]
    if slot["key"] == key:
        return slot["row"]
    bodies = rows_at(h["bodies"], h["n"], BODY)
    if not wanted(bodies[i], bodies[j]):
        return -1
    row = h["pair_count"]
    if row == h["pair_room"]:
        h["full"] |= FULL_PAIRS
        return -1
    slot["key"] = key
    slot["row"] = row
    pair = rows_at(h["pairs"], h["pair_room"], PAIR)[row]
    pair["a"] = min(i, j)
    pair["b"] = max(i, j)
    pair["count"] = 0
    pair["linger"] = h["linger"]
    h["pair_count"] = row + 1
    return row


@kernel(inline=False)
def raise_counter(h: Any, i: int, j: int) -> None:
    """Two bodies share one more tile."""
    row = row_of(h, i, j)
    if row >= 0:
        pair = rows_at(h["pairs"], h["pair_room"], PAIR)[row]
        if pair["count"] == 0 and pair["linger"] != IGNORED:
            pair["linger"] = h["linger"]
        pair["count"] += 1


@kernel(inline=False)
def lower_counter(h: Any, i: int, j: int) -> None:
    """Two bodies share one tile less. The pair stays: `age` lets it go in time."""
    key = pair_key(i, j)
    slot = rows_at(h["slots"], h["slot_mask"] + 1, SLOT)[slot_of(h, key)]
    if slot["key"] == key:  # else nobody wants the pair, or the table was full when it was to be made
        rows_at(h["pairs"], h["pair_room"], PAIR)[slot["row"]]["count"] -= 1


@kernel(inline=False)
def delete_pair(h: Any, row: int) -> None:
    """Free a row, which the last one then fills, and its slot."""
    pairs = rows_at(h["pairs"], h["pair_room"], PAIR)
    slots = rows_at(h["slots"], h["slot_mask"] + 1, SLOT)
    hole = slot_of(h, pair_key(pairs[row]["a"], pairs[row]["b"]))
    s = hole
    while True:  # close the gap: move up each later key that a search could no longer reach
        s = (s + 1) & h["slot_mask"]
        key = int(slots[s]["key"])
        if key == FREE:
            break
        if ((s - home(key)) & h["slot_mask"]) >= ((s - hole) & h["slot_mask"]):
            slots[hole]["key"] = key
            slots[hole]["row"] = slots[s]["row"]
            hole = s
    slots[hole]["key"] = FREE
    last = h["pair_count"] - 1
    if row != last:
        slots[slot_of(h, pair_key(pairs[last]["a"], pairs[last]["b"]))]["row"] = row
        pairs[row]["a"] = pairs[last]["a"]
        pairs[row]["b"] = pairs[last]["b"]
        pairs[row]["count"] = pairs[last]["count"]
        pairs[row]["linger"] = pairs[last]["linger"]
    h["pair_count"] = last


@kernel
def age(h: Any) -> None:
    """One update passes: pairs that have shared no tile for long enough go (the hysteresis of Fontijne 2.3.3)."""
    pairs = rows_at(h["pairs"], h["pair_room"], PAIR)
    row = 0
    while row < h["pair_count"]:
        pair = pairs[row]
        if pair["count"] == 0 and pair["linger"] != IGNORED:
            if pair["linger"] == 0:
                delete_pair(h, row)
                continue  # with the row that took its place
            pair["linger"] -= 1
        row += 1


@kernel(inline=False)
def collect(h: Any) -> int:
    """Write the pairs whose boxes overlap, sorted by handles. Returns how many there are.

    Two passes of counting sort, by b and then by a: linear in bodies and pairs, whatever the table looks like.
    """
    bodies = rows_at(h["bodies"], h["n"], BODY)
    pairs = rows_at(h["pairs"], h["pair_room"], PAIR)
    found = rows_at(h["found"], h["pair_room"], MEETING)
    spare = rows_at(h["spare"], h["pair_room"], MEETING)
    tally = rows_at(h["tally"], h["n"] + 1, HANDLE)
    m = 0
    for row in range(h["pair_count"]):
        pair = pairs[row]
        found[m]["ij"][0] = pair["a"]  # written in any case: to add 0 or 1 is faster than to guess a branch
        found[m]["ij"][1] = pair["b"]
        m += overlap(bodies[pair["a"]], bodies[pair["b"]]) & (pair["linger"] != IGNORED)
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
    """A stable counting sort of the first m meetings by one of the two handles."""
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
        at["i"] += 1
