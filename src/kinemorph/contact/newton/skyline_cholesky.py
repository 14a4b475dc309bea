"""The matrix of a direct solve, H = 1 + Σ Y G Yᵀ, and its Cholesky factor, in skyline (profile) storage.

A row is stored from its first nonzero entry to its diagonal; the factor has the same profile. Trees are ordered by
index, or by level from the ground up, whichever takes less work: a stack becomes a band matrix, whose work is linear
in its height.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.basis import slice_product
from kinemorph.contact import layout
from kinemorph.contact.newton.load_estimate import tree_mass
from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sqrt
from kinemorph.structure.forest.layout import tree_of, trees_of

COST_ROW_SIZE = layout.COST_ROW.itemsize
DEEP_OVERLAP = 2e-3  # m: more than any load causes
NARROW_ROW_WORK = 144  # multiplications per row, as of two free bodies: narrower profiles need no other order


@kernel
def lower_first_columns(low: Any, row: int, length: int, column: int) -> None:
    for k in range(row, row + length):
        low[k] = min(low[k], column)


@kernel(inline=False)
def find_profile(solver: Any, island: Any) -> int:
    """Find the first column of each row, for the current order of z. Returns the multiplications of a factorization."""
    first, nz = island["offset"], island["nz"]
    row_of, low = layout.skyline_rows_of(solver)[first:], layout.first_columns_of(solver)[first:]
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    for k in range(nz):
        low[k] = k
    for i in range(island["contact_count"]):
        t = contacts[i]
        second = row_of[t["offset2"] - first] if t["length2"] > 0 else nz
        one = row_of[t["offset1"] - first] if t["length1"] > 0 else nz
        column = min(one, second)
        if t["length1"] > 0:
            lower_first_columns(low, one, t["length1"], column)
        if t["length2"] > 0:
            lower_first_columns(low, second, t["length2"], column)
    for i in range(island["dof_constraint_count"]):
        row = row_of[dof_rows[i]["offset"] - first]
        lower_first_columns(low, row, dof_rows[i]["length"], row)
    work = 0
    for k in range(nz):
        work += (k - low[k] + 1) * (k - low[k] + 1)
    return work


@kernel
def order_rows_by_index(solver: Any, island: Any) -> None:
    row_of = layout.skyline_rows_of(solver)[island["offset"] :]
    for k in range(island["nz"]):
        row_of[k] = k


@kernel(inline=False)
def order_rows_by_level(solver: Any, island: Any) -> None:
    """Order the rows of an island's trees by level from the lowest, and by index within a level."""
    first, nz = island["offset"], island["nz"]
    slices = layout.slices_of(solver)
    row_of = layout.skyline_rows_of(solver)[first:]
    count = layout.first_columns_of(solver)[first:]
    for k in range(nz):
        count[k] = 0
    t = island["first_tree"]
    while t >= 0:
        if slices[t]["width"] > 0:
            count[min(max(slices[t]["level"], 0), nz - 1)] += slices[t]["width"]
        t = slices[t]["next"]
    row = 0
    for k in range(nz):
        row, count[k] = row + count[k], row
    t = island["first_tree"]
    while t >= 0:
        if slices[t]["width"] > 0:
            level = min(max(slices[t]["level"], 0), nz - 1)
            for k in range(slices[t]["width"]):
                row_of[slices[t]["offset"] - first + k] = count[level] + k
            count[level] += slices[t]["width"]
        t = slices[t]["next"]


@kernel
def sum_island_mass(solver: Any, trees: Any, island: Any) -> None:
    slices = layout.slices_of(solver)
    island["mass"] = 0.0
    t = island["first_tree"]
    while t >= 0:
        slices[t]["mass"] = tree_mass(tree_of(trees[t]))
        island["mass"] += slices[t]["mass"]
        t = slices[t]["next"]


@kernel(inline=False)
def allocate_skyline(solver: Any, island: Any) -> None:
    """Allocate an island's rows in the skyline matrix, and its cost rows."""
    low = layout.first_columns_of(solver)[island["offset"] :]
    start = layout.column_starts_of(solver)[island["offset"] :]
    at = 0
    for k in range(island["nz"]):
        start[k] = at - low[k]
        at += k - low[k] + 1
    island["skyline"] = solver["skyline_used"]
    solver["skyline_used"] += at
    island["cost_rows"] = solver["cost_rows"] + COST_ROW_SIZE * (
        island["first_contact"] + island["first_dof_constraint"]
    )
    island["cost_row_count"] = island["contact_count"] + island["dof_constraint_count"]


@kernel
def has_deep_overlap(solver: Any, island: Any) -> bool:
    """Whether a contact overlaps deeply, in an island with loops that may prevent its correction.

    Stiff contact springs that act against each other through loops would make the solution unstable.
    """
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    for i in range(island["contact_count"]):
        if contacts[i]["initial_separation"] < -DEEP_OVERLAP:
            return True
    return False


