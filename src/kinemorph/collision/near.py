"""What of two bodies made of many parts is near: a list of pairs of parts, with the features of each from call to call.

A search fills the list anew each time. It looks up what the last call knew of a pair (coherence, Fontijne 2.4.1): both
lists are in the order of the search, so that a cursor that moves along finds it at once. Python owns the memory; a
search that runs out of room says so, and is repeated with more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import kernel, rows_at
from kinemorph.collision.narrow import PAIR
from kinemorph.geometry.polyhedron import CORE, EDGE, FACE, VERTEX, Polyhedron
from kinemorph.spatial.rows import load3, store3

KEY = np.dtype(
    [
        ("i", "i4"),  # node of the first tree, or triangle of the ground
        ("j", "i4"),  # node of the second tree, or -1
        ("verdict", "i4"),  # what the search thinks of it
    ]
)
PICK = np.dtype(np.int32)
STACK = 128  # nodes or pairs of nodes that wait: one or two a level of the trees

NEAR = np.dtype(
    [
        ("n", "i8"),  # rows in use
        ("n_old", "i8"),  # and those of the call before
        ("room", "i8"),  # rows there are
        ("pairs", "i8"),  # address of the PAIR rows
        ("old_pairs", "i8"),
        ("keys", "i8"),  # address of the KEY rows
        ("old_keys", "i8"),
        ("cursor", "i8"),  # where in the old rows the last pair was found
        ("picks", "i8"),  # address of int32: the rows that are no farther apart than the margin
        ("n_picks", "i8"),
        ("missed", "i8"),  # how many rows there was no room for
        ("best", "i8"),  # the closest row, or -1
        ("exact", "i8"),  # 1, or 0 if the distance is a lower bound only
        ("distance", "f8"),  # m, of the bodies; negative: depth. The rest is of the closest row
        ("normal", "f8", 3),  # unit, from the first body to the second
        ("x1", "f8", 3),  # m, in the frame of the first
        ("x2", "f8", 3),
        ("i", "i4"),  # its key
        ("j", "i4"),
        ("stack", "i4", 2 * STACK),  # what a search still has to look at
    ],
    align=True,
)

FLAT_CORE = np.dtype([("core", CORE), ("vertices", VERTEX, (3,)), ("edges", EDGE, (3,)), ("faces", FACE, (2,))])
TEMPLATE = Polyhedron.polygon([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


@kernel
def begin(near: Any) -> None:
    """Let the rows become the old ones, and make the list empty."""
    near["pairs"], near["old_pairs"] = near["old_pairs"], near["pairs"]
    near["keys"], near["old_keys"] = near["old_keys"], near["keys"]
    near["n_old"] = near["n"]
    reset(near)


@kernel
def reset(near: Any) -> None:
    near["n"] = 0
    near["n_picks"] = 0
    near["missed"] = 0
    near["cursor"] = 0
    near["best"] = -1
    near["exact"] = 1
    near["distance"] = np.inf


@kernel(inline=False)
def recall(near: Any, i: int, j: int) -> int:
    """Prepare the next row for the pair (i, j) with what is known of it; the row is not yet in use. -1: no room."""
    k = near["n"]
    if k >= near["room"]:
        near["missed"] += 1
        return -1
    row = rows_at(near["pairs"], near["room"], PAIR)[k]
    key = rows_at(near["keys"], near["room"], KEY)[k]
    key["i"] = i
    key["j"] = j
    row["state"] = 0
    n = near["n_old"]
    old_keys = rows_at(near["old_keys"], near["room"], KEY)
    c = near["cursor"]
    for _ in range(n):
        c = c if c < n else 0
        if old_keys[c]["i"] == i and old_keys[c]["j"] == j:
            old = rows_at(near["old_pairs"], near["room"], PAIR)[c]
            row["kind1"], row["index1"] = old["kind1"], old["index1"]
            row["kind2"], row["index2"] = old["kind2"], old["index2"]
            row["state"] = old["state"]
            store3(row["normal"], load3(old["normal"]))
            near["cursor"] = c + 1
            break
        c += 1
    return k


@kernel
def pick(near: Any, verdict: int) -> None:
    """Keep the row that `recall` prepared, and list it."""
    rows_at(near["keys"], near["room"], KEY)[near["n"]]["verdict"] = verdict
    rows_at(near["picks"], near["room"], PICK)[near["n_picks"]] = near["n"]
    near["n_picks"] += 1
    near["n"] += 1


@kernel
def note(near: Any, row: Any, k: int, i: int, j: int, exact: int) -> None:
    """Let a row be the closest one, if it is. k is -1 if it will not be kept."""
    if row["distance"] < near["distance"]:
        near["distance"] = row["distance"]
        near["best"] = k
        near["exact"] = exact
        near["i"] = i
        near["j"] = j
        store3(near["normal"], load3(row["normal"]))
        store3(near["x1"], load3(row["x1"]))
        store3(near["x2"], load3(row["x2"]))


class Near:
    """The memory of a search. `header` is what kernels get: one row of NEAR."""

    __slots__ = ("_kept", "_pairs", "_triangles", "header")

    def __init__(self, room: int = 16, triangles: bool = False) -> None:
        self._triangles = triangles
        self.make(room)

    def make(self, room: int) -> None:
        """Another size; what was known is forgotten."""
        pairs, keys = np.zeros((2, room), PAIR), np.zeros((2, room), KEY)
        picks = np.zeros(room, PICK)
        self._pairs = pairs
        self._kept: tuple[Any, ...] = (keys, picks)
        header = self.header = np.zeros(1, NEAR)
        header["room"], header["distance"] = room, np.inf
        for name, array in (("pairs", pairs), ("keys", keys)):
            header[name], header["old_" + name] = array[0].ctypes.data, array[1].ctypes.data
        header["picks"] = picks.ctypes.data
        if self._triangles:
            self._kept += (_flat_cores(pairs),)

    @property
    def rows(self) -> Any:
        """All PAIR rows of the last search."""
        now = int(self.header["pairs"][0] != self._pairs[0].ctypes.data)
        return self._pairs[now][: int(self.header["n"][0])]

    @property
    def keys(self) -> Any:
        """What they are of: the KEY rows."""
        now = int(self.header["keys"][0] != self._kept[0][0].ctypes.data)
        return self._kept[0][now][: int(self.header["n"][0])]

    @property
    def picks(self) -> Any:
        """Which of them are no farther apart than the margin."""
        return self._kept[1][: int(self.header["n_picks"][0])]


def _flat_cores(pairs: Any) -> Any:
    """A triangle for each row, its first core: kernels move the corners."""
    cores = np.zeros(pairs.shape, FLAT_CORE)
    header = rows_at(TEMPLATE.handle, 1, CORE)[0]
    offsets: Any = FLAT_CORE.fields
    at = cores.ctypes.data + FLAT_CORE.itemsize * np.arange(cores.size).reshape(cores.shape)
    cores["core"] = header  # the index lists of the template serve them all
    for name in ("vertices", "edges", "faces"):
        cores[name] = getattr(TEMPLATE, name)
        cores["core"][name] = at + offsets[name][1]
    pairs["core1"] = at + offsets["core"][1]
    return cores
