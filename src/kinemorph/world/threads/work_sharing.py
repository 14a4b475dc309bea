"""Work sharing of the stages of a step: each thread does its part of the rows, then batches left in other parts.

The result of a batch depends neither on the thread nor on the order of batches. So a step gives the same bits for any
number of threads.

The main thread waits only for batches in progress: it takes over batches that no worker has started.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.threaded_narrow_phase import SCOUT, hand_over, scout
from kinemorph.contact.layout import islands_of
from kinemorph.contact.rows.contact_rows import fill_some, numbers_of
from kinemorph.contact.solve_step import solve
from kinemorph.contact.warm_start import keep_impulses, keep_old
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.jit.atomic import add, load, lower, pause, store, swap
from kinemorph.world.layout import GOOD, WORLD, collisions_of, forest_of, solver_of
from kinemorph.world.step.shape_bounds import place_bodies
from kinemorph.world.step.sleep import let_sleep
from kinemorph.world.threads.thread_rows import (
    BATCHES,
    CREW,
    DONE,
    OPEN,
    PART,
    PRESENT,
    TICKET,
    TICKET_BITS,
    TOLD,
    Shared,
    crew_of,
)
from kinemorph.world.tree_motion.acceleration import AWAKE, accelerate_some, set_in_motion
from kinemorph.world.tree_motion.integration import advance_trees, moves

ACCELERATE, PLACE, LOOK, FILL = (int(x) for x in (Shared.ACCELERATE, Shared.PLACE, Shared.LOOK, Shared.FILL))
SET_IN_MOTION, SOLVE, CHECK, MEASURE = (
    int(x) for x in (Shared.SET_IN_MOTION, Shared.SOLVE, Shared.CHECK, Shared.MEASURE)
)
KEEP_OLD, KEEP, ADVANCE, SLEEP = (int(x) for x in (Shared.KEEP_OLD, Shared.KEEP, Shared.ADVANCE, Shared.SLEEP))
HAND_OVER = int(Shared.HAND_OVER)
SCOUT_SIZE, PART_SIZE, LOW_BITS = SCOUT.itemsize, PART.itemsize, (1 << TICKET_BITS) - 1
MOMENT, LONG = 1 << 14, 1 << 23  # polls without a job, 0.5 ms and some 0.1 s: then a worker leaves
STAY = 1 << 16  # polls, up to 1 s: then a worker leaves at the end of a run, so that other worlds get the thread
FEW, SOON = 4, 1 << 9  # batches left to the owner of their part, unless it has not done them after SOON polls
NOTICED, AGAIN = 1 << 6, 16  # polls, 2 µs, that count as a wait; surplus of jobs with a wait that changes the share
WHOLE, LEAN, MOST_SHARE = 1 << 10, 1 << 5, 21 << 5  # unit, change and limit of the first thread's share of rows
BUSY = 1 << 15  # polls, 1 ms: another process has taken the core of a worker
LEAST_SHARED_JOBS = 500  # that are not shared then: about forty steps


@kernel(inline=False)
def run_part(world: Any, part: int, stage: int, batch: int, first: int, stop: int) -> int:
    """Compute rows `first` to before `stop` of a stage, on thread number `part`. Returns the stage's result or GOOD."""
    forest, solver = forest_of(world), solver_of(world)
    collisions = collisions_of(world)
    if stage == ACCELERATE:
        return accelerate_some(world, solver, forest, AWAKE, part, first, stop)
    if stage == CHECK:
        return moves(world, solver, forest, first, stop)
    if stage == PLACE:
        place_bodies(world, solver, forest, collisions, first, stop)
    elif stage == LOOK or stage == HAND_OVER:
        scouts = crew_of(world)["scouts"]
        for i in range(first, stop):
            row = rows_at(scouts + i * SCOUT_SIZE, 1, SCOUT)[0]
            if stage == LOOK:
                scout(world["collisions"], row)
            else:
                hand_over(collisions, row)
    elif stage == MEASURE or stage == FILL:
        fill_batch(world, solver, forest, collisions, batch, first, stop, stage == FILL)
    elif stage == SET_IN_MOTION:
        set_in_motion(solver, forest, first, stop)
    elif stage == SOLVE:
        solve(solver, first, stop)
    elif stage == KEEP_OLD:
        keep_old(solver, collisions, True, first, stop)
    elif stage == KEEP:
        keep_impulses(solver, collisions, first, stop)
    elif stage == ADVANCE:
        advance_trees(world, solver, forest, first, stop)
    elif stage == SLEEP:
        let_sleep(world, solver, forest, first, stop)
    return GOOD


