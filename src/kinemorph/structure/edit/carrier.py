"""The joint of a loop as the joint that carries a link, either way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import kernel, rows_at
from kinemorph.multibody.joints import FREE, PLANAR, SPHERICAL, UNIVERSAL
from kinemorph.multibody.layout import DOF, LINK
from kinemorph.multibody.system import F8
from kinemorph.spatial.rows import load3, store3
from kinemorph.spatial.scalar import sincos
from kinemorph.spatial.vec3 import neg
from kinemorph.structure.forest_memory import DOF_SIZE, copy_words


@kernel(inline=False)
def carrier(loop: Any, drives: int, graft: Any) -> None:
    """The new joint of a graft: one that is given by its LOOP row and the address of its DOF rows."""
    joint, slack = rows_at(graft["joint"], 1, LINK)[0], rows_at(graft["slack"], 7, F8)
    copy_words(drives, graft["dofs"], loop["nv"] * DOF_SIZE)
    store3(joint["axis"], load3(loop["axis"]))
    store3(joint["axis2"], load3(loop["axis2"]))
    joint["kind"], joint["pitch"], joint["nq"], joint["nv"] = loop["kind"], loop["pitch"], loop["nq"], loop["nv"]
    joint["joint"], joint["turned"] = loop["joint"], 0
    for k in range(loop["nq"]):
        slack[k] = loop["rest"][k]


@kernel(inline=False)
def swap_roles(graft: Any) -> None:
    """The new joint of a graft becomes the joint between the same two links with their roles swapped.

    Its position means the same, but for a universal joint, whose angles change places, and for spherical, planar and
    free joints: theirs is that of the inverse motion. Limits of distances in a plane are lost then.
    """
    joint, slack = rows_at(graft["joint"], 1, LINK)[0], rows_at(graft["slack"], 7, F8)
    dofs = rows_at(graft["dofs"], 6, DOF)
    kind = joint["kind"]
    first, second = load3(joint["axis"]), load3(joint["axis2"])
    if kind == UNIVERSAL:
        store3(joint["axis"], neg(second))
        store3(joint["axis2"], neg(first))
        swap_dofs(dofs[0], dofs[1])
        slack[0], slack[1] = slack[1], slack[0]
    elif kind == PLANAR:
        store3(joint["axis"], neg(first))
        for k in range(2):
            dofs[k]["lower"], dofs[k]["upper"] = -np.inf, np.inf
        x, y = slack[0], slack[1]
        s, c = sincos(slack[2])
        slack[0], slack[1] = -(c * x + s * y), -(s * x - c * y)  # the second direction changes sign with the normal
    elif kind == SPHERICAL:
        for k in range(3):
            low = dofs[k]["lower"]
            dofs[k]["lower"], dofs[k]["upper"] = -dofs[k]["upper"], -low
            slack[k + 1] = -slack[k + 1]
    elif kind != FREE:
        store3(joint["axis"], neg(first))


@kernel
def swap_dofs(a: Any, b: Any) -> None:
    """The two degrees of freedom of a universal joint change places."""
    a["armature"], b["armature"] = b["armature"], a["armature"]
    a["damping"], b["damping"] = b["damping"], a["damping"]
    a["stiffness"], b["stiffness"] = b["stiffness"], a["stiffness"]
    a["friction"], b["friction"] = b["friction"], a["friction"]
    a["lower"], b["lower"] = b["lower"], a["lower"]
    a["upper"], b["upper"] = b["upper"], a["upper"]
    a["speed"], b["speed"] = b["speed"], a["speed"]
    a["effort"], b["effort"] = b["effort"], a["effort"]
