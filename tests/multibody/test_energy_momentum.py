"""Centre of mass, momentum and energy: against sums over links, and against each other over time."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.naive import dynamics as naive
from tests.naive.differences import derivative
from tests.strategies import KINDS, build_tree, random_state, states

import kinemorph as km

pytestmark = pytest.mark.quick

few = settings(max_examples=40)


def close(result, expected, tolerance):
    """Equal up to `tolerance` times the largest entry."""
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


def small_state():
    rng = np.random.default_rng(0)
    kinds = (km.JointKind.FREE, km.JointKind.UNIVERSAL, km.JointKind.PRISMATIC)
    return random_state(rng, build_tree(rng, kinds, (-1, 0, 0), armature=0.3))


def way(model, q, v, a, t):
    """Position and velocity on a way that begins with v and a."""
    return km.integrate(model, q, t * v + 0.5 * t * t * a), v + t * a


@few
@given(states())
def test_totals_are_sums_over_links(state):
    model, q, v, *_ = state
    data = km.Data(model)
    close(km.momentum(model, data, q, v), naive.momentum(model, q, v), 1e-12)
    close(km.energy(model, data, q, v).kinetic, naive.kinetic_energy(model, q, v), 1e-12)
    close(km.com(model, data, q), naive.centre_of_mass(model, q), 1e-13)
    close(km.energy(model, data, q, v).potential, -model.mass * model.gravity @ naive.centre_of_mass(model, q), 1e-12)


@pytest.mark.lane
def test_totals_of_a_small_tree():
    model, q, v, *_ = small_state()
    data = km.Data(model)
    close(km.momentum(model, data, q, v), naive.momentum(model, q, v), 1e-14)
    close(km.energy(model, data, q, v).kinetic, naive.kinetic_energy(model, q, v), 1e-14)
    close(km.com(model, data, q), naive.centre_of_mass(model, q), 1e-14)
    close(km.com_velocity(model, data, q, v) * model.mass, km.momentum(model, data, q, v)[3:], 1e-14)


@few
@given(states(most=6))
def test_momentum_follows_from_jacobians(state):
    """Linear: Σ m J(com); angular: about each centre of mass, and of each centre of mass."""
    model, q, v, *_ = state
    data = km.Data(model)
    angular, linear = np.zeros(3), np.zeros(3)
    for i, l in enumerate(model.links):
        centre = l["h"] / l["mass"]
        w, u = np.split(km.jacobian(model, data, q, i, centre) @ v, 2)
        R = data.links[i]["R"].reshape(3, 3)
        x = data.links[i]["p"] + R @ centre
        I = naive.sym_matrix(l["I"]) - l["mass"] * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        linear += l["mass"] * u
        angular += R @ I @ R.T @ w + np.cross(x, l["mass"] * u)
    close(km.momentum(model, data, q, v), [*angular, *linear], 1e-12)


@few
@given(states(most=6))
def test_com_velocity_is_the_derivative_of_com(state):
    model, q, v, *_ = state
    data = km.Data(model)
    rate = derivative(lambda t: km.com(model, data, km.integrate(model, q, v, t)))
    close(km.com_velocity(model, data, q, v), rate, 1e-9)


@few
@given(states(most=6))
def test_momentum_may_be_taken_about_any_point(state):
    model, q, v, *_ = state
    data = km.Data(model)
    origin, point = km.momentum(model, data, q, v), np.array([1.0, -2.0, 3.0])
    for about, where in ((point, point), ("com", km.com(model, data, q))):
        expected = [*(origin[:3] - np.cross(where, origin[3:])), *origin[3:]]
        close(km.momentum(model, data, q, v, about), expected, 1e-13)


@few
@given(states(most=6))
def test_power_of_joint_forces_is_the_rate_of_energy(state):
    model, q, v, _, tau, _ = state
    data = km.Data(model)
    a = km.aba(model, data, q, v, tau)
    rate = derivative(lambda t: km.energy(model, data, *way(model, q, v, a, t)).total, 1e-4)
    close(rate, tau @ v, 1e-7)


@few
@given(states(most=6, floating=True, armature=0.0))
def test_external_forces_and_weight_are_the_rate_of_momentum_of_a_floating_tree(state):
    model, q, v, _, tau, external = state
    tau = np.where(model.dofs["link"] == 0, 0.0, tau)
    data = km.Data(model)
    a = km.aba(model, data, q, v, tau, external)
    rate = derivative(lambda t: km.momentum(model, data, *way(model, q, v, a, t)), 1e-4)
    moments = external[:, :3] + np.cross(naive.Tree(model, q).p, external[:, 3:])
    weight = model.mass * model.gravity
    moment = moments.sum(axis=0) + np.cross(km.com(model, data, q), weight)
    close(rate, [*moment, *(external[:, 3:].sum(axis=0) + weight)], 1e-8)


@pytest.mark.parametrize(
    ("kind", "stiffness"),
    [
        *[(kind, 3.0) for kind in KINDS[:-1]],
        (km.JointKind.PLANAR, (1.0, 2.0, 3.0)),
        (km.JointKind.SPHERICAL, (1.0, 2.0, 3.0)),
        (km.JointKind.FREE, 3.0),
        (km.JointKind.FREE, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)),
    ],
)
def test_energy_stays_while_springs_swing(kind, stiffness, rng):
    builder = km.Builder(gravity=(0, 0, 0))
    joint = km.Joint(kind, axis2="x", pitch=0.2, stiffness=stiffness)
    builder.link("link", joint=joint, inertia=km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    model = builder.build()
    data = km.Data(model)
    q, v = km.integrate(model, km.neutral(model), rng.uniform(-1.0, 1.0, model.nv)), rng.normal(size=model.nv)
    before = km.energy(model, data, q, v)
    after = km.energy(model, data, *km.step(model, data, q, v, dt=1e-3, steps=200))
    close(after.total, before.total, 1e-9)
    assert not model.nv or abs(after.elastic - before.elastic) > 1e-3


def test_springs_are_slack_at_rest():
    builder = km.Builder(gravity=(0, 0, 0))
    ball = km.Inertia.sphere(1.0, 0.1)
    builder.link("a", joint=km.Joint.revolute(stiffness=5.0, rest=0.4), inertia=ball)
    builder.link("b", "a", joint=km.Joint.spherical(stiffness=5.0, rest=(0, 1, 0, 0)), inertia=ball)
    model = builder.build()
    data = km.Data(model)
    assert km.energy(model, data, model.rest, np.zeros(4)).total == 0.0
    assert km.energy(model, data, np.array([0.5, 0, 1, 0, 0]), np.zeros(4)).elastic == pytest.approx(0.5 * 5.0 * 0.01)


@pytest.mark.lane
def test_a_thrown_ball_has_textbook_energy():
    builder = km.Builder()
    builder.link("ball", joint=km.Joint.free(), inertia=km.Inertia.sphere(2.0, 0.1))
    model = builder.build()
    q, v = np.array([0, 0, 3.0, 1, 0, 0, 0]), np.array([5.0, 0, 0, 0, 4.0, 0])
    found = km.energy(model, km.Data(model), q, v)
    assert found.kinetic == pytest.approx(0.5 * 2.0 * 16.0 + 0.5 * 0.4 * 2.0 * 0.01 * 25.0, rel=1e-15)
    assert found.potential == pytest.approx(2.0 * 9.81 * 3.0, rel=1e-15)
    assert found.total == found.kinetic + found.potential
