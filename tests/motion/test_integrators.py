"""Time: orders of accuracy, what is conserved, and motions that textbooks solve."""

import re

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from tests.strategies import KINDS, build_tree, random_pose, random_state, random_tree

import kinemorph as km

pytestmark = pytest.mark.quick

K = km.JointKind
TREES = {
    "spherical": (K.SPHERICAL, K.SPHERICAL),
    "universal": (K.UNIVERSAL, K.UNIVERSAL),
    "free": (K.FREE, K.REVOLUTE),
    "planar": (K.PLANAR, K.CYLINDRICAL),
    "mixed": (K.UNIVERSAL, K.SPHERICAL, K.SCREW, K.PRISMATIC, K.FREE),
}


def close(result, expected, tolerance):
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * np.abs(expected).max(initial=1.0))


def pendulum(links):
    """A chain of rods on skew axes."""
    builder = km.Builder("pendulum")
    parent = None
    for i in range(links):
        rod = km.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)) + km.Inertia.sphere(0.3, 0.05, (0, 0.02, -0.5))
        joint = km.Joint.revolute((0.1 * i, 1.0, 0.2))
        parent = builder.link(f"rod{i}", parent, joint, (0, 0, -0.5) if i else (0, 0, 0), rod)
    return builder.build()


def floating_tree(name, seed=0):
    """A free link in empty space that carries others, in a random state."""
    rng = np.random.default_rng(seed)
    kinds = (K.FREE, *TREES[name])
    model = build_tree(rng, kinds, range(-1, len(kinds) - 1)).with_gravity((0, 0, 0))
    _, q, v, *_ = random_state(rng, model)
    return model, q, v


def oscillator(stiffness=0.0, damping=0.0, rest=0.0, mass=2.0):
    builder = km.Builder("oscillator", gravity=(0, 0, 0))
    joint = km.Joint.prismatic((1, 2, 2), stiffness=stiffness, damping=damping, rest=rest)
    builder.link("mass", joint=joint, inertia=km.Inertia.sphere(mass, 0.1))
    return builder.build()


def top(inertia, gravity=(0, 0, 0)):
    builder = km.Builder("top", gravity)
    builder.link("top", joint=km.Joint.free(), inertia=km.Inertia(2.0, matrix=inertia))
    return builder.build()


def distance(model, a, b):
    """How far two states are apart."""
    return max(np.abs(km.difference(model, a[0], b[0])).max(), np.abs(a[1] - b[1]).max())


def measured_order(error_at, dt):
    """The order that two halvings of the step show."""
    errors = [error_at(dt / 2**i) for i in range(3)]
    return np.log2(errors[0] / errors[2]) / 2.0


def state_error(model, q, v, method, seconds=0.4):
    """The error at the end of a run, as a function of the step. A fine run is the truth."""
    data = km.Data(model)

    def end(dt, method):
        return km.step(model, data, q, v, dt=dt, steps=round(seconds / dt), method=method)

    truth = end(seconds / 6400, "rk4")
    return lambda dt: distance(model, end(dt, method), truth)


def energy_error(model, q, v, dt, seconds=1.0):
    """The largest change of energy, relative to the largest kinetic energy."""
    data = km.Data(model)
    run = km.rollout(model, data, q, v, dt=dt, steps=round(seconds / dt))
    energies = [km.energy(model, data, *state) for state in zip(run.q, run.v, strict=True)]
    totals = np.array([e.total for e in energies])
    return np.abs(totals - totals[0]).max() / max(e.kinetic for e in energies)


# ------------------------------------------------------------------------------------------------------- order


@pytest.mark.parametrize("links", [2, 3])
def test_rk4_is_of_fourth_order_on_pendulums(links):
    model = pendulum(links)
    q, v = np.full(links, 1.2), np.linspace(-1.0, 1.0, links)
    assert measured_order(state_error(model, q, v, "rk4"), 0.005) >= 3.8
    assert measured_order(lambda dt: energy_error(model, q, v, dt), 0.005) >= 3.8


@pytest.mark.parametrize("name", TREES)
def test_rk4_is_of_fourth_order_on_floating_trees(name):
    model, q, v = floating_tree(name)
    assert measured_order(state_error(model, q, v, "rk4"), 0.02) >= 3.8
    assert measured_order(lambda dt: energy_error(model, q, v, dt), 0.02) >= 3.8


