"""Concave bodies: simultaneous descent of two trees of convex parts (Fontijne 2.4 and 2.4.2).

A pair of nodes is opened if its hulls are closer than a threshold, the larger node first. A lower bound from V-Clip is
enough for hulls; pairs of leaves get the full answer, with depth. Every visited pair keeps its features for the next
call. All is in the frame of the first body.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.collision.narrow import part_pairs
from kinemorph.collision.narrow.core_pair import bound_core_pair, evaluate_core_pair
from kinemorph.collision.narrow.manifold import closest_features_id
from kinemorph.geometry.convex_parts import NODE, PARTS
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.mat3 import Mat3, mul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, add, dot, sub

LEAF_VERDICT = 1  # verdict of a pair of leaves within the margin


@kernel(inline=False)
def search_trees(
    nodes1: Any, nodes2: Any, R: Mat3, p: Vec3, margin: float, threshold: float, search: Any, work: Any
) -> None:
    """List the pairs of parts no farther apart than `margin` (m), and find the distance of the two bodies.

    Nodes open only below `threshold` (m), or the margin if that is larger: a distance below it is exact, otherwise it
    may be a lower bound, and search["exact"] is 0.
    """
    part_pairs.clear_list(search)
    threshold = max(threshold, margin)
    stack = search["stack"]
    stack[0], stack[1] = 0, 0
    top = 1
    while top > 0:
        top -= 1
        i = int(stack[2 * top])
        j = int(stack[2 * top + 1])
        if _is_beyond(_ball_distance(nodes1[i], nodes2[j], R, p), margin, search):
            continue
        leaves = nodes1[i]["first"] < 0 and nodes2[j]["first"] < 0
        k = part_pairs.prepare_row(search, i, j)
        if k < 0:
            continue
        row = part_pairs.core_pairs_of(search)[k]
        _set_input(row, nodes1[i], nodes2[j], R, p)
        if leaves:
            evaluate_core_pair(row, work)
        else:
            bound_core_pair(row)
        part_pairs.add_row_counters(search, row)
        if row["distance"] < search["distance"] and (leaves or row["distance"] > threshold):
            part_pairs.keep_closest(search, row, k, i, j, closest_features_id(row), int(leaves))
        if leaves and row["distance"] <= margin:
            part_pairs.list_row(search, LEAF_VERDICT)
            continue
        search["n"] += 1
        if not leaves and row["distance"] <= threshold and not _is_beyond(row["distance"], margin, search):
            top = _open_nodes(nodes1, i, nodes2, j, R, p, stack, top)


@kernel
def _is_beyond(distance: float, margin: float, search: Any) -> bool:
    return distance > margin and distance >= search["distance"]


@kernel
def _ball_distance(node1: Any, node2: Any, R: Mat3, p: Vec3) -> float:
    """Lower bound (m) of the distance of two nodes, from the balls around them."""
    r = sub(add(mul_vec(R, load3(node2["centre"])), p), load3(node1["centre"]))
    return math.sqrt(dot(r, r)) - node1["radius_bound"] - node2["radius_bound"]


@kernel
def _set_input(row: Any, node1: Any, node2: Any, R: Mat3, p: Vec3) -> None:
    row["core1"] = node1["core"]
    row["core2"] = node2["core"]
    row["radius1"] = node1["radius"]
    row["radius2"] = node2["radius"]
    store9(row["R"], R)
    store3(row["p"], p)


@kernel(inline=False)
def _open_nodes(nodes1: Any, index1: int, nodes2: Any, index2: int, R: Mat3, p: Vec3, stack: Any, top: int) -> int:
    """Push the pairs of the larger node's children, the nearer one on top. Returns the stack height."""
    node1 = nodes1[index1]
    node2 = nodes2[index2]
    if node2["first"] < 0 or (node1["first"] >= 0 and node1["radius_bound"] >= node2["radius_bound"]):
        a, b = node1["first"], node1["second"]
        swap = _ball_distance(nodes1[a], node2, R, p) > _ball_distance(nodes1[b], node2, R, p)
        stack[2 * top], stack[2 * top + 1] = (a if swap else b), index2
        stack[2 * top + 2], stack[2 * top + 3] = (b if swap else a), index2
    else:
        a, b = node2["first"], node2["second"]
        swap = _ball_distance(node1, nodes2[a], R, p) > _ball_distance(node1, nodes2[b], R, p)
        stack[2 * top], stack[2 * top + 1] = index1, (a if swap else b)
        stack[2 * top + 2], stack[2 * top + 3] = index1, (b if swap else a)
    return top + 2


@entry(nogil=True)
def search_parts(
    first: int, second: int, poses: Any, margin: float, threshold: float, searches: Any, work: Any
) -> None:
    """`search_trees` for Python: addresses of two `Parts`, and the pose of the second, R (9) and p (3) in one array."""
    R = load9(poses)
    p = (poses[9], poses[10], poses[11])
    a = rows_at(first, 1, PARTS)[0]
    b = rows_at(second, 1, PARTS)[0]
    nodes1 = rows_at(a["nodes"], a["n"], NODE)
    nodes2 = rows_at(b["nodes"], b["n"], NODE)
    search_trees(nodes1, nodes2, R, p, margin, threshold, searches[0], work[0])
