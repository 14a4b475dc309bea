"""Limits, motors and servos in joints that close loops act as they do in joints of a tree."""

import numpy as np
import pytest

import kinemorph as km

pytestmark = pytest.mark.quick

LEFT, RIGHT = (0.0, 0.0, 0.6), (1.0, 0.0, 0.6)


def swing(joint, closes, dt=1e-3, gravity=(0.0, 0.0, -9.81)):
    """A parallelogram: a bar on two cranks. `joint` is at the right end of the bar, and closes the loop or not."""
    world = km.World(gravity, dt, sleep=False)
    cranks = [world.add(km.Shape.box((0.02, 0.02, 0.4)), at=(x, 0, 0.8), density=2000.0) for x in (0.0, 1.0)]
    bar = world.add(km.Shape.box((1.0, 0.02, 0.02)), at=(0.5, 0, 0.6))
    hinge = km.Joint.revolute("y")
    for crank, x in zip(cranks, (0.0, 1.0), strict=True):
        world.connect(None, crank, hinge, at=(x, 0, 1))
    if closes:
        world.connect(cranks[0], bar, hinge, at=LEFT)
        end = world.connect(cranks[1], bar, joint, at=RIGHT, how="loop")
    else:
        end = world.connect(cranks[1], bar, joint, at=RIGHT)
        world.connect(cranks[0], bar, hinge, at=LEFT, how="loop")
    return world, cranks, bar, end


def angle(crank, bar):
    R = crank.pose.rotation.T @ bar.pose.rotation
    return float(np.arctan2(R[0, 2], R[2, 2]))


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_limits_of_a_joint_that_closes_a_loop_hold(way, dt):
    world, cranks, bar, end = swing(km.Joint.revolute("y", lower=-0.3, upper=0.5), True, dt)
    world.apply_force(bar, force=(60.0 * way, 0.0, 0.0))
    reached = []
    for _ in range(round(1.0 / dt)):
        world.step()
        reached.append(angle(cranks[1], bar))
    assert max(np.abs(world.forest.loop_errors())) < 1e-9
    limit = 0.5 if way > 0.0 else -0.3
    assert reached[-1] == pytest.approx(limit, abs=5e-4)
    assert max(way * np.array(reached)) < way * limit + 2e-3
    moment = world.queries.loop_force(end)  # it bears what the hinge forbids, and the limit is beside that
    assert np.isfinite(moment).all()


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_servo_acts_as_in_a_joint_of_the_tree(dt):
    told = []
    for closes in (True, False):
        world, cranks, bar, end = swing(km.Joint.revolute("y"), closes, dt)
        servo = world.servo(end, position=0.4, stiffness=400.0, damping=30.0, effort_limit=50.0)
        numbers = []
        for _ in range(round(0.5 / dt)):
            world.step()
            numbers.append((angle(cranks[1], bar), servo.applied / 50.0))
        told.append(numbers)
    np.testing.assert_allclose(told[0], told[1], atol=1e-6)


def test_a_motor_keeps_its_speed_and_its_force_is_bounded():
    world, cranks, bar, end = swing(km.Joint.revolute("y"), True)
    motor = world.motor(end, speed=0.5, effort_limit=100.0)
    world.run(0.5)
    assert angle(cranks[1], bar) == pytest.approx(0.25, abs=1e-6)
    motor.effort_limit = 0.5
    world.run(0.5)
    assert abs(motor.applied) <= 0.5 + 1e-12
    assert angle(cranks[1], bar) < 0.49
    motor.withdraw()
    world.step()
    assert not motor.alive


def test_the_effort_of_the_joint_bounds_its_motor():
    world, _, _, end = swing(km.Joint.revolute("y", effort_limit=0.3), True)
    motor = world.motor(end, speed=5.0)
    world.run(0.3)
    assert abs(motor.applied) <= 0.3 + 1e-12


def test_it_goes_on_after_a_snapshot_and_is_gone_with_its_joint():
    world, _, _, end = swing(km.Joint.revolute("y", lower=-0.3, upper=0.5), True)
    motor = world.motor(end, speed=1.0, effort_limit=20.0)
    world.run(0.3)
    again = km.World.load(world.save())
    world.run(0.3)
    again.run(0.3)
    assert world.hash() == again.hash()
    world.cut(end)
    world.run(0.1)
    assert not motor.alive


def test_what_such_a_joint_does_not_take_is_refused():
    world, _, _, end = swing(km.Joint.revolute("y"), True)
    with pytest.raises(ValueError, match="closes a loop, and takes a motor or a servo only"):
        world.drives.force(end, 1.0)
    with pytest.raises(ValueError, match="has 1 degrees of freedom, and none 1"):
        world.motor(end, speed=1.0, dof=1)
