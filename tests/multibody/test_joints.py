"""Every kind of joint: its motion, its subspace, its inverse, and its coordinates read off a motion.

Derivatives are central differences of fourth order, good to 1e-9 here (second ones to 1e-7).
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from tests.naive.differences import derivative, second_derivative
from tests.naive.dynamics import joint_motion
from tests.naive.spatial import homogeneous, vee
from tests.strategies import KINDS, build_tree, configurations, lone_joints, random_state, seeds, vectors

import kinemorph as km
from kinemorph.multibody.algorithms import inversion, joints
from kinemorph.multibody.layout import LINK
from kinemorph.spatial.quaternion_arrays import log_all

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
few = settings(max_examples=30)

TURNING = {km.JointKind.SPHERICAL, km.JointKind.FREE}
# entries of q that are angles, and so known up to whole turns
ANGLES = {
    km.JointKind.REVOLUTE: [0],
    km.JointKind.SCREW: [0],
    km.JointKind.CYLINDRICAL: [0],
    km.JointKind.UNIVERSAL: [0, 1],
    km.JointKind.PLANAR: [2],
}


def close(result, expected, tolerance):
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance)


def same_configuration(kind, found, expected, tolerance, up_to_turns=False):
    """Equal up to the sign of a quaternion, and up to whole turns if so told."""
    found, expected = np.array(found), np.array(expected)
    if kind in TURNING and found[-4:] @ expected[-4:] < 0.0:
        found[-4:] *= -1.0
    error = found - expected
    if up_to_turns:
        where = ANGLES.get(kind, [])
        error[where] -= 2.0 * np.pi * np.round(error[where] / (2.0 * np.pi))
    close(error, 0.0, tolerance)


def pose(model, q):
    return homogeneous(*joints.joint_transform(model.links[0], q))


def joint_pose(row, q):
    return homogeneous(*joint_motion(row, q)[:2])


def extract_position(row, q, found):
    """Read the coordinates off the motion of the joint at q."""
    R, p, _ = joint_motion(row, q)
    inversion.extract_position(row, tuple(R.ravel()), tuple(p), found)


def columns(model, q):
    """The motion subspace, 6 x nv, in the link's frame."""
    S = [np.concatenate(joints.subspace_column(model.links[0], q, k)) for k in range(model.nv)]
    return np.reshape(S, (model.nv, 6)).T


def random_velocity(rng, model, largest=1.0):
    return rng.uniform(-largest, largest, model.nv)


def inverted(model, q, v, a):
    """Row and state of the joint as its link sees it."""
    row = np.zeros(1, LINK)[0]
    inversion.invert_axes(model.links[0], row)
    row["nq"], row["nv"] = model.nq, model.nv
    out = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    inversion.invert_state(model.links[0], q, v, a, *out)
    return row, *out


def inverted_model(model):
    """A model whose only joint is the inverse of this model's."""
    l = model.links[0]
    first, second = (l["axis2"], l["axis"]) if l["kind"] == km.JointKind.UNIVERSAL else (l["axis"], l["axis2"])
    builder = km.Builder()
    joint = km.Joint(km.JointKind(l["kind"]), first, second, l["pitch"])
    builder.link("link", joint=joint, inertia=km.Inertia.sphere(1, 1))
    return builder.build()


# ------------------------------------------------------------------------------------------- configurations


@every_kind
@few
@given(st.data())
def test_integrate_inverts_difference(kind, data):
    model = data.draw(lone_joints(kind))
    q0, q1 = data.draw(configurations(model)), data.draw(configurations(model))
    same_configuration(kind, km.integrate(model, q0, km.difference(model, q0, q1)), q1, 1e-13)


@every_kind
@few
@given(st.data())
def test_difference_inverts_integrate_below_half_a_turn(kind, data):
    model = data.draw(lone_joints(kind))
    q, v = data.draw(configurations(model)), data.draw(vectors(model.nv, 1.8))  # 1.8 √3 < π
    close(km.difference(model, q, km.integrate(model, q, v)), v, 1e-13)


@every_kind
@few
@given(seeds())
def test_two_half_steps_make_one_step(kind, seed):
    rng = np.random.default_rng(seed)
    model, q, v, *_ = random_state(rng, build_tree(rng, [kind], [-1]))
    middle = km.integrate(model, q, 3.0 * v, 0.5)
    close(km.integrate(model, middle, 3.0 * v, 0.5), km.integrate(model, q, 3.0 * v), 1e-13)


