"""Runs: one result for any evaluator, any order of completion, killed and resumed or not."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.evolve.toy import Reach

from kinemorph.evolve.evaluators.evaluator import Serial
from kinemorph.evolve.evaluators.job import Job, Result, mean
from kinemorph.evolve.experiment import begin, evolve, problem_of, resume, search_of
from kinemorph.evolve.problem import BLANK, Draw, Outcome, Problem
from kinemorph.evolve.progress import line
from kinemorph.evolve.report import measured
from kinemorph.evolve.run import HELD_OUT, held_out
from kinemorph.evolve.searches.default_search import FIRST_VOTE_DRAW, VOTE_CANDIDATES
from kinemorph.evolve.settings import SEARCHES, Settings, checked

SMALL = {
    "default": {"population": 12, "founders": 24, "ladder": [1, 2, 4], "redraw": 2, "vote": 8},
    "steady": {"population": 12, "founders": 24, "ladder": [1, 2, 4], "redraw": 2, "vote": 8, "window": 5},
    "map-elites": {"population": 12, "founders": 24},
    "random": {"population": 24},
    "sims": {"population": 24},
    "thesis": {"population": 24},
}


def settings(search: str = "default", **changes: object) -> Settings:
    table = {
        "task": "tests.evolve.toy:Reach",
        "search": search,
        "seed": 7,
        "budget": {"generations": 5},
        "of_search": SMALL[search],
        "evaluator": "serial",
    }
    return checked(Settings, table | changes)


def golden(file: Path, of: Settings, evaluator: object = None) -> str:
    with begin(file, of, trust=[Reach]) as store:
        evolve(store, of, evaluator=evaluator)
        assert store.golden
        return store.golden_hash()


class Shuffled:
    """Computes as `Serial` does, and hands results over in a random order, as late as it can."""

    workers = 1

    def __init__(self, seed: int, problem: Problem | None = None) -> None:
        self._serial, self._rng = Serial(problem or Reach()), np.random.default_rng(seed)
        self._held: list[Result] = []

    def submit(self, jobs: list[Job]) -> None:
        self._serial.submit(jobs)
        while some := self._serial.collect():
            self._held += some

    def collect(self) -> list[Result]:
        self._rng.shuffle(self._held)
        number = int(self._rng.integers(1, 4))
        given, self._held = self._held[:number], self._held[number:]
        return given

    def close(self) -> None: ...


@pytest.mark.parametrize("search", SEARCHES)
def test_the_order_of_completion_does_not_matter(search, tmp_path):
    one = golden(tmp_path / "one.db", settings(search))
    assert one == golden(tmp_path / "other.db", settings(search), Shuffled(1))
    assert one != golden(tmp_path / "seed.db", settings(search, seed=8))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_matter(workers, tmp_path):
    one = golden(tmp_path / "one.db", settings())
    assert one == golden(tmp_path / "other.db", settings(evaluator="processes", workers=workers))


class BrokenOffError(Exception):
    pass


class BreaksOff(Serial):
    """Ends the run after some results."""

    def __init__(self, after: int, problem: Problem | None = None) -> None:
        super().__init__(problem or Reach())
        self._after = after

    def collect(self) -> list[Result]:
        self._after -= 1
        if self._after < 0:
            raise BrokenOffError
        return super().collect()


@pytest.mark.parametrize("search", SEARCHES)
def test_a_run_that_was_broken_off_again_and_again_ends_as_it_would_have(search, tmp_path):
    of = settings(search)
    whole = golden(tmp_path / "whole.db", of)
    begin(tmp_path / "broken.db", of, trust=[Reach]).close()
    for after in (3, 20, 31, 47):
        with contextlib.suppress(BrokenOffError), resume(tmp_path / "broken.db", [Reach])[0] as store:
            evolve(store, of, evaluator=BreaksOff(after))
    store, of = resume(tmp_path / "broken.db", [Reach])
    with store:
        progress = evolve(store, of)
        assert progress.reused >= 90
        assert store.golden_hash() == whole


def searched(of, watch=lambda jobs: None):
    """A search at its end, and all that it asked."""
    problem = problem_of(of, trust=[Reach])
    search, serial, asked = search_of(of, problem), Serial(problem), []
    while jobs := search.ask():
        watch(jobs)
        asked += jobs
        serial.submit(jobs)
        while some := serial.collect():
            for result in some:
                search.tell(result)
    return search, asked


def test_searches_beat_chance():
    scores = {}
    for search in ("default", "sims", "thesis", "steady", "map-elites", "random"):
        of = settings(search, budget={"generations": 40, "episodes": 1500})
        found, _ = searched(of)
        champion = found.population[0].genotype
        scores[search] = np.mean([found.problem.evaluate(champion, draw).score for draw in held_out(99, 64)])
    assert min(scores[name] for name in ("default", "steady")) > scores["random"]


def test_a_budget_of_episodes_is_kept():
    found, asked = searched(settings(budget={"generations": 1000, "episodes": 700}))
    episodes = sum(len(job.draws) for job in asked)
    generation = 2 * 12 * 4  # the last one is not broken off: children, and parents judged anew, on four draws
    assert 700 - generation < episodes <= 700 + generation
    assert found.generation < 1000


def test_chance_stops_at_the_budget():
    found, asked = searched(settings("random", budget={"generations": 1000, "episodes": 701}))
    assert 701 <= sum(len(job.draws) for job in asked) < 701 + found.settings.draws


@pytest.mark.parametrize("lowest", [False, True])
def test_of_three_lives_the_mean_counts_or_the_worst(lowest):
    more = {"draws": 3, "lowest": lowest, "fitness": "score"}
    found, asked = searched(settings("thesis", of_search=SMALL["thesis"] | more, budget={"generations": 3}))
    assert {len(job.draws) for job in asked} == {3}
    worst, mean = ([float(of(one.scores())) for one in found.population] for of in (np.min, np.mean))
    counted, other = (worst, mean) if lowest else (mean, worst)
    assert len(counted) == 24
    assert counted == sorted(counted, reverse=True)
    assert other != sorted(other, reverse=True)


def test_who_was_the_best_long_before_stands_in_the_last_vote():
    found, asked = searched(settings(budget={"generations": 24}))
    voted = [job for job in asked if all(draw.number >= FIRST_VOTE_DRAW for draw in job.draws)]
    first_round = voted[: len({job.individual for job in voted})]
    assert [len(job.draws) for job in first_round] == [2] * len(first_round)  # a quarter of eight draws each
    assert len(first_round) == VOTE_CANDIDATES
    later = found.elites[len(found.elites) // 2 :]
    assert {one.number for one in later} <= {job.individual for job in first_round}  # they are few enough here
    assert max(Counter(job.individual for job in voted).values()) == 3  # the best four have all draws
    assert sum(len(job.draws) for job in voted) == VOTE_CANDIDATES * 8 // 2


def test_draws_get_harder_and_the_vote_is_at_full_level():
    of = settings(of_search=SMALL["default"] | {"ramp": 0.5}, budget={"generations": 12})
    levels: list[set[float]] = []
    searched(of, lambda jobs: levels.append({draw.level for job in jobs for draw in job.draws}))
    assert all(len(some) == 1 for some in levels)  # whoever is compared had the same draws
    rising = [some.pop() for some in levels]
    assert rising[0] == 0.0
    assert rising == sorted(rising)
    assert 0.0 < rising[len(rising) // 4] < 1.0 == rising[-1]


@pytest.mark.parametrize("search", ["default", "steady"])
def test_who_succeeds_without_senses_is_worth_less(search):
    of = settings(search, of_search=SMALL[search] | {"blanks": 2}, budget={"generations": 8})
    found, asked = searched(of)
    caught = [job for job in asked if any(draw.blank for draw in job.draws)]
    assert caught
    assert all(not draw.blank for job in asked[:10] for draw in job.draws)  # founders are not tried
    one = found.population[0]
    seen = [draw for draw in one.outcomes if not draw.blank]
    blind = [draw for draw in one.outcomes if draw.blank]
    assert len(blind) == 2
    value = found.value(one.scores(tuple(seen)))
    for share in (0.0, 0.4, 1.0):
        one.outcomes.update((draw, Outcome(1.0 - share)) for draw in blind)
        assert found.worth(one) == pytest.approx(value * (1.0 - share) ** 2 if value > 0.0 else value)


def test_catch_trials_are_not_among_held_out_draws(tmp_path):
    of = settings(of_search=SMALL["default"] | {"blanks": 2}, budget={"generations": 8})
    with begin(tmp_path / "run.db", of, trust=[Reach]) as store:
        evolve(store, of)
        rows = list(store.table("evaluation"))
        assert any(row["draw"] >= BLANK for row in rows)
        for g, mean in measured(store):
            tried = [row for row in rows if row["g"] == g and not Draw(row["draw"], row["seed"]).blank]
            assert mean == pytest.approx(np.mean([row["measure"] for row in tried if row["draw"] >= HELD_OUT]))


def test_draws_get_harder_by_success():
    easy = settings(of_search=SMALL["default"] | {"success": -9.0}, budget={"generations": 24})
    levels: list[list[float]] = []
    searched(easy, lambda jobs: levels.append(sorted({draw.level for job in jobs for draw in job.draws})))
    lowest = [some[0] for some in levels]
    assert lowest[0] == 0.0
    assert {round(10 * level) for level in lowest} >= set(range(10))  # each redraw is a step up
    assert any(some[-1] == 1.0 for some in levels[:6])  # now and then a draw is at full level from the beginning
    vain = settings(of_search=SMALL["default"] | {"success": 9.0}, budget={"generations": 12})
    levels.clear()
    searched(vain, lambda jobs: levels.append(sorted({draw.level for job in jobs for draw in job.draws})))
    assert {level for some in levels for level in some} == {0.0, 1.0}  # nobody is so good


def test_new_bodies_are_tried_with_several_sets_of_numbers():
    found, asked = searched(settings(of_search=SMALL["default"] | {"trials": 3}, budget={"generations": 6}))
    born = {job.individual: job for job in reversed(asked)}  # the first job of each
    several = Counter((job.generation, job.parents, job.operator) for job in born.values() if job.parents)
    grown = [count for (_, _, operator), count in several.items() if operator in ("grow", "shed")]
    assert grown
    assert all(count % 4 == 0 for count in grown)  # the child itself and three with other numbers
    children = Counter()
    for (generation, _, operator), count in several.items():
        children[generation] += count if operator == "adjust" else count // 4
    assert set(children.values()) == {12}  # and no more than one of each is anybody's child
    assert found.population[0].fitness() > 0.0


def test_age_protects_newcomers():
    of, budget = SMALL["default"] | {"family": 0}, {"generations": 10}
    found, _ = searched(settings(of_search=of | {"newcomers": 2}, budget=budget))
    plain, _ = searched(settings(of_search=of, budget=budget))
    assert len({one.family for one in found.population}) > len({one.family for one in plain.population})
    order, ranked = found.survivors(list(found.population)), found.ranked(found.population)
    assert order[0] is ranked[0]
    ages = {one.number: found.generation - found._arrived.get(one.family, 0) for one in ranked}
    assert len(set(ages.values())) > 1
    youngest = min(ranked, key=lambda one: (ages[one.number], ranked.index(one)))
    assert order.index(youngest) < len(set(ages.values()))  # of each age, at most one stands before it


def test_a_search_without_generations_refuses_what_needs_them():
    with pytest.raises(ValueError, match="trials is 2, which needs generations"):
        searched(settings("steady", of_search=SMALL["steady"] | {"trials": 2}))


@pytest.mark.parametrize("more", [{"success": 0.1}, {"trials": 2}, {"newcomers": 2}])
def test_variants_are_the_same_for_whoever_computes(more, tmp_path):
    of = settings(of_search=SMALL["default"] | more)
    assert golden(tmp_path / "one.db", of) == golden(tmp_path / "other.db", of, Shuffled(3))


def test_the_estimate_goes_by_what_was_computed_since_it_was_resumed(tmp_path):
    of, said = settings(), []
    with contextlib.suppress(BrokenOffError), begin(tmp_path / "run.db", of, trust=[Reach]) as store:
        evolve(store, of, evaluator=BreaksOff(90, Reach()))
    with resume(tmp_path / "run.db", [Reach])[0] as store:
        evolve(store, of, lambda n: said.append((n.episodes > n.reused, n.spent, n.resumed, n.left, line(n))))
    new = [each for each in said if each[0]]
    assert 0.0 < new[0][2] == new[-1][2] < 1.0
    assert all(left == math.inf for computed, _, _, left, _ in said if not computed)  # nothing is known yet
    assert all((left < math.inf) == (spent > resumed) for _, spent, resumed, left, _ in new)
    assert re.search(r"held out [\d.-]+, rejected \d+ \(too long \d+\), 0:00 left", new[-1][4])


def test_a_mean_is_numpys_to_the_bit():
    rng = np.random.default_rng(0)
    for count in [*range(1, 70), 1000]:
        numbers = (rng.normal(size=count) * 10.0 ** rng.uniform(-3, 3, count)).tolist()
        assert mean(numbers) == np.mean(numbers)
