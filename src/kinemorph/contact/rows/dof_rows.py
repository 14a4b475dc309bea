"""Constraint rows on degrees of freedom of joints: y of a unit force, by an inward sweep of the ABA to the base."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.vectors import claim_numbers
from kinemorph.contact.islands import row_length
from kinemorph.contact.layout import dof_constraint_room, free_roots_of, slices_of, whitened_rows
from kinemorph.contact.rows.free_root_rows import has_free_root, root_response
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.aba import is_at_parent
from kinemorph.multibody.algorithms.joints import REVOLUTE
from kinemorph.multibody.layout import dof_data_of, link_data_of, links_of
from kinemorph.multibody.model.declared import Six
from kinemorph.spatial.rows import load3, load3_at, store3_at
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale

LIMIT_STEPS_AHEAD = 2.0  # steps: a limit gets a row if it may be reached so soon,
NEAR_LIMIT = 0.01  # rad or m: or if it is closer than this
BRISK_SPEED_SHARE = 0.5  # share of the largest speed, below which a degree of freedom needs no row for it


@kernel
def propagate_wrench(tree: Any, link: int, first: int, n: Vec3, f: Vec3, Y: Any, y: int, share: float) -> float:
    """Propagate a wrench at a link's origin to the base, from dof `first` on, and add `share` times its y. yᵀ y."""
    total, n, f = propagate_wrench_until(tree, link, -1, first, n, f, Y, y, share)
    return total


@kernel
def propagate_wrench_until(
    tree: Any, link: int, end: int, first: int, n: Vec3, f: Vec3, Y: Any, y: int, share: float
) -> tuple[float, Vec3, Vec3]:
    """The same as far as link `end`. Returns yᵀ y and the remaining wrench at the origin of that link."""
    links = links_of(tree)
    rows = link_data_of(tree)
    dof_rows = dof_data_of(tree)
    total = 0.0
    while link > end:
        l = links[link]
        turns = l["kind"] == REVOLUTE  # half of its S is zero
        for k in range(max(first, l["iv"]), l["iv"] + l["nv"]):
            dof_data = dof_rows[k]
            along = dot(load3(dof_data["S"]), n)
            u = dof_data["D"][0] * (along if turns else along + dot(load3_at(dof_data["S"], 3), f))
            Y[y + k] += share * u
            total += u * u
            n, f = axpy(n, -u, load3(dof_data["U"])), axpy(f, -u, load3_at(dof_data["U"], 3))
        if not is_at_parent(l):
            n = add(n, cross(load3(rows[link + 1]["r"]), f))
        link, first = l["parent"], 0
    return total, n, f


@kernel(inline=False)
def add_dof_force(tree: Any, link: int, dof: int, size: float, Y: Any, y: int) -> float:
    """Add y of a force `size` (N m or N) in one degree of freedom of a link's joint. Returns yᵀ y."""
    dof_data = dof_data_of(tree)[dof]
    u = dof_data["D"][0]
    Y[y + dof] += size * u
    n, f = scale(load3(dof_data["U"]), -u), scale(load3_at(dof_data["U"], 3), -u)
    return size * size * (u * u + propagate_wrench(tree, link, dof + 1, n, f, Y, y, size))


@kernel
def fill_free_root_row(tree: Any, root: Any, link: int, dof: int, sign: float, Y: Any, y: int) -> float:
    """The same for a unit force in a tree with a free root; the row is zero before."""
    dof_data = dof_data_of(tree)[dof]
    u = dof_data["D"][0]
    Y[y + dof] = sign * u
    n, f = scale(load3(dof_data["U"]), -u), scale(load3_at(dof_data["U"], 3), -u)
    total, n, f = propagate_wrench_until(tree, link, 0, dof + 1, n, f, Y, y, sign)
    turn, go = root_response(root, n, f)
    store3_at(Y, y, scale(turn, sign))
    store3_at(Y, y + 3, scale(go, sign))
    return u * u + total + dot(turn, turn) + dot(go, go)


