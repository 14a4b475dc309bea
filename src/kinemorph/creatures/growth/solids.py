"""The forms of parts: half extents, volume, moments, how far they reach, and where a ray from the middle leaves them.

All of them look the same from both sides of their y axis, so that a mirrored solid is the same solid.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.creatures.genotype.genotype import Form
from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sincos_reducible
from kinemorph.spatial.vec3 import Vec3, axpy, scale

FORMS = tuple(Form)
BOX, SPHERE, CAPSULE, CYLINDER, CONE = range(5)
STOUT = 1.1  # half length of a capsule by its radius, at least


@kernel
def half_extents(form: int, x: float, y: float, z: float) -> Vec3:
    """Of a solid of a size. A round one has the mean of what it must have equal."""
    if form == BOX:
        return (x, y, z)
    if form == SPHERE:
        r = (x * y * z) ** (1.0 / 3.0)
        return (r, r, r)
    r = math.sqrt(x * y)
    if form == CAPSULE:
        return (r, r, max(z, STOUT * r))
    return (r, r, z)


@kernel
def volume_of(form: int, h: Vec3) -> float:
    if form == BOX:
        return 8.0 * h[0] * h[1] * h[2]
    if form == SPHERE:
        return 4.0 / 3.0 * math.pi * h[0] ** 3
    if form == CAPSULE:
        return math.pi * h[0] ** 2 * (2.0 * (h[2] - h[0]) + 4.0 / 3.0 * h[0])
    if form == CONE:
        return math.pi * h[0] ** 2 * 2.0 * h[2] / 3.0
    return math.pi * h[0] ** 2 * 2.0 * h[2]


@kernel
def centre_of(form: int, h: Vec3) -> float:
    """How far the centre of mass is above the middle, along z."""
    return -0.5 * h[2] if form == CONE else 0.0


@kernel
def moments_of(form: int, h: Vec3, mass: float) -> Vec3:
    """Moments of inertia about the centre of mass; `geometry.mass` has the same formulas for shapes."""
    if form == BOX:
        x, y, z = h[0] * h[0], h[1] * h[1], h[2] * h[2]
        return (mass * (y + z) / 3.0, mass * (x + z) / 3.0, mass * (x + y) / 3.0)
    r = h[0]
    if form == SPHERE:
        return (0.4 * mass * r * r, 0.4 * mass * r * r, 0.4 * mass * r * r)
    if form == CYLINDER:
        side = mass * (3.0 * r * r + 4.0 * h[2] * h[2]) / 12.0
        return (side, side, 0.5 * mass * r * r)
    if form == CONE:
        side = 0.15 * mass * (r * r + h[2] * h[2])
        return (side, side, 0.3 * mass * r * r)
    l = 2.0 * (h[2] - r)
    rod, ball = math.pi * r * r * l, 4.0 / 3.0 * math.pi * r**3
    by = mass / (rod + ball)
    side = by * (rod * (3.0 * r * r + l * l) / 12.0 + ball * (0.4 * r * r + 0.375 * r * l + 0.25 * l * l))
    return (side, side, by * (0.5 * rod + 0.4 * ball) * r * r)


@kernel
def reach(form: int, h: Vec3, u: Vec3) -> float:
    """How far a solid reaches from its middle along a unit vector in its axes."""
    if form == BOX:
        return h[0] * abs(u[0]) + h[1] * abs(u[1]) + h[2] * abs(u[2])
    if form == SPHERE:
        return h[0]
    if form == CAPSULE:
        return h[0] + (h[2] - h[0]) * abs(u[2])
    if form == CONE:
        return max(h[2] * u[2], h[0] * math.sqrt(max(0.0, 1.0 - u[2] * u[2])) - h[2] * u[2])
    return h[0] * math.sqrt(max(0.0, 1.0 - u[2] * u[2])) + h[2] * abs(u[2])


@kernel
def surface(form: int, h: Vec3, d: Vec3) -> tuple[Vec3, Vec3]:
    """Where a ray from the middle along unit vector d leaves a solid, and the normal there (Fontijne, figure 4.2)."""
    if form == SPHERE:
        return scale(d, h[0]), d
    if form == BOX:
        tx, ty, tz = h[0] / max(abs(d[0]), 1e-9), h[1] / max(abs(d[1]), 1e-9), h[2] / max(abs(d[2]), 1e-9)
        if tx <= ty and tx <= tz:
            return scale(d, tx), (math.copysign(1.0, d[0]), 0.0, 0.0)
        if ty <= tz:
            return scale(d, ty), (0.0, math.copysign(1.0, d[1]), 0.0)
        return scale(d, tz), (0.0, 0.0, math.copysign(1.0, d[2]))
    across = math.sqrt(d[0] * d[0] + d[1] * d[1])
    if form == CONE:
        return _surface_of_cone(h, d, across)
    t = h[0] / max(across, 1e-9)
    straight = h[2] - h[0] if form == CAPSULE else h[2]
    if t * abs(d[2]) <= straight:
        return scale(d, t), (d[0] / across, d[1] / across, 0.0)
    if form == CYLINDER:
        return scale(d, h[2] / abs(d[2])), (0.0, 0.0, math.copysign(1.0, d[2]))
    # the ball at the end of a capsule: |t d - c| = r with c on z
    c = math.copysign(straight, d[2])
    t = c * d[2] + math.sqrt(max(0.0, h[0] ** 2 - c * c * across * across))
    p = scale(d, t)
    n = scale((p[0], p[1], p[2] - c), 1.0 / h[0])
    return p, scale(n, 1.0 / math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]))


@kernel
def _surface_of_cone(h: Vec3, d: Vec3, across: float) -> tuple[Vec3, Vec3]:
    """The base, or the side, where the radius is r (h - z) / 2 h; the normal of the tip is along the axis."""
    r, z = h[0], h[2]
    if d[2] < 0.0 and z * across <= -r * d[2]:
        return scale(d, -z / d[2]), (0.0, 0.0, -1.0)
    p = scale(d, r * z / (2.0 * z * across + r * d[2]))
    if across < 1e-9:
        return p, (0.0, 0.0, 1.0)
    slant = math.sqrt(4.0 * z * z + r * r)
    return p, (2.0 * z * d[0] / (across * slant), 2.0 * z * d[1] / (across * slant), r / slant)


@kernel
def frame_on(n: Vec3, turn: float) -> Any:
    """Axes x, y across a normal, turned about it, and the normal itself, as columns of a matrix.

    Which x is taken does not matter, only that it is always the same one (Duff et al. 2017, as
    `multibody.model.joint`).
    """
    sign = math.copysign(1.0, n[2])
    f = -1.0 / (sign + n[2])
    g = n[0] * n[1] * f
    x = (1.0 + sign * n[0] * n[0] * f, sign * g, -sign * n[0])
    y = (g, sign + n[1] * n[1] * f, -n[1])
    s, c = sincos_reducible(turn)
    u, v = axpy(scale(x, c), s, y), axpy(scale(y, c), -s, x)
    return (u[0], v[0], n[0], u[1], v[1], n[1], u[2], v[2], n[2])
