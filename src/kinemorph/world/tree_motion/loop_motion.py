"""Motion of trees in loops (closed chains): loop forces before the solve, and a projection onto the loops after it.

First, loop forces cancel the accelerations that would open the loops; rows of contacts are projected, so that they open
none either (`contact.rows.loop_projection`). After the motion the loops have turned, and positions and velocities are
projected onto them along the shortest way in the metric of the mass matrix: each impulse on one side has its opposite
on the other, so the projection adds no momentum.

The loops' curvature turns the velocity. Half of that change is applied before the motion, and the projection gives the
other half: with none of it a step of an angle θ would lose a share θ² of the energy, with all of it gain as much.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint import closure
from kinemorph.constraint.basis import slice_product
from kinemorph.constraint.closure import is_projection_done, prepare_rows, solve_loop_impulses, solve_projection_step
from kinemorph.constraint.loops import fill_drifts, fill_errors, fill_relative_velocities
from kinemorph.constraint.solve import set_dependence, solve_rows
from kinemorph.contact import layout as contact_layout
from kinemorph.contact.gauss_seidel.row_products import contact_velocity
from kinemorph.contact.rows.loop_projection import remove_forbidden
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.configuration import advance_configuration
from kinemorph.multibody.algorithms.free_body import accelerate_free_body, articulate_tree, jump_tree
from kinemorph.multibody.algorithms.kinematics import move_links
from kinemorph.multibody.checks import LARGEST_FLOAT, NO_FORCES, finite
from kinemorph.multibody.layout import link_data_of
from kinemorph.multibody.system import F8, constraint_rows_of, path_of, system_of, y_numbers_of
from kinemorph.spatial.rows import load3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import dot, sub
from kinemorph.structure.forest.energy import joint_spring_energy
from kinemorph.structure.forest.layout import a_of, q_of, tau_of, tree_of, trees_of, v_of
from kinemorph.world.tree_motion.free_flight import update_body_row
from kinemorph.world.tree_motion.integration import advance_tree_or_body
from kinemorph.world.tree_motion.momentum_correction import (
    correct_flight_momentum,
    find_flying_projections,
    sum_momenta,
)

CLOSED_LOOP_ERROR = 1e-11  # rad or m: a loop with a smaller error counts as closed
LARGEST_LOOP_ERROR = 1e-9  # rad or m: with a larger error after the projection the step is rejected
LARGEST_ENERGY_FACTOR = 1.01  # of the largest possible energy after a step; 1 if a link turns by more than this:
LARGE_ROTATION = 0.1  # rad
STILL_VELOCITY_SHARE = 1e-13  # share of the velocities: rounding
MOST_VELOCITY_PROJECTIONS = 3  # of velocities: with very different masses one leaves a residual


@kernel(inline=False)
def apply_loop_forces(solver: Any, forest: Any) -> None:
    """Add the loop forces to za of all trees in loops, and remove from z what the loops forbid."""
    trees = trees_of(forest)
    projections = contact_layout.loop_projections(solver)
    for i in range(solver["loop_projection_count"]):
        t = projections[i]["first_tree"]
        while t >= 0:
            slot = trees[t]
            tree = tree_of(slot)
            if tree["free_body"] != 0:  # its acceleration has not been computed yet
                q, v = q_of(slot, tree), v_of(slot, tree)
                tau = tau_of(slot, tree)
                a = a_of(slot, tree)
                accelerate_free_body(tree, q, v, tau, NO_FORCES, a)
            t = slot["follows"]
        apply_projection_forces(solver, projections[i])


@kernel(inline=False)
def apply_projection_forces(solver: Any, projection: Any) -> None:
    """Solve for the forces of one loop projection, from the accelerations of its links without them, and add them."""
    system, at, nz = system_of(projection), projection["offset"], projection["nz"]
    z = contact_layout.z_of(solver)
    za = contact_layout.za_of(solver)
    Q = rows_at(projection["Q"], projection["rank"] * nz, F8)
    rows, path = constraint_rows_of(system), path_of(system)
    Y = y_numbers_of(system)
    fill_drifts(system)
    solve_rows(system)
    for j in range(system["m"]):
        row = rows[j]
        if row["force"] != 0.0:
            for e in range(row["length"]):
                za[at + path[row["path"] + e]] += row["force"] * Y[row["y"] + e]
    remove_forbidden(projection, z, at, 1.0)
    speed_change = 0.0
    for j in range(projection["rank"]):
        along = slice_product(Q, j * nz, za, at, nz)
        speed_change += along * along
    speed, speed_change = sqrt(slice_product(z, at, z, at, nz)), solver["h"] * solver["substeps"] * sqrt(speed_change)
    # near a singular configuration the curvature is larger than a step resolves
    remove_forbidden(projection, za, at, 0.5 if 0.5 * speed_change <= speed else 1.0 - speed / speed_change)


@kernel(inline=False)
def predict_energies(solver: Any) -> None:
    """Kinetic energy `planned` (J) that each loop projection would have at the end of the step without rows."""
    projections, dt = contact_layout.loop_projections(solver), solver["h"] * solver["substeps"]
    z, za = contact_layout.z_of(solver), contact_layout.za_of(solver)
    for i in range(solver["loop_projection_count"]):
        at, nz = projections[i]["offset"], projections[i]["nz"]
        energy = slice_product(z, at, z, at, nz) + dt * dt * slice_product(za, at, za, at, nz)
        projections[i]["unconstrained_energy"] = 0.5 * energy + dt * slice_product(z, at, za, at, nz)


@kernel(inline=False)
def spread_impulse_flags(solver: Any, forest: Any) -> None:
    """Mark all trees of a loop projection as touched, since an impulse on one acts on all.

    Without an impulse all move with their new velocities: the mean of both would add energy to loops, as to joints.
    """
    trees = trees_of(forest)
    slices, projections = contact_layout.slices_of(solver), contact_layout.loop_projections(solver)
    z, moved, dt = contact_layout.z_of(solver), contact_layout.displacement_of(solver), solver["h"] * solver["substeps"]
    for i in range(solver["loop_projection_count"]):
        touched = 0
        t = projections[i]["first_tree"]
        while t >= 0:
            touched |= slices[t]["touched"]
            t = trees[t]["follows"]
        if touched == 0:
            for k in range(projections[i]["offset"], projections[i]["offset"] + projections[i]["nz"]):
                moved[k] = dt * z[k]
        t = projections[i]["first_tree"]
        while t >= 0:
            slices[t]["touched"] = 1
            t = trees[t]["follows"]


@kernel(inline=False)
def advance_looped_trees(world: Any, solver: Any, forest: Any) -> bool:
    """New velocities and positions of all trees in loops. False, with nothing changed, if some are not finite; then
    world["tree"] is one of them."""
    trees = trees_of(forest)
    projections, g = contact_layout.loop_projections(solver), contact_layout.g_of(solver)
    find_flying_projections(solver, forest)
    for i in range(solver["loop_projection_count"]):
        projection = projections[i]
        save_or_restore_trees(forest, projection, False)
        sum_momenta(trees, projection, projection["before"], projection["each"])
        projection["given"] += sum_spring_energy(solver, forest, projection)
        t = projection["first_tree"]
        while t >= 0:
            advance_tree_or_body(solver, forest, t, world["dt"], False, False)
            t = trees[t]["follows"]
        error = close_loops(forest, projection, g[projection["offset"] : projection["offset"] + projection["nz"]])
        if error > max(LARGEST_LOOP_ERROR, 2.0 * projection["error"]):
            restore_at_half_speed(forest, projection)
        else:
            limit_loop_energy(solver, forest, projection, world["dt"])
            if projection["flies"] != 0:
                correct_flight_momentum(forest, projection, world["dt"])
        bad = find_nonfinite_tree(forest, projection)
        if bad >= 0:
            world["tree"] = bad
            for k in range(i + 1):
                save_or_restore_trees(forest, projections[k], True)
            return False
    return True


@kernel(inline=False)
def close_loops(forest: Any, projection: Any, step: Any) -> float:
    """Project the trees of a loop projection: Newton iterations on positions, then an impulse on velocities.

    Returns the largest remaining error, rad or m. `step` is scratch, as long as their slice of z.
    """
    system = system_of(projection)
    trees = trees_of(forest)
    error = LARGEST_FLOAT
    for iteration in range(closure.MOST_PROJECTION_ITERATIONS + 1):
        t = projection["first_tree"]
        while t >= 0:
            tree = tree_of(trees[t])
            articulate_tree(tree, q_of(trees[t], tree))
            t = trees[t]["follows"]
        before = error
        error = fill_errors(system)
        if is_projection_done(iteration, error, before, CLOSED_LOOP_ERROR):
            break
        solve_projection_step(system, iteration)
        apply_position_step(trees, projection["first_tree"], step)
    set_dependence(system, system["dependence"])
    prepare_rows(system, 0.0)
    for _ in range(MOST_VELOCITY_PROJECTIONS):
        speed = update_link_velocities(trees, projection["first_tree"])
        if fill_relative_velocities(system) <= STILL_VELOCITY_SHARE * speed:
            break
        solve_loop_impulses(system)
        apply_velocity_step(trees, projection["first_tree"], step)
    return error


@kernel(inline=False)
def restore_at_half_speed(forest: Any, projection: Any) -> None:
    """Reject a step after which the loops cannot be closed: restore the state and halve all velocities."""
    trees = trees_of(forest)
    save_or_restore_trees(forest, projection, True)
    scale_velocities(trees, projection["first_tree"], 0.5)


@kernel
def scale_velocities(trees: Any, first: int, share: float) -> None:
    t = first
    while t >= 0:
        tree = tree_of(trees[t])
        v = v_of(trees[t], tree)
        for k in range(tree["nv"]):
            v[k] *= share
        t = trees[t]["follows"]


@kernel(inline=False)
def sum_spring_energy(solver: Any, forest: Any, projection: Any) -> float:
    """Energy in the joint springs of the trees of a loop projection, J."""
    trees = trees_of(forest)
    energy = 0.0
    t = projection["first_tree"]
    while t >= 0:
        if tree_of(trees[t])["springs"] != 0:
            energy += joint_spring_energy(trees[t], solver["x"])  # scratch outside of a solve
        t = trees[t]["follows"]
    return energy


@kernel(inline=False)
def bound_work(solver: Any, forest: Any, projection: Any, dt: float) -> float:
    """Upper bound of the work of gravity, applied forces, elements and rows on a loop projection in the step, J."""
    trees = trees_of(forest)
    Y, z = contact_layout.whitened_rows(solver), contact_layout.z_of(solver)
    at, nz = projection["offset"], projection["nz"]
    fall = sub(load3(projection["after"]["moment"]), load3(projection["before"]["moment"]))
    work = max(0.0, dot((forest["gx"], forest["gy"], forest["gz"]), fall))
    work += (
        projection["given"]
        - sum_spring_energy(solver, forest, projection)
        + max(0.0, 0.5 * slice_product(z, at, z, at, nz) - projection["unconstrained_energy"])
    )
    pulls = contact_layout.element_constraints(solver)
    for i in range(solver["element_count"]):
        work += abs(pulls[i]["p"] * contact_velocity(pulls[i], 0, Y, z))
    t = projection["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        v = v_of(trees[t], tree)
        tau = tau_of(trees[t], tree)
        for k in range(tree["nv"]):
            work += dt * abs(tau[k] * v[k])
        t = trees[t]["follows"]
    return work


@kernel(inline=False)
def limit_loop_energy(solver: Any, forest: Any, projection: Any, dt: float) -> None:
    """Scale the velocities down to the largest energy that the work in the step allows: large turns may add some."""
    trees = trees_of(forest)
    sum_momenta(trees, projection, projection["after"], projection["each"])
    kinetic = projection["after"]["kinetic"]
    most = max(0.0, projection["before"]["kinetic"] + bound_work(solver, forest, projection, dt))
    if kinetic > LARGEST_ENERGY_FACTOR * most or (
        kinetic > most and has_fast_links(trees, projection["first_tree"], LARGE_ROTATION / dt)
    ):
        scale_velocities(trees, projection["first_tree"], sqrt(most / kinetic))


@kernel
def has_fast_links(trees: Any, first: int, most: float) -> bool:
    """Whether a link of the trees from `first` on turns faster than `most`, rad/s."""
    t = first
    while t >= 0:
        tree = tree_of(trees[t])
        rows = link_data_of(tree)
        for i in range(1, tree["n"] + 1):
            w = load3(rows[i]["w"])
            if not dot(w, w) <= most * most:
                return True
        t = trees[t]["follows"]
    return False


@kernel
def apply_position_step(trees: Any, first: int, step: Any) -> None:
    """Advance positions by the joint displacements of the projection, scaled down to `LARGEST_JOINT_STEP`."""
    at, longest = 0, 0.0
    t = first
    while t >= 0:
        tree = tree_of(trees[t])
        jump_tree(tree, step[at : at + tree["nv"]])
        for k in range(at, at + tree["nv"]):
            longest = max(longest, abs(step[k]))
        at += tree["nv"]
        t = trees[t]["follows"]
    share = 1.0 if longest <= closure.LARGEST_JOINT_STEP else closure.LARGEST_JOINT_STEP / longest
    at = 0
    t = first
    while t >= 0:
        tree = tree_of(trees[t])
        q = q_of(trees[t], tree)
        advance_configuration(tree, q, step[at : at + tree["nv"]], share, q)
        at += tree["nv"]
        t = trees[t]["follows"]


@kernel
def apply_velocity_step(trees: Any, first: int, step: Any) -> None:
    """Add the joint velocity changes of the projection to v."""
    t = first
    while t >= 0:
        tree = tree_of(trees[t])
        v = v_of(trees[t], tree)
        jump_tree(tree, step)
        for k in range(tree["nv"]):
            v[k] += step[k]
        t = trees[t]["follows"]


@kernel
def update_link_velocities(trees: Any, first: int) -> float:
    """Write the velocities of links to their link data. Returns the largest |v| of a degree of freedom."""
    speed = 0.0
    t = first
    while t >= 0:
        tree = tree_of(trees[t])
        q, v = q_of(trees[t], tree), v_of(trees[t], tree)
        if tree["free_body"] != 0:
            update_body_row(tree, q, v)
        else:
            move_links(tree, q, v)
        for k in range(tree["nv"]):
            speed = max(speed, abs(v[k]))
        t = trees[t]["follows"]
    return speed


@kernel(inline=False)
def save_or_restore_trees(forest: Any, projection: Any, back: bool) -> None:
    """Save q and v of the trees of a loop projection in its backup, or restore them (`back`)."""
    trees = trees_of(forest)
    at = projection["backup"]
    t = projection["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        nq, nv = tree["nq"], tree["nv"]
        q, v = q_of(trees[t], tree), v_of(trees[t], tree)
        kept_q, kept_v = rows_at(at, nq, F8), rows_at(at + 8 * nq, nv, F8)
        for k in range(nq):
            if back:
                q[k] = kept_q[k]
            else:
                kept_q[k] = q[k]
        for k in range(nv):
            if back:
                v[k] = kept_v[k]
            else:
                kept_v[k] = v[k]
        at += 8 * (nq + nv)
        t = trees[t]["follows"]


@kernel(inline=False)
def find_nonfinite_tree(forest: Any, projection: Any) -> int:
    """The first tree of a loop projection whose state is not finite, -1 if all are finite."""
    trees = trees_of(forest)
    t = projection["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        q = q_of(trees[t], tree)
        if not (finite(q) and finite(v_of(trees[t], tree))):
            return t
        t = trees[t]["follows"]
    return -1
