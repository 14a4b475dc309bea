"""Impulses on links and joints against M⁻¹ Jᵀ with dense matrices, 1e-10 of the largest entry."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import TREE_SHAPES, build_tree, random_state, random_tree, states

import kinemorph as km

pytestmark = pytest.mark.quick

few = settings(max_examples=30)
POINT = (0.3, -0.2, 0.5)


def close(result, expected, tolerance=1e-10):
    """Equal up to `tolerance` times the largest entry."""
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def places(model):
    return [*range(model.n), "tool", "stand", -1]


def small_model():
    rng = np.random.default_rng(0)
    kinds = (km.JointKind.FREE, km.JointKind.SCREW, km.JointKind.UNIVERSAL)
    return build_tree(rng, kinds, (-1, 0, 0), armature=0.3)


@few
@given(states(most=8))
def test_response_is_the_inverse_mass_matrix_times_transposed_jacobian(state):
    model, q, _, _, joints, impulses = state
    data = km.Data(model)
    M = km.crba(model, data, q).copy()
    for place in places(model):
        J = km.jacobian(model, data, q, place, POINT)
        impulse = impulses[0]
        close(km.impulse_response(model, data, q, place, impulse, POINT), np.linalg.solve(M, J.T @ impulse))
        both = km.impulse_response(model, data, q, place, impulse, POINT, joints)
        close(both, np.linalg.solve(M, J.T @ impulse + joints))


@few
@given(states(most=8))
def test_collision_matrix_is_that_of_the_dense_matrices(state):
    model, q, *_ = state
    data = km.Data(model)
    M = km.crba(model, data, q).copy()
    for place in places(model):
        J = km.jacobian(model, data, q, place, POINT)[3:]
        K = km.collision_matrix(model, data, q, place, POINT)
        close(K, J @ np.linalg.solve(M, J.T))
        assert (K == K.T).all()
        assert np.linalg.eigvalsh(K).min(initial=0.0) >= -1e-12 * np.abs(K).max(initial=0.0)


@pytest.mark.parametrize("shape", TREE_SHAPES)
@pytest.mark.parametrize("n", [20, 100])
def test_large_trees_respond_as_the_dense_matrices_say(n, shape):
    rng = np.random.default_rng(n)
    model = random_tree(rng, n, shape=shape, roots=2, armature=0.2)
    data, q, impulse = km.Data(model), km.random_configuration(model, rng), rng.normal(size=6)
    M = km.crba(model, data, q).copy()
    for link in (0, n // 2, n - 1):
        J = km.jacobian(model, data, q, link, POINT)
        close(km.impulse_response(model, data, q, link, impulse, POINT), np.linalg.solve(M, J.T @ impulse))
        close(km.collision_matrix(model, data, q, link, POINT), J[3:] @ np.linalg.solve(M, J[3:].T))


@pytest.mark.lane
def test_a_small_tree_responds_as_the_dense_matrices_say(rng):
    model = small_model()
    data, q = km.Data(model), km.random_configuration(model, rng)
    M = km.crba(model, data, q).copy()
    impulse, joints = rng.normal(size=6), rng.normal(size=model.nv)
    for place in places(model):
        J = km.jacobian(model, data, q, place, POINT)
        expected = np.linalg.solve(M, J.T @ impulse + joints)
        close(km.impulse_response(model, data, q, place, impulse, POINT, joints), expected, 1e-13)
        K = J[3:] @ np.linalg.solve(M, J[3:].T)
        close(km.collision_matrix(model, data, q, place, POINT), K, 1e-13)


@pytest.mark.lane
def test_three_numbers_are_an_impulse_without_moment(rng):
    model = small_model()
    data, q = km.Data(model), km.random_configuration(model, rng)
    short = km.impulse_response(model, data, q, "tool", (1, 2, 3))
    assert (short == km.impulse_response(model, data, q, "tool", (0, 0, 0, 1, 2, 3))).all()


@pytest.mark.lane
def test_joint_impulses_alone_need_no_place(rng):
    model = small_model()
    data, q, joints = km.Data(model), km.random_configuration(model, rng), rng.normal(size=model.nv)
    M = km.crba(model, data, q).copy()
    close(km.impulse_response(model, data, q, joints=joints), np.linalg.solve(M, joints), 1e-13)


def test_the_momentum_of_a_floating_tree_jumps_by_the_impulse(rng):
    kind = km.JointKind
    kinds = [kind.FREE, kind.SPHERICAL, kind.REVOLUTE, kind.PLANAR, kind.CYLINDRICAL]
    model, q, v, *_ = random_state(rng, build_tree(rng, kinds, (-1, 0, 1, 1, 0)))
    data, impulse = km.Data(model), rng.normal(size=6)
    before = km.momentum(model, data, q, v)
    dv = km.impulse_response(model, data, q, "tool", impulse, POINT)
    jump = km.momentum(model, data, q, v + dv) - before
    link, at = model.frames["tool"]
    R, p = data.links[link]["R"].reshape(3, 3), data.links[link]["p"]
    x = p + R @ at.apply(POINT)
    close(jump, [*(impulse[:3] + np.cross(x, impulse[3:])), *impulse[3:]], 1e-12)


@pytest.mark.lane
def test_a_free_ball_struck_at_its_centre_does_not_spin():
    builder = km.Builder()
    builder.link("ball", joint=km.Joint.free(), inertia=km.Inertia.sphere(2.0, 0.1))
    model = builder.build()
    data, q = km.Data(model), km.neutral(model)
    close(km.impulse_response(model, data, q, "ball", (4, 0, 0)), [0, 0, 0, 2, 0, 0], 1e-15)
    close(km.collision_matrix(model, data, q, "ball"), np.eye(3) / 2.0, 1e-15)
