"""Cores and bodies of many boxes as rows, in one call.

Boxes differ in lengths only: each is a scaled copy of a unit box.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from kinemorph.geometry.convex_parts import NODE
from kinemorph.geometry.polyhedron import BOX_PLACES, BOX_ROWS, CORE, EDGE, FACE, VERTEX, unit_box
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.memory import WORD
from kinemorph.spatial.rows import load3, store3

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
Numbers = np.ndarray[tuple[int, int], np.dtype[np.float64]]
VERTICES, EDGES, FACES, CORES = (BOX_PLACES[name] for name in ("vertices", "edges", "faces", "core"))
SIZE, NODE_SIZE, WORDS = BOX_ROWS.itemsize, NODE.itemsize, BOX_ROWS.itemsize // 8


@cache
def box_pattern() -> Integers:
    """The words of a unit box's rows, then the axis of each edge, and of the normal of each face."""
    _, content, along, across = unit_box()
    return np.concatenate([np.frombuffer(content.tobytes(), np.int64), along, across])


@entry
def make_boxes(pattern: Integers, sizes: Numbers, rows: int, nodes: int) -> None:
    """Fill BOX_ROWS and NODE rows at two addresses with boxes of these sizes (m)."""
    for k in range(sizes.shape[0]):
        make_box(pattern, (sizes[k, 0], sizes[k, 1], sizes[k, 2]), rows + k * SIZE, nodes + k * NODE_SIZE)


@kernel(inline=False)
def make_box(pattern: Any, size: Any, at: int, node_at: int) -> None:
    """The same for one box; its NODE row must be zero."""
    words = rows_at(at, WORDS, WORD)
    for k in range(WORDS):
        words[k] = pattern[k]
    half = (0.5 * size[0], 0.5 * size[1], 0.5 * size[2])
    vertices = rows_at(at + VERTICES, 8, VERTEX)
    edges = rows_at(at + EDGES, 12, EDGE)
    faces = rows_at(at + FACES, 6, FACE)
    for k in range(8):
        x, y, z = load3(vertices[k]["x"])
        store3(vertices[k]["x"], (x * size[0], y * size[1], z * size[2]))
    for k in range(12):
        edges[k]["length"] = size[pattern[WORDS + k]]
    for k in range(6):
        faces[k]["offset"] = half[pattern[WORDS + 12 + k]]
    core, node = rows_at(at + CORES, 1, CORE)[0], rows_at(node_at, 1, NODE)[0]
    core["vertices"], core["edges"], core["faces"] = at + VERTICES, at + EDGES, at + FACES
    core["radius_bound"] = math.sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2])
    node["core"], node["radius_bound"] = at + CORES, core["radius_bound"]
    store3(node["centre"], load3(core["centre"]))
    store3(node["low"], load3(vertices[0]["x"]))
    store3(node["high"], load3(vertices[7]["x"]))
    node["parent"] = node["first"] = node["second"] = -1
    node["skip"] = 1
