"""Which small islands are solved directly: rows that work against each other, by the cosine between them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.random_islands import RandomIsland
from tests.contact.reach import Solver, choose_direct_by_drives, choose_direct_by_wedges
from tests.naive.contact import Bound, Contact

pytestmark = [pytest.mark.lane, pytest.mark.quick]
BECOMES, STAYS = 1.0 - 1.0 / 8.0, 1.0 - 1.0 / 4.0  # c²: what both bear together is 8 and 4 times what one of them feels
WEDGED = 2


def wedge(squared: float, against: bool = True, kind: str = "limit") -> RandomIsland:
    """A tree with a limit and a contact, with this squared cosine between their rows."""
    random = RandomIsland(np.random.default_rng(0), [8], 0)
    c = np.sqrt(squared)
    limit = Bound(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]), kind, target=1.0)
    y = np.zeros((3, 8))
    y[0, 7], y[0, 2], y[1, 3], y[2, 4] = (-c if against else c), np.sqrt(1.0 - squared), 1.0, 1.0
    random.bounds, random.owners = [limit], [0]
    random.contacts, random.sides = [Contact(3.0 * y, 0.0)], [(-1, 0)]
    return random


def chosen(solver: Solver) -> bool:
    solver["islands"]["direct"][0] = 0
    choose_direct_by_wedges(solver.address)
    return bool(solver["islands"]["direct"][0])


@pytest.mark.parametrize(("squared", "direct"), [(BECOMES - 1e-3, False), (BECOMES + 1e-3, True)])
def test_a_limit_and_a_contact_that_work_against_each_other(squared: float, direct: bool) -> None:
    solver = wedge(squared).solver()
    assert chosen(solver) is direct
    assert solver["slices"]["direct"][0] == (WEDGED if direct else 0)
    assert solver.dof_constraints["load_per_mass"][0] == pytest.approx(9.0 * squared)  # (yᵀ y)² over that of the limit


def test_rows_that_work_together_are_swept() -> None:
    assert not chosen(wedge(0.99, against=False).solver())


@pytest.mark.parametrize("kind", ["dry", "fast"])
def test_only_limits_wedge(kind: str) -> None:
    """Though there is a limit too, which has nothing to do with the contact."""
    random = wedge(0.99, kind=kind)
    random.bounds.append(Bound(np.eye(8)[6], "limit"))
    random.owners.append(0)
    assert not chosen(random.solver())


def test_contacts_between_links_wedge_like_limits() -> None:
    random = wedge(0.99)
    within = Contact(np.zeros((3, 8)), 0.0, same_tree=True)
    within.y[0, 7], within.y[1, 3], within.y[2, 4] = 1.0, 1.0, 1.0
    random.bounds, random.owners = [], []
    random.contacts.append(within)
    random.sides.append((0, 0))
    assert chosen(random.solver())


@pytest.mark.parametrize("entries", [128, 136])
def test_large_islands_are_swept(entries: int) -> None:
    random = wedge(0.99)
    solver = random.solver()
    solver["islands"]["nz"][0] = entries
    assert chosen(solver) is (entries <= 128)


def test_what_is_wedged_stays_direct_a_while() -> None:
    solver = wedge(STAYS + 1e-3).solver()
    assert not chosen(solver)
    solver["slices"]["direct"][0] = WEDGED
    assert chosen(solver)


def test_what_is_hardly_wedged_any_more_is_swept_again() -> None:
    solver = wedge(STAYS - 0.1).solver()
    solver["slices"]["direct"][0] = WEDGED
    assert not chosen(solver)


# ------------------------------------------------------------------------------------------------------------ drives


@pytest.mark.parametrize("seed", range(20))
def test_drives_that_pull_at_each_other(seed: int) -> None:
    """Stiff ones of one tree, with a cosine above 0.3 between them, each with what it gives way by itself."""
    rng = np.random.default_rng(seed)
    random = RandomIsland(rng, [8, 8], 2, 0)
    for i in range(3):
        tree = 0 if i < 2 else int(rng.integers(2))
        y = np.zeros(16)
        y[8 * tree : 8 * tree + 8] = rng.normal(size=8) * (rng.random(8) < 0.6)
        y[8 * tree] += 0.3
        endless = rng.random() < 0.4
        gains = (0.0, np.inf) if endless else (float(10.0 ** rng.uniform(0, 6)), float(10.0 ** rng.uniform(0, 3)))
        random.bounds.append(Bound(y, "drive", stiffness=gains[0], damping=gains[1]))
        random.owners.append(tree)
    solver = random.solver()
    choose_direct_by_drives(solver.address)
    dt, strong = random.h * random.substeps, False

    def yields(b: Bound) -> float:
        return b.inverse_mass + (0.0 if np.isinf(b.damping) else 1.0 / (dt * (b.damping + dt * b.stiffness)))

    for i, a in enumerate(random.bounds):
        for b in random.bounds[:i]:
            strong = strong or abs(a.y @ b.y) > 0.3 * np.sqrt(yields(a) * yields(b))
    assert bool(solver["islands"]["direct"][0]) is bool(strong)


def test_motors_of_any_force_pull_by_the_cosine_alone() -> None:
    """Nothing of them yields; pairs of both sorts are among the seeds."""
    found = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        random = RandomIsland(rng, [8, 8], 2, 0)
        y = np.zeros((2, 16))
        y[:, :8] = rng.normal(size=(2, 8))
        random.bounds = [Bound(row, "drive", damping=np.inf) for row in y]
        random.owners = [0, 0]
        solver = random.solver()
        choose_direct_by_drives(solver.address)
        cosine = abs(y[0] @ y[1]) / (np.linalg.norm(y[0]) * np.linalg.norm(y[1]))
        assert bool(solver["islands"]["direct"][0]) is bool(cosine > 0.3)
        found.add(bool(cosine > 0.3))
    assert found == {True, False}
