"""Dynamics of closed chains against dense solvers, Pinocchio, the paper's numbers and closed formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.constrained import Closed, closed_at, kkt, random_closed, unit_vectors
from tests.strategies import random_joint, random_tree, seeds, trees
from tests.structure.checks import CLASSIC

import kinemorph as km
from kinemorph.scenes import mechanisms
from kinemorph.structure.closed import closed_dynamics
from kinemorph.constraint.closure import project
from kinemorph.constraint.generalized import (
    closed_inverse_dynamics,
    complete_acceleration,
    generalized,
    loop_actuation,
    mobility,
)
from kinemorph.constraint.loops import loop_drift, loop_jacobian
from kinemorph.structure.loops import ClosedData, Loop, Mechanism

KINDS = list(km.JointKind)


def moving(scene: mechanisms.Scene, rng: np.random.Generator) -> Closed:
    """A classic mechanism in motion."""
    data = ClosedData(scene.mechanism)
    W = generalized(scene.mechanism, data, scene.q).W
    v = W @ rng.normal(size=W.shape[1])
    return Closed(scene.mechanism, scene.q, v, loop_positions(scene))


def loop_positions(scene: mechanisms.Scene) -> np.ndarray:
    """Revolute and spherical joints of loops, whose subspaces need no position, at zero."""
    parts = [[1.0, 0.0, 0.0, 0.0] if loop.joint.nq == 4 else [0.0] * loop.joint.nq for loop in scene.mechanism.loops]
    return np.concatenate(parts)


@pytest.mark.lane
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_a_dense_solution_on_random_trees(kind: km.JointKind, seed: int) -> None:
    rng = np.random.default_rng([seed, int(kind)])
    model = random_tree(rng, 12, roots=2, armature=0.2)
    closed = random_closed(rng, model, [kind, KINDS[rng.integers(9)]])
    check_against_kkt(closed, rng)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_a_dense_solution_when_loops_are_redundant(seed: int) -> None:
    """The same hinge twice, and a weld beside it."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 12, roots=2)
    joint = random_joint(rng, km.JointKind.REVOLUTE)
    closed = closed_at(rng, model, km.random_configuration(model, rng), [(11, 4, joint), (-1, 9, km.Joint.fixed())])
    (hinge, weld), m = closed.mechanism.loops, closed.mechanism.m
    twice = Mechanism(model, [hinge, weld, Loop(11, 4, joint, hinge.at_a, hinge.at_b, "again")])
    closed = closed._replace(mechanism=twice, q_loops=np.concatenate([closed.q_loops, closed.q_loops]))
    data = check_against_kkt(closed, rng)
    assert data.rank <= m < twice.m


@settings(max_examples=60)
@given(st.data())
def test_loops_hold_and_their_forces_take_their_place(data: st.DataObject) -> None:
    model = data.draw(trees(most=8))
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    rng = np.random.default_rng(data.draw(seeds()))
    mechanism, q, v, _ = random_closed(rng, model, kinds)
    computed = ClosedData(mechanism)
    tau = rng.normal(size=model.nv)
    a = closed_dynamics(mechanism, computed, q, v, tau)
    scale = 1e-8 * (1.0 + np.abs(a).max(initial=0.0))
    np.testing.assert_allclose(km.aba(model, computed.tree, q, v, tau, computed.external()), a, atol=scale)
    residual = loop_jacobian(mechanism, computed, q) @ a + loop_drift(mechanism, computed, q, v)
    np.testing.assert_allclose(residual, 0.0, atol=scale)


def check_against_kkt(closed: Closed, rng: np.random.Generator) -> ClosedData:
    mechanism, q, v, _ = closed
    model = mechanism.model
    tau, external = rng.normal(size=model.nv), rng.normal(size=(model.n, 6))
    data = ClosedData(mechanism)
    a = closed_dynamics(mechanism, data, q, v, tau, external)
    scale = 1.0 + np.abs(a).max()
    expected = kkt(closed, tau, external)
    np.testing.assert_allclose(a, expected, atol=1e-9 * scale)
    # the forces at the loops, put in their place, move the tree alike
    np.testing.assert_allclose(km.aba(model, data.tree, q, v, tau, external + data.external()), a, atol=1e-9 * scale)
    residual = loop_jacobian(mechanism, data, q) @ a + loop_drift(mechanism, data, q, v)
    np.testing.assert_allclose(residual, 0.0, atol=1e-9 * scale)
    return data


@pytest.mark.parametrize(("make", "expected"), CLASSIC)
def test_mobility_of_classic_mechanisms(make: object, expected: int) -> None:
    mechanism, q = make()  # type: ignore[operator]
    data = ClosedData(mechanism)
    assert mobility(mechanism, data, q) == expected
    closed_dynamics(mechanism, data, q, np.zeros(mechanism.model.nv), np.zeros(mechanism.model.nv))
    assert mechanism.model.nv - data.rank == expected  # both ways to find the rank agree


