"""Conversions to other engines, against the engines themselves: each builds a twin of a model, and physics must agree.

Pinocchio and MuJoCo belong to the test environment. What Drake and PyBullet have said is recorded in `tests.twins`, and
they are asked again where they are installed.
"""

import re

import numpy as np
import pytest
from tests.robots import ROBOTS, load
from tests.strategies import build_tree, random_pose
from tests.twins import (
    DRAKE,
    MECHANISM,
    PYBULLET,
    TAU,
    Q,
    V,
    close,
    drake_plant,
    mass_of,
    mechanism,
    mujoco_twin,
    observed_in_drake,
    observed_in_pybullet,
    pinocchio_twin,
    pybullet_client,
    state,
    tree,
)

import kinemorph as km
from kinemorph import Joint, JointKind, Pose
from kinemorph.multibody.convert import convert

ENGINES = ("pinocchio", "mujoco", "drake", "pybullet")


def same_configuration(model, q0, q1, tolerance=1e-12):
    """Quaternions may differ in sign, and angles by full turns."""
    data0, data1 = km.Data(model), km.Data(model)
    km.kinematics(model, data0, q0)
    km.kinematics(model, data1, q1)
    close(data1.links["p"], data0.links["p"], tolerance)
    close(data1.links["R"], data0.links["R"], tolerance)


# ------------------------------------------------------------------------------------------ without an engine


