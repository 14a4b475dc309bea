"""Simulation through events: when they happen, in which order, what they change, and what is left if it fails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipk

import kinemorph as km
from kinemorph.constraint.generalized import generalized
from kinemorph.scenes.robots import mechanisms

G = 9.81


def ball() -> km.Model:
    b = km.Builder("ball")
    b.link("ball", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    return b.build()


def dropped(height: float = 1.0) -> km.State:
    return km.State([0, 0, height, 1, 0, 0, 0], np.zeros(6))


def pendulum(count: int = 1, size: float = 0.0) -> km.Model:
    """Weights on rods, which have no mass; weights of no size cannot fly alone."""
    b = km.Builder("pendulum")
    parent = None
    for i in range(count):
        at = (0, 0, -1) if parent else (0, 0, 0)
        b.link(f"rod{i}", parent, km.Joint.revolute("y"), at, km.Inertia.sphere(1.0, size, (0, 0, -1)))
        parent = f"rod{i}"
    return b.build()


def bounce(restitution: float):
    def action(model: km.Model, state: km.State) -> tuple[km.Model, km.State]:
        v = state.v.copy()
        v[3:] *= -restitution
        return model, km.State(state.q, v)

    return action


# ------------------------------------------------------------------------------------------------------------ times


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
def test_a_ball_bounces_when_it_must(method: str) -> None:
    log = km.simulate(ball(), dropped(), 3.0, [km.Event.height("ball", 0.0, bounce(0.8))], method=method)
    fall = np.sqrt(2.0 / G)
    expected = fall * (1.0 + 2.0 * np.cumsum(np.append(0.0, 0.8 ** np.arange(1, 6))))
    np.testing.assert_allclose([h.t for h in log.happenings], expected, atol=1e-10)
    np.testing.assert_allclose([h.lost for h in log.happenings], G * 0.36 * 0.64 ** np.arange(6), rtol=1e-9)
    np.testing.assert_allclose(log.total + log.lost, G, atol=1e-9)
    assert len(log.stretches) == 7


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
@pytest.mark.parametrize("dt", [1e-3, 4e-4])
def test_a_pendulum_turns_back_after_half_a_period(method: str, dt: float) -> None:
    model = pendulum()
    events = [km.Event.velocity("rod0"), km.Event.position("rod0", 0.0)]
    log = km.simulate(model, km.State([1.0], [0.0]), 4.0, events, dt=dt, method=method, tolerance=1e-12, log_dt=0.05)
    quarter = ellipk(np.sin(0.5) ** 2) / np.sqrt(G)
    times = [h.t for h in log.happenings]
    np.testing.assert_allclose(times, quarter * np.arange(1, len(times) + 1), atol=1e-10)
    assert [h.name for h in log.happenings[:2]] == ["rod0 at 0", "rod0 moves at 0"]
    assert log.drift < 1e-10


def test_a_python_function_is_as_good_as_a_row() -> None:
    model = pendulum(2)
    start = km.State([1.0, 0.5], [0.0, 0.0])

    def height(model: km.Model, state: km.State, data: km.Data) -> float:
        return km.pose_of(model, data, "rod1").apply((0, 0, -1))[2] + 1.5

    row = km.Event.height("rod1", point=(0, 0, -1), level=-1.5, direction=0)
    rows, calls = (km.simulate(model, start, 3.0, [e]).happenings for e in (row, km.Event("f", height)))
    assert len(rows) == len(calls) > 3
    np.testing.assert_allclose([h.t for h in rows], [h.t for h in calls], atol=1e-10)


def test_distances_and_places_that_move() -> None:
    """Two rods of a double pendulum: where the lower one's end is, seen from the upper one."""
    model = pendulum(2)
    start = km.State([0.0, 2.0], [0.0, 0.0])
    far = km.Event.distance("rod0", "rod1", np.sqrt(2.0), points=((0, 0, 0), (0, 0, -1)), name="far")
    beside = km.Event.height("rod1", point=(0, 0, -1), level=-1.0, seen_from="rod0", direction=0, name="beside")
    joint = km.Event.position("rod1", np.pi / 2.0, name="joint")
    log = km.simulate(model, start, 1.0, [far, beside, joint])
    assert len(log.happenings) >= 3
    for name in ("far", "beside", "joint"):  # all three are the right angle between the rods
        at = [h for h in log.happenings if h.name == name]
        np.testing.assert_allclose(np.abs(at[0].before.q[1]), np.pi / 2.0, atol=1e-9)


