"""Stores that somebody made on purpose: each command that reads one works, or says in a sentence what is wrong."""

from __future__ import annotations

import contextlib
import json
import resource
import sqlite3
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evolve.spoiled_stores import (
    SETTINGS,
    STATS,
    a_run,
    facts_rewritten,
    fill,
    genome_rewritten,
    rewritten,
    write,
)
from tests.needs import linux

from kinemorph import cli
from kinemorph._files import FileError
from kinemorph.creatures.gallery import handmade
from kinemorph.evolve.experiment import problem_in, resume, search_of, settings_in
from kinemorph.evolve.report import lineage, report
from kinemorph.evolve.rescore import champion_of
from kinemorph.evolve.store.run_store import Store, StoreError
from kinemorph.evolve.store.validation import LARGEST_VALUE_BYTES

WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 3, 10**30, 1.5, -1e300, "", "x", "\u0000", "locomotion", [], [1], [[]], {}, {"a": 1}, {"": None},
    [[[[[[[]]]]]]],
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_run(tmp_path_factory.mktemp("whole") / "run.db")


@pytest.fixture
def file(whole: Path, tmp_path: Path) -> Path:
    """A copy of a small run, to be spoiled."""
    with sqlite3.connect(whole) as one, sqlite3.connect(tmp_path / "run.db") as other:
        one.backup(other)
    one.close()
    other.close()
    return tmp_path / "run.db"


def read(file: Path) -> str:
    """All that commands read of a run, without the lives; what was said of it, nothing if it is good."""
    try:
        report([file], file.with_suffix(".html"), lambda store, g, rank: {"measure": len(champion_of(store, g, rank))})
        with Store.open(file) as store:
            lineage(store, file.with_suffix(".csv"))
            of = settings_in(store)
            search_of(of, problem_in(store), lambda place: str(file), store.trust)
        resume(file)[0].close()
    except ValueError as error:
        said = str(error)
        assert said.startswith(str(file)) or "of_search" in said, said
        assert "\n" not in said
        assert len(said) < 900
        return said
    return ""


def test_a_good_run_is_read(file: Path) -> None:
    assert read(file) == ""


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a value of JSON."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in pairs for place in places(one, (*at, key)))]


def put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """A value with another one at a place."""
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = put(value[at[0]], at[1:], new)
    return copy


def texts(file: Path) -> list[tuple[str, str, Any]]:
    """All texts of JSON in a run: table, column or name of a fact, and what is in it."""
    db = sqlite3.connect(file)
    facts = [("run", name, json.loads(text)) for name, text in db.execute("SELECT name, value FROM run")]
    others = [
        (table, column, json.loads(db.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()[0]))
        for table, column in (("generation", "stats"), ("individual", "parents"), ("evaluation", "details"))
    ]
    db.close()
    return facts + others


@pytest.mark.parametrize("seed", range(8))
def test_json_of_a_wrong_kind_anywhere_is_a_sentence(seed: int, file: Path, tmp_path: Path) -> None:
    rng, found, original = np.random.default_rng(seed), texts(file), file.read_bytes()
    said = []
    for _ in range(25):
        table, name, value = found[int(rng.integers(len(found)))]
        here = places(value)
        new = put(value, here[int(rng.integers(len(here)))], WRONG[int(rng.integers(len(WRONG)))])
        if table == "run":
            facts_rewritten(file, name, new)
        else:
            rewritten(file, table, name, lambda _, new=new: new)
        said.append(read(file))
        for one in tmp_path.glob("run.db*"):
            one.unlink()
        file.write_bytes(original)
    assert sum(map(bool, said)) > 5  # most of these are wrong


