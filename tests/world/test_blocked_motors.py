"""Motors without a largest force: what stops them stops them for good, and what they bear they do not sink under."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kinemorph as km

JOINTS = {
    "revolute": (lambda **m: km.Joint.revolute("y", **m), 0.2),
    "prismatic": (lambda **m: km.Joint.prismatic("x", **m), 0.05),
    "screw": (lambda **m: km.Joint.screw("z", 0.05, **m), 0.3),
}
STEPS = [5e-4, 2e-3, 5e-3, 1 / 60]


def arm(joint: km.Joint, **more: object) -> tuple[km.World, km.Figure, km.Model]:
    """A link of 1 kg on a base that does not move."""
    box = (0.3, 0.05, 0.05)
    b = km.Builder("arm")
    b.link("base", None, km.Joint.fixed(), (0, 0, 1.0))
    shape = km.Shape.box(box, km.Pose((0.15, 0, 0)))
    b.link("link", "base", joint, inertia=km.Inertia.box(1.0, box, (0.15, 0, 0)), shapes=[shape])
    world = km.World(sleep=False, **more)
    return world, world.add(b.build())


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("kind", JOINTS)
def test_a_motor_stops_at_the_limit_of_its_joint(kind, dt):
    """Impulses that are kept from step to step broke through: a hinge with a limit of 0.2 was at 5.7 after 3 s."""
    make, end = JOINTS[kind]
    for seed, side in enumerate((1.0, -1.0)):
        rng = np.random.default_rng([seed, list(JOINTS).index(kind)])
        limit = end * rng.uniform(0.5, 1.5)
        world, figure = arm(make(name="j", lower=-limit, upper=limit), dt=dt)
        motor = world.motor("j", speed=side * 10.0 ** rng.uniform(-1.0, 0.5))
        world.run(limit / abs(motor.speed) + 1.0)
        first = abs(motor.applied)
        world.run(3.0)
        assert side * figure.position("j")[0] == pytest.approx(limit, abs=0.03 * dt / 1e-3 * end)
        assert abs(motor.applied) < 2.0 * first
        motor.speed = -motor.speed
        world.step(4)
        assert figure.velocity("j")[0] == pytest.approx(motor.speed, rel=1e-6)


@pytest.mark.parametrize("dt", STEPS[1:])
@pytest.mark.parametrize("size", [2, 3])
def test_motors_of_an_arm_stop_at_its_limits(size, dt):
    """They pull at each other, so the arm is solved directly: there they went on at 0.8 of their speed, as if free."""
    for seed in range(3):
        rng = np.random.default_rng([seed, size])
        b, box, parent = km.Builder("arm"), (0.3, 0.05, 0.05), "base"
        b.link("base", None, km.Joint.fixed(), (0, 0, 1.0))
        inertia, limit = km.Inertia.box(10.0 ** rng.uniform(-1.0, 1.0), box, (0.15, 0, 0)), rng.uniform(0.1, 0.4)
        for i in range(size):
            joint = km.Joint.revolute("y", name=f"j{i}", lower=-limit, upper=limit)
            b.link(f"l{i}", parent, joint, (0.3 if i else 0.0, 0, 0), inertia)
            parent = f"l{i}"
        world = km.World(dt=dt, sleep=False)
        figure = world.add(b.build())
        speed = rng.uniform(-1.2, 1.2)
        motors = [world.motor(f"j{i}", speed=speed) for i in range(size)]
        world.run(limit / abs(speed) + 3.0)
        for i in range(size):
            assert abs(figure.position(f"j{i}")[0]) == pytest.approx(limit, abs=3.0 * dt)
        for motor in motors:
            motor.speed = -speed
        world.step(8)
        for i in range(size):
            assert figure.velocity(f"j{i}")[0] == pytest.approx(-speed, rel=0.01)


@pytest.mark.parametrize("dt", STEPS)
def test_a_motor_stops_at_a_wall_and_goes_on_when_that_is_gone(dt):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        speed = rng.uniform(0.2, 2.0)
        world, figure = arm(km.Joint.revolute("y", name="j"), dt=dt, gravity=(0, 0, 0))
        wall = world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(rng.uniform(0.15, 0.25), 0, 0.91), mass=1.0)
        held = world.connect(None, wall, km.Joint.fixed())
        motor = world.motor("j", speed=speed)
        world.run(0.5)
        first, before = motor.applied, figure.position("j")[0]
        world.run(3.0)
        assert figure.position("j")[0] == pytest.approx(before, abs=1e-3)
        assert motor.applied < 2.0 * first
        world.cut(held)
        world.remove(wall)
        world.step(3)
        assert figure.velocity("j")[0] == pytest.approx(speed, rel=1e-6)


@pytest.mark.parametrize("dt", STEPS)
def test_fingers_that_close_by_motors_leave_a_box_whole(dt):
    for friction in (0.4, 0.8):
        b, finger = km.Builder("gripper"), (0.02, 0.08, 0.12)
        b.link("palm", None, km.Joint.fixed(), (0, 0, 1.0))
        for i, side in enumerate((-1.0, 1.0)):
            joint = km.Joint.prismatic("x", name=f"slide{i}")
            b.link(f"f{i}", "palm", joint, (0.08 * side, 0, -0.1), km.Inertia.box(0.5, finger), [km.Shape.box(finger)])
        world = km.World(dt=dt, sleep=False, material=km.Material(friction=friction), gravity=(0, 0, 0))
        figure = world.add(b.build())
        world.add(km.Shape.box((0.14, 0.06, 0.1)), at=(0, 0, 0.9), mass=1.0)
        motors = [world.motor(f"slide{i}", speed=-0.1 * side) for i, side in enumerate((-1.0, 1.0))]
        world.run(0.5)
        first = motors[0].applied
        world.run(3.0)
        assert [abs(figure.position(f"slide{i}")[0]) for i in range(2)] == pytest.approx([0.0, 0.0], abs=5e-3)
        assert abs(motors[0].applied) < 3.0 * abs(first)


# ------------------------------------------------------------------------------- what stiff drives bear in light links

KINDS = ("revolute", "prismatic", "universal", "cylindrical", "planar", "screw", "spherical")
LINEAR = {"prismatic": (0,), "cylindrical": (1,), "planar": (0, 1)}  # degrees of freedom that are ways, not angles
DEGREES = {"revolute": 1, "prismatic": 1, "universal": 2, "cylindrical": 2, "planar": 3, "screw": 1, "spherical": 3}


def made(kind: str, size: float, name: str) -> km.Joint:
    makers = {
        "revolute": lambda: km.Joint.revolute("y", name=name), "prismatic": lambda: km.Joint.prismatic("z", name=name),
        "universal": lambda: km.Joint.universal("x", "y", name=name), "planar": lambda: km.Joint.planar("z", name=name),
        "cylindrical": lambda: km.Joint.cylindrical("x", name=name), "spherical": lambda: km.Joint.spherical(name=name),
        "screw": lambda: km.Joint.screw("x", 0.1 * size, name=name),
    }  # fmt: skip
    return makers[kind]()


def legged(seed: int, dt: float, by: str) -> tuple[km.World, km.Figure, list, float]:
    """A heavy body on light legs of one to three links and any joints, each held, on a slope."""
    rng = np.random.default_rng(seed)
    size, legs, parts = 10.0 ** rng.uniform(-0.7, 0.5), int(rng.integers(3, 7)), int(rng.integers(1, 4))
    mass = 5.0 * size**3 * 10.0 ** rng.uniform(-0.5, 0.5)
    light = mass * 10.0 ** rng.uniform(-2.5, 0.0)
    load = 9.81 * size * (mass + legs * parts * light)  # N m
    friction, heading = rng.uniform(0.3, 1.2), rng.uniform(-math.pi, math.pi)
    angle, long = rng.uniform(0.3, 0.9) * math.atan(friction), 0.12 * size
    b, foot, joints = km.Builder("figure"), 0.02 * size * rng.uniform(0.5, 2.0), []
    shape = (km.Shape.sphere(foot, km.Pose((0, 0, -long))), km.Shape.capsule(foot, 4 * foot, km.Pose((0, 0, -long))))
    kind_of_foot = int(rng.integers(2))
    low = foot if kind_of_foot == 0 else 3 * foot
    b.link("body", None, km.Joint.free(), inertia=km.Inertia.box(mass, (0.6 * size, 0.6 * size, 0.1 * size)))
    wide = max(0.3 * size, 3.0 * (0.05 * size + long * parts) * math.tan(angle))
    for i in range(legs):
        turn = 2.0 * math.pi * i / legs
        parent, at = "body", (wide * math.cos(turn), wide * math.sin(turn), -0.05 * size)
        for k in range(parts):
            kind = KINDS[int(rng.integers(len(KINDS) - (by == "servo")))]  # a ball's servo has no position
            inertia = km.Inertia.box(light, (0.03 * size, 0.03 * size, long), (0, 0, -0.5 * long))
            shapes = [shape[kind_of_foot]] if k == parts - 1 else []
            b.link(f"l{i}{k}", parent, made(kind, size, f"j{i}{k}"), at, inertia, shapes)
            joints.append((f"j{i}{k}", kind))
            parent, at = f"l{i}{k}", (0, 0, -long)
    down = 9.81 * math.sin(angle)
    gravity = (down * math.cos(heading), down * math.sin(heading), -9.81 * math.cos(angle))
    world = km.World(dt=dt, sleep=False, material=km.Material(friction=friction), gravity=gravity)
    world.add_ground()
    figure = world.add(b.build(), at=(0, 0, 0.051 * size + long * parts + low))
    drives = []
    for name, kind in joints:
        for dof in range(DEGREES[kind]):
            unit = 1.0 / size if dof in LINEAR.get(kind, ()) else 1.0
            if by == "servo":
                k = 400.0 * load * unit**2
                drives.append((world.servo(name, stiffness=k, damping=0.05 * k, dof=dof), name, dof))
            else:
                most = math.inf if by == "motor" else 20.0 * load * unit
                drives.append((world.motor(name, effort_limit=most, dof=dof), name, dof))
    return world, figure, drives, size


@pytest.mark.parametrize("dt", STEPS[1:])
@pytest.mark.parametrize("by", ["motor", "limited motor", "servo"])
def test_heavy_bodies_stand_on_light_legs(by, dt):
    """Motors sank by 0.1 rad/s, and servos bore two thirds of what they should, where legs weigh a hundredth."""
    for seed in range(8):
        world, figure, drives, size = legged(seed, dt, by)
        world.run(2.0)
        before = np.array(figure["body"].position)
        world.run(0.5)
        assert np.linalg.norm(np.array(figure["body"].position) - before) < 1e-5 * size, seed
        if by != "servo":  # what bore all that holds the joints where they are when nothing is left to bear
            angles = [figure.position(name)[dof] if len(figure.position(name)) < 4 else 0.0 for _, name, dof in drives]
            world.gravity = (0, 0, 0)
            world.step(5)
            after = [figure.position(name)[dof] if len(figure.position(name)) < 4 else 0.0 for _, name, dof in drives]
            np.testing.assert_allclose(after, angles, atol=3e-3 * max(1.0, size))
        largest = max(abs(drive.applied) for drive, _, _ in drives)
        for drive, name, dof in drives if by == "servo" else ():
            force = drive.stiffness * (drive.position - figure.position(name)[dof])
            assert drive.applied == pytest.approx(force, abs=1e-3 * largest), seed
