"""Which sleeping trees wake in a step: those that contacts or ties join to an awake one."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.islands import find_root
from kinemorph.contact.layout import slices_of
from kinemorph.jit.api import kernel
from kinemorph.structure.forest.layout import IN_USE, TREES, trees_of
from kinemorph.structure.forest.memory import pool_of


@kernel(inline=False)
def wake_islands(solver: Any, forest: Any) -> int:
    """Wake all trees that are connected to an awake tree. Returns the number of woken trees."""
    slices = slices_of(solver)
    trees = trees_of(forest)
    count = pool_of(forest, TREES)["count"]
    for t in range(count):
        slices[t]["island"] = -1
    for t in range(count):
        root = slices[find_root(slices, t)]
        if trees[t]["next"] == IN_USE and slices[t]["asleep"] == 0 and root["island"] < 0:
            root["island"] = t
    woken = 0
    for t in range(count):
        waker = slices[find_root(slices, t)]["island"]
        if trees[t]["next"] == IN_USE and slices[t]["asleep"] != 0 and waker >= 0:
            slices[t]["asleep"], slices[t]["still"], slices[t]["woken_by"] = 2, 0.0, waker + 1  # 2: z is not set yet
            woken += 1
    return woken
