"""Loads in heaps, and the islands that are solved directly because of them, against equilibrium of dense shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import special_ortho_group
from tests.contact.collision_tables import ROOM, CollisionTables, ForestTables
from tests.contact.reach import Solver, choose_direct_by_loads
from tests.naive.loads import Choice, levels, loads

from kinemorph.multibody.layout import JointKind

pytestmark = [pytest.mark.lane, pytest.mark.quick]
WEDGED = 2


class Heap:
    """Islands of stacked trees in random order, in a random frame: masses over decades, some fixed to the base."""

    def __init__(self, seed: int, islands: int, bodies: int, decades: float) -> None:
        rng = self.rng = np.random.default_rng(seed)
        n = islands * bodies
        self.island = rng.permutation(np.repeat(np.arange(islands), bodies))
        height = rng.permutation(n)  # who may lie on whom
        self.masses = [10.0 ** rng.uniform(-decades, decades, int(rng.integers(1, 4))) for _ in range(n)]
        self.held = rng.random(n) < 0.1
        self.turn, self.gravity = special_ortho_group.rvs(3, random_state=rng), 10.0 ** rng.uniform(-1.0, 2.0)
        self.pairs: list[tuple[int, int, float, int]] = []  # a, b, cosine between the normal and up, contacts
        for above in range(n):
            others = [b for b in range(n) if self.island[b] == self.island[above] and height[b] < height[above]]
            below = rng.permutation(others)[: rng.integers(1, 3)].tolist() + [-1] * int(rng.random() < 0.4)
            for b in below:
                cosine = float(rng.choice([1.0, 0.7, 0.31, 0.29, -0.2, 0.0], p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]))
                a, b, sign = (above, b, -1.0) if rng.random() < 0.5 and b >= 0 else (b, above, 1.0)
                self.pairs.append((a, b, sign * cosine, int(rng.integers(4) > 0) * int(rng.integers(1, 3))))
        rng.shuffle(self.pairs)
        self.asleep = rng.random(islands) < 0.1
        self.supports = self._supports()
        self.loads = loads(np.array([m.sum() for m in self.masses]), self.supports)

    def _supports(self) -> list[tuple[int, int]]:
        found = []
        for a, b, cosine, count in self.pairs:
            below, above = (a, b) if cosine > 0.0 else (b, a)
            if count > 0 and abs(cosine) > 0.3 and above >= 0 and not self.held[above]:
                found.append((-1 if below >= 0 and self.held[below] else below, above))
        return found

    def tables(self, step: int) -> tuple[Solver, ForestTables, CollisionTables]:
        up, aside = self.turn[2], self.turn[0]
        kinds = [JointKind.REVOLUTE if held else JointKind.FREE for held in self.held]
        forest = ForestTables([m.tolist() for m in self.masses], kinds, -self.gravity * up)
        solver, tables = Solver(), CollisionTables(step)
        solver.follow(len(self.masses), 0, 64, 0, 0)
        bodies = np.cumsum([0, *map(len, self.masses)])
        shapes = [tables.add_shape(int(self.rng.integers(*bodies[t : t + 2]))) for t in range(len(self.masses))]
        shapes.append(tables.add_shape(-1, fixed=True))  # the ground
        for a, b, cosine, count in self.pairs:
            tables.add_pair(shapes[a], shapes[b])
            for k in range(count):  # of each pair, the first one decides
                across = cosine * up + np.sqrt(1.0 - cosine**2) * aside if k == 0 else aside
                tables.add_contact(across, np.zeros(3), np.zeros(3))
        names = np.where(self.asleep, -1, np.cumsum(~self.asleep) - 1)
        solver.header["island_count"] = (~self.asleep).sum()
        for k, island in enumerate(names):
            members = np.flatnonzero(self.island == k)
            solver["slices"]["island"][members] = island
            solver["slices"]["next"][members] = [*members[1:], -1]
            if island >= 0:
                row = solver["islands"][island]
                row["first_tree"], row["last_tree"], row["first_contact"] = members[0], members[-1], island
                row["contact_count"], row["pairs"] = 1, 1000 + k
        solver.header["contact_count"] = solver.header["island_count"]
        solver["slices"]["pairs"] = -1
        return solver, forest, tables

    def ratio(self, island: int) -> float:
        """The largest load over mass in an island."""
        return max(self.loads[t] / self.masses[t].sum() for t in np.flatnonzero(self.island == island))


def choose(solver: Solver, forest: ForestTables, tables: CollisionTables, slow: float = 0.0) -> None:
    choose_direct_by_loads(solver.address, forest.address, tables.address, slow)


CASES = [(seed, *size) for seed in range(16) for size in ((1, 2, 1.0), (1, 16, 2.0), (3, 5, 0.0), (4, 4, 1.5))]


@pytest.mark.parametrize(("seed", "islands", "bodies", "decades"), CASES)
def test_loads_are_those_of_equilibrium(seed: int, islands: int, bodies: int, decades: float) -> None:
    heap = Heap(seed, islands, bodies, decades)
    solver, forest, tables = heap.tables(step=7)
    choose(solver, forest, tables)
    awake = [t for t in range(len(heap.masses)) if not heap.asleep[heap.island[t]]]
    spans, expected = solver["slices"][: len(heap.masses)], levels(len(heap.masses), heap.supports)
    assert spans["level"][awake].tolist() == [expected[t] for t in awake]
    np.testing.assert_allclose(spans["mass"][awake], [heap.masses[t].sum() for t in awake], rtol=1e-12)
    np.testing.assert_allclose(spans["load"][awake], heap.loads[awake], rtol=1e-4)
    known = [(b, a) for b, a in heap.supports if b < 0 or expected[b] >= 0]
    for t in awake:
        assert spans["below"][t] == sum(a == t for _, a in known)


def test_the_ground_bears_all_that_stands_and_the_families_stand_high() -> None:
    """What goes into the ground and what it holds is the mass of all trees that have a way there."""
    tallest = 0
    for case in CASES:
        heap = Heap(*case)
        masses = np.array([m.sum() for m in heap.masses])
        level = levels(len(masses), heap.supports)
        known = [(b, a) for b, a in heap.supports if b < 0 or level[b] >= 0]
        into = sum((masses[a] + heap.loads[a]) / sum(x == a for _, x in known) for b, a in known if b < 0)
        assert into == pytest.approx(sum(masses[t] for t in range(len(masses)) if level[t] >= 0))
        tallest = max(tallest, *level)
    assert tallest >= 4


@pytest.mark.parametrize("slow", [0.0, 0.05])
@pytest.mark.parametrize(("seed", "islands", "bodies", "decades"), CASES)
def test_islands_become_direct_and_stay_so(seed: int, islands: int, bodies: int, decades: float, slow: float) -> None:
    """Over steps in which speeds, stored impulses, pairs, wedges and masses change."""
    heap = Heap(seed, islands, bodies, decades)
    solver, forest, tables = heap.tables(step=60)
    rng, kept = np.random.default_rng(seed), [Choice() for _ in range(islands)]
    awake = [k for k in range(islands) if not heap.asleep[k]]
    for step in range(60, 105):
        tables.header["step"] += step > 60
        tables.contacts[:ROOM] = tables.contacts[ROOM:] = tables.now  # both halves
        wedged = rng.random(len(heap.masses)) < 0.3
        solver["slices"]["direct"][: len(wedged)] &= 1
        solver["slices"]["direct"][: len(wedged)] |= WEDGED * wedged
        speeds, warm = 10.0 ** rng.uniform(-2.0, 1.0, islands), rng.random(islands) < 0.8
        for row, k in zip(solver["islands"], awake, strict=False):
            members = np.flatnonzero(heap.island == k)
            solver["slices"]["speed"][members] = 0.0
            solver["slices"]["speed"][rng.choice(members)] = speeds[k]
            row["pairs"] = 1000 * (1 + (step - 60) // 20) + k
            solver["contacts"]["kept"][row["first_contact"]] = (float(warm[k]), 1.0, 1.0)
            kept[k].step((int(row["pairs"]), step // 64), heap.ratio(k), speeds[k], bool(warm[k]), slow)
        choose(solver, forest, tables, slow)
        for row, k in zip(solver["islands"], awake, strict=False):
            assert row["direct"] == kept[k].answer
            members = np.flatnonzero(heap.island == k)
            np.testing.assert_allclose(solver["slices"]["load"][members], heap.loads[members], rtol=1e-4)
            assert (solver["slices"]["direct"][members] & 1 == kept[k].direct).all()
            assert (solver["slices"]["direct"][members] & WEDGED == WEDGED * wedged[members]).all()


def test_the_families_take_both_ways() -> None:
    ratios = np.concatenate([[heap.ratio(k) for k in range(case[1])] for case in CASES for heap in [Heap(*case)]])
    for low, high in ((0.0, 0.1), (0.1, 4.0), (4.0, 8.0), (8.0, 50.0), (50.0, np.inf)):
        assert ((ratios >= low) & (ratios < high)).sum() > 1


def test_a_tree_alone_is_never_direct_by_load() -> None:
    heap = Heap(0, 3, 1, 0.0)
    solver, forest, tables = heap.tables(0)
    solver["islands"]["direct"], solver["slices"]["direct"] = 1, 1 | WEDGED
    choose(solver, forest, tables)
    count = int(solver.header["island_count"][0])
    assert not solver["islands"]["direct"][:count].any()
    first = solver["islands"]["first_tree"][:count]
    assert (solver["slices"]["direct"][first] == WEDGED).all()


@pytest.mark.parametrize("bodies", [3, 5])
def test_trees_that_lie_on_each_other_in_a_ring_end_the_estimate(bodies: int) -> None:
    """Each leans on the next one, and all on the ground: loads that would grow without end are cut off."""
    forest = ForestTables([[1.0]] * bodies, [JointKind.FREE] * bodies, (0.0, 0.0, -9.81))
    solver, tables = Solver(), CollisionTables()
    shapes: list[Any] = [tables.add_shape(t) for t in range(bodies)]
    ground = tables.add_shape(-1, fixed=True)
    for t in range(bodies):
        for below in (shapes[t - 1], ground):
            tables.add_pair(below, shapes[t])
            tables.add_contact(np.array([0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3))
    solver.header["island_count"] = 1
    solver["slices"]["next"][:bodies] = [*range(1, bodies), -1]
    solver["islands"]["last_tree"][0] = bodies - 1
    solver["slices"]["pairs"] = -1
    choose(solver, forest, tables)
    assert (solver["slices"]["below"][:bodies] == 2).all()
    np.testing.assert_allclose(solver["slices"]["load"][:bodies], 1.0, rtol=1e-4)  # each gives half of 1 + 1 on
