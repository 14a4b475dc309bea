"""New velocities and positions of trees at the end of a step, from the whitened solution."""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.passive import joint_forces
from kinemorph.constraint.whiten import unwhiten_two, unwhiten_velocity
from kinemorph.contact.layout import (
    FROM_OUTSIDE,
    SAME_TREE,
    contact_constraints,
    displacement_of,
    free_roots_of,
    g_of,
    islands_of,
    slices_of,
    x_of,
    z0_of,
    z_of,
    za_of,
)
from kinemorph.contact.newton.load_estimate import mass_of
from kinemorph.contact.rows.free_root_rows import is_free, unwhiten_root
from kinemorph.jit.api import kernel, rows_at
from kinemorph.motion.stepping import copy
from kinemorph.multibody.algorithms.aba import articulated_body
from kinemorph.multibody.algorithms.configuration import advance
from kinemorph.multibody.algorithms.free_body import floats, lone_of
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.checks import NO_FORCES
from kinemorph.multibody.layout import LINK_DATA, dofs_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul_vec
from kinemorph.spatial.quaternion import conjugate, multiply, rotate
from kinemorph.spatial.rows import load3, load3_at, load4_at, load9, store3_at
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest.layout import REST, TAU, Q, V, tree_of, trees_of
from kinemorph.structure.forest.memory import state_at
from kinemorph.world.impulse.runge_kutta import STAGES, go_smoothly
from kinemorph.world.layout import GOOD
from kinemorph.world.tree_motion.acceleration import whiten_both
from kinemorph.world.tree_motion.energy_correction import (
    SLOW_TURN_ANGLE,
    energy_due,
    restrain_floating,
    restrain_held,
    take_implicitly,
    turns_far,
    weight_done,
)
from kinemorph.world.tree_motion.free_flight import fly_on
from kinemorph.world.tree_motion.gyroscopic import MIDDLE
from kinemorph.world.tree_motion.tree_momentum import from_outside, push_whole, spin_of, whole

SPEED_OF_LIGHT = 3e8  # m/s: what would get faster has exploded
NOTHING = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 0.0


@kernel
def take_steps(tree: Any, span: Any, root: Any, z: Any, moved: Any, step: Any, new: Any, dt: float, v: Any) -> bool:
    """How far the joints of a tree go in a step, and their velocities after it; whether it turns far on the way."""
    if span["touched"] != 0:
        free = is_free(tree)
        if free:
            unwhiten_root(tree, root, moved, step, z, new)
        unwhiten_two(tree, 1 if free else 0, moved, step, z, new)
        return turns_far(tree, SLOW_TURN_ANGLE, False) or turns_far(tree, SLOW_TURN_ANGLE / dt, True)
    # nothing acted but smooth forces
    unwhiten_velocity(tree, z, new)
    link = links_of(tree)[0]
    flies = tree["nv"] if span["middle"] == MIDDLE else link["nv"] if link["kind"] == FREE else 0
    for k in range(tree["nv"]):  # in flight the mean of both velocities is exact; else it goes with middle forces
        step[k] = dt * (0.5 * (v[k] + new[k]) if k < flies else new[k])
    return turns_far(tree, SLOW_TURN_ANGLE / dt, False)


@kernel(inline=False)
def advance_tree(solver: Any, slot: Any, tree: Any, t: int, gravity: Vec3, dt: float, pushed: bool, care: bool) -> bool:
    """Velocities and positions of tree t after a step; `pushed`: more than touches may act on it from outside.

    With `care` it may be False: what floats and spins keeps its momentum, and if its links move too little against each
    other to pay for errors of energy, the step is to be made otherwise. Then its state is as it was.
    """
    span, root = slices_of(solver)[t], free_roots_of(solver)[t]
    o, nq, nv = span["offset"], tree["nq"], tree["nv"]
    q, v = rows_at(state_at(slot, tree, Q), nq, F8), rows_at(state_at(slot, tree, V), nv, F8)
    z, moved = z_of(solver)[o : o + nv], displacement_of(solver)[o : o + nv]
    step, new = g_of(solver)[o : o + nv], z0_of(solver)[o : o + nv]
    dofs = dofs_of(tree)
    alone = span["hold"] < 0
    restrained = take_steps(tree, span, root, z, moved, step, new, dt, v) and alone
    # what comes near something else stays with what its rows have made of it: a motion of all of it would go into that
    floating = alone and floats(links_of(tree), dofs) and not meets_others(solver, span)
    due, smooth = 0.0, span["touched"] == 0 and span["middle"] == MIDDLE
    turn = push = (0.0, 0.0, 0.0)
    mass, c, spin, momentum, _, _ = whole(tree, q, v, False, floating) if floating or restrained else NOTHING
    if restrained or (floating and pushed):
        rest, tau = rows_at(state_at(slot, tree, REST), nq, F8), rows_at(state_at(slot, tree, TAU), nv, F8)
        y, given = x_of(solver)[o : o + nv], za_of(solver)[o : o + nv]  # solve is over
        whiten_both(slot, tree, span, v, y, given)
        for k in range(nv):
            given[k] = z[k] - y[k] - dt * given[k]
        if floating and pushed:
            turn, push = from_outside(tree, given, c)
        if restrained:
            due = energy_due(tree, z, dt, q, v, rest, tau, new, y, given, moved)
    if floating:
        turn, push = add_applied(tree, rows_at(state_at(slot, tree, TAU), nv, F8), turn, push, c, dt)
    care = care and floating and restrained and smooth
    kept = rows_at(solver["stages"] + 8 * STAGES * o, nq + nv, F8)
    if care:
        copy(q, kept, nq)
        copy(v, kept[nq:], nv)
    for k in range(nv):
        v[k] = new[k]
    integrate_positions(tree, q, v, step)
    if floating:
        push = axpy(push, dt * mass, gravity)
        spin = add(spin, turn)
        good = settle_whole(tree, q, v, c, spin, momentum, push, gravity, dt, due, restrained, smooth)
        if care and not good:
            copy(kept, q, nq)
            copy(kept[nq:], v, nv)
            return False
    elif restrained:
        _, there, _, now, _, kinetic = whole(tree, q, v, True, False)
        due += weight_done(gravity, mass, sub(there, c), momentum, now, dt, smooth)
        restrain_held(tree, v, due, kinetic, mass, now, smooth)
    for k in range(nv):
        dofs[k]["implicit"] = 0.0
    return True


