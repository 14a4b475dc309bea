"""Steps of a simulation: many in one call, until an event, the end, or trouble.

Time runs on a grid of equal steps from the start. What happens between two points of it, an event or an adaptive step,
does not move the grid, so that frames are always at the same times.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.checks import LARGEST, NO_FORCES, Array, Matrix, Vector
from kinemorph.multibody.configuration import advance
from kinemorph.multibody.integrators import (
    A1,
    K1,
    Q_FULL,
    Q_HALF,
    REST,
    V_FULL,
    V_HALF,
    WORK_ROWS,
    Method,
    distance,
    workspace,
)
from kinemorph.multibody.kinematics import place_all
from kinemorph.multibody.layout import DOF, TREE
from kinemorph.multibody.model import Model
from kinemorph.multibody.springs import stretch
from kinemorph.multibody.energy_momentum import sum_up
from kinemorph.structure.closed_motion import closed_accelerations, closed_step
from kinemorph.structure.closure import CLOSED, prepare, project_position, project_velocity
from kinemorph.structure.events import EVENT, FORCE, crosses, measure, pass_by
from kinemorph.structure.log import NUMBERS
from kinemorph.structure.loop_rows import errors, fill_rows, relative_velocities
from kinemorph.structure.loops import CHAIN, ROW

RK4 = int(Method.RK4)
ADAPTIVE = 2  # RK4 with step doubling
SUMS = WORK_ROWS  # a row more for sums over all links, at least 11 long
SHORTEST = 1e-12  # s: an adaptive step below this is stuck,
MOST_TRIES = 20_000  # and so is one that takes as many to reach the next grid point

RUN = np.dtype(
    [
        ("start", "f8"),  # s, time of grid point 0
        ("step", "f8"),  # s, of the grid
        ("point", "i8"),  # last grid point reached
        ("last", "i8"),  # grid point to stop at
        ("every", "i8"),  # grid points from frame to frame
        ("t", "f8"),  # s, now
        ("method", "i8"),
        ("tolerance", "f8"),  # error of an adaptive step
        ("h", "f8"),  # s, the adaptive step to try next
        ("tries", "i8"),  # adaptive steps since the last grid point
        ("length", "f8"),  # s, the step in which an event is
        ("gx", "f8"), ("gy", "f8"), ("gz", "f8"),  # m/s², gravity
        ("gap", "f8"),  # rad or m, how far loops may be open
        ("open", "f8"),  # and how far they were after the last step
        ("budget", "i8"),  # steps that may still be tried
        ("frames", "i8"),  # rows of the log that are written
    ]
)  # fmt: skip


class Halt(IntEnum):
    """Why a kernel has stopped."""

    PAUSE = 0  # the budget is spent, or the log is full
    END = 1
    EVENT = 2  # a function changes its sign in the next step, which is not made
    NOT_FINITE = 3
    OPEN = 4  # a loop
    STUCK = 5  # an adaptive step would be too small


PAUSE, END, HIT, NOT_FINITE, OPEN, STUCK = (int(h) for h in Halt)


@kernel
def copy(source: Any, to: Any, count: int) -> None:
    for k in range(count):
        to[k] = source[k]


@kernel
def sound(x: Any, count: int) -> bool:
    """Whether the first entries are finite."""
    good = True
    for k in range(count):
        good &= abs(x[k]) <= LARGEST
    return good


@kernel(inline=False)
def take(chain: Any, run: Any, q: Any, v: Any, h: float, tau: Any, external: Any, work: Any) -> tuple[float, float]:
    """Make a step from (q, v), into the rows Q_HALF and V_HALF. Returns how far loops stay open, and the error.

    The error is a share of the tolerance, 0 if the method has no estimate. Step doubling as in `adaptive_step`.
    """
    tree = rows_at(chain["tree"], 1, TREE)[0]
    nq, nv = tree["nq"], tree["nv"]
    q1, v1 = work[Q_HALF], work[V_HALF]
    copy(q, q1, nq)
    copy(v, v1, nv)
    if run["method"] != ADAPTIVE:
        return closed_step(chain, run["method"], q1, v1, h, tau, external, work), 0.0
    copy(q, work[Q_FULL], nq)
    copy(v, work[V_FULL], nv)
    closed_step(chain, RK4, work[Q_FULL], work[V_FULL], h, tau, external, work)
    closed_step(chain, RK4, q1, v1, 0.5 * h, tau, external, work)
    gap = closed_step(chain, RK4, q1, v1, 0.5 * h, tau, external, work)
    error = distance(tree, work[Q_FULL], work[V_FULL], q1, v1, work) / run["tolerance"]
    if error <= 1.0:  # Richardson
        advance(tree, q1, work[K1], 1.0 / 15.0, q1)
        for k in range(nv):
            v1[k] += (v1[k] - work[V_FULL, k]) / 15.0
        if chain["count"] > 0:
            gap = project_position(chain, q1, work[K1], CLOSED)
            project_velocity(chain, q1, v1, work[K1])
    return gap, error


@kernel(inline=False)
def look(chain: Any, events: Any, t: float, q: Any, v: Any, tau: Any, external: Any, work: Any) -> None:
    """The functions of all events at a state."""
    if events.shape[0] == 0:
        return
    bears = False
    for i in range(events.shape[0]):
        bears |= events[i]["kind"] >= FORCE and events[i]["awake"] != 0
    if bears:  # the forces at the loops are part of the dynamics
        closed_accelerations(chain, q, v, tau, external, work, work[A1])
    else:
        place_all(rows_at(chain["tree"], 1, TREE)[0], q)
    measure(chain, events, t, q, v)


@kernel(inline=False)
def note(chain: Any, run: Any, q: Any, v: Any, work: Any, numbers: Any) -> None:
    """Energies, how far and how fast loops are open, and the mobility."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    nv = tree["nv"]
    sums = work[SUMS]
    sum_up(tree, q, v, sums)
    numbers[0] = sums[10]
    numbers[1] = -(run["gx"] * sums[1] + run["gy"] * sums[2] + run["gz"] * sums[3])
    numbers[2] = 0.0
    if tree["springs"] != 0:
        dofs = rows_at(tree["dofs"], nv, DOF)
        stretch(tree, work[REST], q, work[A1])
        for k in range(nv):
            numbers[2] += 0.5 * dofs[k]["stiffness"] * work[A1, k] * work[A1, k]
    numbers[3] = errors(chain)
    numbers[4] = 0.0
    numbers[5] = nv
    if chain["count"] > 0:
        wrenches = rows_at(chain["rows"], chain["m"], ROW)
        prepare(chain, q, chain["tolerance"], 0.0)
        fill_rows(chain)
        relative_velocities(chain, v)
        for j in range(chain["m"]):
            numbers[4] = max(numbers[4], abs(wrenches[j]["c"]))
        numbers[5] = nv - chain["rank"]


