"""Materials of shapes, written in one call."""

from __future__ import annotations

import numpy as np

from kinemorph._jit import entry, rows_at
from kinemorph.contact.layout import MATERIAL, SOLVER

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
Numbers = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@entry
def lay_materials(address: int, rows: Integers, numbers: Numbers) -> bool:
    """Fill MATERIAL rows: friction, restitution, rolling, torsion, tangential, priority and surface of each.

    What is agreed on for pairs stays. Returns whether something conveys, now or before.
    """
    s = rows_at(address, 1, SOLVER)[0]
    materials = rows_at(s["materials"], s["material_room"], MATERIAL)
    conveys = s["conveys"] != 0
    for k in range(rows.shape[0]):
        m = materials[rows[k]]
        m["friction"], m["restitution"], m["rolling"] = numbers[k, 0], numbers[k, 1], numbers[k, 2]
        m["torsion"], m["tangential"], m["priority"] = numbers[k, 3], numbers[k, 4], int(numbers[k, 5])
        for d in range(3):
            m["surface"][d] = numbers[k, 6 + d]
            conveys |= numbers[k, 6 + d] != 0.0
        if numbers[k, 2] > 0.0 or numbers[k, 3] > 0.0:
            s["rough"] = 1
    return conveys
