"""States of the classic mechanisms."""

from __future__ import annotations

import numpy as np
from tests.naive.constrained import Closed

import kinemorph as km
from kinemorph.scenes.robots import mechanisms


def moving(scene: mechanisms.Scene, rng: np.random.Generator) -> Closed:
    """A classic mechanism in motion."""
    model, q = scene
    W = km.generalized(model, km.Data(model), q).W
    # revolute and spherical joints of loops, whose subspaces need no position, at zero
    at_zero = [[1.0, 0.0, 0.0, 0.0] if loop.joint.nq == 4 else [0.0] * loop.joint.nq for loop in model.loops]
    return Closed(model, q, W @ rng.normal(size=W.shape[1]), np.concatenate(at_zero))
