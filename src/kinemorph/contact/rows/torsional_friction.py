"""Torsional and rolling friction: moments at a contact, about its normal and in its plane.

The moment about the normal is at most `torsion` (m) times the normal force, and the moment in the contact plane lies in
a disc of radius `rolling` (m) times that force. Both oppose the relative angular velocity of the bodies, and keep it at
zero within these limits, like Coulomb friction.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import CONTACT, contacts_of, pairs_of, shapes_of
from kinemorph.constraint.basis import slice_product
from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.friction import solve_friction
from kinemorph.contact.gauss_seidel.row_products import apply_row_impulse, apply_three_impulses
from kinemorph.contact.gauss_seidel.vectors import claim_numbers
from kinemorph.contact.material_mixing import mix_materials
from kinemorph.contact.rows import contact_rows
from kinemorph.contact.rows.free_body_rows import stack_vectors
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import free_body_link, free_body_of
from kinemorph.spatial.lanes.four import lane, splat
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load6, load9, store3_at
from kinemorph.spatial.triangle import tri_vec
from kinemorph.spatial.vec3 import Vec3, dot, scale
from kinemorph.structure.forest.layout import bodies_of

SPIN, ROLL = 1, 2


@kernel
def unit_moments(contact: Any) -> Vec3:
    """Unit moments about the normal and both tangents of a contact, in lanes."""
    return stack_vectors(load3(contact["normal"]), load3(contact["tangent1"]), load3(contact["tangent2"]))


@kernel(inline=False)
def fill_moment_rows(
    solver: Any, forest: Any, body: int, contact: Any, sign: float, Y: Any, y: int, stride: int
) -> None:
    """Write one body's part of the rows of three moments, about the normal and both tangents of a contact."""
    tree, slot = contact_rows.tree_of_body(forest, body), bodies_of(forest)[body]
    moments = scale(unit_moments(contact), sign)
    if tree["free_body"] == 0:
        root, none = layout.free_roots_of(solver)[slot["tree"]], splat(0.0)
        contact_rows.propagate_to_base(tree, root, slot["link"], moments, (none, none, none), Y, y, stride, none, none)
        return
    turns = tri_vec(load6(free_body_of(tree)["K"]), tmul_vec(load9(free_body_link(tree)["R"]), moments))
    for i in range(3):
        store3_at(Y, y + i * stride, (lane(turns[0], i), lane(turns[1], i), lane(turns[2], i)))


@kernel(inline=False)
def fill_same_tree_moments(
    solver: Any, forest: Any, body_a: int, body_b: int, contact: Any, Y: Any, y: int, stride: int
) -> None:
    """The same for moments on one body of a tree, and opposite ones on another body of that tree."""
    tree, bodies = contact_rows.tree_of_body(forest, body_b), bodies_of(forest)
    moments = unit_moments(contact)
    root = layout.free_roots_of(solver)[bodies[body_b]["tree"]]
    none = splat(0.0), splat(0.0), splat(0.0)
    one, other = bodies[body_a]["link"], bodies[body_b]["link"]
    contact_rows.propagate_both_to_base(tree, root, one, other, scale(moments, -1.0), none, moments, none, Y, y, stride)


@kernel
def set_torsional_masses(r: Any, length: int, Y: Any) -> None:
    """Effective masses (kg m²) of a torsional constraint, from the products of its three rows."""
    a, b, c = r["y"], r["y"] + length, r["y"] + 2 * length
    nn = slice_product(Y, a, Y, a, length)
    t11 = slice_product(Y, b, Y, b, length)
    t12 = slice_product(Y, b, Y, c, length)
    t22 = slice_product(Y, c, Y, c, length)
    r["effective_mass"] = 1.0 / nn if nn > 0.0 else 0.0
    contact_rows.invert_tangent_block(r, t11, t12, t22)


@kernel(inline=False)
def fill_torsional_row(solver: Any, forest: Any, r: Any, contact: Any, body_a: int, body_b: int) -> bool:
    """Fill the rows of one torsional constraint, for a contact of bodies a and b. False if Y is full."""
    bodies = bodies_of(forest)
    Y, length = layout.whitened_rows(solver), contact["length1"] + contact["length2"]
    used = claim_numbers(solver, 3 * length)
    if used < 0:
        return False
    joined = contact["length1"] == 0 and contact["length2"] > 0 and body_a >= 0 and body_b >= 0
    joined = joined and bodies[body_a]["tree"] == bodies[body_b]["tree"]
    if joined:
        fill_same_tree_moments(solver, forest, body_a, body_b, contact, Y, used, length)
    if contact["length1"] > 0:
        fill_moment_rows(solver, forest, body_a, contact, -1.0, Y, used, length)
    if contact["length2"] > 0 and not joined:
        fill_moment_rows(solver, forest, body_b, contact, 1.0, Y, used + contact["length1"], length)
    r["y"] = used
    set_torsional_masses(r, length, Y)
    return True


