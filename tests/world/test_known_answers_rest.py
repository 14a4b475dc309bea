"""What must stand for a minute: nothing drifts, and everything falls asleep."""

import math

import numpy as np
import pytest

import kinemorph as km


def stack(world, tmp_path):
    return [world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1 + 0.2 * i)) for i in range(20)]


def jenga(world, tmp_path):
    """18 layers of three, each across the one below."""
    bricks = []
    for layer in range(18):
        z, across = 0.0075 + 0.015 * layer, layer % 2
        size = (0.075, 0.025, 0.015) if across else (0.025, 0.075, 0.015)
        for x in (-0.0252, 0.0, 0.0252):
            bricks.append(world.add(km.Shape.box(size), at=(0, x, z) if across else (x, 0, z), density=600))
    return bricks


def tiny_pyramid(world, tmp_path):
    """21 cubes of a centimetre."""
    s = 0.01
    return [
        world.add(km.Shape.box((s, s, s)), at=((i - (5 - layer) / 2) * 1.1 * s, 0, s / 2 + s * layer), density=600)
        for layer in range(6) for i in range(6 - layer)
    ]  # fmt: skip


def card_house(world, tmp_path):
    """Three pairs of cards that lean on each other, and one that lies between them."""
    long, thin, lean = 0.09, 0.001, math.radians(20)
    high, wide = long * math.cos(lean) + thin * math.sin(lean), long * math.sin(lean) + thin * math.cos(lean)
    cards = []
    for x, z in ((-wide, 0.0), (wide, 0.0), (0.0, high + thin)):
        if z > 0.0:
            cards.append(world.add(km.Shape.box((2.4 * wide, 0.06, thin)), at=(0, 0, high + thin / 2), density=1200))
        for side in (-1, 1):
            at = km.Pose.turn((0, 1, 0), -side * lean, (x + side * wide / 2, 0, z + high / 2))
            cards.append(world.add(km.Shape.box((thin, 0.06, long)), at=at, density=1200))
    return cards


def arch(world, tmp_path):
    """Eleven stones of a half circle, which nothing but their weight holds."""
    stones, count, inner, outer = [], 11, 0.8, 1.2
    for k in range(count):
        a, b = math.pi * k / count, math.pi * (k + 1) / count
        corners = [(r * math.cos(t), y, r * math.sin(t)) for y in (-0.15, 0.15) for t in (a, b) for r in (inner, outer)]
        middle = np.mean(corners, axis=0)
        lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in corners - middle]
        faces = ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4))
        path = tmp_path / f"stone{k}.obj"
        path.write_text("\n".join([*lines, *("f " + " ".join(map(str, face)) for face in faces)]) + "\n")
        stones.append(world.add(km.Shape.mesh(path), at=middle, density=2000))
    return stones


@pytest.mark.parametrize("build", [stack, jenga, tiny_pyramid, card_house, arch])
def test_it_stands(build, tmp_path):
    world = km.World()
    world.add_ground()
    bodies = build(world, tmp_path)
    start = np.array([body.position for body in bodies])
    size = np.ptp(start, axis=0).max()
    world.run(10.0)
    settled = np.array([body.position for body in bodies])
    assert np.abs(settled - start).max() < 2e-3 * size
    world.run(50.0)
    assert np.abs([body.position for body in bodies] - settled).max() < 1e-5 * size
    assert all(body.asleep for body in bodies)
