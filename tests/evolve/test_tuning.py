"""Numbers of a champion, tuned all at once: better than before, and the same for whoever computes."""

from __future__ import annotations

import numpy as np
from tests.evolve.test_runs import SMALL, Shuffled, golden, settings
from tests.evolve.toy import Reach

from kinemorph.evolve.problem import Draw
from kinemorph.evolve.searches.default_search import FIRST_VOTE_DRAW, Recipe, RecipeSettings
from kinemorph.evolve.searches.search import Budget
from kinemorph.evolve.searches.tuning import Strategy, TuningSettings, tune
from kinemorph.evolve.store.run_store import Store


def test_tuned_numbers_are_better_ones():
    problem = Reach()
    search = Recipe(problem, 1, Budget(), RecipeSettings())
    one, fresh = search.founder(5), [Draw(k, 1000 + k) for k in range(32)]
    going, lives = tune(search, one, TuningSettings(sigma=0.2), 1600), 0
    while True:
        try:
            trials = next(going)
        except StopIteration as end:
            means = end.value
            break
        for each, draws in trials:
            each.outcomes |= {draw: problem.evaluate(each.genotype, draw) for draw in draws}
            lives += len(draws)
    before, after = (
        search.value([problem.evaluate(each.genotype, draw).score for draw in fresh]) for each in (one, means[0])
    )
    assert 1200 < lives <= 1600
    assert means[0].operator == "tuned"
    assert len(problem.numbers(means[0].genotype)) == len(problem.numbers(one.genotype))
    assert after > before + 0.2


def test_a_strategy_finds_a_narrow_minimum_whatever_its_scales():
    rng, scales = np.random.default_rng(1), np.array([1.0, 10.0, 0.3, 3.0, 1.0, 5.0])
    strategy = Strategy(np.full(6, 2.0), 0.3)
    for _ in range(150):
        points = strategy.candidates(rng)
        strategy.learn(points, [-float(((scales * point) ** 2).sum()) for point in points])
    assert np.abs(scales * strategy.mean).max() < 1e-3


def test_a_share_of_all_evaluations_is_for_tuning(tmp_path):
    of = settings(
        of_search=SMALL["default"] | {"tuning": {"share": 0.5}}, budget={"generations": 10**6, "episodes": 1000}
    )
    golden(tmp_path / "run.db", of)
    with Store.open(tmp_path / "run.db") as store:
        tuned = {row["id"] for row in store.table("individual") if row["op"] == "tuned"}
        before_vote = [row["individual"] in tuned for row in store.table("evaluation") if row["draw"] < FIRST_VOTE_DRAW]
    assert 0.4 < np.mean(before_vote) < 0.5


def test_a_run_that_tunes_is_the_same_for_whoever_computes(tmp_path):
    of = settings(of_search=SMALL["default"] | {"tuning": {"episodes": 200}})
    here = golden(tmp_path / "here.db", of)
    assert here == golden(tmp_path / "there.db", of, Shuffled(1))
    with Store.open(tmp_path / "here.db") as store:
        assert sum(row["op"] == "tuned" for row in store.table("individual")) > 20
