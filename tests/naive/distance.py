"""Distance and depth of two convex polyhedra by trying everything: vertices on faces, edges on edges, all axes.

Slow and without tricks; it decides when two fast ones disagree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.geometry.polyhedron import Polyhedron

Array = np.ndarray[Any, np.dtype[np.float64]]


def world(core: Polyhedron, R: Array, p: Array) -> Array:
    """The vertices of a core that stands at (R, p)."""
    return core.points @ R.T + p


def distance(first: Polyhedron, second: Polyhedron, R: Array, p: Array) -> float:
    """Of the surfaces, where the second stands at (R, p) in the frame of the first. Zero if they cross."""
    x1, x2 = first.points, world(second, R, p)
    best = float(np.sqrt(((x1[:, None] - x2[None]) ** 2).sum(-1)).min())
    if len(first.edges) and len(second.edges):
        best = min(best, _edges(first, second, x1, x2))
    else:
        best = min(best, _points_edges(x2, first, x1), _points_edges(x1, second, x2))
    best = min(best, _points_faces(x2, first, np.eye(3), np.zeros(3)))
    return min(best, _points_faces(x1, second, R, p))


def _points_edges(x: Array, core: Polyhedron, corners: Array) -> float:
    if not len(core.edges):
        return np.inf
    t, h = corners[core.edges["tail"]], corners[core.edges["head"]]
    d = h - t
    s = np.clip(((x[:, None] - t) * d).sum(-1) / (d * d).sum(-1), 0.0, 1.0)
    return float(np.linalg.norm(x[:, None] - t - s[..., None] * d, axis=-1).min())


def _edges(first: Polyhedron, second: Polyhedron, x1: Array, x2: Array) -> float:
    """Interior against interior; where that fails, one of the ends against the other edge."""
    best = min(_points_edges(x2, first, x1), _points_edges(x1, second, x2))
    t1, h1 = x1[first.edges["tail"]][:, None], x1[first.edges["head"]][:, None]
    t2, h2 = x2[second.edges["tail"]][None], x2[second.edges["head"]][None]
    d1, d2, r = h1 - t1, h2 - t2, t2 - t1
    n = np.cross(d1, d2)
    nn = (n * n).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        s = (np.cross(r, d2) * n).sum(-1) / nn
        u = (np.cross(r, d1) * n).sum(-1) / nn
        gap = np.abs((r * n).sum(-1)) / np.sqrt(nn)
    inside = (s > 0.0) & (s < 1.0) & (u > 0.0) & (u < 1.0)
    return min(best, float(gap[inside].min())) if inside.any() else best


def _points_faces(x: Array, core: Polyhedron, R: Array, p: Array) -> float:
    """Of points straight above or below faces of a core that stands at (R, p)."""
    local = (x - p) @ R
    best = np.inf
    for f, loop in enumerate(core.loops):
        n = core.faces["normal"][f]
        corners = core.points[loop]
        inward = np.cross(n, np.roll(corners, -1, axis=0) - corners)
        above = ((local[:, None] - corners) * inward).sum(-1).min(axis=1) >= 0.0
        if above.any():
            best = min(best, float(np.abs(local[above] @ n - core.faces["offset"][f]).min()))
    return best


def depth(first: Polyhedron, second: Polyhedron, R: Array, p: Array) -> tuple[float, Array]:
    """The least overlap over all axes that matter, and its axis from first to second. Negative: they are apart."""
    x1, x2 = first.points, world(second, R, p)
    axes = [first.faces["normal"], -second.faces["normal"] @ R.T]
    d1 = first.edges["direction"]
    d2 = second.edges["direction"] @ R.T
    n = np.cross(d1[:, None], d2[None]).reshape(-1, 3)
    length = np.linalg.norm(n, axis=1)
    n = n[length > 1e-9] / length[length > 1e-9, None]
    axes += [n, -n]
    best, axis = np.inf, np.zeros(3)
    for part in axes:
        for chunk in np.array_split(part, max(1, len(part) // 2048)):
            if len(chunk):
                overlap = (chunk @ x1.T).max(axis=1) - (chunk @ x2.T).min(axis=1)
                k = int(overlap.argmin())
                if overlap[k] < best:
                    best, axis = float(overlap[k]), chunk[k]
    return best, axis
