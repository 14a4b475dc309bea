"""From contacts to the new state: islands, the rows of all that acts, their solution, and where it takes trees."""

from __future__ import annotations

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph._jit_clock import ticks
from kinemorph.collision.contact_table import half_of
from kinemorph.collision.shape_rows import CONTACT
from kinemorph.contact.bounds import fill_bounds
from kinemorph.contact.burden import choose
from kinemorph.contact.drives import choose_driven, find_drives, give_forces, keep_pushed_awake, push_bodies
from kinemorph.contact.envelope import plan_envelopes
from kinemorph.contact.hold import find_holds, hold_forces, hold_rows, note_forces, tell_forces
from kinemorph.contact.islands import leave_contacts, number_islands, sort_contacts, tie_trees, wake_islands
from kinemorph.contact.layout import SPAN, TOUCH
from kinemorph.contact.passing import let_pass
from kinemorph.contact.pulls import claim_pulls, fill_pulls, pull_all, tie_elements
from kinemorph.contact.rows import fill_touches
from kinemorph.contact.solve import solve
from kinemorph.contact.twists import fill_twists, keep_moments, stay_swept
from kinemorph.multibody.system import F8
from kinemorph.spatial.rows import load3, load3_at, store3_at
from kinemorph.spatial.vec3 import axpy, scale
from kinemorph.structure.forest_layout import LOOPS
from kinemorph.structure.forest_memory import pool_of
from kinemorph.world.drag import drag_bodies
from kinemorph.world.layout import Phase, Stage, Status
from kinemorph.world.load import note_loads
from kinemorph.world.loops import advance_holds, bear_holds, plan_energies, spread_touches
from kinemorph.world.motion import WOKEN, accelerate, advance_trees, moves, set_in_motion
from kinemorph.world.pace import lap
from kinemorph.world.undo import exchange

ROWS, SOLUTION, MOTION = int(Stage.ROWS), int(Stage.SOLUTION), int(Stage.MOTION)
MOVE, FILL = int(Phase.MOVE), int(Phase.FILL)
DONE, FULL_SOLVER, FULL_FOREST = int(Status.DONE), int(Status.FULL_SOLVER), int(Status.FULL_FOREST)
NOT_FINITE = int(Status.NOT_FINITE)


@kernel(inline=False)
def keep_impulses(s: Any, c: Any, good: bool) -> None:
    """The impulses of contacts as world vectors: the next step starts from them, whatever the structure is by then.

    What sleeps keeps those that it had. Those of a step that came to nothing are none.
    """
    touches = rows_at(s["touches"], s["touch_count"], TOUCH)
    contacts = rows_at(c["contacts"], 2 * c["contact_room"], CONTACT)
    impulses = rows_at(s["impulses"], 3 * s["impulse_room"], F8)
    now = half_of(c["step"], c["contact_room"])
    all_awake = good and s["touch_count"] == c["n_contacts"]
    for k in range(0 if all_awake else c["n_contacts"]):
        before = contacts[now + k]["before"]
        p = (0.0, 0.0, 0.0)
        if good and before >= 0:
            p = load3_at(impulses, 3 * (c["contact_room"] - now + before))
        store3_at(impulses, 3 * (now + k), p)
    for i in range(s["touch_count"] if good else 0):
        t = touches[i]
        p = scale(load3(t["normal"]), t["pn"])
        p = axpy(axpy(p, t["p1"], load3(t["t1"])), t["p2"], load3(t["t2"]))
        store3_at(impulses, 3 * (now + t["contact"]), p)


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
    if wake_islands(s, forest) > 0:
        status = accelerate(w, s, forest, WOKEN, none)
        if status != DONE:
            return status
    s["Y_used"] = 0
    return DONE if number_islands(s, forest) else FULL_SOLVER


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
    if not (sort_contacts(s, forest, c) and fill_bounds(s, forest, memory)):
        return FULL_SOLVER
    if w["model"] != 0:
        leave_contacts(s, c, w["within"], True)
    if not fill_touches(s, forest, c):
        return FULL_SOLVER
    s["twist_count"] = 0
    if s["rough"] != 0 and not fill_twists(s, forest, c):
        return FULL_SOLVER
    if tied and not (hold_rows(s) and fill_pulls(s, forest, memory)):
        return FULL_SOLVER
    choose(s, forest, c)
    if s["drive_count"] > 0:
        choose_driven(s)
    if s["twist_count"] > 0:
        stay_swept(s)
    if not plan_envelopes(s, forest):
        return FULL_SOLVER
    w["phase"] = MOVE
    set_in_motion(s, forest)
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
    if tied:
        hold_forces(s)
        pull_all(s)
        plan_energies(s)
    since = lap(w, ROWS, since)
    solve(s, 0, s["island_count"])
    since = lap(w, SOLUTION, since)
    if tied:
        spread_touches(s, forest)
        tell_forces(s, forest)
    if w["event_count"] > 0:
        note_loads(w, s, forest, c, w["model"] == 0, w["dt"])
    if w["model"] != 0:
        exchange(s, forest, False)
    good = moves(w, s, forest) and (not tied or advance_holds(w, s, forest))
    keep_impulses(s, c, good)
    if s["rough"] != 0:
        keep_moments(s, c, good)
    if not good:
        return NOT_FINITE
    advance_trees(w, s, forest, none)
    lap(w, MOTION, since)
    return DONE
