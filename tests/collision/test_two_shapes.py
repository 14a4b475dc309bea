"""The calls for Python: shapes of all kinds, poses, and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from tests.collision.samples import hull

import kinemorph as km

pytestmark = pytest.mark.quick

BOX, BALL = km.Shape.box((1.0, 1.0, 1.0)), km.Shape.sphere(0.25)


@pytest.mark.lane
def test_distance_of_a_box_and_a_ball() -> None:
    d = km.distance(BOX, None, BALL, km.Pose((0.0, 0.1, 2.0)))
    assert d.distance == pytest.approx(1.25)
    np.testing.assert_allclose(d.normal, (0.0, 0.0, 1.0))
    np.testing.assert_allclose(d.point_a, (0.0, 0.1, 0.5))
    np.testing.assert_allclose(d.point_b, (0.0, 0.1, 1.75))
    assert d.feature_a is not None
    assert (d.feature_a[0], d.feature_b) == (km.Feature.FACE, (km.Feature.VERTEX, 0))
    deep = km.distance(BOX, None, BOX, km.Pose((0.9, 0.0, 0.0)))
    assert (deep.distance, deep.feature_a) == (pytest.approx(-0.1), None)


def test_everything_moves_with_the_frame(rng: np.random.Generator) -> None:
    """A shape's own pose counts, and answers are in the frame of the poses."""
    shifted = km.Shape.capsule(0.1, 0.5, km.Pose.rpy(0.4, 0.2, 0.1, (0.1, 0.2, 0.3)))
    frame = km.Pose.rpy(1.0, -0.5, 2.0, (3.0, 2.0, 1.0))
    for other in (BOX, hull(rng, 30), (hull(rng, 30), 0.1), km.Parts([hull(rng, 8), km.Polyhedron.box((3, 0.1, 0.1))])):
        where = km.Pose.quaternion(rng.normal(size=4), (1.0, 0.7, 0.8))
        near, far = km.distance(shifted, None, other, where), km.distance(shifted, frame, other, frame @ where)
        assert far.distance == pytest.approx(near.distance)
        np.testing.assert_allclose(far.normal, frame.rotation @ near.normal, atol=1e-9)
        np.testing.assert_allclose(far.point_a, frame.apply(near.point_a), atol=1e-9)
        np.testing.assert_allclose(far.point_b, frame.apply(near.point_b), atol=1e-9)
        back = km.distance(other, where, shifted, None)
        assert back.distance == pytest.approx(near.distance)
        np.testing.assert_allclose(back.point_b, near.point_a, atol=1e-9)
        assert back.feature_b == near.feature_a


@pytest.mark.lane
def test_contacts_and_their_ids() -> None:
    ground = km.Shape.box((10.0, 10.0, 1.0))
    pair = km.Pair(ground, BOX)
    first = pair.contacts(None, km.Pose((0.0, 0.0, 1.0)))
    assert len(first) == 4
    later = pair.contacts(None, km.Pose((0.01, 0.0, 0.999)))
    assert {c.id for c in first} == {c.id for c in later}
    np.testing.assert_allclose([c.distance for c in later], -0.001, atol=1e-9)
    assert pair.contacts(None, km.Pose((0.0, 0.0, 1.2))) == []
    turned = km.Pose.turn((0, 0, 1), np.pi / 4.0, (0.0, 0.0, 1.0))
    assert len(km.contacts(BOX, None, BOX, turned, max_contacts=8)) == 8
    assert len(km.contacts(BOX, None, BOX, turned)) == 4


