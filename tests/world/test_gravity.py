"""Gravity that changes while a world runs, and the energy and momentum of what is in it."""

import numpy as np
import pytest

import kinemorph as km


def swing(stiffness: float = 0.0) -> km.Model:
    """Two links on the base, one on the other."""
    b = km.Builder("swing")
    rod = km.Inertia.box(1.0, (0.05, 0.05, 0.3), (0, 0, -0.15))
    b.link("upper", None, km.Joint.revolute("y", name="top", stiffness=stiffness), (2, 0, 1), rod)
    b.link("lower", "upper", km.Joint.revolute("y", name="middle", stiffness=stiffness), (0, 0, -0.3), rod)
    return b.build()


@pytest.mark.parametrize("contact", ["timestep", "impulse"])
def test_everything_wakes_and_falls_the_other_way(contact):
    world = km.World(contact=contact)
    world.add_ground()
    box = world.add(km.Shape.box((0.2,) * 3), at=(0, 0, 0.101))
    figure = world.add(swing())
    world.run(1.5)
    assert box.asleep
    start, copies = box.position[2], [world.branch(), km.World.load(world.save())]
    for each in (world, *copies):
        each.gravity = (0, 0, 2.0)
    assert not box.asleep
    assert world.sleep.why_awake(box) == "what acts on it was changed"
    again = km.World.load(world.save())
    for each in (world, *copies, again):
        each.run(0.5)
    assert {each.hash() for each in (*copies, again)} == {world.hash()}
    assert box.position[2] - start == pytest.approx(0.25, abs=1e-6)
    energy = world.queries.energy(figure).total
    world.run(2.0)
    assert world.queries.energy(figure).total == pytest.approx(energy, rel=2e-3)
    assert world.gravity.tolist() == [0.0, 0.0, 2.0]


def test_bodies_that_come_later_and_joints_that_are_made_later_have_the_new_gravity():
    world = km.World(gravity=(0, 0, 0))
    first = world.add(km.Shape.box((0.1,) * 3), at=(0, 0, 1))
    world.gravity = (1.0, 0, 0)
    second = world.add(km.Shape.box((0.1,) * 3), at=(0, 1, 1))
    third = world.add(km.Shape.box((0.1,) * 3), at=(0, 1.1, 1))
    world.connect(second, third, km.Joint.fixed())
    world.run(1.0)
    for body in (first, second, third):
        assert body.position[0] == pytest.approx(0.5, abs=1e-6)


def test_journals_have_it(tmp_path):
    world = km.World()
    world.add_ground()
    world.add(km.Shape.box((0.2,) * 3), at=(0, 0, 0.3))
    with world.record(tmp_path / "j", every=10):
        world.run(0.1)
        world.gravity = (3.0, 0, -5.0)
        world.run(0.3)
    assert km.World.rerun(tmp_path / "j").hash() == world.hash()


def test_a_controller_may_change_it_between_steps():
    world = km.World()
    ball = world.add(km.Shape.sphere(0.1))
    world.when(km.Event.at(0.5), lambda w, m: setattr(w, "gravity", (0, 0, 9.81)))
    world.run(1.0)
    assert ball.velocity[2] == pytest.approx(0.0, abs=1e-9)


def test_energies_and_momenta_of_parts_add_up_to_those_of_the_whole():
    world = km.World()
    figure = world.add(swing(stiffness=3.0), q=[0.4, -0.7], v=[1.0, 2.0])
    loose = world.add(km.Shape.box((0.3, 0.2, 0.1)), at=(0, 0, 2), twist=(1, 2, 3, 0.5, 0, 1), mass=2.0)
    whole, parts = world.queries.energy(), [world.queries.energy(figure), world.queries.energy(loose)]
    for name in ("kinetic", "potential", "elastic", "total"):
        assert getattr(whole, name) == pytest.approx(sum(getattr(part, name) for part in parts), rel=1e-14)
    assert whole.elastic == pytest.approx(0.5 * 3.0 * (0.4**2 + 0.7**2))
    assert world.queries.energy(figure["lower"]).elastic == 0.0  # its spring is between two bodies
    assert world.queries.energy(figure["upper"]).elastic == pytest.approx(0.5 * 3.0 * 0.4**2)
    np.testing.assert_allclose(
        world.queries.momentum(), world.queries.momentum(figure) + world.queries.momentum(loose), atol=1e-13
    )
    np.testing.assert_allclose(world.queries.momentum(loose)[3:], 2.0 * np.array([0.5, 0, 1]))
    spin = loose.pose.rotation @ np.diag([0.05, 0.1, 0.13]) * 2.0 / 12.0 @ loose.pose.rotation.T @ (1, 2, 3)
    np.testing.assert_allclose(world.queries.momentum(loose, about="com")[:3], spin, atol=1e-12)
    np.testing.assert_allclose(world.queries.momentum(loose, about=loose.position)[:3], spin, atol=1e-12)


def test_springs_between_bodies_count_when_both_are_meant():
    world = km.World(gravity=(0, 0, 0))
    a, b = (world.add(km.Shape.sphere(0.1), at=(x, 0, 0)) for x in (0.0, 1.0))
    world.structure.tie(km.ForceElement.spring("a", "b", stiffness=10.0, length=0.5), a, b)
    assert (world.queries.energy().elastic, world.queries.energy(a).elastic) == (pytest.approx(1.25), 0.0)
    world.run(1.0)
    assert world.queries.energy().total == pytest.approx(1.25, rel=1e-3)
    np.testing.assert_allclose(world.queries.momentum(), 0.0, atol=1e-12)


def test_they_are_those_of_the_model():
    model = swing(stiffness=3.0)
    q, v = [0.3, 0.5], [1.0, -2.0]
    world = km.World()
    figure = world.add(model, q=q, v=v)
    data = km.Data(model)
    np.testing.assert_allclose(world.queries.energy(figure), km.energy(model, data, q, v), rtol=1e-12)
    np.testing.assert_allclose(world.queries.momentum(figure), km.momentum(model, data, q, v), atol=1e-12)
