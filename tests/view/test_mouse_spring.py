"""What is pulled by the mouse comes along, and is not thrown about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import kinemorph as km
from kinemorph.scenes.structure.gripper import arm
from kinemorph.view.live.mouse_spring import least_mass, masses, mouse_spring_force

Made = tuple[km.World, km.Body]


def alone(shape: km.Shape) -> Made:
    world = km.World()
    world.add_ground()
    return world, world.add(shape, at=(0, 0, 0.2))


def limp_arm() -> Made:
    world = km.World()
    return world, world.add(arm())["hand"]


def pulled(world: km.World, body: km.Body, at: tuple[float, float, float], steps: int) -> tuple[float, float]:
    """Up by 0.4 m within a second: how far it is from there after four, and how fast it turns at most since the third.

    The force is another one after so many steps.
    """
    local = body.pose.inverse().apply(body.position + at)
    start, turning = body.pose.apply(local), 0.0
    while world.time < 4.0:
        point, target = body.pose.apply(local), start + [0.0, 0.0, 0.4 * min(world.time, 1.0)]
        push = world.apply_force(body, mouse_spring_force(body, point, target, steps * world.dt), at=point)
        world.step(steps)
        push.withdraw()
        turning = max(turning, float(np.abs(body.angular_velocity).max())) if world.time > 3.0 else 0.0
    return float(np.linalg.norm(body.pose.apply(local) - start - [0.0, 0.0, 0.4])), turning


@pytest.mark.parametrize(
    ("make", "at", "steps", "far"),
    [
        (lambda: alone(km.Shape.sphere(0.2)), (0.0, -0.2, 0.0), 1, 0.02),  # on its rim, where it gives way easily
        (lambda: alone(km.Shape.sphere(0.2)), (0.0, -0.2, 0.0), 16, 0.05),
        (lambda: alone(km.Shape.box((0.4, 0.4, 0.4))), (0.2, -0.2, 0.2), 1, 0.02),
        (lambda: alone(km.Shape.box((0.4, 0.4, 0.4))), (0.2, -0.2, 0.2), 16, 0.1),
        (limp_arm, (0.0, -0.05, 0.0), 1, 0.1),  # a hand of 1 kg on an arm of 30, with no friction in its wrist
    ],
)
def test_what_is_pulled_comes_along_and_calms_down(
    make: Callable[[], Made], at: tuple[float, float, float], steps: int, far: float
) -> None:
    missed, turning = pulled(*make(), at, steps)
    assert missed < far
    assert turning < (4.0 if make is not limp_arm else 20.0)


def test_a_point_is_as_heavy_as_the_equations_of_motion_say() -> None:
    world, ball = alone(km.Shape.sphere(0.2))
    rim = ball.position + [0.0, 0.2, 0.0]
    assert least_mass(ball, ball.position) == pytest.approx(ball.mass)
    assert least_mass(ball, rim) == pytest.approx(ball.mass / 3.5)  # 1 + r² / (2/5 r²)
    world.gravity = (0, 0, 0)
    world.placement.place(ball, at=(0, 0, 5))
    rim = ball.position + [0.0, 0.2, 0.0]
    world.apply_force(ball, (1.0, 0.0, 0.0), at=rim, lasting=False)
    world.step()
    moves = ball.velocity + np.cross(ball.angular_velocity, [0.0, 0.2, 0.0])
    assert moves[0] * least_mass(ball, rim) == pytest.approx(world.dt)


def test_trees_are_weighed_with_all_and_with_what_a_body_carries() -> None:
    world, hand = limp_arm()
    forearm = next(body for body in world.bodies if body.name == "forearm")
    assert masses(hand) == pytest.approx((30.0, 1.0))
    assert masses(forearm) == pytest.approx((30.0, 4.0))
