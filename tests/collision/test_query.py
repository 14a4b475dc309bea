"""The calls for Python: shapes of all kinds, poses, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.collision.samples import hull

import kinemorph as km

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
    assert len(km.contacts(BOX, None, BOX, turned, most=8)) == 8
    assert len(km.contacts(BOX, None, BOX, turned)) == 4


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
        (lambda: km.contacts(BOX, None, BALL, None, most=0), "most is 0; expected 1 to"),
        (lambda: km.cast(BOX, None, (0, 0, 2), (0, 0, 0)), "direction is zero"),
        (lambda: km.cast(BOX, None, (0, 0, np.nan), (0, 0, 1)), "origin.*not finite"),
        (lambda: km.cast(BOX, None, (0, 0, 2), (0, 0, 1), -1.0), "longest -1"),
        (lambda: km.closest_point(BOX, None, (0, 0)), "expected 3 numbers"),
    ],
)
def test_bad_questions_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()
