"""Worlds whose contact is made of impulses (Fontijne chapter 3): known answers, and what no collision may do."""

import contextlib
import copy
import math

import numpy as np
import pytest

import kinemorph as km

BALL = km.Shape.sphere(0.1)
BRICK = km.Shape.box((0.4, 0.2, 0.1))


def impulse_world(epsilon=1e-3, **settings):
    settings = {"sleep": False, **settings}
    return km.World(contact="impulse", epsilon=epsilon, **settings)


def chain(world, at, links=3, twist=(0.0,) * 6, **settings):
    """Bricks joined end to end by hinges."""
    bodies = []
    for k in range(links):
        place = np.asarray(at) + (0.45 * k, 0.0, 0.0)
        bodies.append(world.add(BRICK, at=place, twist=twist, **settings))
        if k:
            middle = place - (0.225, 0.0, 0.0)
            world.connect(bodies[-2], bodies[-1], km.Joint.revolute((0.0, 1.0, 0.0)), at=middle)
    return bodies


# -------------------------------------------------------------------------------------------------------- known answers


@pytest.mark.parametrize("e", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_ball_bounces_to_the_square_of_its_restitution(e):
    world = impulse_world(1e-4)
    world.add_ground(material=km.Material(restitution=e))
    ball = world.add(BALL, at=(0.0, 0.0, 1.1))
    highest, met = 0.0, False
    for _ in range(600):
        world.step()
        z = ball.pose.position[2] - 0.1
        met |= int(world._header[0]["impacts"]["collision_count"]) > 0
        highest = max(highest, z) if met else 0.0
    assert highest == pytest.approx(e * e, abs=2e-3)


def test_elastic_balls_without_gravity_exchange_their_velocities():
    world = impulse_world(1e-4, gravity=(0.0, 0.0, 0.0), material=km.Material(0.0, restitution=1.0))
    balls = [world.add(BALL, at=(0.5 * k, 0.0, 0.0), twist=(0, 0, 0, 1.0 if k == 0 else 0.0, 0, 0)) for k in range(4)]
    world.run(2.0)
    assert [ball.twist[3] for ball in balls] == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-12)


def test_a_brick_slides_as_far_as_coulomb_says():
    world = impulse_world(material=km.Material(0.5))
    world.add_ground()
    brick = world.add(BRICK, at=(0.0, 0.0, 0.05 + 5e-4), twist=(0.0, 0.0, 0.0, 5.0, 0.0, 0.0))
    world.run(2.0)
    assert brick.pose.position[0] == pytest.approx(25.0 / (2.0 * 0.5 * 9.81), rel=3e-3)
    assert np.abs(brick.twist).max() < 1e-6


def test_what_rests_keeps_half_of_the_envelope_open_and_does_not_move():
    for handling in ("all contact points", "closest point"):
        world = impulse_world(0.01, handling=handling)
        world.add_ground()
        brick = world.add(BRICK, at=(0.0, 0.0, 0.1), twist=(0.1, 0.05, 0.0, 0.0, 0.0, 0.0))
        world.run(2.0)
        before = brick.pose
        world.run(3.0)
        assert brick.pose.position[2] == pytest.approx(0.055, abs=1e-4)
        assert np.abs(brick.pose.position - before.position).max() < 1e-8
        assert np.abs(brick.pose.rotation - before.rotation).max() < 1e-8


def test_with_boosted_micro_collisions_at_closest_points_a_cube_spins_and_else_it_does_not():
    def turned(**settings):
        world = impulse_world(0.01, **settings)
        world.add_ground()
        cube = world.add(km.Shape.box((1.0, 1.0, 1.0)), at=(0.0, 0.0, 0.65), twist=(0.05, 0.03, 0.0, 0.0, 0.0, 0.0))
        world.run(5.0)
        start = cube.pose.rotation
        world.run(5.0)
        turn = start.T @ cube.pose.rotation
        return abs(math.degrees(math.atan2(turn[1, 0], turn[0, 0])))

    assert turned(handling="closest point", boost=3.0) > 4.0  # degrees in five seconds
    assert turned(handling="all contact points", boost=3.0) < 0.1
    assert turned(handling="closest point") < 1e-6


