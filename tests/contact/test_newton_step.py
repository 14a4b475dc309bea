"""One Newton step of the direct solve: its gradient, its matrix, the skyline factor and the line search, all dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.contact.random_islands import RandomIsland
from tests.contact.reach import (
    Solver,
    factor_skyline,
    fill_hessian,
    find_newton_direction,
    lay_out_by_index,
    lay_out_by_level,
    line_search,
    normal_bias,
    solve_by_newton,
    solve_skyline,
    start_newton,
)
from tests.naive.contact import Array, Law, cost_hessian, cost_slope

pytestmark = [pytest.mark.lane, pytest.mark.quick]
FAMILIES = {"free bodies": [6] * 5, "one small tree": [12], "mixed": [6, 8, 20, 6, 3], "points": [3] * 8}
CASES = [(name, seed) for name in FAMILIES for seed in range(4)]


def islands(name: str, seed: int, bounds: int = 5) -> tuple[RandomIsland, Solver]:
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 7, bounds, spread=0.3)
    for c in random.contacts:
        c.y[2] += 0.01 * np.random.default_rng(seed).normal(size=random.nz) * (c.y[2] != 0.0)
    solver = random.solver()
    solver.header["friction_rounds"], solver.header["settled_share"], solver.header["still"] = 60, 1e-12, 0.0
    return random, solver


def laws(random: RandomIsland, solver: Solver) -> list[Law]:
    """The rows with the stiffnesses and estimates that the solver has chosen."""
    count = len(random.contacts) + len(random.bounds)
    found = []
    for i, g in enumerate(solver["cost_rows"][:count]):
        contact = i < len(random.contacts)
        y = random.contacts[i].y if contact else random.bounds[i - len(random.contacts)].y[None]
        tangents = int(g["tangents"])
        rows = y[: 1 + tangents] if g["normal"] else y[:tangents]
        q = np.array([g["qn"], g["q1"], g["q2"]])[0 if g["normal"] else 1 :][: len(rows)]
        surface = random.contacts[i].surface if contact else np.zeros(2)
        offset = np.concatenate([[g["bias"]], surface])[0 if g["normal"] else 1 :][: len(rows)]
        found.append(
            Law(rows, float(g["penalty"]), bool(g["normal"]), tangents, q, offset, float(g["tangent_limit"]),
                float(g["low"]), float(g["high"]), bool(g["driven"]))
        )  # fmt: skip
    return found


def dense_matrix(solver: Solver, n: int) -> tuple[Array, Array]:
    """The factor in the skyline as a lower triangle, and the row of each entry of z."""
    low, start = solver["low"][:n], solver["start"][:n]
    L = np.zeros((n, n))
    for i in range(n):
        L[i, low[i] : i] = solver["skyline"][start[i] + low[i] : start[i] + i]
        L[i, i] = 1.0 / solver["skyline"][start[i] + i]
    return L, solver["row_of"][:n].copy()


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_gradient_is_that_of_the_cost(name: str, seed: int) -> None:
    random, solver = islands(name, seed)
    lay_out_by_index(solver.address)
    size = start_newton(solver.address)
    z = solver["z"][: random.nz]
    free = z + random.h * random.substeps * random.za
    slope = cost_slope(z, free, laws(random, solver))
    np.testing.assert_allclose(solver["z0"][: random.nz], free, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(solver["g"][: random.nz], slope, rtol=1e-9, atol=1e-9 * np.abs(slope).max())
    assert size == pytest.approx(slope @ slope, rel=1e-9)


@pytest.mark.parametrize("by_level", [False, True])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_matrix_is_the_second_derivative_and_its_factor_is_cholesky(name: str, seed: int, by_level: bool) -> None:
    random, solver = islands(name, seed)
    n = random.nz
    solver["slices"]["level"][: len(random.widths)] = np.random.default_rng(seed).integers(-1, 4, len(random.widths))
    (lay_out_by_level if by_level else lay_out_by_index)(solver.address)
    start_newton(solver.address)
    z, slope = solver["z"][:n].copy(), solver["g"][:n].copy()
    H = cost_hessian(z, laws(random, solver))
    fill_hessian(solver.address)
    L, row_of = dense_matrix(solver, n)
    assert sorted(row_of) == list(range(n))
    expected = np.zeros((n, n))
    expected[np.ix_(row_of, row_of)] = H
    np.testing.assert_allclose(L @ L.T, expected, atol=3e-5 * np.abs(H).max())
    np.testing.assert_allclose(L, np.linalg.cholesky(L @ L.T), rtol=1e-8, atol=1e-8 * np.abs(L).max())
    find_newton_direction(solver.address)
    exact = (L @ L.T)[np.ix_(row_of, row_of)]
    direction = -np.linalg.solve(exact, slope)
    np.testing.assert_allclose(solver["g"][:n], direction, rtol=1e-7, atol=1e-9 * np.abs(direction).max())


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_levels_put_the_lowest_trees_first(name: str, seed: int) -> None:
    random, solver = islands(name, seed)
    levels = np.random.default_rng(seed).integers(0, 4, len(random.widths))
    solver["slices"]["level"][: len(levels)] = levels
    lay_out_by_level(solver.address)
    row_of, row = solver["row_of"], 0
    for tree in np.argsort(levels, kind="stable"):
        o, width = random.offsets[tree], random.widths[tree]
        assert row_of[o : o + width].tolist() == list(range(row, row + width))
        row += width


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_skyline_holds_all_that_is_not_zero_and_no_row_more(name: str, seed: int) -> None:
    random, solver = islands(name, seed)
    n = random.nz
    work = lay_out_by_index(solver.address)
    pattern = np.eye(n, dtype=bool)
    for y in [*(c.y for c in random.contacts), *(b.y[None] for b in random.bounds)]:
        on = np.flatnonzero((y != 0.0).any(axis=0))
        pattern[np.ix_(on, on)] = True
    first = pattern.argmax(axis=1)
    np.testing.assert_array_equal(solver["low"][:n], first)
    widths = np.arange(n) - first + 1
    assert work == (widths**2).sum()
    assert solver.header["skyline_used"][0] == widths.sum()


@pytest.mark.parametrize("seed", range(6))
def test_the_factor_of_random_skylines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    low = np.array([rng.integers(0, i + 1) for i in range(n)], dtype=np.int32)
    A = np.zeros((n, n))
    for i in range(n):
        A[i, low[i] : i] = rng.normal(size=i - low[i])
    A = A + A.T
    A += np.diag(np.abs(A).sum(axis=1) + 1.0 + rng.random(n))
    widths = np.arange(n) - low + 1
    start = np.concatenate([[0], np.cumsum(widths)[:-1]]) - low
    E: Any = np.concatenate([A[i, low[i] : i + 1] for i in range(n)])
    x = rng.normal(size=n)
    solved = x.copy()
    factor_skyline(E, start.astype(np.int64), low, n)
    solve_skyline(E, start.astype(np.int64), low, n, solved)
    np.testing.assert_allclose(solved, np.linalg.solve(A, x), rtol=1e-10, atol=1e-12)
    L = np.linalg.cholesky(A)
    for i in range(n):
        row = E[start[i] + low[i] : start[i] + i + 1]
        np.testing.assert_allclose(row[:-1], L[i, low[i] : i], rtol=1e-10, atol=1e-12)
        assert row[-1] == pytest.approx(1.0 / L[i, i])


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_line_search_ends_where_the_cost_is_least(name: str, seed: int) -> None:
    random, solver = islands(name, seed)
    n = random.nz
    lay_out_by_index(solver.address)
    start_newton(solver.address)
    z, free, rows = solver["z"][:n].copy(), solver["z0"][:n].copy(), laws(random, solver)
    fill_hessian(solver.address)
    find_newton_direction(solver.address)
    d = solver["g"][:n].copy()
    step = line_search(solver.address)
    down = float(d @ cost_slope(z, free, rows))
    assert down < 0.0
    assert abs(float(d @ cost_slope(z + step * d, free, rows))) <= 1.01e-3 * abs(down)


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_solution_has_no_slope_left(name: str, seed: int) -> None:
    """With the laws as the last round has left them, and no drives or surfaces, which may add energy."""
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 5, 3, drives=False, surfaces=False, spread=0.3)
    for c in random.contacts:
        c.gap0 = abs(c.gap0)  # none is slackened afterwards
    solver = random.solver()
    solver.header["friction_rounds"], solver.header["settled_share"], solver.header["still"] = 300, 1e-12, 0.0
    for b, row in zip(random.bounds, solver.dof_constraints, strict=True):
        b.gap0 = row["initial_separation"] = abs(b.gap0) + 1e-9
    for c, row in zip(random.contacts, solver.contact_constraints, strict=True):
        c.gap0 = row["initial_separation"] = c.gap0 + 1e-9
    lay_out_by_index(solver.address)
    assert solve_by_newton(solver.address)
    z = solver["z"][: random.nz]
    slope = cost_slope(z, random.z + random.h * random.substeps * random.za, laws(random, solver))
    assert np.abs(slope).max() < 1e-7
    np.testing.assert_allclose(solver["displacement"][: random.nz], random.h * random.substeps * z, rtol=1e-12)
    grips = solver["cost_rows"][
        : len(random.contacts)
    ]  # friction's bound follows its normal impulse from round to round
    np.testing.assert_allclose(
        grips["tangent_limit"], [c.friction for c in random.contacts] * grips["normal_impulse"], atol=1e-9
    )
    impulses = np.concatenate([law.impulses(z) for law in laws(random, solver)])
    t = solver.contact_constraints
    own = np.concatenate(
        [
            t["total_normal_impulse"],
            t["total_tangent_impulse1"],
            t["total_tangent_impulse2"],
            solver.dof_constraints["total_impulse"],
        ]
    )
    assert np.sort(np.abs(own[own != 0.0])) == pytest.approx(np.sort(np.abs(impulses[impulses != 0.0])), abs=1e-7)


def test_estimates_and_stiffness_of_contacts() -> None:
    """A stiff spring of 20 island masses, stiffer under more load, at most 100 times; q in the friction disc."""
    random, solver = islands("free bodies", 3, bounds=0)
    random.contacts[0].p[:] = (
        solver.contact_constraints[0]["normal_impulse"],
        solver.contact_constraints[0]["tangent_impulse1"],
        solver.contact_constraints[0]["tangent_impulse2"],
    ) = 5e-3, 0.3, -1
    solver.contact_constraints["friction"][0] = random.contacts[0].friction = 0.4
    solver.contact_constraints["normal_impulse"][1] = 1e9
    solver.contact_constraints["normal_impulse"][2] = 0.0
    lay_out_by_index(solver.address)
    start_newton(solver.address)
    grips, mass, dt = solver["cost_rows"], solver["islands"]["mass"][0], random.h * random.substeps
    assert grips["penalty"][0] == pytest.approx(max(20.0 * mass, 5e-3 * random.substeps * dt * 2.0 / 1e-4))
    assert grips["penalty"][1] == pytest.approx(2000.0 * mass)
    assert grips["penalty"][2] == pytest.approx(20.0 * mass)
    radius = 0.4 * 5e-3 * random.substeps
    assert grips["tangent_limit"][0] == pytest.approx(radius)
    assert np.hypot(grips["q1"][0], grips["q2"][0]) == pytest.approx(radius)
    assert grips["q1"][0] / grips["q2"][0] == pytest.approx(-0.3)


def test_a_gap_may_be_closed_and_half_of_an_overlap_is_pushed_out() -> None:
    assert normal_bias(1e-3, 2e-3, 3.0) == pytest.approx(0.5)
    assert normal_bias(-1e-3, 2e-3, 3.0) == pytest.approx(-0.25)
    assert normal_bias(-1.0, 2e-3, 3.0) == -3.0