@kernel(inline=False)
def fill_torsional_rows(solver: Any, forest: Any, collisions: Any) -> bool:
    """Fill the torsional constraints of all contacts whose materials have such friction. False if Y is full."""
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    room = collisions["contact_room"]
    now = half_start(collisions["step"], room)
    contacts = rows_at(collisions["contacts"], 2 * room, CONTACT)
    constraints, torsions = layout.contact_constraint_room(solver), layout.torsional_constraints(solver)
    materials = layout.materials_of(solver)
    agreed = layout.pair_materials_of(solver)
    moments = layout.stored_moments(solver)
    islands = layout.islands_of(solver)
    count = 0
    for i in range(solver["island_count"]):
        island = islands[i]
        island["first_torsional"] = count
        for j in range(island["first_contact"], island["first_contact"] + island["contact_count"]):
            t = constraints[j]
            contact = contacts[now + t["contact"]]
            pair = pairs[contact["pair"]]
            _, _, rolling, torsion = mix_materials(materials, agreed, pair["a"], pair["b"])
            if rolling == 0.0 and torsion == 0.0:
                continue
            r = torsions[count]
            if not fill_torsional_row(solver, forest, r, t, shapes[pair["a"]]["link"], shapes[pair["b"]]["link"]):
                return False
            r["contact_constraint"], r["torsion"], r["rolling"] = j, torsion, rolling
            r["axes"] = (SPIN if torsion > 0.0 else 0) + (ROLL if rolling > 0.0 else 0)
            p = (0.0, 0.0, 0.0)
            if solver["moments_valid"] != 0 and contact["before"] >= 0:
                p = load3_at(moments, 3 * (room - now + contact["before"]))
            r["normal_impulse"] = dot(p, load3(t["normal"]))
            r["tangent_impulse1"] = dot(p, load3(t["tangent1"]))
            r["tangent_impulse2"] = dot(p, load3(t["tangent2"]))
            r["total_normal_impulse"] = r["total_tangent_impulse1"] = r["total_tangent_impulse2"] = 0.0
            count += 1
        island["torsional_count"] = count - island["first_torsional"]
    solver["torsional_count"] = count
    return True


@kernel(inline=False)
def exclude_torsional_islands(solver: Any) -> None:
    """Exclude islands with torsional constraints from the direct solve, which has no cost row for them."""
    islands = layout.islands_of(solver)
    for i in range(solver["island_count"]):
        if islands[i]["torsional_count"] > 0:
            islands[i]["direct"] = 0


# ------------------------------------------------------------------------------------------- Gauss-Seidel iterations


@kernel
def relative_spin(torsion: Any, contact: Any, row: int, Y: Any, z: Any) -> float:
    """Relative angular velocity (rad/s) of the two sides of a contact, about the normal (row 0) or a tangent (1, 2)."""
    y = torsion["y"] + row * (contact["length1"] + contact["length2"])
    x = slice_product(Y, y + contact["length1"], z, contact["offset2"], contact["length2"])
    return x + slice_product(Y, y, z, contact["offset1"], contact["length1"]) if contact["length1"] > 0 else x


@kernel
def apply_moments(torsion: Any, contact: Any, Y: Any, z: Any, p: float, p1: float, p2: float) -> None:
    """Apply three angular impulses (N m s) to z."""
    stride = contact["length1"] + contact["length2"]
    if contact["length1"] > 0:
        apply_three_impulses(Y, torsion["y"], stride, z, contact["offset1"], contact["length1"], p, p1, p2)
    apply_three_impulses(
        Y, torsion["y"] + contact["length1"], stride, z, contact["offset2"], contact["length2"], p, p1, p2
    )


@kernel
def apply_spin_moment(torsion: Any, contact: Any, Y: Any, z: Any, p: float) -> None:
    """Apply an angular impulse (N m s) about the normal to z."""
    if contact["length1"] > 0:
        apply_row_impulse(Y, torsion["y"], z, contact["offset1"], contact["length1"], p)
    apply_row_impulse(Y, torsion["y"] + contact["length1"], z, contact["offset2"], contact["length2"], p)