def test_a_fast_bullet_does_not_pass_through_a_thin_sheet():
    world = impulse_world(gravity=(0.0, 0.0, 0.0), material=km.Material(0.3, restitution=0.5))
    world.add_ground(km.HalfSpace((0.0, 0.0, 1.0), -1.0))
    sheet = world.add(km.Shape.box((0.01, 1.0, 1.0)), at=(0.0, 0.0, 0.0), density=2000.0)
    bullet = world.add(km.Shape.sphere(0.01), at=(-0.5, 0.1, 0.1), twist=(0, 0, 0, 300.0, 0, 0))
    world.run(0.02)
    assert bullet.pose.position[0] < sheet.pose.position[0]


# ---------------------------------------------------------------------------------------------------- what holds always


def test_no_collision_of_free_or_jointed_bodies_adds_energy_and_momentum_stays():
    rng, strikes = np.random.default_rng(1), 0
    for e in (0.0, 0.5, 1.0):
        material = km.Material(rng.uniform(0.0, 1.5), restitution=e, tangential=rng.uniform(-1.0, 1.0))
        world = impulse_world(gravity=(0.0, 0.0, 0.0), material=material)
        for k in range(3):
            chain(world, (0.0, 0.0, 0.3 * k), twist=(*rng.normal(size=3), *rng.normal(size=2), 1.5 - 1.5 * k))
        for k in range(4):
            world.add(BALL, at=(0.5 * k, 0.05, -0.6), twist=(0, 0, 0, 0, 0, 2.0))
        energy, start = world.forest.kinetic_energy(), world.forest.momentum()
        for _ in range(300):
            world.step()
            now = world.forest.kinetic_energy()
            assert now <= energy * (1.0 + 1e-6)
            energy = now
        assert world.forest.momentum() == pytest.approx(start, abs=2e-4 * np.abs(start).max() + 1e-6)
        strikes += int(world._header[0]["impacts"]["collision_count"])
    assert strikes > 20


def test_joint_limits_hold():
    world = impulse_world()
    base = world.add(BRICK, at=(0.0, 0.0, 2.0))
    world.connect(None, base, km.Joint.fixed(), at=(0.0, 0.0, 2.0))
    arm = world.add(BRICK, at=(0.45, 0.0, 2.0))
    hinge = world.connect(base, arm, km.Joint.revolute((0, 1, 0), lower=-0.5, upper=0.5), at=(0.225, 0.0, 2.0))
    for _ in range(500):
        world.step()
        assert abs(float(world.forest.position(hinge.joint)[0])) < 0.5 + 2e-3
    assert abs(float(world.forest.velocity(hinge.joint)[0])) < 1e-3


def test_it_always_goes_on():
    """A heap of bricks of very different masses in a narrow envelope, with all settings."""
    for settings in ({}, {"handling": "closest point"}, {"boost": 3.0}, {"boost": 3.0, "handling": "closest point"}):
        rng = np.random.default_rng(2)
        world = impulse_world(1e-4, **settings)
        world.add_ground()
        for k in range(6):
            world.add(BRICK, at=(*rng.uniform(-0.1, 0.1, 2), 0.2 + 0.25 * k), density=10.0 ** rng.uniform(1, 4))
        world.run(1.0)
        assert world.time == pytest.approx(1.0)
        assert all(-0.01 < body.pose.position[2] < 2.0 for body in world.bodies)


def test_overlap_from_the_start_is_an_error_that_names_the_pair():
    world = impulse_world()
    world.add(BRICK, at=(0.0, 0.0, 1.0), name="upper")
    world.add(BRICK, at=(0.0, 0.0, 0.95), name="lower")
    with pytest.raises(km.WorldError, match="'upper' and 'lower' overlap"):
        world.step()


def test_settings_that_cannot_be_are_refused():
    for settings, what in (
        ({"contact": "magic"}, "no contact model 'magic'"),
        ({"epsilon": 0.1}, "epsilon 0.1 is of the contact model 'impulse'"),
        ({"contact": "impulse", "epsilon": -1.0}, "epsilon is -1.0"),
        ({"contact": "impulse", "handling": "some"}, "handling 'some'"),
        ({"contact": "impulse", "boost": 0.5}, "boost is 0.5"),
    ):
        with pytest.raises(ValueError, match=what):
            km.World(**settings)


# ----------------------------------------------------------------------------------------------- what both models share