@kernel(inline=False)
def plan_island(solver: Any, trees: Any, island: Any) -> bool:
    """Order and allocate the rows of one island. False if its matrix is too much work, or loops have deep overlap."""
    if island["loop_projection_count"] > 0 and has_deep_overlap(solver, island):
        return False
    order_rows_by_index(solver, island)
    work = find_profile(solver, island)
    # trees of a loop projection stay adjacent
    if work > NARROW_ROW_WORK * island["nz"] and island["loop_projection_count"] == 0:
        order_rows_by_level(solver, island)
        other = find_profile(solver, island)
        if other > work:
            order_rows_by_index(solver, island)
            find_profile(solver, island)
        work = min(work, other)
    if work > solver["direct_work"]:
        return False
    sum_island_mass(solver, trees, island)
    allocate_skyline(solver, island)
    return True


@kernel
def plan_skylines(solver: Any, forest: Any) -> bool:
    """Order and allocate the rows of all directly solved islands. False if the skyline table is full."""
    islands = layout.islands_of(solver)
    trees = trees_of(forest)
    solver["skyline_used"] = 0
    for i in range(solver["island_count"]):
        if islands[i]["direct"] != 0 and not plan_island(solver, trees, islands[i]):
            islands[i]["direct"] = 0
    if solver["skyline_used"] > solver["skyline_room"]:
        solver["full"] |= layout.FULL_SKYLINE
        return False
    return True


@kernel
def add_scaled_row(E: Any, at: int, count: int, Y: Any, y: int, w: float) -> None:
    for j in range(count):
        E[at + j] += w * Y[y + j]


@kernel(inline=False)
def add_outer_product(E: Any, start: Any, r1: int, l1: int, r2: int, l2: int, Y: Any, y: int, g: float) -> None:
    """H ← H + g y yᵀ, lower triangle; y has two slices, in the rows from r1 and r2 on."""
    for k in range(l1):
        w = g * Y[y + k]
        add_scaled_row(E, start[r1 + k] + r1, k + 1, Y, y, w)
        if r2 < r1:
            add_scaled_row(E, start[r1 + k] + r2, l2, Y, y + l1, w)
    for k in range(l2):
        w = g * Y[y + l1 + k]
        add_scaled_row(E, start[r2 + k] + r2, k + 1, Y, y + l1, w)
        if r1 < r2:
            add_scaled_row(E, start[r2 + k] + r1, l1, Y, y, w)


@kernel
def add_scaled_rows(E: Any, at: int, count: int, Y: Any, y: int, stride: int, w: float, w1: float, w2: float) -> None:
    for j in range(count):
        E[at + j] += w * Y[y + j] + w1 * Y[y + stride + j] + w2 * Y[y + 2 * stride + j]


@kernel(inline=False)
def add_contact_block(
    E: Any, start: Any, r1: int, l1: int, r2: int, l2: int, Y: Any, y: int, g: float, g11: float, g12: float, g22: float
) -> None:
    """The same for a normal and two tangents a, b: H ← H + g y yᵀ + Σ g_ab y_a y_bᵀ."""
    n = l1 + l2
    for k in range(l1):
        a, b = Y[y + n + k], Y[y + 2 * n + k]
        w, w1, w2 = g * Y[y + k], g11 * a + g12 * b, g12 * a + g22 * b
        add_scaled_rows(E, start[r1 + k] + r1, k + 1, Y, y, n, w, w1, w2)
        if r2 < r1:
            add_scaled_rows(E, start[r1 + k] + r2, l2, Y, y + l1, n, w, w1, w2)
    for k in range(l2):
        a, b = Y[y + n + l1 + k], Y[y + 2 * n + l1 + k]
        w, w1, w2 = g * Y[y + l1 + k], g11 * a + g12 * b, g12 * a + g22 * b
        add_scaled_rows(E, start[r2 + k] + r2, k + 1, Y, y + l1, n, w, w1, w2)
        if r1 < r2:
            add_scaled_rows(E, start[r2 + k] + r1, l1, Y, y, n, w, w1, w2)


@kernel(inline=False)
def factor(E: Any, start: Any, low: Any, count: int) -> None:
    """Cholesky factor H = L Lᵀ in place, by rows, with inverted diagonal. No pivot is below 1, because H ≥ 1."""
    for i in range(count):
        row, first = start[i], low[i]
        for j in range(first, i):
            k = max(first, low[j])
            E[row + j] = (E[row + j] - slice_product(E, row + k, E, start[j] + k, j - k)) * E[start[j] + j]
        pivot = E[row + i] - slice_product(E, row + first, E, row + first, i - first)
        E[row + i] = 1.0 / sqrt(max(pivot, 1.0))


@kernel(inline=False)
def substitute(E: Any, start: Any, low: Any, count: int, x: Any) -> None:
    """x ← H⁻¹ x, from the factor."""
    for i in range(count):
        row, first = start[i], low[i]
        x[i] = (x[i] - slice_product(E, row + first, x, first, i - first)) * E[row + i]
    for k in range(count):
        i = count - 1 - k
        row = start[i]
        x[i] *= E[row + i]
        for j in range(low[i], i):
            x[j] -= E[row + j] * x[i]
