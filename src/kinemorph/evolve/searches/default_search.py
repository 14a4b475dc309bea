"""The default search: many founders, races on identical draws, a cap on families, champions by vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Self

import msgspec
import numpy as np
from msgspec.structs import replace as replaced

from kinemorph.evolve.evaluators.job import Individual, mean
from kinemorph.evolve.problem import BLANK, Draw, Problem
from kinemorph.evolve.random_streams import Purpose, seed_of, stream
from kinemorph.evolve.ranges import Count, Factor, Score, Share, Some
from kinemorph.evolve.searches.search import Budget, Planned, Trial
from kinemorph.evolve.searches.tuning import TuningSettings, tune
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.annotations import check_fields

POPULATION_SIZE, FOUNDERS, EPISODES = 40, 300, 5000  # what was measured: a population, its founders, the budget
LARGE, LARGEST = 20_000, 100_000  # evaluations: in between draws get harder with the budget, as was measured
FIRST_VOTE_DRAW = 512  # draws from this number on are those of the last vote
VOTE_CANDIDATES = 16  # of the last vote
BLIND_POWER = 2  # power of the share of lives without senses that fail, by which one is worth less
LEVEL_STEP = 0.1  # of the level, by which success makes draws harder
FULL = 5  # of so many draws, one is at full level


@checked_first
class RecipeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    population: Some = 0  # 0: PEOPLE for up to EPISODES evaluations, twice as many for four times as many of these
    founders: Some = 0  # so many are tried, at most a fifth of the budget; 0: a tenth of it, but not less than FOUNDERS
    founder_draws: Count = 2
    viable: Count = 6  # tries at a child, or five times as many at a founder, before a stillborn one is taken
    elite: Share = 0.2  # the share of the population that has children
    family: Some = 2  # parents of one founder's family, for the first part of the budget
    family_until: Share = 0.4
    crossover: Share = 0.0  # share of children of two parents, half of them by grafting
    ladder: tuple[Count, ...] = (2, 4, 8)  # draws after which a candidate may drop out, and at the end
    quantile: Share = 0.5  # of the parents, that a candidate must reach to go on
    blanks: Some = 0  # episodes with blank senses, from the second rung on: one that succeeds in them is blind
    redraw: Count = 6  # generations after which all draws are new
    kept: Share = 0.5  # the share of the population that is judged by them; the rest goes
    ramp: Share = 0.0  # the part of the budget in which draws get harder, from level 0 to the hardest
    hardest: Factor = 1.0  # level of draws after that, in tuning and in the vote: above 1, harder than what is asked
    harder: Share = 0.0  # power of a budget above LARGE, in units of it, by which that level grows
    worst: Share = 0.5  # weight of the mean of the worse half, against motions that are blind
    vote: Count = 32  # draws that decide between the elites of the whole run
    tuning: TuningSettings | None = None
    success: Score = 0.0  # what parents must be worth for draws to become harder by STEP; 0: the budget decides
    trials: Some = 0  # other numbers that a new body is tried with; it has the best of them
    spread: Factor = 0.3  # by how much they differ
    newcomers: Some = 0  # founders of each generation; selection is then by age-fitness Pareto fronts (`_by_age`)

    def __post_init__(self) -> None:
        check_fields(self)
        if not len(self.ladder) or min(self.ladder) < 1 or sorted(set(self.ladder)) != list(self.ladder):
            raise ValueError(f"ladder is {self.ladder}, and must rise: numbers of draws, such as 2, 4, 8")
        if self.population < 2 and self.population != 0:
            raise ValueError(f"population is {self.population}, and must be at least 2, or 0: by the budget")

    def within(self, budget: Budget) -> Self:
        """With numbers for what the budget decides: a larger one pays for more families and for more generations."""
        episodes = budget.episodes or 0
        people = self.population or round(POPULATION_SIZE * max(1.0, episodes / EPISODES) ** 0.5)
        founders = self.founders or max(FOUNDERS, episodes // (10 * self.founder_draws))
        if budget.episodes is not None:
            founders = min(founders, episodes // (5 * self.founder_draws))
        if self.newcomers >= people:
            raise ValueError(f"newcomers is {self.newcomers}, and must be less than the population of {people}")
        hardest = self.hardest * (min(max(episodes, LARGE), LARGEST) / LARGE) ** self.harder
        return replaced(self, population=people, founders=founders, hardest=hardest)


@checked_first
class Recipe(Planned):
    """Truncation selection, a race over draws, tuning, a vote: docs/searches.md; measured: docs/results/tuning.md."""

    Settings = RecipeSettings

    def __init__(
        self, problem: Problem, seed: int, budget: Budget, settings: RecipeSettings = RecipeSettings()
    ) -> None:
        super().__init__(problem, seed, budget)
        self.settings = settings.within(budget)
        self.elites: list[Individual] = []  # the best of each generation: candidates of the last vote
        self._epoch = 0  # the generation of the last draws
        self._earned = 0.0  # the level that success has led to
        self._arrived: dict[int, int] = {}  # in which generation a family's founder came, if not in the first

    def plan(self) -> Iterator[list[Trial]]:
        settings = self.settings
        bank = self.draws()
        population = yield from self._founded(bank)
        while True:
            self.elites = [one for one in self.elites if one is not population[0]] + population[:1]
            self.close(population)
            if self._left() <= 0:
                break
            if self.generation % settings.redraw == 0:
                self._earn(population)
                bank = self.draws()
                population = population[: max(2, int(settings.kept * settings.population))]
                for one in population:
                    one.outcomes.clear()
                yield from self._race(population, population, bank)
                population = self.ranked(population)
            parents = self.parents(population)
            rng = self.choices()
            children = [self.child(parents, rng) for _ in range(settings.population - settings.newcomers)]
            if settings.trials:
                children = yield from self._tried(children, parents, bank)
            children += [self._newcomer() for _ in range(settings.newcomers)]
            yield from self._race(children, parents, bank)
            population = self.survivors(population + children)
        tuned = yield from self._tuned(population)
        self.close((yield from self._vote(tuned, population)))

    def draws(self) -> tuple[Draw, ...]:
        """Those by which all are judged from this generation on."""
        self._epoch = self.generation
        size, level = self.settings.ladder[-1], self._level()
        if not self.settings.success:
            return self.bank(size, self.generation, level)
        levels = [1.0 if (number + self.generation) % FULL == 0 else level for number in range(size)]
        return tuple(self.draw(number, self.generation, level=level) for number, level in enumerate(levels))

    def _blanks(self) -> tuple[Draw, ...]:
        """Catch trials of this epoch."""
        level = self.settings.hardest
        return tuple(self.draw(BLANK + i, self._epoch, level=level) for i in range(self.settings.blanks))

    def _level(self) -> float:
        """How hard draws are now."""
        if self.settings.success:
            return self._earned
        return self.settings.hardest * (min(1.0, self.spent / self.settings.ramp) if self.settings.ramp else 1.0)

    def _earn(self, population: list[Individual]) -> None:
        """Draws become harder if half of the parents are good enough at them."""
        values = [self.worth(one) for one in self.parents(population)]
        if self.settings.success and np.median(values) >= self.settings.success:
            self._earned = min(1.0, self._earned + LEVEL_STEP)

    def _left(self) -> float:
        """Evaluations that may still be made before the vote; or generations, if these are what is counted."""
        if self.budget.episodes is None or self.generation >= self.budget.generations:
            return float(self.budget.generations - self.generation)
        return float(
            self.budget.episodes - self.episodes - VOTE_CANDIDATES * self.settings.vote // 2 - self._for_tuning()
        )

    def _for_tuning(self) -> int:
        """Evaluations that are kept for it: if a share of all, by those that were made so far."""
        tuning = self.settings.tuning
        if tuning is None:
            return 0
        return int(tuning.share / (1.0 - tuning.share) * self.episodes) if tuning.share else tuning.episodes

    def _tuned(self, population: list[Individual]) -> Generator[list[Trial], None, list[Individual]]:
        """The best of the best families, one for each PEOPLE of the population, with better numbers."""
        found: list[Individual] = []
        if self.settings.tuning is not None:
            firsts = {one.family: one for one in reversed(population) if not one.faulty}
            several = self.ranked(list(firsts.values()))[: max(1, self.settings.population // POPULATION_SIZE)]
            episodes = self._for_tuning() // max(1, len(several))
            for one in several:
                means = yield from tune(self, one, self.settings.tuning, episodes)
                found += means[: max(1, VOTE_CANDIDATES // 2 // len(several))]
        return found

    def _founded(self, bank: tuple[Draw, ...]) -> Generator[list[Trial], None, list[Individual]]:
        settings = self.settings
        tries = max(settings.founders, settings.population)
        founders = [self.founder(5 * settings.viable) for _ in range(tries)]
        yield [(one, bank[: settings.founder_draws]) for one in founders]
        population = self.ranked(founders)[: settings.population]
        yield from self._race(population, population, bank)
        return self.ranked(population)

    # --------------------------------------------------------------------------------------------- judging

    def worth(self, one: Individual, draws: tuple[Draw, ...] | None = None) -> float:
        """By these draws, or by all that it lived: less if it succeeds without senses too."""
        lived = tuple(one.outcomes) if draws is None else draws
        seen, blind = (tuple(draw for draw in lived if draw.blank is blank) for blank in (False, True))
        value = self.value(one.scores(seen))
        return value * mean(one.scores(blind)) ** BLIND_POWER if blind and value > 0.0 else value

    def value(self, scores: Sequence[float]) -> float:
        """The mean, blended with the mean of the worse half."""
        worse = sorted(scores)[: max(1, len(scores) // 2)]
        return (1.0 - self.settings.worst) * mean(scores) + self.settings.worst * mean(worse)

    def rank(self, one: Individual) -> tuple[float, float, float]:
        """The key by which individuals are sorted: most draws in the race, then worth, then age; the faulty last."""
        if one.faulty or not one.outcomes:
            return 1.0, 0.0, one.number
        return -len(one.outcomes), -self.worth(one), one.number

    def ranked(self, individuals: Sequence[Individual]) -> list[Individual]:
        return sorted(individuals, key=self.rank)

    def _race(
        self, runners: list[Individual], against: list[Individual], bank: tuple[Draw, ...]
    ) -> Iterator[list[Trial]]:
        """A ladder of draws: a runner worse than the parents' quantile on the same draws gets no further ones."""
        rungs, running = self._rungs(self._order(bank)), runners
        yield [(one, rungs[0]) for one in running]
        for draws, further in pairwise(rungs):
            bar = self._bar(against, draws)
            running = [one for one in running if not one.faulty and self.worth(one, draws) >= bar]
            yield [(one, further) for one in running]

    def _rungs(self, order: tuple[Draw, ...]) -> list[tuple[Draw, ...]]:
        """All draws up to each rung of the ladder: more and more of them, from the second on catch trials too."""
        first, *others = (order[:reached] for reached in self.settings.ladder)
        return [first, *(draws + self._blanks() for draws in others)]

    def _bar(self, against: list[Individual], draws: tuple[Draw, ...]) -> float:
        known = [one for one in against if not one.faulty and all(draw in one.outcomes for draw in draws)]
        values = [self.worth(one, draws) for one in known]
        return float(np.quantile(values, self.settings.quantile)) if values else -np.inf

    def _order(self, bank: tuple[Draw, ...]) -> tuple[Draw, ...]:
        """Shuffled; of an even number, pairs stay together: tasks mirror the second draw of each pair."""
        rng = self.choices(Purpose.ORDER)
        if len(bank) % 2:
            return tuple(bank[i] for i in rng.permutation(len(bank)))
        return tuple(bank[2 * i + k] for i in rng.permutation(len(bank) // 2) for k in (0, 1))

    # -------------------------------------------------------------------------------------------- breeding

    def parents(self, population: list[Individual]) -> list[Individual]:
        """The best, at most `family` of one founder's family as long as families are protected."""
        number = max(2, int(self.settings.elite * self.settings.population))
        return self._capped([one for one in population if not one.faulty], self.settings.family)[:number]

    def survivors(self, individuals: list[Individual]) -> list[Individual]:
        ranked = self._capped(self.ranked(individuals), 3 * self.settings.family)
        return (self._by_age(ranked) if self.settings.newcomers else ranked)[: self.settings.population]

    def _by_age(self, ranked: list[Individual]) -> list[Individual]:
        """Sorted by fronts: an individual is in the first one if no other is both better and no older (age-fitness
        Pareto). Young families are kept while they improve; age is that of the family, in generations."""
        ages = [self.generation - self._arrived.get(one.family, 0) for one in ranked]
        fronts: list[int] = []
        for i, age in enumerate(ages):
            fronts.append(1 + max((fronts[k] for k in range(i) if ages[k] <= age), default=-1))
        return [ranked[i] for i in sorted(range(len(ranked)), key=lambda i: (fronts[i], i))]

    def _newcomer(self) -> Individual:
        one = self.founder(5 * self.settings.viable)
        self._arrived[one.family] = self.generation
        return one

    def _tried(
        self, children: list[Individual], parents: list[Individual], bank: tuple[Draw, ...]
    ) -> Generator[list[Trial], None, list[Individual]]:
        """A new body gets the best of several sets of numbers, by the first draws of the race: what a parent's brain
        did with its own body says little about it."""
        before = {one.number: self.problem.numbers(one.genotype) for one in parents}
        draws = self._order(bank)[: self.settings.ladder[0]]
        groups = []
        for one in children:
            old, new = before[one.parents[0]], self.problem.numbers(one.genotype)
            same_body = len(old) == len(new) and old != new
            groups.append([one] + [self._sibling(one, new) for _ in range(0 if same_body else self.settings.trials)])
        yield [(one, draws) for group in groups if len(group) > 1 for one in group]
        return [self.ranked(group)[0] for group in groups]

    def _sibling(self, one: Individual, numbers: list[float]) -> Individual:
        """The same body with other numbers."""
        rng = stream(self.seed, Purpose.TUNING, self.generation, self._count + 1)
        others = np.array(numbers) + rng.normal(0.0, self.settings.spread, len(numbers))
        number, genotype = self._next(), self.problem.with_numbers(one.genotype, others.tolist())
        return replace(one, number=number, genotype=genotype, outcomes={})

    def _capped(self, ranked: list[Individual], most: int) -> list[Individual]:
        if not most or self.spent >= self.settings.family_until:
            return ranked
        seen: Counter[int] = Counter()
        kept = []
        for one in ranked:
            seen[one.family] += 1
            if seen[one.family] <= most:
                kept.append(one)
        return kept

    def child(self, parents: list[Individual], rng: np.random.Generator) -> Individual:
        """Of the better one of two parents; tried again while it is stillborn."""
        if not parents:
            raise ValueError("every individual of this generation is faulty, so there are no parents")
        one = min((parents[i] for i in rng.integers(len(parents), size=2)), key=self.rank)
        other = parents[rng.integers(len(parents))]
        share = self.settings.crossover
        for attempt in range(self.settings.viable):
            chance = stream(self.seed, Purpose.VARIATION, self.generation, self._count + 1, attempt)
            genotype, operator, both = self._varied(one, other, share, chance)
            if self.problem.viable(genotype):
                break
        return self.born(genotype, (one, other) if both else (one,), operator)

    def _varied(
        self, one: Individual, other: Individual, share: float, rng: np.random.Generator
    ) -> tuple[str, str, bool]:
        if rng.random() >= share:
            return *self.problem.mutate(one.genotype, rng), False
        if rng.random() < 0.5:
            return self.problem.crossover(one.genotype, other.genotype, rng), "crossover", True
        return self.problem.graft(one.genotype, other.genotype, rng), "graft", True

    # ---------------------------------------------------------------------------------------------- voting

    def _vote(
        self, tuned: list[Individual], population: list[Individual]
    ) -> Generator[list[Trial], None, list[Individual]]:
        """Fresh draws; each time twice as many of them, for the better half of the candidates."""
        seeds = [seed_of(self.seed, Purpose.VOTE, draw=number) for number in range(self.settings.vote)]
        draws = tuple(Draw(FIRST_VOTE_DRAW + number, seed, self.settings.hardest) for number, seed in enumerate(seeds))
        candidates, self._epoch = self._candidates(tuned, population), self.generation
        for one in candidates:
            one.outcomes.clear()
        for share in (4, 2, 1):
            several = max(1, VOTE_CANDIDATES * share // 4)
            few = draws[: max(1, len(draws) // share)]
            yield [(one, few + self._blanks()) for one in self.ranked(candidates)[:several]]
        others = [one for one in population if one not in candidates]
        return self.ranked(candidates) + others

    def _candidates(self, tuned: list[Individual], population: list[Individual]) -> list[Individual]:
        """The best of now, half of them tuned, and earlier elites, spaced evenly over the later half of the run: the
        best by the last draws may suit those draws alone."""
        few = tuned[: VOTE_CANDIDATES // 2] + population[: VOTE_CANDIDATES // 4]
        before = [one for one in self.elites[-max(VOTE_CANDIDATES, len(self.elites) // 2) :] if one not in few]
        several = min(len(before), VOTE_CANDIDATES - len(few))
        spread = [before[-1 - i * len(before) // several] for i in range(several)]
        return list(dict.fromkeys(few + spread + population))[:VOTE_CANDIDATES]
