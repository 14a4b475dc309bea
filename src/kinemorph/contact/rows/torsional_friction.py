"""Torsional and rolling friction: moments at a contact, about its normal and in its plane.

The moment about the normal is at most `torsion` (m) times the normal force, and the moment in the contact plane lies in
a disc of radius `rolling` (m) times that force. Both oppose the relative angular velocity of the bodies, and keep it at
zero within these limits, like Coulomb friction.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_of
from kinemorph.collision.shapes.shape_rows import CONTACT, contacts_of, pairs_of, shapes_of
from kinemorph.constraint.basis import product
from kinemorph.contact.gauss_seidel.iteration import rub_within
from kinemorph.contact.gauss_seidel.row_products import kick, kick_three
from kinemorph.contact.gauss_seidel.vectors import clear
from kinemorph.contact.layout import (
    FULL_Y,
    contact_constraint_room,
    contact_constraints,
    free_roots_of,
    g_of,
    islands_of,
    materials_of,
    pair_materials_of,
    stored_moments,
    torsional_constraints,
    whitened_rows,
    z_of,
)
from kinemorph.contact.material_mixing import blend
from kinemorph.contact.rows.contact_rows import both_to_base, invert_two, to_base, tree_at
from kinemorph.contact.rows.free_body_rows import beside
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import link_of, lone_of
from kinemorph.spatial.lanes.four import lane, splat
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load6, load9, store3_at
from kinemorph.spatial.triangle import tri_vec
from kinemorph.spatial.vec3 import axpy, dot, scale
from kinemorph.structure.forest.layout import bodies_of

SPIN, ROLL = 1, 2


@kernel(inline=False)
def lay_moments(solver: Any, forest: Any, body: int, contact: Any, sign: float, Y: Any, y: int, stride: int) -> None:
    """Write one body's part of the rows of three moments, about the normal and both tangents of a contact."""
    tree, slot = tree_at(forest, body), bodies_of(forest)[body]
    moments = scale(beside(load3(contact["normal"]), load3(contact["t1"]), load3(contact["t2"])), sign)
    if tree["lone"] == 0:
        root, none = free_roots_of(solver)[slot["tree"]], splat(0.0)
        to_base(tree, root, slot["link"], moments, (none, none, none), Y, y, stride, none, none)
        return
    turns = tri_vec(load6(lone_of(tree)["K"]), tmul_vec(load9(link_of(tree)["R"]), moments))
    for i in range(3):
        store3_at(Y, y + i * stride, (lane(turns[0], i), lane(turns[1], i), lane(turns[2], i)))


@kernel(inline=False)
def lay_both_moments(solver: Any, forest: Any, a: int, b: int, contact: Any, Y: Any, y: int, stride: int) -> None:
    """The same for moments on one body of a tree, and opposite ones on another body of that tree."""
    tree, bodies = tree_at(forest, b), bodies_of(forest)
    moments = beside(load3(contact["normal"]), load3(contact["t1"]), load3(contact["t2"]))
    root = free_roots_of(solver)[bodies[b]["tree"]]
    none = splat(0.0), splat(0.0), splat(0.0)
    one, other = bodies[a]["link"], bodies[b]["link"]
    both_to_base(tree, root, one, other, scale(moments, -1.0), none, moments, none, Y, y, stride)


@kernel
def weigh_twist(r: Any, length: int, Y: Any) -> None:
    """Effective masses (kg m²) of a torsional constraint, from the products of its three rows."""
    a, b, c = r["y"], r["y"] + length, r["y"] + 2 * length
    nn, t11, t12, t22 = (
        product(Y, a, Y, a, length),
        product(Y, b, Y, b, length),
        product(Y, b, Y, c, length),
        product(Y, c, Y, c, length),
    )
    r["inverse"] = 1.0 / nn if nn > 0.0 else 0.0
    invert_two(r, t11, t12, t22)


