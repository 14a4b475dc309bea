"""Stages of a step that worker threads may share. Each function computes its rows alone if there are few, or shares
them out under the number of the stage (`threads.work_sharing.run_part` computes a batch of that number)."""

from __future__ import annotations

from typing import Any

from kinemorph.collision import threaded_narrow_phase
from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes.shape_rows import FULL
from kinemorph.contact.layout import FULL_Y
from kinemorph.contact.rows.contact_rows import fill_all_contacts
from kinemorph.contact.substeps import solve_island_range
from kinemorph.contact.warm_start import carry_over_impulses, store_contact_impulses
from kinemorph.jit.api import kernel, rows_at
from kinemorph.structure.forest.memory import count_trees
from kinemorph.world.layout import Status
from kinemorph.world.step.falling_asleep import update_sleep
from kinemorph.world.step.shape_bounds import predict_shape_poses
from kinemorph.world.threads.thread_rows import SharedStage, workers_of
from kinemorph.world.threads.work_sharing import (
    assign_batch_offsets,
    find_part_start,
    finish_shared_stage,
    is_worth_sharing,
    run_shared_stage,
    start_shared_stage,
)
from kinemorph.world.tree_motion.acceleration import (
    AWAKE,
    accelerate_tree_range,
    status_of_result,
    whiten_start_velocities,
)
from kinemorph.world.tree_motion.integration import advance_tree_range, find_runaway_tree

ACCELERATE, PLACE = int(SharedStage.ACCELERATE), int(SharedStage.PLACE)
LOOK, SLEEP = int(SharedStage.LOOK), int(SharedStage.SLEEP)
HAND_OVER, MEASURE, FILL = int(SharedStage.HAND_OVER), int(SharedStage.MEASURE), int(SharedStage.FILL)
SET_IN_MOTION, SOLVE, CHECK = int(SharedStage.SET_IN_MOTION), int(SharedStage.SOLVE), int(SharedStage.CHECK)
KEEP_OLD, KEEP, ADVANCE = int(SharedStage.KEEP_OLD), int(SharedStage.KEEP), int(SharedStage.ADVANCE)
DONE = int(Status.DONE)


@kernel(inline=False)
def accelerate_trees(world: Any, solver: Any, forest: Any) -> int:
    """Accelerations of all awake trees without contacts and other constraint rows. Returns a Status."""
    count = count_trees(forest)
    solver["any_asleep"] = solver["any_jointed"] = 0
    if is_worth_sharing(world, count):
        return status_of_result(world, run_shared_stage(world, ACCELERATE, count))
    return status_of_result(world, accelerate_tree_range(world, solver, forest, AWAKE, 0, 0, count))


@kernel(inline=False)
def place_shapes(world: Any, solver: Any, forest: Any, collisions: Any) -> None:
    """Poses of the shapes of awake bodies, and how far they may move during the step."""
    if is_worth_sharing(world, collisions["n"]):
        run_shared_stage(world, PLACE, collisions["n"])
    else:
        predict_shape_poses(world, solver, forest, collisions, 0, collisions["n"])


@kernel
def find_all_contacts(world: Any, collisions: Any) -> bool:
    """Contact points of all pairs whose boxes overlap, in the same order for any threads. False if a table is full."""
    begun = collisions["goes_on"] != 0 and collisions["next"] > 0
    if begun or not is_worth_sharing(world, collisions["n_met"]) or workers_of(world)["all_shapes_threadable"] == 0:
        return find_contacts(collisions) != FULL
    crew = workers_of(world)
    scouts, count = crew["narrow_workers"], crew["threads"]
    if not threaded_narrow_phase.begin_workers(collisions, scouts, count):
        return False
    for i in range(count):
        rows = rows_at(scouts, count, threaded_narrow_phase.NARROW_WORKER)
        rows[i]["first"] = find_part_start(crew, collisions["n_met"], i)
        rows[i]["stop"] = find_part_start(crew, collisions["n_met"], i + 1)
    run_shared_stage(world, LOOK, count)
    if threaded_narrow_phase.collect_workers(collisions, scouts, count):
        if count == 2:
            run_shared_stage(world, HAND_OVER, count)
        else:
            threaded_narrow_phase.move_all_worker_rows(collisions, scouts, count)
    for i in range(count):
        threaded_narrow_phase.append_spare_rows(
            collisions, rows_at(scouts, count, threaded_narrow_phase.NARROW_WORKER)[i]
        )
    return True


