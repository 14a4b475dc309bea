"""Connecting two links by a joint while they move: the impact, and the tree or loop that comes of it (N&Y V)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kinemorph.multibody.integrators import checked
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import kinematics, locate, pose_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Data, Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.impact import impact
from kinemorph.structure.loop_rows import loop_positions
from kinemorph.structure.loops import ClosedData, Loop, Mechanism, as_mechanism
from kinemorph.structure.rehang import FITS, hang_through
from kinemorph.structure.report import Report, State

WAYS = ("auto", "tree", "loop")


def connect(
    model: Model | Mechanism,
    state: State,
    a: str | int | None,
    b: str | int | None,
    joint: Joint,
    at: Pose | Iterable[float],
    how: str = "auto",
    on: Pose | None = None,
) -> Report:
    """Join link b to link a by a joint that stands at `at` in the world, where both are now; -1 or None is the base.

    `on` is where the joint holds b, in b's frame: the joint then starts at the position that this means. If it is not
    given the joint starts at zero. The connection is plastic: impulses at this joint and at all loops make the
    velocities such that the joints can follow; momentum stays, and the energy that is lost is reported.

    "tree" re-roots the floating tree of b and hangs it on a, or that of a and hangs it on b; "loop" closes a loop and
    leaves the tree as it is; "auto" is "tree" where that is possible. Both move in the same way afterwards. The joint
    is called `joint.name`, or after the links that it connects: see `report.joint`.
    """
    if how not in WAYS:
        raise ValueError(f"how {how!r} is not one of {', '.join(map(repr, WAYS))}")
    mechanism = as_mechanism(model)
    tree = mechanism.model
    q, v = checked(tree, q=state.q, v=state.v)
    link_a, link_b, loop = _loop(mechanism, q, a, b, joint, at, on)
    end = _floating_end(mechanism, link_a, link_b) if how != "loop" else -1
    if how == "tree" and end < 0:
        raise ValueError(
            f"model {tree.name!r}: neither {_called(tree, link_a)} nor {_called(tree, link_b)} is in a floating tree "
            "that the other is not in, so the joint would close a loop: use how='loop' or 'auto'"
        )
    closed = _with_loop(mechanism, loop, bare=end >= 0)
    data = ClosedData(closed)
    hit = impact(closed, data, q, v)
    _refuse_pose(closed, data, q, hit.errors[-1], joint)
    tied = (closed.rows["a"] < 0).any() or (closed.rows["b"] < 0).any() or _grounded(tree)
    found: dict[str, Any] = {
        "impulse": hit.impulses[-1],
        "energy_lost": hit.energy_lost,
        "momentum_error": 0.0 if tied else hit.momentum_error,
    }
    now = State(q, hit.v, None, state.tau, state.time)  # accelerations are infinite for an instant, and then others
    if end >= 0:
        full = replace(joint, name=closed.names[-1])
        report = hang_through(closed, now, closed.names[-1], end, full, hit.v - v)
        return replace(report, loop_map=report.loop_map[:-1], **found)  # the last was there for the impact alone
    places = [np.arange(count, dtype=np.int32) for count in (tree.n, tree.nq, tree.nv, len(mechanism.loops))]
    links, entries, rates, loops = places
    opened = float(hit.errors.max(initial=0.0))
    return Report(
        closed, now, links, entries, rates, loops, closed.names[-1], jump=hit.v - v, loop_error=opened, **found
    )  # fmt: skip


def _loop(
    mechanism: Mechanism, q: Any, a: str | int | None, b: str | int | None, joint: Joint,
    at: Pose | Iterable[float], on: Pose | None,
) -> tuple[int, int, Loop]:  # fmt: skip
    """The two links, and the joint between them as a loop."""
    model = mechanism.model
    a, b = (-1 if x is None else x for x in (a, b))
    data = Data(model)
    kinematics(model, data, q)
    links = [locate(model, data, x)[0] for x in (a, b)]
    if links[0] == links[1]:
        raise ValueError(f"model {model.name!r}: {_called(model, links[0])} cannot be connected to itself")
    frame = at if isinstance(at, Pose) else Pose(at)
    poses = pose_of(model, data, a).inverse() @ frame, on or pose_of(model, data, b).inverse() @ frame
    return links[0], links[1], Loop(a, b, joint, *poses, _free_name(mechanism, joint, links))


def _free_name(mechanism: Mechanism, joint: Joint, links: list[int]) -> str:
    if joint.name:
        return joint.name  # if it is taken, an error says so
    model = mechanism.model
    name = "-".join(model.names[i] if i >= 0 else "base" for i in links)
    taken = {*model.joint_names, *mechanism.names}
    return next(n for n in (name, *(f"{name}{k}" for k in range(2, len(taken) + 3))) if n not in taken)


def _floating_end(mechanism: Mechanism, a: int, b: int) -> int:
    """The top of a floating tree that one of the links is in and the other is not, that of b if possible; else -1."""
    model = mechanism.model
    tops = [_top(model, a), _top(model, b)]
    if tops[0] == tops[1]:
        return -1
    return next((top for top in reversed(tops) if top >= 0 and _floats(model, top)), -1)


def _floats(model: Model, top: int) -> bool:
    """Whether its joint is free, and nothing acts on it that would be lost with it."""
    dofs = model.dofs[model.v_slice(top)]
    acts = any(dofs[field].any() for field in ("damping", "stiffness", "friction", "armature"))
    limited = np.isfinite(dofs["lower"]).any() or np.isfinite(dofs["upper"]).any()
    return bool(model.links[top]["kind"] == JointKind.FREE) and not acts and not limited


def _top(model: Model, link: int) -> int:
    while link >= 0 and model.links[link]["parent"] >= 0:
        link = int(model.links[link]["parent"])
    return link


def _grounded(model: Model) -> bool:
    """Whether any tree is tied to the base."""
    return bool((model.links["kind"][model.links["parent"] < 0] != JointKind.FREE).any())


def _with_loop(mechanism: Mechanism, loop: Loop, bare: bool) -> Mechanism:
    """The mechanism with one loop more; `bare`: what acts in its joint is left out, a tree will have it."""
    if bare:
        loop = Loop(loop.a, loop.b, bare_joint(loop.joint), loop.at_a, loop.at_b, loop.name)
    return Mechanism(mechanism.model, (*mechanism.loops, loop), mechanism.tolerance)


def bare_joint(joint: Joint) -> Joint:
    """The joint without what a loop's joint may not have."""
    return replace(joint, damping=0.0, stiffness=0.0, friction=0.0, armature=0.0)


def _refuse_pose(closed: Mechanism, data: ClosedData, q: Any, error: float, joint: Joint) -> None:
    """Raise if the new joint, the last loop, cannot be where it would have to be."""
    model, name, kind = closed.model, closed.names[-1], joint.kind.name.lower()
    if not error < FITS:
        raise ValueError(
            f"model {model.name!r}: a {kind} joint cannot hold {_called(model, int(closed.rows[-1]['b']))} where it is "
            f"now (off by {error:.2g} m or rad); give another `at` or `on`"
        )
    if joint.nq == joint.nv and joint.nv:
        found = loop_positions(closed, data, q)[int(closed.rows[-1]["iq"]) :]
        low, high = joint.per_dof("lower"), joint.per_dof("upper")
        if (found < low - FITS).any() or (found > high + FITS).any():
            raise ValueError(
                f"model {model.name!r}: joint {name!r} would be at {found.tolist()}, outside of its limits "
                f"{low.tolist()} to {high.tolist()}"
            )


def _called(model: Model, link: int) -> str:
    return f"link {model.names[link]!r}" if link >= 0 else "the base"
