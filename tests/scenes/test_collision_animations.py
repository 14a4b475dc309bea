"""What the collision-detection animations show is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinemorph.collision.narrow.features import E, V
from kinemorph.collision.narrow.manifold import contact_features
from kinemorph.scenes.bounce import collision_features, collision_hashing, collision_tiles, drawing
from kinemorph.scenes.bounce.replay import native_tiles
from kinemorph.spatial.pose import rotation_of_quaternion


def _off(core: Any, kind: int, index: int, point: Any) -> float:
    """How far a point of the core's frame is from a vertex, an edge or a face."""
    if kind == V:
        return float(np.linalg.norm(point - core.points[index]))
    if kind == E:
        a, b = core.points[core.edges[index]["tail"]], core.points[core.edges[index]["head"]]
        t = np.clip((point - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        return float(np.linalg.norm(a + t * (b - a) - point))
    loop = core.points[core.loops[index]]
    normal = np.cross(loop[1] - loop[0], loop[2] - loop[0])
    normal /= np.linalg.norm(normal)
    inward = np.cross(normal, np.roll(loop, -1, axis=0) - loop)
    inward /= np.linalg.norm(inward, axis=1, keepdims=True)
    outside = max(0.0, float(-((point - loop) * inward).sum(axis=1).min()))
    return max(abs(float((point - loop[0]) @ normal)), outside)


def test_the_line_joins_the_features_that_are_followed() -> None:
    scene = collision_features.pursuit()
    kinds = set()
    for _ in range(200):
        now = scene.go_on()
        ij, _, contacts = scene.world.close()
        assert len(contacts) == 1
        contact = contacts[0]
        if contact["distance"] > 1e-3:
            ends = now.lines[0]
            assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(contact["distance"], abs=1e-9)
            k1, i1, k2, i2 = contact_features(int(contact["id"]))
            kinds.add((k1, k2))
            sides = zip(ij[0].tolist(), (contact["part1"], contact["part2"]), ((k1, i1), (k2, i2)), ends, strict=True)
            for i, part, (kind, index), end in sides:
                own = rotation_of_quaternion(*scene.world.objects["q"][i]).T @ (end - scene.world.objects["x"][i])
                assert _off(scene.world.core(i, int(part)), kind, index, own) < 1e-9
    assert len(kinds) > 1  # they change
    assert scene.walked < 2.0 * scene.updates  # features walk, they are not searched


def test_tiles_hold_the_boxes_and_pairs_share_tiles() -> None:
    world = collision_tiles.world()
    seen = set()
    for _ in range(60):
        world.advance(world.steps + 10)
        now = drawing.sight_of_moment(world)
        tiles = native_tiles(world)
        low, high = tiles[:, 0].min(axis=0), tiles[:, 1].max(axis=0)
        boxes = world.collisions.broad_phase.boxes[world.collisions.broad_phase.ids]
        assert (boxes["low"] >= low - 1e-9).all()
        assert (boxes["high"] <= high + 1e-9).all()
        seen.add(len(now.lines))
        assert len(drawing.frames(now.boxes)) == 12 * collision_tiles.COUNT
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
