"""What acts in joints and on bodies: motors, servos, forces, couplings, pushes, and the limits that bound them."""

import math

import numpy as np
import pytest

import kinemorph as km

pytestmark = pytest.mark.quick

G = 9.81


def flywheel(inertia=0.5, **more):
    """A wheel on a hinge, without gravity."""
    b = km.Builder("wheel")
    b.link(
        "wheel",
        None,
        km.Joint.revolute("z", name="axle", **more),
        inertia=km.Inertia(1.0, (0, 0, 0), inertia * np.eye(3)),
    )
    world = km.World(gravity=(0, 0, 0), sleep=False)
    return world, world.add(b.build())


def chain(n=4, world=None, **more):
    b = km.Builder("chain")
    for i in range(n):
        inertia = km.Inertia.box(1.0, (0.05, 0.05, 0.3), (0, 0, -0.15))
        b.link(
            f"l{i}",
            f"l{i - 1}" if i else None,
            km.Joint.revolute("y", name=f"j{i}", **more),
            (0, 0, -0.3 if i else 2.0),
            inertia,
        )
    world = world or km.World(sleep=False)
    return world, world.add(b.build())


# ------------------------------------------------------------------------------------------------------------- motors


def test_a_motor_speeds_up_with_its_largest_force_and_then_holds_its_speed():
    world, wheel = flywheel(0.5)
    motor = world.motor(wheel.joint("axle"), speed=4.0, effort_limit=2.0)
    world.run(0.5)
    assert wheel.velocity("axle")[0] == pytest.approx(2.0 / 0.5 * 0.5, rel=1e-9)
    assert motor.applied == pytest.approx(2.0)
    world.run(1.0)
    assert wheel.velocity("axle")[0] == pytest.approx(4.0, abs=1e-12)
    assert motor.applied == pytest.approx(0.0, abs=1e-9)
    motor.speed = -1.0
    world.run(2.0)
    assert wheel.velocity("axle")[0] == pytest.approx(-1.0, abs=1e-12)
    motor.withdraw()
    world.run(0.1)
    assert not motor.alive
    assert wheel.velocity("axle")[0] == pytest.approx(-1.0, abs=1e-12)


def test_motors_of_a_chain_hold_it_against_gravity():
    world, arm = chain(6)
    for i in range(6):
        world.motor(arm.joint(f"j{i}"), speed=0.2 * (-1) ** i)
    world.run(0.5)
    speeds = [arm.velocity(f"j{i}")[0] for i in range(6)]
    assert speeds == pytest.approx([0.2 * (-1) ** i for i in range(6)], abs=1e-5)


def test_a_motor_that_is_too_weak_yields():
    world, arm = chain(1)
    tree = world.forest.trees[0]
    world.forest.set_state(tree, q=[np.pi / 2])
    motor = world.motor(arm.joint("j0"), speed=0.0, effort_limit=0.5)
    world.step()
    assert abs(motor.applied) == pytest.approx(0.5)
    inertia = 1.0 * (0.05**2 + 0.3**2) / 12 + 0.15**2
    assert abs(arm.velocity("j0")[0]) == pytest.approx((0.15 * G - 0.5) / inertia * world.dt, rel=1e-9)


# ------------------------------------------------------------------------------------------------------------- servos


