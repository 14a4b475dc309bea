"""The same trees in MuJoCo, built from our model's own numbers: without geometry, or on the ground with contact."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

import kinemorph as km

KINDS = {km.JointKind.REVOLUTE: "hinge", km.JointKind.PRISMATIC: "slide", km.JointKind.SPHERICAL: "ball"}


def twin(
    model: km.Model, dt: float = 1e-3, friction: float | None = None
) -> tuple[mujoco.MjModel, km.convert.Peer]:  # fmt: skip
    """MuJoCo's model and the conversion of states to it. Fixed, revolute, prismatic, spherical and free joints only.

    With `friction` it has the model's shapes, on the ground z = 0, joint limits, and a motor for each hinge.
    """
    peer = mujoco.MjModel.from_xml_string(_xml(model, dt, friction))
    if friction is not None:
        return peer, km.convert.mujoco(model, peer)
    for i, name in enumerate(model.names):  # written afterwards: the compiler refuses what some robots' files contain
        body = mujoco.mj_name2id(peer, mujoco.mjtObj.mjOBJ_BODY, name)
        numbers = inertia(model.links[i])
        peer.body_mass[body], peer.body_ipos[body], peer.body_inertia[body], peer.body_iquat[body] = numbers
    mujoco.mj_setConst(peer, mujoco.MjData(peer))
    return peer, km.convert.mujoco(model, peer)


def spec(model: km.Model, dt: float = 1e-3) -> mujoco.MjSpec:
    """The same as something that can be edited and compiled again."""
    found = mujoco.MjSpec.from_string(_xml(model, dt))
    for name, l in zip(model.names, model.links, strict=True):
        body = found.body(name)
        body.mass, body.ipos, body.inertia, body.iquat = inertia(l)
    return found


def add_ball(found: mujoco.MjSpec, a: str, b: str, on_a: np.ndarray) -> mujoco.MjsEquality:
    """Tie two bodies ("world" is one too) together in a point, given on the first."""
    ball = found.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, name1=a, name2=b, objtype=mujoco.mjtObj.mjOBJ_BODY)
    ball.data[:3] = on_a
    return ball


SHAPES = {
    km.ShapeKind.BOX: ("box", lambda size: [x / 2 for x in size]),
    km.ShapeKind.SPHERE: ("sphere", lambda size: size),
    km.ShapeKind.CYLINDER: ("cylinder", lambda size: [size[0], size[1] / 2]),
    km.ShapeKind.CAPSULE: ("capsule", lambda size: [size[0], size[1] / 2]),
}


def _geom(shape: km.Shape) -> str:
    kind, sizes = SHAPES[shape.kind]
    R = shape.pose.rotation
    axes = " ".join(repr(float(x)) for x in (*R[:, 0], *R[:, 1]))
    numbers = " ".join(repr(float(x)) for x in sizes(shape.size))
    position = " ".join(repr(float(x)) for x in shape.pose.position)
    return f'<geom type="{kind}" size="{numbers}" pos="{position}" xyaxes="{axes}"/>'


def _xml(model: km.Model, dt: float, friction: float | None = None) -> str:
    children: dict[int, list[int]] = {i: [] for i in range(-1, model.n)}
    for i, parent in enumerate(model.links["parent"]):
        children[int(parent)].append(i)
    gravity = " ".join(map(repr, model.gravity.tolist()))
    solid = friction is not None
    room = '<size memory="4G"/>' if model.n > 1000 else ""  # what MuJoCo would ask for grows with the square
    floor = f'<default><geom friction="{friction} 0.005 0.0001"/></default>' if solid else ""
    ground = '<geom type="plane" size="0 0 1"/>' if solid else ""
    hinges = [n for n, l in zip(model.joint_names, model.links, strict=True) if l["kind"] == km.JointKind.REVOLUTE]
    motors = "".join(f"<motor joint={quoteattr(name)}/>" for name in hinges) if solid else ""
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{dt}" gravity="{gravity}" integrator="Euler"/>'
        f"{room}{floor}"
        f"<worldbody>{ground}{''.join(_body(model, children, i, solid) for i in children[-1])}</worldbody>"
        f"<actuator>{motors}</actuator></mujoco>"
    )


def _body(model: km.Model, children: dict[int, list[int]], i: int, solid: bool) -> str:
    l = model.links[i]
    kind = km.JointKind(l["kind"])
    name, joint = quoteattr(model.names[i]), quoteattr(model.joint_names[i])
    R = l["R"].reshape(3, 3)
    axes = " ".join(repr(float(x)) for x in (*R[:, 0], *R[:, 1]))
    place = f'pos="{" ".join(repr(float(x)) for x in l["p"])}" xyaxes="{axes}"'
    if kind is km.JointKind.FREE:
        moves = f"<freejoint name={joint}/>"
    elif kind is km.JointKind.FIXED:
        moves = ""
    else:
        dof = model.dofs[int(l["iv"])]
        axis = " ".join(repr(float(x)) for x in l["axis"])
        limited = solid and np.isfinite(dof["lower"]) and np.isfinite(dof["upper"])
        limits = f' range="{float(dof["lower"])!r} {float(dof["upper"])!r}" limited="true"' if limited else ""
        moves = (
            f'<joint name={joint} type="{KINDS[kind]}" axis="{axis}" armature="{float(dof["armature"])!r}" '
            f'damping="{float(dof["damping"])!r}" stiffness="{float(dof["stiffness"])!r}" '
            f'springref="{float(model.rest[int(l["iq"])])!r}"{limits}/>'
        )
    inside = "".join(_body(model, children, c, solid) for c in children[i])
    inside += "".join(_geom(shape) for shape in model.shapes[i]) if solid else ""
    return f"<body name={name} {place}>{_inertial(l) if solid else ONE}{moves}{inside}</body>"


ONE = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def _inertial(l: np.void) -> str:
    mass, com, moments, quaternion = inertia(l)
    numbers = {"mass": [mass], "pos": com, "diaginertia": moments, "quat": quaternion}
    inside = " ".join(f'{name}="{" ".join(repr(float(x)) for x in n)}"' for name, n in numbers.items())
    return f"<inertial {inside}/>"


def inertia(l: np.void) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre of mass, principal moments and the quaternion of their axes."""
    mass = float(l["mass"])
    com = l["h"] / mass if mass else np.zeros(3)
    I = np.zeros((3, 3))
    I[np.triu_indices(3)] = l["I"]
    I = I + np.triu(I, 1).T - mass * (com @ com * np.eye(3) - np.outer(com, com))
    moments, axes = np.linalg.eigh(I)
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(axes).ravel())
    return mass, com, moments, quaternion
