"""Which islands are solved directly: those in which something carries many times its own mass."""

from __future__ import annotations

from operator import index

import numpy as np
import pytest
from benchmarks.scenes import SEVEN
from tests.contact.scene_worlds import start

from kinemorph.contact.newton.load_estimate import HEAVY_LOAD_RATIO
from kinemorph.geometry.shapes import Shape
from kinemorph.world.world import World

pytestmark = pytest.mark.quick

CUBE = Shape.box((0.2, 0.2, 0.2))


def heavy(world: World) -> list[int]:
    """Of each island, whether it is solved directly for what is carried in it."""
    islands = world.solver["islands"][: int(world.solver.header["island_count"][0])]
    found: list[int] = world.solver["slices"]["direct"][islands["first_tree"]].tolist()
    return found


def direct_count(world: World) -> int:
    return sum(heavy(world))


def tower(count: int, order: list[int], ground: bool = True) -> tuple[World, dict[int, int]]:
    """Cubes on top of each other, added in an order of their levels. The bodies by level."""
    world = World(sleep=False)
    if ground:
        world.add_ground()
    return world, {level: index(world.add(CUBE, (0.0, 0.0, 0.1 + 0.2 * level))) for level in order if level < count}


@pytest.mark.parametrize("count", [2, 9, 10, 15])
def test_tall_stacks_are_direct(count: int) -> None:
    world, _ = tower(count, list(range(count)))
    world.step()
    assert direct_count(world) == (count - 1 > HEAVY_LOAD_RATIO)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_in_which_bodies_came_does_not_matter(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(20).tolist()
    world, bodies = tower(20, order)
    world.run(4.0)
    assert direct_count(world) == 1
    for level, body in bodies.items():
        np.testing.assert_allclose(world.forest.pose(body).position, [0.0, 0.0, 0.1 + 0.2 * level], atol=1e-3)
    assert world.solver.header["skyline_used"][0] <= 20 * (6 * 6 + 21)


def test_each_island_is_judged_by_itself() -> None:
    world = World(sleep=False)
    world.add_ground()
    for x, count in ((0.0, 12), (1.0, 3), (2.0, 11)):
        for level in range(count):
            world.add(CUBE, (x, 0.0, 0.1 + 0.2 * level))
    world.step()
    assert heavy(world) == [1, 0, 1]
    world.step()
    assert heavy(world) == [1, 0, 1]


def test_what_is_new_and_calm_is_solved_directly_once() -> None:
    """So that the first step knows what all contacts carry, and not the tenth."""
    world, _ = tower(3, [0, 1, 2])
    for direct in (1, 0, 0):
        world.step()
        assert world.solver["islands"]["direct"][0] == direct
        lowest = sum(t["total_normal_impulse"] for t in world.solver.contact_constraints if t["tree1"] < 0)
        assert lowest == pytest.approx(world.dt * 9.81 * 3 * 8.0, rel=0.01 if direct else 0.2)


def test_what_falls_carries_nothing() -> None:
    world, _ = tower(20, list(range(20)), ground=False)
    world.run(0.1)
    assert direct_count(world) == 0


@pytest.mark.parametrize("name", [name for name in SEVEN if name != "ant"])
def test_impacts_do_not_count(name: str) -> None:
    scene = SEVEN[name]()
    world = World(dt=5e-3, sleep=False)
    world.add_ground()
    start(world, scene)
    for _ in range(round(scene.seconds / 5e-3)):
        world.step()
        assert direct_count(world) == 0


def test_a_stack_that_loses_its_top_is_direct_a_while_longer() -> None:
    """Lifted off one by one, from 12 down: carrying 8 of its own mass made it direct, below 4 it is no longer."""
    seen = []
    for count in (12, 7, 4):
        world, bodies = tower(12, list(range(12)))
        world.step()
        for level in range(count, 12):
            lift(world, bodies[level], 10.0 * level)
        world.step(2)
        seen.append(int(world.solver["islands"]["direct"][0]))
    assert seen == [1, 1, 0]


def lift(world: World, body: int, height: float) -> None:
    tree = world.forest.tree_of(body)
    q = world.forest.state(tree).q.copy()
    q[2] = height
    world.forest.set_state(tree, q=q)


def test_a_stack_that_falls_becomes_direct_when_it_has_landed() -> None:
    world = World(sleep=False)
    world.add_ground()
    bodies = [index(world.add(CUBE, (0.0, 0.0, 0.2 + 0.2 * level))) for level in range(15)]
    world.run(0.1)
    assert direct_count(world) == 0
    world.run(2.0)
    assert direct_count(world) == 1
    heights = [world.forest.pose(body).position[2] for body in bodies]
    np.testing.assert_allclose(heights, 0.1 + 0.2 * np.arange(15), atol=1e-3)
