"""Triangles around simple shapes. All but the box are surfaces of revolution: a profile that turns about z."""

from __future__ import annotations

from typing import Any

import numpy as np

SEGMENTS = 32  # around the axis; half as many from pole to pole

Array = np.ndarray[Any, np.dtype[Any]]


def box(x: float, y: float, z: float) -> tuple[Array, Array]:
    corners = np.array([[i, j, k] for k in (-0.5, 0.5) for j in (-0.5, 0.5) for i in (-0.5, 0.5)]) * (x, y, z)
    sides = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    return corners, np.array([t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))], dtype=np.int32)


def sphere(radius: float) -> tuple[Array, Array]:
    return capsule(radius, 0.0)


def cylinder(radius: float, length: float) -> tuple[Array, Array]:
    return revolve([(radius, -length / 2.0), (radius, length / 2.0)], -length / 2.0, length / 2.0)


def cone(radius: float, length: float) -> tuple[Array, Array]:
    return revolve([(radius, -length / 2.0)], -length / 2.0, length / 2.0)


def capsule(radius: float, length: float) -> tuple[Array, Array]:
    rings = SEGMENTS // 4
    latitude = [0.5 * np.pi * k / rings for k in range(rings)]
    cap = [(radius * np.cos(t), radius * np.sin(t) + length / 2.0) for t in latitude]
    cup = [(r, -h) for r, h in reversed(cap)]
    profile = cup + cap if length else cup[:-1] + cap  # without a straight part the two have the equator in common
    return revolve(profile, -length / 2.0 - radius, length / 2.0 + radius)


def revolve(profile: list[tuple[float, float]], bottom: float, top: float) -> tuple[Array, Array]:
    """The surface of rings (radius, height), upwards, closed by a point at the bottom and one at the top."""
    turn = 2.0 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    rings = [np.column_stack([r * np.cos(turn), r * np.sin(turn), np.full(SEGMENTS, h)]) for r, h in profile]
    vertices = np.vstack([*rings, [(0.0, 0.0, bottom)], [(0.0, 0.0, top)]])
    last = len(vertices) - 1
    i = np.arange(SEGMENTS)
    j = (i + 1) % SEGMENTS
    faces = [np.column_stack([np.full(SEGMENTS, last - 1), j, i])]
    for ring in range(0, SEGMENTS * (len(profile) - 1), SEGMENTS):
        above = ring + SEGMENTS
        faces += [np.column_stack([ring + i, ring + j, above + j]), np.column_stack([ring + i, above + j, above + i])]
    ring = SEGMENTS * (len(profile) - 1)
    faces.append(np.column_stack([ring + i, ring + j, np.full(SEGMENTS, last)]))
    return vertices, np.vstack(faces).astype(np.int32)
