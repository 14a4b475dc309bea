"""Loops that share no tree do not feel each other: several mechanisms in one model move as each of them alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.constraint.samples import moving
from tests.strategies import copy_into

import kinemorph as km
from kinemorph.scenes.robots import mechanisms

pytestmark = [pytest.mark.lane, pytest.mark.quick]
BARS = [(0.3, 0.8, 0.6, 0.9), (0.2, 0.7, 0.5, 0.8), (0.3, 0.9, 0.3, 0.9)]


def side_by_side(scenes: list[mechanisms.Scene], more: tuple[km.Loop, ...] = ()) -> km.Model:
    """One model of several, each with a number before its names."""
    b = km.Builder("side by side")
    loops = []
    for i, (model, _) in enumerate(scenes):
        copy_into(b, model, prefix=f"{i} ")
        for loop in model.loops:
            a, c = (None if side is None else f"{i} {side}" for side in (loop.a, loop.b))
            loops.append(km.Loop(a, c, loop.joint, loop.at_a, loop.at_b, f"{i} {loop.name}"))
    return b.build().with_loops([*loops, *more])


def scenes() -> list[mechanisms.Scene]:
    """Four-bars of different lengths, one of them at the point where it is flat, and two others."""
    found = [mechanisms.four_bar(*bars, angle=angle) for bars, angle in zip(BARS, (1.0, 0.4, 0.0), strict=True)]
    return [*found, mechanisms.slider_crank(), mechanisms.delta()]


def test_mechanisms_side_by_side_move_as_each_alone(rng: np.random.Generator) -> None:
    alone = [moving(scene, rng) for scene in scenes()]
    model = side_by_side(scenes())
    assert model.sizes[0]["islands"] == len(alone)
    q, v = np.concatenate([c.q for c in alone]), np.concatenate([c.v for c in alone])
    tau = rng.normal(size=model.nv)
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, tau)
    rank, at, loop = 0, 0, 0
    for one in alone:
        own = km.Data(one.model)
        here = slice(at, at + one.model.nv)
        expected = km.forward_dynamics(one.model, own, one.q, one.v, tau[here])
        np.testing.assert_allclose(a[here], expected, atol=1e-12 * (1.0 + np.abs(expected).max()))
        wrenches = data.wrenches[loop : loop + len(one.model.loops)]
        np.testing.assert_allclose(wrenches, own.wrenches, atol=1e-10 * (1.0 + np.abs(own.wrenches).max()))
        rank, at, loop = rank + own.rank, at + one.model.nv, loop + len(one.model.loops)
    assert data.rank == rank
    assert km.mobility(model, data, q) == model.nv - rank


def test_mechanisms_side_by_side_are_projected_as_each_alone(rng: np.random.Generator) -> None:
    alone = [moving(scene, rng) for scene in scenes() if scene.model.name != "delta"]
    model = side_by_side([mechanisms.Scene(c.model, c.q) for c in alone])
    rates = [rng.normal(size=c.model.nv) for c in alone]
    data = km.Data(model)
    _, v = km.project(model, data, np.concatenate([c.q for c in alone]), np.concatenate(rates))
    expected = [km.project(c.model, km.Data(c.model), c.q, w)[1] for c, w in zip(alone, rates, strict=True)]
    np.testing.assert_allclose(v, np.concatenate(expected), atol=1e-12)


def test_a_loop_between_two_islands_makes_one_of_them() -> None:
    few = scenes()[:3]
    bridge = km.Loop("0 rocker", "2 coupler", km.Joint.spherical(), name="bridge")
    to_base = km.Loop(None, "1 rocker", km.Joint.planar("y"), name="to the base")  # the base ties nothing together
    assert side_by_side(few).sizes[0]["islands"] == 3
    assert side_by_side(few, (bridge,)).sizes[0]["islands"] == 2
    assert side_by_side(few, (to_base,)).sizes[0]["islands"] == 3
    assert side_by_side(few, (bridge, to_base)).sizes[0]["islands"] == 2
    assert side_by_side(few, (to_base, bridge)).loop_rows["island"].tolist() == [0, 1, 0, 1, 0]


def test_a_loop_that_is_open_loosens_no_other_island(rng: np.random.Generator) -> None:
    """Next to where it is flat, a four-bar has a row that almost depends on others, whoever is beside it."""
    flat = mechanisms.four_bar(*BARS[2], angle=1e-4)
    model, q = side_by_side([flat, mechanisms.four_bar()]), np.concatenate([flat.q, mechanisms.four_bar().q])
    v, tau = np.zeros(model.nv), rng.normal(size=model.nv)
    own = km.Data(flat.model)
    expected = km.forward_dynamics(flat.model, own, flat.q, v[:3], tau[:3])
    for error in (0.0, 1e-3):
        off = q.copy()
        off[-1] += error  # opens the loop of the other one
        data = km.Data(model)
        a = km.forward_dynamics(model, data, off, v, tau)
        assert data.rank == own.rank + 2
        np.testing.assert_allclose(a[:3], expected, atol=1e-9 * (1.0 + np.abs(expected).max()))


def test_rows_that_are_not_finite_are_not_taken_for_rows_that_bear_nothing() -> None:
    """A slider that is so far out that the squares of levers overflow: its loop is not simply gone."""
    b = km.Builder("far")
    b.link("slider", None, km.Joint.prismatic("x"), inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    b.link("arm", "slider", km.Joint.revolute("y"), inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    b.loop(None, "arm", km.Joint.revolute("y"), km.Pose((0, 0, 0)), km.Pose((-1e200, 0, 0)))
    model, zero = b.build(), np.zeros(2)
    data = km.Data(model)
    with np.errstate(all="ignore"), pytest.raises((ArithmeticError, ValueError), match="finite"):
        km.forward_dynamics(model, data, np.array([1e200, 0.0]), zero, np.ones(2))
    assert data.rank == -1
