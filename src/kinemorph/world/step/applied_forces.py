"""Applied forces of a step, added to the whitened accelerations za: loops, drives, pushes, drag and force elements."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import contact_constraints, slices_of
from kinemorph.contact.rows.drive_rows import apply_given_forces, apply_pushes, keep_pushed_awake
from kinemorph.contact.rows.force_element_rows import solve_elements
from kinemorph.contact.rows.ghost_edges import drop_ghost_contacts
from kinemorph.contact.rows.loop_projection import project_forces, store_accelerations
from kinemorph.contact.rows.near_miss import drop_fly_by_contacts
from kinemorph.jit.api import kernel
from kinemorph.world.tree_motion.fluid_drag import apply_fluid_drag
from kinemorph.world.tree_motion.loop_motion import apply_loop_forces, predict_energies


@kernel(inline=False)
def keep_conveyed_awake(solver: Any) -> None:
    """Reset the sleep timer (s) of each tree that touches a moving surface, so that it does not fall asleep."""
    slices = slices_of(solver)
    contacts = contact_constraints(solver)
    for i in range(solver["contact_count"]):
        contact = contacts[i]
        if contact["surface_velocity1"] != 0.0 or contact["surface_velocity2"] != 0.0:
            if contact["tree1"] >= 0:
                slices[contact["tree1"]]["still"] = 0.0
            if contact["tree2"] >= 0:
                slices[contact["tree2"]]["still"] = 0.0


@kernel(inline=False)
def apply_forces(world: Any, solver: Any, forest: Any, collisions: Any, tied: bool) -> None:
    """Add all applied forces to za, and leave out contacts that these make needless; `tied` by loops or elements."""
    if tied:
        apply_loop_forces(solver, forest)  # loop forces
        store_accelerations(solver)  # za before the forces below
    if solver["drive_count"] > 0:
        apply_given_forces(solver, forest)  # drives with a given force or moment
    if solver["applied_force_count"] > 0:
        apply_pushes(solver, forest)
        keep_pushed_awake(solver, forest)
    if world["fluid"] > 0.0:
        apply_fluid_drag(world, solver, forest, collisions)
    if solver["any_moving_surface"] != 0:
        keep_conveyed_awake(solver)
    if solver["any_fly_by"] != 0:
        drop_fly_by_contacts(solver, collisions)  # bodies that fly past each other
    if solver["any_convex_ground"] != 0:
        drop_ghost_contacts(solver, collisions)  # internal edges of ground
    if tied:
        project_forces(solver)  # loop forces against what was added to za since
        solve_elements(solver)  # force elements
        predict_energies(solver)  # for the energy limit of trees in loops
