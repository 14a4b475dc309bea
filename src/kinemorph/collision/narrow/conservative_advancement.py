"""Pairs that move by more than a part of their size in a step: where they touch on their way, not where they are.

Contacts of what is still apart let it close its gap, and no more. That is right if the normal is that with which the
two will meet; the nearest features at the start of a step tell it only of what is slow. So a fast pair goes ahead: one
shape moves along a straight line against the other, to the moment when they touch (conservative advancement: along a
normal that separates them they may close the gap at once). The contacts are those of that moment, and their distances
and points those of the start of the step, along the normal of then.

A pair that passes says by how much it does, and has the contacts of the start: whoever solves them leaves them out as
long as nothing else throws the two off their way.

Turning is left out: a shape meets as it is turned at the start of the step, and what of it meets next is guarded
(`guards`). What another link carries swings about its joint, and does not go straight on: it has the contacts of the
start.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow.core_pair import evaluate
from kinemorph.collision.shapes.shape_rows import MEETS, SLOW, STATIC_CARRIER, mounts_of, shape_poses_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, scale, sub

FAST_WAY_SHARE = 0.25  # of the size of the smaller shape: a pair that moves by more in a step is fast
MOST_ADVANCES = 40  # at two shapes on their way, at most
TOUCHING_WAY_SHARE = 1e-6  # of the way in a step: shapes that are no farther apart touch


@kernel
def way_of(collisions: Any, pair: Any, first: Any, second: Any) -> Vec3:
    """How the second shape of a fast pair moves in a step, in the frame of the first; zero if the pair is not fast."""
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
def go_ahead(row: Any, way: Vec3, work: Any) -> tuple[float, float]:
    """Move core 2 of a pair, of which everything is known at the start, to where it touches core 1.

    Returns which share of the way that is, and MEETS; or 0 and by how much the two pass each other, and everything is
    as it was. The distance of convex shapes on a straight way is a convex function: once it grows, they were closest
    before. If the looks do not suffice, they meet as they do at the start.
    """
    p = load3(row["p"])
    near = TOUCHING_WAY_SHARE * math.sqrt(dot(way, way))
    low, high, t, passes = 0.0, 1.0, 0.0, MEETS
    for _ in range(MOST_ADVANCES):
        distance, closing = row["distance"], -dot(load3(row["normal"]), way)
        if distance <= near:
            return t, MEETS
        passes = min(distance + t * closing, distance - (1.0 - t) * closing)
        if passes > 0.0:  # the normal separates all of the way
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
        evaluate(row, work)
    if t > 0.0:
        store3(row["p"], p)
        evaluate(row, work)
    return 0.0, passes


@kernel
def bring_back(points: Any, count: int, share: float, way: Vec3) -> None:
    """From the contacts of a moment on the way to those of the start: shape 2 is not there yet."""
    for k in range(count):
        x1, x2, n = load3(points[k]["x1"]), axpy(load3(points[k]["x2"]), -share, way), load3(points[k]["normal"])
        points[k]["distance"] = dot(n, sub(x2, x1))
        store3(points[k]["x2"], x2)


@kernel
def points_of(contact: Any) -> tuple[Vec3, Vec3]:
    """Where a contact acts on each of its shapes: in the middle between them, or on each of them if they are fast.

    In one point, angular momentum stays to rounding. What meets at the end of a long way has a point on each: friction
    half way to the other shape would have many times its lever.
    """
    x1, x2 = load3(contact["x1"]), load3(contact["x2"])
    if contact["passes"] != SLOW and contact["distance"] > 0.0:
        return x1, x2
    x = scale(add(x1, x2), 0.5)
    return x, x
