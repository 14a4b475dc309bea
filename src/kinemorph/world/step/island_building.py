"""Islands of a step: sets of trees that contacts, loops and force elements couple, so that they are solved together."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.islands import join_touching_trees, list_islands
from kinemorph.contact.rows.force_element_rows import claim_element_rows, join_element_trees
from kinemorph.contact.rows.loop_projection import find_projections
from kinemorph.jit.api import kernel
from kinemorph.structure.forest.layout import LOOPS
from kinemorph.structure.forest.memory import pool_of
from kinemorph.world.layout import Status
from kinemorph.world.step.waking import wake_islands
from kinemorph.world.tree_motion.acceleration import WOKEN, accelerate_all_trees

DONE, FULL_SOLVER = int(Status.DONE), int(Status.FULL_SOLVER)


@kernel(inline=False)
def build_islands(world: Any, solver: Any, forest: Any, collisions: Any) -> int:
    """Build the islands, wake those with an awake tree, and place their trees side by side in z. Returns a Status."""
    join_touching_trees(solver, forest, collisions)  # union-find over contacts and loops
    if forest["element_count"] > 0:
        join_element_trees(solver, forest)
    if solver["any_asleep"] != 0 and wake_islands(solver, forest) > 0:
        status = accelerate_all_trees(world, solver, forest, WOKEN)  # their accelerations are still missing
        if status != DONE:
            return status
    solver["Y_used"] = 0
    return DONE if list_islands(solver, forest, world["model"] != 0) else FULL_SOLVER


@kernel
def has_loops_or_elements(forest: Any) -> bool:
    """Whether there are loops or force elements."""
    return pool_of(forest, LOOPS)["used"] > 0 or forest["element_count"] > 0


@kernel(inline=False)
def claim_loop_memory(solver: Any, forest: Any) -> int:
    """Allocate scratch for loop projections and force elements of a step. Returns its address, 0 if it is too small."""
    solver["loop_projection_count"] = solver["element_count"] = 0
    forest["scratch_used"] = forest["need"] = 0
    return claim_element_rows(solver, forest) if find_projections(solver, forest) else 0
