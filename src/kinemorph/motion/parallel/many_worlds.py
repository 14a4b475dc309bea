"""Many worlds at once: each goes its own way, on a thread that gives the others theirs while kernels run."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Protocol

from kinemorph._cores import cores
from kinemorph.motion.progress import STEP_COUNT_LIMIT, Bar
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_finite, check_whole, repr_of

SLICE_TIME = 0.5  # s of computing, about, after which a world reports its progress
PROGRESS_PERIOD = 0.1  # s between two looks at the progress of all worlds


class Runs(Protocol):
    """A simulation with a time of its own that advances in steps."""

    @property
    def time(self) -> float: ...

    @property
    def dt(self) -> float: ...

    def step(self, count: int = 1) -> None: ...


class BatchError(RuntimeError):
    """Some worlds of a batch could not go on: `errors` has what was wrong with each, by its place in the batch."""

    def __init__(self, message: str, errors: dict[int, Exception] | None = None) -> None:
        super().__init__(message, errors or {})
        self.errors = errors or {}

    def __str__(self) -> str:
        return str(self.args[0])


@checked_on_failure
def run(worlds: Sequence[Any], seconds: float, *, workers: int | None = None) -> None:
    """Let all worlds go on for so long, several at a time: each takes the way that it takes alone, bit for bit.

    `workers` is the number of threads, all cores if not given. A world that cannot go on stays where it was, and the
    others go on; when all are done, `BatchError` names it.
    """
    check_finite("batch: seconds", seconds, 0.0)
    if workers is not None:
        check_whole("batch: workers", workers, 1)
    worlds = _listed(worlds)
    if worlds:
        check_finite("batch: seconds", seconds, 0.0, STEP_COUNT_LIMIT * min(world.dt for world in worlds))
    if len({id(world) for world in worlds}) < len(worlds):
        raise ValueError("batch: a world is in it twice; give each a branch() of its own")
    done = [0.0] * len(worlds)
    count = max(1, min(workers or cores(), len(worlds)))
    threads = ThreadPoolExecutor(count, thread_name_prefix="kinemorph", initializer=_mark_batch_thread)
    with Bar(0.0, seconds * len(worlds)) as bar, threads as pool:
        stop: list[bool] = []
        futures = [pool.submit(_run_one_world, world, seconds, done, i, stop) for i, world in enumerate(worlds)]
        try:
            while wait(futures, PROGRESS_PERIOD).not_done:
                bar.show(sum(done))
        except BaseException:  # Ctrl-C: the threads end with the slice that they are at
            stop.append(True)
            raise
    errors = {i: error for i, future in enumerate(futures) if (error := future.exception()) is not None}
    bad = {i: error for i, error in errors.items() if isinstance(error, Exception)}
    if bad:
        first = min(bad)
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        text = f"batch: world {first} of {len(worlds)}, {worlds[first]!r}, could not go on{more}: {bad[first]}"
        raise BatchError(text, bad)


def _listed(worlds: Any) -> list[Any]:
    """All worlds of a batch, whatever they come in."""
    try:
        listed = [] if isinstance(worlds, str | bytes | Mapping) else list(worlds)
    except TypeError:
        listed = []
    if not (listed or isinstance(worlds, list | tuple)):
        raise TypeError(f"batch: worlds are a list of kinemorph.World, not {repr_of(worlds)}")
    for i, world in enumerate(listed):
        if not callable(getattr(world, "step", None)) or not hasattr(world, "dt"):
            raise TypeError(f"batch: world {i} is {repr_of(world)}, and must be a kinemorph.World")
    return listed


def _run_one_world(world: Runs, seconds: float, done: list[float], i: int, stop: list[bool]) -> None:
    """One world to its end, in slices of steps; how far it is goes into `done`."""
    left, size = round(seconds / world.dt), 1
    while left > 0 and not stop:
        count, began = min(size, left), time.perf_counter()
        world.step(count)
        left -= count
        done[i] += count * world.dt
        if time.perf_counter() - began < 0.5 * SLICE_TIME:
            size *= 2


_thread_state = threading.local()


def _mark_batch_thread() -> None:
    _thread_state.one_of_many = True


def is_batch_thread() -> bool:
    """Whether this thread is one of a batch, which has all cores as it is."""
    return getattr(_thread_state, "one_of_many", False)