def test_a_servo_is_a_spring_and_a_damper():
    k, d, inertia = 8.0, 0.4, 0.5
    world, wheel = flywheel(inertia)
    world = km.World(gravity=(0, 0, 0), sleep=False, dt=1e-4)
    _, wheel = world, world.add(wheel.model)
    world.servo(wheel.joint("axle"), 1.0, stiffness=k, damping=d)
    world.run(1.0)
    omega, decay = math.sqrt(k / inertia - (d / inertia / 2) ** 2), d / inertia / 2
    expected = 1.0 - math.exp(-decay) * (math.cos(omega) + decay / omega * math.sin(omega))
    assert wheel.position("axle")[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("dt", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("gain", [1.0, 1e4, 1e9, 1e14])
def test_no_servo_is_too_stiff_for_a_step(gain, dt):
    world = km.World(sleep=False, dt=dt)
    world, arm = chain(3, world)
    for i, to in enumerate((0.4, -0.6, 0.3)):
        world.servo(arm.joint(f"j{i}"), to, stiffness=gain, damping=gain)
    largest = 0.0
    for _ in range(20):
        world.run(0.5)
        largest = max(largest, max(abs(arm.velocity(f"j{i}")[0]) for i in range(3)))
    assert largest < 30.0
    if gain >= 1e4:
        assert [arm.position(f"j{i}")[0] for i in range(3)] == pytest.approx([0.4, -0.6, 0.3], abs=20.0 / gain + 1e-4)


def test_a_servo_sags_by_its_load_over_its_stiffness():
    world, arm = chain(1)
    servo = world.servo(arm.joint("j0"), math.pi / 2, stiffness=500.0, damping=20.0)
    world.run(3.0)
    sag = math.pi / 2 - arm.position("j0")[0]
    assert abs(servo.applied) == pytest.approx(500.0 * abs(sag), rel=1e-6)
    assert abs(servo.applied) == pytest.approx(0.15 * G * math.cos(sag), rel=1e-6)
    servo.position = 0.0
    world.run(3.0)
    assert arm.position("j0")[0] == pytest.approx(0.0, abs=1e-6)


def test_servos_hold_a_figure_that_stands_on_the_ground():
    b = km.Builder("stool")
    b.link(
        "seat",
        None,
        km.Joint.free(),
        inertia=km.Inertia.box(5.0, (0.4, 0.4, 0.1)),
        shapes=[km.Shape.box((0.4, 0.4, 0.1))],
    )
    for i, (x, y) in enumerate(((0.15, 0.15), (0.15, -0.15), (-0.15, 0.15), (-0.15, -0.15))):
        hip, knee = km.Joint.revolute("y", name=f"hip{i}"), km.Joint.revolute("y", name=f"knee{i}")
        b.link(f"thigh{i}", "seat", hip, (x, y, -0.05), km.Inertia.box(0.3, (0.04, 0.04, 0.2), (0, 0, -0.1)))
        shin = km.Shape.capsule(0.02, 0.2, km.Pose((0, 0, -0.1)))
        b.link(
            f"shin{i}",
            f"thigh{i}",
            knee,
            (0, 0, -0.2),
            km.Inertia.box(0.2, (0.04, 0.04, 0.2), (0, 0, -0.1)),
            shapes=[shin],
        )
    world = km.World(sleep=False)
    world.add_ground()
    stool = world.add(b.build(), at=(0, 0, 0.48))
    for i in range(4):
        world.servo(stool.joint(f"hip{i}"), 0.4, stiffness=200.0, damping=5.0)
        world.servo(stool.joint(f"knee{i}"), -0.8, stiffness=200.0, damping=5.0)
    world.run(3.0)
    before = stool["seat"].position
    world.run(2.0)
    assert stool["seat"].position == pytest.approx(before, abs=1e-5)
    assert before[2] > 0.38
    weight = sum(t.force[2] for body in stool for t in world.contacts(body))
    assert weight == pytest.approx(7.0 * G, rel=1e-4)


# ------------------------------------------------------------------------------------------------------------- limits


def test_effort_bounds_motors_and_given_forces():
    world, wheel = flywheel(0.5, effort_limit=1.0)
    joint = wheel.joint("axle")
    force = world.drives.force(joint, 5.0)
    world.run(0.1)
    assert wheel.velocity("axle")[0] == pytest.approx(0.1 * 1.0 / 0.5)
    assert force.applied == pytest.approx(1.0)
    world.motor(joint, speed=-10.0)  # the force takes all there is one way, so twice as much is left the other way
    world.run(0.1)
    assert wheel.velocity("axle")[0] == pytest.approx(0.0, abs=1e-9)
    world.forest.set_state(world.forest.trees[0], tau=[7.0])
    force.withdraw()
    world.run(0.1)
    assert wheel.velocity("axle")[0] == pytest.approx(-0.2)


def test_speed_limits_hold():
    world, wheel = flywheel(0.5, velocity_limit=2.0)
    world.drives.force(wheel.joint("axle"), 5.0)
    for _ in range(20):
        world.run(0.05)
        assert wheel.velocity("axle")[0] <= 2.0 + 1e-9
    assert wheel.velocity("axle")[0] == pytest.approx(2.0)


def test_a_ball_joint_stops_at_its_limits():
    b = km.Builder("ball")
    joint = km.Joint.spherical(lower=(-0.5, -0.3, -0.2), upper=(0.5, 0.3, 0.2), name="hip")
    b.link("leg", None, joint, inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.5), (0, 0, -0.25)))
    model = b.build()
    for gravity in ((9.81, 0, 0), (0, 9.81, 0), (5, -7, 3)):
        world = km.World(gravity=gravity, sleep=False)
        leg = world.add(model)
        for _ in range(30):
            world.run(0.1)
            w, *u = leg.position("hip")
            angle = 2 * math.atan2(np.linalg.norm(u), w)
            phi = angle * np.array(u) / max(np.linalg.norm(u), 1e-12)
            assert (np.abs(phi) < np.array([0.5, 0.3, 0.2]) + 2e-3).all()