@kernel(inline=False)
def solve_torsional(solver: Any, island: Any) -> None:
    """One iteration over the torsional constraints of an island, limited by the present normal impulses."""
    constraints = layout.contact_constraints(solver)
    torsions = layout.torsional_constraints(solver)[island["first_torsional"] :]
    Y, z = layout.whitened_rows(solver), layout.z_of(solver)
    for i in range(island["torsional_count"]):
        torsion = torsions[i]
        t = constraints[torsion["contact_constraint"]]
        if torsion["axes"] & SPIN:
            most = torsion["torsion"] * t["normal_impulse"]
            p = torsion["normal_impulse"] - relative_spin(torsion, t, 0, Y, z) * torsion["effective_mass"]
            p = min(max(p, -most), most)
            apply_spin_moment(torsion, t, Y, z, p - torsion["normal_impulse"])
            torsion["normal_impulse"] = p
        if torsion["axes"] & ROLL:
            v1, v2 = relative_spin(torsion, t, 1, Y, z), relative_spin(torsion, t, 2, Y, z)
            p1, p2 = solve_friction(torsion, v1, v2, torsion["rolling"] * t["normal_impulse"])
            apply_moments(torsion, t, Y, z, 0.0, p1 - torsion["tangent_impulse1"], p2 - torsion["tangent_impulse2"])
            torsion["tangent_impulse1"], torsion["tangent_impulse2"] = p1, p2


@kernel(inline=False)
def apply_stored_moments(solver: Any, island: Any) -> None:
    """Add the effect of the stored angular impulses to g; those of contacts without a normal impulse become zero."""
    constraints = layout.contact_constraints(solver)
    torsions = layout.torsional_constraints(solver)[island["first_torsional"] :]
    Y, g = layout.whitened_rows(solver), layout.g_of(solver)
    for i in range(island["torsional_count"]):
        torsion = torsions[i]
        t = constraints[torsion["contact_constraint"]]
        if t["normal_impulse"] > 0.0:
            apply_moments(
                torsion, t, Y, g, torsion["normal_impulse"], torsion["tangent_impulse1"], torsion["tangent_impulse2"]
            )
        else:
            torsion["normal_impulse"] = torsion["tangent_impulse1"] = torsion["tangent_impulse2"] = 0.0


@kernel(inline=False)
def scale_moments(solver: Any, island: Any, share: float) -> None:
    torsions = layout.torsional_constraints(solver)[island["first_torsional"] :]
    for i in range(island["torsional_count"]):
        r = torsions[i]
        r["normal_impulse"] *= share
        r["tangent_impulse1"] *= share
        r["tangent_impulse2"] *= share


@kernel(inline=False)
def add_moments_to_totals(solver: Any, island: Any) -> None:
    torsions = layout.torsional_constraints(solver)[island["first_torsional"] :]
    for i in range(island["torsional_count"]):
        r = torsions[i]
        r["total_normal_impulse"] += r["normal_impulse"]
        r["total_tangent_impulse1"] += r["tangent_impulse1"]
        r["total_tangent_impulse2"] += r["tangent_impulse2"]


@kernel(inline=False)
def store_moments(solver: Any, collisions: Any, good: bool) -> None:
    """Store the angular impulses of contacts (N m s, world) for the next step; none after a failed step.

    Sleeping contacts keep their old ones.
    """
    before, solver["moments_valid"] = solver["moments_valid"], 1 if good else 0
    if not good:
        return
    contacts = contacts_of(collisions)
    constraints, torsions = layout.contact_constraints(solver), layout.torsional_constraints(solver)
    moments = layout.stored_moments(solver)
    now = half_start(collisions["step"], collisions["contact_room"])
    for k in range(collisions["n_contacts"]):
        p, old = (0.0, 0.0, 0.0), contacts[now + k]["before"]
        if before != 0 and old >= 0:
            p = load3_at(moments, 3 * (collisions["contact_room"] - now + old))
        store3_at(moments, 3 * (now + k), p)
    for i in range(solver["torsional_count"]):
        torsion = torsions[i]
        contact = constraints[torsion["contact_constraint"]]
        p, p1, p2 = torsion["normal_impulse"], torsion["tangent_impulse1"], torsion["tangent_impulse2"]
        store3_at(moments, 3 * (now + contact["contact"]), contact_rows.world_vector(contact, p, p1, p2))
