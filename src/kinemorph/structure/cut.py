"""Cutting a joint: what it carried flies on by itself."""

from __future__ import annotations

from kinemorph.multibody.joint import Joint
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.rehang import rehang
from kinemorph.structure.report import Report, State


def cut(model: Model, state: State, joint: str | int, name: str | None = None) -> Report:
    """Cut a joint of a tree: its link, with all that hangs on it, is carried by a free joint on the base from now on.

    `joint` is a joint's name or the index of its link. Velocities do not change. The free joint is called `name`, or
    as the joint that was cut.
    """
    link = model.joint(joint) if isinstance(joint, str) else int(joint)
    if not 0 <= link < model.n:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1}, not {joint}")
    free = Joint.free(name=name or model.joint_names[link])
    return rehang(model, state, link, False, free, -1, Pose(), Pose())
