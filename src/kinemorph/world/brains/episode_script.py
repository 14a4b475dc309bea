"""Scripted episodes: segments that begin by switching the brain on or off, changing gravity, or an impulse on the body.

All segments run in one kernel call, unless the world has watches, timers, listeners or worker threads.
"""

from __future__ import annotations

from math import inf
from threading import get_ident
from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.structure.forest.layout import DONE as CARRIED
from kinemorph.structure.forest.memory import set_forest_gravity
from kinemorph.structure.forest.velocity_changes import add_free_body_velocity
from kinemorph.world.brains.brain_instances import WINDOW_LENGTH, BrainInstance
from kinemorph.world.brains.episode_statistics import record_present_state
from kinemorph.world.brains.instance_rows import MIND, minds_of
from kinemorph.world.brains.statistics_reset import reset_statistics
from kinemorph.world.brains.target_poses import body_slot
from kinemorph.world.brains.update import change_brain_sleep
from kinemorph.world.layout import WORLD, WORLD_KIND, ContactModel, Status, forest_of
from kinemorph.world.step.many_steps import make_steps

DONE, STOPPED, WRONG_ROW = int(Status.DONE), int(Status.STOPPED), int(Status.WRONG_ROW)
BY_STEPS = int(ContactModel.STEPS)
MOST_STEPS_A_CALL = 20_000  # steps of one call, which cannot be interrupted
BEFORE, MADE, BROKEN = 0, 1, 2  # state of a segment: before its start, completed, or ended early
AWAKE, ASLEEP = 1, 2
ENDED, NOT_BEGUN = -1, -2  # instead of the number of steps left

SEGMENT = np.dtype(
    [
        ("steps", "i8"),  # at most
        ("mind", "i8"),  # AWAKE or ASLEEP from its start on; 0: unchanged
        ("sets_gravity", "i8"),  # whether gravity changes at its start, to
        ("gravity", "f8", 3),  # m/s²
        ("has_impulse", "i8"),  # whether velocity and angular velocity change at its start, by
        ("velocity_change", "f8", 6),  # m/s and rad/s, world axes
        ("watched", "i8"),  # whether episode statistics restart at its start, with
        ("budget", "i8"),  # limit of the work of steps, and
        ("until_still", "f8"),  # s, end once still for so long; a body that never is ends the episode
        ("steps_recorded", "i8"),  # steps in the statistics at its end; this and the fields below are results
        ("gap", "f8"),  # m, to the target
        ("gap_sum", "f8"),  # m, sum of the gaps of all these steps
        ("still", "f8"),  # s, for how long it has been still
        ("centre", "f8", 3),  # m, its centre of mass
    ]
)
Segments = np.ndarray[tuple[int], np.dtype[np.void]]


def make_segments(count: int) -> Segments:
    """A table of `count` segments without any action."""
    found = np.zeros(count, SEGMENT)
    found["until_still"] = inf
    return found


def run_script(mind: BrainInstance, script: Segments) -> int:
    """Run a scripted episode. Returns the number of segments run, including one that ended early.

    The episode ends after a segment that an event or its budget has ended early, unless the next one restarts the
    statistics; and after a segment that should have ended still, and did not.
    """
    mind._one()  # raises if the instance has ended
    world, k, state = mind.world, 0, BEFORE
    window = round(WINDOW_LENGTH / world.dt)
    while True:
        alone = _fits_one_call(mind, script[k:])
        if alone:
            world._follow_shapes()
            world._newcomers = []  # `life["depth"]` measures their overlap
            world._stepping_thread = get_ident()
        try:
            k, left = run_segments(world._address, mind.row, script, k, state, alone, window)
        finally:
            if alone:
                world._stepping_thread = 0
        if left == ENDED:
            return k
        if left == NOT_BEGUN:
            _begin_segment(mind, script[k])
            left = int(script[k]["steps"])
        end = int(world._header[0]["steps"]) + left
        world.step(left)
        state = MADE if int(world._header[0]["steps"]) == end else BROKEN


