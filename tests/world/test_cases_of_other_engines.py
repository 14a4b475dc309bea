"""What the tests of other engines ask of theirs, asked of a world: sleep, joints, contact and events.

Each test names the one that asks for it; set-ups, numbers and code are our own.
"""

import numpy as np
import pytest

import kinemorph as km

G = 9.81
CUBE = km.Shape.box((1, 1, 1))
SMALL = km.Shape.box((0.2, 0.2, 0.2))


def on_ground(**settings):
    world = km.World(**settings)
    world.add_ground()
    return world


def stack(world, count):
    return [world.add(CUBE, at=(0, 0, 0.5 + i)) for i in range(count)]


# --- sleep ---


def test_what_rested_on_something_that_is_removed_wakes_and_falls():
    """Jolt TestPhysicsActivationDeactivation, Box2D DestroyAllBodiesWorld."""
    world = on_ground()
    below, above = stack(world, 2)
    apart = world.add(SMALL, at=(3, 0, 0.1))
    world.run(2.0)
    assert below.asleep
    assert above.asleep
    world.remove(below)
    assert not above.asleep
    assert apart.asleep
    world.run(2.0)
    assert above.asleep
    assert above.position[2] == pytest.approx(0.5, abs=1e-4)


def test_what_an_impulse_wakes_is_still_carried():
    """Rapier woken_body_is_supported_by_recycled_contacts."""
    world = on_ground()
    cube = world.add(CUBE, at=(0, 0, 0.5))
    world.run(2.0)
    assert cube.asleep
    world.apply_force(cube, force=(0.5 * cube.mass / world.dt, 0, 0), lasting=False)
    lowest = min((world.step(), cube.position[2])[1] for _ in range(150))
    assert lowest > 0.4999
    assert cube.position[0] == pytest.approx(0.5**2 / (2 * 0.8 * G), abs=0.5 * world.dt)


def test_an_island_sleeps_and_wakes_as_one():
    """Rapier whole_island_blocks_partial_sleep."""
    world = on_ground()
    cubes = stack(world, 5)
    push = world.apply_force(cubes[4], force=(0, 0, 1.0))
    world.run(2.0)
    assert not any(cube.asleep for cube in cubes)
    push.withdraw()
    world.run(1.5)
    assert all(cube.asleep for cube in cubes)
    world.sleep.wake(cubes[0])
    world.step()
    assert not any(cube.asleep for cube in cubes)


def test_what_something_grazes_sleeps_when_that_has_gone():
    """Rapier whole_island_sleeps_after_mover_departs."""
    world = on_ground()
    cubes = stack(world, 3)
    mover = world.add(CUBE, at=(1.0, -0.9, 0.5))
    world.motor(world.connect(None, mover, km.Joint.prismatic("y")), speed=0.6, effort_limit=1e6)
    world.run(5.0)
    assert not mover.asleep
    assert all(cube.asleep for cube in cubes)


def test_a_wide_body_at_rest_sleeps():
    """Rapier wide_bodies_at_rest_fall_asleep."""
    bar, post = km.Polyhedron.box((4, 0.4, 0.4)), km.Polyhedron.box((0.4, 0.4, 4))
    solid = km.Parts([bar, post.moved(km.Pose((1.8, 0, 2.2))), post.moved(km.Pose((-1.8, 0, 2.2)))])
    world = on_ground()
    wide = [world.add(solid, at=km.Pose.rpy(0, 0, 0.11 * i, position=(6 * i, 0, 0.21))) for i in range(4)]
    world.run(3.0)
    assert all(body.asleep for body in wide)


def test_who_sleeps_changes_nothing_for_the_others():
    """MuJoCo WakingUnaffectedBySleeping."""

    def rolled(sleep):
        world = on_ground(sleep=sleep)
        resting = world.add(CUBE, at=(0, 0, 0.5))
        ball = world.add(km.Shape.sphere(0.3), at=(0, 5, 0.3), twist=(0, 0, 0, 2, 0, 0))
        world.run(1.5)
        assert resting.asleep == sleep
        return ball.position.tobytes() + ball.twist.tobytes()

    assert rolled(True) == rolled(False)


