"""New velocities and positions of trees at the end of a step, from the whitened solution z."""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.passive import fill_joint_forces
from kinemorph.constraint.whiten import unwhiten_velocity, unwhiten_velocity_pair
from kinemorph.contact import layout as contact_layout
from kinemorph.contact.newton.load_estimate import tree_mass
from kinemorph.contact.rows.free_root_rows import has_free_root, unwhiten_root
from kinemorph.jit.api import kernel, rows_at
from kinemorph.motion.stepping import copy
from kinemorph.multibody.algorithms.aba import articulated_body
from kinemorph.multibody.algorithms.configuration import advance_configuration
from kinemorph.multibody.algorithms.free_body import free_body_of, is_floating
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.checks import NO_FORCES
from kinemorph.multibody.layout import LINK_DATA, dofs_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul_vec
from kinemorph.spatial.quaternion import conjugate, multiply, rotate
from kinemorph.spatial.rows import load3, load3_at, load4_at, load9, store3_at
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest.layout import q_of, rest_of, tau_of, tree_of, trees_of, v_of
from kinemorph.world.impulse.runge_kutta import SCRATCH_PER_DOF, integrate_adaptively
from kinemorph.world.layout import GOOD
from kinemorph.world.tree_motion.acceleration import whiten_velocity_and_acceleration
from kinemorph.world.tree_motion.energy_correction import (
    SLOW_TURN_ANGLE,
    add_implicit_joint_forces,
    compute_expected_energy,
    compute_gravity_work,
    correct_energy_by_scaling,
    correct_internal_energy,
    has_large_rotation,
)
from kinemorph.world.tree_motion.free_flight import advance_free_body
from kinemorph.world.tree_motion.gyroscopic import AT_MIDPOINT
from kinemorph.world.tree_motion.tree_momentum import (
    compute_angular_velocity,
    move_as_rigid_body,
    sum_outside_impulses,
    sum_over_tree,
)

SPEED_OF_LIGHT = 3e8  # m/s: a faster solution counts as diverged
NO_SUMS = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 0.0


@kernel
def compute_joint_steps(
    tree: Any, tree_slice: Any, root: Any, z: Any, moved: Any, step: Any, new: Any, dt: float, v: Any
) -> bool:
    """Joint displacements `step` and velocities `new` of a tree. Returns whether a link turns far in the step."""
    if tree_slice["touched"] != 0:
        free = has_free_root(tree)
        if free:
            unwhiten_root(tree, root, moved, step, z, new)
        unwhiten_velocity_pair(tree, 1 if free else 0, moved, step, z, new)
        return has_large_rotation(tree, SLOW_TURN_ANGLE, False) or has_large_rotation(tree, SLOW_TURN_ANGLE / dt, True)
    # only smooth forces have acted
    unwhiten_velocity(tree, z, new)
    link = links_of(tree)[0]
    flies = tree["nv"] if tree_slice["middle"] == AT_MIDPOINT else link["nv"] if link["kind"] == FREE else 0
    for k in range(tree["nv"]):  # free motion: the mean velocity; other joints: symplectic Euler
        step[k] = dt * (0.5 * (v[k] + new[k]) if k < flies else new[k])
    return has_large_rotation(tree, SLOW_TURN_ANGLE / dt, False)


