"""V-Clip and depths against brute force, and against what is known."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.collision.samples import awkward, evaluated, hull, rotations
from tests.naive import distance as naive

from kinemorph.collision.narrow.core_pair import Relation
from kinemorph.collision.narrow.core_pairs import CorePairs
from kinemorph.geometry.polyhedron import Polyhedron

pytestmark = pytest.mark.quick

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
BOX = Polyhedron.box((1.0, 1.0, 1.0))
I3 = np.eye(3)


@pytest.mark.lane
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_degenerate_pairs_agree_with_brute_force(rng: np.random.Generator, scale: float) -> None:
    """Parallel faces and edges, shared vertices, needles, flat cores; exactly so, and turned and shifted a little."""
    n = 600 if JIT else 60
    cores = [core.scaled(scale) if len(core.vertices) > 1 else core for core in awkward(rng)]
    i, j = rng.integers(len(cores), size=(2, n))
    cube = Rotation.create_group("O").as_matrix()
    turn = Rotation.from_rotvec(rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-16.0, -1.0, (n, 1))).as_matrix()
    shift = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-16.0, -1.0, (n, 1))
    R = cube[rng.integers(24, size=n)]
    R = np.where(rng.random((n, 1, 1)) < 0.5, R, R @ turn)
    p = scale * (0.5 * rng.integers(-4, 5, size=(n, 3)) + np.where(rng.random((n, 1)) < 0.5, 0.0, shift))
    pairs = evaluated([(cores[a], cores[b]) for a, b in zip(i, j, strict=True)], R, p)
    assert pairs["rough"].sum() == 0
    for k, pair in enumerate(pairs):
        first, second = cores[i[k]], cores[j[k]]
        expected = naive.distance(first, second, R[k], p[k])
        if len(first.faces) + len(second.faces):
            depth, _ = naive.depth(first, second, R[k], p[k])
            if depth > 0.0 and pair["distance"] < 1e-8 * scale:
                expected = -depth
        assert pair["distance"] == pytest.approx(expected, abs=1e-8 * scale)
        np.testing.assert_allclose(pair["x2"] - pair["x1"], pair["distance"] * pair["normal"], atol=1e-8 * scale)
        assert np.linalg.norm(pair["normal"]) == pytest.approx(1.0)


def test_copies_in_almost_the_same_place_and_shared_vertices(rng: np.random.Generator) -> None:
    """A body against itself, moved by next to nothing, or so that a vertex of each is in the same place."""
    for kind in range(40):
        core = [
            hull(rng, 20),
            Polyhedron.hull(rng.integers(-3, 4, size=(40, 3)).astype(float)),
            Polyhedron.hull(rng.normal(size=(30, 3)) * (1.0, 1.0, 1e-4), flat=1e-13),
            Polyhedron.prism(0.5, 1.0, int(rng.integers(3, 40))),
        ][kind % 4]
        nothing = rng.normal(size=(4, 3)) * 10.0 ** rng.uniform(-15.0, -1.0, (4, 1))
        shared = core.points[rng.integers(len(core.points), size=4)] - core.points[rng.integers(len(core.points))]
        for pair, p in zip(evaluated([(core, core)] * 8, [I3] * 8, q := [*nothing, *shared]), q, strict=True):
            depth, _ = naive.depth(core, core, I3, p)
            expected = -depth if depth > 0.0 else naive.distance(core, core, I3, p)
            assert pair["distance"] == pytest.approx(expected, abs=3e-9 * core.radius_bound)


@pytest.mark.lane
def test_boxes_face_to_face() -> None:
    pair = evaluated([(BOX, BOX)], I3, [(1.25, 0.3, 0.1)])[0]
    assert pair["distance"] == pytest.approx(0.25)
    np.testing.assert_allclose(pair["normal"], (1.0, 0.0, 0.0), atol=1e-12)
    assert pair["x1"][0] == pytest.approx(0.5)


@pytest.mark.lane
def test_depth_of_boxes_and_the_way_out() -> None:
    pair = evaluated([(BOX, BOX)], I3, [(0.1, -0.8, 0.2)])[0]
    assert pair["relation"] == Relation.DEEP
    assert pair["distance"] == pytest.approx(-0.2)
    np.testing.assert_allclose(pair["normal"], (0.0, -1.0, 0.0), atol=1e-12)
    moved = evaluated([(BOX, BOX)], I3, [np.array((0.1, -0.8, 0.2)) - pair["distance"] * pair["normal"]])[0]
    assert moved["distance"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.lane
def test_radii_come_off_the_distance() -> None:
    """A sphere beside a capsule: 2 m between the cores, 0.5 and 0.25 m of radius."""
    pair = evaluated([(Polyhedron.point(), Polyhedron.segment(1.0))], I3, [(2.0, 0.0, 0.25)], (0.5, 0.25))[0]
    assert pair["distance"] == pytest.approx(1.25)
    np.testing.assert_allclose(pair["x1"], (0.5, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(pair["x2"], (1.75, 0.0, 0.0), atol=1e-12)


def test_crossing_capsules_and_concentric_spheres_have_a_normal() -> None:
    segment, point = Polyhedron.segment(1.0), Polyhedron.point()
    across = Rotation.from_euler("x", 90.0, degrees=True).as_matrix()
    pairs = evaluated([(segment, segment), (point, point)], [across, I3], np.zeros((2, 3)), 0.1)
    np.testing.assert_allclose(pairs["distance"], -0.2, atol=1e-9)
    np.testing.assert_allclose(np.abs(pairs["normal"][0]), (1.0, 0.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(pairs["normal"], axis=1), 1.0)


def test_depth_is_the_least_over_all_axes(rng: np.random.Generator) -> None:
    n = 200
    cores = [(hull(rng, 16), hull(rng, 12, 0.5)) for _ in range(n)]
    R, p = rotations(rng, n), rng.normal(size=(n, 3)) * 0.3
    pairs = evaluated(cores, R, p)
    for pair, (first, second), turn, shift in zip(pairs, cores, R, p, strict=True):
        depth, _ = naive.depth(first, second, turn, shift)
        assert pair["distance"] == pytest.approx(-depth if depth > 0.0 else pair["distance"], abs=1e-8)
        assert (pair["distance"] < 0.0) == (depth > 0.0)


def test_following_a_motion_is_as_good_as_starting_afresh(rng: np.random.Generator) -> None:
    """Through contact, deep overlap and out again; and a step of a small motion takes hardly any walking."""
    cores = [(hull(rng, 200), hull(rng, 100)), (BOX, BOX), (Polyhedron.prism(0.5, 1.0), hull(rng, 30))]
    moving = CorePairs(cores)
    pairs = moving.rows
    steps = []
    for t in np.linspace(-2.5, 2.5, 800):
        pairs["R"] = Rotation.from_rotvec((t, 0.4 * t * t, 1.0 - t)).as_matrix().reshape(9)
        pairs["p"] = (t, 0.2, 0.1 * t)
        moving.update()
        again = CorePairs(cores)
        fresh = again.rows
        fresh["R"], fresh["p"] = pairs["R"], pairs["p"]
        again.update()
        np.testing.assert_allclose(pairs["distance"], fresh["distance"], atol=1e-9)
        steps.append(pairs["steps"][pairs["relation"] == Relation.APART])
    assert np.concatenate(steps).mean() < 2.0
    assert pairs["fallbacks"].sum() == 0


def test_swapped_pairs_give_the_mirrored_answer(rng: np.random.Generator) -> None:
    n = 300
    cores = [(hull(rng, 20), hull(rng, 30, 0.7)) for _ in range(n)]
    R, p = rotations(rng, n), rng.normal(size=(n, 3))
    there = evaluated(cores, R, p)
    back = evaluated([(b, a) for a, b in cores], R.transpose(0, 2, 1), -np.einsum("kji,kj->ki", R, p))
    np.testing.assert_allclose(there["distance"], back["distance"], atol=1e-9)


@pytest.mark.lane
def test_no_number_makes_it_hang() -> None:
    """NaN, infinity and matrices that are no rotations get some answer, and soon; the next good pose a good one."""
    two = CorePairs([(BOX, BOX)] * 5)
    pairs = two.rows
    pairs["p"] = [(np.nan, 0.0, 0.0), (np.inf, 0.0, 0.0), (0.3, 0.2, 0.1), (0.0, 0.0, 0.0), (1e300, 0.0, 0.0)]
    pairs["R"][2] = 0.0
    pairs["R"][3] = np.nan
    with np.errstate(all="ignore"):
        for _ in range(3):
            two.update()
    for shift in (0.0, 0.75):
        pairs["R"], pairs["p"] = np.eye(3).reshape(9), (0.5 + shift, 0.1, 0.2)
        two.update()
        np.testing.assert_allclose(pairs["distance"], shift - 0.5, atol=1e-9)


def test_a_small_box_on_a_huge_ground() -> None:
    ground, box = Polyhedron.box((2e3, 2e3, 1e2)), Polyhedron.box((0.1, 0.1, 0.1))
    z = np.array([1e-3, 1e-5, 0.0, -1e-5, -1e-3])
    R = Rotation.from_euler("z", 0.3).as_matrix()
    pairs = evaluated([(ground, box)] * 5, [R] * 5, [(300.0, 500.0, 50.05 + h) for h in z])
    np.testing.assert_allclose(pairs["distance"], z, atol=1e-9)
    np.testing.assert_allclose(pairs["normal"], [(0.0, 0.0, 1.0)] * 5, atol=1e-9)


def test_bad_radii_are_refused() -> None:
    for radius in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"radii .* must be finite and not negative"):
            CorePairs([(BOX, BOX)], radius)
