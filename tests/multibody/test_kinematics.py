"""Where links are and how they move: poses, velocities, accelerations, Jacobians, each against the one before.

Derivatives are central differences of fourth order, good to 1e-8 of the largest entry here.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.naive import dynamics as naive
from tests.naive.differences import derivative
from tests.naive.spatial import homogeneous, vee
from tests.strategies import build_tree, random_state, states

import kinemorph as km

pytestmark = pytest.mark.quick

few = settings(max_examples=30)
POINT = (0.3, -0.2, 0.5)


def close(result, expected, tolerance):
    """Equal up to `tolerance` times the largest entry."""
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


def places(model):
    return [*range(model.n), "tool", "stand", -1]


def pose_at(model, q, place):
    data = km.Data(model)
    km.kinematics(model, data, q)
    return km.pose_of(model, data, place)


def small_state():
    rng = np.random.default_rng(0)
    kinds = (km.JointKind.FREE, km.JointKind.UNIVERSAL, km.JointKind.PLANAR)
    return random_state(rng, build_tree(rng, kinds, (-1, 0, 0)))


@few
@given(states())
def test_poses_are_those_of_the_book(state):
    model, q, *_ = state
    tree = naive.Tree(model, q)
    for i in range(model.n):
        close(pose_at(model, q, i).matrix(), homogeneous(tree.R[i], tree.p[i]), 1e-13)


@few
@given(states(most=6))
def test_velocity_is_the_derivative_of_the_pose(state):
    model, q, v, *_ = state
    data = km.Data(model)
    km.kinematics(model, data, q, v)
    for place in places(model):
        pose = km.pose_of(model, data, place)
        rate = derivative(lambda t, place=place: pose_at(model, km.integrate(model, q, v, t), place).matrix())
        spin = vee(homogeneous(rate[:3, :3] @ pose.rotation.T, np.zeros(3)))[:3]
        close(km.velocity_of(model, data, place), [*spin, *rate[:3, 3]], 1e-8)


@few
@given(states(most=6))
def test_acceleration_is_the_derivative_of_the_velocity(state):
    model, q, v, a, *_ = state

    def velocity(t, place):
        data = km.Data(model)
        km.kinematics(model, data, km.integrate(model, q, t * v + 0.5 * t * t * a), v + t * a)
        return km.velocity_of(model, data, place)

    data = km.Data(model)
    km.kinematics(model, data, q, v, a)
    for place in places(model):
        close(km.acceleration_of(model, data, place), derivative(lambda t, place=place: velocity(t, place)), 1e-8)


@few
@given(states(most=6))
def test_dynamics_leave_the_same_accelerations(state):
    model, q, v, a, *_ = state
    after_kinematics, after_rnea, after_aba = km.Data(model), km.Data(model), km.Data(model)
    km.kinematics(model, after_kinematics, q, v, a)
    tau = km.rnea(model, after_rnea, q, v, a)
    km.aba(model, after_aba, q, v, tau)
    for i in range(model.n):
        expected = km.acceleration_of(model, after_kinematics, i)
        close(km.acceleration_of(model, after_rnea, i), expected, 1e-12)
        close(km.acceleration_of(model, after_aba, i), expected, 1e-9)
        close(km.velocity_of(model, after_aba, i), km.velocity_of(model, after_kinematics, i), 1e-13)


@few
@given(states(most=8))
def test_jacobian_times_v_is_the_velocity_of_the_point(state):
    model, q, v, *_ = state
    data = km.Data(model)
    km.kinematics(model, data, q, v)
    for place in places(model):
        w, u = np.split(km.velocity_of(model, data, place), 2)
        r = km.pose_of(model, data, place).rotation @ POINT
        close(km.jacobian(model, data, q, place, POINT) @ v, [*w, *(u + np.cross(w, r))], 1e-12)


@few
@given(states(most=8))
def test_jacobian_is_that_of_the_book(state):
    model, q, *_ = state
    data = km.Data(model)
    for link in range(-1, model.n):
        close(km.jacobian(model, data, q, link, POINT), naive.point_jacobian(model, q, link, np.array(POINT)), 1e-13)


@few
@given(states(most=5))
def test_jacobian_is_the_derivative_of_the_point(state):
    model, q, *_ = state
    for place in ("tool", model.n - 1):
        J = km.jacobian(model, km.Data(model), q, place, POINT)
        for k in range(model.nv):
            unit = np.eye(model.nv)[k]
            rate = derivative(
                lambda t, unit=unit, place=place: pose_at(model, km.integrate(model, q, unit, t), place).apply(POINT)
            )
            close(J[3:, k], rate, 1e-9)


@few
@given(states(most=6))
def test_jacobian_drift_is_the_derivative_of_jacobian_times_constant_v(state):
    model, q, v, *_ = state
    data = km.Data(model)
    for place in places(model):
        rate = derivative(
            lambda t, place=place: km.jacobian(model, data, km.integrate(model, q, v, t), place, POINT) @ v, 1e-3
        )
        close(km.jacobian_drift(model, data, q, v, place, POINT), rate, 1e-8)


@pytest.mark.lane
def test_motion_of_a_small_tree():
    model, q, v, a, *_ = small_state()
    data = km.Data(model)
    km.kinematics(model, data, q, v, a)
    tree = naive.Tree(model, q)
    for i in range(model.n):
        close(km.pose_of(model, data, i).matrix(), homogeneous(tree.R[i], tree.p[i]), 1e-14)
        J = naive.point_jacobian(model, q, i, np.zeros(3))
        close(km.velocity_of(model, data, i), J @ v, 1e-14)
        close(km.acceleration_of(model, data, i), J @ a + km.jacobian_drift(model, km.Data(model), q, v, i), 1e-13)
        expected = naive.point_jacobian(model, q, i, np.array(POINT))
        close(km.jacobian(model, km.Data(model), q, i, POINT), expected, 1e-14)


@pytest.mark.lane
def test_places_have_names_and_numbers():
    model, q, v, *_ = small_state()
    data = km.Data(model)
    km.kinematics(model, data, q, v)
    for i, name in enumerate(model.names):
        close(km.pose_of(model, data, name).matrix(), km.pose_of(model, data, i).matrix(), 1e-16)
    link, at = model.frames["tool"]
    close(km.pose_of(model, data, "tool").matrix(), (km.pose_of(model, data, link) @ at).matrix(), 1e-15)
    close(km.pose_of(model, data, "stand").matrix(), model.frames["stand"][1].matrix(), 1e-16)
    close(km.pose_of(model, data, -1).matrix(), np.eye(4), 1e-16)
    close(km.velocity_of(model, data, "stand"), np.zeros(6), 1e-16)
    close(km.acceleration_of(model, data, -1), np.zeros(6), 1e-16)
    assert (km.jacobian(model, data, q, "stand") == 0.0).all()


@pytest.mark.lane
def test_without_v_and_a_links_stand_still():
    model, q, *_ = small_state()
    data = km.Data(model)
    km.kinematics(model, data, q, np.ones(model.nv), np.ones(model.nv))
    km.kinematics(model, data, q)
    for i in range(model.n):
        close(km.velocity_of(model, data, i), np.zeros(6), 1e-16)
        close(km.acceleration_of(model, data, i), np.zeros(6), 1e-14)
