"""The numbers of one individual, tuned by CMA-ES (cmaes) on the draws that it is judged by."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from kinemorph._extras import need
from kinemorph.evolve.job import Individual
from kinemorph.evolve.problem import Draw
from kinemorph.evolve.streams import Purpose, seed_of

if TYPE_CHECKING:
    from kinemorph.evolve.recipe import Recipe
    from kinemorph.evolve.search import Trial


class TuningSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    episodes: int = 1000  # that it may take, of the whole budget
    sigma: float = 0.2  # the first step


def tune(
    search: Recipe, one: Individual, bank: tuple[Draw, ...], settings: TuningSettings
) -> Generator[list[Trial], None, Individual]:
    """Candidates differ from `one` in their numbers alone. The best of all, or `one` itself, is returned."""
    start = search.problem.numbers(one.genotype)
    if not start:
        return one
    cma = need("cmaes", "evolve", "searches that tune").CMA(
        mean=np.array(start), sigma=settings.sigma, seed=seed_of(search.seed, Purpose.TUNING) % 2**32
    )
    best, spent = one, 0
    while spent + cma.population_size * len(bank) <= settings.episodes and not cma.should_stop():
        points = [cma.ask() for _ in range(cma.population_size)]
        candidates = [
            search.born(search.problem.with_numbers(one.genotype, point.tolist()), (one,), "tuned") for point in points
        ]
        yield [(candidate, bank) for candidate in candidates]
        spent += len(candidates) * len(bank)
        # CMA-ES only compares, so the faulty may have any number that is worse than all others
        costs = [1e9 if each.faulty else -search.value(each.scores()) for each in candidates]
        cma.tell(list(zip(points, costs)))
        best = search.ranked([best, *candidates])[0]
    return best
