"""Loops stay closed: projection, consistent starts, and long simulations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.constrained import random_closed
from tests.strategies import random_tree

import kinemorph as km
from kinemorph.scenes import mechanisms
from kinemorph.scenes.robots import folder, robot
from kinemorph.structure.closed_motion import closed_rollout
from kinemorph.constraint.closure import LoopError, close, project
from kinemorph.constraint.generalized import generalized
from kinemorph.constraint.loops import loop_errors, loop_jacobian
from kinemorph.structure.loops import ClosedData, Loop, Mechanism

KINDS = [kind for kind in km.JointKind if kind is not km.JointKind.FREE]
SCENES = [mechanisms.four_bar, mechanisms.slider_crank, mechanisms.bennett, mechanisms.stewart, mechanisms.two_arms]


@pytest.mark.lane
@pytest.mark.parametrize("kind", KINDS)
def test_projection_closes_what_has_drifted(kind: km.JointKind, rng: np.random.Generator) -> None:
    mechanism, q, _, _ = random_closed(rng, random_tree(rng, 12, roots=2), [kind, km.JointKind.SPHERICAL])
    data = ClosedData(mechanism)
    model = mechanism.model
    drifted = km.integrate(model, q, rng.normal(size=model.nv), 1e-3)
    v = rng.normal(size=model.nv)
    q1, v1 = project(mechanism, data, drifted, v)
    np.testing.assert_allclose(loop_errors(mechanism, data, q1), 0.0, atol=1e-11)
    np.testing.assert_allclose(loop_jacobian(mechanism, data, q1) @ v1, 0.0, atol=1e-11)
    assert np.abs(km.difference(model, drifted, q1)).max() < 0.1
    # what is closed stays where it is
    q2, v2 = project(mechanism, data, q1, v1)
    np.testing.assert_allclose(q2, q1, atol=1e-11)
    np.testing.assert_allclose(v2, v1, atol=1e-11)


def test_projection_of_velocities_is_the_nearest_in_the_metric_of_mass(rng: np.random.Generator) -> None:
    mechanism, q, _, _ = random_closed(rng, random_tree(rng, 8), [km.JointKind.UNIVERSAL])
    data = ClosedData(mechanism)
    v = rng.normal(size=mechanism.model.nv)
    _, v1 = project(mechanism, data, q, v)
    M = km.crba(mechanism.model, data.tree, q)
    J = loop_jacobian(mechanism, data, q)
    free = np.linalg.svd(J)[2][np.linalg.matrix_rank(J) :]
    np.testing.assert_allclose(free @ M @ (v1 - v), 0.0, atol=1e-10)


@pytest.mark.parametrize("make", SCENES)
def test_a_configuration_is_found_from_afar(make: object, rng: np.random.Generator) -> None:
    mechanism, q = make()  # type: ignore[operator]
    data = ClosedData(mechanism)
    far = km.integrate(mechanism.model, q, rng.normal(size=mechanism.model.nv), 0.3)
    np.testing.assert_allclose(loop_errors(mechanism, data, close(mechanism, data, far)), 0.0, atol=1e-10)


def test_only_free_joints_move() -> None:
    mechanism, q = mechanisms.four_bar(angle=1.0)
    data = ClosedData(mechanism)
    q[0] -= 0.3
    found = close(mechanism, data, q, free=["coupler", "rocker"])
    assert found[0] == q[0]
    np.testing.assert_allclose(loop_errors(mechanism, data, found), 0.0, atol=1e-10)


def test_one_free_joint_may_be_named_without_a_list() -> None:
    mechanism, q = mechanisms.four_bar(angle=1.0)
    with pytest.raises(LoopError, match="stays open"):  # one joint is not enough, but its name is understood
        close(mechanism, ClosedData(mechanism), q + [0.3, 0.0, 0.0], free="coupler", tries=1)
    with pytest.raises(KeyError, match="no joint 'coupling'"):
        close(mechanism, ClosedData(mechanism), q, free="coupling")


def test_a_loop_out_of_reach_is_named() -> None:
    mechanism, q = mechanisms.four_bar()
    model = mechanism.model
    short = Loop("coupler", "rocker", km.Joint.revolute("y"), (0.8, 0, 0), (0.6, 0, 0), "near")
    far = Loop(-1, "rocker", km.Joint.spherical(), (5.0, 0, 0), (0.6, 0, 0), "far")
    impossible = Mechanism(model, [short, far])
    with pytest.raises(LoopError, match="loop 'far' stays open") as caught:
        close(impossible, ClosedData(impossible), q, tries=2)
    assert caught.value.loop == "far"
    assert caught.value.residual > 1.0
    assert caught.value.q.shape == (3,)
    with pytest.raises(LoopError, match="projection"):
        project(impossible, ClosedData(impossible), q)
    # the crank alone cannot close it
    with pytest.raises(LoopError):
        close(mechanism, ClosedData(mechanism), q + [0.0, 0.4, 0.0], free=["crank"], tries=2)


def test_a_flat_start_is_left() -> None:
    """All bars on a line that is too short: the way out is across, where no derivative points."""
    mechanism, _ = mechanisms.four_bar(0.5, 0.6, 0.5, 0.9)
    data = ClosedData(mechanism)
    found = close(mechanism, data, np.zeros(3))
    np.testing.assert_allclose(loop_errors(mechanism, data, found), 0.0, atol=1e-10)


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
    model = scene.mechanism.model.with_gravity((0.0, 0.0, gravity))
    mechanism = Mechanism(model, scene.mechanism.loops)
    data = ClosedData(mechanism)
    coordinates = generalized(mechanism, data, scene.q)
    v = coordinates.W @ rng.normal(size=coordinates.mobility)
    path = closed_rollout(mechanism, data, scene.q, v, steps=2000, every=50)
    energies = [km.energy(model, data.tree, *state) for state in zip(path.q, path.v, strict=True)]
    totals = np.array([e.total for e in energies])
    assert np.abs(totals - totals[0]).max() < tolerance * max(e.kinetic for e in energies)
    assert path.error < 1e-9


def test_a_minute_of_simulation_leaves_loops_closed(rng: np.random.Generator) -> None:
    """60 s at 1 ms, after every single step."""
    scenes = [(mechanisms.four_bar(), "rk4"), (mechanisms.four_bar(), "euler"), (mechanisms.bennett(), "rk4")]
    scenes += [(mechanisms.delta(), "rk4"), (mechanisms.two_arms(), "rk4")]
    for (mechanism, q), method in scenes:
        data = ClosedData(mechanism)
        coordinates = generalized(mechanism, data, q)
        a_minute(mechanism, q, coordinates.W @ rng.normal(size=coordinates.mobility), method)


def test_a_minute_on_pinned_feet_leaves_them_there() -> None:
    """A robot with its motors off that hangs on two of its feet."""
    if folder() is None:
        pytest.skip("example-robot-data is not installed")
    model = robot("anymal", floating=True).with_dofs(damping=1.0)
    q = km.neutral(model)
    a_minute(mechanisms.held(model, q, ("LF_FOOT", "RF_FOOT")), q, np.zeros(model.nv), "rk4")


def a_minute(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, method: str) -> None:
    data = ClosedData(mechanism)
    path = closed_rollout(mechanism, data, q, v, dt=1e-3, steps=60_000, every=6000, method=method)
    assert path.error < 1e-9
    assert np.abs(loop_errors(mechanism, data, path.q[-1])).max() < 1e-9
    assert np.abs(loop_jacobian(mechanism, data, path.q[-1]) @ path.v[-1]).max() < 1e-9


@pytest.mark.lane
def test_a_few_steps_keep_loops_closed() -> None:
    for method in ("rk4", "euler"):
        mechanism, q = mechanisms.free_flyer()
        data = ClosedData(mechanism)
        assert closed_rollout(mechanism, data, q, np.zeros(7), steps=3, method=method).error < 1e-12


def test_rk4_is_of_fourth_order(rng: np.random.Generator) -> None:
    mechanism, q = mechanisms.stewart()
    data = ClosedData(mechanism)
    v = generalized(mechanism, data, q).W @ rng.normal(size=6)

    def end(steps: int) -> np.ndarray:
        path = closed_rollout(mechanism, data, q, v, dt=0.2 / steps, steps=steps, every=steps)
        return np.concatenate([km.difference(mechanism.model, q, path.q[-1]), path.v[-1]])

    exact = end(800)
    coarse, fine = (np.abs(end(steps) - exact).max() for steps in (25, 50))
    assert fine < coarse / 10.0


def test_a_parallelogram_runs_through_its_flat_configuration() -> None:
    """There it can go on as a parallelogram or fold over: either is right, NaN is not."""
    for bars in ((0.3, 0.9, 0.3, 0.9), (0.5, 0.5, 0.5, 0.5)):
        mechanism, q = mechanisms.four_bar(*bars, angle=0.5)
        data = ClosedData(mechanism)
        v = generalized(mechanism, data, q, keep=["crank"]).W @ [1.0]
        path = closed_rollout(mechanism, data, q, v, dt=1e-3, steps=5000, every=10)
        assert np.isfinite(path.q).all()
        assert np.abs(path.v).max() < 1e3
        assert path.q[:, 0].max() > 0.1  # it went through


def test_springs_and_dampers_of_the_tree_act() -> None:
    mechanism, q = mechanisms.four_bar()
    damped = Mechanism(mechanism.model.with_dofs(damping=[0.5, 0.0, 0.0]), mechanism.loops)
    data = ClosedData(damped)
    path = closed_rollout(damped, data, q, np.zeros(3), steps=20_000, every=20_000)
    assert np.abs(path.v[-1]).max() < 1e-3


def test_bad_settings_are_named() -> None:
    mechanism, q = mechanisms.four_bar()
    data = ClosedData(mechanism)
    with pytest.raises(ValueError, match="not one of euler, rk4"):
        closed_rollout(mechanism, data, q, np.zeros(3), method="rk5")
    with pytest.raises(ValueError, match="steps -1"):
        closed_rollout(mechanism, data, q, np.zeros(3), steps=-1)
    with pytest.raises(LoopError, match="left a loop open"):
        closed_rollout(mechanism, data, q, [1.0, 0.0, 0.0], dt=5.0, steps=100)
    with pytest.raises(ValueError, match=r"tolerance 2\.0"):
        Mechanism(mechanism.model, mechanism.loops, tolerance=2.0)
