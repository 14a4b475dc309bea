"""Constraint rows of contacts: the whitened Jacobian y = L⁻ᵀ jᵀ of a normal and two tangential unit forces.

Each y is found by an inward sweep of the articulated-body algorithm: D and U of the joints, from a link to the base.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.narrow.conservative_advancement import contact_points
from kinemorph.collision.shapes.shape_rows import CONTACT, SLOW, pairs_of, shape_poses_of, shapes_of
from kinemorph.constraint.basis import slice_product, three_slice_products
from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.vectors import clear
from kinemorph.contact.islands import row_length
from kinemorph.contact.material_mixing import mix_materials
from kinemorph.contact.rows.free_body_rows import (
    NO_BODY,
    LoneBody,
    lone_body_of,
    rotate_lanes,
    stack_vectors,
    write_lone_rows,
    write_six,
)
from kinemorph.contact.rows.free_root_rows import has_free_root, root_response
from kinemorph.contact.rows.ghost_edges import has_convex_ground
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.aba import is_at_parent
from kinemorph.multibody.algorithms.joints import FREE, REVOLUTE
from kinemorph.multibody.layout import dof_data_of, link_data_of, links_of
from kinemorph.multibody.loop_layout import last_dof
from kinemorph.spatial.lanes.four import fma, lane, splat, turned
from kinemorph.spatial.mat3 import mul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of

OUT_OF_REACH_GAP = 1.0  # m: the gap of a contact that nothing can close
RIGID_SHARE = 1e-20  # share of the inverse mass of the whole tree that is rounding
LEAST_TREE_MASS = 1e-6  # kg: joints may have inertia where links have none
IMMOVABLE_MASS_RATIO = 1e5  # of effective mass along the normal and tree: above it, the tree counts as immovable
LARGEST_SLIDE_RATIO = 10.0  # m along the surface per m along the normal
TANGENT_X_SHARE = 0.6  # a normal with less than this along x has its first tangent across x


@kernel
def tangent_vectors(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors perpendicular to a unit vector and to each other, a function of that vector alone."""
    t = (0.0, n[2], -n[1]) if abs(n[0]) < TANGENT_X_SHARE else (-n[2], 0.0, n[0])
    t = scale(t, 1.0 / sqrt(dot(t, t)))
    return t, cross(n, t)


@kernel
def pass_joint(
    tree: Any, link: int, n: Vec3, f: Vec3, Y: Any, y: int, stride: int, same: Scalar, next_one: Scalar
) -> tuple[Vec3, Vec3, Scalar, Scalar]:
    """Propagate three wrenches (lanes), at the origin of a link, through its joint, and write their entries of y.

    Returns the wrenches at the origin of the parent, and the running products of the three rows: each with itself, and
    each with the next one in cyclic order.
    """
    l = links_of(tree)[link]
    dof_rows = dof_data_of(tree)
    turns = l["kind"] == REVOLUTE  # half of its S is zero
    for k in range(l["iv"], l["iv"] + l["nv"]):
        dof_data = dof_rows[k]
        along = dot(load3(dof_data["S"]), n)
        u = dof_data["D"][0] * (along if turns else along + dot(load3_at(dof_data["S"], 3), f))
        Y[y + k], Y[y + stride + k], Y[y + 2 * stride + k] = lane(u, 0), lane(u, 1), lane(u, 2)
        same, next_one = fma(u, u, same), fma(u, turned(u), next_one)
        n, f = axpy(n, -u, load3(dof_data["U"])), axpy(f, -u, load3_at(dof_data["U"], 3))
    if not is_at_parent(l):
        n = add(n, cross(load3(link_data_of(tree)[link + 1]["r"]), f))
    return n, f, same, next_one


