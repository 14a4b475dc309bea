"""The impulses of joint limits and dry friction, kept from one step to the next.

A solve by a few sweeps starts from the impulses of the step before, and is right at rest because nothing has to change
any more. That holds for all rows or for none: a leg that stands by the friction of its knee needs the impulse of the
knee as much as that of the foot. Rows are known by their joint and degree of freedom, and turn with the joint; drives
keep their own impulses (`DRIVE`), and contacts theirs (`contact.warm_start`).
"""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import Bounded, dof_constraints, stored_joint_impulses
from kinemorph.jit.api import kernel
from kinemorph.multibody.layout import dofs_of, links_of
from kinemorph.structure.forest.layout import joints_of, tree_of, trees_of

LOWER, UPPER, DRY = int(Bounded.LOWER), int(Bounded.UPPER), int(Bounded.DRY)
KINDS = 3  # of rows that are kept: LOWER, UPPER and DRY, six degrees of freedom each


@kernel
def follow_joint(solver: Any, forest: Any, link: Any) -> Any:
    """What is kept of the joint of a link, brought up to date with the joint.

    One of one degree of freedom that is now used the other way round has its forces with the other sign. One of several
    has them along other axes, and starts anew, as a new joint does.
    """
    kept = stored_joint_impulses(solver)[link["joint"]]
    generation = joints_of(forest)[link["joint"]]["generation"]
    if kept["generation"] != generation or kept["turned"] != link["turned"]:
        p = kept["p"]
        if kept["generation"] == generation and link["nv"] == 1:
            p[6 * LOWER], p[6 * UPPER], p[6 * DRY] = p[6 * UPPER], p[6 * LOWER], -p[6 * DRY]
        else:
            for k in range(6 * KINDS):
                p[k] = 0.0
        kept["generation"], kept["turned"] = generation, link["turned"]
    return kept


@kernel(inline=False)
def keep_bounds(solver: Any, forest: Any) -> None:
    """Keep the impulses of all limits and dry friction in joints of trees, as forces: steps may differ in length."""
    bounds = dof_constraints(solver)
    trees = trees_of(forest)
    kept = stored_joint_impulses(solver)
    per_second = 1.0 / solver["h"]
    for i in range(solver["bound_count"]):
        constraint = bounds[i]
        if constraint["what"] > DRY or constraint["dof"] < 0:
            continue
        tree = tree_of(trees[constraint["tree"]])
        link = links_of(tree)[dofs_of(tree)[constraint["dof"]]["link"]]
        kept[link["joint"]]["p"][6 * constraint["what"] + constraint["dof"] - link["iv"]] = constraint["p"] * per_second
