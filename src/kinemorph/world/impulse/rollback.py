"""Saved state before a part of a step of the impulse model, and its restoration."""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import slices_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.system import F8
from kinemorph.structure.forest.layout import TREES, q_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import pool_of


@kernel(inline=False)
def save_or_restore_state(solver: Any, forest: Any, back: bool) -> None:
    """Save q and v of all awake trees, or restore them (`back`)."""
    trees = trees_of(forest)
    slices = slices_of(solver)
    kept = rows_at(solver["undo"], 3 * solver["z_room"], F8)
    for t in range(pool_of(forest, TREES)["count"]):
        if slices[t]["offset"] < 0:
            continue
        tree = tree_of(trees[t])
        nq, nv, at = tree["nq"], tree["nv"], 3 * slices[t]["offset"]
        q, v = q_of(trees[t], tree), v_of(trees[t], tree)
        for k in range(nq):
            if back:
                q[k] = kept[at + k]
            else:
                kept[at + k] = q[k]
        for k in range(nv):
            if back:
                v[k] = kept[at + 2 * nv + k]
            else:
                kept[at + 2 * nv + k] = v[k]
