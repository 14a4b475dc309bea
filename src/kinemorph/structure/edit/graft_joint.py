"""The joint of a graft from the joint of a loop, in either direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.inversion import inverse_position
from kinemorph.multibody.algorithms.joints import FREE, PLANAR, SPHERICAL, UNIVERSAL
from kinemorph.multibody.layout import DOF, LINK
from kinemorph.multibody.system import F8
from kinemorph.spatial.rows import load3, load3_at, load4_at, store3
from kinemorph.spatial.vec3 import neg
from kinemorph.structure.forest.memory import DOF_SIZE, copy_words


@kernel(inline=False)
def set_graft_joint(loop: Any, drives: int, graft: Any) -> None:
    """Set the new joint of a graft from a LOOP row and the address of its DOF rows."""
    joint, slack = rows_at(graft["joint"], 1, LINK)[0], rows_at(graft["slack"], 7, F8)
    copy_words(drives, graft["dofs"], loop["nv"] * DOF_SIZE)
    store3(joint["axis"], load3(loop["axis"]))
    store3(joint["axis2"], load3(loop["axis2"]))
    joint["kind"], joint["pitch"], joint["nq"], joint["nv"] = loop["kind"], loop["pitch"], loop["nq"], loop["nv"]
    joint["joint"], joint["turned"] = loop["joint"], 0
    for k in range(loop["nq"]):
        slack[k] = loop["rest"][k]


@kernel(inline=False)
def reverse_graft_joint(graft: Any) -> None:
    """Replace the new joint of a graft by the same joint with predecessor and successor swapped.

    Where the negated axis does this, the position keeps its meaning. Universal, planar, spherical and free joints are
    inverted as in all edits: their position is that of the inverse motion. Limits of distances in a plane are lost.
    """
    joint, slack = rows_at(graft["joint"], 1, LINK)[0], rows_at(graft["slack"], 7, F8)
    kind = joint["kind"]
    if kind == UNIVERSAL or kind == PLANAR or kind == SPHERICAL or kind == FREE:
        x = load4_at(slack, 0), load3_at(slack, 4)
        old = x[0][0], x[0][1], x[0][2], x[0][3], x[1][0], x[1][1], x[1][2]
        first, second = load3(joint["axis"]), load3(joint["axis2"])
        if kind == UNIVERSAL:
            store3(joint["axis"], second)
            store3(joint["axis2"], first)
        for k in range(joint["nq"]):
            slack[k] = inverse_position(kind, old, 0, k)
        invert_dofs(kind, joint["nv"], rows_at(graft["dofs"], 6, DOF), 0)
        joint["turned"] = 1
    else:
        store3(joint["axis"], neg(load3(joint["axis"])))


@kernel
def invert_dofs(kind: int, nv: int, dofs: Any, first: int) -> None:
    """Invert the DOF rows of a joint, as seen from its other side: lower and upper limits are swapped and negated."""
    if kind == UNIVERSAL:
        swap_dofs(dofs[first], dofs[first + 1])
    for j in range(nv):
        row = dofs[first + j]
        lower = row["lower"]
        row["lower"] = -row["upper"]
        row["upper"] = -lower
        if kind == PLANAR and j < 2:  # distances along axes that now turn have no fixed limits
            row["lower"] = -np.inf
            row["upper"] = np.inf


@kernel
def swap_dofs(a: Any, b: Any) -> None:
    """Swap the DOF rows of the two axes of a universal joint."""
    a["armature"], b["armature"] = b["armature"], a["armature"]
    a["damping"], b["damping"] = b["damping"], a["damping"]
    a["stiffness"], b["stiffness"] = b["stiffness"], a["stiffness"]
    a["friction"], b["friction"] = b["friction"], a["friction"]
    a["lower"], b["lower"] = b["lower"], a["lower"]
    a["upper"], b["upper"] = b["upper"], a["upper"]
    a["velocity_limit"], b["velocity_limit"] = b["velocity_limit"], a["velocity_limit"]
    a["effort_limit"], b["effort_limit"] = b["effort_limit"], a["effort_limit"]
