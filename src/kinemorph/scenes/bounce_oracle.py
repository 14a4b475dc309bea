"""What a run of `bounce` is checked by: all pairs of boxes, counters from scratch, proofs of distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kinemorph.collision.core_pair import State
from kinemorph.geometry.polyhedron import Polyhedron

if TYPE_CHECKING:
    from kinemorph.scenes.bounce import Bounce, Report

Array = npt.NDArray[np.float64]

EXACT = 1e-8  # m: the narrow phase promises 1e-9 of the sizes, which are up to 3 m
BLOCK = 512  # boxes at a time


def check(world: Bounce, report: Report, sampled: int) -> None:
    """Look at a world after a step, and add to its report what was found."""
    report.checks += 1
    rng = np.random.default_rng(world.steps)
    ij, pairs, _ = world.close()
    known = set(map(tuple, ij.tolist()))
    overlapping = all_pairs(world.lows, world.highs)
    report.missed += sum(pair not in known for pair in overlapping)
    report.missed += len(set(overlapping) ^ set(map(tuple, world.broad.pairs.tolist())))
    try:
        world.broad.check()
    except AssertionError:
        report.invalid += 1
    report.pairs += (len(ij) - report.pairs) / report.checks
    by_handle = {core.address: core for body in world.bodies for core in body.cores}
    for k in rng.choice(len(ij), min(sampled, len(ij)), replace=False):
        pair = pairs[k]
        error = mistake(by_handle[int(pair["core1"])], by_handle[int(pair["core2"])], pair)
        report.worst = max(report.worst, error)
        report.proved += error <= EXACT
        report.wrong += not error <= EXACT


def all_pairs(lows: Array, highs: Array) -> list[tuple[int, int]]:
    """The pairs of boxes that overlap or touch, by looking at each."""
    found = []
    for start in range(0, len(lows), BLOCK):
        some = slice(start, start + BLOCK)
        meet = (lows[some, None] <= highs[None]).all(axis=2) & (lows[None] <= highs[some, None]).all(axis=2)
        i, j = np.nonzero(meet)
        i += start
        found += list(zip(i[i < j].tolist(), j[i < j].tolist(), strict=True))
    return found


def mistake(first: Polyhedron, second: Polyhedron, pair: Any) -> float:
    """How wrong the answer of the narrow phase can be at most, without asking it.

    Apart: the closest points are in the cores, so the distance is no more than theirs; the cores are on different sides
    of a slab that is as thick, so it is no less. Overlapping: along no axis that could separate two polyhedra is the
    overlap less than the depth, and along the normal it is just that.
    """
    R, p = pair["R"].reshape(3, 3), pair["p"]
    a, b = first.points, second.points @ R.T + p
    n, d, x1, x2 = pair["normal"], float(pair["distance"]), pair["x1"], pair["x2"]
    errors = [abs(n @ n - 1.0), np.abs(x2 - x1 - d * n).max()]
    errors += [outside(first, x1), outside(second, (x2 - p) @ R)]
    errors.append(abs((b @ n).min() - (a @ n).max() - d))
    if pair["state"] == State.DEEP:
        errors.append(abs(-d - least_overlap(first, second, R, p)))
    return float(max(errors))


def outside(core: Polyhedron, x: Array) -> float:
    return float((core.faces["normal"] @ x - core.faces["offset"]).max())


def least_overlap(first: Polyhedron, second: Polyhedron, R: Array, p: Array) -> float:
    """Over all axes that are normals of faces of the Minkowski difference: this is how deep two polyhedra overlap."""
    a, b = first.points, second.points @ R.T + p
    crossed = np.cross(first.edges["direction"][:, None], (second.edges["direction"] @ R.T)[None]).reshape(-1, 3)
    length = np.linalg.norm(crossed, axis=1)
    crossed = crossed[length > 1e-6] / length[length > 1e-6, None]
    axes = np.vstack([first.faces["normal"], -second.faces["normal"] @ R.T, crossed, -crossed])
    return float(((axes @ a.T).max(axis=1) - (axes @ b.T).min(axis=1)).min())
