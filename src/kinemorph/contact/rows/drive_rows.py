"""Drives in joints and pushes on bodies, as constraint rows or as given forces.

The force of a drive is force + stiffness (position - x) + damping (speed - v), clamped to [least, most]. Both x and v
are those at the end of a substep (implicit), so that any gain is stable. A drive refers to its joint by id: it follows
the joint through changes of structure, with degrees of freedom numbered as declared, and is removed with the joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.basis import slice_product
from kinemorph.contact import layout
from kinemorph.contact.rows.dof_rows import (
    add_dof_force,
    add_dof_row,
    add_joint_force,
    add_joint_row,
    add_link_wrench,
    claim_row,
    joint_row_length,
    start_dof_row,
)
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.free_body import free_body_of, whiten_free_body_wrench
from kinemorph.multibody.layout import dofs_of, link_data_of, links_of
from kinemorph.multibody.model.declared import (
    Six,
    declared_dof,
    declared_dof_weights,
    declared_force,
    declared_position,
    declared_velocity_drift,
    is_mixed,
    joint_sign,
)
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import add, cross, dot, sub
from kinemorph.structure.forest.layout import IN_USE, TREES, bodies_of, joints_of, q_of, tau_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK, pool_of

DRIVEN = int(layout.DofConstraintKind.DRIVEN)
ROW, FORCE, COUPLED = int(layout.DriveKind.ROW), int(layout.DriveKind.FORCE), int(layout.DriveKind.COUPLED)
ROUNDING_IMPULSE_SHARE = 1e-12  # share of the impulse that would stop a motor
COUPLING_CORRECTION_SHARE = 0.2  # share of a coupling's position error that a step corrects
CONFLICT_COSINE = 0.3  # cosine between two drives of a tree, above which Gauss-Seidel needs many iterations
MOST_DIRECT_ENTRIES = 128  # entries of z: largest island solved directly for drives or wedges,
MOST_DIRECT_CONTACTS = 64  # and contacts of it


@kernel
def clip(value: float, size: float) -> float:
    return min(max(value, -size), size)


@kernel
def joint_slot(forest: Any, id: int) -> int:
    """The row of a joint, -1 if it is gone."""
    i = id & ID_INDEX_MASK
    if i >= forest["joint_room"]:
        return -1
    slot = joints_of(forest)[i]
    return i if slot["next"] == IN_USE and slot["generation"] == id >> 32 else -1


@kernel
def find_dof(forest: Any, id: int, dof: int) -> tuple[int, int, int]:
    """Tree, link, and index within the link, of a degree of freedom numbered as declared.

    The tree is -1 if the joint is gone or closes a loop, or if it has no such degree of freedom.
    """
    at = joint_slot(forest, id)
    if at < 0:
        return -1, 0, 0
    joint = joints_of(forest)[at]
    t, k = int(joint["tree"]), int(joint["link"])
    if t < 0:
        return -1, 0, 0
    slot = trees_of(forest)[t]
    tree = tree_of(slot)
    link = links_of(tree)[k]
    return (t, k, declared_dof(link, dof)) if 0 <= dof < link["nv"] else (-1, 0, 0)


@kernel(inline=False)
def list_drives(solver: Any, forest: Any) -> None:
    """List the drives of each tree, in the order of their rows, and remove those of joints that are gone."""
    slices, drives = layout.slices_of(solver), layout.drives_of(solver)
    joints = joints_of(forest)
    for t in range(pool_of(forest, TREES)["count"]):
        slices[t]["drive"], slices[t]["forced"] = -1, 0
    for i in range(solver["drive_count"] - 1, -1, -1):
        drive = drives[i]
        if drive["joint"] < 0:
            continue
        if drive["kind"] == FORCE:
            drive["applied"] = 0.0
        at = joint_slot(forest, drive["joint"])
        if at < 0 or (drive["kind"] == COUPLED and joint_slot(forest, drive["source"]) < 0):
            drive["joint"], drive["generation"] = -1, drive["generation"] + 1
            continue
        t = joints[at]["tree"]
        if t >= 0:  # else the joint closes a loop, and has no degrees of freedom
            drive["next"], slices[t]["drive"] = slices[t]["drive"], i
            if drive["kind"] == FORCE:
                slices[t]["forced"] = 1
            if drive["kind"] == ROW or drive["force"] != 0.0:  # a coupling by itself moves nothing
                slices[t]["still"] = 0.0  # driven trees do not sleep


@kernel(inline=False)
def fill_tree_drives(solver: Any, forest: Any, slot: Any, tree_index: int) -> bool:
    """Fill the rows of the drives of one tree. False if a table is full."""
    slices, drives = layout.slices_of(solver), layout.drives_of(solver)
    tree = tree_of(slot)
    links, dofs = links_of(tree), dofs_of(tree)
    constraints = layout.dof_constraint_room(solver)
    joints = joints_of(forest)
    q = q_of(slot, tree)
    i = slices[tree_index]["drive"]
    while i >= 0:
        drive = drives[i]
        link = joints[drive["joint"] & ID_INDEX_MASK]["link"]
        l = links[link]
        if drive["kind"] == ROW and drive["dof"] < l["nv"]:
            effort = dofs[l["iv"] + declared_dof(l, drive["dof"])]["effort_limit"]
            at = add_drive_row(solver, tree, tree_index, link, drive["dof"], q)
            if at < 0:
                return False
            b = constraints[at]
            set_drive_law(solver, b, drive, i)
            if is_mixed(l, drive["dof"]):  # its axes rotate during the step
                v = v_of(slot, tree)
                b["target"] -= solver["h"] * solver["substeps"] * declared_velocity_drift(l, q, v, drive["dof"])
            if drive["damping"] == np.inf:  # at its target speed its impulse is rounding
                b["rounding_impulse"] = ROUNDING_IMPULSE_SHARE * abs(drive["speed"]) * b["effective_mass"]
            if drive["stiffness"] > 0.0:
                b["separation"] = b["initial_separation"] = drive["position"] - declared_position(l, q, drive["dof"])
            given = clip(total_given_force(solver, joints, slot, tree, tree_index, link, drive["dof"]), effort)
            b["smallest_force"] = max(drive["smallest_force"], min(0.0, -effort - given))
            b["largest_force"] = min(drive["largest_force"], max(0.0, effort - given))
        elif drive["kind"] == COUPLED and joints[drive["source"] & ID_INDEX_MASK]["tree"] == tree_index:
            if not add_coupling_row(solver, joints, tree, tree_index, drive, q):
                return False
            b = constraints[solver["dof_constraint_count"] - 1]
            b["drive"], b["p"] = i, solver["h"] * drive["applied"]
        i = drive["next"]
    return True


@kernel
def set_drive_law(solver: Any, row: Any, drive: Any, index: int) -> None:
    """Give a row the targets and gains of its drive, and the impulse of the previous step."""
    row["target"], row["force"], row["drive"] = drive["speed"], drive["force"], index
    row["stiffness"], row["damping"], row["p"] = drive["stiffness"], drive["damping"], solver["h"] * drive["applied"]


@kernel
def add_drive_row(solver: Any, tree: Any, tree_index: int, link: int, dof: int, q: Any) -> int:
    """Add the row of a degree of freedom in the declared direction of its joint. Its index, -1 if a table is full."""
    l = links_of(tree)[link]
    if is_mixed(l, dof):
        return add_joint_row(solver, tree, tree_index, link, l["iv"] + dof, declared_dof_weights(l, q, dof), DRIVEN)
    return add_dof_row(solver, tree, tree_index, link, l["iv"] + declared_dof(l, dof), joint_sign(l), DRIVEN)


@kernel(inline=False)
def add_coupling_row(solver: Any, joints: Any, tree: Any, tree_index: int, drive: Any, q: Any) -> bool:
    """Add the row of a coupling: speed of a joint minus `ratio` times that of another. False if a table is full."""
    links = links_of(tree)
    one, other = joints[drive["joint"] & ID_INDEX_MASK]["link"], joints[drive["source"] & ID_INDEX_MASK]["link"]
    a, b = links[one], links[other]
    length = max(joint_row_length(solver, tree, tree_index, one), joint_row_length(solver, tree, tree_index, other))
    at = solver["dof_constraint_count"]
    used = claim_row(solver, length)
    if used < 0:
        return False
    Y = layout.whitened_rows(solver)
    row = layout.dof_constraint_room(solver)[at]
    row["kind"], row["tree"], row["dof"], row["length"], row["y"] = DRIVEN, tree_index, a["iv"], length, used
    own, theirs = joint_sign(a), joint_sign(b)
    add_dof_force(tree, one, a["iv"], own, Y, used)
    add_dof_force(tree, other, b["iv"], -theirs * drive["ratio"], Y, used)
    start_dof_row(solver, row, slice_product(Y, used, Y, used, length))
    off = drive["position"] + drive["ratio"] * theirs * q[b["iq"]] - own * q[a["iq"]]
    row["target"] = COUPLING_CORRECTION_SHARE * off / (solver["h"] * solver["substeps"])
    row["damping"], row["stiffness"], row["force"] = np.inf, 0.0, 0.0
    return True


@kernel
def total_given_force(solver: Any, joints: Any, slot: Any, tree: Any, tree_index: int, link: int, dof: int) -> float:
    """Total given force (N m or N) in a declared degree of freedom: from the tree's state and from drives."""
    drives = layout.drives_of(solver)
    total = state_force(slot, tree, link, dof)
    tree_slice = layout.slices_of(solver)[tree_index]
    i = tree_slice["drive"] if tree_slice["forced"] != 0 else -1
    while i >= 0:
        drive = drives[i]
        if drive["kind"] == FORCE and joints[drive["joint"] & ID_INDEX_MASK]["link"] == link and drive["dof"] == dof:
            total += drive["force"]
        i = drive["next"]
    return total


