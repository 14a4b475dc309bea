"""The velocity solve of a step by island: a direct solve, or substeps (biased and relax pass), then restitution."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.basis import slice_product
from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel import iteration, restitution
from kinemorph.contact.gauss_seidel.row_products import (
    add_twelve,
    apply_contact_impulses,
    apply_row_impulse,
    contact_velocity,
    fits_registers,
    load_row,
    load_twelve,
    row_velocity,
    store_twelve,
)
from kinemorph.contact.gauss_seidel.vectors import add_scaled, clear, integrate_forces, subtract_vectors
from kinemorph.contact.newton.newton import solve_directly
from kinemorph.contact.rows import torsional_friction
from kinemorph.jit.api import kernel

DRIVEN, ROW = int(layout.DofConstraintKind.DRIVEN), int(layout.DriveKind.ROW)
TINY_IMPULSE_SHARE = 1e-6  # share of what forces do in a substep
IMPACT_SPEED = 0.5  # m/s: faster approach is an impact
MOST_IMPACT_CONTACTS = 16  # contacts: largest island that gets extra iterations for an impact
EXTRA_ITERATIONS = 8  # for such an impact
BLOCKED_SPEED_SHARE = 0.5  # share of its target speed that a blocked motor lacks
NEGLIGIBLE_IMPULSE_SHARE = 1e-3  # share of an impulse: a speed error of less is one of incomplete iteration


@kernel
def warm_start_island(solver: Any, island: Any) -> None:
    """g ← Σ y p of the impulses stored from the previous step, except those of drives."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    Y, g = layout.whitened_rows(solver), layout.g_of(solver)
    clear(g, island["offset"], island["nz"])
    for i in range(island["dof_constraint_count"]):
        constraint = dof_rows[i]
        if constraint["p"] != 0.0 and constraint["kind"] != DRIVEN:
            apply_row_impulse(Y, constraint["y"], g, constraint["offset"], constraint["length"], constraint["p"])
    for i in range(island["contact_count"]):
        t = contacts[i]
        if t["normal_impulse"] > 0.0 and fits_registers(t):
            x = add_twelve(load_twelve(t, g), load_row(t, 0, Y), t["normal_impulse"])
            x = add_twelve(x, load_row(t, 1, Y), t["tangent_impulse1"])
            store_twelve(t, g, add_twelve(x, load_row(t, 2, Y), t["tangent_impulse2"]))
        elif t["normal_impulse"] > 0.0:
            apply_contact_impulses(t, Y, g, t["normal_impulse"], t["tangent_impulse1"], t["tangent_impulse2"])
    if island["torsional_count"] > 0:
        torsional_friction.apply_stored_moments(solver, island)


@kernel
def start_substep(solver: Any, island: Any) -> None:
    """z0 ← z + h za, the velocity after forces, and z ← z0 + α g, the velocity after warm starting.

    Drive impulses count as forces. The stored impulses of contacts, limits and friction, g, are scaled by α ≤ 1 so that
    they add no energy, as repeated impacts otherwise would. ½ |x + α g|² is least at α = - xᵀ g / |g|².
    """
    z, za = layout.z_of(solver), layout.za_of(solver)
    z0, g = layout.z0_of(solver), layout.g_of(solver)
    o, nz = island["offset"], island["nz"]
    against, size = integrate_forces(z, za, solver["h"], g, z0, o, nz)
    driven = island["driven"] > 0
    if driven:
        add_scaled(z0, 0.0, g, z, o, nz)
        apply_drive_impulses(solver, island, z, 1.0)
        against = slice_product(z, o, g, o, nz)
    if -against < 0.99 * size:
        scale_impulses(solver, island, max(0.0, -against / size))
    if driven:
        add_scaled(z, 1.0, g, z, o, nz)
    else:
        add_scaled(z0, 1.0, g, z, o, nz)


