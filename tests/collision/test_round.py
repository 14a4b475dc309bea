"""Cylinders and cones are the true solids, not the prisms that V-Clip walks on."""

import numpy as np
import pytest
from tests.collision.round_oracle import OTHERS, ROUND, apart, best_apart, outside, placed, turns

import kinemorph as km
from kinemorph.collision.narrow.core_pairs import CorePairs
from kinemorph.geometry.polyhedron import Polyhedron

MANY = 400  # poses of each pair of shapes
PROVED = 1e-3  # of a depth: no way apart is shorter by more


def poses(rng, count):
    p = rng.normal(size=(count, 3))
    return turns(rng, count), p / np.linalg.norm(p, axis=1, keepdims=True)


def checked(a, b, pairs):
    """What holds of every answer: the points are as far apart as it says, and so are the solids along the normal."""
    rows = pairs.rows
    R, p, n, d = rows["R"].reshape(-1, 3, 3), rows["p"], rows["normal"], rows["distance"]
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(rows["x2"] - rows["x1"], d[:, None] * n, atol=1e-14)
    np.testing.assert_allclose(apart(a, b, R, p, n[:, None])[:, 0], d, atol=1e-11)
    away = np.maximum(outside(a, rows["x1"]), outside(b, np.einsum("kji,kj->ki", R, rows["x2"] - p)))
    return R, p, n, d, away


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("solid", ROUND)
def test_solids_that_are_apart_have_points_on_both_that_are_as_close_as_their_normal_allows(solid, other, rng):
    """Which proves it: no two points are nearer than what separates, and these are no farther."""
    a, b = ROUND[solid], OTHERS[other]
    r = a.size[0]
    *_, away = checked(a, b, placed(a, b, *poses(rng, MANY), rng.uniform(0.0, 0.05 * r, MANY)))
    assert away.max() < 1e-9


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("solid", ROUND)
def test_solids_that_overlap_a_little_go_apart_the_shortest_way(solid, other, rng):
    a, b = ROUND[solid], OTHERS[other]
    r, count = a.size[0], MANY // 8
    R, p, n, d, away = checked(a, b, placed(a, b, *poses(rng, count), rng.uniform(-0.05 * r, 0.0, count)))
    worse = (best_apart(a, b, R, p, rng, n) - d) / r
    assert np.quantile(worse, 0.9) < 1e-9  # a rim that an edge cuts has several ways out, of which one may be missed
    assert (worse * r <= 1.01 * PROVED * np.abs(d) + 1e-9 * r).all()  # that is hardly shorter
    assert np.quantile(away, 0.95) < 1e-9 * r


@pytest.mark.parametrize("other", ["box", "plate", "ball", "tin", "disc", "hat"])
@pytest.mark.parametrize("solid", ["can", "cone"])
def test_solids_that_overlap_deeply_go_apart_the_shortest_way_to_within_a_thousandth_of_it(solid, other, rng):
    a, b = ROUND[solid], OTHERS[other]
    count = MANY // 8
    R, p, n, d, _ = checked(a, b, placed(a, b, *poses(rng, count), rng.uniform(-0.1, -0.005, count)))
    assert ((best_apart(a, b, R, p, rng, n) - d) <= 1.01 * PROVED * np.abs(d) + 1e-9 * a.size[0]).all()


def test_a_tip_in_a_corner_goes_out_beside_it(rng):
    """The way from one to the other is the longest around, though their points lie upon each other along it."""
    a, b = ROUND["cone"], OTHERS["plate"]
    for turn in turns(rng, 20):
        corner = turn @ (0.3, 0.25, 0.01)
        pairs = placed(a, b, turn[None], np.array([[0.0, 0.0, 0.2]]) - 1.2 * corner)
        for share in (0.6, 0.9, 0.97):  # as if it had come in along its corner
            pairs.rows["p"] = (0.0, 0.0, 0.2) - share * corner
            pairs.update()
            R, p, n, d, _ = checked(a, b, pairs)
            best = best_apart(a, b, R, p, rng, n)
            assert (best - d <= 1.01 * PROVED * np.abs(d) + 1e-9).all()


@pytest.mark.parametrize("solid", ROUND)
def test_distances_are_those_of_coal(solid, rng):
    a, b = ROUND[solid], OTHERS["box"]
    pairs = placed(a, b, *poses(rng, 100))
    coal = pytest.importorskip("coal")
    ask, answer = coal.DistanceRequest(), coal.DistanceResult()
    ask.gjk_tolerance, ask.gjk_max_iterations = 1e-9, 1000
    one, other = (coal.Cone if a.kind == "cone" else coal.Cylinder)(*a.size), coal.Box(*b.size)
    for row in pairs.rows:
        if row["distance"] > 0.01:
            at = coal.Transform3s(row["R"].reshape(3, 3), row["p"])
            theirs = coal.distance(one, coal.Transform3s(), other, at, ask, answer)
            assert theirs == pytest.approx(row["distance"], abs=1e-5)


