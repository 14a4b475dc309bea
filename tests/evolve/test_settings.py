"""Settings: from TOML, each mistake with its place."""

from __future__ import annotations

import pytest
from tests.evolve.test_runs import settings
from tests.evolve.toy import Reach

from kinemorph._files import FileError
from kinemorph._toml import checked
from kinemorph.evolve import command
from kinemorph.evolve.experiment import begin, problem_of, search_of
from kinemorph.evolve.settings import Settings, load_settings

GOOD = """
task = "tests.evolve.toy:Reach"
search = "thesis"
seed = 3

[budget]
generations = 7

[of_search]
population = 20
"""


def test_a_file_is_read_and_the_command_wins(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(GOOD)
    loaded = load_settings(file, {"seed": 4, "of_search": {"draws": 2}})
    assert (loaded.search, loaded.seed, loaded.budget.generations) == ("thesis", 4, 7)
    found = search_of(loaded, problem_of(loaded, trust=[Reach]))
    assert (found.settings.population, found.settings.draws) == (20, 2)


@pytest.mark.parametrize(
    ("episodes", "given", "population", "founders"),
    [
        (None, {}, 40, 300),
        (2000, {}, 40, 200),  # a fifth of the budget, two draws each
        (5000, {}, 40, 300),
        (20000, {}, 80, 1000),
        (20000, {"founder_draws": 1}, 80, 2000),
        (20000, {"population": 30, "founders": 50}, 30, 50),
    ],
)
def test_the_budget_decides_how_many_there_are(episodes, given, population, founders):
    of = settings(budget={"generations": 10, "episodes": episodes}, of_search=given)
    found = search_of(of, problem_of(of, trust=[Reach])).settings
    assert (found.population, found.founders) == (population, founders)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("generations = 7", 'generations = "many"', r"run\.toml:7: budget\.generations: expected `int`, got `str`"),
        ("generations = 7", "generations = 0", r"run\.toml:6: budget: generations is 0, and must be at least 1"),
        ("seed = 3", "sed = 3", r"run\.toml:4: sed: there is no such setting; there are task, search, seed, "),
        (
            "generations = 7",
            "genertions = 7",
            r"run\.toml:7: budget\.genertions: there is no such setting; there are gen",
        ),
        ("seed = 3", "seed = -3", r"run\.toml: seed is -3, and must not be negative"),
        ("seed = 3", "seed = = 3", r"run\.toml: this is not TOML: .*line 4"),
        ('task = "tests.evolve.toy:Reach"', "", r"run\.toml: object missing required field `task`"),
    ],
)
def test_a_mistake_is_named_with_its_place(old, new, said, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(FileError, match=said):
        load_settings(file)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "population = 20",
            "population = -3",
            r"run\.toml:10: of_search of thesis: population: expected `int` >= 1; it",
        ),
        ("population = 20", "relief = nan", r"run\.toml:10: of_search of thesis: relief: expected `float` >= 0\.0; it"),
        (
            "population = 20",
            "popluation = 20",
            r"run\.toml:10: of_search of thesis: popluation: there is no such setting",
        ),
        (
            'search = "thesis"',
            'search = "default"\nof_task = {trp = 1}',
            r"run\.toml:4: of_task of tests.*: trp: there is",
        ),
        (
            '"thesis"',
            '"default"\nof_search = {ladder = [2, 1]}\n[of_none]',
            r"run\.toml:4: of_search of default: ladder is",
        ),
        (
            '"thesis"',
            '"default"\nof_search = {newcomers = 50}\n[of_none]',
            r"run\.toml:4: of_search of default: newcomers",
        ),
        ('task = "tests.evolve.toy:Reach"', 'task = "fly"', r'run\.toml:2: there is no task "fly"'),
        (
            'task = "tests.evolve.toy:Reach"',
            'task = "locomotion"\nof_task.settings.wieght = 1.0',
            r"run\.toml:3: of_task of locomotion: settings\.wieght: there is no such setting; .* did you mean weight\?",
        ),
    ],
)
def test_a_mistake_of_a_search_or_a_task_is_named_with_its_place(old, new, said, tmp_path):
    file, text = tmp_path / "run.toml", GOOD.replace(old, new)
    file.write_text(text.partition("[of_none]")[0])
    with pytest.raises(ValueError, match=said):
        command.run_evolve(str(file), {}, tmp_path / "run.db", None, trust=("tests.evolve.toy",))
    assert not list(tmp_path.glob("run.db*"))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"monitor": {"every": 0}}, "monitor.every: expected `int` >= 1; it is 0"),
        ({"monitor": {"draws": -1}}, "monitor.draws: expected `int` >= 0; it is -1"),
        ({"limits": {"seconds": float("nan")}}, "limits.seconds: expected `float` > 0.0; it is nan"),
        ({"limits": {"memory": 0}}, "limits.memory: expected `int` >= 1; it is 0"),
        ({"limits": {"retries": -1}}, "limits.retries: expected `int` >= 0; it is -1"),
        ({"budget": {"episodes": 10**20}}, "budget.episodes: expected `int` <= 1000000000; it is 1000"),
    ],
)
def test_numbers_that_cannot_be_are_refused(table, said):
    with pytest.raises(FileError, match=said):
        checked(Settings, {"task": "locomotion"} | table)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "json:JSONDecoder"}, 'task "json:JSONDecoder": it has no advice, which problems need'),
        ({"search": "hill"}, 'there is no search "hill"; there are default, map-elites, random, sims, steady, thesis'),
        ({"search": "nowhere:Search"}, 'there is no module "nowhere"'),
        ({"search": "math:Search"}, 'module math has no "Search"'),
        ({"task": "tests.evolve.toy:Reach", "of_task": {"trap": 3}}, "of_task of tests.evolve.toy:Reach: trap: exp"),
        ({"of_search": {"ladder": [4, 2]}}, "of_search of default: ladder is .*, and must rise"),
        ({"of_search": {"popluation": 4}}, "popluation: there is no such setting; there are population, founders"),
    ],
)
def test_what_does_not_exist_is_refused_before_there_is_a_file(changes, said, tmp_path):
    of = settings()
    bad = Settings(**{name: getattr(of, name) for name in of.__struct_fields__} | changes)
    with pytest.raises(ValueError, match=said):
        begin(tmp_path / "run.db", bad, trust=[Reach, "json", "nowhere", "math"])
    assert not list(tmp_path.iterdir())


class Bare:
    """A problem whose genotypes cannot be mixed."""

    name, descriptors = "bare", ()
    advice = founder = mutate = viable = evaluate = warm = staticmethod(lambda *some: {})


@pytest.mark.parametrize("search", ["thesis", "sims"])
def test_what_a_search_needs_of_a_problem_is_missed_before_there_is_a_run(search, tmp_path):
    of = checked(Settings, {"task": "tests.evolve.test_settings:Bare", "search": search})
    with pytest.raises(ValueError, match=f'it has no crossover, which search "{search}" needs'):
        begin(tmp_path / "run.db", of, trust=[Bare])
    assert not list(tmp_path.iterdir())
