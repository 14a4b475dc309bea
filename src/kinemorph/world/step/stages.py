"""Stages of a step that worker threads may share. Each function computes its rows alone if there are few, or shares
them out under the number of the stage (`threads.work_sharing.run_part` computes a batch of that number)."""

from __future__ import annotations

from typing import Any

from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes.shape_rows import FULL
from kinemorph.collision.threaded_narrow_phase import SCOUT, await_scouts, hand_over_all, hand_over_rest, send_scouts
from kinemorph.contact.layout import FULL_Y
from kinemorph.contact.rows.contact_rows import fill_touches
from kinemorph.contact.solve_step import solve
from kinemorph.contact.warm_start import keep_impulses, keep_old
from kinemorph.jit.api import kernel, rows_at
from kinemorph.structure.forest.memory import count_trees
from kinemorph.world.layout import Status
from kinemorph.world.step.shape_bounds import place_bodies
from kinemorph.world.step.sleep import let_sleep
from kinemorph.world.threads.thread_rows import Shared, crew_of
from kinemorph.world.threads.work_sharing import border, call_out, finish, is_shared, place_needs, share_out
from kinemorph.world.tree_motion.acceleration import AWAKE, accelerate_some, set_in_motion, status_of
from kinemorph.world.tree_motion.integration import advance_trees, moves

ACCELERATE, PLACE, LOOK, SLEEP = int(Shared.ACCELERATE), int(Shared.PLACE), int(Shared.LOOK), int(Shared.SLEEP)
HAND_OVER, MEASURE, FILL = int(Shared.HAND_OVER), int(Shared.MEASURE), int(Shared.FILL)
SET_IN_MOTION, SOLVE, CHECK = int(Shared.SET_IN_MOTION), int(Shared.SOLVE), int(Shared.CHECK)
KEEP_OLD, KEEP, ADVANCE = int(Shared.KEEP_OLD), int(Shared.KEEP), int(Shared.ADVANCE)
DONE = int(Status.DONE)


@kernel(inline=False)
def accelerate_trees(world: Any, solver: Any, forest: Any) -> int:
    """Accelerations of all awake trees without contacts and other constraint rows. Returns a Status."""
    count = count_trees(forest)
    solver["sleepers"] = solver["figures"] = 0
    if is_shared(world, count):
        return status_of(world, share_out(world, ACCELERATE, count))
    return status_of(world, accelerate_some(world, solver, forest, AWAKE, 0, 0, count))


@kernel(inline=False)
def place_shapes(world: Any, solver: Any, forest: Any, collisions: Any) -> None:
    """Poses of the shapes of awake bodies, and how far they may move during the step."""
    if is_shared(world, collisions["n"]):
        share_out(world, PLACE, collisions["n"])
    else:
        place_bodies(world, solver, forest, collisions, 0, collisions["n"])


@kernel
def find_all_contacts(world: Any, collisions: Any) -> bool:
    """Contact points of all pairs whose boxes overlap, in the same order for any threads. False if a table is full."""
    begun = collisions["goes_on"] != 0 and collisions["next"] > 0
    if begun or not is_shared(world, collisions["n_met"]) or crew_of(world)["plain"] == 0:
        return find_contacts(collisions) != FULL
    crew = crew_of(world)
    scouts, count = crew["scouts"], crew["threads"]
    if not send_scouts(collisions, scouts, count):
        return False
    for i in range(count):
        rows = rows_at(scouts, count, SCOUT)
        rows[i]["first"] = border(crew, collisions["n_met"], i)
        rows[i]["stop"] = border(crew, collisions["n_met"], i + 1)
    share_out(world, LOOK, count)
    if await_scouts(collisions, scouts, count):
        if count == 2:
            share_out(world, HAND_OVER, count)
        else:
            hand_over_all(collisions, scouts, count)
    for i in range(count):
        hand_over_rest(collisions, rows_at(scouts, count, SCOUT)[i])
    return True


@kernel(inline=False)
def fill_contact_rows(world: Any, solver: Any, forest: Any, collisions: Any) -> bool:
    """Constraint rows of the contacts of awake islands. False if a table is full."""
    if not is_shared(world, solver["island_count"]):
        return fill_touches(solver, forest, collisions)
    solver["bouncing"] = solver["passing"] = solver["paved"] = 0
    share_out(world, MEASURE, solver["island_count"])
    used = place_needs(world, solver["Y_used"])
    if used > solver["Y_room"]:
        solver["full"] |= FULL_Y
        return False
    solver["Y_used"] = used
    share_out(world, FILL, solver["island_count"])
    return True


@kernel
def begin_start_velocities(world: Any, trees: int) -> bool:
    """Let worker threads compute whitened velocities while this one fills rows. False if there are none."""
    shared = is_shared(world, trees)
    if shared:
        call_out(world, SET_IN_MOTION, trees)
    return shared


@kernel
def finish_start_velocities(world: Any) -> None:
    """Complete the whitened velocities that `begin_start_velocities` has started."""
    finish(world)


@kernel(inline=False)
def compute_start_velocities(solver: Any, forest: Any, trees: int) -> None:
    """Whitened velocities and accelerations of awake trees, by this thread alone."""
    set_in_motion(solver, forest, 0, trees)


@kernel(inline=False)
def solve_islands(world: Any, solver: Any) -> None:
    """Impulses of all constraints, and the velocities after them, island by island."""
    if is_shared(world, solver["island_count"]):
        share_out(world, SOLVE, solver["island_count"])
    else:
        solve(solver, 0, solver["island_count"])


@kernel(inline=False)
def check_velocities(world: Any, solver: Any, forest: Any) -> bool:
    """Whether all velocities are finite and below the speed of light; else world["tree"] is the first that is not."""
    count = count_trees(forest)
    if is_shared(world, count):
        return status_of(world, share_out(world, CHECK, count)) == DONE
    return status_of(world, moves(world, solver, forest, 0, count)) == DONE


@kernel(inline=False)
def store_impulses(world: Any, solver: Any, collisions: Any, good: bool) -> None:
    """Contact impulses into the warm-start cache. Sleeping islands and a failed step keep the old ones."""
    contacts, touches = collisions["n_contacts"], solver["touch_count"]
    if not good:
        keep_old(solver, collisions, False, 0, contacts)
        return
    if touches < contacts:
        if is_shared(world, contacts):
            share_out(world, KEEP_OLD, contacts)
        else:
            keep_old(solver, collisions, True, 0, contacts)
    if is_shared(world, touches):
        share_out(world, KEEP, touches)
    else:
        keep_impulses(solver, collisions, 0, touches)


@kernel(inline=False)
def integrate_trees(world: Any, solver: Any, forest: Any) -> None:
    """New velocities and positions of all awake trees that no loops tie."""
    count = count_trees(forest)
    if is_shared(world, count):
        share_out(world, ADVANCE, count)
    else:
        advance_trees(world, solver, forest, 0, count)


@kernel(inline=False)
def put_islands_to_sleep(world: Any, solver: Any, forest: Any) -> None:
    """Put islands to sleep that have been still for world["patience"] seconds."""
    if is_shared(world, solver["island_count"]):
        share_out(world, SLEEP, solver["island_count"])
    else:
        let_sleep(world, solver, forest, 0, solver["island_count"])
