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


def shots(count, dt, held, restitution, seed, shape=None, spin=0.0):
    """Balls, or other bodies, in flight, each towards a plate of its own, in one world without gravity."""
    rng = np.random.default_rng(seed)
    world = km.World(gravity=(0.0, 0.0, 0.0), dt=dt, sleep=False, material=km.Material(0.3, restitution=restitution))
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
        start[2] = max(start[2], 0.01 if shape is None else 0.03)
        velocity = pose.rotation @ (SPEED * way)
        at = km.Pose((pose @ km.Pose(start)).position)
        w = spin * rng.normal(size=3) if spin > 0.0 else np.zeros(3)
        at = at if shape is None else at @ turned(rng)
        ball = world.add(shape or km.Shape.sphere(RADIUS), at=at, twist=(*w, *velocity), density=STEEL)
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


# --- bodies that turn as they hit ---

BODIES = {
    "brick": km.Shape.box((0.03, 0.02, 0.01)),
    "tile": km.Shape.box((0.02, 0.02, 0.002)),
    "rod": km.Shape.box((0.002, 0.002, 0.02)),
    "capsule": km.Shape.capsule(0.0015, 0.02),
    "cylinder": km.Shape.cylinder(0.005, 0.01),
    "coin": km.Shape.cylinder(0.012, 0.002),
}


def on_the_way(before, after, parts=40):
    """Where a body's middle is, seen from its plate, while both go from one pose to the other."""
    (plate, x), (plate2, y) = before, after
    turn = plate.rotation.T @ plate2.rotation
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    size = np.linalg.norm(axis)
    angle = np.arctan2(size, np.trace(turn) - 1.0)
    for share in np.linspace(0.0, 1.0, parts + 1):
        R = plate.rotation @ (km.Pose.turn(axis / size, share * angle).rotation if size > 1e-12 else np.eye(3))
        yield R.T @ ((1.0 - share) * (x - plate.position) + share * (y - plate2.position))


def on_side(place):
    plate, x = place
    return plate.rotation[:, 2] @ (x - plate.position) > 0.0


def sides_changed(before, after):
    """How often the middle of a body goes through its plate, and not past its edge."""
    if on_side(before) == on_side(after):
        return 0
    there = list(on_the_way(before, after))
    within = [(np.abs(z[:2]) < 0.5 * WIDTH).all() for z in there]
    pairs = zip(there, there[1:], within, within[1:], strict=False)
    return sum(a[2] * b[2] < 0.0 and both and again for a, b, both, again in pairs)


@pytest.mark.parametrize(
    ("dt", "held", "restitution", "spin"),
    [(0.002, True, 0.0, 300.0), (0.002, False, 0.5, 3000.0), (0.005, True, 0.5, 0.0), (0.005, False, 0.0, 300.0)],
)
@pytest.mark.parametrize("kind", BODIES)
def test_no_body_at_100_m_s_gets_through_a_plate_of_2_mm_however_it_turns(kind, dt, held, restitution, spin):
    """Nor does any gain energy; a free plate takes the momentum."""
    world, pairs = shots(60, dt, held, restitution, seed=8, shape=BODIES[kind], spin=spin)
    there = [(plate.pose, body.pose.position) for plate, body in pairs]
    through, energy, momentum = np.zeros(len(pairs), int), world.queries.energy().kinetic, world.queries.momentum()[3:]
    for _ in range(round(0.02 / dt)):
        world.step()
        there, before = [(plate.pose, body.pose.position) for plate, body in pairs], there
        through += [sides_changed(*both) for both in zip(before, there, strict=True)]
        assert world.queries.energy().kinetic <= energy * (1.0 + 1e-12)
        energy = world.queries.energy().kinetic
    gone = (through % 2 == 1).mean()  # what came half way through has come back;
    assert gone == 0.0 if held or dt < 0.005 else gone < 0.05  # a plate may turn by 0.1 rad in 5 ms under what slides
    assert (through > 0).mean() < 0.1
    if not held:
        np.testing.assert_allclose(world.queries.momentum()[3:], momentum, atol=1e-9 * np.abs(momentum).max())


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_fast_brick_that_hits_flat_bounces_back(restitution):
    for share in (0.1, 0.5, 0.9):
        world = a_plate(restitution)
        brick = a_ball(world, (0.0, 0.0, 0.5 * (THICKNESS + 0.01) + 0.2 * share), (0, 0, -SPEED), BODIES["brick"])
        world.run(0.01)
        np.testing.assert_allclose(brick.velocity, (0.0, 0.0, restitution * SPEED), atol=0.03 * SPEED)