@kernel(inline=False)
def advance_tree(
    solver: Any, slot: Any, tree: Any, tree_index: int, gravity: Vec3, dt: float, pushed: bool, care: bool
) -> bool:
    """New velocities and positions of tree t; `pushed`: external forces other than contacts may act on it.

    With `care` it returns False, and leaves the state unchanged, if a floating tree's internal motion has too little
    energy for the energy correction: then the caller uses another integrator.
    """
    tree_slice, root = contact_layout.slices_of(solver)[tree_index], contact_layout.free_roots_of(solver)[tree_index]
    o, nq, nv = tree_slice["offset"], tree["nq"], tree["nv"]
    q, v = q_of(slot, tree), v_of(slot, tree)
    z, moved = contact_layout.z_of(solver)[o : o + nv], contact_layout.displacement_of(solver)[o : o + nv]
    step, new = contact_layout.g_of(solver)[o : o + nv], contact_layout.z0_of(solver)[o : o + nv]
    dofs = dofs_of(tree)
    alone = tree_slice["projection"] < 0
    restrained = compute_joint_steps(tree, tree_slice, root, z, moved, step, new, dt, v) and alone
    # no momentum correction near other bodies: it would move the tree into them
    floating = alone and is_floating(links_of(tree), dofs) and not has_outside_contacts(solver, tree_slice)
    due, smooth = 0.0, tree_slice["touched"] == 0 and tree_slice["middle"] == AT_MIDPOINT
    turn = push = (0.0, 0.0, 0.0)
    mass, c, spin, momentum, _, _ = sum_over_tree(tree, q, v, False, floating) if floating or restrained else NO_SUMS
    if restrained or (floating and pushed):
        rest, tau = rest_of(slot, tree), tau_of(slot, tree)
        # scratch after the solve
        y, given = contact_layout.x_of(solver)[o : o + nv], contact_layout.za_of(solver)[o : o + nv]
        whiten_velocity_and_acceleration(slot, tree, tree_slice, v, y, given)
        for k in range(nv):
            given[k] = z[k] - y[k] - dt * given[k]
        if floating and pushed:
            turn, push = sum_outside_impulses(tree, given, c)
        if restrained:
            due = compute_expected_energy(tree, z, dt, q, v, rest, tau, new, y, given, moved)
    if floating:
        turn, push = add_root_impulse(tree, tau_of(slot, tree), turn, push, c, dt)
    care = care and floating and restrained and smooth
    kept = rows_at(solver["stages"] + 8 * SCRATCH_PER_DOF * o, nq + nv, F8)
    if care:
        copy(q, kept, nq)
        copy(v, kept[nq:], nv)
    for k in range(nv):
        v[k] = new[k]
    integrate_positions(tree, q, v, step)
    if floating:
        push = axpy(push, dt * mass, gravity)
        spin = add(spin, turn)
        good = correct_floating_tree(tree, q, v, c, spin, momentum, push, gravity, dt, due, restrained, smooth)
        if care and not good:
            copy(kept, q, nq)
            copy(kept[nq:], v, nv)
            return False
    elif restrained:
        _, centre, _, new_momentum, _, kinetic = sum_over_tree(tree, q, v, True, False)
        due += compute_gravity_work(gravity, mass, sub(centre, c), momentum, new_momentum, dt, smooth)
        correct_energy_by_scaling(tree, v, due, kinetic, mass, new_momentum, smooth)
    for k in range(nv):
        dofs[k]["implicit"] = 0.0
    return True


@kernel
def has_outside_contacts(solver: Any, tree_slice: Any) -> bool:
    """Whether a tree has contacts with other trees or with the ground; self-contacts do not count."""
    if tree_slice["touched"] == contact_layout.FROM_OUTSIDE:
        return True
    island = contact_layout.islands_of(solver)[tree_slice["island"]]
    contacts = contact_layout.contact_constraints(solver)[island["first_contact"] :]
    for i in range(island["contact_count"]):
        if contacts[i]["tree1"] != contact_layout.SAME_TREE:
            return True
    return False


@kernel
def integrate_positions(tree: Any, q: Any, v: Any, step: Any) -> None:
    """Advance q by `step`, and transform the linear velocity of a free root to the axes after the turn."""
    link = links_of(tree)[0]
    free = link["kind"] == FREE
    before = load4_at(q, link["iq"] + 3) if free else (1.0, 0.0, 0.0, 0.0)
    advance_configuration(tree, q, step, 1.0, q)
    if free:
        k = link["iv"] + 3
        turn = multiply(conjugate(load4_at(q, link["iq"] + 3)), before)
        store3_at(v, k, rotate(turn, load3_at(v, k)))


