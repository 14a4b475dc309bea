"""Vectors and matrices as tuples against NumPy, to rounding (1e-14)."""

import numpy as np
import pytest
from tests.naive.spatial import skew, sym_matrix

from kinemorph.spatial import mat3, vec3

pytestmark = pytest.mark.lane

TOLERANCE = 1e-14


def numbers(rng, size):
    return tuple(rng.normal(size=size).tolist())


def same(result, expected):
    np.testing.assert_allclose(np.ravel(result), np.ravel(expected), rtol=0.0, atol=TOLERANCE)


def packed(S):
    """(xx, xy, xz, yy, yz, zz) of a symmetric matrix."""
    return np.asarray(S)[np.triu_indices(3)]


def matrix(A):
    return np.reshape(A, (3, 3))


def test_vectors_agree_with_numpy(rng):
    a, b, s = numbers(rng, 3), numbers(rng, 3), 0.7
    u, w = np.array(a), np.array(b)
    same(vec3.add(a, b), u + w)
    same(vec3.sub(a, b), u - w)
    same(vec3.neg(a), -u)
    same(vec3.scale(a, s), s * u)
    same(vec3.axpy(a, s, b), u + s * w)
    same(vec3.dot(a, b), u @ w)
    same(vec3.cross(a, b), np.cross(u, w))


def test_matrices_agree_with_numpy(rng):
    A, B, b = numbers(rng, 9), numbers(rng, 9), numbers(rng, 3)
    same(mat3.mul(A, B), matrix(A) @ matrix(B))
    same(mat3.mul_vec(A, b), matrix(A) @ b)
    same(mat3.tmul_vec(A, b), matrix(A).T @ b)
    same(mat3.transpose(A), matrix(A).T)
    same(mat3.add9(A, B), matrix(A) + matrix(B))
    same(mat3.mul(mat3.IDENTITY, A), A)


def test_skew_is_the_matrix_of_the_cross_product(rng):
    a, b = numbers(rng, 3), numbers(rng, 3)
    same(mat3.skew(a), skew(a))
    same(mat3.mul_vec(mat3.skew(a), b), np.cross(a, b))


def test_symmetric_matrices_agree_with_numpy(rng):
    S, T, a = numbers(rng, 6), numbers(rng, 6), numbers(rng, 3)
    same(mat3.sym_vec(S, a), sym_matrix(S) @ a)
    same(mat3.add6(S, T), packed(sym_matrix(S) + sym_matrix(T)))
    same(mat3.cross_sym(a, S), skew(a) @ sym_matrix(S))


def test_outer_products_are_subtracted(rng):
    A, S, a, b = numbers(rng, 9), numbers(rng, 6), numbers(rng, 3), numbers(rng, 3)
    parallel = tuple(-2.5 * x for x in a)
    same(mat3.sub_outer(A, a, b), matrix(A) - np.outer(a, b))
    same(mat3.sub_outer_sym(S, a, parallel), packed(sym_matrix(S) - np.outer(a, parallel)))


def test_rotate_sym_is_a_congruence_with_any_matrix(rng):
    R, S = numbers(rng, 9), numbers(rng, 6)
    same(mat3.rotate_sym(R, S), packed(matrix(R) @ sym_matrix(S) @ matrix(R).T))