@kernel
def propagate_to_base(
    tree: Any, root: Any, link: int, n: Vec3, f: Vec3, Y: Any, y: int, stride: int, same: Scalar, next_one: Scalar
) -> tuple[Scalar, Scalar]:
    """The same through all joints from a link to the base; a free root takes its share by `root_response`."""
    links, end = links_of(tree), 0 if has_free_root(tree) else -1
    while link > end:
        n, f, same, next_one = pass_joint(tree, link, n, f, Y, y, stride, same, next_one)
        link = links[link]["parent"]
    if link == 0:
        turns, goes = root_response(root, n, f)
        write_six(turns, goes, Y, y, stride)
        same = same + dot(turns, turns) + dot(goes, goes)
        next_one = next_one + dot(turns, rotate_lanes(turns)) + dot(goes, rotate_lanes(goes))
    return same, next_one


@kernel
def propagate_both_to_base(
    tree: Any, root: Any, link_a: int, link_b: int, na: Vec3, fa: Vec3, nb: Vec3, fb: Vec3, Y: Any, y: int, stride: int
) -> tuple[Scalar, Scalar]:
    """The same for wrenches on two links of a tree, which are added where their paths to the base meet."""
    links = links_of(tree)
    same, next_one = splat(0.0), splat(0.0)
    while link_a != link_b:  # the deeper of the two goes on
        if link_b > link_a:
            nb, fb, same, next_one = pass_joint(tree, link_b, nb, fb, Y, y, stride, same, next_one)
            link_b = links[link_b]["parent"]
        else:
            na, fa, same, next_one = pass_joint(tree, link_a, na, fa, Y, y, stride, same, next_one)
            link_a = links[link_a]["parent"]
    return propagate_to_base(tree, root, link_a, add(na, nb), add(fa, fb), Y, y, stride, same, next_one)


@kernel
def moments_at(tree: Any, link: int, x: Vec3, forces: Vec3) -> Vec3:
    """Moments (N m) of forces at x about the origin of a link."""
    return cross(sub(x, load3(link_data_of(tree)[link + 1]["p"])), forces)


@kernel
def tree_of_body(forest: Any, body: int) -> Any:
    """The TREE of a body."""
    slot = bodies_of(forest)[body]
    return tree_of(trees_of(forest)[slot["tree"]])


@kernel
def body_slice(forest: Any, slices: Any, body: int) -> tuple[int, int, int, bool]:
    """Tree of a body (-1 if immovable), first entry and length of its rows in z, and whether the tree has joints."""
    if body < 0:
        return -1, 0, 0, False
    slot = bodies_of(forest)[body]
    offset = slices[slot["tree"]]["offset"]
    if offset < 0:
        return -1, 0, 0, False
    tree = tree_of_body(forest, body)
    if tree["free_body"] != 0:
        return slot["tree"], offset, 6, False
    return slot["tree"], offset, row_length(slices[slot["tree"]], last_dof(tree, slot["link"]) + 1), True


@kernel
def fill_side(
    solver: Any, forest: Any, body: int, x: Vec3, forces: Vec3, sign: float, Y: Any, y: int, stride: int
) -> tuple[Scalar, Scalar]:
    """Write one body's part of the three rows of a contact, zero before. Returns the products of that part."""
    tree = tree_of_body(forest, body)
    if tree["free_body"] != 0:
        return write_lone_rows(lone_body_of(tree), x, forces, sign, Y, y, stride)
    slot, f = bodies_of(forest)[body], scale(forces, sign)
    root, n = layout.free_roots_of(solver)[slot["tree"]], moments_at(tree, slot["link"], x, f)
    return propagate_to_base(tree, root, slot["link"], n, f, Y, y, stride, splat(0.0), splat(0.0))


@kernel
def invert_tangent_block(contact: Any, t11: float, t12: float, t22: float) -> None:
    """Inverse of the tangents' 2 x 2 matrix of a contact or torsional constraint, and of its largest eigenvalue."""
    determinant = t11 * t22 - t12 * t12
    middle, half = 0.5 * (t11 + t22), sqrt(0.25 * (t11 - t22) * (t11 - t22) + t12 * t12)
    contact["least_tangent_mass"] = 1.0 / (middle + half) if middle > 0.0 else 0.0
    if determinant > 1e-12 * middle * middle:
        one = 1.0 / determinant
        m11, m12, m22 = t22 * one, -t12 * one, t11 * one
    else:  # motion along one tangent only
        m11, m12, m22 = contact["least_tangent_mass"], 0.0, contact["least_tangent_mass"]
    contact["tangent_mass11"], contact["tangent_mass12"], contact["tangent_mass22"] = m11, m12, m22


