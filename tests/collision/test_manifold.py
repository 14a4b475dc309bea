"""Contact manifolds: how many points, where, and under which ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.collision.samples import evaluated, hull, rotations

from kinemorph.collision.narrow.features import Feature
from kinemorph.collision.narrow.manifold import (
    MANIFOLD_POINT,
    MANIFOLD_ROWS,
    contact_features,
    contact_id,
    find_manifold_of_first,
    track_first_contact,
)
from kinemorph.geometry.polyhedron import Polyhedron

pytestmark = pytest.mark.quick

BOX = Polyhedron.box((1.0, 1.0, 1.0))
GROUND = Polyhedron.box((20.0, 20.0, 1.0))
I3 = np.eye(3)


def contacts_of(
    first: Polyhedron, second: Polyhedron, R: Any, p: Any, radii: Any = 0.0, margin: float = 0.01, max_contacts: int = 4
) -> tuple[Any, Any]:
    pairs = evaluated([(first, second)], R, [p], radii)
    contacts = np.zeros(MANIFOLD_ROWS, MANIFOLD_POINT)
    count = find_manifold_of_first(pairs, margin, max_contacts, contacts)
    return pairs, contacts[:count]


@pytest.mark.lane
@pytest.mark.parametrize("z", [1.001, 1.0, 0.999])
def test_a_box_stands_on_its_four_corners(z: float) -> None:
    """Above the ground, just on it, and a millimetre deep."""
    pairs, contacts = contacts_of(GROUND, BOX, I3, (0.3, 0.2, z))
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts["distance"], z - 1.0, atol=1e-9)
    np.testing.assert_allclose(contacts["x1"][:, 2], 0.5, atol=1e-9)
    np.testing.assert_allclose(sorted(map(tuple, contacts["x1"][:, :2].round(9))), [(-0.2, -0.3), (-0.2, 0.7), (0.8, -0.3), (0.8, 0.7)])  # fmt: skip  # noqa: E501
    np.testing.assert_allclose(pairs["normal"][0], (0.0, 0.0, 1.0), atol=1e-9)
    for contact in contacts:
        k1, _, k2, _ = contact_features(int(contact["id"]))
        assert (k1, k2) == (Feature.FACE, Feature.VERTEX)


def test_no_corner_of_aligned_boxes_is_lost_to_rounding(rng: np.random.Generator) -> None:
    """Their rims lie upon each other, or beside each other by the last digits."""
    for _ in range(300):
        turn = Rotation.from_rotvec(rng.normal(size=3) * 1e-15).as_matrix()
        _, contacts = contacts_of(BOX, BOX, turn, (*rng.normal(size=2) * 1e-16, 0.7 + 0.3 * rng.random()))
        corners = sorted(map(tuple, contacts["x1"][:, :2].round(6)))
        assert corners == [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]


def test_crossed_boxes_meet_in_eight_points_and_four_of_them_spread() -> None:
    turn = Rotation.from_euler("z", 45.0, degrees=True).as_matrix()
    _, all_of_them = contacts_of(BOX, BOX, turn, (0.0, 0.0, 1.0), max_contacts=MANIFOLD_ROWS)
    assert len(all_of_them) == 8
    assert len(set(all_of_them["id"])) == 8
    _, four = contacts_of(BOX, BOX, turn, (0.0, 0.0, 1.0))
    assert len(four) == 4
    r = four["x1"][:, None] - four["x1"][None]
    gaps = np.linalg.norm(r, axis=-1) + 10.0 * np.eye(4)
    assert gaps.min() > 0.4


def clipped(polygon: Any, by: Any) -> Any:
    """Corners of what two convex polygons share, both counterclockwise."""
    points = list(polygon)
    for a, b in zip(by, np.roll(by, -1, axis=0), strict=True):
        side = np.array([a[1] - b[1], b[0] - a[0]])
        heights = [float(side @ (x - a)) for x in points]
        new = []
        for x, y, h, k in zip(points, points[1:] + points[:1], heights, heights[1:] + heights[:1], strict=True):
            if h >= 0.0:
                new.append(x)
            if h * k < 0.0:
                new.append(x + h / (h - k) * (y - x))
        points = new
    return np.array(points)


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.3, 0.1), (0.7, -0.4), (0.02, 0.95), (1.5, 0.0)])
def test_discs_of_many_sides_meet_in_all_corners_of_what_they_share(shift: tuple[float, float]) -> None:
    """Whether a side is inside the other disc, outside, or across its rim."""
    big, small = Polyhedron.prism(1.0, 0.5, 40), Polyhedron.prism(0.6, 0.5, 24)
    turn = Rotation.from_euler("z", 0.11).as_matrix()
    _, contacts = contacts_of(big, small, turn, (*shift, 0.5), max_contacts=MANIFOLD_ROWS)
    rims = [core.vertices["x"][core.vertices["x"][:, 2] > 0.0][:, :2] for core in (big, small)]
    rims = [rim[np.argsort(np.arctan2(rim[:, 1], rim[:, 0]))] for rim in rims]
    expected = clipped(rims[1] @ turn[:2, :2].T + np.array(shift), rims[0])
    assert len(contacts) == len(expected)
    for x in expected:
        assert np.linalg.norm(contacts["x1"][:, :2] - x, axis=1).min() < 1e-8


def test_ids_stay_while_a_box_slides_and_wobbles(rng: np.random.Generator) -> None:
    before = None
    for k in range(50):
        turn = Rotation.from_rotvec(rng.normal(size=3) * 1e-4).as_matrix()
        _, contacts = contacts_of(GROUND, BOX, turn, (0.01 * k, 0.0, 1.0 + rng.normal() * 1e-4))
        ids = set(contacts["id"])
        assert len(ids) == 4
        assert before is None or ids == before
        before = ids


def test_a_box_on_its_edge_has_two_points_and_on_its_corner_one() -> None:
    half = np.sqrt(0.5)
    _, edge = contacts_of(GROUND, BOX, Rotation.from_euler("x", 45.0, degrees=True).as_matrix(), (0, 0, 0.5 + half))
    assert len(edge) == 2
    np.testing.assert_allclose(np.abs(edge["x1"][:, 0]), 0.5)
    corner = Rotation.align_vectors([[0.0, 0.0, -1.0]], [[-1.0, -1.0, -1.0]])[0].as_matrix()
    _, tip = contacts_of(GROUND, BOX, corner, (0.0, 0.0, 0.5 + np.sqrt(0.75)))
    assert len(tip) == 1
    np.testing.assert_allclose(tip["distance"], 0.0, atol=1e-9)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_lying_capsule_has_two_points_and_a_ball_one(swapped: bool) -> None:
    lying = Rotation.from_euler("y", 90.0, degrees=True).as_matrix()
    capsule, ball = Polyhedron.segment(2.0), Polyhedron.point()
    if swapped:
        _, two = contacts_of(capsule, GROUND, lying.T, lying.T @ (0.0, 0.0, -0.7), (0.2, 0.0))
        _, one = contacts_of(ball, GROUND, I3, (0.0, 0.0, -0.7), (0.2, 0.0))
    else:
        _, two = contacts_of(GROUND, capsule, lying, (0.0, 0.0, 0.7), (0.0, 0.2))
        _, one = contacts_of(GROUND, ball, I3, (0.0, 0.0, 0.7), (0.0, 0.2))
    assert (len(two), len(one)) == (2, 1)
    np.testing.assert_allclose(two["distance"], 0.0, atol=1e-9)
    assert np.linalg.norm(two["x1"][0] - two["x1"][1]) == pytest.approx(2.0)


def test_a_capsule_across_the_rim_of_a_table_is_held_at_the_rim() -> None:
    lying = Rotation.from_euler("y", 90.0, degrees=True).as_matrix()
    for first, second, R, p in (
        (BOX, Polyhedron.segment(4.0), lying, np.array((0.0, 0.0, 0.7))),
        (Polyhedron.segment(4.0), BOX, lying.T, -lying.T @ (0.0, 0.0, 0.7)),
    ):
        radii = (0.2, 0.0) if len(first.vertices) == 2 else (0.0, 0.2)
        _, contacts = contacts_of(first, second, R, p, radii)
        assert len(contacts) == 2
        assert np.linalg.norm(contacts["x1"][0] - contacts["x1"][1]) == pytest.approx(1.0)


def test_parallel_capsules_have_two_points() -> None:
    _, contacts = contacts_of(Polyhedron.segment(2.0), Polyhedron.segment(2.0), I3, (0.3, 0.0, 0.5), 0.15)
    assert len(contacts) == 2
    np.testing.assert_allclose(contacts["distance"], 0.0, atol=1e-9)
    np.testing.assert_allclose(sorted(contacts["x1"][:, 2]), (-0.5, 1.0), atol=1e-9)


def test_contacts_lie_on_the_shapes_and_none_is_deeper_than_the_pair(rng: np.random.Generator) -> None:
    for _ in range(200):
        first, second = hull(rng, 12), hull(rng, 12)
        pairs, contacts = contacts_of(
            first, second, rotations(rng, 1)[0], rng.normal(size=3), margin=0.1, max_contacts=8
        )
        n = pairs["normal"][0]
        assert len(contacts) > 0 or pairs["distance"][0] > 0.1
        if len(contacts):
            if pairs["distance"][0] > -0.05:  # deeper, a face at 8° to the normal is not quite below its points
                assert contacts["distance"].min() >= pairs["distance"][0] - 0.01
            assert contacts["distance"].max() <= 0.1
            r = contacts["x2"] - contacts["x1"]
            np.testing.assert_allclose(r, contacts["distance"][:, None] * n, atol=1e-9)


def test_shapes_farther_apart_than_the_margin_have_no_contact() -> None:
    _, contacts = contacts_of(GROUND, BOX, I3, (0.0, 0.0, 1.1))
    assert len(contacts) == 0


@pytest.mark.lane
def test_a_tracked_contact_ends_when_its_vertex_leaves_the_face() -> None:
    pairs, contacts = contacts_of(GROUND, BOX, I3, (0.0, 0.0, 1.0))
    assert track_first_contact(pairs, contacts, 1e-6)
    pairs["p"][0] = (3.0, 0.0, 1.002)
    assert track_first_contact(pairs, contacts, 1e-6)
    assert contacts["distance"][0] == pytest.approx(0.002)
    pairs["p"][0] = (30.0, 0.0, 1.0)
    assert not track_first_contact(pairs, contacts, 1e-6)


@pytest.mark.lane
def test_ids_name_their_features() -> None:
    for features in ((0, 5, 2, 7), (1, 0, 1, 500_000), (2, 123_456_789, 0, 0)):
        assert contact_features(contact_id(*features)) == features
