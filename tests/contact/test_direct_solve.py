"""The direct solve: the laws of contact on random islands, and stacks that stand."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.scenes import FRICTION, Yardstick, heavy_on_light, stack
from tests.contact.scene_worlds import start
from tests.naive.gripping import Touch, solve_slowly
from tests.strategies import Rng

from kinemorph.contact.layout import ISLAND, SOLVER, DofConstraintKind
from kinemorph.contact.newton.constraint_cost import OVERLAP_DECAY_STEPS, STIFFNESS_RATIO
from kinemorph.contact.newton.newton import solve_directly
from kinemorph.contact.newton.skyline_cholesky import allocate_skyline, find_profile
from kinemorph.contact.solver import Solver
from kinemorph.geometry.shapes import Shape
from kinemorph.jit.api import entry, rows_at
from kinemorph.world.world import World

pytestmark = pytest.mark.quick

DT, PARTS, NV = 2e-3, 2, 3


@entry
def _solve(address: int) -> None:
    """The first island, whose rows in the envelope are given."""
    s = rows_at(address, 1, SOLVER)[0]
    island = rows_at(s["islands"], 1, ISLAND)[0]
    find_profile(s, island)
    allocate_skyline(s, island)
    solve_directly(s, island)


class Island:
    """Points with three degrees of freedom each, of random masses, some of which touch each other or the ground."""

    def __init__(self, rng: Rng, bodies: int, touches: int, *, ground: bool = True, forces: bool = True) -> None:
        self.mass = 10.0 ** rng.uniform(-1, 1, bodies)
        nz = NV * bodies
        self.z = rng.normal(size=nz)
        self.za = rng.normal(size=nz) * 10.0 if forces else np.zeros(nz)
        self.sides = []
        for _ in range(touches):
            a = int(rng.integers(-1 if ground else 0, bodies - 1))
            self.sides.append((a, int(rng.integers(a + 1, bodies))))
        self.frames = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(touches)]
        self.gap = np.where(rng.random(touches) < 0.3, 1e-3, -1e-4) * rng.random(touches)
        self.friction = rng.choice([0.0, 0.1, 0.3], touches)
        self.surface = rng.normal(size=(touches, 2)) * (rng.random((touches, 1)) < 0.3)
        self.order = rng.permutation(bodies)

    def solver(self, ordered: bool) -> Solver:
        """The same as tables."""
        solver, n = Solver(), len(self.mass)
        h = solver.header[0]
        h["h"], h["substeps"], h["nz"], h["friction_rounds"], h["settled_share"], h["still"] = (
            DT / PARTS,
            PARTS,
            NV * n,
            500,
            1e-12,
            0,
        )
        h["contact_count"] = len(self.sides)
        island = solver["islands"][0]
        island["nz"], island["contact_count"], island["mass"] = NV * n, len(self.sides), self.mass.sum()
        solver["z"][: NV * n], solver["za"][: NV * n] = self.z, self.za
        order = np.arange(n) if ordered else self.order
        solver["row_of"][: NV * n] = (NV * order[:, None] + np.arange(NV)).ravel()
        used = 0
        for row, (a, b), frame, gap, mu, w in zip(
            solver["contacts"], self.sides, self.frames, self.gap, self.friction, self.surface, strict=False
        ):
            row["y"], row["offset1"], row["length1"], row["offset2"], row["length2"] = (
                used,
                NV * a,
                NV if a >= 0 else 0,
                NV * b,
                NV,
            )
            y = np.hstack([-frame / np.sqrt(self.mass[a]), frame / np.sqrt(self.mass[b])])[:, 0 if a >= 0 else NV :]
            solver["Y"][used : used + y.size] = y.ravel()
            used += y.size
            row["initial_separation"], row["friction"], (row["surface_velocity1"], row["surface_velocity2"]) = (
                gap,
                mu,
                w,
            )
        return solver

    def rows(self) -> np.ndarray:
        """Three dense rows for each touch."""
        Y = np.zeros((len(self.sides), 3, len(self.z)))
        for y, (a, b), frame in zip(Y, self.sides, self.frames, strict=True):
            if a >= 0:
                y[:, NV * a : NV * a + NV] -= frame / np.sqrt(self.mass[a])
            y[:, NV * b : NV * b + NV] += frame / np.sqrt(self.mass[b])
        return Y

    def solved(self, ordered: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Velocities, velocities with which positions moved, and impulses."""
        solver = self.solver(ordered)
        _solve(solver.address)
        nz = len(self.z)
        p = solver.contact_constraints
        return (
            solver["z"][:nz].copy(),
            solver["displacement"][:nz] / DT,
            PARTS * np.stack([p["normal_impulse"], p["tangent_impulse1"], p["tangent_impulse2"]], axis=1),
        )

    def touches(self, soft: bool) -> list[Touch]:
        """What the oracle is asked: with the springs of touching contacts, or without."""
        K = STIFFNESS_RATIO * self.mass.sum()
        found = []
        for y, gap, mu, w in zip(self.rows(), self.gap, self.friction, self.surface, strict=True):
            if gap > 0.0:
                found.append(Touch(y, K, gap / DT, mu, w))
            else:
                found.append(
                    Touch(y, K if soft else np.inf, gap / (DT * (1.0 + OVERLAP_DECAY_STEPS)) if soft else 0.0, mu, w)
                )
        return found


