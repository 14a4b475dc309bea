"""Pairs of parts of two shapes: the list that a search fills, and the features known from the step before.

A search visits pairs of parts: nodes of two trees, or a triangle of the ground and a part of a body. It fills the list
anew in each call and looks up the features that the previous call found (coherence, Fontijne 2.4.1). Both lists are in
the order of the search, so a moving cursor finds them at once. Python owns the memory; a search that runs out of rows
reports it, and is repeated with more.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinemorph.collision.narrow.core_pair import CORE_PAIR, DEEP, NEW
from kinemorph.geometry.polyhedron import CORE, EDGE, FACE, VERTEX, Polyhedron
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.jit.rows import table
from kinemorph.multibody.tables import Pattern, Tables
from kinemorph.spatial.rows import load3, store3

KNOWN_FEATURES = np.dtype(
    [
        ("i", "i4"),  # node of the first tree, or triangle of the ground
        ("j", "i4"),  # node of the second tree, or part on the ground
        ("kind1", "i4"),  # the rest as in CORE_PAIR: where the next walk starts
        ("index1", "i4"),
        ("kind2", "i4"),
        ("index2", "i4"),
        ("relation", "i4"),
        ("unused", "i4"),
        ("normal", "f8", 3),  # if the cores overlap, or one is round
    ]
)  # features of a pair of parts from the last call
KNOWN_SIZE = KNOWN_FEATURES.itemsize

PART_KEY = np.dtype(
    [
        ("i", "i4"),  # as in KNOWN_FEATURES
        ("j", "i4"),
        ("verdict", "i4"),  # of the search: LEAF_VERDICT, or those of `ground.search`
    ]
)
LISTED_ROW = np.dtype(np.int32)
PAIR_STACK = 128  # capacity of the stack: one or two nodes or pairs a level of the trees

SEARCH = np.dtype(
    [
        ("n", "i8"),  # rows in use
        ("room", "i8"),  # rows there are
        ("pairs", "i8"),  # address of the CORE_PAIR rows
        ("keys", "i8"),  # address of as many PART_KEY rows
        ("triangles", "i8"),  # address of as many FLAT_CORE rows: core 1 where that is a triangle
        ("listed", "i8"),  # address of as many int32: the rows that are no farther apart than the margin
        ("n_listed", "i8"),
        ("missed", "i8"),  # rows that were missing
        ("known", "i8"),  # address of KNOWN_FEATURES rows of the previous call; set by the caller, as the next two
        ("n_known", "i8"),
        ("cursor", "i8"),  # after the row where the last pair was found; 0 at first
        ("best", "i8"),  # the closest row, or -1
        ("exact", "i8"),  # 1, or 0 if the distance is a lower bound only
        ("distance", "f8"),  # m, of the shapes; negative: depth. The next fields are of the closest pair
        ("normal", "f8", 3),  # unit, from the first shape to the second
        ("x1", "f8", 3),  # m, in the frame of the first
        ("x2", "f8", 3),
        ("i", "i4"),  # its key
        ("j", "i4"),
        ("id", "i8"),  # its features, see `manifold.contact_id`; -1 where the cores overlap
        ("updates", "i8"),  # evaluations, since the caller set it to 0, as the next three
        ("walked", "i8"),  # steps of V-Clip
        ("fallbacks", "i8"),
        ("rough", "i8"),
        ("stack", "i4", 2 * PAIR_STACK),  # nodes or pairs of nodes still to be visited
    ],
    align=True,
)

FLAT_CORE = np.dtype([("core", CORE), ("vertices", VERTEX, (3,)), ("edges", EDGE, (3,)), ("faces", FACE, (2,))])
TRIANGLE_SIZE = FLAT_CORE.itemsize
ROWS_OF_CORES = ("vertices", "edges", "faces")
NO_KNOWN_ROWS = np.zeros(0, KNOWN_FEATURES)
TRIANGLE_TEMPLATE = Polyhedron.polygon([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


core_pairs_of = table(CORE_PAIR, "pairs", "room")
part_keys_of = table(PART_KEY, "keys", "room")


@kernel
def clear_list(search: Any) -> None:
    """Empty the list."""
    search["n"] = 0
    search["n_listed"] = 0
    search["missed"] = 0
    search["best"] = -1
    search["exact"] = 1
    search["distance"] = np.inf


@kernel(inline=False)
def prepare_row(search: Any, index: int, other_index: int) -> int:
    """Prepare the next row for pair (i, j) with its known features; it is not yet in use. -1: there is no room."""
    k = search["n"]
    if k >= search["room"]:
        search["missed"] += 1
        return -1
    row = core_pairs_of(search)[k]
    key = part_keys_of(search)[k]
    key["i"] = index
    key["j"] = other_index
    row["relation"] = NEW
    row["steps"] = row["missed"] = 0
    n = search["n_known"]
    known = rows_at(search["known"], n, KNOWN_FEATURES)
    c = search["cursor"]
    for _ in range(n):
        c = c if c < n else 0
        if known[c]["i"] == index and known[c]["j"] == other_index:
            load_start(known[c], row)
            search["cursor"] = c + 1
            break
        c += 1
    return k


@kernel
def load_start(known: Any, row: Any) -> None:
    """Copy the features where the last walk ended, from which the next one starts."""
    row["kind1"], row["index1"] = known["kind1"], known["index1"]
    row["kind2"], row["index2"] = known["kind2"], known["index2"]
    row["relation"] = known["relation"]
    if known["relation"] >= DEEP:
        store3(row["normal"], load3(known["normal"]))


@kernel
def store_start(row: Any, known: Any) -> None:
    """The inverse of `load_start`."""
    known["kind1"], known["index1"] = row["kind1"], row["index1"]
    known["kind2"], known["index2"] = row["kind2"], row["index2"]
    known["relation"] = row["relation"]
    if row["relation"] >= DEEP:
        store3(known["normal"], load3(row["normal"]))


@kernel
def add_row_counters(search: Any, row: Any) -> None:
    """Add the counters of an evaluated row to those of the search."""
    search["updates"] += 1
    search["walked"] += row["steps"]
    if row["fallbacks"] + row["rough"] > 0:
        search["fallbacks"] += row["fallbacks"]
        search["rough"] += row["rough"]
        row["fallbacks"] = 0
        row["rough"] = 0


@kernel
def list_row(search: Any, verdict: int) -> None:
    """Keep the row that `prepare_row` prepared, and list it with its verdict."""
    part_keys_of(search)[search["n"]]["verdict"] = verdict
    rows_at(search["listed"], search["room"], LISTED_ROW)[search["n_listed"]] = search["n"]
    search["n_listed"] += 1
    search["n"] += 1


@kernel
def keep_closest(search: Any, row: Any, row_number: int, index: int, other_index: int, id: int, exact: int) -> None:
    """Make a row the closest one; `row_number` is -1 if the row itself is not kept."""
    search["distance"] = row["distance"]
    search["best"] = row_number
    search["exact"] = exact
    search["i"] = index
    search["j"] = other_index
    search["id"] = id
    store3(search["normal"], load3(row["normal"]))
    store3(search["x1"], load3(row["x1"]))
    store3(search["x2"], load3(row["x2"]))


@kernel(inline=False)
def store_known(search: Any, known: Any, first: int) -> int:
    """Write the features of all rows into `known`, from `first` on. Returns the row after them, or -1 without room."""
    if first + search["n"] > known.shape[0]:
        return -1
    pairs = core_pairs_of(search)
    keys = part_keys_of(search)
    for k in range(search["n"]):
        row = known[first + k]
        row["i"] = keys[k]["i"]
        row["j"] = keys[k]["j"]
        store_start(pairs[k], row)
    return first + search["n"]


class PartPairs:
    """The memory of a search. `header` is passed to kernels: one row of SEARCH."""

    __slots__ = ("_known", "_tables", "header")

    def __init__(self, room: int = 16) -> None:
        self.make(room)

    def make(self, room: int) -> None:
        """Allocate room for other numbers of rows; known features are lost."""
        self._tables = tables = _pattern(room).tables()[0]
        self.header = tables.header
        if room:  # flat cores have their rows in themselves; kernels move the corners
            cores, start = tables["triangles"]["core"], int(self.header["triangles"][0])
            for name in ROWS_OF_CORES:
                cores[name] += start
        self._known = NO_KNOWN_ROWS

    def __reduce__(self) -> Any:  # it has addresses, and nothing in it outlives a call
        return PartPairs, (int(self.header["room"][0]),)

    @property
    def address(self) -> int:
        return self._tables.address

    @property
    def rows(self) -> Any:
        """All CORE_PAIR rows of the last search."""
        return self._tables["pairs"][: int(self.header["n"][0])]

    @property
    def keys(self) -> Any:
        """The PART_KEY rows of the same pairs."""
        return self._tables["keys"][: int(self.header["n"][0])]

    @property
    def listed(self) -> Any:
        """The rows that are no farther apart than the margin."""
        return self._tables["listed"][: int(self.header["n_listed"][0])]

    def remember(self) -> None:
        """Keep the features of this search for the next one."""
        self._known = np.zeros(int(self.header["n"][0]), KNOWN_FEATURES)
        _store_all_known(self.header, self._known)
        self.header["known"], self.header["n_known"] = self._known.ctypes.data, len(self._known)
        self.header["cursor"] = 0


@functools.lru_cache(4)
def _pattern(room: int) -> Pattern:
    """The tables of a search; each flat core has the addresses of its own rows."""
    tables = Tables(SEARCH)
    tables.header["room"], tables.header["distance"] = room, np.inf
    tables.make("pairs", room, CORE_PAIR)
    tables.make("keys", room, PART_KEY)
    tables.make("listed", room, LISTED_ROW)
    cores = tables.make("triangles", room, FLAT_CORE)
    cores["core"] = rows_at(TRIANGLE_TEMPLATE.address, 1, CORE)[0]  # all share the index lists of the template
    offsets: Any = FLAT_CORE.fields
    for name in ROWS_OF_CORES:
        cores[name] = getattr(TRIANGLE_TEMPLATE, name)
        cores["core"][name] = TRIANGLE_SIZE * np.arange(room) + offsets[name][1]
    return Pattern(tables)


@entry
def _store_all_known(searches: Any, known: Any) -> None:
    store_known(searches[0], known, 0)
