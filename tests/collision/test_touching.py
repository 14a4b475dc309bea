"""Shapes that touch, or nearly so: points, distance and normal fit each other, and each answer is proved.

A proof asks nobody: the closest points are in the cores, so the distance is no more than theirs; along the normal the
cores are just as far apart, so it is no less; and of two that overlap, brute force over all axes knows the depth.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.collision.samples import Array, awkward, evaluated, hull, rotations, solids
from tests.naive import distance as naive

import kinemorph as km
from kinemorph.geometry.polyhedron import Polyhedron

COUNT = int(os.environ.get("TOUCHING_PAIRS", "20000"))
CUBE = Rotation.create_group("O")
POINT = Polyhedron.point()


def turns(rng: np.random.Generator, n: int, kind: str) -> Array:
    """Any; about z; almost none; those of a cube, and next to them."""
    if kind == "any":
        return rotations(rng, n)
    if kind == "about z":
        return np.asarray(Rotation.from_euler("z", rng.uniform(0.0, 7.0, (n, 1))).as_matrix())
    small = Rotation.from_rotvec(rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-16.0, -1.0, (n, 1)))
    if kind == "hardly":
        return np.asarray(small.as_matrix())
    return np.asarray((CUBE[rng.integers(24, size=n)] * small).as_matrix())


def outside(core: Polyhedron, x: Array) -> float:
    """How far a point is outside a core."""
    if len(core.faces) < 3:
        return naive.distance(core, POINT, np.eye(3), x)
    return max(float((core.faces["normal"] @ x - core.faces["offset"]).max()), 0.0)


@pytest.mark.parametrize("kind", ["any", "about z", "hardly", "cube"])
@pytest.mark.parametrize("what", ["shapes touch", "cores touch"])
def test_answers_of_touching_pairs_are_proved(rng: np.random.Generator, kind: str, what: str) -> None:
    """All kinds of cores, with and without radii, from -1 mm through exactly 0 to 1 mm apart."""
    n = COUNT // 8
    cores = [*solids(rng, (4, 8, 12, 32, 128)), *awkward(rng)]
    size = np.array([core.radius_bound for core in cores])
    i, j = rng.integers(len(cores), size=(2, n))
    R, way = turns(rng, n, kind), rng.normal(size=(n, 3))
    way *= (rng.uniform(0.0, 1.3, n) * np.maximum(size[i] + size[j], 0.3) / np.linalg.norm(way, axis=1))[:, None]
    if kind != "any":
        way = np.where(rng.random((n, 1)) < 0.5, np.round(4.0 * way) / 4.0, way * rng.integers(0, 2, (n, 3)))
    radii = rng.choice([0.0, 0.05, 0.1, 0.3], size=(n, 2))
    pairs = [(cores[a], cores[b]) for a, b in zip(i, j, strict=True)]
    rows = evaluated(pairs, R, way, radii if what == "shapes touch" else 0.0)
    gap = rng.choice([0.0, 1.0, -1.0], n) * 10.0 ** rng.uniform(-6.0, -3.0, n)
    p = way + (gap - rows["distance"])[:, None] * rows["normal"]
    rows = evaluated(pairs, R, p, radii)
    assert rows["rough"].sum() == 0
    for k, (row, (first, second)) in enumerate(zip(rows, pairs, strict=True)):
        n, d, (r1, r2) = row["normal"], float(row["distance"]), radii[k]
        scale = max(size[i[k]] + size[j[k]] + r1 + r2, np.abs(p[k]).max(), 1e-3)
        assert abs(n @ n - 1.0) < 1e-12
        assert np.abs(row["x2"] - row["x1"] - d * n).max() < 1e-14 * scale
        apart = d + r1 + r2  # of the cores
        assert outside(first, row["x1"] - r1 * n) < 3e-9 * scale
        assert outside(second, R[k].T @ (row["x2"] + r2 * n - p[k])) < 3e-9 * scale
        a, b = first.points, second.points @ R[k].T + p[k]
        assert (b @ n).min() - (a @ n).max() == pytest.approx(apart, abs=1e-7 * scale)
        if apart < 1e-9 * scale and len(first.faces) + len(second.faces) and len(first.edges) * len(second.edges) < 600:
            depth, _ = naive.depth(first, second, R[k], p[k])
            assert max(depth, 0.0) == pytest.approx(-apart, abs=5e-9 * scale)


def test_a_triangle_beside_the_tip_of_a_flat_polytope() -> None:
    """The first corners of the difference were all in one plane, and the origin beside them: half a millimetre off."""
    base = Polyhedron.cone(0.4, 0.8)
    triangle = Polyhedron.polygon([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    turn = Rotation.from_rotvec((-2.4993966e-09, -8.2663751e-09, -2.0398877e-09)).as_matrix()
    p = (0.3411922088968733, 1.607797917937225e-11, -0.40000000048612727)
    row = evaluated([(base, triangle)], turn, [p], 0.05)[0]
    np.testing.assert_allclose(row["x2"] - row["x1"], row["distance"] * row["normal"], atol=1e-15)
    np.testing.assert_allclose(row["normal"], (0.0, 0.0, -1.0), atol=1e-7)
    assert row["distance"] == pytest.approx(-0.1, abs=1e-8)
    assert outside(triangle, turn.T @ (row["x2"] + 0.05 * row["normal"] - p)) < 1e-8


def solids_and_grounds(rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    field = km.HeightField(0.2 * rng.normal(size=(8, 9)), (4.0, 5.0))
    flat = km.HeightField(np.zeros((6, 6)), (4.0, 4.0))
    box = Polyhedron.box((0.5, 1.2, 0.5))
    turned = [km.Pose.turn((0, 0, 1), 2.0 * np.pi * k / 6) @ km.Pose((1.0, 0.0, 0.0)) for k in range(6)]
    ring = km.Parts([box.moved(pose) for pose in turned], [0.0, 0.05, 0.0, 0.0, 0.1, 0.0])
    bodies = [
        *(km.Shape.box((1.0, 0.7, 0.4)), km.Shape.sphere(0.3), km.Shape.cylinder(0.3, 0.8), km.Shape.capsule(0.2, 0.8)),
        *(hull(rng, 20, 0.5), (hull(rng, 30, 0.4), 0.1), ring),
    ]
    return bodies, [km.HalfSpace((0.1, 0.2, 1.0)), field, km.Terrain(field.mesh), flat, km.Terrain(flat.mesh)]


def test_points_distance_and_normal_fit_for_all_kinds_of_shapes(rng: np.random.Generator) -> None:
    """Also through trees of parts and on the ground, of distances and of contacts, followed and asked anew."""
    bodies, grounds = solids_and_grounds(rng)
    for first in (*bodies, *grounds):
        for second in bodies:
            pair = km.Pair(first, second)
            for k in range(COUNT // 1000):
                R = turns(rng, 1, ("any", "hardly", "cube")[k % 3])[0]
                p = rng.uniform(-1.2, 1.2, 3)
                p = np.round(4.0 * p) / 4.0 if k % 3 == 2 else p
                d = pair.distance(None, km.Pose(p, R))
                gap = rng.choice([0.0, 1.0, -1.0]) * 10.0 ** rng.uniform(-6.0, -3.0)
                pose = km.Pose(p + (gap - d.distance) * d.normal, R)
                d = pair.distance(None, pose)
                np.testing.assert_allclose(d.point_b - d.point_a, d.distance * d.normal, atol=1e-14)
                assert km.distance(first, None, second, pose).distance == pytest.approx(d.distance, abs=1e-8)
                for c in pair.contacts(None, pose, margin=1e-3):
                    np.testing.assert_allclose(c.point_b - c.point_a, c.distance * c.normal, atol=1e-14)
