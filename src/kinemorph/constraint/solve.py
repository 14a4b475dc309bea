"""Solver of exact constraints: G λ = - c with G = Y Yᵀ, island by island, of any rank.

Rows may depend on each other: redundant loops, planar mechanisms, singular configurations. G is factored with pivots,
each compared with the size of its row before cancellation, and dependent rows get no force.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.loop_layout import system_loops_of
from kinemorph.multibody.system import (
    F8,
    UNKNOWN_RANK,
    constraint_rows_of,
    factor_of,
    members_of,
    order_of,
    path_of,
    row_islands_of,
    y_numbers_of,
)
from kinemorph.spatial.scalar import LARGEST_FLOAT, sqrt

ROW_TURN_RATE = 30.0  # 1/rad or 1/m: how fast rows turn, at most, with the error of a loop
LARGEST_UNCERTAIN_SINE = 1e-3  # but rows at a larger angle to the others always count


@kernel(inline=False)
def multiply_rows(system: Any) -> None:
    """Compute G = Y Yᵀ of each island: products of a loop's rows with each other and with those of earlier loops."""
    loops = system_loops_of(system)
    islands = row_islands_of(system)
    rows = constraint_rows_of(system)
    path = path_of(system)
    Y = y_numbers_of(system)
    G = rows_at(system["G"], system["G_length"], F8)
    W = rows_at(system["W"], 6 * system["nv"], F8)
    for i in range(system["count"]):
        loop = loops[i]
        if loop["m"] == 0:
            continue
        island, row = islands[loop["island"]], rows[loop["first"]]
        multiply_loop_rows(loop, row, island, Y, G)
        alone = True
        for k in range(i):
            if loops[k]["island"] == loop["island"] and loops[k]["m"] > 0:
                if alone:
                    spread_rows(loop["m"], row, path, Y, W)
                    alone = False
                multiply_loop_pair(loop, loops[k], rows[loops[k]["first"]], island, path, Y, W, G)
        if not alone:
            clear_spread_rows(row, path, W)


@kernel
def spread_rows(count: int, row: Any, path: Any, Y: Any, W: Any) -> None:
    """Write the rows of a loop, whose first is given, into W: six entries for each degree of freedom."""
    at, y, length = row["path"], row["y"], row["length"]
    for e in range(length):
        w = 6 * path[at + e]
        for r in range(count):
            W[w + r] = Y[y + r * length + e]


@kernel
def clear_spread_rows(row: Any, path: Any, W: Any) -> None:
    """Set the used entries of W to zero again, also those that are not finite."""
    for e in range(row["path"], row["path"] + row["length"]):
        w = 6 * path[e]
        for r in range(6):
            W[w + r] = 0.0


@kernel
def multiply_loop_rows(loop: Any, row: Any, island: Any, Y: Any, G: Any) -> None:
    """Compute products of the rows of a loop with each other: all have the same path.

    Several sums are computed together, here and below, because one sum alone waits for each of its additions.
    """
    m, member, length = loop["m"], loop["member"], row["length"]
    for c in range(m):
        y = row["y"] + c * length
        for r in range(c, m, 2):
            x = row["y"] + r * length
            z = x + length if r + 1 < m else x
            s0 = s1 = 0.0
            for e in range(length):
                s0 += Y[x + e] * Y[y + e]
                s1 += Y[z + e] * Y[y + e]
            store_symmetric(G, island, member + r, member + c, s0)
            if r + 1 < m:
                store_symmetric(G, island, member + r + 1, member + c, s1)


@kernel
def multiply_loop_pair(loop: Any, other: Any, row: Any, island: Any, path: Any, Y: Any, W: Any, G: Any) -> None:
    """Compute products of the rows of a loop, which are in W, with those of another loop, whose first is given."""
    at, length, m, member = row["path"], row["length"], loop["m"], loop["member"]
    for c in range(other["m"]):
        y, j = row["y"] + c * length, other["member"] + c
        for r in range(0, m, 3):
            s0 = s1 = s2 = 0.0
            for e in range(length):
                w = 6 * path[at + e] + r
                s0 += W[w] * Y[y + e]
                s1 += W[w + 1] * Y[y + e]
                s2 += W[w + 2] * Y[y + e]
            store_symmetric(G, island, member + r, j, s0)
            if r + 1 < m:
                store_symmetric(G, island, member + r + 1, j, s1)
            if r + 2 < m:
                store_symmetric(G, island, member + r + 2, j, s2)


@kernel
def store_symmetric(G: Any, island: Any, index: int, other_index: int, x: float) -> None:
    """Store an entry of the matrix of an island, and its mirror image."""
    m, start = island["m"], island["G"]
    G[start + index * m + other_index] = x
    G[start + other_index * m + index] = x


