"""Inertias that move to another point, against congruences of 6x6 matrices (1e-13)."""

import numpy as np
import pytest
from tests.naive.spatial import inertia_matrix, motion_transform, skew, sym_matrix

from kinemorph.spatial import inertia

pytestmark = pytest.mark.lane


def numbers(rng, size):
    return tuple(rng.normal(size=size).tolist())


def articulated_matrix(A, H, M):
    return np.block([[sym_matrix(A), np.reshape(H, (3, 3))], [np.reshape(H, (3, 3)).T, sym_matrix(M)]])


def seen_from(r, I):
    """Xᵀ I X where X takes motion at a point to motion at r from it."""
    X = motion_transform(np.eye(3), np.array(r))
    return X.T @ I @ X


def same(result, expected):
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_shift_articulated_is_a_congruence(seed):
    rng = np.random.default_rng(seed)
    r, A, H, M = numbers(rng, 3), numbers(rng, 6), numbers(rng, 9), numbers(rng, 6)
    shifted = articulated_matrix(*inertia.shift_articulated(r, A, H, M))
    same(shifted, seen_from(r, articulated_matrix(A, H, M)))


@pytest.mark.parametrize("seed", range(5))
def test_shift_rigid_is_a_congruence(seed):
    rng = np.random.default_rng(seed)
    r, I, h, m = numbers(rng, 3), numbers(rng, 6), numbers(rng, 3), 1.7
    I_shifted, h_shifted = inertia.shift_rigid(r, I, h, m)
    shifted = inertia_matrix(sym_matrix(I_shifted), h_shifted, m)
    same(shifted, seen_from(r, inertia_matrix(sym_matrix(I), h, m)))


def test_shift_force_is_the_transpose_of_a_motion_transform(rng):
    r, n, f = numbers(rng, 3), numbers(rng, 3), numbers(rng, 3)
    expected = motion_transform(np.eye(3), np.array(r)).T @ np.array([*n, *f])
    same(inertia.shift_force(r, n, f), expected[:3])
    same(f, expected[3:])


def test_articulated_force_is_a_product_of_matrices(rng):
    A, H, M, w, v = numbers(rng, 6), numbers(rng, 9), numbers(rng, 6), numbers(rng, 3), numbers(rng, 3)
    moment, force = inertia.articulated_force(A, H, M, w, v)
    same([*moment, *force], articulated_matrix(A, H, M) @ np.array([*w, *v]))


def test_a_rigid_inertia_is_an_articulated_one(rng):
    I, h, m = numbers(rng, 6), numbers(rng, 3), 0.9
    articulated = articulated_matrix(I, skew(h).ravel(), (m, 0.0, 0.0, m, 0.0, m))
    same(articulated, inertia_matrix(sym_matrix(I), h, m))