@pytest.mark.parametrize("ground", [km.Shape.box((9.0, 9.0, 1.0)), km.HeightField(np.full((2, 2), 0.5), (9.0, 9.0))])
def test_a_cylinder_that_trembles_keeps_its_contacts(ground: Any, rng: np.random.Generator) -> None:
    """All of them if asked for, and those that are followed."""
    pair = km.Pair(ground, km.Shape.cylinder(0.5, 1.0))
    first = pair.contacts(None, km.Pose((1.2, 2.4, 1.0)))
    seen = set()
    for shake in 1e-5 * rng.normal(size=(20, 5)):
        pose = km.Pose.rpy(shake[0], shake[1], 0.0, np.array((1.2, 2.4, 1.0)) + shake[2:])
        seen.add(frozenset(c.id for c in pair.contacts(None, pose, margin=1e-3, max_contacts=32)))
        assert all(pair.track(c, None, pose) is not None for c in first)
    assert len(seen) == 1
    assert len(first) == 4


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_a_copy_of_a_pair_shares_no_rows(copied: Any) -> None:
    box = km.core_of(BOX)[0]
    for other in (box, km.Parts([box]), km.HeightField(np.zeros((3, 3)), (9.0, 9.0))):
        pair = km.Pair(box, other)
        before = pair.distance(km.Pose((0.0, 0.0, 3.0)), None)
        twin = copied(pair)
        near = twin.distance(km.Pose((0.0, 0.0, 2.0)), None).distance
        assert near == pytest.approx(before.distance - 1.0)
        assert pair.distance(km.Pose((0.0, 0.0, 3.0)), None).distance == before.distance
        mine, its = pair._collisions.header[0], twin._collisions.header[0]
        rows = ("shapes", "places", "pairs", "memory", "contacts", "known", "search", "work", "row")
        assert all(mine[name] != its[name] for name in rows)


def touching() -> km.Contact:
    return km.contacts(BOX, None, BOX, km.Pose((0.2, 0.2, 1.0)))[0]


@pytest.mark.lane
def test_a_contact_is_followed_until_it_ends() -> None:
    slab, frame = km.Shape.box((4.0, 4.0, 1.0)), km.Pose.rpy(0.3, 0.2, 0.1, (1.0, 2.0, 3.0))
    pair = km.Pair(slab, BOX)
    for first in pair.contacts(frame, frame @ km.Pose((0.0, 0.0, 1.0))):
        for height in (0.0005, -0.0005):
            moved = pair.track(first, frame, frame @ km.Pose((0.3, 0.0, 1.0 + height)))
            assert moved is not None
            assert moved.id == first.id
            assert moved.distance == pytest.approx(height)
            np.testing.assert_allclose(moved.normal, first.normal, atol=1e-12)
            np.testing.assert_allclose(moved.point_a, first.point_a + frame.rotation @ (0.3, 0.0, 0.0), atol=1e-9)
        assert pair.track(first, frame, frame @ km.Pose((0.0, 0.0, 1.01))) is None
        assert pair.track(first, frame, frame @ km.Pose((0.0, 0.0, 1.01)), slack=0.02) is not None
        assert pair.track(first, frame, frame @ km.Pose((9.0, 0.0, 1.0))) is None


def test_what_is_followed_knows_its_side_and_its_part() -> None:
    """Edges have no inside: which of the two is above is known from before."""
    rod, turned = km.Polyhedron.segment(1.0), km.Pose.rpy(np.pi / 2.0, 0.0, 0.0)
    pair = km.Pair((rod, 0.0), (rod, 0.0))
    (first,) = pair.contacts(None, km.Pose((0.0005, 0.0, 0.0), turned.rotation), margin=0.001)
    for gap in (0.0009, 0.0, -0.0009):
        moved = pair.track(first, None, km.Pose((gap, 0.0, 0.0), turned.rotation))
        assert moved is not None
        assert moved.distance == pytest.approx(gap, abs=1e-15)
        np.testing.assert_allclose(moved.normal, (1.0, 0.0, 0.0), atol=1e-12)
    balls = km.Pair(BALL, BALL)
    near = balls.distance(None, km.Pose((0.5, 0.0, 0.0)))
    across = balls.track(near, None, km.Pose((0.0, 0.0, -0.5)))
    assert across is not None
    np.testing.assert_allclose(across.normal, (0.0, 0.0, -1.0), atol=1e-12)
    two = km.Parts([km.Polyhedron.box((1, 1, 1)), km.Polyhedron.box((1, 1, 1)).moved(km.Pose((3.0, 0.0, 0.0)))])
    for ground in (
        km.Shape.box((20.0, 20.0, 1.0)),
        km.HalfSpace(offset=0.5),
        km.HeightField(np.full((3, 3), 0.5), (20, 20)),
    ):
        pair = km.Pair(two, ground)
        found = pair.contacts(km.Pose((1.0, 6.0, 1.0)), None)
        assert {c.part_a for c in found} == {0, 1}
        for c in found:
            moved = pair.track(c, km.Pose((1.1, 6.0, 1.0005)), None)
            assert moved is not None
            assert (moved.id, moved.distance) == (c.id, pytest.approx(0.0005))
            np.testing.assert_allclose(moved.point_a, c.point_a + (0.1, 0.0, 0.0005), atol=1e-9)
            assert pair.track(c, km.Pose((1.1, 6.0, 1.1)), None) is None