@pytest.mark.parametrize("change", ["belt", "mask", "ignore", "ground", "cut"])
def test_what_changes_under_a_sleeper_wakes_it(change):
    """Rapier issues 287 and 692, MuJoCo MocapWakes, Box2D's filters."""
    world = km.World()
    ground = world.add_ground()
    table = world.add(km.Shape.box((4, 4, 0.2)), at=(0, 0, 1))
    leg = world.connect(None, table, km.Joint.fixed())
    sleeper = world.add(SMALL, at=(0, 0, 1.2))
    beside = world.add(SMALL, at=(0, 3, 0.1))
    world.run(1.5)
    assert sleeper.asleep
    assert beside.asleep
    {
        "belt": lambda: world.surfaces.set_material(table, km.Material(surface=(0.5, 0, 0))),
        "mask": lambda: world.collision_filter.set_groups(table, mask=0),
        "ignore": lambda: world.collision_filter.ignore(table, sleeper),
        "ground": lambda: world.structure.remove_ground(ground),
        "cut": lambda: world.cut(leg),
    }[change]()
    world.run(1.0)
    assert beside.asleep == (change != "ground")
    if change == "belt":
        assert sleeper.velocity[0] == pytest.approx(0.5, abs=1e-3)
    elif change == "ground":
        assert sleeper.asleep
        assert beside.position[2] == pytest.approx(0.1 - 0.5 * G, rel=1e-2)
    else:
        assert sleeper.position[2] == pytest.approx(0.3 if change == "cut" else 0.1, abs=1e-3)


# --- joints, limits, motors ---


@pytest.mark.parametrize("speed", [5.0, -5.0])
def test_a_slider_stops_at_its_limits(speed):
    """Jolt TestSliderConstraintLimitMin and Max."""
    world = km.World(gravity=(0, 0, 0))
    body = world.add(CUBE, twist=(0, 0, 0, speed, 0, 0))
    world.connect(None, body, km.Joint.prismatic("x", lower=-1, upper=2))
    far = max(abs((world.step(), body.position[0])[1]) for _ in range(300))
    assert far < (2 if speed > 0 else 1) + 1e-4
    assert body.velocity[0] == pytest.approx(0.0, abs=1e-6)


def test_a_motor_with_a_force_limit_accelerates_evenly_and_then_holds_its_speed():
    """Jolt TestSliderConstraintDriveVelocityStaticVsDynamic, DynamicVsDynamic."""
    world = km.World(gravity=(0, 0, 0))
    body = world.add(CUBE)
    world.motor(world.connect(None, body, km.Joint.prismatic("x")), speed=1.0, effort_limit=body.mass)
    world.run(0.5)
    assert body.velocity[0] == pytest.approx(0.5, abs=1e-9)
    world.run(1.0)
    assert body.velocity[0] == pytest.approx(1.0, abs=1e-9)
    a, b = (world.add(CUBE, at=(x, 5, 0)) for x in (0, 2))
    world.motor(world.connect(a, b, km.Joint.prismatic("x")), speed=3.0, effort_limit=1e9)
    world.run(0.2)
    assert np.allclose([a.velocity[0], b.velocity[0]], [-1.5, 1.5], atol=1e-9)


def test_dry_friction_slows_a_slider_evenly_and_stops_it():
    """Jolt TestSliderConstraintFriction."""
    world = km.World(gravity=(0, 0, 0))
    body = world.add(CUBE, twist=(0, 0, 0, 1.5, 0, 0))
    world.connect(None, body, km.Joint.prismatic("x", friction=1.5 * body.mass))
    world.run(0.5)
    assert body.velocity[0] == pytest.approx(0.75, abs=1e-9)
    world.run(1.0)
    assert abs(body.velocity[0]) < 1e-12
    assert body.position[0] == pytest.approx(0.75, abs=5e-3)


@pytest.mark.parametrize("share", [1.02, 0.98])
def test_dry_friction_holds_an_arm_or_does_not(share):
    world = km.World()
    arm = world.add(km.Shape.box((1.0, 0.1, 0.1)), at=(0.5, 0, 1.0))
    hinge = km.Joint.revolute("y", friction=share * arm.mass * G * 0.5)
    world.connect(None, arm, hinge, at=(0, 0, 1))
    world.run(2.0)
    assert (arm.position[2] > 1 - 1e-9) == (share > 1.0)


def test_a_motor_that_a_wall_stalls_presses_with_all_its_force():
    """Jolt's motors with force limits; PyBullet's maxForce."""
    world = on_ground(material=km.Material(friction=0.0))
    body = world.add(CUBE, at=(0, 0, 0.5), mass=10.0)
    world.add_ground(km.Shape.box((0.2, 4, 4), km.Pose((1.0, 0, 2))))
    motor = world.motor(world.connect(None, body, km.Joint.prismatic("x")), speed=1.0, effort_limit=50.0)
    world.run(1.5)
    assert motor.applied == pytest.approx(50.0, abs=1e-6)
    assert sum(touch.force[0] for touch in world.contacts(body)) == pytest.approx(-50.0, rel=1e-3)
    assert body.position[0] == pytest.approx(0.4, abs=1e-4)


