"""Collision detection of a table of shapes: candidate pairs, distances and contacts, kept from step to step."""

from __future__ import annotations

import copy
import functools
import math
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from kinemorph.collision.broad.broad_phase import BroadPhase
from kinemorph.collision.broad.hash_rows import INDEX_ROW, LISTED_PAIR
from kinemorph.collision.collide import find_all_contacts, place_and_find_pairs, place_and_list_all_pairs
from kinemorph.collision.narrow.manifold import MANIFOLD_ROWS
from kinemorph.collision.narrow.part_pairs import KNOWN_FEATURES, PartPairs
from kinemorph.collision.narrow.scratch import empty_search, make_scratch
from kinemorph.collision.shapes import shape_rows
from kinemorph.collision.shapes.shape_poses import place_shape
from kinemorph.collision.shapes.shape_rows import Candidates, Form, PairQuery, Status, shape_poses_of, shapes_of
from kinemorph.collision.shapes.shape_table import ShapeTable
from kinemorph.collision.shapes.shape_writing import I8, NO_NEXT_SHAPE, list_moving_shapes, put_shape_boxes
from kinemorph.geometry.ground import BOUNDS
from kinemorph.jit.api import entry, rows_at
from kinemorph.multibody.tables import Pattern, Tables
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.rows import load3, load9, store3

ADDRESS_FIELDS = (  # the fields of COLLISIONS that are
    "shapes", "mounts", "places", "boxes", "hash", "met", "lives", "pairs", "memory", "made", "contacts", "anchors",
    "fresh", "fresh_anchors", "known", "search", "work", "row", "carried", "found",
)  # fmt: skip
NO_LINKS = np.zeros(1, shape_rows.POSE)
FIRST_SHAPES, CONTACTS_PER_SHAPE = 16, 4  # shapes with rows from the start, and contacts of each
MOST_EXPECTED_SHAPES = 1024  # most that `expect` counts
COUNTER_FIELDS = ("updates", "walked", "fallbacks", "rough", "opened", "kept")


