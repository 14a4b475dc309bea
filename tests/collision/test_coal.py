"""Distance, normal and closest points against coal, pair by pair; where the two differ, brute force decides.

These are 100 000 pairs, or COLLISION_PAIRS if that is set; `pytest -s tests/collision/test_coal.py` says what differed.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.collision.samples import Array, awkward, evaluated, hull, rotations, solids
from tests.naive import distance as naive

from kinemorph.collision.narrow.core_pair import Relation
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import Role, ShapeKind
from kinemorph.scenes.robots.catalog import folder, robot

coal = pytest.importorskip("coal")

COUNT = int(os.environ.get("COLLISION_PAIRS", "100000"))
ROBOTS = ("anymal", "panda", "talos", "ur5")
EXACT = 1e-9  # m: where brute force decides, to this


class Pairs(NamedTuple):
    """Many pairs of a few cores."""

    cores: list[Polyhedron]
    i: Array  # which core is first
    j: Array  # and which second, at
    R: Array
    p: Array

    def of(self, k: int) -> tuple[Polyhedron, Polyhedron]:
        return self.cores[self.i[k]], self.cores[self.j[k]]

    def evaluated(self) -> Array:
        return evaluated([self.of(k) for k in range(len(self.i))], self.R, self.p)


def scattered(cores: list[Polyhedron], n: int, reach: float, rng: np.random.Generator) -> Pairs:
    """Centres up to `reach` apart, in sizes of the two: overlapping, near and far."""
    i, j = rng.integers(len(cores), size=(2, n))
    R, way = rotations(rng, n), rng.normal(size=(n, 3))
    size = np.array([core.radius_bound for core in cores])
    way *= (rng.uniform(0.0, reach, n) * np.maximum(size[i] + size[j], 0.3) / np.linalg.norm(way, axis=1))[:, None]
    centres = np.array([core.centre for core in cores])
    return Pairs(cores, i, j, R, way + centres[i] - np.einsum("kij,kj->ki", R, centres[j]))


def touching(pairs: Pairs, rng: np.random.Generator) -> Pairs:
    """The same, moved along the normal until the distance is next to nothing or nothing."""
    rows = pairs.evaluated()
    gap = rng.choice([0.0, 1.0, -1.0], len(rows)) * 10.0 ** rng.uniform(-12.0, -3.0, len(rows))
    return pairs._replace(p=pairs.p + (gap - rows["distance"])[:, None] * rows["normal"])


def nested(rng: np.random.Generator, n: int) -> Pairs:
    """Small bodies in large ones."""
    large = [hull(rng, k, rng.uniform(0.5, 1.0, 3)) for k in (8, 40, 300)] + [Polyhedron.box((1.0, 2.0, 1.0))]
    small = [core.scaled(0.1) for core in solids(rng, (4, 30, 200)) if len(core.faces)]
    i, j = rng.integers(len(large), size=n), len(large) + rng.integers(len(small), size=n)
    return Pairs(large + small, i, j, rotations(rng, n), rng.normal(size=(n, 3)) * 0.15)


def robot_hulls() -> list[Polyhedron]:
    shapes = [shape for name in ROBOTS for link in robot(name).shapes for shape in link]
    meshes = [shape for shape in shapes if shape.kind is ShapeKind.MESH and shape.role is not Role.VISUAL]
    return list({core.address: core for core in (core_of(shape)[0] for shape in meshes)}.values())


def geometry(core: Polyhedron) -> Any:
    """The same core for coal."""
    if len(core.vertices) == 1:
        return coal.Sphere(0.0)
    if len(core.vertices) == 2:
        return coal.Capsule(0.0, float(core.edges["length"][0]))
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in core.points:
        points.append(x.copy())
    for t in core.triangles:
        triangles.append(coal.Triangle(*map(int, t)))
    return coal.Convex(points, triangles)


def coals_answers(pairs: Pairs) -> tuple[Array, Array, Array, Array]:
    """Distances, normals and the closest points on both."""
    geometries = [geometry(core) for core in pairs.cores]
    request, identity = coal.DistanceRequest(), coal.Transform3s()
    request.gjk_tolerance, request.gjk_max_iterations = 1e-10, 1000
    request.epa_tolerance, request.epa_max_iterations = 1e-9, 1000
    n = len(pairs.i)
    d, normal, x1, x2 = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    for k in range(n):
        result, where = coal.DistanceResult(), coal.Transform3s(pairs.R[k], pairs.p[k])
        d[k] = coal.distance(geometries[pairs.i[k]], identity, geometries[pairs.j[k]], where, request, result)
        normal[k], x1[k], x2[k] = result.normal, result.getNearestPoint1(), result.getNearestPoint2()
    return d, normal, x1, x2


def outside(core: Polyhedron, x: Array) -> float:
    """How far a point is outside a core."""
    return (
        max(naive.distance(core, Polyhedron.point(), np.eye(3), x), 0.0)
        if len(core.faces) < 3
        else float((core.faces["normal"] @ x - core.faces["offset"]).max())
    )


def decide(pairs: Pairs, k: int, row: Any) -> None:
    """Brute force over all features or axes is on our side, and our closest points lie on the bodies."""
    first, second = pairs.of(k)
    R, p = pairs.R[k], pairs.p[k]
    size = first.radius_bound + second.radius_bound
    solid = len(first.faces) + len(second.faces) > 0
    depth = naive.depth(first, second, R, p)[0] if solid else 0.0
    true = -depth if depth > 0.0 else naive.distance(first, second, R, p)
    assert row["distance"] == pytest.approx(true, abs=3.0 * EXACT * max(size, 1.0))
    np.testing.assert_allclose(row["x2"] - row["x1"], row["distance"] * row["normal"], atol=1e-8)
    assert outside(first, row["x1"]) < 1e-8
    assert outside(second, R.T @ (row["x2"] - p)) < 1e-8


def check(name: str, pairs: Pairs) -> Array:
    """All pairs agree with coal to 1e-7, depths to 1e-4 of the size, or brute force decides. Says how many."""
    rows = pairs.evaluated()
    d, normal, x1, x2 = coals_answers(pairs)
    size = np.array([core.radius_bound for core in pairs.cores])
    size = size[pairs.i] + size[pairs.j]
    apart = d > 0.0
    same = np.abs(rows["distance"] - d) < np.where(apart, 1e-7, 1e-4 * size)
    clear = d > 1e-9
    same &= ~clear | (np.abs(rows["normal"] - normal).max(axis=1) < 1e-7 / np.clip(d, 1e-9, 1.0))
    same &= ~clear | (np.maximum(np.abs(rows["x1"] - x1), np.abs(rows["x2"] - x2)).max(axis=1) < 1e-7)
    for k in np.flatnonzero(~same):
        decide(pairs, k, rows[k])
    wrong = np.abs(rows["distance"] - d) > np.where(apart, 1e-7, 1e-4 * size)
    print(
        f"\n{name}: {len(rows)} pairs, {(rows['relation'] == Relation.DEEP).sum()} overlap; coal's distance differs in "
        f"{wrong.sum()}, its normal or points in {(~same & ~wrong).sum()}, and brute force agrees with ours in all; "
        f"{rows['fallbacks'].sum()} fallbacks, {rows['rough'].sum()} rough depths"
    )
    return rows


def test_hulls_and_primitives(rng: np.random.Generator) -> None:
    """Of 4 to 2048 vertices, down to segments and points."""
    cores = solids(rng, (4, 5, 8, 12, 32, 128, 512, 2048))
    rows = check("hulls and primitives", scattered(cores, COUNT // 2, 1.3, rng))
    assert rows["fallbacks"].sum() + rows["rough"].sum() == 0
    assert 0.1 < (rows["relation"] == Relation.DEEP).mean() < 0.6


@pytest.mark.skipif(folder() is None, reason="example-robot-data is not installed")
def test_hulls_of_robot_meshes(rng: np.random.Generator) -> None:
    cores = robot_hulls()
    assert len(cores) > 30
    rows = check("robot meshes", scattered(cores, COUNT // 5, 1.3, rng))
    assert rows["fallbacks"].sum() + rows["rough"].sum() == 0


def test_touching_pairs(rng: np.random.Generator) -> None:
    cores = solids(rng, (4, 8, 32, 128))
    rows = check("touching", touching(scattered(cores, 3 * COUNT // 20, 1.3, rng), rng))
    assert np.median(np.abs(rows["distance"])) < 1e-6


def test_nested_pairs(rng: np.random.Generator) -> None:
    rows = check("nested", nested(rng, 3 * COUNT // 40))
    assert (rows["relation"] == Relation.DEEP).mean() > 0.9
    assert rows["rough"].sum() == 0


def test_awkward_pairs(rng: np.random.Generator) -> None:
    """Needles, flat cores, parallel faces: coal has its troubles, and brute force decides often."""
    check("needles, flat and parallel", scattered(awkward(rng), 3 * COUNT // 40, 1.3, rng))
