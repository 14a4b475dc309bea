"""What joints of worlds bear: `Event.load` against what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kinemorph as km

G = 9.81


def borne(world: km.World) -> Any:
    """What each load event has measured in the last step."""
    rows = world._monitors._rows
    return rows["g"] + rows["level"]


def watched(world: km.World, joint: Any) -> None:
    """Watch force and moment of a joint, at levels that nothing reaches."""
    world.when(km.Event.load(joint, 1e5))
    world.when(km.Event.load(joint, 1e5, moment=True))


def box(world: km.World, size: Any, at: Any, **more: Any) -> Any:
    return world.add(km.Shape.box(size), at=at, **more)


def test_a_hanging_weight_pulls_with_its_weight() -> None:
    world = km.World(sleep=False)
    weight = box(world, (0.1, 0.1, 0.1), (0, 0, 1))  # 1 kg
    joint = world.connect(None, weight, km.Joint.fixed(), at=(0.3, 0, 1))
    watched(world, joint)
    world.run(0.1)
    np.testing.assert_allclose(borne(world), [G, 0.3 * G], rtol=1e-9)


def test_a_cantilever_of_three_boxes_bends_most_where_it_is_held() -> None:
    world = km.World(sleep=False)
    boxes = [box(world, (0.2, 0.1, 0.1), (0.1 + 0.2 * i, 0, 1)) for i in range(3)]  # 2 kg each
    joints = [world.connect(None, boxes[0], km.Joint.fixed(), at=(0, 0, 1))]
    for i in (1, 2):
        joints.append(world.connect(boxes[i - 1], boxes[i], km.Joint.fixed(), at=(0.2 * i, 0, 1)))
    for joint in joints:
        watched(world, joint)
    world.run(0.1)
    arms = (6 * 0.3, 4 * 0.2, 2 * 0.1)
    np.testing.assert_allclose(borne(world)[0::2], [6 * G, 4 * G, 2 * G], rtol=1e-9)
    np.testing.assert_allclose(borne(world)[1::2], np.array(arms) * G, rtol=1e-9)


def test_a_pendulum_pulls_with_its_weight_and_what_turns_it() -> None:
    length, start = 1.0, 1.2
    model = km.Builder("pendulum")
    model.link("bob", joint=km.Joint.revolute("y", name="pivot"), inertia=km.Inertia.point(2.0, (0, 0, -length)))
    world = km.World(dt=1e-3, sleep=False)
    figure = world.add(model.build(), q=[start])
    watched(world, figure.joint("pivot"))
    for _ in range(10):
        world.run(0.1)
        q, rate = figure.position("pivot")[0], figure.velocity("pivot")[0]
        radial, across = 2.0 * (length * rate**2 + G * np.cos(q)), 0.0  # a point at the end of a string
        force, moment = borne(world)
        assert force == pytest.approx(np.hypot(radial, across), rel=5e-3)  # the mean of a step of 1 ms
        assert moment < 0.05


def test_what_falls_freely_does_not_press() -> None:
    world = km.World(sleep=False)
    lower = box(world, (0.2, 0.2, 0.2), (0, 0, 5), twist=(1.0, 2.0, 0.5, 0.3, 0, 1))
    upper = box(world, (0.2, 0.2, 0.2), (0, 0, 5.2), twist=(0, 0, 0, 0.3, 0, 1))
    joint = world.connect(lower, upper, km.Joint.fixed(), at=(0, 0, 5.1))
    still = km.World(sleep=False)
    bodies = [box(still, (0.2, 0.2, 0.2), (0, 0, 5 + 0.2 * i)) for i in range(2)]
    glue = still.connect(bodies[0], bodies[1], km.Joint.fixed(), at=(0, 0, 5.1))
    watched(world, joint)
    watched(still, glue)
    world.run(0.2)
    still.run(0.2)
    np.testing.assert_allclose(borne(still), 0.0, atol=1e-9)
    spin = np.linalg.norm(lower.angular_velocity)  # each is 0.1 m from the common centre
    assert 0.1 < borne(world)[0] <= 8.0 * spin**2 * 0.1 * 1.01


def test_a_pillar_on_the_ground_bears_what_is_above_each_joint() -> None:
    """The lowest box is the top of the tree: joints carry what is above; then the highest, and they carry below."""
    for order in (1, -1):
        world = km.World(sleep=False)
        world.add_ground()
        boxes = [box(world, (0.2, 0.2, 0.2), (0, 0, 0.1 + 0.2 * i)) for i in range(3)]  # 8 kg each
        chain = boxes[::order]
        joints = [world.connect(chain[i], chain[i + 1], km.Joint.fixed(), at=0.5 * (chain[i].position + chain[i + 1].position)) for i in range(2)]  # fmt: skip  # noqa: E501
        world.reroot(chain[0])
        for joint in joints[::order]:
            watched(world, joint)
        world.run(1.0)
        np.testing.assert_allclose(borne(world)[0::2], [16 * G, 8 * G], rtol=1e-6)
        np.testing.assert_allclose(borne(world)[1::2], 0.0, atol=1e-6)


def test_a_push_and_a_loop_are_counted() -> None:
    world = km.World(sleep=False)
    beam = box(world, (1.0, 0.1, 0.1), (0.5, 0, 1))  # 10 kg
    left = world.connect(None, beam, km.Joint.revolute("y"), at=(0, 0, 1))
    right = world.connect(None, beam, km.Joint.revolute("y"), at=(1, 0, 1), how="loop")
    world.apply_force(beam, (0, 0, -40.0), at=(0.25, 0, 1))
    watched(world, left)
    watched(world, right)
    world.run(0.05)
    assert borne(world)[0] == pytest.approx(5 * G + 30.0, rel=1e-6)
    assert borne(world)[2] == pytest.approx(5 * G + 10.0, rel=1e-6)
    assert borne(world)[2] == pytest.approx(np.linalg.norm(world.queries.loop_force(right)[3:]), rel=1e-12)


def test_an_impact_goes_through_the_joint() -> None:
    world = km.World(gravity=(0, 0, 0), dt=1e-3, sleep=False, material=km.Material(friction=0.0, restitution=0.0))
    wall = box(world, (0.2, 0.2, 0.2), (0, 0, 0))
    joint = world.connect(None, wall, km.Joint.fixed(), at=(0, 0, 0))
    ball = world.add(km.Shape.sphere(0.1), at=(-0.25, 0, 0), twist=(0, 0, 0, 2.0, 0, 0))
    told = []
    world.when(km.Event.load(joint, 10.0), lambda world, moment: told.append((moment.value, moment.time)))
    world.run(0.1)
    ((value, time),) = told
    assert value == pytest.approx(2.0 * ball.mass / world.dt, rel=1e-9)  # all of its momentum in one step
    assert time == pytest.approx(0.025, abs=2e-3)


def test_a_glue_that_tears_at_a_load_lets_go() -> None:
    world = km.World(dt=1e-3)
    weight = box(world, (0.1, 0.1, 0.1), (0, 0, 1))
    joint = world.connect(None, weight, km.Joint.fixed())
    world.when(km.Event.load(joint, 20.0, times=1), lambda world, moment: world.cut(joint))
    pull = world.apply_force(weight, (0, 0, -5.0))
    world.run(0.1)
    assert weight.position[2] == pytest.approx(1.0, abs=1e-12)
    pull.force = (0, 0, -15.0)
    world.run(0.1)
    assert weight.velocity[2] == pytest.approx(-(G + 15.0) * 0.099, rel=1e-9)  # it held for one step


def test_what_cannot_be_is_refused() -> None:
    world = km.World()
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 1))
    free = int(world.forest.joints[0])
    with pytest.raises(ValueError, match="free, and bears nothing"):
        world.when(km.Event.load(free, 1.0))
    with pytest.raises(ValueError, match="never below 0"):
        km.Event.load(free, -1.0)
    assert ball.position[2] == 1.0


def test_what_sleeps_bears_what_it_did() -> None:
    world = km.World()
    world.add_ground()
    boxes = [box(world, (0.2, 0.2, 0.2), (0, 0, 0.1 + 0.2 * i)) for i in range(2)]  # 8 kg each
    joint = world.connect(boxes[0], boxes[1], km.Joint.fixed(), at=(0, 0, 0.2))
    watch = world.when(km.Event.load(joint, 100.0))
    world.run(2.0)
    assert boxes[0].asleep
    assert watch.value == pytest.approx(8 * G, rel=1e-2)
    assert watch.count == 0


def test_a_load_that_ends_can_be_waited_for() -> None:
    world = km.World(dt=1e-3, sleep=False)
    weight = box(world, (0.1, 0.1, 0.1), (0, 0, 1))
    joint = world.connect(None, weight, km.Joint.fixed())
    pull = world.apply_force(weight, (0, 0, -5.0))
    told: list[float] = []
    world.when(km.Event.load(joint, 12.0, direction=-1), lambda world, moment: told.append(moment.time))
    world.when(km.Event.at(0.05), lambda world, moment: pull.withdraw())
    world.run(0.1)
    np.testing.assert_allclose(told, [0.051], atol=1e-9)


def test_the_joint_of_a_loop_that_comes_to_carry_is_still_watched() -> None:
    world = km.World(dt=1e-3, sleep=False)
    beam = box(world, (1.0, 0.1, 0.1), (0.5, 0, 1))  # 10 kg
    left = world.connect(None, beam, km.Joint.fixed(), at=(0, 0, 1))
    right = world.connect(None, beam, km.Joint.fixed(), at=(1, 0, 1), how="loop")
    watched(world, right)
    world.run(0.05)
    world.cut(left)
    assert not world.forest.closes_loop(right.joint)
    world.run(0.05)
    np.testing.assert_allclose(borne(world), [10 * G, 5 * G], rtol=1e-9)


# ----------------------------------------------------------------------------------- along a direction: `Event.force`


def test_a_force_that_ends_is_found_as_in_a_simulation() -> None:
    """A weight on top of a rod that falls over: at cos θ = 2/3 + v²/3gl the rod stops pushing and starts to pull."""
    b = km.Builder("weight")
    b.link("rod", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 1e-3, (0, 0, 1)))
    foot = km.Loop("rod", -1, km.Joint.revolute("y"), (0, 0, 0), (0, 0, 0), "foot")
    mechanism, spin = b.build().with_loops([foot]), 0.3
    v = np.array([0, spin, 0, 0, 0, 0])
    event = km.Event.force("foot", (0, 0, 1), direction=1, ends=True)
    log = km.simulate(mechanism, km.State(km.neutral(mechanism), v), 5.0, [event])
    world = km.World(dt=5e-4)
    rod = world.add(mechanism, v=v)["rod"]
    world.when(event)
    world.run(5.0)
    assert world.time == pytest.approx(log.state.time, abs=2e-3)
    assert rod.pose.rotation[2, 2] == pytest.approx(2.0 / 3.0 + spin**2 / (3.0 * G), abs=2e-3)  # two steps


def test_the_force_of_a_loop_is_told_along_the_axes_of_its_first_body() -> None:
    world = km.World(sleep=False)
    turned = km.Pose.turn((0, 0, 1), 0.5, (0, 0, 1))
    frame = box(world, (0.2, 0.2, 0.2), turned)
    world.connect(None, frame, km.Joint.fixed())
    beam = box(world, (1.0, 0.1, 0.1), km.Pose(turned.apply([0.6, 0, 0]), turned.rotation))  # 10 kg
    world.connect(None, beam, km.Joint.spherical(), at=turned.apply([1.1, 0, 0]))
    loop = world.connect(
        frame, beam, km.Joint.fixed(), at=km.Pose(turned.apply([0.1, 0, 0]), turned.rotation), how="loop"
    )
    world.apply_force(beam, 7.0 * turned.rotation[:, 1])
    watches = [
        world.when(km.Event.force(loop, axis, 1e5, moment=moment)) for moment in (False, True) for axis in np.eye(3)
    ]
    world.run(0.1)
    told, wrench = np.array([watch.value for watch in watches]), world.queries.loop_force(loop)
    np.testing.assert_allclose(told[:3], turned.rotation.T @ wrench[3:], atol=1e-9)
    np.testing.assert_allclose(told[3:], turned.rotation.T @ wrench[:3], atol=1e-9)
    assert np.abs(told[1]) > 1.0  # it bears some of the push
    again = km.World.load(world.save())
    world.run(0.02)
    again.run(0.02)
    assert [watch.value for watch in again.monitors] == [watch.value for watch in world.monitors]


def test_what_bears_no_force_along_a_direction() -> None:
    world = km.World()
    weight = box(world, (0.1, 0.1, 0.1), (0, 0, 1))
    joint = world.connect(None, weight, km.Joint.fixed())
    with pytest.raises(ValueError, match=r"closes no loop; Event\.load"):
        world.when(km.Event.force(joint, (0, 0, 1)))
    loop = world.connect(None, weight, km.Joint.fixed(), how="loop")
    watch = world.when(km.Event.force(loop, (0, 0, 1), 1.0))
    world.run(0.01)
    world.cut(joint)  # the loop's joint carries the weight from now on, and the event rests
    world.run(0.01)
    assert watch.count == 0
    world.cut(loop)
    world.run(0.01)
    assert weight.velocity[2] == pytest.approx(-G * 0.01)
