"""Support functions of cores that may stand for round solids: cylinders and cones.

A round solid is the hull of two discs across z, and its core is the prism inside. A vertex is a disc of radius zero, so
all solids are hulls of **pieces**, given by a number: the vertex of a polyhedron; for a round solid, 0 is the bottom
disc and `sides` the top one, as the vertices on their rims. Around a piece there are

- **flats**, normals of faces: those of a vertex, or that of a disc;
- **circles** of normals n · d = s: across an edge d of a vertex (s = 0), or of the round side about its axis.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow.features import NOT_FOUND, core_vertex, support_vertex
from kinemorph.geometry.polyhedron import edges_of, faces_of, vertex_edges_of, vertices_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3, axpy, dot

FACE_COSINE = 0.99  # cosine: a face within 8° of a normal has contacts along it
ROUND_SIDE_SINE = 0.14  # sine: the same for the round side
LEVEL_DISC_SINE = 1e-5  # sine: a disc with less tilt has no lowest point
AXIS = (0.0, 0.0, 1.0)


@kernel(inline=False)
def support_piece(core: Any, piece: int, n: Vec3) -> tuple[float, int]:
    """Support of a solid along n: how far it reaches (m), and the piece; `piece` is a guess."""
    if core["sides"] == 0:
        piece = support_vertex(core, piece, n)
        return dot(n, core_vertex(core, piece)), piece
    aside = math.sqrt(n[0] * n[0] + n[1] * n[1])
    low = core["low"] * aside - core["half"] * n[2]
    high = core["high"] * aside + core["half"] * n[2]
    return (high, int(core["sides"])) if high > low else (low, 0)


@kernel
def piece_disc(core: Any, piece: int) -> tuple[Vec3, float]:
    """Centre and radius (m) of a piece."""
    if core["sides"] == 0:
        return core_vertex(core, piece), 0.0
    return ((0.0, 0.0, -core["half"]), core["low"]) if piece == 0 else ((0.0, 0.0, core["half"]), core["high"])


@kernel(inline=False)
def piece_point(core: Any, piece: int, n: Vec3) -> Vec3:
    """Support point of a piece along n."""
    c, r = piece_disc(core, piece)
    aside = math.sqrt(n[0] * n[0] + n[1] * n[1])
    if r == 0.0 or aside == 0.0:
        return c
    return c[0] + r / aside * n[0], c[1] + r / aside * n[1], c[2]


@kernel(inline=False)
def support_point(core: Any, piece: int, n: Vec3) -> tuple[int, Vec3]:
    """The piece farthest along n, and its support point; `piece` is a guess."""
    _, piece = support_piece(core, piece, n)
    return piece, piece_point(core, piece, n)


@kernel(inline=False)
def count_flats(core: Any, piece: int) -> int:
    """Number of flats, and of circles, at a piece."""
    if core["sides"] > 0:
        return 1
    return int(vertices_of(core)[piece]["count"]) if core["n_edges"] > 0 else 0


@kernel(inline=False)
def normal_circle(core: Any, piece: int, number: int) -> tuple[Vec3, float]:
    """Axis and height of a circle of normals at a piece."""
    if core["sides"] > 0:
        return AXIS, core["slope"]
    first = vertices_of(core)[piece]["first"]
    e = vertex_edges_of(core)[first + number]
    return load3(edges_of(core)[e]["direction"]), 0.0


@kernel(inline=False)
def flat_normal(core: Any, piece: int, number: int) -> Vec3:
    """Normal of a face at a piece, each one once; a segment has none, and returns its direction."""
    if core["sides"] > 0:
        return (0.0, 0.0, -1.0) if piece == 0 else AXIS
    first = vertices_of(core)[piece]["first"]
    edge = edges_of(core)[vertex_edges_of(core)[first + number]]
    if edge["left"] < 0:
        return load3(edge["direction"])
    f = edge["left"] if edge["tail"] == piece else edge["right"]
    return load3(faces_of(core)[f]["normal"])


@kernel(inline=False)
def closest_on_round(core: Any, x: Vec3) -> tuple[Vec3, Vec3, float]:
    """Point of the surface of a round solid closest to x, the normal there, and the distance, negative inside.

    In the half-plane of the axis and x, r is the distance from the axis and z that along it.
    """
    low, high, half = core["low"], core["high"], core["half"]
    r, z = math.sqrt(x[0] * x[0] + x[1] * x[1]), x[2]
    s = core["slope"]
    c = math.sqrt(1.0 - s * s)
    side = (r - low) * c + (z + half) * s  # above the side, above the ends
    up = (z + half) * c - (r - low) * s  # along the side, from the bottom
    length = 2.0 * half / c
    end = abs(z) - half
    if side <= 0.0 and end <= 0.0:
        nr, nz, distance = (c, s, side) if side >= end else (0.0, math.copysign(1.0, z), end)
    elif end > 0.0 and r <= (low if z < 0.0 else high):
        nr, nz, distance = 0.0, math.copysign(1.0, z), end
    elif side > 0.0 and 0.0 < up < length:
        nr, nz, distance = c, s, side
    else:
        rim, end = (low, z + half) if up <= 0.0 else (high, z - half)
        distance = math.sqrt((r - rim) ** 2 + end * end)
        nr, nz = (r - rim) / distance, end / distance
    n = (nr * x[0] / r, nr * x[1] / r, nz) if r > 0.0 else (nr, 0.0, nz)
    return axpy(x, -distance, n), n, distance


# --- round solids as prisms ---


@kernel
def turn_towards(core: Any, n: Vec3) -> tuple[float, float]:
    """Cosine and sine of the angle by which a round core must turn about its axis to have an edge towards n.

    The solid is symmetric, so the turn changes nothing but the prism: it then touches along n with a true corner or
    edge.
    """
    aside = math.sqrt(n[0] * n[0] + n[1] * n[1])
    if core["sides"] == 0 or aside < LEVEL_DISC_SINE:
        return 1.0, 0.0
    return n[0] / aside, n[1] / aside


@kernel
def turn_matrix(R: Mat3, cosine: float, sine: float) -> Mat3:
    """R times a rotation about z."""
    return (
        R[0] * cosine + R[1] * sine, R[1] * cosine - R[0] * sine, R[2],
        R[3] * cosine + R[4] * sine, R[4] * cosine - R[3] * sine, R[5],
        R[6] * cosine + R[7] * sine, R[7] * cosine - R[6] * sine, R[8],
    )  # fmt: skip


@kernel
def turn_vector(x: Vec3, cosine: float, sine: float) -> Vec3:
    """A vector rotated about z."""
    return cosine * x[0] - sine * x[1], sine * x[0] + cosine * x[1], x[2]


@kernel(inline=False)
def facing_feature(core: Any, n: Vec3) -> tuple[int, int, float]:
    """For a round core turned to n: the disc across n and its cosine, or the edge on its side, or NOT_FOUND, -1."""
    cosine = abs(n[2])
    disc = 1 if n[2] > 0.0 else 0
    if cosine > FACE_COSINE and not (disc == 1 and core["high"] == 0.0):
        return disc, NOT_FOUND, cosine
    if abs(n[2] - core["slope"]) < ROUND_SIDE_SINE:
        return NOT_FOUND, int(core["generator"]), -1.0
    return NOT_FOUND, NOT_FOUND, -1.0
