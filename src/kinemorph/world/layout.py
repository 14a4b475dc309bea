"""The header of a world: addresses of its forest, collisions and contact solver, settings, and the state of a step."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kinemorph.collision.shapes.shape_rows import COLLISIONS
from kinemorph.contact.impulse.collisions import IMPACTS
from kinemorph.contact.layout import SOLVER
from kinemorph.jit.rows import row
from kinemorph.multibody.layout import layout_hash
from kinemorph.structure.forest.layout import FOREST

WORLD = np.dtype(
    [
        ("kind", "i8"),  # WORLD_KIND
        ("forest", "i8"),  # address of its FOREST
        ("collisions", "i8"),  # address of its COLLISIONS
        ("solver", "i8"),  # address of its SOLVER
        ("time", "f8"),  # s
        ("steps", "i8"),  # made so far
        ("dt", "f8"),  # s, length of a step; within a step of the impulse model that of a part
        ("slow", "f8"),  # m/s: slower trees count as still
        ("patience", "f8"),  # s: islands that are still for so long fall asleep; inf: never
        ("phase", "i8"),  # Phase at which a step resumes after tables have grown
        ("tree", "i8"),  # index of the tree that caused an error Status
        ("events", "i8"),  # address of its EVENT rows, whose places are bodies and joints by index
        ("event_count", "i8"),
        ("minds", "i8"),  # address of its MINDS
        ("mind_count", "i8"),  # rows of minds that have ever been used
        ("fluid", "f8"),  # kg/m³, density of the fluid around all bodies; 0: none
        ("drag", "f8"),  # drag coefficient C of faces
        ("clock", "i8"),  # whether stages are timed
        ("ticks", "i8", 6),  # processor ticks of each Stage so far
        ("crew", "i8"),  # address of the CREW of worker threads, 0 if there are none
        ("model", "i8"),  # ContactModel; the fields below are for the impulse model only
        ("impacts", IMPACTS),  # settings of collisions
        ("within", "f8"),  # m: only contacts within this of the closest of their pair collide; inf: all
        ("full_dt", "f8"),  # s, length of the whole step
        ("elapsed", "f8"),  # s, elapsed in the step, which is made in parts
        ("part", "f8"),  # s, length of the part in progress, or of the last one while it can be undone; else 0
        ("longest_part", "f8"),  # s, limit of the next part, after a longer one has led to an overlap
        ("halvings", "i8"),  # halvings of the part
        ("parts", "i8"),  # made so far, in all steps
        ("parts_undone", "i8"),  # undone so far
        ("brains_updated", "i8"),  # whether the recorder and brains have had their turn in this step
        ("fresh", "i8"),  # whether an initial overlap would be an error: bodies are new
        ("loads_begun", "i8"),  # whether the sums of joint loads have begun in the step
        ("reach", "f8"),  # how often boxes were too small in this step, and were enlarged
        ("boxes_valid", "i8"),  # whether the predicted boxes of shapes still hold
        ("a", "i8"),  # rows of the two shapes that caused an error Status
        ("b", "i8"),
    ]
)
WORLD_KIND = layout_hash("world", WORLD)


GOOD, NO_ROOM = 1 << 62, -2  # results of a batch; else the index of a tree that is not finite


class ContactModel(IntEnum):
    """How contacts are simulated."""

    STEPS = 0  # steps of one length, contacts solved together
    IMPULSE = 1  # steps in parts up to the next collision, each an impulse


class Stage(IntEnum):
    """Groups of stages of a step whose time is measured."""

    FORCES = 0  # forces, accelerations and poses of shapes
    PAIRS = 1  # broad phase
    CONTACTS = 2  # narrow phase
    ROWS = 3  # islands, constraint rows, applied forces
    SOLUTION = 4
    MOTION = 5  # the new state, sleep and events


class Phase(IntEnum):
    """Where a step starts or resumes."""

    MOVE = 0  # the start: forces, accelerations, poses of shapes
    COLLIDE = 1  # broad and narrow phase
    FILL = 2  # rows, their solution, and the new state
    STRIKE = 3  # collisions of the impulse model
    BRAINS = 4  # after MOVE: brains; a recorder has its turn before them


class Status(IntEnum):
    """Result of a step."""

    DONE = 0
    FULL_SOLVER = 1  # tables of the solver must grow
    FULL_COLLISIONS = 2  # tables of collisions must grow
    NOT_FINITE = 3  # the motion of a tree is not finite; the state is that before the step
    WRONG_ROW = 4  # the address is not that of a WORLD
    BAD_BOX = 5  # the box of a shape is not finite
    EVENT = 6  # the step is made, and an event has occurred in it
    FULL_FOREST = 7  # scratch of the forest must grow
    OVERLAP = 8  # impulse model: two shapes overlap at the start
    CHANGED = 9  # before the step a grasp has changed the structure, or needs larger tables for it
    STOPPED = 10  # the step is made, and the recorder ends the run
    PAUSED = 11  # the recorder has its turn: link data and poses of shapes are those of the start of the step


# --- accessors of tables, by their headers ---

collisions_of = row(COLLISIONS, "collisions")
forest_of = row(FOREST, "forest")
solver_of = row(SOLVER, "solver")
