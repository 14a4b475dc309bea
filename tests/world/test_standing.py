"""What stands or is held by servos, motors and dry friction stays where it is, as friction holds it.

Figures and grippers are drawn from a seed: legs, feet, joints, masses, slopes up to 0.9 of the friction angle, steps.
"""

import math

import numpy as np
import pytest
from tests.robots import ROBOTS, load

import kinemorph as km

G = 9.81
HOLDS = ("servo", "weak servo", "motor", "dry friction")
ANYMAL = "anymal_b_simple_description/anymal"


def slope(angle: float, heading: float = 0.0) -> tuple[float, float, float]:
    """Gravity as it is on a slope."""
    down = G * math.sin(angle)
    return down * math.cos(heading), down * math.sin(heading), -G * math.cos(angle)


def quadruped(rng: np.random.Generator, hold: str, joint: str, feet: str, dt: float, friction: float, angle: float):
    """A body on legs whose one joint each is held; the world, the figure, its servos and what holds them."""
    size, legs = 10.0 ** rng.uniform(-0.7, 0.3), int(rng.integers(3, 7))
    mass = 5.0 * size**3 * 10.0 ** rng.uniform(-0.5, 0.5)
    k, load = 400.0 * mass * G * size, 20.0 * mass * G * size  # N m/rad and N m, far more than the figure needs
    if joint == "prismatic":
        k, load = k / size**2, load / size
    make = {"prismatic": km.Joint.prismatic, "revolute": km.Joint.revolute}[joint]
    b = km.Builder("figure")
    box = (0.6 * size, 0.6 * size, 0.1 * size)
    b.link("body", None, km.Joint.free(), inertia=km.Inertia.box(mass, box), shapes=[km.Shape.box(box)])
    foot = 0.02 * size
    for i in range(legs):
        turn = 2.0 * math.pi * i / legs + rng.uniform(-0.1, 0.1)
        at = (0.3 * size * math.cos(turn), 0.3 * size * math.sin(turn), -0.05 * size)
        more = {}
        if hold == "dry friction":
            more = {"friction": load}
        axis = "z" if joint == "prismatic" else ("x", "y")[int(rng.integers(2))]
        place = km.Pose((0, 0, -0.1 * size))
        shape = (
            km.Shape.sphere(foot, place) if feet == "sphere" else km.Shape.box((3 * foot, 3 * foot, 2 * foot), place)
        )
        leg = km.Inertia.box(0.05 * mass, (0.03 * size, 0.03 * size, 0.1 * size), (0, 0, -0.05 * size))
        b.link(f"leg{i}", "body", make(axis, name=f"j{i}", **more), at, leg, [shape])
    world = km.World(
        dt=dt,
        sleep=False,
        material=km.Material(friction=friction),
        gravity=slope(angle, rng.uniform(-math.pi, math.pi)),
    )
    world.add_ground()
    figure = world.add(b.build(), at=(0, 0, 0.15 * size + foot))
    drives = []
    for i in range(legs):
        if hold in ("servo", "weak servo"):
            most = load if hold == "weak servo" else math.inf
            drives.append(world.servo(figure.joint(f"j{i}"), stiffness=k, damping=0.05 * k, effort_limit=most))
        elif hold == "motor":
            drives.append(world.motor(figure.joint(f"j{i}"), speed=0.0, effort_limit=load))
    return world, figure, drives, size


def moved(world: km.World, body: km.Body, seconds: float) -> float:
    before = np.array(body.position)
    world.run(seconds)
    return float(np.linalg.norm(np.array(body.position) - before))


@pytest.mark.parametrize("dt", [5e-4, 2e-3, 5e-3])
@pytest.mark.parametrize("hold", HOLDS)
def test_figures_stand_on_slopes_whatever_holds_their_joints(hold, dt):
    for seed in range(4):
        rng = np.random.default_rng([seed, HOLDS.index(hold)])
        friction = rng.uniform(0.3, 1.0)
        angle = rng.uniform(0.0, 0.9) * math.atan(friction)
        joint, feet = ("revolute", "prismatic")[seed % 2], ("sphere", "box")[int(rng.integers(2))]
        world, figure, drives, size = quadruped(rng, hold, joint, feet, dt, friction, angle)
        world.run(1.0)
        way = moved(world, figure["body"], 1.0)
        assert way < 1e-5 * size, (seed, joint, feet, friction, angle)
        for i, servo in enumerate(drives if hold == "servo" else ()):
            x = figure.position(f"j{i}")[0]
            assert servo.applied == pytest.approx(servo.stiffness * (servo.position - x), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3])
