"""Many pairs of convex shapes as rows, evaluated in one call: for tests, measurements and tracked contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinemorph.collision.narrow.core_pair import CORE_PAIR, evaluate_core_pair
from kinemorph.collision.narrow.depth import WORK
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.jit.api import entry


class CorePairs:
    """Pairs of cores, the second of each at `rows["R"]`, `rows["p"]` in the frame of the first.

    `rows` hold the input and, after `update`, the answers. The cores live as long as this object or any view of its
    rows, which hold their addresses; copies of this object have their own rows.
    """

    __slots__ = ("_work", "cores", "rows")

    def __init__(self, cores: Sequence[tuple[Polyhedron, Polyhedron]], radii: Any = 0.0) -> None:
        radius = np.broadcast_to(np.asarray(radii, dtype=np.float64), (len(cores), 2))
        if not ((radius >= 0.0) & (radius < np.inf)).all():
            raise ValueError(f"CorePairs: radii {np.asarray(radii).tolist()} must be finite and not negative")
        self.cores = tuple((first, second) for first, second in cores)
        self.rows = _rows_of(self.cores)
        self.rows["R"] = np.eye(3).reshape(9)
        self.rows["radius1"], self.rows["radius2"] = radius[:, 0], radius[:, 1]
        self._work = make_work()

    def update(self) -> Any:
        """Evaluate all pairs, each starting from its previous features. Returns the rows."""
        update_core_pairs(self.rows, self._work)
        return self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def __reduce__(self) -> Any:
        return _copy_core_pairs, (self.cores, self.rows)


def _copy_core_pairs(cores: Sequence[tuple[Polyhedron, Polyhedron]], rows: Any) -> CorePairs:
    """A copy of unpickled pairs, with rows that point to its own cores."""
    pairs = CorePairs(cores)
    addresses = pairs.rows["core1"].copy(), pairs.rows["core2"].copy()
    pairs.rows[:] = rows
    pairs.rows["core1"], pairs.rows["core2"] = addresses
    return pairs


class _Memory(np.ndarray[Any, np.dtype[Any]]):
    """Memory of rows that keeps the cores alive to which the rows point."""

    cores: Any


def _rows_of(cores: Any) -> Any:
    memory = _Memory(len(cores), CORE_PAIR)
    memory.cores = cores
    rows: Any = memory.view(np.ndarray)
    rows[:] = np.zeros(1, CORE_PAIR)
    rows["core1"], rows["core2"] = [a.address for a, _ in cores], [b.address for _, b in cores]
    return rows


def make_work() -> Any:
    """Scratch memory for penetration depths, for one thread."""
    return np.zeros(1, WORK)


@entry(nogil=True)
def update_core_pairs(pairs: Any, work: Any) -> None:
    """Evaluate all pairs: rows of CORE_PAIR, and one row of WORK."""
    for k in range(pairs.shape[0]):
        evaluate_core_pair(pairs[k], work[0])
