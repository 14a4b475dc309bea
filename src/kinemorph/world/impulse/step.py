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
from kinemorph.collision.shapes.shape_rows import (
    BAD_BOX,
    FULL,
    contacts_of,
    memories_of,
    pairs_of,
)
from kinemorph.constraint.whiten import unwhiten_velocity, whiten_velocity
from kinemorph.contact.impulse.collisions import collide_all
from kinemorph.contact.islands import end_with_zeros, leave_far, sort_contacts
from kinemorph.contact.layout import contact_constraints, slices_of, stored_impulses, z_of
from kinemorph.contact.rows.contact_rows import fill_touches
from kinemorph.contact.rows.dof_limits import fill_bounds
from kinemorph.contact.rows.drive_rows import find_drives, settle_drives
from kinemorph.contact.rows.ghost_edges import pass_seams
from kinemorph.contact.rows.loop_projection import hold_rows
from kinemorph.jit.api import kernel, rows_at
from kinemorph.jit.clock import ticks
from kinemorph.multibody.algorithms.free_body import link_of, lone_of, unwhitened
from kinemorph.multibody.system import F8
from kinemorph.spatial.rows import load3_at, load9, store3, store3_at
from kinemorph.structure.forest.layout import LOOPS, TREES, V, tree_of, trees_of
from kinemorph.structure.forest.memory import pool_of, state_at
from kinemorph.world.brains.update import mull
from kinemorph.world.impulse.rollback import exchange
from kinemorph.world.impulse.time_to_impact import look_ahead
from kinemorph.world.layout import Phase, Stage, Status, collisions_of, forest_of, solver_of
from kinemorph.world.step.bookkeeping import advance_clock, all_asleep, lap
from kinemorph.world.step.island_building import build_islands, claim_ties
from kinemorph.world.step.joint_loads import note_loads
from kinemorph.world.step.pipeline import solve_and_integrate
from kinemorph.world.step.shape_bounds import place_bodies, stay_in_boxes
from kinemorph.world.step.sleep import let_sleep
from kinemorph.world.tree_motion.acceleration import AWAKE, accelerate

FORCES, PAIRS, CONTACTS, SOLUTION = (int(x) for x in (Stage.FORCES, Stage.PAIRS, Stage.CONTACTS, Stage.SOLUTION))
MOVE, COLLIDE, FILL, STRIKE = int(Phase.MOVE), int(Phase.COLLIDE), int(Phase.FILL), int(Phase.STRIKE)
DONE, FULL_SOLVER, FULL_COLLISIONS = int(Status.DONE), int(Status.FULL_SOLVER), int(Status.FULL_COLLISIONS)
FULL_FOREST, OVERLAP, NO_BOX = int(Status.FULL_FOREST), int(Status.OVERLAP), int(Status.BAD_BOX)
CUTS = 8  # of a part; then an overlap is accepted
MOST_STEP_PARTS = 5000  # of a step; after that the rest of it is one part
LONGEST_CONTACT_SUBSTEP = 1.25e-3  # s
STARTING_OVERLAP_SHARE = 1e-3  # of the envelope: a smaller overlap at the start is rounding
NO_TIME_SHARE = 1e-9  # of a step: a shorter time counts as 0


# -------------------------------------------------------------------------------------------------------------- undoing


@kernel
def undo(world: Any, solver: Any, forest: Any) -> None:
    """Restore the state at the start of the last part."""
    exchange(solver, forest, True)
    world["gone"] -= world["part"]
    world["part"] = 0.0
    world["undone"] += 1
    world["noted"] = 0
    world["phase"] = MOVE


@kernel(inline=False)
def overlapping(world: Any, collisions: Any, most: float) -> bool:
    """Whether two shapes overlap by more than `most`, m; the world's a and b are their rows."""
    pairs = pairs_of(collisions)
    for k in range(collisions["n_pairs"]):
        if pairs[k]["count"] > 0 and pairs[k]["distance"] < -most:
            world["a"], world["b"] = pairs[k]["a"], pairs[k]["b"]
            return True
    return False


# ----------------------------------------------------------------------------------------------------------- collisions


@kernel(inline=False)
def forget_strikes(collisions: Any) -> None:
    memories = memories_of(collisions)
    for r in range(collisions["room"]):
        memories[r]["struck"] = 0.0