def test_a_force_that_ends_is_found() -> None:
    """A weight on top of a rod that falls over: at cos θ = 2/3 + v²/3gl the rod stops pushing and starts to pull."""
    b = km.Builder("weight")
    b.link("rod", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 1e-3, (0, 0, 1)))
    foot = km.Loop("rod", -1, km.Joint.revolute("y"), (0, 0, 0), (0, 0, 0), "foot")
    mechanism = b.build().with_loops([foot])
    spin = 0.3
    start = km.State(km.neutral(mechanism), np.array([0, spin, 0, 0, 0, 0]))
    event = km.Event.force("foot", (0, 0, 1), direction=1, ends=True)
    log = km.simulate(mechanism, start, 5.0, [event])
    assert len(log.happenings) == 1
    cosine = 1.0 - 2.0 * log.state.q[5] ** 2
    assert cosine == pytest.approx(2.0 / 3.0 + spin**2 / (3.0 * G), abs=1e-5)  # the weight has a size
    assert set(log.mobility) == {1}
    assert set(log.coordinates) == {7}


@pytest.mark.parametrize("at", [0.0, 0.25, 0.2503, 1.0 / 3.0])
def test_a_given_time_is_met(at: float) -> None:
    log = km.simulate(pendulum(), km.State([1.0], [0.0], time=5.0), 1.0, [km.Event.at(5.0 + at)])
    assert [h.t for h in log.happenings] == [pytest.approx(5.0 + at, abs=1e-11)]
    assert log.t[0] == 5.0
    assert log.t[-1] == pytest.approx(6.0, abs=1e-12)


# ------------------------------------------------------------------------------------------------------------- order


def test_events_at_one_time_happen_in_their_order() -> None:
    seen = []

    def say(word: str):
        return lambda model, state: seen.append(word)

    events = [km.Event.at(0.5, say("b"), name="b"), km.Event.at(0.3, say("a")), km.Event.at(0.5 + 5e-11, say("c"))]
    log = km.simulate(pendulum(), km.State([1.0], [0.0]), 1.0, events)
    assert seen == ["a", "b", "c"]
    assert log.happenings[1].t == log.happenings[2].t


def test_a_jump_can_cause_another_event() -> None:
    """The ball turns back at the floor: its velocity changes sign there and nowhere else."""
    up = km.Event.velocity("ball", entry=5, direction=1, name="up")
    log = km.simulate(ball(), dropped(), 0.6, [km.Event.height("ball", 0.0, bounce(0.5), name="floor"), up])
    assert [h.name for h in log.happenings] == ["floor", "up"]
    assert log.happenings[0].t == log.happenings[1].t


def test_events_end_and_tire() -> None:
    turn = km.Event.velocity("rod0", times=2)
    end = km.Event.at(2.5, ends=True)
    log = km.simulate(pendulum(), km.State([1.0], [0.0]), 9.0, [turn, end])
    assert len(log.happenings) == 3
    assert log.t[-1] == pytest.approx(2.5, abs=1e-10)


# --------------------------------------------------------------------------------------------------------- structure


def test_a_cut_pendulum_flies_on() -> None:
    model = pendulum(2, 0.1)
    log = km.simulate(
        model, km.State([1.2, 0.3], [0.0, 0.0]), 1.5, [km.Event.at(0.7, lambda m, s: km.cut(m, s, "rod1"), "cut")]
    )
    assert [s.coordinates for s in log.stretches] == [2, 7]
    assert log.drift < 1e-9
    assert abs(log.happenings[0].lost) < 1e-12
    assert log.happenings[0].report is not None
    free = log.stretches[1]
    data = km.Data(free.model)
    centre = []
    for q in free.q:
        km.kinematics(free.model, data, q)
        centre.append(km.pose_of(free.model, data, "rod1").apply((0, 0, -1)))
    fall = np.polyfit(free.t, np.array(centre)[:, 2], 2)  # a parabola, exactly
    assert fall[0] == pytest.approx(-0.5 * G, rel=1e-6)


