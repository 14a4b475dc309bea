"""Constraint rows of a step, island by island, and the choice of the solver of each island."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.islands import drop_flying_contacts, sort_contacts
from kinemorph.contact.newton.load_estimate import choose_loaded_islands
from kinemorph.contact.newton.skyline_cholesky import plan_skylines
from kinemorph.contact.newton.wedged_limits import choose_wedged_islands
from kinemorph.contact.rows.dof_limits import fill_dof_constraints
from kinemorph.contact.rows.drive_rows import choose_driven_islands, list_drives
from kinemorph.contact.rows.force_element_rows import fill_element_rows
from kinemorph.contact.rows.loop_projection import project_all_rows
from kinemorph.contact.rows.torsional_friction import exclude_torsional_islands, fill_torsional_rows
from kinemorph.jit.api import kernel
from kinemorph.structure.forest.memory import count_trees
from kinemorph.world.step.threaded_stages import begin_start_velocities, fill_contact_rows, finish_start_velocities


@kernel(inline=False)
def choose_solvers(world: Any, solver: Any, forest: Any, collisions: Any) -> bool:
    """Choose islands for Newton's method and lay out their skyline matrices. False if a table is full."""
    choose_loaded_islands(solver, forest, collisions, world["impacts"]["slow"])  # by the loads that contacts carry
    if solver["any_jointed"] != 0:
        choose_wedged_islands(solver)  # by limits that bear on contacts
    if solver["drive_count"] > 0:
        choose_driven_islands(solver)  # by drives that act against each other
    if solver["torsional_count"] > 0:
        exclude_torsional_islands(solver)  # torsional friction needs Gauss-Seidel
    return plan_skylines(solver, forest)


@kernel
def fill_joint_rows(world: Any, solver: Any, forest: Any, collisions: Any, memory: int) -> tuple[bool, bool]:
    """Rows of limits, dry friction and drives, of tree joints and loop joints. Returns whether there was room, and
    whether worker threads have computed the whitened start velocities meanwhile."""
    if solver["drive_count"] > 0:
        list_drives(solver, forest)
    early = begin_start_velocities(world, count_trees(forest))
    filled = sort_contacts(solver, forest, collisions) and fill_dof_constraints(solver, forest, memory)
    if early:
        finish_start_velocities(world)
    return filled, early


@kernel
def fill_contact_and_element_rows(
    world: Any, solver: Any, forest: Any, collisions: Any, memory: int, tied: bool
) -> bool:
    """Rows of contacts, torsional friction and force elements, projected onto loops. False if a table is full."""
    if world["model"] != 0:
        drop_flying_contacts(solver, collisions)  # impulse model: contacts that will collide
    if not fill_contact_rows(world, solver, forest, collisions):
        return False
    solver["torsional_count"] = 0
    if solver["rough"] != 0 and not fill_torsional_rows(solver, forest, collisions):
        return False
    if tied and not (project_all_rows(solver) and fill_element_rows(solver, forest, memory)):
        return False
    return solver["direct_work"] <= 0 or choose_solvers(world, solver, forest, collisions)
