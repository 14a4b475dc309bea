"""Connecting two links by a joint while they move: the impact, and the tree or loop that comes of it (N&Y V)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kinemorph.multibody.checks import Array, as_arrays, complain
from kinemorph.multibody.data import Data
from kinemorph.multibody.integrators import checked
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import locate
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.impact import Impact, strike
from kinemorph.structure.loops import Loop, Mechanism, as_mechanism, loop_row
from kinemorph.structure.rehang import FITS, hang_through, loops_left
from kinemorph.structure.report import Report, State

WAYS = ("auto", "tree", "loop")
FREE = int(JointKind.FREE)
NUMBERS = slice(1, 7)  # of a DOF row as numbers: what acts on it, and its limits
AT_LIBERTY = Joint.free().rows[1].view(np.float64).reshape(6, -1)[:, NUMBERS]


def connect(
    model: Model | Mechanism,
    state: State,
    a: str | int | None,
    b: str | int | None,
    joint: Joint,
    at: Pose | Iterable[float],
    how: str = "auto",
    on: Pose | Iterable[float] | None = None,
) -> Report:
    """Join link b to link a by a joint that stands at `at` in the world, where both are now; -1 or None is the base.

    `on` is where the joint holds b, in b's frame: the joint then starts at the position that this means. If it is not
    given the joint starts at zero. The connection is plastic: impulses at this joint and at all loops make the
    velocities such that the joints can follow; momentum stays, and the energy that is lost is reported.

    "tree" re-roots the floating tree of b and hangs it on a, or that of a and hangs it on b; "loop" closes a loop and
    leaves the tree as it is; "auto" is "tree" where that is possible. Both move in the same way afterwards. A drive
    (the joint's armature) counts as turning with the joint already, so it takes no part in the impact. The joint
    is called `joint.name`, or after the links that it connects: see `report.joint`.
    """
    if how not in WAYS:
        raise ValueError(f"how {how!r} is not one of {', '.join(map(repr, WAYS))}")
    mechanism = as_mechanism(model)
    tree = mechanism.model
    data = Data(tree)
    q, v = as_arrays(tree, q=state.q, v=state.v)
    link_a, _ = locate(tree, data, -1 if a is None else a)
    link_b, place_b = locate(tree, data, -1 if b is None else b)
    if link_a == link_b:
        raise ValueError(f"model {tree.name!r}: {_called(tree, link_a)} cannot be connected to itself")
    name = _name(mechanism, joint, link_a, link_b)
    end = -1 if how == "loop" else _floating_end(tree, link_a, link_b)
    if end < 0:
        _refuse_loop(tree, how, joint, name, link_a, link_b)
    frame = at if isinstance(at, Pose) else Pose(at)
    held = None if on is None else place_b @ (on if isinstance(on, Pose) else Pose(on))
    hit = _hit(mechanism, data, joint, link_a, link_b, frame, held, q, v)
    _refuse_pose(tree, joint, name, link_b, hit)
    jump = hit.v - v
    now = State(q, hit.v, None, state.tau, state.time)  # accelerations are infinite for an instant, and then others
    found = {
        "impulse": hit.impulse,
        "jump": jump,
        "energy_lost": hit.energy_lost,
        "momentum_error": 0.0 if _grounded(tree, hit.rows) else hit.momentum_error,
    }
    if end >= 0:
        return hang_through(mechanism, data, now, hit.rows[-1], end, joint, name, found)
    loops = (*mechanism.loops, _loop(tree, hit.rows[-1], joint, name))
    closed = Mechanism.known(tree, loops, (*mechanism.names, name), hit.rows, mechanism.tolerance)
    links, entries, rates = (np.arange(count, dtype=np.int32) for count in (tree.n, tree.nq, tree.nv))
    now = replace(now, q=q.copy(), tau=None if state.tau is None else checked(tree, tau=state.tau)[0])
    return Report(closed, now, links, entries, rates, loops_left(mechanism, -1), name, **found)


def _hit(
    mechanism: Mechanism, data: Data, joint: Joint, a: int, b: int, frame: Pose, held: Pose | None, q: Array, v: Array
) -> Impact:  # fmt: skip
    """The impact with which a joint that stands at `frame` begins to hold."""
    places = np.empty((2, 12))
    for place, pose in zip(places, (frame, held), strict=True):
        if pose is not None:
            place[:9], place[9:] = pose.rotation.ravel(), pose.position
    status, hit = strike(mechanism, data, loop_row(joint), a, b, places, held is not None, q, v)
    if status:
        complain(mechanism.model, status, q=q, v=v)
    return hit


def _loop(model: Model, row: Any, joint: Joint, name: str) -> Loop:
    """The loop of a row, by the names of its links."""
    sides = []
    for link, R, p in (("a", "Ra", "pa"), ("b", "Rb", "pb")):
        i = int(row[link])
        at = Pose.known(row[p], row[R].reshape(3, 3))
        called = model.names[i] if i >= 0 else None
        sides.append((called, model.frames[called][1].inverse() @ at if called in model.frames else at))
    return Loop(sides[0][0], sides[1][0], joint, sides[0][1], sides[1][1], name)


def _name(mechanism: Mechanism, joint: Joint, a: int, b: int) -> str:
    """What the new joint is called: as it says, or after the links that it connects."""
    model = mechanism.model
    taken = (*model.joint_names, *mechanism.names)
    if joint.name:
        if joint.name in taken:
            raise ValueError(f"model {model.name!r}: there is already a joint {joint.name!r}")
        return joint.name
    name = "-".join(model.names[i] if i >= 0 else "base" for i in (a, b))
    return next(n for n in (name, *(f"{name}{k}" for k in range(2, len(taken) + 3))) if n not in taken)


def _floating_end(model: Model, a: int, b: int) -> int:
    """The top of a floating tree that one of the links is in and the other is not, that of b if possible; else -1."""
    parents = model.links["parent"]
    tops = []
    for link in (b, a):
        while link >= 0 and parents[link] >= 0:
            link = int(parents[link])
        tops.append(link)
    if tops[0] == tops[1]:
        return -1
    return next((top for top in tops if top >= 0 and _floats(model, top)), -1)


def _floats(model: Model, top: int) -> bool:
    """Whether its joint is free, and nothing acts on it that would be lost with it."""
    l = model.links[top]
    if l["kind"] != FREE:
        return False
    dofs = model.dofs[l["iv"] : l["iv"] + 6].view(np.float64).reshape(6, -1)
    return bool((dofs[:, NUMBERS] == AT_LIBERTY).all())


def _grounded(model: Model, loops: Any) -> bool:
    """Whether anything is tied to the base."""
    if any(row["a"] < 0 or row["b"] < 0 for row in loops[::-1]):
        return True
    return bool(np.count_nonzero((model.links["parent"] < 0) & (model.links["kind"] != FREE)))


def _refuse_loop(model: Model, how: str, joint: Joint, name: str, a: int, b: int) -> None:
    """Raise if a joint should not, or may not, close a loop."""
    if how == "tree":
        raise ValueError(
            f"model {model.name!r}: neither {_called(model, a)} nor {_called(model, b)} is in a floating tree "
            "that the other is not in, so the joint would close a loop: use how='loop' or 'auto'"
        )
    if joint.passive:
        raise ValueError(
            f"loop {name!r}: a joint that closes a loop has no {joint.passive}; put it on a joint of the tree"
        )


def _refuse_pose(model: Model, joint: Joint, name: str, b: int, hit: Impact) -> None:
    """Raise if the new joint cannot be where it would have to be."""
    if not hit.errors[-1] < FITS:
        raise ValueError(
            f"model {model.name!r}: a {joint.kind.name.lower()} joint cannot hold {_called(model, b)} where it is now "
            f"(off by {hit.errors[-1]:.2g} m or rad); give another `at` or `on`"
        )
    _, dofs, _ = joint.rows
    low, high = dofs["lower"], dofs["upper"]
    if joint.nq == joint.nv and ((hit.position < low - FITS).any() or (hit.position > high + FITS).any()):
        raise ValueError(
            f"model {model.name!r}: joint {name!r} would be at {(hit.position.round(9) + 0.0).tolist()}, "
            f"outside of its limits {low.tolist()} to {high.tolist()}"
        )


def _called(model: Model, link: int) -> str:
    return f"link {model.names[link]!r}" if link >= 0 else "the base"