@kernel
def meets_others(solver: Any, span: Any) -> bool:
    """Whether a tree touches or may touch something else; links of its own do not count."""
    if span["touched"] == FROM_OUTSIDE:
        return True
    island = islands_of(solver)[span["island"]]
    touches = contact_constraints(solver)[island["first_touch"] :]
    for i in range(island["touch_count"]):
        if touches[i]["tree1"] != SAME_TREE:
            return True
    return False


@kernel
def integrate_positions(tree: Any, q: Any, v: Any, step: Any) -> None:
    """New positions; the velocity of a free joint is seen from the frame that has turned."""
    link = links_of(tree)[0]
    free = link["kind"] == FREE
    before = load4_at(q, link["iq"] + 3) if free else (1.0, 0.0, 0.0, 0.0)
    advance(tree, q, step, 1.0, q)
    if free:
        k = link["iv"] + 3
        turn = multiply(conjugate(load4_at(q, link["iq"] + 3)), before)
        store3_at(v, k, rotate(turn, load3_at(v, k)))


@kernel
def is_pushed(tau: Any) -> bool:
    """Whether something is applied to a floating tree as a whole."""
    n, f = load3(tau), load3_at(tau, 3)
    return dot(n, n) + dot(f, f) != 0.0


@kernel
def add_applied(tree: Any, tau: Any, turn: Vec3, push: Vec3, c: Vec3, dt: float) -> tuple[Vec3, Vec3]:
    """Impulses from outside, with those of what is applied to a tree as a whole."""
    if not is_pushed(tau):
        return turn, push
    n, f = load3(tau), load3_at(tau, 3)
    data = rows_at(tree["rows"], 2, LINK_DATA)[1]
    R = load9(data["R"])
    n, f = mul_vec(R, n), mul_vec(R, f)
    return axpy(turn, dt, add(n, cross(sub(load3(data["p"]), c), f))), axpy(push, dt, f)


@kernel(inline=False)
def settle_whole(
    tree: Any, q: Any, v: Any, c: Vec3, spin: Vec3, momentum: Vec3, push: Vec3, g: Vec3, dt: float, due: float,
    restrained: bool, smooth: bool,
) -> bool:  # fmt: skip
    """Give a floating tree after a step the momentum that it should have, and its centre of mass the place.

    They were `momentum` and c; the step has added `push`, and the tree is to `spin` about it. False if its links cannot
    pay for what that changes of its energy.
    """
    mass, there, turns, now, I, kinetic = whole(tree, q, v, True, True)
    w, is_w, then = spin_of(I, spin), spin_of(I, turns), add(momentum, push)
    inside = kinetic - 0.5 * dot(now, now) / mass - 0.5 * dot(turns, is_w)
    u = scale(then, 1.0 / mass)
    way = scale(axpy(momentum, 0.5, push), dt / mass)
    push_whole(tree, q, v, sub(add(c, way), there), sub(w, is_w), sub(u, scale(now, 1.0 / mass)), there)
    if restrained:
        due += weight_done(g, mass, way, momentum, then, dt, smooth)
        return restrain_floating(tree, v, due, max(0.0, inside), w, spin, u, mass, there, smooth)
    return True


@kernel
def mass_moving(tree: Any) -> float:
    """kg, of a tree; some at least, for joints may have inertia where links have none."""
    return lone_of(tree)["mass"] if tree["lone"] != 0 else max(mass_of(tree), 1e-6)


