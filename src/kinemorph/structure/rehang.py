"""Hanging a link elsewhere, for models: names, shapes, frames and loops come along, and a report proves it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinemorph._files import ModelWarning
from kinemorph.multibody.catalog import Mimic
from kinemorph.multibody.checks import BAD_SIZE, NOT_FINITE, Array, complain
from kinemorph.multibody.data import Data
from kinemorph.multibody.joint import USUAL, Joint
from kinemorph.multibody.layout import DOF, DOF_DATA, LINK, LINK_DATA, JointKind, copied
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.loops import Mechanism
from kinemorph.structure.rehang_proof import rehang_rest
from kinemorph.structure.rehang_rows import JUMP, REST, SHIFT, SIZES, TAU, A, Q, V, rehang_tree
from kinemorph.structure.report import Report, State

FITS = 1e-6  # how far from its joint's motion a link may be, in m, rad and per second


def rehang(
    mechanism: Mechanism,
    data: Data,
    state: State,
    top: int,
    end: int,
    joint: Joint,
    parent: int,
    at: Pose,
    held: Pose,
    name: str = "",
    found: dict[str, Any] | None = None,
    without: int = -1,
) -> Report:
    """Carry link `top` by another joint, in place of the one that carries `end`, on the way from `top` to the base.

    The joint stands at `at` in the frame of link `parent` (-1: the base), and holds `top` at `held` in its frame. The
    velocities must be such that the joint can follow. It is called `name`, or as the joint that is gone. `found` is
    what else the report says; a "jump" of v among it is rewritten for the new v. `without` is a loop that is gone
    afterwards, because this joint takes its place.
    """
    model = mechanism.model
    n, nq, nv = model.n, model.nq, model.nv
    old, other, new = np.zeros((3, 7, nq + 7))
    given = {"q": state.q, "v": state.v, "a": state.a, "tau": state.tau}
    for row, size, (what, values) in zip(old, (nq, nv, nv, nv), given.items(), strict=False):
        if values is not None:
            row[:size] = values if np.shape(values) == (size,) else complain(model, BAD_SIZE, **{what: values})
    old[REST, :nq] = model.rest
    if found:
        old[JUMP, :nv] = found["jump"]
    carrier, carrier_dofs, slack = joint.rows
    carrier = copied(carrier)
    l = carrier[0]
    l["parent"], l["R"], l["p"] = parent, at.rotation.ravel(), at.position
    new_links, new_dofs, shifts = np.zeros(n, LINK), np.zeros(nv + 6, DOF), np.zeros(n, SHIFT)
    shift = shifts[top]
    shift["R"], shift["p"] = held.rotation.ravel(), held.position
    order, where, last = np.empty((3, n), np.int32)
    start, length = rehang_tree(
        data.handle, top, end, carrier, carrier_dofs, new_links, new_dofs, shifts, order, where, last, SIZES,
        old, other, new,
    )  # fmt: skip
    if start < 0:
        complain(model, NOT_FINITE, **{name: x for name, x in given.items() if x is not None})
    loops = copied(mechanism.rows if without < 0 else mechanism.rows[np.arange(len(mechanism.rows)) != without])
    q_map, v_map, errors = np.empty(nq, np.int32), np.empty(nv, np.int32), np.zeros(3)
    lossy = rehang_rest(
        data.handle, start, length, new_links, shifts, order, where, new, np.zeros(n + 1, LINK_DATA),
        np.zeros(nv + 6, DOF_DATA), loops, q_map, v_map, errors,
    )  # fmt: skip
    pose_error, twist_error, speed = errors.tolist()
    _refuse(
        model, joint, top, pose_error, twist_error / (1.0 + speed), mechanism.names[without] if without >= 0 else ""
    )
    if lossy >= 0:
        warnings.warn(
            f"model {model.name!r}: joint {model.joint_names[lossy]!r} changes sides, and its axes turn with its other "
            "link then: what acts in it, or limits it, does so along other directions from now on",
            ModelWarning,
            stacklevel=4,
        )
    first = int(new_links["iq"][start])
    new[REST, first : first + len(slack)] = slack
    moved = Moved(order.tolist(), where.tolist(), start, length)
    names = _joint_names(mechanism, name, moved, without)
    tree = _changed(model, new_links, new_dofs, new[REST], shifts, moved, names)
    changed: Model | Mechanism = tree
    if len(loops):
        kept, called = list(mechanism.loops), list(mechanism.names)
        if without >= 0:
            del kept[without], called[without]
        changed = Mechanism.known(tree, tuple(kept), tuple(called), loops, mechanism.tolerance)
    q, rates = new[Q, : tree.nq], new[:, : tree.nv]
    now = State(
        q, rates[V], None if state.a is None else rates[A], None if state.tau is None else rates[TAU], state.time
    )
    told = {**(found or {}), "jump": rates[JUMP], "pose_error": pose_error, "twist_error": twist_error}
    return Report(changed, now, where, q_map, v_map, loops_left(mechanism, without), names[top], **told)


class Moved(NamedTuple):
    order: list[int]  # of each new link, the old one
    where: list[int]  # and the other way round
    start: int  # where the chain of inversion starts in the new tree
    length: int

    @property
    def chain(self) -> list[int]:
        """The links of the chain of inversion, as they were."""
        return self.order[self.start : self.start + self.length]


def loops_left(mechanism: Mechanism, without: int) -> Any:
    """Where the loops are when one of them is gone."""
    left = np.arange(len(mechanism.names), dtype=np.int32)
    if without >= 0:
        left[without:] -= 1
        left[without] = -1
    return left


def hang_through(
    mechanism: Mechanism, data: Data, state: State, row: Any, end: int, joint: Joint, name: str,
    found: dict[str, Any] | None = None, without: int = -1,
) -> Report:  # fmt: skip
    """Let the joint of a loop, given by its row, carry what link `end` carries, in place of the joint that does now.

    One side of the loop is in that part, the other is not. If the joint's successor is the one that is not, the joint
    is used the other way round.
    """
    a, b = int(row["a"]), int(row["b"])
    at_a = Pose.known(row["pa"], row["Ra"].reshape(3, 3))
    at_b = Pose.known(row["pb"], row["Rb"].reshape(3, 3))
    if carries(mechanism.model, end, b):
        return rehang(mechanism, data, state, b, end, joint, a, at_a, at_b, name, found, without)
    return rehang(mechanism, data, state, a, end, turned(joint), b, at_b, at_a, name, found, without)


def carries(model: Model, link: int, other: int) -> bool:
    """Whether a link is another one or carries it."""
    parents = model.links["parent"]
    while other > link:
        other = int(parents[other])
    return other == link


def turned(joint: Joint) -> Joint:
    """The joint between the same two links with their roles swapped.

    Its position means the same, but for a universal joint, whose angles change places, and for spherical, planar and
    free joints: theirs is that of the inverse motion. Limits of distances in a plane are lost then.
    """
    a, b = joint.axes()
    kind = joint.kind
    rest: Any = joint.rest
    low: Any
    high: Any
    if kind is JointKind.UNIVERSAL:
        values: dict[str, Any] = {field: joint.per_dof(field)[::-1] for field in USUAL}
        return replace(joint, axis=-b, axis2=-a, rest=None if rest is None else list(rest)[::-1], **values)
    if kind is JointKind.PLANAR:
        low, high = ([x, x, float(joint.per_dof(f)[2])] for f, x in (("lower", -np.inf), ("upper", np.inf)))
        if rest is not None:
            x, y, angle = np.asarray(rest, dtype=np.float64)
            s, c = np.sin(angle), np.cos(angle)
            rest = [-(c * x + s * y), -(s * x - c * y), angle]  # the second direction changes sign with the normal
        return replace(joint, axis=-a, axis2=b, lower=low, upper=high, rest=rest)
    if kind is JointKind.SPHERICAL:
        low, high = -joint.per_dof("upper"), -joint.per_dof("lower")
        rest = None if rest is None else np.asarray(rest, dtype=np.float64) * [1.0, -1.0, -1.0, -1.0]
        return replace(joint, lower=low, upper=high, rest=rest)
    return joint if kind is JointKind.FREE else replace(joint, axis=-a)


def _refuse(model: Model, joint: Joint, top: int, pose_error: float, twist_error: float, loop: str) -> None:
    kind, name = joint.kind.name.lower(), model.names[top]
    if loop and not max(pose_error, twist_error) < FITS:
        raise ValueError(
            f"model {model.name!r}: loop {loop!r} cannot carry link {name!r}, for it is open "
            f"(by {pose_error:.2g}, and {twist_error:.2g} a second); close it first, with km.close and km.project"
        )
    if not pose_error < FITS:
        raise ValueError(
            f"model {model.name!r}: a {kind} joint cannot hold link {name!r} where it is now "
            f"(off by {pose_error:.2g}); give another `at` or `on`"
        )
    if not twist_error < FITS:
        raise ValueError(
            f"model {model.name!r}: link {name!r} moves as a {kind} joint there does not allow "
            f"(off by {twist_error:.2g}); use connect, which computes the impact"
        )


def _joint_names(mechanism: Mechanism, name: str, moved: Moved, without: int) -> list[str]:
    """Names of the joints by old link: along the chain a joint is now used by the link that owned it."""
    model, chain = mechanism.model, moved.chain
    names = list(model.joint_names)
    gone = names[chain[-1]]
    for owner, user in zip(chain[:0:-1], chain[-2::-1], strict=True):
        names[owner] = names[user]
    names[chain[0]] = name = name or gone
    taken = name in mechanism.names and mechanism.names.index(name) != without
    if taken or names.count(name) > 1:
        raise ValueError(f"model {model.name!r}: there is already a joint {name!r}")
    return names


def _changed(
    model: Model, new_links: Any, new_dofs: Any, rest: Array, shifts: Any, moved: Moved, joint_names: list[str]
) -> Model:  # fmt: skip
    """The new model, with shapes and frames where they are on the bodies."""
    order, where, chain = moved.order, moved.where, moved.chain
    shift = shifts[chain]
    R = shift["R"].reshape(-1, 3, 3).transpose(0, 2, 1)
    p = -np.matmul(R, shift["p"][:, :, None])[:, :, 0]
    away = {i: Pose.known(p_i, R_i) for i, p_i, R_i in zip(chain, p, R, strict=True)}
    frames = {
        name: (where[i] if i >= 0 else -1, away[i] @ pose if i in away else pose)
        for name, (i, pose) in model.frames.items()
    }
    for i in chain:  # a link's name keeps meaning the same place on its body
        frames.setdefault(model.names[i], (where[i], away[i]))
    mimics = model.mimics
    if mimics:
        inverted = {model.joint_names[i] for i in chain[:-1]}
        gone = model.joint_names[chain[-1]]
        mimics = tuple([_followed(m, inverted) for m in mimics if gone not in (m.joint, m.source)])
    return model.rearranged(
        new_links, new_dofs, tuple([model.names[i] for i in order]), tuple([joint_names[i] for i in order]), rest,
        order, away, frames, mimics,
    )  # fmt: skip


def _followed(mimic: Mimic, inverted: set[str]) -> Mimic:
    """What a joint follows when joints are inverted: their positions change sign."""
    own, source = (-1.0 if name in inverted else 1.0 for name in (mimic.joint, mimic.source))
    return Mimic(mimic.joint, mimic.source, own * source * mimic.multiplier, own * mimic.offset)
