"""Distance, normal and closest points of pairs with a round solid, refined from those of the prisms inside them.

The true normal is searched near a known one, that of the previous step, or that of the prisms, from V-Clip or EPA: the
sides of a prism are within 0.5 % of the radius. The prisms are inside the solids, so solids with the same separation
along the normal of the prisms need no refinement.

For solids that are apart, a normal along which two support points coincide is the global optimum. For solids that
overlap it is one of several local optima, and a proof that it is the shortest is needed: the difference B - A contains
the origin, and its surface must nowhere be nearer than the known depth. A polytope of support points proves it if all
of its facets are as far away, because it is inside. Its corners are the known foot, support points along normals a
little aside, and one on the far side. If that is not enough, it grows where a facet is too near: the support point of
that facet is a new corner, or shows a shorter way out.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow.depth import grow_polytope, nearest_facet, unit_vector, write_facet
from kinemorph.collision.narrow.features import NOT_FOUND, most_aligned_face
from kinemorph.collision.round import points
from kinemorph.collision.round.normals import (
    Separation,
    best_candidate,
    normal_on_circle,
    normal_on_circles,
    normal_on_sphere,
    separation_along,
)
from kinemorph.collision.round.points import Closest, split_residual, support_feature, support_points
from kinemorph.collision.round.solids import AXIS, ROUND_SIDE_SINE, flat_normal, piece_disc, piece_point
from kinemorph.geometry.polyhedron import faces_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, scale, sub

ProvedClosest = tuple[bool, Vec3, Vec3, Separation]  # whether it is proved, points of a and b, and the best normal
LIKELY_CANDIDATES = 4  # candidates that are tried first
MOST_NORMAL_ROUNDS = 12  # rounds over all candidates; most often none is needed
MOST_RESTARTS = 8  # restarts, each from a shorter way out
SHORTER_WAY_SHARE = 1e-3  # of the radii: ways out that are shorter by less are ignored,
SMALLEST_SHARE = 1e-3  # and those that are shorter by this share,
EXACT_TOLERANCES = 1e5  # or by so many tolerances
MOST_POLYTOPE_CORNERS = 128  # corners of a polytope: without a proof by then the best known way is used
LARGEST_FOOT_ANGLE = 0.4  # rad, at most, between the normals of the foot and the corners around it
FLAT_TANGENT_SCALE = 1e3  # length of a tangent on a flat line, in those of a curved one
UNPROVED, PROVED, SHORTER_FOUND = 0, 1, 2


@kernel(inline=False)
def refine_closest(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, x: Vec3, n: Vec3, distance: float, tol: float, work: Any
) -> Closest:
    """Closest points of two solids whose cores have `distance` along n, with core_a touching at x."""
    if distance - separation_along(core_a, core_b, R, p, n, 0, 0)[0] <= points.FARTHEST_TOLERANCES * tol:
        return x, axpy(x, -distance, n), n, distance
    _, x, y, best = track_closest(core_a, core_b, R, p, x, n, tol, work)
    return split_residual(x, y, best)


@kernel(inline=False)
def track_closest(core_a: Any, core_b: Any, R: Mat3, p: Vec3, x: Vec3, n: Vec3, tol: float, work: Any) -> ProvedClosest:
    """Closest points of core_a and core_b, of which a point x of core_a is R x + p in core_b, and the best normal near
    n.

    x is a guess of the point of core_a.
    """
    best = start = separation_along(core_a, core_b, R, p, n, 0, 0)
    most = SHORTER_WAY_SHARE * (core_a["low"] + core_b["low"])
    y = x
    for _ in range(MOST_RESTARTS):
        found, x, y, best = _improve_normal(core_a, core_b, R, p, x, start, points.FARTHEST_TOLERANCES * tol)
        if not found or best[0] >= 0.0:
            return found, x, y, best
        slack = max(min(most, -SMALLEST_SHARE * best[0]), EXACT_TOLERANCES * tol)
        proof, n = _prove_shortest(core_a, core_b, R, p, best, slack, points.FARTHEST_TOLERANCES * tol, work)
        if proof != SHORTER_FOUND:
            return proof == PROVED, x, y, best
        start = separation_along(core_a, core_b, R, p, n, best[2], best[3])
    return False, x, y, best


@kernel(inline=False)
def _improve_normal(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, x: Vec3, best: Separation, near: float
) -> ProvedClosest:
    """Improve a normal until two support points coincide along it. Returns whether they do.

    Likely candidates come first; if none is the optimum, all candidates of the pieces are tried.
    """
    flat = separation_along(core_a, core_b, R, p, _nearest_flat_normal(core_b, best[3], best[1]), best[2], best[3])
    best = flat if flat[0] > best[0] else best
    m = neg(mul_vec(R, _nearest_flat_normal(core_a, best[2], neg(tmul_vec(R, best[1])))))
    flat = separation_along(core_a, core_b, R, p, m, best[2], best[3])
    best = flat if flat[0] > best[0] else best
    x, y, beside, start = support_points(core_a, core_b, R, p, x, best, near)
    for which in range(LIKELY_CANDIDATES + MOST_NORMAL_ROUNDS):
        if beside <= near:
            return True, x, y, best
        before = best[0]
        if which < LIKELY_CANDIDATES:
            likely, n = _likely_normal(core_a, core_b, R, p, start, which)
            way = separation_along(core_a, core_b, R, p, n, best[2], best[3]) if likely else best
            best = way if way[0] > before else best
        else:
            best = best_candidate(core_a, core_b, R, p, start, best)
        if best[0] > before:
            x, y, beside, start = support_points(core_a, core_b, R, p, x, best, near)
        elif which >= LIKELY_CANDIDATES:
            break
    return beside <= near, x, y, best


@kernel(inline=False)
def _nearest_flat_normal(core: Any, piece: int, n: Vec3) -> Vec3:
    """The normal of the disc of a piece, or of the face most aligned with n."""
    if core["sides"] > 0:
        return flat_normal(core, piece, 0)
    f, _ = most_aligned_face(core, piece, n)
    return load3(faces_of(core)[f]["normal"]) if f != NOT_FOUND else n


@kernel(inline=False)
def _likely_normal(core_a: Any, core_b: Any, R: Mat3, p: Vec3, way: Separation, which: int) -> tuple[bool, Vec3]:
    """A candidate normal for the facing pieces: across both sides, across one of them, or between their rims; and
    whether it is likely to be near.
    """
    _, n, a, b = way
    axis = (R[2], R[5], R[8])
    side_a = core_a["sides"] > 0 and abs(-dot(axis, n) - core_a["slope"]) < ROUND_SIDE_SINE
    side_b = core_b["sides"] > 0 and abs(n[2] - core_b["slope"]) < ROUND_SIDE_SINE
    if which == 0:
        if side_a and side_b:
            return (True, normal_on_circles(axis, -core_a["slope"], AXIS, core_b["slope"], n))
        return (False, n)
    if (which == 1 and not side_b) or (which == 2 and not side_a):
        return False, n
    (ca, ra), (cb, rb) = piece_disc(core_a, a), piece_disc(core_b, b)
    w = sub(add(mul_vec(R, ca), p), cb)
    if which == 1:
        return True, normal_on_circle(AXIS, core_b["slope"], w, (ra, axis), (rb, AXIS), n)
    if which == 2:
        return True, normal_on_circle(axis, -core_a["slope"], w, (ra, axis), (rb, AXIS), n)
    return True, normal_on_sphere(w, (ra, axis), (rb, AXIS), n)


@kernel(inline=False)
def _prove_shortest(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, way: Separation, slack: float, near: float, work: Any
) -> tuple[int, Vec3]:
    """Whether no way out is shorter than this one by more than `slack` (m); if one is, its normal."""
    depth, n, a, b = -way[0], way[1], way[2], way[3]
    corners, facets = work["corners"], work["facets"]
    d, e = _curvature_directions(core_a, core_b, R, way, near)
    lean = min(LARGEST_FOOT_ANGLE, math.sqrt(2.0 * slack / depth)) if depth > 0.0 else LARGEST_FOOT_ANGLE
    store3(corners[0]["w"], scale(n, depth))
    for k in range(4):
        aside = d if k & 1 == 0 else e
        _, w = _difference_support(core_a, core_b, R, p, unit_vector(axpy(n, lean if k < 2 else -lean, aside)), a, b)
        store3(corners[k + 1]["w"], w)
    _, w = _difference_support(core_a, core_b, R, p, neg(n), a, b)
    store3(corners[5]["w"], w)
    for k in range(4):
        one, other = k + 1, (k + 1) % 4 + 1
        write_facet(corners, facets[k], 0, one, other)
        write_facet(corners, facets[k + 4], 5, other, one)
    count = 8
    for size in range(6, MOST_POLYTOPE_CORNERS):
        f = nearest_facet(facets, count)
        if facets[f]["d"] == math.inf:  # two corners coincide: a way beside is shorter
            return SHORTER_FOUND, unit_vector(axpy(n, lean, d))
        if facets[f]["d"] >= depth - slack:
            return PROVED, n
        m = load3(facets[f]["n"])
        reach, w = _difference_support(core_a, core_b, R, p, m, a, b)
        if reach < depth - slack:
            return SHORTER_FOUND, m
        store3(corners[size]["w"], w)
        count = grow_polytope(corners, facets, work["rim"], size, count, near)
        if count < 0:
            return UNPROVED, n
    return UNPROVED, n


@kernel(inline=False)
def _difference_support(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, piece_a: int, piece_b: int
) -> tuple[float, Vec3]:
    """Support point of the difference along n, and its distance along n."""
    way = separation_along(core_a, core_b, R, p, n, piece_a, piece_b)
    y = piece_point(core_b, way[3], n)
    x = piece_point(core_a, way[2], neg(tmul_vec(R, n)))
    return -way[0], sub(y, add(mul_vec(R, x), p))


@kernel(inline=False)
def _curvature_directions(core_a: Any, core_b: Any, R: Mat3, way: Separation, near: float) -> tuple[Vec3, Vec3]:
    """Two perpendicular directions across a normal, in which the surface of the difference is curved most and least.

    The corners around the foot are then on two crossing lines, which are well spread.
    """
    _, n, a, b = way
    m = neg(tmul_vec(R, n))
    u = unit_vector(cross(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.6 else (0.0, 1.0, 0.0)))
    v = cross(n, u)
    one, along_one = _curvature_tangents(core_a, a, m, near)
    other, along_other = _curvature_tangents(core_b, b, n, near)
    x, y = 0.0, 0.0  # of 2 t tᵀ for all tangents t: what of it is not the same all around
    for t in (mul_vec(R, one), mul_vec(R, along_one), other, along_other):
        c, s = dot(t, u), dot(t, v)
        size = math.sqrt(c * c + s * s)
        if size > 0.0:
            x += (c * c - s * s) / size
            y += 2.0 * c * s / size
    size = math.sqrt(x * x + y * y)
    if size == 0.0:
        return u, v
    c = math.sqrt(0.5 * (1.0 + x / size))  # of half the angle
    s = math.copysign(math.sqrt(max(0.5 * (1.0 - x / size), 0.0)), y)
    return add(scale(u, c), scale(v, s)), sub(scale(v, c), scale(u, s))


@kernel(inline=False)
def _curvature_tangents(core: Any, piece: int, n: Vec3, near: float) -> tuple[Vec3, Vec3]:
    """Tangents of a solid at its support point along n, scaled by the radius of curvature: of its rim, of its side."""
    front = support_feature(core, piece, n, near)
    nothing = (0.0, 0.0, 0.0)
    if front[0] == points.FLAT:
        return nothing, nothing
    line = sub(front[2], front[1]) if front[0] == points.LINE else nothing
    radius = piece_disc(core, piece)[1]
    out = (n[0], n[1], 0.0)
    size = math.sqrt(dot(out, out))
    if core["sides"] == 0 or size == 0.0:
        return nothing, scale(line, FLAT_TANGENT_SCALE)
    return scale((-out[1], out[0], 0.0), radius / (size * size)), scale(line, FLAT_TANGENT_SCALE)
