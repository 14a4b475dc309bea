"""Rays and overlaps against a whole world, as it is now."""

import numpy as np
import pytest

import kinemorph as km
from kinemorph.geometry.material import ALL_GROUPS_MASK


@pytest.fixture(scope="module")
def world() -> km.World:
    """A heap of all kinds of shapes, in the middle of its fall, on a height field."""
    world = km.World()
    rng = np.random.default_rng(5)
    x = np.linspace(-3, 3, 13)
    world.add_ground(km.HeightField(0.2 * np.sin(x)[:, np.newaxis] * np.cos(x), (6.0, 6.0)))
    shapes = [
        km.Shape.box((0.3, 0.2, 0.1)),
        km.Shape.sphere(0.15),
        km.Shape.capsule(0.1, 0.3),
        km.Shape.cylinder(0.1, 0.3),
    ]
    for k in range(40):
        twist = rng.normal(size=6)
        world.add(
            shapes[k % 4], at=km.Pose.turn(rng.normal(size=3), 1.0, rng.uniform((-2, -2, 0.5), (2, 2, 3))), twist=twist
        )
    world.run(0.1)
    return world


def each_hit(world: km.World, o, d):
    """By asking every shape of every body by itself, at its pose."""
    best = np.inf, None
    for shape in world.shapes.ids:
        link = world.shapes.link(shape)
        body = None if link < 0 else world._body_at(link)
        solid = world.shapes[shape]
        hit = km.cast(solid, km.Pose() if body is None else body.pose, o, d)
        if hit is not None and hit.distance < best[0]:
            best = hit.distance, body
    return best


def test_rays_meet_what_single_shapes_say(world):
    rng = np.random.default_rng(1)
    origins, directions = rng.uniform((-3, -3, 0.5), (3, 3, 4), (300, 3)), rng.normal(size=(300, 3))
    t, normals, bodies = world.queries.cast_rays(origins, directions)
    for k in range(300):
        distance, body = each_hit(world, origins[k], directions[k])
        assert t[k] == pytest.approx(distance, abs=1e-9)
        assert bodies[k] == body
        if body is not None and t[k] > 0.0:
            assert normals[k] @ directions[k] < 1e-9
    assert 50 < np.isfinite(t).sum() < 290


def test_one_ray_says_all(world):
    body = world.bodies[3]
    above = body.position + (0, 0, 2.0)
    seen = world.queries.cast_ray(above, (0, 0, -3.0))
    distance, first = each_hit(world, above, (0, 0, -1.0))
    assert seen.body == first
    assert seen.distance == pytest.approx(distance)
    assert seen.point == pytest.approx(above - (0, 0, distance))
    assert seen.shape in world.shapes.ids
    assert world.queries.cast_ray(above, (0, 0, -3.0), longest=1e-3) is None
    assert world.queries.cast_ray(above, (0, 0, -1.0), but=first).body != first
    assert world.queries.cast_ray(above, (0, 0, 1.0), mask=0) is None


def test_groups_are_seen_or_not():
    world = km.World()
    world.add_ground()
    glass = world.add(km.Shape.box((1, 1, 0.1), group=4), at=(0, 0, 1), name="glass")
    assert world.queries.cast_ray((0, 0, 2), (0, 0, -1)).body == glass
    assert world.queries.cast_ray((0, 0, 2), (0, 0, -1), mask=ALL_GROUPS_MASK & ~4).body is None


def test_a_new_body_is_seen_at_once_and_one_that_is_gone_is_not():
    world = km.World()
    body = world.add(km.Shape.sphere(0.5), at=(0, 0, 1))
    assert world.queries.cast_ray((0, 0, 5), (0, 0, -1)).distance == pytest.approx(3.5)
    world.remove(body)
    assert world.queries.cast_ray((0, 0, 5), (0, 0, -1)) is None


def test_overlaps_are_those_of_each_pair(world):
    probe = km.Shape.box((1.0, 0.8, 0.6))
    for place in (km.Pose((0, 0, 1.0)), km.Pose.turn((1, 1, 0), 0.7, (1, -1, 1.5)), km.Pose((10, 0, 9.0))):
        for margin in (0.0, 0.2):
            found = {None if body is None else body.id for body in world.queries.overlaps(probe, place, margin)}
            expected = set()
            for shape in world.shapes.ids:
                link = world.shapes.link(shape)
                body = None if link < 0 else world._body_at(link)
                here = km.Pose() if body is None else body.pose
                if km.distance(probe, place, world.shapes[shape], here).distance <= margin:
                    expected.add(None if body is None else body.id)
            assert found == expected


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda w: w.queries.cast_ray((0, 0, np.nan), (0, 0, 1)), "not finite"),
        (lambda w: w.queries.cast_rays([(0, 0, 0)], [(0, 0, 0)]), "ray 0, .* is none"),
        (lambda w: w.queries.cast_rays([(0, 0, 0)], [(0, 0, np.inf)]), "ray 0, .* is none"),
        (lambda w: w.queries.cast_rays([(0, 0)], [(0, 0)]), "must be n x 3"),
        (lambda w: w.queries.cast_ray((0, 0, 0), (0, 0, 1), longest=-1.0), "longest is -1.0"),
        (lambda w: w.queries.overlaps(km.Shape.sphere(1.0), margin=-1.0), "margin is -1.0"),
    ],
)  # fmt: skip
def test_bad_questions_are_refused(world, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(world)


def test_statistics_count_and_time_what_a_step_does():
    world = km.World()
    world.add_ground()
    for k in range(3):
        world.add(km.Shape.box((1, 1, 1)), at=(0, 0, 0.5 + k))
    world.add(km.Shape.sphere(0.5), at=(5, 0, 3))
    told = world.queries.profile(100)
    assert (told.bodies, told.trees, told.asleep, told.pairs, told.awake_contacts) == (4, 4, 0, 6, 12)
    assert (told.islands, told.largest) == (2, 12)
    assert told.step_time > 0.0
    assert sum(told.stage_times.values()) == pytest.approx(told.step_time)
    assert set(told.stage_times) == {"forces", "pairs", "contacts", "rows", "solution", "motion"}
    world.run(3.0)
    assert world.queries.statistics.asleep == 4
    assert world.queries.statistics.stage_times == {}
    assert "4 bodies in 4 trees (4 asleep)" in str(world.queries.statistics)
