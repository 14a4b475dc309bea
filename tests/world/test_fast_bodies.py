"""Fast bodies do not pass through thin ones between two steps."""

import numpy as np
import pytest

import kinemorph as km

RADIUS, SPEED, THICKNESS, WIDTH = 0.0025, 100.0, 0.002, 0.3  # m, m/s, m, m
SPACING = 3.0  # m, between one shot and the next
STEEL = 7800.0  # kg/m³


def turned(rng):
    q = rng.normal(size=4)
    return km.Pose.quaternion(q / np.linalg.norm(q))


def shots(count, dt, held, restitution, seed):
    """Balls in flight, each towards a plate of its own, in one world without gravity."""
    rng = np.random.default_rng(seed)
    world = km.World(gravity=(0.0, 0.0, 0.0), dt=dt, sleep=False, material=km.Material(0.3, restitution))
    side = int(np.ceil(count ** (1.0 / 3.0)))
    pairs = []
    for k in range(count):
        cell = SPACING * np.array(np.unravel_index(k, (side, side, side)), float)
        pose = km.Pose(cell) @ turned(rng)
        plate = world.add(km.Shape.box((WIDTH, WIDTH, THICKNESS)), at=pose, density=STEEL)
        if held:
            world.connect(None, plate, km.Joint.fixed())
        way = rng.normal(size=3)
        way[2] = -abs(way[2]) - 0.3 * np.hypot(way[0], way[1])  # not along the plate
        way /= np.linalg.norm(way)
        start = np.r_[rng.uniform(-0.1, 0.1, 2), 0.0] - way * rng.uniform(0.05, 0.8)
        start[2] = max(start[2], 0.01)
        velocity = pose.rotation @ (SPEED * way)
        at = pose @ km.Pose(start)
        ball = world.add(km.Shape.sphere(RADIUS), at=at.position, twist=(0.0, 0.0, 0.0, *velocity), density=STEEL)
        pairs.append((plate, ball))
    return world, pairs


def seen_from_plates(pairs):
    return np.array([(plate.pose.inverse() @ ball.pose).position for plate, ball in pairs])


def gone_through(before, after):
    """Which balls are below their plates now and were above them, on a way that leads through."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = before[:, 2] / (before[:, 2] - after[:, 2])
        where = before[:, :2] + share[:, None] * (after - before)[:, :2]
    return np.flatnonzero((before[:, 2] > 0.0) & (after[:, 2] < 0.0) & (np.abs(where) < WIDTH / 2).all(1))


@pytest.mark.parametrize(
    ("count", "dt", "held", "restitution"),
    [(1000, 0.002, True, 0.0), (150, 0.005, True, 0.8), (150, 0.002, False, 0.8), (150, 0.005, False, 0.0)],
)
def test_a_ball_of_5_mm_at_100_m_s_does_not_pass_a_plate_of_2_mm(count, dt, held, restitution):
    world, pairs = shots(count, dt, held, restitution, seed=7)
    there = seen_from_plates(pairs)
    for _ in range(round(0.02 / dt)):
        world.step()
        there, before = seen_from_plates(pairs), there
        assert gone_through(before, there).size == 0
    assert (there[:, 2] > -0.3).mean() > 0.9  # they were aimed well: most are still above, or have slid off the edge
