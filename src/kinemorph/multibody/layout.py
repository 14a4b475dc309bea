"""The rows of a model and of its data, field by field.

Kernels see a tree as four arrays of rows. `LINK` and `DOF` are constants of a `Model`; `LINK_DATA` and `DOF_DATA`
belong to a `Data`, and each field is valid after the algorithm that writes it. `LINK_DATA` has one row more than there
are links: row 0 is the base, row i + 1 is link i, so that `rows[parent + 1]` needs no special case. Gravity is an
acceleration of the base by minus gravity and appears nowhere else.

Every vector is in **world axes**; inertias, forces and motion subspaces are taken at the **link's origin**. Linear
accelerations are those of the origin, not spatial ones, so linear velocities drop out of the dynamics.
"""

import hashlib
from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.jit.api import generic
from kinemorph.jit.rows import table


class JointKind(IntEnum):
    """Kind of a joint: the relative motion of a link and its parent. The value is stored in rows."""

    FIXED = 0
    REVOLUTE = 1
    PRISMATIC = 2
    SCREW = 3
    CYLINDRICAL = 4
    UNIVERSAL = 5
    PLANAR = 6
    SPHERICAL = 7
    FREE = 8


NQ = (0, 1, 1, 1, 2, 2, 3, 4, 7)
NV = (0, 1, 1, 1, 2, 2, 3, 3, 6)

LINK = np.dtype(
    [
        ("parent", "i4"),  # link index, -1 for the base
        ("kind", "i4"),  # JointKind of the joint that carries this link
        ("iq", "i4"),  # first entry in q
        ("iv", "i4"),  # first entry in v
        ("nq", "i4"),  # entries in q
        ("nv", "i4"),  # entries in v
        ("body", "i4"),  # id of the link's body: stays when the structure changes
        ("joint", "i4"),  # id of the joint that carries it: stays with the joint, whichever of its two links it carries
        ("turned", "i4"),  # 1 if predecessor and successor are swapped since the joint was declared, else 0
        ("R", "f8", 9),  # rotation of the joint frame in the parent's link frame (joint at zero)
        ("p", "f8", 3),  # m, its position there
        ("Rc", "f8", 9),  # R (1 - a aᵀ) and
        ("Rs", "f8", 9),  # R [a]×: rotation by q about a is R + (cos q - 1) Rc + sin q Rs
        ("axis", "f8", 3),  # unit axis a in the joint frame; normal of a planar joint; first axis of a universal one
        ("axis2", "f8", 3),  # second axis of a universal joint; first in-plane direction of a planar one
        ("pitch", "f8"),  # m/rad, of a screw
        ("mass", "f8"),  # kg
        ("h", "f8", 3),  # kg m, first moment about the link's origin, link frame
        ("I", "f8", 6),  # kg m², second moment about the link's origin, link frame (xx xy xz yy yz zz)
    ],
    align=True,
)

DOF = np.dtype(
    [
        ("link", "i4"),  # the link that this degree of freedom moves
        ("parent", "i4"),  # the previous degree of freedom on the way to the base, -1 for none
        ("armature", "f8"),  # kg m² or kg, added to the diagonal of the mass matrix
        ("damping", "f8"),  # N m s/rad or N s/m
        ("stiffness", "f8"),  # N m/rad or N/m
        ("friction", "f8"),  # N m or N, dry; acts in time (`rollout`, `simulate`), dynamics functions ignore it
        ("lower", "f8"),  # rad or m, -inf for none
        ("upper", "f8"),  # rad or m, inf for none
        ("velocity_limit", "f8"),  # rad/s or m/s, largest allowed, inf for none
        ("effort_limit", "f8"),  # N m or N, largest allowed, inf for none
        ("implicit", "f8"),  # kg m² or kg: inertia that stands for implicit dampers and springs of a world; else 0
    ],
    align=True,
)

LINK_DATA = np.dtype(
    [
        ("R", "f8", 9),  # world_R_link; kinematics
        ("p", "f8", 3),  # m, position of the link's origin; kinematics
        ("w", "f8", 3),  # rad/s, angular velocity; kinematics
        ("v", "f8", 3),  # m/s, velocity of the origin; kinematics
        ("al", "f8", 3),  # rad/s², angular acceleration; rnea, aba; without joint accelerations: `constraint.whiten`
        ("a", "f8", 3),  # m/s², acceleration of the origin minus gravity; likewise
        ("r", "f8", 3),  # m, from the parent's origin to this one; kinematics
        ("bw", "f8", 3),  # rad/s², bias: angular acceleration if neither the parent nor the joint accelerates
        ("bv", "f8", 3),  # m/s², bias acceleration of the origin
        ("A", "f8", 6),  # kg m², rotational block of the articulated inertia; aba, impulse
        ("H", "f8", 9),  # kg m, coupling block; aba, impulse
        ("M", "f8", 6),  # kg, translational block; aba, impulse
        ("n", "f8", 3),  # N m, moment on the link (rnea) or bias moment (aba, impulse)
        ("f", "f8", 3),  # N, force on the link (rnea) or bias force (aba, impulse)
        ("jw", "f8", 3),  # rad/s, jump of the angular velocity; impulse
        ("jv", "f8", 3),  # m/s, jump of the origin's velocity; impulse
        ("kw", "f8", 3),  # rad/s, the same of a second set of velocities, where two are whitened together
        ("kv", "f8", 3),  # m/s
        ("o", "f8", 3),  # m, from the origin of the tree's first link to this one; crba
        ("Ic", "f8", 6),  # kg m², second moment of the composite body about the origin of the tree's first link; crba
        ("hc", "f8", 3),  # kg m, its first moment there; crba
        ("mc", "f8", 1),  # kg, its mass; crba
    ],
    align=True,
)

