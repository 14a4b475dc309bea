"""Intersection of rays with the ground. Triangles are hit from both sides; the normal points back along the ray."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.ground.surface import HALF_SPACE, SOUP, ground_vertex, normal_of_triangle, triangle_vertex
from kinemorph.geometry.ground import BOUNDS, GROUND
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.rows import load3, load3_at, store3_at
from kinemorph.spatial.vec3 import Vec3, cross, dot, neg, sub

TREE_STACK = 64  # capacity of the stack: one node a level
HIT_SLACK_SHARE = 1e-12  # share of its sides by which a ray may miss a triangle: no ray slips through an edge
GroundHit = tuple[float, int]  # distance along the ray (m), and the triangle


@kernel(inline=False)
def _hit_triangle(ground: Any, triangle: int, origin: Vec3, direction: Vec3, best: GroundHit) -> GroundHit:
    """Möller and Trumbore: origin + s direction = a + u (b - a) + v (c - a)."""
    a = ground_vertex(ground, triangle_vertex(ground, triangle, 0))
    ab = sub(ground_vertex(ground, triangle_vertex(ground, triangle, 1)), a)
    ac = sub(ground_vertex(ground, triangle_vertex(ground, triangle, 2)), a)
    h = cross(direction, ac)
    det = dot(ab, h)
    if det == 0.0:
        return best
    r = sub(origin, a)
    u = dot(r, h) / det
    q = cross(r, ab)
    v = dot(direction, q) / det
    s = dot(ac, q) / det
    if u < -HIT_SLACK_SHARE or v < -HIT_SLACK_SHARE or u + v > 1.0 + HIT_SLACK_SHARE or not 0.0 <= s < best[0]:
        return best
    return s, triangle


@kernel
def _box_entry(box: Any, origin: Vec3, direction: Vec3, longest: float) -> float:
    """Distance (m) along the ray where a box begins; inf if the ray misses it."""
    lo = 0.0
    hi = longest
    for k in range(3):
        if direction[k] == 0.0:
            if origin[k] < box["low"][k] or origin[k] > box["high"][k]:
                return np.inf
            continue
        s = (box["low"][k] - origin[k]) / direction[k]
        t = (box["high"][k] - origin[k]) / direction[k]
        lo = max(lo, min(s, t))
        hi = min(hi, max(s, t))
    return lo if lo <= hi * (1.0 + HIT_SLACK_SHARE) else np.inf


@kernel(inline=False)
def _cast_through_tree(ground: Any, origin: Vec3, direction: Vec3, longest: float, stack: Any) -> GroundHit:
    boxes = rows_at(ground["boxes"], 2 * ground["leaves"], BOUNDS)
    n, leaves = ground["n"], ground["leaves"]
    best = (longest, -1)
    stack[0] = 1.0
    top = 1
    while top > 0:
        top -= 1
        node = int(stack[top])
        if _box_entry(boxes[node], origin, direction, best[0]) == np.inf:
            continue
        if node >= leaves:
            k = node - leaves
            for t in range(k * n // leaves, (k + 1) * n // leaves):
                best = _hit_triangle(ground, t, origin, direction, best)
        else:  # the nearer child first
            a = 2 * node
            swap = _box_entry(boxes[a], origin, direction, best[0]) < _box_entry(
                boxes[a + 1], origin, direction, best[0]
            )
            stack[top] = a + 1 if swap else a
            stack[top + 1] = a if swap else a + 1
            top += 2
    return best


@kernel(inline=False)
def _cast_along_cells(ground: Any, origin: Vec3, direction: Vec3, longest: float) -> GroundHit:
    """The nearest triangle of a height field on the ray, by a walk from cell to cell seen from above."""
    best = (longest, -1)
    mx, my = ground["nx"] - 1, ground["ny"] - 1
    x, y = (origin[0] - ground["x0"]) / ground["dx"], (origin[1] - ground["y0"]) / ground["dy"]  # in cells
    dx, dy = direction[0] / ground["dx"], direction[1] / ground["dy"]
    lo, hi = _clip_to_cells(x, dx, mx, 0.0, longest)
    lo, hi = _clip_to_cells(y, dy, my, lo, hi)
    if not lo <= hi:
        return best
    i = min(max(int(np.floor(x + lo * dx)), 0), mx - 1)
    j = min(max(int(np.floor(y + lo * dy)), 0), my - 1)
    for _ in range(mx + my + 2):
        for half in range(2):
            best = _hit_triangle(ground, 2 * (i * my + j) + half, origin, direction, best)
        si = ((i + 1 if dx > 0.0 else i) - x) / dx if dx != 0.0 else np.inf  # where the ray leaves the cell
        sj = ((j + 1 if dy > 0.0 else j) - y) / dy if dy != 0.0 else np.inf
        if min(si, sj) > min(hi, best[0]):
            break
        if si <= sj:
            i += 1 if dx > 0.0 else -1
        else:
            j += 1 if dy > 0.0 else -1
        if i < 0 or j < 0 or i >= mx or j >= my:
            break
    return best


@kernel
def _clip_to_cells(x: float, dx: float, cells: int, lo: float, hi: float) -> tuple[float, float]:
    """The part of lo .. hi along which x + s dx is from 0 to `cells`."""
    if dx == 0.0:
        return (lo, hi) if 0.0 <= x <= cells else (1.0, 0.0)
    s, t = -x / dx, (cells - x) / dx
    return max(lo, min(s, t)), min(hi, max(s, t))


@kernel(inline=False)
def cast_at_ground(ground: Any, origin: Vec3, direction: Vec3, longest: float, stack: Any) -> tuple[float, Vec3]:
    """Distance (m) along a unit direction to the ground, and the normal there; inf if there is no hit."""
    if ground["kind"] == HALF_SPACE:
        n = load3(ground["normal"])
        above = dot(n, origin) - ground["offset"]
        if above <= 0.0:
            return 0.0, n
        speed = -dot(n, direction)
        s = above / speed if speed > 0.0 else np.inf
        return (s if s <= longest else np.inf), n
    if ground["kind"] == SOUP:
        s, triangle = _cast_through_tree(ground, origin, direction, longest, stack)
    else:
        s, triangle = _cast_along_cells(ground, origin, direction, longest)
    if triangle < 0:
        return np.inf, direction
    n = normal_of_triangle(ground, triangle)
    return s, (n if dot(n, direction) <= 0.0 else neg(n))


@entry
def cast_all_at_ground(
    address: int, origins: Any, directions: Any, longest: float, distances: Any, normals: Any, stack: Any
) -> None:
    """`cast_at_ground` for rows of origins and unit directions (n, 3); `stack` has TREE_STACK entries."""
    ground = rows_at(address, 1, GROUND)[0]
    for k in range(distances.shape[0]):
        distances[k], n = cast_at_ground(ground, load3_at(origins[k], 0), load3_at(directions[k], 0), longest, stack)
        store3_at(normals[k], 0, n)