@kernel
def needs_of(crew: Any, batch: int) -> Any:
    """The PART whose `needs` hold those of a batch."""
    return rows_at(crew["parts"] + batch // BATCHES * PART_SIZE, 1, PART)[0]


@kernel
def fill_batch(
    world: Any, solver: Any, forest: Any, collisions: Any, batch: int, first: int, stop: int, fills: bool
) -> None:
    """Contact rows of a batch of islands; or, in the stage before, how many numbers of Y they need."""
    islands = islands_of(solver)
    start, last = islands[first]["first_touch"], islands[stop - 1]
    end = last["first_touch"] + last["touch_count"]
    needs = needs_of(crew_of(world), batch)["needs"]
    if fills:
        fill_some(solver, forest, collisions, start, end, needs[batch % BATCHES])
    else:
        needs[batch % BATCHES] = numbers_of(solver, forest, collisions, start, end)


@kernel
def place_needs(world: Any, start: int) -> int:
    """Replace the needs of all batches by their first indices in Y, from `start` on. Returns the end of the last."""
    crew = crew_of(world)
    for batch in range(crew["batches"]):
        needs = needs_of(crew, batch)["needs"]
        needs[batch % BATCHES], start = start, start + needs[batch % BATCHES]
    return start


@kernel
def is_shared(world: Any, count: int) -> bool:
    """Whether a stage of `count` rows is to be shared: workers are present, and the rows are enough."""
    if world["crew"] == 0:
        return False
    crew = crew_of(world)
    if crew["alone"] > 0:
        crew["alone"] -= 1
        return False
    return count >= crew["least"] and load(world["crew"] + PRESENT) > 0


@kernel
def share_out(world: Any, stage: int, count: int) -> int:
    """Run a stage in batches on all threads, and wait for it. Returns the least result of its batches."""
    call_out(world, stage, count)
    return finish(world)


@kernel(inline=False)
def call_out(world: Any, stage: int, count: int) -> None:
    """Publish a stage to the workers. The caller may do other work first, and must then call `finish`."""
    crew = crew_of(world)
    threads, parts = crew["threads"], crew["parts"]
    crew["job"] += 1
    crew["stage"], crew["count"], crew["told"] = stage, count, GOOD
    crew["batches"] = batches = min(count, threads * BATCHES)
    for p in range(threads):
        rows_at(parts + p * PART_SIZE, 1, PART)[0]["done"] = 0
    for i in range(threads):
        p = threads - 1 - i
        low, high = border(crew, batches, p), border(crew, batches, p + 1)
        store(parts + p * PART_SIZE + TICKET, (((crew["job"] << TICKET_BITS) + low) << TICKET_BITS) + high)


@kernel(inline=False)
def finish(world: Any) -> int:
    """Run the batches that no worker has started, and wait for the others. Returns the least result of a batch."""
    crew = crew_of(world)
    threads, parts = crew["threads"], crew["parts"]
    take_all(world["crew"], 0, FEW)
    polls = done = 0
    while done < crew["batches"]:
        done = 0
        for p in range(threads):
            done += load(parts + p * PART_SIZE + DONE)
        polls += 1
        if polls == SOON:
            take_all(world["crew"], 0, 0)
        pause()
    if polls > BUSY:
        crew["alone"] = LEAST_SHARED_JOBS
    lean(crew, polls)
    return crew["told"]


@kernel
def border(crew: Any, count: int, p: int) -> int:
    """First row or batch of part p, of `count`; the first thread has its own share, the others divide the rest."""
    if p == 0 or count <= crew["threads"]:
        return min(p, count)
    first = count * crew["share"] // WHOLE
    return first + (count - first) * (p - 1) // (crew["threads"] - 1)


@kernel
def lean(crew: Any, polls: int) -> None:
    """Increase the first thread's share of rows if it waits for others in most jobs, else decrease it.

    Workers are slower where the rows have to come from the first thread's cache.
    """
    crew["waits"] += 1 if polls > NOTICED else -1
    if crew["waits"] >= AGAIN and crew["share"] < MOST_SHARE:
        crew["share"] += LEAN
    elif crew["waits"] <= -AGAIN and crew["share"] > WHOLE // crew["threads"]:
        crew["share"] -= LEAN
    if abs(crew["waits"]) >= AGAIN:
        crew["waits"] = 0


@kernel
def take(ticket_at: int, own: bool, few: int) -> int:
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
def take_all(at: int, part: int, few: int) -> None:
    """Run batches for the CREW at an address: its own part, then all but `few` batches of each other part.

    To take the next batch of another thread costs more than to wait for it: its rows are in that thread's cache.
    """
    crew = rows_at(at, 1, CREW)[0]
    own_part = crew["parts"] + part * PART_SIZE
    for i in range(crew["threads"]):
        p = (part + i) % crew["threads"]
        batch = take(crew["parts"] + p * PART_SIZE + TICKET, i == 0, few)
        while batch >= 0:  # the job cannot change while a batch is taken
            world = rows_at(crew["world"], 1, WORLD)[0]
            first, stop = crew["count"] * batch // crew["batches"], crew["count"] * (batch + 1) // crew["batches"]
            result = run_part(world, part, crew["stage"], batch, first, stop)
            if result != GOOD:
                lower(at + TOLD, result)
            rows_at(own_part, 1, PART)[0]["helped"] += 1
            add(own_part + DONE, 1)
            batch = take(crew["parts"] + p * PART_SIZE + TICKET, i == 0, few)


@entry(nogil=True)
def assist(at: int, part: int) -> None:
    """Run jobs for the CREW at an address, as thread number `part`.

    It returns some time after the last run of steps or the last job, since more steps may follow soon.
    """
    ticket_at = rows_at(at, 1, CREW)[0]["parts"] + part * PART_SIZE + TICKET
    crew = rows_at(at, 1, CREW)[0]
    add(at + PRESENT, 1)
    run = load(at + OPEN)
    last = load(ticket_at)
    polls = idle_polls = 0
    while (polls < STAY or load(at + OPEN) == run) and (
        idle_polls < MOMENT or (idle_polls < LONG and load(at + OPEN) != 0)
    ):
        polls += 1
        idle_polls += 1
        if crew["alone"] > 0:
            break
        ticket = load(ticket_at)
        if ticket >> (2 * TICKET_BITS) != last >> (2 * TICKET_BITS):  # a new job
            last = ticket
            idle_polls = 0
            take_all(at, part, FEW)
        else:
            pause()
    add(at + PRESENT, -1)
