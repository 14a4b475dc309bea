"""Cutting a joint: what it carried flies on by itself, or hangs on by another joint that still holds it."""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from kinemorph.multibody.data import Data
from kinemorph.multibody.integrators import checked
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import ORIGIN
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Model
from kinemorph.structure.loops import Mechanism, as_mechanism
from kinemorph.structure.rehang import carries, hang_through, loops_left, rehang
from kinemorph.structure.report import Report, State
from kinemorph.structure.reroot import home

FREE = Joint.free()


def cut(
    model: Model | Mechanism,
    state: State,
    joint: str | int,
    name: str | None = None,
    root: str | int | None = None,
    allow_free: bool = True,
) -> Report:
    """Cut a joint: by its name, or by the index of the link that it carries. Velocities do not change.

    If it closes a loop, the loop is gone. If it belongs to the tree, and a loop still holds what it carried, the loop's
    joint carries that from now on, as a joint of the tree: of several loops the one that leaves the fewest
    coordinates. Otherwise what it carried gets a free joint on the base, called `name`, or after its link; `root` is
    the link that this joint carries, the one that the cut joint carried if not given. With `allow_free=False`, a cut
    that leaves a part without support raises.
    """
    mechanism = as_mechanism(model)
    tree = mechanism.model
    if isinstance(joint, str) and joint in mechanism.names:
        return _open(mechanism, state, joint, allow_free)
    link = tree.joint(joint) if isinstance(joint, str) else operator.index(joint)
    if not 0 <= link < tree.n:
        raise IndexError(f"model {tree.name!r} has links 0 to {tree.n - 1}, not {joint}")
    holder = _holder(mechanism, link) if mechanism.loops else -1
    if holder >= 0:
        row, kept = mechanism.rows[holder], mechanism.loops[holder].joint
        held = hang_through(mechanism, Data(tree), state, row, link, kept, mechanism.names[holder], without=holder)
        if not allow_free:
            _refuse_fall(mechanism, as_mechanism(held.model), tree.joint_names[link])
        return held
    if not allow_free:
        raise ValueError(_unsupported(tree, tree.joint_names[link], tree.names[link]))
    top = link if root is None else tree.link(root) if isinstance(root, str) else operator.index(root)
    if not (0 <= top < tree.n and carries(tree, link, top)):
        raise ValueError(f"model {tree.name!r}: link {tree.names[link]!r} does not carry {root!r}")
    name = name or _free_name(mechanism, link, top)
    return rehang(mechanism, Data(tree), state, top, link, FREE, -1, ORIGIN, home(tree, top), name)


def _open(mechanism: Mechanism, state: State, loop: str, allow_free: bool) -> Report:
    """Remove a loop."""
    tree = mechanism.model
    index = mechanism.loop(loop)
    loops, names = list(mechanism.loops), list(mechanism.names)
    del loops[index], names[index]
    left = Mechanism.known(
        tree, tuple(loops), tuple(names), mechanism.rows[np.arange(len(names) + 1) != index], mechanism.tolerance
    )  # fmt: skip
    if not allow_free:
        _refuse_fall(mechanism, left, loop)
    given = {"q": state.q, "v": state.v, "a": state.a, "tau": state.tau}
    given = {what: values for what, values in given.items() if values is not None}
    now = dict(zip(given, checked(tree, **given), strict=True))
    links, entries, rates = (np.arange(count, dtype=np.int32) for count in (tree.n, tree.nq, tree.nv))
    return Report(
        left.plain, replace(state, **now), links, entries, rates, loops_left(mechanism, index),
        jump=np.zeros(tree.nv),
    )  # fmt: skip


def _holder(mechanism: Mechanism, link: int) -> int:
    """The loop that holds what a link carries to the rest with the fewest degrees of freedom, -1 if there is none."""
    best, found = 6, -1
    for i, row in enumerate(mechanism.rows):
        sides = [carries(mechanism.model, link, int(row[side])) for side in ("a", "b")]
        if sides[0] != sides[1] and row["nv"] < best:
            best, found = int(row["nv"]), i
    return found


def _free_name(mechanism: Mechanism, link: int, top: int) -> str:
    """As the link that it carries, or after it: re-rooting may have given that name to another link's joint."""
    model = mechanism.model
    others = {*model.joint_names, *mechanism.names} - {model.joint_names[link]}
    own = model.names[top]
    return next(n for n in (own, *(f"base-{own}{k or ''}" for k in range(len(others) + 1))) if n not in others)


def _refuse_fall(before: Mechanism, after: Mechanism, joint: str) -> None:
    """Raise if a link has lost its last support."""
    held = _supported(after)
    for link in _supported(before):
        if link not in held:
            raise ValueError(_unsupported(before.model, joint, link))


def _supported(mechanism: Mechanism) -> list[str]:
    """Names of the links that joints and loops tie to the base, directly or through others."""
    links = mechanism.model.links
    ties = [(i, int(l["parent"])) for i, l in enumerate(links) if l["kind"] != JointKind.FREE]
    ties += [(int(row["a"]), int(row["b"])) for row in mechanism.rows if row["nv"] < 6]
    found = {-1}
    while more := {x for tie in ties for x in tie if found.intersection(tie)} - found:
        found |= more
    return [mechanism.model.names[i] for i in sorted(found - {-1})]


def _unsupported(model: Model, joint: str, link: str) -> str:
    return f"model {model.name!r}: joint {joint!r} is the last that supports link {link!r}, and allow_free is False"
