"""The broad phase: which of many boxes overlap, kept up to date as they move."""

from __future__ import annotations

import heapq
from math import floor, log2
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from kinemorph.collision.hash_check import count_again
from kinemorph.collision.hash_rows import (
    ABSENT,
    BODY,
    EMPTY,
    ENTRY,
    FULL_ENTRIES,
    FULL_PAIRS,
    FULL_TILES,
    HANDLE,
    HASH,
    IGNORED,
    KIND,
    MEETING,
    PAIR,
    TILE,
)
from kinemorph.collision.hashing import FULL, fill, forget, meetings, set_linger, update_boxes, update_one

Array = np.ndarray[Any, np.dtype[np.float64]]
Handles = np.ndarray[Any, np.dtype[np.int32]]

EVERYTHING = 0xFFFFFFFF  # the mask of a body that meets all groups


class BroadPhase:
    """Boxes in a hierarchical hash (Fontijne 2.3), and the pairs of them that overlap.

    `tile_budget` is the number of tiles that a body may cover at its own level (the thesis's t), `fixed_budget` the
    same for fixed bodies (t_f). A pair is kept for `linger` updates after its bodies have shared their last tile. Tiles
    have sizes from `finest` to `coarsest` (m), rounded down to powers of two; bodies too large for them are all over.
    """

    __slots__ = ("_dirty", "_found", "_free", "_handle", "_header", "_ignored", "_pairs", "_shape", "_tables")

    def __init__(
        self,
        tile_budget: int = 8,
        fixed_budget: int = 64,
        linger: int = 4,
        finest: float = 2.0**-20,
        coarsest: float = 2.0**20,
    ) -> None:
        if not 0 <= linger <= 1_000_000:
            raise ValueError(f"linger is {linger}, expected 0 to 1000000 updates")
        if not 2.0**-64 <= finest <= coarsest <= 2.0**64:
            raise ValueError(f"finest is {finest} and coarsest {coarsest}, expected sizes of tiles in m, in this order")
        low, high = floor(log2(finest)), floor(log2(coarsest))
        if high - low > 60:
            raise ValueError(f"tiles from {finest} to {coarsest} m have {high - low + 1} levels, more than 61")
        self._header: Any = np.zeros(1, HASH)
        self._handle = int(self._header.ctypes.data)
        h = self._header[0]
        h["top"], h["finest"] = high - low, 2.0**-low
        h["linger"], h["pair_free"] = linger, -1
        self._tables: dict[str, Any] = {}
        self.set_budgets(tile_budget, fixed_budget)
        self._free: list[int] = []  # handles that were given back, a heap
        self._ignored: dict[int, set[int]] = {}  # both ways; pairs that masks rule out have no row to say so
        self._shape: tuple[int, int] | None = None  # of what `update` expects; None if `order` is out of date
        self._make_bodies(32)
        self._make_entries(256)
        self._make_tiles(256)
        self._make_pairs(64)
        fill(self._handle)
        self._dirty = False  # whether _pairs is out of date
        self._pairs = self._found[:0]

    # --- bodies ---

    def add(
        self, low: npt.ArrayLike, high: npt.ArrayLike, *, group: int = 1, mask: int = EVERYTHING, fixed: bool = False
    ) -> int:
        """Add a body with a box from `low` to `high` (m). Returns its handle, the smallest one that is free.

        Two bodies meet if each one's group (of 32 bits) is in the other's mask, unless both are fixed.
        """
        box = _box(low, high, "the new body")
        _bits(group=group, mask=mask)
        i = heapq.heappop(self._free) if self._free else int(self._header["n"][0])
        if i == len(self.bodies):
            self._make_bodies(2 * i)
        self._header["n"] = max(i + 1, self._header["n"][0])
        self._tables["kinds"][i] = group, mask, fixed
        self._shape = None
        self._put(i, box)
        return i

    def move(self, handle: int, low: npt.ArrayLike, high: npt.ArrayLike) -> None:
        """Give one body another box; a fixed one too. For many at once there is `update`."""
        self._put(self._known(handle), _box(low, high, f"body {handle}"))

    def remove(self, handle: int) -> None:
        """Take a body out, with its pairs. A body that is added later may get its handle."""
        i = self._known(handle)
        forget(self._handle, i)
        for other in self._ignored.pop(i, ()):
            self._ignored[other].discard(i)
        heapq.heappush(self._free, i)
        self._shape = None
        self._dirty = True

    def regroup(self, handle: int, *, group: int, mask: int) -> None:
        """Change what a body is and what it meets. Pairs that are ignored stay so."""
        i = self._known(handle)
        _bits(group=group, mask=mask)
        box = self.box(i)
        forget(self._handle, i)
        self._tables["kinds"][i]["group"], self._tables["kinds"][i]["mask"] = group, mask
        self._put(i, box)
        for other in sorted(self._ignored.get(i, ())):
            self._set_linger(i, other, IGNORED)

    def update(self, lows: npt.ArrayLike, highs: npt.ArrayLike, handles: npt.ArrayLike | None = None) -> None:
        """Give many bodies new boxes: row k of `lows` and of `highs` (n, 3) is for handles[k].

        Without `handles` they are for all moving bodies in ascending order, see `moving`. One update passes for the
        pairs that linger. A bad box raises, and leaves everything as it was.
        """
        if handles is not None:
            order = [self._known(i) for i in np.asarray(handles).ravel().tolist()]
            if len(set(order)) < len(order):
                twice = next(i for i in order if order.count(i) > 1)
                raise ValueError(f"update: handles has body {twice} more than once; one box a body")
            self._set_order(np.array(order, np.int32))
        elif self._shape is None:
            self._set_order(self.moving)
        try:
            good = lows.shape == highs.shape == self._shape  # type: ignore[union-attr]
            m = update_boxes(self._handle, lows, highs) if good else None
        except (AttributeError, TypeError):  # a list, or an array of another type than the compiled one
            m = None
        if m is None:
            lows, highs = self._convert(lows, "lows"), self._convert(highs, "highs")
            m = update_boxes(self._handle, lows, highs)
        while m == FULL:
            self.grow()
            m = update_boxes(self._handle, lows, highs)
        if handles is not None:
            self._shape = None
        if m < 0:
            self._complain(lows, highs)
        self._pairs = self._found[:m]
        self._dirty = False

    def __reduce__(self) -> NoReturn:
        raise TypeError("a BroadPhase cannot be copied or pickled; add the boxes to a new one: the pairs are the same")

    def __len__(self) -> int:
        return int(self._header["n"][0]) - len(self._free)

    def __contains__(self, handle: Any) -> bool:
        return 0 <= handle < self._header["n"][0] and bool(self.bodies["level"][handle] != ABSENT)

    @property
    def handles(self) -> Handles:
        """All handles, ascending."""
        return np.flatnonzero(self.bodies["level"] != ABSENT).astype(np.int32)

    @property
    def moving(self) -> Handles:
        """The handles of bodies that are not fixed, ascending: those that `update` takes boxes for."""
        return np.flatnonzero((self.bodies["level"] != ABSENT) & (self._tables["kinds"]["fixed"] == 0)).astype(np.int32)

    def box(self, handle: int) -> tuple[Array, Array]:
        """The lowest and the highest corner of a body's box."""
        body = self.bodies[self._known(handle)]
        return body["low"].copy(), body["high"].copy()

    def set_budgets(self, tile_budget: int, fixed_budget: int) -> None:
        """Other budgets of tiles from now on, also for the bodies that are there: the thesis leaves t to the user."""
        if not 8 <= tile_budget <= fixed_budget <= 4096:  # a box on the corner of a tile covers 8, however small it is
            raise ValueError(f"expected 8 <= tile_budget <= fixed_budget <= 4096, got {tile_budget} and {fixed_budget}")
        self._header["budget"], self._header["fixed_budget"] = tile_budget, fixed_budget
        for i in self.handles.tolist() if self._tables else ():
            self._put(i, self.box(i))

    # --- pairs ---

    @property
    def pairs(self) -> Handles:
        """The pairs of bodies whose boxes overlap or touch: (m, 2), sorted. A view, valid until the next change."""
        if self._dirty:
            self._pairs = self._found[: meetings(self._handle)]
            self._dirty = False
        return self._pairs

    @property
    def pairs_made(self) -> int:
        """How many pairs have come to share a tile so far; one that comes back after it was gone counts again."""
        return int(self._header["pairs_made"][0])

    @property
    def rows(self) -> Any:
        """The PAIR rows: a pair keeps its row while it lives; `count` is negative in rows of no pair. A view."""
        return self._tables["pairs"]

    @property
    def close(self) -> Handles:
        """The pairs of bodies that share a tile, or did so shortly ago: (m, 2), sorted. `pairs` are among them."""
        rows = self._tables["pairs"][: self._header["pair_count"][0]]
        rows = rows[(rows["count"] >= 0) & (rows["linger"] != IGNORED)]
        order = np.lexsort((rows["b"], rows["a"]))
        return np.stack([rows["a"][order], rows["b"][order]], axis=1)

    def ignore(self, a: int, b: int) -> None:
        """Never report this pair, such as a parent and its child, until `heed` or until one of them is removed."""
        self._set_linger(a, b, IGNORED)
        for i, j in ((int(a), int(b)), (int(b), int(a))):
            self._ignored.setdefault(i, set()).add(j)

    def heed(self, a: int, b: int) -> None:
        """Report a pair again that was ignored."""
        self._set_linger(a, b, int(self._header["linger"][0]))
        for i, j in ((int(a), int(b)), (int(b), int(a))):
            self._ignored.get(i, set()).discard(j)

    def _set_linger(self, a: int, b: int, linger: int) -> None:
        i, j = self._known(a), self._known(b)
        if i == j:
            raise ValueError(f"body {i} makes no pair with itself")
        while set_linger(self._handle, i, j, linger) == FULL:
            self.grow()
        self._dirty = True

    # --- tables ---

    @property
    def tile_count(self) -> int:
        """How many tiles have a body in them."""
        tiles = self._tables["tiles"]
        return int(((tiles["key"] != EMPTY) & ((tiles["natives"] >= 0) | (tiles["guests"] >= 0))).sum())

    def rebuild(self) -> None:
        """Build all tables again from scratch. They grow by themselves when they must; this shows what that costs."""
        while fill(self._handle) == FULL:
            self.grow()

    def check(self) -> None:
        """Compare every counter with a count from scratch, in plain Python; AssertionError if one differs."""
        count_again(self)

    @property
    def bodies(self) -> Any:
        """The BODY rows, one a handle: boxes, levels, tiles. A view to look at, valid until the next `add`."""
        return self._tables["bodies"]

    def _make(self, name: str, room: int, dtype: Any) -> Any:
        """A new table in place of an old one, its address in the header. It begins with a cache line."""
        memory = np.zeros(room * dtype.itemsize + 63, np.uint8)
        table: Any = memory[-memory.ctypes.data % 64 :][: room * dtype.itemsize].view(dtype)
        self._tables[name] = table
        self._header[name] = table.ctypes.data
        return table

    def _make_bodies(self, room: int) -> None:
        for name, dtype in (("bodies", BODY), ("kinds", KIND)):
            old = self._tables.get(name)
            new = self._make(name, room, dtype)
            if name == "bodies":
                new["level"] = ABSENT
            if old is not None:
                new[: len(old)] = old
        self._make("order", room, HANDLE)
        self._make("tally", room + 1, HANDLE)

    def _make_entries(self, room: int) -> None:
        self._make("entries", room, ENTRY)
        self._header["entry_room"] = room

    def _make_tiles(self, room: int) -> None:
        self._make("tiles", room, TILE)
        self._header["tile_mask"] = room - 1

    def _make_pairs(self, room: int) -> None:
        old = self._tables.get("pairs")
        new = self._make("pairs", room, PAIR)
        if old is not None:
            new[: len(old)] = old
        self._make("slots", 2 * room, HANDLE)
        self._make("spare", room, MEETING)
        self._found: Handles = self._make("found", room, MEETING)["ij"]
        self._header["pair_room"], self._header["slot_mask"] = room, 2 * room - 1

    def lend(self) -> int:
        """The address of the HASH row, for kernels that call `hashing.update_boxes` themselves for all moving bodies.

        When that returns FULL, `grow` and call it again.
        """
        self._set_order(self.moving)
        self._dirty = True
        return self._handle

    def grow(self) -> None:
        """Double the tables that are full, and fill them again from the rows of the bodies."""
        while True:
            full = int(self._header["full"][0])
            if full & FULL_ENTRIES:
                self._make_entries(2 * int(self._header["entry_room"][0]))
            if full & FULL_PAIRS:
                self._make_pairs(2 * int(self._header["pair_room"][0]))
            if full & FULL_TILES and 4 * self.tile_count > len(self._tables["tiles"]):  # else most are empty by now
                self._make_tiles(2 * len(self._tables["tiles"]))
            if fill(self._handle) != FULL:
                return

    # --- arguments ---

    def _put(self, i: int, box: tuple[Array, Array]) -> None:
        self._dirty = True
        if update_one(self._handle, i, *box) == FULL:
            self.grow()

    def _set_order(self, handles: Handles) -> None:
        self._tables["order"]["i"][: len(handles)] = handles
        self._header["moving"] = len(handles)
        self._shape = (len(handles), 3)

    def _known(self, handle: Any) -> int:
        if isinstance(handle, int | np.integer) and handle in self:
            return int(handle)
        raise ValueError(f"no body has the handle {handle!r}")

    def _convert(self, values: npt.ArrayLike, name: str) -> Array:
        shape, self._shape = self._shape, None  # None: if this raises, the next update begins afresh
        array = np.require(values, np.float64, ["C", "A", "W"])
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}: a row for each body that moves")
        self._shape = shape
        return array

    def _complain(self, lows: Any, highs: Any) -> NoReturn:
        for row, i in enumerate(self._tables["order"]["i"][: len(lows)].tolist()):
            _box(lows[row], highs[row], f"body {i} (row {row})")
        raise AssertionError("a kernel refused boxes that are good")


