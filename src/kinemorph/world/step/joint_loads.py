"""Joint loads: the mean force (N) and moment (N m) of a step through each joint that an event measures.

`Event.load` measures its magnitude in any joint, `Event.force` its component along a direction in a loop joint.

A loop joint has a row in the solver, which gives its wrench. A tree joint has none: its load follows from the momentum
p of the subtree that it carries, which changes by external impulses and by the joint,

    dt f = p(end) - p(start) - dt m g - Σ impulses of contacts, pushes and loops,

and likewise for moments about the position of the joint at the start. Force elements count as part of the joint's load.
`begin_joint_loads` computes p(start) and the impulses before bodies move, from link data of the start of the step;
`finish_joint_loads` computes p(end). In between, the sum is in the fields pa, pb and n of the event.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.narrow.conservative_advancement import contact_points
from kinemorph.collision.shapes.shape_rows import contacts_of, pairs_of, shapes_of
from kinemorph.contact import layout as contact_layout
from kinemorph.contact.rows.contact_rows import world_vector
from kinemorph.jit.api import kernel, rows_at
from kinemorph.motion.events import EVENT, FORCE, LOAD
from kinemorph.multibody.layout import link_data_of, links_of
from kinemorph.spatial.mat3 import mul, mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load6, load9, store3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest import layout as forest_layout
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import bodies_of, joints_of, loop_slots_of, loops_of, tree_of, trees_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK, pool_of

ZERO = (0.0, 0.0, 0.0)


@kernel(inline=False)
def is_carried_by(forest: Any, body: int, tree_index: int, top: int) -> bool:
    """Whether a body, by its index, is in the subtree of link `top` of tree t."""
    if body < 0:
        return False
    slot = bodies_of(forest)[body]
    if slot["tree"] != tree_index:
        return False
    tree = tree_of(trees_of(forest)[tree_index])
    links = links_of(tree)
    i = slot["link"]
    while i > top:  # parents have smaller numbers
        i = links[i]["parent"]
    return i == top


@kernel(inline=False)
def sum_subtree_momentum(tree: Any, top: int, x: Vec3) -> tuple[float, Vec3, Vec3, Vec3]:
    """Mass, first moment about x, momentum, and angular momentum about x, of the subtree of link `top`."""
    links, rows = links_of(tree), link_data_of(tree)
    mass, moment, linear, angular = 0.0, ZERO, ZERO, ZERO
    for i in range(top, tree["n"]):
        k = i
        while k > top:
            k = links[k]["parent"]
        if k != top:
            continue
        link, d = links[i], rows[i + 1]
        R, w, v = load9(d["R"]), load3(d["w"]), load3(d["v"])
        h, r = mul_vec(R, load3(link["h"])), sub(load3(d["p"]), x)
        p = add(scale(v, link["mass"]), cross(w, h))
        own = add(mul_vec(R, sym_vec(load6(link["I"]), tmul_vec(R, w))), cross(h, v))
        mass += link["mass"]
        moment = add(moment, axpy(h, link["mass"], r))
        linear, angular = add(linear, p), add(angular, add(own, cross(r, p)))
    return mass, moment, linear, angular


@kernel(inline=False)
def sum_contact_impulses(
    solver: Any, forest: Any, collisions: Any, tree_index: int, top: int, x: Vec3
) -> tuple[Vec3, Vec3]:
    """Impulse (N s), and its moment about x, of all contacts between the subtree of link `top` and other bodies."""
    constraints = contact_layout.contact_constraint_room(solver)
    torsions = contact_layout.torsional_constraints(solver)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    contacts = contacts_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    force, moment = ZERO, ZERO
    for i in range(solver["contact_count"] + solver["torsional_count"]):
        turns = i >= solver["contact_count"]
        torsion = torsions[i - solver["contact_count"] if turns else 0]
        t0 = constraints[torsion["contact_constraint"] if turns else i]
        contact = contacts[now + t0["contact"]]
        pair = pairs[contact["pair"]]
        a, b = shapes[pair["a"]]["link"], shapes[pair["b"]]["link"]
        carries_a, carries_b = is_carried_by(forest, a, tree_index, top), is_carried_by(forest, b, tree_index, top)
        sign = (1.0 if carries_b else 0.0) - (1.0 if carries_a else 0.0)
        if sign == 0.0:
            continue
        if turns:
            p = torsion["total_normal_impulse"]
            p1, p2 = torsion["total_tangent_impulse1"], torsion["total_tangent_impulse2"]
            moment = axpy(moment, sign, world_vector(t0, p, p1, p2))
            continue
        f = world_vector(t0, t0["total_normal_impulse"], t0["total_tangent_impulse1"], t0["total_tangent_impulse2"])
        f = scale(f, sign)
        x1, x2 = contact_points(contact)
        force, moment = add(force, f), add(moment, cross(sub(x2 if sign > 0.0 else x1, x), f))
    return force, moment


@kernel(inline=False)
def sum_push_forces(solver: Any, forest: Any, tree: Any, tree_index: int, top: int, x: Vec3) -> tuple[Vec3, Vec3]:
    """Force (N), and moment about x, of all external forces on bodies of the subtree of link `top`."""
    applied_forces = contact_layout.applied_forces_of(solver)
    bodies = bodies_of(forest)
    force, moment = ZERO, ZERO
    for i in range(solver["applied_force_count"]):
        push = applied_forces[i]
        if push["body"] < 0 or not is_carried_by(forest, push["body"] & ID_INDEX_MASK, tree_index, top):
            continue
        slot = bodies[push["body"] & ID_INDEX_MASK]
        data = link_data_of(tree)[slot["link"] + 1]
        R = load9(data["R"])
        own = mul(R, load9(slot["R"]))
        f, n = load3(push["force"]), load3(push["torque"])
        if push["in_body_frame"] != 0:
            f, n = mul_vec(own, f), mul_vec(own, n)
        at = add(load3(data["p"]), add(mul_vec(R, load3(slot["p"])), mul_vec(own, load3(push["at"]))))
        force, moment = add(force, f), add(moment, add(n, cross(sub(at, x), f)))
    return force, moment


@kernel(inline=False)
def sum_loop_forces(solver: Any, forest: Any, tree_index: int, top: int, x: Vec3) -> tuple[Vec3, Vec3]:
    """Force (N), and moment about x, of the loops between the subtree of link `top` and other bodies."""
    slots, ties = loop_slots_of(forest), loops_of(forest)
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    wrenches = contact_layout.loop_wrenches_of(solver)
    force, moment = ZERO, ZERO
    for k in range(pool_of(forest, forest_layout.LOOPS)["count"]):
        slot = slots[k]
        if slot["next"] != forest_layout.IN_USE:
            continue
        a, b = is_carried_by(forest, slot["a"], tree_index, top), is_carried_by(forest, slot["b"], tree_index, top)
        if a == b:
            continue
        on = bodies[slot["b"] if b else slot["a"]]
        tree = tree_of(trees[on["tree"]])
        data = link_data_of(tree)[on["link"] + 1]
        at = add(load3(data["p"]), mul_vec(load9(data["R"]), load3(ties[k]["pb"] if b else ties[k]["pa"])))
        sign = 1.0 if b else -1.0
        n, f = scale(load3_at(wrenches, 6 * k), sign), scale(load3_at(wrenches, 6 * k + 3), sign)
        force, moment = add(force, f), add(moment, add(n, cross(sub(at, x), f)))
    return force, moment


@kernel(inline=False)
def begin_joint_loads(world: Any, solver: Any, forest: Any, collisions: Any, begins: bool, dt: float) -> None:
    """Before bodies move: the momentum that each measured subtree would have at the end of the step without its joint.

    Half of gravity's moment is added here and half at the end, where its arm has changed. A step of the impulse model
    adds up collisions and parts that last dt: only the first call of a step `begins` the sum.
    """
    events = rows_at(world["events"], world["event_count"], EVENT)
    joints = joints_of(forest)
    trees = trees_of(forest)
    g = (forest["gx"], forest["gy"], forest["gz"])
    for i in range(world["event_count"]):
        event = events[i]
        if event["kind"] != LOAD or event["awake"] == 0 or joints[event["b"]]["loop"] >= 0:
            continue
        t, top = joints[event["b"]]["tree"], joints[event["b"]]["link"]
        tree = tree_of(trees[t])
        x = load3(link_data_of(tree)[top + 1]["p"]) if begins else load3(event["n"])
        mass, moment, linear, angular = sum_subtree_momentum(tree, top, x)
        if not begins:
            linear, angular = load3(event["pa"]), load3(event["pb"])
        linear, angular = axpy(linear, mass * dt, g), axpy(angular, 0.5 * dt, cross(moment, g))
        f, n = sum_contact_impulses(solver, forest, collisions, t, top, x)
        linear, angular = add(linear, f), add(angular, n)
        f, n = sum_push_forces(solver, forest, tree, t, top, x)
        linear, angular = axpy(linear, dt, f), axpy(angular, dt, n)
        if pool_of(forest, forest_layout.LOOPS)["used"] > 0:
            f, n = sum_loop_forces(solver, forest, t, top, x)
            linear, angular = axpy(linear, dt, f), axpy(angular, dt, n)
        store3(event["pa"], linear)
        store3(event["pb"], angular)
        store3(event["n"], x)


@kernel(inline=False)
def project_loop_force(solver: Any, forest: Any, event: Any) -> float:
    """The force (N) or moment (N m) of a loop on its second body, along a direction of the joint's first frame."""
    k = joints_of(forest)[event["b"]]["loop"]
    tie = loops_of(forest)[k]
    a = loop_slots_of(forest)[k]["a"]
    n = mul_vec(load9(tie["Ra"]), load3(event["n"]))
    if a >= 0:
        on = bodies_of(forest)[a]
        slot = trees_of(forest)[on["tree"]]
        update_slot_motion(slot)
        tree = tree_of(slot)
        n = mul_vec(load9(link_data_of(tree)[on["link"] + 1]["R"]), n)
    wrenches = contact_layout.loop_wrenches_of(solver)
    return dot(n, load3_at(wrenches, 6 * k + (3 if event["kind"] == FORCE else 0)))