@kernel(inline=False)
def fill_contact_rows(world: Any, solver: Any, forest: Any, collisions: Any) -> bool:
    """Constraint rows of the contacts of awake islands. False if a table is full."""
    if not is_worth_sharing(world, solver["island_count"]):
        return fill_all_contacts(solver, forest, collisions)
    solver["bouncing"] = solver["any_fly_by"] = solver["any_convex_ground"] = 0
    run_shared_stage(world, MEASURE, solver["island_count"])
    used = assign_batch_offsets(world, solver["Y_used"])
    if used > solver["Y_room"]:
        solver["full"] |= FULL_Y
        return False
    solver["Y_used"] = used
    run_shared_stage(world, FILL, solver["island_count"])
    return True


@kernel
def begin_start_velocities(world: Any, trees: int) -> bool:
    """Let worker threads compute whitened velocities while this one fills rows. False if there are none."""
    shared = is_worth_sharing(world, trees)
    if shared:
        start_shared_stage(world, SET_IN_MOTION, trees)
    return shared


@kernel
def finish_start_velocities(world: Any) -> None:
    """Complete the whitened velocities that `begin_start_velocities` has started."""
    finish_shared_stage(world)


@kernel(inline=False)
def compute_start_velocities(solver: Any, forest: Any, trees: int) -> None:
    """Whitened velocities and accelerations of awake trees, by this thread alone."""
    whiten_start_velocities(solver, forest, 0, trees)


@kernel(inline=False)
def solve_islands(world: Any, solver: Any) -> None:
    """Impulses of all constraints, and the velocities after them, island by island."""
    if is_worth_sharing(world, solver["island_count"]):
        run_shared_stage(world, SOLVE, solver["island_count"])
    else:
        solve_island_range(solver, 0, solver["island_count"])


@kernel(inline=False)
def check_velocities(world: Any, solver: Any, forest: Any) -> bool:
    """Whether all velocities are finite and below the speed of light; else world["tree"] is the first that is not."""
    count = count_trees(forest)
    if is_worth_sharing(world, count):
        return status_of_result(world, run_shared_stage(world, CHECK, count)) == DONE
    return status_of_result(world, find_runaway_tree(world, solver, forest, 0, count)) == DONE


@kernel(inline=False)
def store_impulses(world: Any, solver: Any, collisions: Any, good: bool) -> None:
    """Contact impulses into the warm-start cache. Sleeping islands and a failed step keep the old ones."""
    contacts, solved = collisions["n_contacts"], solver["contact_count"]
    if not good:
        carry_over_impulses(solver, collisions, False, 0, contacts)
        return
    if solved < contacts:
        if is_worth_sharing(world, contacts):
            run_shared_stage(world, KEEP_OLD, contacts)
        else:
            carry_over_impulses(solver, collisions, True, 0, contacts)
    if is_worth_sharing(world, solved):
        run_shared_stage(world, KEEP, solved)
    else:
        store_contact_impulses(solver, collisions, 0, solved)


@kernel(inline=False)
def integrate_trees(world: Any, solver: Any, forest: Any) -> None:
    """New velocities and positions of all awake trees that no loops tie."""
    count = count_trees(forest)
    if is_worth_sharing(world, count):
        run_shared_stage(world, ADVANCE, count)
    else:
        advance_tree_range(world, solver, forest, 0, count)


@kernel(inline=False)
def put_islands_to_sleep(world: Any, solver: Any, forest: Any) -> None:
    """Put islands to sleep that have been still for world["patience"] seconds."""
    if is_worth_sharing(world, solver["island_count"]):
        run_shared_stage(world, SLEEP, solver["island_count"])
    else:
        update_sleep(world, solver, forest, 0, solver["island_count"])
