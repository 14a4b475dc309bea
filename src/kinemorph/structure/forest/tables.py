"""The tables of a forest: memory that grows on demand, ids, and queries by id."""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from kinemorph.jit.api import rows_at
from kinemorph.multibody.checks import Array
from kinemorph.multibody.data import ExclusiveUse
from kinemorph.multibody.layout import DOF, LINK, TREE
from kinemorph.multibody.model.elements import ELEMENT
from kinemorph.multibody.model.loops import DEPENDENT_ROW_SINE, LOOP
from kinemorph.multibody.system import F8
from kinemorph.multibody.tables import BYTE, WORD, Pattern, Tables
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.pose import vector
from kinemorph.structure.forest import layout as layout
from kinemorph.structure.forest.layout import BODIES, EDIT, FOREST, FOREST_KIND, JOINTS, LOOPS, OUTCOME, POOL, TREES
from kinemorph.structure.forest.memory import BLOCK_CLASS_COUNT, ID_INDEX_MASK, add_chunk, begin_forest

FIRST_CHUNK_BYTES, FIRST_SCRATCH_BYTES, FIRST_ROWS = 1 << 16, 1 << 14, 16
_SLOTS = (layout.TREE_SLOT, layout.BODY_SLOT, layout.JOINT_SLOT, layout.LOOP_SLOT)
_TABLES = ("trees", "bodies", "joints", "loops"), ("tree_room", "body_room", "joint_room", "loop_room")

# attributes, and the tables that they are made of
_LAZY_TABLES = {
    "_pools": ("pools",), "_lists": ("lists",), "_tables": _TABLES[0], "_chunks": ("start",), "_ties": ("ties",),
    "_drives": ("drives",), "_scratch": ("scratch",),
}  # fmt: skip
NO_ELEMENTS, NO_ENDS = np.zeros(0, ELEMENT), np.zeros((0, 2), np.int64)

Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


def make_first_tables() -> Tables:
    """The tables of an empty forest, with its first chunk of memory."""
    tables = Tables(FOREST, {"scratch": None, "start": None})
    header = tables.header[0]
    header["kind"], header["scratch_size"] = FOREST_KIND, FIRST_SCRATCH_BYTES
    pools = tables.make("pools", 4, POOL)
    pools["free"], pools["capacity"] = -1, FIRST_ROWS
    for name, room, slots in zip(*_TABLES, _SLOTS, strict=True):
        tables.make(name, FIRST_ROWS, slots)
        header[room] = FIRST_ROWS
    of_drives = ("drives", 6 * FIRST_ROWS, DOF)
    for name, count, dtype in (("lists", BLOCK_CLASS_COUNT, WORD), ("ties", FIRST_ROWS, LOOP), of_drives):
        tables.make(name, count, dtype)
    for name, size in (("scratch", FIRST_SCRATCH_BYTES), ("start", FIRST_CHUNK_BYTES)):
        tables.make(name, size, BYTE)
    return tables


@functools.cache
def _pattern() -> Pattern:
    return Pattern(make_first_tables())


def grown_table(table: np.ndarray[Any, Any], need: int) -> np.ndarray[Any, Any]:
    """A copy of a table with at least `need` rows, and at least twice as many as it had."""
    longer = np.zeros(max(need, 2 * len(table)), table.dtype)
    longer[: len(table)] = table
    return longer


