"""Poses and velocities of bodies of a forest: of one body, or of all bodies of a model at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import link_data_of
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, add, cross
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import DONE, FOREST, FOREST_KIND, NO_FOREST, bodies_of, tree_of, trees_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK

MOTION = np.dtype(
    [
        ("R", "f8", 9),  # axes of a body's own frame
        ("p", "f8", 3),  # m, its origin
        ("w", "f8", 3),  # rad/s
        ("v", "f8", 3),  # m/s, of that origin; all in world axes
    ]
)

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


@kernel
def body_frame(body: Any, link: Any) -> tuple[Mat3, Vec3]:
    """World pose of a body's own frame, from the row of its link."""
    R, p = load9(link["R"]), load3(link["p"])
    if body["moved"] != 0:
        p = add(p, mul_vec(R, load3(body["p"])))
        R = mul(R, load9(body["R"]))
    return R, p


@kernel
def write_body_frame(slot: Any, body: Any, to: Any) -> Any:
    """Write the world pose of a body's own frame. Returns the row of its link, which must be up to date."""
    tree = tree_of(slot)
    link = link_data_of(tree)[body["link"] + 1]
    R, p = body_frame(body, link)
    store9(to["R"], R)
    store3(to["p"], p)
    return link


@entry
def read_body_motion(address: int, index: int, seen: Records) -> int:
    """Write pose and velocity of a body into the first row of MOTION. Returns a status."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["kind"] != FOREST_KIND or forest["busy"] != 0:
        return NO_FOREST
    body = bodies_of(forest)[index]
    slot = trees_of(forest)[body["tree"]]
    update_slot_motion(slot)
    link = write_body_frame(slot, body, seen[0])
    w = load3(link["w"])
    store3(seen[0]["w"], w)
    store3(seen[0]["v"], add(load3(link["v"]), cross(w, mul_vec(load9(link["R"]), load3(body["p"])))))
    return DONE


@entry
def read_body_poses(address: int, ids: Ids, poses: Records) -> int:
    """Write the world poses of bodies' own frames, each into the row after its index. Returns a status."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["kind"] != FOREST_KIND or forest["busy"] != 0:
        return NO_FOREST
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    t = -1
    for k in range(ids.shape[0]):
        i = ids[k] & ID_INDEX_MASK
        body = bodies[i]
        if body["tree"] != t:
            t = body["tree"]
            update_slot_motion(trees[t])
        write_body_frame(trees[t], body, poses[i + 1])
    return DONE
