"""Re-rooting: another link becomes the root of its tree, and no body moves (SPW)."""

from __future__ import annotations

from kinemorph.multibody.checks import check_state
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose
from kinemorph.structure.edit.model_edit import Links, edit_model, thread_edit_rows
from kinemorph.structure.edit.request import Place, Request
from kinemorph.structure.forest.layout import ON_LINK
from kinemorph.structure.report import ModelEdit


@checked_first
def reroot(
    model: Model,
    state: State,
    link: str | int,
    joint: Joint | None = None,
    at: Place | None = None,
    on: Place | None = None,
) -> ModelEdit:
    """Make a link the root of its tree, carried by a new joint on the base; the joint that carried the old root is
    removed.

    `joint` is free if not given: the system is then the same one with another root. `at` is the joint's frame in the
    world (a Pose, or a position with the world's axes); a free joint needs none. `on` is the joint's successor frame in
    the link's frame (the one that `pose_of` returns); without `on` the joint starts at zero. Bodies keep poses and
    velocities: if the joint cannot move as the link does, an error says so (`connect` computes the impact). Loops do
    not change.
    """
    check_state(model, state)
    top, place = model.place(link)
    if link is None or top < 0:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1}, not {link}")
    hold = None if on is None else place @ (on if isinstance(on, Pose) else Pose(on))
    request = Request.reroot(thread_edit_rows(), joint, at, hold, ON_LINK)
    gone = model.joint_names[root_of_link(model, top)]
    name = request.joint.name or gone
    if name != gone and (name in model.joint_names or name in model.loop_names):
        raise ValueError(f"model {model.name!r}: there is already a joint {name!r}")
    return edit_model(model, state, request, Links(b=top), name)


def root_of_link(model: Model, link: int) -> int:
    """The root link of the tree of a link."""
    parents = model.links["parent"]
    while parents[link] >= 0:
        link = int(parents[link])
    return link
