"""The store: whole after any accident, and one sentence about each."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.evolve.test_runs import settings
from tests.evolve.toy import Reach
from tests.needs import linux

from kinemorph.evolve.evaluators.job import Individual, Job, Result
from kinemorph.evolve.experiment import begin, evolve, resume
from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.evolve.report import report
from kinemorph.evolve.store.run_store import Store, StoreError

pytestmark = pytest.mark.quick


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A run that has ended."""
    of = settings(budget={"generations": 3})
    with begin(tmp_path / "run.db", of, trust=[Reach]) as store:
        evolve(store, of)
    return tmp_path / "run.db"


def test_a_result_is_kept_bit_for_bit(tmp_path):
    job = Job(2, 5, "genotype", (Draw(0, 2**62, 0.1), Draw(3, 7)), (1, 2), "graft", 4)
    outcomes = (Outcome(0.1 + 0.2, 1e-300, -0.0, "", 3, {"a": 1 / 3}), Outcome(-1.0, reason="exploit"))
    result = Result(2, 5, job.draws, outcomes, 1, False, 0.5)
    with Store.create(tmp_path / "run.db", {}) as store:
        store.keep(job, result)
        assert store.known(job) == result
        assert store.known(Job(3, 5, "genotype", job.draws)) is None
        assert not store.golden
        with pytest.raises(StoreError, match="individual 5 is another one"):
            store.known(Job(2, 5, "another", job.draws))
    with Store.open(tmp_path / "run.db") as store:
        assert store.known(job) == result


def test_genomes_of_the_best_are_there_and_of_others_a_sentence(tmp_path):
    of = settings("thesis")
    with begin(tmp_path / "run.db", of, trust=[Reach]) as store:
        evolve(store, of)
        for standing in store.standings(rank=0):
            assert json.loads(store.genotype(standing.generation, 0))
        last = store.standings()[-1].generation
        assert json.loads(store.genotype(last, 11))
        with pytest.raises(StoreError, match="rank 11 of generation 1 was not kept"):
            store.genotype(1, 11)
        with pytest.raises(StoreError, match=f"no rank 0 in generation 99; the last generation is {last}"):
            store.genotype(99, 0)


def test_two_may_not_write_but_anyone_may_read(file):
    with resume(file, [Reach])[0]:
        with pytest.raises(StoreError, match="another process is writing to it"):
            resume(file, [Reach])
        with Store.open(file) as reader:
            assert reader.standings()


def test_a_run_is_not_overwritten(file):
    with pytest.raises(StoreError, match="there is a run already; resume it, or name another file"):
        begin(file, settings(), trust=[Reach])


@linux
def test_a_run_that_was_not_begun_to_the_end_is_not_there(tmp_path, monkeypatch):
    file = tmp_path / "run.db"
    monkeypatch.setattr("kinemorph.evolve.store.run_store._TABLES", "CREATE TABLE run (a); CREATE TABLE run (b);")
    with pytest.raises(StoreError, match=r"run.db: the run cannot be written there \(.*\); make room, or name another"):
        begin(file, settings(), trust=[Reach])
    monkeypatch.undo()
    monkeypatch.setattr(Path, "rename", lambda new, to: os._exit(9))  # killed just before it is whole
    if not (pid := os.fork()):
        begin(file, settings(), trust=[Reach])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert not file.exists()
    monkeypatch.undo()
    Path(f"{file}-wal").write_bytes(b"of a run that was deleted")
    with begin(file, settings(), trust=[Reach]) as store:
        assert store.facts["settings"]["seed"] == settings().seed


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "run.db.lock").mkdir()  # as good as a folder where nothing can be made, even for root
    with pytest.raises(StoreError, match=r"run.db: it cannot be written there \(unable to open database file\)"):
        begin(tmp_path / "run.db", settings(), trust=[Reach])


