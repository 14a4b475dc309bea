"""Grasps: minds that hold what they touch, and let go; in the step, with everything right afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kinemorph as km
from kinemorph.brain import Acted, Brain, Effect, Function, Neuron
from kinemorph.view.live.history import History
from kinemorph.world.persistence.journal import moving_digest

HAND = (0.2, 0.2, 0.1)


def holding(until: float, link: str = "hand", rate: float = 50.0) -> tuple[list[Neuron], Effect]:
    """Neurons that say 1 for so long, and then -1; the effect reads the last one."""
    clock = Neuron(Function.INTEGRATE, (1, 0, 0))
    late = Neuron(Function.LESS, (2, 1, 0), (1.0, until, 0.0))
    return [clock, late], Effect(Acted.GRASP, link, source=3)


def hand_on_base() -> km.Model:
    b = km.Builder("crane")
    b.link(
        "hand",
        None,
        km.Joint.prismatic("z", name="lift"),
        inertia=km.Inertia.box(2.0, HAND),
        shapes=[km.Shape.box(HAND)],
    )
    return b.build()


def floating_hand() -> km.Model:
    b = km.Builder("hand")
    b.link("hand", None, km.Joint.free(), inertia=km.Inertia.box(2.0, HAND), shapes=[km.Shape.box(HAND)])
    return b.build()


def crane(contact: str = "timestep", until: float = 0.6) -> Any:
    """A hand on a lift, that comes down on a ball, holds it for a while, and goes up with it."""
    world = km.World(dt=4e-3, contact=contact)
    world.add_ground()
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 0.101), name="ball")
    figure = world.add(hand_on_base(), at=(0, 0, 0.5))
    neurons, grasp = holding(until)
    up = Neuron(Function.IF, (5, 1, 1), (1.0, 1.0, -1.0))  # up from 0.3 s on
    neurons += [Neuron(Function.ADD), Neuron(Function.GREATER, (2, 1, 0), (1.0, 0.3, 0.0)), up]
    lift = Effect(Acted.TARGET, "hand", 0, 6, 1.0, 400.0, -0.3, 0.0)
    return world, figure, ball, world.brains.attach(figure, Brain(neurons, (), [grasp, lift], rate=50.0))


@pytest.mark.parametrize("contact", ["timestep", "impulse"])
def test_a_ball_is_grasped_lifted_and_dropped(contact: str) -> None:
    world, figure, ball, mind = crane(contact)
    world.run(0.55)
    assert len(mind.holds) == 1
    assert ball.position[2] > 0.2  # nothing else lifts it
    assert world.forest.tree_of(ball.id) == world.forest.tree_of(figure["hand"].id)
    gap = figure["hand"].position[2] - ball.position[2]
    world.step(5)
    assert figure["hand"].position[2] - ball.position[2] == pytest.approx(gap, abs=1e-9)
    world.run(1.0)
    assert not mind.holds
    assert ball.position[2] == pytest.approx(0.1, abs=0.012)
    assert world.forest.tree_of(ball.id) != world.forest.tree_of(figure["hand"].id)
    assert world["ball"] == ball
    assert ball.mass > 0.0


def test_momentum_and_pose_are_kept_by_a_grasp_in_flight() -> None:
    world = km.World(gravity=(0, 0, 0), dt=2e-3)
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 1.0), name="ball")
    figure = world.add(floating_hand(), at=(0.02, 0.01, 0.848), v=[0.1, 0.2, 0.3, 0.0, 0.0, 0.5])
    neurons, grasp = holding(0.5)
    mind = world.brains.attach(figure, Brain(neurons, (), [grasp], rate=500.0))
    while not mind.holds and world.time < 0.1:
        kinetic, before = world.forest.kinetic_energy(), world.forest.momentum()
        world.step()
    assert mind.holds
    assert world.forest.kinetic_energy() < kinetic  # plastic
    np.testing.assert_allclose(world.forest.momentum(), before, atol=1e-5)
    kinetic = world.forest.kinetic_energy()
    world.run(0.6)
    assert not mind.holds
    np.testing.assert_allclose(world.forest.momentum(), before, atol=2e-4)
    assert world.forest.kinetic_energy() <= kinetic * (1 + 1e-6)
    assert ball.position[2] > 1.0


def test_a_body_hangs_from_a_bar_and_two_hands_close_a_loop() -> None:
    world = km.World(dt=4e-3)
    world.add_ground(km.Shape.cylinder(0.05, 2.0, pose=km.Pose.rpy(np.pi / 2, 0, 0, (0, 0, 1.0))))
    b = km.Builder("ape")
    b.link(
        "trunk",
        None,
        km.Joint.free(),
        inertia=km.Inertia.box(2.0, (0.1, 0.4, 0.1)),
        shapes=[km.Shape.box((0.1, 0.4, 0.1))],
    )
    for side in (-1, 1):
        b.link(
            f"hand{side}", "trunk", km.Joint.revolute("y", name=f"arm{side}"), at=(0, 0.15 * side, 0.06),
            inertia=km.Inertia.box(0.5, (0.08, 0.08, 0.2), (0, 0, 0.1)),
            shapes=[km.Shape.box((0.08, 0.08, 0.2), pose=km.Pose((0, 0, 0.11)))],
        )  # fmt: skip
    figure = world.add(b.build(), at=(0, 0, 0.68), v=[0.0] * 5 + [1.0] + [0.0] * 2)
    neurons, _ = holding(10.0)
    early = Neuron(Function.LESS, (2, 1, 0), (1.0, 0.5, 0.0))
    grasps = [Effect(Acted.GRASP, "hand-1", source=3), Effect(Acted.GRASP, "hand1", source=4)]
    mind = world.brains.attach(figure, Brain([*neurons, early], (), grasps, rate=100.0))
    world.run(0.4)
    assert len(mind.holds) == 2
    assert [world.forest.closes_loop(joint) for joint in mind.holds] == [False, True]
    data = world.save()
    world.run(0.3)
    assert len(mind.holds) == 1  # one hand has let go, and the other still carries
    other = km.World.load(data)
    other.run(0.3)
    assert other.hash() == world.hash()
    world.run(1.0)
    assert figure["trunk"].position[2] > 0.3
    assert world.forest.loop_errors()[0] < 1e-9


def test_films_journals_and_events_hear_of_grasps(tmp_path: Any) -> None:
    world, figure, _, mind = crane()
    seen = []
    world.when(km.Event.contact("ball", "ground"), lambda world, moment: seen.append(world.time))
    with km.film(world) as taken, world.record(tmp_path / "grasp.journal", every=10):
        world.run(1.2)
    names = [chapter.what for chapter in taken.recording.chapters]
    assert names == ["start", "grasp", "let go"]
    held = taken.recording.chapters[1]
    assert held.parents["ball"] == "hand" or held.parents["hand"] == "ball"
    assert seen
    assert seen[-1] > 0.6
    assert moving_digest(km.World.rerun(tmp_path / "grasp.journal")) == moving_digest(world)
    quiet, *_ = crane()  # nobody listens
    quiet.run(1.2)
    assert quiet.forest.state(quiet.forest.trees[0]).q == pytest.approx(world.forest.state(world.forest.trees[0]).q)
    assert not mind.holds
    assert figure["hand"].position[2] > 0.0


def test_a_viewer_goes_back_across_grasps() -> None:
    world, *_ = crane()
    history = History(world)
    seen = {}
    for _ in range(100):
        world.step(3)
        history.keep()
        seen[history.now] = world.hash()
    assert history.changes == 2, "it takes hold, and lets go"
    for step in (297, 150, 24, 99, 300):
        history.go_to(step)
        assert world.hash() == seen[step]


def test_a_grasp_that_others_cut_is_made_anew() -> None:
    world, _, ball, mind = crane()
    world.run(0.3)
    (joint,) = mind.holds
    world.cut(joint)
    assert not mind.holds
    world.run(0.1)
    assert mind.holds
    assert mind.holds != [joint]
    world.remove(ball)
    assert not mind.holds
    world.run(0.2)
    assert mind.alive
    assert not mind.holds


def test_many_grasps_make_room_for_themselves() -> None:
    """More trees than the tables had room for, all cut at once."""
    world = km.World(gravity=(0, 0, 0), dt=4e-3)
    minds = []
    for k in range(20):
        world.add(km.Shape.sphere(0.1), at=(k, 0, 0.149), name=f"ball{k}")
        figure = world.add(floating_hand(), at=(k, 0, 0), v=[0.0] * 5 + [0.2])
        neurons, grasp = holding(0.3)
        minds.append(world.brains.attach(figure, Brain(neurons, (), [grasp], rate=100.0)))
    world.run(0.2)
    assert all(len(mind.holds) == 1 for mind in minds)
    assert len(world.forest.trees) == 20
    world.run(0.3)
    assert not any(mind.holds for mind in minds)
    assert len(world.forest.trees) == 40
