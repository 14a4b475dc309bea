"""The rows of all constraints of a step, island by island, and by which method each island is solved."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.islands import leave_flying, sort_contacts
from kinemorph.contact.newton.load_estimate import choose
from kinemorph.contact.newton.skyline import plan_envelopes
from kinemorph.contact.newton.wedged_limits import choose_wedged
from kinemorph.contact.rows.dof_limits import fill_bounds
from kinemorph.contact.rows.drive_rows import choose_driven, find_drives
from kinemorph.contact.rows.force_element_rows import fill_pulls
from kinemorph.contact.rows.loop_projection import hold_rows
from kinemorph.contact.rows.torsional_friction import fill_twists, stay_swept
from kinemorph.jit.api import kernel
from kinemorph.structure.forest.memory import count_trees
from kinemorph.world.step.stages import begin_start_velocities, fill_contact_rows, finish_start_velocities


@kernel(inline=False)
def choose_solvers(world: Any, solver: Any, forest: Any, collisions: Any) -> bool:
    """Choose the islands that Newton's method solves, and lay out their matrices. False if a table is full."""
    choose(solver, forest, collisions, world["impacts"]["slow"])
    if solver["figures"] != 0:
        choose_wedged(solver)
    if solver["drive_count"] > 0:
        choose_driven(solver)
    if solver["twist_count"] > 0:
        stay_swept(solver)
    return plan_envelopes(solver, forest)


@kernel
def fill_joint_rows(world: Any, solver: Any, forest: Any, collisions: Any, memory: int) -> tuple[bool, bool]:
    """Rows of limits, dry friction, drives and loop joints. Returns whether there was room, and whether the whitened
    velocities were computed meanwhile by worker threads."""
    if solver["drive_count"] > 0:
        find_drives(solver, forest)
    early = begin_start_velocities(world, count_trees(forest))
    filled = sort_contacts(solver, forest, collisions) and fill_bounds(solver, forest, memory)
    if early:
        finish_start_velocities(world)
    return filled, early


@kernel
def fill_other_rows(world: Any, solver: Any, forest: Any, collisions: Any, memory: int, tied: bool) -> bool:
    """Rows of contacts, of torsional and rolling friction and of force elements. False if a table is full."""
    if world["model"] != 0:
        leave_flying(solver, collisions)
    if not fill_contact_rows(world, solver, forest, collisions):
        return False
    solver["twist_count"] = 0
    if solver["rough"] != 0 and not fill_twists(solver, forest, collisions):
        return False
    if tied and not (hold_rows(solver) and fill_pulls(solver, forest, memory)):
        return False
    return solver["direct_work"] <= 0 or choose_solvers(world, solver, forest, collisions)