@every_kind
@few
@given(seeds())
def test_a_step_back_undoes_a_step(kind, seed):
    rng = np.random.default_rng(seed)
    model, q, v, *_ = random_state(rng, build_tree(rng, [kind], [-1]))
    close(km.integrate(model, km.integrate(model, q, v, 0.7), v, -0.7), q, 1e-13)


@every_kind
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-20, 1e-9, 1e-5, 1e-3])
def test_tiny_steps_from_zero_keep_all_their_digits(kind, size, rng):
    model = build_tree(rng, [kind], [-1])
    v = rng.uniform(0.5, 1.0, model.nv) * size
    q0 = km.neutral(model)
    np.testing.assert_allclose(km.difference(model, q0, km.integrate(model, q0, v)), v, rtol=4e-15)


@pytest.mark.lane
@every_kind
def test_zero_velocity_stays(kind, rng):
    model = build_tree(rng, [kind], [-1])
    q = km.random_configuration(model, rng)
    close(km.integrate(model, q, np.zeros(model.nv)), q, 2e-16)
    close(km.difference(model, q, q), 0.0, 2e-16)


def test_random_configurations_respect_limits():
    limits = {"lower": -0.2, "upper": 0.7}
    one_sided = [{"lower": 4.0}, {"upper": -4.0}, {"lower": 0.0, "upper": 0.0}, {"upper": 1e-3}]
    builder = km.Builder()
    for kind in KINDS:
        builder.link(kind.name, joint=km.Joint(kind, axis2="x", **limits), inertia=km.Inertia.sphere(1, 1))
    for i, limit in enumerate(one_sided):
        builder.link(f"revolute{i}", joint=km.Joint.revolute(**limit), inertia=km.Inertia.sphere(1, 1))
        builder.link(f"prismatic{i}", joint=km.Joint.prismatic(**limit), inertia=km.Inertia.sphere(1, 1))
    model = builder.build()
    rng = np.random.default_rng(0)
    drawn = np.array([km.random_configuration(model, rng) for _ in range(500)])
    for i, l in enumerate(model.links):
        values = drawn[:, model.q_slice(i)]
        if l["kind"] in TURNING:
            close(np.linalg.norm(values[:, -4:], axis=1), 1.0, 4e-16)
            if l["kind"] == km.JointKind.FREE:
                assert np.abs(values[:, -4:].mean(axis=0)).max() < 0.1  # no direction is preferred
            else:
                assert np.abs(log_all(values) - 0.25).max() < 0.45 + 1e-12
        elif l["nv"]:
            dofs = model.dofs[model.v_slice(i)]
            assert (values >= dofs["lower"]).all()
            assert (values <= dofs["upper"]).all()
            wide = dofs["upper"] > dofs["lower"]
            assert (np.ptp(values, axis=0)[wide] > 0.8 * np.minimum(dofs["upper"] - dofs["lower"], 2.0)[wide]).all()


@pytest.mark.parametrize("seed", range(6))
def test_random_rotations_within_limits_are_those_uniform_ones_that_are_within(seed):
    """Against uniform rotations of which those outside are thrown away: the same distribution of each part."""
    rng = np.random.default_rng(seed)
    low, high = -rng.uniform(0.1, 4.0, 3), rng.uniform(0.1, 4.0, 3)
    if seed % 2:
        low[seed % 3] = -np.inf
    builder = km.Builder()
    builder.link("ball", joint=km.Joint.spherical(lower=low, upper=high), inertia=km.Inertia.sphere(1, 1))
    model = builder.build()
    drawn = log_all(np.array([km.random_configuration(model, rng) for _ in range(2000)]))
    assert (drawn >= low - 1e-12).all()
    assert (drawn <= high + 1e-12).all()
    x = rng.normal(size=(400_000, 4))
    every = log_all(x / np.linalg.norm(x, axis=1, keepdims=True))
    inside = every[((every >= low) & (every <= high)).all(axis=1)]
    for part in range(3):
        assert ks_2samp(drawn[:, part], inside[:, part]).pvalue > 1e-4


def test_a_person_is_drawn_within_the_ranges_of_people():
    model = km.human()
    for seed in range(20):
        q = km.random_configuration(model, seed)
        for name in model.names[1:]:
            low, high = model.limits(name)
            part = q[model.q_slice(name)]
            angles = log_all(part) if len(part) == 4 else part
            assert (angles >= np.asarray(low) - 1e-12).all()
            assert (angles <= np.asarray(high) + 1e-12).all()


