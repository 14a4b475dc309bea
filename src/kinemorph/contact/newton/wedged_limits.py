"""Choice of directly solved islands by wedged light links: a limit or drive acts on one side of the link, and a contact
on the other.

Example: a collapsed robot lies on shins of a hundredth of its mass, with its knees at their limits. Each row alone has
the effective mass of the shin, but both together bear the robot: Gauss-Seidel converges so slowly that limits are
violated by tenths of a radian, and their correction lifts the robot. Two opposing rows with a cosine c between them
bear up to 1 / (1 - c²) times their effective mass, which corresponds to load over mass in a stack
(`contact.newton.load_estimate`). A contact between two links of the tree can replace the limit.

So can a drive, which acts on both sides; the compliance of a soft drive makes c² smaller. Stiff drives bear the weight
of a standing figure all the time, and the figure creeps if iteration loses a little of it in each step. So drives have
a larger weight while a figure stands: at rest a direct solve needs no matrix, and costs less than iterations.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.basis import slice_product
from kinemorph.contact import layout
from kinemorph.contact.newton.load_estimate import HEAVY_LOAD_RATIO, LIGHT_LOAD_SHARE
from kinemorph.contact.rows.drive_rows import MOST_DIRECT_CONTACTS, MOST_DIRECT_ENTRIES, drive_diagonal
from kinemorph.jit.api import kernel

UPPER, DRIVEN = int(layout.DofConstraintKind.UPPER), int(layout.DofConstraintKind.DRIVEN)
WEDGED_COSINE_SQUARED = 1.0 - 1.0 / HEAVY_LOAD_RATIO  # c² above which an island becomes direct
STILL_WEDGED_COSINE_SQUARED = 1.0 - 1.0 / (LIGHT_LOAD_SHARE * HEAVY_LOAD_RATIO)  # c² above which it stays direct
# c² of a drive and a contact above which an island slower than `STANDING_SPEED` becomes direct
STANDING_COSINE_SQUARED = 0.5
STANDING_SPEED = 0.01  # m/s


@kernel
def tree_side(contact: Any, tree: int) -> tuple[int, int]:
    """First number and length of a tree's part of a contact normal's y; length 0 if the contact is of other trees."""
    if contact["tree2"] == tree:
        return contact["y"] + contact["length1"], int(contact["length2"])
    return contact["y"], int(contact["length1"]) if contact["tree1"] == tree else 0


@kernel
def drive_product(Y: Any, constraint: Any, contact: Any) -> float:
    """Product yᵀ y of a drive and a contact normal, if the drive's joint is between the contact and the base, or closes
    a loop; else 0."""
    y, l = tree_side(contact, constraint["tree"])
    if constraint["dof"] >= l or (constraint["dof"] >= 0 and Y[y + constraint["dof"]] == 0.0):
        return 0.0
    return slice_product(Y, constraint["y"], Y, y, min(constraint["length"], l))


@kernel
def limit_product(Y: Any, constraint: Any, contact: Any) -> float:
    """Product yᵀ y of a limit and a contact normal, if it is negative (they oppose each other) and the limit's joint is
    between the contact and the base; else 0."""
    return min(drive_product(Y, constraint, contact), 0.0)


@kernel
def self_contact_product(Y: Any, a: Any, contact: Any) -> float:
    """The same for a contact `a` between two links of one tree, instead of a limit."""
    y, l = tree_side(contact, a["tree2"])
    return min(slice_product(Y, a["y"], Y, y, min(a["length2"], l)), 0.0) if l > 0 else 0.0


@kernel
def has_wedge_candidates(solver: Any, island: Any) -> tuple[bool, bool]:
    """Whether an island has rows of drives or limits, and whether links of one tree touch each other."""
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    projections = within = False
    for i in range(island["dof_constraint_count"]):
        projections = projections or dof_rows[i]["kind"] <= UPPER or dof_rows[i]["kind"] == DRIVEN
    for i in range(island["contact_count"]):
        within = within or contacts[i]["tree1"] == layout.SAME_TREE
    return projections, within


@kernel
def is_standing(solver: Any, island: Any) -> bool:
    """Whether all trees of an island are slower than `STANDING_SPEED`."""
    slices, tree, fastest = layout.slices_of(solver), island["first_tree"], 0.0
    while tree >= 0:
        fastest = max(fastest, slices[tree]["speed"])
        tree = slices[tree]["next"]
    return fastest < STANDING_SPEED


@kernel
def largest_wedge(solver: Any, island: Any) -> float:
    """The largest c² of an island; also writes `bears` of its limits."""
    projections, within = has_wedge_candidates(solver, island)
    if not (projections or within):
        return 0.0
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    Y, most, h = layout.whitened_rows(solver), 0.0, solver["h"] * solver["substeps"]
    weight = WEDGED_COSINE_SQUARED / STANDING_COSINE_SQUARED if is_standing(solver, island) else 1.0
    for i in range(island["contact_count"]):
        t = contacts[i]
        total = 0.0
        for j in range(island["dof_constraint_count"] if projections else 0):
            constraint = dof_rows[j]
            if constraint["kind"] <= UPPER:
                both = limit_product(Y, constraint, t)
                share = both * both * constraint["effective_mass"]
                constraint["load_per_mass"] = max(constraint["load_per_mass"], share)
                total += share * t["effective_mass"]  # limits are taken as independent, which they nearly are
            elif constraint["kind"] == DRIVEN:
                both = drive_product(Y, constraint, t)
                total += weight * both * both * t["effective_mass"] / drive_diagonal(constraint, h)
        for j in range(island["contact_count"] if within else 0):
            a = contacts[j]
            if a["tree1"] == layout.SAME_TREE:
                both = self_contact_product(Y, a, t)
                total = max(total, both * both * a["effective_mass"] * t["effective_mass"])
        most = max(most, total)
    return most


@kernel(inline=False)
def choose_wedged_islands(solver: Any) -> None:
    """Set `direct` of small islands with a wedged link."""
    slices, islands = layout.slices_of(solver), layout.islands_of(solver)
    for i in range(solver["island_count"]):
        island = islands[i]
        first = slices[island["first_tree"]]
        was = first["direct"] & layout.WEDGED
        first["direct"] &= ~layout.WEDGED
        few = island["nz"] <= MOST_DIRECT_ENTRIES and island["contact_count"] <= MOST_DIRECT_CONTACTS
        few = few and island["contact_count"] > 0
        if few and largest_wedge(solver, island) > (STILL_WEDGED_COSINE_SQUARED if was != 0 else WEDGED_COSINE_SQUARED):
            first["direct"] |= layout.WEDGED
            island["direct"] = 1