def swept(lows: npt.ArrayLike, highs: npt.ArrayLike, moves: npt.ArrayLike) -> tuple[Array, Array]:
    """The boxes that hold boxes on their way along `moves` (m): what to `update` with to miss nothing in between."""
    low, high, move = (np.asarray(x, np.float64) for x in (lows, highs, moves))
    return low + np.minimum(move, 0.0), high + np.maximum(move, 0.0)


def _bits(**names: int) -> None:
    for name, bits in names.items():
        if not 0 <= bits <= EVERYTHING:
            raise ValueError(f"{name} is {bits}, expected 32 bits: 0 to 0xFFFFFFFF")


def _box(low: npt.ArrayLike, high: npt.ArrayLike, whose: str) -> tuple[Array, Array]:
    corners = []
    for name, value in (("low", low), ("high", high)):
        corner = np.asarray(value, np.float64)
        if corner.shape != (3,):
            raise ValueError(f"{whose}: {name} has shape {corner.shape}, expected (3,)")
        if not np.isfinite(corner).all():
            raise ValueError(f"{whose}: {name} is {corner.tolist()}, which is not finite")
        corners.append(corner)
    for d in range(3):
        if not 0.0 <= corners[1][d] - corners[0][d] < np.inf:
            raise ValueError(
                f"{whose}: the box reaches from {corners[0][d]} to {corners[1][d]} along {'xyz'[d]}, "
                "which is upside down or too far"
            )
    return corners[0], corners[1]
