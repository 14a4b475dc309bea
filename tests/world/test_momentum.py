"""What floats keeps its momentum to rounding, whatever acts in its joints, and its centre of mass falls freely."""

import numpy as np
import pytest

import kinemorph as km

pytestmark = pytest.mark.quick

G = np.array([0.0, 0.0, -9.81])


def tumbler(**joint: float) -> km.Model:
    """Four boxes on three hinges."""
    b = km.Builder("tumbler")
    rod = km.Inertia.box(1.0, (0.1, 0.1, 0.4))
    b.link("a", None, km.Joint.free(), (0, 0, 0), rod)
    b.link("b", "a", km.Joint.revolute("x", name="x", **joint), (0, 0, 0.4), rod)
    b.link("c", "b", km.Joint.revolute("y", name="y", **joint), (0.1, 0, 0.4), km.Inertia.box(0.3, (0.1, 0.1, 0.4)))
    b.link("d", "a", km.Joint.revolute("y", name="z", **joint), (0, 0.1, -0.3), km.Inertia.box(0.7, (0.1, 0.3, 0.1)))
    return b.build()


def whole(world: km.World, model: km.Model) -> tuple[np.ndarray, np.ndarray]:
    """Momentum about the centre of mass, and where that is."""
    state, data = world.forest.state(int(world.forest.trees[0])), km.Data(model)
    return km.momentum(model, data, state.q, state.v, "com"), km.com(model, data, state.q)


def thrown(model: km.Model, spin: float, **more: object) -> tuple[km.World, km.Figure]:
    world = km.World(sleep=False, **more)
    rng = np.random.default_rng(1)
    v = np.r_[0.3 * spin * rng.normal(size=3), 1, 2, 3, spin * rng.normal(size=3)]
    return world, world.add(model, v=v)


INSIDE = {
    "nothing": {},
    "springs": {"stiffness": 5.0, "damping": 0.1},
    "dry friction": {"friction": 0.2},
    "limits": {"lower": -0.3, "upper": 0.3},
    "armature": {"armature": 0.05},
}


@pytest.mark.parametrize("spin", [5.0, 50.0])
@pytest.mark.parametrize("inside", [*INSIDE, "motors", "servos"])
def test_a_tree_in_flight_keeps_its_momentum_and_its_centre_falls_on_a_parabola(inside, spin):
    model = tumbler(**INSIDE.get(inside, {}))
    world, figure = thrown(model, spin)
    for name in "xyz":
        if inside == "motors":
            world.motor(figure.joint(name), speed=3.0, effort_limit=2.0)
        if inside == "servos":
            world.servo(figure.joint(name), position=0.3, stiffness=50.0, damping=1.0)
    (before, start), seconds = whole(world, model), 1.0
    world.run(seconds)
    after, end = whole(world, model)
    size = np.abs(before).max()
    np.testing.assert_allclose(after[:3], before[:3], atol=1e-12 * size)
    np.testing.assert_allclose(after[3:], before[3:] + model.mass * G * seconds, atol=1e-11)
    fall = before[3:] / model.mass * seconds + 0.5 * G * seconds**2
    np.testing.assert_allclose(end, start + fall, atol=1e-11)


@pytest.mark.parametrize("spin", [5.0, 50.0, 150.0])
def test_a_tree_in_flight_keeps_its_energy(spin):
    model = tumbler()
    world, _ = thrown(model, spin, gravity=(0, 0, 0))
    start = world.forest.kinetic_energy()
    for _ in range(1000):
        world.step()
        assert abs(world.forest.kinetic_energy() - start) < 2e-6 * start


def test_what_turns_as_one_body_has_no_energy_from_its_joints():
    """A long chain that has come to rest in itself, and turns: nothing is left in its joints that errors could take."""
    b = km.Builder("rod")
    for i in range(6):
        joint, at = (km.Joint.spherical(), (0, 0, 0.2)) if i else (km.Joint.free(), (0, 0, 0))
        b.link(f"{i}", f"{i - 1}" if i else None, joint, at, km.Inertia.box(1, (0.05, 0.05, 0.2)))
    model = b.build()
    world = km.World(gravity=(0, 0, 0), sleep=False)
    world.add(model, v=np.r_[40.0, 1.0, 2.0, np.zeros(model.nv - 3)])
    before, start = whole(world, model)[0], world.forest.kinetic_energy()
    world.run(1.0)
    np.testing.assert_allclose(whole(world, model)[0][:3], before[:3], atol=1e-11 * np.abs(before).max())
    assert abs(world.forest.kinetic_energy() - start) < 1e-4 * start


def test_a_push_changes_momentum_by_what_it_gives():
    model = tumbler()
    world, figure = thrown(model, 20.0, gravity=(0, 0, 0))
    before = whole(world, model)[0]
    world.apply_force(figure["c"], force=(3.0, -2.0, 5.0))
    world.run(0.5)
    np.testing.assert_allclose(whole(world, model)[0][3:], before[3:] + [1.5, -1.0, 2.5], atol=1e-11)