@kernel(inline=False)
def count_drives(solver: Any, island: Any) -> int:
    """Number of dof rows of an island that are drives."""
    dof_rows, count = layout.dof_constraints(solver)[island["first_dof_constraint"] :], 0
    for i in range(island["dof_constraint_count"]):
        count += 1 if dof_rows[i]["kind"] == DRIVEN else 0
    return count


@kernel(inline=False)
def reset_blocked_motors(solver: Any, island: Any) -> None:
    """Set the stored impulse of blocked motors without a force limit to zero.

    The obstacle never yields, so a stored impulse would grow in each step until the motor broke through.
    """
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    drives = layout.drives_of(solver)
    Y, z = layout.whitened_rows(solver), layout.z_of(solver)
    for i in range(island["dof_constraint_count"]):
        constraint = dof_rows[i]
        rigid = constraint["kind"] == DRIVEN and constraint["damping"] == np.inf and constraint["p"] != 0.0
        if not rigid or drives[constraint["drive"]]["kind"] != ROW:
            continue
        lacks = constraint["target"] - row_velocity(Y, constraint["y"], z, constraint["offset"], constraint["length"])
        most = constraint["largest_force"] if constraint["p"] > 0.0 else -constraint["smallest_force"]
        blocked = lacks * constraint["p"] > 0.0 and abs(lacks) > BLOCKED_SPEED_SHARE * abs(constraint["target"]) > 0.0
        large = abs(lacks) * constraint["effective_mass"] > NEGLIGIBLE_IMPULSE_SHARE * abs(constraint["p"])
        if blocked and most == np.inf and large:
            constraint["p"] = 0.0


@kernel(inline=False)
def apply_drive_impulses(solver: Any, island: Any, x: Any, sign: float) -> None:
    """x ← x + sign Σ y p over the drives of an island."""
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    Y = layout.whitened_rows(solver)
    for i in range(island["dof_constraint_count"]):
        constraint = dof_rows[i]
        if constraint["kind"] == DRIVEN and constraint["p"] != 0.0:
            apply_row_impulse(Y, constraint["y"], x, constraint["offset"], constraint["length"], sign * constraint["p"])


@kernel(inline=False)
def scale_impulses(solver: Any, island: Any, share: float) -> None:
    """Scale the impulses of a substep, except those of drives, and g."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    g = layout.g_of(solver)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        g[k] *= share
    for i in range(island["contact_count"]):
        contacts[i]["normal_impulse"] *= share
        contacts[i]["tangent_impulse1"] *= share
        contacts[i]["tangent_impulse2"] *= share
    for i in range(island["dof_constraint_count"]):
        if dof_rows[i]["kind"] != DRIVEN:
            dof_rows[i]["p"] *= share
    if island["torsional_count"] > 0:
        torsional_friction.scale_moments(solver, island, share)


@kernel(inline=False)
def add_to_totals(solver: Any, island: Any, sign: float) -> None:
    """Add `sign` times the contact impulses of this substep to the totals of the step."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    for i in range(island["contact_count"]):
        t = contacts[i]
        t["total_normal_impulse"] += sign * t["normal_impulse"]
        t["total_tangent_impulse1"] += sign * t["tangent_impulse1"]
        t["total_tangent_impulse2"] += sign * t["tangent_impulse2"]


@kernel
def limit_energy(solver: Any, island: Any) -> None:
    """g ← z - z0, the effect of the impulses of a substep, scaled down if it would add energy.

    Contacts and limits only dissipate. If iterations have not converged, as in a jam of very different masses, overlap
    correction could remain as speed: |z0 + α g|² equals |z0|² again at α = - 2 z0ᵀ g / |g|².
    """
    z, z0, g = layout.z_of(solver), layout.z0_of(solver), layout.g_of(solver)
    o, nz = island["offset"], island["nz"]
    against, size = subtract_vectors(z, z0, g, o, nz)
    along = -2.0 * against
    if size > along and restitution.is_dissipative(solver, island):
        add_to_totals(solver, island, -1.0)
        scale_impulses(solver, island, max(0.0, along / size))
        add_to_totals(solver, island, 1.0)
        add_scaled(z0, 1.0, g, z, o, nz)


