"""Which islands are solved directly because a light link is wedged: a limit or a drive of its joint holds it from one
side, and a contact from the other.

A robot that has collapsed lies on shins that weigh a hundredth of it, with its knees at their limits. Each row alone
feels the shin, and both together bear the robot: sweeps hand so little of it from one to the other that limits give way
by tenths of a radian, and to push them back lifts the robot. Two rows that work against each other, with a cosine c
between them, bear 1 / (1 - c²) times what either of them feels; as the load of a stack is to the mass of what carries
it (`contact.newton.load_estimate`). A contact between two links of the tree may take the place of the limit.

So may a drive, which holds a link from both sides; one that is soft yields by itself, which makes c² smaller. Stiff
ones bear the load of a standing figure all the time, and where sweeps lose a little of it in each step the figure
creeps. So they count for more while a figure stands: at rest a direct solve needs no matrix, and costs less than
sweeps.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.basis import product
from kinemorph.contact.layout import (
    SAME_TREE,
    WEDGED,
    Bounded,
    contact_constraints,
    dof_constraints,
    islands_of,
    slices_of,
    whitened_rows,
)
from kinemorph.contact.newton.load_estimate import HEAVY, LIGHT_LOAD_SHARE
from kinemorph.contact.rows.drive_rows import FEW_RATES, FEW_TOUCHES, yielding
from kinemorph.jit.api import kernel

UPPER, DRIVEN = int(Bounded.UPPER), int(Bounded.DRIVEN)
LEAST_SHARE = 1.0 - 1.0 / HEAVY  # c², to become direct,
LIGHT_SHARE = 1.0 - 1.0 / (LIGHT_LOAD_SHARE * HEAVY)  # and to stay so
STANDING_SHARE = 0.5  # c² of a drive and a contact that counts as much as the first of these in a figure slower than
STANDING_SPEED = 0.01  # m/s


@kernel
def side_of(t: Any, tree: int) -> tuple[int, int]:
    """Where the numbers of a tree begin in the normal of a touch, and how many there are: 0 if it is of others."""
    if t["tree2"] == tree:
        return t["y"] + t["l1"], int(t["l2"])
    return t["y"], int(t["l1"]) if t["tree1"] == tree else 0


@kernel
def drive_against(Y: Any, constraint: Any, t: Any) -> float:
    """The product of a drive and the normal of a touch, if the joint of the drive is between the touch and the base, or
    closes a loop; else 0."""
    y, l = side_of(t, constraint["tree"])
    if constraint["dof"] >= l or (constraint["dof"] >= 0 and Y[y + constraint["dof"]] == 0.0):
        return 0.0
    return product(Y, constraint["y"], Y, y, min(constraint["l"], l))


@kernel
def limit_against(Y: Any, constraint: Any, t: Any) -> float:
    """The product of a limit and the normal of a touch, if they work against each other, and the joint of the limit is
    between the touch and the base; else 0."""
    return min(drive_against(Y, constraint, t), 0.0)


@kernel
def touch_against(Y: Any, a: Any, t: Any) -> float:
    """The same of a touch of two links of a tree."""
    y, l = side_of(t, a["tree2"])
    return min(product(Y, a["y"], Y, y, min(a["l2"], l)), 0.0) if l > 0 else 0.0


@kernel
def may_wedge(solver: Any, island: Any) -> tuple[bool, bool]:
    """Whether an island has drives or limits near, and whether links of one tree touch each other."""
    bounds = dof_constraints(solver)[island["first_bound"] :]
    touches = contact_constraints(solver)[island["first_touch"] :]
    holds = within = False
    for i in range(island["bound_count"]):
        holds = holds or bounds[i]["what"] <= UPPER or bounds[i]["what"] == DRIVEN
    for i in range(island["touch_count"]):
        within = within or touches[i]["tree1"] == SAME_TREE
    return holds, within


@kernel
def stands(solver: Any, island: Any) -> bool:
    """Whether nothing in an island is faster than what stands."""
    spans, tree, fastest = slices_of(solver), island["first_tree"], 0.0
    while tree >= 0:
        fastest = max(fastest, spans[tree]["speed"])
        tree = spans[tree]["next"]
    return fastest < STANDING_SPEED


@kernel
def wedged_by(solver: Any, island: Any) -> float:
    """The largest c² of an island; and what limits bear, into their rows."""
    holds, within = may_wedge(solver, island)
    if not (holds or within):
        return 0.0
    bounds = dof_constraints(solver)[island["first_bound"] :]
    touches = contact_constraints(solver)[island["first_touch"] :]
    Y, most, h = whitened_rows(solver), 0.0, solver["h"] * solver["substeps"]
    weight = LEAST_SHARE / STANDING_SHARE if stands(solver, island) else 1.0
    for i in range(island["touch_count"]):
        t = touches[i]
        total = 0.0
        for j in range(island["bound_count"] if holds else 0):
            constraint = bounds[j]
            if constraint["what"] <= UPPER:
                both = limit_against(Y, constraint, t)
                share = both * both * constraint["inverse"]
                constraint["bears"] = max(constraint["bears"], share)
                total += share * t["inverse"]  # as if limits did not touch on each other, which they hardly do
            elif constraint["what"] == DRIVEN:
                both = drive_against(Y, constraint, t)
                total += weight * both * both * t["inverse"] / yielding(constraint, h)
        for j in range(island["touch_count"] if within else 0):
            a = touches[j]
            if a["tree1"] == SAME_TREE:
                both = touch_against(Y, a, t)
                total = max(total, both * both * a["inverse"] * t["inverse"])
        most = max(most, total)
    return most


@kernel(inline=False)
def choose_wedged(solver: Any) -> None:
    """Set `direct` of islands in which something is wedged, if they are small."""
    spans, islands = slices_of(solver), islands_of(solver)
    for i in range(solver["island_count"]):
        island = islands[i]
        first = spans[island["first_tree"]]
        was = first["direct"] & WEDGED
        first["direct"] &= ~WEDGED
        few = island["nz"] <= FEW_RATES and island["touch_count"] <= FEW_TOUCHES
        if few and island["touch_count"] > 0 and wedged_by(solver, island) > (LIGHT_SHARE if was != 0 else LEAST_SHARE):
            first["direct"] |= WEDGED
            island["direct"] = 1
