"""A run: a search asks, an evaluator answers, a store keeps both. The order of arrival never reaches the search."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from kinemorph.evolve.evaluators.evaluator import Evaluator
from kinemorph.evolve.evaluators.job import Individual, Job, Result, mean
from kinemorph.evolve.problem import Draw
from kinemorph.evolve.random_streams import Purpose, seed_of
from kinemorph.evolve.ranges import Count, Some
from kinemorph.evolve.searches.search import Search
from kinemorph.evolve.store.run_store import Store
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_whole

HELD_OUT = 1024  # draws from this number on are never told to the search

Key = tuple[int, int, int]


class Monitor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often the best one is tried on draws that the search never sees."""

    every: Count = 5  # generations
    draws: Some = 8


class Progress(msgspec.Struct):
    """How far a run is: what is shown while it lasts."""

    generation: int = 0
    episodes: int = 0
    reused: int = 0  # of them, known from before
    best: float = float("nan")
    mean: float = float("nan")
    selects: str = "score"  # by which the search selects: the score, or the thesis's formula
    thesis_best: float = float("nan")  # by that formula, of the same population
    thesis_mean: float = float("nan")
    held_out: float = float("nan")  # what the best one measures on draws that the search never sees
    heritability: float = float("nan")
    spent: float = 0.0
    resumed: float = 0.0  # of that, what was spent before: known from the store
    seconds: float = 0.0
    busy: float = 0.0  # seconds of workers' processors
    golden: bool = True
    rejected: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def rate(self) -> float:
        return (self.episodes - self.reused) / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float:
        """Seconds, if it goes on as it went since it was begun or resumed."""
        gone = self.spent - self.resumed
        return self.seconds * (1.0 - self.spent) / gone if gone > 0.0 else float("inf")


