"""Broad phase: pairs of overlapping boxes in a hierarchical hash (Fontijne 2.3), updated as the boxes move."""

from __future__ import annotations

import copy
import heapq
from math import floor, log2
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from kinemorph.collision.broad import hash_update
from kinemorph.collision.broad.hash_check import compare_counts
from kinemorph.collision.broad.hash_rows import ABSENT_LEVEL, IGNORED
from kinemorph.collision.broad.hash_tables import HashTables
from kinemorph.geometry.ground import BOUNDS
from kinemorph.multibody.tables import Tables
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_floats, check_bits, repr_of

Array = np.ndarray[Any, np.dtype[np.float64]]
Ids = np.ndarray[Any, np.dtype[np.int32]]

ALL_GROUPS_MASK = 0xFFFFFFFF  # mask that accepts all groups


@checked_on_failure
class BroadPhase:
    """Boxes in a hierarchical hash (Fontijne 2.3), and the pairs of them that overlap.

    `tile_budget` is the number of tiles that a box may cover at its own level (the thesis's t), `fixed_budget` the
    same for fixed boxes (t_f). A pair is kept for `linger` updates after its boxes have shared their last tile. Tiles
    have sizes from `finest` to `coarsest` (m), rounded down to powers of two; boxes too large for them are all over.
    """

    __slots__ = ("_address", "_dirty", "_free", "_ignored", "_pairs", "_shape", "hash")

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
        self._hold(HashTables(high - low + 1, 2.0**-low, linger), [], {})
        self.set_budgets(tile_budget, fixed_budget)

    @staticmethod
    def of(tables: Tables) -> BroadPhase:
        """With tables of another broad phase without boxes, or with a copy of them."""
        made = BroadPhase.__new__(BroadPhase)
        made._hold(HashTables.of(tables), [], {})
        return made

    def _hold(self, tables: HashTables, free: list[int], ignored: dict[int, set[int]]) -> None:
        self.hash, self._address = tables, tables.address
        self._free = free  # free ids, a heap
        self._ignored = ignored  # both ways; filtered pairs have no row that could store it
        self._shape: tuple[int, int] | None = None  # shape that `update` expects; None if `order` is out of date
        self._dirty = True  # whether _pairs is out of date or missing
        self._pairs: Ids

    @property
    def _found(self) -> Ids:
        found: Ids = self.hash["found"]["ij"]
        return found

    def __getstate__(self) -> tuple[HashTables, list[int], dict[int, set[int]]]:
        return self.hash, self._free, self._ignored

    def __setstate__(self, state: tuple[HashTables, list[int], dict[int, set[int]]]) -> None:
        self._hold(*state)

    def __copy__(self) -> BroadPhase:
        made = BroadPhase.__new__(BroadPhase)
        ignored = {i: set(others) for i, others in self._ignored.items()}
        made._hold(copy.copy(self.hash), list(self._free), ignored)
        return made

    def __deepcopy__(self, memo: Any) -> BroadPhase:
        return copy.copy(self)

    # --- boxes ---

    def add(
        self,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        *,
        group: int = 1,
        mask: int = ALL_GROUPS_MASK,
        fixed: bool = False,
    ) -> int:
        """Add a box from `low` to `high` (m). Returns its id, the smallest one that is free.

        Two boxes meet if each one's group (of 32 bits) is in the other's mask, unless both are fixed.
        """
        box = _box(low, high, "the new box")
        check_bits("group", group)
        check_bits("mask", mask)
        i = heapq.heappop(self._free) if self._free else int(self.hash.header["n"][0])
        self.make_room(i + 1)
        self.hash.header["n"] = max(i + 1, self.hash.header["n"][0])
        self.hash["filters"][i] = group, mask, fixed
        self._put(np.array([i]), _bounds(box))
        return i

    def make_room(self, count: int) -> None:
        """Have rows for boxes with ids below `count`, which a caller or its kernels may choose and fill."""
        if count > len(self.boxes):
            self.hash.make_boxes(max(2 * len(self.boxes), count))
        self._shape = None

    def follow_order(self, count: int) -> None:
        """A kernel has filled `order` with the ids of `count` boxes that the next update moves."""
        self._shape = (count, 3)

    def take_out(self, id: int) -> None:
        """Remove a box and its pairs; its id is not given back to `add`."""
        hash_update.delete_box(self._address, id)
        for other in self._ignored.pop(id, ()):
            self._ignored[other].discard(id)
        self._shape = None
        self._dirty = True

    def move(self, id: int, low: npt.ArrayLike, high: npt.ArrayLike) -> None:
        """Move one box, which may be fixed. Use `update` for many."""
        self._put(np.array([self._known(id)]), _bounds(_box(low, high, f"box {id}")))

    def remove(self, id: int) -> None:
        """Remove a box and its pairs. A box that is added later may get its id."""
        i = self._known(id)
        self.take_out(i)
        heapq.heappush(self._free, i)

    def regroup(self, id: int, *, group: int, mask: int) -> None:
        """Change the group and mask of a box. Ignored pairs stay ignored."""
        i = self._known(id)
        check_bits("group", group)
        check_bits("mask", mask)
        box = self._rows_of([i])
        hash_update.delete_box(self._address, i)
        self.hash["filters"][i]["group"], self.hash["filters"][i]["mask"] = group, mask
        self._put(np.array([i]), box)
        for other in sorted(self._ignored.get(i, ())):
            self._set_linger(i, other, IGNORED)

    def update(self, lows: npt.ArrayLike, highs: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> None:
        """Move many boxes: row k of `lows` and of `highs` (n, 3) is for ids[k].

        Without `ids` they are for all moving boxes in ascending order, see `moving`. Lingering pairs age by one update.
        A bad box raises, and leaves everything as it was.
        """
        if ids is not None:
            order = [self._known(i) for i in np.asarray(ids).ravel().tolist()]
            if len(set(order)) < len(order):
                twice = next(i for i in order if order.count(i) > 1)
                raise ValueError(f"update: ids has box {twice} more than once")
            self.set_order(np.array(order, np.int32))
        elif self._shape is None:
            self.set_order(self.moving)
        try:
            good = lows.shape == highs.shape == self._shape  # type: ignore[union-attr]
            m = hash_update.update_boxes(self._address, lows, highs) if good else None
        except (AttributeError, TypeError):  # a list, or an array of another type than the compiled one
            m = None
        if m is None:
            lows, highs = self._convert(lows, "lows"), self._convert(highs, "highs")
            m = hash_update.update_boxes(self._address, lows, highs)
        while m == hash_update.TABLE_FULL:
            self.grow()
            m = hash_update.update_boxes(self._address, lows, highs)
        if ids is not None:
            self._shape = None
        if m < 0:
            self._complain(lows, highs)
        self._pairs = self._found[:m]
        self._dirty = False

    def __len__(self) -> int:
        return int(self.hash.header["n"][0]) - len(self._free)

    def __contains__(self, id: Any) -> bool:
        there = isinstance(id, int | np.integer) and not isinstance(id, bool) and 0 <= id < self.hash.header["n"][0]
        return bool(there) and bool(self.boxes["level"][id] != ABSENT_LEVEL)

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""
        return np.flatnonzero(self.boxes["level"] != ABSENT_LEVEL).astype(np.int32)

    @property
    def moving(self) -> Ids:
        """The ids of boxes that are not fixed, ascending: the order in which `update` takes boxes."""
        return np.flatnonzero((self.boxes["level"] != ABSENT_LEVEL) & (self.hash["filters"]["fixed"] == 0)).astype(
            np.int32
        )

    def box(self, id: int) -> tuple[Array, Array]:
        """The lowest and the highest corner of a box."""
        box = self.boxes[self._known(id)]
        return box["low"].copy(), box["high"].copy()

    def set_budgets(self, tile_budget: int, fixed_budget: int) -> None:
        """Set the budgets of tiles, also for existing boxes (the thesis leaves t to the user)."""
        if not 8 <= tile_budget <= fixed_budget <= 4096:  # a box on the corner of a tile covers 8, even a small one
            raise ValueError(f"expected 8 <= tile_budget <= fixed_budget <= 4096, got {tile_budget} and {fixed_budget}")
        self.hash.header["budget"], self.hash.header["fixed_budget"] = tile_budget, fixed_budget
        if self.hash.header["n"][0]:
            ids = self.ids.astype(np.int64)
            self._put(ids, self._rows_of(ids))

    # --- pairs ---

    @property
    def pairs(self) -> Ids:
        """The pairs of boxes that overlap or touch: (m, 2), sorted. A view, valid until the next change."""
        if self._dirty:
            self._pairs = self._found[: hash_update.collect_pairs(self._address)]
            self._dirty = False
        return self._pairs

    def look_again(self) -> None:
        """Mark `pairs` as out of date after a kernel has changed the tables."""
        self._dirty = True

    @property
    def pairs_made(self) -> int:
        """Number of pairs created so far; a pair that was removed and came back counts again."""
        return int(self.hash.header["pairs_made"][0])

    @property
    def rows(self) -> Any:
        """The BOX_PAIR rows: a pair keeps its row; `shared` is negative in free rows. A view."""
        return self.hash["pairs"]

    @property
    def close(self) -> Ids:
        """Pairs (m, 2) of boxes that share a tile, or did within `linger` updates, sorted; `pairs` are among them."""
        rows = self.hash["pairs"][: self.hash.header["pair_count"][0]]
        rows = rows[(rows["shared"] >= 0) & (rows["linger"] != IGNORED)]
        order = np.lexsort((rows["b"], rows["a"]))
        return np.stack([rows["a"][order], rows["b"][order]], axis=1)

    def ignore(self, a: int, b: int) -> None:
        """Never report this pair, such as a parent and its child, until `heed` or until one of them is removed."""
        self._set_linger(a, b, IGNORED)
        for i, j in ((int(a), int(b)), (int(b), int(a))):
            self._ignored.setdefault(i, set()).add(j)

    def heed(self, a: int, b: int) -> None:
        """Report a pair again that was ignored."""
        self._set_linger(a, b, int(self.hash.header["linger"][0]))
        for i, j in ((int(a), int(b)), (int(b), int(a))):
            self._ignored.get(i, set()).discard(j)

    def ignored(self, a: int, b: int) -> bool:
        """Whether a pair is never reported."""
        return int(b) in self._ignored.get(int(a), ())

    @property
    def all_ignored(self) -> list[tuple[int, int]]:
        """All pairs that are never reported, sorted."""
        return sorted((i, j) for i, others in self._ignored.items() for j in others if i < j)

    def _set_linger(self, a: int, b: int, linger: int) -> None:
        i, j = self._known(a), self._known(b)
        if i == j:
            raise ValueError(f"box {i} makes no pair with itself")
        while hash_update.set_linger(self._address, i, j, linger) == hash_update.TABLE_FULL:
            self.grow()
        self._dirty = True

    # --- tables ---

    @property
    def tile_count(self) -> int:
        """How many tiles have a box in them."""
        return self.hash.tile_count

    def rebuild(self) -> None:
        """Build all tables again from the boxes. They grow automatically; this measures what that costs."""
        self.hash.rebuild()

    def grow(self) -> None:
        """Double the tables that are full, and fill them again from the rows of the boxes."""
        self.hash.grow()

    def check(self) -> None:
        """Compare every count with one from scratch in plain Python; AssertionError if one differs."""
        compare_counts(self)

    @property
    def boxes(self) -> Any:
        """The BOX rows, one an id: corners, levels, tiles. A view to read, valid until the next `add`."""
        return self.hash["boxes"]

    # --- arguments ---

    def _put(self, ids: Any, boxes: Any) -> None:
        self._dirty = True
        done = 0
        while done < len(ids):
            done += hash_update.put_boxes(self._address, ids[done:], boxes[done:])
            if self.hash.header["full"][0]:
                self.grow()

    def _rows_of(self, ids: Any) -> Any:
        """Current boxes of some ids, in the form that `_put` takes."""
        rows = np.empty(len(ids), BOUNDS)
        for name in ("low", "high"):
            rows[name] = self.boxes[name][ids]
        return rows

    def set_order(self, ids: Ids) -> None:
        """Set the ids of the boxes that the next update moves."""
        self.hash["order"]["i"][: len(ids)] = ids
        self.hash.header["moving"] = len(ids)
        self._shape = (len(ids), 3)

    def _known(self, id: Any) -> int:
        if isinstance(id, int | np.integer) and id in self:
            return int(id)
        raise ValueError(f"there is no box {repr_of(id)}")

    def _convert(self, values: npt.ArrayLike, name: str) -> Array:
        shape, self._shape = self._shape, None  # None: after an error the next update sets the order again
        array = np.require(values, np.float64, ["C", "A", "W"])
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}: a row for each box that moves")
        self._shape = shape
        return array

    def _complain(self, lows: Any, highs: Any) -> NoReturn:
        for row, i in enumerate(self.hash["order"]["i"][: len(lows)].tolist()):
            _box(lows[row], highs[row], f"box {i} (row {row})")
        raise AssertionError("a kernel refused boxes that are good")


