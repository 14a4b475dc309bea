"""Generalized coordinates: mobility, the paper's matrices, ranks that do not depend on units, choices along motions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classic import CLASSIC
from tests.naive.constrained import Closed, unit_vectors

import kinemorph as km
from kinemorph.scenes.robots import mechanisms

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("make", "expected"), CLASSIC)
def test_mobility_of_classic_mechanisms(make: object, expected: int) -> None:
    model, q = make()  # type: ignore[operator]
    data = km.Data(model)
    assert km.mobility(model, data, q) == expected
    km.forward_dynamics(model, data, q, np.zeros(model.nv), np.zeros(model.nv))
    assert model.nv - data.rank == expected  # both ways to find the rank agree


@pytest.mark.lane
def test_gives_the_matrices_of_the_paper() -> None:
    """N&Y section VII-A, eqs. 45 to 48 (J_G of eq. 46, W and S as corrected)."""
    model, q = mechanisms.free_flyer()
    data = km.Data(model)
    paper = [3, 4, 5, 0, 1, 2, 6, 7]  # θ_1 to θ_8 among ours, and rows: linear before angular
    coordinates = km.generalized(model, data, q, actuated=["link1", "link1v"], keep=[3, "link1"])
    J_C = coordinates.J[[3, 4, 5, 0, 1, 2]][:, paper]
    np.testing.assert_allclose(
        J_C,
        [
            [1, 0, 0, 0, 0, -2, -1, 0],
            [0, 1, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 2, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 0, 0],
            [0, 0, 0, 0, 0, 1, 1, -1],
        ],
        atol=1e-15,
    )  # eq. 45
    assert coordinates.independent == (3, 6)  # θ_1 and θ_7
    assert coordinates.mobility == 2
    order = [coordinates.dependent.index(paper[k]) for k in (1, 2, 3, 4, 5, 7)]
    np.testing.assert_allclose(
        coordinates.H[order], [[0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0.5, 0.5]], atol=1e-15
    )  # eq. 46
    W = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0, 1]]
    np.testing.assert_allclose(coordinates.W[paper[:7]], W, atol=1e-15)  # eq. 47
    np.testing.assert_allclose(coordinates.S, [[0, 1], [0.5, 0.5]], atol=1e-15)  # eq. 48


def test_coordinates_are_kept_until_they_are_bad() -> None:
    """The crank of a four-bar whose rocker is about to turn back: near there the rocker is no coordinate."""
    model, q = mechanisms.four_bar(angle=1.0)
    data = km.Data(model)
    for name, k in (("crank", 0), ("coupler", 1), ("rocker", 2)):
        assert km.generalized(model, data, q, keep=[name]).independent == (k,)
    crank, rod = 0.2, 0.7
    model, _ = mechanisms.slider_crank(crank, rod)
    data = km.Data(model)
    dead_centre = np.array([-1e-7, 1e-7, crank + rod])  # the slider turns back: its speed says nothing about the crank
    assert km.generalized(model, data, dead_centre, keep=["slider"]).independent != (2,)


def turning(scene: mechanisms.Scene, speed: float) -> km.Trajectory:
    """The motion of a mechanism without gravity whose crank starts at a speed."""
    model = scene.model.with_gravity((0, 0, 0))
    data = km.Data(model)
    v = km.generalized(model, data, scene.q, keep=["crank"]).W @ [speed]
    return km.rollout(model, data, scene.q, v, dt=1e-3, steps=2500, every=5)


def test_good_coordinates_are_kept_all_the_way() -> None:
    """A crank that turns round is a coordinate everywhere, so it stays one."""
    for scene in (mechanisms.four_bar(), mechanisms.slider_crank()):
        data = km.Data(scene.model)
        kept: tuple[int, ...] = (0,)
        for q in turning(scene, -6.0).q:
            kept = km.generalized(scene.model, data, q, keep=kept).independent
            assert kept == (0,)


@pytest.mark.parametrize(("make", "start"), [(mechanisms.slider_crank, 2), (mechanisms.four_bar, 2)])
def test_bad_coordinates_are_left_in_time_and_nothing_jumps(make: object, start: int) -> None:
    """A slider or rocker turns back where the crank goes on: there it is left, while both are still good."""
    scene = make()  # type: ignore[operator]
    model, data = scene.model, km.Data(scene.model)
    path = turning(scene, -6.0)
    assert np.ptp(path.q[:, 0]) > 2.0 * np.pi
    kept: tuple[int, ...] = (start,)
    switches, before = 0, None
    for q, v in zip(path.q, path.v, strict=True):
        coordinates = km.generalized(model, data, q, keep=kept)
        assert coordinates.mobility == 1
        # well conditioned: no joint moves much faster than the coordinate, measured by what the best choice gives
        best = km.generalized(model, data, q)
        assert np.abs(coordinates.W).max() < 20.0 * np.abs(best.W).max()
        # the motion is the same in either
        np.testing.assert_allclose(coordinates.W @ v[list(coordinates.independent)], v, atol=1e-9)
        if coordinates.independent == kept and before is not None:
            assert np.abs(coordinates.W - before).max() < 0.2 * (1.0 + np.abs(before).max())  # W follows smoothly
        elif before is not None:
            switches += 1
            for choice in (coordinates, km.generalized(model, data, q, keep=kept)):
                check_dynamics(model, q, v, choice)
        kept, before = coordinates.independent, coordinates.W
    assert 1 <= switches <= 12  # left when bad, and not given up at every step


def check_dynamics(model: km.Model, q: np.ndarray, v: np.ndarray, coordinates: km.Coordinates) -> None:
    data = km.Data(model)
    tau = np.array([0.3, -0.2, 0.1])
    closed = Closed(model, q, v, km.loop_positions(model, data, q))
    a = km.forward_dynamics(model, data, q, v, tau)
    np.testing.assert_allclose(unit_vectors(closed, coordinates, tau), a, atol=1e-8 * (1.0 + np.abs(a).max()))


def scaled(model: km.Model, length: float, mass: float) -> km.Model:
    """The same model in other units of length and mass."""
    rows = model.links.copy()
    rows["p"] *= length
    rows["pitch"] *= length
    rows["mass"] *= mass
    rows["h"] *= mass * length
    rows["I"] *= mass * length**2
    loops = [
        km.Loop(
            loop.a,
            loop.b,
            loop.joint,
            km.Pose(length * loop.at_a.position, loop.at_a.rotation),
            km.Pose(length * loop.at_b.position, loop.at_b.rotation),
            loop.name,
        )
        for loop in model.loops
    ]
    return km.Model(model.name, rows, model.dofs, model.names, model.joint_names, model.rest, loops=loops)


@pytest.mark.parametrize(("make", "expected"), CLASSIC)
@pytest.mark.parametrize(("length", "mass"), [(1e-3, 1.0), (1e3, 1.0), (1.0, 1e-6), (1e-3, 1e6)])
def test_the_rank_does_not_depend_on_units(make: object, expected: int, length: float, mass: float) -> None:
    scene = make()  # type: ignore[operator]
    model, q = scaled(scene.model, length, mass), scene.q
    for l in model.links:
        places = slice(int(l["iq"]), int(l["iq"]) + (3 if l["kind"] == km.JointKind.FREE else 1))
        if l["kind"] in (km.JointKind.PRISMATIC, km.JointKind.FREE):
            q[places] *= length
    data = km.Data(model)
    assert np.abs(km.loop_errors(model, data, q)).max() < 1e-10 * max(length, 1.0)
    zero = np.zeros(model.nv)
    km.forward_dynamics(model, data, q, zero, zero)
    assert model.nv - data.rank == expected
    assert km.mobility(model, data, q) == expected