@kernel
def set_effective_masses(contact: Any, same: Scalar, next_one: Scalar) -> None:
    """Effective masses of a contact, from the products of its three rows."""
    nn = lane(same, 0)
    contact["effective_mass"] = 1.0 / nn if nn > 0.0 else 0.0  # 0: nothing moves along the normal
    contact["normal_coupling1"], contact["normal_coupling2"] = lane(next_one, 0), lane(next_one, 2)
    invert_tangent_block(contact, lane(same, 1), lane(next_one, 1), lane(same, 2))


@kernel
def recompute_effective_masses(contact: Any, Y: Any) -> None:
    """The same from the rows themselves, after they have changed."""
    l = contact["length1"] + contact["length2"]
    a, b, c = contact["y"], contact["y"] + l, contact["y"] + 2 * l
    nn, an1, an2 = three_slice_products(Y, a, b, c, Y, a, l)
    contact["effective_mass"] = 1.0 / nn if nn > 0.0 else 0.0  # 0: nothing moves along the normal
    contact["normal_coupling1"], contact["normal_coupling2"] = an1, an2
    bb, bc, cc = slice_product(Y, b, Y, b, l), slice_product(Y, b, Y, c, l), slice_product(Y, c, Y, c, l)
    invert_tangent_block(contact, bb, bc, cc)


@kernel
def anchored_mass(forest: Any, body_a: int, body_b: int) -> float:
    """Mass (kg) of the tree of both bodies, or of the heavier tree if all moving ones are fixed to the base; else 0."""
    bodies = bodies_of(forest)
    trees = trees_of(forest)
    joined = body_a >= 0 and body_b >= 0 and bodies[body_a]["tree"] == bodies[body_b]["tree"]
    most = 0.0
    for body in (body_a, body_b):
        if body >= 0:
            tree = tree_of(trees[bodies[body]["tree"]])
            links = links_of(tree)
            if links[0]["kind"] == FREE and not joined:
                return 0.0
            mass = 0.0
            for i in range(tree["n"]):
                mass += links[i]["mass"]
            most = max(most, mass)
    return most


@kernel
def limit_anchored_overlap(solver: Any, contact: Any, held: float) -> None:
    """Limit the overlap of a contact whose effective mass exceeds the mass of an anchored or self-touching tree.

    The normal then points nearly along a constrained direction, and motion along it needs much faster motion elsewhere.
    The overlap is limited to what one step corrects with no part faster than the parting speed.
    """
    if held > 0.0 and contact["effective_mass"] > held:
        deepest = solver["parting_speed"] * solver["h"] * solver["substeps"] * sqrt(held / contact["effective_mass"])
        contact["separation"] = contact["initial_separation"] = max(contact["initial_separation"], -deepest)
        if contact["effective_mass"] > IMMOVABLE_MASS_RATIO * held:
            contact["effective_mass"] = 0.0  # a finite one would give unbounded speeds


@kernel
def limit_sliding_overlap(solver: Any, contact: Any) -> None:
    """Limit the overlap of a contact whose correction moves it mostly along the surface, as light links on sliders do.

    The overlap is limited to what one step corrects if it slides at most at ten times the parting speed.
    """
    mass, c1, c2 = contact["effective_mass"], contact["normal_coupling1"], contact["normal_coupling2"]
    aside = mass * mass * (c1 * c1 + c2 * c2)  # squared
    if aside > LARGEST_SLIDE_RATIO * LARGEST_SLIDE_RATIO:
        deepest = -solver["parting_speed"] * solver["h"] * solver["substeps"] * LARGEST_SLIDE_RATIO / sqrt(aside)
        contact["separation"] = contact["initial_separation"] = max(contact["initial_separation"], deepest)


