"""Cut a joint: its subtree becomes a floating tree, or is carried by a loop's joint that still holds it."""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from kinemorph.multibody.checks import check_state, checked_copies
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_text, repr_of
from kinemorph.structure.edit.model_edit import Links, edit_model, thread_edit_rows
from kinemorph.structure.edit.request import Request
from kinemorph.structure.report import ModelEdit
from kinemorph.structure.support import first_unsupported_body


@checked_first
def cut(
    model: Model,
    state: State,
    joint: str | int,
    name: str | None = None,
    root: str | int | None = None,
    allow_free: bool = True,
) -> ModelEdit:
    """Cut a joint: by its name, or by the index of the link that it carries. Velocities do not change.

    If the joint closes a loop, the loop is removed. If it belongs to a tree and a loop still holds the subtree that it
    carried, the loop's joint becomes the joint of the tree that carries the subtree: of several loops the one with the
    fewest degrees of freedom. Otherwise the subtree gets a free joint on the base, called `name`, or after its link;
    `root` is the link that this joint carries, by default the link of the cut joint. The subtree gets a free joint, and
    the loop stays, also where the loop's sides still move apart, as those of a taut chain may by a little. With
    `allow_free=False`, a cut that leaves a part without support raises.
    """
    check_state(model, state)
    if not isinstance(joint, str) and not hasattr(joint, "__index__"):
        raise TypeError(f"model {model.name!r}: a joint is named, or an integer, not {repr_of(joint)}")
    if isinstance(joint, str) and joint in model.loop_names:
        return _remove_loop(model, state, joint, allow_free)
    link = model.joint(joint) if isinstance(joint, str) else operator.index(joint)
    if not 0 <= link < model.n:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1}, not {joint}")
    if not allow_free:
        _refuse_unsupported(model, link, -1)
    top = link if root is None else model.link(root) if isinstance(root, str) else operator.index(root)
    if not (0 <= top < model.n and _subtree_contains(model, link, top)):
        raise ValueError(f"model {model.name!r}: link {model.names[link]!r} does not carry {root!r}")
    request, links = Request.cut(thread_edit_rows()), Links(root=top, cut=link)
    return edit_model(model, state, request, links, _name_free_joint(model, link, top, name))


def _remove_loop(model: Model, state: State, loop: str, allow_free: bool) -> ModelEdit:
    """Remove a loop."""
    index = model.loop(loop)
    if not allow_free:
        _refuse_unsupported(model, -1, index)
    left = model._like(loop_rows=model.loop_rows[np.arange(len(model.loop_rows)) != index])
    given = {"q": state.q, "v": state.v, "a": state.a, "tau": state.tau}
    given = {what: values for what, values in given.items() if values is not None}
    now = dict(zip(given, checked_copies(model, **given), strict=True))
    return ModelEdit(left, replace(state, **now), model, jump=np.zeros(model.nv))


def _subtree_contains(model: Model, link: int, other: int) -> bool:
    """Whether `other` is `link` or a link that it carries."""
    parents = model.links["parent"]
    while other > link:
        other = int(parents[other])
    return other == link


def _name_free_joint(model: Model, link: int, top: int, name: str | None) -> str:
    """The name of the free joint: `name` if it is given, or the name of the link that it carries, or one made of that:
    after a re-root another link's joint may have the link's name."""
    others = {*model.joint_names, *model.loop_names} - {model.joint_names[link]}
    if name is not None and check_text("cut: name", name):
        if name in others:
            raise ValueError(f"model {model.name!r}: there is already a joint {name!r}")
        return name
    own = model.names[top]
    return next(n for n in (own, *(f"base-{own}{k or ''}" for k in range(len(others) + 1))) if n not in others)


def _refuse_unsupported(model: Model, link: int, loop: int) -> None:
    """Raise ValueError if a link loses its last support when a joint (of `link`, or of `loop`) is cut."""
    carried = {i: (i, int(l["parent"])) for i, l in enumerate(model.links) if l["kind"] != JointKind.FREE}
    closed = {-1 - k: (int(row["a"]), int(row["b"])) for k, row in enumerate(model.loop_rows) if row["nv"] < 6}
    part = [i for i in range(link, model.n) if _subtree_contains(model, link, i)] if link >= 0 else []
    lost = first_unsupported_body(carried, closed, link if link >= 0 else -1 - loop, part)
    if lost >= 0:
        joint = model.joint_names[link] if link >= 0 else model.loop_names[loop]
        raise ValueError(
            f"model {model.name!r}: joint {joint!r} is the last that supports link {model.names[lost]!r}, "
            "and allow_free is False"
        )
