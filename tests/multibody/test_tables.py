"""Tables with a header: those that are made of a pattern are like the first, with addresses and rows of their own."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from kinemorph.jit.api import rows_at
from kinemorph.multibody.tables import CACHE_LINE_BYTES, Pattern, Tables

HEADER = np.dtype([("kind", "i8"), ("few", "i8"), ("few_room", "i8"), ("many", "i8"), ("long", "i8"), ("share", "f8")])
ROW = np.dtype([("i", "i4"), ("x", "f8", 3)], align=True)
NUMBER = np.dtype(np.float64)


def first() -> Tables:
    tables = Tables(HEADER, {"many": None})
    tables.header["kind"], tables.header["few_room"], tables.header["share"] = 7, 3, 0.5
    tables.make("many", 40_000, NUMBER)  # more than a chunk; nothing in it lasts, so it may hold what was there before
    tables.make("long", 40_000, NUMBER)
    tables.make("few", 3, ROW)["x"] = [[1.0, 2.0, 3.0]] * 3
    return tables


def test_tables_of_a_pattern_are_as_the_first_were() -> None:
    (made,) = Pattern(first()).tables()
    assert made.address % CACHE_LINE_BYTES == 0
    assert made.header[["kind", "few_room", "share"]].tolist() == [(7, 3, 0.5)]
    for name, dtype, room in (("few", ROW, 3), ("many", NUMBER, 40_000), ("long", NUMBER, 40_000)):
        address = int(made.header[name][0])
        assert address % CACHE_LINE_BYTES == 0
        assert name == "many" or rows_at(address, room, dtype).tobytes() == first()[name].tobytes()
        assert made[name].__array_interface__["data"][0] == address
    assert {name for name, _ in made} == {"few", "many", "long"}
    assert "few" in made
    assert "more" not in made
    with pytest.raises(KeyError):
        made["more"]


def test_each_has_rows_of_its_own() -> None:
    pattern = Pattern(first())
    (one,), (other,) = pattern.tables(), pattern.tables()
    one["few"]["i"], one["long"][:], one.header["kind"] = 5, 1.0, 8
    assert not other["few"]["i"].any()
    assert not other["long"].any()
    assert other.header["kind"] == 7
    grown = one.make("few", 10, ROW, keep=True)
    assert grown["i"].tolist() == [5] * 3 + [0] * 7
    assert int(one.header["few"][0]) == grown.__array_interface__["data"][0]


def test_an_array_can_take_the_place_of_a_table() -> None:
    (made,) = Pattern(first()).tables()
    rows = np.ones(5, ROW)
    made.take("few", rows)
    assert made["few"] is rows
    assert int(made.header["few"][0]) == rows.ctypes.data


@pytest.mark.parametrize("again", [copy.deepcopy, lambda tables: pickle.loads(pickle.dumps(tables))])
def test_copies_keep_what_lasts(again: object) -> None:
    (made,) = Pattern(first()).tables()
    made["many"][:] = 1.0
    copied = again(made)  # type: ignore[operator]
    assert copied["few"].tobytes() == made["few"].tobytes()
    assert len(copied["many"]) == 40_000
    assert not copied["many"].any()
    assert int(copied.header["few"][0]) != int(made.header["few"][0])
