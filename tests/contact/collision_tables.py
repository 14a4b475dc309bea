"""Tables of collision detection and of a forest, written by hand: shapes, pairs, contacts, bodies and trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.shapes.shape_rows import (
    COLLISIONS,
    CONTACT,
    MOUNT,
    PAIR,
    PAIR_MEMORY,
    SHAPE,
    SHAPE_POSE,
    SLOW,
    Form,
)
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.multibody.layout import LINK, TREE, JointKind
from kinemorph.structure.forest.layout import BODY_SLOT, FOREST, TREE_SLOT

Array = np.ndarray
ROOM = 128  # rows of each table


class CollisionTables:
    """What a step of collision detection leaves for the constraint solver. Contacts follow each other pair by pair."""

    def __init__(self, step: int = 6) -> None:
        self.header = np.zeros(1, COLLISIONS)
        h = self.header[0]
        self.shapes, self.mounts = np.zeros(ROOM, SHAPE), np.zeros(ROOM, MOUNT)
        self.poses, self.pairs = np.zeros(ROOM, SHAPE_POSE), np.zeros(ROOM, PAIR)
        self.memories, self.contacts = np.zeros(ROOM, PAIR_MEMORY), np.zeros(2 * ROOM, CONTACT)
        for name, table in (
            ("shapes", self.shapes), ("mounts", self.mounts), ("places", self.poses), ("pairs", self.pairs),
            ("memory", self.memories), ("contacts", self.contacts),
        ):  # fmt: skip
            h[name] = table.ctypes.data
        h["room"] = h["contact_room"] = ROOM
        h["step"] = step
        self.contacts["normal"], self.contacts["x1"], self.contacts["x2"] = np.nan, np.nan, np.nan  # of the step before
        self.cores: list[Polyhedron] = []  # they own the rows that shapes point to

    @property
    def address(self) -> int:
        return int(self.header.ctypes.data)

    @property
    def now(self) -> Array:
        """The contacts of this step: odd steps have the second half of the table."""
        start = ROOM if self.header["step"][0] % 2 else 0
        return self.contacts[start : start + ROOM]

    def add_shape(
        self,
        link: int,
        core: Polyhedron | None = None,
        radius: float = 0.0,
        place: tuple[Array, Array] | None = None,
        *,
        fixed: bool = False,
        form: Form = Form.CONVEX,
        reach: float = 0.0,
    ) -> int:
        """A shape on a body, -1 for the base. Returns its row."""
        row = int(self.header["n"][0])
        shape, (R, p) = self.shapes[row], place or (np.eye(3), np.zeros(3))
        shape["form"], shape["link"], shape["fixed"], shape["radius"] = form, link, fixed, radius
        if core is not None:
            self.cores.append(core)
            shape["core"] = core.address
        self.poses[row]["R"], self.poses[row]["p"], self.mounts[row]["reach"] = R.ravel(), p, reach
        self.header["n"] = row + 1
        return row

    def add_pair(self, a: int, b: int) -> int:
        """A pair of shapes without contacts. Its memory is in another row."""
        row = int(self.header["n_pairs"][0])
        pair = self.pairs[row]
        pair["a"], pair["b"], pair["first"], pair["row"] = a, b, self.header["n_contacts"][0], (row + 7) % ROOM
        self.header["n_pairs"] = row + 1
        return row

    def add_contact(self, normal: Array, x1: Array, x2: Array, *, parts: tuple[int, int] = (0, 0)) -> int:
        """A contact of the last pair. Returns its row in the half of this step."""
        row, pair = int(self.header["n_contacts"][0]), int(self.header["n_pairs"][0]) - 1
        contact = self.now[row]
        contact["pair"], contact["normal"], contact["x1"], contact["x2"] = pair, normal, x1, x2
        contact["part1"], contact["part2"], contact["passes"] = *parts, SLOW
        self.pairs[pair]["count"] += 1
        self.header["n_contacts"] = row + 1
        return row


class ForestTables:
    """Trees of links, each of which is one body: masses, and the joint that carries the first one."""

    def __init__(self, masses: list[list[float]], kinds: list[JointKind], gravity: Any) -> None:
        self.header = np.zeros(1, FOREST)
        self.trees, self.slots = np.zeros(len(masses), TREE), np.zeros(len(masses), TREE_SLOT)
        self.bodies = np.zeros(sum(map(len, masses)), BODY_SLOT)
        self.links, body = [], 0
        for t, (own, kind) in enumerate(zip(masses, kinds, strict=True)):
            links = np.zeros(len(own), LINK)
            links["mass"], links["kind"] = own, JointKind.REVOLUTE
            links["kind"][0] = kind
            self.links.append(links)
            self.trees[t]["n"], self.trees[t]["links"] = len(own), links.ctypes.data
            self.slots[t]["address"] = self.trees[t : t + 1].ctypes.data
            self.bodies["tree"][body : body + len(own)] = t
            body += len(own)
        h = self.header[0]
        h["trees"], h["tree_room"] = self.slots.ctypes.data, len(masses)
        h["bodies"], h["body_room"] = self.bodies.ctypes.data, len(self.bodies)
        h["gx"], h["gy"], h["gz"] = gravity

    @property
    def address(self) -> int:
        return int(self.header.ctypes.data)
