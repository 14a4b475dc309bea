"""Where the tests of contact reach its kernels: the only module that names them, so that a rename touches one file.

Each entry is one stage of the solve of the first island of a Solver, which `tests.contact.random_islands` fills.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinemorph.contact.gauss_seidel.iteration import aim, bound, group_bounds, press, relax, softness
from kinemorph.contact.gauss_seidel.restitution import bounce, meet, pass_on, start_impacts
from kinemorph.contact.joint_warm_start import follow_joint
from kinemorph.contact.layout import (
    BOUND,
    DRIVE,
    FLIES_BY,
    GRIP,
    HOLD,
    ISLAND,
    PULL,
    SAME_TREE,
    SOLVER,
    TOUCH,
    Bounded,
)
from kinemorph.contact.newton.constraint_cost import bias_of
from kinemorph.contact.newton.newton import fill_matrix, newton_direction, residual, search, solve_directly, start
from kinemorph.contact.newton.skyline import factor, lay_out, measure, rows_by_index, rows_by_level, substitute
from kinemorph.contact.newton.wedged_limits import choose_wedged
from kinemorph.contact.rows.drive_rows import choose_driven
from kinemorph.contact.rows.torsional_friction import resist
from kinemorph.contact.solve_step import add_nothing, solve, start_substep, warm_start
from kinemorph.contact.solver import Solver
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import LINK
from kinemorph.structure.forest.layout import FOREST

__all__ = [
    "BOUND", "DRIVE", "FLIES_BY", "GRIP", "HOLD", "ISLAND", "LINK", "PULL", "SAME_TREE", "SOLVER", "TOUCH", "Bounded",
    "Solver", "add_restitution", "begin_substep", "biased_iteration", "bounded_iteration", "choose_direct_by_drives",
    "choose_direct_by_wedges", "factor_skyline", "fill_hessian", "find_newton_direction", "guard_energy",
    "joint_warm_start", "lay_out_by_index", "lay_out_by_level", "line_search", "normal_bias", "pass_impacts_on",
    "relax_iteration", "rows_at", "solve_all", "solve_by_newton", "solve_skyline", "start_newton",
    "torsional_iteration", "warm_start_vector",
]  # fmt: skip


Numbers, Starts, Columns = NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]


@kernel
def solver_at(address: int) -> Any:
    return rows_at(address, 1, SOLVER)[0]


@kernel
def first_island(solver: Any) -> Any:
    return rows_at(solver["islands"], 1, ISLAND)[0]


# ---------------------------------------------------------------------------------------------------- Gauss-Seidel


@entry
def biased_iteration(address: int, first: bool) -> None:
    s = solver_at(address)
    island = first_island(s)
    press(s, island, first, softness(s))


@entry
def relax_iteration(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    relax(s, island)


@entry
def bounded_iteration(address: int, biased: bool, first: bool) -> None:
    s = solver_at(address)
    island = first_island(s)
    group_bounds(s, island)
    aim(s, island, biased, first, softness(s))
    bound(s, island, False)


@entry
def torsional_iteration(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    resist(s, island)


@entry
def warm_start_vector(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    warm_start(s, island)


@entry
def begin_substep(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    start_substep(s, island)


@entry
def guard_energy(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    add_nothing(s, island)


@entry
def add_restitution(address: int) -> int:
    """What contacts meet with, and their bounce, for an island whose impulses are there already."""
    s = solver_at(address)
    island = first_island(s)
    count = meet(s, island)
    bounce(s, island)
    return count


@entry
def pass_impacts_on(address: int) -> bool:
    s = solver_at(address)
    island = first_island(s)
    meet(s, island)
    start_impacts(s, island)
    return pass_on(s, island)


@entry
def solve_all(address: int) -> None:
    s = rows_at(address, 1, SOLVER)[0]
    solve(s, 0, s["island_count"])


# ----------------------------------------------------------------------------------------------------- direct solve


@entry
def lay_out_by_index(address: int) -> int:
    s = solver_at(address)
    island = first_island(s)
    rows_by_index(s, island)
    work = measure(s, island)
    lay_out(s, island)
    return work


@entry
def lay_out_by_level(address: int) -> int:
    s = solver_at(address)
    island = first_island(s)
    rows_by_level(s, island)
    work = measure(s, island)
    lay_out(s, island)
    return work


@entry
def start_newton(address: int) -> float:
    """Laws at the velocities of the island, and the gradient, into g. Its square."""
    s = solver_at(address)
    island = first_island(s)
    start(s, island)
    return residual(s, island)


@entry
def fill_hessian(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    fill_matrix(s, island)


@entry
def find_newton_direction(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    newton_direction(s, island)


@entry
def line_search(address: int) -> float:
    s = solver_at(address)
    island = first_island(s)
    return search(s, island)


@entry
def solve_by_newton(address: int) -> bool:
    s = solver_at(address)
    island = first_island(s)
    return solve_directly(s, island)


@entry
def factor_skyline(E: Numbers, start: Starts, low: Columns, n: int) -> None:
    factor(E, start, low, n)


@entry
def solve_skyline(E: Numbers, start: Starts, low: Columns, n: int, x: Numbers) -> None:
    substitute(E, start, low, n, x)


@entry
def normal_bias(gap: float, dt: float, push: float) -> float:
    return bias_of(gap, dt, push)


# -------------------------------------------------------------------------------------------------- what is decided


@entry
def choose_direct_by_wedges(address: int) -> None:
    choose_wedged(rows_at(address, 1, SOLVER)[0])


@entry
def choose_direct_by_drives(address: int) -> None:
    choose_driven(rows_at(address, 1, SOLVER)[0])


@entry
def joint_warm_start(solver: int, forest: int, link: int) -> None:
    """What is kept of the joint of a LINK row, brought up to date."""
    follow_joint(rows_at(solver, 1, SOLVER)[0], rows_at(forest, 1, FOREST)[0], rows_at(link, 1, LINK)[0])
