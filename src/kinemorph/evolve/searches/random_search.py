"""Random search: what any other must beat."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kinemorph.evolve.evaluators.job import Individual
from kinemorph.evolve.problem import Problem
from kinemorph.evolve.ranges import Count
from kinemorph.evolve.searches.search import Budget, Planned, Trial, best_first


class RandomSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    population: Count = 300
    draws: Count = 1


class Random(Planned):
    """Founders, again and again; the best of all are kept."""

    Settings = RandomSettings

    def __init__(
        self, problem: Problem, seed: int, budget: Budget, settings: RandomSettings = RandomSettings()
    ) -> None:
        super().__init__(problem, seed, budget)
        self.settings = settings

    def plan(self) -> Iterator[list[Trial]]:
        bank = self.bank(self.settings.draws, 0)
        kept: list[Individual] = []
        while self.spent < 1.0:
            new = [self.founder() for _ in range(self._affordable())]
            yield [(one, bank) for one in new]
            kept = best_first(kept + new)[: self.settings.population]
            self.close(kept)

    def _affordable(self) -> int:
        """A population, or as many as the budget still pays for."""
        if self.budget.episodes is None:
            return self.settings.population
        return min(self.settings.population, -(-(self.budget.episodes - self.episodes) // self.settings.draws))
