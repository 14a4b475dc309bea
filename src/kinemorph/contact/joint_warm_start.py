"""Warm-start cache of joint limits and dry friction: their impulses, stored from one step to the next.

A few iterations converge at rest, because they start from the impulses of the previous step. This needs the impulses of
all rows: a leg that stands by the friction of its knee needs the impulse of the knee as well as that of the foot. Rows
are identified by joint and degree of freedom, and follow a reversal of the joint. Drives store their own impulses
(`DRIVE`), and so do contacts (`contact.warm_start`).
"""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import DofConstraintKind, dof_constraints, stored_joint_impulses
from kinemorph.jit.api import kernel
from kinemorph.multibody.layout import dofs_of, links_of
from kinemorph.structure.forest.layout import joints_of, tree_of, trees_of

LOWER, UPPER, DRY = int(DofConstraintKind.LOWER), int(DofConstraintKind.UPPER), int(DofConstraintKind.DRY)
STORED_ROW_KINDS = 3  # kinds of stored rows: LOWER, UPPER and DRY, six degrees of freedom each


@kernel
def refresh_joint_impulses(solver: Any, forest: Any, link: Any) -> Any:
    """The stored forces of the joint of a link, updated for a change of the joint.

    If a joint of one degree of freedom was reversed, its limits are swapped and its friction changes sign. Reversed
    joints of several degrees of freedom, whose axes change, and new joints start from zero.
    """
    kept = stored_joint_impulses(solver)[link["joint"]]
    generation = joints_of(forest)[link["joint"]]["generation"]
    if kept["generation"] != generation or kept["turned"] != link["turned"]:
        p = kept["p"]
        if kept["generation"] == generation and link["nv"] == 1:
            p[6 * LOWER], p[6 * UPPER], p[6 * DRY] = p[6 * UPPER], p[6 * LOWER], -p[6 * DRY]
        else:
            for k in range(6 * STORED_ROW_KINDS):
                p[k] = 0.0
        kept["generation"], kept["turned"] = generation, link["turned"]
    return kept


@kernel(inline=False)
def store_joint_impulses(solver: Any, forest: Any) -> None:
    """Store the impulses of limits and dry friction in joints of trees, as forces, since steps may differ in length."""
    dof_rows = dof_constraints(solver)
    trees = trees_of(forest)
    kept = stored_joint_impulses(solver)
    per_second = 1.0 / solver["h"]
    for i in range(solver["dof_constraint_count"]):
        constraint = dof_rows[i]
        if constraint["kind"] > DRY or constraint["dof"] < 0:
            continue
        tree = tree_of(trees[constraint["tree"]])
        link = links_of(tree)[dofs_of(tree)[constraint["dof"]]["link"]]
        kept[link["joint"]]["p"][6 * constraint["kind"] + constraint["dof"] - link["iv"]] = constraint["p"] * per_second