CASES = [(seed, bodies, touches) for seed in range(6) for bodies, touches in ((1, 1), (3, 4), (6, 9))]


@pytest.mark.parametrize(("seed", "bodies", "touches"), CASES)
def test_laws_of_contact_hold(seed: int, bodies: int, touches: int) -> None:
    island = Island(np.random.default_rng(seed), bodies, touches)
    z, _, p = island.solved()
    v = island.rows() @ z
    vt = v[:, 1:] + island.surface
    np.testing.assert_allclose(z, island.z + DT * island.za + np.einsum("ij,ijk", p, island.rows()), atol=1e-10)
    assert (p[:, 0] >= 0.0).all()
    closed = island.gap <= 0.0
    assert (v[closed, 0] >= -1e-8).all()
    np.testing.assert_allclose(v[closed, 0] * p[closed, 0], 0.0, atol=1e-8)
    assert (
        v[~closed, 0] * DT + island.gap[~closed] >= -DT * p[~closed, 0] / (STIFFNESS_RATIO * island.mass.sum()) - 1e-10
    ).all()
    size, most = np.linalg.norm(p[:, 1:], axis=1), island.friction * p[:, 0]
    assert (size <= most + 1e-8).all()
    slip = np.linalg.norm(vt, axis=1)
    np.testing.assert_allclose(slip * (most - size), 0.0, atol=1e-8)  # it slips only where friction does all it can,
    np.testing.assert_allclose((p[:, 1:] * vt).sum(axis=1), -size * slip, atol=1e-8)  # against the slip


