"""The algebraic law of collisions agrees with its definition, and adds no energy."""

import numpy as np
import pytest
from tests import random_collisions
from tests.random_collisions import ROUNDING, random_batch

pytestmark = pytest.mark.quick


def collide(u, K, e=0.0, tangential=0.0, friction=1.0):
    """The impulse for a velocity and a matrix, by rows whose products are K."""
    rows = np.linalg.cholesky(np.asarray(K, float))  # K = Y Yᵀ
    z = np.linalg.solve(rows, np.asarray(u, float))
    return random_collisions.collide(rows[None], z[None], np.array([[e, tangential, friction]]))[0][0]


@pytest.fixture
def matrix():
    a = np.random.default_rng(3).normal(size=(3, 5))
    return a @ a.T


def test_without_friction_a_plastic_impulse_stops_the_normal_velocity(matrix):
    u = np.array([-2.0, 0.7, -0.4])
    assert collide(u, matrix, friction=0.0) == pytest.approx([2.0 / matrix[0, 0], 0.0, 0.0])


def test_a_plastic_impulse_with_much_friction_stops_everything(matrix):
    u = np.array([-2.0, 0.07, -0.04])
    p = collide(u, matrix, friction=1e6)
    assert p == pytest.approx(-np.linalg.solve(matrix, u))


def test_normal_restitution_is_exact_whatever_friction_does(matrix):
    u = np.array([-2.0, 3.0, -4.0])
    for e in (0.0, 0.3, 1.0):
        for friction in (0.0, 0.2, 5.0):
            for tangential in (-1.0, 0.0, 0.6, 1.0):
                p = collide(u, matrix, e, tangential, friction)
                assert (u + matrix @ p)[0] == pytest.approx(2.0 * e, abs=1e-12)


def test_tangential_restitution_turns_what_slides_around(matrix):
    u = np.array([-2.0, 0.07, -0.04])
    plain = u + matrix @ collide(u, matrix, 0.0, -1.0, 1e6)  # what slides after a frictionless impact
    for tangential in (-1.0, 0.0, 0.5, 1.0):
        after = u + matrix @ collide(u, matrix, 0.0, tangential, 1e6)
        assert after[1:] == pytest.approx(-tangential * plain[1:])


def test_what_slides_has_an_impulse_on_the_cone(matrix):
    u = np.array([-1.0, 30.0, 10.0])
    p = collide(u, matrix, 0.5, 0.0, 0.3)
    assert np.hypot(p[1], p[2]) == pytest.approx(0.3 * p[0])


def test_a_ball_that_slides_loses_friction_times_its_normal_impulse():
    """In closed form: K is diagonal, 1/m along the normal and 7/2m along the tangents of a solid ball."""
    m, e, friction = 2.0, 0.6, 0.1
    p = collide([-3.0, 5.0, 0.0], np.diag([1.0 / m, 3.5 / m, 3.5 / m]), e, 0.0, friction)
    assert p == pytest.approx([m * 3.0 * (1.0 + e), -friction * m * 3.0 * (1.0 + e), 0.0])
    p = collide([-3.0, 0.5, 0.0], np.diag([1.0 / m, 3.5 / m, 3.5 / m]), e, 0.0, 1.0)
    assert p == pytest.approx([m * 3.0 * (1.0 + e), -m * 0.5 / 3.5, 0.0])


def test_what_parts_has_no_impulse(matrix):
    assert not collide([0.5, -3.0, 1.0], matrix).any()


def test_friction_stays_in_its_cone_and_energy_never_rises_in_random_collisions():
    rng = np.random.default_rng(0)
    for _ in range(8):
        coefficients, p, gains = random_batch(rng, 5000)
        assert (p[:, 0] >= 0.0).all()
        assert (np.hypot(p[:, 1], p[:, 2]) <= coefficients[:, 2] * p[:, 0] * (1.0 + 1e-9) + 1e-300).all()
        assert gains.max() <= ROUNDING
