"""A header row and the tables whose addresses it has: they are made, copied and kept together.

Kernels get the address of the header. It is worth nothing in a copy or in another process, so a copy makes its tables
anew and writes their addresses into a header of its own. Tables that are `scratch`, whose rows mean nothing between two
calls, are as long in a copy as they were, and empty; all others last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

LINE = 64  # bytes of a cache line: where tables begin


class Tables:
    """The owner of a header row and of the tables that it points to, each under the name of its field."""

    __slots__ = ("_arrays", "address", "header", "scratch")

    def __init__(self, dtype: Any, scratch: Iterable[str] = ()) -> None:
        self.header: Any = np.zeros(1, dtype)
        self.address = int(self.header.ctypes.data)
        self.scratch = frozenset(scratch)
        self._arrays: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def make(self, name: str, room: int, dtype: Any, keep: bool = False) -> Any:
        """A table of `room` rows in place of the old one, whose rows it begins with if they are to be kept."""
        table = aligned(room, dtype)
        old = self._arrays.get(name)
        if keep and old is not None:
            table[: len(old)] = old
        self.header[name] = table.ctypes.data
        self._arrays[name] = table  # the old one goes once nobody has its address
        return table

    def __getstate__(self) -> tuple[Any, dict[str, Any], dict[str, tuple[int, Any]]]:
        """The header without addresses, the tables that last, and of the others how many rows they have, and what."""
        header = self.header.copy()
        for name in self._arrays:
            header[name] = 0
        lasting = {name: array for name, array in self._arrays.items() if name not in self.scratch}
        scratch = {name: (len(array), array[:0]) for name, array in self._arrays.items() if name in self.scratch}
        return header, lasting, scratch

    def __setstate__(self, state: tuple[Any, dict[str, Any], dict[str, tuple[int, Any]]]) -> None:
        header, lasting, scratch = state
        self.header = header.copy()
        self.address = int(self.header.ctypes.data)
        self.scratch = frozenset(scratch)
        self._arrays = {}
        for name, array in lasting.items():
            self.make(name, len(array), array.dtype)[:] = array
        for name, (room, none) in scratch.items():
            self.make(name, room, none.dtype)


def aligned(room: int, dtype: Any) -> Any:
    """So many rows of zeros that begin with a cache line."""
    memory = np.zeros(room * dtype.itemsize + LINE - 1, np.uint8)
    return memory[-memory.ctypes.data % LINE :][: room * dtype.itemsize].view(dtype)
