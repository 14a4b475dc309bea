"""The rows of a contact solve, field by field: where trees are in its vectors, what touches, and what is bounded.

All velocities are whitened, z = L v with M = Lᵀ L, so that one vector a row does everything (`constraint.whiten`): the
row's velocity is yᵀ z, an impulse λ makes z ← z + y λ, and yᵀ y is the inverse mass that it feels. Each tree has a
span of the vectors; a row has numbers for a stretch of one or two spans, from their start to the last degree of freedom
that matters, so that a sweep walks through memory in one direction. Spans and stretches of trees with joints go on with
zeros up to a multiple of four, the numbers of a register: none is left over.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinemorph.jit.rows import table
from kinemorph.multibody.algorithms.energy_momentum import SUMS
from kinemorph.multibody.layout import kind_of
from kinemorph.multibody.system import F8

SPAN = np.dtype(
    [
        ("offset", "i8"),  # first entry of a tree in z; -1 if it does not take part
        ("root", "i4"),  # a tree that it is tied to, with a lower index or itself: a forest of links to islands
        ("next", "i4"),  # the next tree of its island, -1 after the last
        ("island", "i4"),  # index of its island in this step, -1 if that sleeps
        ("hold", "i4"),  # index of the HOLD of the loops that tie it in this step, -1 if none do
        ("drive", "i4"),  # the first of its DRIVEs, -1 for none; good in steps of worlds with drives
        ("direct", "i4"),  # 1 if its island was solved directly, when that was last decided; and WEDGED
        ("level", "i4"),  # how many trees are below it, down to the ground, on the longest way; -1 if it is not carried
        ("below", "i4"),  # on how many trees or grounds it rests
        ("pairs", "i8"),  # of the first tree of an island: what touched when that was last decided
        ("mass", "f8"),  # kg
        ("load", "f8"),  # kg, what it carries: its share of all that is above it
        # the first cache line is written by the thread that ties islands, the other one by that which has the tree
        ("asleep", "i8"),  # whether it does not move until something wakes it
        ("still", "f8"),  # s, for how long it has hardly moved
        ("speed", "f8"),  # m/s, of its fastest point at the start of the step
        ("touched", "i4"),  # whether an impulse has acted on the tree in this step: 1 inside of it, FROM_OUTSIDE
        ("middle", "i4"),  # whether its forces are those of the middle of the step
        ("jointed", "i4"),  # whether it has joints, in this step: it is no lone body
        ("woken_by", "i4"),  # 1 + the tree that woke it last; or BY_EDIT and the like; 0 if nothing has
        ("on_ground", "i4"),  # the first of its TOUCHes with ground, -1 for none; good in steps with paved ground
        ("forced", "i4"),  # whether one of its DRIVEs gives a force
        ("width", "i4"),  # its entries in z: one for each degree of freedom, and zeros up to a multiple of four
        ("rates", "i4"),  # whether its state has the accelerations of its joints in this step
        ("unused", "i4", 2),
    ]
)

ROOT = np.dtype(
    [
        ("turn", "f8", 9),  # of a tree whose root is free: what its turning takes of a moment,
        ("swing", "f8", 9),  # what its going along takes of it,
        ("go", "f8", 9),  # and of a force; `contact.rows.free_root_rows`
    ]
)

ISLAND = np.dtype(
    [
        ("first_tree", "i4"),  # its trees, a list through `next` of their SPANs, in the order of their indices
        ("last_tree", "i4"),
        ("offset", "i4"),  # first entry in z
        ("nz", "i4"),  # entries there
        ("first_touch", "i4"),
        ("touch_count", "i4"),
        ("first_bound", "i4"),
        ("bound_count", "i4"),
        ("first_twist", "i4"),
        ("twist_count", "i4"),
        ("direct", "i4"),  # 1 if it is solved directly
        ("held", "i4"),  # how many HOLDs it has
        ("pairs", "i8"),  # a number that differs if other shapes touch
        ("driven", "i8"),  # how many of its bounds are drives
        # up to here it is one cache line; what follows is of direct islands only
        ("mass", "f8"),  # kg, of its trees
        ("grips", "i8"),  # address of its GRIPs: those of touches, then those of bounds
        ("grip_count", "i8"),
        ("envelope", "i8"),  # first of its numbers in the envelope
        ("newton_steps", "i8"),  # how many matrices it took
        ("more", "i8", 3),
    ]
)

REST_ON = np.dtype(
    [
        ("below", "i4"),  # a tree, -1 for the ground, that carries
        ("above", "i4"),  # this one
        ("share", "f8"),  # kg, of its mass and of what it carries itself
    ]
)

MATERIAL = np.dtype(
    [
        ("friction", "f8"),  # coefficient of Coulomb friction; that of a pair is the geometric mean
        ("restitution", "f8"),  # share of the approach speed that comes back; that of a pair is the larger one
        ("rolling", "f8"),  # m, rolling friction: the largest moment is so much of the normal force; the larger one
        ("torsion", "f8"),  # m, friction against spinning about the normal, likewise
        (
            "tangential",
            "f8",
        ),  # restitution of collisions along the surface, -1 to 1, likewise; see `contact.impulse.collision_law`
        ("surface", "f8", 3),  # m/s, velocity of the surface along itself in the shape's frame: a conveyor
        ("priority", "i4"),  # where two materials differ in it, the higher one alone decides, but for the surfaces
        ("pairs", "i4"),  # of how many AGREEMENTs the shape is
    ]
)

AGREEMENT = np.dtype(
    [
        ("a", "i8"),  # rows of two shapes, the smaller one first; -1 if it is void
        ("b", "i8"),
        ("friction", "f8"),  # what they have together, whatever their own materials say
        ("restitution", "f8"),
        ("rolling", "f8"),
        ("torsion", "f8"),
        ("tangential", "f8"),
    ]
)

TOUCH = np.dtype(
    [
        ("contact", "i4"),  # row of its CONTACT in this step
        ("o1", "i4"),  # stretch of z on the side of shape a: first entry and
        ("l1", "i4"),  # length, 0 if that is immovable, or if both sides are on the same tree
        ("o2", "i4"),  # and on the side of shape b, where both are added up if both are on the same tree
        ("l2", "i4"),
        ("tree1", "i4"),  # indices of both trees, -1 for what does not move; the first is SAME_TREE if that is both
        ("tree2", "i4"),
        ("acted", "i2"),  # whether it pressed at any time in this step, if only to push overlap apart
        ("fast", "i1"),  # 1 if its bodies are alone and move by much of their size in a step, PASSES if past each other
        ("keeps", "i1"),  # whether another one is left out for its sake; `contact.rows.ghost_edges`
        ("beside", "i8"),  # the next TOUCH of its tree with ground, -1 after the last; `contact.rows.ghost_edges`
        ("y", "i8"),  # first of its 3 (l1 + l2) numbers: normal, first and second tangent; what loops bear is behind
        ("s", "f8"),  # m, separation as the step goes on
        ("s0", "f8"),  # m, at its start
        ("inverse", "f8"),  # kg, 1 / yᵀ y of the normal
        ("an1", "f8"),  # 1/kg, products of the normal's y with those of the tangents
        ("an2", "f8"),
        ("b11", "f8"),  # kg, inverse of the tangents' 2 x 2 matrix, and
        ("b12", "f8"),
        ("b22", "f8"),
        ("least", "f8"),  # kg, one over its largest eigenvalue
        ("pn", "f8"),  # N s, impulses of this substep: normal and
        ("p1", "f8"),  # tangents
        ("p2", "f8"),
        ("sum", "f8"),  # N s, of all substeps: normal and
        ("sum1", "f8"),  # tangents
        ("sum2", "f8"),
        ("last", "f8"),  # N s, normal impulse of the last substep and of the bounce after it
        ("friction", "f8"),
        ("restitution", "f8"),
        ("w1", "f8"),  # m/s, how fast the surfaces themselves move against each other along the tangents
        ("w2", "f8"),
        ("approach", "f8"),  # m/s, normal velocity with which it meets in this step
        ("kept", "f8", 3),  # N s, impulses that the substep before the step had: normal and tangents
        ("normal", "f8", 3),  # unit, world, from a to b
        ("t1", "f8", 3),  # its tangents
        ("t2", "f8", 3),
    ],
    align=True,
)

FROM_OUTSIDE = 2  # what has touched a tree was something else
SAME_TREE = -2
WEDGED = 2  # in `direct` of the first tree of an island: a limit and a contact of a light link bear on each other
FLIES_BY = 2  # a fast touch of shapes that will not meet


class Bounded(IntEnum):
    """What a bounded row is there for."""

    LOWER = 0  # the lower limit of a degree of freedom
    UPPER = 1
    DRY = 2  # dry friction in a joint
    DRIVEN = 3  # a DRIVE: a spring and a damper to a target, implicit, with a largest force
    FAST = 4  # the largest speed of a degree of freedom, one way


BOUND = np.dtype(
    [
        ("what", "i4"),  # Bounded
        ("tree", "i4"),  # index of its tree, and
        ("dof", "i4"),  # of its degree of freedom there
        ("o", "i4"),  # stretch of z: first entry,
        ("l", "i4"),  # length
        ("acted", "i4"),  # whether it had an impulse, more than a trifle, at any time in this step
        ("y", "i8"),  # first of its l numbers
        ("p", "f8"),  # N m s or N s, impulse of this substep
        ("start", "f8"),  # N m s or N s, that which a pass gives it: `start`
        ("keep", "f8"),  # and so much of what it is, less
        ("give", "f8"),  # kg m² or kg, so much of its velocity,
        ("low", "f8"),  # N m s or N s, but no less,
        ("high", "f8"),  # and no more
        ("s", "f8"),  # rad or m, what is left to a limit, or to the target of a drive, as the step goes on
        ("s0", "f8"),
        ("inverse", "f8"),  # 1 / yᵀ y
        ("sum", "f8"),  # N m s or N s, impulse of all substeps
        ("most", "f8"),  # N m or N, largest force of friction, or of a drive
        ("least", "f8"),  # N m or N, smallest force of a drive
        ("target", "f8"),  # rad/s or m/s, speed that a drive is to have, or the largest one
        ("force", "f8"),  # N m or N, of a drive at its target,
        ("stiffness", "f8"),  # N m/rad or N/m, what it pulls with towards it,
        ("damping", "f8"),  # N m s/rad or N s/m, and what it takes of other speeds; inf if it takes all
        ("drive", "i8"),  # its row among the DRIVEs
        ("couples", "f8", 3),  # 1/kg, yᵀ y with the first three of a group of four, as far as they come before it
        ("group", "i8"),  # of the first of four that a sweep takes side by side: 1
        ("trifle", "f8"),  # N m s or N s, an impulse of a motor that is nothing but rounding
        ("bears", "f8"),  # 1/kg, of a limit: times the island's mass, how many times its `inverse` it may have to bear
    ],
    align=True,
)

TWIST = np.dtype(
    [
        ("touch", "i4"),  # the touch that it belongs to, whose stretches of z it has
        ("acts", "i4"),  # 1: against spinning, 2: against rolling, 3: both
        ("y", "i8"),  # first of its 3 (l1 + l2) numbers: turning about the normal and about both tangents
        ("torsion", "f8"),  # m, largest moment about the normal, as a share of the normal force,
        ("rolling", "f8"),  # and about the tangents
        ("inverse", "f8"),  # kg m², 1 / yᵀ y about the normal
        ("b11", "f8"),  # kg m², inverse of the 2 x 2 matrix about the tangents, and
        ("b12", "f8"),
        ("b22", "f8"),
        ("least", "f8"),  # kg m², one over its largest eigenvalue
        ("pn", "f8"),  # N m s, impulses of this substep
        ("p1", "f8"),
        ("p2", "f8"),
        ("sum", "f8"),  # N m s, of all substeps
        ("sum1", "f8"),
        ("sum2", "f8"),
    ],
    align=True,
)

DRIVE = np.dtype(
    [
        ("joint", "i8"),  # id of the joint that it acts in, -1 if the row is free
        ("generation", "i4"),  # how many drives have had this row before
        ("dof", "i4"),  # which degree of freedom of the joint, as that was made
        ("kind", "i4"),  # Driven
        ("next", "i4"),  # the next drive of the same tree, -1 after the last; in a step
        ("position", "f8"),  # rad or m, where it pulls to
        ("speed", "f8"),  # rad/s or m/s, which it is to have there
        ("stiffness", "f8"),  # N m/rad or N/m
        ("damping", "f8"),  # N m s/rad or N s/m; inf if it takes all of another speed, as far as its force goes
        ("force", "f8"),  # N m or N, which it has at its target
        ("least", "f8"),  # N m or N, the smallest and
        ("most", "f8"),  # the largest force that it has
        ("source", "i8"),  # of a coupling: id of the joint that it follows,
        ("ratio", "f8"),  # and by how much
        ("told", "f8"),  # what an actuator was told
        ("applied", "f8"),  # N m or N, mean force of the last step, from which the next one starts
    ],
    align=True,
)


WARM_JOINT = np.dtype(
    [
        ("generation", "i4"),  # of the joint that the rest is of; `contact.joint_warm_start`
        ("turned", "i4"),  # whether that was used the other way round
        ("p", "f8", 18),  # N m or N: six of its lower limits, six of its upper ones, six of its dry friction
    ],
    align=True,
)


class Driven(IntEnum):
    """How a drive acts."""

    ROW = 0  # as a row of the solve: a spring, a damper, or a speed that it holds
    FORCE = 1  # as a given force
    COUPLED = 2  # as a row: x is `position` + `ratio` times that of another joint


PUSH = np.dtype(
    [
        ("body", "i8"),  # id of the body that it acts on, -1 if the row is free
        ("generation", "i4"),  # how many pushes have had this row before
        ("lasting", "i4"),  # 0: for one step; 1: until it is withdrawn
        ("turning", "i4"),  # 1 if force and torque turn with the body, 0 if they are in world axes
        ("unused", "i4"),
        ("force", "f8", 3),  # N
        ("torque", "f8", 3),  # N m
        ("at", "f8", 3),  # m, where the force acts, in the body's own frame
    ],
    align=True,
)

GRIP = np.dtype(
    [
        ("o1", "i4"),  # stretches of z, as those of a TOUCH
        ("l1", "i4"),
        ("o2", "i4"),
        ("l2", "i4"),
        ("normal", "i4"),  # 1 if it pushes along a normal,
        ("touching", "i4"),  # and if that is at its limit or beyond: there is no gap
        ("tangents", "i4"),  # how many directions it rubs along: 0, 1 or 2
        ("driven", "i4"),  # 1 if it is a drive: one tangent, and an impulse from `low` to `high`
        ("yn", "i8"),  # first number of its normal's y
        ("yt", "i8"),  # and of its first tangent's
        ("K", "f8"),  # kg, impulse for a unit of forbidden velocity
        ("bias", "f8"),  # m/s, is added to the normal velocity: that which it may have, or with which it is to part
        ("friction", "f8"),  # coefficient of the normal's impulse; 0 if the largest impulse across it is constant
        ("most", "f8"),  # N s, largest impulse along the tangents; with a coefficient, that of the round before
        ("low", "f8"),  # N s, smallest and
        ("high", "f8"),  # largest impulse of a drive
        ("before", "f8"),  # N s, its impulse in the round before, or in the last step,
        ("stays", "f8"),  # and the share of that in q1: 0 for one that is no stiffer than K may be
        ("vn", "f8"),  # m/s, velocity along the normal, with the bias,
        ("v1", "f8"),  # and along the tangents, with that of the surfaces
        ("v2", "f8"),
        ("dn", "f8"),  # m/s, what a step of Newton's changes of them
        ("d1", "f8"),
        ("d2", "f8"),
        ("qn", "f8"),  # N s, impulse at which the law has no velocity: the estimate so far
        ("q1", "f8"),
        ("q2", "f8"),
        ("pn", "f8"),  # N s, impulse
        ("p1", "f8"),
        ("p2", "f8"),
    ],
    align=True,
)

HOLD = np.dtype(
    [
        ("first_tree", "i8"),  # the trees that its loops tie, a list through `follows` of their TREE_SLOTs
        ("offset", "i8"),  # first entry of them in z, where they lie side by side,
        ("nz", "i8"),  # and entries there
        ("system", "i8"),  # address of the SYSTEM of its loops
        ("Q", "i8"),  # address of an orthonormal basis of all that they forbid, row by row: rank x nz numbers,
        ("rank", "i8"),  # and its rows
        ("first_loop", "i8"),  # its loops, a list through `follows` of their LOOP_SLOTs, in the order of the system
        ("reaction", "i8"),  # address of rank numbers: what the loops bear of contacts and others, in their basis, N s
        ("backup", "i8"),  # address of room for q and v of its trees, as they were
        ("error", "f8"),  # rad or m, how far its worst loop was open at the start of the step
        ("planned", "f8"),  # J, ½ zᵀ z that it would have at the end of the step without rows
        ("given", "f8"),  # J, the most that drives and pushes do in the step, and what springs have at its start
        ("flies", "i8"),  # whether nothing from outside acts on its trees but gravity
        ("before", SUMS),  # of its trees, at the start of the step,
        ("after", SUMS),  # at its end,
        ("each", SUMS),  # and of one of them
    ],
    align=True,
)

PULL = np.dtype(
    [
        ("o1", "i4"),  # stretches of z, as those of a TOUCH
        ("l1", "i4"),
        ("o2", "i4"),
        ("l2", "i4"),
        ("tree1", "i4"),  # trees of both stretches, -1 for what does not move
        ("tree2", "i4"),
        ("y", "i8"),  # first of its l1 + l2 numbers
        ("force", "f8"),  # N or N m, of the spring at the start of the step
        ("give", "f8"),  # kg or kg m², how much less of an impulse it has for a unit of velocity at the end
        ("size", "f8"),  # yᵀ y
        ("p", "f8"),  # N s or N m s, impulse of the step
    ],
    align=True,
)

SOLVER = np.dtype(
    [
        ("kind", "i8"),  # SOLVER_KIND
        ("substeps", "i8"),
        ("h", "f8"),  # s, length of a substep
        ("spans", "i8"),  # address of a SPAN for each tree of the forest
        ("span_room", "i8"),
        ("roots", "i8"),  # address of as many ROOTs
        ("islands", "i8"),  # address of as many ISLANDs: trees that touch, or that loops tie together, and are awake
        ("island_count", "i8"),
        ("nz", "i8"),  # entries of z
        ("z_room", "i8"),
        ("z", "i8"),  # addresses of vectors: whitened velocity,
        ("za", "i8"),  # whitened acceleration without rows,
        ("moved", "i8"),  # sum of velocities over time: the displacement of this step, whitened,
        ("g", "i8"),  # what the impulses of a substep do: Σ y p,
        ("z0", "i8"),  # and velocity before them
        ("touches", "i8"),  # address of the TOUCHes
        ("touch_count", "i8"),
        ("touch_room", "i8"),
        ("order", "i8"),  # address of the contacts of this step, island by island: i4
        ("bounds", "i8"),  # address of the BOUNDs
        ("bound_count", "i8"),
        ("bound_room", "i8"),
        ("Y", "i8"),  # address of all numbers y
        ("Y_used", "i8"),
        ("Y_room", "i8"),
        ("materials", "i8"),  # address of a MATERIAL for each shape
        ("material_room", "i8"),
        ("impulses", "i8"),  # address of 3 numbers for each CONTACT of two steps: N s, world, on shape b
        ("impulse_room", "i8"),
        ("stiffness", "f8"),  # ω h of contacts: how quickly they push out, in radians a substep
        ("damping", "f8"),  # ζ of contacts
        ("push", "f8"),  # m/s, the fastest that overlap is pushed apart
        ("bounce", "f8"),  # m/s, slower impacts do not bounce
        ("gap", "f8"),  # m, that contacts keep between shapes: half of a collision envelope, or 0
        ("rests", "i8"),  # address of the REST_ONs of this step, as many rows as touches
        ("grips", "i8"),  # address of the GRIPs of direct islands, as many rows as touches and bounds
        ("x", "i8"),  # address of a vector in the order of the envelope
        ("stages", "i8"),  # address of 26 numbers for each entry of z: steps of Runge-Kutta of trees
        ("undo", "i8"),  # address of 3 numbers for each entry of z: q and v of trees before they moved; impulse model
        ("row_of", "i8"),  # addresses of one i4 for each entry of z: its row in the envelope of its island,
        ("low", "i8"),  # the first column of a row there,
        ("start", "i8"),  # and one i8: where column 0 of a row would be, from the start of the island's numbers
        ("envelope", "i8"),  # address of the numbers of H, row by row, from the first that is not zero to the diagonal
        ("envelope_used", "i8"),
        ("envelope_room", "i8"),
        ("direct_work", "i8"),  # multiplications: islands whose matrix would take more are never solved directly
        ("rounds", "i8"),  # how often a direct solve may set friction to what the normal impulses have become
        ("settled", "f8"),  # change of impulses, as a share of the largest, at which it need not
        ("still", "f8"),  # velocities, and residuals, that are none: as a share of what forces do in a step
        ("holds", "i8"),  # address of the HOLDs, in the forest's scratch: of this step alone
        ("hold_count", "i8"),
        ("pulls", "i8"),  # address of the PULLs, likewise
        ("pull_count", "i8"),
        ("wrenches", "i8"),  # address of 6 numbers for each loop of the forest: moment and force on its body b, world
        ("wrench_room", "i8"),  # loops that they are for
        ("full", "i8"),  # which tables were too small: bits of FULL_*
        ("drives", "i8"),  # address of the DRIVEs: what acts in joints, until it is withdrawn
        ("drive_count", "i8"),  # rows that have ever been used
        ("drive_room", "i8"),
        ("warm_joints", "i8"),  # address of a WARM_JOINT for each joint of the forest
        ("joint_room", "i8"),
        ("pushes", "i8"),  # address of the PUSHes: what acts on bodies
        ("push_count", "i8"),
        ("push_room", "i8"),
        ("agreements", "i8"),  # address of the AGREEMENTs
        ("agreement_count", "i8"),
        ("agreement_room", "i8"),
        ("rough", "i8"),  # whether any material resists spinning or rolling
        ("conveys", "i8"),  # whether any surface moves
        ("bouncing", "i8"),  # whether any touch of this step bounces
        ("passing", "i8"),  # whether any touch of this step is one of shapes that pass each other
        ("paved", "i8"),  # whether any touch of this step is with convex ground
        ("twists", "i8"),  # address of the TWISTs, as many rows as touches
        ("twist_count", "i8"),
        ("moments", "i8"),  # address of 3 numbers for each CONTACT of two steps: N m s, world, on shape b
        ("moments_kept", "i8"),  # whether those of the step before are there
        ("sleepers", "i8"),  # whether any tree slept when the step began,
        ("figures", "i8"),  # and whether any that did not has joints
    ]
)
# What else wakes: a change of the structure near by, whoever asks for it, and other forces, drives or surfaces.
BY_EDIT, BY_CALL, BY_FORCE, BY_PLACE, BY_LOST = -2, -3, -4, -5, -6
SOLVER_KIND = kind_of(
    "solver", SOLVER, SPAN, ROOT, ISLAND, REST_ON, MATERIAL, AGREEMENT, TOUCH, BOUND, TWIST, DRIVE, WARM_JOINT, PUSH,
    GRIP, HOLD, PULL,
)  # fmt: skip
FULL_Z, FULL_TOUCHES, FULL_BOUNDS, FULL_Y, FULL_ENVELOPE = 1, 2, 4, 8, 16

# --- accessors of tables, by their headers ---

contact_constraints = table(TOUCH, "touches", "touch_count")
whitened_rows = table(F8, "Y", "Y_room")
z_of = table(F8, "z", "nz")
displacement_of = table(F8, "moved", "nz")
dof_constraints = table(BOUND, "bounds", "bound_count")
za_of = table(F8, "za", "nz")
z0_of = table(F8, "z0", "nz")
x_of = table(F8, "x", "nz")
g_of = table(F8, "g", "nz")
materials_of = table(MATERIAL, "materials", "material_room")
pair_materials_of = table(AGREEMENT, "agreements", "agreement_count")
islands_of = table(ISLAND, "islands", "span_room")
slices_of = table(SPAN, "spans", "span_room")
supports_of = table(REST_ON, "rests", "touch_room")
stored_joint_impulses = table(WARM_JOINT, "warm_joints", "joint_room")
cost_rows = table(GRIP, "grips", "grip_count")
free_roots_of = table(ROOT, "roots", "span_room")
contact_constraint_room = table(TOUCH, "touches", "touch_room")
contact_order = table(np.dtype("i4"), "order", "touch_room")
stored_impulses = table(F8, "impulses", "impulse_room", times=3)
dof_constraint_room = table(BOUND, "bounds", "bound_room")
drives_of = table(DRIVE, "drives", "drive_room")
pushes_of = table(PUSH, "pushes", "push_room")
element_constraints = table(PULL, "pulls", "pull_count")
loop_projections = table(HOLD, "holds", "hold_count")
torsional_constraints = table(TWIST, "twists", "touch_room")
stored_moments = table(F8, "moments", "impulse_room", times=3)
