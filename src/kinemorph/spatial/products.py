"""Products of small matrices and vectors with the same bits on every processor.

NumPy passes `@` and `dot` to BLAS, whose kernels and last bits differ between processor families. Models, and so the
initial states of worlds, are computed by these functions instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def times(*factors: Any) -> Array:
    """The product of matrices (…, n, n), of which the last may be a vector (n)."""
    found = factors[0]
    for other in factors[1:]:
        found = np.einsum("...ij,j->...i" if other.ndim == 1 else "...ij,...jk->...ik", found, other)
    return np.asarray(found, dtype=np.float64)


def inner(a: Any, b: Any) -> float:
    """The product of two vectors."""
    return float(np.einsum("i,i->", a, b))


def length(x: Any) -> float:
    """The length of a vector."""
    return math.sqrt(inner(x, x))
