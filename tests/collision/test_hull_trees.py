"""Concave bodies: the search through trees of hulls against all pairs of parts, and against its plain form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.collision.samples import evaluated, rotations
from tests.naive.closest_parts import closest_parts

import kinemorph as km
from kinemorph.collision.narrow.core_pairs import make_work
from kinemorph.collision.narrow.hull_trees import search_parts
from kinemorph.collision.narrow.part_pairs import PartPairs
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.polyhedron import Polyhedron

pytestmark = pytest.mark.quick

WORK = make_work()


def ring(n: int, radius: float = 0.0, inner: Any = "hull") -> Parts:
    """Fontijne's example, a torus of convex pieces."""
    box = Polyhedron.box((0.5, 1.2, 0.5))
    turns = [km.Pose.turn((0, 0, 1), 2.0 * np.pi * k / n) for k in range(n)]
    return Parts([box.moved(turn @ km.Pose((2.0, 0.0, 0.0))) for turn in turns], radius, inner)


def searched(a: Parts, b: Parts, R: Any, p: Any, margin: float, threshold: float, near: PartPairs) -> Any:
    search_parts(a.address, b.address, np.r_[np.ravel(R), p], margin, threshold, near.header, WORK)
    assert near.header["missed"][0] == 0
    near.remember()
    return near.header[0]


def listed(a: Parts, b: Parts, near: PartPairs) -> list[tuple[int, int]]:
    keys = near.keys[near.listed]
    return sorted(zip(a.nodes["part"][keys["i"]].tolist(), b.nodes["part"][keys["j"]].tolist(), strict=True))


@pytest.mark.parametrize("inner", ["hull", "box"])
def test_the_search_agrees_with_all_pairs_of_parts(rng: np.random.Generator, inner: Any) -> None:
    a, b, near = ring(12, 0.0, inner), ring(10, 0.03, inner), PartPairs(1024)
    exact = 0
    for R, p in zip(rotations(rng, 30), rng.normal(size=(30, 3)) * 2.5, strict=True):
        rows = evaluated([(x, y) for x in a.parts for y in b.parts], np.tile(R, (120, 1, 1)), p, (0.0, 0.03))
        true = float(rows["distance"].min())
        for margin, threshold in ((0.2, math.inf), (0.05, 0.1), (0.0, 0.0)):
            found = searched(a, b, R, p, margin, threshold, near)
            assert found["distance"] <= true + 1e-9
            if true <= max(threshold, margin):
                exact += 1
                assert found["exact"]
                assert found["distance"] == pytest.approx(true, abs=1e-9)
                np.testing.assert_allclose(found["x2"] - found["x1"], true * found["normal"], atol=1e-8)
            assert listed(a, b, near) == [divmod(int(k), 10) for k in np.flatnonzero(rows["distance"] <= margin)]
    assert exact > 30


def test_the_search_agrees_with_its_plain_form(rng: np.random.Generator) -> None:
    """The same nodes stay closed, so that lower bounds are the same too."""
    a, b, near = ring(6), ring(5), PartPairs(1024)
    for R, p in zip(rotations(rng, 15), rng.normal(size=(15, 3)) * 4.0, strict=True):

        def gap(x: Polyhedron, y: Polyhedron, R: Any = R, p: Any = p) -> float:
            return max(float(evaluated([(x, y)], R, p)["distance"][0]), 0.0)

        plain = closest_parts(a, b, gap, 0.3)
        found = searched(a, b, R, p, 0.0, 0.3, near)
        assert max(found["distance"], 0.0) == pytest.approx(plain.distance, abs=1e-9)
        assert bool(found["exact"]) == plain.exact


@pytest.mark.lane
def test_hulls_open_only_below_the_threshold() -> None:
    a, b, near = ring(12), Parts([Polyhedron.point()]), PartPairs(64)
    far = searched(a, b, np.eye(3), (0.0, 0.0, 5.0), 0.1, 0.1, near)
    assert (len(near.rows), far["exact"]) == (1, 0)
    assert far["distance"] == pytest.approx(4.75)  # to the lid of the outer hull
    middle = searched(a, b, np.eye(3), (0.0, 0.0, 0.0), 0.1, math.inf, near)
    assert middle["exact"]
    assert middle["distance"] == pytest.approx(1.75)
    assert len(near.listed) == 0


