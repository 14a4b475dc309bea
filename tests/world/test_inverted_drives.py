"""What drives a joint drives it as it was declared: the same motion follows whichever link of its tree is the root."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.strategies import random_inertia, random_joint, random_pose

import kinemorph as km

pytestmark = pytest.mark.quick

DRIVEN = [kind for kind in km.JointKind if kind not in (km.JointKind.FIXED, km.JointKind.FREE)]
DT = 1e-7  # s: what different coordinates of one joint make of a step differs by a share of about its length in s
STEPS = 20
SAME = 5e-6


def figure_of(rng, kind, size):
    """A model of so many links in a row, which floats; the last joint is of a kind."""
    b = km.Builder("f")
    for i in range(size):
        joint = km.Joint.free() if i == 0 else random_joint(rng, kind if i == size - 1 else km.JointKind.REVOLUTE)
        b.link(f"l{i}", f"l{i - 1}" if i else None, joint, random_pose(rng, 0.5), random_inertia(rng))
    return b.build()


def drive(world, figure, kind, way, dof, rng):
    joint = figure.joint(figure.joints[-1])
    if way == "motor":
        return world.motor(joint, speed=rng.normal(), dof=dof)
    if way == "weak motor":
        return world.motor(joint, speed=50.0 * rng.normal(), effort_limit=0.5, dof=dof)
    if way == "servo":
        stiffness = 0.0 if kind is km.JointKind.SPHERICAL else 40.0
        return world.servo(joint, rng.normal(), stiffness=stiffness, damping=2.0, speed=rng.normal(), dof=dof)
    return world.drives.force(joint, rng.normal(), dof=dof)


def lives(seed, kind, way, dof, size, change):
    """The drive and the bodies of a figure that a change was made to, after some steps."""
    rng = np.random.default_rng(seed)
    model = figure_of(rng, kind, size)
    q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
    world = km.World(gravity=(0, 0, 0), sleep=False, dt=DT)
    figure = world.add(model, q=q, v=v)
    made = drive(world, figure, kind, way, dof, np.random.default_rng([seed, 1]))
    change(world, figure)
    start = [body.twist for body in figure]
    world.step(STEPS)
    return made, figure, np.array([body.twist - before for body, before in zip(figure, start, strict=True)])


@pytest.mark.parametrize("way", ["motor", "weak motor", "servo", "force"])
@pytest.mark.parametrize("kind", DRIVEN, ids=lambda kind: kind.name.lower())
def test_a_drive_acts_the_same_whatever_is_the_root(kind, way):
    for dof in range({1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3, 7: 3}[int(kind)]):
        for size in (2, 3):
            seed = 100 * int(kind) + 10 * dof + size
            one, first, expected = lives(seed, kind, way, dof, size, lambda world, figure: None)
            other, second, found = lives(
                seed, kind, way, dof, size, lambda world, figure: world.reroot(figure[f"l{len(figure) - 1}"])
            )
            assert one.alive
            assert other.alive
            assert np.abs(expected).max() > 1e-6  # it moves something
            assert np.abs(found - expected).max() < SAME * np.abs(expected).max(), (dof, size)
            assert other.applied == pytest.approx(one.applied, rel=SAME, abs=1e-6)
            joint = first.joints[-1]
            np.testing.assert_allclose(second.velocity(joint), first.velocity(joint), atol=SAME)
            np.testing.assert_allclose(second.position(joint), first.position(joint), atol=1e-9)


@pytest.mark.parametrize("kind", [km.JointKind.SPHERICAL, km.JointKind.PLANAR])
def test_a_motor_goes_on_when_the_other_side_of_its_joint_is_held(kind):
    """What was reported: the joint of b changes sides when b is connected to the world."""
    inertia, make = km.Inertia.box(1.0, (0.3, 0.2, 0.1)), {7: km.Joint.spherical, 6: km.Joint.planar}[int(kind)]
    for dof in range(3):
        b = km.Builder("t")
        b.link("a", None, km.Joint.free(), inertia=inertia)
        b.link("b", "a", make(name="h"), (0.3, 0, 0), inertia)
        world = km.World(gravity=(0, 0, 0), sleep=False)
        figure = world.add(b.build())
        motor = world.motor(figure.joint("h"), speed=0.5, effort_limit=20.0, dof=dof)
        world.connect(None, figure["b"], km.Joint.fixed())
        world.run(0.5)
        assert motor.alive
        assert figure.velocity("h")[dof] == pytest.approx(0.5, abs=1e-4)
        assert figure["b"].twist == pytest.approx(np.zeros(6), abs=1e-12)
        assert np.abs(figure["a"].twist).max() > 0.4


def test_a_servo_holds_its_angle_whatever_is_the_root():
    """Of a universal joint, whose axes change places, and of one that `connect` makes from the other side."""
    for turn in (False, True):
        world = km.World(gravity=(0, 0, 0), sleep=False)
        bodies = [world.add(km.Shape.box((0.3, 0.2, 0.1)), (0.5 * i, 0, 0), mass=1.0) for i in range(2)]
        held = world.connect(None, bodies[1 if turn else 0], km.Joint.fixed())
        joint = world.connect(bodies[0], bodies[1], km.Joint.universal("x", "y"), (0.25, 0, 0)).joint
        for dof, angle in enumerate((0.4, -0.2)):
            world.servo(joint, angle, stiffness=60.0, damping=6.0, dof=dof)
        world.run(4.0)
        assert held.joint != joint
        assert world.forest.position(joint) == pytest.approx([0.4, -0.2], abs=1e-6)
        turned = bodies[0].pose.rotation.T @ bodies[1].pose.rotation
        x, y = np.eye(3), np.eye(3)
        c, s = np.cos(0.4), np.sin(0.4)
        x[1:, 1:] = (c, -s), (s, c)
        c, s = np.cos(-0.2), np.sin(-0.2)
        y[::2, ::2] = (c, s), (-s, c)
        np.testing.assert_allclose(turned, x @ y, atol=1e-6)


@pytest.mark.parametrize("what", ["friction", "speed", "damping", "limits"])
@pytest.mark.parametrize("kind", ["spherical", "planar", "universal", "cylindrical"])
def test_what_a_turned_joint_cannot_keep_is_said(kind, what):
    """The bounds of three axes are a box, which does not turn with the other link: 0.3 rad/s became 0.42 in silence."""
    numbers = {"friction": {"friction": 0.5}, "speed": {"velocity_limit": 0.3}, "damping": {"damping": 0.5}}
    count = {"spherical": 3, "planar": 3, "universal": 2, "cylindrical": 2}[kind]
    more = numbers.get(what, {"lower": np.full(count, -0.4), "upper": np.full(count, 0.5)})
    axes = {"universal": ("x", "y"), "planar": ("z",), "cylindrical": ("x",)}.get(kind, ())
    joint = getattr(km.Joint, kind)(*axes, name="h", **more)
    inertia = km.Inertia.box(1.0, (0.3, 0.2, 0.1))
    b = km.Builder("t")
    b.link("a", None, km.Joint.free(), inertia=inertia)
    b.link("b", "a", joint, (0.3, 0, 0), inertia)
    world = km.World(gravity=(0, 0, 0))
    figure = world.add(b.build())
    lost = kind == "planar" or (kind == "spherical" and what in ("friction", "speed"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        world.reroot(figure["b"])
    assert [("its axes turn" in str(one.message)) for one in said] == ([True] if lost else [])