def test_dry_friction_of_a_ball_holds_a_small_load():
    b = km.Builder("ball")
    b.link(
        "leg",
        None,
        km.Joint.spherical(friction=0.2, name="hip"),
        inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.5), (0, 0, -0.25)),
    )
    model = b.build()
    for angle, holds in ((0.05, True), (0.15, False)):
        world = km.World(sleep=False)
        leg = world.add(model, q=[math.cos(angle / 2), math.sin(angle / 2), 0, 0])
        world.run(1.0)
        assert (
            np.linalg.norm(leg.velocity("hip")) < 1e-6 and abs(leg.position("hip")[1] - math.sin(angle / 2)) < 1e-5
        ) == holds


# ---------------------------------------------------------------------------------------------------------- couplings


def test_a_coupling_is_a_gear():
    b = km.Builder("gears")
    for name in ("pinion", "wheel"):
        inertia = km.Inertia(1.0, (0, 0, 0), (0.1 if name == "pinion" else 0.9) * np.eye(3))
        b.link(name, None if name == "pinion" else "pinion", km.Joint.revolute("z", name=name), inertia=inertia)
    world = km.World(gravity=(0, 0, 0), sleep=False)
    gears = world.add(b.build())
    world.drives.couple(gears.joint("wheel"), gears.joint("pinion"), ratio=-3.0, position=0.2)
    world.drives.force(gears.joint("pinion"), 1.0)
    world.run(2.0)
    pinion, wheel = gears.position("pinion")[0], gears.position("wheel")[0]
    assert wheel == pytest.approx(-3.0 * pinion + 0.2, abs=1e-6)
    # the wheel turns at -2 w, as its carrier is the pinion: 1/2 (0.1 + 0.9 4) w² is all that the torque gave
    assert gears.velocity("pinion")[0] == pytest.approx(2.0 / (0.1 + 0.9 * 4.0), rel=0.03)


@pytest.mark.parametrize("palm", [True, False])
def test_mimics_act(palm):
    b = km.Builder("hand")
    if palm:
        b.link("palm", None, km.Joint.fixed(), inertia=km.Inertia.sphere(1.0, 0.1))
    for name in ("left", "right"):
        joint, ball = km.Joint.prismatic("x", name=name), km.Inertia.sphere(1.0, 0.1)
        b.link(name, "palm" if palm else None, joint, inertia=ball)
    b.mimic("right", "left", -1.0, 0.1)
    world = km.World(gravity=(0, 0, 0), sleep=False)
    hand = world.add(b.build())
    world.servo(hand.joint("left"), 0.3, stiffness=100.0, damping=20.0)
    world.run(3.0)
    assert hand.position("left")[0] == pytest.approx(0.3, abs=1e-4)
    assert hand.position("right")[0] == pytest.approx(-0.2, abs=1e-4)


