"""Stages of a step by several threads: each does its part of the rows, and then what is left of the others' parts.

Each stage does the same to the same rows whoever does it and in whatever order. So a step comes to the same bits by any
number of threads.

Nobody waits for anybody who has not begun with something: the thread that makes the step takes what nobody else does.
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
MOMENT, LONG = 1 << 14, 1 << 23  # looks in vain, half a millisecond and some tenths of a second: then helpers go
STAY = 1 << 16  # looks, up to a second: then a helper leaves when a run is over, for others may want the thread
FEW, SOON = 4, 1 << 9  # batches that are left to whose part they are, unless it has not done them after so many looks
NOTICED, AGAIN = 1 << 6, 16  # looks, two microseconds; how many more jobs have such a wait than have none
WHOLE, LEAN, MOST_SHARE = 1 << 10, 1 << 5, 21 << 5  # of all rows: a share of the first thread is of these
BUSY = 1 << 15  # looks in vain, a millisecond: somebody else on the machine has the core of one of us
LEAST_SHARED_JOBS = 500  # jobs, of some forty steps, that are not shared then


@kernel(inline=False)
def run_part(world: Any, part: int, stage: int, batch: int, first: int, stop: int) -> int:
    """A stage for the rows from `first` to before `stop`, by the thread that has number `part`."""
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
    """The PART that has what a batch needs in its `needs`."""
    return rows_at(crew["parts"] + batch // BATCHES * PART_SIZE, 1, PART)[0]


@kernel
def fill_batch(
    world: Any, solver: Any, forest: Any, collisions: Any, batch: int, first: int, stop: int, fills: bool
) -> None:
    """Rows for the contacts of some islands; or, before that, how many numbers y they have."""
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
    """Where the batches of a job begin that were measured, one behind the other. Returns where the last one ends."""
    crew = crew_of(world)
    for batch in range(crew["batches"]):
        needs = needs_of(crew, batch)["needs"]
        needs[batch % BATCHES], start = start, start + needs[batch % BATCHES]
    return start


@kernel
def is_shared(world: Any, count: int) -> bool:
    """Whether somebody is there to help, and there is enough to do."""
    if world["crew"] == 0:
        return False
    crew = crew_of(world)
    if crew["alone"] > 0:
        crew["alone"] -= 1
        return False
    return count >= crew["least"] and load(world["crew"] + PRESENT) > 0


@kernel
def share_out(world: Any, stage: int, count: int) -> int:
    """A stage in batches, which others may take. Returns the least of what was told, when all are done."""
    call_out(world, stage, count)
    return finish(world)


@kernel(inline=False)
def call_out(world: Any, stage: int, count: int) -> None:
    """Let others begin with a stage. Who calls this may do something else first, and then must `finish` it."""
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
    """Do what nobody else does of a stage, and wait for the others. Returns the least of what was told."""
    crew = crew_of(world)
    threads, parts = crew["threads"], crew["parts"]
    take_all(world["crew"], 0, FEW)
    looks = done = 0
    while done < crew["batches"]:
        done = 0
        for p in range(threads):
            done += load(parts + p * PART_SIZE + DONE)
        looks += 1
        if looks == SOON:
            take_all(world["crew"], 0, 0)
        pause()
    if looks > BUSY:
        crew["alone"] = LEAST_SHARED_JOBS
    lean(crew, looks)
    return crew["told"]


@kernel
def border(crew: Any, count: int, p: int) -> int:
    """Where part p begins of so many rows or batches; the first thread has a share of its own, the others the rest."""
    if p == 0 or count <= crew["threads"]:
        return min(p, count)
    first = count * crew["share"] // WHOLE
    return first + (count - first) * (p - 1) // (crew["threads"] - 1)


@kernel
def lean(crew: Any, looks: int) -> None:
    """Let the first thread have more of the rows if it has to wait for others again and again, else less.

    Others are slower where what one thread has written is far from the next: they get all of it from the first one.
    """
    crew["waits"] += 1 if looks > NOTICED else -1
    if crew["waits"] >= AGAIN and crew["share"] < MOST_SHARE:
        crew["share"] += LEAN
    elif crew["waits"] <= -AGAIN and crew["share"] > WHOLE // crew["threads"]:
        crew["share"] -= LEAN
    if abs(crew["waits"]) >= AGAIN:
        crew["waits"] = 0


@kernel
def take(ticket_at: int, own: bool, few: int) -> int:
    """Take a batch of a part, or of another's if there are more than a few: which one, -1 if there is none."""
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
    """Do what is to do for the CREW at an address: its own part, and of the others' what is more than a few batches.

    To take what another is about to do costs more than to wait for it: its rows are far away, and then from there.
    """
    crew = rows_at(at, 1, CREW)[0]
    mine = crew["parts"] + part * PART_SIZE
    for i in range(crew["threads"]):
        p = (part + i) % crew["threads"]
        batch = take(crew["parts"] + p * PART_SIZE + TICKET, i == 0, few)
        while batch >= 0:  # the job does not change before it is done
            world = rows_at(crew["world"], 1, WORLD)[0]
            first, stop = crew["count"] * batch // crew["batches"], crew["count"] * (batch + 1) // crew["batches"]
            told = run_part(world, part, crew["stage"], batch, first, stop)
            if told != GOOD:
                lower(at + TOLD, told)
            rows_at(mine, 1, PART)[0]["helped"] += 1
            add(mine + DONE, 1)
            batch = take(crew["parts"] + p * PART_SIZE + TICKET, i == 0, few)


@entry(nogil=True)
def assist(at: int, part: int) -> None:
    """Help the CREW at an address, as thread number `part`.

    When no steps are made, or nothing has come for long, it is over; but more steps may follow in a moment.
    """
    ticket_at = rows_at(at, 1, CREW)[0]["parts"] + part * PART_SIZE + TICKET
    crew = rows_at(at, 1, CREW)[0]
    add(at + PRESENT, 1)
    run = load(at + OPEN)
    last = load(ticket_at)
    looks = vain = 0
    while (looks < STAY or load(at + OPEN) == run) and (vain < MOMENT or (vain < LONG and load(at + OPEN) != 0)):
        looks += 1
        vain += 1
        if crew["alone"] > 0:
            break
        ticket = load(ticket_at)
        if ticket >> (2 * TICKET_BITS) != last >> (2 * TICKET_BITS):  # a job that it has not seen
            last = ticket
            vain = 0
            take_all(at, part, FEW)
        else:
            pause()
    add(at + PRESENT, -1)
