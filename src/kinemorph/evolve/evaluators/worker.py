"""One job in a process that may die of it: limits on time and memory, and what a lost job becomes."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated, TextIO

import msgspec

from kinemorph.evolve.evaluators.job import Job, Result
from kinemorph.evolve.problem import Draw, Outcome, Problem
from kinemorph.evolve.ranges import Some

Seconds = Annotated[float, msgspec.Meta(gt=0.0, le=1e6)]  # more than the watchdog can count would end nothing
Bytes = Annotated[int, msgspec.Meta(ge=1, le=1 << 50)]
OUT_OF_TIME = -signal.SIGALRM if sys.platform != "win32" else 1  # exit codes of processes, as `_time` ends them
OUT_OF_MEMORY = 3


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a worker. The step budget of a task comes first; these catch what it cannot.

    The alarm of a process (ITIMER_REAL) belongs to them: evaluations must not set it.
    """

    seconds: Seconds = 60.0  # for each draw, by the clock on the wall, kernels loaded
    memory: Bytes = 2 << 30  # bytes that a job may take on top of what its worker has
    retries: Some = 2  # of a job whose worker died; then it is faulty, and the run not golden


def evaluate_job(problem: Problem, job: Job, attempt: int = 0) -> Result:
    """Evaluate a job on all its draws. What the evaluation raises makes it faulty, the same way everywhere."""
    started = time.process_time()
    outcomes = tuple(evaluate_episode(problem, job.genotype, draw) for draw in job.draws)
    seconds = time.process_time() - started
    return Result(job.generation, job.individual, job.draws, outcomes, attempt, seconds=seconds)


def evaluate_episode(problem: Problem, genotype: str, draw: Draw) -> Outcome:
    """One life, whatever becomes of it."""
    return try_episode(functools.partial(problem.evaluate, genotype), draw)


def try_episode(life: Callable[[Draw], Outcome], draw: Draw) -> Outcome:
    """The outcome of an episode on a draw. It is faulty if it raises or has a number that is not finite."""
    try:
        outcome = life(draw)
    except MemoryError:
        raise
    except Exception as error:
        return Outcome(0.0, reason=f"faulty: {type(error).__name__}: {error}"[:200])
    for name in ("score", "thesis", "measure"):
        if not math.isfinite(getattr(outcome, name)):
            return Outcome(0.0, reason=f"faulty: its {name} is {getattr(outcome, name)}", steps=outcome.steps)
    return outcome


def evaluate_within_limits(problem: Problem, job: Job, attempt: int, limits: Limits) -> Result:
    """The same, and the process ends when it takes too long or too much. Only for processes that can be lost."""
    try:
        with _time_limit(limits.seconds * len(job.draws)), _memory_limit(limits.memory):
            return evaluate_job(problem, job, attempt)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # nothing that the heap holds now is worth keeping


def enable_alarms() -> None:
    """Let SIGALRM end this process: its parent process may have blocked or ignored that signal."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        if threading.current_thread() is threading.main_thread():  # Python allows it in this thread alone
            signal.signal(signal.SIGALRM, signal.SIG_DFL)


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """The system ends the process by an alarm without a handler, which waits for no lock that a kernel or a loop could
    hold. On Windows, which has no alarms, a thread of faulthandler does."""
    if sys.platform == "win32":
        faulthandler.dump_traceback_later(seconds, exit=True, file=_null_file())
    else:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if sys.platform == "win32":
            faulthandler.cancel_dump_traceback_later()
        else:
            signal.setitimer(signal.ITIMER_REAL, 0.0)


@contextlib.contextmanager
def _memory_limit(extra: int) -> Iterator[None]:
    """The address space may grow by so many bytes. Where the system has no such limit, there is none."""
    if sys.platform != "linux":
        yield
        return
    import resource

    now = int(os.pread(_statm(os.getpid()), 64, 0).split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = now + extra if hard == resource.RLIM_INFINITY else min(now + extra, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@functools.cache
def _statm(process: int) -> int:
    """The file with the memory size of a process, kept open."""
    return os.open(f"/proc/{process}/statm", os.O_RDONLY)


@functools.cache
def _null_file() -> TextIO:
    return open(os.devnull, "w")  # as long as the process lives


def exit_reason(exit_code: int | None) -> str:
    """Why a worker ended, as a lost job's reason says it."""
    if exit_code == OUT_OF_TIME:
        return "it ran out of time"
    if exit_code == OUT_OF_MEMORY:
        return "it ran out of memory"
    return f"its worker was killed by signal {-exit_code}" if exit_code and exit_code < 0 else "its worker died"


def lost_job_result(job: Job, attempt: int, why: str) -> Result:
    """The result of a job that was lost too often. The clock or the machine decided it, so it is not golden."""
    outcome = Outcome(0.0, reason=f"faulty: {why}")
    return Result(job.generation, job.individual, job.draws, (outcome,) * len(job.draws), attempt, golden=False)
