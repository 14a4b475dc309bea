"""Closing loops at position level: projection of states that have drifted, and a search for closed configurations.

Projection moves q, and changes v, by the impulses at the loops that close them: the shortest way in the metric of the
mass matrix, with the same articulated inertias and rows as the dynamics. `close` starts from any configuration, moves
only the joints in `free`, and detects dead ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.constraint.loops import fill_errors, fill_relative_velocities, loop_errors, loop_jacobian, orient_rows
from kinemorph.constraint.solve import factor_rows, multiply_rows, raise_dependence, set_dependence, solve_rows
from kinemorph.constraint.whiten import apply_row_forces, whiten
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.configuration import advance_configuration, integrate
from kinemorph.multibody.algorithms.free_body import free_body_of
from kinemorph.multibody.algorithms.impulse import articulate, propagate_jumps
from kinemorph.multibody.algorithms.kinematics import move_links, place_links
from kinemorph.multibody.checks import LARGEST_FLOAT, Array, Vector, check_data, checked_copies, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data_of
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.system import system_of, tree_addresses_of
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_whole
from kinemorph.spatial.arguments.seeds import random_stream
from kinemorph.spatial.rows import store6

MOST_CLOSE_TRIES = 100_000  # of `close`
CLOSED_ERROR = 1e-12  # rad or m: loops with smaller errors are closed
MOST_PROJECTION_ITERATIONS = 30  # of a projection
CAUTIOUS_ITERATIONS = 5  # of these, the first ones leave out rows that may depend on others
CLOSE_DAMPING = 1e-12  # of the iterations after them, as a share of each row's size
CLOSURE_ROUNDING = 1e-10  # rad or m: an error below this that does not shrink is rounding
DEAD_END_SLOPE = 1e-4  # slope, from 0 to 1, below which an error no longer falls
LARGEST_JOINT_STEP = 0.5  # rad or m: largest step of a joint in one iteration


class LoopError(ValueError):
    """No configuration was found that closes all loops.

    `loop` is the name of the loop with the largest error, `residual` that error (rad or m), `q` the best configuration.
    """

    def __init__(self, message: str, loop: str = "", residual: float = 0.0, q: Array | None = None) -> None:
        super().__init__(message, loop, residual, q)  # all of it: an exception is pickled by its arguments
        self.loop, self.residual, self.q = loop, residual, q

    def __str__(self) -> str:
        return str(self.args[0])


@kernel(inline=False)
def prepare_rows(system: Any, damping: float) -> None:
    """Compute whitened rows and factors for impulses, with articulated inertias, after `trust` or `doubt`."""
    orient_rows(system)
    whiten(system)
    multiply_rows(system)
    factor_rows(system, damping)


@kernel(inline=False)
def solve_loop_impulses(system: Any) -> None:
    """Solve for the loop impulses that cancel the rows' c, after preparation, and set field u of each joint."""
    trees = tree_addresses_of(system)
    for t in range(system["tree_count"]):
        tree = rows_at(trees[t], 1, TREE)[0]
        if tree["free_body"] != 0:
            store6(free_body_of(tree)["u"], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
            continue
        dof_rows = dof_data_of(tree)
        for k in range(tree["nv"]):
            dof_rows[k]["u"][0] = 0.0
    solve_rows(system)
    apply_row_forces(system)


@kernel
def is_projection_done(turn: int, error: float, before: float, gap: float) -> bool:
    """Whether a projection ends: loops are closed, the iteration has failed, or only rounding is left."""
    if error <= gap or turn == MOST_PROJECTION_ITERATIONS or not error <= LARGEST_FLOAT:
        return True
    return turn > CAUTIOUS_ITERATIONS and error < CLOSURE_ROUNDING and error > 0.5 * before


@kernel(inline=False)
def solve_projection_step(system: Any, turn: int) -> None:
    """Solve for the impulses that cancel the loop errors, which are in the rows' c, with the articulated inertias in
    place."""
    if turn < CAUTIOUS_ITERATIONS:
        raise_dependence(system, system["dependence"])
        prepare_rows(system, 0.0)
    else:  # near a singular configuration the rest may be along dependent rows: use all rows
        set_dependence(system, 0.0)
        prepare_rows(system, CLOSE_DAMPING)
    solve_loop_impulses(system)


@kernel(inline=False)
def project_position(tree: Any, q: Any, step: Any, gap: float) -> float:
    """Move q until the loops are closed (Gauss-Newton on the manifold). Returns the largest error that is left."""
    system = system_of(tree)
    error = LARGEST_FLOAT
    for turn in range(MOST_PROJECTION_ITERATIONS + 1):
        before = error
        place_links(tree, q)
        error = fill_errors(system)
        if is_projection_done(turn, error, before, gap):
            break
        articulate(tree, q)
        solve_projection_step(system, turn)
        propagate_jumps(tree, step)
        longest = 0.0
        for k in range(tree["nv"]):
            longest = max(longest, abs(step[k]))
        advance_configuration(tree, q, step, 1.0 if longest <= LARGEST_JOINT_STEP else LARGEST_JOINT_STEP / longest, q)
    return error


@kernel(inline=False)
def project_velocity(tree: Any, q: Any, v: Any, step: Any) -> None:
    """Remove from v the part that would open the loops, by impulses at them."""
    system = system_of(tree)
    articulate(tree, q)
    set_dependence(system, system["dependence"])
    prepare_rows(system, 0.0)
    move_links(tree, q, v)
    fill_relative_velocities(system)
    solve_loop_impulses(system)
    propagate_jumps(tree, step)
    for k in range(tree["nv"]):
        v[k] += step[k]


@entry
def _project(address: int, q: Vector, v: Vector, step: Vector, gap: float) -> float:
    tree = rows_at(address, 1, TREE)[0]
    error = project_position(tree, q, step, gap)
    project_velocity(tree, q, v, step)
    return error if finite(q) and finite(v) else np.inf


@checked_on_failure
def project(
    model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike | None = None, gap: float = 1e-9
) -> tuple[Array, Array]:
    """The nearest state with closed loops, in the metric of the mass matrix. For states that have drifted a little.

    Raises `LoopError` if a loop stays open by more than `gap` (rad or m).
    """
    check_data(model, data)
    if not model.m:
        return tuple(checked_copies(model, q=q, v=np.zeros(model.nv) if v is None else v))
    start, v64 = checked_copies(model, q=q, v=np.zeros(model.nv) if v is None else v)
    q64 = start.copy()
    error = _project(data.address, q64, v64, np.empty(model.nv), min(CLOSED_ERROR, float(gap)))
    if not error <= gap:
        best = q64 if np.isfinite(q64).all() else start
        raise _make_loop_error(model, data, best, "the projection did not close it")
    return q64, v64


@checked_on_failure
def close(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    free: str | Iterable[str] | None = None,
    gap: float = 1e-11,
    tries: int = 6,
    seed: int = 0,
) -> Array:
    """A configuration near q with all loops closed; only the joints in `free` move, all if not given.

    Levenberg-Marquardt method; after a dead end it restarts from a random configuration nearby. Raises `LoopError` if
    no try succeeds: the loop may be out of reach, or q too far away.
    """
    check_data(model, data)
    if not gap > 0.0:
        raise ValueError(f"gap {gap} must be positive")
    check_whole("close: tries", tries, 1, MOST_CLOSE_TRIES)
    (start,) = checked_copies(model, q=q)
    mask = np.full(model.nv, free is None)
    for joint in () if free is None else (free,) if isinstance(free, str) else free:
        mask[model.v_slice(joint)] = True
    rng = random_stream("close: seed", seed)
    best, best_error = start, np.inf
    for turn in range(tries):
        beside = mask * rng.normal(size=model.nv) * (0.01 * 3.0**turn if turn else 0.0)
        found = _minimize_loop_errors(model, data, integrate(model, start, beside), mask, gap)
        error = float(np.abs(loop_errors(model, data, found)).max(initial=0.0))
        if error <= gap:
            return found
        if error < best_error:
            best, best_error = found, error
    why = "the start may be too far away"
    if _relative_slope(model, data, best, mask) < DEAD_END_SLOPE:
        why = "no small motion of the joints that may move brings its sides closer, so it seems out of reach"
    raise _make_loop_error(model, data, best, f"no configuration that closes it was found in {tries} tries; {why}")


def _relative_slope(model: Model, data: Data, q: Array, mask: Array) -> float:
    """Steepness of the squared error, relative to the steepest for the same error: 0 to 1."""
    error = loop_errors(model, data, q)
    J = loop_jacobian(model, data, q) * mask
    steepest = float(np.linalg.norm(J, 2) * np.linalg.norm(error))
    return float(np.linalg.norm(J.T @ error)) / steepest if steepest > 0.0 else 0.0


def _minimize_loop_errors(model: Model, data: Data, q: Array, mask: Array, gap: float, most: int = 200) -> Array:
    """Damped Gauss-Newton steps while the error falls (the damping follows Nielsen's rule)."""
    error = loop_errors(model, data, q)
    damping, growth = 1e-3, 2.0
    for _ in range(most):
        if np.abs(error).max(initial=0.0) <= gap or damping > 1e12:
            break
        J = loop_jacobian(model, data, q) * mask
        A = J @ J.T
        A[np.diag_indices_from(A)] += damping * np.linalg.norm(error) + 1e-14
        step = J.T @ np.linalg.solve(A, -error)
        step *= min(1.0, LARGEST_JOINT_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        tried = integrate(model, q, step)
        error_tried = loop_errors(model, data, tried)
        if error_tried @ error_tried < error @ error:
            q, error = tried, error_tried
            damping, growth = max(damping / 5.0, 1e-9), 2.0
        else:
            damping, growth = damping * growth, growth * 2.0
    return q


def _make_loop_error(model: Model, data: Data, q: Array, why: str) -> LoopError:
    error = np.abs(loop_errors(model, data, q))
    worst = [float(error[l["first"] : l["first"] + l["m"]].max(initial=0.0)) for l in model.loop_rows]
    name = model.loop_names[int(np.argmax(worst))]
    text = f"model {model.name!r}: loop {name!r} stays open by {max(worst):.3g} (rad or m): {why}"
    return LoopError(text, name, max(worst), q)
