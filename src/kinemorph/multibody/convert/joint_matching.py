"""Match an engine's joints with ours, and pair the entries of the vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kinemorph.multibody.checks import Array
from kinemorph.multibody.convert.coordinates import WXYZ, Circle, Free, Planar, Same, Spherical
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose

Indices = npt.NDArray[np.intp]
Names = Mapping[str, str | Sequence[str]]

# Coordinates of a joint, letter by letter: (a)ngle, (d)istance, (c)osine and sine of an angle, (s)pherical,
# (f)ree, ? for an angle or a distance; (p)lanar with cosine and sine and with v in the link's axes, P for our planar.
FORMS = {
    JointKind.REVOLUTE: "a", JointKind.PRISMATIC: "d", JointKind.SCREW: "a", JointKind.CYLINDRICAL: "ad",
    JointKind.UNIVERSAL: "aa", JointKind.PLANAR: "dda", JointKind.SPHERICAL: "s", JointKind.FREE: "f",
}  # fmt: skip
MATCHING_LETTERS = {"aa", "ac", "a?", "dd", "d?", "ss", "ff", "Pp"}  # our letter and the engine's


@dataclass(frozen=True)
class Convention:
    """Conventions of an engine. A velocity is in the link's axes, or "outside": in the axes that q refers to."""

    name: str
    free: str  # how q of a free joint has the rotation
    spherical: str  # how q of a spherical joint has it
    also: Mapping[JointKind, str] = field(default_factory=dict)  # forms of kinds that not all engines have
    position_first: bool = True  # in q of a free joint
    angular_first: bool = False  # in v of a free joint
    angular_outside: bool = False  # of a free joint
    linear_outside: bool = False  # of a free joint
    spherical_outside: bool = False
    from_world: bool = False  # q of a free joint refers to the world, else to the joint frame
    at_mass: bool = False  # the frame of a link is at its centre of mass

    def form(self, kind: JointKind) -> str:
        """Form of its joint for one of our kinds, empty if it has none."""
        common = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SPHERICAL, JointKind.FREE)
        return FORMS[kind] if kind in common else self.also.get(kind, "")


@dataclass(frozen=True)
class PeerJoint:
    """A joint of the engine."""

    name: str
    kind: str  # in the engine's terms
    form: str  # as in FORMS; empty if its coordinates cannot be converted
    iq: int
    iv: int
    attitude: str  # convention of rotations in q
    ref: float = 0.0  # its coordinate where ours is zero
    frame: Pose | None = None  # the engine's frame of the link, in ours

    def coordinates(self) -> Iterator[tuple[str, Indices, Indices]]:
        """Each letter of the form, with its entries in q and v."""
        turn = len(self.attitude)
        iq, iv = self.iq, self.iv
        for letter in self.form:
            nq = {"c": 2, "p": 4, "P": 3, "s": turn, "f": 3 + turn}.get(letter, 1)
            nv = {"p": 3, "P": 3, "s": 3, "f": 6}.get(letter, 1)
            yield letter, np.arange(iq, iq + nq), np.arange(iv, iv + nv)
            iq, iv = iq + nq, iv + nv


@dataclass(frozen=True)
class Part:
    """Indices of entries on both sides, and the rule between them."""

    rule: Same
    q: Indices
    v: Indices
    peer_q: Indices
    peer_v: Indices


def count_entries(joints: Sequence[PeerJoint]) -> tuple[int, int]:
    """Numbers of entries of q and v of the joints together."""
    entries = [(len(q), len(v)) for joint in joints for _, q, v in joint.coordinates()]
    return sum(nq for nq, _ in entries), sum(nv for _, nv in entries)


def _moving_joints(model: Model, names: Names | None) -> list[tuple[str, JointKind, tuple[str, ...]]]:
    """Our joints that are not fixed: name, kind, and the engine's name or names."""
    for joint in names or ():
        if joint not in model.joint_names:
            raise ValueError(f"names: model {model.name!r} has no joint {joint!r}")
    own = []
    seen: dict[str, str] = {}
    for joint, row in zip(model.joint_names, model.links):
        if row["nv"]:
            theirs = (names or {}).get(joint, joint)
            theirs = (theirs,) if isinstance(theirs, str) else tuple(theirs)
            own.append((joint, JointKind(row["kind"]), theirs))
            for name in theirs:
                if seen.setdefault(name, joint) != joint:
                    raise ValueError(f"names: joints {seen[name]!r} and {joint!r} cannot both be {name!r}")
    return own


def joints_by_name(
    convention: Convention,
    model: Model,
    order: Sequence[str] | None,
    names: Names | None,
    continuous: Iterable[str] = (),
) -> list[PeerJoint]:
    """The engine's joints from their names: its form for our joints of these names."""
    made: dict[str, tuple[str, str]] = {}
    for joint, kind, theirs in _moving_joints(model, names):
        word, form = kind.name.lower(), convention.form(kind)
        if len(theirs) == len(FORMS[kind]) > 1:
            made.update((name, (word, letter)) for name, letter in zip(theirs, FORMS[kind]))
        elif len(theirs) == 1 and form:
            made[theirs[0]] = (word, form)
        else:
            raise ValueError(
                f"joint {joint!r} of model {model.name!r} is {word}, and {convention.name} has no such joint; "
                f"say which of its joints make it, one for each degree of freedom: names={{{joint!r}: [...]}}"
            )
    for name in continuous:
        if made.get(name, ("", ""))[1] != "a":
            raise ValueError(f"continuous: model {model.name!r} has no revolute joint {name!r}")
        made[name] = ("continuous", "c")
    fixed = {joint for joint, row in zip(model.joint_names, model.links) if not row["nv"]}
    joints: list[PeerJoint] = []
    for name in made if order is None else order:
        if not isinstance(name, str):
            raise TypeError(f"{convention.name}: peer has {repr_of(name)}, and must be names of joints")
        if name not in made and name not in fixed:
            raise ValueError(f"model {model.name!r} has no joint {name!r}, which {convention.name} is said to have")
        if name in made:
            word, form = made[name]
            attitude = convention.spherical if form == "s" else convention.free
            joints.append(PeerJoint(name, word, form, *count_entries(joints), attitude))
    return joints


