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
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.multibody.calls import Array
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose

Indices = npt.NDArray[np.intp]
Names = Mapping[str, str | Sequence[str]]
WXYZ, XYZW, RPY = "wxyz", "xyzw", "rpy"

# What a joint's coordinates are, letter by letter: (a)ngle, (d)istance, (c)osine and sine of an angle, (s)pherical,
# (f)ree, (p)lanar with cosine and sine and with its velocity in the link's axes, ? for an angle or a distance.
FORMS = {
    JointKind.REVOLUTE: "a",
    JointKind.PRISMATIC: "d",
    JointKind.SCREW: "a",
    JointKind.CYLINDRICAL: "ad",
    JointKind.UNIVERSAL: "aa",
    JointKind.PLANAR: "dda",
    JointKind.SPHERICAL: "s",
    JointKind.FREE: "f",
}
FITS = {("a", "a"), ("a", "c"), ("a", "?"), ("d", "d"), ("d", "?"), ("s", "s"), ("f", "f")}  # ours, the engine's
NV = {"p": 3, "s": 3, "f": 6}  # one for all others


@dataclass(frozen=True)
class Convention:
    """What an engine does in its own way. Axes are those of the link, or those outside it that q is measured in."""

    name: str
    forms: Mapping[JointKind, str]  # its joint for each of our kinds, where it has one
    free: str  # how q of a free joint has the rotation
    ball: str  # how q of a spherical joint has it
    position_first: bool  # in q of a free joint
    angular_first: bool  # in v of a free joint
    angular_outside: bool  # axes of a free joint's angular velocity
    linear_outside: bool  # axes of its linear velocity
    ball_outside: bool  # axes of a spherical joint's angular velocity
    from_world: bool  # a free joint's q is measured in the world, else in the joint frame


_SIMPLE = {kind: FORMS[kind] for kind in (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SPHERICAL, JointKind.FREE)}
_MORE = {kind: FORMS[kind] for kind in (JointKind.SCREW, JointKind.UNIVERSAL)}
PINOCCHIO = Convention(
    "Pinocchio", {**_SIMPLE, **_MORE, JointKind.CYLINDRICAL: "ad", JointKind.PLANAR: "p"}, free=XYZW, ball=XYZW,
    position_first=True, angular_first=False, angular_outside=False, linear_outside=False, ball_outside=False,
    from_world=False,
)  # fmt: skip
MUJOCO = Convention(
    "MuJoCo", _SIMPLE, free=WXYZ, ball=WXYZ,
    position_first=True, angular_first=False, angular_outside=False, linear_outside=True, ball_outside=False,
    from_world=True,
)  # fmt: skip
DRAKE = Convention(
    "Drake", {**_SIMPLE, **_MORE, JointKind.PLANAR: "dda"}, free=WXYZ, ball=RPY,
    position_first=False, angular_first=True, angular_outside=True, linear_outside=True, ball_outside=True,
    from_world=False,
)  # fmt: skip
PYBULLET = Convention(
    "PyBullet", _SIMPLE, free=XYZW, ball=XYZW,
    position_first=True, angular_first=False, angular_outside=True, linear_outside=True, ball_outside=False,
    from_world=True,
)  # fmt: skip