@kernel
def state_force(slot: Any, tree: Any, link: int, dof: int) -> float:
    """The given force from the tree's state alone."""
    q, tau = q_of(slot, tree), tau_of(slot, tree)
    return declared_force(links_of(tree)[link], q, tau, dof)


@kernel(inline=False)
def apply_given_forces(solver: Any, forest: Any) -> None:
    """Add the given forces of drives to za. Those of the trees' states are in za already."""
    slices, drives = layout.slices_of(solver), layout.drives_of(solver)
    trees = trees_of(forest)
    joints = joints_of(forest)
    za = layout.za_of(solver)
    for i in range(solver["drive_count"]):
        drive = drives[i]
        if drive["joint"] < 0 or drive["kind"] != FORCE:
            continue
        at = joints[drive["joint"] & ID_INDEX_MASK]
        t = at["tree"]
        if t < 0 or slices[t]["offset"] < 0:
            continue
        tree = tree_of(trees[t])
        link, dof = at["link"], drive["dof"]
        l = links_of(tree)[link]
        if dof >= l["nv"] or tree["free_body"] != 0 or not is_first_drive(drives, slices[t]["drive"], i):
            continue
        k = l["iv"] + declared_dof(l, dof)
        effort = dofs_of(tree)[k]["effort_limit"]
        acted = clip(state_force(trees[t], tree, link, dof), effort)
        more = clip(total_given_force(solver, joints, trees[t], tree, t, link, dof), effort) - acted
        if more != 0.0 and is_mixed(l, dof):
            q = q_of(trees[t], tree)
            add_joint_force(tree, link, scale_six(declared_dof_weights(l, q, dof), more), za, slices[t]["offset"])
        elif more != 0.0:
            add_dof_force(tree, link, k, joint_sign(l) * more, za, slices[t]["offset"])
        drive["applied"] = more


