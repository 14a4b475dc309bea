"""Constraint rows of force elements, and of springs and dampers in loop joints: implicit forces along one direction.

A step takes the force of a spring half a step ahead, and the force of a damper at the end of the step,

    p = dt f - (dt c + ½ dt² k) v,    f at the start, v = yᵀ z at the end,

which is stable for any stiffness, and conserves the energy of a spring whose period the steps resolve. For a stiffer
spring it takes the force at the end, which damps the spring. The rows are solved together by Gauss-Seidel.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.basis import slice_product
from kinemorph.constraint.loop_springs import joint_force_wrench, loop_spring_forces
from kinemorph.constraint.loops import joint_frames
from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.row_products import apply_normal_impulse, contact_velocity
from kinemorph.contact.gauss_seidel.vectors import claim_numbers
from kinemorph.contact.islands import join_trees
from kinemorph.contact.layout import element_constraints, slices_of, whitened_rows, z_of, za_of
from kinemorph.contact.rows.contact_rows import body_slice
from kinemorph.contact.rows.dof_rows import propagate_wrench
from kinemorph.contact.rows.loop_projection import project_constraint
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import free_body_link, free_body_of, whiten_free_body_wrench
from kinemorph.multibody.algorithms.inversion import extract_position
from kinemorph.multibody.layout import link_data_of
from kinemorph.multibody.model.elements import LINE, SMALLEST_LENGTH, bushing_spring_wrench, elements_of, place_frame
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load3_at, load9, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, cross, dot, neg, scale, sub
from kinemorph.structure.forest import elements
from kinemorph.structure.forest.layout import IN_USE, LOOPS, bodies_of, loop_slots_of, loops_of, tree_of, trees_of
from kinemorph.structure.forest.memory import claim_scratch, clear_words, pool_of

ELEMENT_CONSTRAINT_SIZE = layout.ELEMENT_CONSTRAINT.itemsize
MOST_ELEMENT_PASSES = 30
SETTLED_IMPULSE_SHARE = 1e-12  # change of impulses, as a share of the largest, after which no pass is needed
ZERO = (0.0, 0.0, 0.0)


@kernel(inline=False)
def join_element_trees(solver: Any, forest: Any) -> None:
    """Join the trees connected by elements into islands, so that they sleep and wake together."""
    slices = slices_of(solver)
    bodies = bodies_of(forest)
    elements.drop_stale_elements(forest)
    for i in range(forest["element_count"]):
        a, b = elements.element_body(forest, i, 0), elements.element_body(forest, i, 1)
        if a >= 0 and b >= 0:
            join_trees(slices, bodies[a]["tree"], bodies[b]["tree"])


@kernel(inline=False)
def add_wrench_at(tree: Any, link: int, x: Vec3, n: Vec3, f: Vec3, Y: Any, y: int) -> None:
    """Add y of a wrench (n, f) at point x on a link, world axes."""
    rows = link_data_of(tree)
    if tree["free_body"] != 0:
        lone, d = free_body_of(tree), free_body_link(tree)
        R = load9(d["R"])
        lever = sub(sub(x, load3(d["p"])), mul_vec(R, load3(lone["c"])))
        turn, push = whiten_free_body_wrench(lone, R, add(n, cross(lever, f)), f)
        store3_at(Y, y, add(load3_at(Y, y), turn))
        store3_at(Y, y + 3, add(load3_at(Y, y + 3), push))
        return
    n = add(n, cross(sub(x, load3(rows[link + 1]["p"])), f))
    propagate_wrench(tree, link, 0, n, f, Y, y, 1.0)


@kernel
def add_body_wrench(forest: Any, body: int, x: Vec3, n: Vec3, f: Vec3, Y: Any, y: int) -> None:
    slot = bodies_of(forest)[body]
    trees = trees_of(forest)
    add_wrench_at(tree_of(trees[slot["tree"]]), slot["link"], x, n, f, Y, y)


@kernel(inline=False)
def add_element_row(
    solver: Any,
    forest: Any,
    body_a: int,
    body_b: int,
    x: Vec3,
    n: Vec3,
    f: Vec3,
    force: float,
    stiffness: float,
    damping: float,
) -> bool:
    """Add a row along a unit wrench at x on body b, and the opposite on a (-1: the base). False if Y is full."""
    slices = slices_of(solver)
    Y, dt = whitened_rows(solver), solver["h"] * solver["substeps"]
    tree1, o1, l1, _ = body_slice(forest, slices, body_a)
    tree2, o2, l2, _ = body_slice(forest, slices, body_b)
    pull = rows_at(solver["element_constraints"], solver["element_count"] + 1, layout.ELEMENT_CONSTRAINT)[
        solver["element_count"]
    ]
    pull["tree1"], pull["tree2"] = tree1, tree2
    joined = tree1 >= 0 and tree1 == tree2
    length = max(l1, l2) if joined else l1 + l2
    used = claim_numbers(solver, length)
    if used < 0:
        return False
    first = 0 if joined else l1
    if l1 > 0:
        add_body_wrench(forest, body_a, x, neg(n), neg(f), Y, used)
    if l2 > 0:
        add_body_wrench(forest, body_b, x, n, f, Y, used + first)
    pull["offset1"], pull["length1"] = o1, 0 if joined else l1
    pull["offset2"], pull["length2"] = o2, length if joined else l2
    pull["y"], pull["p"], pull["force"] = used, 0.0, force
    if solver["loop_projection_count"] > 0 and not project_constraint(solver, pull, 1):
        return False
    size = slice_product(Y, pull["y"], Y, pull["y"], pull["length1"] + pull["length2"])
    turns = dt * dt * stiffness * size  # squared radians a step
    share = 0.5 if turns <= 1.0 else 1.0 - 0.5 / turns
    pull["size"], pull["velocity_gain"] = size, dt * (damping + share * dt * stiffness)
    if size > 0.0:
        solver["element_count"] += 1
    return True


@kernel(inline=False)
def fill_element(solver: Any, forest: Any, index: int) -> bool:
    """Fill the rows of an element, unless its bodies sleep. False if Y is full."""
    e = elements_of(forest)[index]
    slices, bodies = slices_of(solver), bodies_of(forest)
    a, b = elements.element_body(forest, index, 0), elements.element_body(forest, index, 1)
    if (a < 0 and b < 0) or slices[bodies[a if a >= 0 else b]["tree"]]["offset"] < 0:
        return True
    da, db = elements.link_data_of_both(forest, a, b)
    Ra, pa = elements.body_frame_to_link_frame(forest, a, load9(e["Ra"]), load3(e["pa"]))
    Rb, pb = elements.body_frame_to_link_frame(forest, b, load9(e["Rb"]), load3(e["pb"]))
    Ra, xa, _ = place_frame(da, Ra, pa)
    Rb, x, _ = place_frame(db, Rb, pb)
    d = sub(x, xa)
    k, c = e["stiffness"], e["damping"]
    if e["kind"] == LINE:
        distance = sqrt(dot(d, d))
        if not distance > SMALLEST_LENGTH:
            return True
        force = -k[0] * (distance - e["length"]) - e["tension"]
        return add_element_row(solver, forest, a, b, x, ZERO, scale(d, 1.0 / distance), force, k[0], c[0])
    n, f, _ = bushing_spring_wrench(e, transpose(Ra), Rb, d)
    for j in range(3):
        axis = (Ra[j], Ra[3 + j], Ra[6 + j])
        turns, moves = k[j] > 0.0 or c[j] > 0.0 or n[j] != 0.0, k[3 + j] > 0.0 or c[3 + j] > 0.0
        if turns and not add_element_row(solver, forest, a, b, x, axis, ZERO, n[j], k[j], c[j]):
            return False
        if moves and not add_element_row(solver, forest, a, b, x, ZERO, axis, f[j], k[3 + j], c[3 + j]):
            return False
    return True


@kernel(inline=False)
def fill_loop_springs(solver: Any, forest: Any, index: int, memory: int) -> bool:
    """Fill the rows of springs and dampers in a loop's joint, with room for 19 numbers. False if Y is full."""
    loop = loops_of(forest)[index]
    slot = loop_slots_of(forest)[index]
    slices, bodies = slices_of(solver), bodies_of(forest)
    a, b = slot["a"], slot["b"]
    if slices[bodies[a if a >= 0 else b]["tree"]]["offset"] < 0:
        return True
    da, db = elements.link_data_of_both(forest, a, b)
    Ra, xa, Rb, x = joint_frames(loop, da, db)
    clear_words(memory, 8 * 19)
    q, force, unit = rows_at(memory, 7, F8), rows_at(memory + 56, 6, F8), rows_at(memory + 104, 6, F8)
    loop["iq"] = loop["iv"] = 0  # each system counts in its own way
    extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(x, xa)), q)
    loop_spring_forces(loop, q, force)
    for j in range(loop["nv"]):
        if loop["stiffness"][j] > 0.0 or loop["damping"][j] > 0.0 or force[j] != 0.0:
            unit[j] = 1.0
            n, f = joint_force_wrench(loop, q, unit)
            unit[j] = 0.0
            n, f = mul_vec(Rb, n), mul_vec(Rb, f)
            if not add_element_row(solver, forest, a, b, x, n, f, force[j], loop["stiffness"][j], loop["damping"][j]):
                return False
    return True


