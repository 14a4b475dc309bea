"""One step of `bounce` in kernels, by the rules of Fontijne 2.6: boxes, hash, motion, V-Clip, walls, bounces.

Shapes, pairs and distances are those of a `Collisions`: object i is the shape in row i of its table. What is here moves
the objects, says where their boxes are, and answers penetrations.
"""

from typing import Any

import numpy as np

from kinemorph.collision.collide import find_pairs, list_all_pairs
from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes.shape_poses import world_box
from kinemorph.collision.shapes.shape_rows import DONE, FULL, MOUNT, PAIR, SHAPE_POSE
from kinemorph.geometry.ground import BOUNDS
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.quaternion import multiply, normalized, to_matrix
from kinemorph.spatial.rows import load3, load4_at, load9, store3, store4_at, store9
from kinemorph.spatial.vec3 import Vec3, axpy, dot, neg, sub
from kinemorph.world.layout import collisions_of

OBJECT = np.dtype(
    [
        ("x", "f8", 3),  # m, its centre
        ("q", "f8", 4),  # w x y z
        ("v", "f8", 3),  # m/s
        ("w", "f8", 3),  # rad/s, world axes; never changes, and so
        ("turn", "f8", 4),  # neither does by how much it turns in a step, w x y z
        ("gravity", "f8"),  # m/s, added to v_y at each step
        ("R", "f8", 9),  # of q
        ("next", "f8", 4),  # q after the step; with its box, rule 1 writes where it will be
    ]
)

BOUNCE = np.dtype(
    [
        ("n", "i8"),  # objects
        ("collisions", "i8"),  # address of the COLLISIONS, see Collisions.lend
        ("half", "f8", 3),  # m, half the sides of the world, which is a box around the origin
        ("dt", "f8"),  # s, the step size
        ("speed", "f8"),  # m/s, largest component of a new velocity
        ("random", "i8", 2),  # state of the random numbers
        ("phases", "i8"),  # bits: HASHING, VCLIP
        ("steps", "i8"),  # how far it is
        ("bounces", "i8"),  # pairs that were found to penetrate
    ]
)
HASHING, VCLIP = 1, 2


# --- random numbers (L'Ecuyer 1988: two small generators, no overflow, which LLVM leaves undefined) ---


@kernel
def uniform(b: Any) -> float:
    """Between -1 and 1."""
    s = b["random"]
    s[0] = 40014 * s[0] % 2147483563
    s[1] = 40692 * s[1] % 2147483399
    return ((s[0] - s[1]) % 2147483562) * (2.0 / 2147483562.0) - 1.0


@kernel
def any_velocity(b: Any) -> Vec3:
    s = b["speed"]
    return (s * uniform(b), s * uniform(b), s * uniform(b))


# --- the rules ---


@kernel
def box_for_step(mount: Any, o: Any, dt: float, place: Any, box: Any) -> None:
    """Rule 1: the box around where an object is and where it will be; in between it is not looked at."""
    x = load3(o["x"])
    y = axpy(x, dt, load3(o["v"]))
    q = normalized(multiply(load4_at(o["turn"], 0), load4_at(o["q"], 0)))
    R = to_matrix(q)
    store4_at(o["next"], 0, q)
    store9(place["R"], R)
    store3(place["p"], y)
    low, high = world_box(mount, load9(o["R"]), x)
    next_low, next_high = world_box(mount, R, y)
    for d in range(3):
        box["low"][d] = min(low[d], next_low[d])
        box["high"][d] = max(high[d], next_high[d])


@kernel
def move(o: Any, place: Any) -> None:
    """Rule 3: along its velocity, which then changes by its gravity factor."""
    store3(o["x"], load3(place["p"]))
    store4_at(o["q"], 0, load4_at(o["next"], 0))
    store9(o["R"], load9(place["R"]))
    o["v"][1] += o["gravity"]


@kernel
def turn_back(b: Any, o: Any) -> None:
    """Rule 5: an object whose centre has left the world gets a random velocity that leads back."""
    out = False
    for d in range(3):
        out |= abs(o["x"][d]) > b["half"][d]
    if out:
        v = any_velocity(b)
        store3(o["v"], v)
        for d in range(3):
            if abs(o["x"][d]) > b["half"][d]:
                o["v"][d] = -abs(o["v"][d]) if o["x"][d] > 0.0 else abs(o["v"][d])


@kernel
def part(b: Any, first: Any, second: Any) -> None:
    """Rule 6: two that penetrate get random velocities by which their centres move away from each other."""
    d = sub(load3(second["x"]), load3(first["x"]))
    v = any_velocity(b)
    store3(first["v"], neg(v) if dot(v, d) > 0.0 else v)
    v = any_velocity(b)
    store3(second["v"], neg(v) if dot(v, d) < 0.0 else v)


# --- what Python calls: the phases one by one, and many steps ---


@entry(nogil=True)
def broad_phase(bounce: Any, objects: Any) -> int:
    """Rules 1 and 2: boxes and hash. FULL if tables must grow first; then call it again."""
    b = bounce[0]
    collisions = collisions_of(b)
    mounts = rows_at(collisions["mounts"], b["n"], MOUNT)
    places = rows_at(collisions["places"], b["n"], SHAPE_POSE)
    boxes = rows_at(collisions["boxes"], b["n"], BOUNDS)
    for i in range(b["n"]):
        box_for_step(mounts[i], objects[i], b["dt"], places[i], boxes[i])
    return find_pairs(collisions) if b["phases"] & HASHING else list_all_pairs(collisions)


@entry(nogil=True)
def narrow_phase(bounce: Any, objects: Any) -> int:
    """Rules 3 and 4: motion and distances. FULL as above: objects already moved do not move again."""
    b = bounce[0]
    collisions = collisions_of(b)
    places = rows_at(collisions["places"], b["n"], SHAPE_POSE)
    if collisions["goes_on"] == 0:
        for i in range(b["n"]):
            move(objects[i], places[i])
    return find_contacts(collisions) if b["phases"] & VCLIP else DONE


@entry(nogil=True)
def response(bounce: Any, objects: Any) -> None:
    """Rules 5 and 6: walls and bounces."""
    b = bounce[0]
    collisions = collisions_of(b)
    pairs = rows_at(collisions["pairs"], collisions["n_pairs"], PAIR)
    for i in range(b["n"]):
        turn_back(b, objects[i])
    for k in range(collisions["n_pairs"] if b["phases"] & VCLIP else 0):
        if pairs[k]["distance"] <= 0.0:
            b["bounces"] += 1
            part(b, objects[pairs[k]["a"]], objects[pairs[k]["b"]])
    b["steps"] += 1


@entry(nogil=True)
def advance(bounce: Any, objects: Any, steps: int, updates: int) -> int:
    """Step until `steps` or `updates` are reached. FULL if tables must grow in between."""
    b = bounce[0]
    collisions = collisions_of(b)
    while collisions["goes_on"] or (b["steps"] < steps and collisions["updates"] < updates):
        if collisions["goes_on"] == 0 and broad_phase(bounce, objects) == FULL:
            return FULL
        if narrow_phase(bounce, objects) == FULL:
            return FULL
        response(bounce, objects)
    return DONE
