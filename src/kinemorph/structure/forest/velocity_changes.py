"""Change the velocity of a floating body at once; its tree moves with it."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import link_data_of, links_of
from kinemorph.spatial.mat3 import mul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import cross, sub
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of, v_of

Vec3 = tuple[float, float, float]


@entry
def add_body_velocity(address: int, index: int, push: Vec3, turn: Vec3) -> int:
    """Add to velocity and angular velocity, world axes, of a body that a free joint carries. Returns a status."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    if forest["kind"] != layout.FOREST_KIND or forest["busy"] != 0:
        return layout.NO_FOREST
    return add_free_body_velocity(forest, index, push, turn)


@kernel(inline=False)
def add_free_body_velocity(forest: Any, index: int, push: Vec3, turn: Vec3) -> int:
    """The same, in a forest that no other thread uses."""
    body = bodies_of(forest)[index]
    slot = trees_of(forest)[body["tree"]]
    tree = tree_of(slot)
    link = links_of(tree)[body["link"]]
    if link["kind"] != FREE:
        return layout.NOT_CARRIED
    update_slot_motion(slot)
    R = link_data_of(tree)[body["link"] + 1]["R"]
    push = sub(push, cross(turn, mul_vec(load9(R), load3(body["p"]))))  # of the link's origin: it is not the body's
    v = v_of(slot, tree)
    for k in range(3):  # Rᵀ of both
        v[link["iv"] + k] += R[k] * turn[0] + R[3 + k] * turn[1] + R[6 + k] * turn[2]
        v[link["iv"] + 3 + k] += R[k] * push[0] + R[3 + k] * push[1] + R[6 + k] * push[2]
    return layout.DONE
