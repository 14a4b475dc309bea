"""One step of a world under the impulse model: the main loop of Fontijne 3.8.2, in kernels only.

    poses ─> pairs ─> contacts ─> collisions ─> time-to-impact bound ─> motion over that time, and again

A step is made in parts, each as long as the time-to-impact bound. Boxes of shapes are predicted for the whole step; a
part in which a body leaves its box, or overlaps another, is undone and repeated with new boxes or half the length.
Between collisions no contact acts on flying bodies. Slow bodies in the envelope are carried by contacts that do not
bounce: the rows and the solver of the timestep model, which keep half of the envelope open; with boosted
micro-collisions, by repeated collisions instead.

Time always advances. A part is at least a share of the time that the fastest point takes through the envelope; bodies
that overlap after eight halvings of a part may do so, and position correction separates them. The last part of a step
is never undone, so events at the end of a step see the final state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.collide import find_pairs
from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes.shape_rows import BAD_BOX, FULL, contacts_of, memories_of, pairs_of
from kinemorph.constraint.whiten import unwhiten_velocity, whiten_velocity
from kinemorph.contact.impulse.collisions import collide_islands
from kinemorph.contact.islands import clear_padding, drop_far_contacts, sort_contacts
from kinemorph.contact.layout import contact_constraints, slices_of, stored_impulses, z_of
from kinemorph.contact.rows.contact_rows import fill_all_contacts
from kinemorph.contact.rows.dof_limits import fill_dof_constraints
from kinemorph.contact.rows.drive_rows import finish_drives, list_drives
from kinemorph.contact.rows.ghost_edges import drop_ghost_contacts
from kinemorph.contact.rows.loop_projection import project_all_rows
from kinemorph.jit.api import kernel
from kinemorph.jit.clock import ticks
from kinemorph.multibody.algorithms.free_body import free_body_link, free_body_of, unwhiten_free_body
from kinemorph.spatial.rows import load3_at, load9, store3, store3_at
from kinemorph.structure.forest.layout import LOOPS, TREES, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import pool_of
from kinemorph.world.brains.update import update_brains
from kinemorph.world.impulse.rollback import save_or_restore_state
from kinemorph.world.impulse.time_to_impact import bound_time_to_impact
from kinemorph.world.layout import Phase, Stage, Status, collisions_of, forest_of, solver_of
from kinemorph.world.step.bookkeeping import advance_time_and_events, all_asleep, record_stage_time
from kinemorph.world.step.falling_asleep import update_sleep
from kinemorph.world.step.island_building import build_islands, claim_loop_memory
from kinemorph.world.step.joint_loads import begin_joint_loads
from kinemorph.world.step.pipeline import solve_and_integrate
from kinemorph.world.step.shape_bounds import check_shape_boxes, predict_shape_poses
from kinemorph.world.tree_motion.acceleration import AWAKE, accelerate_all_trees

FORCES, PAIRS, CONTACTS, SOLUTION = (int(x) for x in (Stage.FORCES, Stage.PAIRS, Stage.CONTACTS, Stage.SOLUTION))
MOVE, COLLIDE, FILL, STRIKE = int(Phase.MOVE), int(Phase.COLLIDE), int(Phase.FILL), int(Phase.STRIKE)
BRAINS, PAUSED = int(Phase.BRAINS), int(Status.PAUSED)
DONE, FULL_SOLVER, FULL_COLLISIONS = int(Status.DONE), int(Status.FULL_SOLVER), int(Status.FULL_COLLISIONS)
FULL_FOREST, OVERLAP, NO_BOX = int(Status.FULL_FOREST), int(Status.OVERLAP), int(Status.BAD_BOX)
MOST_HALVINGS = 8  # of a part; then an overlap is accepted
MOST_STEP_PARTS = 5000  # of a step; after that the rest of it is one part
LONGEST_CONTACT_SUBSTEP = 1.25e-3  # s
STARTING_OVERLAP_SHARE = 1e-3  # of the envelope: a smaller overlap at the start is rounding
NO_TIME_SHARE = 1e-9  # of a step: a shorter time counts as 0


# -------------------------------------------------------------------------------------------------------------- undoing


@kernel
def undo_part(world: Any, solver: Any, forest: Any) -> None:
    """Restore the state at the start of the last part."""
    save_or_restore_state(solver, forest, True)
    world["elapsed"] -= world["part"]
    world["part"] = 0.0
    world["parts_undone"] += 1
    world["loads_begun"] = 0
    world["phase"] = MOVE


@kernel(inline=False)
def find_overlap(world: Any, collisions: Any, most: float) -> bool:
    """Whether two shapes overlap by more than `most`, m; the world's a and b are their rows."""
    pairs = pairs_of(collisions)
    for k in range(collisions["n_pairs"]):
        if pairs[k]["count"] > 0 and pairs[k]["distance"] < -most:
            world["a"], world["b"] = pairs[k]["a"], pairs[k]["b"]
            return True
    return False


# ----------------------------------------------------------------------------------------------------------- collisions


@kernel(inline=False)
def clear_collision_impulses(collisions: Any) -> None:
    memories = memories_of(collisions)
    for r in range(collisions["room"]):
        memories[r]["struck"] = 0.0


