"""Rows of new shapes, written in one call: geometry and pose on the link; and their boxes in the hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.broad.hash_rows import FILTER, HASH, INDEX_ROW
from kinemorph.collision.broad.hash_tiles import rehash
from kinemorph.collision.shapes.shape_rows import COLLISIONS, MOUNT, SHAPE, SHAPES, shapes_of
from kinemorph.geometry.ground import BOUNDS
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.rows import load3

Ids = np.ndarray[tuple[int], np.dtype[np.int64]]
Integers = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Numbers = np.ndarray[tuple[int, int], np.dtype[np.float64]]
LARGEST_FLOAT = 1.7976931348623157e308
NO_NEXT_SHAPE = -1
ROW_BITS = 32  # of the id of a shape; the higher bits are the generation of its row
SHAPE_ROW_MASK = (1 << ROW_BITS) - 1  # mask of these bits
I8 = np.dtype(np.int64)


@entry
def write_shapes(
    address: int, revision: int, written: Integers, whole: Integers, numbers: Numbers, bodies: Ids
) -> None:  # fmt: skip
    """Fill SHAPE and MOUNT rows. `whole`: form, link, group, mask, fixed, core, nodes, n_nodes, ground and carrier of
    each; `numbers`: R, p, low, high, radius and reach. If `bodies` (ids) is given, links index it, and become the rows
    of these ids. `written` holds rows, and receives ids and links.
    """
    t = rows_at(address, 1, SHAPES)[0]
    rows, mounts = rows_at(t["rows"], t["room"], SHAPE), rows_at(t["mounts"], t["room"], MOUNT)
    changed = rows_at(t["changed"], t["room"], I8)
    for k in range(whole.shape[0]):
        i = written[k, 0]
        r, mount = rows[i], mounts[i]
        link, carrier = whole[k, 1], whole[k, 9]
        if bodies.shape[0] > 0:
            link = bodies[link] & SHAPE_ROW_MASK if link >= 0 else link
            carrier = bodies[carrier] & SHAPE_ROW_MASK if carrier >= 0 else carrier
        r["form"], r["link"] = whole[k, 0], link
        r["group"], r["mask"], r["fixed"] = whole[k, 2], whole[k, 3], whole[k, 4]
        r["core"], r["nodes"], r["n_nodes"], r["ground"] = whole[k, 5], whole[k, 6], whole[k, 7], whole[k, 8]
        r["carrier"], r["radius"] = carrier, numbers[k, 18]
        for j in range(9):
            mount["R"][j] = numbers[k, j]
        for j in range(3):
            mount["p"][j], mount["low"][j], mount["high"][j] = numbers[k, 9 + j], numbers[k, 12 + j], numbers[k, 15 + j]
        mount["pad"], mount["reach"] = numbers[k, 18], numbers[k, 19]
        changed[i] = revision + 1 + k
        written[k, 0], written[k, 1] = np.int64(r["generation"]) << ROW_BITS | i, link


@kernel
def box_is_finite(box: Any) -> bool:
    good = True
    for d in range(3):
        good &= abs(box["low"][d]) <= LARGEST_FLOAT and abs(box["high"][d]) <= LARGEST_FLOAT
    return good


@entry
def put_shape_boxes(address: int, rows: Ids, start: int) -> int:
    """Put the boxes of shapes into the hash, from `rows[start]` on; it has rows for them.

    Returns how many are done, fewer than all if a table is full; or NO_NEXT_SHAPE - k if box k is not finite.
    """
    collisions = rows_at(address, 1, COLLISIONS)[0]
    grid = rows_at(collisions["hash"], 1, HASH)[0]
    boxes, shapes = rows_at(collisions["boxes"], collisions["n"], BOUNDS), shapes_of(collisions)
    for k in range(start, rows.shape[0]):
        if not box_is_finite(boxes[rows[k]]):
            return NO_NEXT_SHAPE - k
    for k in range(start, rows.shape[0]):
        i = rows[k]
        grid["n"] = max(grid["n"], i + 1)
        f = rows_at(grid["filters"], grid["n"], FILTER)[i]
        f["group"], f["mask"], f["fixed"] = shapes[i]["group"], shapes[i]["mask"], shapes[i]["fixed"]
        rehash(grid, i, load3(boxes[i]["low"]), load3(boxes[i]["high"]))
        if grid["full"]:
            return k + 1
    return rows.shape[0]


@entry
def list_moving_shapes(address: int) -> int:
    """Let the next update of the hash be for the boxes of all shapes on links. Returns how many these are."""
    collisions = rows_at(address, 1, COLLISIONS)[0]
    grid = rows_at(collisions["hash"], 1, HASH)[0]
    shapes, order = shapes_of(collisions), rows_at(grid["order"], grid["n"], INDEX_ROW)
    count = 0
    for i in range(collisions["n"]):
        if shapes[i]["form"] != 0 and shapes[i]["link"] >= 0:
            order[count]["i"] = i
            count += 1
    grid["moving"] = count
    return count
