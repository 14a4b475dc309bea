"""Scripted episodes: segments that begin by switching the brain on or off, changing gravity, or an impulse on the body.

All segments run in one kernel call, unless the world has watches, timers, listeners or worker threads.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from kinemorph.creatures.episodes.layout import EPISODE, EPISODE_KIND, brain_records_of
from kinemorph.creatures.episodes.recorder import EpisodeRecorder, begin_statistics
from kinemorph.creatures.episodes.step_statistics import make_recorded_steps, record_present, reset_record
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.structure.forest.layout import DONE as CARRIED
from kinemorph.structure.forest.memory import set_forest_gravity
from kinemorph.structure.forest.velocity_changes import add_free_body_velocity
from kinemorph.world.brains.brain_instances import BrainInstance
from kinemorph.world.brains.instance_rows import MIND, minds_of
from kinemorph.world.brains.target_poses import body_slot
from kinemorph.world.brains.update import change_brain_sleep
from kinemorph.world.layout import WORLD, WORLD_KIND, Status, forest_of

DONE, STOPPED = int(Status.DONE), int(Status.STOPPED)
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
        ("restarts", "i8"),  # whether episode statistics restart at its start, with
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


def run_script(brain: BrainInstance, script: Segments) -> int:
    """Run a scripted episode. Returns the number of segments run, including one that ended early.

    The episode ends after a segment that an event or its budget has ended early, unless the next one restarts the
    statistics; and after a segment that should have ended still, and did not.
    """
    brain.check_alive()
    world, k, state = brain.world, 0, BEFORE
    recording = world.step_recording
    if not isinstance(recording.recorder, EpisodeRecorder):
        begin_statistics(world)
    while True:
        recorder = recording.recorder
        assert isinstance(recorder, EpisodeRecorder)
        alone = recording.fits_one_call and int(script["steps"][k:].sum()) <= MOST_STEPS_A_CALL
        k, left = recording.call(run_segments, alone, recorder.address, brain.row, script, k, state, alone)
        if left == ENDED:
            return k
        if left == NOT_BEGUN:
            _begin_segment(brain, script[k])
            left = int(script[k]["steps"])
        end = world.step_count + left
        world.step(left)
        state = MADE if world.step_count == end else BROKEN


def _begin_segment(brain: BrainInstance, segment: Any) -> None:
    """Apply the actions at the start of a segment, from Python; all but the impulse notify listeners."""
    world = brain.world
    if segment["mind"]:
        brain.asleep = segment["mind"] == ASLEEP
    if segment["sets_gravity"]:
        world.gravity = segment["gravity"]
    if segment["has_impulse"]:
        world.forest.knock(int(brain.body.id), segment["velocity_change"][:3], segment["velocity_change"][3:])
    if segment["restarts"]:
        begin_statistics(world, int(segment["budget"]), float(segment["until_still"]))


@entry(nogil=True)
def run_segments(
    address: int, episode_address: int, row: int, script: Segments, index: int, state: int, alone: bool,
) -> tuple[int, int]:  # fmt: skip
    """Run a script from segment k, whose `state` is BEFORE, MADE or BROKEN; if not `alone`, only complete that segment.

    Returns the number of the segment reached, and how many of its steps Python must make, or NOT_BEGUN (Python must
    begin it), or ENDED (the episode has ended before it).
    """
    world, episode = rows_at(address, 1, WORLD)[0], rows_at(episode_address, 1, EPISODE)[0]
    if world["kind"] != WORLD_KIND or episode["kind"] != EPISODE_KIND:
        return index, NOT_BEGUN  # Python raises the error when it begins it
    brains, forest = minds_of(world), forest_of(world)
    brain = rows_at(brains["minds"], brains["mind_room"], MIND)[row]
    while index < script.shape[0]:
        segment = script[index]
        if state == BEFORE:
            if not alone or not begin_segment(world, episode, forest, brain, segment):
                return index, NOT_BEGUN
            status, left = make_recorded_steps(world, episode, segment["steps"], segment["steps"])
            if status != STOPPED and (status != DONE or left > 0):
                return index, left
            state = MADE if left == 0 else BROKEN
        record_present(world, episode)
        record = brain_records_of(episode)[row]
        segment["steps_recorded"], segment["gap"] = record["steps"], record["gap"]
        segment["gap_sum"], segment["still"] = record["gap_sum"], record["still"]
        for i in range(3):
            segment["centre"][i] = record["centre"][i]
        index += 1
        restless = segment["until_still"] < inf and segment["still"] < segment["until_still"]
        if restless or index == script.shape[0] or (state == BROKEN and script[index]["restarts"] == 0):
            return index, ENDED
        state = BEFORE
    return index, ENDED


@kernel
def begin_segment(world: Any, episode: Any, forest: Any, brain: Any, segment: Any) -> bool:
    """Apply the actions at the start of a segment. False if its impulse is not possible."""
    if segment["mind"] != 0:
        change_brain_sleep(world, minds_of(world), brain, segment["mind"] == ASLEEP)
    if segment["sets_gravity"] != 0:
        set_forest_gravity(forest, segment["gravity"][0], segment["gravity"][1], segment["gravity"][2])
    if segment["has_impulse"] != 0:
        at, a = body_slot(forest, brain["body"]), segment["velocity_change"]
        if at < 0 or add_free_body_velocity(forest, at, (a[0], a[1], a[2]), (a[3], a[4], a[5])) != CARRIED:
            return False
    if segment["restarts"] != 0:
        reset_record(episode, segment["budget"], segment["until_still"])
        record_present(world, episode)
    return True
