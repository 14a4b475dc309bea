"""What users say of an edit, as the row that kernels read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinemorph.multibody.joint import Joint
from kinemorph.multibody.loops import joint_row
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest_layout import (
    AT_POINT,
    AT_POSE,
    AUTO,
    CONNECT,
    CUT,
    EDIT,
    NOT_SAID,
    NOWHERE,
    ON_BODY,
    REMOVE,
    REROOT,
)

WAYS = ("auto", "tree", "loop")
FREE = Joint.free()

Place = Pose | Iterable[float]


class Request:
    """An EDIT row, and the joint whose rows it has the addresses of."""

    def __init__(self, what: int, joint: Joint) -> None:
        if not isinstance(joint, Joint):
            raise TypeError(f"joint must be a kinemorph.Joint, not {joint!r}")
        self.joint = joint
        self.rows = np.zeros(1, EDIT)
        row = self.row = self.rows[0]
        _, self._dofs, _ = joint.rows
        self._loop = joint_row(joint)
        row["what"], row["a"], row["b"], row["joint"], row["root"] = what, -1, -1, -1, -1
        row["row"], row["dofs"] = self._loop.ctypes.data, self._dofs.ctypes.data

    @staticmethod
    def connect(joint: Joint, at: Place, how: str, on: Place | None, held: int = ON_BODY) -> Request:
        if how not in WAYS:
            raise ValueError(f"how {how!r} is not one of {', '.join(map(repr, WAYS))}")
        request = Request(CONNECT, joint)
        row = request.row
        row["how"] = WAYS.index(how) + AUTO
        row["unfit"] = bool(request._dofs["friction"].any() or request._dofs["armature"].any())
        request.stand(at)
        request.hold(on, held)
        return request

    @staticmethod
    def reroot(joint: Joint | None, at: Place | None, on: Place | None, held: int = ON_BODY) -> Request:
        request = Request(REROOT, FREE if joint is None else joint)
        request.stand(at)
        request.hold(on, held)
        return request

    @staticmethod
    def cut() -> Request:
        return Request(CUT, FREE)

    @staticmethod
    def remove() -> Request:
        return Request(REMOVE, FREE)

    def stand(self, at: Place | None) -> None:
        """Where the joint stands in the world."""
        row: Any = self.row
        row["placed"] = NOWHERE
        if at is not None:
            row["placed"] = AT_POSE if isinstance(at, Pose) else AT_POINT
            pose = at if isinstance(at, Pose) else Pose(at)
            row["at_R"], row["at_p"] = pose.rotation.ravel(), pose.position

    def hold(self, on: Place | None, held: int) -> None:
        """Where the joint holds body b."""
        row: Any = self.row
        row["held"] = NOT_SAID
        if on is not None:
            pose = on if isinstance(on, Pose) else Pose(on)
            row["held"], row["on_R"], row["on_p"] = held, pose.rotation.ravel(), pose.position
