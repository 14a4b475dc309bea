"""Memory that is used again, for what is made anew all the time: worlds, models and brains of creatures.

The system takes long to find some kilobytes among what all others have given back, and longer to hand out fresh pages.
So the last few pieces of each size are kept here, and whoever asks gets one that no array looks at any more.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, rows_at

CACHE_LINE_BYTES = 64  # bytes of a cache line: where pieces begin
BYTE, WORD = np.dtype(np.uint8), np.dtype(np.int64)
LARGEST_KEPT_BYTES = 1 << 19  # bytes of a piece that is kept
KEPT_PIECES = 4  # of each size
Bytes = npt.NDArray[np.uint8]
Piece = tuple[Bytes, int, int]  # memory, the address of its first cache line, and the bytes before that

_spare: dict[int, list[Piece]] = {}  # by size, the one that was lent last at the end; most of them are in use


def lent(size: int) -> Piece:
    """At least so many bytes, as somebody has left them. They are the caller's while anything has the first of what
    comes back, as arrays in that memory do."""
    step = 1 << max(8, size.bit_length() - 3)  # eight sizes to a doubling, at most
    size = (size + step - 1) & -step
    if size > LARGEST_KEPT_BYTES:
        return _new(size)
    spare = _spare.setdefault(size, [])
    for _ in range(len(spare)):
        try:
            piece = spare.pop()  # so that no other thread gets it
        except IndexError:
            break
        memory = piece[0]
        if getrefcount(memory) == UNUSED:
            spare.append(piece)  # which is in use by now
            return memory, piece[1], piece[2]
        spare.insert(0, piece)
    memory, start, skip = _new(size)
    spare.append((memory, start, skip))
    del spare[:-KEPT_PIECES]  # which go with those that use them
    return memory, start, skip


def cleared(size: int) -> Piece:
    """The same, of zeros."""
    piece = lent(size)
    clear(piece[1], (size + 7) >> 3)
    return piece


def _new(size: int) -> Piece:
    memory = np.empty(size + CACHE_LINE_BYTES, BYTE)
    start = start_of(memory)
    return memory, start + -start % CACHE_LINE_BYTES, -start % CACHE_LINE_BYTES


def _count_unused() -> int:
    """What `getrefcount` says in `lent` of memory that nothing else has."""
    piece = (np.empty(0, BYTE), 0, 0)
    memory = piece[0]
    return getrefcount(memory)


UNUSED = _count_unused()


@entry
def start_of(memory: Bytes) -> int:
    """The address of some memory; NumPy takes four times as long to say it."""
    start: Any = np.int64(memory.ctypes.data)
    return int(start)


@entry
def clear(address: int, count: int) -> None:
    """Zeros, so many words of them."""
    words = rows_at(address, count, WORD)
    for k in range(count):
        words[k] = 0
