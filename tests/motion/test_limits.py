"""Joints at their limits in simulations: when they get there, how they bounce, what holds them, and when they leave."""

from __future__ import annotations

import copy
import itertools
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from tests.naive.dynamics import mass_matrix

import kinemorph as km
from kinemorph.motion.joint_limits import solve_complementarity
from kinemorph.scenes.robots import mechanisms

G = 9.81
FALL = np.sqrt(2.0 / G)  # s, of a metre


def one(joint: km.Joint, size: float = 0.1) -> km.Model:
    """A ball 1 m below a joint."""
    b = km.Builder("one")
    b.link("rod", None, joint, (0, 0, 0), km.Inertia.sphere(1.0, size, (0, 0, -1)))
    return b.build()


def positions(model: km.Model, q: np.ndarray, link: int) -> np.ndarray:
    """What the limits of a joint are on: its position, of a ball joint its rotation vector."""
    part = np.atleast_2d(q)[:, model.q_slice(link)]
    if model.links[link]["kind"] != km.JointKind.SPHERICAL:
        return part
    part = part * np.where(part[:, :1] < 0.0, -1.0, 1.0)
    n = np.linalg.norm(part[:, 1:], axis=1, keepdims=True)
    return np.where(n > 1e-12, 2.0 * np.arctan2(n, part[:, :1]) / np.maximum(n, 1e-300), 2.0) * part[:, 1:]


def farthest(log: km.Log) -> float:
    """How far beyond their limits joints have been."""
    worst = 0.0
    for s in log.stretches:
        for i, l in enumerate(s.model.links):
            if l["nv"] and l["kind"] != km.JointKind.FREE:
                low, high = s.model.limits(i)
                x = positions(s.model, s.q, i)
                worst = max(worst, float((low - x).max()), float((x - high).max()))
    return worst


# --------------------------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
def test_a_slide_bounces_at_its_end_as_a_ball_on_a_floor(method: str) -> None:
    log = km.simulate(
        one(km.Joint.prismatic("z", lower=0.0)), km.State([1.0], [0.0]), 2.0, restitution=0.5, method=method
    )
    expected = FALL * (1.0 + 2.0 * np.cumsum(np.append(0.0, 0.5 ** np.arange(1, 5))))
    np.testing.assert_allclose([h.t for h in log.happenings][:5], expected, atol=1e-10)
    np.testing.assert_allclose([h.lost for h in log.happenings][:5], G * 0.75 * 0.25 ** np.arange(5), rtol=1e-8)
    assert all(h.name == "rod at its lower limit" for h in log.happenings)
    np.testing.assert_allclose(log.total + log.lost, log.total[0], atol=1e-9)
    rest = log.t > 3.0 * FALL + 1e-3  # bounces without end are over after three times the fall
    assert rest.any()
    assert np.all(log.q[rest] == 0.0)
    assert np.all(log.v[rest] == 0.0)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("start", "stop"), [(1.0, -0.3), (2.5, 0.4), (0.8, -0.75)])
def test_a_pendulum_meets_its_stop_when_and_as_fast_as_it_must(e: float, start: float, stop: float) -> None:
    model = one(km.Joint.revolute("y", lower=stop))
    inertia = 1.0 + 0.4 * 0.1**2
    rate = lambda x: np.sqrt(2.0 * G / inertia * (np.cos(x) - np.cos(start)))  # noqa: E731
    when = quad(lambda u: 2.0 * u / rate(start - u * u), 0.0, np.sqrt(start - stop), epsabs=1e-13)[0]
    log = km.simulate(model, km.State([start], [0.0]), when + 1e-3, restitution=e, dt=5e-4)
    (hit,) = log.happenings
    assert hit.t == pytest.approx(when, abs=1e-9)
    assert hit.before.v[0] == pytest.approx(-rate(stop), abs=1e-9)
    assert hit.after.v[0] == pytest.approx(e * rate(stop), abs=1e-9)
    assert hit.after.q[0] == pytest.approx(stop, abs=1e-9)


