"""Generalized coordinates along motions, and ranks that do not depend on units."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.constrained import Closed, unit_vectors
from tests.structure.checks import CLASSIC

import kinemorph as km
from kinemorph.scenes import mechanisms


def turning(scene: mechanisms.Scene, speed: float) -> km.ClosedTrajectory:
    """The motion of a mechanism without gravity whose crank starts at a speed."""
    mechanism = km.Mechanism(scene.mechanism.model.with_gravity((0, 0, 0)), scene.mechanism.loops)
    data = km.ClosedData(mechanism)
    v = km.generalized(mechanism, data, scene.q, keep=["crank"]).W @ [speed]
    return km.closed_rollout(mechanism, data, scene.q, v, dt=1e-3, steps=2500, every=5)


def test_good_coordinates_are_kept_all_the_way() -> None:
    """A crank that turns round is a coordinate everywhere, so it stays one."""
    for scene in (mechanisms.four_bar(), mechanisms.slider_crank()):
        data = km.ClosedData(scene.mechanism)
        kept: tuple[int, ...] = (0,)
        for q in turning(scene, -6.0).q:
            kept = km.generalized(scene.mechanism, data, q, keep=kept).independent
            assert kept == (0,)


@pytest.mark.parametrize(("make", "start"), [(mechanisms.slider_crank, 2), (mechanisms.four_bar, 2)])
def test_bad_coordinates_are_left_in_time_and_nothing_jumps(make: object, start: int) -> None:
    """A slider or rocker turns back where the crank goes on: there it is left, while both are still good."""
    scene = make()  # type: ignore[operator]
    mechanism, data = scene.mechanism, km.ClosedData(scene.mechanism)
    path = turning(scene, -6.0)
    assert np.ptp(path.q[:, 0]) > 2.0 * np.pi
    kept: tuple[int, ...] = (start,)
    switches, before = 0, None
    for q, v in zip(path.q, path.v, strict=True):
        coordinates = km.generalized(mechanism, data, q, keep=kept)
        assert coordinates.mobility == 1
        # well conditioned: no joint moves much faster than the coordinate, measured by what the best choice gives
        best = km.generalized(mechanism, data, q)
        assert np.abs(coordinates.W).max() < 20.0 * np.abs(best.W).max()
        # the motion is the same in either
        np.testing.assert_allclose(coordinates.W @ v[list(coordinates.independent)], v, atol=1e-9)
        if coordinates.independent == kept and before is not None:
            assert np.abs(coordinates.W - before).max() < 0.2 * (1.0 + np.abs(before).max())  # W follows smoothly
        elif before is not None:
            switches += 1
            for choice in (coordinates, km.generalized(mechanism, data, q, keep=kept)):
                check_dynamics(mechanism, q, v, choice)
        kept, before = coordinates.independent, coordinates.W
    assert 1 <= switches <= 12  # left when bad, and not given up at every step


def check_dynamics(mechanism: km.Mechanism, q: np.ndarray, v: np.ndarray, coordinates: km.Coordinates) -> None:
    data = km.ClosedData(mechanism)
    tau = np.array([0.3, -0.2, 0.1])
    closed = Closed(mechanism, q, v, km.loop_positions(mechanism, data, q))
    a = km.closed_dynamics(mechanism, data, q, v, tau)
    np.testing.assert_allclose(unit_vectors(closed, coordinates, tau), a, atol=1e-8 * (1.0 + np.abs(a).max()))


def scaled(mechanism: km.Mechanism, length: float, mass: float) -> km.Mechanism:
    """The same mechanism in other units of length and mass."""
    model = mechanism.model
    rows = model.links.copy()
    rows["p"] *= length
    rows["pitch"] *= length
    rows["mass"] *= mass
    rows["h"] *= mass * length
    rows["I"] *= mass * length**2
    other = km.Model(model.name, rows, model.dofs, model.names, model.joint_names, model.rest)
    loops = [
        km.Loop(
            loop.a,
            loop.b,
            loop.joint,
            km.Pose(length * loop.at_a.position, loop.at_a.rotation),
            km.Pose(length * loop.at_b.position, loop.at_b.rotation),
            name,
        )
        for loop, name in zip(mechanism.loops, mechanism.names, strict=True)
    ]
    return km.Mechanism(other, loops)


@pytest.mark.parametrize(("make", "expected"), CLASSIC)
@pytest.mark.parametrize(("length", "mass"), [(1e-3, 1.0), (1e3, 1.0), (1.0, 1e-6), (1e-3, 1e6)])
def test_the_rank_does_not_depend_on_units(make: object, expected: int, length: float, mass: float) -> None:
    mechanism, q = make()  # type: ignore[operator]
    other = scaled(mechanism, length, mass)
    for l in other.model.links:
        places = slice(int(l["iq"]), int(l["iq"]) + (3 if l["kind"] == km.JointKind.FREE else 1))
        if l["kind"] in (km.JointKind.PRISMATIC, km.JointKind.FREE):
            q[places] *= length
    data = km.ClosedData(other)
    assert np.abs(km.loop_errors(other, data, q)).max() < 1e-10 * max(length, 1.0)
    zero = np.zeros(other.model.nv)
    km.closed_dynamics(other, data, q, zero, zero)
    assert other.model.nv - data.rank == expected
    assert km.mobility(other, data, q) == expected


def test_least_torque_in_the_norm_of_a_matrix(rng: np.random.Generator) -> None:
    mechanism, q = mechanisms.two_arms()
    data = km.ClosedData(mechanism)
    nv = mechanism.model.nv
    v = np.zeros(nv)
    a = km.closed_dynamics(mechanism, data, q, v, rng.normal(size=nv))
    arms = [name for name in mechanism.model.joint_names if name != "box"]
    root = rng.normal(size=(14, 14))
    norm = root @ root.T + 0.1 * np.eye(14)
    plan = km.closed_inverse_dynamics(mechanism, data, q, v, a, arms, weights=norm)
    assert plan.residual < 1e-8
    np.testing.assert_allclose(plan.internal.T @ norm @ plan.tau, 0.0, atol=1e-8 * np.abs(norm @ plan.tau).max())
    same = km.closed_inverse_dynamics(mechanism, data, q, v, a, arms, weights=np.diag(norm))
    diagonal = km.closed_inverse_dynamics(mechanism, data, q, v, a, arms, weights=np.diag(np.diag(norm)))
    np.testing.assert_allclose(same.tau, diagonal.tau, atol=1e-9 * np.abs(same.tau).max())
    assert plan.tau @ norm @ plan.tau < same.tau @ norm @ same.tau
    for bad in (-norm, root, np.eye(3), np.full((14, 14), np.nan)):
        with pytest.raises(ValueError, match="weights must be 14 positive numbers"):
            km.closed_inverse_dynamics(mechanism, data, q, v, a, arms, weights=bad)


def test_a_loop_that_cannot_close_says_why() -> None:
    mechanism, q = mechanisms.four_bar()
    far = km.Loop(-1, "rocker", km.Joint.spherical(), (5.0, 0, 0), (0.6, 0, 0), "far")
    impossible = km.Mechanism(mechanism.model, [*mechanism.loops, far])
    with pytest.raises(km.LoopError, match=r"loop 'far' stays open by .* seems out of reach"):
        km.close(impossible, km.ClosedData(impossible), q, tries=2)
