"""Rows of an episode: what is recorded of a world, of its brain instances, and of the joints that these drive."""

from __future__ import annotations

import numpy as np

from kinemorph.jit.rows import table
from kinemorph.multibody.layout import layout_hash

BRAIN_RECORD = np.dtype(
    [
        ("steps", "i8"),  # that were recorded
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
        ("generation", "i8"),  # that of the brain instance in the row of this number
        ("effects", "i8"),  # its first effect and window, and
        ("effect_count", "i8"),  # how many it has
    ]
)

WINDOW = np.dtype(
    [
        ("q", "f8"),  # rad or m, where the joint of an effect was at the end of the last step
        ("sum", "f8"),  # of it in this window, and
        ("square_sum", "f8"),  # of its square
        ("count", "i8"),  # steps of it that are over
        ("largest_deviation", "f8"),  # rad or m, the largest standard deviation of a window that is over
        ("known", "i8"),  # whether q is known
    ]
)

EPISODE = np.dtype(
    [
        ("kind", "i8"),  # EPISODE_KIND
        ("brains", "i8"),  # address of BRAIN_RECORDs, one for each row of a brain instance
        ("brain_room", "i8"),
        ("windows", "i8"),  # address of WINDOWs, one for each effect
        ("window_room", "i8"),
        ("window", "i8"),  # steps of a window
        ("until_still", "f8"),  # s: where all with a brain are still for so long, the run stops; inf: never
        ("budget", "i8"),  # of work, at which the run stops
        ("stops_run", "i8"),  # whether it stops after this step
        ("work", "i8"),  # done so far: rows of the solver times substeps, and steps
        ("known", "i8"),  # whether the energy at the start is known; RECORDED if a step has been recorded since
        ("start", "f8"),  # J, energy of all at the start
        ("energy", "f8"),  # J, now
        ("done", "f8"),  # J, work of all effects since, and
        ("effort", "f8"),  # the sum of its size in all steps
        ("conveyed", "f8"),  # J, work of surfaces that move along themselves, since
        ("surplus", "f8"),  # J, the most by which the energy was above that at the start and all this work
    ]
)
EPISODE_KIND = layout_hash("episode", EPISODE, BRAIN_RECORD, WINDOW)

# --- accessors of tables, by their headers ---

brain_records_of = table(BRAIN_RECORD, "brains", "brain_room")
windows_of = table(WINDOW, "windows", "window_room")
