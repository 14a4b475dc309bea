"""What a world must come to where the answer is known: friction, rolling, bounces, flight, limits."""

import numpy as np
import pytest

import kinemorph as km

pytestmark = pytest.mark.quick

G = 9.81


def cube(world, at=(0.0, 0.0, 0.1), **more):
    return world.add(km.Shape.box((0.2, 0.2, 0.2)), at=at, **more)


@pytest.mark.parametrize("dt", [0.002, 0.005])
def test_a_sliding_box_stops_where_friction_stops_it(dt):
    world = km.World(dt=dt, material=km.Material(friction=0.5))
    world.add_ground()
    box = cube(world, twist=(0, 0, 0, 5.0, 0, 0))
    world.run(1.5)
    assert box.position[0] == pytest.approx(5.0**2 / (2 * 0.5 * G), rel=2e-3)
    assert np.abs(box.twist).max() < 1e-6


def test_friction_is_the_same_in_every_direction():
    stops = []
    for angle in 2 * np.pi * np.arange(12) / 12 + 0.1:
        world = km.World(material=km.Material(friction=np.sqrt(0.72)))
        world.add_ground()
        box = cube(world, twist=(0, 0, 0, 20 * np.cos(angle), 20 * np.sin(angle), 0))
        world.run(3.0)
        stops.append(np.linalg.norm(box.position[:2]))
        heading = np.array([np.cos(angle), np.sin(angle)])
        assert heading @ box.position[:2] > (1 - 1e-7) * stops[-1]
    assert max(stops) - min(stops) < 0.01  # of 24 m
    assert np.mean(stops) == pytest.approx(400 / (2 * np.sqrt(0.72) * G), abs=0.02)


def test_a_ball_rolls_down_a_slope():
    slope = np.radians(15)
    world = km.World(gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    world.add_ground()
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 0.1))
    world.run(1.0)
    assert ball.velocity[0] == pytest.approx(5 / 7 * G * np.sin(slope), rel=1e-3)
    assert ball.angular_velocity[1] == pytest.approx(ball.velocity[0] / 0.1, rel=1e-3)


@pytest.mark.parametrize("e", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_ball_bounces_to_the_height_that_restitution_says(e):
    world = km.World()
    world.add_ground(material=km.Material(restitution=e))
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 1.1))
    heights = []
    for _ in range(600):
        world.step()
        heights.append(ball.position[2] - 0.1)
    lowest = int(np.argmin(heights[:300]))
    assert max(heights[lowest:]) == pytest.approx(e * e, abs=1e-3)
    assert min(heights) > -1e-4


FLAT = [  # a shape, and its middle above the face that it falls on
    (km.Shape.box((0.2, 0.2, 0.2)), 0.1),
    (km.Shape.box((0.2, 0.3, 0.02)), 0.01),
    (km.Shape.cylinder(0.1, 0.2), 0.1),
]


@pytest.mark.parametrize("friction", [0.0, 0.8])
@pytest.mark.parametrize(("shape", "height"), FLAT)
def test_what_falls_flat_bounces_as_a_ball_does(shape, height, friction):
    for dt, e in ((0.002, 1.0), (0.005, 0.5)):
        world = km.World(dt=dt, material=km.Material(friction=friction, restitution=e))
        world.add_ground()
        body = world.add(shape, at=(0, 0, 1.0 + height), mass=5.0)
        world.run(0.5)  # it falls for 0.452 s
        assert np.abs(body.angular_velocity).max() < 1e-5
        heights = []
        for _ in range(round(0.6 / dt)):
            world.step()
            heights.append(body.position[2] - height)
        assert max(heights) == pytest.approx(e * e, abs=1e-3)


def test_a_figure_whose_links_fall_flat_bounces_as_one():
    b = km.Builder("pair")
    box = km.Shape.box((0.3, 0.2, 0.1))
    b.link("one", None, km.Joint.free(), inertia=km.Inertia.box(1.0, (0.3, 0.2, 0.1)), shapes=[box])
    b.link("other", "one", km.Joint.revolute("y"), (0.4, 0, 0), km.Inertia.box(1.0, (0.3, 0.2, 0.1)), shapes=[box])
    world = km.World(material=km.Material(friction=0.6, restitution=0.6))
    world.add_ground()
    pair = world.add(b.build(), at=(0, 0, 0.55))
    world.run(0.33)  # it falls for 0.319 s
    assert max(np.abs(body.angular_velocity).max() for body in pair) < 0.05  # 5 rad/s, if one link bounced first
    world.run(0.18)
    assert pair["one"].position[2] - 0.05 == pytest.approx(0.5 * 0.6**2, rel=0.01)


