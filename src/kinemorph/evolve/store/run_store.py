"""A run on disk: one SQLite file that is whole at any moment, whichever process is killed.

Evaluations are committed as they arrive, once a second; a generation with its individuals and genomes in one
transaction. Everything but times is the same for the same seed, settings and code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kinemorph._files import FileError
from kinemorph._toml import checked
from kinemorph.evolve.evaluators.job import Individual, Job, Result, genome_key
from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.evolve.store.validation import LARGEST_VALUE_BYTES, check_run
from kinemorph.evolve.trust import Trust, trusted
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_choice

STORE_VERSION = 1
_COMMIT_PERIOD = 1.0  # seconds between two commits of evaluations
_EVERY = 10  # generations after which all genomes are kept
_ELITES = 3  # of each generation, whose genomes are kept

_TABLES = """
CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE generation (g INTEGER PRIMARY KEY, status TEXT NOT NULL, stats TEXT NOT NULL);
CREATE TABLE individual (id INTEGER PRIMARY KEY, g INTEGER NOT NULL, parents TEXT NOT NULL, op TEXT NOT NULL,
    age INTEGER NOT NULL, genome_hash BLOB NOT NULL);
CREATE TABLE genome (hash BLOB PRIMARY KEY, g INTEGER NOT NULL, kept INTEGER NOT NULL, blob BLOB NOT NULL);
CREATE TABLE standing (g INTEGER NOT NULL, rank INTEGER NOT NULL, individual INTEGER NOT NULL, score REAL NOT NULL,
    PRIMARY KEY (g, rank)) WITHOUT ROWID;
CREATE TABLE evaluation (g INTEGER NOT NULL, individual INTEGER NOT NULL, draw INTEGER NOT NULL, seed INTEGER NOT NULL,
    level REAL NOT NULL, score REAL NOT NULL, thesis REAL NOT NULL, measure REAL NOT NULL, reason TEXT NOT NULL,
    steps INTEGER NOT NULL, details TEXT NOT NULL, attempt INTEGER NOT NULL, golden INTEGER NOT NULL,
    seconds REAL NOT NULL, PRIMARY KEY (g, individual, draw)) WITHOUT ROWID;
"""


_BESIDE = ("-journal", "-wal", "-shm", ".lock", ".lock-journal", ".lock-wal", ".lock-shm")  # what SQLite may open
_NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")  # how a journal ends that does
_GENOME = "INSERT INTO genome VALUES (?, ?, ?, ?) ON CONFLICT(hash) DO UPDATE SET kept = kept OR excluded.kept"


class StoreError(FileError):
    """A store that cannot be read or written. What was committed before is still there."""


class Standing(NamedTuple):
    """An individual's rank in a complete generation."""

    generation: int
    rank: int
    individual: int
    score: float


class Born(NamedTuple):
    """An individual's descent."""

    generation: int
    parents: tuple[int, ...]
    operator: str
    genome_hash: bytes


class Stats(msgspec.Struct, frozen=True):
    """The statistics of a generation; those that are not defined are None."""

    episodes: int
    best: float | None
    mean: float | None
    measure: float | None
    heritability: float | None
    rejected: dict[str, int]
    age: float | None
    families: int
    thesis_best: float | None = None  # by the thesis's formula; runs of earlier versions do not have it
    thesis_mean: float | None = None


