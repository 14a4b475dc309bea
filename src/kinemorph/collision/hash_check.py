"""The hierarchical hash counted again from nothing, in plain Python: what `BroadPhase.check` compares it with."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.collision.hash_rows import ALL_OVER, PLACE_MASK

if TYPE_CHECKING:
    from kinemorph.collision.broad import BroadPhase


def count_again(broad: BroadPhase) -> None:
    """Compare every counter with a count from scratch; AssertionError if one differs."""
    bodies, h = broad.bodies, broad._header[0]
    alive = broad.handles.tolist()
    level = bodies["level"].tolist()
    tiles = _tiles(broad)
    shared: Counter[tuple[int, int]] = Counter()
    for (*_, k), inside in tiles.items():
        natives = [i for i in inside if level[i] == k]
        shared.update((min(i, j), max(i, j)) for i in natives for j in inside if level[j] < k or i < j)
    shared.update((min(i, j), max(i, j)) for i in alive if level[i] == ALL_OVER
                  for j in alive if level[j] != ALL_OVER or i < j)  # fmt: skip
    wanted = {ij: n for ij, n in shared.items() if _wanted(broad, *ij)}
    rows = broad.rows[: h["pair_count"]]
    rows = rows[rows["count"] >= 0]
    counted = {(a, b): n for a, b, n, _ in rows.tolist() if n > 0}
    assert wanted == counted, f"counters differ: {set(wanted.items()) ^ set(counted.items())}"
    assert len({(a, b) for a, b, _, _ in rows.tolist()}) == len(rows), "a pair has two rows"
    assert all(a in broad and b in broad for a, b, _, _ in rows.tolist()), "a pair has outlived its body"
    assert broad.tile_count == len(tiles), f"{broad.tile_count} tiles are in use, expected {len(tiles)}"
    assert all(h["open"] >> level[i] & 1 for i in alive if level[i] >= 0), "a level with natives is closed"


def _tiles(broad: BroadPhase) -> dict[Any, list[int]]:
    """Of each tile, which is a place and a level, the bodies in it."""
    bodies, h = broad.bodies, broad._header[0]
    tiles: dict[Any, list[int]] = {}
    for i in broad.handles.tolist():
        level, scale = int(bodies["level"][i]), bodies["scale"][i]
        first, last = (np.floor(bodies[corner][i] * scale).astype(int).tolist() for corner in ("low", "high"))
        for k in range(level, h["top"] + 1) if level != ALL_OVER else ():
            if h["open"] >> k & 1:
                s = k - level
                for xyz in product(*(range(a >> s, (b >> s) + 1) for a, b in zip(first, last, strict=True))):
                    tiles.setdefault((*(x & PLACE_MASK for x in xyz), k), []).append(i)
    return tiles


def _wanted(broad: BroadPhase, i: int, j: int) -> bool:
    p, q = broad._tables["kinds"][i], broad._tables["kinds"][j]
    return bool(p["mask"] & q["group"] and q["mask"] & p["group"] and not (p["fixed"] and q["fixed"]))
