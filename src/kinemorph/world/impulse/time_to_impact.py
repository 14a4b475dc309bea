"""Lower bound of the time to the next impact, which limits a part of a step of the impulse model (Fontijne 3.8.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.contact_table import half_start, is_round_shape
from kinemorph.collision.shapes.shape_rows import contacts_of, pairs_of, shape_poses_of, shapes_of
from kinemorph.contact.layout import slices_of
from kinemorph.geometry.polyhedron import core_row_of
from kinemorph.jit.api import kernel
from kinemorph.multibody.layout import link_data_of
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of

COLLISION_GAP_SHARE = 0.75  # of the envelope: the distance at which a part should find a collision
SAFE_APPROACH_SHARE = 0.9  # of the distance: how far a boosted body may approach in a part
# of the envelope: how far the lowest point of a rim may sink in a part; contacts correct it
RIM_SINK_SHARE = 1.0 / 16.0
SMALLEST_APPROACH_SPEED = 1e-6  # m/s
SHORTEST_PART_SHARE = 0.1  # of the time through the envelope: no part is shorter, so that time advances;
ZERO = (0.0, 0.0, 0.0)
SHORTEST_BOOSTED_SHARE = 1.0 / 64.0  # with boosted micro-collisions


@kernel(inline=False)
def compute_point_motion(forest: Any, slices: Any, body: int, x: Vec3) -> tuple[Vec3, float, Vec3]:
    """Velocity of a body's point at x, its centripetal acceleration |w|² |r| (m/s²), and the angular velocity."""
    if body < 0:
        return ZERO, 0.0, ZERO
    slot = bodies_of(forest)[body]
    if slices[slot["tree"]]["asleep"] != 0:
        return ZERO, 0.0, ZERO
    tree = tree_of(trees_of(forest)[slot["tree"]])
    data = link_data_of(tree)[slot["link"] + 1]
    w, r = load3(data["w"]), sub(x, load3(data["p"]))
    return add(load3(data["v"]), cross(w, r)), dot(w, w) * sqrt(dot(r, r)), w


@kernel(inline=False)
def compute_rim_acceleration(collisions: Any, shape: int, n: Vec3, w: Vec3, ahead: float) -> float:
    """Acceleration (m/s²) of the lowest point of a rim inclined by θ, turning by w; 0 if it can only sink by `ahead`.

    The lowest point changes as the rim turns. It is r sin θ below the middle; with w₂ the part of w along the line from
    the middle to it, which leaves it at its height, the second derivative of that is r w₂² cos² θ / sin θ.
    """
    row = shapes_of(collisions)[shape]
    if not is_round_shape(row):
        return 0.0
    core = core_row_of(row)
    R = load9(shape_poses_of(collisions)[shape]["R"])
    axis, r = (R[2], R[5], R[8]), max(core["low"], core["high"])
    z = dot(axis, n)
    sine = sqrt(max(1.0 - z * z, 0.0))
    if 2.0 * r * sine <= ahead:
        return 0.0
    w2 = dot(w, axpy(n, -z, axis)) / sine
    return r * w2 * w2 * z * z / sine


@kernel
def bound_time_to_distance(distance: float, u: float, a: float) -> float:
    """Time at which u t + ½ a t² reaches a distance: a lower bound if a is an upper bound of the acceleration."""
    root = sqrt(u * u + 2.0 * a * distance)
    if u + root > 0.0 and u > 0.0:
        return 2.0 * distance / (u + root)
    return (root - u) / a if a > 0.0 else np.inf


@kernel(inline=False)
def bound_time_to_impact(world: Any, solver: Any, forest: Any, collisions: Any) -> tuple[int, float]:
    """Number of contacts that collide now, and a lower bound of the time to the next; `flies`: left to collisions."""
    slices = slices_of(solver)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    contacts = contacts_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    settings = world["impacts"]
    boost, epsilon, slow = settings["boost"] > 0.0, settings["epsilon"], settings["slow"]
    g = sqrt(forest["gx"] ** 2 + forest["gy"] ** 2 + forest["gz"] ** 2)
    ahead, count, soonest = RIM_SINK_SHARE * epsilon, 0, np.inf
    for k in range(collisions["n_contacts"]):
        contact = contacts[now + k]
        pair = pairs[contact["pair"]]
        x = scale(add(load3(contact["x1"]), load3(contact["x2"])), 0.5)
        va, turn_a, wa = compute_point_motion(forest, slices, shapes[pair["a"]]["link"], x)
        vb, turn_b, wb = compute_point_motion(forest, slices, shapes[pair["b"]]["link"], x)
        n, turn = load3(contact["normal"]), sub(wb, wa)
        whirl = compute_rim_acceleration(collisions, pair["a"], n, turn, ahead) + compute_rim_acceleration(
            collisions, pair["b"], n, turn, ahead
        )
        u, d, a = dot(n, sub(va, vb)), contact["distance"], g + turn_a + turn_b + whirl
        fast = d <= epsilon and u > (0.0 if boost else slow)
        collides = fast and (boost or d <= pair["distance"] + world["within"])
        if collides:
            count += 1
        # the time through the envelope
        crossing_time = 2.0 * epsilon / (abs(u) + sqrt(2.0 * a * epsilon) + SMALLEST_APPROACH_SPEED)
        if boost:  # no contact carries it: it approaches until it collides
            after = bound_time_to_distance(SAFE_APPROACH_SHARE * max(d, 0.0), u, a)
            soonest = min(soonest, max(after, SHORTEST_BOOSTED_SHARE * crossing_time))
        if whirl > 0.0 and d <= epsilon:  # a contact carries only the point that is the lowest now
            soonest = min(soonest, max(sqrt(2.0 * ahead / whirl), SHORTEST_PART_SHARE * crossing_time))
        distance_left = max(d - COLLISION_GAP_SHARE * epsilon, 0.0)
        bounces = not collides and (fast or d > epsilon or u < -slow) and u * u + 2.0 * a * distance_left > slow * slow
        contact["flies"] = 1 if boost or bounces else 0
        if bounces and not boost:
            soonest = min(
                soonest, max(bound_time_to_distance(distance_left, u, a), SHORTEST_PART_SHARE * crossing_time)
            )
    return count, soonest
