"""Searches: they ask for jobs and are told results, in the order in which they asked.

A search is a function of its seed and of what it is told, and of nothing else. So a run is the same for any number of
workers, and one that was interrupted is resumed by telling a new search what the store knows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Protocol

import msgspec
import numpy as np

from kinemorph.evolve.evaluators.job import Individual, Job, Result, mean
from kinemorph.evolve.problem import Draw, Problem
from kinemorph.evolve.random_streams import Purpose, seed_of, stream
from kinemorph.evolve.ranges import LARGEST_COUNT
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.annotations import check_fields
from kinemorph.spatial.arguments.checks import check_whole, repr_of

_OF_DRAWS = ("epoch", "individual", "number")


class Search(Protocol):
    """The interface of a search to a run."""

    @property
    def generation(self) -> int:
        """How many are complete."""
        ...

    @property
    def population(self) -> Sequence[Individual]:
        """The individuals of the last complete generation, best first."""
        ...

    @property
    def spent(self) -> float:
        """The share of the budget that is used up."""
        ...

    def ask(self) -> list[Job]:
        """More jobs; none if it must be told results first, or has ended. No key occurs twice."""
        ...

    def tell(self, result: Result) -> None: ...


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a search ends: after so many generations or evaluations, whichever comes first."""

    generations: Annotated[int, msgspec.Meta(le=LARGEST_COUNT)] = 100
    episodes: Annotated[int, msgspec.Meta(le=LARGEST_COUNT)] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.generations < 1:
            raise ValueError(f"generations is {self.generations}, and must be at least 1")
        if self.episodes is not None and self.episodes < 1:
            raise ValueError(f"episodes is {self.episodes}, and must be at least 1")


Trial = tuple[Individual, tuple[Draw, ...]]


@checked_first
class Planned(ABC):
    """A search that is written as a plan: a generator that yields what must be evaluated before it goes on."""

    selects: Literal["score", "thesis"] = "score"  # by which of the two marks it selects
    initial: Sequence[str] = ()  # genotypes of the first individuals of all: as many as there are founders, at most

    def __init__(self, problem: Problem, seed: int, budget: Budget) -> None:
        self.problem, self.seed, self.budget = problem, seed, budget
        self.generation = 0
        self.population: list[Individual] = []
        self.episodes = 0
        self._count = 0
        self._awaited: dict[tuple[int, int, int], Individual] = {}
        self._plan = self.plan()

    @abstractmethod
    def plan(self) -> Iterator[list[Trial]]:
        """Yields trials; when it goes on, their individuals have the outcomes."""

    @property
    def spent(self) -> float:
        by_episodes = self.episodes / self.budget.episodes if self.budget.episodes else 0.0
        return max(self.generation / self.budget.generations, by_episodes)

    def ask(self) -> list[Job]:
        if self._awaited:
            return []
        for trials in self._plan:
            jobs = [self._job(individual, draws) for individual, draws in trials]
            if any(jobs):
                return [job for job in jobs if job is not None]
        return []

    def tell(self, result: Result) -> None:
        individual = self._awaited.pop(result.key)
        individual.outcomes.update(zip(result.draws, result.outcomes))
        self.episodes += len(result.draws)

    def _job(self, individual: Individual, draws: tuple[Draw, ...]) -> Job | None:
        missing = tuple(draw for draw in draws if draw not in individual.outcomes)
        if not missing:
            return None
        job = individual.job(self.generation, missing)
        self._awaited[job.key] = individual
        return job

    def close(self, population: list[Individual]) -> None:
        """A generation is complete, and this came out of it, best first. Kept as it is now: plans go on at once."""
        self.population = [replace(one, outcomes=dict(one.outcomes)) for one in population]
        self.generation += 1

    def formula(self, one: Individual) -> float:
        """The mark of one by the thesis's formula, on the draws that it lived with its senses."""
        lived = tuple(draw for draw in one.outcomes if not draw.blank)
        return mean(one.scores(lived, "thesis")) if lived and not one.faulty else -np.inf

    # ------------------------------------------------------------------------------- what most searches need

    def founder(self, viable: int = 1) -> Individual:
        """One of the initial population as long as there are any; then a random individual, the first viable one of so
        many."""
        check_whole("founder: viable", viable, 1)
        number = self._next()
        if number <= len(self.initial) and not self.generation:
            return Individual(number, 0, self.initial[number - 1], operator="given", family=number)
        for attempt in range(viable):
            genotype = self.problem.founder(stream(self.seed, Purpose.FOUNDER, self.generation, number, attempt))
            if attempt + 1 == viable or self.problem.viable(genotype):
                break
        return Individual(number, self.generation, genotype, family=number)

    def born(self, genotype: str, parents: Sequence[Individual], operator: str) -> Individual:
        """A new individual with parents; it takes after the first."""
        first = parents[0]
        numbers = tuple(parent.number for parent in parents)
        return Individual(self._next(), self.generation, genotype, numbers, operator, first.age + 1, first.family)

    def recombined(
        self, parents: Sequence[Individual], mutation: float, crossover: float, rng: np.random.Generator
    ) -> Individual:
        """A child by one of the thesis's three operators: mutation, crossover, or grafting for the rest."""
        one, other = parents
        chance = rng.random()
        if chance < mutation:
            genotype, operator = self.problem.mutate(one.genotype, rng)
            return self.born(genotype, (one,), operator)
        if chance < mutation + crossover:
            return self.born(self.problem.crossover(one.genotype, other.genotype, rng), (one, other), "crossover")
        return self.born(self.problem.graft(one.genotype, other.genotype, rng), (one, other), "graft")

    def draw(self, number: int, epoch: int, individual: int = 0, level: float = 1.0) -> Draw:
        """A draw that all share, or, if an individual is named, one of its own."""
        whole = (
            check_whole(f"draw: {name}", n) for name, n in zip(_OF_DRAWS, (epoch, individual, number), strict=True)
        )
        return Draw(number, seed_of(self.seed, Purpose.DRAW, *whole), level)

    def bank(self, size: int, epoch: int, level: float = 1.0) -> tuple[Draw, ...]:
        """Draws that all candidates share."""
        return tuple(self.draw(number, epoch, level=level) for number in range(size))

    def choices(self, purpose: Purpose = Purpose.SELECTION) -> np.random.Generator:
        """The random numbers of this generation for one purpose."""
        return stream(self.seed, purpose, self.generation)

    def _next(self) -> int:
        self._count += 1
        return self._count


@checked_first
def best_first(individuals: Sequence[Individual], of: str = "score", lowest: bool = False) -> list[Individual]:
    """By fitness, the faulty last; of equals the older one first."""
    individuals = list(individuals)
    for one in individuals:
        if not isinstance(one, Individual):
            raise TypeError(f"best_first: individuals has {repr_of(one)}, and must be a list of Individuals")
    return sorted(individuals, key=lambda one: (-one.fitness(of, lowest), one.number))


def proportional(fitness: Sequence[float], relief: float) -> np.ndarray:
    """Chances proportional to f + s·mean f (Fontijne 4.7.2); minus infinity marks the faulty, which never breed."""
    f = np.asarray(fitness)
    sound = np.isfinite(f)
    if not sound.any():
        raise ValueError("every individual of this generation is faulty, so there are no parents")
    f = np.where(sound, np.maximum(f, 0.0), 0.0)
    weights = np.where(sound, f + relief * f[sound].mean(), 0.0)
    if not weights.sum() > 0.0:
        weights = sound.astype(float)
    return weights / weights.sum()
