"""Sims's way (1994): the best fifth survives, and has children in proportion to its fitness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from kinemorph.evolve.problem import Problem
from kinemorph.evolve.search import Budget, Planned, Trial, best_first, proportional


class SimsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    population: int = 300
    survivors: float = 0.2
    mutation: float = 0.4
    crossover: float = 0.3
    draws: int = 1
    fitness: Literal["score", "thesis"] = "thesis"


class Sims(Planned):
    """Truncation. Survivors keep their scores, for all are judged on the same draws."""

    Settings = SimsSettings

    def __init__(self, problem: Problem, seed: int, budget: Budget, settings: SimsSettings = SimsSettings()) -> None:
        super().__init__(problem, seed, budget)
        self.settings = settings

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