def test_rerooting_in_flight_changes_nothing() -> None:
    """With forces at the joints, which go along."""
    b = km.Builder("chain")
    rod = km.Inertia.cylinder(1.0, 0.05, 0.5, (0, 0, -0.25))
    b.link("a", None, km.Joint.free(), (0, 0, 0), rod)
    b.link("b", "a", km.Joint.revolute("y"), (0, 0, -0.5), rod)
    b.link("c", "b", km.Joint.spherical(), (0, 0, -0.5), rod)
    model = b.build()
    rng = np.random.default_rng(3)
    state = km.State(km.neutral(model), rng.normal(size=model.nv))
    forces = np.zeros(model.nv)
    forces[6] = 0.4
    plain = km.simulate(model, state, 1.0, forces=forces)
    events = [km.Event.at(t, lambda m, s, link=link: km.reroot(m, s, link)) for t, link in ((0.2, "c"), (0.61, "b"))]
    changed = km.simulate(model, state, 1.0, events, forces=forces)
    assert changed.stretches[-1].model.names[0] == "b"
    for name in model.names:
        poses = []
        for log in (plain, changed):
            data = km.Data(log.model)
            km.kinematics(log.model, data, log.state.q)
            poses.append(km.pose_of(log.model, data, name).matrix())
        np.testing.assert_allclose(poses[0], poses[1], atol=1e-9)


def test_an_event_sleeps_while_its_joint_is_not_there() -> None:
    events = [
        km.Event.position("rod1", 0.0, name="straight"),
        km.Event.at(0.3, lambda m, s: km.cut(m, s, "rod1", name="loose")),
    ]
    log = km.simulate(pendulum(2, 0.1), km.State([1.0, 0.5], [0.0, 0.0]), 3.0, events)
    assert all(h.t < 0.3 for h in log.happenings if h.name == "straight")
    with pytest.raises(KeyError, match="event 'loose at 0': model 'pendulum' has no joint 'loose'"):
        km.simulate(pendulum(2), km.State([1.0, 0.5], [0.0, 0.0]), 1.0, [km.Event.position("loose", 0.0)])
    later = km.Event.position("loose", -1.5, entry=2, later=True)
    log = km.simulate(pendulum(2, 0.1), km.State([1.0, 0.5], [0.0, 0.0]), 3.0, [*events, later])
    assert log.happenings[-1].name == "loose at -1.5"


# ----------------------------------------------------------------------------------------------------------- accuracy


def test_rk4_is_of_fourth_order() -> None:
    model = pendulum(2)
    start = km.State([1.0, 0.5], [0.0, 0.0])
    ends = [km.simulate(model, start, 1.0, dt=h).state.q for h in (1e-2, 5e-3, 2.5e-3, 2e-4)]
    errors = [np.abs(q - ends[-1]).max() for q in ends[:-1]]
    assert 12.0 < errors[0] / errors[1] < 22.0
    assert 12.0 < errors[1] / errors[2] < 22.0


def test_the_adaptive_method_keeps_its_tolerance() -> None:
    model = pendulum(2)
    start = km.State([2.5, 0.5], [0.0, 0.0])
    exact = km.simulate(model, start, 1.0, dt=1e-4).state.q
    for tolerance in (1e-6, 1e-9):
        log = km.simulate(model, start, 1.0, method="adaptive", tolerance=tolerance)
        assert np.abs(log.state.q - exact).max() < 30.0 * tolerance


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.two_arms])
def test_a_minute_leaves_loops_closed(make: object, rng: np.random.Generator) -> None:
    mechanism, q = make()  # type: ignore[operator]
    W = generalized(mechanism, km.Data(mechanism), q).W
    log = km.simulate(mechanism, km.State(q, W @ rng.normal(size=W.shape[1])), 60.0)
    assert log.t[-1] == pytest.approx(60.0)
    assert log.loop_error.max() < 1e-9
    assert log.loop_speed.max() < 1e-9