@pytest.mark.parametrize("name", TREES)
def test_rk4_conserves_momentum_to_fourth_order(name):
    model, q, v = floating_tree(name)
    data = km.Data(model)
    before = km.momentum(model, data, q, v)

    def error_at(dt):
        after = km.momentum(model, data, *km.step(model, data, q, v, dt=dt, steps=round(0.4 / dt)))
        return np.abs(after - before).max()

    assert measured_order(error_at, 0.02) >= 3.8
    assert error_at(5e-4) <= 1e-10 * np.abs(before).max()


@pytest.mark.parametrize("name", ["pendulum", *TREES])
def test_euler_is_of_first_order(name):
    model, q, v = (pendulum(2), np.full(2, 1.2), np.zeros(2)) if name == "pendulum" else floating_tree(name)
    assert 0.9 <= measured_order(state_error(model, q, v, "euler"), 1e-3) <= 1.1


@pytest.mark.parametrize("links", [2, 3])
def test_energy_of_a_pendulum_stays_to_ten_digits(links):
    assert energy_error(pendulum(links), np.full(links, 1.2), np.zeros(links), 2e-4) <= 1e-10


@pytest.mark.parametrize("name", TREES)
def test_energy_of_a_floating_tree_stays_to_ten_digits(name):
    assert energy_error(*floating_tree(name), 5e-4) <= 1e-10


def test_energy_of_a_forest_with_every_kind_of_joint_stays(rng):
    model = random_tree(rng, 18, KINDS, "random", roots=3, armature=0.2)
    _, q, v, *_ = random_state(rng, model)
    assert energy_error(model, q, v, 2e-4, 0.2) <= 1e-10


# ------------------------------------------------------------------------------------------------- conservation


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_a_spinning_body_keeps_a_unit_quaternion_for_a_million_steps(method, rng):
    model = top((0.1, 0.2, 0.25))
    data = km.Data(model)
    q, v = km.random_configuration(model, rng), rng.normal(size=6) * 3.0
    q_end, v_end = km.step(model, data, q, v, dt=1e-4, steps=1_000_000, method=method)
    assert abs(np.linalg.norm(q_end[3:]) - 1.0) <= 1e-14
    if method == "rk4":
        before, after = km.momentum(model, data, q, v, "com"), km.momentum(model, data, q_end, v_end, "com")
        close(after, before, 1e-9)


def test_every_quaternion_on_the_way_is_unit(rng):
    model, q, v = floating_tree("mixed")
    run = km.rollout(model, km.Data(model), q, v, dt=1e-3, steps=2000)
    for i, l in enumerate(model.links):
        if l["kind"] in (K.SPHERICAL, K.FREE):
            close(np.linalg.norm(run.q[:, model.q_slice(i)][:, -4:], axis=1), 1.0, 1e-14)


def test_the_centre_of_mass_moves_straight_in_empty_space():
    model, q, v = floating_tree("mixed")
    data = km.Data(model)
    start, velocity = km.com(model, data, q), km.com_velocity(model, data, q, v)
    end, _ = km.step(model, data, q, v, dt=1e-3, steps=1000)
    close(km.com(model, data, end), start + velocity, 1e-10)


def test_backward_steps_return_to_the_start():
    model, q, v = floating_tree("mixed")
    data = km.Data(model)
    there = km.step(model, data, q, v, dt=1e-3, steps=500)
    back = km.step(model, data, *there, dt=-1e-3, steps=500)
    assert distance(model, back, (q, v)) <= 1e-9


# ---------------------------------------------------------------------------------------------- known solutions


def test_a_symmetric_top_precesses_as_in_the_textbook(rng):
    side, axial, seconds = 0.3, 0.1, 5.0
    model = top((side, side, axial))
    q, v = np.array([0, 0, 0, 1.0, 0, 0, 0]), np.array([0.7, -0.4, 5.0, 0, 0, 0])
    start = random_pose(rng)
    q[3:] = Rotation.from_matrix(start.rotation).as_quat(scalar_first=True)
    q_end, v_end = km.step(model, km.Data(model), q, v, dt=1e-3, steps=5000)
    # about the angular momentum at the rate |L| / I₁, and about its own axis with what is left of its spin
    L = start.rotation @ (np.array([side, side, axial]) * v[:3])
    nutation = Rotation.from_rotvec(seconds * L / side)
    spin = Rotation.from_rotvec([0, 0, seconds * (1.0 - axial / side) * v[2]])
    expected = nutation * Rotation.from_matrix(start.rotation) * spin
    close(km.Pose.quaternion(q_end[3:]).rotation, expected.as_matrix(), 1e-9)
    rate = (axial - side) / side * v[2] * seconds
    turned = Rotation.from_rotvec([0, 0, rate]).apply(v[:3])
    close(v_end[:3], turned, 1e-9)


