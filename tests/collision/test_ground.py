"""Bodies on the ground: distances against all triangles, and normals that seams do not spoil."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.collision.samples import evaluated, hull, rotations

import kinemorph as km
from kinemorph.geometry.polyhedron import Polyhedron

pytestmark = pytest.mark.quick

BOX = Polyhedron.box((1.0, 1.0, 1.0))
BALL = (Polyhedron.point(), 0.3)
CAPSULE = (Polyhedron.segment(1.0), 0.2)
LYING = Rotation.from_euler("y", 90.0, degrees=True)
FLAT = km.HeightField(np.zeros((21, 21)), (10.0, 10.0))
FLOORS = {
    "half-space": km.HalfSpace(),
    "field": FLAT,
    "soup": km.Terrain(FLAT.mesh),
    "almost flat": km.Terrain(
        km.Mesh(FLAT.mesh.vertices + 1e-8 * np.random.default_rng(0).normal(size=(441, 3)), FLAT.mesh.faces)
    ),
}


def folded(profile: list[tuple[float, float]]) -> km.Terrain:
    """The ground with this outline (x, z), the same all along y."""
    ys = np.linspace(-3.0, 3.0, 9)
    points = np.array([(x, y, z) for x, z in profile for y in ys])
    a = (np.arange(len(profile) - 1)[:, None] * 9 + np.arange(8)).ravel()
    faces = np.vstack([np.column_stack([a, a + 9, a + 10]), np.column_stack([a, a + 10, a + 1])])
    return km.Terrain(km.Mesh(points, faces.astype(np.int32)))


STEP = folded([(-3, 0), (-1, 0), (0, 0), (0, 0.5), (0, 1), (1, 1), (3, 1)])


def turned(rng: np.random.Generator, tilt: float) -> Rotation:
    """Any direction around the z axis, and tilted a little."""
    return Rotation.from_rotvec(rng.normal(size=3) * tilt) * Rotation.from_rotvec((0.0, 0.0, rng.uniform(0.0, 7.0)))


def lowest(shape: Any, turn: Rotation) -> float:
    core, radius = shape if isinstance(shape, tuple) else (shape, 0.0)
    return float((core.points @ turn.as_matrix().T)[:, 2].min()) - radius


@pytest.mark.parametrize("kind", ["soup", "field"])
def test_distances_are_those_of_all_triangles(rng: np.random.Generator, kind: str) -> None:
    field = km.HeightField(0.3 * rng.normal(size=(9, 10)), (6.0, 8.0))
    ground = field if kind == "field" else km.Terrain(field.mesh)
    triangles = [Polyhedron.polygon(corners) for corners in field.mesh.vertices[field.mesh.faces]]
    apart = 0
    for core, radius in ((BOX, 0.0), (hull(rng, 40), 0.1), BALL, CAPSULE):
        pair = km.Pair(ground, (core, radius))
        for R in rotations(rng, 20):
            p = rng.uniform((-4.0, -4.0, 0.0), (4.0, 4.0, 4.0))
            rows = evaluated([(t, core) for t in triangles], np.tile(R, (len(triangles), 1, 1)), p, (0.0, radius))
            best = rows[rows["distance"].argmin()]
            found = pair.distance(None, km.Pose(p, R))
            if best["distance"] + radius < 1e-9 or found.distance < 0.0:  # cores in each other or in the ground
                assert found.distance < 1e-9
                continue
            apart += 1
            assert found.distance == pytest.approx(best["distance"], abs=1e-9)
            np.testing.assert_allclose(found.point_b - found.point_a, found.distance * found.normal, atol=1e-9)
            np.testing.assert_allclose(found.point_b, best["x2"], atol=1e-6)
    assert apart > 30


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("shape", [BOX, BALL, CAPSULE, Polyhedron.prism(0.4, 1.0)], ids=["box", "ball", "rod", "can"])
def test_seams_of_a_flat_floor_are_not_felt(rng: np.random.Generator, floor: str, shape: Any) -> None:
    """Wherever it lies, hardly tilted, above the floor or in it: all normals are up, and it has all of its points."""
    pair = km.Pair(FLOORS[floor], shape)
    for _ in range(60):
        turn = turned(rng, 10.0 ** rng.uniform(-9.0, -3.0))
        turn = turn * LYING if shape is CAPSULE else turn
        gap = rng.choice([-2e-2, -1e-3, 0.0, 1e-5, 1e-3])
        pose = km.Pose((*rng.uniform(-3.0, 3.0, 2), gap - lowest(shape, turn)), turn.as_matrix())
        contacts = pair.contacts(None, pose, margin=0.01)
        assert len(contacts) == {BALL: 1, CAPSULE: 2}.get(shape, 4) if isinstance(shape, tuple) else 4
        assert min(c.normal[2] for c in contacts) > 1.0 - 1e-9
        assert min(c.distance for c in contacts) == pytest.approx(gap, abs=2e-7)
        assert len({c.id for c in contacts}) == len(contacts)
        assert pair.distance(None, pose).distance == pytest.approx(gap, abs=2e-7)


def test_a_box_on_a_step_is_not_pushed_off_it(rng: np.random.Generator) -> None:
    """Its lower side cuts the wall below the rim as well: that is no reason to push sideways."""
    pair = km.Pair(STEP, BOX)
    for _ in range(150):
        turn = turned(rng, 10.0 ** rng.uniform(-9.0, -3.0))
        gap = rng.choice([-2e-2, -1e-3, 0.0, 1e-5, 1e-3])
        pose = km.Pose(
            (rng.uniform(-0.3, 2.0), rng.uniform(-2.0, 2.0), 1.0 + gap - lowest(BOX, turn)), turn.as_matrix()
        )
        contacts = pair.contacts(None, pose, margin=0.01)
        assert len(contacts) >= 3
        assert min(c.normal[2] for c in contacts) > 0.99
        assert min(c.distance for c in contacts) > gap - 0.01


@pytest.mark.lane
@pytest.mark.parametrize("gap", [1e-3, -1e-3])
def test_in_a_corner_the_floor_and_the_wall_carry(gap: float) -> None:
    contacts = km.contacts(STEP, None, BOX, km.Pose((-0.5 - gap, 0.1, 0.5 + gap)), margin=0.005)
    assert sorted(tuple(c.normal.round(6) + 0.0) for c in contacts) == 4 * [(-1.0, 0.0, 0.0)] + 4 * [(0.0, 0.0, 1.0)]
    np.testing.assert_allclose([c.distance for c in contacts], gap, atol=1e-9)


@pytest.mark.lane
def test_ridges_and_valleys() -> None:
    ridge, valley = folded([(-3, -1.5), (0, 0), (3, -1.5)]), folded([(-3, 1.5), (0, 0), (3, 1.5)])
    (top,) = km.contacts(ridge, None, BALL, km.Pose((0.0, 0.1, 0.3)), margin=0.01)
    np.testing.assert_allclose(top.normal, (0.0, 0.0, 1.0), atol=1e-9)
    across = km.contacts(ridge, None, BOX, km.Pose((0.1, 0.1, 0.499)), margin=0.01)
    assert {tuple(c.normal.round(6) + 0.0) for c in across} == {(0.0, 0.0, 1.0)}
    assert np.ptp([c.point_a[1] for c in across]) == pytest.approx(1.0)  # both ends of what it has of the ridge
    two = km.contacts(valley, None, BALL, km.Pose((0.0, 0.1, 0.3 * np.sqrt(1.25))), margin=0.01)
    assert sorted(c.normal[0].round(4) for c in two) == [-0.4472, 0.4472]


@pytest.mark.lane
def test_what_is_below_a_height_field_is_inside() -> None:
    for z in (0.4, -0.2, -0.7, -20.0):
        found = km.distance(FLAT, None, BOX, km.Pose((0.1, 0.2, z)))
        assert found.distance == pytest.approx(z - 0.5)
        np.testing.assert_allclose(found.normal, (0.0, 0.0, 1.0), atol=1e-9)
        contacts = km.contacts(FLAT, None, BOX, km.Pose((0.1, 0.2, z)))
        np.testing.assert_allclose([c.distance for c in contacts], z - 0.5, atol=1e-9)


@pytest.mark.lane
def test_behind_a_soup_there_is_a_distance_but_no_contact() -> None:
    soup = FLOORS["soup"]
    assert km.distance(soup, None, BOX, km.Pose((0.1, 0.2, -0.8))).distance == pytest.approx(0.3)
    assert km.contacts(soup, None, BOX, km.Pose((0.1, 0.2, -0.8)), margin=0.5) == []


def test_half_spaces_agree_with_a_large_box(rng: np.random.Generator) -> None:
    pose = km.Pose.rpy(0.3, -0.2, 0.5, (0.1, 0.2, 0.3))
    plane = km.HalfSpace(pose.rotation[:, 2], float(pose.rotation[:, 2] @ pose.position))
    slab, at = Polyhedron.box((50.0, 50.0, 10.0)), pose @ km.Pose((0.0, 0.0, -5.0))
    for core, radius in ((hull(rng, 8), 0.0), (hull(rng, 300), 0.1), BALL, CAPSULE):
        for R in rotations(rng, 10):
            where = km.Pose(rng.normal(size=3), R)
            exact = km.distance(plane, None, (core, radius), where)
            expected = km.distance(slab, at, (core, radius), where)
            if expected.distance + radius > 1e-9 or len(core.vertices) > 2:
                assert exact.distance == pytest.approx(expected.distance, abs=1e-8)
                np.testing.assert_allclose(exact.normal, expected.normal, atol=1e-6)


@pytest.mark.parametrize("tilt", [-1e-4, 0.0, 1e-4])
def test_a_hull_lies_on_its_long_edge_whichever_small_face_at_its_ends_faces_the_ground(tilt: float) -> None:
    end = np.array(
        [(0.58, 0.0, 0.0), (0.606, -0.005, 0.0015), (0.609, 0.003, 0.0016), (0.58, 0.1, 0.05), (0.58, -0.1, 0.05)]
    )
    keel = Polyhedron.hull(np.vstack([end, end * (-1, 1, 1), [(0.0, 0.0, 0.3)]]))
    turn = Rotation.from_rotvec((0.0, tilt, 0.0))
    pose = km.Pose((0.0, 0.0, -lowest(keel, turn)), turn.as_matrix())
    slab, at = Polyhedron.box((3.0, 2.0, 1.0)), km.Pose((0.0, 0.0, -0.5))
    for contacts in (
        km.contacts(km.HalfSpace(), None, keel, pose, 5e-4),
        km.contacts(slab, at, keel, pose, 5e-4),
        km.contacts(keel, pose, slab, at, 5e-4),
    ):
        assert sorted(round(float(c.point_b[0]), 3) for c in contacts) == [-0.58, 0.58]
        assert max(c.distance for c in contacts) == pytest.approx(abs(1.16 * tilt), abs=1e-7)


def test_a_body_far_from_the_ground_has_a_distance_too(rng: np.random.Generator) -> None:
    field = km.HeightField(rng.normal(size=(30, 30)), (10.0, 10.0))
    soup = km.Terrain(field.mesh)
    for p in ((0.0, 0.0, 300.0), (40.0, -30.0, 5.0), (-1e4, 0.0, 0.0)):
        expected = km.distance(soup, None, BOX, km.Pose(p))
        assert km.distance(field, None, BOX, km.Pose(p)).distance == pytest.approx(expected.distance)
        assert km.contacts(field, None, BOX, km.Pose(p), margin=0.1) == []


def test_the_ground_may_be_the_second(rng: np.random.Generator) -> None:
    ground, at, where = FLOORS["soup"], km.Pose.rpy(0.3, 0.2, 0.1, (1.0, 2.0, 3.0)), km.Pose((1.0, 2.0, 4.0))
    there, back = km.distance(ground, at, BOX, where), km.distance(BOX, where, ground, at)
    assert there.distance == pytest.approx(back.distance)
    np.testing.assert_allclose(there.normal, -back.normal)
    np.testing.assert_allclose(there.point_a, back.point_b)
    assert there.part_a == back.part_b
    first = km.contacts(ground, at, BOX, where, margin=0.3)
    second = km.contacts(BOX, where, ground, at, margin=0.3)
    assert [c.id for c in first] == [(*c.id[3:], *c.id[:3]) for c in second]


def test_ids_stay_while_a_box_slides_over_seams(rng: np.random.Generator) -> None:
    pair, before = km.Pair(FLAT, BOX), None
    for k in range(50):
        turn = Rotation.from_rotvec(rng.normal(size=3) * 1e-4)
        contacts = pair.contacts(None, km.Pose((0.02 * k, 0.1, 0.5 + 1e-4 * rng.normal()), turn.as_matrix()), 0.01)
        corners = {c.feature_b for c in contacts}
        assert len(corners) == 4
        assert before is None or corners == before
        before = corners


def test_rays_meet_the_ground(rng: np.random.Generator) -> None:
    field = km.HeightField(0.3 * rng.normal(size=(9, 10)), (6.0, 8.0))
    soup, corners = km.Terrain(field.mesh), field.mesh.vertices[field.mesh.faces]
    met = 0
    for _ in range(100):
        o, d = rng.uniform((-4.0, -5.0, 0.5), (4.0, 5.0, 3.0)), rng.normal(size=3)
        d /= np.linalg.norm(d)
        columns = [np.tile(d, (len(corners), 1)), corners[:, 0] - corners[:, 1], corners[:, 0] - corners[:, 2]]
        s = np.linalg.solve(np.stack(columns, axis=-1), (corners[:, 0] - o)[..., None])[..., 0]
        inside = (s[:, 1] >= 0.0) & (s[:, 2] >= 0.0) & (s[:, 1] + s[:, 2] <= 1.0) & (-s[:, 0] >= 0.0)
        expected = (-s[inside, 0]).min() if inside.any() else None
        for ground in (field, soup):
            hit = km.cast(ground, None, o, -d)
            back = km.cast(ground, None, o, d)
            for ray, sign in ((hit, -1.0), (back, 1.0)):
                assert ray is None or ray.normal @ (sign * d) <= 0.0
            if expected is None:
                assert hit is None
            else:
                assert hit is not None
                assert hit.distance == pytest.approx(expected)
                met += 1
    assert met > 20


@pytest.mark.lane
def test_rays_straight_down_on_vertices_and_seams_are_not_lost() -> None:
    for ground in FLOORS.values():
        for x, y in ((0.0, 0.0), (0.5, 0.25), (0.25, 0.25), (-5.0, 5.0), (5.0, -5.0)):
            hit = km.cast(ground, None, (x, y, 2.0), (0.0, 0.0, -3.0))
            assert hit is not None or abs(x) == 5.0
            assert hit is None or hit.distance == pytest.approx(2.0, abs=1e-6)
        assert km.cast(ground, None, (0.1, 0.2, 2.0), (0.0, 0.0, -1.0), longest=1.9) is None
