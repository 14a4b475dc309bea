"""Hanging a link elsewhere, for models: names, shapes, frames and loops come along, and a report proves it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinemorph.multibody.calls import Array
from kinemorph.multibody.integrators import checked
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.layout import DOF, DOF_DATA, LINK, LINK_DATA, JointKind
from kinemorph.multibody.model import Data, Mimic, Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.loop_rows import loop_errors
from kinemorph.structure.loops import ClosedData, Mechanism
from kinemorph.structure.rehang_rows import JUMP, REST, SHIFT, SIZES, TAU, A, Q, V, rehang_proof, rehang_tree
from kinemorph.structure.report import Report, State

FITS = 1e-6  # how far from its joint's motion a link may be, in m, rad and per second


def rehang(
    mechanism: Mechanism,
    state: State,
    top: int,
    end: int,
    joint: Joint,
    parent: int,
    at: Pose,
    held: Pose,
    jump: Array | None = None,
    without: str = "",
) -> Report:
    """Carry link `top` by another joint, in place of the one that carries `end`, on the way from `top` to the base.

    The joint stands at `at` in the frame of link `parent` (-1: the base), and holds `top` at `held` in its frame. The
    velocities must be such that the joint can follow. `jump` is what v has just jumped by, carried over for the
    report. `without` names a loop that is gone afterwards, because this joint takes its place.
    """
    model = mechanism.model
    n, nq, nv = model.n, model.nq, model.nv
    none = np.zeros(nv)
    a, tau = (none if x is None else x for x in (state.a, state.tau))
    old, other, new = (np.zeros((7, nq + 7)) for _ in range(3))
    old[Q, :nq], old[V, :nv], old[A, :nv], old[TAU, :nv] = checked(model, q=state.q, v=state.v, a=a, tau=tau)
    old[REST, :nq] = model.rest
    old[JUMP, :nv] = 0.0 if jump is None else jump
    carrier, carrier_dofs, carrier_rest = joint_rows(joint, parent, at)
    new_links, new_dofs, shifts = np.zeros(n, LINK), np.zeros(nv + 6, DOF), np.zeros(n, SHIFT)
    shifts[top]["R"], shifts[top]["p"] = held.rotation.ravel(), held.position
    order, where, last = (np.zeros(n, np.int32) for _ in range(3))
    data = Data(model)
    start, length = rehang_tree(
        data.handle, top, end, carrier, carrier_dofs, new_links, new_dofs, shifts, order, where, last, SIZES,
        old, other, new,
    )  # fmt: skip
    q_map, v_map, errors = np.zeros(nq, np.int32), np.zeros(nv, np.int32), np.zeros(2)
    rehang_proof(
        data.handle, start, length, new_links, shifts, order, new, np.zeros(n + 1, LINK_DATA),
        np.zeros(len(new_dofs), DOF_DATA), q_map, v_map, errors,
    )  # fmt: skip
    pose_error, twist_error = errors.tolist()
    _refuse(model, joint, top, pose_error, twist_error / (1.0 + float(np.abs(old[V]).max())))
    first = int(new_links[start]["iq"])
    new[REST, first : first + len(carrier_rest)] = carrier_rest
    kept = np.array([name != without for name in mechanism.names], dtype=bool)
    names = _joint_names(model, joint, order, start, length)
    _refuse_twins(mechanism, kept, names[top], names)
    tree = _changed(model, new_links, new_dofs, new[REST], shifts, order, where, start, length, names)
    changed = Mechanism(
        tree, [loop for loop, k in zip(mechanism.loops, kept, strict=True) if k], mechanism.tolerance
    )  # fmt: skip
    now = State(
        new[Q, : tree.nq].copy(),
        new[V, : tree.nv].copy(),
        None if state.a is None else new[A, : tree.nv].copy(),
        None if state.tau is None else new[TAU, : tree.nv].copy(),
        state.time,
    )
    return Report(
        changed.plain, now, where, q_map, v_map, np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32), names[top],
        jump=new[JUMP, : tree.nv].copy(), pose_error=pose_error, twist_error=twist_error,
        loop_error=worst_loop(changed, now.q),
    )  # fmt: skip


def hang_through(
    mechanism: Mechanism, state: State, loop: str, end: int, joint: Joint | None = None, jump: Array | None = None
) -> Report:
    """Let a loop's joint carry what link `end` carries, in place of the joint that carries `end`.

    One side of the loop is in that part, the other is not. If the joint's successor is the one that is not, the joint
    is used the other way round. `joint` is what to make of the loop's joint, if it is not the same.
    """
    index = mechanism.loop(loop)
    row, joint = mechanism.rows[index], joint or mechanism.loops[index].joint
    a, b = int(row["a"]), int(row["b"])
    at_a, at_b = (Pose(row[p], row[R].reshape(3, 3)) for R, p in (("Ra", "pa"), ("Rb", "pb")))
    joint = replace(joint, name=loop)
    if carries(mechanism.model, end, b):
        return rehang(mechanism, state, b, end, joint, a, at_a, at_b, jump, loop)
    return rehang(mechanism, state, a, end, turned(joint), b, at_b, at_a, jump, loop)


def carries(model: Model, link: int, other: int) -> bool:
    """Whether a link is another one or carries it."""
    while other > link:
        other = int(model.links[other]["parent"])
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
        fields = ("lower", "upper", "speed", "effort", "damping", "stiffness", "friction", "armature")
        values: dict[str, Any] = {field: joint.per_dof(field)[::-1] for field in fields}
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


def joint_rows(joint: Joint, parent: int, at: Pose) -> tuple[Any, Any, list[float]]:
    """A joint as rows of a link and of its degrees of freedom, and where its springs are slack."""
    row, dofs = np.zeros(1, LINK), np.zeros(joint.nv, DOF)
    l = row[0]
    joint.check()
    l["parent"], l["kind"], l["pitch"] = parent, joint.kind, joint.pitch
    l["axis"], l["axis2"] = joint.axes()
    l["R"], l["p"] = at.rotation.ravel(), at.position
    for field in ("armature", "damping", "stiffness", "friction", "lower", "upper", "speed", "effort"):
        dofs[field] = joint.per_dof(field)
    return row, dofs, joint.slack()


def worst_loop(mechanism: Mechanism, q: Array) -> float:
    """How far the worst loop is open (m or rad)."""
    if not mechanism.loops:
        return 0.0
    return float(np.abs(loop_errors(mechanism, ClosedData(mechanism), q)).max(initial=0.0))


def _refuse(model: Model, joint: Joint, top: int, pose_error: float, twist_error: float) -> None:
    kind, name = joint.kind.name.lower(), model.names[top]
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


def _refuse_twins(mechanism: Mechanism, kept: Any, name: str, names: list[str]) -> None:
    loops = [loop for loop, k in zip(mechanism.names, kept, strict=True) if k]
    if names.count(name) > 1 or name in loops:
        raise ValueError(f"model {mechanism.model.name!r}: there is already a joint {name!r}")


def _joint_names(model: Model, joint: Joint, order: Any, start: int, length: int) -> list[str]:
    """Names of the joints by old link: along the chain a joint is now used by the link that owned it."""
    names = list(model.joint_names)
    gone = model.joint_names[order[start + length - 1]]
    for s in range(start + length - 1, start, -1):
        names[order[s]] = model.joint_names[order[s - 1]]
    names[order[start]] = joint.name or gone
    return names


def _changed(
    model: Model, new_links: Any, new_dofs: Any, rest: Array, shifts: Any, order: Any, where: Any, start: int,
    length: int, joint_names: list[str],
) -> Model:  # fmt: skip
    """The new model, with shapes and frames where they are on the bodies."""
    chain = order[start : start + length].tolist()
    moved = {i: Pose(shifts[i]["p"], shifts[i]["R"].reshape(3, 3)).inverse() for i in chain}
    frames = {name: (i, moved[i] @ pose if i in moved else pose) for name, (i, pose) in model.frames.items()}
    for i in chain:  # a link's name keeps meaning the same place on its body
        frames.setdefault(model.names[i], (i, moved[i]))
    shapes = list(model.shapes)
    for i in chain:
        shapes[i] = tuple(shape.moved(moved[i]) for shape in shapes[i])
    inverted = {model.joint_names[i] for i in chain[:-1]}
    return Model(
        model.name,
        new_links,
        new_dofs[: int(new_links["nv"].sum())],
        [model.names[i] for i in order],
        [joint_names[i] for i in order],
        rest[: int(new_links["nq"].sum())],
        model.gravity,
        [shapes[i] for i in order],
        {name: (int(where[i]) if i >= 0 else -1, pose) for name, (i, pose) in frames.items()},
        [_followed(m, inverted) for m in model.mimics if model.joint_names[chain[-1]] not in (m.joint, m.source)],
        model.base_shapes,
    )


def _followed(mimic: Mimic, inverted: set[str]) -> Mimic:
    """What a joint follows when joints are inverted: their positions change sign."""
    own, source = (-1.0 if name in inverted else 1.0 for name in (mimic.joint, mimic.source))
    return Mimic(mimic.joint, mimic.source, own * source * mimic.multiplier, own * mimic.offset)
