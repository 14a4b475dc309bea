"""How long a part of a step of the impulse model may be: until something collides, at the earliest (Fontijne 3.8.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.contact_table import half_of, is_round
from kinemorph.collision.shapes.shape_rows import (
    contacts_of,
    pairs_of,
    shape_poses_of,
    shapes_of,
)
from kinemorph.contact.layout import slices_of
from kinemorph.geometry.polyhedron import CORE
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.layout import link_data_of
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of

INSIDE = 0.75  # share of the envelope: where a collision is to be found
SAFE = 0.9  # share of a distance that boosted micro-collisions leave for the way to the next one
FOLLOWED = 1.0 / 16.0  # share of the envelope by which the lowest point of a rim may sink in a part: contacts undo that
SMALLEST_APPROACH_SPEED = 1e-6  # m/s, in which something always falls
SHORTEST_PART_SHARE = 0.1  # shares of the time to go through the envelope: parts are no shorter, so that time goes on;
ZERO = (0.0, 0.0, 0.0)
SHORTEST_BOOSTED_SHARE = 1.0 / 64.0  # with boosted micro-collisions


@kernel(inline=False)
def moving(forest: Any, spans: Any, body: int, x: Vec3) -> tuple[Vec3, float, Vec3]:
    """Velocity of a body's point at x, the largest acceleration that its turning gives it, and how it turns."""
    if body < 0:
        return ZERO, 0.0, ZERO
    slot = bodies_of(forest)[body]
    if spans[slot["tree"]]["asleep"] != 0:
        return ZERO, 0.0, ZERO
    tree = tree_of(trees_of(forest)[slot["tree"]])
    data = link_data_of(tree)[slot["link"] + 1]
    w, r = load3(data["w"]), sub(x, load3(data["p"]))
    return add(load3(data["v"]), cross(w, r)), dot(w, w) * sqrt(dot(r, r)), w


@kernel(inline=False)
def whirling(collisions: Any, shape: int, n: Vec3, w: Vec3, ahead: float) -> float:
    """The acceleration of the lowest point of a rim that leans by θ and turns by w, 0 if it has no way to go.

    That is another point at any time. The rim reaches r sin θ below its middle, and with w₂ along the line from that to
    its lowest point, which raises neither, the second derivative of this is r w₂² cos² θ / sin θ.
    """
    row = shapes_of(collisions)[shape]
    if not is_round(row):
        return 0.0
    core = rows_at(row["core"], 1, CORE)[0]
    R = load9(shape_poses_of(collisions)[shape]["R"])
    axis, r = (R[2], R[5], R[8]), max(core["low"], core["high"])
    z = dot(axis, n)
    sine = sqrt(max(1.0 - z * z, 0.0))
    if 2.0 * r * sine <= ahead:
        return 0.0
    w2 = dot(w, axpy(n, -z, axis)) / sine
    return r * w2 * w2 * z * z / sine


@kernel
def time_until(distance: float, u: float, a: float) -> float:
    """When u t + ½ a t² comes to a distance; with an a that nothing exceeds, no sooner than that."""
    root = sqrt(u * u + 2.0 * a * distance)
    if u + root > 0.0 and u > 0.0:
        return 2.0 * distance / (u + root)
    return (root - u) / a if a > 0.0 else np.inf


@kernel(inline=False)
def look_ahead(world: Any, solver: Any, forest: Any, collisions: Any) -> tuple[int, float]:
    """How many contacts collide now, and how long nothing else does so. Contacts that will collide are marked."""
    spans = slices_of(solver)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    contacts = contacts_of(collisions)
    now = half_of(collisions["step"], collisions["contact_room"])
    r = world["impacts"]
    boost, epsilon, slow = r["boost"] > 0.0, r["epsilon"], r["slow"]
    g = sqrt(forest["gx"] ** 2 + forest["gy"] ** 2 + forest["gz"] ** 2)
    ahead, count, first = FOLLOWED * epsilon, 0, np.inf
    for k in range(collisions["n_contacts"]):
        one = contacts[now + k]
        pair = pairs[one["pair"]]
        x = scale(add(load3(one["x1"]), load3(one["x2"])), 0.5)
        va, bend_a, wa = moving(forest, spans, shapes[pair["a"]]["link"], x)
        vb, bend_b, wb = moving(forest, spans, shapes[pair["b"]]["link"], x)
        n, turn = load3(one["normal"]), sub(wb, wa)
        whirl = whirling(collisions, pair["a"], n, turn, ahead) + whirling(collisions, pair["b"], n, turn, ahead)
        u, d, a = dot(n, sub(va, vb)), one["distance"], g + bend_a + bend_b + whirl
        fast = d <= epsilon and u > (0.0 if boost else slow)
        collides = fast and (boost or d <= pair["distance"] + world["within"])
        if collides:
            count += 1
        least = (
            2.0 * epsilon / (abs(u) + sqrt(2.0 * a * epsilon) + SMALLEST_APPROACH_SPEED)
        )  # no more than a way through the envelope
        if boost:  # nobody carries it: it comes nearer until it collides
            first = min(first, max(time_until(SAFE * max(d, 0.0), u, a), SHORTEST_BOOSTED_SHARE * least))
        if whirl > 0.0 and d <= epsilon:  # whoever carries it carries the point that is the lowest now
            first = min(first, max(sqrt(2.0 * ahead / whirl), SHORTEST_PART_SHARE * least))
        left = max(d - INSIDE * epsilon, 0.0)
        bounces = not collides and (fast or d > epsilon or u < -slow) and u * u + 2.0 * a * left > slow * slow
        one["flies"] = 1 if boost or bounces else 0
        if bounces and not boost:
            first = min(first, max(time_until(left, u, a), SHORTEST_PART_SHARE * least))
    return count, first
