"""Convex hulls: all points inside, coplanar facets merged, degenerate input refused with advice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from tests.robots import load

from kinemorph.geometry import polyhedron
from kinemorph.geometry.hull import hull_faces
from kinemorph.geometry.mass import mass_properties
from kinemorph.geometry.meshes.mesh import load_mesh
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import ShapeKind

GRID = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 6)] * 3), axis=-1).reshape(-1, 3)


def counts(core):
    return len(core.vertices), len(core.edges), len(core.faces)


def turned(points, seed=3):
    return points @ Rotation.random(random_state=seed).as_matrix().T


def sphere(n, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def outside(core, points):
    """How far points are above the planes, in sizes of the core."""
    return (points @ core.faces["normal"].T - core.faces["offset"]).max() / core.radius_bound


# --------------------------------------------------------------------------------------------------------- merging


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_a_grid_is_a_box(scale, shift):
    core = Polyhedron.hull(scale * (turned(GRID) + shift))
    assert counts(core) == (8, 12, 6)
    assert mass_properties(core).volume == pytest.approx(scale**3, rel=1e-12)
    np.testing.assert_allclose(core.edges["length"], scale, rtol=1e-12)


def test_facets_that_are_nearly_coplanar_are_one_face():
    noisy = turned(GRID) + np.random.default_rng(0).uniform(-1e-8, 1e-8, GRID.shape)
    assert counts(Polyhedron.hull(noisy, flat=1e-7)) == (8, 12, 6)
    assert len(Polyhedron.hull(noisy, flat=0.0).faces) > 50
    rounded = turned(GRID).astype(np.float32)
    assert counts(Polyhedron.hull(rounded, flat=1e-6)) == (8, 12, 6)


def test_a_prism_keeps_its_polygons():
    prism = Polyhedron.prism(1.0, 2.0, 50)
    core = Polyhedron.hull(turned(prism.points))
    assert counts(core) == counts(prism) == (100, 150, 52)
    assert sorted(core.faces["count"])[-2:] == [50, 50]


def test_duplicates_and_points_inside_change_nothing():
    points = sphere(50)
    core = Polyhedron.hull(points)
    crowd = np.vstack([points, points, points * 0.5, -0.0 * points])
    np.testing.assert_array_equal(Polyhedron.hull(crowd).points, core.points)


def test_a_hull_is_its_own_hull():
    core = Polyhedron.hull(sphere(200))
    again = Polyhedron.hull(core.points)
    np.testing.assert_array_equal(again.points, core.points)
    assert counts(again) == counts(core)


@pytest.mark.parametrize("n", [4, 8, 64, 2048])
def test_hull_agrees_with_qhull(n):
    points = sphere(n)
    core, peer = Polyhedron.hull(points), ConvexHull(points)
    assert mass_properties(core).volume == pytest.approx(peer.volume, rel=1e-12)
    assert len(core.vertices) == len(peer.vertices)


# ---------------------------------------------------------------------------------------------------------- torture


def clouds(rng):
    """Points that are hard on a hull, one kind after the other."""
    yield rng.integers(-3, 4, size=(rng.integers(12, 200), 3)).astype(float)
    yield rng.normal(size=(rng.integers(4, 300), 3))
    yield Polyhedron.prism(1.0, 1.0, int(rng.integers(3, 60))).points
    yield np.repeat(rng.normal(size=(20, 3)), 3, axis=0) + 1e-12 * rng.normal(size=(60, 3))
    yield rng.normal(size=(50, 3)) * 10.0 ** rng.uniform(-3.0, 0.0, 3)
    yield rng.normal(size=(200, 3)).round(1)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(-16.0, -5.0),  # noise
    st.floats(-12.0, -6.0),  # flat
    st.floats(-4.0, 4.0),  # scale
    st.booleans(),
)
def test_any_cloud_has_a_sound_hull(seed, noise, flat, scale, single):
    rng = np.random.default_rng(seed)
    for cloud in clouds(rng):
        points = turned(cloud, seed) + 10.0**noise * rng.normal(size=cloud.shape)
        points = 10.0**scale * (points.astype(np.float32).astype(float) if single else points)
        core = Polyhedron.hull(points, 10.0**flat)  # checks that it is convex
        v, e, f = counts(core)
        assert v - e + f == 2
        assert core.vertices["count"].min() >= 3
        assert core.faces["count"].min() >= 3
        assert outside(core, points) < 30.0 * 10.0**flat + 1e-8


def test_every_attempt_is_a_polyhedron():
    noisy = turned(GRID) + np.random.default_rng(0).uniform(-1e-8, 1e-8, GRID.shape)
    faces = [len(Polyhedron.of_faces(*attempt).faces) for attempt in hull_faces(noisy, flat=1e-7)]
    assert len(faces) == 4
    assert 6 == faces[0] < faces[1] < min(faces[2:])


def test_faces_that_would_tilt_are_not_merged():
    # The noise is about as large as what is flat: a part of a lid merges into thin faces with planes that are far off.
    rng = np.random.default_rng(7)
    for k in range(10):
        prism = turned(Polyhedron.prism(1.0, 1.0, 80).points, k)
        noisy = prism + 2e-8 * rng.normal(size=prism.shape)
        assert outside(Polyhedron.hull(noisy, flat=2e-8), noisy) < 5e-7


@pytest.mark.parametrize("spoilt", [0, 1, 4])
def test_an_attempt_that_fails_is_followed_by_the_next(monkeypatch, spoilt):
    # A face that turns the wrong way stands for whatever may go wrong in Qhull.
    def attempts(*arguments):
        for k, (corners, loops) in enumerate(hull_faces(*arguments)):
            yield (corners, loops) if k >= spoilt else (-corners, loops)

    monkeypatch.setattr(polyhedron, "hull_faces", attempts)
    if spoilt == 4:
        with pytest.raises(ValueError, match="try another flat"):
            Polyhedron.hull(GRID)
    else:
        assert counts(Polyhedron.hull(GRID)) == (8, 12, 6)


def test_needles_and_plates():
    for stretch in ((1.0, 1e-3, 1e-6), (1.0, 1.0, 1e-7), (1e-6, 1e-6, 1.0)):
        core = Polyhedron.hull(sphere(100) * stretch)
        assert outside(core, sphere(100) * stretch) < 1e-8


def test_a_million_points():
    points = np.random.default_rng(0).normal(size=(1_000_000, 3))
    core = Polyhedron.hull(points)
    assert len(core.vertices) < 200
    assert outside(core, points[::100]) < 1e-12


def test_too_many_corners_are_refused_and_most_thins_them():
    points = sphere(80_000)
    with pytest.raises(ValueError, match="more than 65536 vertices; pass max_vertices=1024"):
        Polyhedron.hull(points)
    core = Polyhedron.hull(points, max_vertices=300)
    assert 250 <= len(core.vertices) <= 300
    assert outside(core, points) < 0.03
    assert len(Polyhedron.hull(sphere(50), max_vertices=300).vertices) == 50


def test_hulls_of_a_robot():
    meshes = [s for shapes in load("panda_description/panda").shapes for s in shapes if s.kind is ShapeKind.MESH]
    assert len(meshes) > 10
    for shape in meshes[:12]:
        core, _ = core_of(shape)
        assert shape.path is not None
        assert outside(core, load_mesh(shape.path, shape.size).vertices) < 1e-7


# -------------------------------------------------------------------------------------------------------- bad input


LINE = np.outer(np.linspace(0.0, 2.0, 20), (1.0, 2.0, 3.0)) + 5.0
SHEET = turned(GRID[GRID[:, 2] == 0.5] * 3.0)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((0, 3)), "there are no points"),
        (np.ones((7, 3)), r"only one place.*Polyhedron\.point"),
        (LINE, r"20 points are on one line.*Polyhedron\.segment"),
        (SHEET, r"36 points are flat.*give it a thickness.*Polyhedron\.polygon"),
        (GRID[:2], "2 points are on one line"),
        (sphere(3), "3 points are flat"),
        (np.vstack([GRID, [(0.0, np.nan, 0.0)]]), r"point 216 is \[0.0, nan, 0.0\] \(1 of 217"),
        (np.vstack([[(np.inf, 0.0, 0.0)], GRID]), "point 0 is"),
        (GRID[:, :2], r"got shape \(216, 2\)"),
        (np.zeros(3), r"got shape \(3,\)"),
        ([["a", "b", "c"]], "must be an array of real numbers"),
        (np.sign(GRID) * 1.5e308, "an infinite size"),
    ],
)
def test_points_without_a_hull_are_refused(points, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Polyhedron.hull(points)


def test_bad_options():
    for most in (3, 10**6):
        with pytest.raises(ValueError, match=f"max_vertices is {most}"):
            Polyhedron.hull(GRID, max_vertices=most)
    for flat in (-1e-9, 0.1, np.nan):
        with pytest.raises(ValueError, match="flat is"):
            Polyhedron.hull(GRID, flat=flat)
