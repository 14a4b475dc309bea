"""What looking at one pair of shapes needs, and nobody remembers: one for each thread that looks.

It is written all the time, so no cache line of it may be one of another thread's as well.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinemorph.collision.ground.search import CARRIED
from kinemorph.collision.narrow.core_pair import CORE_PAIR
from kinemorph.collision.narrow.depth import WORK
from kinemorph.collision.narrow.manifold import MANIFOLD_ROWS, POINT
from kinemorph.collision.narrow.part_pairs import SEARCH, PartPairs
from kinemorph.collision.shapes.shape_rows import COLLISIONS
from kinemorph.multibody.tables import CACHE_LINE_BYTES, Tables, aligned_at

KINDS: dict[str, tuple[int, Any]] = {
    "own": (1, COLLISIONS),  # for a thread that has no other
    "search": (1, SEARCH),
    "work": (1, WORK),
    "row": (1, CORE_PAIR),
    "carried": (1, CARRIED),
    "found": (2 * MANIFOLD_ROWS, POINT),
}
BYTE = np.dtype(np.uint8)


def _places() -> tuple[dict[str, int], int]:
    """Where in its memory each kind begins, and where it ends."""
    places, end = {}, 2 * CACHE_LINE_BYTES
    for name, (count, dtype) in KINDS.items():
        places[name] = end
        end += count * dtype.itemsize + -count * dtype.itemsize % CACHE_LINE_BYTES
    return places, end + 2 * CACHE_LINE_BYTES


PLACES, SIZE = _places()


@functools.cache
def no_search() -> PartPairs:
    """Room for none: few need more."""
    return PartPairs(0)


def make_scratch(tables: Tables) -> None:
    """The same as tables of a COLLISIONS row, for the thread that has it."""
    for name, (count, dtype) in KINDS.items():
        if name != "own":
            tables.make(name, count, dtype)
    tables["search"][:] = no_search().header


class Scratch:
    """The owner of rows that a COLLISIONS row, or another row with fields of the same names, has the addresses of."""

    __slots__ = ("_memory", "addresses")

    def __init__(self) -> None:
        self._memory, start = aligned_at(SIZE, BYTE)
        self.addresses = {name: start + place for name, place in PLACES.items()}
        at = PLACES["search"]
        self._memory[at : at + SEARCH.itemsize] = no_search().header.view(np.uint8)

    def lend(self, header: Any) -> None:
        """Write all addresses that a row has fields for."""
        for name, address in self.addresses.items():
            if name in header.dtype.names:
                header[name] = address
