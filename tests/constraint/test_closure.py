"""Closing loops: projection of what has drifted, and configurations that are found from afar."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.constrained import random_closed
from tests.strategies import random_state, random_tree

import kinemorph as km
from kinemorph.scenes.robots import mechanisms

pytestmark = pytest.mark.quick

KINDS = [kind for kind in km.JointKind if kind is not km.JointKind.FREE]
SCENES = [mechanisms.four_bar, mechanisms.slider_crank, mechanisms.bennett, mechanisms.stewart, mechanisms.two_arms]


@pytest.mark.lane
@pytest.mark.parametrize("kind", KINDS)
def test_projection_closes_what_has_drifted(kind: km.JointKind, rng: np.random.Generator) -> None:
    model, q, _, _ = random_closed(rng, random_tree(rng, 12, roots=2), [kind, km.JointKind.SPHERICAL])
    data = km.Data(model)
    drifted = km.integrate(model, q, rng.normal(size=model.nv), 1e-3)
    v = rng.normal(size=model.nv)
    q1, v1 = km.project(model, data, drifted, v)
    np.testing.assert_allclose(km.loop_errors(model, data, q1), 0.0, atol=1e-11)
    np.testing.assert_allclose(km.loop_jacobian(model, data, q1) @ v1, 0.0, atol=1e-11)
    assert np.abs(km.difference(model, drifted, q1)).max() < 0.1
    # what is closed stays where it is
    q2, v2 = km.project(model, data, q1, v1)
    np.testing.assert_allclose(q2, q1, atol=1e-11)
    np.testing.assert_allclose(v2, v1, atol=1e-11)


def test_projection_of_velocities_is_the_nearest_in_the_metric_of_mass(rng: np.random.Generator) -> None:
    model, q, _, _ = random_closed(rng, random_tree(rng, 8), [km.JointKind.UNIVERSAL])
    data = km.Data(model)
    v = rng.normal(size=model.nv)
    _, v1 = km.project(model, data, q, v)
    M = km.crba(model, data, q)
    J = km.loop_jacobian(model, data, q)
    free = np.linalg.svd(J)[2][np.linalg.matrix_rank(J) :]
    np.testing.assert_allclose(free @ M @ (v1 - v), 0.0, atol=1e-10)


@pytest.mark.lane
def test_without_loops_nothing_is_moved(rng: np.random.Generator) -> None:
    model, q, v, *_ = random_state(rng, random_tree(rng, 4))
    data = km.Data(model)
    q1, v1 = km.project(model, data, q, v)
    np.testing.assert_array_equal(q1, q)
    np.testing.assert_array_equal(v1, v)
    np.testing.assert_array_equal(km.close(model, data, q), q)


@pytest.mark.parametrize("make", SCENES)
def test_a_configuration_is_found_from_afar(make: object, rng: np.random.Generator) -> None:
    model, q = make()  # type: ignore[operator]
    data = km.Data(model)
    far = km.integrate(model, q, rng.normal(size=model.nv), 0.3)
    np.testing.assert_allclose(km.loop_errors(model, data, km.close(model, data, far)), 0.0, atol=1e-10)


def test_only_free_joints_move() -> None:
    model, q = mechanisms.four_bar(angle=1.0)
    data = km.Data(model)
    q[0] -= 0.3
    found = km.close(model, data, q, free=["coupler", "rocker"])
    assert found[0] == q[0]
    np.testing.assert_allclose(km.loop_errors(model, data, found), 0.0, atol=1e-10)


def test_one_free_joint_may_be_named_without_a_list() -> None:
    model, q = mechanisms.four_bar(angle=1.0)
    with pytest.raises(km.LoopError, match="stays open"):  # one joint is not enough, but its name is understood
        km.close(model, km.Data(model), q + [0.3, 0.0, 0.0], free="coupler", tries=1)
    with pytest.raises(KeyError, match="no joint 'coupling'"):
        km.close(model, km.Data(model), q, free="coupling")


def test_a_loop_out_of_reach_is_named() -> None:
    model, q = mechanisms.four_bar()
    short = km.Loop("coupler", "rocker", km.Joint.revolute("y"), (0.8, 0, 0), (0.6, 0, 0), "near")
    far = km.Loop(-1, "rocker", km.Joint.spherical(), (5.0, 0, 0), (0.6, 0, 0), "far")
    impossible = model.with_loops([short, far])
    with pytest.raises(km.LoopError, match="loop 'far' stays open") as caught:
        km.close(impossible, km.Data(impossible), q, tries=2)
    assert caught.value.loop == "far"
    assert caught.value.residual > 1.0
    assert caught.value.q.shape == (3,)
    with pytest.raises(km.LoopError, match="projection"):
        km.project(impossible, km.Data(impossible), q)
    # the crank alone cannot close it
    with pytest.raises(km.LoopError):
        km.close(model, km.Data(model), q + [0.0, 0.4, 0.0], free=["crank"], tries=2)


def test_a_loop_that_cannot_close_says_why() -> None:
    model, q = mechanisms.four_bar()
    far = km.Loop(-1, "rocker", km.Joint.spherical(), (5.0, 0, 0), (0.6, 0, 0), "far")
    impossible = model.with_loops([*model.loops, far])
    with pytest.raises(km.LoopError, match=r"loop 'far' stays open by .* seems out of reach"):
        km.close(impossible, km.Data(impossible), q, tries=2)


def test_a_flat_start_is_left() -> None:
    """All bars on a line that is too short: the way out is across, where no derivative points."""
    model, _ = mechanisms.four_bar(0.5, 0.6, 0.5, 0.9)
    data = km.Data(model)
    found = km.close(model, data, np.zeros(3))
    np.testing.assert_allclose(km.loop_errors(model, data, found), 0.0, atol=1e-10)


def test_bad_settings_are_named() -> None:
    model, q = mechanisms.four_bar()
    data = km.Data(model)
    with pytest.raises(ValueError, match=r"gap 0\.0 must be positive"):
        km.close(model, data, q, gap=0.0)
    with pytest.raises(ValueError, match=r"dependence 2\.0"):
        model.with_loops(model.loops, dependence=2.0)
