"""Work sharing of the stages of a step: each thread does its part of the rows, then batches left in other parts.

The result of a batch depends neither on the thread nor on the order of batches. So a step gives the same bits for any
number of threads.

The main thread waits only for batches in progress: it takes over batches that no worker has started.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.threaded_narrow_phase import NARROW_WORKER, move_worker_rows, run_worker
from kinemorph.contact.layout import islands_of
from kinemorph.contact.rows.contact_rows import count_row_numbers, fill_contact_range
from kinemorph.contact.substeps import solve_island_range
from kinemorph.contact.warm_start import carry_over_impulses, store_contact_impulses
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.jit.atomic import add, load, lower, pause, store, swap
from kinemorph.world.layout import GOOD, WORLD, collisions_of, forest_of, solver_of
from kinemorph.world.step.falling_asleep import update_sleep
from kinemorph.world.step.shape_bounds import predict_shape_poses
from kinemorph.world.threads.thread_rows import (
    DONE_OFFSET,
    MOST_BATCHES_PER_PART,
    OPEN_OFFSET,
    PRESENT_OFFSET,
    RESULT_OFFSET,
    THREAD_PART,
    TICKET_BITS,
    TICKET_OFFSET,
    WORKERS,
    SharedStage,
    workers_of,
)
from kinemorph.world.tree_motion.acceleration import AWAKE, accelerate_tree_range, whiten_start_velocities
from kinemorph.world.tree_motion.integration import advance_tree_range, find_runaway_tree

ACCELERATE, PLACE, LOOK, FILL = (
    int(x) for x in (SharedStage.ACCELERATE, SharedStage.PLACE, SharedStage.LOOK, SharedStage.FILL)
)
SET_IN_MOTION, SOLVE, CHECK, MEASURE = (
    int(x) for x in (SharedStage.SET_IN_MOTION, SharedStage.SOLVE, SharedStage.CHECK, SharedStage.MEASURE)
)
KEEP_OLD, KEEP, ADVANCE, SLEEP = (
    int(x) for x in (SharedStage.KEEP_OLD, SharedStage.KEEP, SharedStage.ADVANCE, SharedStage.SLEEP)
)
HAND_OVER = int(SharedStage.HAND_OVER)
SCOUT_SIZE, THREAD_PART_SIZE, LOW_BITS = NARROW_WORKER.itemsize, THREAD_PART.itemsize, (1 << TICKET_BITS) - 1
SHORT_WAIT_POLLS, LONG_WAIT_POLLS = 1 << 14, 1 << 23  # polls without a job, 0.5 ms and some 0.1 s: then a worker leaves
RUN_END_POLLS = 1 << 16  # polls, up to 1 s: then a worker leaves at the end of a run: other worlds get the thread
RESERVED_BATCHES = 4  # batches left to the owner of their part,
TAKEOVER_POLLS = 1 << 9  # unless it has not done them after so many polls
NOTICED_WAIT_POLLS = 1 << 6  # polls, 2 µs, that count as a wait
WAITS_BEFORE_CHANGE = 16  # surplus of jobs with a wait that changes the share
# unit, change and limit of the first thread's share of rows
SHARE_OF_ALL_ROWS, SHARE_CHANGE, LARGEST_FIRST_SHARE = 1 << 10, 1 << 5, 21 << 5
BUSY_CORE_POLLS = 1 << 15  # polls, 1 ms: another process has taken the core of a worker
UNSHARED_JOBS = 500  # that are not shared then: about forty steps


@kernel(inline=False)
def run_part(world: Any, part: int, stage: int, batch: int, first: int, stop: int) -> int:
    """Compute rows `first` to before `stop` of a stage, on thread number `part`. Returns the stage's result or GOOD."""
    forest, solver = forest_of(world), solver_of(world)
    collisions = collisions_of(world)
    if stage == ACCELERATE:
        return accelerate_tree_range(world, solver, forest, AWAKE, part, first, stop)
    if stage == CHECK:
        return find_runaway_tree(world, solver, forest, first, stop)
    if stage == PLACE:
        predict_shape_poses(world, solver, forest, collisions, first, stop)
    elif stage == LOOK or stage == HAND_OVER:
        scouts = workers_of(world)["narrow_workers"]
        for i in range(first, stop):
            row = rows_at(scouts + i * SCOUT_SIZE, 1, NARROW_WORKER)[0]
            if stage == LOOK:
                run_worker(world["collisions"], row)
            else:
                move_worker_rows(collisions, row)
    elif stage == MEASURE or stage == FILL:
        fill_contact_batch(world, solver, forest, collisions, batch, first, stop, stage == FILL)
    elif stage == SET_IN_MOTION:
        whiten_start_velocities(solver, forest, first, stop)
    elif stage == SOLVE:
        solve_island_range(solver, first, stop)
    elif stage == KEEP_OLD:
        carry_over_impulses(solver, collisions, True, first, stop)
    elif stage == KEEP:
        store_contact_impulses(solver, collisions, first, stop)
    elif stage == ADVANCE:
        advance_tree_range(world, solver, forest, first, stop)
    elif stage == SLEEP:
        update_sleep(world, solver, forest, first, stop)
    return GOOD


