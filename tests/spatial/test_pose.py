"""Pose against SciPy's rotations and 4x4 matrices."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.strategies import random_pose

import kinemorph as km

pytestmark = pytest.mark.lane


def close(result, expected, tolerance=1e-14):
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance)


def test_a_pose_is_the_identity_unless_told():
    assert (km.Pose().matrix() == np.eye(4)).all()
    assert (km.Pose([1, 2, 3]).rotation == np.eye(3)).all()


def test_rpy_turns_about_fixed_axes_x_then_y_then_z(rng):
    for angles in rng.uniform(-4.0, 4.0, (20, 3)):
        pose = km.Pose.rpy(*angles, position=(1, 2, 3))
        close(pose.rotation, Rotation.from_euler("xyz", angles).as_matrix())
        close(pose.position, [1, 2, 3])


def test_turn_is_a_rotation_vector(rng):
    for phi in rng.normal(size=(20, 3)):
        angle = np.linalg.norm(phi)
        close(km.Pose.turn(5.0 * phi, angle).rotation, Rotation.from_rotvec(phi).as_matrix())


def test_quaternions_are_w_first_and_of_any_length(rng):
    for wxyz in rng.normal(size=(20, 4)) * 30.0:
        close(km.Pose.quaternion(wxyz).rotation, Rotation.from_quat(wxyz, scalar_first=True).as_matrix())


def test_products_are_products_of_matrices(rng):
    a, b = random_pose(rng), random_pose(rng)
    close((a @ b).matrix(), a.matrix() @ b.matrix())


def test_a_pose_times_its_inverse_is_the_identity(rng):
    pose = random_pose(rng)
    close((pose @ pose.inverse()).matrix(), np.eye(4))
    close(pose.inverse().matrix(), np.linalg.inv(pose.matrix()))


def test_apply_takes_one_point_or_many(rng):
    pose, points = random_pose(rng), rng.normal(size=(4, 5, 3))
    homogeneous = np.concatenate([points, np.ones((4, 5, 1))], axis=-1) @ pose.matrix().T
    close(pose.apply(points), homogeneous[..., :3])
    close(pose.apply([1, 0, 0]), pose.rotation[:, 0] + pose.position)


def test_a_rounded_rotation_is_made_exact(rng):
    rounded = np.round(random_pose(rng).rotation, 7)
    R = km.Pose(rotation=rounded).rotation
    close(R @ R.T, np.eye(3), 1e-13)
    close(R, rounded, 1e-6)


def test_a_pose_keeps_its_own_copy():
    position, rotation = np.zeros(3), np.eye(3)
    pose = km.Pose(position, rotation)
    position[0] = rotation[0, 1] = 5.0
    assert (pose.matrix() == np.eye(4)).all()


def test_a_pose_prints_as_what_makes_it(rng):
    pose = random_pose(rng)
    copy = eval(repr(pose), {"Pose": km.Pose})
    close(copy.matrix(), pose.matrix())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: km.Pose([1, 2]), "position: expected 3 numbers"),
        (lambda: km.Pose([1, 2, math.nan]), "not finite"),
        (lambda: km.Pose([1, 2, math.inf]), "not finite"),
        (lambda: km.Pose(["a", 2, 3]), "expected 3 numbers"),
        (lambda: km.Pose(rotation=np.eye(2)), "finite 3x3 matrix"),
        (lambda: km.Pose(rotation=np.full((3, 3), math.nan)), "finite 3x3 matrix"),
        (lambda: km.Pose(rotation=2 * np.eye(3)), "not a rotation matrix"),
        (lambda: km.Pose(rotation=np.diag([1.0, 1.0, -1.0])), "not a rotation matrix"),
        (lambda: km.Pose(rotation=np.eye(3) + np.diag([1e-4, 0, 0])), "not a rotation matrix"),
        (lambda: km.Pose.turn([0, 0, 0], 1.0), "axis is zero"),
        (lambda: km.Pose.turn([0, 0, math.nan], 1.0), "not finite"),
        (lambda: km.Pose.turn([0, 0, 1], math.nan), "angle is nan, and must be finite"),
        (lambda: km.Pose.rpy(math.nan, 0, 0), "is not finite"),
        (lambda: km.Pose.quaternion([0, 0, 0, 0]), "quaternion is zero"),
        (lambda: km.Pose.quaternion([1, 0, 0]), "expected 4 numbers"),
        (lambda: km.Pose.quaternion([1, 0, 0, math.inf]), "not finite"),
    ],
)
def test_bad_poses_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("length", [1e-200, 1e-150, 1e150, 1e200])
def test_extreme_lengths_of_axes_and_quaternions_do_not_matter(length):
    close(km.Pose.turn([0, 0, length], 0.3).rotation, km.Pose.turn([0, 0, 1], 0.3).rotation)
    close(km.Pose.quaternion([length, 0, 0, length]).rotation, km.Pose.quaternion([1, 0, 0, 1]).rotation)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.009, 0.011, 0.5, 2.0, 3.0, 3.1415, np.pi - 1e-7, np.pi])
def test_log_undoes_exp(angle):
    rng = np.random.default_rng(7)
    axis = rng.normal(size=3)
    twist = np.concatenate([angle * axis / np.linalg.norm(axis), rng.normal(size=3)])
    pose = km.Pose.exp(twist)
    again = km.Pose.exp(pose.log())
    np.testing.assert_allclose(again.matrix(), pose.matrix(), atol=3e-8 if angle > 3.0 else 1e-13)
    if angle < 3.0:
        np.testing.assert_allclose(pose.log(), twist, atol=1e-12)


def test_log_is_what_difference_of_a_free_joint_says():
    b = km.Builder()
    b.link("body", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    model = b.build()
    q = km.random_configuration(model, 3)
    pose = km.Pose.quaternion(q[3:], q[:3])
    np.testing.assert_allclose(pose.log(), km.difference(model, km.neutral(model), q), atol=1e-12)
