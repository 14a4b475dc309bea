"""Conversions to other engines, against the engines themselves: each builds a twin of a model, and physics must agree.

Pinocchio and MuJoCo belong to the test environment. Drake and PyBullet do not, so what they say about one state is
recorded here, and compared with the engines again where they are installed.
"""

import numpy as np
import pytest
from tests.robots import ROBOTS, load
from tests.strategies import build_tree, random_inertia, random_pose

import kinemorph as km
from kinemorph import Joint, JointKind, Pose
from kinemorph.multibody import convert

ENGINES = ("pinocchio", "mujoco", "drake", "pybullet")

def tree(joints, seed=0, floating_at=None):
    """A model of these joints, {link: (parent, joint)}, with random frames and masses."""
    rng = np.random.default_rng(seed)
    b = km.Builder("twin", gravity=(1.0, -2.0, -9.0))
    for name, (parent, joint) in joints.items():
        at = floating_at or Pose() if joint.kind is JointKind.FREE and parent is None else random_pose(rng, 0.3)
        b.link(name, parent, joint, at, random_inertia(rng))
    return b.build()


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return km.random_configuration(model, rng), *rng.normal(size=(3, model.nv))


def mass_of(row):
    """Mass, centre of mass, and inertia about it."""
    com = row["h"] / row["mass"]
    I = row["I"][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    return row["mass"], com, I - row["mass"] * (com @ com * np.eye(3) - np.outer(com, com))


def close(result, expected, tolerance=1e-10):
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


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


def pinocchio_joint(pin, row, name):
    kind, axis = JointKind(row["kind"]), np.array(row["axis"])
    if kind is JointKind.CYLINDRICAL:
        joint = pin.JointModelComposite(2)
        joint.addJoint(pin.JointModelRevoluteUnaligned(axis))
        joint.addJoint(pin.JointModelPrismaticUnaligned(axis))
        return joint
    if kind is JointKind.REVOLUTE:
        return pin.JointModelRUBZ() if "wheel" in name else pin.JointModelRevoluteUnaligned(axis)
    return {
        JointKind.PRISMATIC: lambda: pin.JointModelPrismaticUnaligned(axis),
        JointKind.SCREW: lambda: pin.JointModelHelicalUnaligned(axis, float(row["pitch"])),
        JointKind.UNIVERSAL: lambda: pin.JointModelUniversal(axis, np.array(row["axis2"])),
        JointKind.PLANAR: pin.JointModelPlanar,
        JointKind.SPHERICAL: pin.JointModelSpherical,
        JointKind.FREE: pin.JointModelFreeFlyer,
    }[kind]()


def pinocchio_twin(pin, model, order):
    twin = pin.Model()
    twin.gravity.linear = model.gravity
    for name in order:
        row = model.links[model.link(name)]
        parent = 0 if row["parent"] < 0 else twin.getJointId(model.names[row["parent"]])
        at = pin.SE3(row["R"].reshape(3, 3), np.array(row["p"]))
        index = twin.addJoint(parent, pinocchio_joint(pin, row, name), at, name)
        twin.appendBodyToJoint(index, pin.Inertia(*mass_of(row)), pin.SE3.Identity())
    return twin


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

MUJOCO_JOINTS = {
    JointKind.FREE: "<freejoint/>",
    JointKind.SPHERICAL: "<joint name='{0}' type='ball'/>",
    JointKind.REVOLUTE: "<joint name='{0}' type='hinge' axis='{1}' ref='{2}'/>",
    JointKind.PRISMATIC: "<joint name='{0}' type='slide' axis='{1}' ref='{2}'/>",
    JointKind.PLANAR: "<joint name='{0}_x' type='slide' axis='1 0 0'/><joint name='{0}_y' type='slide' axis='0 1 0'/>"
    "<joint name='{0}_turn' type='hinge' axis='0 0 1'/>",
    JointKind.UNIVERSAL: "<joint name='{0}_1' axis='1 0 0'/><joint name='{0}_2' axis='0 1 0'/>",
}
PARTS = {"plane": ("plane_x", "plane_y", "plane_turn"), "cardan": ["cardan_1", "cardan_2"]}


def numbers(values):
    return " ".join(repr(float(x)) for x in values)


def mujoco_body(model, i, ref):
    """A link and all that it carries, as MJCF."""
    row, name = model.links[i], model.names[i]
    mass, com, I = mass_of(row)
    joint = MUJOCO_JOINTS[JointKind(row["kind"])].format(name, numbers(row["axis"]), ref)
    moments = numbers(I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
    children = "".join(mujoco_body(model, k, ref) for k in range(model.n) if model.links[k]["parent"] == i)
    R = row["R"].reshape(3, 3)
    return (
        f"<body name='{name}' pos='{numbers(row['p'])}' xyaxes='{numbers([*R[:, 0], *R[:, 1]])}'>{joint}"
        f"<inertial pos='{numbers(com)}' mass='{numbers([mass])}' fullinertia='{moments}'/>{children}</body>"
    )


def mujoco_twin(mujoco, model, ref=0.0, more=""):
    bodies = "".join(mujoco_body(model, i, ref) for i in range(model.n) if model.links[i]["parent"] < 0)
    text = (
        f"<mujoco><compiler angle='radian' autolimits='false'/><option gravity='{numbers(model.gravity)}'>"
        f"<flag contact='disable'/></option><worldbody>{more}{bodies}</worldbody></mujoco>"
    )
    return mujoco.MjModel.from_xml_string(text)


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


def test_mujoco_scene_may_hold_more_than_the_model():
    mujoco = pytest.importorskip("mujoco")
    model = tree({"base": (None, Joint.free()), "hinge": ("base", Joint.revolute())})
    more = "<body name='crate' pos='5 5 5'><freejoint/><geom size='0.1'/></body>"
    twin = mujoco_twin(mujoco, model, more=more)
    with pytest.raises(ValueError, match="model 'twin' has no joint 'crate', which MuJoCo has; others=True"):
        convert.mujoco(model, twin)
    agrees_with_mujoco(mujoco, model, twin, convert.mujoco(model, twin, others=True))


# ------------------------------------------------------------------------------------------ Drake and PyBullet

# link: parent, joint, where it stands, and its mass: position, roll pitch yaw, mass, principal moments
MECHANISM = {
    "base": (None, "free", (0, 0, 0), (0, 0, 0), (0.1, -0.2, 0.3), (0.4, 0.5, 0.6), 2.0, (0.5, 0.6, 0.7)),
    "upper": ("base", "ball", (0.3, 0.1, 0.2), (0.2, 0.1, -0.4), (0.05, 0.02, 0.4), (0.3, -0.2, 0.9), 1.5, (0.2, 0.3, 0.25)),
    "lower": ("upper", "hinge", (0, 0.1, 0.5), (0.1, 0.2, 0.3), (0, 0.02, 0.3), (-0.3, 0.2, 0.9), 1.1, (0.1, 0.13, 0.15)),
    "tool": ("lower", "slide", (0, 0, 0.5), (0.1, 0, 0.3), (0, 0.02, 0.1), (0, 0, 0.2), 0.7, (0.05, 0.03, 0.04)),
}  # fmt: skip
JOINTS = {
    "free": Joint.free(name="free"),
    "ball": Joint.spherical(name="ball"),
    "hinge": Joint.revolute("y", name="hinge"),
    "slide": Joint.prismatic("z", name="slide"),
}
Q = [0.3, -0.2, 0.5, 0.4, -0.4, 0.8, 0.2, 2 / 9, 4 / 9, -5 / 9, 6 / 9, 0.7, -0.4]
V = [0.5, -0.7, 0.9, -0.3, 0.6, 0.2, 0.8, -0.4, 0.1, -0.6, 0.35]
TAU = [0.2, -0.1, 0.4, 1.0, 0.6, -0.8, -0.5, 0.3, 0.7, -0.9, 0.25]


def mechanism():
    b = km.Builder("mechanism")
    for name, (parent, joint, at, turn, com, axes, mass, moments) in MECHANISM.items():
        R = Pose.rpy(*axes).rotation
        b.link(name, parent, JOINTS[joint], Pose.rpy(*turn, at), km.Inertia(mass, com, R @ np.diag(moments) @ R.T))
    return b.build()


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


def observed_in_drake(model):
    """What Drake says about the state, and its view of the model."""
    pytest.importorskip("pydrake")
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody import tree as parts
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    for name, (parent, joint, at, turn, com, axes, mass, moments) in MECHANISM.items():
        I = Pose.rpy(*axes).rotation @ np.diag(moments) @ Pose.rpy(*axes).rotation.T / mass
        unit = parts.UnitInertia(*np.diag(I), I[0, 1], I[0, 2], I[1, 2]).ShiftFromCenterOfMass(np.array(com))
        body = plant.AddRigidBody(name, parts.SpatialInertia(mass, np.array(com), unit)).body_frame()
        if parent:  # Drake lets the other one float
            X = RigidTransform(RotationMatrix(Pose.rpy(*turn).rotation), at)
            frame = plant.AddFrame(parts.FixedOffsetFrame(f"at {name}", plant.GetBodyByName(parent), X))
            plant.AddJoint(
                {
                    "ball": lambda *a: parts.BallRpyJoint(*a),
                    "hinge": lambda *a: parts.RevoluteJoint(*a, [0, 1, 0]),
                    "slide": lambda *a: parts.PrismaticJoint(*a, [0, 0, 1]),
                }[joint](joint, frame, body)
            )
    plant.Finalize()
    to = convert.drake(model, plant)
    record = {"q": to.q(Q), "v": to.v(Q, V), "tau": to.tau(Q, TAU)}
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, record["q"])
    plant.SetVelocities(context, record["v"])
    force = record["tau"] + plant.CalcGravityGeneralizedForces(context) - plant.CalcBiasTerm(context)
    record["a"] = np.linalg.solve(plant.CalcMassMatrix(context), force)
    tool = plant.GetBodyByName("tool")
    pose, motion = plant.EvalBodyPoseInWorld(context, tool), plant.EvalBodySpatialVelocityInWorld(context, tool)
    arm = pose.rotation().matrix() @ MECHANISM["tool"][4]
    record["tool"] = pose.translation() + arm
    record["motion"] = np.concatenate([motion.rotational(), motion.translational() + np.cross(motion.rotational(), arm)])
    close(to.q(km.integrate(model, Q, V, 1e-6)), record["q"] + 1e-6 * plant.MapVelocityToQDot(context, record["v"]), 1e-10)
    return to, record


def observed_in_pybullet(model, folder):
    """What PyBullet says about the state, and its view of the model."""
    pybullet = pytest.importorskip("pybullet")
    text = "<robot name='mechanism'>"
    for name, (parent, joint, at, turn, com, axes, mass, moments) in MECHANISM.items():
        i = " ".join(f"{key}='{value}'" for key, value in zip(("ixx", "iyy", "izz"), moments))
        text += (
            f"<link name='{name}'><inertial><origin xyz='{numbers(com)}' rpy='{numbers(axes)}'/><mass value='{mass}'/>"
            f"<inertia {i} ixy='0' ixz='0' iyz='0'/></inertial></link>"
        )
        if parent:
            kind = {"ball": "spherical", "hinge": "continuous", "slide": "prismatic"}[joint]
            text += (
                f"<joint name='{joint}' type='{kind}'><origin xyz='{numbers(at)}' rpy='{numbers(turn)}'/>"
                f"<parent link='{parent}'/><child link='{name}'/><axis xyz='{numbers(JOINTS[joint].axes()[0])}'/>"
                "<limit lower='-9' upper='9' effort='9' velocity='9'/></joint>"
            )
    (folder / "mechanism.urdf").write_text(text + "</robot>")
    h = 1e-6
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setGravity(*model.gravity)
        pybullet.setTimeStep(h)
        body = pybullet.loadURDF(str(folder / "mechanism.urdf"), flags=pybullet.URDF_USE_INERTIA_FROM_FILE)
        for i in range(-1, 3):
            pybullet.changeDynamics(body, i, linearDamping=0, angularDamping=0, jointDamping=0)
        to = convert.pybullet(model, pybullet, body)
        q, v, tau = to.q(Q), to.v(Q, V), to.tau(Q, TAU)
        pybullet.resetBasePositionAndOrientation(body, q[:3], q[3:7])
        pybullet.resetBaseVelocity(body, v[:3], v[3:6])
        pybullet.resetJointStateMultiDof(body, 0, q[7:11], v[6:9])
        for i in (1, 2):
            pybullet.resetJointState(body, i, q[10 + i], v[8 + i])
        tool = pybullet.getLinkState(body, 2, computeLinkVelocity=1, computeForwardKinematics=1)
        # the motors that hold every joint by default are switched off, then forces act for one short step
        off = {"positionGain": 0, "velocityGain": 0, "force": [0, 0, 0]}
        pybullet.setJointMotorControlMultiDof(body, 0, pybullet.POSITION_CONTROL, [0, 0, 0, 1], **off)
        pybullet.setJointMotorControlArray(body, [1, 2], pybullet.VELOCITY_CONTROL, forces=[0, 0])
        pybullet.applyExternalForce(body, -1, tau[:3], q[:3], pybullet.WORLD_FRAME)
        pybullet.applyExternalTorque(body, -1, tau[3:6], pybullet.WORLD_FRAME)
        pybullet.setJointMotorControlMultiDof(body, 0, pybullet.TORQUE_CONTROL, [0, 0, 0, 1], force=tau[6:9])
        pybullet.setJointMotorControlArray(body, [1, 2], pybullet.TORQUE_CONTROL, forces=tau[9:])
        pybullet.stepSimulation()
        (place, turned), base = pybullet.getBasePositionAndOrientation(body), pybullet.getBaseVelocity(body)
        ball, *rest = pybullet.getJointStateMultiDof(body, 0), *pybullet.getJointStates(body, [1, 2])
        q_after = np.array([*place, *turned, *ball[0], *(joint[0] for joint in rest)])
        v_after = np.array([*base[0], *base[1], *ball[1], *(joint[1] for joint in rest)])
    finally:
        pybullet.disconnect(client)
    close(to.q(km.integrate(model, Q, to.v_back(q, v_after), h)), q_after, 1e-10)
    motion = np.concatenate([tool[7], tool[6]])
    return to, {"q": q, "v": v, "tau": tau, "a": (v_after - v) / h, "tool": np.array(tool[0]), "motion": motion}


def show(record):
    print("\n".join(f"    {key!r}: {np.round(value, 13).tolist()}," for key, value in record.items()))


def test_drake_agrees():
    model = mechanism()
    to, record = observed_in_drake(model)
    agrees_with_record(model, to, record)
    show(record)


def test_pybullet_agrees(tmp_path):
    model = mechanism()
    to, record = observed_in_pybullet(model, tmp_path)
    agrees_with_record(model, to, record, 1e-8)
    show(record)