def test_two_legs_with_servo_knees_stand_on_ten_degrees(dt):
    """Knees of 100 N m/rad: as firm as joint springs of the same stiffness."""
    b = km.Builder("legs")
    torso = (0.4, 0.3, 0.1)
    b.link("torso", None, km.Joint.free(), inertia=km.Inertia.box(4.0, torso), shapes=[km.Shape.box(torso)])
    inertia = km.Inertia.box(0.5, (0.05, 0.05, 0.2), (0, 0, -0.1))
    foot = km.Shape.box((0.3, 0.06, 0.04), km.Pose((0, 0, -0.2)))
    for i, y in enumerate((-0.12, 0.12)):
        b.link(f"thigh{i}", "torso", km.Joint.fixed(), (0, y, -0.05), inertia)
        b.link(f"shin{i}", f"thigh{i}", km.Joint.revolute("y", name=f"knee{i}"), (0, 0, -0.2), inertia, [foot])
    world = km.World(dt=dt, sleep=False, material=km.Material(friction=1.0), gravity=slope(math.radians(10.0)))
    world.add_ground()
    figure = world.add(b.build(), at=(0, 0, 0.47))
    servos = [world.servo(figure.joint(f"knee{i}"), stiffness=100.0, damping=5.0) for i in range(2)]
    world.run(0.5)
    assert moved(world, figure["shin0"], 5.0) < 1e-6  # m; 0.04 with impulses that started anew in each step
    for i, servo in enumerate(servos):
        assert servo.applied == pytest.approx(-100.0 * figure.position(f"knee{i}")[0], rel=1e-6)


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
@pytest.mark.parametrize("hold", ["servo", "motor"])
def test_heavy_bodies_stand_on_light_shins_with_wide_feet(hold, dt):
    """A foot presses with a long lever on a knee that feels the shin alone: both bear a hundred times that."""
    for seed in range(6):
        rng = np.random.default_rng([seed, 11])
        size, friction = 10.0 ** rng.uniform(-0.5, 0.3), rng.uniform(0.5, 1.2)
        mass, ratio = 10.0 ** rng.uniform(0.0, 2.0), 10.0 ** rng.uniform(1.0, 2.7)
        angle = rng.uniform(0.3, 0.7) * min(math.atan(friction), 0.3)
        b = km.Builder("legs")
        torso, shin = (size, 0.7 * size, 0.2 * size), (0.1 * size, 0.1 * size, 0.5 * size)
        b.link("torso", None, km.Joint.free(), inertia=km.Inertia.box(mass, torso))
        feet = [km.Shape.box((rng.uniform(0.6, 0.9) * size, 0.15 * size, 0.1 * size), km.Pose((0, 0, -0.5 * size)))]
        if seed % 2:
            feet = [km.Shape.sphere(0.05 * size, km.Pose((x * size, 0, -0.5 * size))) for x in (-0.4, 0.4)]
        inertia = km.Inertia.box(mass / ratio, shin, (0, 0, -0.25 * size))
        for i, y in enumerate((-0.3, 0.3)):
            b.link(
                f"shin{i}", "torso", km.Joint.revolute("y", name=f"knee{i}"), (0, y * size, -0.3 * size), inertia, feet
            )
        world = km.World(dt=dt, sleep=False, material=km.Material(friction=friction), gravity=slope(angle))
        world.add_ground()
        figure = world.add(b.build(), at=(0, 0, 0.85 * size + 1e-3 * size))
        k = 40.0 * mass * G * size * math.sin(angle)  # N m/rad: a knee gives way by some hundredths
        for i in range(2):
            if hold == "servo":
                world.servo(f"knee{i}", stiffness=k, damping=0.05 * k)
            else:
                world.motor(f"knee{i}", effort_limit=k)
        world.run(1.5)
        bent = figure.position("knee0")[0]
        assert moved(world, figure["torso"], 1.0) < 1e-5 * size, (seed, ratio)
        assert abs(figure.position("knee0")[0] - bent) < 1e-5


