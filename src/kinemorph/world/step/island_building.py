"""Islands of a step: sets of trees that contacts, loops and force elements couple, so that they are solved together."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.islands import number_islands, tie_trees, wake_islands
from kinemorph.contact.rows.force_element_rows import claim_pulls, tie_elements
from kinemorph.contact.rows.loop_projection import find_holds
from kinemorph.jit.api import kernel
from kinemorph.structure.forest.layout import LOOPS
from kinemorph.structure.forest.memory import pool_of
from kinemorph.world.layout import Status
from kinemorph.world.tree_motion.acceleration import WOKEN, accelerate

DONE, FULL_SOLVER = int(Status.DONE), int(Status.FULL_SOLVER)


@kernel(inline=False)
def build_islands(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Build the islands, wake those with an awake tree, and place their trees side by side in z. Returns a Status."""
    tie_trees(solver, forest, collisions)  # union-find over contacts and loops
    if forest["element_count"] > 0:
        tie_elements(solver, forest)
    if solver["sleepers"] != 0 and wake_islands(solver, forest) > 0:
        status = accelerate(world, solver, forest, WOKEN)  # their accelerations are still missing
        if status != DONE:
            return status
    solver["Y_used"] = 0
    return DONE if number_islands(solver, forest, world["model"] != 0) else FULL_SOLVER


@kernel
def has_ties(forest: Any) -> bool:
    """Whether there are loops or force elements."""
    return pool_of(forest, LOOPS)["used"] > 0 or forest["element_count"] > 0


@kernel(inline=False)
def claim_ties(solver: Any, forest: Any) -> int:
    """Allocate scratch for loop projections and force elements of a step. Returns its address, 0 if it is too small."""
    solver["hold_count"] = solver["pull_count"] = 0
    forest["scratch_used"] = forest["need"] = 0
    return claim_pulls(solver, forest) if find_holds(solver, forest) else 0
