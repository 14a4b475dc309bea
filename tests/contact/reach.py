"""Where the tests of contact reach its kernels: the only module that names them, so that a rename touches one file.

Each entry is one stage of the solve of the first island of a Solver, which `tests.contact.random_islands` fills.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinemorph.collision.shapes.shape_rows import COLLISIONS, pairs_of, shapes_of
from kinemorph.contact.gauss_seidel.iteration import (
    group_dof_constraints,
    prepare_dof_constraints,
    relax_contacts,
    soft_coefficients,
    solve_contacts_biased,
    solve_dof_constraints,
)
from kinemorph.contact.gauss_seidel.restitution import (
    apply_restitution,
    find_approach_speeds,
    propagate_impacts,
    store_velocities,
)
from kinemorph.contact.impulse.collision_law import collision_impulse, pseudo_inverse
from kinemorph.contact.impulse.collisions import IMPACTS, collide_islands
from kinemorph.contact.joint_warm_start import refresh_joint_impulses
from kinemorph.contact.layout import (
    CONTACT_CONSTRAINT,
    COST_ROW,
    DOF_CONSTRAINT,
    DRIVE,
    ELEMENT_CONSTRAINT,
    FLIES_BY,
    ISLAND,
    LOOP_PROJECTION,
    SAME_TREE,
    SOLVER,
    DofConstraintKind,
)
from kinemorph.contact.newton.constraint_cost import contact_bias
from kinemorph.contact.newton.load_estimate import choose_loaded_islands
from kinemorph.contact.newton.newton import (
    evaluate_residual,
    factor_hessian,
    newton_direction,
    search_line,
    solve_directly,
    start_direct_solve,
)
from kinemorph.contact.newton.skyline_cholesky import (
    allocate_skyline,
    factor,
    find_profile,
    order_rows_by_index,
    order_rows_by_level,
    substitute,
)
from kinemorph.contact.newton.wedged_limits import choose_wedged_islands
from kinemorph.contact.rows.drive_rows import choose_driven_islands
from kinemorph.contact.rows.ghost_edges import drop_ghost_contacts, has_convex_ground, support_distance
from kinemorph.contact.rows.near_miss import LEFT_OUT_GAP, drop_fly_by_contacts
from kinemorph.contact.rows.torsional_friction import solve_torsional
from kinemorph.contact.solver import Solver
from kinemorph.contact.substeps import limit_energy, solve_island_range, start_substep, warm_start_island
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import LINK
from kinemorph.structure.forest.layout import FOREST

__all__ = [
    "DOF_CONSTRAINT",
    "DRIVE",
    "FLIES_BY",
    "IMPACTS",
    "LEFT_OUT_GAP",
    "COST_ROW",
    "LOOP_PROJECTION",
    "ISLAND",
    "LINK",
    "ELEMENT_CONSTRAINT",
    "SAME_TREE",
    "SOLVER",
    "CONTACT_CONSTRAINT",
    "DofConstraintKind",
    "Solver",
    "add_restitution",
    "begin_substep",
    "biased_iteration",
    "bounded_iteration",
    "choose_direct_by_drives",
    "choose_direct_by_loads",
    "choose_direct_by_wedges",
    "collide_all",
    "drop_fly_bys",
    "drop_ghosts",
    "factor_skyline",
    "fill_hessian",
    "find_newton_direction",
    "guard_energy",
    "ground_is_convex",
    "impulses_of_collisions",
    "joint_warm_start",
    "lay_out_by_index",
    "lay_out_by_level",
    "line_search",
    "normal_bias",
    "pass_impacts_on",
    "pseudo_inverses",
    "relax_iteration",
    "rows_at",
    "solve_all",
    "solve_by_newton",
    "solve_skyline",
    "start_newton",
    "support_of",
    "torsional_iteration",
    "warm_start_vector",
]


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
    solve_contacts_biased(s, island, first, soft_coefficients(s))


@entry
def relax_iteration(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    relax_contacts(s, island)


@entry
def bounded_iteration(address: int, biased: bool, first: bool) -> None:
    s = solver_at(address)
    island = first_island(s)
    group_dof_constraints(s, island)
    prepare_dof_constraints(s, island, biased, first, soft_coefficients(s))
    solve_dof_constraints(s, island, False)


@entry
def torsional_iteration(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    solve_torsional(s, island)


@entry
def warm_start_vector(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    warm_start_island(s, island)


@entry
def begin_substep(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    start_substep(s, island)


@entry
def guard_energy(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    limit_energy(s, island)


@entry
def add_restitution(address: int) -> int:
    """What contacts meet with, and their bounce, for an island whose impulses are there already."""
    s = solver_at(address)
    island = first_island(s)
    count = find_approach_speeds(s, island)
    apply_restitution(s, island)
    return count


@entry
def pass_impacts_on(address: int) -> bool:
    s = solver_at(address)
    island = first_island(s)
    find_approach_speeds(s, island)
    store_velocities(s, island)
    return propagate_impacts(s, island)


@entry
def solve_all(address: int) -> None:
    s = rows_at(address, 1, SOLVER)[0]
    solve_island_range(s, 0, s["island_count"])


# ----------------------------------------------------------------------------------------------------- direct solve


@entry
def lay_out_by_index(address: int) -> int:
    s = solver_at(address)
    island = first_island(s)
    order_rows_by_index(s, island)
    work = find_profile(s, island)
    allocate_skyline(s, island)
    return work


@entry
def lay_out_by_level(address: int) -> int:
    s = solver_at(address)
    island = first_island(s)
    order_rows_by_level(s, island)
    work = find_profile(s, island)
    allocate_skyline(s, island)
    return work


@entry
def start_newton(address: int) -> float:
    """Laws at the velocities of the island, and the gradient, into g. Its square."""
    s = solver_at(address)
    island = first_island(s)
    start_direct_solve(s, island)
    return evaluate_residual(s, island)


@entry
def fill_hessian(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    factor_hessian(s, island)


@entry
def find_newton_direction(address: int) -> None:
    s = solver_at(address)
    island = first_island(s)
    newton_direction(s, island)


@entry
def line_search(address: int) -> float:
    s = solver_at(address)
    island = first_island(s)
    return search_line(s, island)


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
    return contact_bias(gap, dt, push)


# -------------------------------------------------------------------------------------------------- what is decided


@entry
def choose_direct_by_wedges(address: int) -> None:
    choose_wedged_islands(rows_at(address, 1, SOLVER)[0])


@entry
def choose_direct_by_drives(address: int) -> None:
    choose_driven_islands(rows_at(address, 1, SOLVER)[0])


@entry
def joint_warm_start(solver: int, forest: int, link: int) -> None:
    """What is kept of the joint of a LINK row, brought up to date."""
    refresh_joint_impulses(rows_at(solver, 1, SOLVER)[0], rows_at(forest, 1, FOREST)[0], rows_at(link, 1, LINK)[0])


@entry
def choose_direct_by_loads(solver: int, forest: int, collisions: int, slow: float) -> None:
    choose_loaded_islands(
        rows_at(solver, 1, SOLVER)[0], rows_at(forest, 1, FOREST)[0], rows_at(collisions, 1, COLLISIONS)[0], slow
    )


# ------------------------------------------------------------------------------------------ contacts that are left out


@entry
def drop_fly_bys(solver: int, collisions: int) -> None:
    drop_fly_by_contacts(rows_at(solver, 1, SOLVER)[0], rows_at(collisions, 1, COLLISIONS)[0])


@entry
def drop_ghosts(solver: int, collisions: int) -> None:
    drop_ghost_contacts(rows_at(solver, 1, SOLVER)[0], rows_at(collisions, 1, COLLISIONS)[0])


@entry
def ground_is_convex(collisions: int, pair: int) -> bool:
    c = rows_at(collisions, 1, COLLISIONS)[0]
    return has_convex_ground(shapes_of(c), pairs_of(c)[pair])


@entry
def support_of(collisions: int, shape: int, x: float, y: float, z: float) -> float:
    return support_distance(rows_at(collisions, 1, COLLISIONS)[0], shape, (x, y, z))


# ---------------------------------------------------------------------------------------------------------- collisions


@entry
def impulses_of_collisions(u: Numbers, K: Numbers, coefficients: Numbers, impulses: Numbers) -> None:
    """Of rows of u (m, 3), K (m, 6) and e, e_t, μ."""
    for i in range(u.shape[0]):
        k, e = K[i], coefficients[i]
        impulses[i, 0], impulses[i, 1], impulses[i, 2] = collision_impulse(
            (u[i, 0], u[i, 1], u[i, 2]), (k[0], k[1], k[2], k[3], k[4], k[5]), e[0], e[1], e[2]
        )


@entry
def pseudo_inverses(matrices: Numbers, inverses: Numbers) -> None:
    """Of symmetric 2 x 2 matrices: rows of three numbers, and the trace of what they are a difference of."""
    for i in range(matrices.shape[0]):
        a, b, c, size = matrices[i, 0], matrices[i, 1], matrices[i, 2], matrices[i, 3]
        inverses[i, 0], inverses[i, 1], inverses[i, 2] = pseudo_inverse(a, b, c, size)


@entry
def collide_all(solver: int, collisions: int, impacts: int) -> None:
    collide_islands(
        rows_at(solver, 1, SOLVER)[0], rows_at(collisions, 1, COLLISIONS)[0], rows_at(impacts, 1, IMPACTS)[0]
    )
