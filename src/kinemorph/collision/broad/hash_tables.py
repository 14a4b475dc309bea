"""The tables of the hierarchical hash, and their growth when a kernel reports that one is full."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinemorph.collision.broad import hash_rows
from kinemorph.collision.broad.hash_update import TABLE_FULL, rebuild_tables
from kinemorph.multibody.tables import Pattern, Tables

SAVED_HEADER_FIELDS = (  # fields of the header that are saved: the others follow
    "n", "moving", "top", "finest", "budget", "fixed_budget", "linger", "pair_count", "pair_free", "pairs_made",
)  # fmt: skip


class HashTables:
    """All tables of the hash; `address` is that of the HASH row, for kernels."""

    __slots__ = ("_tables", "address", "header")

    def __init__(self, levels: int, finest: float, linger: int) -> None:
        self._hold(_pattern().tables()[0])
        h = self.header[0]
        h["top"], h["finest"], h["linger"] = levels - 1, finest, linger

    @staticmethod
    def of(tables: Tables) -> HashTables:
        """With the given tables."""
        made = HashTables.__new__(HashTables)
        made._hold(tables)
        return made

    def _fill(self) -> Tables:
        self.header["pair_free"] = -1
        self.make_boxes(32)
        self._make_entries(256)
        self._make_tiles(256)
        self._make_pairs(64)
        rebuild_tables(self.address)
        return self._tables

    def _hold(self, tables: Tables) -> None:
        self._tables, self.header, self.address = tables, tables.header, tables.address

    def __getstate__(self) -> tuple[Any, ...]:
        """Boxes, and pairs in their rows; tiles and slots are filled again."""
        header = self.header.copy()
        for name in hash_rows.HASH.names or ():
            if name not in SAVED_HEADER_FIELDS:
                header[name] = 0
        n, moving, count = (int(header[name][0]) for name in ("n", "moving", "pair_count"))
        boxes, pairs = self["boxes"][:n].copy(), self["pairs"][:count].copy()
        boxes["entry"] = -1
        pairs["shared"] = np.minimum(pairs["shared"], 0)  # counted again; free rows form a list
        lives = self["lives"][:count].copy()
        return header, boxes, self["filters"][:n].copy(), self["order"][:moving].copy(), pairs, lives

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        header, boxes, filters, order, pairs, lives = state
        if header.dtype != hash_rows.HASH:
            raise ValueError("a broad phase that another version of kinemorph has pickled cannot be read")
        self._hold(Tables(hash_rows.HASH))
        self.header[:] = header
        self.make_boxes(max(32, len(boxes)))
        self._make_entries(256)
        self._make_tiles(256)
        self._make_pairs(max(64, 1 << (len(pairs) - 1).bit_length()))
        tables = {"boxes": boxes, "filters": filters, "order": order, "pairs": pairs, "lives": lives}
        for name, rows in tables.items():
            self[name][: len(rows)] = rows
        while rebuild_tables(self.address) == TABLE_FULL:
            if self.header["full"][0] & hash_rows.FULL_PAIRS:  # it has a row for each pair
                raise ValueError("a broad phase lacks pairs of boxes that share a tile")
            self._double()

    def __getitem__(self, name: str) -> Any:
        return self._tables[name]

    @property
    def tile_count(self) -> int:
        """How many tiles have a box in them."""
        tiles = self["tiles"]
        return int(
            ((tiles["key"] != hash_rows.EMPTY_TILE_KEY) & ((tiles["natives"] >= 0) | (tiles["guests"] >= 0))).sum()
        )

    def make_boxes(self, room: int) -> None:
        """Make rows for `room` boxes; existing ones are kept."""
        there = len(self["boxes"]) if "boxes" in self._tables else 0
        self._tables.make("boxes", room, hash_rows.BOX, keep=True)["level"][there:] = hash_rows.ABSENT_LEVEL
        self._tables.make("filters", room, hash_rows.FILTER, keep=True)
        self._tables.make("order", room, hash_rows.INDEX_ROW, keep=True)
        self._tables.make("tally", room + 1, hash_rows.INDEX_ROW)

    def _make_entries(self, room: int) -> None:
        self._tables.make("entries", room, hash_rows.ENTRY)
        self.header["entry_room"] = room

    def _make_tiles(self, room: int) -> None:
        self._tables.make("tiles", room, hash_rows.TILE)
        self.header["tile_mask"] = room - 1

    def _make_pairs(self, room: int) -> None:
        self._tables.make("pairs", room, hash_rows.BOX_PAIR, keep=True)
        self._tables.make("lives", room, hash_rows.INDEX_ROW, keep=True)
        self._tables.make("slots", 2 * room, hash_rows.INDEX_ROW)
        self._tables.make("sorted", 2 * room + 1, hash_rows.LISTED_PAIR)  # one more is written beyond the last
        self._tables.make("fresh", hash_rows.MOST_NEW_PAIRS, hash_rows.LISTED_PAIR)
        self._tables.make("found", room + 1, hash_rows.LISTED_PAIR)
        self.header["n_fresh"] = -1
        self.header["pair_room"], self.header["slot_mask"] = room, 2 * room - 1

    def rebuild(self) -> None:
        """Fill all tables again from the rows of the boxes, and enlarge them if necessary."""
        while rebuild_tables(self.address) == TABLE_FULL:
            self._double()

    def grow(self) -> None:
        """Double the tables that are full, and fill them again."""
        self._double()
        self.rebuild()

    def _double(self) -> None:
        full = int(self.header["full"][0])
        if full & hash_rows.FULL_ENTRIES:
            self._make_entries(2 * int(self.header["entry_room"][0]))
        if full & hash_rows.FULL_PAIRS:
            self._make_pairs(2 * int(self.header["pair_room"][0]))
        if full & hash_rows.FULL_TILES and 4 * self.tile_count > len(self["tiles"]):  # else most are empty by now
            self._make_tiles(2 * len(self["tiles"]))


@functools.cache
def _pattern() -> Pattern:
    return Pattern(HashTables.of(Tables(hash_rows.HASH))._fill())