@kernel
def set_dependence(system: Any, dependence: float) -> None:
    """Set the squared sine below which a row of any island counts as dependent."""
    islands = row_islands_of(system)
    for k in range(system["island_count"]):
        islands[k]["dependence"] = dependence


@kernel(inline=False)
def raise_dependence(system: Any, least: float) -> None:
    """The same, but larger for islands with open loops, whose errors are in the rows' c and make the rows uncertain.

    Without this a mechanism with redundant loops would freeze when rounding, or a stage of RK4, moves it off its path.
    Islands are independent of each other.
    """
    islands = row_islands_of(system)
    rows, members = constraint_rows_of(system), members_of(system)
    for k in range(system["island_count"]):
        error = 0.0
        for j in range(islands[k]["first"], islands[k]["first"] + islands[k]["m"]):
            error = max(error, abs(rows[members[j]]["c"]))
        sine = min(ROW_TURN_RATE * error, LARGEST_UNCERTAIN_SINE)
        islands[k]["dependence"] = max(least, sine * sine)


@kernel(inline=False)
def factor_rows(system: Any, damping: float) -> None:
    """Factor all islands, after `trust` or `doubt`. `damping` is a share of each row's size on the diagonal."""
    islands = row_islands_of(system)
    system["rank"] = 0
    for k in range(system["island_count"]):
        factor_island(system, islands[k], damping)
        known = islands[k]["rank"] != UNKNOWN_RANK and system["rank"] != UNKNOWN_RANK
        system["rank"] = system["rank"] + islands[k]["rank"] if known else UNKNOWN_RANK


@kernel(inline=False)
def factor_island(system: Any, island: Any, damping: float) -> None:
    """Cholesky factor F of G with pivots (Higham 2002, 10.3). Rows that depend on earlier ones come last."""
    m, first, dependence = island["m"], island["first"], island["dependence"]
    rows = constraint_rows_of(system)
    members = members_of(system)[first : first + m]
    order = order_of(system)[first : first + m]
    G = rows_at(system["G"], system["G_length"], F8)[island["G"] : island["G"] + m * m]
    F = factor_of(system)[island["G"] : island["G"] + m * m]
    for i in range(m):
        order[i] = i
        # the remaining diagonal, until the row is eliminated
        F[i * m + i] = G[i * m + i] + damping * rows[members[i]]["scale"]
        if not F[i * m + i] <= LARGEST_FLOAT:
            island["rank"] = UNKNOWN_RANK
            return
    rank = m
    for k in range(m):
        best = k
        left, size = -1.0, 1.0  # the largest share left / size, without a division
        for j in range(k, m):
            i = order[j]
            its_left, its_size = F[i * m + i], rows[members[i]]["scale"]
            if its_size > 0.0 and its_left * size > left * its_size:
                left, size, best = its_left, its_size, j
        if not left > dependence * size:
            rank = k
            break
        p = order[best]
        order[best] = order[k]
        order[k] = p
        pivot = sqrt(F[p * m + p])
        F[p * m + p] = pivot
        for j in range(k + 1, m):
            i = order[j]
            x = G[i * m + p]
            for l in range(k):
                x -= F[i * m + order[l]] * F[p * m + order[l]]
            x /= pivot
            F[i * m + p] = x
            F[i * m + i] -= x * x
    island["rank"] = rank


@kernel(inline=False)
def solve_rows(system: Any) -> None:
    """Solve G λ = - c for the independent rows of all islands; the others get λ = 0.

    If the rank is UNKNOWN, λ is NaN, and so are the accelerations that follow from it.
    """
    islands = row_islands_of(system)
    rows = constraint_rows_of(system)
    for k in range(system["island_count"]):
        m, first, rank = islands[k]["m"], islands[k]["first"], islands[k]["rank"]
        members = members_of(system)[first : first + m]
        order = order_of(system)[first : first + m]
        F = factor_of(system)[islands[k]["G"] : islands[k]["G"] + m * m]
        if rank == UNKNOWN_RANK:
            for j in range(m):
                rows[members[j]]["force"] = np.nan
            continue
        for j in range(rank, m):
            rows[members[order[j]]]["force"] = 0.0
        for j in range(rank):
            i = order[j]
            x = -rows[members[i]]["c"]
            for l in range(j):
                x -= F[i * m + order[l]] * rows[members[order[l]]]["force"]
            rows[members[i]]["force"] = x / F[i * m + i]
        for j in range(rank - 1, -1, -1):
            i = order[j]
            x = rows[members[i]]["force"]
            for l in range(j + 1, rank):
                x -= F[order[l] * m + i] * rows[members[order[l]]]["force"]
            rows[members[i]]["force"] = x / F[i * m + i]
