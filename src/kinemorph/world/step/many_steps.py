"""Many steps of a world in one call, under either contact model."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.world.brains.update import prepare_brains
from kinemorph.world.impulse.step import make_impulse_step
from kinemorph.world.layout import WORLD, WORLD_KIND, ContactModel, Phase, Status, forest_of, solver_of
from kinemorph.world.step.bookkeeping import advance_time, all_asleep
from kinemorph.world.step.pipeline import make_step

MOVE, BY_STEPS = int(Phase.MOVE), int(ContactModel.STEPS)
DONE, HAPPENED, WRONG_ROW = int(Status.DONE), int(Status.EVENT), int(Status.WRONG_ROW)


@entry(nogil=True)
def run_steps(address: int, count: int, most: int) -> tuple[int, int]:
    """Make `count` steps, or `most` at most unless all trees sleep. Returns a Status and the number of steps left."""
    world = rows_at(address, 1, WORLD)[0]
    return make_steps(world, count, most, False) if world["kind"] == WORLD_KIND else (WRONG_ROW, count)


@kernel(inline=False)
def make_steps(world: Any, count: int, most: int, recorded: bool) -> tuple[int, int]:
    """`run_steps` for kernels: the world is a row. A step that is `recorded` is PAUSED once: see `step_recorder`."""
    forest, solver = forest_of(world), solver_of(world)
    for _ in range(min(count, most)):
        if world["phase"] == MOVE and world["event_count"] == 0 and all_asleep(solver, forest):
            advance_time(world, count)  # nothing in a world without events wakes a sleeping body
            return DONE, 0
        if world["mind_count"] > 0 and world["phase"] == MOVE and world["elapsed"] == 0.0:
            status = prepare_brains(world)
            if status != DONE:
                return status, count
        status = make_step(world, recorded) if world["model"] == BY_STEPS else make_impulse_step(world, recorded)
        if status == DONE or status == HAPPENED:
            count -= 1
        if status != DONE:
            return status, count
    return DONE, count
