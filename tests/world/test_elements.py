"""Force elements in worlds: springs, dampers and bushings between bodies, however stiff, through every change."""

from __future__ import annotations

import numpy as np
import pytest
from tests.world.test_loops import all_of, energy, state_of

import kinemorph as km

pytestmark = pytest.mark.quick


def two(*elements: km.ForceElement, apart: float = 1.0, masses: tuple[float, float] = (1.0, 2.0)) -> km.Model:
    """Two balls that float, with elements between them."""
    b = km.Builder("two")
    for name, mass, x in (("a", masses[0], 0.0), ("b", masses[1], apart)):
        sphere = [km.Shape.sphere(0.05)]
        b.link(name, None, km.Joint.free(), (x, 0, 0), km.Inertia.sphere(mass, 0.3), shapes=sphere)
    return b.build().with_elements(elements)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_spring_swings_with_its_period_and_keeps_its_energy(dt):
    world = km.World((0, 0, 0), dt=dt, sleep=False)
    figure = world.add(two(km.ForceElement.spring("a", "b", 200.0, 0.8)))
    start = energy(world)
    period = 2 * np.pi / np.sqrt(200.0 * (1 / 1.0 + 1 / 2.0))
    world.run(round(10 * period / dt) * dt)
    assert energy(world) == pytest.approx(start, rel=2e-3)
    assert figure["b"].position[0] - figure["a"].position[0] == pytest.approx(1.0, abs=0.01)
    assert world.forest.momentum() == pytest.approx(np.zeros(6), abs=1e-12)


@pytest.mark.parametrize("name", ["spring", "bushing", "damper", "tension"])
def test_elements_act_as_in_a_rollout(name):
    element = {
        "spring": km.ForceElement.spring("a", "b", 50.0, 0.9, at_a=(0, 0.1, 0), damping=0.5),
        "bushing": km.ForceElement.bushing("a", "b", (0.3, 0.2, 0.1, 9, 8, 7), 0.05, at_a=(1, 0, 0), at_b=(0, 0.1, 0)),
        "damper": km.ForceElement.damper("a", "b", 2.0, at_b=(0, 0, 0.1)),
        "tension": km.ForceElement.tension("a", None, 3.0, at_b=(0, 1, 1)),
    }[name]  # fmt: skip
    model = two(element)
    rng = np.random.default_rng(1)
    v = rng.normal(size=model.nv)
    q = km.integrate(model, km.neutral(model), 0.1 * rng.normal(size=model.nv))
    exact = km.rollout(model, km.Data(model), q, v, dt=1e-3, steps=200, every=200)
    apart = []
    for dt in (4e-3, 2e-3, 1e-3):
        world = km.World(model.gravity, dt=dt, sleep=False)
        figure = world.add(model, q=q, v=v)
        world.run(0.2)
        apart.append(np.abs(km.difference(model, exact.q[-1], state_of(world, figure)[0])).max())
    assert apart[0] < 0.01
    assert apart[1] < 0.6 * apart[0] or apart[1] < 1e-6
    assert apart[2] < 0.6 * apart[1] or apart[2] < 1e-6


@pytest.mark.parametrize("stiffness", [1e2, 1e5, 1e9])
@pytest.mark.parametrize("damping", [0.0, 10.0, 1e7])
def test_no_element_is_too_stiff_for_a_step(stiffness, damping):
    world = km.World(dt=5e-3, sleep=False)
    world.add_ground()
    element = km.ForceElement.spring("a", "b", stiffness, 0.9, damping=damping)
    figure = world.add(two(element, masses=(0.01, 10.0)), at=(0, 0, 0.06))
    start = energy(world)
    for _ in range(400):
        world.step()
        assert world.forest.kinetic_energy() < 1.1 * start + 50.0
    for body in figure:
        assert abs(body.position[2] - 0.05) < 2.0


