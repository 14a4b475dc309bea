"""Where links were over a motion: poses and velocities of some links, frame by frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kinemorph.mocap.smooth import Motion
from kinemorph.multibody.algorithms.kinematics import kinematics
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Array


class Places(NamedTuple):
    """Poses (frames, links, 3, 3) and (frames, links, 3), and velocities, in the world."""

    R: Array
    p: Array
    w: Array
    v: Array


def places_of(model: Model, motion: Motion, links: Iterable[str]) -> Places:
    """Where some links were in all frames."""
    indices = [model.link(name) for name in links]
    count, n = len(motion.q), len(indices)
    R, p, w, v = np.empty((count, n, 9)), np.empty((count, n, 3)), np.empty((count, n, 3)), np.empty((count, n, 3))
    data = Data(model)
    rows = {name: data.links[name] for name in "Rpwv"}
    still = np.zeros(model.nv)
    for k in range(count):
        kinematics(model, data, motion.q[k], motion.v[k], still)
        R[k], p[k], w[k], v[k] = (rows[name][indices] for name in "Rpwv")
    return Places(R.reshape(count, n, 3, 3), p, w, v)


def on_link(places: Places, link: int, point: Array) -> Array:
    """A point that is fixed on a link, in the world (frames, 3)."""
    return np.asarray(places.p[:, link] + places.R[:, link] @ point)
