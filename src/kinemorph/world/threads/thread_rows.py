"""Tables by which worker threads share the stages of a step, by work stealing.

A job is a stage of a step, divided into batches of rows. Each thread owns a part of the batches, of about the same rows
in every job, since these are in its cache. The ticket of a part holds the number of the job and the range of batches
not yet taken: the owner takes the first of them, and threads that have finished their own parts take the last. Numbers
that change while other threads read them have a cache line each.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.jit.rows import row

CACHE_LINE_NUMBERS = 8  # 8-byte numbers in a cache line
MOST_BATCHES_PER_PART = 16  # largest number in a part

THREAD_PART = np.dtype(
    [
        ("ticket", "i8"),  # number of the job, first batch left, and end of the batches; TICKET_BITS each
        ("ticket_line", "i8", CACHE_LINE_NUMBERS - 1),
        ("done", "i8"),  # batches of the job that its thread has completed, of any part,
        ("batches_total", "i8"),  # and those of all jobs so far
        ("done_line", "i8", CACHE_LINE_NUMBERS - 2),
        ("needs", "i8", MOST_BATCHES_PER_PART),  # numbers that each batch needs in Y, and then its first index there
    ]
)

WORKERS = np.dtype(
    [
        ("open", "i8"),  # number of the run of steps in progress, 0 if none is
        ("present", "i8"),  # workers that are waiting for jobs or doing them
        ("told", "i8"),  # least result of the batches of a job; GOOD at first
        ("open_line", "i8", CACHE_LINE_NUMBERS - 3),
        ("job", "i8"),  # number of the last job
        ("stage", "i8"),  # Shared
        ("count", "i8"),  # rows of the job
        ("batches", "i8"),  # and their number of batches
        ("parts", "i8"),  # address of a PART for each thread
        ("threads", "i8"),
        ("world", "i8"),  # address of the WORLD that is stepped
        ("narrow_workers", "i8"),  # address of a SCOUT for each thread: the threaded narrow phase
        ("least", "i8"),  # smallest number of rows of a stage that is shared
        ("all_shapes_threadable", "i8"),  # whether the threaded narrow phase handles all shapes,
        ("one_shape_per_body", "i8"),  # and whether each body has one shape at most
        ("unshared_jobs", "i8"),  # jobs still not shared, after another process has taken a core
        ("share", "i8"),  # of the first thread, in units of 1 / WHOLE of all rows; see `border`
        ("wait_balance", "i8"),  # jobs in which it had to wait less those in which it had not
        ("job_line", "i8", 2 * CACHE_LINE_NUMBERS - 14),
    ]
)
TICKET_BITS = 20  # of each number in a ticket
_PLACES: Any = WORKERS.fields
OPEN_OFFSET, PRESENT_OFFSET, RESULT_OFFSET = (int(_PLACES[name][1]) for name in ("open", "present", "told"))
_PLACES = THREAD_PART.fields
TICKET_OFFSET, DONE_OFFSET = (int(_PLACES[name][1]) for name in ("ticket", "done"))


class SharedStage(IntEnum):
    """Stages of a step that threads share; in the comments the rows that they divide."""

    ACCELERATE = 0  # trees
    PLACE = 1  # shapes
    LOOK = 2  # parts of the overlapping pairs: the narrow phase
    MEASURE = 3  # islands: the size of their contact rows
    FILL = 4  # islands: the contact rows
    SET_IN_MOTION = 5  # trees: whitened start velocities
    SOLVE = 6  # islands
    CHECK = 7  # trees: whether the solution is finite
    KEEP_OLD = 8  # contacts: warm-start impulses that stay
    KEEP = 9  # contact constraints: new warm-start impulses
    ADVANCE = 10  # trees
    SLEEP = 11  # islands
    HAND_OVER = 12  # parts of the overlapping pairs: contacts into the common table


# --- accessors of tables, by their headers ---

workers_of = row(WORKERS, "crew")