class Run:
    """Ends when the search has nothing to ask any more. May be stopped at any moment, and resumed from the store."""

    def __init__(
        self, search: Search, evaluator: Evaluator, store: Store, seed: int, monitor: Monitor = Monitor()
    ) -> None:
        self.progress = Progress(selects=getattr(search, "selects", "score"))
        self._search, self._evaluator, self._store = search, evaluator, store
        self._seed, self._monitor = seed, monitor
        self._order: deque[Job] = deque()  # asked for and not told yet, in the order of asking
        self._arrived: dict[Key, Result] = {}
        self._reused: set[Key] = set()  # of those that arrived, what the store knew before
        self._held_out: deque[Job] = deque()
        self._keys: set[Key] = set()  # of this generation and the one before
        self._fitness: dict[int, float] = {}
        self._descent: list[tuple[int, int]] = []  # of this generation: child, first parent

    def go(self, watch: Callable[[Progress], None] = lambda progress: None) -> None:
        started = time.monotonic()
        while True:
            before = self._search.generation
            asked = self._search.ask()
            for generation in range(before, self._search.generation):
                self._complete(generation)
            if asked:
                self._submit(asked, self._order)
            if not self._order and not self._held_out:
                break
            self._wait()
            self._tell()
            self.progress.seconds = time.monotonic() - started
            self.progress.spent = min(1.0, self._search.spent)
            if self.progress.reused == self.progress.episodes:
                self.progress.resumed = self.progress.spent
            watch(self.progress)
        self._store.commit()
        watch(self.progress)

    def _submit(self, jobs: list[Job], order: deque[Job]) -> None:
        """Submit the jobs whose results the store does not know."""
        new = []
        for job in jobs:
            if job.key in self._keys:
                raise ValueError(f"the search asks twice for (generation, individual, draw) {job.key}")
            self._keys.add(job.key)
            known = self._store.known(job)
            if known is None:
                new.append(job)
            else:
                self._arrived[job.key] = known
                self._reused.add(job.key)
        order.extend(jobs)
        self._evaluator.submit(new)

    def _wait(self) -> None:
        """Until the next result that the search waits for is there."""
        order = self._order or self._held_out
        while order[0].key not in self._arrived:
            for result in self._evaluator.collect():
                self._arrived[result.key] = result
                self.progress.busy += result.seconds

    def _tell(self) -> None:
        """One result, the next in the order of asking: how many have arrived must not decide what is asked next."""
        if self._order:
            job = self._order.popleft()
            result = self._kept(job)
            self._search.tell(result)
            if job.parents and job.individual not in self._fitness:
                self._descent.append((job.individual, job.parents[0]))
            if not any(outcome.faulty for outcome in result.outcomes):
                self._fitness[job.individual] = mean([outcome.score for outcome in result.outcomes])
            self.progress.rejected.update(outcome.reason for outcome in result.outcomes if outcome.reason)
        while self._held_out and self._held_out[0].key in self._arrived:
            result = self._kept(self._held_out.popleft())
            self.progress.held_out = mean([outcome.measure for outcome in result.outcomes])

    def _kept(self, job: Job) -> Result:
        result = self._arrived.pop(job.key)
        if job.key in self._reused:
            self._reused.remove(job.key)
            self.progress.reused += len(result.draws)
        else:
            self._store.keep(job, result)
        self.progress.episodes += len(result.draws)
        self.progress.golden &= result.golden
        return result

    def _complete(self, generation: int) -> None:
        """A generation is over: its statistics, and now and then a look at the best from outside."""
        population = self._search.population
        fitness = [one.fitness() for one in population]
        sound = [value for value in fitness if np.isfinite(value)]
        progress = self.progress
        progress.generation = generation + 1
        progress.best, progress.mean = (fitness[0], float(np.mean(sound))) if sound else (float("nan"), float("nan"))
        if (formula := getattr(self._search, "formula", None)) is not None:
            marks = [mark for mark in map(formula, population) if np.isfinite(mark)]
            progress.thesis_best, progress.thesis_mean = (max(marks), mean(marks)) if marks else (np.nan, np.nan)
        progress.heritability = self._heritability()
        self._keys = {key for key in self._keys if key[0] >= generation}
        if generation not in self._store.completed:
            self._store.complete(generation, population, self._stats(population))
        if population and generation % self._monitor.every == 0 and self._monitor.draws:
            self._submit([population[0].job(generation, held_out(self._seed, self._monitor.draws))], self._held_out)

    def _heritability(self) -> float:
        """The correlation of children's scores with those of their first parents, over this generation."""
        pairs = [(self._fitness[a], self._fitness[b]) for a, b in self._descent if {a, b} <= self._fitness.keys()]
        self._descent.clear()
        child, parent = np.array(pairs).T if len(pairs) > 2 else (np.zeros(1), np.zeros(1))
        return float(np.corrcoef(child, parent)[0, 1]) if child.std() > 0.0 and parent.std() > 0.0 else float("nan")

    def _stats(self, population: list[Individual] | Any) -> dict[str, Any]:
        progress = self.progress
        measures = [outcome.measure for outcome in population[0].outcomes.values()] if population else []
        return {
            "episodes": progress.episodes,
            "best": _plain(progress.best),
            "mean": _plain(progress.mean),
            "thesis_best": _plain(progress.thesis_best),
            "thesis_mean": _plain(progress.thesis_mean),
            "measure": float(np.mean(measures)) if measures else None,
            "heritability": _plain(progress.heritability),
            "rejected": dict(progress.rejected),
            "age": float(np.mean([one.age for one in population])) if population else None,
            "families": len({one.family for one in population}),
        }


@checked_first
def held_out(seed: int, number: int) -> tuple[Draw, ...]:
    """Draws that no search sees."""
    check_whole("held_out: seed", seed)
    return tuple(Draw(HELD_OUT + i, seed_of(seed, Purpose.HELD_OUT, draw=i)) for i in range(number))


def _plain(value: float) -> float | None:
    """JSON has no NaN."""
    return float(value) if np.isfinite(value) else None
