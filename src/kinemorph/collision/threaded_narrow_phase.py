"""Threaded narrow phase: workers that evaluate contiguous ranges of the candidate pairs, with a result independent of
the threads.

A worker (a NARROW_WORKER row) has its own COLLISIONS row. It writes contacts directly to the rows where they belong if
the workers before it find as many as in the previous step. At the start of the next worker's rows it stops, and stores
the rest aside. Afterwards all workers report their counts, and rows that are not at their final place are moved. So the
tables are the same bit for bit, whichever thread did the work, and a steady scene moves no rows.

This needs a small known bound of contacts a pair: all shapes must be convex or half-spaces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.ground.surface import HALF_SPACE
from kinemorph.collision.narrow.dispatch import begin_narrow_phase, evaluate_pairs, set_contact_rows
from kinemorph.collision.narrow.scratch import Scratch
from kinemorph.collision.shapes.shape_rows import (
    ANCHOR,
    COLLISIONS,
    CONTACT,
    FULL_CONTACTS,
    PAIR,
    Form,
    memories_of,
    pairs_of,
)
from kinemorph.collision.shapes.shape_table import ShapeTable
from kinemorph.geometry.ground import GROUND
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.tables import aligned_at

NARROW_WORKER = np.dtype(
    [
        ("own", "i8"),  # address of its COLLISIONS
        ("first", "i8"),  # its range of candidate pairs,
        ("stop", "i8"),  # up to before this one
        ("k", "i8"),  # first row of its pairs: a guess, then exact
        ("at", "i8"),  # first row of its contacts,
        ("k_stop", "i8"),  # and those of the next worker
        ("stop_at", "i8"),
        ("n_pairs", "i8"),  # rows that it wrote there,
        ("n_contacts", "i8"),
        ("more_pairs", "i8"),  # and aside
        ("more_contacts", "i8"),
        ("room", "i8"),  # rows for pairs aside, at these addresses:
        ("pairs", "i8"),
        ("contacts", "i8"),
        ("anchors", "i8"),
        ("shift_pairs", "i8"),  # by how many rows its guess was wrong
        ("shift_contacts", "i8"),
        ("search", "i8"),  # addresses of its scratch
        ("work", "i8"),
        ("row", "i8"),
        ("carried", "i8"),
        ("found", "i8"),
        ("unused", "i8", 2),
    ]
)
WORDS = np.dtype(np.int64)
HEADER, PAIR_SIZE, CONTACT_SIZE, ANCHOR_SIZE = (x.itemsize for x in (COLLISIONS, PAIR, CONTACT, ANCHOR))


class NarrowWorkers:
    """The owner of NARROW_WORKER rows, their scratch and their spare rows, for at most `most` contacts a pair."""

    def __init__(self, count: int, most: int) -> None:
        self.rows, self.address = aligned_at(count, NARROW_WORKER)
        self._most = most
        self._scratch = [Scratch() for _ in range(count)]
        self._tables: list[Any] = []
        for row, scratch in zip(self.rows, self._scratch, strict=True):
            scratch.lend(row)

    def follow(self, pairs: int) -> None:
        """Have spare rows for so many pairs in all."""
        room = pairs
        if room <= self.rows[0]["room"]:
            return
        self._tables = []
        for row in self.rows:
            row["room"] = room
            sizes = {"pairs": (1, PAIR), "contacts": (self._most, CONTACT), "anchors": (self._most, ANCHOR)}
            for name, (size, dtype) in sizes.items():
                table, row[name] = aligned_at(room * size, dtype)
                self._tables.append(table)


def can_run_threaded(shapes: ShapeTable) -> bool:
    """Whether all shapes are convex or half-spaces, so that workers can evaluate their pairs."""
    rows = shapes.rows[: shapes.count]
    grounds = rows["ground"][rows["form"] == Form.GROUND].tolist()
    flat = all(rows_at(address, 1, GROUND)[0]["kind"] == HALF_SPACE for address in grounds)
    return flat and not (rows["form"] == Form.TREE).any()


@kernel(inline=False)
def begin_workers(collisions: Any, scouts: int, count: int) -> bool:
    """Begin a step: set the row ranges of the workers. False if the table of contacts may overflow, and must grow."""
    if collisions["goes_on"] == 0:
        begin_narrow_phase(collisions)
    collisions["goes_on"] = 0
    if collisions["n_met"] * collisions["max_contacts"] >= collisions["contact_room"]:
        collisions["goes_on"] = 1
        collisions["full"] |= FULL_CONTACTS
        return False
    set_contact_rows(collisions)
    rows = rows_at(scouts, count, NARROW_WORKER)
    for i in range(count):
        row = rows[i]
        row["k"], row["at"] = min(row["k"], collisions["room"]), min(row["at"], collisions["contact_room"] - 1)
    for i in range(count):
        last = i == count - 1
        rows[i]["k_stop"] = collisions["room"] if last else rows[i + 1]["k"]
        rows[i]["stop_at"] = collisions["contact_room"] - 1 if last else rows[i + 1]["at"]
    return True


@kernel
def prepare_worker(address: int, row: Any) -> Any:
    """Copy the COLLISIONS at an address to that of a worker, with its own scratch and ranges, and no results."""
    move_words(address, row["own"], HEADER)
    own = rows_at(row["own"], 1, COLLISIONS)[0]
    own["search"], own["work"], own["row"] = row["search"], row["work"], row["row"]
    own["carried"], own["found"] = row["carried"], row["found"]
    own["n_pairs"], own["n_contacts"] = row["k"], row["at"]
    own["updates"] = own["walked"] = own["fallbacks"] = own["rough"] = own["kept"] = 0
    return own


@kernel(inline=False)
def run_worker(address: int, row: Any) -> None:
    """Evaluate the pairs of a worker, for the COLLISIONS at an address."""
    own = prepare_worker(address, row)
    m, stop = row["first"], row["stop"]
    while m < stop:
        safe = min(
            stop - m, row["k_stop"] - own["n_pairs"], (row["stop_at"] - own["n_contacts"]) // own["max_contacts"]
        )
        if safe <= 0:
            break
        evaluate_pairs(own, m, m + safe)
        m += safe
    row["n_pairs"], row["n_contacts"] = own["n_pairs"] - row["k"], own["n_contacts"] - row["at"]
    own["pairs"], own["fresh"], own["fresh_anchors"] = row["pairs"], row["contacts"], row["anchors"]
    own["n_pairs"] = own["n_contacts"] = 0
    if m < stop:
        evaluate_pairs(own, m, stop)
    row["more_pairs"], row["more_contacts"] = own["n_pairs"], own["n_contacts"]


@kernel(inline=False)
def collect_workers(collisions: Any, scouts: int, count: int) -> bool:
    """Collect the counts of all workers, and compute by how much their rows must shift. Returns whether any must."""
    rows = rows_at(scouts, count, NARROW_WORKER)
    k = at = 0
    wrong = False
    for i in range(count):
        row = rows[i]
        own = rows_at(row["own"], 1, COLLISIONS)[0]
        collisions["updates"] += own["updates"]
        collisions["walked"] += own["walked"]
        collisions["fallbacks"] += own["fallbacks"]
        collisions["rough"] += own["rough"]
        collisions["kept"] += own["kept"]
        row["shift_pairs"], row["shift_contacts"] = k - row["k"], at - row["at"]
        wrong |= row["shift_pairs"] != 0 or row["shift_contacts"] != 0
        row["k"], row["at"] = k, at
        k, at = k + row["n_pairs"] + row["more_pairs"], at + row["n_contacts"] + row["more_contacts"]
    collisions["n_pairs"], collisions["n_contacts"] = k, at
    return wrong


@kernel(inline=False)
def move_words(source: int, target: int, size: int) -> None:
    """Copy `size` bytes, a multiple of 8, between ranges that may overlap."""
    n = size >> 3
    old, new = rows_at(source, n, WORDS), rows_at(target, n, WORDS)
    if target < source:
        for i in range(n):
            new[i] = old[i]
    elif target > source:
        for i in range(n):
            new[n - 1 - i] = old[n - 1 - i]


@kernel
def move_rows(base: int, first: int, count: int, shift: int, size: int) -> None:
    """Shift `count` rows of a table by `shift` rows, to row `first`."""
    move_words(base + (first - shift) * size, base + first * size, count * size)


@kernel
def renumber_rows(
    collisions: Any,
    first_pair: int,
    n_pairs: int,
    contact_shift: int,
    first_contact: int,
    n_contacts: int,
    pair_shift: int,
) -> None:
    """Correct the first contacts of pairs, and the pairs of contacts, after rows were moved."""
    pairs, memories = pairs_of(collisions), memories_of(collisions)
    for i in range(first_pair, first_pair + n_pairs):
        pairs[i]["first"] += contact_shift
        memories[pairs[i]["row"]]["first"] += contact_shift
    contacts = rows_at(collisions["fresh"], collisions["contact_room"], CONTACT)
    for i in range(first_contact, first_contact + n_contacts):
        contacts[i]["pair"] += pair_shift


@kernel
def move_pairs(collisions: Any, row: Any) -> None:
    move_rows(collisions["pairs"], row["k"], row["n_pairs"], row["shift_pairs"], PAIR_SIZE)


@kernel
def move_contacts(collisions: Any, row: Any) -> None:
    move_rows(collisions["fresh"], row["at"], row["n_contacts"], row["shift_contacts"], CONTACT_SIZE)
    move_rows(collisions["fresh_anchors"], row["at"], row["n_contacts"], row["shift_contacts"], ANCHOR_SIZE)


@kernel
def renumber_worker_rows(collisions: Any, row: Any) -> None:
    shift, by = row["shift_contacts"], row["shift_pairs"]
    if shift != 0 or by != 0:
        renumber_rows(collisions, row["k"], row["n_pairs"], shift, row["at"], row["n_contacts"], by)


@kernel(inline=False)
def move_worker_rows(collisions: Any, row: Any) -> None:
    """Move the rows of a worker to their final place, if no other rows are there."""
    move_pairs(collisions, row)
    move_contacts(collisions, row)
    renumber_worker_rows(collisions, row)


@kernel(inline=False)
def move_all_worker_rows(collisions: Any, scouts: int, count: int) -> None:
    """The same for all workers: down from the first worker on, then up from the last, so that no row is overwritten."""
    rows = rows_at(scouts, count, NARROW_WORKER)
    for i in range(count):
        if rows[i]["shift_pairs"] < 0:
            move_pairs(collisions, rows[i])
        if rows[i]["shift_contacts"] < 0:
            move_contacts(collisions, rows[i])
    for i in range(count):
        row = rows[count - 1 - i]
        if row["shift_pairs"] > 0:
            move_pairs(collisions, row)
        if row["shift_contacts"] > 0:
            move_contacts(collisions, row)
    for i in range(count):
        renumber_worker_rows(collisions, rows[i])


@kernel(inline=False)
def append_spare_rows(collisions: Any, row: Any) -> None:
    """Append the rows that a worker stored aside."""
    k, at = row["k"] + row["n_pairs"], row["at"] + row["n_contacts"]
    n_pairs, n_contacts = row["more_pairs"], row["more_contacts"]
    move_words(row["pairs"], collisions["pairs"] + k * PAIR_SIZE, n_pairs * PAIR_SIZE)
    move_words(row["contacts"], collisions["fresh"] + at * CONTACT_SIZE, n_contacts * CONTACT_SIZE)
    move_words(row["anchors"], collisions["fresh_anchors"] + at * ANCHOR_SIZE, n_contacts * ANCHOR_SIZE)
    renumber_rows(collisions, k, n_pairs, at, at, n_contacts, k)
