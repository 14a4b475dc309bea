"""Pairs of the hash sorted by ids; rows are reused, so their own order is arbitrary.

Overlapping pairs are few: they are found and sorted at each update. Pairs that share a tile are many, and nearly the
same from update to update: their sorted order is kept, removed pairs are dropped, and the few new ones are merged in.
"""

from typing import Any

from kinemorph.collision.broad import hash_rows
from kinemorph.collision.broad.hash_pairs import age_pair
from kinemorph.collision.broad.hash_rows import box_pairs_of, boxes_of
from kinemorph.jit.api import kernel, rows_at

INSERTION_SORT_ROWS = 16  # rows; fewer are sorted by insertion


@kernel
def collect_overlapping(grid: Any, passed: int) -> int:
    """Write the pairs whose boxes overlap, sorted by ids; `passed` updates (0 or 1) age them. Returns their number."""
    boxes = boxes_of(grid)
    pairs = box_pairs_of(grid)
    found = rows_at(grid["found"], grid["pair_room"], hash_rows.LISTED_PAIR)
    spare = rows_at(grid["sorted"], grid["pair_room"], hash_rows.LISTED_PAIR)
    m = 0
    order = -1  # sort key of the last one found: rows are reused, but most often in order
    sorted_so_far = True
    for row in range(grid["pair_count"]):
        pair = pairs[row]
        # Always: adding 0 or 1 is faster than a mispredicted branch.
        write_listed_pair(found[m], pair["a"], pair["b"], row)
        meets = boxes_overlap(boxes[pair["a"]], boxes[pair["b"]]) & (pair["linger"] != hash_rows.IGNORED)
        m += meets
        here = (int(pair["a"]) << 32) + int(pair["b"]) if meets else order
        sorted_so_far &= here >= order
        order = here
        if pair["shared"] == 0 and passed:
            age_pair(grid, row)
    grid["n_fresh"] = -1  # the kept order of close pairs is lost
    if not sorted_so_far:
        _sort_pairs(grid, found, spare, m)
    return m


@kernel
def boxes_overlap(box_a: Any, box_b: Any) -> int:
    """1 if two boxes overlap or touch, else 0."""
    pl, ph, ql, qh = box_a["low"], box_a["high"], box_b["low"], box_b["high"]
    return (
        (pl[0] <= qh[0]) & (ql[0] <= ph[0]) & (pl[1] <= qh[1])
        & (ql[1] <= ph[1]) & (pl[2] <= qh[2]) & (ql[2] <= ph[2])
    )  # fmt: skip


@kernel
def _sort_pairs(grid: Any, meetings: Any, spare: Any, count: int) -> None:
    """Sort by ids: counting sort by b and then by a, linear in boxes and pairs; insertion sort for a few."""
    if count <= INSERTION_SORT_ROWS:
        _insertion_sort(meetings, count)
        return
    tally = rows_at(grid["tally"], grid["n"] + 1, hash_rows.INDEX_ROW)
    _counting_sort(meetings, spare, count, 1, tally)
    _counting_sort(spare, meetings, count, 0, tally)


@kernel
def _insertion_sort(meetings: Any, count: int) -> None:
    """Insertion sort of the first `count` rows by both ids."""
    for k in range(1, count):
        a, b, row = meetings[k]["ij"][0], meetings[k]["ij"][1], meetings[k]["row"]
        i = k
        while i > 0 and (
            meetings[i - 1]["ij"][0] > a or (meetings[i - 1]["ij"][0] == a and meetings[i - 1]["ij"][1] > b)
        ):
            one = meetings[i - 1]
            write_listed_pair(meetings[i], one["ij"][0], one["ij"][1], one["row"])
            i -= 1
        write_listed_pair(meetings[i], a, b, row)


@kernel(inline=False)
def _counting_sort(source: Any, target: Any, count: int, side: int, tally: Any) -> None:
    """A stable counting sort of the first `count` rows by one of the two ids."""
    for i in range(tally.shape[0]):
        tally[i]["i"] = 0
    for k in range(count):
        tally[source[k]["ij"][side] + 1]["i"] += 1
    for i in range(1, tally.shape[0]):
        tally[i]["i"] += tally[i - 1]["i"]
    for k in range(count):
        at = tally[source[k]["ij"][side]]
        write_listed_pair(target[at["i"]], source[k]["ij"][0], source[k]["ij"][1], source[k]["row"])
        at["i"] += 1