@kernel
def has_root_force(tau: Any) -> bool:
    """Whether the applied forces on the root of a floating tree are not zero."""
    n, f = load3(tau), load3_at(tau, 3)
    return dot(n, n) + dot(f, f) != 0.0


@kernel
def add_root_impulse(tree: Any, tau: Any, turn: Vec3, push: Vec3, centre: Vec3, dt: float) -> tuple[Vec3, Vec3]:
    """Add the impulse of applied forces on a free root to `turn` (N m s, about the centre) and `push` (N s)."""
    if not has_root_force(tau):
        return turn, push
    n, f = load3(tau), load3_at(tau, 3)
    data = rows_at(tree["rows"], 2, LINK_DATA)[1]
    R = load9(data["R"])
    n, f = mul_vec(R, n), mul_vec(R, f)
    return axpy(turn, dt, add(n, cross(sub(load3(data["p"]), centre), f))), axpy(push, dt, f)


@kernel(inline=False)
def correct_floating_tree(
    tree: Any, q: Any, v: Any, c: Vec3, spin: Vec3, momentum: Vec3, push: Vec3, g: Vec3, dt: float, due: float,
    restrained: bool, smooth: bool,
) -> bool:  # fmt: skip
    """Correct the momentum and the centre of mass of a floating tree after a step by a motion of all links as one body.

    They were `momentum` and c before the step, which has added `push`; its angular momentum is to be `spin`. If
    `restrained`, correct its energy as well: False if the internal motion has too little for that.
    """
    mass, centre, angular, linear, I, kinetic = sum_over_tree(tree, q, v, True, True)
    w = compute_angular_velocity(I, spin)
    w_now = compute_angular_velocity(I, angular)
    new_momentum = add(momentum, push)
    internal_energy = kinetic - 0.5 * dot(linear, linear) / mass - 0.5 * dot(angular, w_now)
    u = scale(new_momentum, 1.0 / mass)
    displacement = scale(axpy(momentum, 0.5, push), dt / mass)
    move_as_rigid_body(
        tree, q, v, sub(add(c, displacement), centre), sub(w, w_now), sub(u, scale(linear, 1.0 / mass)), centre
    )
    if restrained:
        due += compute_gravity_work(g, mass, displacement, momentum, new_momentum, dt, smooth)
        return correct_internal_energy(tree, v, due, max(0.0, internal_energy), w, spin, u, mass, centre, smooth)
    return True


@kernel
def compute_moving_mass(tree: Any) -> float:
    """Mass of a tree, kg; at least 1e-6, since joints may have armature where links have no mass."""
    return free_body_of(tree)["mass"] if tree["free_body"] != 0 else max(tree_mass(tree), 1e-6)


@kernel
def is_norm_below(z: Any, offset: int, nv: int, most: float) -> bool:
    """Whether zᵀ z over the slice of a tree is at most `most`; False if it is not a number."""
    total = 0.0
    for k in range(offset, offset + nv):
        total += z[k] * z[k]
    return total <= most


@kernel(inline=False)
def find_runaway_tree(world: Any, solver: Any, forest: Any, first: int, stop: int) -> int:
    """GOOD if awake trees `first` to before `stop` have finite velocities below that of light; else the bad tree."""
    trees = trees_of(forest)
    slices = contact_layout.slices_of(solver)
    z, moved, dt = contact_layout.z_of(solver), contact_layout.displacement_of(solver), world["dt"]
    for t in range(first, stop):
        o = slices[t]["offset"]
        if o >= 0:
            nv = tree_of(trees[t])["nv"]
            most = SPEED_OF_LIGHT * SPEED_OF_LIGHT * compute_moving_mass(tree_of(trees[t]))  # J: twice a kinetic energy
            if not is_norm_below(z, o, nv, most) or (
                slices[t]["touched"] != 0 and not is_norm_below(moved, o, nv, most * dt * dt)
            ):
                return t
    return GOOD


