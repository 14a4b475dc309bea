"""Settings: from TOML, each mistake with its place."""

from __future__ import annotations

import pytest
from tests.evolve.test_runs import settings

from kinemorph._files import FileError
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
    found = search_of(loaded, problem_of(loaded))
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
    found = search_of(of, problem_of(of)).settings
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
    ("changes", "said"),
    [
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
        begin(tmp_path / "run.db", bad)
    assert not list(tmp_path.iterdir())
