"""A pool of memory blocks for short-lived objects: worlds, models and brains of creatures.

The allocator is slow with fragmented memory, and fresh pages cost even more. So the last few blocks of each size are
kept here, and a block is lent again when no array refers to it any more.
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

_spare: dict[int, list[Piece]] = {}  # by size, the last lent at the end; most are in use


def lend_memory(size: int) -> Piece:
    """A block of at least `size` bytes, not cleared. It is in use as long as any object refers to the first item
    returned, as arrays in that memory do.
    """
    step = 1 << max(8, size.bit_length() - 3)  # eight sizes to a doubling, at most
    size = (size + step - 1) & -step
    if size > LARGEST_KEPT_BYTES:
        return _new(size)
    spare = _spare.setdefault(size, [])
    for _ in range(len(spare)):
        try:
            piece = spare.pop()  # so that no other thread takes it
        except IndexError:
            break
        memory = piece[0]
        if getrefcount(memory) == UNUSED:
            spare.append(piece)  # still listed, and in use by now
            return memory, piece[1], piece[2]
        spare.insert(0, piece)
    memory, start, skip = _new(size)
    spare.append((memory, start, skip))
    del spare[:-KEPT_PIECES]  # dropped blocks are freed with their users
    return memory, start, skip


def lend_cleared_memory(size: int) -> Piece:
    """The same, filled with zeros."""
    piece = lend_memory(size)
    clear_words(piece[1], (size + 7) >> 3)
    return piece


def _new(size: int) -> Piece:
    memory = np.empty(size + CACHE_LINE_BYTES, BYTE)
    start = address_of(memory)
    return memory, start + -start % CACHE_LINE_BYTES, -start % CACHE_LINE_BYTES


def _count_unused() -> int:
    """The value of `getrefcount` in `lent` for memory without other references."""
    piece = (np.empty(0, BYTE), 0, 0)
    memory = piece[0]
    return getrefcount(memory)


UNUSED = _count_unused()


@entry
def address_of(memory: Bytes) -> int:
    """The address of memory; `ctypes.data` of NumPy takes four times as long."""
    start: Any = np.int64(memory.ctypes.data)
    return int(start)


@entry
def clear_words(address: int, count: int) -> None:
    """Write `count` zero words."""
    words = rows_at(address, count, WORD)
    for k in range(count):
        words[k] = 0