def test_a_joint_that_is_pushed_to_its_limit_stays_and_leaves_when_the_push_ends() -> None:
    """The force that holds it is what is missing to the balance: it ends when a growing moment takes the weight."""
    model = one(km.Joint.revolute("y", lower=0.5))  # gravity pulls it to 0
    weight = G * np.sin(0.5)

    log = km.simulate(model, km.State([0.5], [0.0]), 2.0, forces=lambda m, s: [weight * s.time])
    away = log.t[np.flatnonzero(log.q[:, 0] > 0.5)[0]]
    assert 1.0 < away <= 1.011  # rad, and the first frame after it has left
    early = log.t <= 1.0
    assert np.all(log.q[early] == 0.5)
    assert np.all(log.v[early] == 0.0)
    assert np.all(np.diff(log.q[~early, 0]) > 0.0)
    assert not log.happenings  # nothing was struck


def test_a_twist_that_is_free_turns_back_at_the_same_rate() -> None:
    """About its axis a ball joint is a hinge: the limit of a part of its rotation vector is that of the angle."""
    b = km.Builder("top")
    inertia = km.Inertia.box(1.0, (0.3, 0.2, 0.1))
    b.link("top", None, km.Joint.spherical(lower=(-3, -3, -0.7), upper=(3, 3, 1.1)), (0, 0, 0), inertia)
    model = b.build()
    log = km.simulate(model, km.State([1, 0, 0, 0], [0, 0, 2.0]), 2.0, restitution=1.0)
    assert [h.t for h in log.happenings] == pytest.approx([0.55, 1.45], abs=1e-10)
    np.testing.assert_allclose(np.abs(log.v[:, 2]), 2.0, atol=1e-12)
    assert positions(model, log.q, 0)[:, 2].max() == pytest.approx(1.1, abs=1e-9)


@pytest.mark.parametrize("v", [(4.0, 0.0, 0.0), (2.0, 2.0, 0.0), (1.0, 1.0, 2.0), (0.0, 3.0, -2.0)])
def test_a_ball_joint_slides_along_its_limit_without_losing_energy(v: tuple[float, float, float]) -> None:
    """Pressed to a swing limit it moves on along it: the force turns with the joint and does no work."""
    model = one(km.Joint.spherical(lower=(-1.5, -0.2, -1), upper=(1.5, 0.6, 1))).with_gravity((-9.0, 0, -3.0))
    log = km.simulate(model, km.State(km.integrate(model, km.neutral(model), [0.1, 0.2, 0.1]), v), 1.0, log_dt=1e-3)
    x = positions(model, log.q, 0)
    held = np.abs(x[:, 1] - 0.6) < 1e-12
    assert held.sum() > 30
    assert np.ptp(x[held, 0]) > 0.05
    assert farthest(log) < 1e-8
    np.testing.assert_allclose(log.total + log.lost, log.total[0], atol=1e-8)