@kernel
def compute_joint_load(solver: Any, forest: Any, event: Any, tree_index: int, top: int, dt: float) -> tuple[Vec3, Vec3]:
    """Mean force and moment through a tree joint, from link data at the end of the step and `begin_joint_loads`."""
    slot = trees_of(forest)[tree_index]
    tree = tree_of(slot)
    g, x = (forest["gx"], forest["gy"], forest["gz"]), load3(event["n"])
    _, moment, linear, angular = sum_subtree_momentum(tree, top, x)
    angular = axpy(angular, -0.5 * dt, cross(moment, g))
    return scale(sub(linear, load3(event["pa"])), 1.0 / dt), scale(sub(angular, load3(event["pb"])), 1.0 / dt)


@kernel(inline=False)
def finish_joint_loads(world: Any, solver: Any, forest: Any) -> None:
    """Write the joint loads at the end of the step into their events. The load of a sleeping joint does not change."""
    events = rows_at(world["events"], world["event_count"], EVENT)
    joints = joints_of(forest)
    slices, trees = contact_layout.slices_of(solver), trees_of(forest)
    wrenches = contact_layout.loop_wrenches_of(solver)
    seen = -1
    for i in range(world["event_count"]):
        event = events[i]
        if event["kind"] != LOAD or event["awake"] == 0:
            continue
        joint = joints[event["b"]]
        k, t = joint["loop"], joint["tree"]
        if k >= 0:
            n, f = load3_at(wrenches, 6 * k), load3_at(wrenches, 6 * k + 3)
        elif slices[t]["asleep"] != 0:
            continue
        else:
            if t != seen:
                update_slot_motion(trees[t])
                seen = t
            f, n = compute_joint_load(solver, forest, event, t, joint["link"], world["dt"])
        load = n if event["index"] != 0 else f
        event["g"] = sqrt(dot(load, load)) - event["level"]