@kernel(inline=False)
def convert_whitened_velocities(solver: Any, forest: Any, back: bool) -> None:
    """Whitened velocities z of all awake trees; or their velocities from z (`back`)."""
    trees = trees_of(forest)
    slices, z = slices_of(solver), z_of(solver)
    for t in range(pool_of(forest, TREES)["count"]):
        o = slices[t]["offset"]
        if o < 0:
            continue
        tree = tree_of(trees[t])
        nv = tree["nv"]
        v = v_of(trees[t], tree)
        if not back:
            whiten_velocity(tree, v, z[o : o + nv])
            clear_padding(slices[t], nv, z)
        elif tree["free_body"] == 0:
            unwhiten_velocity(tree, z[o : o + nv], v)
        else:
            turn, push = unwhiten_free_body(
                free_body_of(tree), load9(free_body_link(tree)["R"]), load3_at(z, o), load3_at(z, o + 3)
            )
            store3(v, turn)
            store3_at(v, 3, push)


@kernel(inline=False)
def solve_collisions(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Apply the impulses of all collisions at the present time. Returns a Status."""
    status = build_islands(world, solver, forest, collisions)
    if status != DONE:
        return status
    tied = pool_of(forest, LOOPS)["used"] > 0
    memory = claim_loop_memory(solver, forest) if tied else 0
    if tied and memory == 0:
        return FULL_FOREST
    if solver["drive_count"] > 0:
        list_drives(solver, forest)
    solver["torsional_count"] = 0
    if not (sort_contacts(solver, forest, collisions) and fill_dof_constraints(solver, forest, memory)):
        return FULL_SOLVER
    drop_far_contacts(solver, collisions, world["within"])
    if not fill_all_contacts(solver, forest, collisions) or (tied and not project_all_rows(solver)):
        return FULL_SOLVER
    if solver["any_convex_ground"] != 0:
        drop_ghost_contacts(solver, collisions)
    convert_whitened_velocities(solver, forest, False)
    collide_islands(solver, collisions, world["impacts"])
    convert_whitened_velocities(solver, forest, True)
    if world["event_count"] > 0:
        begin_joint_loads(world, solver, forest, collisions, False, 0.0)
    return accelerate_all_trees(world, solver, forest, AWAKE)


# ----------------------------------------------------------------------------------------------------------------- time


@kernel(inline=False)
def set_step_length(solver: Any, length: float) -> None:
    """Set the solver's step length (s) and substeps, and scale the stored impulses in proportion."""
    n = max(1, int(length / LONGEST_CONTACT_SUBSTEP + 1.0 - NO_TIME_SHARE))
    ratio = length / n / solver["h"]
    solver["substeps"], solver["h"] = n, length / n
    if abs(ratio - 1.0) > NO_TIME_SHARE:
        impulses = stored_impulses(solver)
        for k in range(3 * solver["impulse_room"]):
            impulses[k] *= ratio


@kernel(inline=False)
def find_part_contacts(world: Any, solver: Any, forest: Any, collisions: Any, recorded: bool) -> int:
    """Poses, pairs and contacts before the first part or after a part. Returns a Status.

    The phase is MOVE if the part was undone, else STRIKE. A step that is `recorded` is PAUSED once, before brains.
    """
    since = ticks() if world["clock"] != 0 else 0
    if world["phase"] == MOVE:
        world["dt"] = 0.0  # no implicit damping: collisions take no time
        status = accelerate_all_trees(world, solver, forest, AWAKE)
        if status != DONE:
            return status
        world["dt"] = world["full_dt"]
        world["phase"] = BRAINS
        if recorded and world["brains_updated"] == 0:
            record_stage_time(world, FORCES, since)
            return PAUSED
    if world["phase"] == BRAINS:
        if world["mind_count"] > 0 and world["brains_updated"] == 0:
            update_brains(world, solver, forest, collisions)
        world["brains_updated"] = 1
        if world["boxes_valid"] != 0 and not check_shape_boxes(solver, forest, collisions):
            world["boxes_valid"] = 0
            world["reach"] += 1.0
            if world["part"] > 0.0:
                undo_part(world, solver, forest)
                return DONE
        if world["boxes_valid"] == 0:
            predict_shape_poses(world, solver, forest, collisions, 0, collisions["n"])
        world["phase"] = COLLIDE
        since = record_stage_time(world, FORCES, since)
    if collisions["goes_on"] == 0 and world["boxes_valid"] == 0:
        status = find_pairs(collisions)
        if status != DONE:
            return NO_BOX if status == BAD_BOX else FULL_COLLISIONS
        world["boxes_valid"] = 1
        since = record_stage_time(world, PAIRS, since)
    if find_contacts(collisions) == FULL:
        return FULL_COLLISIONS
    world["phase"] = STRIKE
    record_stage_time(world, CONTACTS, since)
    epsilon = world["impacts"]["epsilon"]
    if world["fresh"] != 0:
        if find_overlap(world, collisions, STARTING_OVERLAP_SHARE * epsilon if world["steps"] == 0 else epsilon):
            return OVERLAP
        world["fresh"] = 0
    if world["part"] > 0.0:
        if not find_overlap(world, collisions, 0.0):
            world["halvings"], world["longest_part"] = 0, np.inf
        elif world["halvings"] < MOST_HALVINGS:
            world["halvings"], world["longest_part"] = world["halvings"] + 1, 0.5 * world["part"]
            undo_part(world, solver, forest)
        else:
            world["longest_part"] = np.inf
    return DONE


@kernel(inline=False)
def disable_collisions(collisions: Any) -> None:
    """Let all contacts be carried by the solver, none by collisions."""
    contacts = contacts_of(collisions)
    for k in range(2 * collisions["contact_room"]):
        contacts[k]["flies"] = 0


@kernel(inline=False)
def make_part(world: Any, solver: Any, forest: Any, collisions: Any, last: bool) -> int:
    """Apply collisions, choose the length of the next part, and advance by it. Returns a Status."""
    if world["phase"] == STRIKE:
        if world["event_count"] > 0 and world["loads_begun"] == 0:
            solver["contact_count"] = solver["torsional_count"] = 0  # nothing has acted so far
            begin_joint_loads(world, solver, forest, collisions, True, 0.0)
            world["loads_begun"] = 1
        since = ticks() if world["clock"] != 0 else 0
        count, free = bound_time_to_impact(world, solver, forest, collisions)
        if count > 0:
            world["dt"] = 0.0
            status = solve_collisions(world, solver, forest, collisions)
            world["dt"] = world["full_dt"]
            if status != DONE:
                return status
            count, free = bound_time_to_impact(world, solver, forest, collisions)
        if last:
            disable_collisions(collisions)
        left = world["full_dt"] - world["elapsed"]
        h = left if last else min(free, world["longest_part"], left)
        world["part"] = left if h > (1.0 - NO_TIME_SHARE) * left else h
        world["phase"] = FILL
        record_stage_time(world, SOLUTION, since)
    world["dt"] = world["part"]
    set_step_length(solver, world["part"])
    status = accelerate_all_trees(world, solver, forest, AWAKE)
    if status != DONE:
        return status
    status = solve_and_integrate(world, solver, forest, collisions)
    if status == DONE:
        world["elapsed"] += world["part"]
        world["parts"] += 1
    return status


@kernel(inline=False)
def make_parts(world: Any, solver: Any, forest: Any, collisions: Any, recorded: bool) -> int:
    """Make all parts of a step, or resume at its Phase. Returns a Status."""
    made = 0
    while world["phase"] != MOVE or world["elapsed"] < (1.0 - NO_TIME_SHARE) * world["full_dt"]:
        if world["phase"] != STRIKE and world["phase"] != FILL:
            status = find_part_contacts(world, solver, forest, collisions, recorded)
            if status != DONE:
                return status
        if world["phase"] != MOVE:
            made += 1
            status = make_part(world, solver, forest, collisions, made > MOST_STEP_PARTS)
            if status != DONE:
                return status
    return DONE


@kernel(inline=False)
def scale_contact_impulses(solver: Any, ratio: float) -> None:
    """Scale the contact impulses of the last part to the whole step, as if the part had lasted for all of it.

    That is not the mean of the step: after a collision elsewhere, a short last part may be off by a tenth.
    """
    constraints = contact_constraints(solver)
    for i in range(solver["contact_count"]):
        t = constraints[i]
        t["total_normal_impulse"] *= ratio
        t["total_tangent_impulse1"] *= ratio
        t["total_tangent_impulse2"] *= ratio


@kernel(inline=False)
def make_impulse_step(world: Any, recorded: bool) -> int:
    """Make one step, or resume it at its Phase. Returns a Status; `recorded` as for `make_step`."""
    forest = forest_of(world)
    collisions = collisions_of(world)
    solver = solver_of(world)
    if world["phase"] == MOVE:
        if all_asleep(solver, forest):
            return advance_time_and_events(world, solver, forest, collisions)
        world["full_dt"], world["part"], world["reach"] = world["dt"], 0.0, 0.0
        world["boxes_valid"] = world["loads_begun"] = world["brains_updated"] = 0
        if world["impacts"]["struck"] != 0:
            clear_collision_impulses(collisions)
            world["impacts"]["struck"] = 0
    status = make_parts(world, solver, forest, collisions, recorded)
    world["dt"] = world["full_dt"]
    if status == FULL_SOLVER or status == FULL_COLLISIONS or status == FULL_FOREST or status == PAUSED:
        return status  # the next call resumes
    if status == DONE and world["part"] < world["full_dt"]:
        scale_contact_impulses(solver, world["full_dt"] / world["part"])
    world["phase"], world["elapsed"], world["part"] = MOVE, 0.0, 0.0
    set_step_length(solver, world["full_dt"])
    if status != DONE:
        return status
    if solver["drive_count"] + solver["applied_force_count"] > 0:
        finish_drives(solver)
    if world["patience"] < np.inf:
        update_sleep(world, solver, forest, 0, solver["island_count"])
    return advance_time_and_events(world, solver, forest, collisions)