@kernel
def disable_contact(contact: Any, Y: Any, y: int, length: int) -> None:
    """Disable a contact along whose normal nothing can move, because its two sides are connected rigidly there."""
    clear(Y, y, 3 * length)
    contact["separation"] = contact["initial_separation"] = OUT_OF_REACH_GAP
    contact["normal_impulse"] = contact["tangent_impulse1"] = contact["tangent_impulse2"] = 0.0
    contact["friction"] = contact["restitution"] = 0.0


@kernel
def surface_velocity(collisions: Any, shape: int, material: Any) -> Vec3:
    """Surface velocity (m/s, world) of a shape with a conveyor material, relative to the shape."""
    return mul_vec(load9(shape_poses_of(collisions)[shape]["R"]), load3(material["surface"]))


@kernel
def mix_pair(solver: Any, collisions: Any, pair: Any) -> tuple[float, float, Vec3]:
    """Friction, restitution and relative surface velocity of a pair, from the materials of both shapes."""
    materials = layout.materials_of(solver)
    agreed = layout.pair_materials_of(solver)
    friction, restitution, _, _ = mix_materials(materials, agreed, pair["a"], pair["b"])
    slip = (0.0, 0.0, 0.0)
    if solver["any_moving_surface"] != 0:
        one, other = materials[pair["a"]], materials[pair["b"]]
        slip = sub(surface_velocity(collisions, pair["b"], other), surface_velocity(collisions, pair["a"], one))
    return friction, restitution, slip


@kernel
def world_vector(contact: Any, x: float, x1: float, x2: float) -> Vec3:
    """The vector with components x, x1, x2 along the normal and the tangents of a contact, in world axes."""
    vector = scale(load3(contact["normal"]), x)
    return axpy(axpy(vector, x1, load3(contact["tangent1"])), x2, load3(contact["tangent2"]))


@kernel
def start_contact(t: Any, contact: Any, t1: Vec3, t2: Vec3, p: Vec3, slip: Vec3, gap: float) -> None:
    """Set the fields of a contact constraint that need no rows; p is its stored impulse (N s, world)."""
    n = load3(contact["normal"])
    store3(t["normal"], n)
    store3(t["tangent1"], t1)
    store3(t["tangent2"], t2)
    t["initial_separation"] = t["separation"] = contact["distance"] - gap
    t["normal_impulse"], t["tangent_impulse1"], t["tangent_impulse2"] = max(0.0, dot(p, n)), dot(p, t1), dot(p, t2)
    t["kept"][0], t["kept"][1], t["kept"][2] = t["normal_impulse"], t["tangent_impulse1"], t["tangent_impulse2"]
    t["total_normal_impulse"] = t["total_tangent_impulse1"] = t["total_tangent_impulse2"] = t["approach"] = 0.0
    t["acted"] = 0
    t["surface_velocity1"], t["surface_velocity2"] = dot(slip, t1), dot(slip, t2)


@kernel(inline=False)
def fill_same_tree_rows(
    solver: Any, forest: Any, contact: Any, x1: Vec3, x2: Vec3, forces: Vec3, body_a: int, body_b: int, held: float
) -> None:
    """Write the rows of a contact between two bodies of one tree of mass `held`; the rows are zero before."""
    Y, y, length = layout.whitened_rows(solver), contact["y"], contact["length2"]
    bodies, tree = bodies_of(forest), tree_of_body(forest, body_a)
    one, other, root = bodies[body_a]["link"], bodies[body_b]["link"], layout.free_roots_of(solver)[contact["tree2"]]
    back = scale(forces, -1.0)
    na, nb = moments_at(tree, one, x1, back), moments_at(tree, other, x2, forces)
    same, next_one = propagate_both_to_base(tree, root, one, other, na, back, nb, forces, Y, y, length)
    if lane(same, 0) * max(held, LEAST_TREE_MASS) <= RIGID_SHARE:
        disable_contact(contact, Y, y, length)
        same = next_one = splat(0.0)
    set_effective_masses(contact, same, next_one)