def test_the_same_seed_gives_the_same_configuration(rng):
    model = build_tree(rng, KINDS, [-1] * len(KINDS))
    assert (km.random_configuration(model, 7) == km.random_configuration(model, 7)).all()
    assert (km.random_configuration(model, 7) != km.random_configuration(model, 8)).any()


# ------------------------------------------------------------------------------------------ motion and subspace


@every_kind
@few
@given(st.data())
def test_pose_is_that_of_the_book(kind, data):
    model = data.draw(lone_joints(kind))
    q = data.draw(configurations(model, 20.0))
    l = model.links[0]
    R, p, S = joint_motion(l, q)
    close(pose(model, q), homogeneous(l["R"], l["p"]) @ homogeneous(R, p), 1e-14)
    close(columns(model, q), S, 1e-14)


@every_kind
@few
@given(st.data())
def test_subspace_is_the_derivative_of_the_pose(kind, data):
    model = data.draw(lone_joints(kind))
    q = data.draw(configurations(model))
    X, S = pose(model, q), columns(model, q)
    for k in range(model.nv):
        rate = derivative(lambda t, k=k: pose(model, km.integrate(model, q, np.eye(model.nv)[k], t)))
        close(S[:, k], vee(np.linalg.inv(X) @ rate), 1e-10)


@every_kind
@few
@given(st.data())
def test_bias_is_the_derivative_of_the_twist_at_constant_velocity(kind, data):
    model = data.draw(lone_joints(kind))
    q, v = data.draw(configurations(model)), data.draw(vectors(model.nv, 2.0))

    def twist_in_the_parent(t):
        now = km.integrate(model, q, v, t)
        return np.kron(np.eye(2), pose(model, now)[:3, :3]) @ columns(model, now) @ v

    in_link = np.kron(np.eye(2), pose(model, q)[:3, :3].T) @ derivative(twist_in_the_parent)
    close(np.concatenate(joints.bias_acceleration(model.links[0], q, v)), in_link, 1e-9)


# --------------------------------------------------------------------------------------------------- inversion


@every_kind
@few
@given(st.data())
def test_the_inverted_joint_has_the_inverse_pose(kind, data):
    model = data.draw(lone_joints(kind))
    q = data.draw(configurations(model))
    row, q_inverted, _, _ = inverted(model, q, np.zeros(model.nv), np.zeros(model.nv))
    close(joint_pose(model.links[0], q) @ joint_pose(row, q_inverted), np.eye(4), 1e-14)


@every_kind
@few
@given(seeds())
def test_inverting_twice_changes_nothing(kind, seed):
    rng = np.random.default_rng(seed)
    model, q, v, a, *_ = random_state(rng, build_tree(rng, [kind], [-1]))
    row, *state = inverted(model, q, v, a)
    twice = np.zeros(1, LINK)[0]
    inversion.invert_axes(row, twice)
    for field in ("kind", "axis", "axis2", "pitch"):
        assert np.array_equal(twice[field], model.links[0][field])
    *_, q2, v2, a2 = inverted(inverted_model(model), *state)
    for found, expected in ((q2, q), (v2, v), (a2, a)):
        close(found, expected, 1e-13)


@every_kind
@few
@given(seeds())
def test_inverted_velocity_and_acceleration_are_derivatives_of_the_inverted_position(kind, seed):
    rng = np.random.default_rng(seed)
    model, q, v, a, *_ = random_state(rng, build_tree(rng, [kind], [-1]))
    other = inverted_model(model)
    _, q_inverted, v_inverted, a_inverted = inverted(model, q, v, a)

    def way(t):  # in the coordinates around the start, where the way begins with v and a
        now = km.integrate(model, q, t * v + 0.5 * t * t * a)
        return km.difference(other, q_inverted, inverted(model, now, v, a)[1])

    close(v_inverted, derivative(way), 1e-9)
    close(a_inverted, second_derivative(way), 1e-7)


# -------------------------------------------------------------------------------------------------- extraction


@every_kind
@few
@given(st.data())
def test_extraction_inverts_the_pose(kind, data):
    model = data.draw(lone_joints(kind))
    q = data.draw(configurations(model, 3.0 * np.pi))
    l = model.links[0]
    found = np.full(model.nq, np.nan)
    extract_position(l, q, found)
    same_configuration(kind, found, q, 1e-13, up_to_turns=True)


