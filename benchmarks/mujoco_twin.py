"""The same tree in MuJoCo, built from our model's own numbers, without geometry and so without contact."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

import kinemorph as km

KINDS = {km.JointKind.REVOLUTE: "hinge", km.JointKind.PRISMATIC: "slide", km.JointKind.SPHERICAL: "ball"}


def twin(model: km.Model, dt: float = 1e-3) -> tuple[mujoco.MjModel, km.convert.Peer]:
    """MuJoCo's model and the conversion of states to it. Fixed, revolute, prismatic, spherical and free joints only."""
    peer = mujoco.MjModel.from_xml_string(_xml(model, dt))
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


def _xml(model: km.Model, dt: float) -> str:
    children: dict[int, list[int]] = {i: [] for i in range(-1, model.n)}
    for i, parent in enumerate(model.links["parent"]):
        children[int(parent)].append(i)
    gravity = " ".join(map(repr, model.gravity.tolist()))
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{dt}" gravity="{gravity}" integrator="Euler"/>'
        f"<worldbody>{''.join(_body(model, children, i) for i in children[-1])}</worldbody></mujoco>"
    )


def _body(model: km.Model, children: dict[int, list[int]], i: int) -> str:
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
        moves = (
            f'<joint name={joint} type="{KINDS[kind]}" axis="{axis}" armature="{float(dof["armature"])!r}" '
            f'damping="{float(dof["damping"])!r}" stiffness="{float(dof["stiffness"])!r}" '
            f'springref="{float(model.rest[int(l["iq"])])!r}"/>'
        )
    inside = "".join(_body(model, children, c) for c in children[i])
    return f'<body name={name} {place}><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{moves}{inside}</body>'


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
