"""Placement: bodies and joints put elsewhere by hand, or given other velocities, without any force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.collision.shapes.shape_table import SHAPE_ROW_MASK
from kinemorph.contact.layout import WOKEN_BY_PLACEMENT
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.model.declared import as_declared
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose, rotation, vector
from kinemorph.spatial.products import times
from kinemorph.structure.forest.forest import Edit
from kinemorph.structure.forest.layout import IN_USE, LOOPS
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.body import Body
from kinemorph.world.free_root import FreeRoot
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input


def numbers(given: Any, count: int, what: str) -> Any:
    """So many numbers, or the one."""
    if isinstance(given, str | bytes):
        raise TypeError(f"{what}: expected {count} numbers, not {repr_of(given)}")
    alone = isinstance(given, int | float | np.number) and not isinstance(given, bool)
    return vector([given] if alone else given, count, what)


@checked_on_failure
class Placement(Part):
    """`world.placement`: bodies and joints put elsewhere by hand, or given other velocities."""

    __slots__ = ()

    @an_input
    def place(
        self, body: Body | int, at: Pose | Iterable[float] | None = None, twist: Iterable[float] | None = None
    ) -> None:  # fmt: skip
        """Put a body somewhere else, or have it move otherwise; what is joined to it goes along as if all were rigid.

        `at` is a pose, or a position in which it is turned as it was; `twist` (angular, linear, world axes) is that of
        its own frame. What is not given stays. Joints stay as they are, and go on as they did. `body.pose`, `position`,
        `twist`, `velocity` and `angular_velocity` can be set likewise. What stands on the base, or is tied to something
        else by a loop, cannot be placed.
        """
        world = self.world
        id = world._id(body)
        forest = world.forest
        tree, before, moved = forest.tree_of(id), forest.pose(id), forest.twist(id)
        pose = before if at is None else at
        if not isinstance(pose, Pose):
            pose = Pose(vector(pose, 3, "place: at"), before.rotation)
        wanted = moved if twist is None else vector(twist, 6, "place: twist")
        members, root = forest.members(tree).tolist(), FreeRoot.of_tree(forest, tree)
        if root is None:
            raise ValueError(
                f"place: body {world.registry.body_names[id]!r} does not float: a joint holds its tree to the base; "
                "`placement.set_joint` moves that joint, or cut it first"
            )
        if self._tied(members, outside=True):
            raise ValueError(
                f"place: a loop ties body {world.registry.body_names[id]!r} to something that would stay where it is; "
                "cut it first"
            )
        state = forest.state(tree)
        q, v = state.q, state.v
        top, stood, went = id == members[0], root.pose(q), root.twist(q, v)
        turn = np.eye(3) if pose.rotation is before.rotation else times(pose.rotation, before.rotation.T)
        if at is not None:
            off = times(turn, stood.position - before.position)
            entries = root.position(pose if top else Pose(pose.position + off, times(turn, stood.rotation)))
            q[:3] = entries[:3]
            if pose.rotation is not before.rotation:
                q[3:7] = entries[3:]
        spin, push = wanted[:3] - times(turn, moved[:3]), wanted[3:] - times(turn, moved[3:])
        lever = root.pose(q).position - pose.position
        goes = (
            wanted if top else np.r_[times(turn, went[:3]) + spin, times(turn, went[3:]) + push + np.cross(spin, lever)]
        )
        v[:6] = root.velocity(q, goes)
        self._settle(tree, members, q, v)

    @an_input
    def set_joint(
        self, joint: Edit | int | str, position: npt.ArrayLike | None = None, velocity: npt.ArrayLike | None = None
    ) -> None:  # fmt: skip
        """Where a joint of a tree is, or how fast it moves, as `Figure.position` and `velocity` say it.

        What it carries goes along, seen from the base: that may be the side that it was declared on.
        """
        world = self.world
        id = world.joint_id(joint)
        forest = world.forest
        link = forest._carried(id)[1]
        tree, kind = forest.tree_of(forest.sides(id)[-1]), int(link["kind"])
        if kind == FREE:
            raise ValueError("set_joint: a free joint is where its body is; place the body")
        members = forest.members(tree).tolist()
        if self._tied(members, outside=False):
            raise ValueError("set_joint: loops tie the links of this joint's tree, and would open; cut them first")
        state = forest.state(tree)
        q, v = state.q, state.v
        of_q = slice(int(link["iq"]), int(link["iq"] + link["nq"]))
        of_v = slice(int(link["iv"]), int(link["iv"] + link["nv"]))
        where, rate = as_declared(link, q[of_q], v[of_v])
        if position is not None:
            where = numbers(position, int(link["nq"]), "set_joint: position")
            if kind == SPHERICAL:
                where = rotation(where, "set_joint: position of a ball joint")
        if velocity is not None:
            rate = numbers(velocity, int(link["nv"]), "set_joint: velocity")
        q[of_q], v[of_v] = as_declared(link, where, rate)
        self._settle(tree, members, q, v)

    def _settle(self, tree: int, members: list[int], q: Any, v: Any) -> None:
        """Have a tree in this state from now on. What touched it wakes, and what it overlaps is told."""
        world = self.world
        sleep = world.sleep
        sleep._wake(*members, *sleep._neighbours(members), why=WOKEN_BY_PLACEMENT)
        world.forest.set_state(tree, q=q, v=v)
        world._header[0]["fresh"] = 1
        world._newcomers += [
            shape & SHAPE_ROW_MASK for body in members for shape in world.registry.mounted.get(body & ID_INDEX_MASK, [])
        ]

    def _tied(self, members: list[int], outside: bool) -> bool:
        """Whether a loop ties one of these bodies, or ties one of them to another body or the base."""
        forest, indices = self.world.forest, {body & ID_INDEX_MASK for body in members}
        for loop in forest._tables[LOOPS][: int(forest._pools[LOOPS]["count"])]:
            inside = (int(loop["a"]) in indices) + (int(loop["b"]) in indices)
            if loop["next"] == IN_USE and inside and (inside == 1 or not outside):
                return True
        return False
