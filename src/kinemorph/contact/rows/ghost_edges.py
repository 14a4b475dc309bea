"""Internal (ghost) edges of ground made of several convex pieces: removal of their contacts.

A shape that overlaps one tile by a micrometre, and slides to the next tile, would collide with the side or edge of it.
The plane of a contact separates two convex shapes for one step. If all of another fixed shape lies behind that plane,
the plane also separates that shape, and the contact with it, which has another normal, is redundant.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import Form, contacts_of, mounts_of, pairs_of, shape_poses_of, shapes_of
from kinemorph.contact.layout import contact_constraints, slices_of
from kinemorph.contact.rows.near_miss import LEFT_OUT_GAP
from kinemorph.geometry.polyhedron import CORE, vertices_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, dot, scale, sub

FLUSH_HEIGHT = 1e-4  # m: a piece that stands out by more is a step, whose contacts stay
SAME_NORMAL_DEFECT = 1e-10  # one minus the cosine between normals that are the same
CONVEX = int(Form.CONVEX)


@kernel
def has_convex_ground(shapes: Any, pair: Any) -> bool:
    """Whether one shape of a pair is fixed and convex."""
    a, b = shapes[pair["a"]], shapes[pair["b"]]
    return (a["fixed"] != 0 and a["form"] == CONVEX) or (b["fixed"] != 0 and b["form"] == CONVEX)


@kernel(inline=False)
def drop_ghost_contacts(solver: Any, collisions: Any) -> None:
    """Disable contacts with convex ground that another contact makes redundant; that other contact is then kept."""
    constraints = contact_constraints(solver)
    slices = slices_of(solver)
    for i in range(solver["contact_count"]):
        constraints[i]["supersedes"] = 0
        tree = tree_on_ground(constraints[i])
        if tree >= 0:
            slices[tree]["on_ground"] = -1
    for i in range(solver["contact_count"] - 1, -1, -1):
        tree = tree_on_ground(constraints[i])
        if tree >= 0:
            constraints[i]["next_on_ground"] = slices[tree]["on_ground"]
            slices[tree]["on_ground"] = i
    for j in range(solver["contact_count"]):
        tree = tree_on_ground(constraints[j])
        if tree >= 0 and constraints[j]["supersedes"] == 0 and constraints[j]["separation"] < LEFT_OUT_GAP:
            k = superseding_contact(collisions, constraints, j, slices[tree]["on_ground"])
            if k >= 0:
                constraints[k]["supersedes"] = 1
                constraints[j]["initial_separation"] = constraints[j]["separation"] = LEFT_OUT_GAP


@kernel
def tree_on_ground(t: Any) -> int:
    """Tree of a contact with an immovable side, else -1."""
    if t["tree1"] == -1:
        return t["tree2"]
    return t["tree1"] if t["tree2"] == -1 else -1


@kernel(inline=False)
def superseding_contact(collisions: Any, constraints: Any, other_index: int, first: int) -> int:
    """Contact of the list from `first` on (linked by `beside`) that makes contact j redundant; -1 for none."""
    contacts = contacts_of(collisions)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    contact = contacts[now + constraints[other_index]["contact"]]
    pair = pairs[contact["pair"]]
    fixed, moving, part, n, _ = orient_from_ground(shapes, pair, contact)
    if fixed < 0 or shapes[fixed]["form"] != CONVEX:
        return -1
    y, size = moving_point(pair, contact, fixed), 2.0 * mounts_of(collisions)[moving]["reach"]
    k = first
    while k >= 0:
        other = contacts[now + constraints[k]["contact"]]
        if other["pair"] != contact["pair"] and constraints[k]["separation"] < LEFT_OUT_GAP:
            ground, shape, of, m, x = orient_from_ground(shapes, pairs[other["pair"]], other)
            if ground >= 0 and shape == moving and of == part and dot(n, m) <= 1.0 - SAME_NORMAL_DEFECT:
                d, z = sub(n, m), moving_point(pairs[other["pair"]], other, ground)
                near = abs(dot(d, sub(y, z))) <= size * dot(d, d)  # else the shape is flat there, and rests on both
                if near and support_distance(collisions, fixed, m) <= dot(m, x) + FLUSH_HEIGHT:
                    return k
        k = constraints[k]["next_on_ground"]
    return -1


@kernel
def moving_point(pair: Any, contact: Any, fixed: int) -> Vec3:
    """Point (m, world) of a contact on the moving shape."""
    return load3(contact["x2"]) if pair["a"] == fixed else load3(contact["x1"])


@kernel
def orient_from_ground(shapes: Any, pair: Any, contact: Any) -> tuple[int, int, int, Vec3, Vec3]:
    """Fixed shape of a contact (-1 for none), moving shape and its part, and normal and point on the ground."""
    n = load3(contact["normal"])
    if shapes[pair["a"]]["fixed"] != 0:
        return pair["a"], pair["b"], contact["part2"], n, load3(contact["x1"])
    fixed = pair["b"] if shapes[pair["b"]]["fixed"] != 0 else -1
    return fixed, pair["a"], contact["part1"], scale(n, -1.0), load3(contact["x2"])


@kernel(inline=False)
def support_distance(collisions: Any, row: int, n: Vec3) -> float:
    """Support distance of a convex shape along a direction: largest n·x (m) over its points x in the world."""
    shape, place = shapes_of(collisions)[row], shape_poses_of(collisions)[row]
    core = rows_at(shape["core"], 1, CORE)[0]
    d = tmul_vec(load9(place["R"]), n)
    far = -LEFT_OUT_GAP
    if core["sides"] > 0:
        across, along = sqrt(d[0] * d[0] + d[1] * d[1]), core["half"] * d[2]
        far = max(core["low"] * across - along, core["high"] * across + along)
    else:
        vertices = vertices_of(core)
        for v in range(core["n_vertices"]):
            far = max(far, dot(d, load3(vertices[v]["x"])))
    return far + shape["radius"] + dot(n, load3(place["p"]))