def test_a_tree_moves_as_in_a_rollout() -> None:
    model = pendulum(3)
    path = km.rollout(model, km.Data(model), [1.0, 0.5, 0.2], np.zeros(3), dt=1e-3, steps=500, every=10)
    log = km.simulate(model, km.State([1.0, 0.5, 0.2], np.zeros(3)), 0.5)
    np.testing.assert_allclose(log.stretches[0].q, path.q, atol=1e-13)


def test_two_runs_are_one() -> None:
    """The same bits, again or in pieces."""
    mechanism, q = mechanisms.four_bar()
    event = km.Event.velocity("crank")
    logs = [km.simulate(mechanism, km.State(q, np.zeros(3)), 2.0, [event]) for _ in range(2)]
    np.testing.assert_array_equal(logs[0].stretches[0].q, logs[1].stretches[0].q)
    pieces = km.Simulation(mechanism, km.State(q, np.zeros(3)), [event])
    pieces.run(0.7)
    np.testing.assert_allclose(pieces.run(1.3).state.q, logs[0].state.q, atol=1e-9)
    assert len(pieces.log.happenings) == len(logs[0].happenings)


# ------------------------------------------------------------------------------------------------ forces and failures


def test_a_controller_sees_the_structure() -> None:
    def brake(model: km.Model, state: km.State) -> np.ndarray:
        assert state.v.shape == (model.nv,)
        tau = -2.0 * state.v
        tau[model.v_slice("rod1")] *= model.links[model.joint("rod1")]["kind"] == km.JointKind.REVOLUTE
        return tau

    cut = km.Event.at(15.0, lambda m, s: km.cut(m, s, "rod1"))
    log = km.simulate(pendulum(2, 0.1), km.State([1.0, 0.5], [0.0, 0.0]), 15.5, [cut], forces=brake)
    assert log.kinetic[log.t < 14.9][-1] < 0.05
    assert log.kinetic[-1] > 1.0


def test_events_without_end_are_told() -> None:
    with pytest.raises(km.SimulationError, match=r"has just happened at t = 1\.3545") as caught:
        km.simulate(ball(), dropped(), 9.0, [km.Event.height("ball", 0.0, bounce(0.5))])
    assert len(caught.value.log.happenings) > 15
    assert caught.value.time == pytest.approx(3.0 * np.sqrt(2.0 / G), abs=1e-4)

    with pytest.raises(km.SimulationError, match=r"100 events within 0\.001 s"):
        km.simulate(ball(), dropped(0.01), 9.0, [km.Event.height("ball", 0.0, bounce(0.95))])


def test_a_state_that_is_lost_names_time_and_link() -> None:
    """A step far too long for a stiff spring: the log up to there is not lost."""
    b = km.Builder("stiff")
    b.link("a", None, km.Joint.revolute("y"), (0, 0, 0), km.Inertia.point(1.0, (0, 0, -1)))
    b.link("b", "a", km.Joint.prismatic("z", stiffness=1e9), (0, 0, 0), km.Inertia.point(1.0, (0, 0, -1)))
    with pytest.raises(km.SimulationError, match=r"link '[ab]' a state that is not finite") as caught:
        km.simulate(b.build(), km.State([1.0, 0.1], [0.0, 0.0]), 10.0, dt=0.01)
    assert caught.value.link in ("a", "b")
    assert caught.value.log.t[-1] == pytest.approx(caught.value.time, abs=0.011)
    assert len(caught.value.log.t) > 2


def test_an_action_that_fails_leaves_the_log() -> None:
    event = km.Event.at(0.4, lambda m, s: km.cut(m, s, "arm"), name="break")
    with pytest.raises(km.SimulationError, match=r"event 'break' at t = 0\.4 s: .*no joint 'arm'") as caught:
        km.simulate(pendulum(), km.State([1.0], [0.0]), 1.0, [event])
    assert caught.value.log.t[-1] == pytest.approx(0.4)


