"""What an entry refuses, and that it compiles nothing for it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from kinemorph.jit.api import compile_count, entry


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path))


@pytest.fixture
def weigh():
    """An entry with no version yet: once there is one, Numba hands it a recarray of floats too, which costs nothing."""

    @entry
    def weigh(values: NDArray[np.float64], factor: float) -> float:
        return factor * values[0]

    return weigh


@entry
def first_row(rows, pair):
    return rows[0]["x"] + pair[0]


@entry
def pick(mask: NDArray[np.bool_], point: tuple[float, float], rows: NDArray[np.void]) -> float:
    return point[0] if mask[0] else rows[0]["x"]


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "arguments",
    [
        (np.ones(4, np.float32), 1.0),
        (np.ones(4, np.int64), 1.0),
        (np.ones(4, ">f8"), 1.0),
        (np.ones(8)[::2], 1.0),
        (np.ones((2, 2)).T, 1.0),
        (np.frombuffer(bytearray(33), np.float64, 4, 1), 1.0),  # not aligned
        (read_only(np.ones(4)), 1.0),
        (np.ones(4).view(np.recarray), 1.0),
        ([1.0, 2.0], 1.0),
        (None, 1.0),
        (np.ones(4), 1),
        (np.ones(4), True),
        (np.ones(4), np.float32(1)),
        (np.ones(4), np.ones(1)),
    ],
)
def test_entry_refuses_what_would_cost_a_compilation(weigh, arguments):
    before = compile_count()
    with pytest.raises(TypeError, match=r"weigh: (values|factor) must"):
        weigh(*arguments)
    assert compile_count() == before


ROWS = np.ones(1, [("x", "f8")])


@pytest.mark.parametrize(
    "arguments",
    [
        (np.ones(1), (1.0, 2.0), ROWS),
        (np.ones(1, bool), (1, 2.0), ROWS),
        (np.ones(1, bool), (1.0, 2.0, 3.0), ROWS),
        (np.ones(1, bool), np.ones(2), ROWS),
        (np.ones(1, bool), (1.0, 2.0), np.ones(1)),
        (np.ones(1, bool), (1.0, 2.0), np.ones(1, [("x", ">f8")])),
    ],
)
def test_entry_takes_only_the_elements_that_are_annotated(arguments):
    before = compile_count()
    with pytest.raises(TypeError, match=r"pick: (mask|point|rows) "):
        pick(*arguments)
    assert compile_count() == before


def test_entry_without_annotations_refuses_what_no_kernel_takes():
    for bad in [2**63, np.uint64(1), "text", [1.0], np.ones(2, np.int64), (1.0, (None,))]:
        with pytest.raises(TypeError, match="first_row: pair"):
            first_row(ROWS, bad)


def test_entry_compiles_once_for_all_good_arguments(weigh):
    before = compile_count().compiled
    with ThreadPoolExecutor(4) as pool:
        factors = [2.0, np.float64(2.0), 2.0, 2.0]
        assert list(pool.map(lambda factor: weigh(np.ones(3), factor), factors)) == [2.0] * 4
    assert first_row(read_only(ROWS.copy()), (1.0, 2.0)) == 2.0
    assert pick(np.ones(1, bool), (3.0, 2.0), ROWS) == 3.0
    assert compile_count().compiled == before + 3
    with pytest.raises(TypeError):
        weigh(np.ones(3, np.float32), 1.0)
    with pytest.raises(TypeError):
        weigh(np.ones(3), 1)
    assert compile_count().compiled == before + 3
