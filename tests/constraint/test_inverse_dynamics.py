"""Inverse dynamics with loops: actuators that suffice, that are too many, too few, or in the joints of loops."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classic import CLASSIC
from tests.constraint.samples import moving
from tests.strategies import random_state, random_tree

import kinemorph as km
from kinemorph.constraint.generalized import Coordinates
from kinemorph.scenes.robots import mechanisms

pytestmark = pytest.mark.quick


def complete_acceleration(
    model: km.Model, data: km.Data, q: np.ndarray, v: np.ndarray, coordinates: Coordinates, a: np.ndarray
) -> np.ndarray:
    """Accelerations of all joints from those of generalized coordinates of the tree (N&Y eqs. 18 and 21)."""
    whole = coordinates.W @ a
    dependent = [k for k in coordinates.dependent if k < model.nv]
    J_S = km.loop_jacobian(model, data, q)[:, dependent]
    whole[dependent] -= np.linalg.lstsq(J_S, km.loop_drift(model, data, q, v), rcond=1e-10)[0]
    return whole


@pytest.mark.parametrize("make", [make for make, _ in CLASSIC])
def test_inverse_dynamics_undoes_forward_dynamics(make: object, rng: np.random.Generator) -> None:
    model, q, v, _ = moving(make(), rng)  # type: ignore[operator]
    data = km.Data(model)
    coordinates = km.generalized(model, data, q)
    a = complete_acceleration(model, data, q, v, coordinates, rng.normal(size=coordinates.mobility))
    # not redundant: one actuator for each generalized coordinate
    single = km.inverse_dynamics(model, data, q, v, a, actuated=coordinates.independent)
    assert single.internal.shape == (coordinates.mobility, 0)
    # redundant: all joints of the tree
    every = km.inverse_dynamics(model, data, q, v, a)
    weights = rng.uniform(0.5, 2.0, model.nv)
    weighted = km.inverse_dynamics(model, data, q, v, a, weights=weights)
    assert every.internal.shape == (model.nv, model.nv - coordinates.mobility)
    for actuation in (single, every, weighted):
        assert actuation.residual < 1e-9
        np.testing.assert_allclose(
            km.forward_dynamics(model, data, q, v, actuation.tau), a, atol=1e-8 * (1 + np.abs(a).max())
        )
    # internal forces move nothing, and no mixture with them is smaller
    for tau in every.internal.T:
        np.testing.assert_allclose(
            km.forward_dynamics(model, data, q, v, every.tau + tau), a, atol=1e-8 * (1 + np.abs(a).max())
        )
    size = 1 + np.abs(every.efforts).max()
    np.testing.assert_allclose(every.internal.T @ every.efforts, 0.0, atol=1e-9 * size)
    np.testing.assert_allclose(every.internal.T @ (weights * weighted.efforts), 0.0, atol=1e-9 * size)


@pytest.mark.lane
def test_forces_go_by_v_and_efforts_by_actuator(rng: np.random.Generator) -> None:
    """The pistons of a Stewart platform, in an order of their own."""
    model, q, v, _ = moving(mechanisms.stewart(), rng)
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, rng.normal(size=model.nv))
    pistons = [f"piston{i}" for i in (3, 0, 5, 1, 4, 2)]
    plan = km.inverse_dynamics(model, data, q, v, a, pistons)
    assert plan.efforts.shape == (6,)
    assert plan.tau.shape == (model.nv,)
    assert plan.tau_loops.shape == (model.loop_nv,)
    for name, effort in zip(pistons, plan.efforts, strict=True):
        assert plan.tau[model.v_slice(name)] == effort
    assert np.count_nonzero(plan.tau) == 6
    assert not plan.tau_loops.any()


@pytest.mark.lane
def test_the_loops_bear_the_same_forces_as_in_forward_dynamics(rng: np.random.Generator) -> None:
    model, q, v, _ = moving(mechanisms.four_bar(), rng)
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, np.array([0.7, 0.0, 0.0]))
    wrenches = data.wrenches
    assert np.abs(wrenches).max() > 1.0
    again = km.Data(model)
    plan = km.inverse_dynamics(model, again, q, v, a, actuated=["crank"])
    assert plan.efforts == pytest.approx([0.7], abs=1e-9)
    np.testing.assert_allclose(again.wrenches, wrenches, atol=1e-9)


@pytest.mark.lane
def test_without_loops_it_is_rnea(rng: np.random.Generator) -> None:
    model, q, v, a, _, _ = random_state(rng, random_tree(rng, 6))
    data = km.Data(model)
    expected = km.rnea(model, data, q, v, a)
    plan = km.inverse_dynamics(model, data, q, v, a)
    np.testing.assert_allclose(plan.tau, expected, atol=1e-11 * (1.0 + np.abs(expected).max()))
    assert plan.residual < 1e-9
    assert plan.coordinates.mobility == model.nv


def test_actuators_in_loop_joints_work_as_those_in_the_tree(rng: np.random.Generator) -> None:
    model, q, v, _ = moving(mechanisms.free_flyer(), rng)
    data = km.Data(model)
    coordinates = km.generalized(model, data, q)
    a = complete_acceleration(model, data, q, v, coordinates, rng.normal(size=2))
    actuation = km.inverse_dynamics(model, data, q, v, a, actuated=["link1", "link1v"])
    assert actuation.tau[model.v_slice("link1")] == actuation.efforts[0]
    assert actuation.tau_loops == actuation.efforts[1:]
    external = km.loop_actuation(model, data, q, actuation.tau_loops)
    found = km.forward_dynamics(model, data, q, v, actuation.tau, external)
    np.testing.assert_allclose(found, a, atol=1e-9)


@pytest.mark.lane
def test_too_few_actuators_leave_a_residual(rng: np.random.Generator) -> None:
    model, q, v, _ = moving(mechanisms.stewart(), rng)
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, rng.normal(size=model.nv))
    pistons = [f"piston{i}" for i in range(6)]
    assert km.inverse_dynamics(model, data, q, v, a, pistons).residual < 1e-9
    assert km.inverse_dynamics(model, data, q, v, a, pistons[:5]).residual > 1e-3
    with pytest.raises(ValueError, match="weights must be 5 positive numbers"):
        km.inverse_dynamics(model, data, q, v, a, pistons[:5], weights=[1.0])


def test_least_torque_in_the_norm_of_a_matrix(rng: np.random.Generator) -> None:
    model, q = mechanisms.two_arms()
    data = km.Data(model)
    v = np.zeros(model.nv)
    a = km.forward_dynamics(model, data, q, v, rng.normal(size=model.nv))
    arms = [name for name in model.joint_names if name != "box"]
    root = rng.normal(size=(14, 14))
    norm = root @ root.T + 0.1 * np.eye(14)
    plan = km.inverse_dynamics(model, data, q, v, a, arms, weights=norm)
    assert plan.residual < 1e-8
    weighed = norm @ plan.efforts
    np.testing.assert_allclose(plan.internal.T @ weighed, 0.0, atol=1e-8 * np.abs(weighed).max())
    same = km.inverse_dynamics(model, data, q, v, a, arms, weights=np.diag(norm)).efforts
    diagonal = km.inverse_dynamics(model, data, q, v, a, arms, weights=np.diag(np.diag(norm))).efforts
    np.testing.assert_allclose(same, diagonal, atol=1e-9 * np.abs(same).max())
    assert plan.efforts @ norm @ plan.efforts < same @ norm @ same
    for bad in (-norm, root, np.eye(3), np.full((14, 14), np.nan)):
        with pytest.raises(ValueError, match="weights must be 14 positive numbers"):
            km.inverse_dynamics(model, data, q, v, a, arms, weights=bad)


def test_actuators_that_make_no_sense_are_refused() -> None:
    model, q = mechanisms.four_bar()
    data, zero = km.Data(model), np.zeros(3)
    with pytest.raises(ValueError, match="twice"):
        km.inverse_dynamics(model, data, q, zero, zero, actuated=["crank", "crank"])
    for wrong in ([], [1.0, 2.0], [np.nan]):
        with pytest.raises(ValueError, match="tau_loops must be 1 finite numbers"):
            km.loop_actuation(model, data, q, wrong)
