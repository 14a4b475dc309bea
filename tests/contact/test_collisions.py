"""Collisions of the impulse model: the law of a pair, and all pairs of an island, against dense definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import special_ortho_group
from tests.contact.collision_tables import CollisionTables
from tests.contact.random_islands import RandomIsland, sums_of
from tests.contact.reach import IMPACTS, Solver, collide_all, impulses_of_collisions, pseudo_inverses
from tests.naive.collisions import Collisions, Impacts, Limit, Point, law, parts_of_law

pytestmark = [pytest.mark.lane, pytest.mark.quick]
Array = np.ndarray
COUNT = 300


def impulses(u: Array, K: Array, coefficients: Array) -> Array:
    """Of many collisions at once: u (m, 3), K (m, 3, 3) and e, e_t, μ (m, 3)."""
    found, above = np.full(u.shape, np.nan), np.triu_indices(3)
    impulses_of_collisions(u.copy(), np.ascontiguousarray(K[:, above[0], above[1]]), coefficients.copy(), found)
    return found


def family(seed: int, rank: int, decades: float) -> tuple[Array, Array, Array, Array]:
    """Whitened rows (m, 3, n) of a rank, velocities z that approach, K = Y Yᵀ, and coefficients with their ends."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(COUNT, 3, 8)) * 10.0 ** rng.uniform(-decades, decades, (COUNT, 1, 1))
    if rank < 3:  # what can move along fewer directions than three, but along the normal
        Y = np.einsum("mij,mjk->mik", rng.normal(size=(COUNT, 3, rank)), Y[:, :rank])
    z = rng.normal(size=(COUNT, 8)) * 10.0 ** rng.uniform(-2.0, 2.0, (COUNT, 1))
    z *= -np.sign(np.einsum("mk,mk->m", Y[:, 0], z))[:, None]
    e, tangential, friction = rng.random(COUNT), rng.uniform(-1.0, 1.0, COUNT), 10.0 ** rng.uniform(-2.0, 1.0, COUNT)
    e[::5], e[1::5], tangential[::3], tangential[1::7], friction[::4] = 0.0, 1.0, 0.0, 1.0, 0.0
    return Y, z, Y @ Y.transpose(0, 2, 1), np.column_stack([e, tangential, friction])


FAMILIES = [(seed, rank, decades) for seed in range(2) for rank in (1, 2, 3) for decades in (0.0, 3.0)]


@pytest.mark.parametrize(("seed", "rank", "decades"), FAMILIES)
def test_the_law_is_its_definition(seed: int, rank: int, decades: float) -> None:
    Y, z, K, coefficients = family(seed, rank, decades)
    u = np.einsum("mik,mk->mi", Y, z)
    found = impulses(u, K, coefficients)
    expected = np.array([law(*one) for one in zip(u, K, *coefficients.T, strict=True)])
    size = np.linalg.norm(expected, axis=1, keepdims=True)
    assert (size > 0.0).all()
    np.testing.assert_allclose(found / size, expected / size, rtol=0.0, atol=1e-5 if rank < 3 else 1e-8)
    sliding = np.hypot(found[:, 1], found[:, 2]) > 0.999 * coefficients[:, 2] * found[:, 0]
    assert 0.1 < sliding.mean() < 1.0 or rank == 1


