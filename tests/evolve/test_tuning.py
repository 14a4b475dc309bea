"""Numbers of a champion, tuned by CMA-ES: better than before, and the same for whoever computes."""

from __future__ import annotations

from tests.evolve.test_runs import SMALL, Shuffled, golden, settings
from tests.evolve.toy import Reach

from kinemorph.evolve.recipe import Recipe, RecipeSettings
from kinemorph.evolve.search import Budget
from kinemorph.evolve.store import Store
from kinemorph.evolve.tuning import TuningSettings, tune


def test_tuned_numbers_are_better_ones():
    problem = Reach()
    search = Recipe(problem, 1, Budget(), RecipeSettings())
    one, bank = search.founder(5), search.bank(8, 0)
    one.outcomes = {draw: problem.evaluate(one.genotype, draw) for draw in bank}
    before, lives = search.value(one.scores()), 0
    going = tune(search, one, bank, TuningSettings(episodes=1600))
    while True:
        try:
            trials = next(going)
        except StopIteration as end:
            best = end.value
            break
        for each, draws in trials:
            each.outcomes |= {draw: problem.evaluate(each.genotype, draw) for draw in draws}
            lives += len(draws)
    assert lives <= 1600
    assert best.operator == "tuned"
    assert len(problem.numbers(best.genotype)) == len(problem.numbers(one.genotype))
    assert search.value(best.scores()) > before + 0.2


def test_a_run_that_tunes_is_the_same_for_whoever_computes(tmp_path):
    of = settings(of_search=SMALL["default"] | {"tuning": {"episodes": 200}})
    here = golden(tmp_path / "here.db", of)
    assert here == golden(tmp_path / "there.db", of, Shuffled(1))
    with Store.open(tmp_path / "here.db") as store:
        assert sum(row["op"] == "tuned" for row in store.table("individual")) > 20
