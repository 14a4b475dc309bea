"""Where the bodies of a forest are, all of a model at once."""

from __future__ import annotations

import numpy as np

from kinemorph._jit import entry, rows_at
from kinemorph.multibody.layout import LINK_DATA, TREE
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import add
from kinemorph.structure.forest_elements import set_moving
from kinemorph.structure.forest_layout import BODY_SLOT, DONE, FOREST, FOREST_KIND, NO_FOREST, TREE_SLOT
from kinemorph.structure.forest_memory import INDEX

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


@entry
def place_bodies(address: int, ids: Ids, poses: Records) -> int:
    """Poses of the own frames of bodies that are there, each in the row after its index."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["kind"] != FOREST_KIND or forest["busy"] != 0:
        return NO_FOREST
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    t = -1
    for k in range(ids.shape[0]):
        i = ids[k] & INDEX
        body = bodies[i]
        if body["tree"] != t:
            t = body["tree"]
            set_moving(trees[t])
        tree = rows_at(trees[t]["address"], 1, TREE)[0]
        d = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)[body["link"] + 1]
        R = load9(d["R"])
        store9(poses[i + 1]["R"], mul(R, load9(body["R"])))
        store3(poses[i + 1]["p"], add(load3(d["p"]), mul_vec(R, load3(body["p"]))))
    return DONE
