"""Contact by impulses over families of scenes that nobody has chosen: walls, stacks and piles that rest, and bodies
without weight that are struck, of any size and speed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kinemorph as km
from kinemorph.world.impulse.settings import HANDLINGS

ALL, CLOSEST = HANDLINGS
STILL = 0.01  # share of its size that a body may move by while it rests
SETTLED, WATCHED = 0.8, 0.8  # s


def world_of(size, epsilon, handling=CLOSEST, **settings):
    """A world with ground, whose envelope is a share of a size."""
    world = km.World(contact="impulse", epsilon=epsilon * size, handling=handling, sleep=False, **settings)
    world.add_ground()
    return world


def wall(world, size, rows, columns, gap):
    """Bricks that bond, with gaps all around."""
    half, bricks = 0.5 * size, []
    for row in range(rows):
        lengths = [size] * columns if row % 2 == 0 else [half, *[size] * (columns - 1), half]
        x = 0.0
        for length in lengths:
            at = (x + 0.5 * length, 0.0, (row + 0.5) * half + (row + 1) * gap)
            bricks.append(world.add(km.Shape.box((length, half, half)), at=at))
            x += length + gap
    return bricks


def stack(world, sizes, gap, rng=None):
    """Boxes one on the other; with an `rng`, turned about the vertical and a little off the middle."""
    boxes, z = [], 0.0
    for size in sizes:
        z += gap + 0.5 * size[2]
        x, y = (0.0, 0.0) if rng is None else 0.03 * max(size) * rng.uniform(-1.0, 1.0, 2)
        angle = 0.0 if rng is None else rng.uniform(0.0, 2.0 * math.pi)
        turn = km.Pose.quaternion((math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle))).rotation
        boxes.append(world.add(km.Shape.box(tuple(size)), at=km.Pose((x, y, z), turn)))
        z += 0.5 * size[2]
    return boxes


def moved(world, bodies):
    """How far any of them comes and turns after all have settled, and the collisions while they do."""
    world.run(SETTLED)
    start, strikes = [body.pose for body in bodies], world.queries.statistics.strikes
    far = turned = 0.0
    for _ in range(4):
        world.run(WATCHED / 4)
        for body, pose in zip(bodies, start, strict=True):
            far = max(far, float(np.linalg.norm(body.pose.position - pose.position)))
            turned = max(turned, float(np.abs(body.pose.rotation - pose.rotation).max()))
    return far, turned, world.queries.statistics.strikes - strikes


# ------------------------------------------------------------------------------------------------------ what rests


@pytest.mark.parametrize(
    ("rows", "columns", "size"), [(4, 8, 0.4), (4, 8, 0.1), (5, 6, 1.0), (8, 4, 0.2), (2, 2, 0.05)]
)
def test_a_wall_of_any_size_and_shape_stands_in_the_narrowest_envelope(rows, columns, size):
    world = world_of(size, 1e-3)
    far, turned, strikes = moved(world, wall(world, size, rows, columns, 1.2e-3 * size))
    assert far < STILL * size
    assert turned < STILL
    assert strikes == 0


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_cubes_on_each_other_neither_slide_nor_turn(count, size):
    world = world_of(size, 1e-3)
    far, turned, strikes = moved(world, stack(world, np.full((count, 3), size), 1.2e-3 * size))
    assert far < STILL * size
    assert turned < STILL
    assert strikes == 0


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_laid_on_each_other_stands(seed):
    """Walls, stacks, towers and piles, of bodies of 5 cm to 2 m, in envelopes of 0.1 to 1 %, with both handlings."""
    rng = np.random.default_rng(seed)
    size, epsilon = math.exp(rng.uniform(math.log(0.05), math.log(2.0))), rng.choice([0.01, 0.005, 0.001])
    gap = rng.uniform(1.05, 3.0) * epsilon * size
    world = world_of(size, epsilon, HANDLINGS[seed % 3 != 0])
    kind = seed % 4
    if kind == 0:
        bodies = wall(world, size, rng.integers(2, 6), rng.integers(2, 6), gap)
    elif kind == 1:
        bodies = stack(world, np.full((rng.integers(2, 9), 3), size), gap)
    elif kind == 2:
        one = size * np.exp(rng.uniform(math.log(0.4), math.log(1.5), 3))
        bodies = stack(world, np.tile(one, (rng.integers(2, 7), 1)), gap)
    else:
        sizes = size * np.exp(rng.uniform(math.log(0.5), 0.0, (rng.integers(2, 7), 3)))
        bodies = stack(world, sizes, gap, rng)
    far, turned, strikes = moved(world, bodies)
    assert far < STILL * size
    assert turned < STILL
    assert strikes == 0
    assert world.queries.statistics.parts < 2 * (SETTLED + WATCHED) / world.dt


@pytest.mark.parametrize("seed", range(40))
def test_what_is_lighter_than_what_it_stands_on_does_not_rock(seed):
    """Two or three boxes, cylinders and prisms, turned and a little off the middle; each carries less than itself."""
    rng = np.random.default_rng([seed, 2])
    size, epsilon = math.exp(rng.uniform(math.log(0.05), math.log(0.5))), rng.choice([1e-3, 5e-4])
    material = km.Material(rng.choice([0.3, 0.5, 1.0]), restitution=rng.choice([0.0, 0.5]))
    gravity = rng.choice([9.81, 24.8])
    world = world_of(size, epsilon, HANDLINGS[seed % 2], material=material, gravity=(0, 0, -gravity))
    bodies, z = [], 0.0
    for _ in range(rng.integers(2, 4)):
        r, h, n = 0.5 * size * rng.uniform(0.6, 1.0), size * rng.uniform(0.2, 0.8), int(rng.integers(2, 9))
        around = 2.0 * math.pi * np.arange(n) / n
        points = [(r * math.cos(a), r * math.sin(a), side * h) for a in around for side in (-0.5, 0.5)]
        box, drum = km.Shape.box((2.0 * r, 1.6 * r, h)), km.Shape.cylinder(r, h)
        shape = box if n == 2 else drum if n == 3 else km.Polyhedron.hull(points)
        z += 1.5 * epsilon * size
        turn = km.Pose.turn((0, 0, 1), rng.uniform(0.0, 6.0)).rotation
        at = km.Pose((*(0.04 * size * rng.uniform(-1.0, 1.0, 2)), z + 0.5 * h), turn)
        bodies.append(world.add(shape, at, mass=size**3 * 500.0 * 0.45 ** len(bodies)))
        z += h
    far, turned, strikes = moved(world, bodies)
    assert far < 1e-4 * size
    assert turned < 1e-4
    assert strikes == 0


def test_what_lands_on_an_edge_still_collides_at_its_closest_point_alone():
    """A box that falls flat is hit at all of its corners at once, one that leans at a single one."""
    heights = []
    for lean in (0.0, 0.02):
        world = world_of(1.0, 1e-3, material=km.Material(0.3, restitution=0.8))
        box = world.add(km.Shape.box((0.4, 0.4, 0.2)), at=(0.0, 0.0, 0.6), twist=(lean, 0.0, 0.0, 0.0, 0.0, 0.0))
        world.run(0.45)
        heights.append(abs(float(box.twist[0])))
    assert heights[0] < 1e-9
    assert heights[1] > 1.0


# -------------------------------------------------------------------------------------------- what has no weight


def test_touching_spheres_without_weight_are_struck():
    world = km.World(gravity=(0.0, 0.0, 0.0), contact="impulse", material=km.Material(0.3, restitution=1.0))
    balls = [world.add(km.Shape.sphere(0.1), at=(x, 0.0, 0.0)) for x in (-0.5, 0.0, 0.2)]
    balls[0].velocity = (1.0, 0.0, 0.0)
    world.run(1.0)
    assert [ball.velocity[0] for ball in balls] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("gravity", [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize("speed", [1e-3, 1.0, 300.0])
def test_newtons_cradle_passes_on_what_it_is_given(count, gravity, speed):
    """A row of touching balls; those without a bounce go on together, as near as sweeps come to that.

    What touches is pushed apart to half of the envelope, and keeps no more than 1e-6 m/s of that.
    """
    for e in (0.0, 1.0):
        dt = min(2e-3, 0.02 / speed)
        material = km.Material(0.0, restitution=e)
        world = km.World(gravity=(0.0, 0.0, -gravity), contact="impulse", material=material, sleep=False, dt=dt)
        balls = [world.add(km.Shape.sphere(0.1), at=(0.2 * k, 0.0, 0.0)) for k in range(count)]
        striker = world.add(km.Shape.sphere(0.1), at=(-0.2 - 40.0 * speed * dt, 0.0, 0.0))
        striker.velocity = (speed, 0.0, 0.0)
        world.step(80)
        velocities = np.array([ball.velocity[0] for ball in (striker, *balls)]) / speed
        wanted = np.full(count + 1, 1.0 / (count + 1)) if e == 0.0 else np.eye(count + 1)[count]
        np.testing.assert_allclose(velocities, wanted, atol=5e-3 if e == 0.0 else 1e-6 + 1e-6 / speed)


@pytest.mark.parametrize("seed", range(10))
def test_clusters_of_any_size_that_are_struck_keep_their_momentum_and_gain_no_energy(seed):
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-2.0, 1.0)
    speed = size * 10.0 ** rng.uniform(-0.5, 3.5)
    dt = float(np.clip(0.05 * size / speed, 1e-5, 0.02))
    material = km.Material(rng.uniform(0.0, 1.0), restitution=rng.choice([0.0, 0.5, 1.0]))
    world = km.World(
        gravity=(0.0, 0.0, 0.0), contact="impulse", epsilon=1e-3 * size, handling=HANDLINGS[seed % 2],
        material=material, sleep=False, dt=dt,
    )  # fmt: skip
    for i in range(rng.integers(2, 4)):
        for j in range(rng.integers(1, 4)):
            for k in range(rng.integers(1, 3)):
                shape = km.Shape.sphere(0.5 * size) if rng.random() < 0.5 else km.Shape.box((size, size, size))
                world.add(shape, at=size * np.array((i, j, k), float), density=10.0 ** rng.uniform(2.0, 4.0))
    off = rng.uniform(-0.4, 0.4, 2) * size
    striker = world.add(km.Shape.sphere(0.4 * size), at=(-2.0 * size, off[0], off[1]))
    striker.velocity = (speed, 0.0, 0.0)
    momentum, energy = world.forest.momentum(), world.forest.kinetic_energy()
    reach = np.abs(momentum).max()
    for _ in range(round(5.0 * size / speed / dt / 20)):
        world.step(20)
        now = world.forest.kinetic_energy()
        assert now <= energy * (1.0 + 1e-9)
        energy = now
    assert world.queries.statistics.strikes > 0
    assert np.abs(world.forest.momentum() - momentum).max() < 1e-4 * reach