def test_a_run_is_read_where_nothing_can_be_written(file, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    beside = sorted(file.parent.iterdir())
    with Store.open(file) as store:
        assert store.standings()
        assert sorted(file.parent.iterdir()) == beside


def test_a_locked_store_says_so_and_stays_whole(file):
    before = file.read_bytes()
    with Store.open(file, write=True) as store:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store._db.execute("PRAGMA busy_timeout=10")
        with pytest.raises(StoreError, match="another program has locked it; end that one and resume"):
            store.note("x", 1)
        other.close()
    assert file.read_bytes() == before


@pytest.mark.parametrize("place", [0, 0.25, 0.5])
def test_a_damaged_store_says_so(file, place):
    content = bytearray(file.read_bytes())
    start = int(place * len(content))
    content[start : start + 20000] = bytes(np.random.default_rng(0).integers(0, 256, 20000, dtype=np.uint8))
    file.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        Store.open(file)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE evaluation SET details = '{\"a\": 1'",
        "UPDATE evaluation SET details = CAST(x'7b22cd22' AS TEXT)",
        "UPDATE run SET value = '{' WHERE name = 'code'",
        "UPDATE generation SET stats = '{' WHERE g = 0",
        "UPDATE generation SET stats = CAST(x'7b22cd22' AS TEXT)",
    ],
)
def test_a_damaged_text_says_so(file, damage, tmp_path):
    db = sqlite3.connect(file)
    db.execute(damage)
    db.commit()
    db.close()
    reads = (
        partial(report, [file], tmp_path / "page.html")
        if "generation" in damage
        else lambda: evolve(*resume(file, [Reach]))
    )
    with pytest.raises(StoreError, match=r"run.db: it is damaged; some of its rows are no longer what was written"):
        reads()


def test_a_damaged_genome_says_so(file):
    db = sqlite3.connect(file)
    db.execute("UPDATE genome SET blob = zeroblob(length(blob))")
    db.commit()
    db.close()
    with Store.open(file) as store, pytest.raises(StoreError, match="rank 0 of generation 0 is damaged"):
        store.genotype(0, 0)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no such run"):
        Store.open(tmp_path / "none.db")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE a (b)").connection.close()
    with pytest.raises(StoreError, match="not a run of kinemorph"):
        Store.open(tmp_path / "other.db")


def test_other_code_is_refused(file):
    with Store.open(file, write=True) as store:
        store.note("code", store.facts["code"] | {"tests.evolve.toy": "0123456789abcdef"})
    with pytest.raises(StoreError, match=r"begun with other code \(tests.evolve.toy 0123456789abcdef, now \w+\)"):
        resume(file, [Reach])
    with Store.open(file) as store:
        assert store.standings()


def test_the_code_of_a_task_of_ones_own_is_known(tmp_path, monkeypatch):
    (tmp_path / "of_mine.py").write_text("from kinemorph.creatures.tasks import JumpUp\nclass Hop(JumpUp): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with begin(tmp_path / "run.db", settings(task="of_mine:Hop", of_task={}, of_search={}), trust=["of_mine"]) as store:
        assert store.facts["code"].keys() >= {"of_mine", "kinemorph.evolve.creature_problem"}


@linux
def test_a_full_disk_is_a_sentence_and_the_run_goes_on_when_there_is_room(tmp_path):
    of = settings()
    with begin(tmp_path / "whole.db", of, trust=[Reach]) as store:
        evolve(store, of)
        whole = store.golden_hash()
    begin(tmp_path / "full.db", of, trust=[Reach]).close()
    code = (
        "import resource, signal, sys; from kinemorph.evolve.experiment import evolve, resume\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "store, of = resume(sys.argv[1], ['tests.evolve.toy'])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))\n"
        "evolve(store, of)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "full.db")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert "StoreError" in ended.stderr
    assert "what was committed is intact: make room, and resume" in ended.stderr
    store, of = resume(tmp_path / "full.db", [Reach])
    with store:
        evolve(store, of)
        assert store.golden_hash() == whole


def test_a_long_run_stays_small(tmp_path):
    # 300 individuals with genomes of 5 kB, as those of creatures are; 20 generations of 200
    rng = np.random.default_rng(0)
    with Store.create(tmp_path / "run.db", {}) as store:
        number = 0
        for generation in range(20):
            population = []
            for _ in range(300):
                number += 1
                numbers = rng.normal(size=110)
                one = Individual(number, generation, json.dumps([{"weight": x, "name": "neuron"} for x in numbers]))
                job = one.job(generation, (Draw(0, int(rng.integers(1 << 62))),))
                details = {"speed": float(rng.normal()), "energy": float(rng.normal())}
                outcome = Outcome(float(rng.normal()), 1.0, 1.0, "", 5000, details)
                store.keep(job, Result(generation, number, job.draws, (outcome,)))
                one.outcomes[job.draws[0]] = outcome
                population.append(one)
            store.complete(generation, population, {})
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < 50e6 / 10
