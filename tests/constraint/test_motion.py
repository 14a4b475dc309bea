"""Loops stay closed over time: long rollouts, energy, order, and configurations where rows depend on each other."""

from __future__ import annotations

import numpy as np
import pytest

import kinemorph as km
from kinemorph.scenes.robots import mechanisms
from kinemorph.scenes.robots.catalog import UNSTOPPED, folder, robot


def pushed(model: km.Model, data: km.Data, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random velocities that keep the loops closed."""
    coordinates = km.generalized(model, data, q)
    return coordinates.W @ rng.normal(size=coordinates.mobility)


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (mechanisms.four_bar, 1e-7),
        (mechanisms.slider_crank, 1e-7),
        (mechanisms.bennett, 1e-7),
        (mechanisms.stewart, 1e-6),
    ],
)
@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_energy_is_conserved(make: object, tolerance: float, gravity: float, rng: np.random.Generator) -> None:
    scene = make()  # type: ignore[operator]
    model = scene.model.with_gravity((0.0, 0.0, gravity))
    data = km.Data(model)
    path = km.rollout(model, data, scene.q, pushed(model, data, scene.q, rng), steps=2000, every=50)
    energies = [km.energy(model, data, *state) for state in zip(path.q, path.v, strict=True)]
    totals = np.array([e.total for e in energies])
    assert np.abs(totals - totals[0]).max() < tolerance * max(e.kinetic for e in energies)
    assert path.loop_error < 1e-9


def test_a_minute_of_simulation_leaves_loops_closed(rng: np.random.Generator) -> None:
    """60 s at 1 ms, after every single step."""
    scenes = [(mechanisms.four_bar(), "rk4"), (mechanisms.four_bar(), "euler"), (mechanisms.bennett(), "rk4")]
    scenes += [(mechanisms.delta(), "rk4"), (mechanisms.two_arms(), "rk4")]
    for (model, q), method in scenes:
        a_minute(model, q, pushed(model, km.Data(model), q, rng), method)


def test_a_minute_on_pinned_feet_leaves_them_there() -> None:
    """A robot with its motors off that hangs on two of its feet."""
    if folder() is None:
        pytest.skip("example-robot-data is not installed")
    model = robot("anymal", floating=True).with_dofs(damping=1.0, **UNSTOPPED)
    q = km.neutral(model)
    a_minute(mechanisms.held(model, q, ("LF_FOOT", "RF_FOOT")), q, np.zeros(model.nv), "rk4")


def a_minute(model: km.Model, q: np.ndarray, v: np.ndarray, method: str) -> None:
    data = km.Data(model)
    path = km.rollout(model, data, q, v, dt=1e-3, steps=60_000, every=6000, method=method)
    assert path.loop_error < 1e-9
    assert np.abs(km.loop_errors(model, data, path.q[-1])).max() < 1e-9
    assert np.abs(km.loop_jacobian(model, data, path.q[-1]) @ path.v[-1]).max() < 1e-9


@pytest.mark.lane
def test_a_few_steps_keep_loops_closed() -> None:
    for method in ("rk4", "euler"):
        model, q = mechanisms.free_flyer()
        data = km.Data(model)
        path = km.rollout(model, data, q, np.zeros(7), steps=3, method=method)
        assert path.loop_error < 1e-12
        q1, v1 = km.step(model, data, q, np.zeros(7), steps=3, method=method)
        np.testing.assert_array_equal(q1, path.q[-1])
        np.testing.assert_array_equal(v1, path.v[-1])


def test_rk4_is_of_fourth_order(rng: np.random.Generator) -> None:
    model, q = mechanisms.stewart()
    data = km.Data(model)
    v = pushed(model, data, q, rng)

    def end(steps: int) -> np.ndarray:
        path = km.rollout(model, data, q, v, dt=0.2 / steps, steps=steps, every=steps)
        return np.concatenate([km.difference(model, q, path.q[-1]), path.v[-1]])

    exact = end(800)
    coarse, fine = (np.abs(end(steps) - exact).max() for steps in (25, 50))
    assert fine < coarse / 10.0


def test_adaptive_steps_keep_loops_closed_and_agree_with_small_ones(rng: np.random.Generator) -> None:
    for model, q in (mechanisms.four_bar(), mechanisms.stewart()):
        data = km.Data(model)
        v = pushed(model, data, q, rng)
        times = np.linspace(0.0, 0.2, 5)
        path = km.rollout_adaptive(model, data, q, v, times, tolerance=1e-11)
        exact = km.rollout(model, data, q, v, dt=1e-4, steps=2000, every=500)
        np.testing.assert_allclose(path.q, exact.q, atol=1e-8)
        np.testing.assert_allclose(path.v, exact.v, atol=1e-7)
        assert path.loop_error < 1e-9


def test_a_parallelogram_runs_through_its_flat_configuration() -> None:
    """There it can go on as a parallelogram or fold over: either is right, NaN is not."""
    for bars in ((0.3, 0.9, 0.3, 0.9), (0.5, 0.5, 0.5, 0.5)):
        model, q = mechanisms.four_bar(*bars, angle=0.5)
        data = km.Data(model)
        v = km.generalized(model, data, q, keep=["crank"]).W @ [1.0]
        path = km.rollout(model, data, q, v, dt=1e-3, steps=5000, every=10)
        assert np.isfinite(path.q).all()
        assert np.abs(path.v).max() < 1e3
        assert path.q[:, 0].max() > 0.1  # it went through


def test_springs_and_dampers_of_the_tree_act() -> None:
    scene = mechanisms.four_bar()
    damped = scene.model.with_dofs(damping=[0.5, 0.0, 0.0])
    path = km.rollout(damped, km.Data(damped), scene.q, np.zeros(3), steps=20_000, every=20_000)
    assert np.abs(path.v[-1]).max() < 1e-3


def test_bad_settings_are_named() -> None:
    model, q = mechanisms.four_bar()
    data = km.Data(model)
    with pytest.raises(ValueError, match="not one of euler, rk4"):
        km.rollout(model, data, q, np.zeros(3), method="rk5")
    with pytest.raises(ValueError, match="steps -1"):
        km.rollout(model, data, q, np.zeros(3), steps=-1)
    with pytest.raises(ValueError, match=r"gap 0\.0 must be positive"):
        km.rollout(model, data, q, np.zeros(3), gap=0.0)
    with pytest.raises(km.LoopError, match="left a loop open"):
        km.rollout(model, data, q, [1.0, 0.0, 0.0], dt=5.0, steps=100)
