"""States of all bodies at once: where they are and how they move, as arrays, from one call of a kernel."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.jit.api import entry, rows_at
from kinemorph.multibody.layout import link_data_of
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.mat3 import mul_vec
from kinemorph.spatial.quaternion import from_matrix
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import add, cross
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import BODIES, FOREST, IN_USE, TREES, bodies_of, tree_of, trees_of
from kinemorph.structure.forest.memory import pool_of
from kinemorph.structure.forest.poses import body_frame
from kinemorph.world.body import Body

if TYPE_CHECKING:
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


class BodyStates:
    """Where all bodies of a world were and how they moved when it was asked, one row for each, in the order of `ids`.

    `poses` has positions and quaternions in one array; `positions` and `quaternions` are its columns.
    """

    __slots__ = ("ids", "poses", "rotations", "twists")

    def __init__(self, count: int) -> None:
        self.ids: Ids = np.empty(count, np.int64)
        self.poses: Array = np.empty((count, 7))  # m, and w x y z
        self.rotations: Array = np.empty((count, 3, 3))  # axes of the bodies' own frames as columns, world
        self.twists: Array = np.empty((count, 6))  # rad/s, and m/s of the own frame's origin, world axes

    @property
    def positions(self) -> Array:
        """m, the origins of the bodies' own frames (n, 3), world."""
        return self.poses[:, :3]

    @property
    def quaternions(self) -> Array:
        """Rotations as quaternions w x y z (n, 4)."""
        return self.poses[:, 3:]

    @property
    def angular_velocities(self) -> Array:
        """rad/s (n, 3), world axes."""
        return self.twists[:, :3]

    @property
    def velocities(self) -> Array:
        """m/s (n, 3), of the origins of the bodies' own frames, world axes."""
        return self.twists[:, 3:]

    def row_of(self, body: Body | int) -> int:
        """The row of a body, by its handle or its id."""
        if not isinstance(body, Body | int | np.integer) or isinstance(body, bool):
            raise TypeError(f"states: body is {repr_of(body)}, and must be a kinemorph.Body or its id")
        found = np.flatnonzero(self.ids == operator.index(body))
        if not len(found):
            raise KeyError(f"states: there was no body {operator.index(body)}")
        return int(found[0])

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"BodyStates of {len(self)} bodies"


def read_states(world: World, into: BodyStates | None = None) -> BodyStates:
    """States of all bodies of a world now."""
    world._check_thread()
    if into is not None and not isinstance(into, BodyStates):
        raise TypeError(f"states: into is {repr_of(into)}, and must be a BodyStates that an earlier call has returned")
    forest = world.forest
    count = int(forest._pools[BODIES]["used"])
    found = into if into is not None and len(into) == count else BodyStates(count)
    if copy_states(forest.address, found.ids, found.poses, found.rotations, found.twists) != count:
        raise RuntimeError("this forest is in use by another thread")
    return found


@entry(nogil=True)
def copy_states(address: int, ids: Ids, poses: Any, rotations: Any, twists: Any) -> int:
    """Own frames and twists of all bodies, in the order of their indices. Returns how many; -1 if others use it."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["busy"] != 0:
        return -1
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE and tree_of(trees[t])["n"] > 1:
            update_slot_motion(trees[t])
    k = 0
    for i in range(pool_of(forest, BODIES)["count"]):
        body = bodies[i]
        if body["next"] != IN_USE:
            continue
        slot = trees[body["tree"]]
        tree = tree_of(slot)
        if tree["n"] == 1:  # while its memory is close
            update_slot_motion(slot)
        link = link_data_of(tree)[body["link"] + 1]
        R, p = body_frame(body, link)
        w = load3(link["w"])
        v = add(load3(link["v"]), cross(w, mul_vec(load9(link["R"]), load3(body["p"]))))
        turn = from_matrix(R)
        ids[k] = (body["generation"] << 32) | i
        for j in range(3):
            poses[k, j], twists[k, j], twists[k, 3 + j] = p[j], w[j], v[j]
            for l in range(3):
                rotations[k, j, l] = R[3 * j + l]
        for j in range(4):
            poses[k, 3 + j] = turn[j]
        k += 1
    return k
