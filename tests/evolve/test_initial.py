"""A search begins with the genotypes of files: a run keeps them, and is the same however it is computed."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from tests.evolve.test_runs import BreaksOff, BrokenOffError
from tests.evolve.toy import Reach

from kinemorph._files import FileError
from kinemorph.creatures import random_genotype, save_genotype
from kinemorph.evolve.experiment import begin, evolve, problem_of, resume
from kinemorph.evolve.initial import initial_genotypes
from kinemorph.evolve.settings import SEARCHES, Settings, checked, load_settings
from kinemorph.evolve.store.run_store import Store

TASK = "tests.evolve.toy:Reach"
TRUST = [Reach]


def settings(files, search="default", **changes):
    table = {"task": TASK, "search": search, "seed": 3, "evaluator": "serial", "budget": {"generations": 3}}
    return checked(Settings, table | {"initial": [str(file) for file in files]} | changes)


@pytest.fixture
def files(tmp_path):
    """Arms that founders are not like."""
    found = []
    for k, lengths in enumerate([[0.5, 0.5], [1.0, 0.2, 0.1], [0.9]]):
        found.append(tmp_path / f"{k}.json")
        found[-1].write_text(json.dumps([[length, 0.0, 1.0] for length in lengths]) + "\n")
    return found


def first(store):
    """Operators and genotypes of the first generation, as far as they are kept, in the order of birth."""
    people = {row["id"]: row["op"] for row in store.table("individual") if row["g"] == 0}
    ranks = {one.individual: one.rank for one in store.standings() if one.generation == 0}
    return [(people[one], store.genotype(0, ranks[one]) if one in ranks else None) for one in sorted(people)]


@pytest.mark.parametrize("search", sorted({*SEARCHES} - {"map-elites"}))
def test_every_search_begins_with_what_is_given(search, files, tmp_path):
    few = {} if search in ("default", "steady") else {"population": 8}
    of = settings(files, search, of_search=few)
    with begin(tmp_path / "run.db", of, trust=TRUST) as store:
        evolve(store, of)
        began = first(store)
    assert [op for op, _ in began[:4]] == ["given", "given", "given", "founder"]
    for file, (_, genotype) in zip(files, began):
        assert genotype in (None, file.read_text().strip())
    assert any(genotype for _, genotype in began[:3])


def test_a_run_keeps_what_it_began_with(files, tmp_path):
    """Its files may be gone when it is resumed."""
    of = settings(files)
    with begin(tmp_path / "whole.db", of, trust=TRUST) as store:
        evolve(store, of)
        whole = store.golden_hash()
    with begin(tmp_path / "random.db", settings([]), trust=TRUST) as store:
        evolve(store, settings([]))
        assert store.golden_hash() != whole
    with contextlib.suppress(BrokenOffError), begin(tmp_path / "part.db", of, trust=TRUST) as store:
        evolve(store, of, evaluator=BreaksOff(60, Reach()))
    for file in files:
        file.unlink()
    store, again = resume(tmp_path / "part.db", trust=TRUST)
    with store:
        assert evolve(store, again).reused > 20
        assert store.golden_hash() == whole


def test_a_run_goes_on_from_where_another_one_ended(files, tmp_path):
    of = settings(files, "thesis", of_search={"population": 10})
    with begin(tmp_path / "one.db", of, trust=TRUST) as store:
        evolve(store, of)
        last = [store.genotype(store.last, rank) for rank in range(10)]
    assert initial_genotypes([str(tmp_path / "one.db")], Reach()) == last
    more = settings([tmp_path / "one.db", files[0]], "thesis", of_search={"population": 20})
    with begin(tmp_path / "two.db", more, trust=TRUST) as store:
        evolve(store, more)
        assert [op for op, _ in first(store)].count("given") == 11


@pytest.mark.parametrize("seed", range(3))
def test_creatures_of_files_are_checked(seed, tmp_path):
    of = checked(Settings, {"task": "locomotion"})
    rng = np.random.default_rng(seed)
    problem, genotypes = problem_of(of), [random_genotype(rng) for _ in range(4)]
    names = [str(save_genotype(one, tmp_path / f"{k}.json")) for k, one in enumerate(genotypes)]
    assert initial_genotypes(names, problem) == [one.line() for one in genotypes]
    (tmp_path / "2.json").write_text((tmp_path / "2.json").read_text().replace('"nodes"', '"knots"'))
    with pytest.raises(FileError, match=r"2\.json: "):
        initial_genotypes(names, problem)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no arm", r"bad\.json: reach cannot read its genotype \(JSONDecodeError: "),
        (b"\xff\xfe", r"bad\.json: this is no text, and genotypes are text"),
        (b"SQLite format 3\0 and no more", r"bad\.json: .*not a run of kinemorph"),
        (None, r"bad\.json"),
    ],
)
def test_a_file_that_is_none_is_named_before_there_is_a_run(data, said, tmp_path):
    if data is not None:
        (tmp_path / "bad.json").write_bytes(data)
    with pytest.raises((OSError, ValueError), match=said):
        begin(tmp_path / "run.db", settings([tmp_path / "bad.json"]), trust=TRUST)
    assert not (tmp_path / "run.db").exists()


def test_files_are_beside_the_settings_that_name_them(files, tmp_path, monkeypatch):
    (tmp_path / "run.toml").write_text(f'task = "{TASK}"\ninitial = ["0.json", "2.json"]\n')
    monkeypatch.chdir("/")
    assert load_settings(tmp_path / "run.toml").initial == (str(files[0]), str(files[2]))
    assert load_settings(tmp_path / "run.toml", {"initial": [str(files[1])]}).initial == (str(files[1]),)


class Own:
    """A search that is no Planned."""

    def __init__(self, problem, seed, budget):
        pass

    def ask(self):
        return []

    def tell(self, result):
        pass


def test_a_search_that_takes_none_says_so(files, tmp_path):
    with pytest.raises(ValueError, match=r'search "tests\.evolve\.test_initial:Own" takes no initial population'):
        begin(tmp_path / "run.db", settings(files, "tests.evolve.test_initial:Own"), trust=[Reach, Own])


def test_what_a_run_began_with_is_not_changed_when_it_goes_on(files, tmp_path):
    from kinemorph.evolve.command import run_evolve as command

    of = settings(files)
    begin(tmp_path / "run.db", of, trust=TRUST).close()
    with pytest.raises(ValueError, match="only evaluator, workers and address may change"):
        command(None, {"initial": [str(files[0])]}, None, tmp_path / "run.db", trust=("tests.evolve.toy",))
    with Store.open(tmp_path / "run.db") as store:
        assert len(store.facts["initial"]) == 3


def test_the_command_takes_files_and_trust_together(files, tmp_path, capsys):
    """A file of settings names a task, which is trusted by its module; so does the run that is resumed."""
    from kinemorph.cli import evolve as command

    named = f'task = "{TASK}"\nseed = 3\nevaluator = "serial"\nbudget = {{generations = 3}}\n'
    (tmp_path / "run.toml").write_text(named + 'initial = ["0.json"]\n')
    (tmp_path / "plain.toml").write_text(named)
    ends = []
    for k, (toml, chosen) in enumerate([("run.toml", ()), ("plain.toml", (files[0],))]):
        words = {"initial": chosen, "out": tmp_path / f"{k}.db"}
        with pytest.raises(ValueError, match=f'task "{TASK}" is not one of kinemorph'):
            command(str(tmp_path / toml), **words)
        assert not (tmp_path / f"{k}.db").exists()
        command(str(tmp_path / toml), **words, trust=("tests.evolve.toy",), json=True)
        ends.append(json.loads(capsys.readouterr().out)["hash"])
    assert ends[0] == ends[1]
    with contextlib.suppress(BrokenOffError):
        of = load_settings(tmp_path / "run.toml")
        with begin(tmp_path / "part.db", of, trust=TRUST) as store:
            evolve(store, of, evaluator=BreaksOff(60, Reach()))
    with pytest.raises(ValueError, match=f'task "{TASK}" is not one of kinemorph'):
        command(resume=tmp_path / "part.db")
    command(resume=tmp_path / "part.db", trust=("tests.evolve.toy",), json=True)
    assert json.loads(capsys.readouterr().out)["hash"] == ends[0]


def test_the_command_takes_files(files, tmp_path, capsys):
    from kinemorph.cli import evolve as command

    chosen = (files[2], files[0])
    command(TASK, generations=2, seed=1, evaluator="serial", initial=chosen, out=tmp_path / "run.db", json=True)
    assert json.loads(capsys.readouterr().out)["thesis_best"] > 0.0
    with Store.open(tmp_path / "run.db") as store:
        assert store.facts["initial"] == [file.read_text().strip() for file in chosen]
        assert [op for op, _ in first(store)[:3]] == ["given", "given", "founder"]
