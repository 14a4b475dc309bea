"""Checks of a run of `bounce`: all pairs of boxes, counters from scratch, proofs of distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.collision.narrow.core_pairs import CorePairs
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.spatial.pose import Array

if TYPE_CHECKING:
    from kinemorph.scenes.bounce.simulation import Bounce, Report


DISTANCE_ERROR = 1e-8  # m: the narrow phase promises 1e-9 of the sizes, which are up to 3 m
BLOCK_BOXES = 512  # boxes at a time


def check(world: Bounce, report: Report, sampled: int) -> None:
    """Look at a world after a step, and add to its report what was found."""
    report.checks += 1
    rng = np.random.default_rng(world.steps)
    ij, pairs, contacts = world.close()
    known = set(map(tuple, ij.tolist()))
    overlapping = all_pairs(world.lows, world.highs)
    broad = world.collisions.broad_phase
    report.missed += sum(pair not in known for pair in overlapping)
    report.missed += len(set(overlapping) ^ set(map(tuple, broad.pairs.tolist())))
    try:
        broad.check()
    except AssertionError:
        report.invalid += 1
    report.pairs += (len(ij) - report.pairs) / report.checks
    for k in rng.choice(len(ij), min(sampled, len(ij)), replace=False):
        i, j = ij[k].tolist()
        error = find_mistake(world, i, j, pairs[k], contacts[k])
        report.worst = max(report.worst, error)
        report.proved += error <= DISTANCE_ERROR
        report.wrong += not error <= DISTANCE_ERROR


def all_pairs(lows: Array, highs: Array) -> list[tuple[int, int]]:
    """The pairs of boxes that overlap or touch, by looking at each."""
    found = []
    for start in range(0, len(lows), BLOCK_BOXES):
        some = slice(start, start + BLOCK_BOXES)
        meet = (lows[some, None] <= highs[None]).all(axis=2) & (lows[None] <= highs[some, None]).all(axis=2)
        i, j = np.nonzero(meet)
        i += start
        found += list(zip(i[i < j].tolist(), j[i < j].tolist(), strict=True))
    return found


def find_mistake(world: Bounce, i: int, j: int, pair: Any, contact: Any) -> float:
    """How wrong the answer of the narrow phase can be at most, without asking it.

    Apart: the closest points are in the cores, so the distance is no more than theirs; the cores are on different sides
    of a slab that is as thick, so it is no less. Overlapping: along no axis that could separate two polyhedra is the
    overlap less than the depth, and along the normal it is just that. If hulls were opened, all parts were looked at.
    """
    first, second = world.core(i, int(contact["part1"])), world.core(j, int(contact["part2"]))
    (R1, p1), (R2, p2) = ((o["R"].reshape(3, 3), o["x"]) for o in world.objects[[i, j]])
    a, b = first.points @ R1.T + p1, second.points @ R2.T + p2
    n, d, x1, x2 = contact["normal"], float(contact["distance"]), contact["x1"], contact["x2"]
    errors = [abs(n @ n - 1.0), np.abs(x2 - x1 - d * n).max(), abs(d - pair["distance"])]
    errors += [distance_outside(first, (x1 - p1) @ R1), distance_outside(second, (x2 - p2) @ R2)]
    R, p = R1.T @ R2, R1.T @ (p2 - p1)
    if pair["exact"] or d > 0.0:
        errors.append(abs((b @ n).min() - (a @ n).max() - d))
    if d < 0.0:
        errors.append(abs(-d - least_overlap(first, second, R, p)))
    parts = [(x, y) for x in world.parts(i) for y in world.parts(j)]
    if len(parts) > 1 and pair["exact"]:
        every = CorePairs(parts)
        every.rows["R"], every.rows["p"] = R.reshape(9), p
        errors.append(abs(float(every.update()["distance"].min()) - d))
    return float(max(errors))


def distance_outside(core: Polyhedron, x: Array) -> float:
    return float((core.faces["normal"] @ x - core.faces["offset"]).max())


def least_overlap(first: Polyhedron, second: Polyhedron, R: Array, p: Array) -> float:
    """Over all axes that are normals of faces of the Minkowski difference: this is how deep two polyhedra overlap."""
    a, b = first.points, second.points @ R.T + p
    crossed = np.cross(first.edges["direction"][:, None], (second.edges["direction"] @ R.T)[None]).reshape(-1, 3)
    length = np.linalg.norm(crossed, axis=1)
    crossed = crossed[length > 1e-6] / length[length > 1e-6, None]
    axes = np.vstack([first.faces["normal"], -second.faces["normal"] @ R.T, crossed, -crossed])
    return float(((axes @ a.T).max(axis=1) - (axes @ b.T).min(axis=1)).min())
