"""Scratch memory of the narrow phase for one pair of shapes, one for each thread; nothing in it outlives a pair.

It is written all the time, so threads must not share its cache lines.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinemorph.collision.ground.search import GROUND_BODY
from kinemorph.collision.narrow.core_pair import CORE_PAIR
from kinemorph.collision.narrow.depth import WORK
from kinemorph.collision.narrow.manifold import MANIFOLD_POINT, MANIFOLD_ROWS
from kinemorph.collision.narrow.part_pairs import SEARCH, PartPairs
from kinemorph.collision.shapes.shape_rows import COLLISIONS
from kinemorph.multibody.tables import CACHE_LINE_BYTES, Tables, aligned_at

SCRATCH_TABLES: dict[str, tuple[int, Any]] = {
    "own": (1, COLLISIONS),  # COLLISIONS of a worker thread
    "search": (1, SEARCH),
    "work": (1, WORK),
    "row": (1, CORE_PAIR),
    "carried": (1, GROUND_BODY),
    "found": (2 * MANIFOLD_ROWS, MANIFOLD_POINT),
}
BYTE = np.dtype(np.uint8)


def _offsets() -> tuple[dict[str, int], int]:
    """Offset of each kind in the memory, and its total size in bytes."""
    places, end = {}, 2 * CACHE_LINE_BYTES
    for name, (count, dtype) in SCRATCH_TABLES.items():
        places[name] = end
        end += count * dtype.itemsize + -count * dtype.itemsize % CACHE_LINE_BYTES
    return places, end + 2 * CACHE_LINE_BYTES


SCRATCH_OFFSETS, SCRATCH_BYTES = _offsets()


@functools.cache
def empty_search() -> PartPairs:
    """A search without rows: few pairs need any."""
    return PartPairs(0)


def make_scratch(tables: Tables) -> None:
    """Make the same as tables of a COLLISIONS row, for the thread that owns it."""
    for name, (count, dtype) in SCRATCH_TABLES.items():
        if name != "own":
            tables.make(name, count, dtype)
    tables["search"][:] = empty_search().header


class Scratch:
    """The owner of scratch rows; a COLLISIONS row, or a row with fields of the same names, has the addresses."""

    __slots__ = ("_memory", "addresses")

    def __init__(self) -> None:
        self._memory, start = aligned_at(SCRATCH_BYTES, BYTE)
        self.addresses = {name: start + place for name, place in SCRATCH_OFFSETS.items()}
        at = SCRATCH_OFFSETS["search"]
        self._memory[at : at + SEARCH.itemsize] = empty_search().header.view(np.uint8)

    def lend(self, header: Any) -> None:
        """Write the addresses into all fields of a row that have these names."""
        for name, address in self.addresses.items():
            if name in header.dtype.names:
                header[name] = address