@checked_first
class Store:
    """One run. Only one process may write to it; any number may read."""

    def __init__(
        self, file: Path | str, connection: sqlite3.Connection, lock: sqlite3.Connection | None, trust: Trust = ()
    ) -> None:
        self.file = Path(file)
        self.trust = trusted(trust)  # where a task or a search of the user's own is looked up
        self._db, self._lock = connection, lock
        self._last = time.monotonic()
        self._born: set[int] = set()
        self._told: set[tuple[int, int]] = set()  # generation and individual of all evaluations
        self.completed: set[int] = set()  # generations

    # ------------------------------------------------------------------------------------- opening, closing

    @classmethod
    def create(cls, file: Path | str, facts: dict[str, Any], trust: Trust = ()) -> Store:
        """A new run; `facts` say what it is: settings, seed, code, versions, processor."""
        file = Path(file)
        if file.exists():
            raise StoreError(f"{file}: there is a run already; resume it, or name another file")
        file.parent.mkdir(parents=True, exist_ok=True)
        _refuse_companions(file)
        lock = _lock(file)
        try:
            _make(file, {"version": STORE_VERSION, **facts})
            with store_errors(file):
                db = sqlite3.connect(file, isolation_level=None)
                db.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            lock.close()
            raise
        return cls(file, db, lock, trust)

    @classmethod
    def open(cls, file: Path | str, write: bool = False, trust: Trust = ()) -> Store:
        """A run that is there, to read or to go on with.

        If its task or its search is not kinemorph's own: `trust` are classes, or modules by their names or files.
        """
        file = Path(file)
        if not file.is_file():
            raise StoreError(f"{file}: there is no such run")
        file = Path(os.path.realpath(file)) if file.is_symlink() else file  # SQLite looks beside what a link leads to
        _refuse_companions(file)
        lock = _lock(file) if write else None
        try:
            with store_errors(file):
                db = sqlite3.connect(_address(file, write), uri=True, isolation_level=None)
                check_run(file, db, _TABLES, write)
            store = cls(file, db, lock, trust)
            store._read()
        except BaseException:
            if lock is not None:
                lock.close()
            raise
        return store

    def _read(self) -> None:
        """Read the format and the keys of an existing run."""
        if (version := self.fact("version", int, 0)) != STORE_VERSION:
            raise StoreError(f"{self.file}: it has format {version}; this kinemorph reads {STORE_VERSION}")
        self._born = {row[0] for row in self._rows("SELECT id FROM individual")}
        self._told = set(self._rows("SELECT DISTINCT g, individual FROM evaluation"))
        self.completed = {row[0] for row in self._rows("SELECT g FROM generation")}

    def close(self) -> None:
        if self._db.in_transaction:
            with contextlib.suppress(StoreError):
                self._execute("COMMIT")
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------- writing

    def keep(self, job: Job, result: Result) -> None:
        """A result that was told to the search."""
        self._begin()
        if job.individual not in self._born:
            self._born.add(job.individual)
            parents, genome = json.dumps(job.parents), _digest(job.genotype)
            born = (job.individual, job.generation, parents, job.operator, job.age, genome)
            self._execute("INSERT INTO individual VALUES (?, ?, ?, ?, ?, ?)", born)
        self._told.add((result.generation, result.individual))
        for draw, outcome in zip(result.draws, result.outcomes):
            row = (
                result.generation, result.individual, draw.number, draw.seed, draw.level, outcome.score, outcome.thesis,
                outcome.measure, outcome.reason, outcome.steps, msgspec.json.encode(outcome.details).decode(),
                result.attempt, result.golden, result.seconds / len(result.draws),
            )  # fmt: skip
            self._execute("INSERT INTO evaluation VALUES (" + ", ".join("?" * 14) + ")", row)
        if time.monotonic() - self._last > _COMMIT_PERIOD:
            self.commit()

    def complete(self, generation: int, population: Sequence[Individual], stats: dict[str, Any]) -> None:
        """Write a complete generation: its population by rank, and its genomes, in place of all not `kept`."""
        self._begin()
        self.completed.add(generation)
        self._execute("INSERT INTO generation VALUES (?, 'complete', ?)", (generation, json.dumps(stats)))
        self._execute("DELETE FROM genome WHERE NOT kept")  # of the previous population
        for rank, one in enumerate(population):
            score = max(one.fitness(), -1e300)
            self._execute("INSERT INTO standing VALUES (?, ?, ?, ?)", (generation, rank, one.number, score))
            kept = rank < _ELITES or generation % _EVERY == 0
            row = (_digest(one.genotype), generation, kept, zlib.compress(one.genotype.encode()))
            self._execute(_GENOME, row)
        self.commit()

    def note(self, name: str, value: Any) -> None:
        """A fact about the run."""
        self._begin()
        self._execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (name, json.dumps(value)))
        self.commit()

    def commit(self) -> None:
        if self._db.in_transaction:
            self._execute("COMMIT")
        self._last = time.monotonic()

    # ---------------------------------------------------------------------------------------------- reading

    @property
    def facts(self) -> dict[str, Any]:
        with store_errors(self.file):
            return {name: json.loads(value) for name, value in self._rows("SELECT name, value FROM run")}

    def fact(self, name: str, kind: Any, usual: Any = ...) -> Any:
        """A fact about the run, of some kind; `usual` if it is not there."""
        with store_errors(self.file):
            known = name.encode("utf-8", "replace").decode()  # SQLite has no text with lone surrogates
            row = next(self._rows("SELECT value FROM run WHERE name = ?", (known,)), None)
            if row is not None:
                return checked(kind, json.loads(row[0]), lambda place: f"{self.file}: {name}")
        if usual is ...:
            raise StoreError(f"{self.file}: it does not say its {name}; take the run from where it was made")
        return usual

    def generations(self) -> list[tuple[int, Stats]]:
        """Those that are complete, and what is known of each."""
        with store_errors(self.file):
            rows = self._rows("SELECT g, stats FROM generation ORDER BY g")
            return [(g, msgspec.json.decode(stats, type=Stats)) for g, stats in rows]

    def people(self) -> dict[int, Born]:
        """All individuals by their numbers."""
        with store_errors(self.file):
            rows = self._rows("SELECT id, g, parents, op, genome_hash FROM individual ORDER BY id")
            return {
                one: Born(g, msgspec.json.decode(parents, type=tuple[int, ...]), op, genome)
                for one, g, parents, op, genome in rows
            }

    def details(self, below: int) -> list[tuple[int, dict[str, float]]]:
        """Individuals, and what is known of each of their lives, on draws whose number is below this one."""
        with store_errors(self.file):
            rows = self._rows("SELECT individual, details FROM evaluation WHERE draw < ?", (below,))
            return [(one, msgspec.json.decode(details, type=dict[str, float])) for one, details in rows]

    def known(self, job: Job) -> Result | None:
        """The result of a job, if it was told before."""
        if (job.generation, job.individual) not in self._told:
            return None
        of = self._rows("SELECT genome_hash FROM individual WHERE id = ?", (job.individual,))
        (genome,) = next(of, (None,))
        query = (
            "SELECT draw, seed, level, score, thesis, measure, reason, steps, details, attempt, golden, seconds"
            " FROM evaluation WHERE g = ? AND individual = ?"
        )
        rows = list(self._rows(query, (job.generation, job.individual)))
        found = {Draw(*row[:3]): row for row in rows}
        if not any(draw.number == row[0] for row in rows for draw in job.draws):
            return None
        if genome != _digest(job.genotype) or not all(draw in found for draw in job.draws):
            raise StoreError(
                f"{self.file}: individual {job.individual} is another one than this code and these settings make;"
                " the run was made by others"
            )
        kept = [found[draw] for draw in job.draws]
        with store_errors(self.file):
            outcomes = tuple(_outcome(*row[3:9]) for row in kept)
        _, _, _, *_, attempt, golden, seconds = kept[0]
        return Result(
            job.generation, job.individual, job.draws, outcomes, attempt, bool(golden), seconds * len(job.draws)
        )

    def standings(self, rank: int | None = None) -> list[Standing]:
        """All ranks of all generations, or one rank of each."""
        where = "" if rank is None else " WHERE rank = ?"
        rows = self._rows(
            f"SELECT g, rank, individual, score FROM standing{where} ORDER BY g, rank", () if rank is None else (rank,)
        )
        return [Standing(*row) for row in rows]

    @property
    def last(self) -> int:
        """The last generation that is complete."""
        last: int | None = next(self._rows("SELECT max(g) FROM generation"))[0]
        if last is None:
            raise StoreError(f"{self.file}: no generation is complete yet")
        return last

    def genotype(self, generation: int, rank: int) -> str:
        """The genotype of the individual at a rank of a generation."""
        rows = self._rows(
            "SELECT blob, genome_hash FROM standing JOIN individual ON individual = id"
            " LEFT JOIN genome ON hash = genome_hash WHERE standing.g = ? AND rank = ?",
            (generation, rank),
        )
        row = next(rows, None)
        if row is None:
            raise StoreError(
                f"{self.file}: there is no rank {rank} in generation {generation}; the last generation is {self.last}"
            )
        if row[0] is None:
            raise StoreError(
                f"{self.file}: the genome at rank {rank} of generation {generation} was not kept; kept are the first"
                f" {_ELITES} of each, all of every {_EVERY}th, and all of the last"
            )
        with contextlib.suppress(zlib.error, UnicodeDecodeError):
            genotype = self._inflated(row[0]).decode()
            if _digest(genotype) == row[1]:
                return genotype
        raise StoreError(f"{self.file}: the genome at rank {rank} of generation {generation} is damaged")

    def _inflated(self, blob: bytes) -> bytes:
        """A genome, if it is no bigger than one may be: a few kilobytes can stand for gigabytes."""
        inflating = zlib.decompressobj()
        genome = inflating.decompress(blob, LARGEST_VALUE_BYTES)
        if not inflating.eof:
            too_long = len(genome) == LARGEST_VALUE_BYTES
            why = f"it would have more than {LARGEST_VALUE_BYTES} bytes" if too_long else "its end is missing"
            raise StoreError(f"{self.file}: a genome is damaged: {why}")
        return genome

    def table(self, name: str) -> Iterator[dict[str, Any]]:
        """All rows of a table, in the order of its key."""
        check_choice("Store.table: name", name, re.findall(r"CREATE TABLE (\w+)", _TABLES))
        with store_errors(self.file):
            cursor = self._db.execute(f"SELECT * FROM {name}")
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row))

    def golden_hash(self) -> str:
        """Over all that the seed, settings and code decide: nothing about times, attempts or workers."""
        digest = hashlib.sha256()
        for row in self._rows("SELECT id, g, parents, op, age, genome_hash FROM individual ORDER BY id"):
            digest.update(repr(row).encode())
        for row in self._rows(
            "SELECT g, individual, draw, seed, level, score, thesis, measure, reason, steps, details"
            " FROM evaluation ORDER BY g, individual, draw"
        ):
            bits = struct.pack("<3d", *row[5:8])  # repr would do; bits leave no doubt
            digest.update(repr((*row[:5], bits, *row[8:])).encode())
        for standing in self.standings():
            digest.update(repr(tuple(standing)).encode())
        return digest.hexdigest()

    @property
    def golden(self) -> bool:
        """Whether arithmetic alone decided everything."""
        return not next(self._rows("SELECT count(*) FROM evaluation WHERE NOT golden"))[0]

    # ---------------------------------------------------------------------------------------------- SQLite

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._execute("BEGIN IMMEDIATE")

    def _execute(self, text: str, row: Iterable[Any] = ()) -> None:
        with store_errors(self.file):
            self._db.execute(text, tuple(row))

    def _rows(self, text: str, row: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with store_errors(self.file):
            return iter(self._db.execute(text, tuple(row)).fetchall())


def _outcome(score: float, thesis: float, measure: float, reason: str, steps: int, details: str) -> Outcome:
    return Outcome(score, thesis, measure, reason, steps, msgspec.json.decode(details, type=dict[str, float]))


def _digest(genotype: str) -> bytes:
    return bytes.fromhex(genome_key(genotype))


def _address(file: Path, write: bool) -> str:
    """The URI for SQLite, which writes beside a file even to read it unless the file is declared immutable."""
    still = not write and not os.access(file.parent, os.W_OK) and not file.with_name(file.name + "-wal").exists()
    return f"{file.absolute().as_uri()}?{'immutable=1' if still else 'mode=rw'}"


def _make(file: Path, facts: dict[str, Any]) -> None:
    """A run of facts alone. It gets its name when it is whole, so that each that is there can be resumed."""
    new, *old = (file.with_name(file.name + end) for end in (".new", "-wal", "-shm"))
    new.unlink(missing_ok=True)  # of a process that was killed here
    db = sqlite3.connect(new, isolation_level=None)
    try:
        db.execute("PRAGMA page_size=16384")  # a genome of 2 kB then wastes no half page
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript("BEGIN;" + _TABLES)
        db.executemany("INSERT INTO run VALUES (?, ?)", [(name, json.dumps(value)) for name, value in facts.items()])
        db.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        db.close()
        new.unlink(missing_ok=True)
        raise StoreError(f"{file}: the run cannot be written there ({error}); make room, or name another") from None
    db.close()
    for one in old:  # of a run of this name that is gone: SQLite would take them for parts of this one
        one.unlink(missing_ok=True)
    new.rename(file)


def _lock(file: Path) -> sqlite3.Connection:
    """Held as long as the run is written; the system lets it go when its owner dies, however that happens."""
    try:
        lock = sqlite3.connect(file.with_name(file.name + ".lock"), isolation_level=None, timeout=0.0)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            raise StoreError(f"{file}: another process is writing to it") from None
        raise StoreError(f"{file}: it cannot be written there ({error})") from None
    return lock


def _refuse_companions(file: Path) -> None:
    """Refuse files beside a run that would make SQLite touch other files.

    It follows symbolic links. It plays back a rollback journal that it finds, and deletes the file that its end names.
    """
    for end in _BESIDE:
        if (beside := file.with_name(file.name + end)).is_symlink():
            raise StoreError(
                f"{beside}: it is a symbolic link to another file, which would be written to; delete the link"
            )
    for end in ("-journal", ".lock-journal"):
        journal = file.with_name(file.name + end)
        with contextlib.suppress(OSError), journal.open("rb") as content:
            content.seek(-len(_NAMES_A_FILE), os.SEEK_END)
            if content.read() == _NAMES_A_FILE:
                raise StoreError(f"{journal}: it names another file, which would be deleted; move it away")


@contextlib.contextmanager
def store_errors(file: Path) -> Iterator[None]:
    """Turn errors into one sentence. A failed write leaves the run intact."""
    try:
        yield
    except StoreError:
        raise
    except FileError as error:
        raise StoreError(str(error)) from None
    except (ValueError, RecursionError, msgspec.DecodeError, struct.error):
        raise StoreError(f"{file}: it is damaged; some of its rows are no longer what was written") from None
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "full" in text or "disk I/O" in text:
            raise StoreError(
                f"{file}: the disk is full or cannot be written ({text}); what was committed is intact: make room, and"
                " resume"
            ) from None
        if text == "interrupted":
            raise StoreError(
                f"{file}: to look through it takes longer than its size should; it is damaged, or made so on purpose"
            ) from None
        if "locked" in text or "busy" in text:
            raise StoreError(f"{file}: another program has locked it; end that one and resume") from None
        if "decode to UTF-8" in text:  # with all of the text that cannot be read
            raise StoreError(f"{file}: it is damaged; some of its rows are no longer what was written") from None
        if "not a database" in text or "malformed" in text:
            raise StoreError(f"{file}: it is damaged or not a run of kinemorph ({text})") from None
        raise StoreError(f"{file}: {text}") from None