def test_a_limit_may_be_more_than_a_turn_away():
    """Rapier issue 499."""
    world = km.World(gravity=(0, 0, 0))
    rod = world.add(km.Shape.box((1, 0.1, 0.1)), at=(0.5, 0, 0), name="rod")
    joint = world.connect(None, rod, km.Joint.revolute("z", lower=-7.0, upper=7.0), at=(0, 0, 0))
    world.motor(joint, speed=8.0, effort_limit=20.0)
    world.run(2.0)
    assert world.forest.position(joint.joint)[0] == pytest.approx(7.0, abs=1e-4)


def test_a_servo_holds_while_its_base_turns():
    """Rapier issue 856."""
    world = km.World()
    base = world.add(km.Shape.cylinder(1.0, 0.2), at=(0, 0, 3))
    hammer = world.add(km.Shape.box((1.0, 0.2, 0.2)), at=(1.7, 0, 3))
    world.motor(world.connect(None, base, km.Joint.revolute("z")), speed=6.0, effort_limit=1e9)
    joint = world.connect(base, hammer, km.Joint.revolute("y"), at=(1.0, 0, 3))
    world.servo(joint, position=np.pi, stiffness=1e6, damping=1e4)
    world.run(3.0)
    assert world.forest.position(joint.joint)[0] == pytest.approx(np.pi, abs=0.05)


# --- contact ---


@pytest.mark.parametrize("jointed", [False, True])
@pytest.mark.parametrize("shape", [CUBE, km.Shape.sphere(0.5), km.Shape.cylinder(0.5, 1), km.Shape.capsule(0.25, 0.5)])
def test_contacts_bear_the_weight_of_what_rests(shape, jointed):
    """Rapier resting_impulse_matches_gravity."""
    world = on_ground(sleep=False)
    body = world.add(shape, at=(0, 0, 0.5), mass=1.0)
    if jointed:
        world.connect(None, body, km.Joint.prismatic("z"))
    world.run(1.0)
    assert sum(touch.force[2] for touch in world.contacts(body)) == pytest.approx(G, rel=1e-3)


@pytest.mark.parametrize(("one", "other"), [(0.2, 0.8), (0.5, 0.5), (0.0, 1.0)])
def test_friction_of_a_pair_is_the_geometric_mean(one, other):
    """Jolt TestFriction; Box2D's mixing rule."""
    world = km.World()
    world.add_ground(material=km.Material(friction=one))
    body = world.add(CUBE, at=(0, 0, 0.5), twist=(0, 0, 0, 10, 0, 0), material=km.Material(friction=other))
    world.run(0.5)
    assert body.velocity[0] == pytest.approx(10 - np.sqrt(one * other) * G * 0.5, abs=1e-2)


def test_what_spins_on_the_spot_is_stopped_there():
    """Jolt TestAngularFriction."""
    world = on_ground()
    plate = world.add(km.Shape.box((1, 1, 0.2)), at=(0, 0, 0.1), twist=(0, 0, 10, 0, 0, 0))
    world.run(2.0)
    assert np.abs(plate.twist).max() < 1e-6
    assert np.abs(plate.position[:2]).max() < 1e-3


def test_two_elastic_balls_that_meet_while_they_fall():
    """Jolt TestPhysicsCollisionElasticDynamic: weight across the normal has no part in it."""
    world = km.World(material=km.Material(0.0, restitution=1.0))
    a, b = (world.add(km.Shape.sphere(0.5), at=(x, 0, 10), twist=(0, 0, 0, -x, 0, 0)) for x in (-2.0, 2.0))
    world.run(1.2)
    assert np.allclose([a.velocity, b.velocity], [(-2, 0, -1.2 * G), (2, 0, -1.2 * G)], atol=1e-9)


def test_facing_belts_shoot_a_plank_out_at_their_speed():
    """MuJoCo SurfaceVelocityFacingBelts; SurfaceVelocityNormalProjected."""
    world = km.World()
    belt = km.Material(1.0, surface=(0, 0, 1), priority=1)
    for x in (-0.152, 0.152):
        world.add_ground(km.Shape.box((0.1, 0.6, 1), km.Pose((x, 0, 0.5))), belt)
    plank = world.add(km.Shape.box((0.206, 0.2, 0.2)), at=(0, 0, 0.5), mass=0.2)
    assert max((world.step(), plank.velocity[2])[1] for _ in range(500)) == pytest.approx(1.0, abs=5e-3)
    still = km.World(material=km.Material(surface=(0, 0, 1)))
    still.add_ground()
    box = still.add(SMALL, at=(0, 0, 0.1))
    still.run(1.0)
    assert np.abs(box.twist).max() < 1e-6


