"""A header row and the tables whose addresses it has: they are made, copied and kept together.

Kernels get the address of the header. It is worth nothing in a copy or in another process, so a copy makes its tables
anew and writes their addresses into a header of its own. How many rows of a table last between two calls is said by a
field of the header, or none do: such tables are as long in a copy as they were. Of tables of which nothing is said all
rows last.

What is made anew all the time, as worlds are for creatures, is made once with all of its tables; whatever comes after
is a copy of these bytes in one piece, and a table becomes an array when somebody asks for it: see `Pattern`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

LINE = 64  # bytes of a cache line: where tables begin
BYTE, WORD = np.dtype(np.uint8), np.dtype(np.int64)
CHUNK = 1 << 16  # bytes that small tables of an owner share: they are many, and memory is slow to ask for
Place = tuple[int, Any, int]  # of a table: how many rows of what, and the byte where they begin
NOWHERE: Mapping[str, Place] = {}


class Tables:
    """The owner of a header row and of the tables that it points to, each under the name of its field."""

    __slots__ = ("_arrays", "_at", "_memory", "_piece", "_start", "address", "header", "used")

    def __init__(self, dtype: Any, used: Mapping[str, str | None] | None = None) -> None:
        self.header: Any = np.zeros(1, dtype)
        self.address = int(self.header.ctypes.data)
        self.used = dict(used or {})  # of a table the field that says how many of its rows last; None if none do
        self._begin()

    def _begin(self, piece: Any = None, places: Mapping[str, Place] = NOWHERE) -> None:
        self._arrays: dict[str, Any] = dict(places)  # or where in the piece a table is, until somebody looks at it
        self._piece = piece
        self._memory: Any = None
        self._start, self._at = 0, CHUNK

    def __getitem__(self, name: str) -> Any:
        table = self._arrays[name]
        if type(table) is tuple:
            room, dtype, at = table
            table = self._arrays[name] = np.ndarray(room, dtype, self._piece, at)
        return table

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def make(self, name: str, room: int, dtype: Any, keep: bool = False) -> Any:
        """A table of `room` rows in place of the old one, whose rows it begins with if they are to be kept."""
        table, address = self._zeros(room, dtype)
        if keep and name in self._arrays:
            old = self[name]
            table[: len(old)] = old
        self.header[name] = address
        self._arrays[name] = table  # the old one goes once nobody has its address
        return table

    def take(self, name: str, rows: Any) -> None:
        """An array in place of a table."""
        self.header[name] = rows.ctypes.data
        self._arrays[name] = rows

    def _zeros(self, room: int, dtype: Any) -> tuple[Any, int]:
        """So many rows of zeros that begin with a cache line, and their address."""
        size = room * dtype.itemsize
        if size > CHUNK // 4:
            return aligned_at(room, dtype)
        if self._at + size > CHUNK:
            self._memory, self._start = aligned_at(CHUNK, BYTE)
            self._at = 0
        at = self._at
        self._at += _whole_lines(size)
        return np.ndarray(room, dtype, self._memory, at), self._start + at

    def __getstate__(self) -> tuple[Any, dict[str, str | None], dict[str, tuple[int, Any]]]:
        """The header without addresses, and of each table how many rows it has, and those that last."""
        header = self.header.copy()
        for name in self._arrays:
            header[name] = 0
        return header, self.used, {name: (len(array), array[: self._lasting(name)]) for name, array in self}

    def _lasting(self, name: str) -> int:
        if name not in self.used:
            return len(self[name])
        field = self.used[name]
        return 0 if field is None else int(self.header[field][0])

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, self[name]) for name in self._arrays)

    def __setstate__(self, state: tuple[Any, dict[str, str | None], dict[str, tuple[int, Any]]]) -> None:
        header, used, tables = state
        self.header = header.copy()
        self.address = int(self.header.ctypes.data)
        self.used = dict(used)
        self._begin()
        for name, (room, rows) in tables.items():
            self.make(name, room, rows.dtype)[: len(rows)] = rows


class Pattern:
    """How some tables are at first, in one piece with their header: what is like them is a copy of its bytes."""

    __slots__ = ("_bytes", "_dtype", "_fields", "_places", "_size", "_used")

    def __init__(self, tables: Tables) -> None:
        header, self._used = tables.header.copy(), tables.used
        self._dtype, self._places, at = header.dtype, {}, _whole_lines(header.nbytes)
        rows = {name: table.view(BYTE).ravel() for name, table in tables}
        for name in sorted(rows, key=lambda name: not rows[name].any()):  # the bytes after the last filled one are 0
            self._places[name] = len(tables[name]), tables[name].dtype, at
            header[name] = at
            at += _whole_lines(rows[name].nbytes)
        piece = np.zeros(at, BYTE)
        piece[: header.nbytes] = header.view(BYTE)
        for name, (_, _, start) in self._places.items():
            piece[start : start + len(rows[name])] = rows[name]
        self._size, self._bytes = at, piece[: int(np.flatnonzero(piece)[-1]) + 1].copy()
        self._fields = np.array([self._dtype.fields[name][1] // WORD.itemsize for name in self._places])

    def tables(self) -> Tables:
        """Tables like these, with addresses of their own."""
        piece, start = aligned_at(self._size, BYTE)
        piece[: len(self._bytes)] = self._bytes
        np.ndarray(self._dtype.itemsize // WORD.itemsize, WORD, piece)[self._fields] += start
        made = Tables.__new__(Tables)
        made.header, made.address, made.used = np.ndarray(1, self._dtype, piece), start, self._used
        made._begin(piece, self._places)
        return made


def _whole_lines(size: int) -> int:
    return size + -size % LINE


def aligned(room: int, dtype: Any) -> Any:
    """So many rows of zeros that begin with a cache line."""
    return aligned_at(room, dtype)[0]


def aligned_at(room: int, dtype: Any) -> tuple[Any, int]:
    """The same, and their address. (NumPy would take ten times as long to look at the fields of a view.)"""
    memory = np.zeros(room * dtype.itemsize + LINE - 1, np.uint8)
    start: int = memory.__array_interface__["data"][0]
    skip = -start % LINE
    return np.ndarray(room, dtype, memory, skip), start + skip
