"""What begins in overlap comes out of it and rests there: being pushed out leaves no speed behind."""

import numpy as np
import pytest

import kinemorph as km

pytestmark = pytest.mark.filterwarnings("ignore:world. at 0 s there are bodies deep in each other")
CUBE = km.Shape.box((0.2, 0.2, 0.2))


def alone(world, depth):
    return [world.add(CUBE, at=(0, 0, 0.1 - depth))], 0.1


def ball(world, depth):
    return [world.add(km.Shape.sphere(0.1), at=(0, 0, 0.1 - depth))], 0.1


def pair(world, depth):
    return [world.add(CUBE, at=(0, 0, z)) for z in (0.1, 0.3 - depth)], 0.3


def stack(world, depth):
    return [world.add(CUBE, at=(0, 0, 0.1 + (0.2 - depth) * i)) for i in range(12)], 2.3


def heavy_on_light(world, depth):
    at = ((0, 0, 0.1), (0, 0, 0.3 - depth))
    return [world.add(CUBE, at=p, density=d) for p, d in zip(at, (125.0, 125_000.0), strict=True)], 0.3


def by_a_wall(world, depth):
    wall = world.add(km.Shape.box((0.2, 2, 2)), at=(depth - 0.2, 0, 1))
    world.connect(None, wall, km.Joint.fixed())
    return [world.add(CUBE, at=(0, 0, 0.1 - depth))], 0.1


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("depth", [0.01, 0.05, 0.09])
@pytest.mark.parametrize("scene", [alone, ball, pair, stack, heavy_on_light, by_a_wall])
def test_nothing_flies_up_out_of_an_overlap(scene, depth, restitution, dt):
    world = km.World(dt=dt, sleep=False, material=km.Material(0.6, restitution=restitution))
    world.add_ground()
    bodies, rest = scene(world, depth)
    highest = fastest = 0.0
    for _ in range(round(0.8 / dt)):
        world.step()
        highest = max(highest, bodies[-1].position[2])
        fastest = max(fastest, max(np.abs(body.velocity).max() for body in bodies))
    assert highest < rest + 1e-4
    assert bodies[-1].position[2] > rest - 1e-3
    assert fastest < 0.15  # m/s: none of what lifts it is left as speed
