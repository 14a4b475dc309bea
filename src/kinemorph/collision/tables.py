"""A header row and the tables whose addresses it has: they are made, copied and pickled together.

Kernels get the address of the header. It is worth nothing in a copy or in another process, so a copy makes its tables
anew and writes their addresses into a header of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LINE = 64  # bytes of a cache line: where tables begin


class Tables:
    """The owner of a header row and of the tables that it points to, each under the name of its field."""

    __slots__ = ("_arrays", "address", "header")

    def __init__(self, dtype: Any) -> None:
        self.header: Any = np.zeros(1, dtype)
        self.address = int(self.header.ctypes.data)
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

    def __reduce__(self) -> Any:
        return _made_again, (self.header.copy(), self._arrays)


def aligned(room: int, dtype: Any) -> Any:
    """So many rows of zeros that begin with a cache line."""
    memory = np.zeros(room * dtype.itemsize + LINE - 1, np.uint8)
    return memory[-memory.ctypes.data % LINE :][: room * dtype.itemsize].view(dtype)


def _made_again(header: Any, arrays: dict[str, Any]) -> Tables:
    tables = Tables(header.dtype)
    tables.header[:] = header
    for name, array in arrays.items():
        tables.make(name, len(array), array.dtype)[:] = array
    return tables
