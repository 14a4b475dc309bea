"""The one loop over steps: many in one call, until an event, the end, or trouble.

Time runs on a grid of equal steps from the start. What happens between two points of it, an event or an adaptive step,
does not move the grid, so that frames are always at the same times.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.constraint.closure import prepare_rows
from kinemorph.constraint.loops import fill_errors, fill_relative_velocities
from kinemorph.constraint.passive import fill_link_forces
from kinemorph.constraint.solve import set_dependence
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.motion.events import EVENT, FORCE, STOP, evaluate_event_functions, has_crossed, update_event_side
from kinemorph.motion.integrators import (
    A1,
    ADAPTIVE,
    EULER,
    K1,
    Q1,
    Q_FULL,
    Q_NEXT,
    REST,
    V1,
    V_FULL,
    V_NEXT,
    euler_move,
    extrapolate_halved_step,
    rk4_approach,
    rk4_combine,
)
from kinemorph.motion.limit_forces import make_step_at_stops, measure_stops, project_onto_stops, stopped_accelerations
from kinemorph.motion.log import FRAME
from kinemorph.multibody.algorithms.energy_momentum import SUMS, store_sums
from kinemorph.multibody.algorithms.impulse import articulate
from kinemorph.multibody.algorithms.kinematics import move_links, place_links
from kinemorph.multibody.checks import LARGEST_FLOAT, Matrix, Vector
from kinemorph.multibody.layout import TREE, dofs_of
from kinemorph.multibody.model.springs import fill_spring_stretch
from kinemorph.multibody.system import UNKNOWN_RANK, system_of

SHORTEST_ADAPTIVE_STEP = 1e-12  # s: an adaptive step below this is stuck,
MOST_STEPS_TO_GRID = 20_000  # and so is one that takes as many to reach the next grid point

RUN = np.dtype(
    [
        ("start", "f8"),  # s, time of grid point 0
        ("dt", "f8"),  # s, of the grid
        ("point", "i8"),  # last grid point reached
        ("last", "i8"),  # grid point to stop at
        ("every", "i8"),  # grid points from frame to frame
        ("t", "f8"),  # s, now
        ("method", "i8"),
        ("tolerance", "f8"),  # error of an adaptive step
        ("h", "f8"),  # s, the adaptive step to try next
        ("tries", "i8"),  # adaptive steps since the last grid point,
        ("most_tries", "i8"),  # and how many there may be
        ("length", "f8"),  # s, the step in which an event is
        ("gravity", "f8", 3),  # m/s²
        ("gap", "f8"),  # rad or m, how far loops may be open
        ("open", "f8"),  # how far they were after the last step,
        ("worst", "f8"),  # and at most so far
        ("made", "i8"),  # whether the next step has been made outside, with what follows:
        ("error", "f8"),  # its error, as a share of the tolerance
        ("budget", "i8"),  # steps that may still be tried
        ("frames", "i8"),  # rows of the log that are written
        ("frame_rows", "i8"),  # address of the FRAME rows of the log, and
        ("frame_room", "i8"),  # how many there are, 0 if none are recorded
        ("events", "i8"),  # address of the EVENT rows, and
        ("event_count", "i8"),  # how many
        ("holds", "i8"),  # address of the HOLD rows of joints at limits, and
        ("hold_count", "i8"),  # how many
        ("hold_room", "i8"),  # address of scratch for their forces, and
        ("hold_room_length", "i8"),  # how many numbers
        ("sums", SUMS),  # scratch
    ]
)
Runs = np.ndarray[tuple[int], np.dtype[np.void]]


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
def are_finite(x: Any, count: int) -> bool:
    """Whether the first entries are finite."""
    good = True
    for k in range(count):
        good &= abs(x[k]) <= LARGEST_FLOAT
    return good


@kernel(inline=False)
def make_trial_step(tree: Any, run: Any, q: Any, v: Any, dt: float, tau: Any, external: Any, work: Any) -> None:
    """Make a step from (q, v), into the rows Q_NEXT and V_NEXT; how far loops stay open and the error into the run."""
    nq, nv = tree["nq"], tree["nv"]
    q1, v1 = work[Q_NEXT], work[V_NEXT]
    copy(q, q1, nq)
    copy(v, v1, nv)
    run["error"] = 0.0
    if run["method"] != ADAPTIVE:
        run["open"] = make_step_at_stops(tree, run, q1, v1, dt, tau, external, work)
    else:
        copy(q, work[Q_FULL], nq)
        copy(v, work[V_FULL], nv)
        make_step_at_stops(tree, run, work[Q_FULL], work[V_FULL], dt, tau, external, work)
        make_step_at_stops(tree, run, q1, v1, 0.5 * dt, tau, external, work)
        run["open"] = make_step_at_stops(tree, run, q1, v1, 0.5 * dt, tau, external, work)
        extrapolate_trial_step(tree, run, work)


@kernel(inline=False)
def extrapolate_trial_step(tree: Any, run: Any, work: Any) -> None:
    """Extrapolate two half steps by a whole one (Richardson), and store the error estimate."""
    gap, run["error"] = extrapolate_halved_step(tree, run["tolerance"], run["open"], work)
    run["open"] = project_onto_stops(tree, run, work[Q_NEXT], work[V_NEXT], gap, work[K1])


@kernel(inline=False)
def evaluate_run_events(
    tree: Any, run: Any, events: Any, time: float, q: Any, v: Any, tau: Any, external: Any, work: Any
) -> None:
    """The functions of all events at a state."""
    if events.shape[0] == 0:
        return
    bears = False
    for i in range(events.shape[0]):
        kind = events[i]["kind"]
        bears |= kind >= FORCE and kind != STOP and events[i]["awake"] != 0
    if bears:  # the forces at loops and stops are part of the dynamics
        stopped_accelerations(tree, run, q, v, tau, external, work, work[A1])
    else:
        place_links(tree, q)
    evaluate_event_functions(tree, events, time, q, v)
    measure_stops(tree, run, events, q)


@kernel(inline=False)
def measure_run_state(tree: Any, run: Any, q: Any, v: Any, work: Any, frame: Any) -> None:
    """Energies, how far and how fast loops are open, and the mobility."""
    nv = tree["nv"]
    sums, gravity = run["sums"], run["gravity"]
    store_sums(tree, q, v, sums)
    frame["t"] = run["t"]
    frame["kinetic"] = sums["kinetic"]
    moment = sums["moment"]
    frame["potential"] = -(gravity[0] * moment[0] + gravity[1] * moment[1] + gravity[2] * moment[2])
    frame["elastic"] = 0.0
    if tree["springs"] != 0:
        dofs = dofs_of(tree)
        fill_spring_stretch(tree, work[REST], q, work[A1])
        for k in range(nv):
            frame["elastic"] += 0.5 * dofs[k]["stiffness"] * work[A1, k] * work[A1, k]
    if tree["pushes"] != 0:
        frame["elastic"] += fill_link_forces(tree, q, v)
    frame["loop_error"] = 0.0
    frame["loop_speed"] = 0.0
    frame["mobility"] = nv
    if tree["system"] != 0:
        system = system_of(tree)
        articulate(tree, q)
        set_dependence(system, system["dependence"])
        prepare_rows(system, 0.0)
        frame["loop_error"] = fill_errors(system)
        move_links(tree, q, v)
        frame["loop_speed"] = fill_relative_velocities(system)
        frame["mobility"] = nv - system["rank"] if system["rank"] != UNKNOWN_RANK else UNKNOWN_RANK


@kernel
def reduced_step_length(dt: float, error: float) -> float:
    """The length (s) of the next trial after one with this error, as a share of the tolerance."""
    return dt * max(0.2, 0.9 * error**-0.25) if error < 1e12 else 0.1 * dt


@kernel
def grid_time(run: Any, point: int) -> float:
    return run["start"] + point * run["dt"]


@kernel
def next_step(run: Any) -> tuple[float, bool]:
    """How long the next step is, and whether it ends at the next grid point."""
    t, end = run["t"], grid_time(run, run["point"] + 1)
    adaptive = run["method"] == ADAPTIVE
    if adaptive and t + run["h"] * (1.0 + 1e-9) < end:
        return run["h"], False
    if not adaptive and t == grid_time(run, run["point"]):  # without a rounding error
        return run["dt"], True
    return end - t, True


@kernel
def reject_step(run: Any, dt: float, good: bool) -> int:
    """What to do after a step that cannot stay: PAUSE to try a smaller one, or why there is none."""
    if run["method"] == ADAPTIVE:
        run["h"] = reduced_step_length(dt, max(run["error"], 2.0)) if good else 0.1 * dt
        if run["h"] < SHORTEST_ADAPTIVE_STEP:
            return STUCK if good else NOT_FINITE
        return PAUSE
    return OPEN if good else NOT_FINITE


@entry(nogil=True)
def _march(
    address: int, run_address: int, q: Vector, v: Vector, tau: Vector, external: Matrix, work: Matrix,
    q_log: Matrix, v_log: Matrix,
) -> int:  # fmt: skip
    """Advance (q, v) along the grid, and write frames. Returns a Halt; the state is that before the trouble."""
    tree = rows_at(address, 1, TREE)[0]
    run = rows_at(run_address, 1, RUN)[0]
    events = rows_at(run["events"], run["event_count"], EVENT)
    frames = rows_at(run["frame_rows"], run["frame_room"], FRAME)
    nq, nv = q.shape[0], v.shape[0]
    adaptive = run["method"] == ADAPTIVE
    while run["point"] < run["last"]:
        due = (run["point"] + 1) % run["every"] == 0
        if run["budget"] == 0 or (due and run["frames"] == q_log.shape[0]):
            return PAUSE
        run["budget"] -= 1
        h, whole = next_step(run)
        if run["made"] == 0:
            make_trial_step(tree, run, q, v, h, tau, external, work)
        run["made"] = 0
        run["tries"] += 1
        if adaptive and run["tries"] > run["most_tries"]:
            return STUCK
        good = are_finite(work[Q_NEXT], nq) and are_finite(work[V_NEXT], nv)
        if not (good and run["error"] <= 1.0 and run["open"] <= run["gap"]):
            halt = reject_step(run, h, good)
            if halt != PAUSE:
                return halt
            continue
        now = grid_time(run, run["point"] + 1) if whole else run["t"] + h
        evaluate_run_events(tree, run, events, now, work[Q_NEXT], work[V_NEXT], tau, external, work)
        for i in range(events.shape[0]):
            if has_crossed(events[i]):
                run["length"] = h
                return HIT
        for i in range(events.shape[0]):
            update_event_side(events[i])
        copy(work[Q_NEXT], q, nq)
        copy(work[V_NEXT], v, nv)
        run["t"] = now
        run["worst"] = max(run["worst"], run["open"])
        if adaptive and not (whole and h < run["h"]):  # a step that was cut short says little about the next
            run["h"] = h * min(5.0, 0.9 * max(run["error"], 1e-10) ** -0.2)
        if whole:
            run["tries"] = 0
            run["point"] += 1
            if due:
                row = run["frames"]
                run["frames"] += 1
                copy(q, q_log[row], nq)
                copy(v, v_log[row], nv)
                if frames.shape[0] > 0:
                    measure_run_state(tree, run, q, v, work, frames[row])
    return END


@entry
def _attempt(
    address: int, runs: Runs, events: Runs, q: Vector, v: Vector, dt: float, tau: Vector, external: Matrix,
    work: Matrix, q1: Vector, v1: Vector,
) -> None:  # fmt: skip
    """The state after a step of any length dt (0 for none), and the events' functions there.

    A step that was made outside is in the workspace already.
    """
    tree = rows_at(address, 1, TREE)[0]
    run = runs[0]
    if dt == 0.0:
        copy(q, work[Q_NEXT], q.shape[0])
        copy(v, work[V_NEXT], v.shape[0])
    elif run["made"] == 0:
        make_trial_step(tree, run, q, v, dt, tau, external, work)
    run["made"] = 0
    copy(work[Q_NEXT], q1, q.shape[0])
    copy(work[V_NEXT], v1, v.shape[0])
    evaluate_run_events(tree, run, events, run["t"] + dt, q1, v1, tau, external, work)


@entry
def _observe(address: int, runs: Runs, q: Vector, v: Vector, work: Matrix, frames: Runs) -> None:
    measure_run_state(rows_at(address, 1, TREE)[0], runs[0], q, v, work, frames[0])


@entry
def _next_step(runs: Runs) -> float:
    h, _ = next_step(runs[0])
    return h


# --- the pieces of a step, for forces that are asked for at every stage


@entry
def _accelerate(
    address: int, runs: Runs, q: Vector, v: Vector, tau: Vector, external: Matrix, work: Matrix, row: int
) -> None:  # fmt: skip
    stopped_accelerations(rows_at(address, 1, TREE)[0], runs[0], q, v, tau, external, work, work[row])


@entry
def _approach(address: int, q: Vector, v: Vector, dt: float, work: Matrix, before: int) -> None:
    rk4_approach(rows_at(address, 1, TREE)[0], q, v, dt, work, before)


@entry
def _combine(address: int, runs: Runs, q: Vector, v: Vector, dt: float, work: Matrix) -> float:
    tree, run = rows_at(address, 1, TREE)[0], runs[0]
    euler = run["method"] == EULER
    gap = euler_move(tree, q, v, dt, work) if euler else rk4_combine(tree, q, v, dt, work)
    return project_onto_stops(tree, run, q, v, gap, work[K1])


@entry
def _improve(address: int, runs: Runs, work: Matrix) -> None:
    extrapolate_trial_step(rows_at(address, 1, TREE)[0], runs[0], work)


march, attempt, take_frame, step_length = _march, _attempt, _observe, _next_step
accelerate, approach, combine, compare = _accelerate, _approach, _combine, _improve

__all__ = [
    "FRAME", "K1", "MOST_STEPS_TO_GRID", "Q1", "RUN", "V1", "Halt",
    "accelerate", "approach", "attempt", "combine", "compare", "march", "step_length", "take_frame",
]  # fmt: skip