@pytest.mark.parametrize(("make", "expected"), CLASSIC)
def test_agrees_with_the_unit_vector_form(make: object, expected: int, rng: np.random.Generator) -> None:
    closed = moving(make(), rng)  # type: ignore[operator]
    tau = rng.normal(size=closed.mechanism.model.nv)
    data = ClosedData(closed.mechanism)
    coordinates = generalized(closed.mechanism, data, closed.q)
    a = closed_dynamics(closed.mechanism, data, closed.q, closed.v, tau)
    np.testing.assert_allclose(unit_vectors(closed, coordinates, tau), a, atol=1e-9 * (1 + np.abs(a).max()))


@pytest.mark.lane
def test_gives_the_matrices_of_the_paper() -> None:
    """N&Y section VII-A, eqs. 45 to 48 (J_G of eq. 46, W and S as corrected)."""
    mechanism, q = mechanisms.free_flyer()
    data = ClosedData(mechanism)
    paper = [3, 4, 5, 0, 1, 2, 6, 7]  # θ_1 to θ_8 among ours, and rows: linear before angular
    coordinates = generalized(mechanism, data, q, actuated=["link1", "link1v"], keep=[3, "link1"])
    J_C = coordinates.J[[3, 4, 5, 0, 1, 2]][:, paper]
    np.testing.assert_allclose(
        J_C,
        [
            [1, 0, 0, 0, 0, -2, -1, 0],
            [0, 1, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 2, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 0, 0],
            [0, 0, 0, 0, 0, 1, 1, -1],
        ],
        atol=1e-15,
    )  # eq. 45
    assert coordinates.independent == (3, 6)  # θ_1 and θ_7
    assert coordinates.mobility == 2
    order = [coordinates.dependent.index(paper[k]) for k in (1, 2, 3, 4, 5, 7)]
    np.testing.assert_allclose(
        coordinates.H[order], [[0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0.5, 0.5]], atol=1e-15
    )  # eq. 46
    W = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0, 1]]
    np.testing.assert_allclose(coordinates.W[paper[:7]], W, atol=1e-15)  # eq. 47
    np.testing.assert_allclose(coordinates.S, [[0, 1], [0.5, 0.5]], atol=1e-15)  # eq. 48


def test_coordinates_are_kept_until_they_are_bad() -> None:
    """The crank of a four-bar whose rocker is about to turn back: near there the rocker is no coordinate."""
    mechanism, q = mechanisms.four_bar(angle=1.0)
    data = ClosedData(mechanism)
    for name, k in (("crank", 0), ("coupler", 1), ("rocker", 2)):
        assert generalized(mechanism, data, q, keep=[name]).independent == (k,)
    crank, rod = 0.2, 0.7
    mechanism, _ = mechanisms.slider_crank(crank, rod)
    data = ClosedData(mechanism)
    dead_centre = np.array([-1e-7, 1e-7, crank + rod])  # the slider turns back: its speed says nothing about the crank
    assert generalized(mechanism, data, dead_centre, keep=["slider"]).independent != (2,)


@pytest.mark.parametrize("make", [make for make, _ in CLASSIC])
def test_inverse_dynamics_undoes_forward_dynamics(make: object, rng: np.random.Generator) -> None:
    closed = moving(make(), rng)  # type: ignore[operator]
    mechanism, q, v, _ = closed
    data = ClosedData(mechanism)
    coordinates = generalized(mechanism, data, q)
    a = complete_acceleration(mechanism, data, q, v, coordinates, rng.normal(size=coordinates.mobility))
    # not redundant: one actuator for each generalized coordinate
    single = closed_inverse_dynamics(mechanism, data, q, v, a, actuated=coordinates.independent)
    assert single.internal.shape == (coordinates.mobility, 0)
    # redundant: all joints of the tree
    every = closed_inverse_dynamics(mechanism, data, q, v, a)
    weights = rng.uniform(0.5, 2.0, mechanism.model.nv)
    weighted = closed_inverse_dynamics(mechanism, data, q, v, a, weights=weights)
    assert every.internal.shape == (mechanism.model.nv, mechanism.model.nv - coordinates.mobility)
    for actuation in (single, every, weighted):
        assert actuation.residual < 1e-9
        np.testing.assert_allclose(
            closed_dynamics(mechanism, data, q, v, actuation.tau_tree), a, atol=1e-8 * (1 + np.abs(a).max())
        )
    # internal forces move nothing, and no mixture with them is smaller
    for tau in every.internal.T:
        np.testing.assert_allclose(
            closed_dynamics(mechanism, data, q, v, every.tau_tree + tau), a, atol=1e-8 * (1 + np.abs(a).max())
        )
    np.testing.assert_allclose(every.internal.T @ every.tau, 0.0, atol=1e-9 * (1 + np.abs(every.tau).max()))
    np.testing.assert_allclose(
        every.internal.T @ (weights * weighted.tau), 0.0, atol=1e-9 * (1 + np.abs(every.tau).max())
    )


