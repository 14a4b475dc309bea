"""Constraint rows of joint limits, speed limits and dry friction: forces with bounds on degrees of freedom."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.contact.joint_warm_start import refresh_joint_impulses
from kinemorph.contact.layout import DofConstraintKind, dof_constraint_room, free_roots_of, islands_of, slices_of
from kinemorph.contact.rows.dof_rows import BRISK_SPEED_SHARE, LIMIT_STEPS_AHEAD, NEAR_LIMIT, add_dof_row, add_joint_row
from kinemorph.contact.rows.drive_rows import fill_tree_drives
from kinemorph.contact.rows.free_root_rows import fill_free_root, has_free_root
from kinemorph.contact.rows.loop_joint_rows import fill_loop_joint_rows
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import dofs_of, links_of
from kinemorph.spatial.quaternion import log, log_shift
from kinemorph.spatial.rows import load4_at
from kinemorph.structure.forest.layout import a_of, q_of, tree_of, trees_of, v_of

LOWER, UPPER = int(DofConstraintKind.LOWER), int(DofConstraintKind.UPPER)
DRY, FAST = int(DofConstraintKind.DRY), int(DofConstraintKind.FAST)


@kernel
def add_limit_row(
    solver: Any, tree: Any, tree_index: int, link: int, dof: int, what: int, gap: float, force: float
) -> bool:
    """Add the row of a limit at a distance `gap`, with its stored force. False if a table is full."""
    at = add_dof_row(solver, tree, tree_index, link, dof, -1.0 if what == UPPER else 1.0, what)
    if at >= 0:
        constraint = dof_constraint_room(solver)[at]
        constraint["separation"] = constraint["initial_separation"] = gap
        constraint["p"] = solver["h"] * force
    return at >= 0


@kernel(inline=False)
def add_speed_limit_row(solver: Any, tree: Any, tree_index: int, link: int, dof: int, v: float, a: float) -> bool:
    """Add the row of a speed limit (rad/s or m/s), if it may be reached in this step. False if a table is full."""
    fastest = dofs_of(tree)[dof]["velocity_limit"]
    then = v + solver["h"] * solver["substeps"] * a
    if max(abs(v), abs(then)) < BRISK_SPEED_SHARE * fastest:
        return True
    at = add_dof_row(solver, tree, tree_index, link, dof, -1.0 if v + then > 0.0 else 1.0, FAST)
    if at >= 0:
        dof_constraint_room(solver)[at]["target"] = fastest
    return at >= 0


@kernel(inline=False)
def fill_ball_limits(solver: Any, tree: Any, tree_index: int, link: int, q: Any, v: Any, forces: Any) -> bool:
    """Fill the limits of a ball joint, on the components of its rotation vector. False if a table is full."""
    l = links_of(tree)[link]
    dofs = dofs_of(tree)[l["iv"] :]
    constraints = dof_constraint_room(solver)
    phi = log(load4_at(q, l["iq"]))
    reach = NEAR_LIMIT + LIMIT_STEPS_AHEAD * solver["h"] * solver["substeps"] * (
        abs(v[l["iv"]]) + abs(v[l["iv"] + 1]) + abs(v[l["iv"] + 2])
    )
    for j in range(3):
        x = phi[0] if j == 0 else phi[1] if j == 1 else phi[2]
        for what in range(2):
            gap = x - dofs[j]["lower"] if what == LOWER else dofs[j]["upper"] - x
            if not gap < reach:
                forces[6 * what + j] = 0.0
                continue
            sign = -1.0 if what == UPPER else 1.0
            one = (sign if j == 0 else 0.0, sign if j == 1 else 0.0, sign if j == 2 else 0.0)
            m = log_shift(phi, one)
            at = add_joint_row(solver, tree, tree_index, link, l["iv"] + j, (m[0], m[1], m[2], 0.0, 0.0, 0.0), what)
            if at < 0:
                return False
            constraint = constraints[at]
            constraint["separation"] = constraint["initial_separation"] = gap
            constraint["p"] = solver["h"] * forces[6 * what + j]
    return True


@kernel(inline=False)
def fill_tree_limits(solver: Any, forest: Any, slot: Any, tree_index: int) -> bool:
    """Fill the limits, speed limits and dry friction of one tree. The stored force of a distant limit becomes zero."""
    tree = tree_of(slot)
    links, dofs = links_of(tree), dofs_of(tree)
    q, v = q_of(slot, tree), v_of(slot, tree)
    a = a_of(slot, tree)
    constraints = dof_constraint_room(solver)
    dt = solver["h"] * solver["substeps"]
    for i in range(tree["n"]):
        l = links[i]
        if l["nv"] == 0:
            continue
        several = l["kind"] == FREE or l["kind"] == SPHERICAL
        forces = refresh_joint_impulses(solver, forest, l)["p"]
        for j in range(l["nv"]):
            k = l["iv"] + j
            dof = dofs[k]
            if dof["friction"] > 0.0:
                at = add_dof_row(solver, tree, tree_index, i, k, 1.0, DRY)
                if at < 0:
                    return False
                row = constraints[at]
                row["largest_force"], row["p"] = dof["friction"], solver["h"] * forces[6 * DRY + j]
            if 0.0 < dof["velocity_limit"] < np.inf and not add_speed_limit_row(
                solver, tree, tree_index, i, k, v[k], a[k]
            ):
                return False
            if several:
                continue
            x, near = q[l["iq"] + j], NEAR_LIMIT + LIMIT_STEPS_AHEAD * dt * abs(v[k])
            for what in range(2):
                gap = x - dof["lower"] if what == LOWER else dof["upper"] - x
                if not gap < near:
                    forces[6 * what + j] = 0.0
                elif not add_limit_row(solver, tree, tree_index, i, k, what, gap, forces[6 * what + j]):
                    return False
        if l["kind"] == SPHERICAL and not fill_ball_limits(solver, tree, tree_index, i, q, v, forces):
            return False
    return True


@kernel(inline=False)
def fill_dof_constraints(solver: Any, forest: Any, memory: int) -> bool:
    """Fill the dof rows and free roots of all awake trees and their loops, by island. False if a table is full.

    `memory` is the address of 19 numbers, needed if there are loops.
    """
    trees = trees_of(forest)
    slices, islands = slices_of(solver), islands_of(solver)
    roots = free_roots_of(solver)
    solver["dof_constraint_count"] = 0
    for i in range(solver["island_count"]):
        islands[i]["first_dof_constraint"] = solver["dof_constraint_count"]
        t = islands[i]["first_tree"]
        while t >= 0:
            tree = tree_of(trees[t])
            jointed = solver["any_jointed"] != 0 and slices[t]["jointed"] != 0
            if jointed and has_free_root(tree):
                fill_free_root(tree, roots[t])
            if solver["drive_count"] > 0 and not fill_tree_drives(solver, forest, trees[t], t):
                return False
            if jointed and not fill_tree_limits(solver, forest, trees[t], t):
                return False
            t = slices[t]["next"]
        if islands[i]["loop_projection_count"] > 0 and not fill_loop_joint_rows(solver, forest, i, memory):
            return False
        islands[i]["dof_constraint_count"] = solver["dof_constraint_count"] - islands[i]["first_dof_constraint"]
    return True
