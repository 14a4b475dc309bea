"""Joints that move no mass: without mass or armature a joint has no acceleration in any configuration."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.configuration import neutral, random_configuration
from kinemorph.multibody.algorithms.impulse import articulate
from kinemorph.multibody.checks import Vector
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data_of, dofs_of, link_data_of, links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.rows import load3, load3_at
from kinemorph.spatial.vec3 import dot

MASSLESS_SHARE = 1e-13  # share of the inertia around it below which what a joint moves is rounding
TRIED_CONFIGURATIONS = 3  # in a single configuration a joint may be singular by accident


@kernel(inline=False)
def fill_moved_shares(tree: Any, q: Any, shares: Any) -> None:
    """For each degree of freedom, the share of the inertia around that it moves if all others are free."""
    links = links_of(tree)
    dofs = dofs_of(tree)
    rows = link_data_of(tree)
    dof_rows = dof_data_of(tree)
    articulate(tree, q)
    for i in range(tree["n"]):
        l = links[i]
        A, M = rows[i + 1]["A"], rows[i + 1]["M"]
        for k in range(l["iv"], l["iv"] + l["nv"]):
            w, v = load3(dof_rows[k]["S"]), load3_at(dof_rows[k]["S"], 3)
            around = dot(w, w) * (A[0] + A[3] + A[5]) + dot(v, v) * (M[0] + M[3] + M[5]) + dofs[k]["armature"]
            moved = 1.0 / (dof_rows[k]["D"][0] * dof_rows[k]["D"][0])
            shares[k] = moved / around if around > 0.0 and moved <= around else 0.0


@entry
def _fill_moved_shares(address: int, q: Vector, shares: Vector) -> None:
    fill_moved_shares(rows_at(address, 1, TREE)[0], q, shares)


def massless_joints(model: Model, q: Any = None) -> list[str]:
    """Names of joints that move no mass in one of their directions, at q or, without q, in any configuration."""
    if not model.nv:
        return []
    data, best, shares = Data(model), np.zeros(model.nv), np.empty(model.nv)
    poses = (random_configuration(model, seed) for seed in range(TRIED_CONFIGURATIONS - 1))
    tried = [q] if q is not None else [neutral(model), *poses]
    for at in tried:
        _fill_moved_shares(data.address, np.array(at, dtype=np.float64), shares)
        best = np.maximum(best, np.nan_to_num(shares, nan=0.0))
    still = {*model.dofs["link"][best < MASSLESS_SHARE].tolist()}
    parents = model.links["parent"].tolist()
    carrying = set()  # links that carry such a joint: their shares are not finite
    for link in still:
        while (link := parents[link]) >= 0 and link not in carrying:
            carrying.add(link)
    return [model.joint_names[i] for i in sorted(still - carrying)]