def test_actuators_in_loop_joints_work_as_those_in_the_tree(rng: np.random.Generator) -> None:
    closed = moving(mechanisms.free_flyer(), rng)
    mechanism, q, v, _ = closed
    data = ClosedData(mechanism)
    coordinates = generalized(mechanism, data, q)
    a = complete_acceleration(mechanism, data, q, v, coordinates, rng.normal(size=2))
    actuation = closed_inverse_dynamics(mechanism, data, q, v, a, actuated=["link1", "link1v"])
    external = loop_actuation(mechanism, data, q, actuation.tau_loops)
    found = closed_dynamics(mechanism, data, q, v, actuation.tau_tree, external)
    np.testing.assert_allclose(found, a, atol=1e-9)


@pytest.mark.lane
def test_too_few_actuators_leave_a_residual(rng: np.random.Generator) -> None:
    mechanism, q, v, _ = moving(mechanisms.stewart(), rng)
    data = ClosedData(mechanism)
    a = closed_dynamics(mechanism, data, q, v, rng.normal(size=mechanism.model.nv))
    pistons = [f"piston{i}" for i in range(6)]
    assert closed_inverse_dynamics(mechanism, data, q, v, a, pistons).residual < 1e-9
    assert closed_inverse_dynamics(mechanism, data, q, v, a, pistons[:5]).residual > 1e-3
    with pytest.raises(ValueError, match="weights must be 5 positive numbers"):
        closed_inverse_dynamics(mechanism, data, q, v, a, pistons[:5], weights=[1.0])


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
        mechanism, q = mechanisms.slider_crank(r, l, angle)
        data = ClosedData(mechanism)
        v = generalized(mechanism, data, q, keep=["crank"]).W @ [-1.7]  # the angle grows by 1.7 rad/s
        a = closed_dynamics(mechanism, data, q, v, np.zeros(3))
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
        mechanism, _ = mechanisms.four_bar(*bars)
        data = ClosedData(mechanism)
        flat = np.zeros(3)
        assert mobility(mechanism, data, flat) == 2
        assert mobility(mechanism, data, [-1.0, 1.0, -1.0]) == 1
        for offset in (0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2):
            q = np.array([offset, -offset, offset])
            v = project(mechanism, data, q, [1.0, -1.0, 1.0])[1]
            a = closed_dynamics(mechanism, data, q, v, np.zeros(3))
            assert np.isfinite(a).all()
            assert np.abs(a).max() < 1e3
            assert np.isfinite(data.wrenches).all()


def test_a_loop_free_mechanism_is_its_tree(rng: np.random.Generator) -> None:
    model = random_tree(rng, 5)
    mechanism = Mechanism(model, [])
    data = ClosedData(mechanism)
    q, (v, tau) = km.random_configuration(model, rng), rng.normal(size=(2, model.nv))
    np.testing.assert_array_equal(closed_dynamics(mechanism, data, q, v, tau), km.aba(model, km.Data(model), q, v, tau))
    assert mobility(mechanism, data, q) == model.nv


def test_actuators_that_make_no_sense_are_refused() -> None:
    mechanism, q = mechanisms.four_bar()
    data, zero = ClosedData(mechanism), np.zeros(3)
    with pytest.raises(ValueError, match="twice"):
        km.closed_inverse_dynamics(mechanism, data, q, zero, zero, actuated=["crank", "crank"])
    for wrong in ([], [1.0, 2.0], [np.nan]):
        with pytest.raises(ValueError, match="tau_loops must be 1 finite numbers"):
            km.loop_actuation(mechanism, data, q, wrong)


def test_bad_arguments_are_named(rng: np.random.Generator) -> None:
    mechanism, q = mechanisms.four_bar()
    data = ClosedData(mechanism)
    v = np.zeros(3)
    with pytest.raises(ValueError, match="tau has shape"):
        closed_dynamics(mechanism, data, q, v, [1.0])
    with pytest.raises(ValueError, match=r"tau\[1\] is nan"):
        closed_dynamics(mechanism, data, q, v, [0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="another mechanism"):
        closed_dynamics(mechanisms.four_bar().mechanism, data, q, v, v)
    assert closed_dynamics(mechanism, data, list(q), [0, 0, 0], [0, 0, 0]).shape == (3,)