@checked_on_failure
class Collisions:
    """The pairs of shapes that meet, and their contacts in the world frame, kept up to date as links move.

    Contacts are made of shapes no farther apart than `margin` (m), `max_contacts` of two convex shapes or parts. A
    pair that has moved by less than `keep_within` (m) since its contacts were made keeps them, with new distances:
    contacts up to `keep_within` beyond the margin are reported as well. With PairQuery.DISTANCE every pair has its
    closest points instead, and the hulls of concave bodies are opened for a distance below `threshold`.
    `from_scratch` builds the hash anew at each update, for measurements.
    """

    __slots__ = (
        "_boxed", "_broad", "_busy", "_links", "_moves", "_n", "_room", "_search", "_seen", "_tables", "header",
        "shapes",
    )  # fmt: skip

    def __init__(
        self, shapes: ShapeTable | None = None, *, margin: float = 0.0, keep_within: float = 0.0,
        max_contacts: int = 4, question: PairQuery = PairQuery.CONTACTS,
        candidates: Candidates = Candidates.OVERLAPPING, threshold: float = math.inf, from_scratch: bool = False,
    ) -> None:  # fmt: skip
        if not isinstance(shapes, ShapeTable | None):
            raise TypeError(f"Collisions: shapes must be a kinemorph.ShapeTable, not {repr_of(shapes)}")
        for name, length in (("margin", margin), ("keep_within", keep_within)):
            if not 0.0 <= length < math.inf:
                raise ValueError(f"Collisions: {name} {length} must be finite and not negative")
        if not 1 <= max_contacts <= MANIFOLD_ROWS:
            raise ValueError(f"Collisions: max_contacts is {max_contacts}; expected 1 to {MANIFOLD_ROWS}")
        if not threshold >= 0.0:
            raise ValueError(f"Collisions: threshold {threshold} must not be negative")
        question = question if type(question) is PairQuery else PairQuery(question)  # PairQuery() refuses other values
        candidates = candidates if type(candidates) is Candidates else Candidates(candidates)
        hashed = candidates != Candidates.ALL
        broad = BroadPhase() if hashed else None
        own = _pattern(max(64, max_contacts), keep_within > 0.0, 64 if hashed else 0).tables()[0]
        self._hold(own, broad, ShapeTable() if shapes is None else shapes)
        self._point()
        h = self.header[0]
        h["kind"], h["question"], h["candidates"] = shape_rows.COLLISIONS_KIND, int(question), int(candidates)
        h["margin"], h["keep_within"], h["threshold"], h["max_contacts"] = margin, keep_within, threshold, max_contacts
        h["from_scratch"] = from_scratch
        if broad is None:
            self._make_pairs(self._rows_wanted())

    def _hold(self, tables: Tables, broad: BroadPhase | None, shapes: ShapeTable) -> None:
        """Take tables over, and initialise the attributes that are not saved."""
        self.shapes, self._broad, self._tables, self.header = shapes, broad, tables, tables.header
        self._moves: Any = None  # the table whose addresses the header has, and its count of moves at that time
        self._n = self._room = -1  # number of shapes, and rows of places
        self._seen = 0  # revision of the table of shapes at the last look
        self._boxed: dict[int, tuple[int, ...]] = {}  # filters of the rows that have a box in the hash
        self._busy = threading.Lock()
        self._links = 0
        self._search = empty_search()  # scratch of a search, without rows so far

    def _point(self) -> None:
        """Write the address of the hash into the header."""
        self.header["hash"] = self._broad.hash.address if self._broad is not None else 0

    @staticmethod
    def of(own: Tables, hashed: Tables, shapes: ShapeTable) -> Collisions:
        """From copies of the tables of `first_collision_tables`, and of those of shapes, to which the header points."""
        made = Collisions.__new__(Collisions)
        made._hold(own, BroadPhase.of(hashed), shapes)
        made._moves, made._n, made._room = (shapes, shapes.moves), 0, len(made._tables["places"])
        return made

    # --- a step ---

    def update(self, links: Any) -> None:
        """Move the links, and find all pairs and contacts.

        `links` are poses of link 0 and on; or, without a copy, rows with R and p, the base first, such as those of
        `Data`. A pose that is not finite raises, and leaves the pairs as they were.
        """
        links = _link_rows(links)
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("Collisions: another thread is in the middle of an update; give each thread a copy")
        pair = place_and_list_all_pairs if self._broad is None else place_and_find_pairs
        try:
            self.header["goes_on"] = 0  # was 1 if the last update was interrupted
            if self._seen != self.shapes.revision:
                self._check_links(links)
                self._see_changes(links)
            elif len(links) < self._links:
                self._check_links(links)
            while (status := pair(self._tables.address, links)) == Status.FULL:
                self.grow()
            if status == Status.BAD_BOX:
                self._complain()
            while find_all_contacts(self._tables.address) == Status.FULL:
                self.grow()
        finally:
            self._busy.release()

    def _complain(self) -> NoReturn:
        raise ValueError(f"shape {self.shapes.id_at(self.endless()[0])}: its pose is not finite, or its box has no end")

    def endless(self) -> list[int]:
        """Rows of shapes whose boxes have no finite size, for which no pairs can be found."""
        boxes = self._tables["boxes"][: self.shapes.count]
        with np.errstate(invalid="ignore", over="ignore"):
            size = boxes["high"] - boxes["low"]
        rows: list[int] = np.flatnonzero(~((size >= 0.0) & (size < np.inf)).all(axis=1)).tolist()
        return rows

    def _check_links(self, links: Any) -> None:
        highest = int(self.shapes.rows["link"][: self.shapes.count].max(initial=-1))
        self._links = highest + 2  # rows of links that the shapes need
        if len(links) < self._links:
            raise ValueError(f"update: there are poses of {len(links) - 1} links, but a shape is on link {highest}")

    def lend(self, links: Any = None) -> int:
        """The address of the COLLISIONS row, for kernels that call `find_pairs` and `find_contacts` themselves.

        It is valid until shapes are added or removed. When a kernel returns FULL, call `grow` and the kernel again. New
        shapes are placed at `links`, poses as for `update`; without them all are at the origin until a kernel places
        them.
        """
        if self._seen != self.shapes.revision:
            self._see_changes(None if links is None else _link_rows(links))
        return self._tables.address

    # --- results ---

    @property
    def pairs(self) -> Any:
        """The PAIR rows of the last step, in the order of the rows of their shapes. A view, valid until the next."""
        return self._tables["pairs"][: int(self.header["n_pairs"][0])]

    @property
    def lasting(self) -> Any:
        """Mask of `pairs` whose row still belongs to the same shapes: a freed row may have another pair."""
        pairs, rows = self.pairs, self.shapes.rows
        memory = self._tables["memory"][pairs["row"]]
        same = (memory["a"] == pairs["a"]) & (memory["b"] == pairs["b"])
        for side in "ab":
            same &= memory[f"generation_{side}"] == rows["generation"][pairs[side]]
        return same

    @property
    def contacts(self) -> Any:
        """The CONTACT rows of the last step, in the order of their pairs. A view, valid until the next."""
        return self._half(int(self.header["step"][0]))[: int(self.header["n_contacts"][0])]

    def _half(self, step: int) -> Any:
        room = int(self.header["contact_room"][0])
        if self.header["question"][0] == PairQuery.DISTANCE:
            return self._tables["contacts"][:room]
        return self._tables["contacts"][room * (step & 1) :][:room]

    def contacts_of(self, pair: Any) -> Any:
        """The CONTACT rows of a PAIR row."""
        if getattr(pair, "dtype", None) != shape_rows.PAIR or pair.shape != ():
            raise TypeError(f"Collisions.contacts_of: pair is {repr_of(pair)}, and must be one row of `pairs`")
        return self.contacts[int(pair["first"]) : int(pair["first"]) + int(pair["count"])]

    @property
    def places(self) -> Any:
        """The SHAPE_POSE rows, one a shape: its pose in the world. A view, valid until shapes are added."""
        self._follow_rows()
        return self._tables["places"][: self.shapes.count]

    @property
    def boxes(self) -> Any:
        """The boxes around shapes in the world, one a shape: `low` and `high`. A view, as `places`."""
        self._follow_rows()
        return self._tables["boxes"][: self.shapes.count]

    @property
    def broad_phase(self) -> BroadPhase:
        """The boxes of the shapes in the hash, to read."""
        if self._broad is None:
            raise ValueError("Collisions: with Candidates.ALL there is no broad phase")
        self._broad.look_again()
        return self._broad

    @property
    def numbers(self) -> dict[str, int]:
        """Counters since the start, under the names of COLLISIONS: updates by V-Clip, its steps, and so on."""
        return {name: int(self.header[name][0]) for name in COUNTER_FIELDS}

    def ignore(self, a: int, b: int) -> None:
        """Never report this pair of shapes, such as those of a parent and its child, until `heed`."""
        self.lend()
        self.broad_phase.ignore(self.shapes.row_of(a), self.shapes.row_of(b))

    def heed(self, a: int, b: int) -> None:
        """Report a pair again that was ignored."""
        self.lend()
        self.broad_phase.heed(self.shapes.row_of(a), self.shapes.row_of(b))

    # --- changes of shapes ---

    def _see_changes(self, links: Any) -> None:
        """Follow changes of the table of shapes: add, remove and refilter boxes, and place those on the base."""
        self._follow_rows()
        shapes, n = self.shapes, self.shapes.count
        said = np.empty((n, len(CHANGED_FIELDS)), np.int64)
        places = NO_LINKS if links is None else links
        count = place_changed_shapes(self._tables.address, shapes.address, self._seen, places, links is not None, said)
        if self._broad is not None:
            wanted = [row for row, *one in said[:count].tolist() if self._wants_box(row, *one)]
            if wanted:
                self._put_boxes(wanted)
            self._broad.follow_order(list_moving_shapes(self._tables.address))
        self.header["n_met"] = 0
        self._seen = shapes.revision

    def _follow_rows(self, n: int | None = None) -> None:
        """Update the addresses of the rows of shapes, and have as many rows of places and boxes."""
        n = self.shapes.count if n is None else n
        now = self.shapes, self.shapes.moves
        if self._moves != now:
            self.header["shapes"], self.header["mounts"] = self.shapes.addresses
            self._moves = now
        if self._n != n:
            self.header["n"] = self._n = n
        if self._room < n:
            self._room = max(16, 2 * n)
            self._tables.make("places", self._room, shape_rows.SHAPE_POSE, keep=True)
            self._tables.make("boxes", self._room, BOUNDS, keep=True)

    def _wants_box(self, row: int, form: int, link: int, *filtered: int) -> bool:
        """Update the filters of a row of shapes. Returns whether its box must be put into the hash."""
        before = self._boxed.get(row)
        now = filtered if form else None
        if before is not None and before != now:
            self.broad_phase.take_out(row)
            del self._boxed[row]
        if now is None or (before == now and link >= 0):
            return False
        self._boxed[row] = now
        return True

    def _put_boxes(self, rows: list[int]) -> None:
        broad, ids, done = self.broad_phase, np.array(rows, np.int64), 0
        broad.make_room(rows[-1] + 1)
        while done < len(rows):
            done = put_shape_boxes(self._tables.address, ids, done)
            if done < 0:
                for row in rows:
                    del self._boxed[row]
                bad = self.shapes.id_at(rows[NO_NEXT_SHAPE - done])
                raise ValueError(f"shape {bad}: its pose is not finite, or its box has no end")
            if broad.hash.header["full"][0]:
                broad.grow()

    # --- tables ---

    def grow(self) -> None:
        """Double the tables that are full, and keep their rows."""
        full = int(self.header["full"][0])
        if full & shape_rows.FULL_HASH:
            self.broad_phase.grow()
        if full & shape_rows.FULL_CONTACTS:
            self._make_contacts(2 * int(self.header["contact_room"][0]))
        if full & shape_rows.FULL_KNOWN:
            self._make_known(2 * int(self.header["known_room"][0]))
        if full & shape_rows.FULL_SEARCH:
            self._make_search(max(64, 2 * int(self._search.header["room"][0])))
        if self._rows_wanted() > int(self.header["room"][0]):
            self._make_pairs(self._rows_wanted())
        self.header["full"] = 0

    def expect(self) -> None:
        """Reserve rows for the usual number of contacts: tables that fill up in a step grow one at a time."""
        shapes = min(self.shapes.count, MOST_EXPECTED_SHAPES)
        if shapes <= FIRST_SHAPES:
            return
        room = int(self.header["contact_room"][0])
        if CONTACTS_PER_SHAPE * shapes > room:
            self._make_contacts(max(2 * room, CONTACTS_PER_SHAPE * shapes))
        if self._rows_wanted() > int(self.header["room"][0]):
            self._make_pairs(self._rows_wanted())

    def _rows_wanted(self) -> int:
        """Number of possible pairs."""
        n = self.shapes.count
        return n * (n - 1) // 2 if self._broad is None else len(self._broad.rows)

    def _make_pairs(self, room: int) -> None:
        self._tables.make("pairs", room, shape_rows.PAIR, keep=True)
        if self._broad is None:
            self._tables.make("met", room, LISTED_PAIR)
            self._tables.make("lives", room, INDEX_ROW)
            self.header["n_met"] = 0
        self._tables.make("memory", room, shape_rows.PAIR_MEMORY, keep=True)
        self._tables.make(
            "made", room if self.header["keep_within"][0] > 0.0 else 1, shape_rows.CONTACT_POSE, keep=True
        )
        self.header["room"] = room

    def _make_search(self, room: int) -> None:
        self._search = PartPairs(room)
        self._tables["search"][:] = self._search.header

    def _make_contacts(self, room: int) -> None:
        self._make_halves("contacts", room, shape_rows.CONTACT)
        self._make_halves("anchors", room if self.header["keep_within"][0] > 0.0 else 1, shape_rows.ANCHOR)
        self.header["contact_room"] = room

    def _make_known(self, room: int) -> None:
        self._make_halves("known", room, KNOWN_FEATURES)
        self.header["known_room"] = room

    def _make_halves(self, name: str, room: int, dtype: Any) -> None:
        """Make a table for two steps, and keep the rows of each half."""
        old = self._tables[name] if name in self._tables else np.zeros(0, dtype)
        half = len(old) // 2
        new = self._tables.make(name, 2 * room, dtype)
        new[:half], new[room : room + half] = old[:half], old[half:]

    # --- copies ---

    def __getstate__(self) -> tuple[Any, ...]:
        """The header without addresses, the rows that the next step reads or that report the last one, and shapes."""
        header = self.header.copy()
        for name in (*ADDRESS_FIELDS, "room", "known_room", "n_met", "next", "full"):
            header[name] = 0
        return header, self._lasting(), self._broad, self.shapes, self._seen, self._boxed

    def _lasting(self) -> dict[str, Any]:
        """Rows to save, by the names of their tables. `known_pairs` are the rows of pairs with known features."""
        h = self.header[0]
        kept = bool(h["keep_within"] > 0.0)
        rows = {"places": int(h["n"]), "boxes": int(h["n"]), "pairs": int(h["n_pairs"])}
        found = {name: self._tables[name][:size].copy() for name, size in rows.items() if name in self._tables}
        known = np.arange(int(h["room"]))
        if self._broad is not None:  # without rows of pairs that are gone
            count = min(int(self._broad.hash.header["pair_count"][0]), len(known))
            lives, memory = self._broad.hash["lives"]["i"][:count], self._tables["memory"][:count]
            known = np.flatnonzero(belongs_to_pair(memory, self._broad.rows[:count], lives, self.shapes.rows))
        found["known_pairs"], found["memory"] = known, self._tables["memory"][known]
        found["made"] = self._tables["made"][known] if kept else ()
        found["contacts"] = self.contacts.copy()
        now = int(h["contact_room"]) * self._half_of("contacts")
        found["anchors"] = self._tables["anchors"][now : now + int(h["n_contacts"])].copy() if kept else ()
        now = int(h["known_room"]) * self._half_of("known")
        found["known"] = self._tables["known"][now : now + int(h["n_known"])].copy()
        return {name: rows for name, rows in found.items() if len(rows)}

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        header, lasting, broad, shapes, seen, boxed = state
        if header.dtype != shape_rows.COLLISIONS:
            raise ValueError("collisions that another version of kinemorph has pickled cannot be read")
        tables = Tables(shape_rows.COLLISIONS, UNSAVED_TABLES)
        tables.header[:] = header
        make_scratch(tables)
        self._hold(tables, broad, shapes)
        self._point()
        self._seen, self._boxed = seen, dict(boxed)
        self._make_contacts(int(header["contact_room"][0]))
        self._make_known(max(64, len(lasting.get("known", ()))))
        self._make_pairs(max(self._rows_wanted(), len(lasting.get("pairs", ()))))
        self._follow_rows(int(header["n"][0]))
        rooms = {"contacts": "contact_room", "anchors": "contact_room", "known": "known_room"}
        for name, rows in lasting.items():
            if name in ("memory", "made"):
                self._tables[name][lasting["known_pairs"]] = rows
            elif name != "known_pairs":
                start = int(self.header[rooms[name]][0]) * self._half_of(name) if name in rooms else 0
                self._tables[name][start : start + len(rows)] = rows

    def __copy__(self) -> Collisions:
        header, lasting, broad, shapes, *more = self.__getstate__()
        made = Collisions.__new__(Collisions)
        made.__setstate__((header, lasting, copy.copy(broad), copy.copy(shapes), *more))
        return made

    def __deepcopy__(self, memo: Any) -> Collisions:
        return copy.copy(self)

    def _half_of(self, name: str) -> int:
        """The half of a table that has the rows of the last step."""
        alone = name != "known" and self.header["question"][0] == PairQuery.DISTANCE
        return 0 if alone else int(self.header["step"][0]) & 1

    def __repr__(self) -> str:
        return f"Collisions of {len(self.shapes)} shapes: {len(self.pairs)} pairs, {len(self.contacts)} contacts"


