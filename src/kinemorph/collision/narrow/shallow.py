"""Depth of two cores that overlap a little, with a corner of one behind a face of the other: a proof instead of a
search.

The difference B - A then has a facet made of the whole face of core_b, as seen from the deepest corner of core_a. The
origin is below it by the depth, if no other part of the surface is nearer. That is certain if the ball around the
origin that touches the facet is inside a cone which the convex difference contains: from a disc on the facet, around
the origin's projection, to the difference of the two centres.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow.features import NOT_FOUND, core_vertex, most_aligned_face, support_vertex
from kinemorph.geometry.polyhedron import edges_of, face_edges_of, faces_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, sub

Shallow = tuple[bool, Vec3, Vec3, Vec3, float]  # whether proved, points of a and b, unit normal from b to a, depth


@kernel(inline=False)
def find_shallow_depth(core_a: Any, core_b: Any, R: Mat3, p: Vec3, guess: Vec3) -> Shallow:
    """Depth of core_a and core_b, where a point x of core_a is R x + p in core_b, if faces near `guess` prove it."""
    found, x, n, depth = depth_behind_face(core_a, core_b, R, p, guess)
    if found:
        return True, x, axpy(x, depth, n), n, depth
    S, q = transpose(R), neg(tmul_vec(R, p))
    found, y, m, depth = depth_behind_face(core_b, core_a, S, q, neg(mul_vec(S, guess)))
    y, n = add(mul_vec(R, y), p), neg(mul_vec(R, m))
    return found, axpy(y, -depth, n), y, n, depth


@kernel(inline=False)
def depth_behind_face(core_a: Any, core_b: Any, R: Mat3, p: Vec3, guess: Vec3) -> tuple[bool, Vec3, Vec3, float]:
    """The deepest corner of core_a behind the face of core_b most aligned with `guess`: whether this is the depth of
    both, its position, the face's normal, and its depth behind the face (m).
    """
    f, _ = most_aligned_face(core_b, 0, guess)
    if f == NOT_FOUND:
        return False, guess, guess, 0.0
    face = faces_of(core_b)[f]
    n = load3(face["normal"])
    x = add(mul_vec(R, core_vertex(core_a, support_vertex(core_a, 0, neg(tmul_vec(R, n))))), p)
    depth = face["offset"] - dot(n, x)
    if not depth > 0.0:
        return False, x, n, depth
    w = sub(load3(core_b["centre"]), add(mul_vec(R, load3(core_a["centre"])), p))
    below = depth - dot(n, w)  # of the cone's tip
    aside = axpy(w, -dot(n, w), n)
    if not below > 2.0 * depth:
        return False, x, n, depth
    share = 2.0 * depth / below
    room = distance_inside_face(core_b, face, x)
    return room * (1.0 - share) - share * math.sqrt(dot(aside, aside)) >= depth, x, n, depth


@kernel
def distance_inside_face(core: Any, face: Any, x: Vec3) -> float:
    """Distance (m) of a point from the nearest side of a face, projected along its normal; negative outside."""
    edges = edges_of(core)
    face_edges = face_edges_of(core)
    least = math.inf
    for k in range(face["first"], face["first"] + face["count"]):
        side = face_edges[k]
        edge = edges[side >> 1]
        inward = load3(edge["right_normal"]) if side & 1 else load3(edge["left_normal"])
        least = min(least, dot(inward, sub(x, core_vertex(core, edge["tail"]))))
    return least
