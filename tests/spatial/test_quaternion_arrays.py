"""Quaternions in arrays do what those in kernels do."""

import numpy as np

from kinemorph.spatial import quaternion, quaternion_arrays


def test_arrays_agree_with_kernels(rng):
    a, b = (quaternion_arrays.normalize_all(rng.normal(size=(20, 4))) for _ in range(2))
    v = rng.normal(size=(20, 3))
    for k in range(20):
        qa, qb, x = tuple(a[k].tolist()), tuple(b[k].tolist()), tuple(v[k].tolist())
        assert np.allclose(quaternion_arrays.multiply_all(a, b)[k], quaternion.multiply(qa, qb))
        assert np.allclose(quaternion_arrays.rotate_all(a, v)[k], quaternion.rotate(qa, x))
        assert np.allclose(quaternion_arrays.exp_all(v)[k], quaternion.exp(x))
        assert np.allclose(quaternion_arrays.log_all(a)[k], quaternion.log(qa))
        assert np.allclose(quaternion_arrays.to_matrices(a)[k].ravel(), quaternion.to_matrix(qa))


def test_log_undoes_exp_near_zero_and_near_a_half_turn():
    phi = np.array([[0.0, 0.0, 0.0], [1e-12, 0.0, 0.0], [0.0, 1e-5, 0.0], [0.0, 0.0, 3.14]])
    assert np.allclose(quaternion_arrays.log_all(quaternion_arrays.exp_all(phi)), phi, atol=1e-15, rtol=1e-12)


def test_continuous_signs_change_no_rotation(rng):
    angle = np.linspace(0.0, 30.0, 200)
    path = quaternion_arrays.about(2, angle) * rng.choice([-1.0, 1.0], 200)[:, None]
    smooth = quaternion_arrays.continuous(path)
    assert (np.sum(smooth[1:] * smooth[:-1], axis=1) > 0.9).all()
    assert np.allclose(quaternion_arrays.to_matrices(smooth), quaternion_arrays.to_matrices(path))