@kernel(inline=False)
def fill_twist(solver: Any, forest: Any, r: Any, contact: Any, a: int, b: int) -> bool:
    """Fill the rows of one torsional constraint, for a contact of bodies a and b. False if Y is full."""
    bodies = bodies_of(forest)
    Y, used = whitened_rows(solver), solver["Y_used"]
    length = contact["l1"] + contact["l2"]
    if used + 3 * length > solver["Y_room"]:
        solver["full"] |= FULL_Y
        return False
    clear(Y, used, 3 * length)
    joined = contact["l1"] == 0 and contact["l2"] > 0 and a >= 0 and b >= 0 and bodies[a]["tree"] == bodies[b]["tree"]
    if joined:
        lay_both_moments(solver, forest, a, b, contact, Y, used, length)
    if contact["l1"] > 0:
        lay_moments(solver, forest, a, contact, -1.0, Y, used, length)
    if contact["l2"] > 0 and not joined:
        lay_moments(solver, forest, b, contact, 1.0, Y, used + contact["l1"], length)
    r["y"] = used
    weigh_twist(r, length, Y)
    solver["Y_used"] = used + 3 * length
    return True


@kernel(inline=False)
def fill_twists(solver: Any, forest: Any, collisions: Any) -> bool:
    """Fill the torsional constraints of all contacts whose materials have such friction. False if Y is full."""
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    room = collisions["contact_room"]
    now = half_of(collisions["step"], room)
    contacts = rows_at(collisions["contacts"], 2 * room, CONTACT)
    touches, twists = contact_constraint_room(solver), torsional_constraints(solver)
    materials = materials_of(solver)
    agreed = pair_materials_of(solver)
    moments = stored_moments(solver)
    islands = islands_of(solver)
    count = 0
    for i in range(solver["island_count"]):
        island = islands[i]
        island["first_twist"] = count
        for j in range(island["first_touch"], island["first_touch"] + island["touch_count"]):
            t = touches[j]
            contact = contacts[now + t["contact"]]
            pair = pairs[contact["pair"]]
            _, _, rolling, torsion = blend(materials, agreed, pair["a"], pair["b"])
            if rolling == 0.0 and torsion == 0.0:
                continue
            r = twists[count]
            if not fill_twist(solver, forest, r, t, shapes[pair["a"]]["link"], shapes[pair["b"]]["link"]):
                return False
            r["touch"], r["torsion"], r["rolling"] = j, torsion, rolling
            r["acts"] = (SPIN if torsion > 0.0 else 0) + (ROLL if rolling > 0.0 else 0)
            p = (0.0, 0.0, 0.0)
            if solver["moments_kept"] != 0 and contact["before"] >= 0:
                p = load3_at(moments, 3 * (room - now + contact["before"]))
            r["pn"], r["p1"], r["p2"] = dot(p, load3(t["normal"])), dot(p, load3(t["t1"])), dot(p, load3(t["t2"]))
            r["sum"] = r["sum1"] = r["sum2"] = 0.0
            count += 1
        island["twist_count"] = count - island["first_twist"]
    solver["twist_count"] = count
    return True


@kernel(inline=False)
def stay_swept(solver: Any) -> None:
    """Exclude islands with torsional constraints from the direct solve, which has no cost row for them."""
    islands = islands_of(solver)
    for i in range(solver["island_count"]):
        if islands[i]["twist_count"] > 0:
            islands[i]["direct"] = 0


# ------------------------------------------------------------------------------------------- Gauss-Seidel iterations


@kernel
def turning(torsion: Any, t: Any, row: int, Y: Any, z: Any) -> float:
    """Relative angular velocity (rad/s) of the two sides of a contact, about the normal (row 0) or a tangent (1, 2)."""
    y = torsion["y"] + row * (t["l1"] + t["l2"])
    x = product(Y, y + t["l1"], z, t["o2"], t["l2"])
    return x + product(Y, y, z, t["o1"], t["l1"]) if t["l1"] > 0 else x


@kernel
def wring(torsion: Any, t: Any, Y: Any, z: Any, p: float, p1: float, p2: float) -> None:
    """Apply three angular impulses (N m s) to z."""
    stride = t["l1"] + t["l2"]
    if t["l1"] > 0:
        kick_three(Y, torsion["y"], stride, z, t["o1"], t["l1"], p, p1, p2)
    kick_three(Y, torsion["y"] + t["l1"], stride, z, t["o2"], t["l2"], p, p1, p2)


