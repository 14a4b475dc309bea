"""Operations of a substep on whole vectors of an island, by SIMD lanes of four.

Plain loops would make LLVM test for overlapping vectors, and call a function to clear a few numbers.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.basis import remainder_product
from kinemorph.contact.layout import FULL_Y, whitened_rows
from kinemorph.jit.api import kernel
from kinemorph.spatial.lanes.four import fma, load_from, splat, store_from, sum_of


@kernel
def claim_numbers(solver: Any, count: int) -> int:
    """Claim zero numbers of Y. Returns the index of the first, -1 if Y is full."""
    used = solver["Y_used"]
    if used + count > solver["Y_room"]:
        solver["full"] |= FULL_Y
        return -1
    clear(whitened_rows(solver), used, count)
    solver["Y_used"] = used + count
    return used


@kernel
def clear(x: Any, at: int, count: int) -> None:
    """Set n numbers of x from entry `at` on to zero."""
    whole = count & ~3
    for k in range(at, at + whole, 4):
        store_from(x, k, splat(0.0))
    if count & 2:
        x[at + whole] = x[at + whole + 1] = 0.0
    if count & 1:
        x[at + count - 1] = 0.0


@kernel
def integrate_forces(z: Any, za: Any, h: float, g: Any, z0: Any, offset: int, count: int) -> tuple[float, float]:
    """z0 ← z + h za. Returns z0ᵀ g and gᵀ g."""
    whole, H = count & ~3, splat(h)
    along = size = splat(0.0)
    for k in range(offset, offset + whole, 4):
        x, y = load_from(z, k) + H * load_from(za, k), load_from(g, k)
        store_from(z0, k, x)
        along, size = fma(x, y, along), fma(y, y, size)
    for k in range(offset + whole, offset + count):
        z0[k] = z[k] + h * za[k]
    return _product_pair(along, size, z0, g, offset + whole, count)


@kernel
def subtract_vectors(z: Any, z0: Any, g: Any, offset: int, count: int) -> tuple[float, float]:
    """g ← z - z0. Returns z0ᵀ g and gᵀ g."""
    whole = count & ~3
    along = size = splat(0.0)
    for k in range(offset, offset + whole, 4):
        x = load_from(z0, k)
        y = load_from(z, k) - x
        store_from(g, k, y)
        along, size = fma(x, y, along), fma(y, y, size)
    for k in range(offset + whole, offset + count):
        g[k] = z[k] - z0[k]
    return _product_pair(along, size, z0, g, offset + whole, count)


@kernel
def _product_pair(along: Any, size: Any, z0: Any, g: Any, rest: int, count: int) -> tuple[float, float]:
    """The two products, with the last n & 3 entries added."""
    return sum_of(along) + remainder_product(z0, rest, g, rest, count), sum_of(size) + remainder_product(
        g, rest, g, rest, count
    )


@kernel
def add_scaled(x: Any, share: float, y: Any, z: Any, offset: int, count: int) -> None:
    """z ← x + share y."""
    whole, S = count & ~3, splat(share)
    for k in range(offset, offset + whole, 4):
        store_from(z, k, load_from(x, k) + S * load_from(y, k))
    for k in range(offset + whole, offset + count):
        z[k] = x[k] + share * y[k]
