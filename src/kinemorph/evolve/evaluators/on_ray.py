"""Evaluation on a Ray cluster: one that is there already, or one on this machine.

Plain tasks, no actors: nothing on a node is worth keeping. Ray itself never retries (`max_retries=0`), so a worker or a
node that dies is seen here and its jobs are sent out again, by the same rule as for processes.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
from collections import deque
from collections.abc import Iterable
from typing import Any

from kinemorph._extras import require_module
from kinemorph.evolve.evaluators.job import Job, Result
from kinemorph.evolve.evaluators.worker import Limits, enable_alarms, evaluate_within_limits, lost_job_result
from kinemorph.evolve.problem import Problem
from kinemorph.evolve.store.source_hash import hash_of_sources

_AHEAD = 2  # tasks under way for each slot: one that runs, and one that waits beside it
_WORTH = 0.5  # seconds that a task may take while there are many jobs: what Ray costs the master is then shared
_LARGEST_BATCH = 32  # jobs in one task
_START = 120.0  # seconds in which a worker has begun, kernels compiled


def import_ray(address: str | None) -> Any:
    """The module `ray`, its usage statistics off. Without an address, the node started here listens on loopback alone.

    By default it listens on all addresses, and any client can run code. The switch is meant for other systems, is read
    when Ray is imported, and gives the node the address 127.0.0.1.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address is None:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    return require_module("ray", "ray", "evaluators on Ray")


class Ray:
    """Every CPU of the cluster is a worker. Ended with `close`, if it was started here."""

    def __init__(
        self, problem: Problem, address: str | None = None, workers: int | None = None, limits: Limits = Limits()
    ) -> None:
        ray = self._ray = import_ray(address)
        self._mine = not ray.is_initialized()
        problem.warm()
        if self._mine:
            _connect(ray, address, workers)
        self._limits = limits
        self._problem = ray.put(problem)
        self._code = {type(problem).__module__: hash_of_sources(type(problem).__module__)}
        self._task = ray.remote(num_cpus=1, max_retries=0, retry_exceptions=False)(_work)
        self._waiting: deque[tuple[Job, int]] = deque()
        self._alone: deque[tuple[Job, int]] = deque()  # those whose task was lost: now each is a task of its own
        self._under_way: dict[Any, list[tuple[Job, int]]] = {}
        self._pace = 0.05  # seconds of a job, as it was lately
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, jobs: Iterable[Job]) -> None:
        self._waiting.extend((job, 0) for job in jobs)
        self._hand_out()

    def collect(self) -> list[Result]:
        results: list[Result] = []
        while not results and self._under_way:
            pending = list(self._under_way)
            if not self._ray.wait(pending, num_returns=1, timeout=self._patience())[0]:
                results += self._forsaken()
            for done in self._ray.wait(pending, num_returns=len(pending), timeout=0)[0]:
                results += self._taken(done) if done in self._under_way else []
            self._hand_out()
        return results

    def _patience(self) -> float:
        """The time (s) within which at least one result arrives, unless all workers are lost: a worker ends itself
        when a job takes too long."""
        lives = max(sum(len(job.draws) for job, _ in batch) for batch in self._under_way.values())
        return _START + self._limits.seconds * lives

    def _forsaken(self) -> list[Result]:
        """No worker has answered in time: all batches under way are lost."""
        batches = list(self._under_way.values())
        for reference in self._under_way:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.cancel(reference, force=True)
        self._under_way.clear()
        self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        return [result for batch in batches for result in self._lost(batch, "silent")]

    def close(self) -> None:
        self._waiting.clear()
        self._alone.clear()
        for reference in self._under_way:
            self._ray.cancel(reference, force=True)
        self._under_way.clear()
        if self._mine:
            self._ray.shutdown()

    def _hand_out(self) -> None:
        while (self._waiting or self._alone) and len(self._under_way) < _AHEAD * self.workers:
            if self._alone:
                batch = [self._alone.popleft()]
            else:
                fair = math.ceil(len(self._waiting) / (_AHEAD * self.workers))
                number = max(1, min(_LARGEST_BATCH, fair, math.ceil(_WORTH / self._pace)))
                batch = [self._waiting.popleft() for _ in range(min(number, len(self._waiting)))]
            self._under_way[self._task.remote(self._problem, self._code, batch, self._limits)] = batch

    def _taken(self, reference: Any) -> list[Result]:
        """The results of a task; none if it was lost with its worker or node."""
        batch = self._under_way.pop(reference)
        errors = self._ray.exceptions
        try:
            results: list[Result] = self._ray.get(reference)
        except errors.RayTaskError as error:  # not of an evaluation: those become outcomes
            raise RuntimeError(f"a node cannot evaluate: {error.cause}") from None
        except (errors.RaySystemError, errors.GetTimeoutError) as error:
            raise RuntimeError(f"the Ray cluster is lost ({error}); start it again, and resume the run") from None
        except errors.RayError as error:
            self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            return self._lost(batch, type(error).__name__)
        seconds = sum(result.seconds for result in results) / len(results)
        self._pace = max(1e-6, 0.8 * self._pace + 0.2 * seconds)
        return results

    def _lost(self, batch: list[tuple[Job, int]], why: str) -> list[Result]:
        results = []
        for job, attempt in batch:
            if attempt < self._limits.retries:
                self._alone.append((job, attempt + 1))
            else:
                results.append(lost_job_result(job, attempt, f"its Ray worker was lost ({why})"))
        return results


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)
        return
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ConnectionError(f"there is no Ray cluster at {address}: {str(error).splitlines()[0]}") from None


_warm: set[str] = set()  # of this process: what it has loaded


def _work(problem: Problem, code: dict[str, str], batch: list[tuple[Job, int]], limits: Limits) -> list[Result]:
    """On a worker of the cluster."""
    for module, wanted in code.items():
        if hash_of_sources(module) != wanted:
            raise RuntimeError(f"module {module} there is another one than here; install the same version on all nodes")
        if module not in _warm:
            enable_alarms()
            problem.warm()
            _warm.add(module)
    return [evaluate_within_limits(problem, job, attempt, limits) for job, attempt in batch]
