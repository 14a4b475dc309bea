"""Momentum correction of trees in loops in free flight: exact momentum and fall of the centre of mass, to rounding.

The integration of joints and loops conserves momentum only to its order. The error is corrected by a motion of all
trees as one rigid body, which changes no joint and no loop.
"""

from __future__ import annotations

from typing import Any

from kinemorph.contact.layout import applied_forces_of, contact_constraints, element_constraints, loop_projections
from kinemorph.contact.rows.loop_projection import projection_of
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.energy_momentum import store_sums
from kinemorph.multibody.algorithms.free_body import is_floating, is_positive_definite
from kinemorph.multibody.layout import dofs_of, link_data_of, links_of
from kinemorph.multibody.loop_layout import system_loops_of
from kinemorph.multibody.system import system_of
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import Sym3, add6, mul_vec, rotate_sym
from kinemorph.spatial.rows import load3, load6, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, scale, sub
from kinemorph.structure.forest.layout import bodies_of, q_of, tau_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.tree_motion.tree_momentum import compute_angular_velocity, move_as_rigid_body


@kernel(inline=False)
def find_flying_projections(solver: Any, forest: Any) -> None:
    """Set `flies` of each loop projection: whether no external force but gravity acts on it."""
    trees = trees_of(forest)
    projections = loop_projections(solver)
    contacts, pulls = contact_constraints(solver), element_constraints(solver)
    for i in range(solver["loop_projection_count"]):
        projections[i]["flies"] = 1 if is_unattached(trees, projections[i]) else 0
    for i in range(solver["contact_count"]):
        contact = contacts[i]
        if contact["acted"] != 0 or contact["total_normal_impulse"] > 0.0:
            mark_not_flying(solver, contact["tree1"])
            mark_not_flying(solver, contact["tree2"])
    applied_forces = applied_forces_of(solver)
    bodies = bodies_of(forest)
    for i in range(solver["applied_force_count"]):
        if applied_forces[i]["body"] >= 0:
            mark_not_flying(solver, bodies[applied_forces[i]["body"] & ID_INDEX_MASK]["tree"])
    for i in range(solver["element_count"]):
        a, b = projection_of(solver, pulls[i]["tree1"]), projection_of(solver, pulls[i]["tree2"])
        if a != b:
            mark_not_flying(solver, pulls[i]["tree1"])
            mark_not_flying(solver, pulls[i]["tree2"])


@kernel
def mark_not_flying(solver: Any, tree_index: int) -> None:
    """Clear `flies` of the loop projection of tree t, on which an external force acts."""
    h = projection_of(solver, tree_index)
    if h >= 0:
        loop_projections(solver)[h]["flies"] = 0


@kernel(inline=False)
def is_unattached(trees: Any, projection: Any) -> bool:
    """Whether the trees of a loop projection are free of the base, and no applied force acts on their roots."""
    system = system_of(projection)
    loops = system_loops_of(system)
    for i in range(system["count"]):
        if loops[i]["a"] < 0 or loops[i]["b"] < 0:
            return False
    t = projection["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        tau = tau_of(trees[t], tree)
        if not is_floating(links_of(tree), dofs_of(tree)):
            return False
        for k in range(6):
            if tau[k] != 0.0:
                return False
        t = trees[t]["follows"]
    return True


@kernel(inline=False)
def sum_momenta(trees: Any, projection: Any, total: Any, each: Any) -> None:
    """Sum mass, first moment, momenta and kinetic energy over a loop projection; also updates the link data."""
    total["mass"] = total["kinetic"] = 0.0
    for k in range(3):
        total["moment"][k] = total["angular"][k] = total["linear"][k] = 0.0
    t = projection["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        q, v = q_of(trees[t], tree), v_of(trees[t], tree)
        store_sums(tree, q, v, each)
        total["mass"] += each["mass"]
        total["kinetic"] += each["kinetic"]
        store3(total["moment"], add(load3(total["moment"]), load3(each["moment"])))
        store3(total["angular"], add(load3(total["angular"]), load3(each["angular"])))
        store3(total["linear"], add(load3(total["linear"]), load3(each["linear"])))
        t = trees[t]["follows"]


@kernel(inline=False)
def sum_inertia(trees: Any, projection: Any, centre: Vec3) -> Sym3:
    """Rotational inertia of all links of a loop projection as one body about `centre`, kg m², world axes."""
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    t = projection["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        links, rows = links_of(tree), link_data_of(tree)
        for i in range(tree["n"]):
            link, d = links[i], rows[i + 1]
            R = load9(d["R"])
            I, _ = shift_rigid(
                sub(load3(d["p"]), centre), rotate_sym(R, load6(link["I"])), mul_vec(R, load3(link["h"])), link["mass"]
            )
            total = add6(total, I)
        t = trees[t]["follows"]
    return total


@kernel(inline=False)
def correct_flight_momentum(forest: Any, projection: Any, dt: float) -> None:
    """Move the centre of mass of a flying loop projection to its ballistic position, and restore its momentum.

    The sums before the step are in `before`.
    """
    trees = trees_of(forest)
    before, after = projection["before"], projection["after"]
    sum_momenta(trees, projection, after, projection["each"])
    m, g = before["mass"], (forest["gx"], forest["gy"], forest["gz"])
    c0 = scale(load3(before["moment"]), 1.0 / m)
    v0 = scale(load3(before["linear"]), 1.0 / m)
    c1 = load3(after["moment"])
    c1 = scale(c1, 1.0 / m)
    c = axpy(axpy(c0, dt, v0), 0.5 * dt * dt, g)
    spin = sub(load3(before["angular"]), cross(c0, load3(before["linear"])))  # about the centre of mass, which stays
    spin = sub(spin, sub(load3(after["angular"]), cross(c1, load3(after["linear"]))))
    I = sum_inertia(trees, projection, c1)
    if not (m > 0.0 and is_positive_definite(I)):
        return
    w, v = compute_angular_velocity(I, spin), sub(axpy(v0, dt, g), scale(load3(after["linear"]), 1.0 / m))
    t = projection["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        q = q_of(trees[t], tree)
        move_as_rigid_body(tree, q, v_of(trees[t], tree), sub(c, c1), w, v, c1)
        t = trees[t]["follows"]
