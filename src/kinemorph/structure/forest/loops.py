"""Errors and relative velocities of the loops of a forest."""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.loops import fill_errors, fill_relative_velocities, orient_rows
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.checks import Vector
from kinemorph.multibody.system import SYSTEM
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.islands import assemble_system, collect_coupled_trees
from kinemorph.structure.forest.layout import DONE, FOREST, FOREST_KIND, FULL, IN_USE, NO_FOREST, TREES, trees_of
from kinemorph.structure.forest.memory import pool_of


@kernel(inline=False)
def measure_loop_errors(forest: Any, worst: Any) -> bool:
    """Update the largest errors by the loops of the collected trees. False if scratch is too small."""
    trees = trees_of(forest)
    at = assemble_system(forest, 0)
    if at == 0:
        return False
    t = forest["first_tree"]
    while t >= 0:
        update_slot_motion(trees[t])
        t = trees[t]["follows"]
    system = rows_at(at, 1, SYSTEM)[0]
    worst[0] = max(worst[0], fill_errors(system))
    orient_rows(system)
    worst[1] = max(worst[1], fill_relative_velocities(system))
    return True


@entry
def find_largest_loop_errors(address: int, worst: Vector) -> int:
    """Find the largest error of a loop (rad or m) and its largest rate (rad/s or m/s), into two numbers. A status."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["kind"] != FOREST_KIND:
        return NO_FOREST
    trees = trees_of(forest)
    worst[0] = worst[1] = 0.0
    forest["need"] = 0
    start = forest["turn"]  # trees that are done have later marks
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE and trees[t]["sides"] > 0 and trees[t]["mark"] <= start:
            forest["scratch_used"] = 0
            collect_coupled_trees(forest, t, -1)
            if not measure_loop_errors(forest, worst):
                return FULL
    return DONE
