"""Functions of four floats at once, for kernels: `spatial.lanes.lane_type` registers their types with Numba.

The registration happens when a kernel is first called. Users without kernels of this package import
`spatial.lanes.lane_type` themselves. With the JIT off, four lanes are a NumPy array of four (`Four`).
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from kinemorph.jit import api
from kinemorph.spatial.fused import fma as fma
from kinemorph.spatial.vec3 import Scalar

LANE_COUNT = 4


class Four(np.ndarray[Any, Any]):
    """Four numbers, or a mask, with the JIT off."""

    is_lanes = True


def four(values: Any) -> Four:
    return np.array(values).view(Four)


def load(a: Any, k: int) -> Scalar:
    """Row k of an array of shape (n, 4)."""
    return four(a[k])


def store(a: Any, k: int, x: Scalar) -> None:
    a[k] = x


def load_from(a: Any, i: int) -> Scalar:
    """a[i] to a[i + 3] of a flat array."""
    return four(a[i : i + LANE_COUNT])


def store_from(a: Any, i: int, x: Scalar) -> None:
    a[i : i + LANE_COUNT] = x


def load_pairs(a: Any, i: int, j: int) -> Scalar:
    """a[i], a[i + 1], a[j] and a[j + 1] of a flat array."""
    return four([a[i], a[i + 1], a[j], a[j + 1]])


def store_pairs(a: Any, i: int, j: int, x: Scalar) -> None:
    a[i : i + 2], a[j : j + 2] = x[:2], x[2:]


def load_pair(a: Any, i: int) -> Scalar:
    """a[i], a[i + 1] of a flat array, and two zeros."""
    return four([a[i], a[i + 1], 0.0, 0.0])


def store_pair(a: Any, i: int, x: Scalar) -> None:
    """The first two of four."""
    a[i : i + 2] = x[:2]


def load_strided(a: Any, start: int, stride: int) -> Scalar:
    """a[start], a[start + stride], ... of a flat array: one entry of four states that lie one behind the other."""
    return four([a[start + i * stride] for i in range(LANE_COUNT)])


def store_strided(a: Any, start: int, stride: int, x: Scalar) -> None:
    for i in range(LANE_COUNT):
        a[start + i * stride] = lane(x, i)


def splat(x: float) -> Scalar:
    """Four times the same number."""
    return four([float(x)] * LANE_COUNT)


def lane(x: Scalar, i: int) -> float:
    return float(x[i])


def replaced(x: Scalar, i: int, value: float) -> Scalar:
    """x with another number in lane i."""
    y = x.copy()
    y[i] = value
    return y


def three(a: float, b: float, c: float) -> Scalar:
    """Three numbers and a zero."""
    return four([a, b, c, 0.0])


def turned(x: Scalar) -> Scalar:
    """The first three lanes in a circle: lanes 1, 2, 0, 3."""
    return x[[1, 2, 0, 3]]


def columns(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Lanes 0 of all four, lanes 1, lanes 2 and lanes 3."""
    return (
        four([a[0], b[0], c[0], d[0]]),
        four([a[1], b[1], c[1], d[1]]),
        four([a[2], b[2], c[2], d[2]]),
        four([a[3], b[3], c[3], d[3]]),
    )


def select(mask: Any, yes: Scalar, no: Scalar) -> Scalar:
    return four(np.where(mask, yes, no))


def any_true(mask: Any) -> bool:
    return bool(np.any(mask))


def all_true(mask: Any) -> bool:
    return bool(np.all(mask))


def sqrt(x: Scalar) -> Scalar:
    return np.sqrt(x)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """The smaller, b if either is NaN."""
    return select(a < b, a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """The larger, b if either is NaN."""
    return select(a > b, a, b)


def power_of_two(k: Scalar) -> Scalar:
    """2^k for whole k from -1022 to 1023."""
    return np.ldexp(1.0, k.astype(int)).view(Four)


def exponent(x: Scalar) -> Scalar:
    """The exponent field of positive normal numbers: 1023 for 1 <= x < 2."""
    return (x.view(np.int64) >> 52).astype(float).view(Four)


def mantissa(x: Scalar) -> Scalar:
    """The digits of positive normal numbers: 1 <= m < 2."""
    return ((x.view(np.int64) & ((1 << 52) - 1)) | (1023 << 52)).view(np.float64).view(Four)


def sum_of(x: Scalar) -> float:
    return (lane(x, 0) + lane(x, 2)) + (lane(x, 1) + lane(x, 3))


def min_of(x: Scalar) -> float:
    return min(min(lane(x, 0), lane(x, 1)), min(lane(x, 2), lane(x, 3)))


def max_of(x: Scalar) -> float:
    return max(max(lane(x, 0), lane(x, 1)), max(lane(x, 2), lane(x, 3)))


api.when_needed(lambda numba: importlib.import_module("kinemorph.spatial.lanes.lane_type"))