@kernel
def find_batch_needs(crew: Any, batch: int) -> Any:
    """The PART whose `needs` hold those of a batch."""
    return rows_at(crew["parts"] + batch // MOST_BATCHES_PER_PART * THREAD_PART_SIZE, 1, THREAD_PART)[0]


@kernel
def fill_contact_batch(
    world: Any, solver: Any, forest: Any, collisions: Any, batch: int, first: int, stop: int, fills: bool
) -> None:
    """Contact rows of a batch of islands; or, in the stage before, how many numbers of Y they need."""
    islands = islands_of(solver)
    start, last = islands[first]["first_contact"], islands[stop - 1]
    end = last["first_contact"] + last["contact_count"]
    needs = find_batch_needs(workers_of(world), batch)["needs"]
    if fills:
        fill_contact_range(solver, forest, collisions, start, end, needs[batch % MOST_BATCHES_PER_PART])
    else:
        needs[batch % MOST_BATCHES_PER_PART] = count_row_numbers(solver, forest, collisions, start, end)


@kernel
def assign_batch_offsets(world: Any, start: int) -> int:
    """Replace the needs of all batches by their first indices in Y, from `start` on. Returns the end of the last."""
    crew = workers_of(world)
    for batch in range(crew["batches"]):
        needs = find_batch_needs(crew, batch)["needs"]
        needs[batch % MOST_BATCHES_PER_PART], start = start, start + needs[batch % MOST_BATCHES_PER_PART]
    return start


@kernel
def is_worth_sharing(world: Any, count: int) -> bool:
    """Whether a stage of `count` rows is to be shared: workers are present, and the rows are enough."""
    if world["crew"] == 0:
        return False
    crew = workers_of(world)
    if crew["unshared_jobs"] > 0:
        crew["unshared_jobs"] -= 1
        return False
    return count >= crew["least"] and load(world["crew"] + PRESENT_OFFSET) > 0


@kernel
def run_shared_stage(world: Any, stage: int, count: int) -> int:
    """Run a stage in batches on all threads, and wait for it. Returns the least result of its batches."""
    start_shared_stage(world, stage, count)
    return finish_shared_stage(world)


@kernel(inline=False)
def start_shared_stage(world: Any, stage: int, count: int) -> None:
    """Publish a stage to the workers. The caller may do other work first, and must then call `finish`."""
    crew = workers_of(world)
    threads, parts = crew["threads"], crew["parts"]
    crew["job"] += 1
    crew["stage"], crew["count"], crew["told"] = stage, count, GOOD
    crew["batches"] = batches = min(count, threads * MOST_BATCHES_PER_PART)
    for p in range(threads):
        rows_at(parts + p * THREAD_PART_SIZE, 1, THREAD_PART)[0]["done"] = 0
    for i in range(threads):
        p = threads - 1 - i
        low, high = find_part_start(crew, batches, p), find_part_start(crew, batches, p + 1)
        store(
            parts + p * THREAD_PART_SIZE + TICKET_OFFSET, (((crew["job"] << TICKET_BITS) + low) << TICKET_BITS) + high
        )


@kernel(inline=False)
def finish_shared_stage(world: Any) -> int:
    """Run the batches that no worker has started, and wait for the others. Returns the least result of a batch."""
    crew = workers_of(world)
    threads, parts = crew["threads"], crew["parts"]
    run_batches(world["crew"], 0, RESERVED_BATCHES)
    polls = done = 0
    while done < crew["batches"]:
        done = 0
        for p in range(threads):
            done += load(parts + p * THREAD_PART_SIZE + DONE_OFFSET)
        polls += 1
        if polls == TAKEOVER_POLLS:
            run_batches(world["crew"], 0, 0)
        pause()
    if polls > BUSY_CORE_POLLS:
        crew["unshared_jobs"] = UNSHARED_JOBS
    adjust_first_share(crew, polls)
    return crew["told"]


@kernel
def find_part_start(crew: Any, count: int, p: int) -> int:
    """First row or batch of part p, of `count`; the first thread has its own share, the others divide the rest."""
    if p == 0 or count <= crew["threads"]:
        return min(p, count)
    first = count * crew["share"] // SHARE_OF_ALL_ROWS
    return first + (count - first) * (p - 1) // (crew["threads"] - 1)


@kernel
def adjust_first_share(crew: Any, polls: int) -> None:
    """Increase the first thread's share of rows if it waits for others in most jobs, else decrease it.

    Workers are slower where the rows have to come from the first thread's cache.
    """
    crew["wait_balance"] += 1 if polls > NOTICED_WAIT_POLLS else -1
    if crew["wait_balance"] >= WAITS_BEFORE_CHANGE and crew["share"] < LARGEST_FIRST_SHARE:
        crew["share"] += SHARE_CHANGE
    elif crew["wait_balance"] <= -WAITS_BEFORE_CHANGE and crew["share"] > SHARE_OF_ALL_ROWS // crew["threads"]:
        crew["share"] -= SHARE_CHANGE
    if abs(crew["wait_balance"]) >= WAITS_BEFORE_CHANGE:
        crew["wait_balance"] = 0


@kernel
def take_batch(ticket_at: int, own: bool, few: int) -> int:
    """Take a batch: the first of its `own` part, or the last of another with over `few` left. Returns it, or -1."""
    ticket = load(ticket_at)
    while True:
        low, high = (ticket >> TICKET_BITS) & LOW_BITS, ticket & LOW_BITS
        if low >= high or (not own and high - low <= few):
            return -1
        if swap(ticket_at, ticket, ticket + (1 << TICKET_BITS) if own else ticket - 1):
            return low if own else high - 1
        ticket = load(ticket_at)


@kernel(inline=False)
def run_batches(at: int, part: int, few: int) -> None:
    """Run batches for the CREW at an address: its own part, then all but `few` batches of each other part.

    To take the next batch of another thread costs more than to wait for it: its rows are in that thread's cache.
    """
    crew = rows_at(at, 1, WORKERS)[0]
    own_part = crew["parts"] + part * THREAD_PART_SIZE
    for i in range(crew["threads"]):
        p = (part + i) % crew["threads"]
        batch = take_batch(crew["parts"] + p * THREAD_PART_SIZE + TICKET_OFFSET, i == 0, few)
        while batch >= 0:  # the job cannot change while a batch is taken
            world = rows_at(crew["world"], 1, WORLD)[0]
            first, stop = crew["count"] * batch // crew["batches"], crew["count"] * (batch + 1) // crew["batches"]
            result = run_part(world, part, crew["stage"], batch, first, stop)
            if result != GOOD:
                lower(at + RESULT_OFFSET, result)
            rows_at(own_part, 1, THREAD_PART)[0]["batches_total"] += 1
            add(own_part + DONE_OFFSET, 1)
            batch = take_batch(crew["parts"] + p * THREAD_PART_SIZE + TICKET_OFFSET, i == 0, few)


@entry(nogil=True)
def run_shared_jobs(at: int, part: int) -> None:
    """Run jobs for the CREW at an address, as thread number `part`.

    It returns some time after the last run of steps or the last job, since more steps may follow soon.
    """
    ticket_at = rows_at(at, 1, WORKERS)[0]["parts"] + part * THREAD_PART_SIZE + TICKET_OFFSET
    crew = rows_at(at, 1, WORKERS)[0]
    add(at + PRESENT_OFFSET, 1)
    run = load(at + OPEN_OFFSET)
    last = load(ticket_at)
    polls = idle_polls = 0
    while (polls < RUN_END_POLLS or load(at + OPEN_OFFSET) == run) and (
        idle_polls < SHORT_WAIT_POLLS or (idle_polls < LONG_WAIT_POLLS and load(at + OPEN_OFFSET) != 0)
    ):
        polls += 1
        idle_polls += 1
        if crew["unshared_jobs"] > 0:
            break
        ticket = load(ticket_at)
        if ticket >> (2 * TICKET_BITS) != last >> (2 * TICKET_BITS):  # a new job
            last = ticket
            idle_polls = 0
            run_batches(at, part, RESERVED_BATCHES)
        else:
            pause()
    add(at + PRESENT_OFFSET, -1)
