"""The pairs of the hash in the order of their ids, and which of them overlap.

The order does not follow from the table of pairs, whose rows are used again, so it is kept from update to update: what
is gone drops out, and the few pairs that are new are sorted in. If they are many, all are sorted from scratch.
"""

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.collision.hash_pairs import grow_old
from kinemorph.collision.hash_rows import BOX, BOX_PAIR, FRESH, IGNORED, INDEX, MEETING


@kernel(inline=False)
def collect(h: Any, passed: int, close: int) -> int:
    """Write the pairs whose boxes overlap, sorted by ids; with `close` (0, 1) all that share a tile or did so of late.

    Returns how many. `passed` updates (0, 1) go by. The order of before and what is new are merged on the way, into the
    other half of the table.
    """
    if h["n_fresh"] < 0:
        _sort_all(h)
    _sort_fresh(h)
    room = h["pair_room"]
    boxes = rows_at(h["boxes"], h["n"], BOX)
    pairs = rows_at(h["pairs"], room, BOX_PAIR)
    both = rows_at(h["sorted"], 2 * room + 1, MEETING)
    fresh = rows_at(h["fresh"], FRESH, MEETING)
    found = rows_at(h["found"], room + 1, MEETING)
    old, new = (room, 0) if h["half"] else (0, room)
    end = old + h["n_sorted"]
    start = new
    m = 0
    f = 0
    while old < end or f < h["n_fresh"]:
        if f < h["n_fresh"] and (old == end or not _comes_first(both[old], fresh[f])):
            next = fresh[f]
            old += old < end and not _comes_first(next, both[old])  # a pair that was gone and has come back
            f += 1
        else:
            next = both[old]
            old += 1
        a, b, row = next["ij"][0], next["ij"][1], next["row"]
        pair = pairs[row]
        if pair["shared"] == 0 and passed:
            grow_old(h, row)
        alive = (pair["a"] == a) & (pair["b"] == b) & (pair["shared"] >= 0)
        _write(both[new], a, b, row)  # in any case: to add 0 or 1 is faster than to guess a branch
        _write(found[m], a, b, row)
        new += alive
        m += (overlap(boxes[a], boxes[b]) | close) & alive & (pair["linger"] != IGNORED)
    h["n_sorted"] = new - start
    h["half"] = 1 - h["half"]
    h["n_fresh"] = 0
    return m


@kernel
def _write(meeting: Any, a: int, b: int, row: int) -> None:
    meeting["ij"][0] = a
    meeting["ij"][1] = b
    meeting["row"] = row


@kernel
def _comes_first(p: Any, q: Any) -> bool:
    return p["ij"][0] < q["ij"][0] or (p["ij"][0] == q["ij"][0] and p["ij"][1] < q["ij"][1])


@kernel
def overlap(p: Any, q: Any) -> int:
    """1 if two boxes overlap or touch, else 0."""
    pl, ph, ql, qh = p["low"], p["high"], q["low"], q["high"]
    return (
        (pl[0] <= qh[0]) & (ql[0] <= ph[0]) & (pl[1] <= qh[1])
        & (ql[1] <= ph[1]) & (pl[2] <= qh[2]) & (ql[2] <= ph[2])
    )  # fmt: skip


@kernel(inline=False)
def _sort_fresh(h: Any) -> None:
    """Bring the few new pairs into their order, each once: one that has gone and come back has its last row."""
    fresh = rows_at(h["fresh"], FRESH, MEETING)
    n = 0
    for k in range(h["n_fresh"]):
        a, b, row = fresh[k]["ij"][0], fresh[k]["ij"][1], fresh[k]["row"]
        q = n
        while q > 0 and (fresh[q - 1]["ij"][0] > a or (fresh[q - 1]["ij"][0] == a and fresh[q - 1]["ij"][1] > b)):
            q -= 1
        if q > 0 and fresh[q - 1]["ij"][0] == a and fresh[q - 1]["ij"][1] == b:
            fresh[q - 1]["row"] = row
            continue
        for r in range(n, q, -1):
            _write(fresh[r], fresh[r - 1]["ij"][0], fresh[r - 1]["ij"][1], fresh[r - 1]["row"])
        _write(fresh[q], a, b, row)
        n += 1
    h["n_fresh"] = n


@kernel(inline=False)
def _sort_all(h: Any) -> None:
    """Sort from scratch: two passes of counting sort, by b and then by a, linear in boxes and pairs."""
    room = h["pair_room"]
    pairs = rows_at(h["pairs"], room, BOX_PAIR)
    order = rows_at(h["sorted"], room, MEETING)
    found = rows_at(h["found"], room, MEETING)
    tally = rows_at(h["tally"], h["n"] + 1, INDEX)
    m = 0
    for row in range(h["pair_count"]):
        if pairs[row]["shared"] >= 0:
            _write(order[m], pairs[row]["a"], pairs[row]["b"], row)
            m += 1
    _sort_by(order, found, m, 1, tally)
    _sort_by(found, order, m, 0, tally)
    h["n_sorted"] = m
    h["n_fresh"] = 0
    h["half"] = 0


@kernel
def _sort_by(source: Any, target: Any, m: int, side: int, tally: Any) -> None:
    """A stable counting sort of the first m meetings by one of the two ids."""
    for i in range(tally.shape[0]):
        tally[i]["i"] = 0
    for k in range(m):
        tally[source[k]["ij"][side] + 1]["i"] += 1
    for i in range(1, tally.shape[0]):
        tally[i]["i"] += tally[i - 1]["i"]
    for k in range(m):
        at = tally[source[k]["ij"][side]]
        _write(target[at["i"]], source[k]["ij"][0], source[k]["ij"][1], source[k]["row"])
        at["i"] += 1
