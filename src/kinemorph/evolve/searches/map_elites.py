"""MAP-Elites: the best of every kind, in an archive of pyribs (ribs)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from kinemorph._extras import require_module
from kinemorph.evolve.evaluators.job import Individual
from kinemorph.evolve.problem import Problem
from kinemorph.evolve.ranges import Count, Share
from kinemorph.evolve.searches.search import Budget, Planned, Trial, best_first


class MapElitesSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    population: Count = 40  # children of each generation
    founders: Count = 300
    viable: Count = 6
    draws: Count = 4
    crossover: Share = 0.0


class MapElites(Planned):
    """Parents are taken from all filled cells alike. What a cell is, the problem's descriptors say."""

    Settings = MapElitesSettings

    def __init__(
        self, problem: Problem, seed: int, budget: Budget, settings: MapElitesSettings = MapElitesSettings()
    ) -> None:
        super().__init__(problem, seed, budget)
        self.settings = settings
        axes = problem.descriptors
        if not axes:
            raise ValueError(f"{problem.name} has no descriptors, so there is no map to fill")
        self.archive = require_module("ribs.archives", "evolve", "archives of elites").GridArchive(
            solution_dim=1, dims=[axis.cells for axis in axes], ranges=[(axis.low, axis.high) for axis in axes]
        )
        self._cells: dict[int, Individual] = {}

    def plan(self) -> Iterator[list[Trial]]:
        settings = self.settings
        bank = self.bank(settings.draws, 0)
        tries = settings.founders
        if self.budget.episodes is not None:
            tries = min(tries, max(2, self.budget.episodes // (5 * settings.draws)))
        new = [self.founder(5 * settings.viable) for _ in range(tries)]
        while True:
            yield [(one, bank) for one in new]
            self._keep(new)
            living = [self._cells[cell] for cell in sorted(self._cells)]
            self.close(best_first(living))
            if self.spent >= 1.0:
                return
            if not living:
                raise ValueError("every individual of this generation is faulty, so there are no parents")
            rng = self.choices()
            new = [self._child(living, rng) for _ in range(settings.population)]

    def _keep(self, new: list[Individual]) -> None:
        """Into the archive, one by one in their order, so that of equals the older stays."""
        for one in new:
            if one.faulty or any(outcome.reason for outcome in one.outcomes.values()):
                continue
            measures = [
                float(np.mean([outcome.details[axis.name] for outcome in one.outcomes.values()]))
                for axis in self.problem.descriptors
            ]
            if self.archive.add_single([one.number], one.fitness(), measures)["status"] > 0:
                self._cells[int(self.archive.index_of_single(measures))] = one

    def _child(self, living: list[Individual], rng: np.random.Generator) -> Individual:
        one, other = (living[i] for i in rng.integers(len(living), size=2))
        for _ in range(self.settings.viable):
            parents = [one]
            if rng.random() < self.settings.crossover:
                parents, operator = [one, other], "crossover"
                genotype = self.problem.crossover(one.genotype, other.genotype, rng)
            else:
                genotype, operator = self.problem.mutate(one.genotype, rng)
            if self.problem.viable(genotype):
                break
        return self.born(genotype, parents, operator)