COLUMNS = [
    (table, column)
    for table, columns in {
        "run": ("name", "value"),
        "generation": ("g", "status", "stats"),
        "individual": ("id", "g", "parents", "op", "age", "genome_hash"),
        "genome": ("hash", "g", "kept", "blob"),
        "standing": ("g", "rank", "individual", "score"),
        "evaluation": (
            "g", "individual", "draw", "seed", "level", "score", "thesis", "measure", "reason", "steps", "details",
            "attempt", "golden", "seconds",
        ),
    }.items()
    for column in columns
]  # fmt: skip
VALUES = ("'text'", "x'0011'", "x'ff'", "1.5", "9e999", "-7", "1 << 62", "CAST(x'ff00fe' AS TEXT)", "''", "NULL")


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_each_column_of_a_wrong_type_is_a_sentence(table: str, column: str, file: Path, tmp_path: Path) -> None:
    """Also where SQLite would have refused to write it: the schema is another one while that is done."""
    original, refused = file.read_bytes(), 0
    for value in VALUES:
        # untyped, the column takes what it is given
        db = sqlite3.connect(file, isolation_level=None)
        (text,) = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        db.close()
        kind = next(k for k in ("INTEGER PRIMARY KEY", "INTEGER", "REAL", "TEXT", "BLOB") if f"{column} {k}" in text)
        loose = text.replace(f"{column} {kind} NOT NULL", column).replace(
            f"{column} {kind} PRIMARY", f"{column} PRIMARY"
        )
        write(file, ("UPDATE sqlite_master SET sql = ? WHERE name = ?", (loose, table)))
        with contextlib.suppress(sqlite3.IntegrityError):  # a key cannot be so
            write(file, f"UPDATE {table} SET {column} = {value} WHERE {column} = (SELECT max({column}) FROM {table})")
        write(file, ("UPDATE sqlite_master SET sql = ? WHERE name = ?", (text, table)))
        refused += bool(read(file))
        for one in tmp_path.glob("run.db*"):
            one.unlink()
        file.write_bytes(original)
    assert refused >= 2


@pytest.mark.parametrize(
    "command",
    [
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER more AFTER INSERT ON run BEGIN DELETE FROM genome; END",
        "CREATE TABLE more (a)",
        "CREATE INDEX more ON evaluation (abs(score))",
        "ALTER TABLE individual ADD COLUMN more INTEGER GENERATED ALWAYS AS (id * 2) VIRTUAL",
        "DROP TABLE standing",
        "CREATE VIRTUAL TABLE more USING fts5(a)",
    ],
)
def test_a_schema_that_is_not_ours_is_refused(command: str, file: Path) -> None:
    write(file, command)
    assert "of kinemorph" in read(file)


@pytest.mark.parametrize("table", ["individual", "evaluation", "generation", "genome", "standing"])
def test_a_view_that_never_ends_is_not_asked(table: str, file: Path) -> None:
    """In the place of a table, with its columns."""
    db = sqlite3.connect(file)
    names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    db.close()
    columns = ", ".join(f"n AS {name}" for name in names)
    write(
        file,
        f"DROP TABLE {table}",
        f"CREATE VIEW {table} AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
        f" SELECT {columns} FROM c",
    )
    assert f"{table}" in (said := read(file))
    assert "is not as in a run of kinemorph" in said