def test_forces_that_fail_leave_the_log() -> None:
    def forces(model: km.Model, state: km.State) -> list[float]:
        return [0.0] if state.time < 0.4 else [np.nan]

    with pytest.raises(km.SimulationError, match=r"forces at t = 0\.4\d* s: .*tau\[0\] is nan") as caught:
        km.simulate(pendulum(), km.State([1.0], [0.0]), 1.0, forces=forces)
    assert caught.value.log.t[-1] == pytest.approx(0.4, abs=0.011)


def test_forces_stay_where_only_the_state_changes() -> None:
    kick = km.Event.at(0.1, lambda m, s: (m, km.State(s.q, s.v + 1.0)))
    simulation = km.Simulation(pendulum(), km.State([1.0], [0.0]), [kick], forces=[2.5])
    simulation.run(0.2)
    assert simulation.state.tau == [2.5]


def test_an_action_may_not_open_a_loop() -> None:
    mechanism, q = mechanisms.four_bar()
    tear = km.Event.at(0.01, lambda m, s: (m, km.State(s.q + 0.1, s.v)))
    with pytest.raises(km.SimulationError, match="a loop is open by 0"):
        km.simulate(mechanism, km.State(q, np.zeros(3)), 0.1, [tear])


def test_of_two_events_at_a_loop_that_is_gone_after_the_first_the_second_sleeps() -> None:
    mechanism, q = mechanisms.four_bar()
    events = [km.Event.force("pin", (1, 0, 0), 0.0, lambda m, s: km.cut(m, s, "pin"), name=name) for name in "ab"]
    log = km.simulate(mechanism, km.State(q, np.zeros(3)), 1.0, events)
    assert [h.name for h in log.happenings] == ["a"]


def test_the_loop_that_opens_is_named_also_beside_a_free_one() -> None:
    mechanism, q = mechanisms.four_bar()
    more = mechanism.with_loops([*mechanism.loops, km.Loop(0, 1, km.Joint.free(), name="nothing")])
    with pytest.raises(km.SimulationError, match="left loop 'pin' open") as caught:
        km.simulate(more, km.State(q, np.full(3, 1e3)), 1.0, dt=0.1)
    assert caught.value.link == "pin"


def test_bad_settings_are_named() -> None:
    model, state = pendulum(), km.State([1.0], [0.0])
    with pytest.raises(ValueError, match="method 'rk5' is not one of euler, rk4, adaptive"):
        km.simulate(model, state, 1.0, method="rk5")
    with pytest.raises(ValueError, match=r"dt -1\.0 must be positive"):
        km.simulate(model, state, 1.0, dt=-1.0)
    with pytest.raises(ValueError, match="duration is nan"):
        km.simulate(model, state, float("nan"))
    with pytest.raises(ValueError, match="needs a function"):
        km.simulate(model, state, 1.0, [km.Event("nothing")])
    with pytest.raises(ValueError, match="direction 2"):
        km.simulate(model, state, 1.0, [km.Event.at(0.5, direction=2)])
    with pytest.raises(ValueError, match="direction of length 0"):
        km.simulate(model, state, 1.0, [km.Event.height(0, normal=(0, 0, 0))])
    with pytest.raises(ValueError, match="times is nan"):
        km.simulate(model, state, 1.0, [km.Event.at(0.5, times=float("nan"))])
    with pytest.raises(ValueError, match="time nan must be finite"):
        km.simulate(model, km.State([1.0], [0.0], time=float("nan")), 1.0)
    with pytest.raises(TypeError, match=r"events is \['strike'\], and must be a list of Events"):
        km.simulate(model, state, 1.0, ["strike"])
    with pytest.raises(ValueError, match="tau has shape"):
        km.simulate(model, state, 1.0, forces=[1.0, 2.0])
    with pytest.raises(km.SimulationError, match="must return a ModelEdit"):
        km.simulate(model, state, 1.0, [km.Event.at(0.5, lambda m, s: 3)])
    mechanism, q = mechanisms.four_bar()
    with pytest.raises(ValueError, match="a loop is open by 0"):
        km.simulate(mechanism, km.State(q + 0.1, np.zeros(3)), 1.0)


