"""Cylinders and cones that roll, spin and stand as the true solids do."""

import numpy as np
import pytest

import kinemorph as km

G, R = 9.81, 0.1
LYING = km.Pose.rpy(np.pi / 2, 0, 0)  # the axis along y
ROUGH = km.Material(friction=1.0)
THICK = 2e-4  # m, of the disc that spins


def ground_of(kind, world):
    if kind == "plane":
        world.add_ground()
    elif kind == "box":
        world.add_ground(km.Shape.box((20.0, 2.0, 0.2), km.Pose((0, 0, -0.1))))
    else:
        field = km.HeightField(np.zeros((41, 9)), size=(20.0, 4.0))
        world.add_ground(field if kind == "field" else km.Terrain(field.mesh))


@pytest.mark.parametrize("v", [1.0, 0.02])
@pytest.mark.parametrize("kind", ["plane", "box", "field", "mesh"])
def test_a_cylinder_rolls_on_as_fast_as_it_is(kind, v):
    world = km.World(sleep=False, dt=2e-3)
    ground_of(kind, world)
    wheel = world.add(km.Shape.cylinder(R, 0.2, LYING), at=(0, 0, R), twist=(0, v / R, 0, v, 0, 0))
    world.run(5.0)
    assert wheel.velocity[0] == pytest.approx(v, rel=1e-4)
    assert wheel.position[0] == pytest.approx(5.0 * v, rel=1e-4)
    assert wheel.position[2] == pytest.approx(R, abs=1e-4)


@pytest.mark.parametrize("kind", ["plane", "box"])
@pytest.mark.parametrize("inertia", [0.5, 0.95])  # of a solid cylinder, and of one that is nearly hollow, by m r²
def test_a_cylinder_gains_speed_on_a_slope_as_it_must(kind, inertia):
    angle = np.radians(15.0)
    world = km.World(sleep=False, dt=2e-3, gravity=(G * np.sin(angle), 0, -G * np.cos(angle)), material=ROUGH)
    ground_of(kind, world)
    b = km.Builder("wheel")
    moments = km.Inertia(1.0, (0, 0, 0), np.array([0.5, inertia, 0.5]) * R * R)
    b.link("wheel", None, km.Joint.free(), inertia=moments, shapes=[km.Shape.cylinder(R, 0.2, LYING)])
    (wheel,) = world.add(b.build(), at=(0, 0, R))
    world.run(2.0)
    assert wheel.velocity[0] == pytest.approx(G * np.sin(angle) / (1.0 + inertia) * 2.0, rel=1e-3)