@kernel
def is_at_rest(solver: Any, island: Any) -> bool:
    """Whether a substep changed positions and velocities by less than a tiny share of the effect of forces alone. The
    remaining substeps would then repeat it."""
    if island["dof_constraint_count"] + island["torsional_count"] > 0:
        return False
    g, za, moved = layout.g_of(solver), layout.za_of(solver), layout.displacement_of(solver)
    o, nz, h = island["offset"], island["nz"], solver["h"]
    forces = h * h * slice_product(za, o, za, o, nz)  # squared, what they do in a substep
    if slice_product(moved, o, moved, o, nz) > TINY_IMPULSE_SHARE * TINY_IMPULSE_SHARE * h * h * forces:
        return False
    change = 0.0
    for k in range(o, o + nz):
        d = g[k] + h * za[k]
        change += d * d
    return change <= TINY_IMPULSE_SHARE * TINY_IMPULSE_SHARE * forces


@kernel(inline=False)
def repeat_substep(solver: Any, island: Any) -> None:
    """Count the first substep for all: multiply its displacement and its impulses by their number."""
    moved, count = layout.displacement_of(solver), float(solver["substeps"])
    for k in range(island["offset"], island["offset"] + island["nz"]):
        moved[k] *= count
    add_to_totals(solver, island, count - 1.0)


