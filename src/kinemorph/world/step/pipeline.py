"""One step of a world, wholly in kernels.

    forces, ABA ─> places of shapes ─> pairs, contacts ─> rows ─ solve ─> velocities and positions

A kernel that runs out of room says so; Python makes a larger table and calls again, and the step goes on where it was:
until the new state is written, at the very end, nothing of the old one has changed. Worlds whose contact is made of
impulses go by `world.impulse.step`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.collide import find_pairs
from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes.shape_rows import BAD_BOX, COLLISIONS, FULL
from kinemorph.collision.threaded_narrow_phase import SCOUT, await_scouts, hand_over_all, hand_over_rest, send_scouts
from kinemorph.contact.layout import SOLVER
from kinemorph.contact.rows.drive_rows import settle_drives
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.jit.clock import ticks
from kinemorph.structure.forest.layout import FOREST
from kinemorph.world.brains.instance_rows import MINDS
from kinemorph.world.brains.update import begin_minds, mull
from kinemorph.world.impulse.step import make_impulse_step
from kinemorph.world.layout import WORLD, WORLD_KIND, ContactModel, Phase, Stage, Status
from kinemorph.world.step.bookkeeping import advance_clock, all_asleep, lap, pass_time
from kinemorph.world.step.contact_stages import carry_out
from kinemorph.world.step.tree_motion import count_trees, status_of
from kinemorph.world.threads.thread_rows import CREW, Shared
from kinemorph.world.threads.work_sharing import border, is_shared, share, share_out

FORCES, PAIRS, CONTACTS, MOTION = (int(x) for x in (Stage.FORCES, Stage.PAIRS, Stage.CONTACTS, Stage.MOTION))
ACCELERATE, PLACE, LOOK, SLEEP = (int(x) for x in (Shared.ACCELERATE, Shared.PLACE, Shared.LOOK, Shared.SLEEP))
HAND_OVER = int(Shared.HAND_OVER)
MOVE, COLLIDE, FILL = int(Phase.MOVE), int(Phase.COLLIDE), int(Phase.FILL)
DONE, FULL_COLLISIONS = int(Status.DONE), int(Status.FULL_COLLISIONS)
WRONG_ROW, NO_BOX = int(Status.WRONG_ROW), int(Status.BAD_BOX)
HAPPENED, STOPPED, BY_STEPS = int(Status.EVENT), int(Status.STOPPED), int(ContactModel.STEPS)


@kernel
def look_at_all(w: Any, c: Any, none: Any) -> bool:
    """Find the contacts of all pairs. False if a table is full."""
    begun = c["goes_on"] != 0 and c["next"] > 0
    if begun or not is_shared(w, c["n_met"]) or rows_at(w["crew"], 1, CREW)[0]["plain"] == 0:
        return find_contacts(c) != FULL
    crew = rows_at(w["crew"], 1, CREW)[0]
    scouts, count = crew["scouts"], crew["threads"]
    if not send_scouts(c, scouts, count):
        return False
    for i in range(count):
        rows = rows_at(scouts, count, SCOUT)
        rows[i]["first"], rows[i]["stop"] = border(crew, c["n_met"], i), border(crew, c["n_met"], i + 1)
    share_out(w, LOOK, count, none)
    if await_scouts(c, scouts, count):
        if count == 2:
            share_out(w, HAND_OVER, count, none)
        else:
            hand_over_all(c, scouts, count)
    for i in range(count):
        hand_over_rest(c, rows_at(scouts, count, SCOUT)[i])
    return True


@kernel
def make_step(w: Any, none: Any) -> int:
    """One step. Returns a Status."""
    forest = rows_at(w["forest"], 1, FOREST)[0]
    c = rows_at(w["collisions"], 1, COLLISIONS)[0]
    s = rows_at(w["solver"], 1, SOLVER)[0]
    if w["phase"] == MOVE and all_asleep(s, forest):
        return advance_clock(w, s, forest, c)
    since = ticks() if w["clock"] != 0 else 0
    if w["phase"] == MOVE:
        s["sleepers"] = s["figures"] = 0
        status = status_of(w, share(w, ACCELERATE, count_trees(forest), none))
        if status != DONE:
            return status
        share(w, PLACE, c["n"], none)
        if w["mind_count"] > 0:
            mull(w, s, forest, c)
        w["phase"] = COLLIDE
        since = lap(w, FORCES, since)
    if w["phase"] == COLLIDE:
        if c["goes_on"] == 0:
            status = find_pairs(c)
            if status == BAD_BOX:
                w["phase"] = MOVE
                return NO_BOX
            if status == FULL:
                return FULL_COLLISIONS
            since = lap(w, PAIRS, since)
        if not look_at_all(w, c, none):
            return FULL_COLLISIONS
        w["phase"] = FILL
        lap(w, CONTACTS, since)
    status = carry_out(w, s, forest, c, none)
    if status != DONE:
        return status
    since = ticks() if w["clock"] != 0 else 0
    if s["drive_count"] + s["push_count"] > 0:
        settle_drives(s)
    if w["patience"] < np.inf:
        share(w, SLEEP, s["island_count"], none)
    status = advance_clock(w, s, forest, c)
    lap(w, MOTION, since)
    return status


@entry(nogil=True)
def run_steps(
    address: int, count: int, most: int, none: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> tuple[int, int]:
    """So many steps, or `most` of them if something is awake. Returns a Status, and how many steps are left to do."""
    w = rows_at(address, 1, WORLD)[0]
    return make_steps(w, count, most, none) if w["kind"] == WORLD_KIND else (WRONG_ROW, count)


@kernel(inline=False)
def make_steps(w: Any, count: int, most: int, none: Any) -> tuple[int, int]:
    """The same, for kernels."""
    forest, s = rows_at(w["forest"], 1, FOREST)[0], rows_at(w["solver"], 1, SOLVER)[0]
    for _ in range(min(count, most)):
        if w["phase"] == MOVE and w["event_count"] == 0 and all_asleep(s, forest):
            pass_time(w, count)  # nothing can wake anything before somebody else does
            return DONE, 0
        if w["mind_count"] > 0 and w["phase"] == MOVE and w["gone"] == 0.0:
            status = begin_minds(w)
            if status != DONE:
                return status, count
        status = make_step(w, none) if w["model"] == BY_STEPS else make_impulse_step(w, none)
        if status == DONE or status == HAPPENED:
            count -= 1
            if status == DONE and w["mind_count"] > 0 and rows_at(w["minds"], 1, MINDS)[0]["stops"] != 0:
                status = STOPPED
        if status != DONE:
            return status, count
    return DONE, count