def test_features_are_found_again(rng: np.random.Generator) -> None:
    """A small motion costs a step for each pair that was looked at before; a new list costs several."""
    a, b, near = ring(12), ring(12), PartPairs(1024)
    again, afresh = [], []
    for t in np.linspace(0.0, 1.0, 200):
        R, p = km.Pose.rpy(1.5, 0.02 * t, 0.0).rotation, (2.0 + 0.05 * t, 0.01 * t, 0.0)
        searched(a, b, R, p, 0.05, 0.05, near)
        again.append(near.rows["steps"].mean())
        fresh = PartPairs(1024)
        assert searched(a, b, R, p, 0.05, 0.05, fresh)["distance"] == pytest.approx(near.header["distance"][0])
        afresh.append(fresh.rows["steps"].mean())
    assert len(near.rows) > 10
    assert np.mean(again) < 1.5 < 3.0 < np.mean(afresh)


@pytest.mark.lane
def test_a_list_without_room_says_so() -> None:
    a, near = ring(12), PartPairs(4)
    search_parts(a.address, a.address, np.r_[np.eye(3).ravel(), 0.0, 0.0, 0.0], 0.0, 0.0, near.header, WORK)
    assert near.header["missed"][0] > 0
    assert len(near.rows) == 4


def test_linked_rings_do_not_touch_and_pushed_ones_do() -> None:
    """What one hull around each could not tell."""
    link = km.Pose.rpy(np.pi / 2.0, 0.0, 0.0, (2.0, 0.0, 0.0))
    apart = km.distance(ring(12), None, ring(12), link)
    assert apart.distance > 1.0
    assert km.contacts(ring(12), None, ring(12), link, margin=0.1) == []
    lying = km.distance(ring(12), None, ring(12), km.Pose((0.0, 0.0, 0.499)))
    assert lying.distance == pytest.approx(-0.001)
    np.testing.assert_allclose(np.abs(lying.normal), (0.0, 0.0, 1.0), atol=1e-9)
    contacts = km.contacts(ring(12), None, ring(12), km.Pose((0.0, 0.0, 0.5)), margin=0.01)
    assert {(c.part_a, c.part_b) for c in contacts} >= {(k, k) for k in range(12)}


def test_a_table_stands_on_its_legs_on_any_ground() -> None:
    legs = [Polyhedron.box((0.1, 0.1, 0.7)).moved(km.Pose((x, y, 0.35))) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
    table = Parts([Polyhedron.box((1.2, 0.8, 0.05)).moved(km.Pose((0, 0, 0.7))), *legs])
    field = km.HeightField(np.zeros((9, 9)), (4.0, 4.0))
    for ground in (km.HalfSpace(), field, km.Terrain(field.mesh)):
        contacts = km.contacts(ground, None, table, km.Pose((0.0, 0.0, 1e-4)), margin=1e-3)
        assert sorted(c.part_b for c in contacts) == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]
        found = km.distance(table, km.Pose((0.0, 0.0, 0.1)), ground, None)
        assert found.distance == pytest.approx(0.1)
        np.testing.assert_allclose(found.normal, (0.0, 0.0, -1.0), atol=1e-9)
    ball = km.Shape.sphere(0.1)
    under = km.distance(table, None, ball, km.Pose((0.0, 0.0, 0.3)))
    assert under.distance == pytest.approx(0.275)
    assert under.part_a == 0
    hit = km.cast(table, None, (0.5, 0.3, -1.0), (0.0, 0.0, 1.0))
    assert hit is not None
    assert hit.distance == pytest.approx(1.0)
    assert km.closest_point(table, None, (0.0, 0.0, 0.4)).distance == pytest.approx(0.275)