@functools.lru_cache(8)
def _pattern(contacts: int, keeps: bool, pairs: int) -> Pattern:
    return Pattern(_tables_for(contacts, keeps, pairs))


def first_collision_tables(margin: float, keep_within: float) -> tuple[Tables, Tables]:
    """The tables of collisions without shapes, and those of their hash."""
    made = Collisions(margin=margin, keep_within=keep_within)
    return made._tables, made.broad_phase.hash._tables


def _tables_for(contacts: int, keeps: bool, pairs: int) -> Tables:
    """Tables for so many contacts in a step, which may be kept or not, and so many pairs."""
    tables = Tables(shape_rows.COLLISIONS, UNSAVED_TABLES)
    collisions = tables.header[0]
    collisions["contact_room"], collisions["known_room"], collisions["room"] = contacts, 64, pairs
    for name, dtype in (("places", shape_rows.SHAPE_POSE), ("boxes", BOUNDS)):
        tables.make(name, 16, dtype)
    tables.make("contacts", 2 * contacts, shape_rows.CONTACT)
    tables.make("anchors", 2 * contacts if keeps else 2, shape_rows.ANCHOR)
    tables.make("known", 2 * 64, KNOWN_FEATURES)
    tables.make("pairs", pairs, shape_rows.PAIR)
    tables.make("memory", pairs, shape_rows.PAIR_MEMORY)
    tables.make("made", pairs if keeps else min(pairs, 1), shape_rows.CONTACT_POSE)
    make_scratch(tables)
    return tables