def match_joints(
    convention: Convention,
    model: Model,
    joints: Sequence[PeerJoint],
    names: Names | None,
    others: bool,
    sizes: tuple[int, int] | None = None,
    frames: Mapping[str, Pose] | None = None,
) -> tuple[list[Part], Array, int]:
    """Match the joints and pair their entries. Returns parts, the engine's q where ours is zero, and its nv."""
    own = _moving_joints(model, names)
    spare: dict[str, list[PeerJoint]] = {}
    for j in joints:
        spare.setdefault(j.name, []).append(j)
    # the only free joint of both sides needs no name
    wanted = {name for *_, theirs in own for name in theirs}
    lost = [joint for joint, kind, theirs in own if kind is JointKind.FREE and theirs[0] not in spare]
    free = [j.name for j in joints if j.form == "f" and j.name not in wanted]
    if len(lost) == len(free) == 1 and lost[0] not in (names or {}):
        own = [(joint, kind, (free[0],) if joint == lost[0] else theirs) for joint, kind, theirs in own]
    nq, nv = sizes or count_entries(joints)
    ref = np.zeros(nq)
    parts: list[Part] = []
    for joint, kind, theirs in own:
        found = [j for name in theirs for j in spare.pop(name, ())]
        for name in theirs:
            count = sum(j.name == name for j in found)
            if count != 1:
                raise ValueError(
                    f"{convention.name} has {'no joint' if count == 0 else f'{count} joints'} {name!r} "
                    f"for joint {joint!r} of model {model.name!r}; it has {', '.join(j.name for j in joints) or 'none'}"
                )
        parts += _pair_entries(convention, model, joint, kind, found, frames or {})
        for j in found:
            ref[j.iq] += j.ref
    if spare and not others:
        raise ValueError(
            f"model {model.name!r} has no joint {next(iter(spare))!r}, which {convention.name} has; "
            "others=True leaves such joints out"
        )
    return _merge_parts(parts), ref, nv


def _pair_entries(
    convention: Convention,
    model: Model,
    joint: str,
    kind: JointKind,
    found: Sequence[PeerJoint],
    frames: Mapping[str, Pose],
) -> Iterator[Part]:
    """The parts of one of our joints and of the engine's joints that make it."""
    row = model.links[model.joint(joint)]
    form = "".join(j.form for j in found)
    own = "P" if kind is JointKind.PLANAR and form == "p" else FORMS[kind]
    if len(own) != len(form) or not MATCHING_LETTERS.issuperset(a + b for a, b in zip(own, form)):
        raise ValueError(
            f"joint {joint!r} is {kind.name.lower()} in model {model.name!r} and {', '.join(j.kind for j in found)} "
            f"in {convention.name}, and neither can be written as the other"
        )
    mine = PeerJoint(joint, "", own, int(row["iq"]), int(row["iv"]), WXYZ).coordinates()
    for j in found:
        for letter, peer_q, peer_v in j.coordinates():
            _, q, v = next(mine)
            rule = {"c": Circle, "p": Planar}.get(letter, Same)()
            if letter in "sf":
                frame = frames.get(model.names[model.joint(joint)], j.frame)
                rule = _rotation_rule(convention, model, joint, j.attitude, frame)
            yield Part(rule, q, v, peer_q, peer_v)


def _rotation_rule(convention: Convention, model: Model, joint: str, attitude: str, frame: Pose | None) -> Spherical:
    """The rule of a spherical or free joint."""
    row = model.links[model.joint(joint)]
    if frame is None:
        frame = Pose(row["h"] / row["mass"]) if convention.at_mass and row["mass"] > 0.0 else Pose()
    if row["kind"] == JointKind.SPHERICAL:
        return Spherical(joint, attitude, convention.spherical_outside, frame)
    base = Pose()
    if convention.from_world:
        if row["parent"] >= 0:
            raise ValueError(
                f"joint {joint!r} of model {model.name!r} is free and hangs on a link; "
                f"in {convention.name} only what hangs on the world is free"
            )
        base = Pose(row["p"], row["R"].reshape(3, 3))
    return Free(
        joint, attitude, convention.angular_outside, frame, base,
        convention.position_first, convention.angular_first, convention.linear_outside,
    )  # fmt: skip


def _merge_parts(parts: Sequence[Part]) -> list[Part]:
    """Merge all angles and distances into one part, and all cosines and sines into another, for speed."""
    out = [part for part in parts if type(part.rule) not in (Same, Circle)]
    for rule in (Same, Circle):
        alike = [part for part in parts if type(part.rule) is rule]
        if alike:
            entries = zip(*((part.q, part.v, part.peer_q, part.peer_v) for part in alike))
            out.append(Part(rule(), *map(np.concatenate, entries)))
    return out