def _fits_one_call(mind: BrainInstance, script: Segments) -> bool:
    """Whether one kernel call may run the whole script."""
    world = mind.world
    others = world._monitors._monitors or world._timers._timers or world.observers or world._worker_threads is not None
    if others or world._stepping_thread or int(script["steps"].sum()) > MOST_STEPS_A_CALL:
        return False
    h = world._header[0]
    watched = world._brain_instances.header[0]["watched"] or script[0]["watched"]
    return bool(watched and h["patience"] == inf and h["model"] == BY_STEPS)


def _begin_segment(mind: BrainInstance, stretch: Any) -> None:
    """Apply the actions at the start of a segment, from Python; all but the impulse notify listeners."""
    world = mind.world
    if stretch["mind"]:
        mind.asleep = stretch["mind"] == ASLEEP
    if stretch["sets_gravity"]:
        world.gravity = stretch["gravity"]
    if stretch["has_impulse"]:
        world.forest.knock(int(mind._one()["body"]), stretch["velocity_change"][:3], stretch["velocity_change"][3:])
    if stretch["watched"]:
        world.brains.begin_statistics(int(stretch["budget"]), float(stretch["until_still"]))


@entry(nogil=True)
def run_segments(
    address: int, row: int, script: Segments, index: int, state: int, alone: bool, window: int,
) -> tuple[int, int]:  # fmt: skip
    """Run a script from segment k, whose `state` is BEFORE, MADE or BROKEN; if not `alone`, only complete that segment.

    Returns the number of the segment reached, and how many of its steps Python must make, or NOT_BEGUN (Python must
    begin it), or ENDED (the episode has ended before it).
    """
    world = rows_at(address, 1, WORLD)[0]
    if world["kind"] != WORLD_KIND:
        return index, NOT_BEGUN  # Python raises the error when it begins it
    minds, forest = minds_of(world), forest_of(world)
    mind = rows_at(minds["minds"], minds["mind_room"], MIND)[row]
    while index < script.shape[0]:
        segment = script[index]
        if state == BEFORE:
            if not alone or not begin_segment(world, minds, forest, mind, segment, window):
                return index, NOT_BEGUN
            status, left = make_steps(world, segment["steps"], segment["steps"])
            if status != STOPPED and (status != DONE or left > 0):
                return index, left
            state = MADE if left == 0 else BROKEN
        record_present_state(world)
        life = mind["life"]
        segment["steps_recorded"], segment["gap"], segment["gap_sum"], segment["still"] = (
            life["steps"],
            life["gap"],
            life["gap_sum"],
            life["still"],
        )
        for i in range(3):
            segment["centre"][i] = life["centre"][i]
        index += 1
        restless = segment["until_still"] < inf and segment["still"] < segment["until_still"]
        if restless or index == script.shape[0] or (state == BROKEN and script[index]["watched"] == 0):
            return index, ENDED
        state = BEFORE
    return index, ENDED


@kernel
def begin_segment(world: Any, minds: Any, forest: Any, mind: Any, segment: Any, window: int) -> bool:
    """Apply the actions at the start of a segment. False if its impulse is not possible."""
    if segment["mind"] != 0:
        change_brain_sleep(world, minds, mind, segment["mind"] == ASLEEP)
    if segment["sets_gravity"] != 0:
        set_forest_gravity(forest, segment["gravity"][0], segment["gravity"][1], segment["gravity"][2])
    if segment["has_impulse"] != 0:
        at, a = body_slot(forest, mind["body"]), segment["velocity_change"]
        if at < 0 or add_free_body_velocity(forest, at, (a[0], a[1], a[2]), (a[3], a[4], a[5])) != CARRIED:
            return False
    if segment["watched"] != 0:
        reset_statistics(minds, segment["budget"], segment["until_still"], window)
        record_present_state(world)
    return True