def _link_rows(links: Any) -> Any:
    """Poses of links as rows with R and p, the base first."""
    if isinstance(links, np.ndarray) and links.dtype.names:
        if links.dtype is not shape_rows.POSE and not {"R", "p"} <= set(links.dtype.names):
            raise TypeError(f"update: rows of links need R and p, not {links.dtype.names}")
        return links
    if not isinstance(links, Sequence) or not all(isinstance(pose, Pose) for pose in links):
        raise TypeError(f"update: expected a list of km.Pose, or rows with R and p, not {repr_of(links)}")
    rows = np.zeros(len(links) + 1, shape_rows.POSE)
    rows["R"][0] = np.eye(3).reshape(9)
    for row, pose in zip(rows[1:], links, strict=True):
        row["R"], row["p"] = pose.rotation.reshape(9), pose.position
    return rows


def belongs_to_pair(memory: Any, pairs: Any, lives: Any, shapes: Any) -> Any:
    """Mask of the rows of PAIR_MEMORY that belong to the pair which now has their row."""
    a, b = memory["a"], memory["b"]
    good = (pairs["shared"] >= 0) & (memory["life"] == lives)
    good &= (np.minimum(a, b) == pairs["a"]) & (np.maximum(a, b) == pairs["b"])
    a, b = np.where(good, a, 0), np.where(good, b, 0)
    if not len(shapes):
        return good
    good &= (memory["generation_a"] == shapes["generation"][a]) & (memory["generation_b"] == shapes["generation"][b])
    ground = shapes["form"] == Form.GROUND
    return good & ~ground[b]


