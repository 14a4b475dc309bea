"""Continuous collision detection for fast pairs: contacts at the time of impact, by conservative advancement.

A pair is fast if it moves by more than a share of its size in a step. A contact of shapes that are apart limits the
approach to its gap, which is right only if its normal is that of the later impact; for fast pairs the nearest features
at the start of the step give another one. So one shape is moved along a straight line relative to the other until they
touch: along a separating normal they may close the gap at once. The contacts are those of that moment; their distances
and points are of the start of the step, along the normal of the impact.

A pair that misses reports by how much, and has the contacts of the start. The solver leaves them out unless another
impulse deflects one of the two.

Rotation is left out: shapes keep their orientation of the start of the step, and corners that hit next get speculative
contacts (`speculative_corners`). A link that is carried by another link swings about its joint instead of moving
straight; its pairs have the contacts of the start.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow.core_pair import evaluate_core_pair
from kinemorph.collision.shapes.shape_rows import MEETS, SLOW, STATIC_CARRIER, mounts_of, shape_poses_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, scale, sub

FAST_WAY_SHARE = 0.25  # of the smaller shape's size (reach): a pair that moves by more in a step is fast
MOST_ADVANCES = 40  # iterations of conservative advancement
TOUCHING_WAY_SHARE = 1e-6  # of the way in a step: shapes within this distance touch


@kernel
def relative_displacement(collisions: Any, pair: Any, first: Any, second: Any) -> Vec3:
    """Displacement (m) in a step of a fast pair's second shape, in the frame of the first; zero if not fast."""
    if first["carrier"] != STATIC_CARRIER or second["carrier"] != STATIC_CARRIER:
        return 0.0, 0.0, 0.0
    places, mounts = shape_poses_of(collisions), mounts_of(collisions)
    one, other = places[pair["a"]], places[pair["b"]]
    least = FAST_WAY_SHARE * min(mounts[pair["a"]]["reach"], mounts[pair["b"]]["reach"])
    if one["sweep"] + other["sweep"] > least:
        r = sub(load3(other["travel"]), load3(one["travel"]))
        if dot(r, r) > least * least:
            return tmul_vec(load9(one["R"]), r)
    return 0.0, 0.0, 0.0


@kernel(inline=False)
def advance_to_impact(row: Any, way: Vec3, work: Any) -> tuple[float, float]:
    """Move core 2 of an evaluated pair along `way` (m) until it touches core 1.

    Returns the share of the way at the impact, and MEETS; or 0 and the clearance (m) by which the two pass each other,
    with the pair restored. The distance of convex shapes along a line is a convex function: once it grows, its minimum
    is behind. If the iterations run out, the pair is restored and reported as MEETS, with the contacts of the start.
    """
    p = load3(row["p"])
    near = TOUCHING_WAY_SHARE * math.sqrt(dot(way, way))
    low, high, t, passes = 0.0, 1.0, 0.0, MEETS
    for _ in range(MOST_ADVANCES):
        distance, closing = row["distance"], -dot(load3(row["normal"]), way)
        if distance <= near:
            return t, MEETS
        passes = min(distance + t * closing, distance - (1.0 - t) * closing)
        if passes > 0.0:  # the normal separates the shapes all the way
            break
        passes = MEETS
        if closing > 0.0:
            low = t
            t += distance / closing
        else:
            high = t
        if closing <= 0.0 or t >= high:
            t = 0.5 * (low + high)
        store3(row["p"], axpy(p, t, way))
        evaluate_core_pair(row, work)
    if t > 0.0:
        store3(row["p"], p)
        evaluate_core_pair(row, work)
    return 0.0, passes


@kernel
def move_contacts_to_start(points: Any, count: int, share: float, way: Vec3) -> None:
    """Shift contacts found at `share` of the way back to the start of the step, where shape 2 is not there yet."""
    for k in range(count):
        x1, x2, n = load3(points[k]["x1"]), axpy(load3(points[k]["x2"]), -share, way), load3(points[k]["normal"])
        points[k]["distance"] = dot(n, sub(x2, x1))
        store3(points[k]["x2"], x2)


@kernel
def contact_points(contact: Any) -> tuple[Vec3, Vec3]:
    """Where a contact acts on each shape: midway between its points, or at its own point on each if the shapes are
    fast.

    One common point conserves angular momentum to rounding. For shapes that meet at the end of a long way, a common
    point would give friction many times its true lever arm.
    """
    x1, x2 = load3(contact["x1"]), load3(contact["x2"])
    if contact["passes"] != SLOW and contact["distance"] > 0.0:
        return x1, x2
    x = scale(add(x1, x2), 0.5)
    return x, x
