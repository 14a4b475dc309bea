"""Ground of several pieces: what slides over a seam goes on as on one piece, and what stands out still stops."""

import numpy as np
import pytest

import kinemorph as km

SLIPPERY = km.Material(friction=0.0)
LYING = km.Pose.rpy(0.5 * np.pi, 0, 0)
SHAPES = {
    "box": (km.Shape.box((0.4, 0.4, 0.4)), km.Pose()),
    "ball": (km.Shape.sphere(0.2), km.Pose()),
    "capsule": (km.Shape.capsule(0.2, 0.4), LYING),
    "cylinder": (km.Shape.cylinder(0.2, 0.4), km.Pose()),
    "wheel": (km.Shape.cylinder(0.2, 0.1), LYING),
}


def paved(material=SLIPPERY, **settings):
    world = km.World(material=material, **settings)
    for i in range(6):
        for j in range(-2, 3):
            world.add_ground(km.Shape.box((1, 1, 1), km.Pose((i, j, -0.5))))
    return world


@pytest.mark.parametrize("angle", [0.0, 0.5])
@pytest.mark.parametrize("speed", [0.2, 6.0])
@pytest.mark.parametrize("name", SHAPES)
def test_nothing_catches_on_seams(name, speed, angle):
    """Jolt's internal edges, Rapier issue 182."""
    shape, pose = SHAPES[name]
    world = paved(sleep=False)
    v = speed * np.array([np.cos(angle), np.sin(angle), 0])
    body = world.add(shape, at=km.Pose((0.4, -0.45, 0.2), pose.rotation), twist=(0, 0, 0, *v))
    heights = [(world.step(), body.position[2])[1] for _ in range(round(min(0.6, 3.5 / speed) / world.dt))]
    assert np.abs(body.velocity - v)[:2].max() < 1e-4 * speed
    assert abs(body.velocity[2]) < 1e-4 * max(speed, 1.0)  # what stands on a rim trembles by less
    assert max(heights) < 0.2 + 1e-5
    assert min(heights) > 0.2 - 5e-4


def test_what_rolls_keeps_its_speed():
    world = paved(km.Material(friction=0.8))
    ball = world.add(km.Shape.sphere(0.2), at=(0, 0.1, 0.2), twist=(0, 10, 0, 2, 0, 0))
    world.run(2.0)
    assert ball.velocity[0] == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize("name", SHAPES)
def test_walls_stop(name):
    shape, pose = SHAPES[name]
    world = paved()
    world.add_ground(km.Shape.box((0.2, 9, 2), km.Pose((3, 0, 1))))
    body = world.add(shape, at=km.Pose((0, 0.1, 0.2), pose.rotation), twist=(0, 0, 0, 4, 0, 0))
    world.run(1.0)
    assert body.position[0] == pytest.approx(2.7, abs=1e-3)
    assert abs(body.velocity[0]) < 1e-3


def test_a_step_stops():
    world = paved()
    world.add_ground(km.Shape.box((1, 5, 1), km.Pose((3, 0, -0.495))))
    box = world.add(SHAPES["box"][0], at=(1.5, 0.1, 0.2), twist=(0, 0, 0, 0.5, 0, 0))
    world.run(3.0)
    assert box.position[0] < 2.301


def test_the_tip_of_a_plank_stops_at_the_foot_of_a_wall():
    world = paved()
    world.add_ground(km.Shape.box((0.2, 9, 2), km.Pose((2, 0, 1))))
    at = km.Pose.rpy(0, 0.6, 0, position=(0.5, 0, 0.5 * np.sin(0.6) + 0.025 * np.cos(0.6)))
    plank = world.add(km.Shape.box((1, 0.2, 0.05)), at=at, twist=(0, 0, 0, 3, 0, 0))
    world.run(1.0)
    ends = [plank.pose.position + plank.pose.rotation @ (x, 0, z) for x in (-0.5, 0.5) for z in (-0.025, 0.025)]
    assert max(end[0] for end in ends) < 1.9 + 2e-3


def test_what_fits_between_pieces_falls_through():
    world = km.World()
    for x in (-0.75, 0.75):
        world.add_ground(km.Shape.box((1, 3, 1), km.Pose((x, 0, -0.5))))
    small, large = (world.add(km.Shape.sphere(r), at=(0, y, 0.5)) for r, y in ((0.2, 0.0), (0.3, 1.0)))
    world.run(0.8)
    assert small.position[2] < -0.5
    assert large.position[2] == pytest.approx(np.sqrt(0.3**2 - 0.25**2), abs=1e-3)


@pytest.mark.parametrize("step", [0.0, 5e-5, 9e-5])
@pytest.mark.parametrize("gap", [0.0, 0.4])
def test_a_plank_rests_on_two_pieces(step, gap):
    """Both bear it: neither is left out for the other's sake, though their normals are hardly the same."""
    world = km.World()
    for side in (-1, 1):
        height = step if side > 0 else 0.0
        world.add_ground(km.Shape.box((1, 2, 1), km.Pose((side * (0.5 + 0.5 * gap), 0, height - 0.5))))
    at = km.Pose.rpy(0, -0.5 * step, 0.4, position=(0.1, 0, 0.05 + 0.7 * step + 2e-4))
    plank = world.add(km.Shape.box((2, 0.3, 0.1)), at=at)
    world.add(km.Shape.box((0.3, 0.3, 0.3)), at=(-0.74, -0.31, 0.25 + step + 1e-3), density=5000)
    world.run(2.0)
    assert plank.asleep


def test_nothing_catches_on_seams_by_impulses():
    world = paved(contact="impulse", sleep=False)
    body = world.add(km.Shape.box((0.4, 0.4, 0.4)), at=(0.4, -0.45, 0.2), twist=(0, 0, 0, 2, 0.7, 0))
    world.run(0.6)
    assert body.velocity == pytest.approx([2, 0.7, 0], abs=2e-3)


def test_ground_goes_after_a_body_that_stood_on_it():
    world = km.World()
    ground = world.add_ground()
    first, other = (world.add(km.Shape.box((1, 1, 1)), at=(x, 0, 0.5)) for x in (0, 3))
    world.run(2.0)
    assert other.asleep
    world.remove(first)
    far = world.add(km.Shape.box((1, 1, 1)), at=(50, 0, 9))
    world.structure.remove_ground(ground)
    assert not other.asleep
    world.run(0.1)
    assert other.velocity[2] < -0.9
    assert far.position[2] < 9.0