@pytest.mark.parametrize(("seed", "bodies", "touches"), CASES)
def test_agrees_with_the_slow_solution(seed: int, bodies: int, touches: int) -> None:
    island = Island(np.random.default_rng(seed), bodies, touches)
    z, moved, _ = island.solved()
    free = island.z + DT * island.za
    np.testing.assert_allclose(moved, solve_slowly(free, island.touches(soft=True)).z, atol=1e-8)
    np.testing.assert_allclose(z, solve_slowly(free, island.touches(soft=False)).z, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    island = Island(np.random.default_rng(seed), 8, 12)
    for one, other in zip(island.solved(True)[:2], island.solved(False)[:2], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("forces", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_momentum_of_a_free_island_is_conserved(seed: int, forces: bool) -> None:
    island = Island(np.random.default_rng(seed), 6, 9, ground=False, forces=forces)
    z, moved, _ = island.solved()
    root = np.sqrt(island.mass)
    before = root @ (island.z + DT * island.za).reshape(-1, NV)
    for after in (z, moved):
        np.testing.assert_allclose(root @ after.reshape(-1, NV), before, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_overlap_is_pushed_out_without_energy(seed: int) -> None:
    island = Island(np.random.default_rng(seed), 5, 8, forces=False)
    island.gap[:] = -np.abs(island.gap)
    island.surface[:] = 0.0
    island.z *= 0.0
    z, moved, _ = island.solved()
    assert moved @ moved > 0.0
    assert np.abs(z).max() < 1e-9


def test_limits_motors_and_dry_friction() -> None:
    """Three sliders of 2 kg: one at its limit, one braked by dry friction, one driven by a motor."""
    solver, mass, force = Solver(), 2.0, 10.0
    h, island = solver.header[0], solver["islands"][0]
    h["h"], h["substeps"], h["nz"], h["friction_rounds"], h["settled_share"], h["still"] = (
        DT / PARTS,
        PARTS,
        4,
        500,
        1e-12,
        0,
    )
    h["dof_constraint_count"] = island["dof_constraint_count"] = island["nz"] = 4
    island["mass"] = solver["slices"]["mass"][:4] = mass
    solver["row_of"][:4] = range(4)
    solver["za"][:4] = np.array([-force, force, force, 0.0]) / np.sqrt(mass)
    kinds = DofConstraintKind.LOWER, DofConstraintKind.DRY, DofConstraintKind.DRY, DofConstraintKind.DRIVEN
    for k, (row, what, most) in enumerate(
        zip(solver["dof_constraints"], kinds, (np.inf, 12.0, 4.0, 5.0), strict=False)
    ):
        row["kind"], row["offset"], row["length"], row["y"], row["effective_mass"], row["largest_force"] = (
            what,
            k,
            1,
            k,
            mass,
            most,
        )
        row["tree"] = k
        solver["Y"][k] = 1.0 / np.sqrt(mass)
    motor = solver["dof_constraints"][3]
    motor["target"], motor["damping"], motor["smallest_force"] = 1.0, np.inf, -5.0
    _solve(solver.address)
    speeds = solver["z"][:4] / np.sqrt(mass)
    np.testing.assert_allclose(speeds, [0.0, 0.0, DT * (force - 4.0) / mass, DT * 5.0 / mass], atol=1e-9)
    np.testing.assert_allclose(
        solver.dof_constraints["total_impulse"], DT * np.array([force, -force, -4.0, 5.0]), atol=1e-9
    )


# ------------------------------------------------------------------------------------------------------------ worlds


def world_of(scene: Yardstick, dt: float) -> World:
    world = World(dt=dt, sleep=False)
    world.add_ground()
    start(world, scene)
    return world


def positions(world: World) -> np.ndarray:
    """Those of all bodies."""
    return np.array([world.forest.pose(int(body)).position for body in world.forest.bodies])


def places(scene: Yardstick) -> np.ndarray:
    """Where the bodies of a scene start."""
    return scene.q.reshape(-1, 7)[:, :3]


def is_direct(world: World) -> bool:
    count = int(world.solver.header["island_count"][0])
    return bool(world.solver["islands"]["direct"][:count].any())


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
@pytest.mark.parametrize("ratio", [1.0, 10.0, 100.0, 1000.0])
def test_heavy_stands_on_light(ratio: float, dt: float) -> None:
    scene = heavy_on_light(ratio)
    world = world_of(scene, dt)
    deepest = 0.0
    for _ in range(100):
        world.run(0.1)
        deepest = min(deepest, world.solver.contact_constraints["initial_separation"].min())
    assert is_direct(world) is (ratio > 1.0)
    assert deepest > -1e-4
    np.testing.assert_allclose(positions(world), places(scene), atol=2e-4)


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
def test_a_stack_of_20_stands(dt: float) -> None:
    scene = stack()
    world = world_of(scene, dt)
    world.run(5.0)
    middle = positions(world)
    assert is_direct(world)
    assert world.solver.contact_constraints["initial_separation"].min() > -1e-4
    world.run(5.0)
    np.testing.assert_allclose(positions(world), middle, rtol=0, atol=1e-8)
    np.testing.assert_allclose(middle, places(scene), atol=1e-3)


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
@pytest.mark.parametrize(("share", "holds"), [(0.99, True), (1.01, False)])
def test_plates_slide_only_on_too_steep_a_slope(share: float, holds: bool, dt: float) -> None:
    angle = np.arctan(FRICTION * share)
    world = World(dt=dt, sleep=False, gravity=(9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle)))
    world.add_ground()
    world.add(Shape.box((0.4, 0.4, 0.05)), (0.0, 0.0, 0.025), density=100.0)
    world.add(Shape.box((0.4, 0.4, 0.05)), (0.0, 0.0, 0.075), density=2000.0)
    world.run(1.0)
    before = positions(world)
    world.run(2.0)
    moved = np.linalg.norm(positions(world) - before, axis=1).max()
    assert is_direct(world)
    assert moved < 1e-6 if holds else moved > 1e-2


def test_what_falls_on_a_stack_is_carried() -> None:
    scene = heavy_on_light(1000.0)
    scene.q[9] += 0.2
    world = world_of(scene, 5e-3)
    world.run(2.0)
    assert is_direct(world)
    np.testing.assert_allclose(positions(world)[:, 2], [0.1, 0.3], atol=2e-4)
