"""Re-rooting: another link becomes the top of a tree, and nothing moves (SPW)."""

from __future__ import annotations

from collections.abc import Iterable

from kinemorph.multibody.data import Data
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import ORIGIN, kinematics, locate, pose_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.loops import Mechanism, as_mechanism
from kinemorph.structure.rehang import rehang
from kinemorph.structure.report import Report, State

FREE = Joint.free()


def reroot(
    model: Model | Mechanism,
    state: State,
    link: str | int,
    joint: Joint | None = None,
    at: Pose | Iterable[float] | None = None,
    on: Pose | Iterable[float] | None = None,
) -> Report:
    """Make a link the top of its tree, carried by a new joint on the base; the joint that carried the old top is gone.

    `joint` is free if not given: then the system is the same one, seen from another link. `at` is the joint's frame in
    the world (a Pose, or a position with the world's axes); a free joint needs none. `on` is where the joint holds the
    link, in the link's frame (the one that `pose_of` returns); if it is not given the joint starts at zero there.
    Bodies do not move and their velocities stay: if the joint cannot move as the link does, an error says so
    (`connect` is for that, it computes the impact). Loops stay what they are.
    """
    mechanism = as_mechanism(model)
    tree = mechanism.model
    data = Data(tree)
    top, place = locate(tree, data, link)
    if top < 0:
        raise IndexError(f"model {tree.name!r} has links 0 to {tree.n - 1}, not {link}")
    joint = joint or FREE
    hold = None if on is None else place @ (on if isinstance(on, Pose) else Pose(on))
    if at is not None:
        kinematics(tree, data, state.q, state.v)
    frame, held = _placed(joint, pose_of(tree, data, top), at, hold, home(tree, top))
    end, parents = top, tree.links["parent"]
    while parents[end] >= 0:
        end = int(parents[end])
    return rehang(mechanism, data, state, top, end, joint, -1, frame, held, joint.name or "")


def home(model: Model, link: int) -> Pose:
    """Where on a link its name is: a free joint holds it there."""
    name = model.names[link]
    return model.frames[name][1] if name in model.frames else ORIGIN


def _placed(
    joint: Joint, now: Pose, at: Pose | Iterable[float] | None, held: Pose | None, at_home: Pose
) -> tuple[Pose, Pose]:  # fmt: skip
    """The joint's frame in the world, and where on the link's frame, which is at `now`, it holds."""
    if joint.kind is JointKind.FREE:
        if isinstance(at, Pose):
            return at, held or at_home
        if at is None:
            return ORIGIN, held or at_home
        return ORIGIN, held or Pose(now.inverse().apply(list(at)))
    if at is None:
        raise ValueError(f"a {joint.kind.name.lower()} joint needs a place: give `at`")
    frame = at if isinstance(at, Pose) else Pose(at)
    return frame, held or now.inverse() @ frame
