"""A stretch of a life in one call: steps, looks at it, and knocks in between."""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident

import numpy as np

from kinemorph._jit import entry, rows_at
from kinemorph.structure.forest_knocks import knock
from kinemorph.structure.forest_layout import DONE as CARRIED
from kinemorph.structure.forest_layout import FOREST
from kinemorph.world.layout import WORLD, WORLD_KIND, Status
from kinemorph.world.lives import look_around
from kinemorph.world.mind_places import body_slot
from kinemorph.world.mind_rows import MIND, MINDS
from kinemorph.world.minds import Mind
from kinemorph.world.step import make_steps

DONE, STOPPED, WRONG_ROW = int(Status.DONE), int(Status.STOPPED), int(Status.WRONG_ROW)
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
NO_FORCES = np.zeros((0, 6))
MOST = 20_000  # steps of one call, which nobody can break off


def live(mind: Mind, ends: Sequence[int], knocks: Sequence[Sequence[float]]) -> tuple[Matrix, int, int]:
    """Go through a life as far as nobody else wants to hear of it, with a knock (velocity, angular velocity) after each
    end but the last, or none. Returns what was seen (see `live_on`), a row for each end, how many of them it came to,
    and how many steps are left up to the next one; none if the run has stopped.
    """
    mind._one()  # which says if it has ended
    world, seen = mind.world, np.zeros((len(ends), 3))
    others = world._watches._watches or world._timers._timers or world._onlookers or world._crew is not None
    if others or world._moving or ends[-1] > MOST or not world._minds.header[0]["watched"]:
        return seen, 0, ends[0]
    world._follow_shapes()
    world._newcomers = []  # `life["depth"]` says what they overlap
    world._moving = get_ident()
    try:
        marks, pushes = np.array(ends, np.int64), np.array(knocks, np.float64).reshape(-1, 6)
        status, k, left = live_on(world._address, mind.row, marks, pushes, seen, NO_FORCES)
    finally:
        world._moving = 0
    return seen, k, left if status != STOPPED else 0


@entry(nogil=True)
def live_on(
    address: int, row: int, ends: np.ndarray[tuple[int], np.dtype[np.int64]], knocks: Matrix, seen: Matrix, none: Matrix
) -> tuple[int, int, int]:
    """Make steps up to each of some numbers of them. What is seen then of a mind is written down: how many steps were
    watched, its gap to the target, the sum of gaps; and its body is knocked before it goes on, if there are knocks.

    Returns a Status, the number of ends that it came to, and the steps that are left up to the next one.
    """
    w = rows_at(address, 1, WORLD)[0]
    if w["kind"] != WORLD_KIND:
        return WRONG_ROW, 0, ends[0]
    m, forest = rows_at(w["minds"], 1, MINDS)[0], rows_at(w["forest"], 1, FOREST)[0]
    mind = rows_at(m["minds"], m["mind_room"], MIND)[row]
    if body_slot(forest, mind["body"]) < 0:
        return WRONG_ROW, 0, ends[0]
    done = 0
    for k in range(ends.shape[0]):
        status, left = make_steps(w, ends[k] - done, ends[k] - done, none)
        if status != DONE or left > 0:
            return status, k, left
        look_around(w)
        life, done = mind["life"], ends[k]
        seen[k, 0], seen[k, 1], seen[k, 2] = life["steps"], life["gap"], life["gaps"]
        if k < knocks.shape[0]:
            a = knocks[k]
            if knock(forest, body_slot(forest, mind["body"]), (a[0], a[1], a[2]), (a[3], a[4], a[5])) != CARRIED:
                return WRONG_ROW, k, 0  # who goes on from here is told what is wrong
    return DONE, ends.shape[0], 0