@kernel
def write_listed_pair(meeting: Any, first: int, second: int, row: int) -> None:
    meeting["ij"][0] = first
    meeting["ij"][1] = second
    meeting["row"] = row


# --- close pairs, in a kept order ---


@kernel(inline=False)
def collect_close(grid: Any, passed: int) -> int:
    """Write the pairs that share a tile, or did so a few updates ago, sorted by ids. Returns their number.

    The previous order and the new pairs are merged into the other half of the table.
    """
    if grid["n_fresh"] < 0:
        _sort_close_pairs(grid)
    _sort_new_pairs(grid)
    room = grid["pair_room"]
    pairs = rows_at(grid["pairs"], room, hash_rows.BOX_PAIR)
    both = rows_at(grid["sorted"], 2 * room + 1, hash_rows.LISTED_PAIR)
    fresh = rows_at(grid["fresh"], hash_rows.MOST_NEW_PAIRS, hash_rows.LISTED_PAIR)
    found = rows_at(grid["found"], room + 1, hash_rows.LISTED_PAIR)
    old, new = (room, 0) if grid["half"] else (0, room)
    end = old + grid["n_sorted"]
    start = new
    m = 0
    f = 0
    while old < end or f < grid["n_fresh"]:
        if f < grid["n_fresh"] and (old == end or not _precedes(both[old], fresh[f])):
            next = fresh[f]
            old += old < end and not _precedes(next, both[old])  # a pair that was removed and came back
            f += 1
        else:
            next = both[old]
            old += 1
        a, b, row = next["ij"][0], next["ij"][1], next["row"]
        pair = pairs[row]
        if pair["shared"] == 0 and passed:
            age_pair(grid, row)
        alive = (pair["a"] == a) & (pair["b"] == b) & (pair["shared"] >= 0)
        write_listed_pair(both[new], a, b, row)  # always, as above
        write_listed_pair(found[m], a, b, row)
        new += alive
        m += alive & (pair["linger"] != hash_rows.IGNORED)
    grid["n_sorted"] = new - start
    grid["half"] = 1 - grid["half"]
    grid["n_fresh"] = 0
    return m


@kernel
def _precedes(first: Any, second: Any) -> bool:
    return first["ij"][0] < second["ij"][0] or (first["ij"][0] == second["ij"][0] and first["ij"][1] < second["ij"][1])


@kernel(inline=False)
def _sort_close_pairs(grid: Any) -> None:
    """Sort all pairs from scratch."""
    room = grid["pair_room"]
    pairs = rows_at(grid["pairs"], room, hash_rows.BOX_PAIR)
    order = rows_at(grid["sorted"], room, hash_rows.LISTED_PAIR)
    found = rows_at(grid["found"], room, hash_rows.LISTED_PAIR)
    m = 0
    for row in range(grid["pair_count"]):
        if pairs[row]["shared"] >= 0:
            write_listed_pair(order[m], pairs[row]["a"], pairs[row]["b"], row)
            m += 1
    _sort_pairs(grid, order, found, m)
    grid["n_sorted"] = m
    grid["n_fresh"] = 0
    grid["half"] = 0


@kernel(inline=False)
def _sort_new_pairs(grid: Any) -> None:
    """Sort the few new pairs, each once: a pair that was removed and came back keeps its last row."""
    fresh = rows_at(grid["fresh"], hash_rows.MOST_NEW_PAIRS, hash_rows.LISTED_PAIR)
    n = 0
    for k in range(grid["n_fresh"]):
        a, b, row = fresh[k]["ij"][0], fresh[k]["ij"][1], fresh[k]["row"]
        q = n
        while q > 0 and (fresh[q - 1]["ij"][0] > a or (fresh[q - 1]["ij"][0] == a and fresh[q - 1]["ij"][1] > b)):
            q -= 1
        if q > 0 and fresh[q - 1]["ij"][0] == a and fresh[q - 1]["ij"][1] == b:
            fresh[q - 1]["row"] = row
            continue
        for r in range(n, q, -1):
            write_listed_pair(fresh[r], fresh[r - 1]["ij"][0], fresh[r - 1]["ij"][1], fresh[r - 1]["row"])
        write_listed_pair(fresh[q], a, b, row)
        n += 1
    grid["n_fresh"] = n
