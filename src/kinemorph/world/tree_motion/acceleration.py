"""Accelerations of trees without constraint rows, and the whitened velocities z and accelerations za of the solve."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.passive import fill_joint_forces
from kinemorph.constraint.whiten import whiten_motion, whiten_velocity_pair
from kinemorph.contact.islands import clear_padding
from kinemorph.contact.layout import FULL_Z, slices_of, z_of, za_of
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.aba import give_way, outward
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.checks import NO_FORCES, finite
from kinemorph.multibody.layout import dof_data_of, dofs_of, links_of
from kinemorph.spatial.rows import load3_at, store3_at
from kinemorph.spatial.vec3 import add, cross
from kinemorph.structure.forest.layout import IN_USE, a_of, jump_of, q_of, rest_of, tau_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import count_trees
from kinemorph.world.layout import GOOD, NO_ROOM, Status
from kinemorph.world.threads.thread_rows import workers_of
from kinemorph.world.tree_motion.energy_correction import add_implicit_joint_forces
from kinemorph.world.tree_motion.free_flight import update_body_row, whiten_body_state
from kinemorph.world.tree_motion.gyroscopic import (
    AT_START,
    FAST_TURN_ANGLE,
    SMALLEST_SWING_ANGLE,
    accelerate_at_midpoint,
    has_fast_rotation,
)

DONE, NOT_FINITE, FULL_SOLVER = int(Status.DONE), int(Status.NOT_FINITE), int(Status.FULL_SOLVER)
AWAKE, ASLEEP, WOKEN = 0, 1, 2  # values of `asleep` of a tree; WOKEN: its accelerations are still missing


@kernel
def status_of_result(world: Any, result: int) -> int:
    """The Status for the least result of all batches: GOOD, NO_ROOM, or the index of a tree that is not finite."""
    if result == GOOD:
        return DONE
    if result == NO_ROOM:
        return FULL_SOLVER
    world["tree"] = result
    return NOT_FINITE


@kernel
def accelerate_all_trees(world: Any, solver: Any, forest: Any, sleep_state: int) -> int:
    """Accelerations without constraint rows of all trees in a sleep state, by this thread. Returns a Status."""
    if sleep_state == AWAKE:
        solver["any_asleep"] = solver["any_jointed"] = 0
    return status_of_result(world, accelerate_tree_range(world, solver, forest, sleep_state, 0, 0, count_trees(forest)))


@kernel(inline=False)
def accelerate_tree_range(
    world: Any, solver: Any, forest: Any, sleep_state: int, part: int, first: int, stop: int
) -> int:
    """`accelerate` for trees `first` to before `stop`, by thread number `part`. Returns GOOD, NO_ROOM or a bad tree."""
    trees = trees_of(forest)
    slices = slices_of(solver)
    threads = workers_of(world)["threads"] if world["crew"] != 0 else 1
    room = solver["z_room"] // threads  # numbers of the solver's vectors, for each thread
    for t in range(first, stop):
        slot = trees[t]
        if slot["next"] != IN_USE or slices[t]["asleep"] != sleep_state:
            if slices[t]["asleep"] != AWAKE:
                solver["any_asleep"] = 1
                if slices[t]["jointed"] != 0:  # may wake in this step
                    solver["any_jointed"] = 1
            continue
        tree = tree_of(slot)
        q, v = q_of(slot, tree), v_of(slot, tree)
        if world["boxes_valid"] == 0:  # else the placed shapes have measured it in this step
            slices[t]["speed"] = 0.0
        slices[t]["jointed"] = 1 if tree["free_body"] == 0 else 0
        if tree["free_body"] != 0:
            slices[t]["asleep"] = AWAKE
            update_body_row(tree, q, v)
            continue
        solver["any_jointed"] = 1
        a = a_of(slot, tree)
        total = jump_of(slot, tree)  # scratch: used by edits only
        rest, tau = rest_of(slot, tree), tau_of(slot, tree)
        fill_joint_forces(tree, rest, q, v, tau, total)
        add_implicit_joint_forces(tree, v, tau, total, world["dt"])
        give_way(tree, q, v, total, NO_FORCES)
        slices[t]["middle"], slices[t]["asleep"] = AT_START, AWAKE
        alone = slot["sides"] == 0  # loop forces need those at the start of the step
        fast = alone and has_fast_rotation(
            tree, world["dt"], FAST_TURN_ANGLE if slices[t]["touched"] != 0 else SMALLEST_SWING_ANGLE
        )
        slices[t]["rates"] = 1 if fast or not alone or needs_accelerations(tree) else 0
        if slices[t]["rates"] == 0:
            if not has_finite_residuals(tree):
                return t
            continue
        outward(tree, a)
        if fast and finite(a):
            if tree["nq"] > room:
                solver["nz"] = threads * tree["nq"]
                solver["full"] |= FULL_Z
                return NO_ROOM
            slices[t]["middle"] = accelerate_at_midpoint(solver, part * room, tree, q, v, total, a, world["dt"])
        if not finite(a):
            return t
    return GOOD


@kernel
def needs_accelerations(tree: Any) -> bool:
    """Whether the joint accelerations of a tree are needed: for a joint with a largest speed, or for a free root with
    armature or damping along its axes (`whiten_motion`)."""
    dofs, link = dofs_of(tree), links_of(tree)[0]
    slowed = 0.0
    if link["kind"] == FREE:
        for k in range(link["iv"] + 3, link["iv"] + 6):
            slowed += dofs[k]["armature"] + dofs[k]["implicit"]
    wants = slowed != 0.0
    for k in range(tree["nv"]):
        wants = wants or 0.0 < dofs[k]["velocity_limit"] < np.inf
    return wants


@kernel
def has_finite_residuals(tree: Any) -> bool:
    """Whether u, the joint forces less the articulated bias forces, is finite in all degrees of freedom."""
    dof_rows, total = dof_data_of(tree), 0.0
    for k in range(tree["nv"]):
        total += abs(dof_rows[k]["u"][0])
    return total < np.inf


@kernel
def whiten_velocity_and_acceleration(slot: Any, tree: Any, tree_slice: Any, v: Any, z: Any, za: Any) -> None:
    """Whitened velocities z of a tree, and its whitened accelerations za without constraint rows."""
    if tree_slice["rates"] != 0:
        whiten_known_acceleration(slot, tree, v, z, za)
    else:
        whiten_motion(tree, v, z, za)


@kernel(inline=False)
def whiten_known_acceleration(slot: Any, tree: Any, v: Any, z: Any, za: Any) -> None:
    """`whiten_velocity_and_acceleration` for a tree whose joint accelerations have been computed."""
    a, own = a_of(slot, tree), jump_of(slot, tree)
    for k in range(tree["nv"]):
        own[k] = a[k]
    link = links_of(tree)[0]
    if link["kind"] == FREE:  # its velocity is in body axes: -ω x v is no force
        k = link["iv"] + 3
        store3_at(own, k, add(load3_at(own, k), cross(load3_at(v, link["iv"]), load3_at(v, k))))
    whiten_velocity_pair(tree, own, za, v, z)


@kernel(inline=False)
def whiten_start_velocities(solver: Any, forest: Any, first: int, stop: int) -> None:
    """z and za of the awake trees from `first` to before `stop`."""
    trees = trees_of(forest)
    slices = slices_of(solver)
    z, za = z_of(solver), za_of(solver)
    for t in range(first, stop):
        o = slices[t]["offset"]
        if o < 0:
            continue
        slot = trees[t]
        tree = tree_of(slot)
        nv = tree["nv"]
        slices[t]["touched"] = 0
        v = v_of(slot, tree)
        if tree["free_body"] != 0:
            whiten_body_state(tree, v, tau_of(slot, tree), z, za, o)
            continue
        whiten_velocity_and_acceleration(slot, tree, slices[t], v, z[o : o + nv], za[o : o + nv])
        clear_padding(slices[t], nv, z)
        clear_padding(slices[t], nv, za)
