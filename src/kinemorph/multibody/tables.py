"""A header row and the tables that it points to: they are made, copied and saved together.

Kernels get the address of the header. Addresses are invalid in a copy or in another process, so a copy allocates its
tables anew and writes their addresses into a header of its own. A field of the header may give the number of rows of a
table that are saved; a table may also save no rows, and is then as long in a copy as it was. All other tables save all
rows.

Owners that are made often, such as worlds for creatures, are made from a `Pattern`: one template with all tables, whose
bytes are copied at once; a table becomes an array at first access.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, rows_at
from kinemorph.spatial.memory import BYTE, CACHE_LINE_BYTES, WORD, lend_cleared_memory, lend_memory

__all__ = ["BYTE", "CACHE_LINE_BYTES", "WORD", "Pattern", "Pointer", "Tables", "aligned_at", "in_one_piece"]
SMALL_TABLE_BYTES = 1 << 12  # tables of at most this size are always cleared
SHARED_CHUNK_BYTES = 1 << 16  # bytes of a chunk that the small tables of an owner share, to allocate less often
TablePlace = tuple[int, Any, int]  # of a table: number of rows, dtype, and its first byte
NO_PLACES: Mapping[str, TablePlace] = {}
Pointer = tuple["Tables", str, "Tables", str]  # field of a header; the table it points to, or the header


class Tables:
    """The owner of a header row and of the tables that it points to, each under the name of its field."""

    __slots__ = ("_arrays", "_at", "_memory", "_piece", "_skip", "_start", "address", "header", "used")

    def __init__(self, dtype: Any, used: Mapping[str, str | None] | None = None) -> None:
        self.header: Any = np.zeros(1, dtype)
        self.address = int(self.header.ctypes.data)
        self.used = dict(used or {})  # of a table the field that says how many of its rows last; None if none do
        self._begin()

    def _begin(self, piece: Any = None, skip: int = 0, places: Mapping[str, TablePlace] = NO_PLACES) -> None:
        self._arrays: dict[str, Any] = dict(places)  # or its place in the memory block, until the first access
        self._piece, self._skip = piece, skip  # memory, and the bytes of it before the piece
        self._memory: Any = None
        self._start, self._at = 0, SHARED_CHUNK_BYTES

    def __getitem__(self, name: str) -> Any:
        table = self._arrays[name]
        if type(table) is tuple:
            room, dtype, at, *elsewhere = table
            memory, at = (elsewhere[0], at) if elsewhere else (self._piece, self._skip + at)
            table = self._arrays[name] = np.ndarray(room, dtype, memory, at)
        return table

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def make(self, name: str, room: int, dtype: Any, keep: bool = False) -> Any:
        """Make a table of `room` rows in place of the old one; with `keep`, it begins with the old rows."""
        table, address = self._zeros(room, dtype)
        if keep and name in self._arrays:
            old = self[name]
            table[: len(old)] = old
        self.header[name] = address
        self._arrays[name] = table  # the old one is freed when its last reference is gone
        return table

    def take(self, name: str, rows: Any) -> None:
        """Use an array as a table."""
        self.header[name] = rows.ctypes.data
        self._arrays[name] = rows

    def move_to(self, memory: Any, places: Mapping[str, TablePlace]) -> None:
        """Use tables in another memory block in place of these; a kernel has updated the header."""
        for name, place in places.items():
            self._arrays[name] = *place, memory

    def _zeros(self, room: int, dtype: Any) -> tuple[Any, int]:
        """Zeroed rows that begin with a cache line, and their address."""
        size = room * dtype.itemsize
        if size > SHARED_CHUNK_BYTES // 4:
            return aligned_at(room, dtype)
        if self._at + size > SHARED_CHUNK_BYTES:
            self._memory, self._start = aligned_at(SHARED_CHUNK_BYTES, BYTE)
            self._at = 0
        at = self._at
        self._at += _round_to_cache_lines(size)
        return np.ndarray(room, dtype, self._memory, at), self._start + at

    def __getstate__(self) -> tuple[Any, dict[str, str | None], dict[str, tuple[int, Any]]]:
        """The header without addresses, and for each table its number of rows, and the rows that are saved."""
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
    """A template of the tables of some owners, with their headers, in one memory block.

    Large tables without saved rows are not cleared: they have undefined contents.
    """

    __slots__ = ("_cleared", "_fields", "_owners", "_size", "_words")

    def __init__(self, *owners: Tables, pointers: Iterable[Pointer] = ()) -> None:
        """`pointers` are further addresses in headers: field and owner, and the owner and table that it points to."""
        headers = [tables.header.copy() for tables in owners]
        starts, at = [], 0
        for header in headers:
            starts.append(at)
            at += _round_to_cache_lines(header.nbytes)
        rows = {(k, name): table.view(BYTE).ravel() for k, tables in enumerate(owners) for name, table in tables}
        places: list[dict[str, TablePlace]] = [{} for _ in owners]
        fields = []
        filled = {key: bool(table.any()) for key, table in rows.items()}
        passing = {
            (k, name)
            for (k, name), table in rows.items()
            if owners[k].used.get(name, "") is None and not filled[k, name] and len(table) > SMALL_TABLE_BYTES
        }
        cleared = at
        for k, name in sorted(rows, key=lambda key: (key in passing, not filled[key])):
            table = owners[k][name]
            places[k][name] = len(table), table.dtype, at
            headers[k][name] = at
            fields.append((starts[k] + headers[k].dtype.fields[name][1]) // WORD.itemsize)
            at += _round_to_cache_lines(rows[k, name].nbytes)
            cleared = cleared if (k, name) in passing else at
        for one, name, other, table in pointers:
            k, to = owners.index(one), owners.index(other)
            headers[k][name] = places[to][table][2] if table else starts[to]
            fields.append((starts[k] + headers[k].dtype.fields[name][1]) // WORD.itemsize)
        piece = np.zeros(at, BYTE)
        for start, header in zip(starts, headers, strict=True):
            piece[start : start + header.nbytes] = header.view(BYTE)
        for (k, name), table in rows.items():
            start = places[k][name][2]
            piece[start : start + len(table)] = table
        words = piece.view(WORD)
        self._size, self._words = at, words[: int(np.flatnonzero(words)[-1]) + 1].copy()
        self._cleared = cleared // WORD.itemsize
        self._fields = np.array(fields, WORD)
        self._owners = [(t.header.dtype, t.used, *one) for t, *one in zip(owners, starts, places, strict=True)]

    def tables(self) -> list[Tables]:
        """Make tables from the template, with addresses of their own."""
        memory, first, skip = lend_memory(self._size)
        copy_pattern(first, self._cleared, self._words, self._fields)
        made = []
        for dtype, used, start, places in self._owners:
            tables = Tables.__new__(Tables)
            tables.header, tables.address = np.ndarray(1, dtype, memory, skip + start), first + start
            tables.used = used
            tables._begin(memory, skip, places)
            made.append(tables)
        return made


@entry
def copy_pattern(first: int, size: int, pattern: npt.NDArray[np.int64], fields: npt.NDArray[np.int64]) -> None:
    """Copy a template to an address and make its addresses absolute; the rest of `size` words is zero."""
    words, n = rows_at(first, size, WORD), pattern.shape[0]
    for k in range(n):
        words[k] = pattern[k]
    for k in range(n, size):
        words[k] = 0
    for k in range(fields.shape[0]):
        words[fields[k]] += first


def _round_to_cache_lines(size: int) -> int:
    return size + -size % CACHE_LINE_BYTES


def aligned_at(room: int, dtype: Any) -> tuple[Any, int]:
    """Zeroed rows that begin with a cache line, and their address."""
    memory, start, skip = lend_cleared_memory(room * dtype.itemsize)
    return np.ndarray(room, dtype, memory, skip), start


def in_one_piece(*tables: tuple[int | tuple[int, ...], Any]) -> tuple[list[Any], list[int]]:
    """The same for several tables, or arrays of several dimensions, in one memory block."""
    places, size = [], 0
    for shape, dtype in tables:
        places.append((shape, dtype, size))
        size += (
            (shape if isinstance(shape, int) else prod(shape)) * dtype.itemsize + CACHE_LINE_BYTES - 1
        ) & -CACHE_LINE_BYTES
    memory, start, skip = lend_cleared_memory(size)
    return (
        [np.ndarray(shape, dtype, memory, skip + at) for shape, dtype, at in places],
        [start + at for _, _, at in places],
    )
