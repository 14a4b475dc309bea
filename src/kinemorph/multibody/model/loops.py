"""Loops: joints that close cycles in a tree, as users declare them and as rows of a model.

N&Y describe a loop by a virtual link on one side and its real link on the other. Here the virtual link is a frame on
link `a`, the real link's frame one on link `b`, and the constraint of the joint between them is explicit: rows of unit
wrenches that act on b at the joint, and with the opposite sign on a at the same point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.joint import Joint
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose

LOOP = np.dtype(
    [
        ("tree_a", "i4"),  # trees of both links, as the system counts them (in a model 0)
        ("tree_b", "i4"),
        ("a", "i4"),  # link that carries the joint's predecessor frame, -1 for the base
        ("b", "i4"),  # link that carries its successor frame
        ("top_a", "i4"),  # the first link on the way from the base to a, -1 for the base; `measure_loops`
        ("top_b", "i4"),  # likewise for b
        ("island", "i4"),  # loops that share a tree, directly or through others; `measure_loops`
        ("joint", "i4"),  # id of the joint
        ("kind", "i4"),  # JointKind
        ("iq", "i4"),  # first entry among the positions of all loop joints; `measure_loops`
        ("iv", "i4"),  # first entry among their velocities; `measure_loops`
        ("nq", "i4"),
        ("nv", "i4"),
        ("first", "i4"),  # first constraint row; `measure_loops`
        ("m", "i4"),  # constraint rows, 6 - nv
        ("member", "i4"),  # first among the rows of its island; `lay_out`
        ("passive", "i4"),  # whether springs or dampers act in the joint
        ("Ra", "f8", 9),  # pose of the predecessor frame on link a
        ("pa", "f8", 3),  # m
        ("Rb", "f8", 9),  # pose of the successor frame on link b
        ("pb", "f8", 3),  # m
        ("axis", "f8", 3),  # unit axes, as in a LINK row
        ("axis2", "f8", 3),
        ("pitch", "f8"),  # m/rad, of a screw
        ("slant", "f8"),  # |axis x axis2| of a universal joint, and
        ("cosine", "f8"),  # axis · axis2: the angle that it keeps
        ("T", "f8", 36),  # rows: forbidden directions, angular and linear, predecessor's axes, at the successor
        ("damping", "f8", 6),  # N m s/rad or N s/m, of each degree of freedom
        ("stiffness", "f8", 6),  # N m/rad or N/m
        ("rest", "f8", 7),  # where the springs are slack
    ],
    align=True,
)

NO_LOOPS = np.zeros(0, LOOP)
DEPENDENT_ROW_SINE = 1e-5  # sine of the angle to other rows below which a row counts as dependent on them


@checked_first
@dataclass(frozen=True, eq=False)
class Loop:
    """A joint between two links that are already in the tree, by name or index; -1 or None is the base.

    The joint's predecessor frame stands at `at_a` on link `a`, its successor frame at `at_b` on link `b`; the successor
    frame moves relative to the predecessor frame as a link moves relative to its joint frame in a tree.
    """

    a: str | int | None
    b: str | int | None
    joint: Joint
    at_a: Pose
    at_b: Pose
    name: str

    def __init__(
        self,
        a: str | int | None,
        b: str | int | None,
        joint: Joint,
        at_a: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        at_b: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        name: str = "",
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"loop {name!r}: its name must be a text")
        if not isinstance(joint, Joint):
            raise TypeError(f"loop {name!r}: joint must be a kinemorph.Joint, not {joint!r}")
        poses = [at if isinstance(at, Pose) else Pose(at) for at in (at_a, at_b)]
        for field, value in zip(("a", "b", "joint", "at_a", "at_b", "name"), (a, b, joint, *poses, name), strict=True):
            object.__setattr__(self, field, value)


def loop_row(joint: Joint) -> Any:
    """The LOOP row of a joint, with the fields that depend on the joint alone. It is cached on the joint."""
    check_loop_joint(joint)
    return joint_row(joint)


def joint_row(joint: Joint) -> Any:
    """The same without the check for friction and armature: a joint with these can only belong to a tree."""
    row = vars(joint).get("_loop_row")
    if row is None:
        a, b = joint.axes()
        T = joint.forbidden
        row = np.zeros(1, LOOP)
        loop = row[0]
        loop["kind"], loop["nq"], loop["nv"], loop["m"] = joint.kind, joint.nq, joint.nv, len(T)
        loop["axis"], loop["axis2"], loop["pitch"] = a, b, joint.pitch
        if joint.kind is JointKind.UNIVERSAL:
            loop["slant"], loop["cosine"] = np.linalg.norm(np.cross(a, b)), a @ b
        loop["T"][: T.size] = T.ravel()
        _, dofs, slack = joint.rows
        loop["damping"][: joint.nv], loop["stiffness"][: joint.nv] = dofs["damping"], dofs["stiffness"]
        loop["rest"][: joint.nq] = slack
        loop["passive"] = bool(dofs["damping"].any() or dofs["stiffness"].any())
        row.flags.writeable = False
        vars(joint)["_loop_row"] = row
    return row


def check_loop_joint(joint: Joint) -> None:
    """Raise if a joint has friction or armature, which cannot act in a joint that closes a loop."""
    _, dofs, _ = joint.rows
    for field in ("friction", "armature"):
        if dofs[field].any():
            raise ValueError(f"a joint that closes a loop has no {field}; put it on a joint of the tree")
