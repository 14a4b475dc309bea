"""The same tree in MuJoCo, built from our model's own numbers, without geometry and so without contact."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

import kinemorph as km

KINDS = {km.JointKind.REVOLUTE: "hinge", km.JointKind.PRISMATIC: "slide", km.JointKind.SPHERICAL: "ball"}


def twin(model: km.Model, dt: float = 1e-3) -> tuple[mujoco.MjModel, km.convert.Peer]:
    """MuJoCo's model and the conversion of states to it. Fixed, revolute, prismatic, spherical and free joints only."""
    children: dict[int, list[int]] = {i: [] for i in range(-1, model.n)}
    for i, parent in enumerate(model.links["parent"]):
        children[int(parent)].append(i)
    gravity = " ".join(map(repr, model.gravity.tolist()))
    xml = (
        f'<mujoco><compiler angle="radian"/><option timestep="{dt}" gravity="{gravity}" integrator="Euler"/>'
        f"<worldbody>{''.join(_body(model, children, i) for i in children[-1])}</worldbody></mujoco>"
    )
    peer = mujoco.MjModel.from_xml_string(xml)
    for i, name in enumerate(model.names):  # written afterwards: the compiler refuses what some robots' files contain
        _set_inertia(peer, mujoco.mj_name2id(peer, mujoco.mjtObj.mjOBJ_BODY, name), model.links[i])
    mujoco.mj_setConst(peer, mujoco.MjData(peer))
    return peer, km.convert.mujoco(model, peer)


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
            f'damping="{float(dof["damping"])!r}"/>'
        )
    inside = "".join(_body(model, children, c) for c in children[i])
    return f'<body name={name} {place}><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{moves}{inside}</body>'


def _set_inertia(peer: mujoco.MjModel, body: int, l: np.void) -> None:
    mass = float(l["mass"])
    com = l["h"] / mass if mass else np.zeros(3)
    I = np.zeros((3, 3))
    I[np.triu_indices(3)] = l["I"]
    I = I + np.triu(I, 1).T - mass * (com @ com * np.eye(3) - np.outer(com, com))
    moments, axes = np.linalg.eigh(I)
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(axes).ravel())
    peer.body_mass[body] = mass
    peer.body_ipos[body] = com
    peer.body_inertia[body] = moments
    peer.body_iquat[body] = quaternion