@pytest.mark.parametrize("damping", [0.0, 1.0, 8.0, 40.0], ids=["undamped", "underdamped", "critical", "overdamped"])
@pytest.mark.parametrize("method", ["rk4", "adaptive"])
def test_an_oscillator_moves_as_in_the_textbook(damping, method):
    stiffness, mass, rest = 8.0, 2.0, 0.3
    model = oscillator(stiffness, damping, rest, mass)
    times = np.linspace(0.0, 3.0, 31)
    start = np.array([1.0, -2.0])
    matrix = np.array([[0.0, 1.0], [-stiffness / mass, -damping / mass]])
    expected = np.array([expm(t * matrix) @ (start - [rest, 0.0]) + [rest, 0.0] for t in times])
    data = km.Data(model)
    if method == "rk4":
        run = km.rollout(model, data, start[:1], start[1:], dt=1e-3, steps=3000, every=100)
    else:
        run = km.rollout_adaptive(model, data, start[:1], start[1:], times, tolerance=1e-11)
    close(run.t, times, 1e-14)
    close(np.hstack([run.q, run.v]), expected, 1e-9)


@pytest.mark.lane
def test_an_oscillator_in_a_few_steps():
    model = oscillator(8.0, 1.0)
    q, v = km.step(model, km.Data(model), [1.0], [0.0], dt=0.01, steps=20)
    expected = expm(0.2 * np.array([[0.0, 1.0], [-4.0, -0.5]])) @ [1.0, 0.0]
    close([*q, *v], expected, 1e-9)


@pytest.mark.lane
@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_a_flywheel_under_constant_torque(method):
    builder = km.Builder()
    builder.link("wheel", joint=km.Joint.revolute("z", armature=0.1), inertia=km.Inertia.cylinder(2.0, 0.3, 0.1))
    model = builder.build()
    rate = 0.7 / (0.5 * 2.0 * 0.3**2 + 0.1)
    dt, steps = 0.01, 50
    q, v = km.step(model, km.Data(model), [0.5], [1.0], [0.7], dt=dt, steps=steps, method=method)
    t = dt * steps
    lag = 0.5 * rate * t * dt if method == "euler" else 0.0  # Euler uses the velocity at each step's end
    close(v, 1.0 + rate * t, 1e-13)
    close(q, 0.5 + t + 0.5 * rate * t * t + lag, 1e-13)


@pytest.mark.lane
def test_a_thrown_ball_flies_a_parabola():
    model = top((0.1, 0.1, 0.1), gravity=(0, 0, -9.81))
    q, v = np.array([1.0, 0, 0, 1, 0, 0, 0]), np.array([0, 0, 0, 2.0, 0, 3.0])
    q_end, v_end = km.step(model, km.Data(model), q, v, dt=0.05, steps=10)
    close(q_end[:3], [1.0 + 2.0 * 0.5, 0.0, 3.0 * 0.5 - 0.5 * 9.81 * 0.25], 1e-13)
    close(v_end[3:], [2.0, 0.0, 3.0 - 9.81 * 0.5], 1e-13)


def test_a_constant_external_force_accelerates_constantly():
    model = top((0.1, 0.2, 0.25))
    push = np.array([[0, 0, 0, 4.0, 0, 0]])
    q, _ = km.step(model, km.Data(model), km.neutral(model), np.zeros(6), dt=0.1, steps=10, external=push)
    close(q[:3], [0.5 * 4.0 / 2.0, 0, 0], 1e-13)