def test_directions_of_any_length() -> None:
    for length in (1e-200, 1e-12, 1e12, 1e200):
        hit = km.cast(BOX, None, (0.1, 0.2, 3.0), (0.0, 0.0, -length))
        assert hit is not None
        assert hit.distance == pytest.approx(2.5)


@pytest.mark.lane
def test_rays_and_points() -> None:
    pose = km.Pose((0.0, 0.0, 5.0))
    hit = km.cast(BOX, pose, (0.0, 0.2, 0.0), (0.0, 0.0, 3.0))
    assert hit is not None
    assert hit.distance == pytest.approx(4.5)
    assert hit.point == pytest.approx((0.0, 0.2, 4.5))
    assert hit.normal == pytest.approx((0.0, 0.0, -1.0))
    assert km.cast(BOX, pose, (0.0, 0.2, 0.0), (0.0, 0.0, -1.0)) is None
    near = km.closest_point(BOX, pose, (0.0, 0.0, 5.4))
    assert near.distance == pytest.approx(-0.1)
    assert near.point == pytest.approx((0.0, 0.0, 5.5))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: km.distance(BOX, None, "ball", None), "expected a Shape, a Polyhedron.*'ball'"),
        (lambda: km.distance(BOX, (0, 0, 1), BALL, None), r"pose_a must be a km\.Pose or None, not \(0, 0, 1\)"),
        (lambda: km.distance(BOX, None, (km.Polyhedron.point(), -1.0), None), "the radius around .* is -1"),
        (lambda: km.distance(km.HalfSpace(), None, km.HalfSpace(), None), "are both ground"),
        (lambda: km.contacts(BOX, None, BALL, None, margin=-1.0), "margin -1"),
        (lambda: km.contacts(BOX, None, BALL, None, max_contacts=0), "max_contacts is 0; expected 1 to"),
        (lambda: km.cast(BOX, None, (0, 0, 2), (0, 0, 0)), "direction is zero"),
        (lambda: km.cast(BOX, None, (0, 0, np.nan), (0, 0, 1)), "origin.*not finite"),
        (lambda: km.cast(BOX, None, (0, 0, 2), (0, 0, 1), -1.0), "longest -1"),
        (lambda: km.closest_point(BOX, None, (0, 0)), "expected 3 numbers"),
        (lambda: km.cast(BOX, (0, 0, 1), (0, 0, 2), (0, 0, 1)), r"pose must be a km\.Pose or None, not \(0, 0, 1\)"),
        (lambda: km.closest_point(BOX, None, (1e200, 0, 0)), "too far away"),
        (lambda: km.distance(BOX, None, BOX, km.Pose((0.0, 0.0, 1e200))), "too far apart"),
        (lambda: km.distance(km.Parts([km.core_of(BOX)[0]]), None, BOX, km.Pose((0.0, 0.0, 1e200))), "too far apart"),
        (lambda: km.cast(BOX, None, (0, 0, 1e200), (0, 0, -1)), "origin .* is too far away"),
        (lambda: km.Parts([BOX]), "part 0 must be a Polyhedron"),
        (lambda: km.Pair(BOX, BOX).track(km.distance(BOX, None, BOX, None), None, None), "no features to follow"),
        (lambda: km.Pair(BALL, BALL).track(touching(), None, None), "has no feature .*another pair"),
    ],
)
def test_bad_questions_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


def test_what_is_no_contact_and_no_table_is_refused_by_a_sentence() -> None:
    ball = km.Shape.sphere(1.0)
    with pytest.raises(TypeError, match="not 3"):
        km.Pair(ball, ball).track(3, None, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"must be a kinemorph\.ShapeTable, not 3"):
        km.Collisions(3)  # type: ignore[arg-type]
