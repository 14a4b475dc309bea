"""Reference for the hierarchical hash: its counts computed from the boxes, in plain Python, for `BroadPhase.check`."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.collision.broad.hash_rows import OVERSIZED_LEVEL, PLACE_MASK

if TYPE_CHECKING:
    from kinemorph.collision.broad.broad_phase import BroadPhase


def compare_counts(broad: BroadPhase) -> None:
    """Compare every count with one from scratch; AssertionError if one differs."""
    boxes, grid = broad.boxes, broad.hash.header[0]
    alive = broad.ids.tolist()
    level = boxes["level"].tolist()
    tiles = _tiles(broad)
    shared: Counter[tuple[int, int]] = Counter()
    for (*_, k), inside in tiles.items():
        natives = [i for i in inside if level[i] == k]
        shared.update((min(i, j), max(i, j)) for i in natives for j in inside if level[j] < k or i < j)
    shared.update((min(i, j), max(i, j)) for i in alive if level[i] == OVERSIZED_LEVEL
                  for j in alive if level[j] != OVERSIZED_LEVEL or i < j)  # fmt: skip
    wanted = {ij: n for ij, n in shared.items() if _wanted(broad, *ij)}
    rows = broad.rows[: grid["pair_count"]]
    rows = rows[rows["shared"] >= 0]
    counted = {(a, b): n for a, b, n, _ in rows.tolist() if n > 0}
    assert wanted == counted, f"counts differ: {set(wanted.items()) ^ set(counted.items())}"
    assert len({(a, b) for a, b, _, _ in rows.tolist()}) == len(rows), "a pair has two rows"
    assert all(a in broad and b in broad for a, b, _, _ in rows.tolist()), "a pair has outlived its box"
    assert broad.tile_count == len(tiles), f"{broad.tile_count} tiles are in use, expected {len(tiles)}"
    assert all(grid["open"] >> level[i] & 1 for i in alive if level[i] >= 0), "a level with natives is closed"


def _tiles(broad: BroadPhase) -> dict[Any, list[int]]:
    """The boxes in each tile, by coordinates and level."""
    boxes, grid = broad.boxes, broad.hash.header[0]
    tiles: dict[Any, list[int]] = {}
    for i in broad.ids.tolist():
        level, scale = int(boxes["level"][i]), boxes["scale"][i]
        first, last = (np.floor(boxes[corner][i] * scale).astype(int).tolist() for corner in ("low", "high"))
        for k in range(level, grid["top"] + 1) if level != OVERSIZED_LEVEL else ():
            if grid["open"] >> k & 1:
                s = k - level
                for xyz in product(*(range(a >> s, (b >> s) + 1) for a, b in zip(first, last, strict=True))):
                    tiles.setdefault((*(x & PLACE_MASK for x in xyz), k), []).append(i)
    return tiles


def _wanted(broad: BroadPhase, i: int, j: int) -> bool:
    """Whether the filters of two boxes allow a pair."""
    p, q = broad.hash["filters"][i], broad.hash["filters"][j]
    return bool(p["mask"] & q["group"] and q["mask"] & p["group"] and not (p["fixed"] and q["fixed"]))
