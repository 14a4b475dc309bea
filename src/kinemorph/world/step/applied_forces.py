"""Applied forces of a step, added to the whitened accelerations za: loops, drives, pushes, drag and force elements."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import contact_constraints, slices_of
from kinemorph.contact.rows.drive_rows import give_forces, keep_pushed_awake, push_bodies
from kinemorph.contact.rows.fly_by import let_pass
from kinemorph.contact.rows.force_element_rows import pull_all
from kinemorph.contact.rows.ghost_edges import pass_seams
from kinemorph.contact.rows.loop_projection import hold_forces, note_forces
from kinemorph.jit.api import kernel
from kinemorph.world.tree_motion.fluid_drag import drag_bodies
from kinemorph.world.tree_motion.loop_motion import bear_holds, plan_energies


@kernel(inline=False)
def keep_conveyed_awake(solver: Any) -> None:
    """Reset the sleep timer (s) of each tree that touches a moving surface, so that it does not fall asleep."""
    spans = slices_of(solver)
    touches = contact_constraints(solver)
    for i in range(solver["touch_count"]):
        contact = touches[i]
        if contact["w1"] != 0.0 or contact["w2"] != 0.0:
            if contact["tree1"] >= 0:
                spans[contact["tree1"]]["still"] = 0.0
            if contact["tree2"] >= 0:
                spans[contact["tree2"]]["still"] = 0.0


@kernel(inline=False)
def apply_forces(world: Any, solver: Any, forest: Any, collisions: Any, tied: bool) -> None:
    """Add all applied forces to za, and leave out contacts that these make needless; `tied` by loops or elements."""
    if tied:
        bear_holds(solver, forest)  # loop forces
        note_forces(solver)  # za before the forces below
    if solver["drive_count"] > 0:
        give_forces(solver, forest)  # drives with a given force or moment
    if solver["push_count"] > 0:
        push_bodies(solver, forest)
        keep_pushed_awake(solver, forest)
    if world["fluid"] > 0.0:
        drag_bodies(world, solver, forest, collisions)
    if solver["conveys"] != 0:
        keep_conveyed_awake(solver)
    if solver["passing"] != 0:
        let_pass(solver, collisions)  # bodies that fly past each other
    if solver["paved"] != 0:
        pass_seams(solver, collisions)  # internal edges of ground
    if tied:
        hold_forces(solver)  # loop forces against what was added to za since
        pull_all(solver)  # force elements
        plan_energies(solver)  # for the energy limit of trees in loops
