"""Many states of one model at once: four in a register, several registers on several cores.

The kernels are those of one state, compiled for lanes (`spatial.lanes.lane_type`). States lie one behind the other in
arrays of shape (batch, n); four of them at a time are turned into rows of lanes and back. The results do not depend on
the number of workers, nor on how states fall into groups, to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from kinemorph._cores import cores
from kinemorph.jit.api import entry, for_lanes, kernel, rows_at
from kinemorph.motion.exceeded_limits import warn_ignored
from kinemorph.motion.integrators import EULER, REST, WORK_ROWS, euler_step, rk4_step
from kinemorph.motion.parallel.many_worlds import BatchError, run
from kinemorph.motion.rollout import Trajectory, checked_steps
from kinemorph.multibody.algorithms.aba import articulated_body
from kinemorph.multibody.algorithms.configuration import difference, integrate
from kinemorph.multibody.algorithms.crba import fill_mass_matrix
from kinemorph.multibody.algorithms.rnea import newton_euler
from kinemorph.multibody.checks import Array, as_real_array, check_model, check_quaternions
from kinemorph.multibody.layout import DOF_DATA, LINK_DATA, TREE, TREE_KIND, dof_data, gear_scratch_size, link_data
from kinemorph.multibody.model.model import Model, fill_tree
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_finite
from kinemorph.spatial.lanes import lane_math  # noqa: F401  (teaches the kernels lanes)
from kinemorph.spatial.lanes.four import LANE_COUNT

__all__ = ["BatchError", "aba", "crba", "linearize", "rnea", "rollout", "run", "step"]

# passes over links: a batch of fewer, a third of a millisecond, is not worth a second thread
LEAST_THREADED_PASSES = 10_000


def _lane_dtype(dtype: np.dtype[np.void]) -> np.dtype[np.void]:
    """The same fields, four of each."""
    return np.dtype(
        [(name, dtype[name].base, (*dtype[name].shape, LANE_COUNT)) for name in dtype.names or ()], align=True
    )


LINK_LANES = _lane_dtype(LINK_DATA)
DOF_LANES = _lane_dtype(DOF_DATA)
TREE_LANES = np.dtype([("lanes", "i8"), *TREE.descr])


@for_lanes(link_data)
def _link_lanes(tree: Any) -> np.dtype[np.void]:
    return LINK_LANES


@for_lanes(dof_data)
def _dof_lanes(tree: Any) -> np.dtype[np.void]:
    return DOF_LANES


class Workspace:
    """Rows and buffers for four states at once; one thread uses it at a time."""

    def __init__(self, model: Model) -> None:
        rows, dof_rows = np.zeros(model.n + 1, LINK_LANES), np.zeros(model.nv, DOF_LANES)
        rows[0]["R"] = np.eye(3).reshape(9, 1)
        rows[0]["a"] = -model.gravity[:, None]
        self._keep = rows, dof_rows, np.zeros(1, TREE_LANES)
        header = self._keep[2][0]
        fill_tree(header, model, TREE_KIND)
        header["rows"], header["dof_rows"] = rows.ctypes.data, dof_rows.ctypes.data
        self._gears = np.zeros(LANE_COUNT * gear_scratch_size(int(header["gear_count"]), model.nv))
        header["gear_room"] = self._gears.ctypes.data if len(self._gears) else 0
        self.address = int(self._keep[2].ctypes.data)
        self.states = np.zeros((4, max(model.nq, model.nv, 1), LANE_COUNT))  # three inputs and an output
        self._model = model
        self._work: Array | None = None
        self._matrix: Array | None = None

    @property
    def work(self) -> Array:
        """What integrators need."""
        if self._work is None:
            self._work = np.zeros((WORK_ROWS, self.states.shape[1], LANE_COUNT))
            self._work[REST, : self._model.nq] = self._model.rest[:, None]
        return self._work

    @property
    def matrix(self) -> Array:
        """A mass matrix of lanes; entries of unrelated degrees of freedom stay zero."""
        if self._matrix is None:
            self._matrix = np.zeros((self._model.nv**2, LANE_COUNT))
        return self._matrix


@kernel
def gather(X: Any, first: int, out: Any) -> None:
    """Four states from `first` on as lanes. Past the end the last state stands in."""
    for i in range(LANE_COUNT):
        row = min(first + i, X.shape[0] - 1)
        for k in range(X.shape[1]):
            out[k, i] = X[row, k]


@kernel
def scatter(x: Any, first: int, X: Any) -> int:
    """Lanes back into states. Returns the first state that is not finite, -1 if all are."""
    bad = -1
    for i in range(LANE_COUNT):
        row = first + i
        if row < X.shape[0]:
            check = 0.0
            for k in range(X.shape[1]):
                X[row, k] = x[k, i]
                check += 0.0 * x[k, i]
            if check != 0.0 and bad < 0:
                bad = row
    return bad


@entry(nogil=True)
def _aba(address: int, start: int, stop: int, Q: Any, V: Any, TAU: Any, A: Any, states: Any, external: Any) -> int:
    tree = rows_at(address, 1, TREE_LANES)[0]
    q, v, tau, a = states[0], states[1], states[2], states[3]
    for first in range(start, stop, LANE_COUNT):
        gather(Q, first, q)
        gather(V, first, v)
        gather(TAU, first, tau)
        articulated_body(tree, q, v, tau, external, a)
        bad = scatter(a, first, A)
        if bad >= 0:
            return bad
    return -1


@entry(nogil=True)
def _rnea(address: int, start: int, stop: int, Q: Any, V: Any, A: Any, TAU: Any, states: Any, external: Any) -> int:
    tree = rows_at(address, 1, TREE_LANES)[0]
    q, v, a, tau = states[0], states[1], states[2], states[3]
    for first in range(start, stop, LANE_COUNT):
        gather(Q, first, q)
        gather(V, first, v)
        gather(A, first, a)
        newton_euler(tree, q, v, a, external, tau)
        bad = scatter(tau, first, TAU)
        if bad >= 0:
            return bad
    return -1


@entry(nogil=True)
def _crba(address: int, start: int, stop: int, Q: Any, M: Any, states: Any, matrix: Any) -> int:
    tree = rows_at(address, 1, TREE_LANES)[0]
    q = states[0]
    for first in range(start, stop, LANE_COUNT):
        gather(Q, first, q)
        fill_mass_matrix(tree, q, matrix, 0, tree["n"], tree["nv"], 0)
        bad = scatter(matrix, first, M)
        if bad >= 0:
            return bad
    return -1


@entry(nogil=True)
def _rollout(
    address: int, start: int, stop: int, method: int, dt: float, steps: int, every: int, Q: Any, V: Any, TAU: Any,
    Q_log: Any, V_log: Any, states: Any, external: Any, work: Any,
) -> int:  # fmt: skip
    """TAU is (batch, 1 or steps, nv); the logs are (batch, kept, n). Q and V end at the last state."""
    tree = rows_at(address, 1, TREE_LANES)[0]
    q, v, tau = states[0], states[1], states[2]
    for first in range(start, stop, LANE_COUNT):
        gather(Q, first, q)
        gather(V, first, v)
        gather(TAU[:, 0], first, tau)
        for i in range(steps):
            if i > 0 and TAU.shape[1] > 1:
                gather(TAU[:, i], first, tau)
            if method == EULER:
                euler_step(tree, q, v, dt, tau, external, work)
            else:
                rk4_step(tree, q, v, dt, tau, external, work)
            if (i + 1) % every == 0:
                kept = (i + 1) // every
                bad = max(scatter(q, first, Q_log[:, kept]), scatter(v, first, V_log[:, kept]))
                if bad >= 0:
                    return bad
        bad = max(scatter(q, first, Q), scatter(v, first, V))
        if bad >= 0:
            return bad
    return -1


NO_LANES = np.zeros((0, 6, LANE_COUNT))


@checked_on_failure
def aba(
    model: Model,
    Q: npt.ArrayLike,
    V: npt.ArrayLike,
    TAU: npt.ArrayLike,
    *,
    out: Array | None = None,
    workers: int | None = None,
) -> Array:
    """Accelerations (batch, nv) for states Q (batch, nq), V and joint forces TAU (batch, nv): `kinemorph.aba` of each.

    `out` takes the result if given. `workers` is the number of threads, all cores if not given.
    """
    arrays = _arrays(model, Q=Q, V=V, TAU=TAU)
    A = _output(out, (len(arrays["Q"]), model.nv))

    def run(space: Workspace, start: int, stop: int) -> int:
        return _aba(space.address, start, stop, arrays["Q"], arrays["V"], arrays["TAU"], A, space.states, NO_LANES)

    _divide_among_workers(model, len(A), workers, run, arrays)
    return A


@checked_on_failure
def rnea(
    model: Model,
    Q: npt.ArrayLike,
    V: npt.ArrayLike,
    A: npt.ArrayLike,
    *,
    out: Array | None = None,
    workers: int | None = None,
) -> Array:
    """Joint forces (batch, nv) for states Q (batch, nq), V and accelerations A (batch, nv), as `kinemorph.rnea`."""
    arrays = _arrays(model, Q=Q, V=V, A=A)
    TAU = _output(out, (len(arrays["Q"]), model.nv))

    def run(space: Workspace, start: int, stop: int) -> int:
        return _rnea(space.address, start, stop, arrays["Q"], arrays["V"], arrays["A"], TAU, space.states, NO_LANES)

    _divide_among_workers(model, len(TAU), workers, run, arrays)
    return TAU


@checked_on_failure
def crba(model: Model, Q: npt.ArrayLike, *, out: Array | None = None, workers: int | None = None) -> Array:
    """Mass matrices (batch, nv, nv) at configurations Q (batch, nq): `kinemorph.crba` of each."""
    arrays = _arrays(model, Q=Q)
    M = _output(out, (len(arrays["Q"]), model.nv, model.nv))
    flat = M.reshape(len(M), -1)

    def run(space: Workspace, start: int, stop: int) -> int:
        return _crba(space.address, start, stop, arrays["Q"], flat, space.states, space.matrix)

    _divide_among_workers(model, len(M), workers, run, arrays)
    return M


@checked_on_failure
def step(
    model: Model, Q: npt.ArrayLike, V: npt.ArrayLike, TAU: npt.ArrayLike | None = None, *, dt: float = 1e-3,
    steps: int = 1, method: str = "rk4", workers: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """The states after `steps` steps of `dt` seconds, each with its own constant joint forces, as `kinemorph.step`."""
    end = rollout(model, Q, V, TAU, dt=dt, steps=steps, method=method, every=max(1, steps), workers=workers)
    return np.ascontiguousarray(end.q[:, -1]), np.ascontiguousarray(end.v[:, -1])


@checked_on_failure
def rollout(
    model: Model, Q: npt.ArrayLike, V: npt.ArrayLike, TAU: npt.ArrayLike | None = None, *, dt: float = 1e-3,
    steps: int = 1000, method: str = "rk4", every: int = 1, workers: int | None = None,
) -> Trajectory:  # fmt: skip
    """Trajectories from many states: q (batch, kept, nq), v (batch, kept, nv), the start first.

    TAU is zero, or (batch, nv), or (batch, steps, nv) with joint forces for every step.
    """
    kind, steps, every = checked_steps(method, dt, steps, every)
    check_model(model)
    if len(model.loop_rows) or model.passive:
        raise ValueError(
            f"model {model.name!r} has loops or force elements, which batches do not know; see kinemorph.rollout"
        )
    arrays = _arrays(model, Q=Q, V=V)
    batch = len(arrays["Q"])
    forces = np.zeros((batch, model.nv)) if TAU is None else as_real_array(model, "TAU", TAU)
    forces = forces[:, None] if forces.ndim == 2 else forces
    if forces.shape not in ((batch, 1, model.nv), (batch, steps, model.nv)) or not np.isfinite(forces).all():
        raise ValueError(
            f"model {model.name!r}: TAU has shape {forces.shape}, expected {(batch, model.nv)} or "
            f"{(batch, steps, model.nv)}, all finite"
        )
    forces = np.ascontiguousarray(forces)
    dt, kept = float(dt), steps // every + 1
    Q_log, V_log = np.empty((batch, kept, model.nq)), np.empty((batch, kept, model.nv))
    Q_log[:, 0], V_log[:, 0] = arrays["Q"], arrays["V"]
    Q_now, V_now = arrays["Q"].copy(), arrays["V"].copy()

    def run(space: Workspace, start: int, stop: int) -> int:
        return _rollout(
            space.address, start, stop, kind, dt, steps, every, Q_now, V_now, forces, Q_log, V_log,
            space.states, NO_LANES, space.work,
        )  # fmt: skip

    _divide_among_workers(model, batch, workers, run, arrays, steps * (4 if kind else 1))
    warn_ignored(model, Q_log, V_log, forces)
    return Trajectory(np.arange(kept) * (dt * every), Q_log, V_log)


@checked_on_failure
def linearize(
    model: Model, Q: npt.ArrayLike, V: npt.ArrayLike, TAU: npt.ArrayLike | None = None, *, dt: float = 1e-3,
    steps: int = 1, method: str = "rk4", offset: float = 1e-6, workers: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """How the state after some steps follows a small change of the state before, and of joint forces, at many states.

    With x = (δq, δv), where δq leads from one configuration to another as `km.difference` has it, x' = A x + B δtau:
    A is (batch, 2 nv, 2 nv), B is (batch, 2 nv, nv). They are central differences, each state moved by `offset` (rad,
    m, ...) either way, all of them in lanes.
    """
    offset = check_finite("linearize: offset", offset)
    if not 0.0 < offset < 1.0:
        raise ValueError(f"linearize: offset {offset} must be above 0, and below 1")
    arrays = _arrays(model, Q=Q, V=V, TAU=np.zeros_like(np.asarray(V, dtype=np.float64)) if TAU is None else TAU)
    q, v, tau = (arrays[name] for name in ("Q", "V", "TAU"))
    batch, nv = v.shape
    moved = offset * np.concatenate([np.eye(nv), -np.eye(nv)])  # each degree of freedom, one way and the other
    around = {name: np.repeat(x[:, None], 6 * nv, axis=1) for name, x in (("q", q), ("v", v), ("tau", tau))}
    around["q"][:, : 2 * nv] = [[integrate(model, x, d) for d in moved] for x in q] if batch and nv else 0.0
    around["v"][:, 2 * nv : 4 * nv] += moved
    around["tau"][:, 4 * nv :] += moved
    flat = (around["q"].reshape(-1, model.nq), around["v"].reshape(-1, nv), around["tau"].reshape(-1, nv))
    q_end, v_end = step(model, *flat, dt=dt, steps=steps, method=method, workers=workers)
    ends = q_end.reshape(batch, 3, 2, nv, model.nq)
    rates = v_end.reshape(batch, 3, 2, nv, nv)
    J = np.empty((batch, 2 * nv, 3 * nv))
    for b, kind, i in np.ndindex(batch, 3, nv):
        J[b, :nv, kind * nv + i] = difference(model, ends[b, kind, 1, i], ends[b, kind, 0, i])
        J[b, nv:, kind * nv + i] = rates[b, kind, 0, i] - rates[b, kind, 1, i]
    J /= 2.0 * offset
    return np.ascontiguousarray(J[:, :, : 2 * nv]), np.ascontiguousarray(J[:, :, 2 * nv :])


def _divide_among_workers(
    model: Model,
    batch: int,
    workers: int | None,
    run: Callable[[Workspace, int, int], int],
    arrays: dict[str, Array],
    passes: int = 1,
) -> None:
    """Give each worker a run of whole groups of four, and complain about the first state that failed.

    If the number of workers is not given, small jobs (`passes` over each state) stay on one thread.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers {workers} must be at least 1")
    if batch == 0:
        return
    groups = -(-batch // LANE_COUNT)
    if workers is None:
        workers = cores() if batch * model.n * passes >= LEAST_THREADED_PASSES else 1
    count = min(workers, groups)
    bounds = [min(batch, LANE_COUNT * (groups * i // count)) for i in range(count + 1)]

    def work(i: int) -> int:
        try:
            space = model.spare_lanes.pop()
        except IndexError:
            space = Workspace(model)
        try:
            return run(space, bounds[i], bounds[i + 1])
        finally:
            model.spare_lanes.append(space)

    results = [work(0)] if count == 1 else list(_pool(count).map(work, range(count)))
    failed = [bad for bad in results if bad >= 0]
    if failed:
        _raise_not_finite(model, min(failed), arrays)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="kinemorph")


if hasattr(os, "register_at_fork"):  # a forked process has none of these threads, and would wait for them for ever
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _arrays(model: Model, **values: npt.ArrayLike) -> dict[str, Array]:
    """Arguments as contiguous arrays of one batch size."""
    check_model(model)
    arrays = {name: as_real_array(model, name, value) for name, value in values.items()}
    batch = len(arrays["Q"]) if arrays["Q"].ndim else 0
    for name, array in arrays.items():
        shape = (batch, model.nq if name == "Q" else model.nv)
        if array.shape != shape:
            raise ValueError(f"model {model.name!r}: {name} has shape {array.shape}, expected {shape}")
    return arrays


def _output(out: Array | None, shape: tuple[int, ...]) -> Array:
    if out is None:
        return np.empty(shape)
    fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == np.float64
    if not (fits and out.flags.c_contiguous and out.flags.writeable):
        raise ValueError(f"out must be a writable, contiguous float64 array of shape {shape}")
    return out


def _raise_not_finite(model: Model, state: int, arrays: dict[str, Array]) -> NoReturn:
    for name, array in arrays.items():
        for k in np.flatnonzero(~np.isfinite(array[state])):
            raise ValueError(f"model {model.name!r}: {name}[{state}, {k}] is {array[state, k]}")
    check_quaternions(model, arrays["Q"][state], f"Q[{state}]")
    raise ArithmeticError(f"model {model.name!r}: the result of state {state} is not finite although its arguments are")