@kernel
def scale_six(x: Six, size: float) -> Six:
    return x[0] * size, x[1] * size, x[2] * size, x[3] * size, x[4] * size, x[5] * size


@kernel
def is_first_drive(drives: Any, at: int, index: int) -> bool:
    """Whether drive i is the first with a given force in its degree of freedom; it then acts for all of them."""
    while at != index:
        e = drives[at]
        if e["kind"] == FORCE and e["joint"] == drives[index]["joint"] and e["dof"] == drives[index]["dof"]:
            return False
        at = e["next"]
    return True


@kernel(inline=False)
def apply_pushes(solver: Any, forest: Any) -> None:
    """Add the pushes on bodies to za, and remove those of bodies that are gone."""
    slices, applied_forces = layout.slices_of(solver), layout.applied_forces_of(solver)
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    za = layout.za_of(solver)
    for i in range(solver["applied_force_count"]):
        p = applied_forces[i]
        if p["body"] < 0:
            continue
        slot = bodies[p["body"] & ID_INDEX_MASK]
        if slot["next"] != IN_USE or slot["generation"] != p["body"] >> 32:
            p["body"], p["generation"] = -1, p["generation"] + 1
            continue
        o = slices[slot["tree"]]["offset"]
        if o < 0:
            continue
        tree = tree_of(trees[slot["tree"]])
        data = link_data_of(tree)[slot["link"] + 1]
        R = load9(data["R"])
        own = mul(R, load9(slot["R"]))
        f, n = load3(p["force"]), load3(p["torque"])
        if p["in_body_frame"] != 0:
            f, n = mul_vec(own, f), mul_vec(own, n)
        arm = add(mul_vec(R, load3(slot["p"])), mul_vec(own, load3(p["at"])))
        n = add(n, cross(arm, f))
        if tree["free_body"] == 0:
            add_link_wrench(tree, slot["link"], n, f, za, o)
            continue
        lone = free_body_of(tree)
        turn, push = whiten_free_body_wrench(lone, R, sub(n, cross(mul_vec(R, load3(lone["c"])), f)), f)
        for k in range(3):
            za[o + k] += turn[0] if k == 0 else turn[1] if k == 1 else turn[2]
            za[o + 3 + k] += push[0] if k == 0 else push[1] if k == 1 else push[2]