def test_dampers_take_all_the_energy_that_is_lost(rng):
    builder = km.Builder()
    parent = None
    for i, kind in enumerate((K.UNIVERSAL, K.SPHERICAL, K.PLANAR, K.CYLINDRICAL)):
        joint = km.Joint(kind, axis2="x", damping=0.2, stiffness=1.0)
        parent = builder.link(f"link{i}", parent, joint, random_pose(rng, 0.3), km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    model = builder.build()
    data = km.Data(model)
    run = km.rollout(model, data, km.neutral(model), rng.normal(size=model.nv), dt=1e-3, steps=400)
    totals = [km.energy(model, data, *state).total for state in zip(run.q, run.v, strict=True)]
    lost = simpson((model.dofs["damping"] * run.v**2).sum(axis=1), x=run.t)
    assert totals[0] - totals[-1] == pytest.approx(lost, rel=1e-7)


# ------------------------------------------------------------------------------------------------------ rollout


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_a_rollout_is_many_steps(method):
    model, q, v = floating_tree("mixed")
    data = km.Data(model)
    run = km.rollout(model, data, q, v, dt=1e-3, steps=7, method=method)
    assert run.q.shape == (8, model.nq)
    assert run.v.shape == (8, model.nv)
    close(run.t, np.arange(8) * 1e-3, 1e-16)
    for i in range(8):
        assert (run.q[i] == q).all()
        assert (run.v[i] == v).all()
        q, v = km.step(model, data, q, v, dt=1e-3, method=method)


def test_every_thins_out_a_rollout():
    model, q, v = floating_tree("free")
    data = km.Data(model)
    full = km.rollout(model, data, q, v, dt=1e-3, steps=10)
    for every in (1, 2, 3, 5, 10, 11):
        thin = km.rollout(model, data, q, v, dt=1e-3, steps=10, every=every)
        assert (thin.q == full.q[::every]).all()
        assert (thin.v == full.v[::every]).all()
        close(thin.t, full.t[::every], 1e-16)


def test_the_last_steps_count_though_no_row_is_kept_for_them():
    model = oscillator(stiffness=1e9)
    with pytest.raises(ArithmeticError):  # every 1000th state would still be the start
        km.rollout(model, km.Data(model), [1.0], [0.0], dt=0.1, steps=999, every=1000)


@pytest.mark.lane
def test_no_steps_change_nothing():
    model, q, v = floating_tree("free")
    q_end, v_end = km.step(model, km.Data(model), q, v, steps=0)
    assert (q_end == q).all()
    assert (v_end == v).all()


def test_a_diverging_run_names_the_step_and_the_time():
    model = oscillator(stiffness=1e6)
    data, dt = km.Data(model), 0.1
    with pytest.raises(ArithmeticError, match=r"'oscillator': step .* not finite") as error:
        km.rollout(model, data, [1.0], [0.0], dt=dt, steps=10_000)
    number, time = re.search(r"step (\d+) \(t = (\S+) s\)", str(error.value)).groups()
    assert float(time) == pytest.approx((int(number) - 1) * dt, rel=1e-5)
    q, _ = km.step(model, data, [1.0], [0.0], dt=dt, steps=int(number) - 1)
    assert np.isfinite(q).all()
    with pytest.raises(ArithmeticError, match=f"step {number} "):
        km.step(model, data, [1.0], [0.0], dt=dt, steps=int(number))


# ----------------------------------------------------------------------------------------------------- adaptive


@pytest.mark.parametrize("name", ["pendulum", "mixed"])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-11])
def test_adaptive_steps_meet_their_tolerance(name, tolerance):
    model, q, v = (pendulum(2), np.full(2, 1.2), np.zeros(2)) if name == "pendulum" else floating_tree(name)
    data = km.Data(model)
    run = km.rollout_adaptive(model, data, q, v, [0.0, 0.3, 1.0], tolerance=tolerance)
    for i, steps in ((1, 6000), (2, 20_000)):
        truth = km.step(model, data, q, v, dt=5e-5, steps=steps)
        # the tolerance is that of one step; a second has dozens, and motion magnifies their errors
        assert distance(model, (run.q[i], run.v[i]), truth) <= max(100.0 * tolerance, 1e-10)


def test_a_smaller_tolerance_gives_a_smaller_error():
    model, q, v = floating_tree("mixed")
    data = km.Data(model)
    truth = km.step(model, data, q, v, dt=1e-4, steps=10_000)
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8):
        run = km.rollout_adaptive(model, data, q, v, [0.0, 1.0], tolerance=tolerance)
        errors.append(distance(model, (run.q[-1], run.v[-1]), truth))
    assert errors[0] > 5.0 * errors[1] > 25.0 * errors[2]


