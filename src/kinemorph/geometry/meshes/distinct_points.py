"""Which points are distinct: files repeat vertices where colours or normals change."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def distinct_points(points: Array) -> tuple[Array, Array]:
    """The first point in each place, as rows in lexicographic order of the places; and the place of each point.

    This is `np.unique` with its indices, several times faster.
    """
    x = points + 0.0  # -0.0 becomes 0.0
    order = np.lexsort(x.T[::-1])  # stable: of equal points the first row comes first
    x = x[order]
    new = np.ones(len(x), dtype=bool)
    new[1:] = (x[1:] != x[:-1]).any(axis=1)
    place = np.empty(len(x), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return order[new], place