def test_flight_is_exact():
    world = km.World()
    body = world.add(km.Shape.box((0.1, 0.2, 0.3)), at=(0, 0, 50), twist=(1.0, -2.0, 3.0, 1.0, 2.0, 3.0))
    momentum = world.forest.momentum()
    world.run(1.0)
    assert body.position == pytest.approx([1.0, 2.0, 50 + 3.0 - 0.5 * G], abs=1e-9)
    com, m = body.position, body.mass
    spin = world.forest.momentum()[:3] - np.cross(com, m * body.velocity)
    assert spin == pytest.approx(momentum[:3] - np.cross([0, 0, 50], m * np.array([1.0, 2.0, 3.0])), rel=1e-9)


def test_a_spinning_box_flips_about_its_middle_axis_and_keeps_its_energy():
    world = km.World(gravity=(0, 0, 0))
    body = world.add(km.Shape.box((0.1, 0.2, 0.3)), twist=(1e-3, 10.0, 0.0, 0.0, 0.0, 0.0))
    before = world.forest.kinetic_energy()
    turned = []
    for _ in range(2500):
        world.step()
        turned.append(body.pose.rotation[1, 1])
    assert min(turned) < -0.9
    assert max(turned[500:]) > 0.9
    assert world.forest.kinetic_energy() == pytest.approx(before, rel=1e-4)


@pytest.mark.parametrize(("tilt", "stays"), [(0.99, True), (1.01, False)])
def test_a_brick_on_a_slope_holds_to_the_critical_angle(tilt, stays):
    mu = 0.5
    angle = np.arctan(mu * tilt)
    world = km.World(
        gravity=(G * np.sin(angle), 0, -G * np.cos(angle)), sleep=False, material=km.Material(friction=mu)
    )  # fmt: skip
    world.add_ground()
    brick = world.add(km.Shape.box((0.2, 0.1, 0.05)), at=(0, 0, 0.025))
    world.run(10.0)
    if stays:
        assert abs(brick.position[0]) < 1e-3
    else:
        expected = 0.5 * G * (np.sin(angle) - mu * np.cos(angle)) * 100
        assert brick.position[0] == pytest.approx(expected, rel=0.02)


def test_contact_forces_carry_the_weight():
    world = km.World()
    world.add_ground()
    box = cube(world)
    world.run(0.4)
    touches = world.contacts(box)
    total = sum(t.force for t in touches)
    assert len(touches) == 4
    assert total == pytest.approx([0, 0, box.mass * G], abs=1e-6 * box.mass * G)
    assert all(t.other is None and t.normal == pytest.approx([0, 0, 1]) for t in touches)


def test_what_rests_falls_asleep_and_wakes_when_it_is_hit():
    world = km.World()
    world.add_ground()
    box = cube(world)
    world.run(1.0)
    assert box.asleep
    ball = world.add(km.Shape.sphere(0.05), at=(-1.0, 0.0, 0.1), twist=(0, 0, 0, 5.0, 0, 0), density=5000.0)
    world.run(0.3)
    assert not box.asleep
    assert box.position[0] > 0.01
    assert ball.velocity[0] < 5.0


def test_a_hinge_stops_at_its_limit():
    b = km.Builder("door")
    b.link(
        "door", None, km.Joint.revolute("y", lower=-0.5, upper=0.5), (0, 0, 1),
        km.Inertia.box(1.0, (0.5, 0.1, 0.1), (0.25, 0, 0)),
    )  # fmt: skip
    world = km.World(sleep=False)
    door = world.add(b.build())
    world.run(3.0)
    assert door.position("door")[0] == pytest.approx(0.5, abs=2e-3)
    assert abs(door.velocity("door")[0]) < 1e-3


def test_stiff_dampers_do_not_explode():
    b = km.Builder("stiff")
    b.link(
        "arm", None, km.Joint.revolute("y", damping=1e4, stiffness=1e5), (0, 0, 1),
        km.Inertia.box(0.01, (0.5, 0.1, 0.1), (0.25, 0, 0)),
    )  # fmt: skip
    world = km.World(dt=0.005, sleep=False)
    arm = world.add(b.build())
    world.run(1.0)
    assert abs(arm.position("arm")[0]) < 1e-3