@kernel(inline=False)
def see_velocities(solver: Any, forest: Any, back: bool) -> None:
    """Whitened velocities z of all awake trees; or their velocities from z (`back`)."""
    trees = trees_of(forest)
    spans, z = slices_of(solver), z_of(solver)
    for t in range(pool_of(forest, TREES)["count"]):
        o = spans[t]["offset"]
        if o < 0:
            continue
        tree = tree_of(trees[t])
        nv = tree["nv"]
        v = rows_at(state_at(trees[t], tree, V), nv, F8)
        if not back:
            whiten_velocity(tree, v, z[o : o + nv])
            end_with_zeros(spans[t], nv, z)
        elif tree["lone"] == 0:
            unwhiten_velocity(tree, z[o : o + nv], v)
        else:
            turn, push = unwhitened(lone_of(tree), load9(link_of(tree)["R"]), load3_at(z, o), load3_at(z, o + 3))
            store3(v, turn)
            store3_at(v, 3, push)


@kernel(inline=False)
def strike(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Apply the impulses of all collisions at the present time. Returns a Status."""
    status = build_islands(world, solver, forest, collisions)
    if status != DONE:
        return status
    tied = pool_of(forest, LOOPS)["used"] > 0
    memory = claim_ties(solver, forest) if tied else 0
    if tied and memory == 0:
        return FULL_FOREST
    if solver["drive_count"] > 0:
        find_drives(solver, forest)
    solver["twist_count"] = 0
    if not (sort_contacts(solver, forest, collisions) and fill_bounds(solver, forest, memory)):
        return FULL_SOLVER
    leave_far(solver, collisions, world["within"])
    if not fill_touches(solver, forest, collisions) or (tied and not hold_rows(solver)):
        return FULL_SOLVER
    if solver["paved"] != 0:
        pass_seams(solver, collisions)
    see_velocities(solver, forest, False)
    collide_all(solver, collisions, world["impacts"])
    see_velocities(solver, forest, True)
    if world["event_count"] > 0:
        note_loads(world, solver, forest, collisions, False, 0.0)
    return accelerate(world, solver, forest, AWAKE)


# ----------------------------------------------------------------------------------------------------------------- time


@kernel(inline=False)
def set_pace(solver: Any, length: float) -> None:
    """Set the solver's step length (s) and substeps, and scale the stored impulses in proportion."""
    n = max(1, int(length / LONGEST_CONTACT_SUBSTEP + 1.0 - NO_TIME_SHARE))
    ratio = length / n / solver["h"]
    solver["substeps"], solver["h"] = n, length / n
    if abs(ratio - 1.0) > NO_TIME_SHARE:
        impulses = stored_impulses(solver)
        for k in range(3 * solver["impulse_room"]):
            impulses[k] *= ratio


@kernel(inline=False)
def meet(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Poses, pairs and contacts before the first part or after a part. Returns a Status.

    The phase is MOVE if the part was undone, else STRIKE.
    """
    since = ticks() if world["clock"] != 0 else 0
    if world["phase"] == MOVE:
        world["dt"] = 0.0  # no implicit damping: collisions take no time
        status = accelerate(world, solver, forest, AWAKE)
        if status != DONE:
            return status
        world["dt"] = world["whole"]
        if world["mind_count"] > 0 and world["gone"] == 0.0:
            mull(world, solver, forest, collisions)
        if world["boxed"] != 0 and not stay_in_boxes(solver, forest, collisions):
            world["boxed"] = 0
            world["reach"] += 1.0
            if world["part"] > 0.0:
                undo(world, solver, forest)
                return DONE
        if world["boxed"] == 0:
            place_bodies(world, solver, forest, collisions, 0, collisions["n"])
        world["phase"] = COLLIDE
        since = lap(world, FORCES, since)
    if collisions["goes_on"] == 0 and world["boxed"] == 0:
        status = find_pairs(collisions)
        if status != DONE:
            return NO_BOX if status == BAD_BOX else FULL_COLLISIONS
        world["boxed"] = 1
        since = lap(world, PAIRS, since)
    if find_contacts(collisions) == FULL:
        return FULL_COLLISIONS
    world["phase"] = STRIKE
    lap(world, CONTACTS, since)
    epsilon = world["impacts"]["epsilon"]
    if world["fresh"] != 0:
        if overlapping(world, collisions, STARTING_OVERLAP_SHARE * epsilon if world["steps"] == 0 else epsilon):
            return OVERLAP
        world["fresh"] = 0
    if world["part"] > 0.0:
        if not overlapping(world, collisions, 0.0):
            world["cuts"], world["cap"] = 0, np.inf
        elif world["cuts"] < CUTS:
            world["cuts"], world["cap"] = world["cuts"] + 1, 0.5 * world["part"]
            undo(world, solver, forest)
        else:
            world["cap"] = np.inf
    return DONE


@kernel(inline=False)
def carry_all(collisions: Any) -> None:
    """Let all contacts be carried by the solver, none by collisions."""
    contacts = contacts_of(collisions)
    for k in range(2 * collisions["contact_room"]):
        contacts[k]["flies"] = 0


@kernel(inline=False)
def move_on(world: Any, solver: Any, forest: Any, collisions: Any, last: bool) -> int:
    """Apply collisions, choose the length of the next part, and advance by it. Returns a Status."""
    if world["phase"] == STRIKE:
        if world["event_count"] > 0 and world["noted"] == 0:
            solver["touch_count"] = solver["twist_count"] = 0  # nothing has acted so far
            note_loads(world, solver, forest, collisions, True, 0.0)
            world["noted"] = 1
        since = ticks() if world["clock"] != 0 else 0
        count, free = look_ahead(world, solver, forest, collisions)
        if count > 0:
            world["dt"] = 0.0
            status = strike(world, solver, forest, collisions)
            world["dt"] = world["whole"]
            if status != DONE:
                return status
            count, free = look_ahead(world, solver, forest, collisions)
        if last:
            carry_all(collisions)
        left = world["whole"] - world["gone"]
        h = left if last else min(free, world["cap"], left)
        world["part"] = left if h > (1.0 - NO_TIME_SHARE) * left else h
        world["phase"] = FILL
        lap(world, SOLUTION, since)
    world["dt"] = world["part"]
    set_pace(solver, world["part"])
    status = accelerate(world, solver, forest, AWAKE)
    if status != DONE:
        return status
    status = solve_and_integrate(world, solver, forest, collisions)
    if status == DONE:
        world["gone"] += world["part"]
        world["parts"] += 1
    return status


@kernel(inline=False)
def go_through(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Make all parts of a step, or resume at its Phase. Returns a Status."""
    made = 0
    while world["phase"] != MOVE or world["gone"] < (1.0 - NO_TIME_SHARE) * world["whole"]:
        if world["phase"] == MOVE or world["phase"] == COLLIDE:
            status = meet(world, solver, forest, collisions)
            if status != DONE:
                return status
        if world["phase"] != MOVE:
            made += 1
            status = move_on(world, solver, forest, collisions, made > MOST_STEP_PARTS)
            if status != DONE:
                return status
    return DONE


@kernel(inline=False)
def tell_of_step(solver: Any, ratio: float) -> None:
    """Scale the contact impulses of the last part to the whole step, as if the part had lasted for all of it.

    That is not the mean of the step: after a collision elsewhere, a short last part may be off by a tenth.
    """
    touches = contact_constraints(solver)
    for i in range(solver["touch_count"]):
        t = touches[i]
        t["sum"], t["sum1"], t["sum2"] = ratio * t["sum"], ratio * t["sum1"], ratio * t["sum2"]


@kernel(inline=False)
def make_impulse_step(world: Any) -> int:
    """Make one step, or resume it at its Phase. Returns a Status."""
    forest = forest_of(world)
    collisions = collisions_of(world)
    solver = solver_of(world)
    if world["phase"] == MOVE:
        if all_asleep(solver, forest):
            return advance_clock(world, solver, forest, collisions)
        world["whole"], world["part"], world["boxed"], world["noted"], world["reach"] = world["dt"], 0.0, 0, 0, 0.0
        if world["impacts"]["struck"] != 0:
            forget_strikes(collisions)
            world["impacts"]["struck"] = 0
    status = go_through(world, solver, forest, collisions)
    world["dt"] = world["whole"]
    if status == FULL_SOLVER or status == FULL_COLLISIONS or status == FULL_FOREST:
        return status  # the next call resumes
    if status == DONE and world["part"] < world["whole"]:
        tell_of_step(solver, world["whole"] / world["part"])
    world["phase"], world["gone"], world["part"] = MOVE, 0.0, 0.0
    set_pace(solver, world["whole"])
    if status != DONE:
        return status
    if solver["drive_count"] + solver["push_count"] > 0:
        settle_drives(solver)
    if world["patience"] < np.inf:
        let_sleep(world, solver, forest, 0, solver["island_count"])
    return advance_clock(world, solver, forest, collisions)
