"""The rows of minds: brains that live in a world, in the bodies of figures, and what is watched of these."""

from __future__ import annotations

import numpy as np

from kinemorph.brain.layout import EFFECT, NEURON, SENSE
from kinemorph.jit.rows import row
from kinemorph.multibody.layout import layout_hash

LIFE = np.dtype(
    [
        ("steps", "i8"),  # that were watched
        ("fastest", "f8"),  # m/s, the largest speed of a centre of mass of its bodies
        ("speed", "f8"),  # m/s, the same in the last step
        ("spin", "f8"),  # rad/s, the largest speed of a joint that an effect drives
        ("riding", "i8"),  # steps in which one of both was above nine tenths of its cap
        ("depth", "f8"),  # largest overlap of one of its shapes, as a share of the smaller shape's mean extent
        ("still", "f8"),  # s, for how long it has hardly moved
        ("lowest", "f8"),  # m, height of its lowest point now,
        ("highest", "f8"),  # and the largest that this was
        ("centre", "f8", 3),  # m, centre of mass now
        ("top", "f8"),  # m, the largest height that this had
        ("gap", "f8"),  # m, from its nearest shape to the target now,
        ("smallest_gap", "f8"),  # the smallest that this was,
        ("gap_sum", "f8"),  # m, and its sum over all steps
    ],
    align=True,
)

WINDOW = np.dtype(
    [
        ("q", "f8"),  # rad or m, where the joint of an effect was at the end of the last step
        ("sum", "f8"),  # of it in this window, and
        ("square_sum", "f8"),  # of its square
        ("count", "i8"),  # steps of it that are over
        ("largest_deviation", "f8"),  # rad or m, the largest standard deviation of a window that is over
        ("known", "i8"),  # whether q is known
    ],
    align=True,
)

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
        ("effects", "i8"),  # the effects and their windows,
        ("effect_count", "i8"),
        ("signals", "i8"),  # and the first of its numbers: the signals,
        ("rings", "i8"),  # and the rings of delays
        ("ring_count", "i8"),
        ("life", LIFE),
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
        ("effects", "i8"),  # EFFECTs, and as many
        ("windows", "i8"),  # WINDOWs,
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
        ("updated", "i8"),  # whether minds have had their turn in this step
        ("stops_run", "i8"),  # whether the run stops after this step
        ("grasps_pending", "i8"),  # whether a grasp has something to do
        ("changed", "i8"),  # what grasps have changed that Python has not heard of: bits of HELD, RELEASED, LOOPED
        ("has_listeners", "i8"),  # whether a listener is called at once
        ("watched", "i8"),  # whether lives are watched
        ("window", "i8"),  # steps of a window
        ("fast", "f8"),  # m/s and
        ("fast_spin", "f8"),  # rad/s, from which on a cap is ridden
        ("until_still", "f8"),  # s: where all minds are still for so long, the run stops; inf: never
        ("budget", "i8"),  # of work, at which the run stops
        ("work", "i8"),  # done so far: rows of the solver times substeps, and parts of steps
        ("known", "i8"),  # whether the energy at the start is known; 2 if a step has been watched since, too
        ("start", "f8"),  # J, energy of all at the start
        ("energy", "f8"),  # J, now
        ("done", "f8"),  # J, work of all effects since, and
        ("effort", "f8"),  # the sum of its size in all steps
        ("conveyed", "f8"),  # J, work of surfaces that move along themselves, since
        ("surplus", "f8"),  # J, the most by which the energy was above that at the start and all this work
    ]
)
HELD, RELEASED, LOOPED = 1, 2, 4
MINDS_KIND = layout_hash("minds", MINDS, MIND, LIFE, WINDOW, NEURON, SENSE, EFFECT)

# --- accessors of tables, by their headers ---

minds_of = row(MINDS, "minds")