@kernel
def fill_jointed_rows(
    solver: Any, forest: Any, contact: Any, x1: Vec3, x2: Vec3, forces: Vec3, body_a: int, body_b: int
) -> None:
    """The same for bodies of two trees of which at least one has joints, or for one tree and an immovable side."""
    Y, y, l1 = layout.whitened_rows(solver), contact["y"], contact["length1"]
    length = l1 + contact["length2"]
    same = next_one = splat(0.0)
    if l1 > 0:
        same, next_one = fill_side(solver, forest, body_a, x1, forces, -1.0, Y, y, length)
    if contact["length2"] > 0:
        more, more_next = fill_side(solver, forest, body_b, x2, forces, 1.0, Y, y + l1, length)
        same, next_one = same + more, next_one + more_next
    set_effective_masses(contact, same, next_one)


@kernel
def contact_slices(forest: Any, slices: Any, body_a: int, body_b: int) -> tuple[int, int, int, int, int, int, bool]:
    """Trees and slices of z of two bodies, as a contact constraint has them, and whether both are free bodies."""
    tree1, o1, l1, jointed1 = body_slice(forest, slices, body_a)
    tree2, o2, l2, jointed2 = body_slice(forest, slices, body_b)
    if l1 > 0 and tree1 == tree2:
        o1, l1, l2 = 0, 0, max(l1, l2)
    return tree1, o1, l1, tree2, o2, l2, not (jointed1 or jointed2)


@kernel
def fill_pair(solver: Any, forest: Any, collisions: Any, first: int, stop: int, used: int) -> int:
    """Fill the contact constraints from `first` to before `stop`, all of one pair; their y start at `used`.

    Returns the end of their y, -1 if there is no room.
    """
    constraints, order = layout.contact_constraint_room(solver), layout.contact_order(solver)
    room = collisions["contact_room"]
    now = half_start(collisions["step"], room)
    contacts = rows_at(collisions["contacts"], 2 * room, CONTACT)
    impulses, Y = layout.stored_impulses(solver), layout.whitened_rows(solver)
    shapes, slices = shapes_of(collisions), layout.slices_of(solver)
    pair = pairs_of(collisions)[contacts[now + order[first]]["pair"]]
    a, b = shapes[pair["a"]]["link"], shapes[pair["b"]]["link"]
    tree1, o1, l1, tree2, o2, l2, alone = contact_slices(forest, slices, a, b)
    length = l1 + l2
    if used + 3 * length * (stop - first) > solver["Y_room"]:
        solver["full"] |= layout.FULL_Y
        return -1
    if has_convex_ground(shapes, pair):
        solver["any_convex_ground"] = 1
    friction, restitution, slip = mix_pair(solver, collisions, pair)
    if restitution > 0.0:
        solver["bouncing"] = 1
    joined = tree2 >= 0 and tree1 == tree2
    held = 0.0
    if not alone:
        held = anchored_mass(forest, a, b)
        clear(Y, used, 3 * length * (stop - first))
    one = lone_body_of(tree_of_body(forest, a)) if alone and l1 > 0 else NO_BODY
    other = lone_body_of(tree_of_body(forest, b)) if alone and l2 > 0 else NO_BODY
    n = (0.0, 0.0, 0.0)
    t1, t2 = n, n
    forces = stack_vectors(n, t1, t2)
    for i in range(first, stop):
        t, contact = constraints[i], contacts[now + order[i]]
        normal = load3(contact["normal"])
        if normal[0] != n[0] or normal[1] != n[1] or normal[2] != n[2]:
            n = normal
            t1, t2 = tangent_vectors(n)
            forces = stack_vectors(n, t1, t2)
        p = load3_at(impulses, 3 * (room - now + contact["before"])) if contact["before"] >= 0 else (0.0, 0.0, 0.0)
        start_contact(t, contact, t1, t2, p, slip, solver["gap"])
        t["friction"], t["restitution"] = friction, restitution
        t["contact"], t["y"], t["offset1"], t["length1"], t["offset2"], t["length2"] = order[i], used, o1, l1, o2, l2
        t["tree1"], t["tree2"] = tree1, tree2
        t["fast"] = layout.FLIES_BY if contact["passes"] > 0.0 else (1 if contact["passes"] != SLOW and alone else 0)
        if t["fast"] == layout.FLIES_BY:
            solver["any_fly_by"] = 1
        x1, x2 = contact_points(contact)
        if alone:
            fill_lone_rows(t, x1, x2, forces, one, other, Y)
        else:
            if joined:
                fill_same_tree_rows(solver, forest, t, x1, x2, forces, a, b, held)
            else:
                fill_jointed_rows(solver, forest, t, x1, x2, forces, a, b)
            limit_anchored_overlap(solver, t, held)
            limit_sliding_overlap(solver, t)
            if joined:
                t["tree1"] = layout.SAME_TREE
        used += 3 * length
    return used


