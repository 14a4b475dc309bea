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
        ("events", "i8"),  # address of its EVENT rows, whose places are bodies and joints by index
        ("event_count", "i8"),
        ("clock", "i8"),  # whether the time of each stage is taken
        ("ticks", "i8", 6),  # of the processor, that each Stage has taken so far
    ]
)
WORLD_KIND = kind_of("world", WORLD)


class Stage(IntEnum):
    """What a step does, for statistics."""

    FORCES = 0  # forces, accelerations and places
    PAIRS = 1  # which boxes overlap
    CONTACTS = 2  # where shapes touch
    ROWS = 3  # islands and the rows of all that acts
    SOLUTION = 4
    MOTION = 5  # the new state, sleep and events


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
    EVENT = 6  # the step is made, and an event has happened in it
    FULL_FOREST = 7  # scratch of the forest must grow
