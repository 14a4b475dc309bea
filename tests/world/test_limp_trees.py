"""Limp trees that have collapsed lie still: no push of a limit or a contact lifts them again and again."""

import numpy as np
import pytest
from tests.robots import ROBOTS, load

import kinemorph as km

HYQ = "hyq_description/hyq_no_sensors"


def energy(world: km.World) -> float:
    return world.forest.kinetic_energy() + world.forest.potential_energy()


def rise(found: np.ndarray) -> float:
    """The largest rise from any earlier moment, J."""
    return float((found - np.minimum.accumulate(found)).max())


def part(b: km.Builder, name: str, parent: str | None, joint: km.Joint, at, size, centre, mass: float) -> None:
    shape = km.Shape.box(size, km.Pose(centre))
    b.link(name, parent, joint, at, km.Inertia.box(mass, size, centre), [shape])


def table(plate: float, leg: float, limit: float) -> km.Model:
    """A heavy plate on four light legs, each on a hinge that stops it before it lies flat."""
    b = km.Builder("table")
    part(b, "plate", None, km.Joint.free(), (0, 0, 0), (0.8, 0.4, 0.1), (0, 0, 0), plate)
    for i, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        hinge = km.Joint.revolute("y", lower=-limit, upper=limit)
        part(b, f"leg{i}", "plate", hinge, (0.38 * x, 0.26 * y, 0), (0.03, 0.03, 0.4), (0, 0, -0.2), leg)
    return b.build()


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
@pytest.mark.parametrize(("limit", "leg"), [(1.2, 0.9), (1.2, 0.3), (1.0, 0.3), (0.8, 0.05)])
def test_a_heavy_plate_rests_on_the_limits_of_light_legs(limit, leg, dt):
    """Limits feel the mass of a leg and bear the plate: they hold it, and lift nothing."""
    model = table(80.0, leg, limit)
    world = km.World(dt=dt, sleep=False, material=km.Material(friction=0.3))
    world.add_ground()
    q = np.zeros(model.nq)
    q[2], q[3] = 0.6, 1.0
    q[7:] = -0.5, -0.5, 0.5, 0.5  # the legs slip outwards
    figure = world.add(model, q=q)
    found, over = [energy(world)], 0.0
    for _ in range(round(3.0 / dt)):
        world.step()
        found.append(energy(world))
        over = max(over, max(abs(figure.position(f"leg{i}")[0]) for i in range(4)) - limit)
    assert rise(np.array(found)) < 0.2  # J; 23 when limits gave way, and were pushed back
    assert rise(np.array(found[len(found) // 2 :])) < 1e-3
    assert over < 2e-3  # rad
    assert world.forest.kinetic_energy() < 1e-6


@pytest.mark.filterwarnings("ignore:world. model .hyq.")
@pytest.mark.skipif(HYQ not in ROBOTS, reason="example-robot-data is not there")
@pytest.mark.parametrize("dt", [2e-3, 5e-3])
def test_a_limp_robot_that_has_collapsed_does_not_lift_itself(dt):
    """HyQ, 87 kg, falls on shins of 0.9 kg and knees at their limits, and on from there to the ground."""
    model = load(HYQ, floating=True)
    q = np.zeros(model.nq)
    q[2], q[3] = 0.66, 1.0
    q[7:] = [0, 0.75, -1.5] * 2 + [0, -0.75, 1.5] * 2
    world = km.World(dt=dt, sleep=False)
    world.add_ground()
    figure = world.add(model, q=q)
    joints = [name for name in figure.joints if name != "root_joint"]
    lower, upper = model.lower[6:], model.upper[6:]
    found, over = [energy(world)], 0.0
    for _ in range(round(6.0 / dt)):
        world.step()
        found.append(energy(world))
        x = np.array([figure.position(name)[0] for name in joints])
        over = max(over, float(np.maximum(lower - x, x - upper).max()))
    assert found[-1] < 0.6 * found[0]
    assert rise(np.array(found)) < 0.2  # J; 15 when limits gave way by 0.2 rad and were pushed back
    assert rise(np.array(found[-round(1.0 / dt) :])) < 1e-3
    assert over < 0.02  # rad
    assert world.forest.kinetic_energy() < 1e-3


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
@pytest.mark.parametrize("seed", range(3))
def test_what_comes_off_its_limits_is_swept_again(seed, dt):
    """Legs that wedge are solved directly until they are turned inwards; they stayed so while anything touched."""
    rng = np.random.default_rng(seed)
    leg, limit = rng.uniform(0.2, 0.9), rng.uniform(0.8, 1.1)
    model = table(80.0, leg, limit)
    world = km.World(dt=dt, sleep=False, material=km.Material(friction=0.3))
    world.add_ground()
    q = np.zeros(model.nq)
    q[2], q[3] = 0.6, 1.0
    q[7:] = -0.5, -0.5, 0.5, 0.5
    figure = world.add(model, q=q)
    world.run(2.0)
    assert world.solver["islands"]["direct"][0] == 1
    for i, side in enumerate((-1, -1, 1, 1)):
        world.drives.force(figure.joint(f"leg{i}"), -200.0 * np.sin(limit) * side)
    while abs(figure.position("leg0")[0]) > limit - 0.1:
        world.step()
    assert world.solver.header["contact_count"][0] > 0
    assert world.solver["islands"]["direct"][0] == 0