@kernel(inline=False)
def keep_pushed_awake(solver: Any, forest: Any) -> None:
    """Reset the rest time of trees with a nonzero push, so that they do not fall asleep."""
    slices, applied_forces = layout.slices_of(solver), layout.applied_forces_of(solver)
    bodies = bodies_of(forest)
    for i in range(solver["applied_force_count"]):
        push = applied_forces[i]
        acts = dot(load3(push["force"]), load3(push["force"])) + dot(load3(push["torque"]), load3(push["torque"])) > 0.0
        if push["body"] >= 0 and acts:
            slot = bodies[push["body"] & ID_INDEX_MASK]
            if slot["next"] == IN_USE and slot["generation"] == push["body"] >> 32:
                slices[slot["tree"]]["still"] = 0.0


@kernel(inline=False)
def finish_drives(solver: Any) -> None:
    """After a step: store the mean forces of drive rows, and remove pushes that act for one step."""
    drives, constraints = layout.drives_of(solver), layout.dof_constraint_room(solver)
    applied_forces = layout.applied_forces_of(solver)
    per_step = 1.0 / (solver["h"] * solver["substeps"])
    for i in range(solver["drive_count"]):
        if drives[i]["kind"] != FORCE:
            drives[i]["applied"] = 0.0
    for i in range(solver["dof_constraint_count"]):
        if constraints[i]["kind"] == DRIVEN:
            drives[constraints[i]["drive"]]["applied"] = constraints[i]["total_impulse"] * per_step
    for i in range(solver["applied_force_count"]):
        if applied_forces[i]["body"] >= 0 and applied_forces[i]["persistent"] == 0:
            applied_forces[i]["body"], applied_forces[i]["generation"] = -1, applied_forces[i]["generation"] + 1


# ------------------------------------------------------------------------------ choice of the solver for driven islands


@kernel
def drive_diagonal(constraint: Any, h: float) -> float:
    """Diagonal of the system matrix of a drive's row: yᵀ y plus the compliance of the drive (1/kg or 1/(kg m²))."""
    if constraint["damping"] == np.inf:
        return 1.0 / constraint["effective_mass"]
    k = h * (constraint["damping"] + h * constraint["stiffness"])
    return 1.0 / constraint["effective_mass"] + 1.0 / k if k > 0.0 else np.inf


@kernel
def has_conflicting_drives(solver: Any, island: Any) -> bool:
    """Whether two drives of one tree in an island are coupled strongly: the cosine of their rows exceeds a limit."""
    constraints = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    Y, h = layout.whitened_rows(solver), solver["h"] * solver["substeps"]
    for i in range(island["dof_constraint_count"]):
        a = constraints[i]
        if a["kind"] != DRIVEN:
            continue
        most = CONFLICT_COSINE * CONFLICT_COSINE * drive_diagonal(a, h)
        for j in range(i + 1, island["dof_constraint_count"]):
            constraint = constraints[j]
            if constraint["kind"] != DRIVEN or constraint["tree"] != a["tree"]:
                continue
            both = slice_product(Y, a["y"], Y, constraint["y"], min(a["length"], constraint["length"]))
            if both * both > most * drive_diagonal(constraint, h):
                return True
    return False


@kernel(inline=False)
def choose_driven_islands(solver: Any) -> None:
    """Set `direct` of small islands with strongly coupled drives."""
    islands = layout.islands_of(solver)
    for i in range(solver["island_count"]):
        island = islands[i]
        small = island["nz"] <= MOST_DIRECT_ENTRIES and island["contact_count"] <= MOST_DIRECT_CONTACTS
        if island["direct"] == 0 and small:
            island["direct"] = 1 if has_conflicting_drives(solver, island) else 0