def test_joints_of_trees_on_the_base_follow_each_other():
    """Trees that gears tie hang on one link without mass; others, and what stands, are where they were."""
    b, ball = km.Builder("pair"), km.Inertia.sphere(1.0, 0.1, (0.2, 0, 0))
    for side, y in (("left", 0.0), ("right", 3.0)):
        b.link(f"{side} trunk", None, km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
        b.link(side, f"{side} trunk", km.Joint.revolute("y", name=side), (0.5, y, 0), ball)
    b.link("stand", None, km.Joint.revolute("y"), (0, 9, 0), ball)
    b.frame("mark", None, (1, 2, 3))
    b.mimic("left", "right", -2.0)
    model = b.build()
    world = km.World(dt=0.001, gravity=(0, 0, 0), sleep=False)
    v = np.zeros(model.nv)
    v[model.v_slice("left")], v[model.v_slice("right")] = -2.0, 1.0
    pair = world.add(model, at=(0, 0, 1), v=v)
    world.run(0.2)
    assert [body.name for body in world.bodies] == ["stand#2", *model.names]
    assert pair.position("left")[0] == pytest.approx(-2.0 * pair.position("right")[0], abs=1e-6)
    assert abs(pair.position("right")[0]) > 0.05
    assert pair.model.frames["mark"][1].position == pytest.approx([1, 2, 4])


# ------------------------------------------------------------------------------------------------------------- pushes


def test_a_push_acts_until_it_is_withdrawn():
    world = km.World(gravity=(0, 0, 0))
    body = world.add(km.Shape.box((0.2, 0.2, 0.2)))
    push = world.apply_force(body, force=(2.0, 0, 0))
    world.run(1.0)
    assert body.velocity == pytest.approx([2.0 / body.mass, 0, 0])
    push.force = (0, 4.0, 0)
    world.run(1.0)
    push.withdraw()
    world.run(1.0)
    assert body.velocity == pytest.approx([2.0 / body.mass, 4.0 / body.mass, 0])
    assert np.abs(body.angular_velocity).max() < 1e-12


def test_a_push_for_one_step_is_an_impulse():
    world = km.World(gravity=(0, 0, 0))
    body = world.add(km.Shape.box((0.2, 0.2, 0.2)))
    push = world.apply_force(body, force=(0, 0, 1000.0), at=(0.1, 0, 0), lasting=False)
    world.run(0.1)
    assert not push.alive
    inertia = body.mass * 0.2**2 / 6
    assert body.angular_velocity[1] == pytest.approx(-0.1 * 1000.0 * world.dt / inertia, rel=1e-9)
    assert np.linalg.norm(body.velocity[2]) == pytest.approx(1000.0 * world.dt / body.mass, rel=1e-9)


def test_a_push_on_a_limb_is_what_the_limb_feels():
    world, arm = chain(2)
    end = world.forest.pose(arm["l1"].id).position + (0, 0, -0.15)
    world.apply_force(arm["l1"], force=(3.0, 0, 0), at=end, lasting=False)
    world.step()
    model, data = arm.model, km.Data(arm.model)
    forces = np.zeros((2, 6))
    forces[1] = np.r_[np.cross((0, 0, -0.15), (3.0, 0, 0)), 3.0, 0, 0]
    a = km.aba(model, data, np.zeros(2), np.zeros(2), np.zeros(2), forces)
    assert [arm.velocity(f"j{i}")[0] for i in range(2)] == pytest.approx(world.dt * a, rel=1e-9)


def test_a_rocket_turns_with_its_push():
    world = km.World(gravity=(0, 0, 0), dt=5e-4)
    body = world.add(km.Shape.box((0.2, 0.2, 0.2)), twist=(0, 0, 2 * math.pi, 0, 0, 0))
    world.apply_force(body, force=(1.0, 0, 0), turning=True)
    world.run(1.0)
    assert np.linalg.norm(body.velocity) < 1e-3


def test_what_is_pushed_does_not_sleep_and_what_is_driven_wakes():
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1))
    world.run(1.0)
    assert box.asleep
    push = world.apply_force(box, force=(1.0, 0, 0))
    world.run(1.0)
    assert not box.asleep
    push.force = (100.0, 0, 0)
    world.run(0.2)
    assert box.velocity[0] > 0.5
    push.withdraw()
    world.run(3.0)
    assert box.asleep


