"""Whether a file is a run as `Store` writes it: its tables, the values of their columns, and nothing else.

SQLite keeps any value in any column, and a file may bring views, triggers and trees of pages that never end. So the
schema must be ours to the letter, which leaves nothing in it that computes; then every page is looked at once, and
every value has the type of its column. All of it in a number of steps of SQLite that grows with the size of the file.
"""

from __future__ import annotations

import functools
import sqlite3
from pathlib import Path

from kinemorph._files import FileError, quoted

LARGEST_VALUE_BYTES = 1 << 26  # bytes of a value
_STEPS = 1000  # of SQLite, between two looks at how many were made
_AT_LEAST, _EACH_BYTE = 2_000_000, 4  # steps that opening a file may take: a run takes less than one for each byte
_SAFE = ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "synchronous=NORMAL")
_TYPES = {"TEXT": "text", "INTEGER": "integer", "REAL": "real", "BLOB": "blob"}


def check_run(file: Path, db: sqlite3.Connection, schema: str, write: bool) -> None:
    """Raise `FileError`, or an error of SQLite, if a file is anything but a whole run."""
    size = sum(one.stat().st_size for one in (file, file.with_name(file.name + "-wal")) if one.exists())
    db.set_progress_handler(_Steps(_AT_LEAST + _EACH_BYTE * size), _STEPS)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE_BYTES)
    for setting in _SAFE:
        db.execute(f"PRAGMA {setting}")
    if not write:
        db.execute("PRAGMA query_only=ON")
    _check_schema(file, db, schema)
    if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise FileError(f"{file}: it is damaged; copy what can be read with: sqlite3 {file} .recover")
    for table, columns in _columns(schema).items():
        _check_values(file, db, table, columns)
    db.set_progress_handler(None, 0)


class _Steps:
    """Interrupts SQLite after so many steps."""

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self) -> bool:
        self._left -= _STEPS
        return self._left < 0


def _check_schema(file: Path, db: sqlite3.Connection, schema: str) -> None:
    found = _schema_of(db)
    if not any(name == "run" for _, name, *_ in found):
        raise FileError(f"{file}: this is not a run of kinemorph")
    ours = _expected(schema)
    if found == ours:
        return
    kind, name, *_ = sorted(found ^ ours, key=repr)[0]
    what = f"its {quoted(str(kind))[1:-1]} {quoted(str(name))}"
    if not any(name == other for _, other, *_ in ours):
        raise FileError(f"{file}: {what} is in no run of kinemorph; drop it, or take the run from where it was made")
    raise FileError(f"{file}: {what} is not as in a run of kinemorph; take the run from where it was made")


def _schema_of(db: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    return frozenset(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


@functools.cache
def _expected(schema: str) -> frozenset[tuple[object, ...]]:
    with _empty(schema) as db:
        return _schema_of(db)


@functools.cache
def _columns(schema: str) -> dict[str, list[tuple[str, str, bool]]]:
    """Of each table the names of its columns, their types, and whether they are part of the key."""
    with _empty(schema) as db:
        tables = [name for kind, name, *_ in sorted(_schema_of(db), key=repr) if kind == "table"]
        return {
            str(table): [
                (name, _TYPES[kind], bool(key))
                for _, name, kind, _, _, key in db.execute(f"PRAGMA table_info({table})")
            ]
            for table in tables
        }


def _empty(schema: str) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(schema)
    return db


def _check_values(file: Path, db: sqlite3.Connection, table: str, columns: list[tuple[str, str, bool]]) -> None:
    """Every value has the type of its column, and numbers are finite."""
    good = [
        f"typeof({name}) = '{kind}'" + (f" AND abs({name}) < 9e999" if kind == "real" else "")
        for name, kind, _ in columns
    ]
    shown = ", ".join(f"{test}, typeof({name})" for test, (name, *_) in zip(good, columns))
    keys = ", ".join(f"substr({name}, 1, 40)" for name, _, key in columns if key)
    row = db.execute(f"SELECT {shown}, {keys} FROM {table} WHERE NOT ({' AND '.join(good)}) LIMIT 1").fetchone()
    if row is None:
        return
    k = next(k for k in range(len(columns)) if not row[2 * k])
    (name, kind, _), found = columns[k], row[2 * k + 1]
    what = "a number that is not finite" if found == kind else found
    place = ", ".join(quoted(str(key))[1:-1] for key in row[2 * len(columns) :])
    raise FileError(f"{file}: column {name} of table {table} has {what}, not {kind}, in row {place}; it is damaged")
