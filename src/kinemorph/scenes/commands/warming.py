"""`kinemorph warm`: the exercises, in processes side by side, until every kernel behind them is in the cache.

When an exercise is done, an empty file among the kernels says so, under a name made of all that machine code depends
on: an exercise is cold if there is none.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import hashlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from kinemorph.jit import api
from kinemorph.jit.cache.source_hash import package_digest
from kinemorph.scenes.commands.exercises import EXERCISES, Exercise

_LOOK = 0.2  # seconds between two looks at how far it is
_MONTH = 30 * 86400.0


# --- what is done ---


@functools.cache
def _version() -> str:
    """A hash of all that the machine code of all kernels depends on."""
    return hashlib.sha256(f"{package_digest()}{api.setting_key()}".encode()).hexdigest()[:40]


def _note_file(name: str) -> Path:
    return api.kept_folder("kernels") / f"warm.{name}-{_version()}"


def cold_exercises(everything: bool = True) -> dict[str, Exercise]:
    """The exercises with kernels that may not be in the cache; the usual ones, or all."""
    pack = api.installed_pack()
    chosen = {
        name: exercise
        for name, exercise in EXERCISES.items()
        if (everything or exercise.usual) and not (pack and pack.covers(name))
    }
    if api.no_cache or api.why_not_kept():
        return chosen
    return {name: exercise for name, exercise in chosen.items() if not _note_file(name).exists()}


def _write_note(name: str) -> None:
    note = _note_file(name)
    note.touch(mode=0o600)
    for old in note.parent.glob(f"warm.{name}-*"):
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > _MONTH:
                old.unlink()


# --- in a process of its own ---


def _begin(claims: Path, compiled: Any) -> None:
    """Before the first exercise of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one decides
    os.environ["KINEMORPH_QUIET"] = "1"
    atexit.register(gc.freeze)  # Python would look through a million objects in the end, before it drops them all
    api.claims.folder = claims
    _version()  # of the sources as they are now, even if they are edited meanwhile

    def count() -> None:
        with compiled.get_lock():
            compiled.value += 1

    api.progress.listener = count


class Done(NamedTuple):
    """What came of an exercise."""

    compiled: int  # kernels
    seconds: float  # of the processor
    fault: str | None
    files: frozenset[Path] = frozenset()  # of all kernels that its process has used so far


def run_exercise(name: str) -> Done:
    """Run an exercise."""
    before, start, fault = api.compile_count().compiled, time.process_time(), None
    try:
        if not api.progress.unkept:  # else it would be in vain
            EXERCISES[name].run()
        if api.progress.unkept:
            fault = f"compiled kernels are not kept: {api.progress.unkept}"
        else:
            _write_note(name)
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
    compiled, seconds = api.compile_count().compiled - before, time.process_time() - start
    return Done(compiled, seconds, fault, frozenset(api.files_in_use))


# --- all of them ---


def warm(names: Iterable[str], jobs: int, show: Callable[[int, int, float], None]) -> dict[str, Done]:
    """Run exercises in so many processes.

    `show` is told, again and again, how many kernels are done, of how many, and the seconds left. The first never
    falls, and the second only grows where an exercise compiles more than it says.
    """
    names = list(names)
    context = multiprocessing.get_context("spawn")
    compiled, outcomes, start = context.Value("l", 0), dict[str, Done](), time.monotonic()
    total = sum(EXERCISES[name].kernels for name in names)
    guess = sum(EXERCISES[name].seconds for name in names) / max(1, min(jobs, len(names)))
    with (
        tempfile.TemporaryDirectory(prefix="kinemorph-claims-") as folder,
        ProcessPoolExecutor(jobs, context, _begin, (Path(folder), compiled)) as pool,
    ):
        others = set(multiprocessing.active_children())
        running = {pool.submit(run_exercise, name): name for name in names}
        try:
            while running:
                for future in wait(running, _LOOK, FIRST_COMPLETED)[0]:
                    outcomes[running.pop(future)] = _result_of_exercise(future)
                done = max(compiled.value, sum(EXERCISES[name].kernels for name in outcomes))
                show(done, max(total, done), time_left(guess, time.monotonic() - start, done / max(total, done, 1)))
        except BaseException:  # Ctrl-C: the other processes are ended
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
    return outcomes


def time_left(guess: float, spent: float, share: float) -> float:
    """Seconds left, if a share of the work is done: at first as guessed before, in the end as it has gone so far."""
    if share <= 0.0:
        return max(guess - spent, 0.1 * guess)
    return (1.0 - share) * ((1.0 - share) * guess + share * (spent / share))


def _result_of_exercise(future: Future[Done]) -> Done:
    try:
        return future.result()
    except BrokenProcessPool:
        return Done(0, 0.0, "its process has ended early; was there enough memory?")
