"""Cuts of chains that are straight and taut between two anchors: a singular configuration, where loops keep a little of
a velocity that no joint can follow."""

import numpy as np
import pytest
from tests.strategies import random_pose

import kinemorph as km


def chain(rng: np.random.Generator, straight: bool) -> tuple[km.World, list[km.Body], list[km.Edit]]:
    """A chain of random links between two points of the world, at rest, any way round."""
    world = km.World(gravity=rng.choice([9.81, 1.6, 30.0]) * np.array((0, 0, -1)), sleep=False)
    n, stand = int(rng.integers(2, 11)), random_pose(rng) if rng.random() < 0.5 else km.Pose((0, 0, 2))
    long = rng.choice([0.05, 0.4, 3.0])
    axes = [(0, 1, 0), (0, 0, 1), (0, 0.6, 0.8)]
    ends, x = [stand.position], km.Pose()
    links = []
    for i in range(n):
        size = long * rng.uniform(0.5, 1.5)
        bend = 0.0 if straight else 0.1 * rng.normal()
        middle = x @ km.Pose.turn((0, 1, 0), bend, (0.5 * size, 0, 0))
        x = middle @ km.Pose((0.5 * size, 0, 0))
        density = 500.0 * 10 ** rng.uniform(-1, 1)
        shape = km.Shape.box((0.9 * size, 0.3 * size, 0.2 * size))
        links.append(world.add(shape, stand @ middle, density=density, name=f"link {i}"))
        ends.append((stand @ x).position)
    axis, balls = stand.rotation @ axes[int(rng.integers(3))], rng.random()
    joints = []
    for i, point in enumerate(ends):
        ball = rng.random() < balls
        joint = km.Joint.spherical(name=f"hinge {i}") if ball else km.Joint.revolute(axis, name=f"hinge {i}")
        a, b = (links[i - 1] if i else None), (links[i] if i < n else None)
        joints.append(world.connect(a, b, joint, point) if b is not None else world.connect(None, a, joint, point))
    return world, links, joints


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_any_joint_of_a_taut_chain_can_be_cut_at_any_time(seed, straight):
    rng = np.random.default_rng(seed)
    world, links, joints = chain(rng, straight)
    for seconds in (0.0, 0.1, 0.2):
        world.run(seconds)
        saved = world.save()
        for joint in rng.permutation(len(joints))[:4]:
            poses, twists = [body.pose for body in links], np.array([body.twist for body in links])
            whole = world.queries.momentum()
            speed = 1.0 + np.abs(twists).max()
            change = world.cut(joints[joint])
            assert change.pose_error < 1e-8
            for body, pose in zip(links, poses, strict=True):
                np.testing.assert_allclose(body.position, pose.position, atol=1e-8)
                np.testing.assert_allclose(body.pose.rotation, pose.rotation, atol=1e-8)
            np.testing.assert_allclose([body.twist for body in links], twists, atol=1e-6 * speed)
            mass = sum(body.mass for body in links)
            np.testing.assert_allclose(world.queries.momentum(), whole, atol=1e-5 * speed * mass)
            world.run(0.006)  # and goes on
            assert world.forest.loop_errors()[0] < 1e-6
            world.restore(saved)


def test_a_cut_that_a_loop_cannot_follow_keeps_the_loop_and_all_velocities():
    """Ten planks in a row: as they were tried by strangers, at the time at which the cut was refused."""
    world = km.World(sleep=False)
    planks = [world.add(km.Shape.box((0.4, 0.2, 0.05)), (0.4 * i + 0.2, 0, 2), density=500) for i in range(10)]
    hinges = [world.connect(None, planks[0], km.Joint.revolute("y"), (0, 0, 2))]
    hinges += [world.connect(planks[i - 1], planks[i], km.Joint.revolute("y"), (0.4 * i, 0, 2)) for i in range(1, 10)]
    last = world.connect(None, planks[-1], km.Joint.revolute("y", name="last"), (4, 0, 2))
    for _ in range(100):
        world.run(0.02)
        saved, before = world.save(), np.array([body.twist for body in planks])
        stays = world.forest.loop_errors()[1] > 2e-6 * (1.0 + np.abs(before).max())
        world.cut(hinges[5])
        assert world.forest.closes_loop(last.joint) >= stays
        np.testing.assert_allclose([body.twist for body in planks], before, atol=1e-12 if stays else 2e-6)
        if stays:
            break
        world.restore(saved)
    else:
        raise AssertionError("no time at which the loop cannot follow: the chain is not taut")
    world.run(0.2)
    assert world.forest.loop_errors()[0] < 1e-9
    assert planks[4].position[2] < 1.99
    world.cut("last")
    world.run(0.5)
    assert planks[9].position[2] < 0.9