DOF_DATA = np.dtype(
    [
        ("S", "f8", 6),  # motion subspace: angular, linear; kinematics
        ("U", "f8", 6),  # articulated inertia times S times D; aba, impulse
        ("D", "f8", 1),  # 1 / √(Sᵀ IA S); aba, impulse
        ("u", "f8", 1),  # joint force (aba) or impulse (impulse) minus the share of the bias, times D
        ("So", "f8", 3),  # linear part of S at the origin of the tree's first link; crba
    ],
    align=True,
)

BODY = np.dtype(
    [
        ("tree", "i4"),  # the tree that has the body (in a model, which has one header for all trees, 0)
        ("link", "i4"),  # the body's link, -1 if the body is gone
        ("generation", "i4"),  # how many bodies have had this id before
        ("moved", "i4"),  # whether the link's frame is no longer the body's own
        ("R", "f8", 9),  # pose of the body's own frame on the link; names, shapes and frames refer to it
        ("p", "f8", 3),  # m
    ],
    align=True,
)

TREE_RANGE = np.dtype(
    [
        ("first", "i4"),  # first link of a tree,
        ("n", "i4"),  # how many it has,
        ("iq", "i4"),  # its first entry in q,
        ("nq", "i4"),
        ("iv", "i4"),  # and in v
        ("nv", "i4"),
    ]
)

NUMBER = np.dtype(np.float64)


def layout_hash(name: str, *layouts: np.dtype[np.void]) -> int:
    """A number that identifies a header and the layout of all rows that it points to; the first field of the header."""
    text = repr((name, [layout.descr if layout.names else str(layout) for layout in layouts]))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


TREE = np.dtype(
    [
        ("kind", "i8"),  # TREE_KIND; MODEL_KIND where there are constants but no rows to write to
        ("n", "i8"),  # number of links
        ("nq", "i8"),
        ("nv", "i8"),
        ("free_body", "i8"),  # address of the LONE row of a free rigid body, in a forest; else 0
        ("rows", "i8"),  # address of the LINK_DATA rows, the base first
        ("pushes", "i8"),  # address of n x 6 numbers: given forces on links and passive ones; 0 if none are passive
        ("links", "i8"),  # address of the LINK rows
        ("busy", "i8"),  # whether a long call of some thread uses the rows now
        ("dofs", "i8"),  # address of the DOF rows
        ("dof_rows", "i8"),  # address of the DOF_DATA rows
        ("springs", "i8"),  # whether any joint has a spring
        ("M", "i8"),  # address of the mass matrix, nv² numbers row by row; 0 before the first access
        ("elements", "i8"),  # address of the ELEMENT rows: forces between links that act in time
        ("element_count", "i8"),
        ("given", "i8"),  # address of n x 6 numbers: the given ones; 0 if there are none
        ("system", "i8"),  # address of the constraints' header (`multibody.system.SYSTEM`), 0 if there are none
        ("gears", "i8"),  # address of the GEAR rows; 0 if no joint follows another, and in forests
        ("gear_count", "i8"),
        ("gear_room", "i8"),  # address of scratch for gears, as many numbers as `gear_scratch_size` says
    ]
)
GEAR = np.dtype(
    [
        ("own", "i8"),  # a degree of freedom
        ("source", "i8"),  # and the one that it follows
        ("own_q", "i8"),  # their entries of q
        ("source_q", "i8"),
        ("ratio", "f8"),  # of their speeds
        ("offset", "f8"),
    ]
)
TREE_KIND = layout_hash("tree", TREE, LINK, DOF, LINK_DATA, DOF_DATA, GEAR)
MODEL_KIND = layout_hash("model", TREE, LINK, DOF)


@generic(lanes="kinemorph.motion.parallel.batch")
def link_data(tree: Any) -> "np.dtype[np.void]":
    """The dtype of a tree's rows of links: for one state, or for four states in lanes (`batch`)."""
    return LINK_DATA


@generic(lanes="kinemorph.motion.parallel.batch")
def dof_data(tree: Any) -> "np.dtype[np.void]":
    """The dtype of a tree's rows of degrees of freedom."""
    return DOF_DATA


def copy_rows(rows: np.ndarray[Any, Any], more: int = 0) -> np.ndarray[Any, Any]:
    """A copy of rows, with room for `more`; by its bytes, because NumPy copies structured rows field by field."""
    copy = np.empty(len(rows) + more, rows.dtype)
    copy.view(np.uint8)[: rows.nbytes] = rows.view(np.uint8)
    return copy


def gear_scratch_size(count: int, nv: int) -> int:
    """Numbers of scratch of `constraint.gears`: joint forces, accelerations, the response to each gear, and a matrix
    with its right side and the size of its diagonal."""
    return (2 + count) * nv + count * (count + 2) if count else 0


# --- accessors of tables, by their headers ---

dof_data_of = table(DOF_DATA, "dof_rows", "nv")
dofs_of = table(DOF, "dofs", "nv")
link_data_of = table(LINK_DATA, "rows", "n", more=1)
links_of = table(LINK, "links", "n")
