"""From contacts to the new state: islands, the rows of all that acts, their solution, and where it takes trees."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.islands import leave_flying, number_islands, sort_contacts, tie_trees, wake_islands
from kinemorph.contact.joint_warm_start import keep_bounds
from kinemorph.contact.layout import FULL_Y, SPAN, TOUCH
from kinemorph.contact.newton.load_estimate import choose
from kinemorph.contact.newton.skyline import plan_envelopes
from kinemorph.contact.newton.wedged_limits import choose_wedged
from kinemorph.contact.rows.contact_rows import fill_touches
from kinemorph.contact.rows.dof_limits import fill_bounds
from kinemorph.contact.rows.drive_rows import choose_driven, find_drives, give_forces, keep_pushed_awake, push_bodies
from kinemorph.contact.rows.fly_by import let_pass
from kinemorph.contact.rows.force_element_rows import claim_pulls, fill_pulls, pull_all, tie_elements
from kinemorph.contact.rows.ghost_edges import pass_seams
from kinemorph.contact.rows.loop_projection import find_holds, hold_forces, hold_rows, note_forces, tell_forces
from kinemorph.contact.rows.torsional_friction import fill_twists, keep_moments, stay_swept
from kinemorph.contact.warm_start import keep_old
from kinemorph.jit.api import kernel, rows_at
from kinemorph.jit.clock import ticks
from kinemorph.structure.forest.layout import LOOPS
from kinemorph.structure.forest.memory import pool_of
from kinemorph.world.impulse.rollback import exchange
from kinemorph.world.layout import Phase, Stage, Status
from kinemorph.world.step.bookkeeping import lap
from kinemorph.world.step.fluid_drag import drag_bodies
from kinemorph.world.step.joint_loads import note_loads
from kinemorph.world.step.loop_motion import advance_holds, bear_holds, plan_energies, spread_touches
from kinemorph.world.step.tree_motion import WOKEN, accelerate, count_trees, status_of
from kinemorph.world.threads.thread_rows import Shared
from kinemorph.world.threads.work_sharing import call_out, do_some, finish, is_shared, place_needs, share, share_out

ROWS, SOLUTION, MOTION = int(Stage.ROWS), int(Stage.SOLUTION), int(Stage.MOTION)
MOVE, FILL = int(Phase.MOVE), int(Phase.FILL)
MEASURE, FILL_TOUCHES = int(Shared.MEASURE), int(Shared.FILL)
SET_IN_MOTION, SOLVE = int(Shared.SET_IN_MOTION), int(Shared.SOLVE)
CHECK, KEEP_OLD, KEEP, ADVANCE = (int(x) for x in (Shared.CHECK, Shared.KEEP_OLD, Shared.KEEP, Shared.ADVANCE))
DONE, FULL_SOLVER, FULL_FOREST = int(Status.DONE), int(Status.FULL_SOLVER), int(Status.FULL_FOREST)
NOT_FINITE = int(Status.NOT_FINITE)


@kernel(inline=False)
def begin_ties(s: Any, forest: Any) -> int:
    """Room for all that loops and elements need in this step. Returns the address of some, 0 if there is none."""
    s["hold_count"] = s["pull_count"] = 0
    forest["scratch_used"] = forest["need"] = 0
    return claim_pulls(s, forest) if find_holds(s, forest) else 0


@kernel(inline=False)
def keep_conveyed_awake(s: Any) -> None:
    """What lies on a surface that moves does not sleep."""
    spans, touches = rows_at(s["spans"], s["span_room"], SPAN), rows_at(s["touches"], s["touch_count"], TOUCH)
    for i in range(s["touch_count"]):
        t = touches[i]
        if t["w1"] != 0.0 or t["w2"] != 0.0:
            if t["tree1"] >= 0:
                spans[t["tree1"]]["still"] = 0.0
            if t["tree2"] >= 0:
                spans[t["tree2"]]["still"] = 0.0


@kernel(inline=False)
def tie_all(w: Any, s: Any, forest: Any, c: Any, none: Any) -> int:
    """Islands, of which those wake that somebody awake is in. Returns a Status."""
    tie_trees(s, forest, c)
    if forest["element_count"] > 0:
        tie_elements(s, forest)
    if s["sleepers"] != 0 and wake_islands(s, forest) > 0:
        status = accelerate(w, s, forest, WOKEN, none)
        if status != DONE:
            return status
    s["Y_used"] = 0
    return DONE if number_islands(s, forest, w["model"] != 0) else FULL_SOLVER


@kernel
def fill_all(w: Any, s: Any, forest: Any, c: Any, none: Any) -> bool:
    """Rows for the contacts of islands that are awake. False if a table is full."""
    if not is_shared(w, s["island_count"]):
        return fill_touches(s, forest, c)
    s["bouncing"] = s["passing"] = s["paved"] = 0
    share_out(w, MEASURE, s["island_count"], none)
    used = place_needs(w, s["Y_used"])
    if used > s["Y_room"]:
        s["full"] |= FULL_Y
        return False
    s["Y_used"] = used
    share_out(w, FILL_TOUCHES, s["island_count"], none)
    return True


@kernel
def keep_all(w: Any, s: Any, c: Any, good: bool, none: Any) -> None:
    """The impulses of contacts, for the next step. What sleeps keeps those that it had."""
    if not good:
        keep_old(s, c, False, 0, c["n_contacts"])
        return
    if s["touch_count"] < c["n_contacts"]:
        share(w, KEEP_OLD, c["n_contacts"], none)
    share(w, KEEP, s["touch_count"], none)


@kernel(inline=False)
def plan_direct(w: Any, s: Any, forest: Any, c: Any) -> bool:
    """Say which islands are solved directly, and lay out their matrices. False if a table is full."""
    choose(s, forest, c, w["impacts"]["slow"])
    if s["figures"] != 0:
        choose_wedged(s)
    if s["drive_count"] > 0:
        choose_driven(s)
    if s["twist_count"] > 0:
        stay_swept(s)
    return plan_envelopes(s, forest)


@kernel(inline=False)
def carry_out(w: Any, s: Any, forest: Any, c: Any, none: Any) -> int:
    """Rows of all that acts, their solution, and the state after w["dt"]. Returns a Status."""
    since = ticks() if w["clock"] != 0 else 0
    status = tie_all(w, s, forest, c, none)
    if status != DONE:
        w["phase"] = MOVE if status == NOT_FINITE else FILL
        return status
    tied = pool_of(forest, LOOPS)["used"] > 0 or forest["element_count"] > 0
    memory = begin_ties(s, forest) if tied else 0
    if tied and memory == 0:
        return FULL_FOREST
    if s["drive_count"] > 0:
        find_drives(s, forest)
    early, trees = is_shared(w, count_trees(forest)), count_trees(forest)
    if early:
        call_out(w, SET_IN_MOTION, trees)
    filled = sort_contacts(s, forest, c) and fill_bounds(s, forest, memory)
    if early:
        finish(w, none)
    if not filled:
        return FULL_SOLVER
    if w["model"] != 0:
        leave_flying(s, c)
    if not fill_all(w, s, forest, c, none):
        return FULL_SOLVER
    s["twist_count"] = 0
    if s["rough"] != 0 and not fill_twists(s, forest, c):
        return FULL_SOLVER
    if tied and not (hold_rows(s) and fill_pulls(s, forest, memory)):
        return FULL_SOLVER
    if s["direct_work"] > 0 and not plan_direct(w, s, forest, c):
        return FULL_SOLVER
    w["phase"] = MOVE
    if not early:
        do_some(w, 0, SET_IN_MOTION, 0, 0, trees, none)
    if tied:
        bear_holds(s, forest, none)
        note_forces(s)
    if s["drive_count"] > 0:
        give_forces(s, forest)
    if s["push_count"] > 0:
        push_bodies(s, forest)
        keep_pushed_awake(s, forest)
    if w["fluid"] > 0.0:
        drag_bodies(w, s, forest, c)
    if s["conveys"] != 0:
        keep_conveyed_awake(s)
    if s["passing"] != 0:
        let_pass(s, c)
    if s["paved"] != 0:
        pass_seams(s, c)
    if tied:
        hold_forces(s)
        pull_all(s)
        plan_energies(s)
    since = lap(w, ROWS, since)
    share(w, SOLVE, s["island_count"], none)
    since = lap(w, SOLUTION, since)
    if tied:
        spread_touches(s, forest)
        tell_forces(s, forest)
    if w["event_count"] > 0:
        note_loads(w, s, forest, c, w["model"] == 0, w["dt"])
    if w["model"] != 0:
        exchange(s, forest, False)
    good = status_of(w, share(w, CHECK, count_trees(forest), none)) == DONE
    good = good and (not tied or advance_holds(w, s, forest))
    keep_all(w, s, c, good, none)
    if s["rough"] != 0:
        keep_moments(s, c, good)
    if not good:
        return NOT_FINITE
    if s["figures"] != 0:
        keep_bounds(s, forest)
    share(w, ADVANCE, count_trees(forest), none)
    lap(w, MOTION, since)
    return DONE