@pytest.mark.parametrize("friction", [0.0, 0.8])
def test_a_ball_swings_in_a_bowl_of_triangles(friction):
    """Rapier's bowls; a ball that rolls takes √(7/5) times as long as one that slides."""
    x = np.linspace(-0.4, 0.4, 81)
    X, Y = np.meshgrid(x, x, indexing="ij")
    corner = np.arange(81 * 81).reshape(81, 81)
    a, b, c, d = (k.ravel() for k in (corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]))
    points = np.c_[X.ravel(), Y.ravel(), 1.0 - np.sqrt(1.0 - X.ravel() ** 2 - Y.ravel() ** 2)]
    world = km.World(dt=1e-3, sleep=False, material=km.Material(friction))
    world.add_ground(km.Terrain(km.Mesh(points, np.r_[np.c_[a, b, c], np.c_[a, c, d]])))
    angle, length = 0.15, 0.9
    ball = world.add(km.Shape.sphere(0.1), at=(length * np.sin(angle), 0, 1 - length * np.cos(angle)))
    way = np.array([(world.step(), ball.position[0])[1] for _ in range(3000)])
    passes = np.flatnonzero((way[:-1] > 0.0) & (way[1:] <= 0.0))
    period = 2 * np.pi * np.sqrt((1.4 if friction else 1.0) * length / G) * (1 + angle**2 / 16)
    assert (passes[1] - passes[0]) * world.dt == pytest.approx(period, rel=3e-3)


def test_a_lift_carries_up_and_down():
    """Jolt TestPhysicsMoveKinematic."""
    world = km.World()
    lift = world.add(km.Shape.box((4, 4, 0.2)), at=(0, 0, 1))
    motor = world.motor(world.connect(None, lift, km.Joint.prismatic("z")), speed=0.5, effort_limit=1e9)
    box = world.add(SMALL, at=(0, 0, 1.2))
    for speed in (0.5, -0.5):
        motor.speed = speed
        world.run(1.0)
        assert box.position[2] - lift.position[2] == pytest.approx(0.2, abs=1e-4)
        assert box.velocity[2] == pytest.approx(speed, abs=1e-3)


def test_far_from_the_origin_all_goes_as_near_it():
    """Box2D LargeWorldPyramidTest."""

    def pyramid(x):
        world = on_ground()
        places = [(c - 0.5 * (4 - r), 0, 0.5 + r) for r in range(4) for c in range(4 - r)]
        bodies = [world.add(CUBE, at=(x + 1.05 * place[0], *place[1:])) for place in places]
        world.run(3.0)
        assert all(body.asleep for body in bodies)
        return np.array([body.position - (x, 0, 0) for body in bodies])

    assert np.abs(pyramid(1e7) - pyramid(0.0)).max() < 1e-5


# --- events ---


def counted(world, a, b):
    """How often two begin to touch, and part."""
    count = [0, 0]
    for k, direction in enumerate((1, -1)):
        world.when(km.Event.contact(a, b, direction=direction), lambda *_, k=k: count.__setitem__(k, count[k] + 1))
    return count


def test_each_bounce_begins_and_ends_once():
    """Jolt TestContactListenerElastic, Box2D's begin and end events."""
    world = on_ground()
    world.add(km.Shape.sphere(0.5), at=(0, 0, 2), material=km.Material(0.0, restitution=1.0), name="ball")
    count = counted(world, "ball", "ground")
    world.run(3.2 * 2 * np.sqrt(2 * 1.5 / G))  # it falls for half of such a time
    assert count == [3, 3]


def test_what_slides_touches_once_until_it_is_thrown_up():
    """Jolt TestContactListenerInelastic."""
    world = on_ground()
    box = world.add(CUBE, at=(0, 0, 1), name="box")
    count = counted(world, "box", "ground")
    world.run(1.5)
    box.velocity = (2, 0, 0)
    world.run(0.4)
    assert count == [1, 0]
    box.velocity = (0, 0, 3)
    world.run(0.3)
    assert count == [1, 1]
    world.run(2.0)
    assert count == [2, 1]


def test_actions_may_add_and_remove_what_they_are_about():
    """Rapier and Box2D: bodies destroyed for a contact event."""
    world = on_ground()
    for i in range(4):
        world.add(km.Shape.sphere(0.2), at=(i, 0, 1 + 0.1 * i), name=f"drop {i}")
        world.when(km.Event.contact(f"drop {i}", "ground"), lambda world, moment: world.remove(moment.body))
    world.add(km.Shape.sphere(0.2), at=(0, 3, 0.5), name="first")
    event = km.Event.contact("first", "ground", times=1)
    world.when(event, lambda world, moment: world.add(km.Shape.sphere(0.2), at=(2, 3, 1), name="second"))
    world.run(1.5)
    assert [body.name for body in world.bodies] == ["first", "second"]
    assert world["second"].position[2] == pytest.approx(0.2, abs=1e-4)