@kernel
def shrunk(h: float, error: float) -> float:
    """A smaller step after one with this error, as a share of the tolerance."""
    return h * max(0.2, 0.9 * error**-0.25) if error < 1e12 else 0.1 * h


@entry(nogil=True)
def _march(
    handle: int, runs: np.ndarray[tuple[int], np.dtype[np.void]], events: np.ndarray[tuple[int], np.dtype[np.void]],
    q: Vector, v: Vector, tau: Vector, external: Matrix, work: Matrix,
    t_log: Vector, q_log: Matrix, v_log: Matrix, number_log: Matrix,
) -> int:  # fmt: skip
    """Advance (q, v) along the grid, and write frames. Returns a Halt; the state is that before the trouble."""
    chain = rows_at(handle, 1, CHAIN)[0]
    run = runs[0]
    nq, nv = q.shape[0], v.shape[0]
    adaptive = run["method"] == ADAPTIVE
    while run["point"] < run["last"]:
        if run["budget"] == 0 or run["frames"] == t_log.shape[0]:
            return PAUSE
        run["budget"] -= 1
        t = run["t"]
        end = run["start"] + (run["point"] + 1) * run["step"]
        whole = not adaptive or t + run["h"] * (1.0 + 1e-9) >= end
        h = end - t if whole else run["h"]
        run["open"], error = take(chain, run, q, v, h, tau, external, work)
        good = sound(work[Q_HALF], nq) and sound(work[V_HALF], nv)
        run["tries"] += 1
        if adaptive and run["tries"] > MOST_TRIES:
            return STUCK
        if adaptive and not (good and error <= 1.0 and run["open"] <= run["gap"]):
            run["h"] = shrunk(h, max(error, 2.0)) if good else 0.1 * h
            if run["h"] < SHORTEST:
                return STUCK if good else NOT_FINITE
            continue
        if not good:
            return NOT_FINITE
        if not run["open"] <= run["gap"]:
            return OPEN
        now = end if whole else t + h
        look(chain, events, now, work[Q_HALF], work[V_HALF], tau, external, work)
        for i in range(events.shape[0]):
            if crosses(events[i]):
                run["length"] = h
                return HIT
        for i in range(events.shape[0]):
            pass_by(events[i])
        copy(work[Q_HALF], q, nq)
        copy(work[V_HALF], v, nv)
        run["t"] = now
        if adaptive and not (whole and h < run["h"]):  # a step that was cut short says little about the next
            run["h"] = h * min(5.0, 0.9 * max(error, 1e-10) ** -0.2)
        if whole:
            run["tries"] = 0
            run["point"] += 1
            if run["point"] % run["every"] == 0:
                row = run["frames"]
                run["frames"] += 1
                t_log[row] = now
                copy(q, q_log[row], nq)
                copy(v, v_log[row], nv)
                note(chain, run, q, v, work, number_log[row])
    return END


@entry
def _try(
    handle: int, runs: np.ndarray[tuple[int], np.dtype[np.void]], events: np.ndarray[tuple[int], np.dtype[np.void]],
    q: Vector, v: Vector, h: float, tau: Vector, external: Matrix, work: Matrix, q1: Vector, v1: Vector,
) -> float:  # fmt: skip
    """The state after a step of any length h (0 for none), and the events' functions there. Returns the loops' gap."""
    chain = rows_at(handle, 1, CHAIN)[0]
    run = runs[0]
    copy(q, work[Q_HALF], q.shape[0])
    copy(v, work[V_HALF], v.shape[0])
    gap = 0.0
    if h > 0.0:
        gap, _ = take(chain, run, q, v, h, tau, external, work)
    copy(work[Q_HALF], q1, q.shape[0])
    copy(work[V_HALF], v1, v.shape[0])
    look(chain, events, run["t"] + h, q1, v1, tau, external, work)
    return gap


@entry
def _note(
    handle: int, runs: np.ndarray[tuple[int], np.dtype[np.void]], q: Vector, v: Vector, work: Matrix, numbers: Vector
) -> None:
    note(rows_at(handle, 1, CHAIN)[0], runs[0], q, v, work, numbers)


march, attempt, take_note = _march, _try, _note


def room(model: Model) -> Array:
    """The workspace of a simulation."""
    return workspace(model, WORK_ROWS + 1, 11)


__all__ = ["ADAPTIVE", "EVENT", "NO_FORCES", "NUMBERS", "RUN", "Halt", "attempt", "march", "room", "take_note"]
