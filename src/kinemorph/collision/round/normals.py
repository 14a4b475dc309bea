"""Separating normals of two solids, at least one of which is round: exact local maxima of the separation, from a nearby
normal.

The separation of two solids along a unit vector n follows from their pieces (see `round.solids`),

    f(n) = min over pieces of A (n · c - r |n⊥|)  -  max over pieces of B (n · c + r |n⊥|),

with n⊥ the part of n perpendicular to the axis of a disc. The maximum of f is the distance or, if the solids overlap,
minus the depth. It is at the normal of a flat, on two circles, at the best normal of a circle, or at the best on the
whole sphere, for the pieces that are farthest there. All of these are tried with the pieces that face each other now,
and each is judged by the true f: the result is always a valid separation, and no nearby normal is better.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.round.solids import count_flats, flat_normal, normal_circle, piece_disc, support_piece
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, scale, sub

Separation = tuple[float, Vec3, int, int]  # separation (m), its normal from b to a, and the pieces of a and b there
Disc = tuple[float, Vec3]  # radius and axis
MOST_NORMAL_ITERATIONS = 15  # Newton steps
LONGEST_NEWTON_STEP = 0.2  # rad, longest Newton step
CONVERGED_STEP = 1e-8  # rad: after a step of this size the error is its square
PARALLEL_SINE_SQUARED = 1e-24  # square of a sine


@kernel(inline=False)
def separation_along(core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, piece_a: int, piece_b: int) -> Separation:
    """Separation (m) of core_a, of which a point x is R x + p in core_b, and core_b along n; the pieces are guesses."""
    reach_a, piece_a = support_piece(core_a, piece_a, neg(tmul_vec(R, n)))
    reach_b, piece_b = support_piece(core_b, piece_b, n)
    return dot(n, p) - reach_a - reach_b, n, piece_a, piece_b


@kernel(inline=False)
def best_candidate(core_a: Any, core_b: Any, R: Mat3, p: Vec3, start: Separation, best: Separation) -> Separation:
    """The better of a known normal and all candidates that the pieces of `start` give."""
    _, n, a, b = start
    (ca, ra), (cb, rb) = piece_disc(core_a, a), piece_disc(core_b, b)
    w = sub(add(mul_vec(R, ca), p), cb)
    one, other = (ra, (R[2], R[5], R[8])), (rb, (0.0, 0.0, 1.0))
    best = _better_normal(core_a, core_b, R, p, normal_on_sphere(w, one, other, n), best)
    ways_a, ways_b = count_flats(core_a, a), count_flats(core_b, b)
    for j in range(ways_b):
        d, s = normal_circle(core_b, b, j)
        best = _better_normal(core_a, core_b, R, p, flat_normal(core_b, b, j), best)
        best = _better_normal(core_a, core_b, R, p, normal_on_circle(d, s, w, one, other, n), best)
    for i in range(ways_a):
        d, s = normal_circle(core_a, a, i)
        d, s = mul_vec(R, d), -s
        best = _better_normal(core_a, core_b, R, p, neg(mul_vec(R, flat_normal(core_a, a, i))), best)
        best = _better_normal(core_a, core_b, R, p, normal_on_circle(d, s, w, one, other, n), best)
        for j in range(ways_b):
            e, t = normal_circle(core_b, b, j)
            best = _better_normal(core_a, core_b, R, p, normal_on_circles(d, s, e, t, n), best)
    return best


@kernel(inline=False)
def _better_normal(core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, best: Separation) -> Separation:
    found = separation_along(core_a, core_b, R, p, n, best[2], best[3])
    return found if found[0] > best[0] else best


@kernel
def _normalise(w: Vec3, near: Vec3) -> Vec3:
    """w / |w|; `near` if w is zero."""
    size = math.sqrt(dot(w, w))
    return scale(w, 1.0 / size) if size > 0.0 else near


@kernel(inline=False)
def normal_on_circles(axis: Vec3, s: float, other_axis: Vec3, t: float, near: Vec3) -> Vec3:
    """The normal on two circles (axes and heights s, t), the one nearer to `near`; `near` if they do not meet."""
    c, q = dot(axis, other_axis), cross(axis, other_axis)
    qq = dot(q, q)
    if qq <= PARALLEL_SINE_SQUARED:
        return near
    x, y = (s - c * t) / qq, (t - c * s) / qq
    rest = 1.0 - x * s - y * t
    if not rest >= 0.0:
        return near
    z = math.copysign(math.sqrt(rest / qq), dot(q, near))
    return _normalise(axpy(axpy(scale(axis, x), y, other_axis), z, q), near)


@kernel
def _support_derivatives(disc: Disc, n: Vec3, n1: Vec3, n2: Vec3) -> tuple[float, float]:
    """First and second derivative of r |n⊥| along a curve of unit vectors, with derivatives n1 and n2 of n."""
    r, a = disc
    z, z1, z2 = dot(n, a), dot(n1, a), dot(n2, a)
    q = math.sqrt(max(1.0 - z * z, 1e-30))
    return -r * z * z1 / q, -r * ((z1 * z1 + z * z2) + (z * z1 / q) ** 2) / q


@kernel
def _is_symmetric_about(disc: Disc, axis: Vec3) -> bool:
    """Whether a disc has the same support for all normals of a circle about an axis."""
    q = cross(disc[1], axis)
    return disc[0] == 0.0 or dot(q, q) <= PARALLEL_SINE_SQUARED


@kernel(inline=False)
def normal_on_circle(axis: Vec3, s: float, w: Vec3, one: Disc, other: Disc, near: Vec3) -> Vec3:
    """The best normal on a circle (axis and height s) for two pieces, by Newton's method; w (m) is from one to the
    other.
    """
    if s * s >= 1.0:
        return near
    c = math.sqrt(1.0 - s * s)
    if _is_symmetric_about(one, axis) and _is_symmetric_about(other, axis):
        e = _normalise(axpy(w, -dot(w, axis), axis), near)
        return _normalise(axpy(scale(e, c), s, axis), near)
    e = _normalise(axpy(near, -dot(near, axis), axis), w)
    for _ in range(MOST_NORMAL_ITERATIONS):
        g = cross(axis, e)
        n, n1, n2 = axpy(scale(e, c), s, axis), scale(g, c), scale(e, -c)
        a1, a2 = _support_derivatives(one, n, n1, n2)
        b1, b2 = _support_derivatives(other, n, n1, n2)
        f1, f2 = dot(n1, w) - a1 - b1, dot(n2, w) - a2 - b2
        step = -f1 / f2 if f2 < 0.0 else math.copysign(LONGEST_NEWTON_STEP, f1)
        step = min(max(step, -LONGEST_NEWTON_STEP), LONGEST_NEWTON_STEP)
        e = add(scale(e, math.cos(step)), scale(g, math.sin(step)))
        if not abs(step) > CONVERGED_STEP:
            break
    return _normalise(axpy(scale(e, c), s, axis), near)


@kernel
def _rim_point(disc: Disc, n: Vec3) -> tuple[Vec3, Vec3, float]:
    """Support point of a disc along n from its centre, its tangent there, and the curvature of r |n⊥|."""
    r, a = disc
    out = axpy(n, -dot(n, a), a)
    q = math.sqrt(dot(out, out))
    if r == 0.0 or q < 1e-15:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    return scale(out, r / q), scale(cross(a, out), 1.0 / q), r / q


@kernel
def _sine_to_axis(disc: Disc, n: Vec3) -> float:
    """Sine of the angle between n and the axis of a disc; 1 for a point."""
    q = cross(disc[1], n)
    return math.sqrt(dot(q, q)) if disc[0] > 0.0 else 1.0


@kernel(inline=False)
def normal_on_sphere(w: Vec3, one: Disc, other: Disc, near: Vec3) -> Vec3:
    """The best of all normals for two pieces, by Newton's method; w (m) is from one to the other."""
    if one[0] == 0.0 or other[0] == 0.0:  # from a point to a rim: closed form
        r, a = one if other[0] == 0.0 else other
        out = _normalise(axpy(w, -dot(w, a), a), near)
        return _normalise(axpy(w, -r, out), near)
    n = near
    for _ in range(MOST_NORMAL_ITERATIONS):
        xa, ta, ka = _rim_point(one, n)
        xb, tb, kb = _rim_point(other, n)
        apart = sub(sub(w, xa), xb)
        f = dot(n, apart)
        e = _normalise(cross(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.6 else (0.0, 1.0, 0.0)), near)
        g = cross(n, e)
        u, v = dot(apart, e), dot(apart, g)  # gradient of f, and its curvature
        ae, ag, be, bg = dot(ta, e), dot(ta, g), dot(tb, e), dot(tb, g)
        uu, vv, uv = f + ka * ae * ae + kb * be * be, f + ka * ag * ag + kb * bg * bg, ka * ae * ag + kb * be * bg
        det = uu * vv - uv * uv
        if uu > 0.0 and det > 0.0:
            x, y = (vv * u - uv * v) / det, (uu * v - uv * u) / det
        else:  # not concave: gradient step
            x, y = u, v
        size = math.sqrt(x * x + y * y)
        # Not across the axis of a disc.
        stride = min(LONGEST_NEWTON_STEP, 0.5 * min(_sine_to_axis(one, n), _sine_to_axis(other, n)))
        share = (
            1.0 if size <= min(stride, CONVERGED_STEP) or (size < stride and det > 0.0 and uu > 0.0) else stride / size
        )
        n = _normalise(axpy(axpy(n, share * x, e), share * y, g), near)
        if not size > CONVERGED_STEP:
            break
    return n
