"""An orthonormal basis of the directions that loops forbid, and its removal from velocities and rows.

With G = Y Yᵀ = F Fᵀ (`constraint.solve`) the rows of Q = F⁻¹ Y are orthonormal, one for each independent constraint.
The whitened velocity z ← z - Qᵀ Q z keeps all loops closed; an impulse whose row y is projected likewise opens no loop,
and its effective mass includes the loops.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.multibody.system import (
    constraint_rows_of,
    factor_of,
    members_of,
    order_of,
    path_of,
    row_islands_of,
    y_numbers_of,
)
from kinemorph.spatial.lanes.four import fma, load_from, splat, sum_of
from kinemorph.spatial.scalar import sqrt


@kernel
def slice_product(x: Any, index: int, y: Any, other_index: int, count: int) -> float:
    """Dot product of n numbers of two vectors, from entries i and j on, four at a time."""
    total = splat(0.0)
    whole = count & ~3
    for k in range(0, whole, 4):
        total = fma(load_from(x, index + k), load_from(y, other_index + k), total)
    return sum_of(total) + remainder_product(x, index + whole, y, other_index + whole, count)


@kernel
def remainder_product(x: Any, index: int, y: Any, other_index: int, count: int) -> float:
    """Dot product of the last n % 4 numbers; without a loop, which LLVM would unroll eight times."""
    rest = 0.0
    if count & 2:
        rest = fma(x[index + 1], y[other_index + 1], fma(x[index], y[other_index], rest))
        index, other_index = index + 2, other_index + 2
    return fma(x[index], y[other_index], rest) if count & 1 else rest


@kernel
def three_slice_products(
    x: Any, a: int, b: int, index: int, y: Any, other_index: int, count: int
) -> tuple[float, float, float]:
    """Dot products of three slices of x with one of y, computed together."""
    one = two = three = splat(0.0)
    whole = count & ~3
    for k in range(0, whole, 4):
        v = load_from(y, other_index + k)
        one, two = fma(load_from(x, a + k), v, one), fma(load_from(x, b + k), v, two)
        three = fma(load_from(x, index + k), v, three)
    other_index += whole
    return (
        sum_of(one) + remainder_product(x, a + whole, y, other_index, count),
        sum_of(two) + remainder_product(x, b + whole, y, other_index, count),
        sum_of(three) + remainder_product(x, index + whole, y, other_index, count),
    )


@kernel
def subtract_scaled(x: Any, index: int, y: Any, other_index: int, count: int, share: float) -> None:
    """x ← x - share y, n numbers of each, from entries i and j on."""
    for k in range(count):
        x[index + k] -= share * y[other_index + k]


@kernel(inline=False)
def fill_basis(system: Any, Q: Any) -> int:
    """Fill the basis of all rows, after `factor_rows`, into Q: nv numbers for each vector. Returns the rank.

    Each vector is orthogonalized again, because the factor of nearly dependent rows is inaccurate.
    """
    islands = row_islands_of(system)
    nv, rank = system["nv"], 0
    for k in range(system["island_count"]):
        first = rank
        for j in range(islands[k]["rank"]):
            fill_basis_row(system, islands[k], first, j, Q)
            for i in range(rank):
                subtract_scaled(Q, rank * nv, Q, i * nv, nv, slice_product(Q, i * nv, Q, rank * nv, nv))
            size = sqrt(slice_product(Q, rank * nv, Q, rank * nv, nv))
            for i in range(rank * nv, rank * nv + nv):
                Q[i] = Q[i] / size if size > 0.0 else 0.0
            rank += 1
    return rank


@kernel
def fill_basis_row(system: Any, island: Any, first: int, other_index: int, Q: Any) -> None:
    """Fill row j of F⁻¹ Y of an island, whose rows before it are in Q from row `first` on."""
    m, nv, start = island["m"], system["nv"], island["first"]
    rows, path = constraint_rows_of(system), path_of(system)
    Y = y_numbers_of(system)
    members, order = members_of(system), order_of(system)
    F = factor_of(system)[island["G"] : island["G"] + m * m]
    i, at = order[start + other_index], (first + other_index) * nv
    row = rows[members[start + i]]
    for k in range(at, at + nv):
        Q[k] = 0.0
    for e in range(row["length"]):
        Q[at + path[row["path"] + e]] = Y[row["y"] + e]
    for l in range(other_index):
        subtract_scaled(Q, at, Q, (first + l) * nv, nv, F[i * m + order[start + l]])
    for k in range(at, at + nv):
        Q[k] /= F[i * m + i]


@kernel(inline=False)
def remove_loop_part(Q: Any, rank: int, nv: int, x: Any, at: int, share: float) -> None:
    """x ← x - share Qᵀ Q x, of the nv numbers from entry `at` on."""
    for j in range(rank):
        subtract_scaled(x, at, Q, j * nv, nv, share * slice_product(Q, j * nv, x, at, nv))


@kernel(inline=False)
def remove_row_loop_part(
    Q: Any, rank: int, nv: int, Y: Any, y: int, x: int, shift: int, length: int, kept: int
) -> None:
    """y ← y - Qᵀ Q x, for a vector x of nv numbers of which only `length` from `shift` on are not zero.

    All are in Y: y and the nonzero part of x from their entries on, and Q x is added to the entries from `kept` on.
    """
    for j in range(rank):
        along = slice_product(Q, j * nv + shift, Y, x, length)
        Y[kept + j] += along
        subtract_scaled(Y, y, Q, j * nv, nv, along)


@kernel(inline=False)
def add_projection_forces(system: Any, share: float, x: Any) -> None:
    """Add a share of the forces λ with Yᵀ λ = Qᵀ x to those of the rows, after `fill_basis`; x is used up."""
    islands = row_islands_of(system)
    rows, first = constraint_rows_of(system), 0
    for k in range(system["island_count"]):
        m, start, rank = islands[k]["m"], islands[k]["first"], max(islands[k]["rank"], 0)
        members, order = members_of(system), order_of(system)
        F = factor_of(system)[islands[k]["G"] : islands[k]["G"] + m * m]
        for j in range(rank - 1, -1, -1):
            i = order[start + j]
            for l in range(j + 1, rank):
                x[first + j] -= F[order[start + l] * m + i] * x[first + l]
            x[first + j] /= F[i * m + i]
            rows[members[start + i]]["force"] += share * x[first + j]
        first += rank