@pytest.mark.lane
@pytest.mark.parametrize("angle", [-100.0, -40.0, -np.pi, -1e-9, 0.0, 1e-8, 3.0, np.pi, 15.0, 7 * np.pi, 1000.0])
@pytest.mark.parametrize("pitch", [0.2, -0.01, 3.0])
def test_a_screw_remembers_its_turns(angle, pitch):
    builder = km.Builder()
    builder.link("nut", joint=km.Joint.screw((1, 2, 3), pitch), inertia=km.Inertia.sphere(1, 1))
    l = builder.build().links[0]
    found = np.zeros(1)
    extract_position(l, np.array([angle]), found)
    close(found, angle, 1e-12)


@pytest.mark.lane
def test_a_screw_without_pitch_is_read_within_half_a_turn():
    builder = km.Builder()
    builder.link("nut", joint=km.Joint.screw("x", 0.0), inertia=km.Inertia.sphere(1, 1))
    l = builder.build().links[0]
    found = np.zeros(1)
    extract_position(l, np.array([2.0 * np.pi + 0.5]), found)
    close(found, 0.5, 1e-14)


@every_kind
@few
@given(st.data())
def test_velocity_is_read_off_the_twist(kind, data):
    model = data.draw(lone_joints(kind))
    q, v = data.draw(configurations(model)), data.draw(vectors(model.nv, 5.0))
    twist = columns(model, q) @ v
    found = np.full(model.nv, np.nan)
    inversion.extract_velocity(model.links[0], q, tuple(twist[:3]), tuple(twist[3:]), found)
    close(found, v, 1e-13)


@pytest.mark.lane
@pytest.mark.parametrize("between", [1e-2, 1e-4, np.pi - 1e-3])
def test_a_universal_joint_with_nearly_parallel_axes_is_read_as_well_as_they_allow(between, rng):
    builder = km.Builder()
    axis2 = (np.cos(between), np.sin(between), 0.0)
    builder.link("cross", joint=km.Joint.universal("x", axis2), inertia=km.Inertia.sphere(1, 1))
    model = builder.build()
    l, lost = model.links[0], 1e-14 / np.sin(between) ** 2
    for _ in range(20):
        q, v = rng.uniform(-3.0, 3.0, 2), rng.normal(size=2)
        found, twist = np.zeros(2), columns(model, q) @ v
        extract_position(l, q, found)
        same_configuration(km.JointKind.UNIVERSAL, found, q, lost, up_to_turns=True)
        inversion.extract_velocity(l, q, tuple(twist[:3]), tuple(twist[3:]), found)
        close(found, v, lost)


@pytest.mark.lane
@every_kind
def test_joints_work_in_plain_python_too(kind, rng):
    """One pass over all functions of a joint, small enough to run without the JIT."""
    model, q, v, a, *_ = random_state(rng, build_tree(rng, [kind], [-1]))
    l = model.links[0]
    R, p, S = joint_motion(l, q)
    close(pose(model, q), homogeneous(l["R"], l["p"]) @ homogeneous(R, p), 1e-14)
    close(columns(model, q), S, 1e-14)
    close(km.difference(model, q, km.integrate(model, q, v)), v, 1e-13)
    row, q_inverted, v_inverted, _ = inverted(model, q, v, a)
    close(joint_pose(l, q) @ joint_pose(row, q_inverted), np.eye(4), 1e-14)
    twist, found_q, found_v = S @ v, np.zeros(model.nq), np.zeros(model.nv)
    extract_position(l, q, found_q)
    inversion.extract_velocity(l, q, tuple(twist[:3]), tuple(twist[3:]), found_v)
    same_configuration(kind, found_q, q, 1e-14, up_to_turns=True)
    close(found_v, v, 1e-13)
    assert v_inverted.shape == v.shape


@pytest.mark.lane
def test_placement_comes_before_the_joint():
    builder = km.Builder()
    at = km.Pose.rpy(0.0, 0.0, np.pi / 2, position=(1.0, 0.0, 0.0))
    builder.link("slider", joint=km.Joint.prismatic("x"), at=at, inertia=km.Inertia.sphere(1, 1))
    model = builder.build()
    close(pose(model, np.array([2.0]))[:3, 3], [1.0, 2.0, 0.0], 1e-15)