UNSAVED_TABLES = {"work": None, "found": None}  # tables that are not saved
CHANGED_FIELDS = ("row", "form", "link", "generation", "group", "mask", "fixed")  # the last four filter boxes


@entry
def place_changed_shapes(
    address: int, table: int, seen: int, links: Any, moving: bool, said: np.ndarray[tuple[int, int], np.dtype[np.int64]]
) -> int:  # fmt: skip
    """Place shapes on the base, and on links if `moving`, that have changed since revision `seen` of their table.

    Returns their number; `said` receives the fields named in CHANGED_FIELDS.
    """
    collisions, t = rows_at(address, 1, shape_rows.COLLISIONS)[0], rows_at(table, 1, shape_rows.SHAPES)[0]
    base = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    shapes, places = shapes_of(collisions), shape_poses_of(collisions)
    changed, count = rows_at(t["changed"], collisions["n"], I8), 0
    for i in range(collisions["n"]):
        if changed[i] <= seen:
            continue
        row = shapes[i]
        link = row["link"]
        said[count, 0], said[count, 1], said[count, 2], said[count, 3] = i, row["form"], link, row["generation"]
        said[count, 4], said[count, 5], said[count, 6] = row["group"], row["mask"], row["fixed"]
        count += 1
        places[i]["sweep"] = 0.0
        store3(places[i]["travel"], (0.0, 0.0, 0.0))
        if row["form"] == 0:
            continue
        if link < 0:
            place_shape(collisions, i, base, (0.0, 0.0, 0.0))
        elif moving:
            place_shape(collisions, i, load9(links[link + 1]["R"]), load3(links[link + 1]["p"]))
    return count
