"""Quaternions, and exponential and logarithm of rotations and motions."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from tests.naive.spatial import hat, skew
from tests.strategies import random_unit, rotation_vectors, vectors

from kinemorph.spatial import quaternion as quat

pytestmark = pytest.mark.quick

EPS = 2.0**-52
HALF_TURNS = [
    *[np.array(a, dtype=float) for a in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, -1), (1, 1, 1))],
    *[np.array(a, dtype=float) for a in ((1, 1e-8, 0), (1e-8, 0, 1), (3, -2, 1), (-1, 1e-300, 0))],
]


def numbers(a):
    return tuple(float(x) for x in a)


def matrix(q):
    return np.reshape(quat.to_matrix(numbers(q)), (3, 3))


def random_quaternion(rng):
    x = rng.normal(size=4)
    return numbers(x / np.linalg.norm(x))


def close(result, expected, tolerance):
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance)


def same_rotation(a, b, tolerance):
    """Equal up to sign."""
    close(min(np.abs(np.subtract(a, b)).max(), np.abs(np.add(a, b)).max()), 0.0, tolerance)


@pytest.mark.lane
def test_products_and_rotations_agree_with_scipy(rng):
    for _ in range(20):
        a, b, x = random_quaternion(rng), random_quaternion(rng), numbers(rng.normal(size=3))
        A, B = (Rotation.from_quat(q, scalar_first=True).as_matrix() for q in (a, b))
        close(matrix(a), A, 1e-15)
        close(matrix(quat.multiply(a, b)), A @ B, 4e-15)
        close(matrix(quat.conjugate(a)), A.T, 1e-15)
        close(quat.rotate(a, x), A @ x, 4e-15)


@pytest.mark.lane
def test_normalized_has_length_one_and_the_same_direction(rng):
    q = rng.normal(size=4)
    close(quat.normalized(numbers(17.0 * q)), q / np.linalg.norm(q), 1e-15)


@pytest.mark.lane
def test_from_matrix_inverts_to_matrix(rng):
    for _ in range(50):
        q = random_quaternion(rng)
        found = quat.from_matrix(quat.to_matrix(q))
        assert found[0] >= 0.0
        same_rotation(found, q, 1e-15)


@pytest.mark.lane
@pytest.mark.parametrize("axis", HALF_TURNS, ids=str)
@pytest.mark.parametrize("short_of_half", [0.0, 1e-16, 1e-12, 1e-8, 1e-4])
def test_from_matrix_inverts_to_matrix_near_half_turns(axis, short_of_half):
    axis = axis / np.linalg.norm(axis)
    half = 0.5 * (math.pi - short_of_half)
    for sign in (-1.0, 1.0):
        q = numbers([math.cos(half), *(sign * math.sin(half) * axis)])
        same_rotation(quat.from_matrix(quat.to_matrix(q)), q, 1e-15)


@pytest.mark.lane
def test_from_matrix_of_the_identity_is_exact():
    assert quat.from_matrix((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)) == (1.0, 0.0, 0.0, 0.0)


@given(rotation_vectors(4.0 * np.pi))
def test_exp_is_the_matrix_exponential(phi):
    q = quat.exp(numbers(phi))
    assert abs(np.linalg.norm(q) - 1.0) <= 2 * EPS
    close(matrix(q), expm(skew(phi)), 1e-13)


@given(rotation_vectors(4.0 * np.pi), vectors(3, 10.0))
def test_exp_shift_is_the_translation_of_the_matrix_exponential(phi, v):
    expected = expm(hat(np.concatenate([phi, v])))[:3, 3]
    close(quat.exp_shift(numbers(phi), numbers(v)), expected, 1e-13 * (1.0 + np.abs(v).max()))


@given(rotation_vectors(np.pi - 1e-6))
def test_log_inverts_exp(phi):
    q = quat.exp(numbers(phi))
    close(quat.log(q), phi, 1e-15 * 8)
    assert quat.log(tuple(-x for x in q)) == quat.log(q)


@given(rotation_vectors(2.0 * np.pi))
def test_exp_inverts_log(phi):
    q = quat.exp(numbers(phi))
    found = quat.log(q)
    assert np.linalg.norm(found) <= np.pi + 1e-15
    same_rotation(quat.exp(found), q, 1e-15)


@given(rotation_vectors(2.0 * np.pi - 0.1), vectors(3, 10.0))
def test_log_shift_inverts_exp_shift(phi, v):
    p = quat.exp_shift(numbers(phi), numbers(v))
    close(quat.log_shift(numbers(phi), p), v, 1e-12 * (1.0 + np.abs(v).max()))


@pytest.mark.lane
@pytest.mark.parametrize("exponent", [-320, -300, -200, -160, -155, -100, -20, -16, -9, -8, -7, -5, -4, -3, -2])
def test_tiny_rotations_keep_all_their_digits(rng, exponent):
    phi = random_unit(rng) * 10.0**exponent
    with mpmath.workdps(50):
        angle = mpmath.sqrt(sum(mpmath.mpf(x) ** 2 for x in phi))
        expected = [float(mpmath.mpf(x) / angle * mpmath.sin(angle / 2)) for x in phi]
    q = quat.exp(numbers(phi))
    np.testing.assert_allclose(q[1:], expected, rtol=4 * EPS, atol=5e-324)
    np.testing.assert_allclose(quat.log(q), phi, rtol=8 * EPS, atol=1e-323)


@pytest.mark.lane
@pytest.mark.parametrize("t2", [0.24, 0.25, 0.26, 0.99e-4, 1e-4, 1.01e-4])
def test_series_and_quotients_meet(rng, t2):
    phi, v = random_unit(rng) * math.sqrt(t2), rng.normal(size=3)
    shift = quat.exp_shift(numbers(phi), numbers(v))
    close(shift, expm(hat(np.concatenate([phi, v])))[:3, 3], 4e-15)
    close(quat.log_shift(numbers(phi), shift), v, 4e-15)


@pytest.mark.lane
@pytest.mark.parametrize("short_of_half", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
def test_log_near_half_turns(rng, short_of_half):
    for axis in (*np.eye(3), random_unit(rng)):
        phi = (math.pi - short_of_half) * axis
        found = np.array(quat.log(quat.exp(numbers(phi))))
        close(min(np.abs(found - phi).max(), np.abs(found + phi).max() if short_of_half < 1e-14 else 9.0), 0.0, 4e-15)