@kernel(inline=False)
def claim_element_rows(solver: Any, forest: Any) -> int:
    """Claim room for all rows. Returns the address of 19 more numbers, 0 if the forest's scratch is too small."""
    solver["element_constraints"] = claim_scratch(
        forest, 6 * ELEMENT_CONSTRAINT_SIZE * (forest["element_count"] + pool_of(forest, LOOPS)["used"])
    )
    return claim_scratch(forest, 8 * 19)


@kernel(inline=False)
def fill_element_rows(solver: Any, forest: Any, memory: int) -> bool:
    """Fill the rows of all elements, and of all loop joints with springs or dampers. False if Y is full."""
    loops = loop_slots_of(forest)
    ties = loops_of(forest)
    solver["element_count"] = 0
    for i in range(forest["element_count"]):
        if not fill_element(solver, forest, i):
            return False
    for i in range(pool_of(forest, LOOPS)["count"]):
        if loops[i]["next"] == IN_USE and ties[i]["passive"] != 0 and not fill_loop_springs(solver, forest, i, memory):
            return False
    return True


@kernel(inline=False)
def solve_elements(solver: Any) -> None:
    """Solve the element rows by Gauss-Seidel, and add their effect in the step to the accelerations za."""
    pulls = element_constraints(solver)
    Y, z, za = whitened_rows(solver), z_of(solver), za_of(solver)
    dt = solver["h"] * solver["substeps"]
    for _ in range(MOST_ELEMENT_PASSES if solver["element_count"] > 1 else 1):
        largest = change = 0.0
        for i in range(solver["element_count"]):
            element = pulls[i]
            gain, size = element["velocity_gain"], element["size"]
            v = contact_velocity(element, 0, Y, z) + dt * contact_velocity(element, 0, Y, za)
            v -= size * element["p"]  # without this row
            p = (dt * element["force"] - gain * v) / (1.0 + gain * size)
            apply_normal_impulse(element, Y, za, (p - element["p"]) / dt)
            largest, change = max(largest, abs(p)), max(change, abs(p - element["p"]))
            element["p"] = p
        if change <= SETTLED_IMPULSE_SHARE * largest:
            break
