"""Forward dynamics with loops against dense solvers, the unit-vector form and closed formulas."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.classic import CLASSIC
from tests.constraint.samples import moving
from tests.naive.constrained import Closed, closed_at, kkt, random_closed, unit_vectors
from tests.strategies import random_joint, random_tree, seeds, trees

import kinemorph as km
from kinemorph.scenes.robots import mechanisms

pytestmark = pytest.mark.quick

KINDS = list(km.JointKind)


@pytest.mark.lane
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_a_dense_solution_on_random_trees(kind: km.JointKind, seed: int) -> None:
    rng = np.random.default_rng([seed, int(kind)])
    model = random_tree(rng, 12, roots=2, armature=0.2)
    closed = random_closed(rng, model, [kind, KINDS[rng.integers(9)]])
    check_against_kkt(closed, rng)


@pytest.mark.lane
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_a_dense_solution_between_two_trees(kind: km.JointKind, rng: np.random.Generator) -> None:
    """A loop whose two sides hang on different trees of one model, next to one within a tree."""
    model = random_tree(rng, 10, roots=2)
    tops = [top_of(model, i) for i in range(model.n)]
    first, second = (np.flatnonzero(np.array(tops) == top) for top in sorted(set(tops)))
    across = (int(first[-1]), int(second[-1]), random_joint(rng, kind))
    within = (int(first[0]), int(first[-2]), random_joint(rng, km.JointKind.SPHERICAL))
    q = km.random_configuration(model, rng)
    for links in ([across], [across[1::-1] + across[2:]], [across, within], [within, across]):
        check_against_kkt(closed_at(rng, model, q, links), rng)


def top_of(model: km.Model, link: int) -> int:
    while model.links[link]["parent"] >= 0:
        link = int(model.links[link]["parent"])
    return link


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_a_dense_solution_when_loops_are_redundant(seed: int) -> None:
    """The same hinge twice, and a weld beside it."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 12, roots=2)
    joint = random_joint(rng, km.JointKind.REVOLUTE)
    closed = closed_at(rng, model, km.random_configuration(model, rng), [(11, 4, joint), (-1, 9, km.Joint.fixed())])
    once = closed.model
    hinge, weld = once.loops
    twice = once.with_loops([hinge, weld, km.Loop(11, 4, joint, hinge.at_a, hinge.at_b, "again")])
    closed = closed._replace(model=twice, q_loops=np.concatenate([closed.q_loops, closed.q_loops]))
    data = check_against_kkt(closed, rng)
    assert data.rank <= once.m < twice.m


@settings(max_examples=60)
@given(st.data())
def test_loops_hold_and_their_forces_take_their_place(data: st.DataObject) -> None:
    tree = data.draw(trees(most=8))
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    rng = np.random.default_rng(data.draw(seeds()))
    model, q, v, _ = random_closed(rng, tree, kinds)
    computed = km.Data(model)
    tau = rng.normal(size=model.nv)
    a = km.forward_dynamics(model, computed, q, v, tau)
    scale = 1e-8 * (1.0 + np.abs(a).max(initial=0.0))
    np.testing.assert_allclose(km.aba(model, computed, q, v, tau, km.loop_forces(model, computed)), a, atol=scale)
    residual = km.loop_jacobian(model, computed, q) @ a + km.loop_drift(model, computed, q, v)
    np.testing.assert_allclose(residual, 0.0, atol=scale)


def check_against_kkt(closed: Closed, rng: np.random.Generator) -> km.Data:
    model, q, v, _ = closed
    tau, external = rng.normal(size=model.nv), rng.normal(size=(model.n, 6))
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, tau, external)
    scale = 1.0 + np.abs(a).max()
    expected = kkt(closed, tau, external)
    np.testing.assert_allclose(a, expected, atol=1e-9 * scale)
    # the forces at the loops, put in their place, move the tree alike
    forces = external + km.loop_forces(model, data)
    np.testing.assert_allclose(km.aba(model, data, q, v, tau, forces), a, atol=1e-9 * scale)
    residual = km.loop_jacobian(model, data, q) @ a + km.loop_drift(model, data, q, v)
    np.testing.assert_allclose(residual, 0.0, atol=1e-9 * scale)
    return data


@pytest.mark.parametrize(("make", "expected"), CLASSIC)
def test_agrees_with_the_unit_vector_form(make: object, expected: int, rng: np.random.Generator) -> None:
    closed = moving(make(), rng)  # type: ignore[operator]
    model = closed.model
    tau = rng.normal(size=model.nv)
    data = km.Data(model)
    coordinates = km.generalized(model, data, closed.q)
    a = km.forward_dynamics(model, data, closed.q, closed.v, tau)
    np.testing.assert_allclose(unit_vectors(closed, coordinates, tau), a, atol=1e-9 * (1 + np.abs(a).max()))