def test_a_net_of_stiff_springs_stands():
    """Forty springs between a dozen bodies, far stiffer than a step resolves, hang in a frame and come to rest."""
    n = 12
    b = km.Builder("net")
    for i in range(n):
        inertia = km.Inertia.sphere(0.1 if i % 3 else 5.0, 0.05)
        b.link(str(i), None, km.Joint.free(), (0.3 * (i % 4), 0.0, 0.3 * (i // 4) + 1.0), inertia)
    rng = np.random.default_rng(0)
    elements = [km.ForceElement.spring(None, "8", 1e4, 0.2, at_a=(0, 0, 2.0), damping=20.0)]
    for i in range(n):
        for j in rng.choice(n, 3, replace=False):
            if i != j:
                elements.append(km.ForceElement.spring(str(i), str(j), 1e6, 0.3, damping=100.0))
    world = km.World(sleep=False)
    world.add(b.build().with_elements(elements))
    world.run(3.0)
    assert np.isfinite(all_of(world)).all()
    assert world.forest.kinetic_energy() < 100.0


def test_a_weight_hangs_on_a_spring_where_it_should():
    b = km.Builder("weight")
    b.link("weight", None, km.Joint.free(), (0, 0, 1), km.Inertia.sphere(2.0, 0.1), km.Shape.sphere(0.1))
    model = b.build().with_elements(
        [km.ForceElement.spring(None, "weight", 500.0, 0.5, at_a=(0, 0, 1.6), damping=20.0)]
    )
    world = km.World()
    figure = world.add(model)
    world.run(4.0)
    assert figure["weight"].position[2] == pytest.approx(1.1 - 2.0 * 9.81 / 500.0, abs=1e-3)
    assert figure["weight"].asleep


def test_what_an_element_ties_sleeps_and_wakes_together():
    world = km.World()
    world.add_ground()
    figure = world.add(two(km.ForceElement.spring("a", "b", 50.0, 1.0, damping=5.0)), at=(0, 0, 0.05))
    world.run(3.0)
    assert figure["a"].asleep
    assert figure["b"].asleep
    world.sleep.wake(figure["a"])
    world.step()
    assert not figure["b"].asleep
    world.run(3.0)
    world.remove(figure["a"])
    world.run(0.1)
    assert np.isfinite(figure["b"].position).all()


def test_what_hung_on_a_body_that_is_gone_falls():
    world = km.World(sleep=0.05)
    figure = world.add(
        two(km.ForceElement.spring("a", "b", 500.0, 0.5, damping=20.0)), at=km.Pose.turn((0, 1, 0), 1.57)
    )
    world.connect(None, figure["a"], km.Joint.fixed())
    world.run(8.0)
    assert figure["b"].asleep
    world.remove(figure["a"])
    height = figure["b"].position[2]
    world.run(0.5)
    assert figure["b"].position[2] == pytest.approx(height - 0.5 * 9.81 * 0.25, abs=0.02)


def test_springs_in_the_joint_of_a_loop_act():
    """A door whose hinge closes a loop swings as one whose hinge is of the tree."""
    ends = []
    hinge = km.Joint.revolute("z", stiffness=3.0, damping=0.1)
    inertia = km.Inertia.box(1.0, (0.8, 0.05, 1.0), (0.4, 0, 0))
    for loop in (False, True):
        b = km.Builder("door")
        b.link("door", None, km.Joint.free() if loop else hinge, inertia=inertia)
        if loop:
            b.loop(None, "door", hinge, name="hinge")
        world = km.World(dt=1e-3, sleep=False)
        half = 0.5 * 0.7
        figure = world.add(b.build(), q=[0, 0, 0, np.cos(half), 0, 0, np.sin(half)] if loop else [0.7])
        world.run(1.0)
        ends.append(figure["door"].pose.rotation[:2, 0])
    assert ends[1] == pytest.approx(ends[0], abs=0.01)


def test_elements_between_what_loops_tie_open_nothing():
    b = km.Builder("square")
    bar = km.Inertia.box(0.4, (0.4, 0.04, 0.04), (0.2, 0, 0))
    b.link("0", None, km.Joint.free(), inertia=bar)
    for i in range(1, 4):
        b.link(str(i), str(i - 1), km.Joint.revolute("y"), (0.4, 0, 0), bar)
    b.loop("3", "0", km.Joint.revolute("y"), (0.4, 0, 0), (0, 0, 0), "pin")
    model = b.build().with_elements([km.ForceElement.spring("0", "2", 300.0, 0.2, damping=0.5, name="brace")])
    world = km.World((0, 0, 0), sleep=False)
    world.add(model, q=np.r_[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, np.full(3, -np.pi / 2)])
    for _ in range(500):
        world.step()
        gap, speed = world.forest.loop_errors()
        assert gap < 1e-9
        assert speed < 1e-9
    assert world.forest.momentum() == pytest.approx(np.zeros(6), abs=1e-10)


def test_a_branch_with_elements_goes_the_same_way_bit_for_bit():
    world = km.World()
    world.add_ground()
    world.add(two(km.ForceElement.spring("a", "b", 100.0, 0.5, damping=1.0)), at=(0, 0, 0.3))
    world.run(0.2)
    other = world.branch()
    world.run(0.5)
    other.run(0.5)
    assert np.array_equal(all_of(world), all_of(other))


def test_bodies_that_are_there_are_tied_as_those_of_a_model():
    element = km.ForceElement.spring("a", "b", 50.0, 0.9, at_a=(0, 0.1, 0), damping=0.5)
    whole = km.World(sleep=False)
    whole.add(two(element))
    tied = km.World(sleep=False)
    figure = tied.add(two())
    tied.structure.tie(element, figure["a"], figure["b"])
    for world in (whole, tied):
        world.run(0.1)
    np.testing.assert_array_equal(all_of(tied), all_of(whole))
    again = km.World.load(tied.save())
    again.run(0.1)
    tied.run(0.1)
    assert again.hash() == tied.hash()
    tied.structure.tie(km.ForceElement.tension(None, None, 3.0), None, figure["a"])
    before = tied["a"].velocity
    tied.remove(tied["b"])
    tied.run(0.1)
    assert np.linalg.norm(tied["a"].velocity - before - (0, 0, -0.981)) > 0.2
    with pytest.raises(ValueError, match="two bodies, or a body and the world"):
        tied.structure.tie(element, None, None)
    with pytest.raises(TypeError, match=r"takes a kinemorph\.ForceElement"):
        tied.structure.tie("spring", None, figure["a"])
    with pytest.raises(KeyError, match="no body 'b'"):
        tied.structure.tie(element, figure["a"], figure["b"])


def test_a_joint_that_connects_is_known_by_its_name_until_it_is_cut():
    world = km.World()
    figure = world.add(two())
    change = world.connect(figure["a"], figure["b"], km.Joint.revolute("y", name="clasp"))
    assert world.joint_id("clasp") == change.joint
    assert km.World.load(world.save()).joint_id("clasp") == change.joint
    world.cut(world.joint_id("clasp"))
    with pytest.raises(KeyError, match="there is no joint 'clasp'"):
        world.joint_id("clasp")
    assert world.connect(None, figure["b"], km.Joint.fixed(name="clasp")).joint == world.joint_id("clasp")


def tower(figures: int, spring: bool) -> km.World:
    """Figures of seven degrees of freedom and boxes in a stack, and two boxes far away, with a spring or without."""
    builder, size = km.Builder("figure"), (0.3, 0.3, 0.1)
    builder.link("a", None, km.Joint.free(), inertia=km.Inertia.box(1.0, size), shapes=[km.Shape.box(size)])
    hinge, small = km.Joint.revolute((1, 0, 0), damping=0.5, stiffness=50.0), (0.1, 0.1, 0.1)
    builder.link("b", "a", hinge, km.Pose((0.35, 0, 0)), km.Inertia.box(0.3, small), [km.Shape.box(small)])
    model, world = builder.build(), km.World(dt=2e-3, sleep=False)
    world.add_ground()
    for i in range(figures):
        world.add(model, at=(0, 0, 0.0501 + 0.1001 * ((5 * i) % figures)))
    for i in range(figures // 2):
        world.add(km.Shape.box((0.2, 0.2, 0.1)), at=(0, 0, 0.0501 + 0.1001 * (figures + i)))
    far = [world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(x, 0, 5)) for x in (50, 51)]
    if spring:
        world.structure.tie(km.ForceElement.spring(None, None, 10.0, 1.0, damping=0.1), *far)
    return world


@pytest.mark.parametrize("figures", [4, 6])
def test_a_spring_elsewhere_changes_nothing_in_a_tower_of_figures(figures):
    with_spring, without = tower(figures, True), tower(figures, False)
    with_spring.step(30)
    without.step(30)
    for one, other in zip(with_spring.bodies[:-2], without.bodies[:-2], strict=True):
        assert one.position.tolist() == other.position.tolist()


def test_a_tower_beside_a_spring_goes_on_from_a_snapshot():
    world = tower(4, True)
    world.step(20)
    fresh = tower(4, True)
    fresh.restore(world.save())
    for one in (world, fresh):
        one.step(20)
    assert [one.position.tolist() for one in fresh.bodies] == [one.position.tolist() for one in world.bodies]
