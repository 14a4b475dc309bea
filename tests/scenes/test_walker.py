"""The compass walker (SPW section 8): impacts by two ways, a steady gait, and its return map."""

from itertools import pairwise

import numpy as np
import pytest

from kinemorph.multibody.state import State
from kinemorph.scenes.structure.walker import (  # fmt: skip
    FOOT,
    HIP_MASS,
    LEG_MASS,
    LENGTH,
    MIDDLE,
    SLOPE,
    basin,
    compass,
    draw_walker,
    feet,
    plot_energies,
    points,
    return_map,
    strike,
    strike_by_momentum,
    walk,
)
from kinemorph.view.pictures.plots import empty_figure


def leg(angle: float) -> np.ndarray:
    """From foot to hip, in the plane x z."""
    return LENGTH * np.array([-np.sin(angle), np.cos(angle)])


def cross(a: np.ndarray, b: np.ndarray) -> float:
    return a[1] * b[0] - a[0] * b[1]  # about -y, the axis of the angles


def after_by_angular_momentum(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """SPW eq. 23 with masses and moments written out: absolute rates of the new standing and swinging leg."""
    old, new = q[0], q.sum()
    w_old, w_new = v[0], v.sum()

    def turn(angle: float, rate: float) -> np.ndarray:  # velocity of the hip against the foot
        return rate * LENGTH * np.array([-np.cos(angle), -np.sin(angle)])

    foot_new = leg(old) - leg(new)
    hip, hip_speed = leg(old), turn(old, w_old)
    stance, stance_speed = MIDDLE * leg(old), MIDDLE * turn(old, w_old)
    swing = leg(old) - (1 - MIDDLE) * leg(new)
    swing_speed = hip_speed - (1 - MIDDLE) * turn(new, w_new)
    total = (
        HIP_MASS * cross(hip - foot_new, hip_speed)
        + LEG_MASS * cross(stance - foot_new, stance_speed)
        + LEG_MASS * cross(swing - foot_new, swing_speed)
    )
    own = LEG_MASS * cross(stance - hip, stance_speed)  # of the leg that will swing, about the hip

    def momenta(rates: np.ndarray) -> np.ndarray:
        a, b = rates  # absolute rates of the new standing and swinging leg
        hip_now = turn(new, a)
        standing_now = MIDDLE * turn(new, a)
        swinging_now = hip_now - (1 - MIDDLE) * turn(old, b)
        return np.array([
            HIP_MASS * cross(hip - foot_new, hip_now)
            + LEG_MASS * cross(swing - foot_new, standing_now)
            + LEG_MASS * cross(stance - foot_new, swinging_now),
            LEG_MASS * cross(stance - hip, swinging_now),
        ])  # fmt: skip

    H = np.stack([momenta(e) for e in np.eye(2)], axis=1)
    return np.linalg.solve(H, [total, own])


def test_cut_and_connect_agree_with_conserved_angular_momentum() -> None:
    model, state = compass()
    report = strike(model, state)
    assert report.model.names == ("b", "a")  # the root has changed
    absolute = np.array([report.state.v[0], report.state.v.sum()])
    np.testing.assert_allclose(absolute, after_by_angular_momentum(state.q, state.v), rtol=1e-12)
    np.testing.assert_allclose(report.state.q, [state.q.sum(), -state.q[1]], atol=1e-14)
    assert report.energy_lost > 0.5


def test_every_strike_of_a_walk_agrees_too_and_energy_stays_between_strikes() -> None:
    result = walk(6)
    for s in result.steps:
        absolute = np.array([s.strike.state.v[0], s.strike.state.v.sum()])
        np.testing.assert_allclose(absolute, after_by_angular_momentum(s.q[-1], s.v[-1]), rtol=1e-10)
        now = State(s.q[-1], s.v[-1])
        x, _, z = feet(s.model, now)[1]
        assert abs(x * np.sin(SLOPE) + z * np.cos(SLOPE)) < 1e-10
        rates = strike_by_momentum(s.model, now, s.strike.model, s.strike.state.q)
        np.testing.assert_allclose(rates, s.strike.state.v, rtol=1e-10)
        assert np.ptp(s.kinetic + s.potential) < 1e-9
    t = np.concatenate([s.t for s in result.steps])  # of one leg, whichever role it has
    q = np.concatenate([s.q[:, 0] if s.model.names[0] == "a" else s.q.sum(axis=1) for s in result.steps])
    assert (np.diff(t) >= 0.0).all()
    jumps = np.abs(np.diff(q))[np.diff(t) < 1e-12]
    assert jumps.max(initial=0.0) < 1e-9  # a leg's angle does not jump, whatever its role


@pytest.mark.parametrize("disturb", [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.03, -0.04), (0.0, 0.0, -0.02, 0.05)])
def test_disturbed_starts_find_the_same_gait(disturb: tuple[float, ...]) -> None:
    result = walk(45, disturb)
    assert result.periods[-1] == pytest.approx(0.73438, abs=2e-5)
    assert result.steps[-1].length == pytest.approx(0.53558, abs=2e-5)
    assert np.ptp(result.periods[-4:]) < 1e-6


