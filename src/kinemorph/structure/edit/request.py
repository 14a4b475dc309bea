"""The arguments of an edit as an EDIT row for kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import joint_row
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import FARTHEST, Pose
from kinemorph.structure.forest import layout

CONNECT_METHODS = ("auto", "tree", "loop")
FREE_JOINT = Joint.free()

Place = Pose | Iterable[float]


class Request:
    """An EDIT row, and the joint whose rows it points to."""

    def __init__(self, rows: Any, what: int, joint: Joint) -> None:
        if not isinstance(joint, Joint):
            raise TypeError(f"joint must be a kinemorph.Joint, not {repr_of(joint)}")
        self.joint, self.rows = joint, rows
        row = self.row = rows[0]
        _, self._dofs, _ = joint.rows
        self._loop = joint_row(joint)
        row["what"], row["placed"], row["held"] = what, layout.NO_POSITION, layout.NOT_GIVEN
        row["row"], row["dofs"] = self._loop.ctypes.data, self._dofs.ctypes.data

    @staticmethod
    def connect(rows: Any, joint: Joint, at: Place, how: str, on: Place | None, held: int = layout.ON_BODY) -> Request:
        if not isinstance(how, str) or how not in CONNECT_METHODS:
            raise ValueError(f"how {repr_of(how)} is not one of {', '.join(map(repr, CONNECT_METHODS))}")
        request = Request(rows, layout.CONNECT, joint)
        request.row["how"] = CONNECT_METHODS.index(how) + layout.AUTO
        request.row["cannot_close"] = joint.passive != "" and cannot_close_loop(joint)
        request.stand(at)
        if on is not None:
            request.hold(on, held)
        return request

    @staticmethod
    def reroot(
        rows: Any, joint: Joint | None, at: Place | None, on: Place | None, held: int = layout.ON_BODY
    ) -> Request:
        request = Request(rows, layout.REROOT, FREE_JOINT if joint is None else joint)
        if at is not None:
            request.stand(at)
        if on is not None:
            request.hold(on, held)
        return request

    @staticmethod
    def cut(rows: Any) -> Request:
        request = Request(rows, layout.CUT, FREE_JOINT)
        request.row["root"] = -1
        return request

    @staticmethod
    def remove(rows: Any) -> Request:
        return Request(rows, layout.REMOVE, FREE_JOINT)

    def stand(self, at: Place) -> None:
        """Set the joint's pose in the world."""
        row: Any = self.row
        row["placed"] = layout.AT_POSE if isinstance(at, Pose) else layout.AT_POINT
        pose = at if isinstance(at, Pose) else Pose(at)
        if max(map(abs, pose.position.tolist())) > FARTHEST:
            raise ValueError(f"at is {repr_of(at)}, and must be at most {FARTHEST:g} m from the origin")
        row["at_R"], row["at_p"] = pose.rotation.ravel(), pose.position

    def hold(self, on: Place, held: int) -> None:
        """Set the joint's successor frame on body b."""
        row: Any = self.row
        pose = on if isinstance(on, Pose) else Pose(on)
        row["held"], row["on_R"], row["on_p"] = held, pose.rotation.ravel(), pose.position


def cannot_close_loop(joint: Joint) -> bool:
    """Whether a joint has friction or armature, which cannot act in a joint that closes a loop."""
    _, dofs, _ = joint.rows
    return bool(dofs["friction"].any() or dofs["armature"].any())