@pytest.mark.lane
@pytest.mark.parametrize("method", ["euler", "rk4", "adaptive"])
def test_a_few_steps_of_every_kind_of_event(method: str) -> None:
    """Short enough for plain Python: a chain that a hinge ties to the ground falls, and the hinge lets go."""
    mechanism, q = mechanisms.free_flyer()[:2]
    events = [
        km.Event.at(0.004, lambda m, s: km.cut(m, s, "link1v"), name="cut"),
        km.Event.height("base", level=-1e-5, name="height"),
        km.Event.distance("base", "link1", 2.0),
        km.Event.position("link1", 1.0),
        km.Event.velocity("link1", 1.0),
        km.Event.force("link1v", (0, 0, 1), 1e4),
        km.Event.force("link1v", (0, 0, 1), 1e4, moment=True),
        km.Event("function", lambda m, s, d: s.time - 0.0065),
    ]
    log = km.simulate(mechanism, km.State(q, np.zeros(7)), 0.008, events, method=method, log_dt=2e-3)
    assert [h.name for h in log.happenings] == ["cut", "height", "function"]
    assert [s.coordinates for s in log.stretches] == [8, 7]
    assert log.loop_error.max() < 1e-12


# ----------------------------------------------------------------------------------------------------------- forces


def oscillator() -> km.Model:
    b = km.Builder("oscillator", gravity=(0, 0, 0))
    b.link("mass", joint=km.Joint.prismatic("x"), inertia=km.Inertia.sphere(1.0, 0.1))
    return b.build()


def spring(model: km.Model, state: km.State) -> np.ndarray:
    return -4.0 * state.q


def test_forces_are_asked_at_every_stage() -> None:
    """A spring that is a Python function: the methods keep their orders."""
    start = km.State([1.0], [0.0])
    log = km.simulate(oscillator(), start, 6.0, method="adaptive", forces=spring, tolerance=1e-9)
    assert abs(log.state.q[0] - np.cos(12.0)) < 1e-7
    errors = [
        abs(km.simulate(oscillator(), start, 1.0, forces=spring, dt=dt).state.q[0] - np.cos(2.0)) for dt in (0.02, 0.01)
    ]
    assert 14.0 < errors[0] / errors[1] < 18.0
    built_in = oscillator().with_dofs(stiffness=4.0)
    same = km.simulate(built_in, start, 1.0, dt=0.01).state.q
    np.testing.assert_allclose(km.simulate(oscillator(), start, 1.0, forces=spring, dt=0.01).state.q, same, rtol=1e-13)
    euler = km.simulate(oscillator(), start, 1.0, forces=spring, dt=0.01, method="euler").state.q
    np.testing.assert_allclose(euler, km.simulate(built_in, start, 1.0, dt=0.01, method="euler").state.q, rtol=1e-13)


def test_events_are_found_under_forces_that_are_functions() -> None:
    event = km.Event.position("mass", 0.0, times=2)
    log = km.simulate(oscillator(), km.State([1.0], [0.0]), 3.0, [event], forces=spring)
    np.testing.assert_allclose([h.t for h in log.happenings], np.pi / 4.0 * np.array([1.0, 3.0]), atol=1e-9)


def test_external_forces_act_as_an_array_or_a_function() -> None:
    model, start = ball(), dropped()
    lift = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, G]])
    for external in (lift, lambda m, s: lift):
        log = km.simulate(model, start, 0.5, external=external)
        np.testing.assert_allclose(log.state.q, start.q, atol=1e-12)
    with pytest.raises(km.SimulationError, match="constant external forces belong to the links of one structure"):
        km.simulate(model, start, 0.5, [km.Event.at(0.1, lambda m, s: (m.with_gravity((0, 0, 0)), s))], external=lift)


