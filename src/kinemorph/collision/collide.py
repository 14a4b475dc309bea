"""From boxes to contact points, in kernels: which shapes may touch, and then each pair of them.

    links ─ place_shapes ─> places, boxes ─ find_pairs ─> pairs ─ find_contacts ─> contacts

Pairs are in the order of the rows of their shapes and contacts in the order of their pairs, whatever the tables look
like. A kernel that runs out of room says FULL and which table it was; Python makes a larger one and calls again, and it
goes on where it was: nothing comes out differently.
"""

from typing import Any

import numpy as np

from kinemorph.collision.broad.hash_order import collect_close, collect_overlapping
from kinemorph.collision.broad.hash_rows import HASH, INDEX, MEETING
from kinemorph.collision.broad.hash_update import fill, move_box
from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes.shape_poses import place_shapes
from kinemorph.collision.shapes.shape_rows import (
    BAD_BOX,
    COLLISIONS,
    COLLISIONS_KIND,
    DONE,
    FULL,
    FULL_HASH,
    FULL_PAIRS,
    WRONG_ROW,
    Candidates,
    Form,
    shapes_of,
)
from kinemorph.geometry.ground import BOUNDS
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.rows import load3

NONE = int(Form.NONE)
CLOSE = int(Candidates.CLOSE)


@kernel
def find_pairs(c: Any) -> int:
    """List the pairs of shapes whose boxes overlap, or are close, in the order of their rows."""
    h = rows_at(c["hash"], 1, HASH)[0]
    order = rows_at(h["order"], h["moving"], INDEX)
    boxes = rows_at(c["boxes"], c["n"], BOUNDS)
    if not _are_boxes(boxes):
        return BAD_BOX
    if c["from_scratch"]:
        fill(c["hash"])
    for r in range(h["moving"]):
        box = boxes[order[r]["i"]]
        move_box(h, int(order[r]["i"]), load3(box["low"]), load3(box["high"]))
    if h["full"]:
        c["full"] |= FULL_HASH
        return FULL
    if c["room"] < h["pair_room"]:
        c["full"] |= FULL_PAIRS
        return FULL
    c["n_met"] = collect_close(h, 1) if c["candidates"] == CLOSE else collect_overlapping(h, 1)
    c["met"] = h["found"]
    c["lives"] = h["lives"]
    return DONE


@kernel
def _are_boxes(boxes: Any) -> bool:
    good = True
    for i in range(boxes.shape[0]):
        for d in range(3):
            size = boxes[i]["high"][d] - boxes[i]["low"][d]
            good &= (size >= 0.0) & (size < np.inf)  # False for NaN, and so for any number that is not finite
    return good


@kernel(inline=False)
def all_pairs(c: Any) -> int:
    """List every pair that may meet, without a look at boxes; its row of MEMORY is its number among all pairs.

    Nothing is to be done if there is a list: who changes the shapes takes it away.
    """
    if c["n_met"] > 0:
        return DONE
    if c["room"] < c["n"] * (c["n"] - 1) // 2:
        c["full"] |= FULL_PAIRS
        return FULL
    shapes = shapes_of(c)
    met = rows_at(c["met"], c["room"], MEETING)
    row = 0
    m = 0
    for i in range(c["n"]):
        for j in range(i + 1, c["n"]):
            if _may_meet(shapes[i], shapes[j]):
                met[m]["ij"][0] = i
                met[m]["ij"][1] = j
                met[m]["row"] = row
                m += 1
            row += 1
    c["n_met"] = m
    return DONE


@kernel
def _may_meet(p: Any, q: Any) -> bool:
    there = p["form"] != NONE and q["form"] != NONE and p["fixed"] + q["fixed"] < 2
    return there and (p["mask"] & q["group"]) != 0 and (q["mask"] & p["group"]) != 0


@kernel(inline=False)
def collide(c: Any, links: Any) -> int:
    """The whole way: place the shapes, list the pairs, find their contacts."""
    if c["goes_on"] == 0:
        place_shapes(c, links)
        status = find_pairs(c)
        if status != DONE:
            return status
    return find_contacts(c)


# --- what Python calls: two entries instead of one, so that the large one is compiled once ---


@entry(nogil=True)
def pair_up(address: int, links: Any) -> int:
    """Place the shapes, and list the pairs."""
    c = rows_at(address, 1, COLLISIONS)[0]
    if c["kind"] != COLLISIONS_KIND:
        return WRONG_ROW
    place_shapes(c, links)
    return find_pairs(c)


@entry(nogil=True)
def pair_up_all(address: int, links: Any) -> int:
    """The same without a broad phase."""
    c = rows_at(address, 1, COLLISIONS)[0]
    if c["kind"] != COLLISIONS_KIND:
        return WRONG_ROW
    place_shapes(c, links)
    return all_pairs(c)


@entry(nogil=True)
def look_at_all(address: int) -> int:
    """Find the contacts of the pairs."""
    c = rows_at(address, 1, COLLISIONS)[0]
    return find_contacts(c) if c["kind"] == COLLISIONS_KIND else WRONG_ROW