@kernel
def wring_one(torsion: Any, t: Any, Y: Any, z: Any, p: float) -> None:
    """Apply an angular impulse (N m s) about the normal to z."""
    if t["l1"] > 0:
        kick(Y, torsion["y"], z, t["o1"], t["l1"], p)
    kick(Y, torsion["y"] + t["l1"], z, t["o2"], t["l2"], p)


@kernel(inline=False)
def resist(solver: Any, island: Any) -> None:
    """One iteration over the torsional constraints of an island, limited by the present normal impulses."""
    touches = contact_constraints(solver)
    twists = torsional_constraints(solver)[island["first_twist"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    for i in range(island["twist_count"]):
        torsion = twists[i]
        t = touches[torsion["touch"]]
        if torsion["acts"] & SPIN:
            most = torsion["torsion"] * t["pn"]
            p = min(max(torsion["pn"] - turning(torsion, t, 0, Y, z) * torsion["inverse"], -most), most)
            wring_one(torsion, t, Y, z, p - torsion["pn"])
            torsion["pn"] = p
        if torsion["acts"] & ROLL:
            v1, v2 = turning(torsion, t, 1, Y, z), turning(torsion, t, 2, Y, z)
            p1, p2 = rub_within(torsion, v1, v2, torsion["rolling"] * t["pn"])
            wring(torsion, t, Y, z, 0.0, p1 - torsion["p1"], p2 - torsion["p2"])
            torsion["p1"], torsion["p2"] = p1, p2


@kernel(inline=False)
def warm_twists(solver: Any, island: Any) -> None:
    """Add the effect of the stored angular impulses to g; those of contacts without a normal impulse become zero."""
    touches = contact_constraints(solver)
    twists = torsional_constraints(solver)[island["first_twist"] :]
    Y, g = whitened_rows(solver), g_of(solver)
    for i in range(island["twist_count"]):
        torsion = twists[i]
        t = touches[torsion["touch"]]
        if t["pn"] > 0.0:
            wring(torsion, t, Y, g, torsion["pn"], torsion["p1"], torsion["p2"])
        else:
            torsion["pn"] = torsion["p1"] = torsion["p2"] = 0.0


@kernel(inline=False)
def scale_twists(solver: Any, island: Any, share: float) -> None:
    twists = torsional_constraints(solver)[island["first_twist"] :]
    for i in range(island["twist_count"]):
        r = twists[i]
        r["pn"], r["p1"], r["p2"] = share * r["pn"], share * r["p1"], share * r["p2"]


@kernel(inline=False)
def sum_twists(solver: Any, island: Any) -> None:
    twists = torsional_constraints(solver)[island["first_twist"] :]
    for i in range(island["twist_count"]):
        r = twists[i]
        r["sum"], r["sum1"], r["sum2"] = r["sum"] + r["pn"], r["sum1"] + r["p1"], r["sum2"] + r["p2"]


@kernel(inline=False)
def keep_moments(solver: Any, collisions: Any, good: bool) -> None:
    """Store the angular impulses of contacts (N m s, world) for the next step; none after a failed step.

    Sleeping contacts keep their old ones.
    """
    before, solver["moments_kept"] = solver["moments_kept"], 1 if good else 0
    if not good:
        return
    contacts = contacts_of(collisions)
    touches, twists = contact_constraints(solver), torsional_constraints(solver)
    moments = stored_moments(solver)
    now = half_of(collisions["step"], collisions["contact_room"])
    for k in range(collisions["n_contacts"]):
        p, old = (0.0, 0.0, 0.0), contacts[now + k]["before"]
        if before != 0 and old >= 0:
            p = load3_at(moments, 3 * (collisions["contact_room"] - now + old))
        store3_at(moments, 3 * (now + k), p)
    for i in range(solver["twist_count"]):
        torsion = twists[i]
        contact = touches[torsion["touch"]]
        p = scale(load3(contact["normal"]), torsion["pn"])
        p = axpy(axpy(p, torsion["p1"], load3(contact["t1"])), torsion["p2"], load3(contact["t2"]))
        store3_at(moments, 3 * (now + contact["contact"]), p)