def busy_world():
    world = impulse_world(material=km.Material(0.6, restitution=0.4))
    world.add_ground()
    chain(world, (0.0, 0.0, 0.4), twist=(0.0, 1.0, 0.0, 0.5, 0.0, 0.0))
    for k in range(3):
        world.add(BALL, at=(0.3 * k, 0.02 * k, 0.8 + 0.3 * k))
    return world


def test_snapshots_and_branches_go_on_bit_for_bit():
    world = busy_world()
    world.run(0.4)
    again, branch = km.World.load(world.save()), copy.deepcopy(world)
    for one in (world, again, branch):
        one.run(0.5)
    assert world.hash() == again.hash() == branch.hash()


def test_what_is_recorded_can_be_made_again(tmp_path):
    world = busy_world()
    with world.record(tmp_path / "run.journal", every=20):
        world.run(0.2)
        world.apply_force(world.bodies[0], (0.0, 0.0, 30.0))
        world.run(0.2)
    assert km.World.rerun(tmp_path / "run.journal").hash() == world.hash()


def test_structure_changes_while_it_runs():
    world = impulse_world(material=km.Material(0.6, restitution=0.2))
    world.add_ground()
    bodies = chain(world, (0.0, 0.0, 0.4), 4)
    world.run(0.3)
    world.reroot(bodies[2])
    world.run(0.3)
    hook = world.add(BRICK, at=bodies[1].pose.position + (0.0, 0.0, 0.3))
    joint = world.connect(bodies[1], hook, km.Joint.spherical(), at=bodies[1].pose.position + (0.0, 0.0, 0.15))
    world.run(0.3)
    world.cut(joint)
    world.run(1.0)
    assert all(np.isfinite(body.pose.position).all() and body.pose.position[2] > 0.03 for body in bodies)


def test_a_loop_stays_closed_through_collisions():
    world = impulse_world(material=km.Material(0.5, restitution=0.5))
    world.add_ground()
    bodies = chain(world, (0.0, 0.0, 0.6), 4)
    tip = bodies[3].pose.position + (0.225, 0.0, 0.0)
    strut = world.add(km.Shape.box((1.6, 0.05, 0.05)), at=(0.675, 0.2, 0.6))
    world.connect(bodies[0], strut, km.Joint.revolute((0.0, 1.0, 0.0)), at=(0.0, 0.1, 0.6))
    loop = world.connect(strut, bodies[3], km.Joint.spherical(), at=tip)
    assert loop.closes
    world.run(1.5)
    one, other = (body.pose for body in (strut, bodies[3]))
    ends = one.position + one.rotation @ (0.9, -0.2, 0.0), other.position + other.rotation @ (0.225, 0.0, 0.0)
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
    assert int(world._header[0]["impacts"]["collision_count"]) > 0


def test_events_hear_of_collisions_within_a_step():
    world = impulse_world(dt=0.02, material=km.Material(0.3, restitution=0.9))
    world.add_ground()
    ball = world.add(BALL, at=(0.0, 0.0, 0.6))
    heard = []
    world.when(km.Event.contact(ball), lambda world, moment: heard.append(world.time))
    world.run(1.5)
    assert len(heard) >= 2
    assert heard[0] == pytest.approx(math.sqrt(2.0 * 0.5 / 9.81), abs=0.02)


def test_motors_and_servos_act():
    world = impulse_world()
    arm = world.add(BRICK, at=(0.2, 0.0, 1.0))
    hinge = world.connect(None, arm, km.Joint.revolute((0, 0, 1)), at=(0.0, 0.0, 1.0))
    world.motor(hinge, speed=2.0, effort_limit=50.0)
    world.run(1.0)
    assert float(world.forest.velocity(hinge.joint)[0]) == pytest.approx(2.0, rel=1e-3)


def test_both_models_agree_on_where_things_come_to_rest():
    rng = np.random.default_rng(5)
    for _ in range(3):
        ends = []
        start = [(x, y, 0.3 + 0.3 * k) for k, (x, y) in enumerate(rng.uniform(-0.02, 0.02, (3, 2)))]
        for settings in ({"contact": "impulse", "epsilon": 1e-4}, {}):
            world = km.World(sleep=False, material=km.Material(0.8), **settings)
            world.add_ground()
            bricks = [world.add(BRICK, at=at) for at in start]
            world.run(3.0)
            ends.append([brick.pose.position for brick in bricks])
            assert all(np.abs(brick.twist).max() < 1e-3 for brick in bricks)
        assert np.array(ends[0]) == pytest.approx(np.array(ends[1]), abs=5e-3)


