"""What the collision-detection animations show is true."""

from __future__ import annotations

import numpy as np
import pytest

from kinemorph.scenes import bounce_sights, collision_features, collision_hashing, collision_tiles
from kinemorph.scenes.bounce_view import closest_features, native_tiles


def _to_segments(point: np.ndarray, segments: np.ndarray) -> float:
    """The distance of a point to the nearest of some segments."""
    a, b = segments[:, 0], segments[:, 1]
    t = np.clip(((point - a) * (b - a)).sum(axis=1) / np.maximum(((b - a) ** 2).sum(axis=1), 1e-30), 0.0, 1.0)
    return float(np.linalg.norm(a + t[:, None] * (b - a) - point, axis=1).min())


def test_the_line_joins_the_features_that_are_followed() -> None:
    """Closest points are on the features; a face's inside is within its outline."""
    scene = collision_features.pursuit()
    apart = 0
    for _ in range(100):
        now = scene.go_on()
        ij, _, contacts = scene.world.close()
        assert len(contacts) == 1
        if contacts["distance"][0] > 1e-3:
            apart += 1
            length = np.linalg.norm(now.lines[0, 1] - now.lines[0, 0])
            assert length == pytest.approx(contacts["distance"][0], abs=1e-9)
            features = closest_features(scene.world, ij, contacts)
            low, high = features.reshape(-1, 3).min(axis=0), features.reshape(-1, 3).max(axis=0)
            for end in now.lines[0]:
                assert ((end > low - 1e-6) & (end < high + 1e-6)).all()
            assert min(_to_segments(end, features) for end in now.lines[0]) < 0.6 * collision_features.SIZE
    assert apart > 50
    assert scene.walked < 2.0 * scene.updates  # features walk, they are not searched


def test_tiles_hold_the_boxes_and_pairs_share_tiles() -> None:
    world = collision_tiles.world()
    seen = set()
    for _ in range(60):
        world.advance(world.steps + 10)
        now = bounce_sights.sight(world)
        tiles = native_tiles(world)
        low, high = tiles[:, 0].min(axis=0), tiles[:, 1].max(axis=0)
        boxes = world.collisions.broad_phase.boxes[world.collisions.broad_phase.ids]
        assert (boxes["low"] >= low - 1e-9).all()
        assert (boxes["high"] <= high + 1e-9).all()
        seen.add(len(now.lines))
        assert len(bounce_sights.frames(now.boxes)) == 12 * collision_tiles.COUNT
    assert len(seen) > 1  # pairs come and go


@pytest.mark.parametrize("count", [collision_hashing.FEW, collision_hashing.MANY])
def test_hashing_spares_pairs_and_changes_nothing(count: int) -> None:
    scene = collision_hashing.Twins(count)
    for _ in range(60):
        left, right = scene.go_on()
        np.testing.assert_array_equal(scene.worlds[0].poses, scene.worlds[1].poses)
        shift = 2.0 * 0.75 * scene.worlds[0].side
        np.testing.assert_allclose(left.poses + shift * np.eye(7)[0], right.poses, atol=1e-12)
        boxes = right.boxes
        meet = (boxes[:, None, 0] <= boxes[None, :, 1]).all(axis=2)
        overlapping = {(i, j) for i, j in np.argwhere(meet & meet.T) if i < j}
        found = {(min(i, j), max(i, j)) for i, j in scene.worlds[1].close()[0].tolist()}
        assert overlapping <= found
    every, hashed = np.mean(scene.pairs, axis=0)
    assert every == count * (count - 1) / 2
    assert hashed < 0.2 * every
