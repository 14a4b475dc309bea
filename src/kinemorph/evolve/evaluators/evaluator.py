"""The interface of evaluators, and the serial one, which runs jobs in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from kinemorph.evolve.evaluators.job import Job, Result
from kinemorph.evolve.evaluators.worker import evaluate_job
from kinemorph.evolve.problem import Problem
from kinemorph.spatial.arguments.annotated import checked_first


class Evaluator(Protocol):
    """Jobs in, results out, in any order: each result says whose it is."""

    @property
    def workers(self) -> int: ...

    def submit(self, jobs: Iterable[Job]) -> None: ...

    def collect(self) -> list[Result]:
        """Wait until something has ended, and give all that has. Empty only if nothing is under way."""
        ...

    def close(self) -> None:
        """Drop what is under way and end all workers."""
        ...


@checked_first
class Serial:
    """In this process: no limits but the task's own budget of steps. A crash takes the whole run along."""

    workers = 1

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._jobs: deque[Job] = deque()

    def submit(self, jobs: Iterable[Job]) -> None:
        self._jobs.extend(jobs)

    def collect(self) -> list[Result]:
        return [evaluate_job(self._problem, self._jobs.popleft())] if self._jobs else []

    def close(self) -> None:
        self._jobs.clear()
