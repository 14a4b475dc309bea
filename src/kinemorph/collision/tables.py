"""A header row and the tables whose addresses it has: they are made, copied and kept together.

Kernels get the address of the header. It is worth nothing in a copy or in another process, so a copy makes its tables
anew and writes their addresses into a header of its own. How many rows of a table last between two calls is said by a
field of the header, or none do: such tables are as long in a copy as they were. Of tables of which nothing is said all
rows last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

LINE = 64  # bytes of a cache line: where tables begin
BYTE = np.dtype(np.uint8)
CHUNK = 1 << 16  # bytes that small tables of an owner share: they are many, and memory is slow to ask for


class Tables:
    """The owner of a header row and of the tables that it points to, each under the name of its field."""

    __slots__ = ("_arrays", "_at", "_memory", "_start", "address", "header", "used")

    def __init__(self, dtype: Any, used: Mapping[str, str | None] | None = None) -> None:
        self.header: Any = np.zeros(1, dtype)
        self.address = int(self.header.ctypes.data)
        self.used = dict(used or {})  # of a table the field that says how many of its rows last; None if none do
        self._begin()

    def _begin(self) -> None:
        self._arrays: dict[str, Any] = {}
        self._memory: Any = None
        self._start, self._at = 0, CHUNK

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def make(self, name: str, room: int, dtype: Any, keep: bool = False) -> Any:
        """A table of `room` rows in place of the old one, whose rows it begins with if they are to be kept."""
        table, address = self._zeros(room, dtype)
        old = self._arrays.get(name)
        if keep and old is not None:
            table[: len(old)] = old
        self.header[name] = address
        self._arrays[name] = table  # the old one goes once nobody has its address
        return table

    def _zeros(self, room: int, dtype: Any) -> tuple[Any, int]:
        """So many rows of zeros that begin with a cache line, and their address."""
        size = room * dtype.itemsize
        if size > CHUNK // 4:
            return aligned_at(room, dtype)
        if self._at + size > CHUNK:
            self._memory, self._start = aligned_at(CHUNK, BYTE)
            self._at = 0
        at = self._at
        self._at += size + -size % LINE
        return np.ndarray(room, dtype, self._memory, at), self._start + at

    def __getstate__(self) -> tuple[Any, dict[str, str | None], dict[str, tuple[int, Any]]]:
        """The header without addresses, and of each table how many rows it has, and those that last."""
        header = self.header.copy()
        for name in self._arrays:
            header[name] = 0
        return header, self.used, {name: (len(array), array[: self._lasting(name)]) for name, array in self}

    def _lasting(self, name: str) -> int:
        if name not in self.used:
            return len(self._arrays[name])
        field = self.used[name]
        return 0 if field is None else int(self.header[field][0])

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._arrays.items())

    def __setstate__(self, state: tuple[Any, dict[str, str | None], dict[str, tuple[int, Any]]]) -> None:
        header, used, tables = state
        self.header = header.copy()
        self.address = int(self.header.ctypes.data)
        self.used = dict(used)
        self._begin()
        for name, (room, rows) in tables.items():
            self.make(name, room, rows.dtype)[: len(rows)] = rows


def aligned(room: int, dtype: Any) -> Any:
    """So many rows of zeros that begin with a cache line."""
    return aligned_at(room, dtype)[0]


def aligned_at(room: int, dtype: Any) -> tuple[Any, int]:
    """The same, and their address. (NumPy would take ten times as long to look at the fields of a view.)"""
    memory = np.zeros(room * dtype.itemsize + LINE - 1, np.uint8)
    start: int = memory.__array_interface__["data"][0]
    skip = -start % LINE
    return np.ndarray(room, dtype, memory, skip), start + skip
