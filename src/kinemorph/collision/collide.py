"""From boxes to contact points, in kernels: which shapes may touch, and then each pair of them.

    links ─ place_shapes ─> places, boxes ─ find_pairs ─> pairs ─ find_contacts ─> contacts

Pairs are in the order of the rows of their shapes and contacts in the order of their pairs, whatever the tables look
like. A kernel that runs out of room says FULL and which table it was; Python makes a larger one and calls again, and it
goes on where it was: nothing comes out differently.
"""

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.collision.dispatch import find_contacts
from kinemorph.collision.hash_pairs import collect
from kinemorph.collision.hash_rows import HASH, INDEX, MEETING
from kinemorph.collision.hash_update import fill, move_box
from kinemorph.collision.shape_places import place_shapes
from kinemorph.collision.shape_rows import (
    BAD_BOX,
    COLLISIONS,
    COLLISIONS_KIND,
    DONE,
    FULL,
    FULL_HASH,
    FULL_PAIRS,
    PAIR,
    SHAPE,
    WRONG_ROW,
    Candidates,
    Form,
)
from kinemorph.geometry.ground import BOUNDS
from kinemorph.spatial.rows import load3

NONE, IS_GROUND = int(Form.NONE), int(Form.GROUND)
CLOSE = int(Candidates.CLOSE)


@kernel(inline=False)
def find_pairs(c: Any) -> int:
    """List the pairs of shapes whose boxes overlap, or are close, in the order of their rows."""
    h = rows_at(c["hash"], 1, HASH)[0]
    order = rows_at(h["order"], h["moving"], INDEX)
    boxes = rows_at(c["boxes"], c["n"], BOUNDS)
    for r in range(h["moving"]):
        if not _is_box(boxes[order[r]["i"]]):
            c["bad"] = order[r]["i"]
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
    _list(c, h, collect(h, 1, int(c["candidates"] == CLOSE)))
    return DONE


@kernel
def _is_box(box: Any) -> bool:
    good = True
    for d in range(3):
        size = box["high"][d] - box["low"][d]
        good &= (size >= 0.0) & (size < np.inf)  # False for NaN, and so for any number that is not finite
    return good


@kernel
def _list(c: Any, h: Any, m: int) -> None:
    """Make pairs of shapes of the first m pairs of boxes that the hash has found."""
    meetings = rows_at(h["found"], h["pair_room"], MEETING)
    lives = rows_at(h["lives"], h["pair_room"], INDEX)
    pairs = rows_at(c["pairs"], c["room"], PAIR)
    n = 0
    for k in range(m):
        row = meetings[k]["row"]
        pair = pairs[n]
        pair["row"] = row
        pair["life"] = lives[row]["i"]
        n += _name(c, pair, meetings[k]["ij"][0], meetings[k]["ij"][1])
    c["n_pairs"] = n


@kernel
def _name(c: Any, pair: Any, i: int, j: int) -> int:
    """Let a pair be of shapes i < j: 1, or 0 if they are on one link."""
    shapes = rows_at(c["shapes"], c["n"], SHAPE)
    turned = shapes[j]["form"] == IS_GROUND
    pair["a"] = j if turned else i
    pair["b"] = i if turned else j
    return int(shapes[i]["link"] != shapes[j]["link"])


@kernel(inline=False)
def all_pairs(c: Any) -> int:
    """List every pair that may meet, without a look at boxes; its row of MEMORY is its number among all pairs.

    Nothing is to be done if there is a list: who changes the shapes takes it away.
    """
    if c["n_pairs"] > 0:
        return DONE
    shapes = rows_at(c["shapes"], c["n"], SHAPE)
    pairs = rows_at(c["pairs"], c["room"], PAIR)
    if c["room"] < c["n"] * (c["n"] - 1) // 2:
        c["full"] |= FULL_PAIRS
        return FULL
    row = 0
    n = 0
    for i in range(c["n"]):
        for j in range(i + 1, c["n"]):
            if _may_meet(shapes[i], shapes[j]):
                pairs[n]["row"] = row
                pairs[n]["life"] = 1
                n += _name(c, pairs[n], i, j)
            row += 1
    c["n_pairs"] = n
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
def pair_up_placed(address: int) -> int:
    """The same for shapes whose places and boxes are up to date."""
    c = rows_at(address, 1, COLLISIONS)[0]
    return find_pairs(c) if c["kind"] == COLLISIONS_KIND else WRONG_ROW


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
