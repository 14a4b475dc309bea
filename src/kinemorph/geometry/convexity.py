"""Validation of convex polyhedra: faces closed and of spherical topology, flat, convex. Errors name the fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kinemorph.geometry.polyhedron import Polyhedron

CONVEX_ERROR = 1e-6  # in sizes of the polyhedron: tolerance of flatness and convexity at edges
BELOW_ERROR = 1e-8  # in the same: tolerance of a vertex above a distant face, because thin faces tilt
MOST_TESTED_TRIANGLES = 20_000  # that `hollow_depth` tests
MOST_NUMBERS = 10**6  # in memory at a time
MOST_PAIRS = 2 * 10**8  # of vertices and faces: more take seconds to check

Array = np.ndarray[Any, np.dtype[Any]]


def check_closed(points: Array, loops: Sequence[Array]) -> None:
    """Check that the faces form a closed surface like a sphere: two faces at each edge, one fan at each vertex."""
    n = len(points)
    for f, loop in enumerate(loops):
        if loop.ndim != 1 or len(loop) < 3:
            raise _repeat_error(f, loop)
    if not loops:
        raise ValueError("0 faces do not close around a body")
    counts = np.array([len(loop) for loop in loops])
    tail, face = np.concatenate(loops).astype(np.int64), np.repeat(np.arange(len(loops)), counts)
    order = np.lexsort((tail, face))
    again = (np.diff(tail[order]) == 0) & (np.diff(face[order]) == 0)
    if again.any():
        f = face[order][np.argmax(again)]
        raise _repeat_error(f, loops[f])
    outside = (tail < 0) | (tail >= n)
    if outside.any():
        f = face[np.argmax(outside)]
        raise ValueError(f"face {f} names the vertices {loops[f].tolist()}, but there are {n}")
    if len(loops) < 2:
        raise ValueError(f"{len(loops)} faces do not close around a body")
    after = np.arange(1, len(tail) + 1)
    after[np.cumsum(counts) - 1] = np.cumsum(counts) - counts
    head = tail[after]
    if len(lost := np.setdiff1d(np.arange(n), tail)):
        raise ValueError(f"vertex {lost[0]} is in no face (and {len(lost) - 1} more): leave it out")
    there, count = np.unique(tail * n + head, return_counts=True)
    if (count > 1).any():
        a, b = divmod(int(there[np.argmax(count > 1)]), n)
        raise ValueError(f"two faces have the edge from vertex {a} to {b} on their left: turn one of them round")
    if len(alone := np.setdiff1d(there, head * n + tail)):
        a, b = divmod(int(alone[0]), n)
        raise ValueError(
            f"the edge between vertices {a} and {b} has one face only (as {len(alone)} have): a face is missing"
        )
    euler = n - len(tail) // 2 + len(loops)
    if euler != 2:
        raise ValueError(f"vertices - edges + faces is {euler}, not 2: the faces do not close around one convex body")
    short = np.linalg.norm(points[head] - points[tail], axis=1) == 0.0
    if short.any():
        raise ValueError(f"vertices {tail[np.argmax(short)]} and {head[np.argmax(short)]} are in the same place")


def _repeat_error(f: int, loop: Array) -> ValueError:
    return ValueError(f"face {f} of the loops has the vertices {loop.tolist()}; expected 3 or more, each once")


def hollow_depth(core: Polyhedron, points: Array, triangles: Array) -> float:
    """Depth (m) of a surface below its convex hull, at the centres of triangles; 0 if it is convex.

    Vertices would not do: those of an angle or a groove are on the hull. If triangles are many, evenly spread ones are
    tested.
    """
    middles = points[triangles[:: 1 + len(triangles) // MOST_TESTED_TRIANGLES]].mean(axis=1)
    normals, offsets = core.faces["normal"], core.faces["offset"]
    deepest = 0.0
    for some in np.array_split(middles, 1 + len(middles) * len(offsets) // MOST_NUMBERS):
        deepest = max(deepest, float((offsets - some @ normals.T).min(axis=1).max(initial=0.0)))
    return deepest


def check_convex(core: Polyhedron, tolerance: float = CONVEX_ERROR) -> None:
    """Check that faces are flat and convex and edges convex: with the right topology, that makes the whole convex."""
    slack = tolerance * core.radius_bound
    faces, edges, signed = core.faces, core.edges, core.face_edges
    face = np.repeat(np.arange(len(faces)), faces["count"])
    corner = core.points[np.concatenate(core.loops)]
    depth = faces["offset"][face] - row_dots(faces["normal"][face], corner)
    if not (depth <= slack).all():  # not: NaN, the normal of a face without area, is wrong as well
        raise ValueError(f"face {face[np.argmax(~(depth <= slack))]} is not flat, or has no area")

    after = next_in_face(faces)
    side = corner[after] - corner
    sine, cosine = row_dots(np.cross(side, side[after]), faces["normal"][face]), row_dots(side, side[after])
    turn = np.add.reduceat(np.arctan2(sine, cosine), faces["first"])  # once round is 2π, a star is 4π
    longer = np.maximum(np.linalg.norm(side, axis=1), np.linalg.norm(side[after], axis=1))
    bad = (sine < -slack * longer) | (np.abs(turn - 2.0 * np.pi) > 1.0)[face]
    if bad.any():
        raise ValueError(f"face {face[np.argmax(bad)]} is not a convex polygon")

    # Along the right face from either end of an edge: that must not lead above the left face.
    place = np.empty_like(signed)
    place[signed] = np.arange(len(signed))
    right = place[1::2]
    beyond = corner[np.stack([after[after[right]], np.argsort(after)[right]])]
    rise = (row_dots(faces["normal"][edges["left"]], beyond) - faces["offset"][edges["left"]]).max(axis=0)
    if (rise > slack).any():
        e = edges[np.argmax(rise)]
        raise ValueError(
            f"it is not convex: faces {e['left']} and {e['right']} form a hollow at the edge between "
            f"vertices {e['tail']} and {e['head']}"
        )


def check_vertices_below(core: Polyhedron, tolerance: float) -> None:
    """Check that no vertex is above any face: tolerances at edges can add up around a curve of thin faces."""
    points, faces = core.points, core.faces
    if len(points) * len(faces) > MOST_PAIRS:
        return
    step = max(1, 2**20 // len(points))
    for block in np.split(faces, range(step, len(faces), step)):
        rise = (block["normal"] @ points.T).max(axis=1) - block["offset"]
        if rise.max() > tolerance * core.radius_bound:
            raise ValueError("a vertex is above a face")


def next_in_face(faces: Array) -> Array:
    """The half-edge after each one in its face, where they are listed face by face."""
    after = np.arange(1, int(faces["count"].sum()) + 1)
    after[faces["first"] + faces["count"] - 1] = faces["first"]
    return after


def row_dots(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)