def test_slider_crank_moves_as_its_formula(rng: np.random.Generator) -> None:
    """x = r cos θ + √(l² - r² sin² θ), and Lagrange's equation of the crank alone: I θ'' + I'/2 θ'² + V' = 0."""
    r, l, g = 0.2, 0.7, 9.81

    def rates(theta: float) -> tuple[float, float, float]:
        """x' and x'' by θ, and φ', where φ is the angle of the rod."""
        s, c = r * np.sin(theta), r * np.cos(theta)
        u = np.sqrt(l**2 - s**2)
        return -s - s * c / u, -c - (c**2 - s**2) / u - (s * c) ** 2 / u**3, c / u

    def inertia(theta: float) -> float:
        s, c = r * np.sin(theta), r * np.cos(theta)
        slope, _, swing = rates(theta)
        rod = np.array([-s - 0.5 * s * swing, 0.5 * c])  # of its middle: r cos θ + l/2 cos φ, r/2 sin θ
        bars = r * r**2 / 3.0 + r * 0.04**2 / 12.0 + l * rod @ rod + l * (l**2 + 0.04**2) / 12.0 * swing**2
        return float(bars + 0.5 * slope**2)

    for angle in rng.uniform(-3.0, 3.0, 10):
        model, q = mechanisms.slider_crank(r, l, angle)
        data = km.Data(model)
        v = km.generalized(model, data, q, keep=["crank"]).W @ [-1.7]  # the angle grows by 1.7 rad/s
        a = km.forward_dynamics(model, data, q, v, np.zeros(3))
        slope, bend, _ = rates(angle)
        assert q[2] == pytest.approx(r * np.cos(angle) + np.sqrt(l**2 - (r * np.sin(angle)) ** 2), abs=1e-12)
        assert v[2] == pytest.approx(1.7 * slope, abs=1e-12)
        assert a[2] == pytest.approx(-a[0] * slope + 1.7**2 * bend, abs=1e-11)
        dI = (inertia(angle + 1e-5) - inertia(angle - 1e-5)) / 2e-5
        dV = g * (r + l) * 0.5 * r * np.cos(angle)  # both bars have their middle at half the height of the pin
        assert -a[0] == pytest.approx(-(0.5 * dI * 1.7**2 + dV) / inertia(angle), abs=1e-7)


def test_a_flat_four_bar_gives_finite_answers() -> None:
    """All bars on one line: a row more depends on the others there, for an instant the mobility is 2."""
    for bars in ((0.3, 0.9, 0.3, 0.9), (0.5, 0.5, 0.5, 0.5)):
        model, _ = mechanisms.four_bar(*bars)
        data = km.Data(model)
        flat = np.zeros(3)
        assert km.mobility(model, data, flat) == 2
        assert km.mobility(model, data, [-1.0, 1.0, -1.0]) == 1
        for offset in (0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2):
            q = np.array([offset, -offset, offset])
            v = km.project(model, data, q, [1.0, -1.0, 1.0])[1]
            a = km.forward_dynamics(model, data, q, v, np.zeros(3))
            assert np.isfinite(a).all()
            assert np.abs(a).max() < 1e3
            assert np.isfinite(data.wrenches).all()


@pytest.mark.lane
def test_without_loops_it_is_aba(rng: np.random.Generator) -> None:
    model = random_tree(rng, 5)
    data = km.Data(model)
    q, (v, tau) = km.random_configuration(model, rng), rng.normal(size=(2, model.nv))
    external = rng.normal(size=(model.n, 6))
    for forces in ((), (external,)):
        found = km.forward_dynamics(model, data, q, v, tau, *forces)
        np.testing.assert_array_equal(found, km.aba(model, km.Data(model), q, v, tau, *forces))
    assert km.mobility(model, data, q) == model.nv
    assert (data.rank, data.rows.size, data.wrenches.shape) == (0, 0, (0, 6))
    assert km.loop_forces(model, data).shape == (model.n, 6)


@pytest.mark.lane
def test_a_loop_whose_joint_forbids_nothing_changes_nothing(rng: np.random.Generator) -> None:
    tree = random_tree(rng, 5)
    model = tree.with_loops([km.Loop(0, 4, km.Joint.free())])
    q, (v, tau) = km.random_configuration(tree, rng), rng.normal(size=(2, tree.nv))
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, tau)
    np.testing.assert_allclose(a, km.aba(tree, km.Data(tree), q, v, tau), atol=1e-12 * (1.0 + np.abs(a).max()))
    assert (model.m, data.rank) == (0, 0)
    np.testing.assert_array_equal(data.wrenches, np.zeros((1, 6)))


@pytest.mark.lane
def test_numbers_that_are_too_large_leave_nothing_behind() -> None:
    model, q = mechanisms.stewart()
    data, v = km.Data(model), np.zeros(model.nv)
    expected = km.forward_dynamics(model, data, q, v, v)
    huge = q.copy()
    huge[:3] = 1e300  # what comes of it is not finite somewhere on its way
    with contextlib.suppress(ArithmeticError), np.errstate(all="ignore"):
        km.forward_dynamics(model, data, huge, v, v)
    np.testing.assert_array_equal(km.forward_dynamics(model, data, q, v, v), expected)


def test_bad_arguments_are_named() -> None:
    model, q = mechanisms.four_bar()
    data = km.Data(model)
    v = np.zeros(3)
    with pytest.raises(ValueError, match="tau has shape"):
        km.forward_dynamics(model, data, q, v, [1.0])
    with pytest.raises(ValueError, match=r"tau\[1\] is nan"):
        km.forward_dynamics(model, data, q, v, [0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="another model"):
        km.forward_dynamics(mechanisms.four_bar().model, data, q, v, v)
    assert km.forward_dynamics(model, data, list(q), [0, 0, 0], [0, 0, 0]).shape == (3,)
