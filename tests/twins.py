"""The same mechanism in several engines, for tests of conversions.

Drake and PyBullet do not belong to the test environment, so what they say about one state of one mechanism is recorded
here; `observed_in_drake` and `observed_in_pybullet` ask them again where they are installed.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.strategies import random_inertia, random_pose

import kinemorph as km
from kinemorph import Joint, JointKind, Pose
from kinemorph.multibody.convert import convert
from kinemorph.multibody.convert.coordinates import rotation_quaternion


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


def numbers(values):
    return " ".join(repr(float(x)) for x in values)


def close(result, expected, tolerance=1e-10):
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


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


# ------------------------------------------------------------------------------------------ Drake and PyBullet

# link: parent, joint, joint frame (position; roll, pitch, yaw), inertial frame (the same), mass, principal moments
MECHANISM = {
    "base": (None, "free", (0, 0, 0), (0, 0, 0), (0.1, -0.2, 0.3), (0.4, 0.5, 0.6), 2.0, (0.5, 0.6, 0.7)),
    "arm": ("base", "ball", (0.3, 0.1, 0.2), (0.2, 0.1, -0.4), (0.1, 0, 0.4), (0.3, -0.2, 0.9), 1.5, (0.2, 0.3, 0.25)),
    "hand": ("arm", "hinge", (0, 0.1, 0.5), (0.1, 0.2, 0.3), (0, 0.1, 0.3), (-0.3, 0.2, 0.9), 1.1, (0.1, 0.13, 0.15)),
    "tool": ("hand", "slide", (0, 0, 0.5), (0.1, 0, 0.3), (0, 0.02, 0.1), (0, 0, 0.2), 0.7, (0.05, 0.03, 0.04)),
}
JOINTS = {
    "free": Joint.free(name="free"),
    "ball": Joint.spherical(name="ball"),
    "hinge": Joint.revolute("y", name="hinge"),
    "slide": Joint.prismatic("z", name="slide"),
}
# a state of it, in our order
Q = [0.3, -0.2, 0.5, 0.4, -0.4, 0.8, 0.2, 2 / 9, 4 / 9, -5 / 9, 6 / 9, 0.7, -0.4]
V = [0.5, -0.7, 0.9, -0.3, 0.6, 0.2, 0.8, -0.4, 0.1, -0.6, 0.35]
TAU = [0.2, -0.1, 0.4, 1.0, 0.6, -0.8, -0.5, 0.3, 0.7, -0.9, 0.25]

# The same state in the engines' orders, and what follows from it: accelerations, position of the tool's centre of
# mass, its angular and linear velocity.
DRAKE = {  # Drake 1.51.1
    "q": [0.4, -0.4, 0.8, 0.2, 0.3, -0.2, 0.5, -1.5935196876365, -0.9963737270114, -2.7695248947317, 0.7, -0.4],
    "v": [0.812, -0.084, -0.94, -0.276, 0.632, 0.12, -0.0543209876543, -0.1382716049383, 0.8876543209877, -0.6, 0.35],
    "tau": [0.2, 0.1, -0.4, -1.224, -0.632, -0.32, 0.258024691358, -0.6432098765432, -0.5913580246914, -0.9, 0.25],
    "a": [
        0.2095184980979, 0.611293247253, -0.1902182540059, 0.1241109594086, -1.0606343787199, -9.6478700454661,
        -0.9092524304289, -1.7424776649795, -4.1636007892681, -10.0633454956739, 1.2487658253838,
    ],
    "tool": [0.7329548711972, -0.4822773886014, 0.4203155203235],
    "motion": [
        1.6131184200959, 0.3705469094196, -1.9563814398898, -0.210483871847, -0.1924085773805, -0.4727238912389,
    ],
}  # fmt: skip
PYBULLET = {  # PyBullet 3.2.7
    "q": [
        0.568, -0.176, 0.24, -0.1945587301583, 0.968696345165, 0.0726064823138, 0.1360242261849,
        -0.0232966684508, -0.4600946444985, 0.8592947499511, 0.2222222222222, 0.7, -0.4,
    ],
    "v": [
        -0.2316, 0.5912, 0.162, 0.812, -0.084, -0.94, 0.2001572471037, -0.818048625181, 0.3173854490541, -0.6, 0.35,
    ],
    "tau": [
        -1.224, -0.632, -0.32, 0.372, -0.304, -0.26, 0.0647727114739, 0.7595157141196, 0.4989392506645, -0.9, 0.25,
    ],
    "a": [
        -0.0721400467696, -1.1329780612579, -9.8360681917709, 0.2095184981066, 0.6112932472574, -0.190218254037,
        1.3009369357608, 4.4130711497337, -0.1758011501374, -10.0633454956922, 1.2487658253568,
    ],
    "tool": DRAKE["tool"],
    "motion": DRAKE["motion"],
}  # fmt: skip


def mechanism():
    b = km.Builder("mechanism")
    for name, (parent, joint, at, turn, com, axes, mass, moments) in MECHANISM.items():
        R = Pose.rpy(*axes).rotation
        b.link(name, parent, JOINTS[joint], Pose.rpy(*turn, at), km.Inertia(mass, com, R @ np.diag(moments) @ R.T))
    return b.build()


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
    w, v = motion.rotational(), motion.translational()
    record["motion"] = np.concatenate([w, v + np.cross(w, arm)])
    moved = record["q"] + 1e-6 * plant.MapVelocityToQDot(context, record["v"])
    close(to.q(km.integrate(model, Q, V, 1e-6)), moved, 1e-10)
    return to, record


def observed_in_pybullet(model, folder):
    """What PyBullet says about the state, and its view of the model."""
    pybullet = pytest.importorskip("pybullet")
    text = "<robot name='mechanism'>"
    for name, (parent, joint, at, turn, com, axes, mass, moments) in MECHANISM.items():
        i = "ixx='{}' iyy='{}' izz='{}'".format(*moments)
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


class DrakeJoint:
    """What `drake` reads of a joint."""

    def __init__(self, name, kind, iq, iv, nv):
        self.name, self.type_name = lambda: name, lambda: kind
        self.position_start, self.velocity_start, self.num_velocities = lambda: iq, lambda: iv, lambda: nv


def drake_plant():
    """What `drake` reads of a plant, as Drake says it of the mechanism with a weld in it."""
    joints = [
        DrakeJoint("ball", "ball_rpy", 7, 6, 3),
        DrakeJoint("hinge", "revolute", 10, 9, 1),
        DrakeJoint("weld", "weld", 11, 10, 0),
        DrakeJoint("slide", "prismatic", 11, 10, 1),
        DrakeJoint("base", "quaternion_floating", 0, 0, 6),
    ]
    return SimpleNamespace(
        GetJointIndices=lambda instance=None: range(len(joints)) if instance is None else [instance],
        get_joint=lambda i: joints[i],
        num_positions=lambda: 12,
        num_velocities=lambda: 11,
    )


def pybullet_client(planar=False):
    """What `pybullet` reads of the mechanism, with a fixed joint in it."""
    plate = 3 if planar else 4
    joints = [(0, b"ball", 2, "arm"), (1, b"plate", plate, None), (2, b"hinge", 0, "hand"), (3, b"slide", 1, "tool")]

    def inertial(body, i):
        name = "base" if i < 0 else joints[i][3]
        if name is None:
            return (0.1, 0.5, (0, 0, 0), (0, 0, 0), (0, 0, 0, 1))
        *_, com, axes, mass, moments = MECHANISM[name]
        x = rotation_quaternion(Pose.rpy(*axes).rotation)
        return (mass, 0.5, moments, com, (*x[1:], x[0]))

    return SimpleNamespace(
        getNumJoints=lambda body: len(joints), getJointInfo=lambda body, i: joints[i], getDynamicsInfo=inertial
    )
