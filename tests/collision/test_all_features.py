"""The answer of last resort agrees with V-Clip, and V-Clip goes there when it has walked too long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.collision.samples import awkward, evaluated, hull, rotations

from kinemorph.collision.narrow.all_features import find_closest_features
from kinemorph.collision.narrow.features import tolerance
from kinemorph.collision.narrow.vclip import TOO_MANY_STEPS, walk_to_closest
from kinemorph.geometry.polyhedron import CORE, Polyhedron
from kinemorph.jit.api import entry, rows_at
from kinemorph.spatial.rows import load3, load9

pytestmark = pytest.mark.quick


@entry
def brute_force(pairs: Any, distances: Any) -> None:
    for k in range(pairs.shape[0]):
        A = rows_at(pairs[k]["core2"], 1, CORE)[0]
        B = rows_at(pairs[k]["core1"], 1, CORE)[0]
        R, p = load9(pairs[k]["R"]), load3(pairs[k]["p"])
        best = (np.inf, 0, 0, 0, 0)
        distances[k] = find_closest_features(A, B, R, p, load3(pairs[k]["normal"]), best, tolerance(A, B, p))[0]


@entry
def short_walk(pairs: Any, limit: int) -> int:
    A = rows_at(pairs[0]["core2"], 1, CORE)[0]
    B = rows_at(pairs[0]["core1"], 1, CORE)[0]
    R, p = load9(pairs[0]["R"]), load3(pairs[0]["p"])
    return walk_to_closest(A, B, R, p, 0, 0, 0, 0, tolerance(A, B, p), limit)[0]


def test_all_features_agree_with_vclip(rng: np.random.Generator) -> None:
    n = 300
    cores = [*awkward(rng), hull(rng, 40), hull(rng, 60)]
    i, j = rng.integers(len(cores), size=(2, n))
    way = rng.normal(size=(n, 3))
    p = way / np.linalg.norm(way, axis=1)[:, None] * rng.uniform(1.0, 6.0, (n, 1))
    pairs = evaluated([(cores[a], cores[b]) for a, b in zip(i, j, strict=True)], rotations(rng, n), p)
    distances = np.zeros(n)
    brute_force(pairs, distances)
    apart = pairs["distance"] > 0.0
    assert apart.sum() > 100
    np.testing.assert_allclose(distances[apart], pairs["distance"][apart], rtol=1e-9)


@pytest.mark.lane
def test_a_walk_that_is_too_long_says_so() -> None:
    box = Polyhedron.box((1.0, 1.0, 1.0))
    pairs = evaluated([(box, box)], np.eye(3), [(3.0, 0.4, 0.2)])
    assert short_walk(pairs, 1) == TOO_MANY_STEPS
    assert short_walk(pairs, 50) != TOO_MANY_STEPS
