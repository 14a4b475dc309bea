"""The header of a world: where its forest, its collisions and its contact solver are, and where a step stands."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinemorph.multibody.layout import kind_of

WORLD = np.dtype(
    [
        ("kind", "i8"),  # WORLD_KIND
        ("forest", "i8"),  # address of its FOREST
        ("collisions", "i8"),  # address of its COLLISIONS
        ("solver", "i8"),  # address of its SOLVER
        ("time", "f8"),  # s
        ("steps", "i8"),  # how many it has made
        ("dt", "f8"),  # s, of a step
        ("slow", "f8"),  # m/s: what moves no faster is still
        ("patience", "f8"),  # s: what is still for so long falls asleep; inf: nothing ever does
        ("phase", "i8"),  # Phase: where a step goes on, after tables have grown
        ("tree", "i8"),  # index of the tree that something went wrong with
    ]
)
WORLD_KIND = kind_of("world", WORLD)


class Phase(IntEnum):
    """What a step does next."""

    MOVE = 0  # forces and accelerations, and where shapes are
    COLLIDE = 1
    FILL = 2  # rows, their solution, and the new state


class Status(IntEnum):
    """What a step has to say."""

    DONE = 0
    FULL_SOLVER = 1  # tables of the solver must grow
    FULL_COLLISIONS = 2  # tables of collisions must grow
    NOT_FINITE = 3  # a tree has no finite motion; the state is that of the step before
    WRONG_ROW = 4  # the address is not that of a WORLD
    BAD_BOX = 5  # a shape's box has no finite size
    FULL_FOREST = 6  # scratch of the forest must grow
