"""Constraint rows in joints that close loops: limits, speed limits, motors and servos, as in joints of a tree.

Such a joint has no entry in q and v: its position and velocity follow from its two bodies, and a force in it is a
wrench between them. Its angles are those nearest to zero, so its limits lie within half a turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.basis import slice_product
from kinemorph.constraint.loop_springs import joint_force_wrench
from kinemorph.constraint.loops import joint_frames
from kinemorph.contact import layout
from kinemorph.contact.rows.dof_rows import BRISK_SPEED_SHARE, LIMIT_STEPS_AHEAD, NEAR_LIMIT, claim_row, start_dof_row
from kinemorph.contact.rows.drive_rows import set_drive_law
from kinemorph.contact.rows.force_element_rows import add_body_wrench
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.inversion import extract_position, extract_velocity
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import DOF
from kinemorph.multibody.model.elements import point_velocity
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import neg, sub
from kinemorph.structure.forest.elements import link_data_of_both
from kinemorph.structure.forest.layout import IN_USE, LOOPS, bodies_of, joints_of, loop_slots_of, loops_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK, clear_words, pool_of

LOWER, UPPER = int(layout.DofConstraintKind.LOWER), int(layout.DofConstraintKind.UPPER)
DRIVEN, FAST = int(layout.DofConstraintKind.DRIVEN), int(layout.DofConstraintKind.FAST)
ROW = int(layout.DriveKind.ROW)
DOF_SIZE = DOF.itemsize
NO_DOF = -1  # `dof` of a row in a loop's joint, which has no degree of freedom of a tree


@kernel(inline=False)
def add_loop_joint_row(
    solver: Any, forest: Any, index: int, x: Any, q: Any, unit: Any, other_index: int, sign: float, what: int
) -> int:
    """Add a row along degree of freedom j of the joint of loop k, at point x. Its index, -1 if a table is full."""
    loop, slot = loops_of(forest)[index], loop_slots_of(forest)[index]
    slices, bodies = layout.slices_of(solver), bodies_of(forest)
    a, b = slot["a"], slot["b"]
    t = bodies[b if b >= 0 else a]["tree"]
    hold = layout.loop_projections(solver)[slices[t]["projection"]]
    at = solver["dof_constraint_count"]
    y = claim_row(solver, hold["nz"])
    if y < 0:
        return -1
    unit[other_index] = sign
    n, f = joint_force_wrench(loop, q, unit)
    unit[other_index] = 0.0
    da, db = link_data_of_both(forest, a, b)
    _, _, R, _ = joint_frames(loop, da, db)
    n, f = mul_vec(R, n), mul_vec(R, f)
    Y = layout.whitened_rows(solver)
    first = y - hold["offset"]
    if a >= 0:
        add_body_wrench(forest, a, x, neg(n), neg(f), Y, first + slices[bodies[a]["tree"]]["offset"])
    if b >= 0:
        add_body_wrench(forest, b, x, n, f, Y, first + slices[bodies[b]["tree"]]["offset"])
    row = layout.dof_constraint_room(solver)[at]
    row["kind"], row["tree"], row["dof"], row["length"], row["y"] = what, t, NO_DOF, hold["nz"], y
    start_dof_row(solver, row, slice_product(Y, y, Y, y, hold["nz"]))
    row["offset"] = hold["offset"]
    return at


@kernel(inline=False)
def fill_loop_limits(solver: Any, forest: Any, index: int, x: Any, q: Any, v: Any, unit: Any) -> bool:
    """Fill the limits and speed limits that the joint of loop k may reach. False if a table is full."""
    loop = loops_of(forest)[index]
    dofs = rows_at(forest["drives"] + 6 * index * DOF_SIZE, 6, DOF)
    constraints, dt = layout.dof_constraint_room(solver), solver["h"] * solver["substeps"]
    several = loop["kind"] == FREE or loop["kind"] == SPHERICAL
    for j in range(loop["nv"]):
        dof, near = dofs[j], NEAR_LIMIT + LIMIT_STEPS_AHEAD * dt * abs(v[j])
        if 0.0 < dof["velocity_limit"] < np.inf and abs(v[j]) > BRISK_SPEED_SHARE * dof["velocity_limit"]:
            at = add_loop_joint_row(solver, forest, index, x, q, unit, j, -1.0 if v[j] > 0.0 else 1.0, FAST)
            if at < 0:
                return False
            constraints[at]["target"] = dof["velocity_limit"]
        for what in range(0 if several else 2):
            gap = q[j] - dof["lower"] if what == LOWER else dof["upper"] - q[j]
            if gap < near:
                at = add_loop_joint_row(solver, forest, index, x, q, unit, j, 1.0 if what == LOWER else -1.0, what)
                if at < 0:
                    return False
                constraints[at]["separation"] = constraints[at]["initial_separation"] = gap
    return True


@kernel(inline=False)
def fill_loop_drives(solver: Any, forest: Any, index: int, x: Any, q: Any, unit: Any) -> bool:
    """Fill the rows of motors and servos in the joint of loop k. False if a table is full."""
    slot = loop_slots_of(forest)[index]
    dofs = rows_at(forest["drives"] + 6 * index * DOF_SIZE, 6, DOF)
    constraints, drives = layout.dof_constraint_room(solver), layout.drives_of(solver)
    joints = joints_of(forest)
    slices, bodies = layout.slices_of(solver), bodies_of(forest)
    for i in range(solver["drive_count"]):
        drive = drives[i]
        there = drive["joint"] >= 0 and drive["joint"] & ID_INDEX_MASK == slot["joint"]
        if not there or drive["kind"] != ROW or joints[slot["joint"]]["generation"] != drive["joint"] >> 32:
            continue
        at = add_loop_joint_row(solver, forest, index, x, q, unit, drive["dof"], 1.0, DRIVEN)
        if at < 0:
            return False
        constraint, effort = constraints[at], dofs[drive["dof"]]["effort_limit"]
        set_drive_law(solver, constraint, drive, i)
        constraint["smallest_force"] = max(drive["smallest_force"], -effort)
        constraint["largest_force"] = min(drive["largest_force"], effort)
        if drive["stiffness"] > 0.0:
            constraint["separation"] = constraint["initial_separation"] = drive["position"] - q[drive["dof"]]
        slices[bodies[slot["b"] if slot["b"] >= 0 else slot["a"]]["tree"]]["still"] = 0.0  # driven trees do not sleep
    return True


@kernel(inline=False)
def fill_loop_joint_rows(solver: Any, forest: Any, island: int, memory: int) -> bool:
    """Fill the rows of the joints of all loops in an island, with room for 19 numbers. False if a table is full."""
    loops = loop_slots_of(forest)
    ties = loops_of(forest)
    slices, bodies = layout.slices_of(solver), bodies_of(forest)
    q, v, unit = rows_at(memory, 7, F8), rows_at(memory + 56, 6, F8), rows_at(memory + 104, 6, F8)
    for k in range(pool_of(forest, LOOPS)["count"]):
        slot, loop = loops[k], ties[k]
        if slot["next"] != IN_USE or loop["nv"] == 0:
            continue
        if slices[bodies[slot["b"] if slot["b"] >= 0 else slot["a"]]["tree"]]["island"] != island:
            continue
        da, db = link_data_of_both(forest, slot["a"], slot["b"])
        Ra, xa, Rb, x = joint_frames(loop, da, db)
        clear_words(memory, 8 * 19)
        loop["iq"] = loop["iv"] = 0  # each system has its own numbering
        extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(x, xa)), q)
        w, u = sub(load3(db["w"]), load3(da["w"])), sub(point_velocity(db, x), point_velocity(da, x))
        extract_velocity(loop, q, tmul_vec(Rb, w), tmul_vec(Rb, u), v)
        if not fill_loop_limits(solver, forest, k, x, q, v, unit):
            return False
        if solver["drive_count"] > 0 and not fill_loop_drives(solver, forest, k, x, q, unit):
            return False
    return True
