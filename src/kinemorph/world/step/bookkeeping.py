"""Start and end of a step under both contact models: stage timing, the test for sleep, time, and events."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import slices_of
from kinemorph.jit.api import kernel
from kinemorph.jit.clock import ticks
from kinemorph.structure.forest.layout import IN_USE, TREES, trees_of
from kinemorph.structure.forest.memory import pool_of
from kinemorph.world.control.event_functions import check_event_rows
from kinemorph.world.layout import Status

DONE, HAPPENED = int(Status.DONE), int(Status.EVENT)


@kernel
def record_stage_time(world: Any, stage: int, since: int) -> int:
    """Add the processor ticks since `since` to those of a Stage. Returns the ticks now, or 0 if timing is off."""
    if world["clock"] == 0:
        return 0
    now = ticks()
    world["ticks"][stage] += now - since
    return now


@kernel
def all_asleep(solver: Any, forest: Any) -> bool:
    """Whether all trees are asleep, so that a step only advances time."""
    slices = slices_of(solver)
    trees = trees_of(forest)
    for t in range(pool_of(forest, TREES)["count"]):
        if slices[t]["asleep"] == 0 and trees[t]["next"] == IN_USE:
            return False
    return True


@kernel
def advance_time(world: Any, steps: int) -> None:
    world["steps"] += steps
    world["time"] = world["steps"] * world["dt"]  # a sum of dt would drift


@kernel
def advance_time_and_events(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Advance time by one step and evaluate the events. Returns the Status EVENT if one has happened, else DONE."""
    advance_time(world, 1)
    return HAPPENED if world["event_count"] > 0 and check_event_rows(world, solver, forest, collisions) else DONE
