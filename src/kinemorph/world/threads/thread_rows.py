"""The rows by which threads share the work of a step.

A job is a stage of a step, in batches of rows. Each thread has a part of them, always about the same rows, for what it
has just read and written is close to it and far from the others. The ticket of a part says which job it is, and which
batches nobody has taken so far: its own thread takes the first of them, and others, when they have done theirs, the
last. Numbers that change while others look at them have a cache line each.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.jit.rows import row

CACHE_LINE_NUMBERS = 8  # numbers in a cache line
BATCHES = 16  # of a part, at most

PART = np.dtype(
    [
        ("ticket", "i8"),  # number of the job, the first batch that is left, and the one after the last; BITS each
        ("ticket_line", "i8", CACHE_LINE_NUMBERS - 1),
        ("done", "i8"),  # batches of the job that its thread has done, its own and others',
        ("helped", "i8"),  # and those of all jobs
        ("done_line", "i8", CACHE_LINE_NUMBERS - 2),
        ("needs", "i8", BATCHES),  # what each batch wants to have room for, and then where that is
    ]
)

CREW = np.dtype(
    [
        ("open", "i8"),  # number of the run of steps that are made, 0 if none are
        ("present", "i8"),  # how many are there to help
        ("told", "i8"),  # the least of what was told, GOOD if nothing was
        ("open_line", "i8", CACHE_LINE_NUMBERS - 3),
        ("job", "i8"),  # number of the last job
        ("stage", "i8"),  # Shared
        ("count", "i8"),  # rows of the job,
        ("batches", "i8"),  # and of its batches
        ("parts", "i8"),  # address of a PART for each thread
        ("threads", "i8"),
        ("world", "i8"),  # address of the WORLD whose steps are made
        ("scouts", "i8"),  # address of a SCOUT for each thread
        ("least", "i8"),  # rows of a stage that are worth a second thread
        ("plain", "i8"),  # whether all shapes are such that scouts can look at them,
        ("singles", "i8"),  # and whether no body has more than one
        ("alone", "i8"),  # jobs that are not shared, since others on the machine kept somebody waiting
        ("share", "i8"),  # of all rows that the first thread has; see `sharing.border`
        ("waits", "i8"),  # in how many more jobs it had to wait than not
        ("job_line", "i8", 2 * CACHE_LINE_NUMBERS - 14),
    ]
)
TICKET_BITS = 20  # of each number in a ticket
_PLACES: Any = CREW.fields
OPEN, PRESENT, TOLD = (int(_PLACES[name][1]) for name in ("open", "present", "told"))
_PLACES = PART.fields
TICKET, DONE = (int(_PLACES[name][1]) for name in ("ticket", "done"))


class Shared(IntEnum):
    """Stages of a step that threads share, by rows of what."""

    ACCELERATE = 0  # trees
    PLACE = 1  # shapes
    LOOK = 2  # parts of the pairs that met
    MEASURE = 3  # islands
    FILL = 4  # islands
    SET_IN_MOTION = 5  # trees
    SOLVE = 6  # islands
    CHECK = 7  # trees
    KEEP_OLD = 8  # contacts
    KEEP = 9  # touches
    ADVANCE = 10  # trees
    SLEEP = 11  # islands
    HAND_OVER = 12  # parts of the pairs that met


# --- accessors of tables, by their headers ---

crew_of = row(CREW, "crew")
