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
    spans = slices_of(solver)
    trees = trees_of(forest)
    count = pool_of(forest, TREES)["count"]
    for t in range(count):
        spans[t]["island"] = -1
    for t in range(count):
        root = spans[find_root(spans, t)]
        if trees[t]["next"] == IN_USE and spans[t]["asleep"] == 0 and root["island"] < 0:
            root["island"] = t
    woken = 0
    for t in range(count):
        waker = spans[find_root(spans, t)]["island"]
        if trees[t]["next"] == IN_USE and spans[t]["asleep"] != 0 and waker >= 0:
            spans[t]["asleep"], spans[t]["still"], spans[t]["woken_by"] = 2, 0.0, waker + 1  # 2: z is not set yet
            woken += 1
    return woken
