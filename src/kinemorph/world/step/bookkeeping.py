"""How steps begin and end, whatever the model of contact: what there is to do, the clock, and time that passes."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import slices_of
from kinemorph.jit.api import kernel
from kinemorph.jit.clock import ticks
from kinemorph.structure.forest.layout import IN_USE, TREES, trees_of
from kinemorph.structure.forest.memory import pool_of
from kinemorph.world.control.event_functions import look_out
from kinemorph.world.layout import Status

DONE, HAPPENED = int(Status.DONE), int(Status.EVENT)


@kernel
def lap(world: Any, stage: int, since: int) -> int:
    """Put down how long a stage took, if somebody wants to know. Returns the time now."""
    if world["clock"] == 0:
        return 0
    now = ticks()
    world["ticks"][stage] += now - since
    return now


@kernel
def all_asleep(solver: Any, forest: Any) -> bool:
    """Whether there is nothing to do in a step."""
    spans = slices_of(solver)
    trees = trees_of(forest)
    for t in range(pool_of(forest, TREES)["count"]):
        if spans[t]["asleep"] == 0 and trees[t]["next"] == IN_USE:
            return False
    return True


@kernel
def pass_time(world: Any, steps: int) -> None:
    world["steps"] += steps
    world["time"] = world["steps"] * world["dt"]  # no sum, which would drift


@kernel
def advance_clock(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Time passes, and what has been waited for may have happened."""
    pass_time(world, 1)
    return HAPPENED if world["event_count"] > 0 and look_out(world, solver, forest, collisions) else DONE