@pytest.mark.filterwarnings("ignore:world. model .anymal.")
@pytest.mark.skipif(ANYMAL not in ROBOTS, reason="example-robot-data is not there")
@pytest.mark.parametrize(("degrees", "dt"), [(5.0, 2e-3), (10.0, 5e-3), (30.0, 2e-3)])
def test_anymal_stands_on_slopes(degrees, dt):
    model = load(ANYMAL, floating=True)
    bend = {}
    for leg, sign in (("LF", 1.0), ("RF", 1.0), ("LH", -1.0), ("RH", -1.0)):
        bend |= {f"{leg}_HFE": 0.7 * sign, f"{leg}_KFE": -1.4 * sign}
    world = km.World(dt=dt, sleep=False, material=km.Material(friction=1.0), gravity=slope(math.radians(degrees)))
    world.add_ground()
    q = km.neutral(model)
    q[2] = 0.43
    figure = world.add(model, q=q)
    names = [name for name in figure.joints if name != "root_joint"]
    for name in names:
        world.placement.set_joint(figure.joint(name), bend.get(name, 0.0))
        world.servo(figure.joint(name), bend.get(name, 0.0), stiffness=400.0, damping=10.0)
    world.run(1.5)
    body = next(iter(figure))
    assert body.position[2] > 0.3
    assert moved(world, body, 2.0) < 1e-5  # m; 0.1 before


@pytest.mark.parametrize("dt", [5e-4, 2e-3, 5e-3])
@pytest.mark.parametrize("hold", ["servo", "motor", "drive", "dry friction"])
def test_grippers_hold_up_to_their_friction(hold, dt):
    """Two fingers squeeze a box that nothing else carries, by what 0.3 to 0.95 of their friction bears."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 7])
        share, friction, mass = rng.uniform(0.3, 0.95), rng.uniform(0.3, 1.0), 10.0 ** rng.uniform(-1.0, 1.0)
        force = mass * G / (2.0 * friction * share)
        stiffness = 200.0 * force  # N/m
        b = km.Builder("gripper")
        b.link("palm", None, km.Joint.fixed(), (0, 0, 1.0), km.Inertia.box(1.0, (0.3, 0.1, 0.05)))
        finger = (0.02, 0.08, 0.12)
        dry = 0.0 if hold != "dry friction" else 2.0 * force
        for i, side in enumerate((-1.0, 1.0)):
            inertia = km.Inertia.box(mass * 10.0 ** rng.uniform(-1.0, 0.0), finger)
            joint = km.Joint.prismatic("x", name=f"slide{i}", friction=dry)
            b.link(f"finger{i}", "palm", joint, (0.08 * side, 0, -0.1), inertia, [km.Shape.box(finger)])
        world = km.World(dt=dt, sleep=False, material=km.Material(friction=friction), gravity=(0, 0, 0))
        figure = world.add(b.build())
        box = world.add(km.Shape.box((0.14, 0.06, 0.1)), at=(0, 0, 0.9), mass=mass)
        drives = []
        for i, side in enumerate((-1.0, 1.0)):
            joint = figure.joint(f"slide{i}")
            if hold == "servo":
                drives.append(world.servo(joint, -side * force / stiffness, stiffness=stiffness, damping=5.0 * force))
            elif hold == "motor":
                drives.append(world.motor(joint, speed=-0.1 * side, effort_limit=force))
            else:
                drives.append(world.drives.force(joint, -side * (force + dry)))
        world.run(0.3)
        if hold == "dry friction":  # as much again is left to hold with, when less pulls
            for side, drive in zip((-1.0, 1.0), drives, strict=True):
                drive.force = -side * force
        world.gravity = (0, 0, -G)
        world.run(0.2)
        assert moved(world, box, 1.0) < 1e-5, (seed, share, friction, mass)


def test_what_stands_by_dry_friction_stands_on_after_a_reroot_and_a_snapshot():
    """The impulses from which a step starts stay with their joints, whichever side these are used from."""
    rng = np.random.default_rng(3)
    world, figure, _, size = quadruped(rng, "dry friction", "revolute", "sphere", 2e-3, 0.8, 0.3)
    world.run(1.0)
    kept = world.save()
    world.run(0.2)
    found = world.hash()
    world.restore(kept)
    world.run(0.2)
    assert world.hash() == found
    world.reroot(figure["leg1"])
    assert moved(world, figure["body"], 1.0) < 1e-5 * size
