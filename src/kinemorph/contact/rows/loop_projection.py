"""Hard loop constraints by projection: all other rows are projected onto the velocities that open no loop.

Trees connected by loops are contiguous in z. The velocities that their loops forbid have an orthonormal basis Q there
(`constraint.basis`), which is removed from the rows of contacts, limits and motors once per step: y ← y - Qᵀ Q y. A row
then acts on all trees of its loop projection, and the solvers need no loop rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint import basis
from kinemorph.constraint.loops import fill_errors, orient_rows
from kinemorph.constraint.solve import factor_rows, multiply_rows, raise_dependence
from kinemorph.constraint.whiten import whiten
from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.vectors import claim_numbers
from kinemorph.contact.rows.contact_rows import disable_contact, recompute_effective_masses
from kinemorph.contact.rows.torsional_friction import set_torsional_masses
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.loop_layout import system_loops_of
from kinemorph.multibody.system import F8, constraint_rows_of, system_of
from kinemorph.spatial.rows import load3, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import axpy
from kinemorph.structure.forest.islands import assemble_system, collect_coupled_trees
from kinemorph.structure.forest.layout import LOOPS, loop_slots_of, tree_of, trees_of
from kinemorph.structure.forest.memory import claim_scratch, clear_words, pool_of

LOOP_PROJECTION_SIZE = layout.LOOP_PROJECTION.itemsize
IMMOVABLE_SHARE = 1e-10  # share of yᵀ y after projection, below which the row cannot move
GENTLE_SHARE = 0.1  # share of |y| after projection, below which overlap is reduced: its correction needs fast motion


@kernel
def projection_of(solver: Any, tree_index: int) -> int:
    """Index of the loop projection of a tree, -1 if it has none or t is -1."""
    return layout.slices_of(solver)[tree_index]["projection"] if tree_index >= 0 else -1


@kernel(inline=False)
def find_projections(solver: Any, forest: Any) -> bool:
    """Create the loop projections, with contiguous slices of z for their trees. False if scratch is too small."""
    slices, islands = layout.slices_of(solver), layout.islands_of(solver)
    trees = trees_of(forest)
    room = pool_of(forest, LOOPS)["used"]
    solver["loop_projections"] = claim_scratch(forest, room * LOOP_PROJECTION_SIZE)
    if solver["loop_projections"] == 0:
        return False
    projections = rows_at(solver["loop_projections"], room, layout.LOOP_PROJECTION)
    for i in range(solver["island_count"]):
        at = islands[i]["offset"]
        t = islands[i]["first_tree"]
        while t >= 0:
            if slices[t]["projection"] < 0 and trees[t]["sides"] > 0:
                k = solver["loop_projection_count"]
                collect_coupled_trees(forest, t, -1)
                if not start_projection(forest, projections[k], at):
                    return False
                u = projections[k]["first_tree"]
                while u >= 0:
                    slices[u]["offset"], slices[u]["projection"] = at, k
                    at += slices[u]["width"]
                    u = trees[u]["follows"]
                solver["loop_projection_count"] = k + 1
                islands[i]["loop_projection_count"] += 1
            elif slices[t]["projection"] < 0:
                slices[t]["offset"] = at
                at += slices[t]["width"]
            t = slices[t]["next"]
    return True


@kernel(inline=False)
def start_projection(forest: Any, hold: Any, offset: int) -> bool:
    """Assemble the loop constraints of the collected trees and the basis Q. False if scratch is too small."""
    trees = trees_of(forest)
    hold["first_tree"], hold["first_loop"] = forest["first_tree"], forest["first_loop"]
    hold["offset"], hold["flies"] = offset, 0
    hold["system"] = assemble_system(forest, 0)
    if hold["system"] == 0:
        return False
    system = system_of(hold)
    hold["nz"] = system["nv"]
    numbers = 0
    t = hold["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        numbers += tree["nq"] + tree["nv"]
        t = trees[t]["follows"]
    hold["Q"] = claim_scratch(forest, 8 * system["m"] * system["nv"])
    hold["reaction"] = claim_scratch(forest, 8 * system["m"])
    hold["backup"] = claim_scratch(forest, 8 * numbers)
    if hold["backup"] == 0:
        return False
    orient_rows(system)
    whiten(system)
    multiply_rows(system)
    hold["error"] = fill_errors(system)
    raise_dependence(system, system["dependence"])
    factor_rows(system, 0.0)
    hold["rank"] = basis.fill_basis(system, rows_at(hold["Q"], system["m"] * system["nv"], F8))
    clear_words(hold["reaction"], 8 * system["m"])
    return True


@kernel
def remove_forbidden(hold: Any, x: Any, at: int, share: float) -> None:
    """x ← x - share Qᵀ Q x, for the entries of a loop projection, which begin at `at`."""
    basis.remove_loop_part(rows_at(hold["Q"], hold["rank"] * hold["nz"], F8), hold["rank"], hold["nz"], x, at, share)


@kernel
def projected_slices(solver: Any, element: Any) -> tuple[int, int, int, int]:
    """The slices of z of a row after projection, when it acts on all trees of its projections: o1, l1, o2, l2."""
    h1, h2 = projection_of(solver, element["tree1"]), projection_of(solver, element["tree2"])
    projections = layout.loop_projections(solver)
    o1, l1 = (projections[h1]["offset"], projections[h1]["nz"]) if h1 >= 0 else (element["offset1"], element["length1"])
    o2, l2 = (projections[h2]["offset"], projections[h2]["nz"]) if h2 >= 0 else (element["offset2"], element["length2"])
    return (0, 0, o2, l2) if h1 >= 0 and h1 == h2 else (o1, l1, o2, l2)


@kernel
def projection_ranks(solver: Any, element: Any) -> tuple[int, int]:
    """Number of loop reactions stored behind such a row, for each of its two projections."""
    h1, h2 = projection_of(solver, element["tree1"]), projection_of(solver, element["tree2"])
    projections = layout.loop_projections(solver)
    return projections[h1]["rank"] if h1 >= 0 and h1 != h2 else 0, projections[h2]["rank"] if h2 >= 0 else 0


@kernel(inline=False)
def project_rows(solver: Any, element: Any, old: int, count: int) -> int:
    """Project `count` rows y of a contact or element constraint, stored from number `old` on.

    Returns their new first number, -1 if Y is full. The old numbers stay in Y; the slices of `element` are unchanged.
    """
    h1, h2 = projection_of(solver, element["tree1"]), projection_of(solver, element["tree2"])
    projections, Y = layout.loop_projections(solver), layout.whitened_rows(solver)
    p1, n1, p2, n2 = projected_slices(solver, element)
    r1, r2 = projection_ranks(solver, element)
    o1, l1, o2, l2 = element["offset1"], element["length1"], element["offset2"], element["length2"]
    length = n1 + n2
    used = claim_numbers(solver, count * (length + r1 + r2))
    if used < 0:
        return -1
    first = o1 - (p1 if n1 > 0 else p2)  # both sides may be in one slice now
    for r in range(count):
        y, x = used + r * length, old + r * (l1 + l2)
        for k in range(l1):
            Y[y + first + k] += Y[x + k]
        for k in range(l2):
            Y[y + n1 + o2 - p2 + k] += Y[x + l1 + k]
        kept = used + count * length + r * (r1 + r2)
        if h1 >= 0 and l1 > 0:
            rank, n = (r1, n1) if n1 > 0 else (r2, n2)
            basis.remove_row_loop_part(rows_at(projections[h1]["Q"], rank * n, F8), rank, n, Y, y, x, first, l1, kept)
        if h2 >= 0 and l2 > 0:
            Q = rows_at(projections[h2]["Q"], r2 * n2, F8)
            basis.remove_row_loop_part(Q, r2, n2, Y, y + n1, x + l1, o2 - p2, l2, kept + r1)
    return used


@kernel
def project_constraint(solver: Any, element: Any, count: int) -> bool:
    """Project all rows of a contact or element constraint, and set its slices. False if Y is full."""
    if projection_of(solver, element["tree1"]) < 0 and projection_of(solver, element["tree2"]) < 0:
        return True
    y = project_rows(solver, element, element["y"], count)
    if y >= 0:
        element["offset1"], element["length1"], element["offset2"], element["length2"] = projected_slices(
            solver, element
        )
        element["y"] = y
    return y >= 0


@kernel
def add_loop_reaction(solver: Any, element: Any, count: int, row: int, p: float) -> None:
    """Add the loop reactions to an impulse p at one row of a projected constraint."""
    h1, h2 = projection_of(solver, element["tree1"]), projection_of(solver, element["tree2"])
    if p == 0.0 or (h1 < 0 and h2 < 0):
        return
    projections, Y = layout.loop_projections(solver), layout.whitened_rows(solver)
    r1, r2 = projection_ranks(solver, element)
    kept = element["y"] + count * (element["length1"] + element["length2"]) + row * (r1 + r2)
    if r1 > 0:
        basis.subtract_scaled(rows_at(projections[h1]["reaction"], r1, F8), 0, Y, kept, r1, p)
    if r2 > 0:
        basis.subtract_scaled(rows_at(projections[h2]["reaction"], r2, F8), 0, Y, kept + r1, r2, p)


@kernel
def reduced_overlap(gap: float, after: float, before: float) -> float:
    """The gap, reduced if it is an overlap whose correction the loops nearly prevent (|y|² `before` and `after`)."""
    return gap if gap > 0.0 else gap * min(1.0, sqrt(after / before) / GENTLE_SHARE)


@kernel(inline=False)
def project_contact(solver: Any, contact: Any) -> bool:
    """Project the rows of a contact. It is disabled if the loops allow no motion along its normal."""
    Y = layout.whitened_rows(solver)
    old, n = contact["y"], contact["length1"] + contact["length2"]
    normal = basis.slice_product(Y, old, Y, old, n)
    along = basis.slice_product(Y, old + n, Y, old + n, 2 * n)
    if not project_constraint(solver, contact, 3):
        return False
    y, n = contact["y"], contact["length1"] + contact["length2"]
    left = basis.slice_product(Y, y, Y, y, n)
    if left > IMMOVABLE_SHARE * normal:
        gap = reduced_overlap(contact["initial_separation"], left, normal)
        contact["separation"] = contact["initial_separation"] = gap
        if not basis.slice_product(Y, y + n, Y, y + n, 2 * n) > IMMOVABLE_SHARE * along:
            for k in range(y + n, y + 3 * n):
                Y[k] = 0.0
    else:
        disable_contact(contact, Y, y, n)
    recompute_effective_masses(contact, Y)
    return True


@kernel(inline=False)
def project_dof_row(solver: Any, constraint: Any) -> bool:
    """Project a dof row. It gets no impulse if the loops allow no motion along it."""
    h = projection_of(solver, constraint["tree"])
    if h < 0:
        return True
    hold, Y = layout.loop_projections(solver)[h], layout.whitened_rows(solver)
    n, shift, rank = hold["nz"], constraint["offset"] - hold["offset"], hold["rank"]
    used = claim_numbers(solver, n + rank)
    if used < 0:
        return False
    before = basis.slice_product(Y, constraint["y"], Y, constraint["y"], constraint["length"])
    for k in range(n + rank):
        Y[used + k] = Y[constraint["y"] + k - shift] if shift <= k < shift + constraint["length"] else 0.0
    Q = rows_at(hold["Q"], rank * n, F8)
    basis.remove_row_loop_part(Q, rank, n, Y, used, constraint["y"], shift, constraint["length"], used + n)
    after = basis.slice_product(Y, used, Y, used, n)
    if after > IMMOVABLE_SHARE * before:
        constraint["effective_mass"] = 1.0 / after
        constraint["initial_separation"] = reduced_overlap(constraint["initial_separation"], after, before)
    else:
        constraint["effective_mass"], constraint["damping"] = 0.0, np.inf  # so that a drive has no force there
        for k in range(used, used + n):
            Y[k] = 0.0
    constraint["offset"], constraint["length"], constraint["y"] = hold["offset"], n, used
    return True


@kernel(inline=False)
def project_torsional(solver: Any, r: Any, element: Any) -> bool:
    """Project the rows of a torsional constraint; call it before the slices of its contact are changed."""
    if projection_of(solver, element["tree1"]) < 0 and projection_of(solver, element["tree2"]) < 0:
        return True
    y = project_rows(solver, element, r["y"], 3)
    if y < 0:
        return False
    r["y"] = y
    _, n1, _, n2 = projected_slices(solver, element)
    set_torsional_masses(r, n1 + n2, layout.whitened_rows(solver))
    return True


@kernel(inline=False)
def project_all_rows(solver: Any) -> bool:
    """Project all rows of contacts, limits, friction and motors. False if Y is full."""
    contacts, dof_rows = layout.contact_constraints(solver), layout.dof_constraints(solver)
    torsions = layout.torsional_constraints(solver)
    for i in range(solver["dof_constraint_count"]):
        if not project_dof_row(solver, dof_rows[i]):
            return False
    for i in range(solver["torsional_count"]):
        if not project_torsional(solver, torsions[i], contacts[torsions[i]["contact_constraint"]]):
            return False
    for i in range(solver["contact_count"]):
        if (
            projection_of(solver, contacts[i]["tree1"]) >= 0 or projection_of(solver, contacts[i]["tree2"]) >= 0
        ) and not project_contact(solver, contacts[i]):
            return False
    return True


@kernel(inline=False)
def store_accelerations(solver: Any) -> None:
    """g ← za of trees with loops, before given forces are added to za."""
    projections = layout.loop_projections(solver)
    za, g = layout.za_of(solver), layout.g_of(solver)
    for i in range(solver["loop_projection_count"]):
        for k in range(projections[i]["offset"], projections[i]["offset"] + projections[i]["nz"]):
            g[k] = za[k]


@kernel(inline=False)
def project_forces(solver: Any) -> None:
    """After given forces were added: project their part of za, and add their loop reactions and bound of work."""
    projections = layout.loop_projections(solver)
    za, g, dt = layout.za_of(solver), layout.g_of(solver), solver["h"] * solver["substeps"]
    z = layout.z_of(solver)
    for i in range(solver["loop_projection_count"]):
        hold = projections[i]
        at, nz, rank = hold["offset"], hold["nz"], hold["rank"]
        Q, reaction = rows_at(hold["Q"], rank * nz, F8), rows_at(hold["reaction"], rank, F8)
        for k in range(at, at + nz):
            za[k] -= g[k]
        for j in range(rank):
            reaction[j] -= dt * basis.slice_product(Q, j * nz, za, at, nz)
        remove_forbidden(hold, za, at, 1.0)
        more = basis.slice_product(za, at, z, at, nz) + dt * basis.slice_product(za, at, g, at, nz)
        more += 0.5 * dt * basis.slice_product(za, at, za, at, nz)
        hold["given"] = dt * abs(more)
        for k in range(at, at + nz):
            za[k] += g[k]


@kernel(inline=False)
def write_loop_forces(solver: Any, forest: Any) -> None:
    """Mean forces of the step in loop joints: those of the loop systems plus the reactions to all other rows."""
    contacts, dof_rows = layout.contact_constraints(solver), layout.dof_constraints(solver)
    pulls, projections = layout.element_constraints(solver), layout.loop_projections(solver)
    torsions = layout.torsional_constraints(solver)
    Y, dt = layout.whitened_rows(solver), solver["h"] * solver["substeps"]
    for i in range(solver["contact_count"]):
        t = contacts[i]
        add_loop_reaction(solver, t, 3, 0, t["total_normal_impulse"])
        add_loop_reaction(solver, t, 3, 1, t["total_tangent_impulse1"])
        add_loop_reaction(solver, t, 3, 2, t["total_tangent_impulse2"])
    for i in range(solver["torsional_count"]):
        torsion = torsions[i]
        t = contacts[torsion["contact_constraint"]]
        y, t["y"] = t["y"], torsion["y"]
        add_loop_reaction(solver, t, 3, 0, torsion["total_normal_impulse"])
        add_loop_reaction(solver, t, 3, 1, torsion["total_tangent_impulse1"])
        add_loop_reaction(solver, t, 3, 2, torsion["total_tangent_impulse2"])
        t["y"] = y
    for i in range(solver["element_count"]):
        add_loop_reaction(solver, pulls[i], 1, 0, pulls[i]["p"])
    for i in range(solver["dof_constraint_count"]):
        constraint = dof_rows[i]
        h = projection_of(solver, constraint["tree"])
        if h >= 0 and constraint["total_impulse"] != 0.0:
            rank = projections[h]["rank"]
            reaction = rows_at(projections[h]["reaction"], rank, F8)
            basis.subtract_scaled(
                reaction, 0, Y, constraint["y"] + constraint["length"], rank, constraint["total_impulse"]
            )
    for i in range(solver["loop_projection_count"]):
        system = system_of(projections[i])
        basis.add_projection_forces(system, 1.0 / dt, rows_at(projections[i]["reaction"], system["m"], F8))
        write_loop_wrenches(solver, forest, projections[i], system)


@kernel(inline=False)
def write_loop_wrenches(solver: Any, forest: Any, hold: Any, system: Any) -> None:
    """Write the wrenches of the loops of a projection, each at its own joint."""
    slots = loop_slots_of(forest)
    loops, rows = system_loops_of(system), constraint_rows_of(system)
    wrenches = layout.loop_wrenches_of(solver)
    k = hold["first_loop"]
    for i in range(system["count"]):
        n = f = (0.0, 0.0, 0.0)
        for j in range(loops[i]["first"], loops[i]["first"] + loops[i]["m"]):
            n = axpy(n, rows[j]["force"], load3(rows[j]["n"]))
            f = axpy(f, rows[j]["force"], load3(rows[j]["f"]))
        store3_at(wrenches, 6 * k, n)
        store3_at(wrenches, 6 * k + 3, f)
        k = slots[k]["follows"]
