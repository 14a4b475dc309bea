"""Cores and poses that tests of the narrow phase share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kinemorph.collision.narrow.core_pairs import CorePairs
from kinemorph.geometry.polyhedron import Polyhedron

Array = np.ndarray[Any, np.dtype[Any]]


def hull(rng: np.random.Generator, n: int, size: Any = 1.0) -> Polyhedron:
    """Of n random points on an ellipsoid, so that all are vertices."""
    x = rng.normal(size=(n, 3))
    return Polyhedron.hull(x / np.linalg.norm(x, axis=1)[:, None] * size)


def needle(rng: np.random.Generator) -> Polyhedron:
    """A hull a hundred thousand times as long as it is thin."""
    return Polyhedron.hull(rng.normal(size=(6, 3)) * (1.0, 1e-3, 1e-5), flat=1e-13)


def solids(rng: np.random.Generator, sizes: tuple[int, ...]) -> list[Polyhedron]:
    """Hulls of so many vertices, and primitives down to a point."""
    return [
        *(hull(rng, n, rng.uniform(0.2, 1.0, 3)) for n in sizes),
        *(Polyhedron.box((1.0, 1.0, 1.0)), Polyhedron.box((2.0, 0.3, 0.1)), Polyhedron.prism(0.5, 1.0, 8)),
        *(Polyhedron.prism(0.3, 2.0), Polyhedron.cone(0.5, 1.0, 12), Polyhedron.segment(1.0), Polyhedron.point()),
    ]


def awkward(rng: np.random.Generator) -> list[Polyhedron]:
    """Cores with parallel faces and edges, flat ones, and needles."""
    grid = np.stack(np.meshgrid(*[[0.0, 0.5, 1.0]] * 3), -1).reshape(-1, 3) - 0.5
    return [
        *(Polyhedron.box((1.0, 1.0, 1.0)), Polyhedron.box((1.0, 2.0, 1.0)), Polyhedron.box((4.0, 4.0, 0.5))),
        *(Polyhedron.prism(0.5, 1.0, 6), Polyhedron.cone(0.5, 1.0, 4), Polyhedron.segment(1.0), Polyhedron.point()),
        Polyhedron.polygon([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]),
        Polyhedron.polygon([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)]),
        *(Polyhedron.hull(grid), needle(rng), needle(rng), hull(rng, 20)),
    ]


def rotations(rng: np.random.Generator, n: int) -> Array:
    return np.asarray(Rotation.random(n, random_state=rng).as_matrix())


def evaluated(cores: list[tuple[Polyhedron, Polyhedron]], R: Array, p: Array, radii: Any = 0.0) -> Array:
    """Pairs of cores, the second at (R, p) in the frame of the first, after an update."""
    pairs = CorePairs(cores, radii)
    pairs.rows["R"] = np.reshape(R, (len(cores), 9))
    pairs.rows["p"] = p
    rows: Array = pairs.update()
    return rows