def test_a_ball_joint_that_turns_by_more_than_half_a_turn_gains_nothing() -> None:
    """There its rotation vector changes sides, and where it is then may be beyond limits: no jump, no energy."""
    model = one(km.Joint.spherical(lower=(-3, -0.2, -3), upper=(3, 0.6, 3)))
    for v in ((4.0, 0, 0), (3.0, -1.0, 3.0), (3.0, 0, 1.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", km.ModelWarning)
            log = km.simulate(model, km.State(km.integrate(model, km.neutral(model), [0, 0.6, 0]), v), 2.0)
        np.testing.assert_allclose(log.total + log.lost, log.total[0], atol=1e-3)
        assert min(h.lost for h in log.happenings) > -1e-12


def test_two_limits_of_a_loop_with_one_degree_of_freedom_bear_together() -> None:
    """Both hinges of a parallelogram come to their limits at once: one of the two would do, and none is torn."""
    model, q = mechanisms.four_bar()
    probe = km.simulate(model, km.State(q, np.zeros(model.nv)), 0.3)
    end = probe.state.q
    low = np.where(end < q, end, -np.inf)
    high = np.where(end >= q, end, np.inf)
    stopped = model.with_dofs(lower=low, upper=high)
    log = km.simulate(stopped, km.State(q, np.zeros(model.nv)), 1.0)
    assert farthest(log) < 1e-9
    assert log.t[-1] == 1.0
    assert log.loop_error.max() < 1e-9
    np.testing.assert_allclose(log.total + log.lost, log.total[0], atol=1e-7)
    np.testing.assert_allclose(log.state.q, end, atol=1e-8)


# ------------------------------------------------------------------------------------------------------- families


def random_joint(rng: np.random.Generator) -> km.Joint:
    axis = rng.normal(size=3)
    width = lambda n: (-rng.uniform(0.1, 1.0, n), rng.uniform(0.1, 1.0, n))  # noqa: E731
    kind = rng.choice(["revolute", "prismatic", "universal", "cylindrical", "planar", "spherical", "screw"])
    if kind in ("revolute", "prismatic"):
        low, high = width(1)
        return getattr(km.Joint, kind)(axis, lower=float(low[0]), upper=float(high[0]))
    if kind == "screw":
        low, high = width(1)
        return km.Joint.screw(axis, 0.1, lower=float(low[0]), upper=float(high[0]))
    if kind == "spherical":
        low, high = width(3)
        return km.Joint.spherical(lower=low, upper=high)
    if kind == "planar":
        low, high = width(3)
        return km.Joint.planar(axis, lower=low, upper=high)
    low, high = width(2)
    if kind == "cylindrical":
        return km.Joint.cylindrical(axis, lower=low, upper=high)
    other = np.cross(axis, rng.normal(size=3))
    return km.Joint.universal(axis, other, lower=low, upper=high)


def random_tree(seed: int) -> tuple[km.Model, km.State, np.random.Generator]:
    """A tree of two to five links with limits everywhere, at rest or not, on the ground or in space."""
    rng = np.random.default_rng(seed)
    b = km.Builder(f"tree {seed}")
    flies = bool(seed % 3 == 0)
    names: list[str] = []
    for i in range(int(rng.integers(2, 6))):
        joint = km.Joint.free() if flies and i == 0 else random_joint(rng)
        inertia = km.Inertia.box(rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5, 3), rng.normal(size=3) * 0.2)
        parent = None if not names else names[int(rng.integers(len(names)))]
        b.link(f"l{i}", parent, joint, rng.normal(size=3) * 0.3, inertia)
        names.append(f"l{i}")
    model = b.build()
    model = model.with_gravity((0, 0, 0) if flies else (0, 0, -G))
    return model, km.State(km.neutral(model), rng.normal(size=model.nv) * 2.0), rng


@pytest.mark.parametrize("seed", range(40))
def test_no_joint_of_a_random_tree_leaves_its_limits_and_no_energy_comes_from_them(seed: int) -> None:
    model, state, rng = random_tree(seed)
    e = float(rng.choice([0.0, 0.4, 1.0]))
    log = km.simulate(model, state, 0.6, restitution=e, method=str(rng.choice(["rk4", "adaptive"])), dt=5e-4)
    assert log.happenings
    assert farthest(log) < 2e-9 * (1.0 + np.abs(log.v).max())
    scale = max(1.0, float(np.abs(log.total).max()), float(log.kinetic.max()))
    assert min(h.lost for h in log.happenings) > -1e-9 * scale
    np.testing.assert_allclose(log.total + log.lost, log.total[0], atol=2e-6 * scale)
    if e == 1.0:  # only bounces that would be over within a step lose anything
        assert log.lost[-1] < 0.05 * scale
    if model.links[0]["kind"] == km.JointKind.FREE:
        data = km.Data(model)
        before, after = (km.momentum(model, data, s.q, s.v) for s in (state, log.state))
        np.testing.assert_allclose(after, before, atol=1e-7 * max(1.0, np.abs(before).max()))


@pytest.mark.parametrize(("seed", "e"), [(7, 0.5), (19, 0.5), (2, 0.8), (3, 0.95), (6, 0.2), (4, 0.0), (5, 1.0)])
def test_a_person_thrown_about_comes_to_rest_in_corners_of_limits(seed: int, e: float) -> None:
    """Limits of one shoulder push each other: a hundred ever smaller bounces in a step once ended a simulation."""
    model, rng = km.human().with_gravity((0, 0, 0)), np.random.default_rng(seed)
    turn = np.zeros(model.nv)
    for i, l in enumerate(model.links[1:], 1):
        turn[l["iv"] : l["iv"] + l["nv"]] = 0.9 * rng.uniform(*model.limits(i))
    state = km.State(km.integrate(model, km.neutral(model), turn), 3.0 * rng.normal(size=model.nv))
    log = km.simulate(model, state, 0.5, restitution=e)
    assert len(log.happenings) > 30
    assert farthest(log) < 2e-9 * (1.0 + np.abs(log.v).max())
    assert min(h.lost for h in log.happenings) > -1e-9 * log.kinetic.max()
    np.testing.assert_allclose(log.total + log.lost, log.total[0], atol=1e-4 * log.kinetic.max())
    if e == 1.0:
        assert log.lost[-1] < 1e-6 * log.kinetic.max()
    data = km.Data(model)
    before, after = (km.momentum(model, data, s.q, s.v) for s in (state, log.state))
    np.testing.assert_allclose(after, before, atol=1e-5 * np.abs(before).max())


def enumerated(G: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The complementarity problem by trying which entries are not zero."""
    for size in range(len(c) + 1):
        for some in itertools.combinations(range(len(c)), size):
            x, s = np.zeros(len(c)), list(some)
            if s:
                x[s] = np.linalg.lstsq(G[np.ix_(s, s)], -c[s], rcond=1e-11)[0]
            if (x >= -1e-9).all() and (G @ x + c >= -1e-7 * max(1.0, np.abs(c).max())).all():
                return x
    raise AssertionError("no solution")


@pytest.mark.parametrize("seed", range(60))
def test_the_complementarity_problem_is_solved_whatever_its_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, rank = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    A = rng.normal(size=(rank, count)) * 10.0 ** rng.uniform(-2, 2, (1, count))
    if seed % 4 == 0 and count > 1:
        A[:, 1] = A[:, 0]  # two limits that are one
    G, c = A.T @ A, A.T @ rng.normal(size=rank) * 10.0 ** rng.uniform(-3, 3)
    x = solve_complementarity(G, c)
    w = G @ x + c
    size = max(1.0, float(np.abs(c).max()))
    assert (x >= 0.0).all()
    assert (w >= -1e-7 * size).all()
    assert abs(x @ w) < 1e-7 * size * max(1.0, np.abs(x).max())
    np.testing.assert_allclose(G @ x, G @ enumerated(G, c), atol=1e-6 * size)  # forces may differ, motions do not


@pytest.mark.parametrize("seed", range(12))
def test_an_impact_at_several_limits_at_once_is_that_of_the_mass_matrix(seed: int) -> None:
    """All joints begin at a limit, at random speeds: against the problem written down with the whole mass matrix."""
    rng = np.random.default_rng(seed)
    b = km.Builder("chain")
    for i in range(4):
        axis = rng.normal(size=3)
        b.link(f"l{i}", f"l{i - 1}" if i else None, km.Joint.revolute(axis), (0.3, 0, 0),
               km.Inertia.box(1.0, rng.uniform(0.1, 0.5, 3), (0.2, 0, 0)))  # fmt: skip
    model = b.build()
    q, v, e = rng.normal(size=4), rng.normal(size=4), float(rng.choice([0.0, 0.5, 1.0]))
    sign = rng.choice([-1.0, 1.0], 4)
    model = model.with_dofs(lower=np.where(sign > 0, q, -np.inf), upper=np.where(sign < 0, q, np.inf))
    log = km.simulate(model, km.State(q, v), 0.0, restitution=e, dt=1e-7)
    J = np.diag(sign)
    R = np.linalg.solve(mass_matrix(model, q), J.T)
    expected = v
    while (J @ expected < -1e-9).any():  # what one impact makes approach its limit meets it in the next
        expected = expected + R @ enumerated(J @ R, (1.0 + e) * J @ expected)
    np.testing.assert_allclose(log.state.v, expected, atol=1e-9)
    if e == 1.0:
        assert log.happenings[-1].lost == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 7, 8, 10])
def test_a_world_stops_joints_at_the_same_places(seed: int) -> None:
    """The same limp tree in a world, whose limits are rows of its solver: as close as its steps allow."""
    model, _, _ = random_tree(seed)
    state = km.State(km.neutral(model), np.zeros(model.nv))
    log = km.simulate(model, state, 0.5)
    world = km.World(dt=2e-4)
    figure = world.add(model.with_dofs())
    world.run(0.5)
    data = km.Data(model)
    km.kinematics(model, data, log.state.q, log.state.v)
    for name in model.names:
        ours = np.asarray(km.pose_of(model, data, name).position)
        np.testing.assert_allclose(np.asarray(figure[name].position), ours, atol=0.02)


# -------------------------------------------------------------------------------------------- beside other things


def test_limits_follow_their_joints_through_changes_of_structure() -> None:
    """The same fall, with the tree turned round in the middle: limits have the joint's own sense."""
    b = km.Builder("legs")
    b.link("hip", None, km.Joint.free(), (0, 0, 0), km.Inertia.sphere(2.0, 0.1))
    for i, (low, high) in enumerate([(-0.2, 0.9), (-1.0, 0.1)]):
        leg = km.Inertia.cylinder(1.0, 0.04, 0.5, at=(0, 0, -0.25))
        b.link(f"leg{i}", "hip" if not i else f"leg{i - 1}", km.Joint.revolute("y", lower=low, upper=high),
               (0, 0, -0.3), leg)  # fmt: skip
    model = b.build().with_gravity((0, 0, 0))
    state = km.State(km.neutral(model), [0, 0, 0, 0, 0, 0, 6.0, -8.0])
    turn = km.Event.at(0.15, lambda m, s: km.reroot(m, s, "leg1"))
    plain = km.simulate(model, state, 2.0, restitution=0.5)
    turned = km.simulate(model, state, 2.0, [turn], restitution=0.5)
    assert len(plain.happenings) >= 3
    struck = [(round(h.t, 8), h.name) for h in turned.happenings if "limit" in h.name]
    expected = [(round(h.t, 8), h.name) for h in plain.happenings]
    assert [t for t, _ in struck] == pytest.approx([t for t, _ in expected], abs=1e-7)
    assert turned.kinetic[-1] == pytest.approx(plain.kinetic[-1], rel=1e-8)


def test_events_and_limits_at_one_instant_both_happen() -> None:
    told = []
    model = one(km.Joint.prismatic("z", lower=0.0))
    events = [
        km.Event.position("rod", 0.0, lambda m, s: told.append(float(s.v[0])), direction=-1, name="there"),
        km.Event.velocity("rod", 0.0, direction=1, name="turns", times=1),
    ]
    log = km.simulate(model, km.State([1.0], [0.0]), 1.0, events, restitution=0.5)
    assert [h.name for h in log.happenings][:3] == ["there", "rod at its lower limit", "turns"]
    assert told[0] == pytest.approx(-G * FALL, abs=1e-9)
    python = km.Event("mine", lambda m, s, d: s.q[0] - 0.5, -1, times=1)
    log = km.simulate(model, km.State([1.0], [0.0]), 1.0, [python], restitution=0.5)
    assert [h.name for h in log.happenings][:2] == ["mine", "rod at its lower limit"]


def test_what_begins_beyond_a_limit_is_told_and_stops_once_it_is_back() -> None:
    model = one(km.Joint.prismatic("z", lower=0.0)).with_gravity((0, 0, 0))
    with pytest.warns(km.ModelWarning, match="joint 'rod' is outside of its limits"):
        log = km.simulate(
            model, km.State([-0.5], [1.0]), 1.0, [km.Event.at(0.8, lambda m, s: (m, km.State(s.q, -s.v)))]
        )
    assert [h.name for h in log.happenings] == ["t = 0.8 s"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", km.ModelWarning)
        back = km.State([-0.5], [1.0])
        turn = km.Event.at(0.8, lambda m, s: (m, km.State(s.q, -s.v)))
        log = km.simulate(model, back, 2.0, [turn], restitution=1.0)
    assert [h.name for h in log.happenings] == ["t = 0.8 s", "rod at its lower limit"]
    assert log.happenings[1].t == pytest.approx(1.1, abs=1e-9)


def test_without_limits_joints_go_on_and_are_told() -> None:
    model = one(km.Joint.revolute("y", lower=-0.2, upper=2.0))
    with pytest.warns(km.ModelWarning, match="position limits of joint 'rod'"):
        log = km.simulate(model, km.State([1.0], [0.0]), 1.0, limits=False)
    assert log.q.min() < -0.9
    assert not log.happenings
    for bad in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="restitution"):
            km.simulate(model, km.State([1.0], [0.0]), 1.0, restitution=bad)


@pytest.mark.parametrize("method", ["rk4", "euler", "adaptive"])
def test_runs_in_pieces_and_copies_give_the_same_bits(method: str) -> None:
    model, state, _ = random_tree(4)
    whole = km.simulate(model, state, 0.5, restitution=0.3, method=method)
    s = km.Simulation(model, state, restitution=0.3, method=method)
    s.run(0.25)
    other = copy.copy(s)
    a, b = s.run(0.25), other.run(0.25)
    assert a.state.q.tobytes() == b.state.q.tobytes()
    np.testing.assert_allclose(a.state.q, whole.state.q, atol=1e-5 if method == "euler" else 1e-7)