def test_hundreds_of_steps() -> None:
    result = walk(300, log_dt=0.1)
    assert len(result.steps) == 300
    assert np.ptp(result.periods[-100:]) < 1e-8
    assert result.log.drift < 1e-10
    assert [s.model.names[0] for s in result.steps[:4]] == ["b", "a", "b", "a"]


def test_random_starts_find_the_gait_if_they_are_near() -> None:
    near, far = basin(3, 0.05), basin(4, 1.0, seed=2)
    np.testing.assert_allclose([period for _, period in near], 0.734379, atol=1e-6)
    assert any(np.isnan(period) for _, period in far)


def test_the_gait_is_stable() -> None:
    fixed, derivative = return_map(40)
    eigenvalues = np.linalg.eigvals(derivative)
    assert fixed[0] == pytest.approx(0.2188, abs=1e-3)
    assert np.abs(eigenvalues).max() < 0.9
    assert np.abs(eigenvalues).max() > 0.3


def test_the_paper_s_figures_can_be_drawn(tmp_path) -> None:
    from matplotlib.image import imread

    plot, pictures, film = draw_walker(walk(3), tmp_path)
    assert imread(plot).std() > 0.05
    moments = np.split(imread(pictures), 8, axis=1)  # the walker is large in each, and walks
    for one, next in pairwise(moments):
        assert (np.abs(one - next).max(axis=2) > 0.2).mean() > 0.01
    assert "step on a" in film.read_text()


@pytest.mark.parametrize("nudge", [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.02, -0.03), (0.0, 0.0, -0.03, 0.02)])
def test_points_of_interest_are_those_of_the_paper(nudge: tuple[float, ...]) -> None:
    """SPW 8.7: from A up to B and down to C with one total energy; the impact C A' takes its loss of it."""
    steps = walk(6, nudge).steps
    for s in steps:
        found = points(s)
        assert list(found) == ["A", "B", "C"]
        totals = [sum(place) for place in found.values()]
        assert np.ptp(totals) < 1e-6
        assert found["B"][1] > found["A"][1] > found["C"][1]
        assert found["B"][1] == s.potential.max()
        assert found["C"][0] > found["A"][0] > found["B"][0]
    for one, following in pairwise(steps):
        c, a = points(one)["C"], points(following)["A"]
        assert a[1] == pytest.approx(c[1], abs=1e-6)
        assert c[0] - a[0] == pytest.approx(one.strike.energy_lost, abs=1e-9)


def test_the_figure_of_energies_names_its_points() -> None:
    result, axes = walk(3), empty_figure(4.0, 4.0).subplots()
    plot_energies(result, axes)
    named = {text.get_text(): text.xy for text in axes.texts}
    first, second = map(points, result.steps[-2:])
    expected = first | {f"{name}\u2032": place for name, place in second.items()}
    assert named == expected


def test_a_walker_that_falls_says_so() -> None:
    with pytest.raises(ArithmeticError, match="fallen"):
        walk(2, (0.0, 0.0, 2.0, 0.0))


def test_names_and_frames_survive_many_root_changes() -> None:
    model, state = compass()
    for _ in range(20):
        report = strike(model, State(state.q, state.v))
        model, state = report.model, report.state
        assert set(model.names) == {"a", "b"}
        assert set(model.joint_names) == {"ground", "hip"}
        assert model.mass == pytest.approx(2 * LEG_MASS + HIP_MASS, rel=1e-14)
        np.testing.assert_allclose(model.links[1]["p"], [0.0, 0.0, LENGTH], atol=1e-12)
    assert FOOT.position[2] == -LENGTH
    assert pytest.approx(0.0524) == SLOPE
