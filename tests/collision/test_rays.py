"""Rays and points against shapes: half-spaces, quadrics and brute force know the answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.collision.samples import hull, solids
from tests.naive import distance as naive

from kinemorph.collision.queries.core_rays import cast_all_at_core, core_cast, core_closest_point, locate_points
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.spatial.pose import Pose

BOX = Polyhedron.box((2.0, 2.0, 2.0))


@pytest.mark.lane
def test_a_ray_meets_a_box() -> None:
    hit = core_cast(BOX, 0.0, (5.0, 0.3, -0.2), (-2.0, 0.0, 0.0))
    assert hit is not None
    assert hit.distance == pytest.approx(4.0)
    assert hit.point == pytest.approx((1.0, 0.3, -0.2))
    assert hit.normal == pytest.approx((1.0, 0.0, 0.0))


@pytest.mark.lane
def test_a_ray_misses_what_is_behind_beside_or_too_far() -> None:
    assert core_cast(BOX, 0.0, (5.0, 0.0, 0.0), (1.0, 0.0, 0.0)) is None
    assert core_cast(BOX, 0.0, (5.0, 1.5, 0.0), (-1.0, 0.0, 0.0)) is None
    assert core_cast(BOX, 0.0, (5.0, 0.0, 0.0), (-1.0, 0.0, 0.0), longest=3.9) is None
    assert core_cast(BOX, 0.0, (5.0, 0.0, 0.0), (0.0, 1.0, 0.0)) is None


def test_a_ray_meets_a_sphere_and_a_capsule() -> None:
    hit = core_cast(Polyhedron.point(), 0.5, (2.0, 0.3, 0.0), (-1.0, 0.0, 0.0))
    assert hit is not None
    assert hit.distance == pytest.approx(2.0 - 0.4)
    assert hit.normal == pytest.approx((0.8, 0.6, 0.0))
    hit = core_cast(Polyhedron.segment(2.0), 0.5, (2.0, 0.3, 0.7), (-1.0, 0.0, 0.0))
    assert hit is not None
    assert hit.distance == pytest.approx(2.0 - 0.4)
    assert hit.normal == pytest.approx((0.8, 0.6, 0.0))


def test_rays_against_hulls_agree_with_half_spaces(rng: np.random.Generator) -> None:
    for n in (4, 20, 300):
        core = hull(rng, n, (1.0, 0.7, 0.4))
        origins = rng.normal(size=(400, 3))
        origins *= 2.0 / np.linalg.norm(origins, axis=1)[:, None]
        directions = 0.6 * rng.normal(size=(400, 3)) - origins
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        t, normals = np.zeros(400), np.zeros((400, 3))
        cast_all_at_core(core.address, 0.0, origins, directions, math.inf, t, normals)
        speed = directions @ core.faces["normal"].T
        when = (core.faces["offset"] - origins @ core.faces["normal"].T) / speed
        enters = np.where(speed < 0.0, when, -np.inf).max(axis=1)
        leaves = np.where(speed > 0.0, when, np.inf).min(axis=1)
        clear = np.abs(leaves - enters) > 1e-9  # what just grazes may be either
        expected = np.where(enters < leaves, enters, np.inf)
        assert np.isfinite(expected).sum() > 50
        np.testing.assert_allclose(t[clear], expected[clear], atol=1e-9)


def test_points_agree_with_brute_force(rng: np.random.Generator) -> None:
    for core in solids(rng, (4, 12, 60)):
        points = rng.normal(size=(100, 3)) * 0.7
        distances, normals = np.zeros(100), np.zeros((100, 3))
        locate_points(core.address, 0.0, points, distances, normals)
        for x, d in zip(points, distances, strict=True):
            if d < 0.0:
                expected = (core.faces["normal"] @ x - core.faces["offset"]).max()
            else:
                expected = naive.distance(Polyhedron.point(), core, np.eye(3), -x)
            assert d == pytest.approx(expected, abs=1e-9)


@pytest.mark.lane
def test_a_point_query_names_the_closest_surface() -> None:
    hit = core_closest_point(BOX, 0.25, (0.0, 0.2, 3.0))
    assert hit.distance == pytest.approx(1.75)
    assert hit.point == pytest.approx((0.0, 0.2, 1.25))
    inside = core_closest_point(BOX, 0.0, (0.7, 0.0, 0.0))
    assert inside.distance == pytest.approx(-0.3)
    assert inside.normal == pytest.approx((1.0, 0.0, 0.0))


@pytest.mark.lane
def test_a_point_on_the_core_has_a_normal_that_leads_out(rng: np.random.Generator) -> None:
    """On the axis of a capsule, or on a vertex, an edge or a face of a core with a radius."""
    for core in (Polyhedron.segment(1.0), BOX, Polyhedron.polygon([(0, 0, 0), (1, 0, 0), (0, 1, 0)])):
        places = [row["x"] for row in core.vertices]
        places += [0.3 * core.points[e["tail"]] + 0.7 * core.points[e["head"]] for e in core.edges]
        for turned in (core, core.moved(Pose.quaternion(rng.normal(size=4), rng.normal(size=3)))):
            at = places if turned is core else [turned.points[k] for k in range(len(turned.points))]
            for x in at:
                hit = core_closest_point(turned, 0.1, x)
                assert hit.distance == pytest.approx(-0.1, abs=1e-9)
                assert np.linalg.norm(hit.normal) == pytest.approx(1.0)
                assert core_closest_point(turned, 0.1, hit.point).distance == pytest.approx(0.0, abs=1e-9)


@pytest.mark.lane
def test_bad_rays_are_refused() -> None:
    with pytest.raises(ValueError, match="direction is zero"):
        core_cast(BOX, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="not finite"):
        core_closest_point(BOX, 0.0, (math.nan, 0.0, 0.0))