@pytest.mark.parametrize("solid", ROUND)
def test_over_a_plane_the_lowest_point_of_the_rim_answers(solid, rng):
    shape = ROUND[solid]
    r, half = shape.size[0], 0.5 * shape.size[1]
    pair = km.Pair(km.HalfSpace(), shape)
    for R, height in zip(turns(rng, 100), rng.uniform(-0.05, 0.05, 100) * r, strict=True):
        aside, tip = np.hypot(R[2, 0], R[2, 1]), 0.0 if solid == "cone" else r
        low = max(r * aside + half * R[2, 2], tip * aside - half * R[2, 2])
        at = km.Pose((0.3, 0.2, low + height), R)
        d = pair.distance(None, at)
        assert d.distance == pytest.approx(height, abs=1e-14)
        assert outside(shape, R.T @ (d.point_b - at.position)) < 1e-14
        deepest = min(pair.contacts(None, at, margin=0.1 * r), key=lambda c: c.distance)
        assert deepest.distance == pytest.approx(height, abs=1e-14)
        np.testing.assert_allclose(deepest.point_b, d.point_b, atol=1e-9)


@pytest.mark.parametrize("ground", [km.HalfSpace(), km.Shape.box((4.0, 4.0, 1.0), km.Pose((0, 0, -0.5)))])
def test_a_cylinder_that_lies_touches_with_the_two_ends_of_one_line_under_one_name(ground):
    pair = km.Pair(ground, ROUND["can"])
    names = set()
    for angle in np.linspace(0.0, 1.0, 41):  # it rolls
        at = km.Pose.rpy(np.pi / 2, 0, 0, (0.1 * angle, 0, 0.1)) @ km.Pose.rpy(0, 0, angle)
        contacts = pair.contacts(None, at, margin=1e-6)
        names.add(tuple(sorted(c.id for c in contacts)))
        ends = np.array(sorted(c.point_b.tolist() for c in contacts))
        np.testing.assert_allclose(ends, [(0.1 * angle, y, 0.0) for y in sorted(ends[:, 1])], atol=1e-14)
        np.testing.assert_allclose(np.sort(ends[:, 1]), (-0.15, 0.15), atol=1e-14)
    assert len(names) == 1


def test_a_disc_that_leans_keeps_the_names_of_its_contacts_as_it_goes_round():
    pair = km.Pair(km.Shape.box((4.0, 4.0, 1.0), km.Pose((0, 0, -0.5))), ROUND["coin"])
    names = set()
    for angle in np.linspace(0.1, 6.0, 40):
        lean = km.Pose.rpy(0, 0, angle) @ km.Pose.rpy(0.01, 0, 0) @ km.Pose.rpy(0, 0, -2.0 * angle)
        at = km.Pose((0, 0, 0.2 * np.sin(0.01) + 0.01 * np.cos(0.01)), lean.rotation)
        contacts = pair.contacts(None, at, margin=0.01)
        assert min(c.distance for c in contacts) == pytest.approx(0.0, abs=1e-14)
        names.add(tuple(sorted(c.id for c in contacts)))
    assert len(names) == 1


def test_rays_see_the_round_side(rng):
    shape = ROUND["can"]
    for angle in rng.uniform(0.0, 2.0 * np.pi, 20):
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        hit = km.cast(shape, None, out, -out)
        assert hit.distance == pytest.approx(0.9, abs=1e-12)
        np.testing.assert_allclose(hit.normal, out, atol=1e-12)
        assert km.closest_point(shape, None, 0.06 * out).distance == pytest.approx(-0.04, abs=1e-15)


@pytest.mark.parametrize("solid", ROUND)
def test_the_closest_point_is_where_a_ball_of_no_size_would_touch(solid, rng):
    shape = ROUND[solid]
    for x in rng.normal(size=(200, 3)) * shape.size[0]:
        hit = km.closest_point(shape, None, x)
        assert max(hit.distance, 0.0) == pytest.approx(float(outside(shape, x)), abs=1e-14)
        np.testing.assert_allclose(np.subtract(x, hit.point), hit.distance * np.array(hit.normal), atol=1e-14)


def test_a_prism_is_still_a_prism():
    prism = Polyhedron.prism(0.1, 0.3, 8)
    pairs = CorePairs([(prism, Polyhedron.point())])
    pairs.rows["p"] = np.array([np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0])
    assert pairs.update()["distance"][0] == pytest.approx(1.0 - 0.1 * np.cos(np.pi / 8), abs=1e-15)