def test_what_takes_longer_than_its_size_should_is_broken_off(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages can name each other in ways that take for ever: here the limit is made so small that any file is such."""
    monkeypatch.setattr("kinemorph.evolve.store.validation._AT_LEAST", 0)
    monkeypatch.setattr("kinemorph.evolve.store.validation._EACH_BYTE", 0)
    monkeypatch.setattr("kinemorph.evolve.store.validation._STEPS", 1)
    assert "takes longer than its size should" in read(file)


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_ancestors_in_a_circle_are_refused(length: int, tmp_path: Path) -> None:
    file = a_run(tmp_path / "run.db")
    for one in range(2, 8):
        write(file, ("INSERT INTO individual VALUES (?, 0, ?, 'x', 0, x'00')", (one, f"[{one + 1}]")))
    chain = [1, *range(2, length + 1)]
    for one, parent in zip(chain, [*chain[1:], 1], strict=True):
        write(file, ("UPDATE individual SET parents = ? WHERE id = ?", (f"[{parent}]", one)))
    assert "descends from itself" in read(file)


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (zlib.compress(bytes(LARGEST_VALUE_BYTES + 1)), "it would have more than"),
        (zlib.compress(b"abc" * 100)[:-7], "its end is missing"),
        (b"no zlib", "is damaged"),
        (b"", "its end is missing"),
    ],
)
def test_a_genome_that_cannot_be_is_a_sentence(packed: bytes, said: str, file: Path) -> None:
    genome_rewritten(file, b"x", packed)
    assert said in read(file)


@linux
def test_a_small_genome_does_not_take_gigabytes(file: Path) -> None:
    """3 MB stood for 3 GB; here a thousandth of 512 MB."""
    packing = zlib.compressobj(1)
    packed = b"".join(packing.compress(bytes(1 << 24)) for _ in range(32)) + packing.flush()
    genome_rewritten(file, b"x", packed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "it would have more than" in read(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250_000  # kB


GENOTYPE = json.loads(handmade("worm").to_json())


@pytest.mark.parametrize("seed", range(3))
def test_a_genome_that_is_no_creature_is_a_sentence(seed: int, file: Path, tmp_path: Path) -> None:
    rng, original, here = np.random.default_rng(seed), file.read_bytes(), places(GENOTYPE)
    for _ in range(10):
        spoiled = put(GENOTYPE, here[int(rng.integers(len(here)))], WRONG[int(rng.integers(len(WRONG)))])
        genome_rewritten(file, json.dumps(spoiled).encode())
        if said := read(file):
            assert "the genome at rank 0 of generation" in said
        for one in tmp_path.glob("run.db*"):
            one.unlink()
        file.write_bytes(original)


def test_a_journal_that_names_another_file_is_not_played_back(file: Path, tmp_path: Path) -> None:
    """SQLite deletes the file that a journal names in its end, once it has played it back."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"dear")
    name = str(victim).encode()
    sum_of = sum(name).to_bytes(4, "big")
    end = b"\0\0\0\1" + name + len(name).to_bytes(4, "big") + sum_of + bytes.fromhex("d9d505f920a163d7")
    for place in ("run.db-journal", "run.db.lock-journal"):
        (tmp_path / place).write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(504) + end)
        with pytest.raises(StoreError, match=f"{place}: it names another file"):
            Store.open(file, write=True)
        (tmp_path / place).unlink()
    assert victim.read_bytes() == b"dear"


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("write", [False, True])
def test_a_link_to_a_run_hides_no_journal_that_names_another_file(
    write: bool, links: int, file: Path, tmp_path: Path
) -> None:
    """SQLite looks for journals beside what a link leads to, and so deleted the file that one of them names."""
    victim, name = tmp_path / "victim", str(tmp_path / "victim").encode()
    victim.write_bytes(b"dear")
    with sqlite3.connect(file, isolation_level=None) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("PRAGMA cache_size=1")
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO genome VALUES (x'00', 0, 0, zeroblob(400000))")
        hot = file.with_name("run.db-journal").read_bytes()
        db.execute("ROLLBACK")
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    lock_page = ((1 << 30) // size + 1).to_bytes(4, "big")
    end = lock_page + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    file.with_name("run.db-journal").write_bytes(hot + end + bytes.fromhex("d9d505f920a163d7"))
    (tmp_path / "elsewhere").mkdir()
    link = file
    for k in range(links):
        link, to = tmp_path / "elsewhere" / f"link{k}.db", link
        link.symlink_to(to)
    with pytest.raises(StoreError, match=r"run\.db-journal: it names another file"):
        Store.open(link, write=write)
    assert victim.read_bytes() == b"dear"


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm", ".lock", ".lock-journal", ".lock-wal"])
def test_links_beside_a_run_lead_nowhere(end: str, file: Path, tmp_path: Path) -> None:
    """Of another file, and of one that is not there yet, whether the run is there or is made."""
    for there in (True, False):
        victim = tmp_path / "victim"
        if there:
            victim.write_bytes(b"dear")
        for run in (file, tmp_path / "new.db"):
            (beside := run.with_name(run.name + end)).unlink(missing_ok=True)
            beside.symlink_to(victim)
            with pytest.raises(StoreError, match=r"it is a symbolic link to another file"):
                Store.open(run, write=True) if run == file else Store.create(run, {})
            beside.unlink()
        assert victim.read_bytes() == b"dear" if there else not victim.exists()
        victim.unlink(missing_ok=True)


@pytest.mark.parametrize("content", [b"no database", bytes(5000), b"SQLite format 3\0" + bytes(200)])
def test_a_lock_that_is_no_database_is_a_sentence(content: bytes, file: Path) -> None:
    file.with_name("run.db.lock").write_bytes(content)
    with pytest.raises(StoreError, match=r"run\.db: it cannot be written there \(.*"):
        Store.open(file, write=True)


def test_the_descent_is_not_written_through_a_link(file: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"dear")
    (tmp_path / "run.lineage.csv").symlink_to(victim)
    with Store.open(file) as store:
        written = lineage(store, tmp_path / "run.lineage.csv")
    assert victim.read_bytes() == b"dear"
    assert written.read_text().startswith("id,ancestor_list")
    assert not written.is_symlink()


@pytest.mark.parametrize("what", ["settings", "code", "versions", "processor", "version"])
def test_a_fact_that_is_missing_is_a_sentence(what: str, file: Path) -> None:
    write(file, ("DELETE FROM run WHERE name = ?", (what,)))
    assert what in read(file) or "format 0" in read(file)


def test_a_life_of_more_steps_than_any_is_refused(file: Path) -> None:
    for of_task in ({"seconds": 1e9}, {"seconds": 1.0, "dt": 1e-8}, {"patience": 1e9}):
        facts_rewritten(file, "settings", SETTINGS | {"of_task": of_task})
        assert "more than 1000000 steps" in read(file)


@pytest.mark.parametrize("command", ["view", "replay", "rescore", "report", "evolve"])
def test_commands_say_it_in_one_sentence(
    command: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of them opens the store first; so a few kinds of damage stand for all."""
    original = file.read_bytes()
    for k, damage in enumerate((
        lambda: write(file, "UPDATE genome SET blob = 'text'"),
        lambda: facts_rewritten(file, "settings", [1]),
        lambda: facts_rewritten(file, "settings", SETTINGS | {"of_task": {"seconds": "x"}}),
        lambda: write(file, "UPDATE evaluation SET score = 'high'"),
        lambda: write(file, "CREATE VIEW a AS SELECT 1"),
        lambda: genome_rewritten(file, b'{"schema": "kinemorph.genotype", "version": 1, "nodes": 3}'),
    )):  # fmt: skip
        damage()
        words = {"report": [str(file), "--out", str(tmp_path / "page.html")], "evolve": ["--resume", str(file)]}
        monkeypatch.setattr(sys, "argv", ["kinemorph", command, *words.get(command, [str(file)])])
        if command == "evolve" and k == 5:
            break  # whoever goes on with a run makes its genomes again
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr().err
        assert end.value.code == 2
        assert said.startswith(f"kinemorph: {file}: ")
        assert said.count("\n") == 1
        for one in tmp_path.glob("run.db*"):
            one.unlink()
        file.write_bytes(original)


def test_what_the_map_needs_and_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("ribs")
    file = a_run(tmp_path / "run.db", search="map-elites", of_search={})
    assert read(file) == ""
    for change in ("UPDATE evaluation SET details = '{}'", "UPDATE evaluation SET individual = individual + 5"):
        write(file, change)
        assert "nothing says where individual" in read(file)


def test_the_helpers_of_these_tests_make_runs_that_are_whole(tmp_path: Path) -> None:
    with Store.create(tmp_path / "run.db", {"settings": SETTINGS}) as store:
        fill(store, handmade("spider").to_json())
        assert store.last == 1
        assert store.generations()[0][1].episodes == STATS["episodes"]
    with pytest.raises(FileError, match="no rank 3"), Store.open(tmp_path / "run.db") as store:
        champion_of(store, 0, 3)