def test_a_wheel_that_a_joint_holds_upright_rolls_as_freely():
    world = km.World(sleep=False, dt=2e-3, material=ROUGH)
    world.add_ground()
    b = km.Builder("cart")
    b.link("slide", None, km.Joint.prismatic("x", name="x"), inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    b.link("rise", "slide", km.Joint.prismatic("z", name="z"), inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    spin = km.Inertia.cylinder(1.0, R, 0.05).moved(LYING)
    tyre = km.Shape.cylinder(R, 0.05, LYING)
    b.link("wheel", "rise", km.Joint.revolute("y", name="axle"), (0, 0, R), inertia=spin, shapes=[tyre])
    cart = world.add(b.build(), v=[1.0, 0.0, 1.0 / R])
    world.run(5.0)
    assert cart.velocity("x")[0] == pytest.approx(1.0, rel=1e-3)
    assert cart.velocity("axle")[0] == pytest.approx(1.0 / R, rel=1e-3)


def spinning_disc(lean, dt):
    """A thin disc whose middle rests while it rolls round on its rim: Ω² = 4 g / (r sin α) of its point of contact."""
    radius, thick = 0.05, THICK
    world = km.World(sleep=False, dt=dt, material=ROUGH)
    world.add_ground()
    pace = np.sqrt(4.0 * G / (radius * np.sin(lean)))
    at = km.Pose.rpy(0, lean, 0, (0, 0, radius * np.sin(lean) + 0.5 * thick * np.cos(lean)))
    down = at.rotation @ (1.0, 0.0, 0.0)  # from the middle to the lowest point
    disc = world.add(km.Shape.cylinder(radius, thick), at=at, twist=(*(-pace * np.sin(lean) * down), 0, 0, 0))
    return world, disc, pace


@pytest.mark.parametrize("lean", [0.3, 0.6])
def test_a_disc_that_spins_on_its_rim_goes_round_as_it_must(lean):
    world, disc, pace = spinning_disc(lean, 2.5e-4)
    turned, before = 0.0, 0.0
    time = 4 * 2 * np.pi / pace
    steps = round(time / world.dt)
    for _ in range(steps):
        world.step()
        axis = disc.pose.rotation[:, 2]
        heading = np.arctan2(axis[1], axis[0])
        turned += (heading - before + np.pi) % (2 * np.pi) - np.pi
        before = heading
        assert np.arccos(axis[2]) == pytest.approx(lean, rel=0.1)
    assert abs(turned) == pytest.approx(pace * steps * world.dt, rel=0.05)
    assert np.abs(disc.position[:2]).max() < 0.01


@pytest.mark.parametrize("lean", [0.22, 0.3, 0.45])
def test_a_disc_that_spins_on_its_rim_gains_no_energy_and_comes_to_rest_on_the_ground(lean):
    """It goes round ever faster, up to many times in a step: for that moment it may dip, by less than it is thick."""
    world, disc, _ = spinning_disc(lean, 1e-3)
    energies = []
    for _ in range(3000):
        world.step()
        energies.append(world.forest.kinetic_energy() + world.forest.potential_energy())
        assert disc.position[2] > -THICK
    energies = np.array(energies)
    assert (energies - np.minimum.accumulate(energies)).max() < 0.02 * np.ptp(energies)
    assert energies[-1] < 0.1 * energies[0]
    assert disc.position[2] == pytest.approx(0.5 * THICK, rel=0.1)


@pytest.mark.parametrize("lean", [0.2, 0.5])
def test_a_coin_that_spins_on_its_rim_stays_on_the_ground_of_impulses(lean):
    """Its point of contact goes round by half a radian in a step, and no point of it is pushed down so fast."""
    radius, thick, envelope = 0.012, 2e-3, 2e-4
    world = km.World(sleep=False, dt=5e-3, contact="impulse", epsilon=envelope, material=ROUGH)
    world.add_ground()
    at = km.Pose.rpy(0, lean, 0, (0, 0, radius * np.sin(lean) + 0.5 * thick * np.cos(lean) + 0.5 * envelope))
    spin = np.sqrt(4.0 * G * np.sin(lean) / radius) * (at.rotation @ (1.0, 0.0, 0.0))
    coin = world.add(km.Shape.cylinder(radius, thick), at=at, twist=(*spin, 0, 0, 0))
    energies = []
    for _ in range(400):
        world.step()
        up = min(abs(coin.pose.rotation[2, 2]), 1.0)
        assert coin.position[2] - radius * np.sqrt(1.0 - up * up) - 0.5 * thick * up > -0.25 * envelope
        energies.append(world.forest.kinetic_energy() + world.forest.potential_energy())
    assert (np.diff(energies) < 1e-3 * np.ptp(energies)).all()
    assert up > 1.0 - 1e-6


def test_a_cylinder_on_its_cap_stands_still_and_sleeps():
    world = km.World(dt=2e-3)
    world.add_ground()
    can = world.add(km.Shape.cylinder(R, 0.2), at=(0, 0, 0.1))
    world.run(1.0)
    before = can.position.copy()
    world.run(9.0)
    assert can.asleep
    assert np.abs(can.position - before).max() < 1e-6


@pytest.mark.parametrize("sleep", [True, False])
def test_a_stack_of_five_cylinders_stands_still(sleep):
    world = km.World(dt=2e-3, sleep=sleep)
    world.add_ground()
    cans = [world.add(km.Shape.cylinder(R, 0.1), at=(0, 0, 0.05 + 0.1 * i)) for i in range(5)]
    world.run(1.0)
    before = np.array([can.position for can in cans])
    world.run(9.0)
    assert np.abs(np.array([can.position for can in cans]) - before).max() < 1e-6
    assert all(can.asleep == sleep for can in cans)
    np.testing.assert_allclose(before[:, :2], 0.0, atol=1e-4)