# --------------------------------------------------------------------------------------- drives and changing structure


def test_drives_stay_with_their_joints_while_the_structure_changes():
    world, arm = chain(3)
    servos = [world.servo(arm.joint(f"j{i}"), 0.3 * (i + 1), stiffness=2000.0, damping=50.0) for i in range(3)]
    world.run(1.0)
    before = [arm.position(f"j{i}")[0] for i in range(3)]
    world.cut(arm.joint("j0"))
    world.run(0.01)
    assert [s.alive for s in servos] == [False, True, True]
    world.reroot(arm["l2"])
    world.run(0.3)  # it falls, bent as it was
    assert [arm.position(f"j{i}")[0] for i in (1, 2)] == pytest.approx([0.6, 0.9], abs=2e-3)
    assert before[1:] == pytest.approx([0.6, 0.9], abs=5e-3)  # gravity bends it
    servos[1].position = 0.1
    world.run(0.5)
    assert arm.position("j1")[0] == pytest.approx(0.1, abs=2e-3)
    with pytest.raises(KeyError, match="gone"):
        servos[0].position = 1.0
    world.remove(arm["l0"])
    world.run(0.1)
    assert [s.alive for s in servos] == [False, False, True]
    assert [drive.joint for drive in world.drives] == [arm.joint("j2")]


def test_a_branch_has_the_same_drives():
    world, arm = chain(3)
    servo = world.servo(arm.joint("j1"), 0.5, stiffness=100.0, damping=5.0, effort_limit=3.0)
    world.apply_force(arm["l2"], force=(1, 0, 0))
    world.run(0.3)
    other = world.branch()
    for each in (world, other):
        each.run(0.3)
    same = [np.array_equal(world.forest.state(t).q, other.forest.state(t).q) for t in world.forest.trees]
    assert all(same)
    servo.on(other).position = -0.5
    other.run(0.3)
    assert servo.position == 0.5
    assert other.forest.position(arm.joint("j1")) != pytest.approx(world.forest.position(arm.joint("j1")))


# --------------------------------------------------------------------------------------------------------- actuators


MJCF = """<mujoco><worldbody>
  <body name="arm"><joint name="hip" type="hinge" axis="0 1 0" damping="0.5"/>
    <geom type="capsule" size="0.02 0.1" pos="0 0 -0.1" mass="1"/>
    <body name="fore" pos="0 0 -0.2"><joint name="knee" type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.02 0.1" pos="0 0 -0.1" mass="0.5"/></body></body>
</worldbody><actuator>
  <position name="hip" joint="hip" kp="40" kv="2" ctrlrange="-1 1"/>
  <velocity name="turn" joint="knee" kv="3" gear="2" forcerange="-0.4 0.4"/>
  <motor name="pull" joint="knee" gear="0.5" ctrlrange="-2 2"/>
</actuator></mujoco>"""


