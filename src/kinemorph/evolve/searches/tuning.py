"""All numbers of an individual at once, by an evolution strategy: mutation stops where many of them together help.

Candidates are spread around a mean, which moves to the better half of them (CMA-ES with a diagonal, Ros and Hansen
2008: sums and products of single numbers, so bits do not depend on a library of linear algebra). Each time they are
judged by new draws, all by the same: the mean outlives those it was lucky with.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kinemorph.evolve.evaluators.job import Individual
from kinemorph.evolve.random_streams import Purpose, stream
from kinemorph.evolve.ranges import Count, Factor, Share, Some
from kinemorph.spatial.pose import Array

if TYPE_CHECKING:
    from kinemorph.evolve.searches.default_search import Recipe
    from kinemorph.evolve.searches.search import Trial

VOTED_MEANS = 8  # means of a tuning that stand in the last vote, evenly over its later half


class TuningSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    episodes: Some = 1000  # that it may take, of the whole budget
    share: Share = 0.0  # or this share of all evaluations instead
    draws: Count = 3  # for each candidate
    sigma: Factor = 0.05  # the first step
    body: bool = False  # whether the numbers of the body move with those of control

    def __post_init__(self) -> None:
        if not 0.0 <= self.share < 1.0:
            raise ValueError(f"share of tuning is {self.share}, and must be from 0 to less than 1")
        if not self.sigma > 0.0:
            raise ValueError(f"sigma of tuning is {self.sigma}, and must be positive")


class Strategy:
    """The normal distribution of candidates, and its update from their ranks."""

    def __init__(self, start: Array, sigma: float) -> None:
        n = len(start)
        self.mean, self.sigma, self.spread = start.copy(), sigma, np.ones(n)  # the last are variances
        self.size = 4 + int(3.0 * math.log(n))
        half = self.size // 2
        weights = np.array([math.log(half + 0.5) - math.log(k) for k in range(1, half + 1)])
        self._weights = weights / weights.sum()
        mu = 1.0 / float((self._weights**2).sum())
        self._mu = mu
        self._rate = (mu + 2.0) / (n + mu + 5.0)
        self._damping = 1.0 + 2.0 * max(0.0, math.sqrt((mu - 1.0) / (n + 1.0)) - 1.0) + self._rate
        self._way_rate = (4.0 + mu / n) / (n + 4.0 + 2.0 * mu / n)
        faster = (n + 2.0) / 3.0  # a diagonal has so many fewer numbers to learn
        self._one = min(1.0, faster * 2.0 / ((n + 1.3) ** 2 + mu))
        self._many = min(1.0 - self._one, faster * 2.0 * (mu - 2.0 + 1.0 / mu) / ((n + 2.0) ** 2 + mu))
        self._usual = math.sqrt(n) * (1.0 - 0.25 / n + 1.0 / (21.0 * n * n))  # length of a normal vector
        self._turns, self._way, self._steps = np.zeros(n), np.zeros(n), 0

    def candidates(self, rng: np.random.Generator) -> Array:
        return self.mean + self.sigma * np.sqrt(self.spread) * rng.standard_normal((self.size, len(self.mean)))

    def learn(self, points: Array, values: list[float]) -> None:
        """Move to the better half: large values are good."""
        best = np.argsort(-np.array(values), kind="stable")[: len(self._weights)]
        steps = (points[best] - self.mean) / self.sigma
        step = (self._weights[:, None] * steps).sum(0)
        self.mean = self.mean + self.sigma * step
        self._steps += 1
        rate, way = self._rate, self._way_rate
        self._turns = (1.0 - rate) * self._turns + math.sqrt(rate * (2.0 - rate) * self._mu) * step / np.sqrt(
            self.spread
        )
        length = math.sqrt(float((self._turns**2).sum()))
        known = math.sqrt(1.0 - (1.0 - rate) ** (2 * self._steps))
        going = length / known < (1.4 + 2.0 / (len(step) + 1.0)) * self._usual
        self._way = (1.0 - way) * self._way + going * math.sqrt(way * (2.0 - way) * self._mu) * step
        lost = 0.0 if going else way * (2.0 - way)
        self.spread = (
            (1.0 - self._one - self._many + self._one * lost) * self.spread
            + self._one * self._way**2
            + self._many * (self._weights[:, None] * steps**2).sum(0)
        )
        self.sigma *= math.exp(rate / self._damping * (length / self._usual - 1.0))


def tune(
    search: Recipe, one: Individual, settings: TuningSettings, episodes: int
) -> Generator[list[Trial], None, list[Individual]]:
    """Means that the strategy came through from `one` on, the last one first. They differ from it in numbers alone."""
    how: dict[str, Any] = {"body": True} if settings.body else {}
    problem = search.problem
    start = np.array(problem.numbers(one.genotype, **how))
    if not len(start):
        return []
    strategy = Strategy(_compress_number(start), settings.sigma)

    def child(point: Array) -> Individual:
        return search.born(problem.with_numbers(one.genotype, _expand_number(point).tolist(), **how), (one,), "tuned")

    rounds = episodes // (strategy.size * settings.draws)
    shown = {rounds - k * max(1, rounds // (2 * VOTED_MEANS)) for k in range(VOTED_MEANS)}
    means: list[Individual] = []
    for k in range(1, rounds + 1):
        draws = tuple(
            search.draw(number, search.generation, one.number + k, search.settings.hardest)
            for number in range(settings.draws)
        )
        points = strategy.candidates(stream(search.seed, Purpose.TUNING, search.generation, one.number, k))
        candidates = [child(point) for point in points]
        living = [candidate for candidate in candidates if problem.viable(candidate.genotype)]
        yield [(candidate, draws) for candidate in living]
        strategy.learn(points, [_value(search, candidate) for candidate in candidates])
        if k in shown:
            means.insert(0, child(strategy.mean))
    return [mean for mean in means if problem.viable(mean.genotype)]


def _value(search: Recipe, candidate: Individual) -> float:
    """A strategy only compares, so the stillborn and the faulty may have any number that is worse than all others."""
    return search.worth(candidate) if candidate.outcomes and not candidate.faulty else -math.inf


def _compress_number(numbers: Array) -> Array:
    """A scale on which a step means as much everywhere: numbers themselves up to about two, then their logarithms."""
    return np.array([2.0 * math.asinh(0.5 * x) for x in numbers.tolist()])


def _expand_number(flat: Array) -> Array:
    return np.array([2.0 * math.sinh(0.5 * x) for x in flat.tolist()])
