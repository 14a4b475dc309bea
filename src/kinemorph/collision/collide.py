"""From poses of links to contacts, in kernels: placement, broad phase, narrow phase.

    links ─ place_shapes ─> places, boxes ─ find_pairs ─> pairs ─ find_contacts ─> contacts

Pairs are in the order of the rows of their shapes, contacts in the order of their pairs, whatever the state of the
tables. A kernel whose table is full returns FULL and sets a bit for the table; Python enlarges it and calls again, and
the kernel continues where it stopped, with the same result.
"""

from typing import Any

import numpy as np

from kinemorph.collision.broad.hash_order import collect_close, collect_overlapping
from kinemorph.collision.broad.hash_rows import HASH, INDEX_ROW, LISTED_PAIR
from kinemorph.collision.broad.hash_update import move_box, rebuild_tables
from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes import shape_rows
from kinemorph.collision.shapes.shape_poses import place_shapes
from kinemorph.collision.shapes.shape_rows import Candidates, Form, shapes_of
from kinemorph.geometry.ground import BOUNDS
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.spatial.rows import load3

NO_FORM = int(Form.NONE)
CLOSE_CANDIDATES = int(Candidates.CLOSE)


@kernel
def find_pairs(collisions: Any) -> int:
    """Broad phase: list the pairs of shapes whose boxes overlap, or share tiles, in the order of their rows."""
    grid = rows_at(collisions["hash"], 1, HASH)[0]
    order = rows_at(grid["order"], grid["moving"], INDEX_ROW)
    boxes = rows_at(collisions["boxes"], collisions["n"], BOUNDS)
    if not _boxes_are_finite(boxes):
        return shape_rows.BAD_BOX
    if collisions["from_scratch"]:
        rebuild_tables(collisions["hash"])
    for r in range(grid["moving"]):
        box = boxes[order[r]["i"]]
        move_box(grid, int(order[r]["i"]), load3(box["low"]), load3(box["high"]))
    if grid["full"]:
        collisions["full"] |= shape_rows.FULL_HASH
        return shape_rows.FULL
    if collisions["room"] < grid["pair_room"]:
        collisions["full"] |= shape_rows.FULL_PAIRS
        return shape_rows.FULL
    collisions["n_met"] = (
        collect_close(grid, 1) if collisions["candidates"] == CLOSE_CANDIDATES else collect_overlapping(grid, 1)
    )
    collisions["met"] = grid["found"]
    collisions["lives"] = grid["lives"]
    return shape_rows.DONE


@kernel
def _boxes_are_finite(boxes: Any) -> bool:
    good = True
    for i in range(boxes.shape[0]):
        for d in range(3):
            size = boxes[i]["high"][d] - boxes[i]["low"][d]
            good &= (size >= 0.0) & (size < np.inf)  # False for NaN, and so for any number that is not finite
    return good


@kernel(inline=False)
def list_all_pairs(collisions: Any) -> int:
    """List every pair that its filters allow, without boxes; its row of PAIR_MEMORY is its number among all pairs.

    An existing list is kept: it is cleared when shapes change.
    """
    if collisions["n_met"] > 0:
        return shape_rows.DONE
    if collisions["room"] < collisions["n"] * (collisions["n"] - 1) // 2:
        collisions["full"] |= shape_rows.FULL_PAIRS
        return shape_rows.FULL
    shapes = shapes_of(collisions)
    met = rows_at(collisions["met"], collisions["room"], LISTED_PAIR)
    row = 0
    m = 0
    for i in range(collisions["n"]):
        for j in range(i + 1, collisions["n"]):
            if _filters_allow_pair(shapes[i], shapes[j]):
                met[m]["ij"][0] = i
                met[m]["ij"][1] = j
                met[m]["row"] = row
                m += 1
            row += 1
    collisions["n_met"] = m
    return shape_rows.DONE


@kernel
def _filters_allow_pair(shape_a: Any, shape_b: Any) -> bool:
    there = shape_a["form"] != NO_FORM and shape_b["form"] != NO_FORM and shape_a["fixed"] + shape_b["fixed"] < 2
    return there and (shape_a["mask"] & shape_b["group"]) != 0 and (shape_b["mask"] & shape_a["group"]) != 0


@kernel(inline=False)
def collide(collisions: Any, links: Any) -> int:
    """Place the shapes, list the pairs and find their contacts."""
    if collisions["goes_on"] == 0:
        place_shapes(collisions, links)
        status = find_pairs(collisions)
        if status != shape_rows.DONE:
            return status
    return find_contacts(collisions)


# --- entries for Python: two instead of one, so that the large one is compiled once ---


@entry(nogil=True)
def place_and_find_pairs(address: int, links: Any) -> int:
    """Place the shapes, and list the pairs."""
    collisions = rows_at(address, 1, shape_rows.COLLISIONS)[0]
    if collisions["kind"] != shape_rows.COLLISIONS_KIND:
        return shape_rows.WRONG_ROW
    place_shapes(collisions, links)
    return find_pairs(collisions)


@entry(nogil=True)
def place_and_list_all_pairs(address: int, links: Any) -> int:
    """The same without a broad phase."""
    collisions = rows_at(address, 1, shape_rows.COLLISIONS)[0]
    if collisions["kind"] != shape_rows.COLLISIONS_KIND:
        return shape_rows.WRONG_ROW
    place_shapes(collisions, links)
    return list_all_pairs(collisions)


@entry(nogil=True)
def find_all_contacts(address: int) -> int:
    """Find the contacts of the listed pairs."""
    collisions = rows_at(address, 1, shape_rows.COLLISIONS)[0]
    return find_contacts(collisions) if collisions["kind"] == shape_rows.COLLISIONS_KIND else shape_rows.WRONG_ROW
