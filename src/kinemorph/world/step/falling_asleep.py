"""Sleep: an island whose trees have all been slow for a given time is skipped until something wakes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.contact.layout import islands_of, slices_of
from kinemorph.jit.api import kernel
from kinemorph.structure.forest.layout import a_of, tree_of, trees_of, v_of


@kernel
def find_largest_dof_speed(slot: Any) -> float:
    """The largest |v| of a degree of freedom of a tree, rad/s or m/s; used for trees without shapes."""
    tree = tree_of(slot)
    v = v_of(slot, tree)
    speed = 0.0
    for k in range(tree["nv"]):
        speed = max(speed, abs(v[k]))
    return speed


@kernel(inline=False)
def update_sleep(world: Any, solver: Any, forest: Any, first: int, stop: int) -> None:
    """Update sleep timers of islands `first` to before `stop`; those still for `patience` s sleep, with v = a = 0."""
    trees = trees_of(forest)
    slices, islands = slices_of(solver), islands_of(solver)
    for i in range(first, stop):
        least = np.inf
        t = islands[i]["first_tree"]
        while t >= 0:
            tree_slice = slices[t]
            speed = tree_slice["speed"] if tree_slice["speed"] > 0.0 else find_largest_dof_speed(trees[t])
            tree_slice["still"] = tree_slice["still"] + world["dt"] if speed < world["slow"] else 0.0
            least = min(least, tree_slice["still"])
            t = tree_slice["next"]
        if least < world["patience"]:
            continue
        t = islands[i]["first_tree"]
        while t >= 0:
            slices[t]["asleep"] = 1
            tree = tree_of(trees[t])
            v = v_of(trees[t], tree)
            a = a_of(trees[t], tree)
            for k in range(tree["nv"]):
                v[k] = a[k] = 0.0
            t = slices[t]["next"]
