"""Depth without a search, of overlaps that a face explains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.collision.samples import evaluated, rotations, solids

from kinemorph.collision.narrow.core_pairs import CorePairs
from kinemorph.collision.narrow.shallow import find_shallow_depth
from kinemorph.geometry.polyhedron import CORE, Polyhedron
from kinemorph.jit.api import entry, rows_at
from kinemorph.spatial.rows import load3, load9

BOX = Polyhedron.box((1.0, 1.0, 1.0))


@entry
def look(pairs: Any, out: Any) -> bool:
    """Whether `shallow` knows the depth of the first pair; the points, the normal and the depth."""
    pair = pairs[0]
    A, B = rows_at(pair["core2"], 1, CORE)[0], rows_at(pair["core1"], 1, CORE)[0]
    found, x, y, n, depth = find_shallow_depth(A, B, load9(pair["R"]), load3(pair["p"]), load3(pair["normal"]))
    for k in range(3):
        out[k], out[3 + k], out[6 + k] = x[k], y[k], n[k]
    out[9] = depth
    return found


def sunk(core1: Polyhedron, core2: Polyhedron, R: Any, way: Any, depth: float) -> Any:
    """A pair of which the second has come along a way until they overlap by about so much."""
    apart = evaluated([(core1, core2)], R, [10.0 * way])[0]
    p = 10.0 * way - (apart["distance"] + depth) * apart["normal"]
    return evaluated([(core1, core2)], R, [p])


def test_what_faces_explain_is_what_a_search_finds(rng: np.random.Generator) -> None:
    """Where it says that it knows, of any two cores, in any pose and at any depth."""
    cores, known, of = solids(rng, (8, 20, 60)), 0, 0
    for k, R in enumerate(rotations(rng, 600)):
        i, j = rng.integers(0, len(cores), 2)
        way = rng.normal(size=3)
        if k % 2:  # one upon the other, nearly upright
            R, way = Rotation.from_rotvec(0.05 * way).as_matrix(), np.array([0.03, 0.02, 1.0])
        pairs = sunk(cores[i], cores[j], R, way / np.linalg.norm(way), 10.0 ** rng.uniform(-4.0, -0.3))
        if not pairs["distance"][0] < -1e-6:
            continue
        out = np.zeros(10)
        of += 1
        if look(pairs, out):
            known += 1
            x, y, n, depth = out[:3], out[3:6], out[6:9], out[9]
            assert depth == pytest.approx(-pairs["distance"][0], abs=1e-8)
            np.testing.assert_allclose(y - x, depth * n, atol=1e-12)
    assert known > 50
    assert of > 300


def test_a_box_that_is_pushed_through_is_not_taken_for_shallow() -> None:
    """Half way through the nearest face may be any."""
    turn = Rotation.from_rotvec((0.1, 0.2, 0.3)).as_matrix()
    for depth in (0.3, 0.6, 0.9):
        pairs = evaluated([(BOX, BOX)], turn, [(0.05, 0.02, 1.0 - depth)])
        out = np.zeros(10)
        if look(pairs, out):
            assert out[9] == pytest.approx(-pairs["distance"][0], abs=1e-9)


def test_a_pair_that_stays_deep_has_the_depth_of_a_new_one(rng: np.random.Generator) -> None:
    """Step by step, while the second core slides and turns on the first."""
    slab = Polyhedron.box((4.0, 3.0, 0.5))
    for core in (BOX, Polyhedron.prism(0.5, 0.4, 32), Polyhedron.cone(0.5, 1.0, 12)):
        pairs = CorePairs([(slab, core)])
        for k in range(60):
            turn = Rotation.from_euler("zxy", (0.05 * k, *rng.normal(0.0, 2e-3, 2))).as_matrix()
            bottom = float(-(core.vertices["x"] @ turn.T)[:, 2].min())
            p = (-1.0 + 0.03 * k, 0.01 * k, 0.25 + bottom - 0.01)
            pairs.rows["R"], pairs.rows["p"] = turn.reshape(9), p
            row = pairs.update()[0]
            fresh = evaluated([(slab, core)], turn, [p])[0]
            assert row["distance"] == pytest.approx(fresh["distance"], abs=1e-9)
            assert row["distance"] == pytest.approx(-0.01, abs=1e-9)
            np.testing.assert_allclose(row["normal"], (0.0, 0.0, 1.0), atol=1e-9)