@kernel
def slower(z: Any, o: int, nv: int, most: float) -> bool:
    """Whether zᵀ z of a tree is no more than that; not if it is no number."""
    total = 0.0
    for k in range(o, o + nv):
        total += z[k] * z[k]
    return total <= most


@kernel(inline=False)
def moves(world: Any, solver: Any, forest: Any, first: int, stop: int) -> int:
    """GOOD if all trees from `first` to before `stop` that are awake move within reason; else which does not."""
    trees = trees_of(forest)
    spans = slices_of(solver)
    z, moved, dt = z_of(solver), displacement_of(solver), world["dt"]
    for t in range(first, stop):
        o = spans[t]["offset"]
        if o >= 0:
            nv = tree_of(trees[t])["nv"]
            most = SPEED_OF_LIGHT * SPEED_OF_LIGHT * mass_moving(tree_of(trees[t]))  # J: twice a kinetic energy
            if not slower(z, o, nv, most) or (spans[t]["touched"] != 0 and not slower(moved, o, nv, most * dt * dt)):
                return t
    return GOOD


@kernel
def advance_one(solver: Any, forest: Any, t: int, dt: float, fluid: bool, care: bool) -> bool:
    """Velocities and positions of one tree after the step, in a fluid or not; `care` as in `advance_tree`."""
    slot = trees_of(forest)[t]
    span = slices_of(solver)[t]
    tree = tree_of(slot)
    if tree["lone"] != 0:
        q, v = rows_at(state_at(slot, tree, Q), tree["nq"], F8), rows_at(state_at(slot, tree, V), tree["nv"], F8)
        z, moved = z_of(solver), displacement_of(solver)
        fly_on(tree, z, moved, span["offset"], span["touched"] != 0, dt, q, v)
        return True
    pushed = solver["push_count"] + forest["element_count"] > 0 or fluid
    return advance_tree(solver, slot, tree, t, (forest["gx"], forest["gy"], forest["gz"]), dt, pushed, care)


@kernel
def flies_alone(solver: Any, forest: Any, slot: Any, span: Any) -> bool:
    """Whether nothing but weight and what is in its joints has acted on a tree of joints in this step."""
    jointed = tree_of(slot)["lone"] == 0
    alone = solver["push_count"] + solver["drive_count"] + forest["element_count"] == 0
    return jointed and alone and span["touched"] == 0 and slot["sides"] == 0


@kernel(inline=False)
def see_start(solver: Any, slot: Any, tree: Any, o: int, dt: float) -> None:
    """Have the rows of a tree as they were at the start of the step."""
    nq, nv = tree["nq"], tree["nv"]
    q, v = rows_at(state_at(slot, tree, Q), nq, F8), rows_at(state_at(slot, tree, V), nv, F8)
    rest, tau = rows_at(state_at(slot, tree, REST), nq, F8), rows_at(state_at(slot, tree, TAU), nv, F8)
    total, a = x_of(solver)[o : o + nv], g_of(solver)[o : o + nv]
    joint_forces(tree, rest, q, v, tau, total)
    take_implicitly(tree, v, tau, total, dt)
    articulated_body(tree, q, v, total, NO_FORCES, a)


@kernel(inline=False)
def fly_smoothly(world: Any, solver: Any, forest: Any, slot: Any, span: Any) -> bool:
    """The state after the step of a tree that flies alone, found with care. False if that cannot be."""
    tree, dt = tree_of(slot), world["dt"]
    q, v = rows_at(state_at(slot, tree, Q), tree["nq"], F8), rows_at(state_at(slot, tree, V), tree["nv"], F8)
    tau = rows_at(state_at(slot, tree, TAU), tree["nv"], F8)
    floating = floats(links_of(tree), dofs_of(tree))
    floating = floating and not is_pushed(tau)
    mass, c, spin, momentum, _, _ = whole(tree, q, v, True, True) if floating else NOTHING
    if not go_smoothly(solver, slot, tree, span["offset"], dt):
        see_start(solver, slot, tree, span["offset"], dt)
        return False
    if floating:
        g = (forest["gx"], forest["gy"], forest["gz"])
        settle_whole(tree, q, v, c, spin, momentum, scale(g, dt * mass), g, dt, 0.0, False, True)
    return True


@kernel(inline=False)
def advance_trees(world: Any, solver: Any, forest: Any, first: int, stop: int) -> None:
    """Velocities and positions after the step, of the trees from `first` to before `stop` that no loops tie."""
    spans = slices_of(solver)
    trees = trees_of(forest)
    by_steps, fluid = world["model"] == 0, world["fluid"] > 0.0
    for t in range(first, stop):
        if spans[t]["offset"] >= 0 and spans[t]["hold"] < 0:
            alone = flies_alone(solver, forest, trees[t], spans[t])
            if by_steps and advance_one(solver, forest, t, world["dt"], fluid, alone and not fluid):
                continue
            if not (alone and fly_smoothly(world, solver, forest, trees[t], spans[t])):
                advance_one(solver, forest, t, world["dt"], fluid, False)