@checked_on_failure
class ForestTables:
    """Trees, bodies, joints and loops by their ids, and the force elements between bodies."""

    _pools: np.ndarray[Any, Any]
    _lists: np.ndarray[Any, Any]
    _tables: list[np.ndarray[Any, Any]]
    _chunks: list[np.ndarray[Any, Any]]  # of memory for trees
    _ties: np.ndarray[Any, Any]
    _drives: np.ndarray[Any, Any]
    _scratch: np.ndarray[Any, Any]

    def __init__(
        self,
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        dependence: float = DEPENDENT_ROW_SINE,
        tables: Tables | None = None,
    ) -> None:
        """Make an empty forest; `tables` are used if given, and must have the layout of new ones."""
        tables = _pattern().tables()[0] if tables is None else tables
        self._header, self._first = tables.header, tables
        self._lock = threading.Lock()
        self._elements, self._ends = NO_ELEMENTS, NO_ENDS
        gx, gy, gz = vector(gravity, 3, "forest: gravity").tolist()
        if not 0.0 < dependence < 1.0:
            raise ValueError(f"forest: dependence {dependence} is not between 0 and 1")
        self.address = tables.address
        begin_forest(self.address, FIRST_CHUNK_BYTES, gx, gy, gz, float(dependence))

    def __getattr__(self, name: str) -> Any:
        """Make arrays of the first tables at first access: most worlds are short-lived and used by kernels only."""
        first = self.__dict__.get("_first")
        if first is None or name not in _LAZY_TABLES:
            raise AttributeError(f"a {type(self).__name__} has no {name}")
        made = [first[one] for one in _LAZY_TABLES[name]]
        # another thread may have made the same meanwhile, and let its tables grow: those stay
        return self.__dict__.setdefault(name, made if name in ("_tables", "_chunks") else made[0])

    @functools.cached_property
    def _edits(self) -> Any:
        """The EDIT row, the input of an edit."""
        return np.zeros(1, EDIT)

    @functools.cached_property
    def _outcomes(self) -> Any:
        """The OUTCOME row, its result."""
        return np.zeros(1, OUTCOME)

    def _connect(self) -> None:
        """Write the addresses of all tables into the header."""
        header = self._header[0]
        header["pools"], header["lists"] = self._pools.ctypes.data, self._lists.ctypes.data
        header["ties"], header["drives"] = self._ties.ctypes.data, self._drives.ctypes.data
        header["elements"], header["ends"] = self._elements.ctypes.data, self._ends.ctypes.data
        header["scratch"], header["scratch_size"] = self._scratch.ctypes.data, len(self._scratch)
        for pool, table, rows, room in zip(self._pools, self._tables, *_TABLES, strict=True):
            pool["capacity"] = header[room] = len(table)
            header[rows] = table.ctypes.data

    def _grow(self) -> None:
        """Grow the memory that a kernel has found too small."""
        want, need = int(self._header[0]["want"]), int(self._header[0]["need"])
        if want == layout.CHUNK:
            size = max(FIRST_CHUNK_BYTES, need + 64, sum(map(len, self._chunks)) // 4)
            self._chunks.append(np.empty(size, np.uint8))
            add_chunk(self.address, self._chunks[-1])
            return
        if want == layout.SCRATCH:
            self._scratch = np.empty(max(need, 2 * len(self._scratch)), np.uint8)
        else:
            self._tables[want] = grown_table(self._tables[want], need)
            if want == LOOPS:
                count = len(self._tables[want])
                self._ties, self._drives = grown_table(self._ties, count), grown_table(self._drives, 6 * count)
        self._connect()

    @property
    def memory(self) -> int:
        """Bytes of all memory of the forest."""
        parts = self._ties, self._drives, self._elements, self._ends, self._scratch, self._pools, self._lists
        return sum(array.nbytes for array in (*self._tables, *self._chunks, *parts))

    @property
    def header(self) -> Any:
        """The row whose address kernels get."""
        return self._header[0]

    def claimed(self, waits: bool = False) -> ExclusiveUse:
        """Exclusive use for a long call or several steps: calls of other threads raise meanwhile.

        With `waits`, the call waits until other threads are done, instead of raising.
        """
        return ExclusiveUse(self, "this forest is in use by another thread", waits)

    def _find(self, which: int, name: Any, what: str) -> int:
        """The index of an id; a stale one is refused."""
        number = operator.index(name)
        if not self._lives(which, number):
            self._refuse_stale(number, what)
        return number & ID_INDEX_MASK

    def has_body(self, id: int) -> bool:
        """Whether a body of this id exists."""
        return self._lives(BODIES, id)

    def has_joint(self, id: int) -> bool:
        """Whether a joint of this id exists."""
        return self._lives(JOINTS, id)

    def _lives(self, which: int, number: int) -> bool:
        number = operator.index(number)  # NumPy's short numbers cannot be masked
        index = number & ID_INDEX_MASK
        if not 0 <= index < self._pools[which]["count"] or number < 0:
            return False
        row = self._tables[which][index]
        return bool(row["next"] == layout.IN_USE and row["generation"] == number >> 32)

    def _refuse_stale(self, number: int, what: str) -> NoReturn:
        raise KeyError(f"forest: there is no {what} {number} (any more)")

    def _id(self, which: int, index: int) -> int:
        return int(self._tables[which][index]["generation"]) << 32 | index

    # -------------------------------------------------------------------------------------------------- what is where

    def _ids(self, which: int) -> Ids:
        count = int(self._pools[which]["count"])
        return self._ids_at(which, np.flatnonzero(self._tables[which]["next"][:count] == layout.IN_USE))

    def _ids_at(self, which: int, indices: Any) -> Ids:
        found: Ids = self._tables[which]["generation"][indices].astype(np.int64) << 32 | indices
        return found

    @property
    def trees(self) -> Ids:
        """Ids of all trees."""
        return self._ids(TREES)

    @property
    def bodies(self) -> Ids:
        """Ids of all bodies."""
        return self._ids(BODIES)

    @property
    def joints(self) -> Ids:
        """Ids of all joints, those that close loops as well."""
        return self._ids(JOINTS)

    @property
    def loops(self) -> Ids:
        """Ids of the joints that close loops."""
        ids = self.joints
        return ids[self._tables[JOINTS][ids & ID_INDEX_MASK]["loop"] >= 0]

    def tree_of(self, body: int) -> int:
        """The tree that a body is in."""
        return self._id(TREES, int(self._tables[BODIES][self._find(BODIES, body, "body")]["tree"]))

    def joint_of(self, body: int) -> int:
        """The joint that carries a body."""
        row = self._tables[BODIES][self._find(BODIES, body, "body")]
        return self._id(JOINTS, int(self._links(int(row["tree"]))[row["link"]]["joint"]))

    def sides(self, joint: int) -> list[int]:
        """The bodies that a joint ties together; the base is left out."""
        row = self._tables[JOINTS][self._find(JOINTS, joint, "joint")]
        if row["loop"] >= 0:
            loop = self._tables[LOOPS][row["loop"]]
            indices = [int(loop["a"]), int(loop["b"])]
        else:
            links = self._links(int(row["tree"]))
            link = links[row["link"]]
            indices = [int(links[link["parent"]]["body"]) if link["parent"] >= 0 else -1, int(link["body"])]
        return [self._id(BODIES, i) for i in indices if i >= 0]

    def closes_loop(self, joint: int) -> bool:
        """Whether a joint closes a loop, and carries no body."""
        return int(self._tables[JOINTS][self._find(JOINTS, joint, "joint")]["loop"]) >= 0

    def members(self, tree: int) -> Ids:
        """The bodies of a tree, parents before children."""
        return self._ids_at(BODIES, self._links(self._find(TREES, tree, "tree"))["body"])

    def _tree(self, t: int) -> Any:
        return rows_at(int(self._tables[TREES][t]["address"]), 1, TREE)[0]

    def _links(self, t: int) -> Any:
        tree = self._tree(t)
        return rows_at(int(tree["links"]), int(tree["n"]), LINK)

    def _vector(self, t: int, which: int) -> Array:
        tree = self._tree(t)
        nq, nv = int(tree["nq"]), int(tree["nv"])
        count = nq if which in (layout.Q, layout.REST) else nv
        found: Array = rows_at(int(self._tables[TREES][t]["state"]) + 8 * nq * which, count, F8)
        return found

    def _carried(self, joint: int) -> tuple[int, Any]:
        """The tree of a joint, and the row of the link that it carries."""
        row = self._tables[JOINTS][self._find(JOINTS, joint, "joint")]
        if row["tree"] < 0:
            raise ValueError(f"forest: joint {joint} closes a loop, and has no part of q and v")
        return int(row["tree"]), self._links(int(row["tree"]))[row["link"]]
