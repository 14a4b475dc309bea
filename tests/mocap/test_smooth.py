"""Smoothing: no lag, the right cutoff, exact derivatives, no turn too large."""

import numpy as np
import pytest
from tests.mocap.samples import body, walk

import kinemorph as km
from kinemorph.mocap.smooth import angular, derivatives, low_pass, low_pass_rotations, reliable, residuals, smooth
from kinemorph.spatial.quaternion_arrays import about, conjugate_all, exp_all, log_all, multiply_all


def test_the_filter_has_no_lag_and_half_power_at_its_cutoff():
    dt = 0.005
    t = dt * np.arange(4000)
    for f, gain in ((1.0, 1.0), (6.0, np.sqrt(0.5)), (30.0, 0.0)):
        x = np.sin(2.0 * np.pi * f * t)
        y = low_pass(x, dt, 6.0)[500:-500]
        inner = x[500:-500]
        assert (y @ inner) / (inner @ inner) == pytest.approx(gain, abs=0.01)
        lag = np.cos(2.0 * np.pi * f * t)[500:-500]
        assert abs((y @ lag) / (lag @ lag)) < 1e-3


def test_turns_of_any_size_are_smoothed(rng):
    """Somebody turns round and round: logarithms of the whole turn would jump."""
    dt = 0.01
    t = dt * np.arange(600)
    true = multiply_all(about(2, 4.0 * t), about(0, 0.4 * np.sin(3.0 * t)))
    noisy = multiply_all(true, exp_all(0.01 * rng.normal(size=(600, 3))))
    found = low_pass_rotations(noisy[:, None], dt, 4.0)[:, 0]
    error = np.linalg.norm(log_all(multiply_all(conjugate_all(true), found)), axis=1)[60:-60]
    assert np.sqrt((error**2).mean()) < 0.006
    assert error.max() < 0.02


def test_derivatives_are_those_of_smooth_motion():
    dt = 0.01
    t = dt * np.arange(200)
    _, v, a = derivatives(np.sin(5.0 * t)[:, None], dt)
    inner = slice(8, -8)
    assert np.allclose(v[inner, 0], 5.0 * np.cos(5.0 * t)[inner], atol=1e-7)
    assert np.allclose(a[inner, 0], -25.0 * np.sin(5.0 * t)[inner], atol=1e-5)


def test_angular_velocities_and_accelerations_are_exact():
    dt = 0.01
    t = dt * np.arange(200)
    turns = multiply_all(about(2, t**2), about(0, np.sin(t)))
    _, w, al = angular(turns[:, None], dt)
    # about x after about z: the first axis is turned back by the second
    s, c = np.sin(np.sin(t)), np.cos(np.sin(t))
    expected = np.stack([np.cos(t), 2.0 * t * s, 2.0 * t * c], axis=1)
    slope = np.stack([-np.sin(t), 2.0 * s + 2.0 * t * c * np.cos(t), 2.0 * c - 2.0 * t * s * np.cos(t)], axis=1)
    inner = slice(8, -8)
    assert np.allclose(w[inner, 0], expected[inner], atol=1e-7)
    assert np.allclose(al[inner, 0], slope[inner], atol=1e-5)


def test_motion_is_consistent_with_the_model():
    analysis = walk()
    model, m, dt = analysis.model, analysis.motion, analysis.body.dt
    for k in range(30, 300, 37):
        ahead, behind = (km.integrate(model, m.q[k], m.v[k] * h + 0.5 * m.a[k] * h * h) for h in (dt, -dt))
        assert np.abs(km.difference(model, m.q[k + 1], ahead)).max() < 2e-3
        assert np.abs(km.difference(model, m.q[k - 1], behind)).max() < 2e-3


def test_residual_analysis_finds_the_noise(rng):
    model = body().model
    dt = 0.01
    t = dt * np.arange(800)
    q = np.tile(km.neutral(model), (800, 1))
    q[:, 0] = 0.3 * np.sin(2.0 * t)
    q[:, :3] += 2e-3 * rng.normal(size=(800, 3))
    for i in range(model.n):
        end = model.q_slice(i).stop
        q[:, end - 4 : end] = multiply_all(about(1, 0.3 * np.sin(2.0 * t)), exp_all(5e-3 * rng.normal(size=(800, 3))))
    found = residuals(model, q, dt)
    assert found.noise[0] == pytest.approx(2e-3 * np.sqrt(3.0), rel=0.15)
    assert found.noise[1] == pytest.approx(5e-3 * np.sqrt(3.0), rel=0.15)
    assert 1.0 <= found.best[0] < 6.0
    assert "noise" in str(found)
    assert (np.diff(found.positions) < 0.0).all()


def test_ends_are_marked_and_short_recordings_refused():
    good = reliable(400, 0.01, 6.0)
    assert not good[:16].any()
    assert not good[-16:].any()
    assert good[20:-20].all()
    model = body().model
    with pytest.raises(ValueError, match="5 frames are too few for derivatives"):
        smooth(model, np.tile(km.neutral(model), (5, 1)), 0.01)
    with pytest.raises(ValueError, match="smoothing knows spherical and free joints only"):
        smooth(km.human(), np.tile(km.neutral(km.human()), (50, 1)), 0.01)
