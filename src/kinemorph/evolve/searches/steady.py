"""The default search without generations: a child is born as soon as there is room for it.

`window` candidates are under way at any time, whatever the number of workers; a slow one holds up no more than its own
result and those after it. Results are told in the order of asking, so this search too is the same on every machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from kinemorph.evolve.evaluators.job import Individual, Job, Result
from kinemorph.evolve.problem import Draw, Problem
from kinemorph.evolve.random_streams import Purpose, stream
from kinemorph.evolve.ranges import Count
from kinemorph.evolve.searches.default_search import Recipe, RecipeSettings
from kinemorph.evolve.searches.search import Budget, Trial


class SteadySettings(RecipeSettings, frozen=True, forbid_unknown_fields=True):
    window: Count = 16  # candidates under way; two for each worker keep all of them busy


class Steady(Recipe):
    """Founders and the last vote are those of the default search; between them there is no barrier.

    What is called a generation is a population of births.
    """

    Settings = SteadySettings

    def __init__(
        self, problem: Problem, seed: int, budget: Budget, settings: SteadySettings = SteadySettings()
    ) -> None:
        for name in ("success", "trials", "newcomers"):
            if getattr(settings, name):
                raise ValueError(f"{name} is {getattr(settings, name)}, which needs generations; `default` has them")
        super().__init__(problem, seed, budget, settings)
        self._window = settings.window
        self._steady = False
        self._lived: list[tuple[Draw, ...]] = []  # at each rung, of this epoch
        self._pool: list[Individual] = []
        self._breeders: list[Individual] = []
        self._due: deque[Individual] = deque()  # individuals that go on to the next rung, and those to be judged anew
        self._rung: dict[int, int] = {}
        self._births = 0

    def plan(self) -> Iterator[list[Trial]]:
        bank = self.draws()
        self._lived = self._rungs(self._order(bank))
        self._pool = yield from self._founded(bank)
        self._complete()
        self._steady = True

    def _finish(self) -> Iterator[list[Trial]]:
        tuned = yield from self._tuned(self._pool)
        self.close((yield from self._vote(tuned, self._pool)))

    def ask(self) -> list[Job]:
        jobs = [] if self._steady else super().ask()
        if self._steady:
            jobs = self._fill()
            if not jobs and not self._awaited:
                self._steady, self._plan = False, self._finish()
                jobs = super().ask()
        return jobs

    def tell(self, result: Result) -> None:
        one = self._awaited[result.key]
        super().tell(result)
        if self._steady:
            self._advance(one)

    def _fill(self) -> list[Job]:
        """As many jobs as there is room for: first individuals that go on to the next rung, then new children."""
        jobs: list[Job] = []
        while len(self._awaited) < self._window:
            if self._due:
                one = self._due.popleft()
            elif self._left() > 0:
                one = self.child(self._breeders, stream(self.seed, Purpose.SELECTION, self.generation, self._count))
                self._births += 1
                if self._births % self.settings.population == 0:
                    self._complete()
            else:
                break
            job = self._job(one, self._reached(one))
            if job is None:
                self._advance(one)
            else:
                jobs.append(job)
        return jobs

    def _reached(self, one: Individual) -> tuple[Draw, ...]:
        return self._lived[self._rung.get(one.number, 0)]

    def _advance(self, one: Individual) -> None:
        """A rung is done: on to the next, or into the pool; or again, if the draws have changed meanwhile."""
        draws = self._reached(one)
        if not all(draw in one.outcomes for draw in draws):
            self._again(one)
            return
        rung = self._rung.get(one.number, 0)
        good = not one.faulty and self.worth(one, draws) >= self._bar(self._pool, draws)
        if good and rung + 1 < len(self.settings.ladder):
            self._rung[one.number] = rung + 1
            self._due.append(one)
            return
        self._rung.pop(one.number, None)
        self._pool = self.survivors([*self._pool, one])
        breeders = self.parents(self._pool)
        if len(breeders) >= len(self._breeders):
            self._breeders = breeders

    def _again(self, one: Individual) -> None:
        one.outcomes.clear()
        self._rung[one.number] = 0
        self._due.append(one)

    def _complete(self) -> None:
        """A population of births is over. Now and then all draws are new, and the whole pool is judged by them."""
        self._pool = self.ranked(self._pool)
        self._breeders = self.parents(self._pool)
        self.elites = [one for one in self.elites if one is not self._pool[0]] + self._pool[:1]
        self.close(self._pool)
        if self.generation % self.settings.redraw == 0:
            self._lived = self._rungs(self._order(self.draws()))
            pool, self._pool = self._pool, []
            for one in pool:
                self._again(one)