# --- where they meet, not where they are ---


def a_plate(restitution=0.0, friction=0.0, dt=0.002):
    material = km.Material(friction, restitution=restitution)
    world = km.World(gravity=(0.0, 0.0, 0.0), dt=dt, sleep=False, material=material)
    plate = world.add(km.Shape.box((WIDTH, WIDTH, THICKNESS)), density=STEEL)
    world.connect(None, plate, km.Joint.fixed())
    return world


def a_ball(world, start, velocity, shape=None):
    return world.add(shape or km.Shape.sphere(RADIUS), at=start, twist=(0.0, 0.0, 0.0, *velocity), density=STEEL)


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.005])
@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_a_fast_ball_that_passes_an_edge_flies_as_if_there_were_none(dt, restitution):
    rng = np.random.default_rng(3)
    for clearance in (1e-5, 1e-4, 1e-3, 1e-2):
        for _ in range(10):
            across = rng.uniform(0.05, 0.5 * np.pi - 0.05)
            out = np.array([np.cos(across), 0.0, np.sin(across)])  # from the edge to the ball, when it is closest
            way = np.array([out[2], rng.uniform(-1.0, 1.0), -out[0]]) * rng.choice([-1.0, 1.0])
            way /= np.linalg.norm(way)
            edge = np.array([0.5 * WIDTH, rng.uniform(-0.02, 0.02), 0.5 * THICKNESS])
            start = edge + (RADIUS + clearance) * out - rng.uniform(0.05, 0.3) * way
            world, alone = a_plate(restitution, 0.5, dt), km.World(gravity=(0.0, 0.0, 0.0), dt=dt, sleep=False)
            balls = [a_ball(w, start, SPEED * way) for w in (world, alone)]
            for _ in range(round(0.01 / dt)):
                world.step()
                alone.step()
                assert (balls[0].position == balls[1].position).all()
                assert (balls[0].velocity == balls[1].velocity).all()


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.005])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_fast_ball_keeps_its_speed_along_a_smooth_plate(dt, restitution):
    rng = np.random.default_rng(4)
    for _ in range(30):
        way = rng.normal(size=3)
        way[2] = -abs(way[2]) - 0.2 * np.hypot(way[0], way[1])
        way /= np.linalg.norm(way)
        hit = np.array([*rng.uniform(-0.1, 0.1, 2), 0.5 * THICKNESS + RADIUS])
        world = a_plate(restitution, dt=dt)
        ball = a_ball(world, hit - rng.uniform(0.05, 0.8) * way, SPEED * way)
        world.run(0.015)
        np.testing.assert_allclose(ball.velocity, SPEED * way * [1.0, 1.0, -restitution], atol=1e-9)


def test_a_fast_ball_rises_to_its_height_again():
    world = km.World(dt=0.002, sleep=False, material=km.Material(0.0, restitution=0.8))
    plate = world.add(km.Shape.box((50.0, WIDTH, THICKNESS)), density=STEEL)
    world.connect(None, plate, km.Joint.fixed())
    ball = a_ball(world, (-10.0, 0.0, 0.5), (30.0, 0.0, -20.0))
    world.run(0.1)
    met = np.sqrt(20.0**2 + 2 * 9.81 * (0.5 - 0.5 * THICKNESS - RADIUS))
    highest = 0.0
    for _ in range(900):
        world.step()
        highest = max(highest, ball.position[2])
    assert highest == pytest.approx((0.8 * met) ** 2 / (2 * 9.81), rel=1e-3)
    assert ball.velocity[0] == pytest.approx(30.0, abs=1e-9)