def test_joints_tell_what_they_bear_of_a_collision():
    """A hammer head on a stiff arm hits the ground: the joint bears what takes the arm's momentum away."""
    loads = []
    for settings in ({"contact": "impulse", "epsilon": 1e-4}, {}):
        world = km.World(sleep=False, dt=2e-3, material=km.Material(0.0), **settings)
        world.add_ground()
        head = world.add(BRICK, at=(0.0, 0.0, 0.35))
        load = world.add(BRICK, at=(0.0, 0.0, 0.47))
        joint = world.connect(head, load, km.Joint.fixed(), at=(0.0, 0.0, 0.41))
        world.when(km.Event.load(joint.joint, 2000.0), lambda world, moment: loads.append(world.time))
        world.run(0.5)
    assert len(loads) == 2
    assert loads[0] == pytest.approx(loads[1], abs=4e-3)


def test_friction_holds_a_brick_just_below_the_critical_slope_and_not_above():
    for share, stays in ((0.995, True), (1.005, False)):
        for handling in ("all contact points", "closest point"):
            angle = share * math.atan(0.5)
            c, s = math.cos(angle), math.sin(angle)
            world = impulse_world(handling=handling, material=km.Material(0.5))
            world.add_ground(km.HalfSpace((-s, 0.0, c), 0.0))
            turn = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
            brick = world.add(BRICK, at=km.Pose(turn @ (0.0, 0.0, 0.0505), turn))
            world.run(1.0)
            start = brick.position
            world.run(5.0)
            way = float(np.linalg.norm(brick.position - start))
            assert way < 1e-9 if stays else way > 0.3


@pytest.mark.parametrize("number", range(4))
def test_random_changes_of_the_structure_and_snapshots_while_it_runs(number):
    rng = np.random.default_rng(number)
    handling = ("all contact points", "closest point")[number % 2]
    world = impulse_world(
        10.0 ** rng.uniform(-4.0, -2.0), handling=handling, boost=3.0 if number == 3 else None, sleep=number < 2,
        material=km.Material(rng.uniform(0.0, 1.0), restitution=rng.random()),
    )  # fmt: skip
    world.add_ground()
    places = [(0.5 * (k % 3), 0.4 * (k // 3 % 3), 0.3) for k in range(9)]
    bodies = [world.add(BRICK, at=place, twist=rng.normal(size=6)) for place in places]
    joints = []
    for _ in range(20):
        world.run(0.05)
        what = rng.integers(4)
        if what == 0:
            a, b = rng.choice(9, 2, replace=False)
            with contextlib.suppress(ValueError):  # they are joined already, or may not be
                joints.append(world.connect(bodies[a], bodies[b], km.Joint.spherical()))
        elif what == 1 and joints:
            world.cut(joints.pop(rng.integers(len(joints))))
        elif what == 2:
            world.reroot(bodies[rng.integers(9)])
        elif what == 3:
            again = km.World.load(world.save())
            world.run(0.02)
            again.run(0.02)
            assert again.hash() == world.hash()
    assert all(np.isfinite(body.position).all() for body in bodies)


def test_contacts_tell_the_weight_that_they_carry():
    """In steps of one part; where a collision elsewhere cuts a step, forces are those of its last part alone."""
    world = impulse_world(dt=5e-3, material=km.Material(0.5, restitution=0.8))
    world.add_ground()
    brick = world.add(BRICK, at=(0.0, 0.0, 0.0505))
    world.add(BALL, at=(1.0, 0.0, 0.2), twist=(0.0, 0.0, 0.0, 0.0, 0.0, -1.0))
    world.run(0.5)
    whole, parts = 0, world.queries.statistics.parts
    for _ in range(100):
        world.step()
        made, parts = world.queries.statistics.parts - parts, world.queries.statistics.parts
        if made == 1:
            whole += 1
            weight = sum(touch.normal_force for touch in world.contacts(brick))
            assert weight == pytest.approx(9.81 * brick.mass, rel=2e-2)
    assert 50 < whole < 100
