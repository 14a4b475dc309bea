"""One step of a world, wholly in kernels.

    forces, ABA ─> places of shapes ─> pairs, contacts ─> rows ─ solve ─> velocities and positions

A kernel that runs out of room says so; Python makes a larger table and calls again, and the step goes on where it was:
until the new state is written, at the very end, nothing of the old one has changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph._jit_clock import ticks
from kinemorph.collision.collide import find_pairs
from kinemorph.collision.contact_table import half_of
from kinemorph.collision.dispatch import find_contacts
from kinemorph.collision.shape_places import place_shape
from kinemorph.collision.shape_rows import BAD_BOX, COLLISIONS, CONTACT, FULL, MOUNT, PLACE, SHAPE
from kinemorph.contact.bounds import fill_bounds
from kinemorph.contact.burden import choose
from kinemorph.contact.drives import (
    choose_driven,
    find_drives,
    give_forces,
    keep_pushed_awake,
    push_bodies,
    settle_drives,
)
from kinemorph.contact.envelope import plan_envelopes
from kinemorph.contact.hold import find_holds, hold_forces, hold_rows, note_forces, tell_forces
from kinemorph.contact.islands import number_islands, sort_contacts, tie_trees, wake_islands
from kinemorph.contact.layout import SOLVER, SPAN, TOUCH
from kinemorph.contact.passing import let_pass
from kinemorph.contact.pulls import claim_pulls, fill_pulls, pull_all, tie_elements
from kinemorph.contact.rows import fill_touches
from kinemorph.contact.solve import solve
from kinemorph.contact.twists import fill_twists, keep_moments, stay_swept
from kinemorph.multibody.layout import LINK_DATA, TREE
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import add, axpy, cross, dot, scale
from kinemorph.structure.forest_layout import BODY_SLOT, FOREST, IN_USE, LOOPS, TREE_SLOT, TREES
from kinemorph.structure.forest_memory import pool_of
from kinemorph.world.layout import WORLD, WORLD_KIND, Phase, Stage, Status
from kinemorph.world.load import note_loads
from kinemorph.world.loops import advance_holds, bear_holds, plan_energies, spread_touches
from kinemorph.world.motion import AWAKE, WOKEN, accelerate, advance_trees, moves, set_in_motion
from kinemorph.world.sleep import let_sleep
from kinemorph.world.watch import look_out

FORCES, PAIRS, CONTACTS, ROWS, SOLUTION, MOTION = (int(stage) for stage in Stage)
MOVE, COLLIDE, FILL = int(Phase.MOVE), int(Phase.COLLIDE), int(Phase.FILL)
DONE, FULL_SOLVER, FULL_COLLISIONS = int(Status.DONE), int(Status.FULL_SOLVER), int(Status.FULL_COLLISIONS)
FULL_FOREST = int(Status.FULL_FOREST)
NOT_FINITE, WRONG_ROW, NO_BOX = int(Status.NOT_FINITE), int(Status.WRONG_ROW), int(Status.BAD_BOX)
HAPPENED = int(Status.EVENT)


@kernel
def lap(w: Any, stage: int, since: int) -> int:
    """Put down how long a stage took, if somebody wants to know. Returns the time now."""
    if w["clock"] == 0:
        return 0
    now = ticks()
    w["ticks"][stage] += now - since
    return now


@kernel(inline=False)
def place_bodies(w: Any, s: Any, forest: Any, c: Any) -> None:
    """Where the shapes of all bodies that are awake are, and how far they may come in a step."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    spans = rows_at(s["spans"], s["span_room"], SPAN)
    shapes = rows_at(c["shapes"], c["n"], SHAPE)
    places = rows_at(c["places"], c["n"], PLACE)
    mounts = rows_at(c["mounts"], c["n"], MOUNT)
    dt = w["dt"]
    fall = dt * sqrt(forest["gx"] ** 2 + forest["gy"] ** 2 + forest["gz"] ** 2)
    for i in range(c["n"]):
        if shapes[i]["form"] == 0 or shapes[i]["link"] < 0:
            continue
        slot = bodies[shapes[i]["link"]]
        span = spans[slot["tree"]]
        if span["asleep"] != 0:
            continue
        tree = rows_at(trees[slot["tree"]]["address"], 1, TREE)[0]
        d = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)[slot["link"] + 1]
        R, p = load9(d["R"]), load3(d["p"])
        if slot["moved"] != 0:
            p = add(p, mul_vec(R, load3(slot["p"])))
            R = mul(R, load9(slot["R"]))
        omega = load3(d["w"])
        arm = add(mul_vec(R, load3(mounts[i]["p"])), add(p, scale(load3(d["p"]), -1.0)))
        v = add(load3(d["v"]), cross(omega, arm))
        speed = sqrt(dot(v, v)) + sqrt(dot(omega, omega)) * mounts[i]["reach"]
        span["speed"] = max(span["speed"], speed)
        places[i]["sweep"] = dt * (speed + fall)
        store3(places[i]["travel"], scale(v, dt))
        place_shape(c, i, R, p)