def view(engine, seed=0):
    """A model of all kinds of joint, as far as an engine can have them, and the engine's view of it."""
    kinds = [kind for kind in JointKind if kind is not JointKind.FREE]
    if engine in ("mujoco", "pybullet"):
        kinds.remove(JointKind.SCREW)
    parents = [-1, *(i // 2 for i in range(len(kinds)))]
    model = build_tree(np.random.default_rng(seed), [JointKind.FREE, *kinds], parents)

    def split(*these):
        """Names for joints that the engine has to make of several."""
        named = zip(model.joint_names, model.links)
        return {name: [f"{name}_{k}" for k in range(row["nv"])] for name, row in named if row["kind"] in these}

    several = split(JointKind.CYLINDRICAL, JointKind.UNIVERSAL, JointKind.PLANAR)
    rng = np.random.default_rng(seed)
    return model, {
        "pinocchio": lambda: convert.pinocchio(model, continuous=["link2"]),
        "mujoco": lambda: convert.mujoco(model, names=several),
        "drake": lambda: convert.drake(model, names=split(JointKind.CYLINDRICAL)),
        "pybullet": lambda: convert.pybullet(
            model, names=several, inertial={name: random_pose(rng) for name in model.names}
        ),
    }[engine]()


every_engine = pytest.mark.parametrize("engine", ENGINES)


@every_engine
def test_there_and_back_is_where_it_was(engine):
    model, to = view(engine)
    q, v, a, tau = state(model)
    Q, V = to.q(q), to.v(q, v)
    assert Q.shape == (to.nq,)
    assert V.shape == (to.nv,) == (model.nv,)
    same_configuration(model, q, to.q_back(Q))
    close(to.v_back(Q, V), v, 1e-12)
    close(to.a_back(Q, V, to.a(q, v, a)), a, 1e-12)
    close(to.tau_back(Q, to.tau(q, tau)), tau, 1e-12)


@every_engine
def test_power_is_the_same_on_both_sides(engine):
    model, to = view(engine)
    q, v, _, tau = state(model)
    assert to.tau(q, tau) @ to.v(q, v) == pytest.approx(tau @ v, rel=1e-12)


@every_engine
def test_a_is_the_time_derivative_of_v(engine):
    model, to = view(engine)
    q, v, a, _ = state(model)
    h = 1e-5
    before, after = (to.v(km.integrate(model, q, v, s), v + s * a) for s in (-h, h))
    close((after - before) / (2.0 * h), to.a(q, v, a), 1e-8)


@every_engine
def test_trajectories_convert_as_their_states_do(engine):
    model, to = view(engine)
    states = [state(model, seed) for seed in range(6)]
    q, v, a, tau = (np.array(columns).reshape(2, 3, -1) for columns in zip(*states))
    Q, V, A, Tau = to.q(q), to.v(q, v), to.a(q, v, a), to.tau(q, tau)
    assert Q.shape == (2, 3, to.nq)
    for k, one in enumerate(np.ndindex(2, 3)):
        q1, v1, a1, tau1 = states[k]
        close(Q[one], to.q(q1), 1e-14)
        close(V[one], to.v(q1, v1), 1e-14)
        close(A[one], to.a(q1, v1, a1), 1e-14)
        close(Tau[one], to.tau(q1, tau1), 1e-14)
        close(to.q_back(Q)[one], to.q_back(Q[one]), 1e-14)
    close(to.v_back(Q, V), v, 1e-12)
    close(to.a_back(Q, V, A), a, 1e-12)
    close(to.tau_back(Q, Tau), tau, 1e-12)
    close(to.v(q[0, 0], v)[1, 2], to.v(q[0, 0], v[1, 2]), 1e-14)  # one q, many v


def test_quaternions_of_any_length_turn_velocities_in_the_same_way():
    model, to = view("drake")
    q, v, *_ = state(model)
    longer = q.copy()
    longer[3:7] *= 3.0
    close(to.v(longer, v), to.v(q, v), 1e-14)


def test_angles_past_half_a_turn_come_back_joined_by_unwrap():
    model = tree({"wheel": (None, Joint.revolute())})
    to = convert.pinocchio(model, continuous=["wheel"])
    q = np.linspace(0.0, 30.0, 100)[:, None]
    close(np.unwrap(to.q_back(to.q(q)), axis=0), q, 1e-12)


def test_rolls_of_drake_are_defined_where_the_pitch_is_upright():
    model = tree({"ball": (None, Joint.spherical())})
    to = convert.drake(model)
    up = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    same_configuration(model, up, to.q_back(to.q(up)))


def test_a_model_that_cannot_move_has_nothing_to_convert():
    model = tree({"stand": (None, Joint.fixed())})
    to = convert.mujoco(model)
    assert to.q([]).shape == to.v([], []).shape == to.q_index.shape == (0,)


def test_view_says_what_it_is():
    _, to = view("pybullet")
    assert repr(to) == "PyBullet's view of model 'random tree': nq 20, nv 18"


# -------------------------------------------------------------------------------------------------- Pinocchio


def agrees_with_pinocchio(pin, model, twin, to):
    q, v, _, tau = state(model)
    data, twin_data = km.Data(model), twin.createData()
    Q, V, Tau = to.q(q), to.v(q, v), to.tau(q, tau)
    a = km.aba(model, data, q, v, tau)
    A = pin.aba(twin, twin_data, Q, V, Tau)
    close(to.a(q, v, a), A, 1e-9)
    close(to.a_back(Q, V, A), a, 1e-9)
    close(pin.rnea(twin, twin_data, Q, V, A), Tau, 1e-9)
    pin.forwardKinematics(twin, twin_data, Q, V)
    for i, name in enumerate(model.names):
        if model.links[i]["nv"]:
            joint = twin.getJointId(model.joint_names[i])
            close(data.links[i]["R"].reshape(3, 3), twin_data.oMi[joint].rotation)
            close(data.links[i]["p"], twin_data.oMi[joint].translation)
            speed = pin.getVelocity(twin, twin_data, joint, pin.LOCAL_WORLD_ALIGNED)
            close(km.velocity_of(model, data, name), np.concatenate([speed.angular, speed.linear]))
    h = 1e-6
    close(to.q(km.integrate(model, q, v, h)), pin.integrate(twin, Q, h * V), 20.0 * h**2)


def test_pinocchio_agrees_on_all_kinds_of_joint():
    pin = pytest.importorskip("pinocchio")
    joints = {
        "base": (None, Joint.free()),
        "ball": ("base", Joint.spherical()),
        "wheel": ("ball", Joint.revolute("z")),
        "elbow": ("ball", Joint.revolute((1, 2, 3))),
        "plane": ("elbow", Joint.planar("z", "x")),
        "slide": ("base", Joint.prismatic((0, 2, 1))),
        "cardan": ("slide", Joint.universal("x", "y")),
        "screw": ("cardan", Joint.screw((1, 0, 1), pitch=0.1)),
        "piston": ("plane", Joint.cylindrical((0, 3, 1))),
        "drone": ("piston", Joint.free()),
        "wheel2": ("slide", Joint.revolute("z")),
    }
    model = tree(joints)
    order = ["base", "slide", "wheel2", "cardan", "screw", "ball", "elbow", "plane", "piston", "drone", "wheel"]
    twin = pinocchio_twin(pin, model, order)
    agrees_with_pinocchio(pin, model, twin, convert.pinocchio(model, twin))
    # names alone say as much as the model, but for the joints with cosine and sine
    by_name = convert.pinocchio(model, list(twin.names)[1:], continuous=["wheel", "wheel2"])
    agrees_with_pinocchio(pin, model, twin, by_name)


def test_pinocchio_has_external_forces_in_the_axes_of_the_link():
    pin = pytest.importorskip("pinocchio")
    model = tree({"base": (None, Joint.free()), "ball": ("base", Joint.spherical())})
    twin, data = pinocchio_twin(pin, model, model.names), km.Data(model)
    to = convert.pinocchio(model, twin)
    q, v, a, _ = state(model)
    external = np.random.default_rng(1).normal(size=(2, 6))
    tau = km.rnea(model, data, q, v, a, external)
    forces = pin.StdVec_Force()
    forces.append(pin.Force.Zero())
    for link, row in zip(data.links, external):
        R = link["R"].reshape(3, 3)
        forces.append(pin.Force(row[3:] @ R, row[:3] @ R))
    close(to.tau(q, tau), pin.rnea(twin, twin.createData(), to.q(q), to.v(q, v), to.a(q, v, a), forces))


def test_pinocchio_makes_joints_of_several():
    pin = pytest.importorskip("pinocchio")
    model = tree({"plane": (None, Joint.planar()), "arm": ("plane", Joint.revolute("x"))})
    twin = pin.Model()
    twin.gravity.linear = model.gravity
    row, arm = model.links
    at = pin.SE3(row["R"].reshape(3, 3), np.array(row["p"]))
    x = twin.addJoint(0, pin.JointModelPX(), at, "x")
    y = twin.addJoint(x, pin.JointModelPY(), pin.SE3.Identity(), "y")
    turn = twin.addJoint(y, pin.JointModelRUBZ(), pin.SE3.Identity(), "turn")
    twin.appendBodyToJoint(turn, pin.Inertia(*mass_of(row)), pin.SE3.Identity())
    at = pin.SE3(arm["R"].reshape(3, 3), np.array(arm["p"]))
    index = twin.addJoint(turn, pin.JointModelRX(), at, "elbow")
    twin.appendBodyToJoint(index, pin.Inertia(*mass_of(arm)), pin.SE3.Identity())
    to = convert.pinocchio(model, twin, names={"plane": ["x", "y", "turn"], "arm": "elbow"})
    q, v, _, tau = state(model)
    A = pin.aba(twin, twin.createData(), to.q(q), to.v(q, v), to.tau(q, tau))
    close(to.a(q, v, km.aba(model, km.Data(model), q, v, tau)), A)


@pytest.mark.parametrize(
    "robot",
    ["anymal_b_simple_description/anymal", "kinova_description/kinova", "tiago_description/tiago_no_hand"],
)
@pytest.mark.parametrize("floating", [False, True])
def test_pinocchio_agrees_on_robots(robot, floating):
    pin = pytest.importorskip("pinocchio")
    if robot not in ROBOTS:
        pytest.skip("example-robot-data is not installed, or does not have it")
    model = load(robot, floating)
    root = [pin.JointModelFreeFlyer()] if floating else []
    twin = pin.buildModelFromUrdf(str(ROBOTS[robot]), *root)
    twin.gravity.linear = model.gravity
    agrees_with_pinocchio(pin, model, twin, convert.pinocchio(model, twin))


# ----------------------------------------------------------------------------------------------------- MuJoCo

PARTS = {"plane": ("plane_x", "plane_y", "plane_turn"), "cardan": ["cardan_1", "cardan_2"]}


def agrees_with_mujoco(mujoco, model, twin, to):
    q, v, _, tau = state(model)
    data, twin_data = km.Data(model), mujoco.MjData(twin)
    twin_data.qpos[to.q_index] = to.q(q)[to.q_index]
    twin_data.qvel[to.v_index] = to.v(q, v)[to.v_index]
    twin_data.qfrc_applied[to.v_index] = to.tau(q, tau)[to.v_index]
    mujoco.mj_forward(twin, twin_data)
    a = km.aba(model, data, q, v, tau)
    close(to.a(q, v, a)[to.v_index], twin_data.qacc[to.v_index])
    close(to.a_back(twin_data.qpos, twin_data.qvel, twin_data.qacc), a)
    mujoco.mj_inverse(twin, twin_data)
    close(to.tau_back(twin_data.qpos, twin_data.qfrc_inverse), tau)
    for i, name in enumerate(model.names):
        body = twin.body(name).id
        close(data.links[i]["R"], twin_data.xmat[body])
        close(data.links[i]["p"], twin_data.xpos[body])
        speed = np.zeros(6)
        mujoco.mj_objectVelocity(twin, twin_data, mujoco.mjtObj.mjOBJ_XBODY, body, speed, 0)
        close(km.velocity_of(model, data, name), speed)
    h = 1e-6
    after = twin_data.qpos.copy()
    mujoco.mj_integratePos(twin, after, twin_data.qvel, h)
    close(to.q(km.integrate(model, q, v, h))[to.q_index], after[to.q_index], 20.0 * h**2)


MUJOCO_TREE = {
    "base": (None, Joint.free()),
    "ball": ("base", Joint.spherical()),
    "hinge": ("ball", Joint.revolute((1, 2, 3))),
    "slide": ("hinge", Joint.prismatic((0, 2, 1))),
    "plane": ("base", Joint.planar()),
    "cardan": ("plane", Joint.universal("x", "y")),
}


@pytest.mark.parametrize("ref", [0.0, 0.3])
@pytest.mark.parametrize("moved", [False, True])
def test_mujoco_agrees(ref, moved):
    mujoco = pytest.importorskip("mujoco")
    model = tree(MUJOCO_TREE, floating_at=Pose.rpy(0.3, -0.4, 0.5, (1, 2, 3)) if moved else None)
    twin = mujoco_twin(mujoco, model, ref)
    agrees_with_mujoco(mujoco, model, twin, convert.mujoco(model, twin, names=PARTS))


def test_mujoco_agrees_by_names_alone():
    mujoco = pytest.importorskip("mujoco")
    model = tree(MUJOCO_TREE)
    order = ["base", "ball", "hinge", "slide", *PARTS["plane"], *PARTS["cardan"]]
    agrees_with_mujoco(mujoco, model, mujoco_twin(mujoco, model), convert.mujoco(model, order, names=PARTS))


def test_mujoco_has_external_forces_at_the_centre_of_mass():
    mujoco = pytest.importorskip("mujoco")
    model = tree({"base": (None, Joint.free()), "ball": ("base", Joint.spherical())})
    twin, data = mujoco_twin(mujoco, model), km.Data(model)
    to, twin_data = convert.mujoco(model, twin), mujoco.MjData(twin)
    q, v, _, tau = state(model)
    external = np.random.default_rng(1).normal(size=(2, 6))
    a = km.aba(model, data, q, v, tau, external)
    twin_data.qpos, twin_data.qvel, twin_data.qfrc_applied = to.q(q), to.v(q, v), to.tau(q, tau)
    for i in range(2):
        moment, force = external[i, :3], external[i, 3:]
        arm = data.links[i]["R"].reshape(3, 3) @ mass_of(model.links[i])[1]
        twin_data.xfrc_applied[i + 1] = np.concatenate([force, moment - np.cross(arm, force)])
    mujoco.mj_forward(twin, twin_data)
    close(to.a(q, v, a), twin_data.qacc)


def test_mujoco_scene_may_hold_more_than_the_model():
    mujoco = pytest.importorskip("mujoco")
    model = tree({"base": (None, Joint.free()), "hinge": ("base", Joint.revolute())})
    more = "<body name='crate' pos='5 5 5'><freejoint/><geom size='0.1'/></body>"
    twin = mujoco_twin(mujoco, model, more=more)
    with pytest.raises(ValueError, match="model 'twin' has no joint 'crate', which MuJoCo has; others=True"):
        convert.mujoco(model, twin)
    agrees_with_mujoco(mujoco, model, twin, convert.mujoco(model, twin, others=True))


# ------------------------------------------------------------------------------------------ Drake and PyBullet


def agrees_with_record(model, to, record, tolerance=1e-10):
    """The engine's numbers for the state Q, V, TAU: how it writes it, how it accelerates, and where the tool is."""
    close(to.q(Q), record["q"], 1e-12)
    close(to.v(Q, V), record["v"], 1e-12)
    close(to.tau(Q, TAU), record["tau"], 1e-12)
    data = km.Data(model)
    a = km.aba(model, data, Q, V, TAU)
    close(to.a(Q, V, a), record["a"], tolerance)
    close(to.a_back(record["q"], record["v"], record["a"]), a, tolerance)
    tool = data.links[model.link("tool")]
    arm = tool["R"].reshape(3, 3) @ MECHANISM["tool"][4]
    close(tool["p"] + arm, record["tool"], tolerance)
    close(np.concatenate([tool["w"], tool["v"] + np.cross(tool["w"], arm)]), record["motion"], tolerance)


def test_drake_agrees():
    model = mechanism()
    to, record = observed_in_drake(model)
    agrees_with_record(model, to, record)
    for key, recorded in DRAKE.items():
        close(record[key], recorded)


def test_pybullet_agrees(tmp_path):
    model = mechanism()
    to, record = observed_in_pybullet(model, tmp_path)
    agrees_with_record(model, to, record, 1e-8)
    for key, recorded in PYBULLET.items():
        close(record[key], recorded, 1e-8)


def test_drake_agreed_when_recorded():
    model = mechanism()
    agrees_with_record(model, convert.drake(model, ["free", "ball", "hinge", "slide"]), DRAKE)
    agrees_with_record(model, convert.drake(model, drake_plant()), DRAKE)


def test_drake_is_asked_for_one_model_instance():
    model = tree({"ball": (None, Joint.spherical())})
    to = convert.drake(model, drake_plant(), 0)
    assert to.nq == 12
    assert to.q_index.tolist() == [7, 8, 9]
    assert to.v_index.tolist() == [6, 7, 8]


def test_pybullet_agreed_when_recorded():
    model = mechanism()
    frames = {name: Pose.rpy(*axes, com) for name, (*_, com, axes, _, _) in MECHANISM.items()}
    by_name = convert.pybullet(model, ["ball", "hinge", "slide"], inertial=frames)
    agrees_with_record(model, by_name, PYBULLET, 1e-8)
    agrees_with_record(model, convert.pybullet(model, pybullet_client()), PYBULLET, 1e-8)


def test_pybullet_has_the_base_at_its_centre_of_mass():
    model = mechanism()
    to = convert.pybullet(model)
    close(to.q(Q)[:3], PYBULLET["q"][:3], 1e-12)
    close(to.v(Q, V)[:6], PYBULLET["v"][:6], 1e-12)
    close(to.q(Q)[3:7], [-0.4, 0.8, 0.2, 0.4], 1e-12)  # without the file, its axes are those of the link


def test_bases_and_joints_that_are_fixed_have_no_entries():
    model = tree(
        {"arm": (None, Joint.revolute()), "plate": ("arm", Joint.fixed()), "hand": ("plate", Joint.prismatic())}
    )
    to = convert.pybullet(model, ["hand", "plate", "arm"])
    assert to.q([1.0, 2.0]).tolist() == [2.0, 1.0]


# ----------------------------------------------------------------------------------------------- what is refused


def two_links():
    return tree({"base": (None, Joint.free()), "arm": ("base", Joint.revolute()), "plate": ("arm", Joint.fixed())})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda m: convert.pinocchio(m, ["base"]),
            "Pinocchio has no joint 'arm' for joint 'arm' of model 'twin'; it has base",
        ),
        (
            lambda m: convert.mujoco(m, ["base", "arm", "tail"]),
            "model 'twin' has no joint 'tail', which MuJoCo is said to have",
        ),
        (
            lambda m: convert.drake(m, ["base", "arm", "arm"]),
            "Drake has 2 joints 'arm' for joint 'arm' of model 'twin'",
        ),
        (lambda m: convert.drake(m, names={"tail": "x"}), "names: model 'twin' has no joint 'tail'"),
        (lambda m: convert.drake(m, names={"arm": "base"}), "names: joints 'base' and 'arm' cannot both be 'base'"),
        (lambda m: convert.pinocchio(m, continuous=["base"]), "continuous: model 'twin' has no revolute joint 'base'"),
        (
            lambda m: convert.drake(m, drake_plant()),
            "Drake has no joint 'arm' for joint 'arm' of model 'twin'; it has ball, hinge, slide, base",
        ),
        (
            lambda m: convert.drake(m, drake_plant(), names={"arm": "hinge"}),
            "model 'twin' has no joint 'ball', which Drake has; others=True leaves such joints out",
        ),
        (
            lambda m: convert.drake(m, drake_plant(), names={"arm": "slide"}),
            "joint 'arm' is revolute in model 'twin' and prismatic in Drake, and neither can be written as the other",
        ),
    ],
)
def test_joints_without_a_counterpart_are_named(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make(two_links())


def test_joints_that_an_engine_does_not_have_are_named():
    model = tree({"plane": (None, Joint.planar())})
    with pytest.raises(ValueError, match="joint 'plane' of model 'twin' is planar, and PyBullet has no such joint"):
        convert.pybullet(model)
    with pytest.raises(ValueError, match="one for each degree of freedom"):
        convert.mujoco(model, names={"plane": ["x", "y"]})


def test_planar_joints_of_pybullet_are_refused():
    model = tree({"plate": (None, Joint.planar())})
    with pytest.raises(ValueError, match="joint 'plate' is planar in model 'twin' and planar in PyBullet"):
        convert.pybullet(model, pybullet_client(planar=True), others=True)


def test_euler_angles_of_pinocchio_are_refused():
    pin = pytest.importorskip("pinocchio")
    twin = pin.Model()
    twin.addJoint(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "ball")
    with pytest.raises(ValueError, match="joint 'ball' is spherical in model 'twin' and SphericalZYX in Pinocchio"):
        convert.pinocchio(tree({"ball": (None, Joint.spherical())}), twin)


@pytest.mark.parametrize("engine", ["mujoco", "pybullet"])
def test_free_joints_inside_a_tree_are_refused_where_only_the_world_has_them(engine):
    model = tree({"arm": (None, Joint.revolute()), "drone": ("arm", Joint.free())})
    with pytest.raises(ValueError, match="joint 'drone' of model 'twin' is free and hangs on a link; in "):
        getattr(convert, engine)(model)


def test_wrong_numbers_are_named():
    model, to = mechanism(), convert.drake(mechanism())
    with pytest.raises(ValueError, match=re.escape("model 'mechanism': q has shape (12,), expected (…, 13)")):
        to.q(Q[:-1])
    with pytest.raises(ValueError, match=re.escape("Drake: v has shape (1,), expected (…, 11)")):
        to.v_back(to.q(Q), [1.0])
    with pytest.raises(ValueError, match=re.escape("model 'mechanism': tau[1, 2] is nan")):
        to.tau(Q, [TAU, [0.0, 0.0, np.nan, *TAU[3:]]])
    with pytest.raises(ValueError, match="joint 'free': its quaternion is zero"):
        to.v(np.zeros(model.nq), V)
