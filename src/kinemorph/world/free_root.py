"""The body that floats at the top of a tree: from its pose and twist in the world to entries of q and v, and back.

q of a free joint is the pose of the link's frame, seen from the joint's frame on the base; v is the link's twist along
the link's own axes. Neither frame need be one that users know: a file may place the joint on the base anywhere, and a
body's own frame is no longer that of its link once the tree has been re-rooted. With the joint's frame J on the base
and the body's own frame B on the link, a body at X has its link at X B⁻¹ = J Q(q).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import times
from kinemorph.structure.forest.forest import Forest
from kinemorph.structure.forest.layout import BODIES
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.spawn import free_position

Array = np.ndarray[Any, np.dtype[np.float64]]


class FreeRoot(NamedTuple):
    """Where the free joint of a tree stands on the base, and where the body's own frame is on the link it carries."""

    stand: Pose
    home: Pose

    @staticmethod
    def of_link(row: Any) -> FreeRoot:
        """That of a link whose own frame is its body's, by its LINK row."""
        return FreeRoot(_frame(row), Pose())

    @staticmethod
    def of_tree(forest: Forest, tree: int) -> FreeRoot | None:
        """That of a tree of a forest; None if it does not float."""
        row = forest._links(tree & ID_INDEX_MASK)[0]
        return FreeRoot(_frame(row), _frame(forest._tables[BODIES][row["body"]])) if row["kind"] == FREE else None

    def pose(self, q: Array) -> Pose:
        """Where the body is, by the first entries of q."""
        return self._link(q) @ self.home

    def position(self, pose: Pose) -> Array:
        """The first entries of q with which the body is at a pose."""
        return free_position(self.stand.inverse() @ (pose @ self.home.inverse()))

    def twist(self, q: Array, v: Array) -> Array:
        """Angular velocity of the body, and velocity of the origin of its own frame (6), world axes."""
        R = self._link(q).rotation
        w = times(R, v[:3])
        return np.r_[w, times(R, v[3:6]) + np.cross(w, times(R, self.home.position))]

    def velocity(self, q: Array, twist: Array) -> Array:
        """The first entries of v with which the body has a twist."""
        R = self._link(q).rotation
        w = twist[:3]
        return np.r_[times(R.T, w), times(R.T, twist[3:] - np.cross(w, times(R, self.home.position)))]

    def _link(self, q: Array) -> Pose:
        return self.stand @ Pose.quaternion(q[3:7], q[:3])


def _frame(row: Any) -> Pose:
    return Pose.known(row["p"].copy(), row["R"].reshape(3, 3).copy())
