"""q, v, a and tau of a model in the order and the frames of another engine, and back.

Each function makes a `Peer` for one engine. It takes the engine's own model, whose joints it finds by name, or only the
names of the engine's joints in their order:

>>> import kinemorph as km
>>> b = km.Builder("drone")
>>> b.link("body", joint=km.Joint.free(), inertia=km.Inertia.box(1.0, (0.3, 0.3, 0.1)))
'body'
>>> to = km.convert.pinocchio(b.build())
>>> to.q([1, 2, 3, 1, 0, 0, 0]).tolist()
[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]

No engine is imported here: what users pass is read through its attributes. `docs/conventions.md` has all conventions in
one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.multibody.checks import Array
from kinemorph.multibody.convert.coordinates import RPY, WXYZ, XYZW, apply_map, solve_map, transpose_map
from kinemorph.multibody.convert.joint_matching import (
    Convention,
    Names,
    Part,
    PeerJoint,
    count_entries,
    joints_by_name,
    match_joints,
)
from kinemorph.multibody.convert.mujoco_names import compiled_names
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_floats, repr_of
from kinemorph.spatial.pose import FARTHEST, Pose

ONE_FORM = {JointKind.SCREW: "a", JointKind.UNIVERSAL: "aa"}  # of joints that only some engines have
PINOCCHIO = Convention("Pinocchio", XYZW, XYZW, also={**ONE_FORM, JointKind.CYLINDRICAL: "ad", JointKind.PLANAR: "p"})
MUJOCO = Convention("MuJoCo", free=WXYZ, spherical=WXYZ, linear_outside=True, from_world=True)
DRAKE = Convention(
    "Drake", free=WXYZ, spherical=RPY, also={**ONE_FORM, JointKind.PLANAR: "dda"}, position_first=False,
    angular_first=True, angular_outside=True, linear_outside=True, spherical_outside=True,
)  # fmt: skip
PYBULLET = Convention(
    "PyBullet", free=XYZW, spherical=XYZW, angular_outside=True, linear_outside=True, from_world=True, at_mass=True
)

# The engines' joints, in the letters of `counterparts`.
_PINOCCHIO = {
    "FreeFlyer": "f", "Spherical": "s", "Planar": "p", "Universal": "aa", "Translation": "ddd",
    "RX": "a", "RY": "a", "RZ": "a", "RevoluteUnaligned": "a",
    "RUBX": "c", "RUBY": "c", "RUBZ": "c", "RevoluteUnboundedUnaligned": "c",
    "PX": "d", "PY": "d", "PZ": "d", "PrismaticUnaligned": "d",
    "HX": "a", "HY": "a", "HZ": "a", "HelicalUnaligned": "a",
}  # fmt: skip
_MUJOCO = (("free", "f"), ("ball", "s"), ("slide", "d"), ("hinge", "a"))
_DRAKE = {
    "quaternion_floating": "f", "rpy_floating": "f", "ball_rpy": "s", "revolute": "a", "prismatic": "d", "screw": "a",
    "universal": "aa", "planar": "dda",
}  # fmt: skip
# PyBullet shows and sets only a part of a planar joint's state, so there is nothing to convert.
_PYBULLET = (("revolute", "a"), ("prismatic", "d"), ("spherical", "s"), ("planar", ""), ("fixed", ""))


@checked_first
class Peer:
    """A model's vectors in another engine: `q` converts our q to its order and frames, `q_back` its q to ours.

    Conversions of v need q, those of a need v as well; tau keeps its power with v. All take whole trajectories: arrays
    (…, nq) and (…, nv). `nq` and `nv` are the engine's; `q_index` and `v_index` are the indices of the model's entries
    in its vectors.
    """

    def __init__(
        self,
        convention: Convention,
        model: Model,
        joints: Sequence[PeerJoint],
        names: Names | None = None,
        others: bool = False,
        sizes: tuple[int, int] | None = None,
        frames: Mapping[str, Pose] | None = None,
    ) -> None:
        parts, ref, nv = match_joints(convention, model, joints, names, others, sizes, frames)
        self.name, self.model, self.nq, self.nv = convention.name, model, len(ref), nv
        self.q_index = np.array(sorted(i for part in parts for i in part.peer_q), dtype=np.intp)
        self.v_index = np.array(sorted(i for part in parts for i in part.peer_v), dtype=np.intp)
        self._parts = parts
        self._ref = ref  # the engine's q where ours is zero

    def q(self, q: npt.ArrayLike) -> Array:
        q = self._ours("q", q)
        out = _zeros(self.nq, q)
        for part in self._parts:
            out[..., part.peer_q] = part.rule.q(q[..., part.q])
        return out + self._ref

    def q_back(self, q: npt.ArrayLike) -> Array:
        """Angles that the engine has as cosine and sine come back between -π and π; `numpy.unwrap` joins them."""
        q = self._theirs("q", q) - self._ref
        out = _zeros(self.model.nq, q)
        for part in self._parts:
            out[..., part.q] = part.rule.q_back(q[..., part.peer_q])
        return out

    def v(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        q, v = self._ours("q", q), self._ours("v", v)
        out = _zeros(self.nv, q, v)
        for part, T in self._maps(q):
            out[..., part.peer_v] = apply_map(T, v[..., part.v])
        return out

    def v_back(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        q, v = self.q_back(q), self._theirs("v", v)
        out = _zeros(self.model.nv, q, v)
        for part, T in self._maps(q):
            out[..., part.v] = solve_map(T, v[..., part.peer_v])
        return out

    def a(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """The time derivative of the engine's v. It depends on v where the engine's axes turn."""
        q, v, a = self._ours("q", q), self._ours("v", v), self._ours("a", a)
        out = _zeros(self.nv, q, v, a)
        for part, T in self._maps(q):
            out[..., part.peer_v] = apply_map(T, a[..., part.v]) + part.rule.drift(q[..., part.q], v[..., part.v])
        return out

    def a_back(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        q, v, a = self.q_back(q), self.v_back(q, v), self._theirs("a", a)
        out = _zeros(self.model.nv, v, a)
        for part, T in self._maps(q):
            out[..., part.v] = solve_map(T, a[..., part.peer_v] - part.rule.drift(q[..., part.q], v[..., part.v]))
        return out

    def tau(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        q, tau = self._ours("q", q), self._ours("tau", tau)
        out = _zeros(self.nv, q, tau)
        for part, T in self._maps(q):
            out[..., part.peer_v] = solve_map(transpose_map(T), tau[..., part.v])
        return out

    def tau_back(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        q, tau = self.q_back(q), self._theirs("tau", tau)
        out = _zeros(self.model.nv, q, tau)
        for part, T in self._maps(q):
            out[..., part.v] = apply_map(transpose_map(T), tau[..., part.peer_v])
        return out

    def __repr__(self) -> str:
        return f"{self.name}'s view of model {self.model.name!r}: nq {self.nq}, nv {self.nv}"

    def _maps(self, q: Array) -> Iterator[tuple[Part, Array | None]]:
        return ((part, part.rule.T(q[..., part.q])) for part in self._parts)

    def _ours(self, what: str, values: npt.ArrayLike) -> Array:
        return _array(values, self.model.nq if what == "q" else self.model.nv, f"model {self.model.name!r}: {what}")

    def _theirs(self, what: str, values: npt.ArrayLike) -> Array:
        return _array(values, self.nq if what == "q" else self.nv, f"{self.name}: {what}")


# ------------------------------------------------------------------------------------------------- the engines


def _refuse_other(peer: Any, attribute: str, what: str) -> None:
    if not hasattr(peer, attribute):
        raise TypeError(f"convert: peer is {repr_of(peer)}, and must be {what}, a list of names, or None")


@checked_first
def pinocchio(
    model: Model, peer: Any = None, *, names: Names | None = None, continuous: Iterable[str] = (), others: bool = False
) -> Peer:
    """Pinocchio's view of a model. `peer`: a `pinocchio.Model`, or joint names in its order; None: our own order.

    `names` maps a joint of ours to the engine's name for it, or to several of its joints that together make it. A free
    joint needs no name if it is the only one. `others` allows the engine more joints than the model has; their entries
    are zero and mean nothing, so write `q_pin[to.q_index] = to.q(q)[to.q_index]`. `continuous`: the joints that the
    engine has as cosine and sine; a `pinocchio.Model` says so itself.
    """
    if _is_list(peer):
        return Peer(PINOCCHIO, model, joints_by_name(PINOCCHIO, model, peer, names, continuous), names, others)
    _refuse_other(peer, "joints", "a pinocchio.Model")
    joints = []
    for name, joint in list(zip(peer.names, peer.joints))[1:]:  # the first one is the universe
        kind = joint.shortname().removeprefix("JointModel")
        form = "?" * joint.nv if kind == "Composite" and joint.nq == joint.nv else _PINOCCHIO.get(kind, "")
        joints.append(PeerJoint(name, kind, form, joint.idx_q, joint.idx_v, XYZW))
    return Peer(PINOCCHIO, model, joints, names, others, (peer.nq, peer.nv))


@checked_first
def mujoco(model: Model, peer: Any = None, *, names: Names | None = None, others: bool = False) -> Peer:
    """MuJoCo's view of a model. `peer`: a `mujoco.MjModel`, or joint names in its order; None: our own order.

    `names` and `others` are as in `pinocchio`. A joint without a name goes by that of its body, as in `from_mujoco`.
    Our q is zero in the pose that the MJCF file draws, where MuJoCo's is `ref`.
    """
    if _is_list(peer):
        return Peer(MUJOCO, model, joints_by_name(MUJOCO, model, peer, names), names, others)
    _refuse_other(peer, "name_jntadr", "a mujoco.MjModel")
    joints = []
    for i, name in enumerate(compiled_names(peer)[1]):
        kind, form = _MUJOCO[peer.jnt_type[i]]
        iq, iv = int(peer.jnt_qposadr[i]), int(peer.jnt_dofadr[i])
        joints.append(PeerJoint(name, kind, form, iq, iv, WXYZ, ref=float(peer.qpos0[iq]) if form in "ad" else 0.0))
    return Peer(MUJOCO, model, joints, names, others, (peer.nq, peer.nv))


@checked_first
def drake(
    model: Model, peer: Any = None, instance: Any = None, *, names: Names | None = None, others: bool = False
) -> Peer:
    """Drake's view of a model. `peer`: a finalized `MultibodyPlant`, or joint names in its order; None: our own order.

    `instance`: the index of the plant's model instance that the model is; vectors are those of the whole plant. `names`
    and `others` are as in `pinocchio`. Drake's ball joint has roll, pitch and yaw as q, which a rotation does not
    determine where the pitch is ±90°; its v, a and tau have no such places.
    """
    if _is_list(peer):
        return Peer(DRAKE, model, joints_by_name(DRAKE, model, peer, names), names, others)
    _refuse_other(peer, "GetJointIndices", "a Drake MultibodyPlant")
    joints = []
    indices = peer.GetJointIndices() if instance is None else peer.GetJointIndices(instance)
    for joint in map(peer.get_joint, indices):
        kind, start = joint.type_name(), (joint.position_start(), joint.velocity_start())
        if joint.num_velocities():
            joints.append(PeerJoint(joint.name(), kind, _DRAKE.get(kind, ""), *start, RPY if "rpy" in kind else WXYZ))
    return Peer(DRAKE, model, joints, names, others, (peer.num_positions(), peer.num_velocities()))


@checked_first
def pybullet(
    model: Model,
    peer: Any = None,
    body: int = 0,
    *,
    names: Names | None = None,
    inertial: Mapping[str, Pose] | None = None,
    others: bool = False,
) -> Peer:
    """PyBullet's view of a model. `peer`: the `pybullet` module (or a client) that has `body`, or names, or None.

    q is the base's position and orientation, then the joints in the order of their indices; v is the base's linear and
    angular velocity, then theirs. Without a free joint there are no entries for the base. `names` and `others` are as
    in `pinocchio`.

    PyBullet's frame of a link is its **inertial frame**, which matters for the base and for spherical joints. It is
    read from `body`, or given as `inertial`, by our name of the link. Else it is taken to be at the link's centre of
    mass and parallel to the link, which is wrong for files that turn it, and where fixed links have been merged.
    """
    base = next((name for name, row in zip(model.joint_names, model.links) if row["kind"] == JointKind.FREE), None)
    if _is_list(peer):
        order = peer if peer is None or base is None or base in list(peer) else [base, *peer]
        joints = joints_by_name(PYBULLET, model, order, names)
    else:
        _refuse_other(peer, "getNumJoints", "the module pybullet, or a client of it")
        joints = []
        for i in range(-1, peer.getNumJoints(body)):
            name, kind, form = base, "base", "f"
            if i >= 0:
                name, (kind, form) = peer.getJointInfo(body, i)[1].decode(), _PYBULLET[peer.getJointInfo(body, i)[2]]
            if name is not None and kind != "fixed":
                position, xyzw = peer.getDynamicsInfo(body, i)[3:5]
                frame = Pose.quaternion(np.roll(xyzw, 1), position)
                joints.append(PeerJoint(name, kind, form, *count_entries(joints), XYZW, frame=frame))
    return Peer(PYBULLET, model, joints, names, others, frames=inertial)


def _is_list(peer: Any) -> bool:
    return peer is None or (isinstance(peer, Sequence) and not isinstance(peer, str))


def _array(values: npt.ArrayLike, size: int, what: str) -> Array:
    array = as_floats(values)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ValueError(f"{what} has shape {array.shape}, expected (…, {size})")
    good = np.abs(array) <= FARTHEST
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        raise ValueError(f"{what}{list(where)} is {array[where]}, and must be finite, of at most {FARTHEST:g}")
    return array


def _zeros(size: int, *arrays: Array) -> Array:
    return np.zeros((*np.broadcast_shapes(*(array.shape[:-1] for array in arrays)), size))
