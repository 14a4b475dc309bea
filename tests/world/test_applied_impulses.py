"""Impulses that controllers give to bodies of a world."""

from __future__ import annotations

import numpy as np
import pytest

import kinemorph as km


def bar() -> km.Model:
    b = km.Builder("bar")
    b.link("bar", None, km.Joint.free(), (0, 0, 0), km.Inertia.box(2.0, (1.0, 0.2, 0.1)), km.Shape.box((1.0, 0.2, 0.1)))
    return b.build()


@pytest.mark.parametrize("contact", ["timestep", "impulse"])
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_body_takes_an_impulse_as_it_must(contact: str, dt: float) -> None:
    world = km.World(gravity=(0, 0, 0), contact=contact, dt=dt)
    body = world.add(bar(), at=(0, 0, 1))["bar"]
    world.apply_impulse(body, (0, 4.0, 0))
    world.step()
    np.testing.assert_allclose(body.velocity, (0, 2.0, 0), atol=1e-9)
    world.apply_impulse(body, (0, 0, 0), (0, 0, 0.3))
    world.step(5)
    np.testing.assert_allclose(body.angular_velocity, (0, 0, 0.3 / (2.0 * 1.04 / 12.0)), atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_takes_an_impulse_as_its_impulse_response_says(seed: int) -> None:
    """At a random point of a random link of a chain that floats or hangs: against `km.impulse_response`."""
    rng = np.random.default_rng(seed)
    b = km.Builder("chain")
    for i in range(4):
        joint = km.Joint.free() if seed % 2 and not i else km.Joint.revolute(rng.normal(size=3))
        b.link(
            f"l{i}", f"l{i - 1}" if i else None, joint, (0.3, 0, 0), km.Inertia.box(1.0, (0.4, 0.2, 0.1), (0.2, 0, 0))
        )
    model = b.build().with_gravity((0, 0, 0))
    world = km.World(gravity=(0, 0, 0), dt=1e-5)  # the shorter, the nearer to an impulse
    figure = world.add(model)
    link, impulse, moment = f"l{rng.integers(4)}", rng.normal(size=3), rng.normal(size=3) * 0.1
    body = figure[link]
    point = np.asarray(body.position) + rng.normal(size=3) * 0.1
    world.apply_impulse(body, impulse, moment, at=point)
    world.step()
    data, q = km.Data(model), km.neutral(model)
    km.kinematics(model, data, q)
    local = km.pose_of(model, data, link).inverse().apply(point)
    dv = km.impulse_response(model, data, q, link, np.concatenate([moment, impulse]), local)
    km.kinematics(model, data, q, dv)
    for name in model.names:
        twist = np.concatenate([data.links[model.link(name)]["w"], data.links[model.link(name)]["v"]])
        np.testing.assert_allclose(figure[name].twist, twist, atol=2e-3)


def test_an_impulse_wakes_and_comes_again_from_a_journal_and_after_going_back() -> None:
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1))
    world.run(2.0)
    assert box.asleep
    kept = world.save()
    world.apply_impulse(box, (0, 0, 3.0 * box.mass))
    assert not box.asleep
    world.run(0.2)
    height, last = float(box.position[2]), world.hash()
    assert height == pytest.approx(0.1 + 3.0 * 0.2 - 0.5 * 9.81 * 0.04, abs=0.01)
    world.restore(kept)
    world.apply_impulse(world[box.name] if box.name else box, (0, 0, 3.0 * box.mass))
    world.run(0.2)
    assert world.hash() == last


def test_a_controller_may_give_impulses_at_its_own_rate() -> None:
    """A ball without weight, struck ten times a second: as fast as all impulses together make it."""
    world = km.World(gravity=(0, 0, 0), dt=1e-3)
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 0))
    world.every(0.1, lambda w: w.apply_impulse(ball, (0.1 * ball.mass, 0, 0)))
    world.run(0.95)
    assert ball.velocity[0] == pytest.approx(1.0, abs=1e-9)
    assert ball.position[0] == pytest.approx(sum(0.1 * (0.95 - 0.1 * k) for k in range(10)), abs=1e-3)


@pytest.mark.parametrize("contact", ["timestep", "impulse"])
@pytest.mark.parametrize("seed", range(6))
def test_a_controller_s_impulses_add_up_to_the_momentum_of_a_tree(seed: int, contact: str) -> None:
    """A tree of two to five links that floats, struck at random links, points and periods: p and L about the origin."""
    rng = np.random.default_rng(seed)
    b = km.Builder("tree")
    for i in range(2 + seed % 4):
        joint = km.Joint.free() if not i else rng.choice([km.Joint.revolute(rng.normal(size=3)), km.Joint.spherical()])
        parent = f"l{rng.integers(i)}" if i else None
        b.link(f"l{i}", parent, joint, (0.3, 0, 0), km.Inertia.box(1.0, (0.4, 0.2, 0.1), (0.2, 0, 0)))
    world = km.World(gravity=(0, 0, 0), dt=float(rng.choice([1e-3, 4e-3])), contact=contact)
    figure = world.add(b.build())
    given: list[np.ndarray] = []

    def strike(world: km.World) -> None:
        body = figure[f"l{rng.integers(len(figure.joints))}"]
        p, m, at = rng.normal(size=3), rng.normal(size=3) * 0.1, np.asarray(body.position) + rng.normal(size=3) * 0.1
        world.apply_impulse(body, p, m, at=at)
        given.append(np.concatenate([m + np.cross(at, p), p]))

    world.every(0.04, strike)
    for _ in range(5):
        world.run(0.04)
        found = world.queries.momentum()
        np.testing.assert_allclose(found[3:], np.sum(given, axis=0)[3:], atol=1e-10)
        np.testing.assert_allclose(found[:3], np.sum(given, axis=0)[:3], atol=0.02)  # where it acts moves in the step
