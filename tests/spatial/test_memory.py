"""Memory that is used again: nobody gets what somebody has, and what nobody has is given out once more."""

from __future__ import annotations

import numpy as np
import pytest

from kinemorph.spatial.memory import (
    BYTE,
    CACHE_LINE_BYTES,
    KEPT_PIECES,
    LARGEST_KEPT_BYTES,
    lend_cleared_memory,
    lend_memory,
)


def taken(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    memory, start, skip = lend_cleared_memory(size)
    array = np.ndarray(size, BYTE, memory, skip)
    assert array.ctypes.data == start
    assert start % CACHE_LINE_BYTES == 0
    return array


@pytest.mark.parametrize("size", [1, 200, 3868, 70_001, LARGEST_KEPT_BYTES, LARGEST_KEPT_BYTES + 1])
def test_all_of_it_is_zero_and_can_be_written(size: int) -> None:
    for _ in range(2):
        array = taken(size)
        assert not array.any()
        array[:] = 0xA5


def test_what_is_in_use_is_nobody_elses() -> None:
    held = [taken(5000) for _ in range(3 * KEPT_PIECES)]
    for k, array in enumerate(held):
        array[:] = k
    assert [set(array.tolist()) for array in held] == [{k} for k in range(len(held))]
    part = held[-1][100:200].view(np.int32)  # a view of a view has it as well
    start = held[-1].ctypes.data
    del held[-1], array
    others = [taken(5000) for _ in range(KEPT_PIECES)]
    assert start not in [other.ctypes.data for other in others]
    assert set(part.view(np.uint8).tolist()) == {3 * KEPT_PIECES - 1}


def test_what_nobody_has_is_given_out_again() -> None:
    first = taken(9000)
    start = first.ctypes.data
    del first
    assert taken(9000).ctypes.data == start
    piece = lend_memory(9000)
    assert piece[1] == start
    assert lend_memory(9000)[1] != start
