"""The closest parts of two concave bodies: the plain form of the search through both trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.polyhedron import Polyhedron

Distance = Callable[[Polyhedron, Polyhedron], float]  # of two cores; 0 or less if they overlap


@dataclass(frozen=True)
class ClosestParts:
    """Where two bodies are closest. If not `exact`, the distance is a lower bound: a node was not opened."""

    distance: float
    first: int  # node of the first body
    second: int  # node of the second body
    exact: bool


def closest_parts(a: Parts, b: Parts, distance: Distance, threshold: float = math.inf) -> ClosestParts:
    """The closest nodes of two bodies; nodes open only below `threshold`, so that a distance below it is the true one.

    `distance` takes a core of each, and knows where the bodies are.
    """
    best = ClosestParts(math.inf, 0, 0, False)
    waiting = [(0, 0)]
    while waiting:
        i, j = waiting.pop()
        node, y = a.nodes[i], b.nodes[j]
        d = distance(a.cores[i], b.cores[j]) - float(node["radius"] + y["radius"])
        if d >= best.distance:
            continue
        leaves = node["first"] < 0 and y["first"] < 0
        if leaves or d > threshold:
            best = ClosestParts(d, i, j, bool(leaves))
        elif y["first"] < 0 or (
            node["first"] >= 0 and node["radius_bound"] >= y["radius_bound"]
        ):  # open the larger one
            waiting += [(int(node["second"]), j), (int(node["first"]), j)]
        else:
            waiting += [(i, int(y["second"])), (i, int(y["first"]))]
    return best
