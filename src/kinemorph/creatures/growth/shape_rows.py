"""The shape rows of a creature of boxes in one call, without Shape objects, which evaluation never needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.shapes.shape_rows import STATIC_CARRIER, Form
from kinemorph.creatures.growth.joints import next_part
from kinemorph.creatures.growth.solids import BOX
from kinemorph.geometry.boxes import NODE_SIZE, SIZE, make_box
from kinemorph.geometry.convex_parts import NODE
from kinemorph.geometry.material import ALL_GROUPS_MASK
from kinemorph.jit.api import entry, kernel, rows_at

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Numbers = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Records = np.ndarray[tuple[int], np.dtype[np.void]]
CONVEX = int(Form.CONVEX)


@entry
def mount_boxes(parts: Records, pattern: Integers, boxes: int, nodes: int, whole: Table, numbers: Numbers) -> bool:
    """Fill BOX_ROWS, NODE rows and what `write_shapes` reads, of zeros, in the order of the parts' links.

    Returns whether all parts are boxes; if not, nothing is made.
    """
    for i in range(parts.shape[0]):
        if parts[i]["form"] != BOX:
            return False
    i, k = 0, 0
    while i >= 0:
        mount_box(parts, i, pattern, boxes + k * SIZE, nodes + k * NODE_SIZE, whole[k], numbers[k])
        i, k = next_part(parts, i), k + 1
    return True


@kernel(inline=False)
def mount_box(parts: Any, index: int, pattern: Any, box: int, node_at: int, whole: Any, numbers: Any) -> None:
    """One of them, upright on its link."""
    part = parts[index]
    h, parent = part["half"], part["parent"]
    make_box(pattern, (2.0 * h[0], 2.0 * h[1], 2.0 * h[2]), box, node_at)
    node = rows_at(node_at, 1, NODE)[0]
    whole[0], whole[1], whole[2], whole[3] = CONVEX, part["link"], 1, ALL_GROUPS_MASK
    whole[5], whole[6], whole[7] = node["core"], node_at, 1
    whole[9] = parts[parent]["link"] if parent >= 0 else STATIC_CARRIER
    numbers[0] = numbers[4] = numbers[8] = 1.0
    numbers[11] = part["rise"]
    for d in range(3):
        numbers[12 + d], numbers[15 + d] = node["low"][d], node["high"][d]
    numbers[19] = node["radius_bound"]