class Peer:
    """Another engine's view of a model: `q` puts our q into its order and frames, `q_back` its q into ours.

    v needs to know where the joints are, and a how they move as well; tau keeps its power with v. All take whole
    trajectories: arrays (…, nq) and (…, nv). `nq` and `nv` are the engine's; `q_index` and `v_index` say where the
    model's entries are in its vectors.
    """

    def __init__(self, name: str, model: Model, nq: int, nv: int, parts: Sequence[Part]) -> None:
        self.name, self.model, self.nq, self.nv = name, model, nq, nv
        self.q_index = np.sort(np.concatenate([part.peer_q for part in parts]))
        self.v_index = np.sort(np.concatenate([part.peer_v for part in parts]))
        self._parts = parts

    def q(self, q: npt.ArrayLike) -> Array:
        q = self._ours(q, "q")
        out = _zeros(self.nq, q)
        for part in self._parts:
            out[..., part.peer_q] = part.rule.q(q[..., part.q])
        return out

    def q_back(self, q: npt.ArrayLike) -> Array:
        """Angles that the engine has as cosine and sine come back between -π and π; `numpy.unwrap` joins them."""
        q = self._theirs(q, "q")
        out = _zeros(self.model.nq, q)
        for part in self._parts:
            out[..., part.q] = part.rule.q_back(q[..., part.peer_q])
        return out

    def v(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        q, v = self._ours(q, "q"), self._ours(v, "v")
        out = _zeros(self.nv, q, v)
        for part, T in self._maps(q):
            out[..., part.peer_v] = _times(T, v[..., part.v])
        return out

    def v_back(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        q, v = self.q_back(q), self._theirs(v, "v")
        out = _zeros(self.model.nv, q, v)
        for part, T in self._maps(q):
            out[..., part.v] = _solve(T, v[..., part.peer_v])
        return out

    def a(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """The time derivative of the engine's v, which is T v: T a + Ṫ v."""
        q, v, a = self._ours(q, "q"), self._ours(v, "v"), self._ours(a, "a")
        out = _zeros(self.nv, q, v, a)
        for part, T in self._maps(q):
            out[..., part.peer_v] = _times(T, a[..., part.v]) + part.rule.drift(q[..., part.q], v[..., part.v])
        return out

    def a_back(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        q, v, a = self.q_back(q), self.v_back(q, v), self._theirs(a, "a")
        out = _zeros(self.model.nv, v, a)
        for part, T in self._maps(q):
            drift = part.rule.drift(q[..., part.q], v[..., part.v])
            out[..., part.v] = _solve(T, a[..., part.peer_v] - drift)
        return out

    def tau(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        q, tau = self._ours(q, "q"), self._ours(tau, "tau")
        out = _zeros(self.nv, q, tau)
        for part, T in self._maps(q):
            out[..., part.peer_v] = _solve(_transposed(T), tau[..., part.v])
        return out

    def tau_back(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        q, tau = self.q_back(q), self._theirs(tau, "tau")
        out = _zeros(self.model.nv, q, tau)
        for part, T in self._maps(q):
            out[..., part.v] = _times(_transposed(T), tau[..., part.peer_v])
        return out

    def __repr__(self) -> str:
        return f"{self.name}'s view of model {self.model.name!r}: nq {self.nq}, nv {self.nv}"

    def _maps(self, q: Array) -> Iterator[tuple[Part, Array | None]]:
        return ((part, part.rule.T(q[..., part.q])) for part in self._parts)

    def _ours(self, values: npt.ArrayLike, what: str) -> Array:
        return _array(values, self.model.nq if what == "q" else self.model.nv, f"model {self.model.name!r}: {what}")

    def _theirs(self, values: npt.ArrayLike, what: str) -> Array:
        return _array(values, self.nq if what == "q" else self.nv, f"{self.name}: {what}")


# ------------------------------------------------------------------------------------------------- the engines


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
        return _match(PINOCCHIO, model, _listed(PINOCCHIO, model, peer, names, continuous), names, others)
    joints = []
    for name, joint in list(zip(peer.names, peer.joints))[1:]:  # the first one is the universe
        kind = joint.shortname().removeprefix("JointModel")
        form = "?" * joint.nv if kind == "Composite" and joint.nq == joint.nv else _PINOCCHIO.get(kind, "")
        joints.append(PeerJoint(name, kind, form, joint.idx_q, joint.idx_v, XYZW))
    return _match(PINOCCHIO, model, joints, names, others, (peer.nq, peer.nv))


def mujoco(model: Model, peer: Any = None, *, names: Names | None = None, others: bool = False) -> Peer:
    """MuJoCo's view of a model. `peer`: a `mujoco.MjModel`, or joint names in its order; None: our own order.

    `names` and `others` are as in `pinocchio`. A joint without a name goes by that of its body. Our q is zero in the
    pose that the MJCF file draws, where MuJoCo's is `ref`.
    """
    if _is_list(peer):
        return _match(MUJOCO, model, _listed(MUJOCO, model, peer, names), names, others)
    joints = []
    for i in range(peer.njnt):
        name = peer.joint(i).name or peer.body(peer.jnt_bodyid[i]).name
        kind, form = _MUJOCO[peer.jnt_type[i]]
        iq, iv = int(peer.jnt_qposadr[i]), int(peer.jnt_dofadr[i])
        joints.append(PeerJoint(name, kind, form, iq, iv, WXYZ, ref=float(peer.qpos0[iq]) if form in "ad" else 0.0))
    return _match(MUJOCO, model, joints, names, others, (peer.nq, peer.nv))


def drake(model: Model, peer: Any = None, *, names: Names | None = None, others: bool = False) -> Peer:
    """Drake's view of a model. `peer`: a finalized `MultibodyPlant`, or joint names in its order; None: our own order.

    `names` and `others` are as in `pinocchio`. Drake's ball joint has roll, pitch and yaw as q, which a rotation does
    not determine where the pitch is ±90°; its v, a and tau have no such places.
    """
    if _is_list(peer):
        return _match(DRAKE, model, _listed(DRAKE, model, peer, names), names, others)
    joints = []
    for joint in map(peer.get_joint, peer.GetJointIndices()):
        kind, start = joint.type_name(), (joint.position_start(), joint.velocity_start())
        if joint.num_velocities():
            joints.append(PeerJoint(joint.name(), kind, _DRAKE.get(kind, ""), *start, RPY if "rpy" in kind else WXYZ))
    return _match(DRAKE, model, joints, names, others, (peer.num_positions(), peer.num_velocities()))


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
    base = next((model.joint_names[i] for i in range(model.n) if model.links[i]["kind"] == JointKind.FREE), None)
    if _is_list(peer):
        order = peer if peer is None or base is None or base in peer else [base, *peer]
        return _match(PYBULLET, model, _listed(PYBULLET, model, order, names), names, others, None, inertial)
    joints = []
    iq = iv = 0
    for i in range(-1, peer.getNumJoints(body)):
        name, kind, form = base, "base", "f"
        if i >= 0:
            name, (kind, form) = peer.getJointInfo(body, i)[1].decode(), _PYBULLET[peer.getJointInfo(body, i)[2]]
        if name is not None and kind != "fixed":
            at, xyzw = peer.getDynamicsInfo(body, i)[3:5]
            joint = PeerJoint(name, kind, form, iq, iv, XYZW, frame=Pose.quaternion(np.roll(xyzw, 1), at))
            joints.append(joint)
            iq, iv = iq + len(joint.q_index), iv + len(joint.v_index)
    return _match(PYBULLET, model, joints, names, others, None, inertial)


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


# ------------------------------------------------------------------------------------- which entry goes where


@dataclass(frozen=True)
class PeerJoint:
    """A joint as the engine has it."""

    name: str
    kind: str  # the engine's word
    form: str  # as in FORMS; empty if its coordinates cannot be converted
    iq: int
    iv: int
    attitude: str  # how q has a rotation
    ref: float = 0.0  # its coordinate where ours is zero
    frame: Pose | None = None  # the engine's frame of the link, in ours

    @property
    def q_index(self) -> Indices:
        sizes = {"c": 2, "p": 4, "s": len(self.attitude), "f": 3 + len(self.attitude)}
        return self.iq + np.arange(sum(sizes.get(letter, 1) for letter in self.form))

    @property
    def v_index(self) -> Indices:
        return self.iv + np.arange(sum(NV.get(letter, 1) for letter in self.form))


@dataclass(frozen=True)
class Part:
    """Entries of both sides, and the rule between them."""

    q: Indices
    v: Indices
    peer_q: Indices
    peer_v: Indices
    rule: Same


def _is_list(peer: Any) -> bool:
    return peer is None or (isinstance(peer, Sequence) and not isinstance(peer, str))


def _listed(
    convention: Convention,
    model: Model,
    order: Sequence[str] | None,
    names: Names | None,
    continuous: Iterable[str] = (),
) -> list[PeerJoint]:
    """The engine's joints, as far as their names tell: each is what the engine has for our joint of that name."""
    forms: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for joint, kind, theirs in _ours(model, names):
        form = FORMS[kind] if len(theirs) > 1 else convention.forms.get(kind)
        if form is None or (len(theirs) > 1 and len(form) != len(theirs)):
            raise ValueError(
                f"joint {joint!r} of model {model.name!r} is {kind.name.lower()}, and {convention.name} has no such joint; "
                f"say which of its joints make it: names={{{joint!r}: (…)}}"
            )
        forms.update(zip(theirs, form) if len(theirs) > 1 else [(theirs[0], form)])
        kinds.update(dict.fromkeys(theirs, kind.name.lower()))
    for name in continuous:
        if forms.get(name) != "a":
            raise ValueError(f"continuous: model {model.name!r} has no revolute joint {name!r}")
        forms[name] = "c"
    fixed = {model.joint_names[i] for i in range(model.n) if model.links[i]["nv"] == 0}
    joints: list[PeerJoint] = []
    iq = iv = 0
    for name in order if order is not None else forms:
        if name in fixed:
            continue
        if name not in forms:
            raise ValueError(f"model {model.name!r} has no joint {name!r}, which {convention.name} is said to have")
        attitude = convention.ball if forms[name] == "s" else convention.free
        joints.append(PeerJoint(name, kinds[name], forms[name], iq, iv, attitude))
        iq, iv = iq + len(joints[-1].q_index), iv + len(joints[-1].v_index)
    return joints


def _ours(model: Model, names: Names | None) -> Iterator[tuple[str, JointKind, tuple[str, ...]]]:
    """Our joints that move: name, kind, and the engine's name or names."""
    for joint in names or ():
        if joint not in model.joint_names:
            raise ValueError(f"names: model {model.name!r} has no joint {joint!r}")
    for joint, row in zip(model.joint_names, model.links):
        if row["nv"]:
            theirs = (names or {}).get(joint, joint)
            yield joint, JointKind(row["kind"]), (theirs,) if isinstance(theirs, str) else tuple(theirs)


def _match(
    convention: Convention,
    model: Model,
    joints: Sequence[PeerJoint],
    names: Names | None,
    others: bool,
    sizes: tuple[int, int] | None = None,
    inertial: Mapping[str, Pose] | None = None,
) -> Peer:
    """Find each joint's counterpart, and gather those that follow the same rule."""
    known = {joint.name: joint for joint in joints}
    ours = list(_ours(model, names))
    lone = [joint for joint, kind, theirs in ours if kind is JointKind.FREE and theirs[0] not in known]
    taken = {name for _, _, theirs in ours for name in theirs}
    spare = [joint for joint in joints if joint.form == "f" and joint.name not in taken]
    plain: list[tuple[int, int, int, int, float]] = []
    turns: list[tuple[int, int, int, int, float]] = []
    parts: list[Part] = []
    used: set[str] = set()
    for name, kind, theirs in ours:
        if name in lone and len(lone) == len(spare) == 1:
            theirs = (spare[0].name,)
        for other in theirs:
            if other not in known:
                raise ValueError(
                    f"{convention.name} has no joint {other!r} for joint {name!r} of model {model.name!r}; "
                    f"it has {', '.join(known) or 'none'}"
                )
        found = [known[other] for other in theirs]
        used.update(theirs)
        form = "".join(joint.form for joint in found)
        planar = kind is JointKind.PLANAR and form == "p"
        if not planar and (len(form) != len(FORMS[kind]) or not FITS.issuperset(zip(FORMS[kind], form))):
            words = ", ".join(joint.kind for joint in found)
            raise ValueError(
                f"joint {name!r} is {kind.name.lower()} in model {model.name!r} and {words} in {convention.name}, "
                "which cannot be converted into each other"
            )
        q, v = (np.arange(s.start, s.stop) for s in (model.q_slice(name), model.v_slice(name)))
        peer_q = np.concatenate([joint.q_index for joint in found])
        peer_v = np.concatenate([joint.v_index for joint in found])
        if planar:
            parts.append(Part(q, v, peer_q, peer_v, Planar()))
        elif form in ("s", "f"):
            parts.append(Part(q, v, peer_q, peer_v, _turning(convention, model, name, found[0], inertial)))
        else:
            at = iter(peer_q)
            for k, letter in enumerate(form):
                ref = found[k].ref if len(found) == len(form) else 0.0
                (turns if letter == "c" else plain).append((q[k], v[k], next(at), peer_v[k], ref))
                if letter == "c":
                    next(at)  # the sine stands behind the cosine
    for joint in joints:
        if joint.name not in used and not others:
            raise ValueError(
                f"model {model.name!r} has no joint {joint.name!r}, which {convention.name} has; "
                "others=True leaves such joints out"
            )
    for rows, circle in ((plain, False), (turns, True)):
        index = np.array([row[:4] for row in rows], dtype=np.intp).reshape(-1, 4).T
        q, v, peer_q, peer_v = index
        if circle:
            parts.append(Part(q, v, np.concatenate([peer_q, peer_q + 1]), peer_v, Circle()))
        else:
            parts.append(Part(q, v, peer_q, peer_v, Same(np.array([row[4] for row in rows]))))
    nq, nv = sizes or (sum(len(joint.q_index) for joint in joints), sum(len(joint.v_index) for joint in joints))
    return Peer(convention.name, model, nq, nv, parts)
