"""One Gauss-Seidel iteration after another, against dense rows and laws written out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.random_islands import FAMILIES, RandomIsland, dense_impulses, impulses_of, sums_of
from tests.contact.reach import (
    Solver,
    add_restitution,
    begin_substep,
    biased_iteration,
    bounded_iteration,
    guard_energy,
    pass_impacts_on,
    relax_iteration,
    solve_all,
    torsional_iteration,
    warm_start_vector,
)
from tests.naive.contact import Bound, Contact, Island

pytestmark = [pytest.mark.lane, pytest.mark.quick]
CASES = [(name, seed) for name in FAMILIES for seed in range(4)]
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def check(solver: Solver, island: Island) -> None:
    """Velocities and impulses of both are the same."""
    np.testing.assert_allclose(solver["z"][: len(island.z)], island.z, **CLOSE)
    for own, slow in zip(impulses_of(solver), dense_impulses(island), strict=True):
        np.testing.assert_allclose(own, slow, **CLOSE)


def moved(solver: Solver, island: Island, seed: int) -> None:
    """Bodies have gone some way since the rows were filled."""
    island.moved = 1e-3 * np.random.default_rng(seed).normal(size=len(island.z))
    solver["displacement"][: len(island.z)] = island.moved


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_biased_iteration(name: str, seed: int, first: bool) -> None:
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 9)
    solver, island = random.solver(), random.dense()
    if not first:
        moved(solver, island, seed)
    else:
        solver["displacement"][: random.nz] = np.nan  # in the first substep nothing has moved
    biased_iteration(solver.address, first)
    island.biased()
    check(solver, island)
    np.testing.assert_allclose(solver.contact_constraints["separation"], [c.gap for c in island.contacts], **CLOSE)
    pressed = np.array([c.p[0] for c in island.contacts]) > 0.0
    np.testing.assert_array_equal(solver.contact_constraints["acted"] != 0, pressed)
    assert pressed.any()


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_relax_iteration(name: str, seed: int) -> None:
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 9, bouncing=seed % 2 == 1)
    solver, island = random.solver(), random.dense()
    moved(solver, island, seed)
    for c, row in zip(island.contacts, solver.contact_constraints, strict=True):
        row["separation"] = c.gap = c.gap0  # what the biased iteration saw
    relax_iteration(solver.address)
    island.relax()
    check(solver, island)
    np.testing.assert_allclose(sums_of(solver)[0], [c.total for c in island.contacts], **CLOSE)
    friction = np.array([np.hypot(*c.p[1:]) - c.friction * c.p[0] for c in island.contacts])
    assert (friction <= 1e-12).all()


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_an_iteration_over_limits_drives_and_dry_friction(name: str, seed: int, biased: bool) -> None:
    """As one row after the other, though those of small trees are taken four at a time."""
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 0, 11)
    solver, island = random.solver(), random.dense()
    bounded_iteration(solver.address, True, True)
    island.measure_gaps(True)
    island.bounded(True)
    check(solver, island)
    moved(solver, island, seed)
    bounded_iteration(solver.address, biased, False)
    island.measure_gaps(biased)
    island.bounded(biased)
    check(solver, island)
    if name == "one small tree":
        assert solver.dof_constraints["group"].tolist().count(1) == 2


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_an_iteration_over_torsional_and_rolling_friction(name: str, seed: int) -> None:
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 8, moments=True)
    solver, island = random.solver(), random.dense()
    torsional_iteration(solver.address)
    island.resist()
    check(solver, island)
    assert island.moments


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_warm_start_takes_no_more_than_makes_the_energy_least(name: str, seed: int) -> None:
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 6, 4, moments=True)
    solver, island = random.solver(), random.dense()
    warm_start_vector(solver.address)
    g = island.kept()
    np.testing.assert_allclose(solver["g"][: random.nz], g, **CLOSE)
    begin_substep(solver.address)
    z0 = island.begin(g)
    check(solver, island)
    np.testing.assert_allclose(solver["z0"][: random.nz], z0, **CLOSE)
    free = z0 + island.driven()
    assert island.z @ island.z <= (free @ free) * (1.0 + 1e-12)


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_an_iteration_adds_no_energy(name: str, seed: int) -> None:
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 6, 3, drives=False, surfaces=False)
    solver, island = random.solver(), random.dense()
    z0 = random.z * 0.5
    solver["z0"][: random.nz] = z0
    for c, row in zip(island.contacts, solver.contact_constraints, strict=True):
        c.total = c.p.copy()
        row["total_normal_impulse"], row["total_tangent_impulse1"], row["total_tangent_impulse2"] = c.p
    guard_energy(solver.address)
    g = island.guard(z0)
    check(solver, island)
    np.testing.assert_allclose(solver["g"][: random.nz], g, **CLOSE)
    np.testing.assert_allclose(sums_of(solver)[0], [c.total for c in island.contacts], **CLOSE)
    assert island.z @ island.z <= (z0 @ z0) * (1.0 + 1e-12)


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("drives", [True, False])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_all_substeps(name: str, seed: int, drives: bool, substeps: int) -> None:
    random = RandomIsland(
        np.random.default_rng(seed), FAMILIES[name], 7, 5, drives=drives, surfaces=drives, moments=True, spread=0.5
    )
    solver, island = random.solver(), random.dense()
    for b, row in zip(island.bounds, solver.dof_constraints, strict=True):
        if np.isinf(b.damping):  # those of motors that are blocked may start anew
            b.p = row["p"] = 0.0
    if substeps > 1:  # a gap that one substep closes is zero but for rounding, whose sign is that of another law
        rows = [*solver.contact_constraints, *solver.dof_constraints]
        for row, one in zip(rows, [*island.contacts, *island.bounds], strict=True):
            if one.gap0 > 0.0 and not (isinstance(one, Bound) and one.kind == "drive"):
                row["initial_separation"], one.gap0 = 1e3 * row["initial_separation"], 1e3 * one.gap0
    solver.header[0]["substeps"] = island.substeps = substeps
    solve_all(solver.address)
    island.solve()
    np.testing.assert_allclose(solver["z"][: random.nz], island.z, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(solver["displacement"][: random.nz], island.moved, rtol=1e-8, atol=1e-11)
    contacts, bounds = sums_of(solver)
    np.testing.assert_allclose(contacts, [c.total for c in island.contacts], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(bounds, [b.total for b in island.bounds], rtol=1e-8, atol=1e-9)


def test_free_bodies_that_meet_at_speed_have_more_iterations() -> None:
    random = RandomIsland(np.random.default_rng(7), [6, 6, 6], 6, warm=False)
    random.z *= 30.0
    solver, island = random.solver(), random.dense()
    solver["slices"]["speed"][:3] = 10.0
    solve_all(solver.address)
    island.solve(extra=8)
    np.testing.assert_allclose(solver["z"][: random.nz], island.z, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(sums_of(solver)[0], [c.total for c in island.contacts], rtol=1e-8, atol=1e-9)


def test_an_island_at_rest_stays_so_in_all_substeps() -> None:
    """A body of 2 kg under its weight, as deep as its spring holds it: the first substep says it of all four."""
    random = RandomIsland(np.random.default_rng(0), [6], 1, surfaces=False, warm=False)
    contact, mass = random.contacts[0], 2.0
    contact.y[:] = 0.0
    contact.y[0, 3], contact.y[1, 4], contact.y[2, 5] = np.full(3, 1.0 / np.sqrt(mass))
    contact.friction, contact.fast = 0.5, False
    random.sides[0] = (-1, 0)
    random.z[:] = random.za[:] = 0.0
    random.za[3] = -9.81 * np.sqrt(mass)
    contact.p = np.array([mass * 9.81 * random.h, 0.0, 0.0])
    soft = random.soft
    contact.gap0 = -soft.impulse * contact.p[0] * contact.inverse_mass / (soft.mass * soft.rate)
    solver = random.solver()
    solve_all(solver.address)
    assert np.abs(solver["z"][:6]).max() < 1e-15
    assert np.abs(solver["displacement"][:6]).max() < 1e-15
    assert solver.contact_constraints["total_normal_impulse"] == pytest.approx(4 * contact.p[0], rel=1e-12)


# ----------------------------------------------------------------------------------------------------------- bounces


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_bounce(name: str, seed: int, friction: bool) -> None:
    random = RandomIsland(np.random.default_rng(seed), FAMILIES[name], 4, surfaces=False, bouncing=True, warm=False)
    for c in random.contacts:
        c.friction *= friction
    solver, island = random.solver(), random.dense()
    start = random.z.copy()
    solver["x"][: random.nz] = start
    moved(solver, island, seed)  # forces have done work on the way
    island.moved *= 100.0
    solver["displacement"][: random.nz] = island.moved
    for c, row in zip(island.contacts, solver.contact_constraints, strict=True):  # as if they had pressed so
        c.last, c.total[0] = 0.01, 0.02
        row["last_normal_impulse"], row["total_normal_impulse"] = 0.01, 0.02
    island.meet()
    count = add_restitution(solver.address)
    assert count == sum(c.approach < -solver.header["bounce_speed"][0] for c in island.contacts)
    np.testing.assert_allclose(solver.contact_constraints["approach"], [c.approach for c in island.contacts], **CLOSE)
    island.bounce(float(solver.header["bounce_speed"][0]), start)
    np.testing.assert_allclose(solver["z"][: random.nz], island.z, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        solver.contact_constraints["total_normal_impulse"], [c.total[0] for c in island.contacts], rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_one_contact_parts_with_its_share_of_the_speed(share: float) -> None:
    random = RandomIsland(np.random.default_rng(1), [6], 1, surfaces=False, warm=False)
    contact = random.contacts[0]
    contact.restitution, contact.friction, contact.gap0, contact.fast = share, 0.0, -1e-6, False
    random.za[:] = 0.0
    random.z = -2.0 * contact.y[0] / contact.inverse_mass  # it meets with 2 m/s
    solver = random.solver()
    solve_all(solver.address)
    assert contact.y[0] @ solver["z"][:6] == pytest.approx(2.0 * share, abs=1e-9)


@pytest.mark.parametrize("count", [3, 5])
def test_an_impact_goes_through_a_row_of_equal_balls(count: int) -> None:
    """Newton's cradle in whitened coordinates: all speed is that of the last ball."""
    random = RandomIsland(np.random.default_rng(0), [6] * count, 0, warm=False)
    random.contacts, random.sides = [], []
    for i in range(count - 1):
        y = np.zeros((3, random.nz))
        y[0, 6 * i], y[0, 6 * i + 6] = -1.0, 1.0
        for k in (1, 2):
            y[k, 6 * i + k], y[k, 6 * i + 6 + k] = -1.0, 1.0
        random.contacts.append(Contact(y, 0.0, restitution=1.0))
        random.sides.append((i, i + 1))
    random.z[:] = random.za[:] = 0.0
    random.z[0] = 1.5
    solver = random.solver()
    for row in solver.contact_constraints:
        row["acted"], row["total_normal_impulse"] = 1, 1e-3
    assert pass_impacts_on(solver.address)
    z = solver["z"][: random.nz].copy()
    assert z[-6] == pytest.approx(1.5, rel=1e-9)
    z[-6] = 0.0
    assert np.abs(z).max() < 1e-9


# ---------------------------------------------------------------------------------------------------- what rows hold


def test_a_drive_has_its_force_at_the_end_of_a_substep() -> None:
    """The law of a spring and damper holds with the velocity and the place that the row has afterwards."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        random = RandomIsland(rng, [8], 0, 0)
        random.owners.append(0)
        random.bounds.append(
            Bound(rng.normal(size=8), "drive", gap0=0.1 * rng.normal(), target=rng.normal(), force=rng.normal(),
                  stiffness=10.0 ** rng.uniform(0, 7), damping=10.0 ** rng.uniform(-2, 4))
        )  # fmt: skip
        solver = random.solver()
        bounded_iteration(solver.address, True, True)
        b, p = random.bounds[0], solver.dof_constraints["p"][0]
        v = b.y @ solver["z"][:8]
        force = b.force + b.stiffness * (b.gap0 - random.h * v) + b.damping * (b.target - v)
        assert p == pytest.approx(random.h * force, rel=1e-6, abs=1e-9)
