"""Writing the materials of many shapes in one call."""

from __future__ import annotations

import numpy as np

from kinemorph.contact.layout import SOLVER, materials_of
from kinemorph.jit.api import entry, rows_at

Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Numbers = np.ndarray[tuple[int, int], np.dtype[np.float64]]
MATERIAL_NUMBERS = 9  # numbers of a material
INDEX = (1 << 32) - 1  # the bits of the id of a shape that are its row


@entry
def write_materials(address: int, ids: Table, numbers: Numbers) -> bool:
    """Fill MATERIAL rows of the shapes whose ids are in the first column of `ids`.

    The last numbers of each are friction, restitution, rolling, torsion, tangential, priority and surface. Pair
    materials are unchanged. A single row of numbers applies to all. Returns whether any surface moves, now or before.
    """
    solver = rows_at(address, 1, SOLVER)[0]
    materials = materials_of(solver)
    conveys = solver["any_moving_surface"] != 0
    at = numbers.shape[1] - MATERIAL_NUMBERS
    for i in range(ids.shape[0]):
        m, k = materials[ids[i, 0] & INDEX], min(i, numbers.shape[0] - 1)
        m["friction"], m["restitution"], m["rolling"] = numbers[k, at], numbers[k, at + 1], numbers[k, at + 2]
        m["torsion"], m["tangential"] = numbers[k, at + 3], numbers[k, at + 4]
        m["priority"] = int(numbers[k, at + 5])
        for d in range(3):
            m["surface"][d] = numbers[k, at + 6 + d]
            conveys |= numbers[k, at + 6 + d] != 0.0
        if numbers[k, at + 2] > 0.0 or numbers[k, at + 3] > 0.0:
            solver["rough"] = 1
    return conveys
