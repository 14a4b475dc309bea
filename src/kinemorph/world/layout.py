"""The header of a world: where its forest, its collisions and its contact solver are, and where a step stands."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinemorph.collision.shapes.shape_rows import COLLISIONS
from kinemorph.contact.impulse.collisions import IMPACTS
from kinemorph.contact.layout import SOLVER
from kinemorph.jit.rows import row
from kinemorph.multibody.layout import kind_of
from kinemorph.structure.forest.layout import FOREST

WORLD = np.dtype(
    [
        ("kind", "i8"),  # WORLD_KIND
        ("forest", "i8"),  # address of its FOREST
        ("collisions", "i8"),  # address of its COLLISIONS
        ("solver", "i8"),  # address of its SOLVER
        ("time", "f8"),  # s
        ("steps", "i8"),  # how many it has made
        ("dt", "f8"),  # s, of a step; in the middle of one of the impulse model, of its part
        ("slow", "f8"),  # m/s: what moves no faster is still
        ("patience", "f8"),  # s: what is still for so long falls asleep; inf: nothing ever does
        ("phase", "i8"),  # Phase: where a step goes on, after tables have grown
        ("tree", "i8"),  # index of the tree that something went wrong with
        ("events", "i8"),  # address of its EVENT rows, whose places are bodies and joints by index
        ("event_count", "i8"),
        ("minds", "i8"),  # address of its MINDS
        ("mind_count", "i8"),  # rows of minds that have ever been used
        ("fluid", "f8"),  # kg/m³, density of what all bodies are in; 0: nothing
        ("drag", "f8"),  # coefficient of its drag on faces
        ("clock", "i8"),  # whether the time of each stage is taken
        ("ticks", "i8", 6),  # of the processor, that each Stage has taken so far
        ("crew", "i8"),  # address of the CREW that helps in steps, 0 if nobody does
        ("model", "i8"),  # ContactModel; what follows is of the impulse model alone
        ("impacts", IMPACTS),  # its collisions
        ("within", "f8"),  # m: points of a pair touch that are so much farther apart than its closest ones; inf: all
        ("whole", "f8"),  # s, of a step
        ("gone", "f8"),  # s, of the step that are over: it goes on in parts
        ("part", "f8"),  # s, of the part that is made, or was made last and can be undone; else 0
        ("cap", "f8"),  # s, no longer than this is the next part, since a longer one made something overlap
        ("cuts", "i8"),  # how often the part was cut
        ("parts", "i8"),  # made so far, in all steps
        ("undone", "i8"),  # of these undone
        ("fresh", "i8"),  # whether there are bodies whose overlap would be an error
        ("noted", "i8"),  # whether the account of what joints bear in the step has begun
        ("reach", "f8"),  # how often boxes were too small in this step; those that were are larger since
        ("boxed", "i8"),  # whether the boxes of shapes are those of a prediction that holds
        ("a", "i8"),  # rows of two shapes that something is wrong with
        ("b", "i8"),
    ]
)
WORLD_KIND = kind_of("world", WORLD)


GOOD, NO_ROOM = 1 << 62, -2  # what those say who do part of a step; else the index of a tree whose motion is not finite


class ContactModel(IntEnum):
    """How what touches is treated."""

    STEPS = 0  # steps of one length, contacts solved together
    IMPULSE = 1  # steps in parts up to the next collision, each an impulse


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
    STRIKE = 3  # collisions of the impulse model


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
    OVERLAP = 8  # two shapes of the impulse model overlap from the start
    CHANGED = 9  # a grasp has changed the structure before the step, or wants room to
    STOPPED = 10  # the step is made, and what is watched of minds says that it was the last


# --- accessors of tables, by their headers ---

collisions_of = row(COLLISIONS, "collisions")
forest_of = row(FOREST, "forest")
solver_of = row(SOLVER, "solver")
