"""Fly-by contacts: one is left out if the other contacts of its bodies cannot deflect them that far in this step."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.collision_tables import CollisionTables
from tests.contact.random_islands import FAMILIES, RandomIsland
from tests.contact.reach import LEFT_OUT_GAP, drop_fly_bys

pytestmark = [pytest.mark.lane, pytest.mark.quick]
CASES = [(name, seed) for name in FAMILIES for seed in range(6)]


def removable_displacement(random: RandomIsland, i: int) -> float:
    """Of a fly-by contact: what the other contacts of its bodies would close too far without impulses, with friction.

    Another fly-by does not count, and neither does what is fixed: two bodies on the same ground do not meet there.
    """
    dt, total = random.h * random.substeps, 0.0
    for j, other in enumerate(random.contacts):
        if j != i and not other.fast and (set(random.sides[i]) & set(random.sides[j])) - {-1}:
            overlap = -(other.gap0 + other.y[0] @ (dt * random.z + dt**2 * random.za))
            total += max(0.0, overlap) * (1.0 + other.friction)
    return total


def fly_bys(name: str, seed: int) -> tuple[RandomIsland, np.ndarray]:
    """Contacts of which half are fly-bys, and the clearances of these: around twice what may be removed."""
    rng = np.random.default_rng(seed)
    random = RandomIsland(rng, FAMILIES[name], 10)
    random.z *= 0.1
    for one in random.contacts:
        one.fast, one.gap0 = bool(rng.random() < 0.5), 1e-3 * rng.normal()
    bounds = np.array([removable_displacement(random, i) for i in range(10)])
    clear = 2.0 * bounds * rng.choice([0.3, 0.99, 1.01, 3.0], 10) + np.where(bounds == 0.0, 1e-9, 0.0)
    return random, clear


def gaps_after(random: RandomIsland, passes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Separations after the filter, where contacts are in rows of any order."""
    solver, tables = random.solver(), CollisionTables(step=5)
    tables.add_pair(tables.add_shape(-1), tables.add_shape(-1))
    rows = [tables.add_contact(np.zeros(3), np.zeros(3), np.zeros(3)) for _ in order]
    solver["contacts"]["contact"][: len(order)] = order
    for i, row in enumerate(solver.contact_constraints):
        if random.sides[i][0] < 0 and i % 2:  # what does not move may be on either side
            row["tree1"], row["tree2"] = row["tree2"], row["tree1"]
            row["offset1"], row["length1"], row["length2"] = row["offset2"], row["length2"], 0
        row["fast"] += i % 3 == 0 and row["fast"] == 0  # fast, and not a fly-by
    tables.now["passes"][: len(rows)][order] = passes
    drop_fly_bys(solver.address, tables.address)
    np.testing.assert_array_equal(
        solver.contact_constraints["separation"], solver.contact_constraints["initial_separation"]
    )
    return solver.contact_constraints["initial_separation"].copy()


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_fly_by_is_left_out_beyond_twice_what_others_remove(name: str, seed: int) -> None:
    random, clear = fly_bys(name, seed)
    found = gaps_after(random, clear, np.random.default_rng(seed).permutation(10))
    for i, one in enumerate(random.contacts):
        left_out = one.fast and clear[i] > 2.0 * removable_displacement(random, i)
        assert found[i] == (LEFT_OUT_GAP if left_out else one.gap0)


def test_the_families_have_fly_bys_of_both_sorts() -> None:
    kept = dropped = 0
    for name, seed in CASES:
        random, clear = fly_bys(name, seed)
        for i, one in enumerate(random.contacts):
            bound = removable_displacement(random, i)
            kept += one.fast and 0.0 < clear[i] <= 2.0 * bound
            dropped += one.fast and clear[i] > 2.0 * bound > 0.0
    assert min(kept, dropped) > 50


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_step_half_as_long_at_twice_the_speed_is_the_same(name: str, seed: int) -> None:
    random, clear = fly_bys(name, seed)
    before = gaps_after(random, clear, np.arange(10))
    random.h *= 0.5
    random.z *= 2.0
    random.za *= 4.0
    np.testing.assert_array_equal(gaps_after(random, clear, np.arange(10)), before)