def test_adaptive_steps_hit_the_given_times_exactly():
    model = oscillator()  # nothing acts: q = v t, exact to rounding at any step
    times = np.array([2.0, 2.0, 2.0 + 1e-12, 2.1, 2.1 + 1e-3, np.pi, 100.0])
    run = km.rollout_adaptive(model, km.Data(model), [0.0], [1.0], times)
    assert (run.t == times).all()
    close(run.q[:, 0], times - 2.0, 1e-13)


def test_adaptive_steps_do_not_depend_on_how_many_states_are_kept():
    model, q, v = floating_tree("mixed")
    data = km.Data(model)
    few = km.rollout_adaptive(model, data, q, v, [0.0, 1.0], tolerance=1e-10)
    many = km.rollout_adaptive(model, data, q, v, np.linspace(0.0, 1.0, 301), tolerance=1e-10)
    assert distance(model, (few.q[-1], few.v[-1]), (many.q[-1], many.v[-1])) <= 1e-8


def test_adaptive_steps_say_when_they_cannot_go_on():
    model = oscillator(stiffness=1e12)
    with pytest.raises(ArithmeticError, match=r"'oscillator': could not reach t = 10 s within tolerance .* 50 steps"):
        km.rollout_adaptive(model, km.Data(model), [1.0], [0.0], [0.0, 10.0], most_steps=50)


def test_adaptive_steps_grow_where_nothing_happens():
    model = oscillator()
    km.rollout_adaptive(model, km.Data(model), [0.0], [1.0], [0.0, 1e6], most_steps=50)


# ---------------------------------------------------------------------------------------------------- arguments


@pytest.mark.lane
def test_no_argument_is_modified():
    model, q, v = floating_tree("free")
    tau, external, times = np.ones(model.nv), np.ones((model.n, 6)), np.array([0.0, 0.002])
    given = (q, v, tau, external, times)
    kept = [x.copy() for x in given]
    data = km.Data(model)
    km.step(model, data, q, v, tau, external=external)
    km.rollout(model, data, q, v, tau, steps=3, method="euler", external=external)
    run = km.rollout_adaptive(model, data, q, v, times, tau, external=external)
    run.q[:] = run.v[:] = run.t[:] = 9.0
    for x, before in zip(given, kept, strict=True):
        assert (x == before).all()


@pytest.mark.lane
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "leapfrog"}, "method 'leapfrog' is not one of euler, rk4"),
        ({"dt": np.nan}, "dt nan must be finite"),
        ({"dt": np.inf}, "dt inf must be finite"),
        ({"steps": -1}, "steps -1 not negative"),
        ({"every": 0}, "every 0 at least 1"),
        ({"tau": [1.0]}, r"tau has shape \(1,\), expected \(7,\)"),
        ({"tau": [np.nan] * 7}, r"tau\[0\] is nan"),
        ({"external": np.zeros((1, 6))}, r"external has shape \(1, 6\), expected \(2, 6\)"),
        ({"external": np.full((2, 6), np.inf)}, r"external\[\(0, 0\)\] is inf"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_arguments_of_rollout_are_refused(arguments, message):
    builder = km.Builder()
    builder.link("a", joint=km.Joint.free(), inertia=km.Inertia.sphere(1, 1))
    builder.link("b", "a", joint=km.Joint.revolute(), inertia=km.Inertia.sphere(1, 1))
    model = builder.build()
    with pytest.raises(ValueError, match=message):
        km.rollout(model, km.Data(model), km.neutral(model), np.zeros(7), **arguments)


@pytest.mark.lane
@pytest.mark.parametrize(
    ("times", "more", "message"),
    [
        ([], {}, "times must be a list"),
        ([[0.0, 1.0]], {}, "times must be a list"),
        ([0.0, 2.0, 1.0], {}, "do not decrease"),
        ([0.0, np.nan], {}, r"times\[1\] is nan"),
        ([0.0, np.inf], {}, r"times\[1\] is inf"),
        ([0.0, 1.0], {"tolerance": 0.0}, "tolerance 0.0 must be positive"),
        ([0.0, 1.0], {"tolerance": np.nan}, "tolerance nan must be positive"),
    ],
)
def test_bad_arguments_of_adaptive_rollouts_are_refused(times, more, message):
    model = oscillator()
    with pytest.raises(ValueError, match=message):
        km.rollout_adaptive(model, km.Data(model), [0.0], [0.0], times, **more)