def test_actions_may_ask_for_the_data() -> None:
    seen = []

    def look(model: km.Model, state: km.State, data: km.Data) -> None:
        seen.append(km.pose_of(model, data, "rod0").apply((0, 0, -1)))

    km.simulate(pendulum(), km.State([np.pi / 2.0], [0.0]), 0.1, [km.Event.at(0.0, look)])
    np.testing.assert_allclose(seen, [[-1.0, 0.0, 0.0]], atol=1e-12)


def test_a_log_has_states_as_long_as_the_structure_stays() -> None:
    log = km.simulate(pendulum(), km.State([1.0], [0.0]), 0.1)
    assert log.q.shape == (len(log.t), 1)
    heavier = km.Event.at(0.05, lambda m, s: (m.with_gravity((0, 0, -20.0)), s))
    log = km.simulate(pendulum(), km.State([1.0], [0.0]), 0.1, [heavier])
    with pytest.raises(ValueError, match=r"the structure changed.*log\.stretches\[i\]\.q, with i from 0 to 1"):
        _ = log.q


def test_levels_come_before_actions() -> None:
    with pytest.raises(TypeError, match=r"Event\.height: level is .*action.*, and must be a real number"):
        km.Event.height("ball", bounce(0.5))
    with pytest.raises(TypeError, match=r"action is -0\.9, and must be a function"):
        km.simulate(ball(), dropped(), 1.0, [km.Event.height("ball", 0.0, -0.9)])


@pytest.mark.parametrize(
    ("joint", "tau", "what"),
    [
        (km.Joint.revolute("y", lower=-0.5, upper=1.1), 0.0, "position limits"),
        (km.Joint.revolute("y", velocity_limit=1.0), 0.0, "speed limits"),
        (km.Joint.revolute("y", effort_limit=1.0), 1.5, "effort limits"),
        (km.Joint.revolute("y", friction=0.1), 0.0, "dry friction"),
    ],
    ids=["position", "velocity_limit", "effort_limit", "friction"],
)
def test_what_is_not_honoured_is_told_once_by_name(joint: km.Joint, tau: float, what: str) -> None:
    b = km.Builder("arm")
    b.link("elbow", joint=joint, inertia=km.Inertia.sphere(1.0, 0.1, (0, 0, -1)))
    model = b.build()
    with pytest.warns(km.ModelWarning, match=f"{what} of joint 'elbow' would have acted"):
        km.rollout(model, km.Data(model), [1.0], [0.0], [tau], steps=1000)
    km.simulate(model, km.State([1.0], [0.0]), 1.0, forces=[tau], limits=False)  # once is enough
    again = b.build()
    with pytest.warns(km.ModelWarning, match=what):
        km.simulate(again, km.State([1.0], [0.0]), 1.0, forces=[tau], limits=False)


def test_joints_that_should_follow_others_and_do_not_are_told() -> None:
    b = km.Builder("hand")
    for name in ("left", "right"):
        b.link(name, joint=km.Joint.revolute("y"), inertia=km.Inertia.sphere(1.0, 0.1, (0, 0, -1)))
    b.mimic("right", "left", -1.0)
    model = b.build()
    km.rollout(model, km.Data(model), [0.3, -0.3], [0.0, 0.0], steps=100)
    with pytest.warns(
        km.ModelWarning, match="joint 'right' does not follow 'left' as its mimic says; begin with q, v ="
    ):
        km.rollout(model, km.Data(model), [0.3, -0.3], [0.0, 1.0], steps=100)


def test_rollouts_close_loops_at_given_times_too() -> None:
    model, q = mechanisms.four_bar()
    data = km.Data(model)
    times = [0.0, 0.2, 0.5, 0.5, 1.0]
    path = km.rollout_adaptive(model, data, q, np.zeros(3), times)
    fine = km.rollout(model, data, q, np.zeros(3), dt=1e-4, steps=10_000, every=1000)
    np.testing.assert_allclose(path.q[[1, 2, 4]], fine.q[[2, 5, 10]], atol=1e-8)
    assert path.loop_error < 1e-9
    assert np.abs(km.loop_errors(model, data, path.q[-1])).max() < 1e-11