@kernel
def advance_tree_or_body(solver: Any, forest: Any, tree_index: int, dt: float, fluid: bool, care: bool) -> bool:
    """New velocities and positions of one tree or free body, in a `fluid` or not; `care` as in `advance_tree`."""
    slot = trees_of(forest)[tree_index]
    tree_slice = contact_layout.slices_of(solver)[tree_index]
    tree = tree_of(slot)
    if tree["free_body"] != 0:
        q, v = q_of(slot, tree), v_of(slot, tree)
        z, moved = contact_layout.z_of(solver), contact_layout.displacement_of(solver)
        advance_free_body(tree, z, moved, tree_slice["offset"], tree_slice["touched"] != 0, dt, q, v)
        return True
    pushed = solver["applied_force_count"] + forest["element_count"] > 0 or fluid
    return advance_tree(solver, slot, tree, tree_index, (forest["gx"], forest["gy"], forest["gz"]), dt, pushed, care)


@kernel
def is_in_free_flight(solver: Any, forest: Any, slot: Any, tree_slice: Any) -> bool:
    """Whether only gravity and its own joint forces have acted on an articulated tree in this step."""
    jointed = tree_of(slot)["free_body"] == 0
    alone = solver["applied_force_count"] + solver["drive_count"] + forest["element_count"] == 0
    return jointed and alone and tree_slice["touched"] == 0 and slot["sides"] == 0


@kernel(inline=False)
def restore_start_rows(solver: Any, slot: Any, tree: Any, offset: int, dt: float) -> None:
    """Restore the link data of a tree to that of the start of the step."""
    nv = tree["nv"]
    q, v = q_of(slot, tree), v_of(slot, tree)
    rest, tau = rest_of(slot, tree), tau_of(slot, tree)
    total, a = contact_layout.x_of(solver)[offset : offset + nv], contact_layout.g_of(solver)[offset : offset + nv]
    fill_joint_forces(tree, rest, q, v, tau, total)
    add_implicit_joint_forces(tree, v, tau, total, dt)
    articulated_body(tree, q, v, total, NO_FORCES, a)


@kernel(inline=False)
def advance_by_runge_kutta(world: Any, solver: Any, forest: Any, slot: Any, tree_slice: Any) -> bool:
    """Advance a tree in free flight by `integrate_adaptively` (Runge-Kutta). False, with no change, if it fails."""
    tree, dt = tree_of(slot), world["dt"]
    q, v = q_of(slot, tree), v_of(slot, tree)
    tau = tau_of(slot, tree)
    floating = is_floating(links_of(tree), dofs_of(tree))
    floating = floating and not has_root_force(tau)
    mass, c, spin, momentum, _, _ = sum_over_tree(tree, q, v, True, True) if floating else NO_SUMS
    if not integrate_adaptively(solver, slot, tree, tree_slice["offset"], dt):
        restore_start_rows(solver, slot, tree, tree_slice["offset"], dt)
        return False
    if floating:
        g = (forest["gx"], forest["gy"], forest["gz"])
        correct_floating_tree(tree, q, v, c, spin, momentum, scale(g, dt * mass), g, dt, 0.0, False, True)
    return True


@kernel(inline=False)
def advance_tree_range(world: Any, solver: Any, forest: Any, first: int, stop: int) -> None:
    """New velocities and positions of the awake trees from `first` to before `stop` that are in no loop."""
    slices = contact_layout.slices_of(solver)
    trees = trees_of(forest)
    by_steps, fluid = world["model"] == 0, world["fluid"] > 0.0
    for t in range(first, stop):
        if slices[t]["offset"] >= 0 and slices[t]["projection"] < 0:
            alone = is_in_free_flight(solver, forest, trees[t], slices[t])
            if by_steps and advance_tree_or_body(solver, forest, t, world["dt"], fluid, alone and not fluid):
                continue
            if not (alone and advance_by_runge_kutta(world, solver, forest, trees[t], slices[t])):
                advance_tree_or_body(solver, forest, t, world["dt"], fluid, False)
