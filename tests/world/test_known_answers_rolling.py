"""What a world must come to where the answer is known: rolling, spinning, conveyors, and materials of pairs."""

import numpy as np
import pytest

import kinemorph as km

pytestmark = pytest.mark.quick

G, R = 9.81, 0.1
ROUGH = km.Material(friction=0.8, rolling=0.002, torsional=0.01, directions=6)


def ball_on(world, v=0.0, spin=0.0):
    world.add_ground()
    return world.add(km.Shape.sphere(R), at=(0, 0, R), twist=(0, v / R, spin, v, 0, 0))


def test_rolling_friction_stops_a_ball_where_it_should():
    world = km.World(sleep=False, material=ROUGH)
    ball = ball_on(world, v=1.0)
    slow = 5 / 7 * ROUGH.rolling / R * G
    world.run(0.5 / slow)
    assert ball.velocity[0] == pytest.approx(1.0 - slow * world.time, rel=1e-3)
    world.run(0.6 / slow)
    assert ball.position[0] == pytest.approx(1.0 / (2 * slow), rel=1e-3)
    assert np.abs(ball.twist).max() < 1e-9


def test_a_spinning_ball_stops_when_it_should():
    world = km.World(sleep=False, material=ROUGH)
    ball = ball_on(world, spin=20.0)
    time = 0.4 * R * R * 20.0 / (ROUGH.torsional * G)
    world.run(0.5 * time)
    assert ball.angular_velocity[2] == pytest.approx(20.0 * (1.0 - world.time / time), rel=1e-6)
    world.run(0.55 * time)
    assert np.abs(ball.twist).max() < 1e-9


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_wheel_starts_on_a_slope_above_its_critical_angle(share):
    angle = np.arctan(ROUGH.rolling / R * share)
    world = km.World(sleep=False, material=ROUGH, gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    ball = ball_on(world)
    world.run(10.0)
    if share < 1.0:
        assert abs(ball.position[0]) < 1e-4
        assert abs(ball.velocity[0]) < 1e-9
    else:
        expected = 5 / 7 * G * (np.sin(angle) - ROUGH.rolling / R * np.cos(angle))
        assert ball.velocity[0] == pytest.approx(expected * 10.0, rel=0.02)


def test_rolling_friction_is_the_same_in_every_direction():
    stops = []
    for angle in np.linspace(0.1, 2 * np.pi, 7):
        world = km.World(sleep=False, material=ROUGH)
        world.add_ground()
        c, s = np.cos(angle), np.sin(angle)
        ball = world.add(km.Shape.sphere(R), at=(0, 0, R), twist=(-5 * s, 5 * c, 0, 0.5 * c, 0.5 * s, 0))
        world.run(4.5)
        stops.append(np.linalg.norm(ball.position[:2]))
        assert ball.position[:2] @ (c, s) > (1 - 1e-6) * stops[-1]
    assert np.ptp(stops) < 1e-3 * np.mean(stops)


@pytest.mark.parametrize("v", [0.001, 0.01, 0.05, 0.2])
def test_a_ball_rolls_on_as_fast_as_it_is(v):
    world = km.World(sleep=False)
    ball = ball_on(world, v=v)
    world.run(5.0)
    assert ball.velocity[0] == pytest.approx(v, rel=1e-4)


@pytest.mark.parametrize("ground_first", [True, False])
def test_a_ball_on_a_box_rolls_on_too(ground_first):
    """Whichever of two shapes is the round one."""
    world = km.World(sleep=False)
    plate = km.Shape.box((2, 2, 0.2))
    if ground_first:
        world.connect(None, world.add(plate, at=(0, 0, -0.1)), km.Joint.fixed())
    ball = world.add(km.Shape.sphere(R), at=(0, 0, R), twist=(0, 0.2, 0, 0.02, 0, 0))
    if not ground_first:
        world.connect(None, world.add(plate, at=(0, 0, -0.1)), km.Joint.fixed())
    world.run(5.0)
    assert ball.velocity[0] == pytest.approx(0.02, rel=1e-3)


def test_a_conveyor_carries_a_box_and_does_not_let_it_sleep():
    world = km.World()
    belt = world.add_ground(material=km.Material(friction=0.5, surface=(1.0, 0.0, 0.0), priority=1))
    box = world.add(km.Shape.box((0.2, 0.2, 0.1)), at=(0, 0, 0.05))
    world.run(0.1)
    assert box.velocity[0] == pytest.approx(0.5 * G * 0.1, rel=0.01)
    world.run(1.0)
    assert box.velocity[0] == pytest.approx(1.0, rel=1e-3)
    assert box.position[0] == pytest.approx(1.1 - 1.0 / (2 * 0.5 * G), rel=2e-3)
    world.surfaces.set_material(belt, km.Material(friction=0.5, surface=(0.01, 0.0, 0.0), priority=1))
    world.run(2.0)
    assert not box.asleep
    assert box.velocity[0] == pytest.approx(0.01, rel=1e-3)
    world.surfaces.set_material(belt, km.Material(friction=0.5))
    world.run(2.0)
    assert box.asleep


def test_stick_and_slip_on_a_belt():
    """A block of 1 kg on a spring of 100 N/m: it goes with the belt up to μ m g / k, then swings about that."""
    speed, mu, k = 0.2, 0.5, 100.0
    world = km.World(sleep=False, dt=2.5e-4)
    world.add_ground(material=km.Material(friction=mu, surface=(speed, 0.0, 0.0), priority=1))
    b = km.Builder("block")
    b.link("cart", None, km.Joint.prismatic("x", name="x", stiffness=k), inertia=km.Inertia.box(1e-6, (0.1, 0.1, 0.1)))
    shape = km.Shape.box((0.2, 0.2, 0.1))
    b.link(
        "block",
        "cart",
        km.Joint.prismatic("z", name="z"),
        (0, 0, 0.05),
        km.Inertia.box(1.0, (0.2, 0.2, 0.1)),
        shapes=[shape],
    )
    block = world.add(b.build())
    xs = []
    for _ in range(4000):
        world.step()
        xs.append(block.position("x")[0])
    xs = np.array(xs)
    free = mu * G / k
    assert xs[799] - xs[399] == pytest.approx(400 * world.dt * speed, rel=5e-3)  # it sticks
    assert xs.max() == pytest.approx(free + speed / np.sqrt(k), rel=0.01)  # it slips, and comes back
    assert xs[int(np.argmax(xs)) :].min() == pytest.approx(free - speed / np.sqrt(k), rel=0.03)


def test_priority_decides_and_pairs_may_agree():
    def slides(**more):
        angle = np.arctan(0.5)
        world = km.World(sleep=False, gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
        ground = world.add_ground(material=km.Material(friction=0.1, **more))
        box = world.add(km.Shape.box((0.2, 0.2, 0.1)), at=(0, 0, 0.05), material=km.Material(friction=1.0))
        if not more:
            world.surfaces.set_pair_material(ground, world.shapes.ids[1], km.Material(friction=0.6))
        world.run(0.5)
        return box.position[0] > 0.01

    assert not slides()
    assert slides(priority=1)
    assert not slides(priority=-1)


def test_materials_of_pairs_of_models_act(tmp_path):
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.1"/>
      <body pos="0 0 0.05"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.05" friction="0.1"/></body>
      </worldbody>
      <contact><pair geom1="floor" geom2="box" friction="0.7 0.7 0.005 0.0001 0.0001"/></contact></mujoco>"""
    (tmp_path / "pair.xml").write_text(text)
    angle = np.arctan(0.5)
    world = km.World(sleep=False, gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    box = next(iter(world.add(km.load_mjcf(tmp_path / "pair.xml"))))
    world.run(0.5)
    assert abs(box.position[0]) < 1e-3


def test_bodies_that_ignore_each_other_pass_through():
    world = km.World()
    ground = world.add_ground()
    low = world.add(km.Shape.box((0.4, 0.4, 0.2)), at=(0, 0, 0.1))
    high = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.5))
    world.collision_filter.ignore(low, high)
    world.run(1.0)
    assert high.position[2] == pytest.approx(0.1, abs=1e-3)
    world.collision_filter.ignore(ground, world.shapes.ids[2])
    world.run(0.5)
    assert high.position[2] < -0.5
    assert low.position[2] == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("asleep", [False, True])
def test_contacts_tell_the_moments_of_rolling_and_spinning_friction(asleep):
    """A ball that is held by rolling friction under a torque, and one that spins: the moments that balance these."""
    material = km.Material(friction=1.0, rolling=0.01, torsional=0.02, directions=6)
    world = km.World(dt=2e-3, sleep=asleep, material=material)
    world.add_ground()
    radius, mass = 0.1, 2.0
    density = mass / (4.0 / 3.0 * np.pi * radius**3)
    held = world.add(km.Shape.sphere(radius), at=(0, 0, radius), density=density)
    spinning = world.add(km.Shape.sphere(radius), at=(1, 0, radius), density=density, twist=(0, 0, 50, 0, 0, 0))
    world.apply_force(held, torque=(0, 0.1, 0), lasting=True)
    world.run(0.2)
    (touch,) = world.contacts(held)
    np.testing.assert_allclose(touch.moment, (0, -0.1, 0), atol=1e-3 * mass * G)
    (touch,) = world.contacts(spinning)
    assert touch.torsion == pytest.approx(-0.02 * mass * G, rel=1e-6)
    np.testing.assert_allclose(touch.moment, (0, 0, touch.torsion), atol=1e-9)


def test_a_contact_without_such_friction_has_no_moment():
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1))
    world.run(0.1)
    assert all((touch.moment == 0.0).all() for touch in world.contacts(box))
