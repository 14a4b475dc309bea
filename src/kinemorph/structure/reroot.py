"""Re-rooting: another link becomes the top of a tree, and nothing moves (SPW)."""

from __future__ import annotations

from collections.abc import Iterable

from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import kinematics, locate, pose_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Data, Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.rehang import rehang
from kinemorph.structure.report import Report, State


def reroot(
    model: Model,
    state: State,
    link: str | int,
    joint: Joint | None = None,
    at: Pose | Iterable[float] | None = None,
    on: Pose | None = None,
) -> Report:
    """Make a link the top of its tree, carried by a new joint on the base; the joint that carried the old top is gone.

    `joint` is free if not given: then the system is the same one, seen from another link. `at` is the joint's frame in
    the world (a Pose, or a position with the world's axes); a free joint needs none. `on` is where the joint holds the
    link, in the link's frame; if it is not given the joint starts at zero there. Bodies do not move and their
    velocities stay: if the joint cannot move as the link does, an error says so (`connect` is for that, it computes
    the impact).
    """
    data = Data(model)
    kinematics(model, data, state.q, state.v)
    top = link_index(model, data, link)
    joint = joint or Joint.free()
    frame, held = placed(joint, pose_of(model, data, top), at, on)
    return rehang(model, state, top, True, joint, -1, frame, held)


def link_index(model: Model, data: Data, link: str | int) -> int:
    """A link by name or index; the base is none."""
    index = model.link(link) if isinstance(link, str) else locate(model, data, link)[0]
    if index < 0:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1}, not {link}")
    return index


def placed(joint: Joint, now: Pose, at: Pose | Iterable[float] | None, on: Pose | None) -> tuple[Pose, Pose]:
    """The joint's frame in the world, and where on the link it holds."""
    if joint.kind is JointKind.FREE:
        if isinstance(at, Pose):
            return at, on or Pose()
        if at is None:
            return Pose(), on or Pose()
        return Pose(), on or Pose(now.inverse().apply(list(at)))
    if at is None:
        raise ValueError(f"a {joint.kind.name.lower()} joint needs a place: give `at`")
    frame = at if isinstance(at, Pose) else Pose(at)
    return frame, on or now.inverse() @ frame
