"""Constraints that hold exactly: G λ = - c with G = Y Yᵀ, island by island, whatever the rank.

Rows may depend on each other: redundant loops, planar mechanisms, singular configurations. G is factored with pivots,
each compared with the size of its row before cancellation, and rows that depend on others bear no force.
"""

from __future__ import annotations

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.multibody.loops import LOOP
from kinemorph.multibody.system import F8, I8, ISLAND, ROW
from kinemorph.spatial.scalar import sqrt

UNSURE = 30.0  # 1/rad or 1/m: how much rows turn, at most, when a loop opens
MOST_UNSURE = 1e-3  # but rows at a larger angle to the others always count


@kernel(inline=False)
def multiply_rows(system: Any) -> None:
    """G = Y Yᵀ of each island: rows of one loop are spread out, then met by those of the loops before it."""
    loops = rows_at(system["loops"], system["count"], LOOP)
    rows = rows_at(system["rows"], system["m"], ROW)
    path = rows_at(system["path"], system["path_length"], I8)
    Y = rows_at(system["Y"], system["Y_length"], F8)
    nv = system["nv"]
    W = rows_at(system["W"], 6 * nv, F8)
    for i in range(system["count"]):
        loop = loops[i]
        if loop["m"] == 0:
            continue
        at, length = rows[loop["first"]]["path"], rows[loop["first"]]["length"]
        for r in range(loop["m"]):
            y = rows[loop["first"] + r]["y"]
            for e in range(length):
                W[r * nv + path[at + e]] = Y[y + e]
        for k in range(i + 1):
            if loops[k]["island"] == loop["island"]:
                meet(system, loop, loops[k], rows, path, Y, W)
        for r in range(loop["m"]):
            for e in range(length):
                W[r * nv + path[at + e]] = 0.0


@kernel
def meet(system: Any, loop: Any, other: Any, rows: Any, path: Any, Y: Any, W: Any) -> None:
    """Products of the rows of a loop, which are spread out in W, with those of another one."""
    if other["m"] == 0:
        return
    nv = system["nv"]
    island = rows_at(system["islands"], system["island_count"], ISLAND)[loop["island"]]
    G = rows_at(system["G"], system["G_length"], F8)
    m, start = island["m"], island["G"]
    at, length = rows[other["first"]]["path"], rows[other["first"]]["length"]
    for r in range(loop["m"]):
        i = loop["member"] + r
        for c in range(other["m"]):
            y = rows[other["first"] + c]["y"]
            total = 0.0
            for e in range(length):
                total += W[r * nv + path[at + e]] * Y[y + e]
            j = other["member"] + c
            G[start + i * m + j] = total
            G[start + j * m + i] = total


@kernel
def dependence(system: Any, error: float) -> float:
    """Squared sine below which a row depends on others, when loops are open by `error`: rows are no surer than that.

    A mechanism with redundant loops would else freeze as soon as rounding, or a stage of RK4, moves it off its path.
    """
    sine = min(UNSURE * error, MOST_UNSURE)
    return max(system["dependence"], sine * sine)


@kernel(inline=False)
def factor_rows(system: Any, dependence: float, damping: float) -> None:
    """The factors of all islands. `damping` is added to the diagonals, as a share of each row's size."""
    islands = rows_at(system["islands"], system["island_count"], ISLAND)
    system["rank"] = 0
    for k in range(system["island_count"]):
        factor_island(system, islands[k], dependence, damping)
        system["rank"] += islands[k]["rank"]


@kernel(inline=False)
def factor_island(system: Any, island: Any, dependence: float, damping: float) -> None:
    """Cholesky factor F of G with pivots (Higham 2002, 10.3). Rows that depend on those before them come last."""
    m, first = island["m"], island["first"]
    rows = rows_at(system["rows"], system["m"], ROW)
    members = rows_at(system["members"], system["m"], I8)[first : first + m]
    order = rows_at(system["order"], system["m"], I8)[first : first + m]
    G = rows_at(system["G"], system["G_length"], F8)[island["G"] : island["G"] + m * m]
    F = rows_at(system["F"], system["G_length"], F8)[island["G"] : island["G"] + m * m]
    for i in range(m):
        order[i] = i
        # what is left of the diagonal, until the row is eliminated
        F[i * m + i] = G[i * m + i] + damping * rows[members[i]]["scale"]
    rank = m
    for k in range(m):
        best = k
        share = -1.0
        for j in range(k, m):
            i = order[j]
            size = rows[members[i]]["scale"]
            left = F[i * m + i] / size if size > 0.0 else 0.0
            if left > share:
                share, best = left, j
        if not share > dependence:
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
    """λ with G λ = - c for the independent rows of all islands; the others get none."""
    islands = rows_at(system["islands"], system["island_count"], ISLAND)
    rows = rows_at(system["rows"], system["m"], ROW)
    for k in range(system["island_count"]):
        m, first, rank = islands[k]["m"], islands[k]["first"], islands[k]["rank"]
        members = rows_at(system["members"], system["m"], I8)[first : first + m]
        order = rows_at(system["order"], system["m"], I8)[first : first + m]
        F = rows_at(system["F"], system["G_length"], F8)[islands[k]["G"] : islands[k]["G"] + m * m]
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