@kernel(inline=False)
def add_joint_force(tree: Any, link: int, forces: Six, Y: Any, y: int) -> float:
    """Add y of forces in all degrees of freedom of a link's joint. Returns yᵀ y."""
    l = links_of(tree)[link]
    first = l["iv"]
    dof_rows = dof_data_of(tree)
    n = f = (0.0, 0.0, 0.0)
    total = 0.0
    for j in range(l["nv"]):
        dof_data = dof_rows[first + j]
        given = forces[0] if j == 0 else forces[1] if j == 1 else forces[2]
        if j > 2:
            given = forces[3] if j == 3 else forces[4] if j == 4 else forces[5]
        u = dof_data["D"][0] * (given + dot(load3(dof_data["S"]), n) + dot(load3_at(dof_data["S"], 3), f))
        Y[y + first + j] += u
        total += u * u
        n, f = axpy(n, -u, load3(dof_data["U"])), axpy(f, -u, load3_at(dof_data["U"], 3))
    return total + propagate_wrench(tree, link, first + l["nv"], n, f, Y, y, 1.0)


@kernel(inline=False)
def add_link_wrench(tree: Any, link: int, n: Vec3, f: Vec3, Y: Any, y: int) -> None:
    """Add y of a wrench on a link, at the link's origin, in world axes."""
    propagate_wrench(tree, link, 0, n, f, Y, y, 1.0)


@kernel
def add_dof_row(solver: Any, tree: Any, tree_index: int, link: int, dof: int, sign: float, what: int) -> int:
    """Add the row of one degree of freedom, with a sign. Returns its index, -1 if a table is full."""
    i = claim_dof_row(solver, tree, tree_index, link, dof, what)
    if i < 0:
        return -1
    constraint, Y = dof_constraint_room(solver)[i], whitened_rows(solver)
    used = constraint["y"]
    if link > 0 and has_free_root(tree):
        root = free_roots_of(solver)[tree_index]
        start_dof_row(solver, constraint, fill_free_root_row(tree, root, link, dof, sign, Y, used))
    else:
        start_dof_row(solver, constraint, add_dof_force(tree, link, dof, sign, Y, used))
    return i


@kernel(inline=False)
def add_joint_row(solver: Any, tree: Any, tree_index: int, link: int, dof: int, forces: Six, what: int) -> int:
    """Add the row of a combination of all degrees of freedom of a joint. Returns its index, -1 if a table is full."""
    i = claim_dof_row(solver, tree, tree_index, link, dof, what)
    if i < 0:
        return -1
    constraint, Y = dof_constraint_room(solver)[i], whitened_rows(solver)
    used = constraint["y"]
    start_dof_row(solver, constraint, add_joint_force(tree, link, forces, Y, used))
    return i


@kernel
def claim_dof_row(solver: Any, tree: Any, tree_index: int, link: int, dof: int, what: int) -> int:
    """Claim a row on a degree of freedom of a link's joint. Returns its index, -1 if a table is full."""
    i, length = solver["dof_constraint_count"], joint_row_length(solver, tree, tree_index, link)
    used = claim_row(solver, length)
    if used < 0:
        return -1
    constraint = dof_constraint_room(solver)[i]
    constraint["kind"], constraint["tree"], constraint["dof"] = what, tree_index, dof
    constraint["length"], constraint["y"] = length, used
    return i


@kernel
def joint_row_length(solver: Any, tree: Any, tree_index: int, link: int) -> int:
    """Length of a row on the joint of a link of tree t."""
    l = links_of(tree)[link]
    return row_length(slices_of(solver)[tree_index], l["iv"] + l["nv"])


@kernel
def claim_row(solver: Any, length: int) -> int:
    """Claim a dof row with `length` zero numbers y. Returns the first of them, -1 if a table is full."""
    if solver["dof_constraint_count"] == solver["dof_constraint_room"]:
        solver["full"] |= layout.FULL_DOF_CONSTRAINTS
        return -1
    used = claim_numbers(solver, length)
    solver["dof_constraint_count"] += 1 if used >= 0 else 0
    return used


@kernel
def start_dof_row(solver: Any, constraint: Any, total: float) -> None:
    """Initialize a dof row; `total` is its yᵀ y."""
    constraint["offset"] = slices_of(solver)[constraint["tree"]]["offset"]
    constraint["effective_mass"], constraint["p"] = 1.0 / total, 0.0
    constraint["total_impulse"], constraint["target"] = 0.0, 0.0
    constraint["largest_force"], constraint["smallest_force"], constraint["drive"] = np.inf, -np.inf, -1
    constraint["separation"] = constraint["initial_separation"] = 0.0
    constraint["load_per_mass"] = constraint["rounding_impulse"] = 0.0
    constraint["acted"] = 0