@kernel
def has_self_overlap(solver: Any, island: Any) -> bool:
    """Whether links of one tree overlap."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    for i in range(island["contact_count"]):
        if contacts[i]["tree1"] == layout.SAME_TREE and contacts[i]["initial_separation"] < 0.0:
            return True
    return False


@kernel(inline=False)
def has_fast_impact(solver: Any, island: Any) -> bool:
    """Whether a few free bodies collide at speed, at more than one point: they need more iterations.

    One iteration gives most of such an impact to the first point: a box that falls flat would tip. Persistent contacts
    converge in later steps through warm starting, but bodies separate after an impact.
    """
    joints_or_rolls = island["dof_constraint_count"] + island["torsional_count"] > 0
    if joints_or_rolls or not 1 < island["contact_count"] <= MOST_IMPACT_CONTACTS:
        return False
    slices, tree, fast = layout.slices_of(solver), island["first_tree"], 0.0
    while tree >= 0:
        if slices[tree]["jointed"] != 0:
            return False
        fast += slices[tree]["speed"]
        tree = slices[tree]["next"]
    if fast < IMPACT_SPEED:
        return False
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    Y, z, dt = layout.whitened_rows(solver), layout.z_of(solver), solver["h"] * solver["substeps"]
    for i in range(island["contact_count"]):
        v = contact_velocity(contacts[i], 0, Y, z)
        if v < -IMPACT_SPEED and contacts[i]["initial_separation"] + dt * v < 0.0:
            return True
    return False


@kernel
def mark_touched(solver: Any, island: Any) -> None:
    """Set `touched` of the trees on which an impulse acted; the other trees are in free flight."""
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    slices = layout.slices_of(solver)
    for i in range(island["contact_count"]):
        contact = contacts[i]
        if contact["acted"] != 0 or contact["total_normal_impulse"] > 0.0:
            if contact["tree1"] >= 0:
                slices[contact["tree1"]]["touched"] = layout.FROM_OUTSIDE
            if contact["tree2"] >= 0:
                tree_slice = slices[contact["tree2"]]
                outside = contact["tree1"] != layout.SAME_TREE
                tree_slice["touched"] = layout.FROM_OUTSIDE if outside else max(1, tree_slice["touched"])
    for i in range(island["dof_constraint_count"]):
        if dof_rows[i]["acted"] != 0 or abs(dof_rows[i]["total_impulse"]) > dof_rows[i]["rounding_impulse"]:
            tree_slice = slices[dof_rows[i]["tree"]]
            tree_slice["touched"] = max(1, tree_slice["touched"])


@kernel
def solve_island(solver: Any, island: Any, soft: tuple[float, float, float]) -> None:
    """Solve one island: z ← velocities after the step, `moved` ← displacement in the step, both whitened."""
    start, nz, h = island["offset"], island["nz"], solver["h"]
    z, za, moved = layout.z_of(solver), layout.za_of(solver), layout.displacement_of(solver)
    g, z0, x = layout.g_of(solver), layout.z0_of(solver), layout.x_of(solver)
    contacts = layout.contact_constraints(solver)[island["first_contact"] :]
    dof_rows = layout.dof_constraints(solver)[island["first_dof_constraint"] :]
    island["driven"] = count_drives(solver, island) if solver["drive_count"] > 0 else 0
    if island["driven"] > 0:
        reset_blocked_motors(solver, island)
    if island["contact_count"] + island["dof_constraint_count"] == 0:
        add_scaled(z, solver["substeps"] * h, za, z, start, nz)
        return
    impacts = restitution.find_approach_speeds(solver, island) if solver["bouncing"] != 0 else 0
    if island["direct"] != 0 and solve_directly(solver, island):
        mark_touched(solver, island)
        if impacts > 0:
            add_scaled(z0, -solver["substeps"] * h, za, x, start, nz)
            restitution.apply_restitution(solver, island)
        return
    if impacts > 0:
        restitution.store_velocities(solver, island)
    strained = island["dof_constraint_count"] > 0 and has_self_overlap(solver, island)
    more = EXTRA_ITERATIONS if has_fast_impact(solver, island) else 0
    warm_start_island(solver, island)
    clear(moved, start, nz)
    iteration.group_dof_constraints(solver, island)
    for n in range(solver["substeps"]):
        start_substep(solver, island)
        if island["dof_constraint_count"] > 0:
            iteration.prepare_dof_constraints(solver, island, True, n == 0, soft)
            iteration.solve_dof_constraints(solver, island, False)
        iteration.solve_contacts_biased(solver, island, n == 0, soft)
        for _ in range(more):
            iteration.solve_contacts_biased(solver, island, n == 0, soft)
        if strained:  # overlap correction must not violate joint limits
            iteration.solve_dof_constraints(solver, island, True)
        add_scaled(moved, h, z, moved, start, nz)
        if island["dof_constraint_count"] > 0:
            iteration.prepare_dof_constraints(solver, island, False, False, soft)
            iteration.solve_dof_constraints(solver, island, False)
        iteration.relax_contacts(solver, island)
        for _ in range(more):
            add_to_totals(solver, island, -1.0)
            iteration.relax_contacts(solver, island)
        if island["torsional_count"] > 0:
            torsional_friction.solve_torsional(solver, island)
            torsional_friction.add_moments_to_totals(solver, island)
        limit_energy(solver, island)
        if n == 0 and impacts == 0 and is_at_rest(solver, island):
            repeat_substep(solver, island)
            break
        for i in range(island["dof_constraint_count"]):
            dof_rows[i]["total_impulse"] += dof_rows[i]["p"]
        if island["driven"] > 0 and n + 1 < solver["substeps"]:
            apply_drive_impulses(solver, island, g, -1.0)
    mark_touched(solver, island)
    if impacts > 0 and not restitution.propagate_impacts(solver, island):
        for i in range(island["contact_count"]):
            contacts[i]["last_normal_impulse"] = contacts[i]["normal_impulse"]
        restitution.apply_restitution(solver, island)


@kernel(inline=False)
def solve_island_range(solver: Any, first: int, last: int) -> None:
    """Solve the islands from `first` to before `last`."""
    islands, soft = layout.islands_of(solver), iteration.soft_coefficients(solver)
    for i in range(first, last):
        solve_island(solver, islands[i], soft)
