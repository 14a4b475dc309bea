"""A small run of creatures that was never computed, and ways to spoil its file."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinemorph.creatures.gallery import handmade
from kinemorph.evolve.evaluators.job import Individual, Job, Result
from kinemorph.evolve.experiment import begin
from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.evolve.run import held_out
from kinemorph.evolve.settings import Settings, checked
from kinemorph.evolve.store.run_store import Store

SETTINGS = {
    "task": "locomotion",
    "search": "thesis",
    "seed": 5,
    "budget": {"generations": 4},
    "of_search": {"population": 12},
    "of_task": {"seconds": 0.3, "patience": 1.0, "moves": False},
    "evaluator": "serial",
}
STATS = {
    "episodes": 3, "best": 0.5, "mean": 0.25, "measure": 0.1, "heritability": None, "rejected": {"exploit": 1},
    "age": 0.0, "families": 1,
}  # fmt: skip


def a_run(file: Path, **changes: Any) -> Path:
    """Two generations, each with a champion, the second a child of the first."""
    of = checked(Settings, SETTINGS | changes)
    with begin(file, of) as store:
        fill(store, handmade("worm").to_json())
    return file


def fill(store: Store, genotype: str) -> None:
    for g, parents in enumerate(((), (0,))):
        one = Individual(g, g, genotype, parents)
        draws = (Draw(0, 3), held_out(5, 1)[0])
        outcomes = tuple(Outcome(0.5, 0.5, 0.1, "", 7, {"parts": 3.0, "length": 0.5}) for _ in draws)
        store.keep(Job(g, g, genotype, draws, parents), Result(g, g, draws, outcomes))
        one.outcomes |= dict(zip(draws, outcomes, strict=True))
        store.complete(g, [one], STATS)


def write(file: Path, *commands: str | tuple[str, tuple[Any, ...]]) -> None:
    """Do something to the database, whatever its schema says."""
    db = sqlite3.connect(file, isolation_level=None)
    try:
        db.execute("PRAGMA writable_schema=ON")
        for command in commands:
            text, row = (command, ()) if isinstance(command, str) else command
            db.execute(text, row)
    finally:
        db.close()


def rewritten(file: Path, table: str, column: str, change: Callable[[Any], Any]) -> None:
    """A text of JSON in one row of a table, changed."""
    db = sqlite3.connect(file, isolation_level=None)
    (text,) = db.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
    db.execute(f"UPDATE {table} SET {column} = ?", (json.dumps(change(json.loads(text))),))
    db.close()


def facts_rewritten(file: Path, name: str, value: Any) -> None:
    write(file, ("UPDATE run SET value = ? WHERE name = ?", (json.dumps(value), name)))


def genome_rewritten(file: Path, text: bytes, packed: bytes | None = None) -> None:
    """A genome of another text, and its hash where individuals have it."""
    import hashlib

    digest = hashlib.sha256(text).digest()
    write(
        file,
        ("UPDATE genome SET blob = ?, hash = ? WHERE rowid = (SELECT max(rowid) FROM genome)", (
            zlib.compress(text) if packed is None else packed, digest,
        )),
        ("UPDATE individual SET genome_hash = ?", (digest,)),
    )  # fmt: skip