@pytest.mark.parametrize("gap", [0.001, 0.05, 0.15])
def test_friction_turns_a_fast_ball_about_its_own_middle(gap):
    world = a_plate(friction=1.0)
    start = np.array([0.0, 0.0, 0.5 * THICKNESS + RADIUS]) - gap * np.array([0.6, 0.0, -0.8]) / 0.8
    ball = a_ball(world, start, (60.0, 0.0, -80.0))
    world.step()
    np.testing.assert_allclose(ball.velocity, [60.0 * 5 / 7, 0.0, 0.0], atol=1e-9)  # it rolls
    np.testing.assert_allclose(ball.angular_velocity, [0.0, 60.0 * 5 / 7 / RADIUS, 0.0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dt", [0.002, 0.005])
def test_a_fast_ball_that_slides_on_does_not_pass_a_wall_that_it_would_have_missed(dt):
    rng = np.random.default_rng(5)
    for _ in range(40):
        world = a_plate(0.0, 0.0, dt)
        wall = world.add(km.Shape.box((THICKNESS, WIDTH, 0.1)), at=(0.1, 0.0, 0.05 + 0.5 * THICKNESS), density=STEEL)
        world.connect(None, wall, km.Joint.fixed())
        way = np.array([1.0, rng.uniform(-0.2, 0.2), -rng.uniform(0.3, 2.0)])  # its line leads below the wall
        way /= np.linalg.norm(way)
        hit = np.array([rng.uniform(-0.05, 0.09), 0.0, 0.5 * THICKNESS + RADIUS])
        ball = a_ball(world, hit - rng.uniform(0.01, 0.2) * way, SPEED * way)
        world.run(0.02)
        x, _, z = ball.position
        assert z > 0.0
        assert x < 0.1 or z > 0.1


@pytest.mark.parametrize("dt", [0.002, 0.005])
def test_a_fast_box_that_passes_a_plate_or_its_corner_flies_as_if_there_were_none(dt):
    rng = np.random.default_rng(6)
    brick = km.Shape.box((0.03, 0.02, 0.01))
    for _ in range(30):
        out = rng.uniform(0.1, 1.0, 3) * rng.integers(0, 2, 3)
        out = (out if out.any() else np.array([0.0, 0.0, 1.0])) / max(np.linalg.norm(out), 0.1)
        out /= np.linalg.norm(out)
        way = np.cross(out, rng.normal(size=3))
        way /= np.linalg.norm(way)
        corner = 0.5 * np.array([WIDTH, WIDTH, THICKNESS])
        start = corner + (0.02 + 1e-3) * out - rng.uniform(0.1, 0.4) * way  # no part of it is farther than 19 mm
        world, alone = a_plate(0.5, 0.5, dt), km.World(gravity=(0.0, 0.0, 0.0), dt=dt, sleep=False)
        pose = km.Pose(start) @ turned(rng)
        bricks = [w.add(brick, at=pose, twist=(0.0, 0.0, 0.0, *(SPEED * way)), density=STEEL) for w in (world, alone)]
        for _ in range(round(0.01 / dt)):
            world.step()
            alone.step()
            assert (bricks[0].position == bricks[1].position).all()


def distance_on_the_way(pair, pose, start, way, share):
    return pair.distance(None, km.Pose(start + share * way) @ pose)


@pytest.mark.parametrize("seed", range(4))
def test_contacts_of_fast_shapes_are_those_of_the_moment_when_they_touch(seed):
    rng = np.random.default_rng(seed)
    shapes = [km.Shape.box((0.1, 0.06, 0.02)), km.Shape.sphere(0.03), km.Shape.capsule(0.02, 0.1)]
    touched = 0
    for _ in range(25):
        still, moving = (shapes[k] for k in rng.integers(len(shapes), size=2))
        pose, way = turned(rng), rng.normal(size=3)
        way *= rng.uniform(0.3, 0.8) / np.linalg.norm(way)
        start = rng.uniform(-0.06, 0.06, 3) - rng.uniform(0.4, 0.9) * way
        pair = km.Pair(still, moving)
        if pair.distance(None, km.Pose(start) @ pose).distance < 1e-3:
            continue
        world = km.World(gravity=(0.0, 0.0, 0.0), dt=0.002, sleep=False)
        held = world.add(still)
        world.connect(None, held, km.Joint.fixed())
        world.add(moving, at=km.Pose(start) @ pose, twist=(0.0, 0.0, 0.0, *(way / 0.002)))
        world.step()
        shares = np.linspace(0.0, 1.0, 401)
        inside = [k for k, t in enumerate(shares) if distance_on_the_way(pair, pose, start, way, t).distance < 0.0]
        if not inside or inside[0] == 0:
            continue
        low, high = shares[inside[0] - 1], shares[inside[0]]
        for _ in range(40):
            middle = 0.5 * (low + high)
            apart = distance_on_the_way(pair, pose, start, way, middle).distance > 0.0
            low, high = (middle, high) if apart else (low, middle)
        found = world.collisions.contacts
        least = found[np.argmin(found["distance"])]
        meeting = distance_on_the_way(pair, pose, start, way, low - 1e-6)
        np.testing.assert_allclose(least["normal"], meeting.normal, atol=1e-3)
        assert least["distance"] == pytest.approx(-low * least["normal"] @ way, abs=2e-4)  # corners of faces, not edges
        touched += 1
    assert touched > 5