@checked_on_failure
def swept(lows: npt.ArrayLike, highs: npt.ArrayLike, moves: npt.ArrayLike) -> tuple[Array, Array]:
    """Bounds of boxes that move along `moves` (m): pass them to `update` to find all pairs on the way."""
    low, high, move = (_rows(name, x) for name, x in (("lows", lows), ("highs", highs), ("moves", moves)))
    if not low.shape == high.shape == move.shape:
        raise ValueError(f"swept: lows, highs and moves have shapes {low.shape}, {high.shape}, {move.shape}: not one")
    return low + np.minimum(move, 0.0), high + np.maximum(move, 0.0)


def _rows(name: str, given: npt.ArrayLike) -> Array:
    rows = as_floats(given)
    if rows.ndim not in (1, 2) or rows.shape[-1] != 3:
        raise ValueError(f"swept: {name} has shape {rows.shape}, expected (n, 3)")
    if not np.isfinite(rows).all():
        raise ValueError(f"swept: {name} must be finite, and is {repr_of(rows.tolist())}")
    return rows


def _bounds(box: tuple[Array, Array]) -> Any:
    """One box as a row of BOUNDS."""
    rows = np.empty(1, BOUNDS)
    rows["low"], rows["high"] = box
    return rows


def _box(low: npt.ArrayLike, high: npt.ArrayLike, whose: str) -> tuple[Array, Array]:
    corners = []
    for name, value in (("low", low), ("high", high)):
        corner = as_floats(value)
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
