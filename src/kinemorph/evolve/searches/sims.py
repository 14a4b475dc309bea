"""Sims's way (1994): the best fifth survives, and has children in proportion to its fitness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from kinemorph.evolve.problem import Problem
from kinemorph.evolve.ranges import Count, Share
from kinemorph.evolve.searches.search import Budget, Planned, Trial, best_first, proportional


class SimsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    population: Count = 300
    survivors: Share = 0.2
    mutation: Share = 0.4
    crossover: Share = 0.3
    draws: Count = 1
    fitness: Literal["score", "thesis"] = "thesis"


class Sims(Planned):
    """Truncation. Survivors keep their scores, for all are judged on the same draws."""

    Settings = SimsSettings
    needs = "crossover", "graft"  # of a problem

    def __init__(self, problem: Problem, seed: int, budget: Budget, settings: SimsSettings = SimsSettings()) -> None:
        super().__init__(problem, seed, budget)
        self.settings, self.selects = settings, settings.fitness

    def plan(self) -> Iterator[list[Trial]]:
        settings = self.settings
        bank = self.bank(settings.draws, 0)
        population = [self.founder() for _ in range(settings.population)]
        while True:
            yield [(one, bank) for one in population]
            population = best_first(population, settings.fitness)
            self.close(population)
            if self.spent >= 1.0:
                return
            rng = self.choices()
            parents = population[: max(2, round(settings.survivors * settings.population))]
            chances = proportional([one.fitness(settings.fitness) for one in parents], 0.0)
            population = list(parents)
            while len(population) < settings.population:
                pair = [parents[i] for i in rng.choice(len(parents), size=2, p=chances)]
                population.append(self.recombined(pair, settings.mutation, settings.crossover, rng))
