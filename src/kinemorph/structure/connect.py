"""Connect two moving links by a joint: impact, then a joint of a tree or a loop (N&Y section V)."""

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
def connect(
    model: Model,
    state: State,
    a: str | int | None,
    b: str | int | None,
    joint: Joint,
    at: Place,
    how: str = "auto",
    on: Place | None = None,
) -> ModelEdit:
    """Join link b to link a by a joint that stands at `at` in the world, where both are now; -1 or None is the base.

    `on` is the joint's successor frame in b's frame; the joint then starts at the position that follows from it.
    Without `on` the joint starts at zero. The connection is plastic: impulses at this joint and at all loops make the
    velocities compatible with the joints; momentum is conserved, and the energy that is lost is reported.

    "tree" re-roots the floating tree of b and hangs it on a, or that of a and hangs it on b; "loop" closes a loop and
    leaves the trees as they are; "auto" is "tree" where that is possible. The motion afterwards is the same. A drive
    (the joint's armature) counts as turning with the joint already, so it takes no part in the impact. The joint is
    called `joint.name`, or after the links that it connects: see `report.joint`.
    """
    check_state(model, state)
    link_a, _ = model.place(a)
    link_b, place_b = model.place(b)
    held = None if on is None else place_b @ (on if isinstance(on, Pose) else Pose(on))
    request = Request.connect(thread_edit_rows(), joint, at, how, held, ON_LINK)
    if link_a == link_b:
        called = f"link {model.names[link_a]!r}" if link_a >= 0 else "the base"
        raise ValueError(f"model {model.name!r}: {called} cannot be connected to itself")
    return edit_model(model, state, request, Links(link_a, link_b), _name_new_joint(model, joint, link_a, link_b))


def _name_new_joint(model: Model, joint: Joint, a: int, b: int) -> str:
    """The name of the new joint: `joint.name`, or one made of the names of the two links."""
    taken = {*model.joint_names, *model.loop_names}
    if joint.name:
        if joint.name in taken:
            raise ValueError(f"model {model.name!r}: there is already a joint {joint.name!r}")
        return joint.name
    name = "-".join(model.names[i] if i >= 0 else "base" for i in (a, b))
    return next(n for n in (name, *(f"{name}{k}" for k in range(2, len(taken) + 3))) if n not in taken)