@pytest.mark.parametrize(("seed", "rank", "decades"), FAMILIES)
def test_normal_restitution_is_exact_and_energy_changes_as_the_law_says(seed: int, rank: int, decades: float) -> None:
    """Twice the change of energy is (e² - 1) |p_I|² + ((κ - 1)² - 1) |d|² in the metric K: no gain."""
    Y, z, K, coefficients = family(seed, rank, decades)
    u = np.einsum("mik,mk->mi", Y, z)
    p, (e, tangential, friction) = impulses(u, K, coefficients), coefficients.T
    after = u + np.einsum("mij,mj->mi", K, p)
    np.testing.assert_allclose(after[:, 0], -e * u[:, 0], rtol=1e-5 if rank < 3 else 1e-9, atol=1e-7 * abs(u).max())
    assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] * (1.0 + 1e-9)).all()
    change = z + np.einsum("mik,mi->mk", Y, p)
    gain, energy = (change**2).sum(axis=1) - (z**2).sum(axis=1), (z**2).sum(axis=1)
    assert (gain <= 1e-10 * energy).all()
    first, d = np.moveaxis([parts_of_law(*one) for one in zip(u, K, strict=True)], 1, 0)
    share = np.einsum("mi,mi->m", p - (1.0 + e)[:, None] * first, d) / np.maximum((d * d).sum(axis=1), 1e-300)
    assert (share <= 1.0 + tangential + 1e-6).all()
    expected = (e**2 - 1.0) * np.einsum("mi,mij,mj->m", first, K, first)
    expected += ((share - 1.0) ** 2 - 1.0) * np.einsum("mi,mij,mj->m", d, K, d)
    np.testing.assert_allclose(gain / energy, expected / energy, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(("seed", "rank", "decades"), FAMILIES)
def test_the_law_knows_no_tangents_and_no_units(seed: int, rank: int, decades: float) -> None:
    """Other tangents turn the impulse; units of mass and time scale it."""
    Y, z, K, coefficients = family(seed, rank, decades)
    u = np.einsum("mik,mk->mi", Y, z)
    p, rng = impulses(u, K, coefficients), np.random.default_rng(seed)
    size = np.linalg.norm(p, axis=1, keepdims=True)
    turn = np.zeros((COUNT, 3, 3))
    turn[:, 0, 0], turn[:, 1:, 1:] = 1.0, special_ortho_group.rvs(2, size=COUNT, random_state=rng)
    turn[::2, 2] *= -1.0  # left-handed
    turned = impulses(np.einsum("mij,mj->mi", turn, u), turn @ K @ turn.transpose(0, 2, 1), coefficients)
    np.testing.assert_allclose(turned / size, np.einsum("mij,mj->mi", turn, p) / size, atol=1e-5 if rank < 3 else 1e-8)
    scaled = impulses(1e-6 * u, 1e6 * K, coefficients)
    np.testing.assert_allclose(1e12 * scaled / size, p / size, atol=1e-5 if rank < 3 else 1e-8)


def test_nothing_that_parts_or_is_held_gets_an_impulse() -> None:
    _, _, K, coefficients = family(0, 3, 1.0)
    u = np.random.default_rng(1).normal(size=(COUNT, 3))
    u[:, 0] = np.abs(u[:, 0])
    u[::5, 0] = 0.0
    assert not impulses(u, K, coefficients).any()
    K[:, 0] = K[:, :, 0] = 0.0
    assert not impulses(-u, K, coefficients).any()


@pytest.mark.parametrize("decades", [0.0, 5.0])
def test_the_pseudo_inverse_of_matrices_of_any_rank(decades: float) -> None:
    """Of rank two with a condition up to 1000, one, and zero; of numbers that are rounding of large ones, zero."""
    rng = np.random.default_rng(0)
    values = 10.0 ** (rng.uniform(-3.0, 0.0, (COUNT, 2)) + rng.uniform(-decades, decades, (COUNT, 1)))
    values[::3, 0] = 0.0
    values[::9] = 0.0
    turn = special_ortho_group.rvs(2, size=COUNT, random_state=rng)
    matrices = turn @ (values[:, :, None] * turn.transpose(0, 2, 1))
    found = np.full((COUNT, 3), np.nan)
    sizes = np.trace(matrices, axis1=1, axis2=2) * 10.0 ** rng.choice([0.0, 6.0, 14.0], COUNT)
    pseudo_inverses(np.ascontiguousarray(np.column_stack([matrices.reshape(-1, 4)[:, [0, 1, 3]], sizes])), found)
    expected = np.linalg.pinv(matrices, rcond=1e-7, hermitian=True)
    expected[sizes > 1e13 * np.trace(matrices, axis1=1, axis2=2)] = 0.0
    size = np.maximum(np.abs(expected).max(axis=(1, 2)), 1e-300)
    np.testing.assert_allclose(
        found[:, [0, 1, 1, 2]] / size[:, None], expected.reshape(-1, 4) / size[:, None], atol=1e-7
    )


# ------------------------------------------------------------------------------------------------------------- islands


class Island:
    """Random rows in pairs of one to four points, some with the same frame; and limits. Both forms."""

    def __init__(self, seed: int, widths: list[int], pairs: int, limits: int, boost: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.settings = Impacts(2e-3, 0.02, boost, 2e-4, int(rng.integers(10)))
        self.random = random = RandomIsland(rng, widths, 0, 0, drives=False)
        self.tables, self.points = CollisionTables(int(rng.integers(4, 6))), []
        self.tangential, self.materials = [], rng.uniform(-1.0, 1.0, 2 * pairs)
        self.priorities = rng.integers(0, 2, 2 * pairs)
        self.agreed = {}
        for pair in range(pairs):
            a, b = (self.tables.add_shape(-1) for _ in range(2))
            self.tables.add_pair(a, b)
            self.tangential.append(self.mixed(rng, a, b))
            whole = random._contact(surfaces=True, bouncing=True, warm=False)
            frame, side = special_ortho_group.rvs(3, random_state=rng), random.sides.pop()
            for _ in range(int(rng.integers(1, 5))):
                one = random._contact(surfaces=False, bouncing=False, warm=False)
                random.sides[-1] = side
                one.y, one.same_tree = random._rows(*side), side[0] == side[1]
                one.restitution, one.friction, one.surface = whole.restitution, whole.friction, whole.surface
                one.gap0, one.pair = float(rng.choice([-1e-3, 0.0, 1e-3, 1.9e-3, 5e-3])), pair
                own = frame if rng.random() < 0.7 else special_ortho_group.rvs(3, random_state=rng)
                if rng.random() < 0.2:  # a normal or tangents that are nearly the same
                    turn = Rotation.from_rotvec(rng.choice([0.01, 0.3]) * frame[rng.integers(3)]).as_matrix()
                    own = frame @ turn
                random.contacts.append(one)
                self.tables.add_contact(own[0], np.zeros(3), np.zeros(3))
                self.points.append(
                    Point(one.y, one.gap0, one.friction, one.restitution, one.surface, own[0], own[1], pair)
                )
        for _ in range(limits):
            random._bound(drives=False, warm=False)
            random.bounds[-1].gap0 = float(rng.choice([-1e-3, 0.0, 0.9e-3, 1.1e-3, 0.1]))

    def mixed(self, rng: np.random.Generator, a: int, b: int) -> float:
        """Tangential restitution of a pair: as agreed, or by priority, or the larger one."""
        if rng.random() < 0.3:
            self.agreed[a, b] = float(rng.uniform(-1.0, 1.0))
            return self.agreed[a, b]
        first, other = self.priorities[[a, b]]
        one, two = self.materials[[a, b]]
        return float(max(one, two) if first == other else one if first > other else two)

    def solver(self) -> Solver:
        solver = self.random.solver()
        solver.header["gap"] = self.settings.half_gap
        for i, point in enumerate(self.points):
            row = solver["contacts"][i]
            row["contact"], row["normal"], row["tangent1"] = i, point.normal, point.tangent
        for row in solver.dof_constraints:  # some of them are of other kinds, which do not stop anything
            row["kind"] = int(row["dof"] + row["y"]) % 5
        solver.make_room("materials", "material_room", 2 * len(self.tangential))
        materials = solver["materials"]
        materials["tangential"][: len(self.materials)] = self.materials
        materials["priority"][: len(self.materials)] = self.priorities
        for (a, b), value in self.agreed.items():
            materials["pairs"][[a, b]] = 1
            row = solver.claim("pair_materials", "a")
            solver["pair_materials"][row]["a"], solver["pair_materials"][row]["b"] = a, b
            solver["pair_materials"][row]["tangential"] = value
        return solver

    def dense(self, solver: Solver) -> Collisions:
        limits = [
            Limit(bound.y, bound.gap0)
            for bound, row in zip(self.random.bounds, solver.dof_constraints, strict=True)
            if row["kind"] <= 1
        ]
        return Collisions(self.random.z, self.points, limits, self.tangential, self.settings)

    def impacts(self) -> Array:
        rows = np.zeros(1, IMPACTS)
        rows["epsilon"], rows["slow"] = self.settings.epsilon, self.settings.slow
        rows["boost"], rows["turn"] = self.settings.boost, self.settings.turn
        return rows


WIDTHS = {"free bodies": [6, 6, 6, 6], "one": [8], "trees": [4, 7, 12, 20]}
CASES = [(seed, name, limits) for seed in range(5) for name in WIDTHS for limits in (0, 4)]


@pytest.mark.parametrize("boost", [0.0, 4.0])
@pytest.mark.parametrize(("seed", "name", "limits"), CASES)
def test_an_island_collides_pair_by_pair(seed: int, name: str, limits: int, boost: float) -> None:
    island = Island(seed, WIDTHS[name], 5, limits, boost)
    if boost > 0.0:
        island.random.z *= 10.0 ** np.random.default_rng(seed).uniform(-3.0, 0.0)  # micro-collisions
    solver, impacts = island.solver(), island.impacts()
    dense = island.dense(solver)
    collide_all(solver.address, island.tables.address, impacts.ctypes.data)
    dense.solve()
    assert (impacts["turn"], impacts["struck"]) == (island.settings.turn + 1, 1)
    if boost == 0.0:  # else rounding of what has stopped collides, too
        assert impacts["collision_count"] == dense.count
    z, n = solver["z"][: island.random.nz], len(island.tangential)
    scale = np.abs(dense.z).max()
    np.testing.assert_allclose(z / scale, dense.z / scale, atol=1e-6)
    totals = sums_of(solver)[0]
    size = max(np.abs(totals).max(), 1e-300)
    np.testing.assert_allclose(totals / size, np.array([point.total for point in island.points]) / size, atol=1e-6)
    struck = island.tables.memories["struck"][island.tables.pairs["row"][:n]]
    np.testing.assert_allclose(struck, dense.struck, rtol=1e-6)
    if boost == 0.0:
        still = not any(np.any(point.surface) for point in island.points)
        assert not still or z @ z <= island.random.z @ island.random.z * (1.0 + 1e-12)


@pytest.mark.parametrize(("speed", "again"), [(0.5, True), (4e-4, False)])
@pytest.mark.parametrize("seed", range(4))
def test_a_joint_that_stops_makes_a_contact_collide(seed: int, speed: float, again: bool) -> None:
    """The contact parts until a limit stops the joint; there is another round if that was faster than 1 mm/s."""
    island = Island(seed, [8], 1, 1)
    island.settings.slow, rng = 0.0, np.random.default_rng(seed)
    axis, other = special_ortho_group.rvs(8, random_state=rng)[:2]
    limit, random = island.random.bounds[0], island.random
    limit.y, limit.gap0 = 2.0 * axis, 0.0
    random.z = -speed * axis - 0.5 * speed * other
    for point, contact in zip(island.points, random.contacts, strict=True):
        point.y[0] = contact.y[0] = other - axis
        point.gap = contact.gap0 = 0.0
    solver, impacts = island.solver(), island.impacts()
    solver.dof_constraints["kind"] = seed % 2
    dense = island.dense(solver)
    collide_all(solver.address, island.tables.address, impacts.ctypes.data)
    dense.solve()
    assert bool(impacts["collision_count"] > 0) is again
    np.testing.assert_allclose(solver["z"][:8] / speed, dense.z / speed, atol=1e-9)


def test_the_families_collide_more_than_once_and_reach_an_end() -> None:
    """Else the tests above say little: what is left approaching is slow, and in most islands pairs collide again."""
    ends, counts = [], []
    for seed, name, limits in CASES:
        island = Island(seed, WIDTHS[name], 5, limits)
        dense = island.dense(island.solver())
        dense.solve()
        ends.append(dense.rounds < 30)
        counts.append(dense.count)
        assert not ends[-1] or not any(dense.collides(point) for point in island.points)
    assert np.mean(ends) > 0.5
    assert np.mean(np.array(counts) > 3) > 0.5
