"""Layouts of the tables of the constraint solver: tree slices, islands, constraint rows, drives and the header.

Velocities are whitened, z = L v with M = Lᵀ L (`constraint.whiten`), so that one vector y describes a constraint row:
its velocity is yᵀ z, an impulse λ changes z to z + y λ, and yᵀ y is its inverse effective mass. Each tree has a slice
of z. A row stores y for one or two slices, from the start of the slice to the last degree of freedom that matters, so
that an iteration reads memory in one direction. Slices and rows of trees with joints are padded with zeros to a
multiple of four, the width of a register.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinemorph.jit.rows import table
from kinemorph.multibody.algorithms.energy_momentum import SUMS
from kinemorph.multibody.layout import layout_hash
from kinemorph.multibody.system import F8

TREE_SLICE = np.dtype(
    [
        ("offset", "i8"),  # first entry of the tree in z; -1 if it is not part of this step
        ("root", "i4"),  # parent in the union-find of islands: a connected tree of lower index, or itself
        ("next", "i4"),  # the next tree of its island, -1 after the last
        ("island", "i4"),  # index of its island in this step, -1 if the island sleeps
        ("projection", "i4"),  # index of the loop projection that contains it in this step, -1 for none
        ("drive", "i4"),  # the first of its DRIVEs, -1 for none; valid in steps of worlds with drives
        ("direct", "i4"),  # bit 1: its island was solved directly at the last decision; bit `WEDGED`
        ("level", "i4"),  # number of trees below it on the longest path to the ground; -1 if nothing supports it
        ("below", "i4"),  # number of trees and grounds that support it
        ("pairs", "i8"),  # first tree of an island: hash of the touching pairs at the last decision
        ("mass", "f8"),  # kg
        ("load", "f8"),  # kg, its share of the mass of all trees above it
        # the thread that builds islands writes the first cache line, the thread that solves the tree the second one
        ("asleep", "i8"),  # whether it sleeps: it does not move until an event wakes it
        ("still", "f8"),  # s, how long its speed has been below the sleep threshold
        ("speed", "f8"),  # m/s, of its fastest point at the start of the step
        ("touched", "i4"),  # whether an impulse acted in this step: 1 inside of the tree, `FROM_OUTSIDE`
        ("middle", "i4"),  # whether its forces are evaluated at the middle of the step
        ("jointed", "i4"),  # whether it has joints in this step, and is no free rigid body
        ("woken_by", "i4"),  # 1 + the tree that woke it last, or a negative cause (`WOKEN_BY_EDIT` ...); 0 for none
        ("on_ground", "i4"),  # its first contact with ground, -1 for none; valid in steps with convex ground
        ("forced", "i4"),  # whether one of its DRIVEs is a given force
        ("width", "i4"),  # its entries in z: one for each degree of freedom, padded to a multiple of four
        ("rates", "i4"),  # whether its state holds the accelerations of its joints in this step
        ("unused", "i4", 2),
    ]
)

FREE_ROOT = np.dtype(
    [
        ("turn", "f8", 9),  # free root: whitened angular response to a moment at its origin,
        ("swing", "f8", 9),  # whitened linear response to the moment,
        ("go", "f8", 9),  # and to a force; `contact.rows.free_root_rows`
    ]
)

ISLAND = np.dtype(
    [
        ("first_tree", "i4"),  # its trees: a list through `next` of their slices, in the order of their indices
        ("last_tree", "i4"),
        ("offset", "i4"),  # first entry in z
        ("nz", "i4"),  # entries there
        ("first_contact", "i4"),
        ("contact_count", "i4"),
        ("first_dof_constraint", "i4"),
        ("dof_constraint_count", "i4"),
        ("first_torsional", "i4"),
        ("torsional_count", "i4"),
        ("direct", "i4"),  # 1 if it is solved directly
        ("loop_projection_count", "i4"),  # number of its loop projections
        ("pairs", "i8"),  # hash of the pairs of shapes that touch
        ("driven", "i8"),  # number of its rows that are drives
        # end of the first cache line; the following fields are valid for directly solved islands only
        ("mass", "f8"),  # kg, of its trees
        ("cost_rows", "i8"),  # address of its cost rows: those of contacts, then those of dof rows
        ("cost_row_count", "i8"),
        ("skyline", "i8"),  # first of its numbers in the skyline matrix
        ("newton_steps", "i8"),  # number of matrices factored
        ("more", "i8", 3),
    ]
)

SUPPORT = np.dtype(
    [
        ("below", "i4"),  # the supporting tree, -1 for the ground
        ("above", "i4"),  # the supported tree
        ("share", "f8"),  # kg, the part of the mass and load of `above` that `below` supports
    ]
)

MATERIAL = np.dtype(
    [
        ("friction", "f8"),  # coefficient of Coulomb friction; a pair has the geometric mean
        ("restitution", "f8"),  # parting speed over approach speed; a pair has the larger one
        ("rolling", "f8"),  # m, rolling friction: largest moment per normal force; a pair has the larger one
        ("torsion", "f8"),  # m, torsional friction about the normal, likewise
        ("tangential", "f8"),  # restitution along the surface, -1 to 1, likewise; see `contact.impulse.collision_law`
        ("surface", "f8", 3),  # m/s, velocity of the surface along itself in the shape's frame: a conveyor
        ("priority", "i4"),  # if two materials differ, the higher one decides all but surface velocity
        ("pairs", "i4"),  # number of pair materials of the shape
    ]
)

PAIR_MATERIAL = np.dtype(
    [
        ("a", "i8"),  # rows of two shapes, the smaller one first; -1 if unused
        ("b", "i8"),
        ("friction", "f8"),  # as those of `MATERIAL`; they replace the materials of both shapes
        ("restitution", "f8"),
        ("rolling", "f8"),
        ("torsion", "f8"),
        ("tangential", "f8"),
    ]
)

CONTACT_CONSTRAINT = np.dtype(
    [
        ("contact", "i4"),  # row of its CONTACT in this step
        ("offset1", "i4"),  # slice of z on the side of shape a: first entry and
        ("length1", "i4"),  # length, 0 if that side is immovable, or if both sides are on the same tree
        ("offset2", "i4"),  # the same of shape b; the sum of both sides if both are on the same tree
        ("length2", "i4"),
        ("tree1", "i4"),  # indices of both trees, -1 for an immovable side; the first is SAME_TREE if both are one tree
        ("tree2", "i4"),
        ("acted", "i2"),  # whether it had an impulse at any time in this step, including overlap correction
        ("fast", "i1"),  # 1 for free bodies that move by much of their size in a step, FLIES_BY if past each other
        ("supersedes", "i1"),  # whether it makes another contact redundant; `contact.rows.ghost_edges`
        ("next_on_ground", "i8"),  # next contact of its tree with ground, -1 after the last; `contact.rows.ghost_edges`
        ("y", "i8"),  # first of its 3 (l1 + l2) numbers: normal, both tangents; then the loop reactions
        ("separation", "f8"),  # m, separation, updated during the step
        ("initial_separation", "f8"),  # m, at the start of the step
        ("effective_mass", "f8"),  # kg, 1 / yᵀ y of the normal
        ("normal_coupling1", "f8"),  # 1/kg, products of the normal's y with the y of each tangent
        ("normal_coupling2", "f8"),
        ("tangent_mass11", "f8"),  # kg, inverse of the tangents' 2 x 2 matrix, and
        ("tangent_mass12", "f8"),
        ("tangent_mass22", "f8"),
        ("least_tangent_mass", "f8"),  # kg, one over its largest eigenvalue
        ("normal_impulse", "f8"),  # N s, impulses of this substep: normal and
        ("tangent_impulse1", "f8"),  # tangents
        ("tangent_impulse2", "f8"),
        ("total_normal_impulse", "f8"),  # N s, of all substeps: normal and
        ("total_tangent_impulse1", "f8"),  # tangents
        ("total_tangent_impulse2", "f8"),
        ("last_normal_impulse", "f8"),  # N s, normal impulse of the last substep and of the bounce after it
        ("friction", "f8"),
        ("restitution", "f8"),
        ("surface_velocity1", "f8"),  # m/s, relative velocity of moving surfaces along the tangents
        ("surface_velocity2", "f8"),
        ("approach", "f8"),  # m/s, normal velocity at impact in this step
        ("kept", "f8", 3),  # N s, impulses of the last substep of the previous step: normal, tangents
        ("normal", "f8", 3),  # unit, world, from a to b
        ("tangent1", "f8", 3),  # its tangents
        ("tangent2", "f8", 3),
    ],
    align=True,
)

FROM_OUTSIDE = 2  # value of `touched`: an impulse came from another tree or the ground
SAME_TREE = -2
WEDGED = 2  # bit of `direct` of the first tree of an island: a limit and a contact wedge a light link
FLIES_BY = 2  # value of `fast`: a fast contact of shapes that will not meet


class DofConstraintKind(IntEnum):
    """Kinds of constraint rows on degrees of freedom."""

    LOWER = 0  # the lower limit of a degree of freedom
    UPPER = 1
    DRY = 2  # dry friction in a joint
    DRIVEN = 3  # a DRIVE: a spring and a damper to a target, implicit, with a largest force
    FAST = 4  # the largest speed of a degree of freedom, one way


DOF_CONSTRAINT = np.dtype(
    [
        ("kind", "i4"),  # Bounded
        ("tree", "i4"),  # index of its tree, and
        ("dof", "i4"),  # of its degree of freedom there
        ("offset", "i4"),  # slice of z: first entry,
        ("length", "i4"),  # length
        ("acted", "i4"),  # whether its impulse exceeded rounding at any time in this step
        ("y", "i8"),  # first of its l numbers
        ("p", "f8"),  # N m s or N s, impulse of this substep
        ("start", "f8"),  # an iteration sets p to start + keep p - give v, clamped; N m s or N s
        ("keep", "f8"),  # 1, share of the previous impulse
        ("velocity_gain", "f8"),  # kg m² or kg, impulse per velocity
        ("low", "f8"),  # N m s or N s, smallest and
        ("high", "f8"),  # largest impulse
        ("separation", "f8"),  # rad or m, distance to the limit or to the drive's target, updated during the step
        ("initial_separation", "f8"),  # at the start of the step
        ("effective_mass", "f8"),  # kg m² or kg, 1 / yᵀ y
        ("total_impulse", "f8"),  # N m s or N s, impulse of all substeps
        ("largest_force", "f8"),  # N m or N, largest force of friction, or of a drive
        ("smallest_force", "f8"),  # N m or N, smallest force of a drive
        ("target", "f8"),  # rad/s or m/s, target speed of a drive, or the largest speed
        ("force", "f8"),  # N m or N, force of a drive at its target,
        ("stiffness", "f8"),  # N m/rad or N/m, its stiffness towards the target,
        ("damping", "f8"),  # N m s/rad or N s/m, its damping; inf holds the target speed exactly
        ("drive", "i8"),  # its row among the DRIVEs
        ("group_products", "f8", 3),  # 1/kg, products yᵀ y with the earlier rows of its group of four
        ("group", "i8"),  # 1 for the first of four rows that are solved together
        ("rounding_impulse", "f8"),  # N m s or N s, impulses of a motor up to this one are rounding
        ("load_per_mass", "f8"),  # 1/kg, of a limit: times the island's mass, its load over its own effective mass
    ],
    align=True,
)

TORSIONAL_CONSTRAINT = np.dtype(
    [
        ("contact_constraint", "i4"),  # index of its contact constraint, whose slices of z it uses
        ("axes", "i4"),  # 1: torsional friction, 2: rolling friction, 3: both
        ("y", "i8"),  # first of its 3 (l1 + l2) numbers: rotation about the normal and both tangents
        ("torsion", "f8"),  # m, largest moment about the normal per normal force,
        ("rolling", "f8"),  # and about the tangents
        ("effective_mass", "f8"),  # kg m², 1 / yᵀ y about the normal
        ("tangent_mass11", "f8"),  # kg m², inverse of the 2 x 2 matrix about the tangents, and
        ("tangent_mass12", "f8"),
        ("tangent_mass22", "f8"),
        ("least_tangent_mass", "f8"),  # kg m², one over its largest eigenvalue
        ("normal_impulse", "f8"),  # N m s, impulses of this substep
        ("tangent_impulse1", "f8"),
        ("tangent_impulse2", "f8"),
        ("total_normal_impulse", "f8"),  # N m s, of all substeps
        ("total_tangent_impulse1", "f8"),
        ("total_tangent_impulse2", "f8"),
    ],
    align=True,
)

DRIVE = np.dtype(
    [
        ("joint", "i8"),  # id of its joint, -1 if the row is unused
        ("generation", "i4"),  # number of drives that used this row before
        ("dof", "i4"),  # degree of freedom of the joint, numbered as declared
        ("kind", "i4"),  # Driven
        ("next", "i4"),  # the next drive of the same tree, -1 after the last; in a step
        ("position", "f8"),  # rad or m, target position
        ("speed", "f8"),  # rad/s or m/s, target speed
        ("stiffness", "f8"),  # N m/rad or N/m
        ("damping", "f8"),  # N m s/rad or N s/m; inf holds the target speed within the force limits
        ("force", "f8"),  # N m or N, force at the target
        ("smallest_force", "f8"),  # N m or N, the smallest and
        ("largest_force", "f8"),  # the largest force
        ("source", "i8"),  # of a coupling: id of the joint that it follows,
        ("ratio", "f8"),  # and its position per position of that joint
        ("told", "f8"),  # command of an actuator
        ("applied", "f8"),  # N m or N, mean force of the last step: the initial guess of the next one
    ],
    align=True,
)


STORED_JOINT_IMPULSE = np.dtype(
    [
        ("generation", "i4"),  # of the joint that the impulses belong to; `contact.joint_warm_start`
        ("turned", "i4"),  # whether the joint was used in reverse
        ("p", "f8", 18),  # N m or N: six of lower limits, six of upper limits, six of dry friction
    ],
    align=True,
)


class DriveKind(IntEnum):
    """How a drive acts."""

    ROW = 0  # a row of the solve: a spring, a damper, or a constant speed
    FORCE = 1  # a given force
    COUPLED = 2  # a row: its position is `position` + `ratio` times that of another joint


APPLIED_FORCE = np.dtype(
    [
        ("body", "i8"),  # id of its body, -1 if the row is unused
        ("generation", "i4"),  # number of pushes that used this row before
        ("persistent", "i4"),  # 0: for one step; 1: until it is withdrawn
        ("in_body_frame", "i4"),  # 1 if force and torque turn with the body, 0 if they are in world axes
        ("unused", "i4"),
        ("force", "f8", 3),  # N
        ("torque", "f8", 3),  # N m
        ("at", "f8", 3),  # m, point of application in the body's frame
    ],
    align=True,
)

COST_ROW = np.dtype(
    [
        ("offset1", "i4"),  # slices of z, as those of a contact constraint
        ("length1", "i4"),
        ("offset2", "i4"),
        ("length2", "i4"),
        ("normal", "i4"),  # 1 if it has a unilateral normal,
        ("touching", "i4"),  # and 1 if that has no gap: separation <= 0
        ("tangents", "i4"),  # number of friction directions: 0, 1 or 2
        ("driven", "i4"),  # 1 if it is a drive: one tangent, and an impulse from `low` to `high`
        ("normal_row", "i8"),  # first number of its normal's y
        ("tangent_row", "i8"),  # and of its first tangent's
        ("penalty", "f8"),  # kg, impulse per forbidden velocity
        ("bias", "f8"),  # m/s, added to the normal velocity: allowed approach, or required parting speed
        ("friction", "f8"),  # Coulomb coefficient; 0 if the largest tangential impulse is constant
        ("tangent_limit", "f8"),  # N s, largest tangential impulse; with a coefficient, from the previous round
        ("low", "f8"),  # N s, smallest and
        ("high", "f8"),  # largest impulse of a drive
        ("before", "f8"),  # N s, its impulse in the previous round or step,
        ("kept_share", "f8"),  # and its share in q1: 0 for a drive that is not stiffer than the penalty may be
        ("normal_velocity", "f8"),  # m/s, normal velocity, with the bias,
        ("tangent_velocity1", "f8"),  # tangential velocities, with those of moving surfaces
        ("tangent_velocity2", "f8"),
        ("normal_velocity_step", "f8"),  # m/s, their changes by a full Newton step
        ("tangent_velocity_step1", "f8"),
        ("tangent_velocity_step2", "f8"),
        ("qn", "f8"),  # N s, impulse of the law at zero velocity: the current estimate
        ("q1", "f8"),
        ("q2", "f8"),
        ("normal_impulse", "f8"),  # N s, impulse
        ("tangent_impulse1", "f8"),
        ("tangent_impulse2", "f8"),
    ],
    align=True,
)

LOOP_PROJECTION = np.dtype(
    [
        ("first_tree", "i8"),  # its trees, connected by loops: a list through `follows` of their TREE_SLOTs
        ("offset", "i8"),  # their first entry in z, where they are contiguous,
        ("nz", "i8"),  # and number of entries
        ("system", "i8"),  # address of the SYSTEM of its loops
        ("Q", "i8"),  # address of an orthonormal basis of the forbidden velocities: rank x nz numbers,
        ("rank", "i8"),  # and its number of rows
        ("first_loop", "i8"),  # its loops, a list through `follows` of their LOOP_SLOTs, in the order of the system
        ("reaction", "i8"),  # address of rank numbers, N s: loop reactions to other rows, in the basis Q
        ("backup", "i8"),  # address of a copy of q and v of its trees before they move
        ("error", "f8"),  # rad or m, largest closure error of its loops at the start of the step
        ("unconstrained_energy", "f8"),  # J, ½ zᵀ z at the end of the step without constraint rows
        ("given", "f8"),  # J, bound on the work of drives and pushes in the step, plus spring energy at its start
        ("flies", "i8"),  # whether gravity is the only external force on its trees
        ("before", SUMS),  # of its trees, at the start of the step,
        ("after", SUMS),  # at its end,
        ("each", SUMS),  # and of one of them
    ],
    align=True,
)

ELEMENT_CONSTRAINT = np.dtype(
    [
        ("offset1", "i4"),  # slices of z, as those of a contact constraint
        ("length1", "i4"),
        ("offset2", "i4"),
        ("length2", "i4"),
        ("tree1", "i4"),  # trees of both slices, -1 for an immovable side
        ("tree2", "i4"),
        ("y", "i8"),  # first of its l1 + l2 numbers
        ("force", "f8"),  # N or N m, of the spring at the start of the step
        ("velocity_gain", "f8"),  # kg or kg m², decrease of its impulse per velocity at the end of the step
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
        ("slices", "i8"),  # address of a tree slice for each tree of the forest
        ("slice_room", "i8"),
        ("roots", "i8"),  # address of as many free roots
        ("islands", "i8"),  # address of as many ISLANDs: awake trees connected by contacts, loops or force elements
        ("island_count", "i8"),
        ("nz", "i8"),  # entries of z
        ("z_room", "i8"),
        ("z", "i8"),  # addresses of vectors: whitened velocity,
        ("za", "i8"),  # whitened acceleration without rows,
        ("displacement", "i8"),  # time integral of velocity: the displacement of this step, whitened,
        ("g", "i8"),  # velocity change by the impulses of a substep, Σ y p,
        ("z0", "i8"),  # and velocity before them
        ("contacts", "i8"),  # address of the contact constraints
        ("contact_count", "i8"),
        ("contact_room", "i8"),
        ("order", "i8"),  # address of the contacts of this step, island by island: i4
        ("dof_constraints", "i8"),  # address of the dof constraints
        ("dof_constraint_count", "i8"),
        ("dof_constraint_room", "i8"),
        ("Y", "i8"),  # address of all numbers y
        ("Y_used", "i8"),
        ("Y_room", "i8"),
        ("materials", "i8"),  # address of a MATERIAL for each shape
        ("material_room", "i8"),
        ("impulses", "i8"),  # address of 3 numbers for each CONTACT of two steps: N s, world, on shape b
        ("impulse_room", "i8"),
        ("stiffness", "f8"),  # ω h of contacts: natural frequency of overlap correction, radians per substep
        ("damping", "f8"),  # ζ of contacts
        ("parting_speed", "f8"),  # m/s, largest speed of overlap correction
        ("bounce_speed", "f8"),  # m/s, slower impacts do not bounce
        ("gap", "f8"),  # m, distance that contacts keep between shapes: half of a collision envelope, or 0
        ("supports", "i8"),  # address of the supports of this step, as many rows as contacts
        ("cost_rows", "i8"),  # address of the cost rows of direct islands, as many as contacts and dof constraints
        ("x", "i8"),  # address of a vector in the order of the skyline matrix
        ("stages", "i8"),  # address of 26 numbers for each entry of z: Runge-Kutta stages of trees
        ("undo", "i8"),  # address of 3 numbers for each entry of z: q and v of trees before they moved; impulse model
        ("row_of", "i8"),  # addresses of one i4 for each entry of z: its row in the skyline of its island,
        ("low", "i8"),  # the first column of a row there,
        ("start", "i8"),  # and one i8: position of column 0 of a row, relative to the island's first number
        ("skyline", "i8"),  # address of the skyline H, row by row, from the first nonzero entry to the diagonal
        ("skyline_used", "i8"),
        ("skyline_room", "i8"),
        ("direct_work", "i8"),  # multiplications per factor, above which islands are never solved directly
        ("friction_rounds", "i8"),  # largest number of updates of the friction limits in a direct solve
        ("settled_share", "f8"),  # change of impulses, as a share of the largest, at which these updates end
        ("still", "f8"),  # velocities and residuals that count as zero, as a share of the change by forces in a step
        ("loop_projections", "i8"),  # address of the loop projections, in the forest's scratch: valid in this step
        ("loop_projection_count", "i8"),
        ("element_constraints", "i8"),  # address of the element constraints, likewise
        ("element_count", "i8"),
        ("wrenches", "i8"),  # address of 6 numbers for each loop of the forest: moment and force on its body b, world
        ("wrench_room", "i8"),  # number of loops that fit
        ("full", "i8"),  # tables that were too small: bits of FULL_*
        ("drives", "i8"),  # address of the DRIVEs: they act in joints until they are removed
        ("drive_count", "i8"),  # rows up to the last one ever used
        ("drive_room", "i8"),
        ("warm_joints", "i8"),  # address of the stored impulses of each joint of the forest
        ("joint_room", "i8"),
        ("applied_forces", "i8"),  # address of the PUSHes: forces on bodies
        ("applied_force_count", "i8"),
        ("applied_force_room", "i8"),
        ("pair_materials", "i8"),  # address of the pair materials
        ("pair_material_count", "i8"),
        ("pair_material_room", "i8"),
        ("rough", "i8"),  # whether any material has torsional or rolling friction
        ("any_moving_surface", "i8"),  # whether any material has a surface velocity
        ("bouncing", "i8"),  # whether any contact of this step has restitution
        ("any_fly_by", "i8"),  # whether any contact of this step is a fly-by
        ("any_convex_ground", "i8"),  # whether any contact of this step is with convex ground
        ("torsional_constraints", "i8"),  # address of the torsional constraints, as many rows as contacts
        ("torsional_count", "i8"),
        ("moments", "i8"),  # address of 3 numbers for each CONTACT of two steps: N m s, world, on shape b
        ("moments_valid", "i8"),  # whether those of the previous step are valid
        ("any_asleep", "i8"),  # whether any tree slept when the step began
        ("any_jointed", "i8"),  # whether any awake tree has joints
    ]
)
# Causes of waking besides contact: structural change, call, force or drive or surface, placement, loss of a neighbour.
WOKEN_BY_EDIT, WOKEN_BY_CALL, WOKEN_BY_FORCE, WOKEN_BY_PLACEMENT, WOKEN_BY_LOSS = -2, -3, -4, -5, -6
SOLVER_KIND = layout_hash(
    "solver", SOLVER, TREE_SLICE, FREE_ROOT, ISLAND, SUPPORT, MATERIAL, PAIR_MATERIAL, CONTACT_CONSTRAINT,
    DOF_CONSTRAINT, TORSIONAL_CONSTRAINT, DRIVE, STORED_JOINT_IMPULSE, APPLIED_FORCE, COST_ROW, LOOP_PROJECTION,
    ELEMENT_CONSTRAINT,
)  # fmt: skip
FULL_Z, FULL_CONTACTS, FULL_DOF_CONSTRAINTS, FULL_Y, FULL_SKYLINE = 1, 2, 4, 8, 16

# --- accessors of tables, by their headers ---

contact_constraints = table(CONTACT_CONSTRAINT, "contacts", "contact_count")
whitened_rows = table(F8, "Y", "Y_room")
z_of = table(F8, "z", "nz")
displacement_of = table(F8, "displacement", "nz")
dof_constraints = table(DOF_CONSTRAINT, "dof_constraints", "dof_constraint_count")
za_of = table(F8, "za", "nz")
z0_of = table(F8, "z0", "nz")
x_of = table(F8, "x", "nz")
g_of = table(F8, "g", "nz")
materials_of = table(MATERIAL, "materials", "material_room")
pair_materials_of = table(PAIR_MATERIAL, "pair_materials", "pair_material_count")
islands_of = table(ISLAND, "islands", "slice_room")
slices_of = table(TREE_SLICE, "slices", "slice_room")
supports_of = table(SUPPORT, "supports", "contact_room")
stored_joint_impulses = table(STORED_JOINT_IMPULSE, "warm_joints", "joint_room")
cost_rows = table(COST_ROW, "cost_rows", "cost_row_count")
free_roots_of = table(FREE_ROOT, "roots", "slice_room")
contact_constraint_room = table(CONTACT_CONSTRAINT, "contacts", "contact_room")
contact_order = table(np.dtype("i4"), "order", "contact_room")
stored_impulses = table(F8, "impulses", "impulse_room", times=3)
dof_constraint_room = table(DOF_CONSTRAINT, "dof_constraints", "dof_constraint_room")
drives_of = table(DRIVE, "drives", "drive_room")
applied_forces_of = table(APPLIED_FORCE, "applied_forces", "applied_force_room")
element_constraints = table(ELEMENT_CONSTRAINT, "element_constraints", "element_count")
loop_projections = table(LOOP_PROJECTION, "loop_projections", "loop_projection_count")
torsional_constraints = table(TORSIONAL_CONSTRAINT, "torsional_constraints", "contact_room")
stored_moments = table(F8, "moments", "impulse_room", times=3)
skyline_rows_of = table(np.dtype("i4"), "row_of", "nz")
first_columns_of = table(np.dtype("i4"), "low", "nz")
column_starts_of = table(np.dtype("i8"), "start", "nz")
loop_wrenches_of = table(F8, "wrenches", "wrench_room", times=6)
