"""Evaluation in processes that may be killed, hang or run out of memory: each loss costs one evaluation.

Every worker has a pipe of its own, and nothing is shared between workers: no queue and no lock that a dying one could
hold. `connection.wait` tells the master of results and of deaths alike.
"""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import msgspec

from kinemorph.evolve.evaluators.job import Job, Result
from kinemorph.evolve.evaluators.worker import (
    OUT_OF_TIME,
    Limits,
    enable_alarms,
    evaluate_within_limits,
    exit_reason,
    lost_job_result,
)
from kinemorph.evolve.problem import Problem
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_whole

_READY = b""  # the first message of a worker: its kernels are loaded, its time counts from now on
_FALSE_STARTS = 3  # workers in a row that die before they are ready: then something is wrong with all of them
_GRACE = 5.0  # seconds beyond its time in which a worker ends itself; a stopped or starved one never does
_encode = msgspec.msgpack.encode
_jobs, _results = msgspec.msgpack.Decoder(tuple[Job, int]), msgspec.msgpack.Decoder(Result)


@checked_first
class Processes:
    """Workers on this machine. They are ended and replaced as needed, and die with the process that made them."""

    def __init__(self, problem: Problem, workers: int, limits: Limits = Limits()) -> None:
        check_whole("workers", workers, 1)
        problem.warm()  # compiled once, here: workers then only load
        self.workers = workers
        self._problem, self._limits = problem, limits
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self._context = multiprocessing.get_context(method)
        # The fork server imports once for all workers; kernels each of them loads itself.
        self._context.set_forkserver_preload([__name__, type(problem).__module__])
        self._waiting: deque[tuple[Job, int]] = deque()
        self._crew: list[_Worker] = []
        self._false_starts = 0

    @property
    def processes(self) -> list[int]:
        """The ids of the workers that are alive."""
        return [worker.process.pid for worker in self._crew if worker.process.pid]

    def submit(self, jobs: Iterable[Job]) -> None:
        self._waiting.extend((job, 0) for job in jobs)
        self._hand_out()

    def collect(self) -> list[Result]:
        results: list[Result] = []
        while not results and (self._waiting or any(worker.doing for worker in self._crew)):
            watched = [worker.connection for worker in self._crew] + [worker.process.sentinel for worker in self._crew]
            ready = wait(watched, self._patience())
            for worker in list(self._crew):
                if worker.connection in ready or worker.process.sentinel in ready:
                    results += self._hear(worker)
                elif time.monotonic() > worker.until:
                    results += self._bury(worker, OUT_OF_TIME)
            self._hand_out()
        return results

    def close(self) -> None:
        self._waiting.clear()
        for worker in self._crew:
            worker.end()
        self._crew.clear()

    def _patience(self) -> float | None:
        """Seconds until the first worker should have ended; None if all are idle."""
        until = min(worker.until for worker in self._crew)
        return max(0.0, until - time.monotonic()) if until < math.inf else None

    def _hand_out(self) -> None:
        """Every idle worker gets a job; where there are too few workers, more are started."""
        if not self._waiting:
            return
        busy = sum(worker.doing is not None for worker in self._crew)
        while len(self._crew) < min(self.workers, busy + len(self._waiting)):
            self._crew.append(_Worker(self._context, self._problem, self._limits))
        for worker in self._crew:
            if worker.ready and worker.doing is None and self._waiting:
                worker.doing = job, _ = self._waiting.popleft()
                worker.until = time.monotonic() + self._limits.seconds * len(job.draws) + _GRACE
                with suppress(OSError):  # it died meanwhile: its sentinel says so next
                    worker.connection.send_bytes(_encode(worker.doing))

    def _hear(self, worker: _Worker) -> list[Result]:
        """Receive the message of a worker: ready, a result, or the end of its pipe."""
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            return self._bury(worker)
        self._false_starts = 0
        if message == _READY:
            worker.ready = True
            return []
        worker.doing, worker.until = None, math.inf
        return [_results.decode(message)]

    def _bury(self, worker: _Worker, code: int | None = None) -> list[Result]:
        """A worker is gone, or has to go: its job is done again by another one, or given up."""
        worker.end()
        self._crew.remove(worker)
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS * self.workers:
                raise RuntimeError(f"{self._false_starts} workers in a row ended before they were ready; see above why")
        if worker.doing is None:
            return []
        job, attempt = worker.doing
        if attempt < self._limits.retries:
            self._waiting.appendleft((job, attempt + 1))
            return []
        return [lost_job_result(job, attempt, exit_reason(code or worker.process.exitcode))]


class _Worker:
    """The master's side of a worker."""

    def __init__(self, context: multiprocessing.context.BaseContext, problem: Problem, limits: Limits) -> None:
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(  # type: ignore[attr-defined]  # every real context has it
            target=_serve, args=(theirs, problem, limits), daemon=True, name="kinemorph worker"
        )
        self.process.start()
        theirs.close()  # so that a dead worker's pipe ends
        self.ready = False
        self.doing: tuple[Job, int] | None = None
        self.until = math.inf  # when it should have ended what it does

    def end(self) -> None:
        self.process.kill()  # a kernel hears nothing gentler
        self.process.join()
        self.connection.close()


def _serve(connection: Connection, problem: Problem, limits: Limits) -> None:
    """The main loop of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the master, which ends the workers
    enable_alarms()
    _die_with_parent()
    problem.warm()
    connection.send_bytes(_READY)
    with suppress(EOFError, OSError):  # the master is gone
        while True:
            job, attempt = _jobs.decode(connection.recv_bytes())
            connection.send_bytes(_encode(evaluate_within_limits(problem, job, attempt, limits)))


def _die_with_parent() -> None:
    """Even one that hangs ends with the fork server, and that one with the master."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