def test_actuators_of_models_act(tmp_path):
    (tmp_path / "arm.xml").write_text(MJCF)
    model = km.load_mjcf(tmp_path / "arm.xml")
    world = km.World(sleep=False, dt=1e-4)
    arm = world.add(model)
    assert list(arm.control) == ["hip", "turn", "pull"]
    arm.control["hip"] = 0.4
    arm.control["pull"] = 9.0
    assert (arm.control["hip"], arm.control["pull"]) == (0.4, 9.0)
    # against small steps of the same law, without rows
    data, q, v, dt = km.Data(model), np.zeros(2), np.zeros(2), 1e-5
    for _ in range(30_000):
        tau = km.actuator_forces(model, q, v, [0.4, 0.0, 9.0]) - np.array([0.5, 0.0]) * v
        v = v + dt * km.forward_dynamics(model, data, q, v, tau)
        q = q + dt * v
    world.run(0.3)
    assert [arm.position(n)[0] for n in ("hip", "knee")] == pytest.approx(q, abs=1e-3)
    with pytest.raises(KeyError, match="hip"):
        arm.control["hop"] = 1.0
    with pytest.raises(ValueError, match="control of actuator 'hip'"):
        arm.control["hip"] = math.nan


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_and_nothing_changes(bad):
    world, arm = chain(2)
    joint, body = arm.joint("j0"), arm["l1"]
    servo = world.servo(joint, 0.1, stiffness=10.0, damping=1.0)
    push = world.apply_force(body, force=(1, 0, 0))
    before = [world.solver[name].tobytes() for name in ("drives", "applied_forces")]
    refused = [
        (lambda: world.motor(joint, bad), "motor: speed"),
        (lambda: world.servo(joint, bad, stiffness=1.0, damping=1.0), "servo: position"),
        (lambda: world.servo(joint, 0.0, stiffness=bad, damping=1.0), "servo: stiffness"),
        (lambda: world.servo(joint, 0.0, stiffness=1.0, damping=bad), "servo: damping"),
        (lambda: world.drives.force(joint, bad), "drives.force: force"),
        (lambda: world.drives.couple(joint, arm.joint("j1"), bad), "couple: ratio"),
        (lambda: world.apply_force(body, force=(0, bad, 0)), "apply_force: force"),
        (lambda: world.apply_force(body, torque=(0, bad, 0)), "apply_force: torque"),
        (lambda: world.apply_force(body, at=(0, bad, 0)), "apply_force: at"),
        (lambda: setattr(servo, "position", bad), "position"),
        (lambda: setattr(servo, "stiffness", bad), "stiffness"),
        (lambda: setattr(push, "force", (bad, 0, 0)), "force"),
    ]
    for act, name in refused:
        with pytest.raises(ValueError, match=name):
            act()
    assert [world.solver[name].tobytes() for name in ("drives", "applied_forces")] == before
    with pytest.raises(ValueError, match="effort_limit"):
        world.motor(joint, 1.0, effort_limit=-1.0)


def test_joints_that_cannot_be_driven_are_refused_by_name():
    world, _ = flywheel(0.5)
    body = world.add(km.Shape.sphere(0.1))
    stuck = world.add(km.Shape.sphere(0.1), at=(2, 0, 0))
    fixed = world.connect(None, stuck, km.Joint.fixed())
    with pytest.raises(ValueError, match="free; use `apply_force`"):
        world.motor(world.forest.joint_of(body.id), 1.0)
    with pytest.raises(ValueError, match="fixed"):
        world.motor(fixed, 1.0)
    weak, wheel = flywheel(0.5, effort_limit=0.0)
    with pytest.raises(ValueError, match="effort limit of 0"):
        weak.motor(wheel.joint("axle"), 1.0)
    with pytest.raises(ValueError, match="none 1"):
        world.motor(world.connect(None, body, km.Joint.revolute("z")), 1.0, dof=1)


@pytest.mark.parametrize("speed", [0.7, 1.3])
def test_a_motor_at_its_speed_has_nothing_to_do(speed):
    builder = km.Builder("plate")
    joint = km.Joint(km.JointKind.PLANAR, (1, 0, 0), (0, 0, 1))
    builder.link("plate", None, joint, km.Pose((0, 0, 5)), km.Inertia.box(1.0, (0.2, 0.3, 0.4)))
    world = km.World(dt=5e-3, sleep=False)
    plate = world.add(builder.build(), v=[0.0, 1.0, speed])
    world.motor(plate.joint("plate"), speed, 100.0, dof=2)
    start = plate["plate"].position[2]
    world.step(20)
    assert plate["plate"].position[2] - start == pytest.approx(-0.5 * 9.81 * 0.1**2, rel=1e-3)
