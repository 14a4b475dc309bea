"""The rows of minds: brains that live in a world, in the bodies of figures."""

from __future__ import annotations

import numpy as np

from kinemorph.brain.layout import EFFECT, NEURON, SENSE
from kinemorph.jit.rows import row
from kinemorph.multibody.layout import layout_hash

MIND = np.dtype(
    [
        ("body", "i8"),  # id of the body that it is in, -1 if the row is free: where that is gone, the mind ends
        ("generation", "i4"),  # how many minds have had this row before
        ("asleep", "i4"),  # whether it neither thinks nor acts
        ("blank", "i4"),  # whether all senses read 0
        ("unused", "i4"),
        ("target", "i8"),  # id of a body, -1 for a point, NO_TARGET for none
        ("point", "f8", 3),  # m
        ("start", "f8"),  # s, time of its first pass
        ("period", "f8"),  # s, between two passes
        ("ticks", "i8"),  # passes that it has made
        ("lost", "i8"),  # values that would have been no number
        ("weight", "f8"),  # N, of all of the figure at 9.81 m/s²
        ("neurons", "i8"),  # its first row, and how many it has: of the neurons,
        ("neuron_count", "i8"),
        ("senses", "i8"),  # the senses,
        ("sense_count", "i8"),
        ("effects", "i8"),  # the effects,
        ("effect_count", "i8"),
        ("signals", "i8"),  # and the first of its numbers: the signals,
        ("rings", "i8"),  # and the rings of delays
        ("ring_count", "i8"),
    ],
    align=True,
)
NO_TARGET = -2

MINDS = np.dtype(
    [
        ("kind", "i8"),  # MINDS_KIND
        ("minds", "i8"),  # address of the MINDs,
        ("mind_count", "i8"),  # rows of it that have ever been used
        ("mind_room", "i8"),
        ("neurons", "i8"),  # addresses of NEURONs,
        ("neuron_room", "i8"),
        ("senses", "i8"),  # SENSEs,
        ("sense_room", "i8"),
        ("effects", "i8"),  # EFFECTs,
        ("effect_room", "i8"),
        ("signals", "i8"),  # numbers: the signals,
        ("signal_room", "i8"),
        ("fresh", "i8"),  # as many of scratch,
        ("rings", "i8"),  # and the rings of delays
        ("ring_room", "i8"),
        ("edits", "i8"),  # addresses of an EDIT and an OUTCOME, for grasps,
        ("outcomes", "i8"),
        ("fixed", "i8"),  # of the LOOP row of a fixed joint,
        ("free", "i8"),  # and of that of a free one with its
        ("free_dofs", "i8"),  # six DOF rows
        ("grasps_pending", "i8"),  # whether a grasp has something to do
        ("changed", "i8"),  # what grasps have changed that Python has not heard of: bits of HELD, RELEASED, LOOPED
        ("has_listeners", "i8"),  # whether a listener is called at once
    ]
)
HELD, RELEASED, LOOPED = 1, 2, 4
MINDS_KIND = layout_hash("minds", MINDS, MIND, NEURON, SENSE, EFFECT)

# --- accessors of tables, by their headers ---

minds_of = row(MINDS, "minds")
