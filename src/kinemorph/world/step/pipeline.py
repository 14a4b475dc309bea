"""One step of a world, in kernels only. `make_step` calls the stages below, in this order; beside each, its module.

    accelerate_trees                tree_motion.acceleration     passive forces, gravity; accelerations without contacts
    place_shapes                    step.shape_bounds            poses of shapes, and how far each may move
                                    control.step_recorder        the recorder of the world, if it has one
    update_brains                   brains.update                senses, neurons, effectors
    detect_collisions:
        find_pairs                  collision.collide            broad phase: pairs of overlapping boxes
        find_all_contacts           collision.narrow.dispatch    narrow phase: contact points
    solve_and_integrate:
        build_islands               step.island_building         trees that are solved together; step.waking wakes them
        fill_joint_rows             step.constraint_rows         rows of limits, dry friction, drives
        fill_contact_and_element_rows  step.constraint_rows      rows of contacts, torsional friction, force elements
        compute_start_velocities    tree_motion.acceleration     whitened velocities z and accelerations za
        apply_forces                step.applied_forces          loops, given forces, drag, force elements into za
        solve_islands               contact.substeps             impulses, by Gauss-Seidel or Newton; new z
        check_velocities            tree_motion.integration      whether all are finite
        advance_looped_trees        tree_motion.loop_motion      new state of trees in loops, projected onto the loops
        store_impulses              contact.warm_start           warm start of the next step
        integrate_trees             tree_motion.integration      new state of all other trees
    put_islands_to_sleep            step.falling_asleep          islands that have been still for long enough
    advance_time_and_events         step.bookkeeping             time, event functions

Stages whose rows several threads compute are in `step.threaded_stages`.

A kernel that runs out of room returns a Status; Python enlarges the table and calls again, and the step resumes at its
Phase: before the new state is written, at the end, nothing of the old state has changed. Steps of the impulse model
are in `world.impulse.step`, which calls `solve_and_integrate` for each of its parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.collide import find_pairs
from kinemorph.collision.shapes.shape_rows import BAD_BOX, FULL
from kinemorph.contact.joint_warm_start import store_joint_impulses
from kinemorph.contact.rows.drive_rows import finish_drives
from kinemorph.contact.rows.loop_projection import write_loop_forces
from kinemorph.contact.rows.torsional_friction import store_moments
from kinemorph.jit.api import kernel
from kinemorph.jit.clock import ticks
from kinemorph.structure.forest.memory import count_trees
from kinemorph.world.brains.update import update_brains
from kinemorph.world.impulse.rollback import save_or_restore_state
from kinemorph.world.layout import Phase, Stage, Status, collisions_of, forest_of, solver_of
from kinemorph.world.step import threaded_stages
from kinemorph.world.step.applied_forces import apply_forces
from kinemorph.world.step.bookkeeping import advance_time_and_events, all_asleep, record_stage_time
from kinemorph.world.step.constraint_rows import fill_contact_and_element_rows, fill_joint_rows
from kinemorph.world.step.island_building import build_islands, claim_loop_memory, has_loops_or_elements
from kinemorph.world.step.joint_loads import begin_joint_loads
from kinemorph.world.tree_motion.loop_motion import advance_looped_trees, spread_impulse_flags

FORCES, PAIRS, CONTACTS = int(Stage.FORCES), int(Stage.PAIRS), int(Stage.CONTACTS)
ROWS, SOLUTION, MOTION = int(Stage.ROWS), int(Stage.SOLUTION), int(Stage.MOTION)
MOVE, BRAINS, COLLIDE, FILL = int(Phase.MOVE), int(Phase.BRAINS), int(Phase.COLLIDE), int(Phase.FILL)
DONE, PAUSED = int(Status.DONE), int(Status.PAUSED)
FULL_SOLVER, FULL_COLLISIONS, FULL_FOREST = (
    int(Status.FULL_SOLVER), int(Status.FULL_COLLISIONS), int(Status.FULL_FOREST),
)  # fmt: skip
NOT_FINITE, NO_BOX = int(Status.NOT_FINITE), int(Status.BAD_BOX)


@kernel
def make_step(world: Any, recorded: bool) -> int:
    """Make one step, or resume it at its Phase. Returns a Status; EVENT means that the step is made.

    If it is `recorded`, it is PAUSED once, when link data and poses of shapes are those of its start.
    """
    forest = forest_of(world)
    collisions = collisions_of(world)
    solver = solver_of(world)
    if world["phase"] == MOVE and all_asleep(solver, forest):
        return advance_time_and_events(world, solver, forest, collisions)
    since = ticks() if world["clock"] != 0 else 0
    if world["phase"] == MOVE:
        status = threaded_stages.accelerate_trees(world, solver, forest)
        if status != DONE:
            return status
        threaded_stages.place_shapes(world, solver, forest, collisions)
        world["phase"] = BRAINS
        if recorded:
            record_stage_time(world, FORCES, since)
            return PAUSED
    if world["phase"] == BRAINS:
        if world["mind_count"] > 0:
            update_brains(world, solver, forest, collisions)
        world["phase"] = COLLIDE
        since = record_stage_time(world, FORCES, since)
    if world["phase"] == COLLIDE:
        status = detect_collisions(world, collisions, since)
        if status != DONE:
            return status
        world["phase"] = FILL
    status = solve_and_integrate(world, solver, forest, collisions)
    if status != DONE:
        return status
    since = ticks() if world["clock"] != 0 else 0
    if solver["drive_count"] + solver["applied_force_count"] > 0:
        finish_drives(solver)
    if world["patience"] < np.inf:
        threaded_stages.put_islands_to_sleep(world, solver, forest)
    status = advance_time_and_events(world, solver, forest, collisions)
    record_stage_time(world, MOTION, since)
    return status


@kernel
def detect_collisions(world: Any, collisions: Any, since: int) -> int:
    """Broad phase (skipped if the narrow phase resumes after a table has grown) and narrow phase. Returns a Status."""
    if collisions["goes_on"] == 0:
        status = find_pairs(collisions)
        if status == BAD_BOX:
            world["phase"] = MOVE
            return NO_BOX
        if status == FULL:
            return FULL_COLLISIONS
        since = record_stage_time(world, PAIRS, since)
    if not threaded_stages.find_all_contacts(world, collisions):
        return FULL_COLLISIONS
    record_stage_time(world, CONTACTS, since)
    return DONE


@kernel(inline=False)
def solve_and_integrate(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """From contacts to the state after world["dt"]: islands, rows, forces, impulses, motion. Returns a Status."""
    since = ticks() if world["clock"] != 0 else 0
    status = build_islands(world, solver, forest, collisions)
    if status != DONE:
        world["phase"] = MOVE if status == NOT_FINITE else FILL
        return status
    tied = has_loops_or_elements(forest)
    memory = claim_loop_memory(solver, forest) if tied else 0
    if tied and memory == 0:
        return FULL_FOREST
    filled, early = fill_joint_rows(world, solver, forest, collisions, memory)
    if not (filled and fill_contact_and_element_rows(world, solver, forest, collisions, memory, tied)):
        return FULL_SOLVER
    world["phase"] = MOVE
    if not early:
        threaded_stages.compute_start_velocities(solver, forest, count_trees(forest))
    apply_forces(world, solver, forest, collisions, tied)
    since = record_stage_time(world, ROWS, since)
    threaded_stages.solve_islands(world, solver)
    since = record_stage_time(world, SOLUTION, since)
    if tied:
        spread_impulse_flags(solver, forest)
        write_loop_forces(solver, forest)  # wrenches of loop joints
    if world["event_count"] > 0:
        begin_joint_loads(world, solver, forest, collisions, world["model"] == 0, world["dt"])
    if world["model"] != 0:
        save_or_restore_state(solver, forest, False)  # a part of a step can be undone
    good = threaded_stages.check_velocities(world, solver, forest)
    good = good and (not tied or advance_looped_trees(world, solver, forest))
    threaded_stages.store_impulses(world, solver, collisions, good)
    if solver["rough"] != 0:
        store_moments(solver, collisions, good)  # warm start of torsional friction
    if not good:
        return NOT_FINITE
    if solver["any_jointed"] != 0:
        store_joint_impulses(solver, forest)  # warm start of limits and dry friction
    threaded_stages.integrate_trees(world, solver, forest)
    record_stage_time(world, MOTION, since)
    return DONE