@kernel
def fill_lone_rows(contact: Any, x1: Vec3, x2: Vec3, forces: Vec3, one: LoneBody, other: LoneBody, Y: Any) -> None:
    """The rows of a contact between two free bodies, or a free body and an immovable side."""
    y, l1, l2 = contact["y"], contact["length1"], contact["length2"]
    same, next_one = splat(0.0), splat(0.0)
    if l1 > 0:
        same, next_one = write_lone_rows(one, x1, forces, -1.0, Y, y, l1 + l2)
    if l2 > 0:
        more, more_next = write_lone_rows(other, x2, forces, 1.0, Y, y + l1, l1 + l2)
        same, next_one = same + more, next_one + more_next
    set_effective_masses(contact, same, next_one)


@kernel
def end_of_pair(order: Any, contacts: Any, first: int, stop: int) -> int:
    """End of the contacts that belong to the same pair as contact `first`."""
    k = first + 1
    while k < stop and contacts[order[k]]["pair"] == contacts[order[first]]["pair"]:
        k += 1
    return k


@kernel(inline=False)
def fill_contact_range(solver: Any, forest: Any, collisions: Any, first: int, stop: int, used: int) -> int:
    """Fill the contact constraints from `first` to before `stop`. Returns the end of their y, -1 without room."""
    order, contacts = layout.contact_order(solver), rows_at(collisions["fresh"], collisions["n_contacts"], CONTACT)
    while first < stop and used >= 0:
        end = end_of_pair(order, contacts, first, stop)
        used = fill_pair(solver, forest, collisions, first, end, used)
        first = end
    return used


@kernel
def fill_all_contacts(solver: Any, forest: Any, collisions: Any) -> bool:
    """Fill the contact constraints of all awake islands, in their order. False if a table is full."""
    solver["bouncing"] = solver["any_fly_by"] = solver["any_convex_ground"] = 0
    used = fill_contact_range(solver, forest, collisions, 0, solver["contact_count"], solver["Y_used"])
    if used >= 0:
        solver["Y_used"] = used
    return used >= 0


@kernel(inline=False)
def count_row_numbers(solver: Any, forest: Any, collisions: Any, first: int, stop: int) -> int:
    """Count of the numbers y of the contacts from `first` to before `stop`."""
    order, contacts = layout.contact_order(solver), rows_at(collisions["fresh"], collisions["n_contacts"], CONTACT)
    shapes, slices = shapes_of(collisions), layout.slices_of(solver)
    pairs = pairs_of(collisions)
    need = 0
    while first < stop:
        end = end_of_pair(order, contacts, first, stop)
        pair = pairs[contacts[order[first]]["pair"]]
        _, _, l1, _, _, l2, _ = contact_slices(forest, slices, shapes[pair["a"]]["link"], shapes[pair["b"]]["link"])
        need += 3 * (l1 + l2) * (end - first)
        first = end
    return need