@kernel(inline=False)
def keep_impulses(s: Any, c: Any, good: bool) -> None:
    """The impulses of contacts as world vectors: the next step starts from them, whatever the structure is by then.

    What sleeps keeps those that it had. Those of a step that came to nothing are none.
    """
    touches = rows_at(s["touches"], s["touch_count"], TOUCH)
    contacts = rows_at(c["contacts"], 2 * c["contact_room"], CONTACT)
    impulses = rows_at(s["impulses"], 3 * s["impulse_room"], F8)
    now = half_of(c["step"], c["contact_room"])
    for k in range(c["n_contacts"]):
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


@kernel
def all_asleep(s: Any, forest: Any) -> bool:
    """Whether there is nothing to do in a step."""
    spans = rows_at(s["spans"], s["span_room"], SPAN)
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    for t in range(pool_of(forest, TREES)["count"]):
        if spans[t]["asleep"] == 0 and trees[t]["next"] == IN_USE:
            return False
    return True


@kernel
def pass_time(w: Any, steps: int) -> None:
    w["steps"] += steps
    w["time"] = w["steps"] * w["dt"]  # no sum, which would drift


@kernel
def go_on(w: Any, s: Any, forest: Any, c: Any) -> int:
    """Time passes, and what has been waited for may have happened."""
    pass_time(w, 1)
    return HAPPENED if w["event_count"] > 0 and look_out(w, s, forest, c) else DONE


@kernel(inline=False)
def make_step(w: Any, none: Any) -> int:
    """One step. Returns a Status."""
    forest = rows_at(w["forest"], 1, FOREST)[0]
    c = rows_at(w["collisions"], 1, COLLISIONS)[0]
    s = rows_at(w["solver"], 1, SOLVER)[0]
    if w["phase"] == MOVE and all_asleep(s, forest):
        return go_on(w, s, forest, c)
    since = ticks() if w["clock"] != 0 else 0
    if w["phase"] == MOVE:
        status = accelerate(w, s, forest, AWAKE, none)
        if status != DONE:
            return status
        place_bodies(w, s, forest, c)
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
        if find_contacts(c) == FULL:
            return FULL_COLLISIONS
        w["phase"] = FILL
        since = lap(w, CONTACTS, since)
    tie_trees(s, forest, c)
    if forest["element_count"] > 0:
        tie_elements(s, forest)
    if wake_islands(s, forest) > 0:
        status = accelerate(w, s, forest, WOKEN, none)
        if status != DONE:
            w["phase"] = MOVE if status == NOT_FINITE else FILL
            return status
    s["Y_used"] = 0
    if not number_islands(s, forest):
        return FULL_SOLVER
    tied = pool_of(forest, LOOPS)["used"] > 0 or forest["element_count"] > 0
    memory = begin_ties(s, forest) if tied else 0
    if tied and memory == 0:
        return FULL_FOREST
    if s["drive_count"] > 0:
        find_drives(s, forest)
    if not (sort_contacts(s, forest, c) and fill_bounds(s, forest, memory) and fill_touches(s, forest, c)):
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
        note_loads(w, s, forest, c)
    good = moves(w, s, forest) and (not tied or advance_holds(w, s, forest))
    keep_impulses(s, c, good)
    if s["rough"] != 0:
        keep_moments(s, c, good)
    if not good:
        return NOT_FINITE
    advance_trees(w, s, forest)
    if s["drive_count"] + s["push_count"] > 0:
        settle_drives(s)
    if w["patience"] < np.inf:
        let_sleep(w, s, forest)
    status = go_on(w, s, forest, c)
    lap(w, MOTION, since)
    return status


@entry(nogil=True)
def run_steps(
    address: int, count: int, most: int, none: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> tuple[int, int]:
    """So many steps, or `most` of them if something is awake. Returns a Status, and how many steps are left to do."""
    w = rows_at(address, 1, WORLD)[0]
    if w["kind"] != WORLD_KIND:
        return WRONG_ROW, count
    forest, s = rows_at(w["forest"], 1, FOREST)[0], rows_at(w["solver"], 1, SOLVER)[0]
    for _ in range(min(count, most)):
        if w["phase"] == MOVE and w["event_count"] == 0 and all_asleep(s, forest):
            pass_time(w, count)  # nothing can wake anything before somebody else does
            return DONE, 0
        status = make_step(w, none)
        if status == DONE or status == HAPPENED:
            count -= 1
        if status != DONE:
            return status, count
    return DONE, count
