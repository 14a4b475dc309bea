"""The thesis's genetic algorithm, to the letter: Fontijne 4.7.2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from kinemorph.evolve.evaluators.job import Individual
from kinemorph.evolve.problem import Problem
from kinemorph.evolve.ranges import Count, Factor, Share
from kinemorph.evolve.searches.search import Budget, Planned, Trial, best_first, proportional


class ThesisSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    population: Count = 300
    mutation: Share = 0.4  # the thesis's three shares add up to 110 %; these, and the rest for grafting, to 100
    crossover: Share = 0.3
    relief: Factor = 0.5  # s in the first generation; it falls to 0 in the last
    draws: Count = 1
    lowest: bool = False  # whether the worst of them counts and not the mean, as with three in the thesis (4.5)
    ramp: bool = True  # tasks get harder from generation to generation, as the ball that moves away
    fitness: Literal["score", "thesis"] = "thesis"


class Thesis(Planned):
    """One elite; the rest by mutation, crossover and grafting of parents chosen in proportion to f + s·mean f."""

    Settings = ThesisSettings
    needs = "crossover", "graft"  # of a problem

    def __init__(
        self, problem: Problem, seed: int, budget: Budget, settings: ThesisSettings = ThesisSettings()
    ) -> None:
        super().__init__(problem, seed, budget)
        self.settings, self.selects = settings, settings.fitness

    def plan(self) -> Iterator[list[Trial]]:
        population = [self.founder() for _ in range(self.settings.population)]
        while True:
            level = min(1.0, self.spent) if self.settings.ramp else 1.0
            numbers = range(self.settings.draws)
            yield [  # circumstances vary a little in each evaluation, so each individual has draws of its own
                (one, tuple(self.draw(number, self.generation, one.number, level) for number in numbers))
                for one in population
            ]
            population = best_first(population, self.settings.fitness, self.settings.lowest)
            self.close(population)
            if self.spent >= 1.0:
                return
            population = self._offspring(population)

    def formula(self, one: Individual) -> float:
        return one.fitness("thesis", self.settings.lowest)

    def _offspring(self, population: list[Individual]) -> list[Individual]:
        settings, rng = self.settings, self.choices()
        fitness = [one.fitness(settings.fitness, settings.lowest) for one in population]
        chances = proportional(fitness, settings.relief * (1.0 - min(1.0, self.spent)))
        children = [self.born(population[0].genotype, population[:1], "elite")]
        while len(children) < settings.population:
            parents = [population[i] for i in rng.choice(len(population), size=2, p=chances)]
            children.append(self.recombined(parents, settings.mutation, settings.crossover, rng))
        return children
