"""Sleep: which trees of a world rest until something wakes them, what wakes them, and why one is awake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from kinemorph.contact.layout import WOKEN_BY_CALL, WOKEN_BY_EDIT, WOKEN_BY_FORCE, WOKEN_BY_LOSS, WOKEN_BY_PLACEMENT
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.structure.forest.layout import BODIES, IN_USE, LOOPS, TREES
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.body import Body
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input

WAKE_REASONS = {
    WOKEN_BY_EDIT: "the structure changed",
    WOKEN_BY_CALL: "it was asked to wake",
    WOKEN_BY_FORCE: "what acts on it was changed",
    WOKEN_BY_PLACEMENT: "something was put elsewhere, or set in motion",
    WOKEN_BY_LOSS: "something that is gone touched it",
}


@checked_on_failure
class Sleep(Part):
    """`world.sleep`: which bodies rest until something wakes them."""

    __slots__ = ()

    @an_input
    def wake(self, body: Body | int) -> None:
        """Wake a body, and all that touches it."""
        self._wake(self.world._id(body), why=WOKEN_BY_CALL)

    def _wake(self, *bodies: int, why: int = WOKEN_BY_EDIT) -> None:
        for body in bodies:
            self._wake_tree(self.world.forest.tree_of(body) & ID_INDEX_MASK, why)

    def _wake_tree(self, tree: int, why: int = WOKEN_BY_EDIT) -> None:
        """Wake a tree, by its index."""
        world = self.world
        if tree >= len(world.solver["slices"]):  # it has just come in
            world._follow_tables()
        tree_slice = world.solver["slices"][tree]
        if tree_slice["asleep"]:
            tree_slice["woken_by"] = why
            tree_slice["asleep"] = 0
        tree_slice["still"] = 0.0

    @contextmanager
    def _waking(self, *bodies: int) -> Iterator[None]:
        """Wake bodies for a change of the structure; if that is refused, they sleep on."""
        world = self.world
        trees = [world.forest.tree_of(body) & ID_INDEX_MASK for body in bodies]
        before = world.solver["slices"][trees].copy()
        self._wake(*bodies)
        try:
            yield
        except BaseException:
            world.solver["slices"][trees] = before
            raise

    def why_awake(self, body: Body | int) -> str:
        """What woke a body when it last slept."""
        world = self.world
        waker = int(world.solver["slices"][world.forest.tree_of(world._id(body)) & ID_INDEX_MASK]["woken_by"])
        if waker <= 0:
            return WAKE_REASONS.get(waker, "")
        if world.forest._tables[TREES][waker - 1]["next"] != IN_USE:
            return WAKE_REASONS[WOKEN_BY_LOSS]
        top = world.forest._id(BODIES, int(world.forest._links(waker - 1)[0]["body"]))
        return f"{world.registry.body_names[top]!r} touched it"

    def _begin_trees(self, trees: list[int]) -> None:
        """Nothing has woken trees that have just come in; those whose places they have are gone."""
        slices = self.world.solver["slices"]
        for tree in trees:
            place = tree & ID_INDEX_MASK
            if tree != place and place < len(slices):  # else nothing has had that place
                woken = slices["woken_by"]
                woken[woken == place + 1] = WOKEN_BY_LOSS
                woken[place] = 0

    def _forget_wakers(self) -> None:
        """Trees that an edit has ended are no longer named: others may come to have their places."""
        world = self.world
        woken, trees = world.solver["slices"]["woken_by"], world.forest._tables[TREES]["next"]
        waker = np.clip(woken - 1, 0, len(trees) - 1)
        woken[(woken > 0) & (trees[waker] != IN_USE)] = WOKEN_BY_LOSS

    def _inherit_waker(self, whole: int, parts: set[int]) -> None:
        """Parts that a cut has made trees were woken when the whole was, whichever trees had their places before."""
        woken = self.world.solver["slices"]["woken_by"]
        for part in parts:
            woken[part & ID_INDEX_MASK] = woken[whole & ID_INDEX_MASK]

    def _neighbours(self, bodies: list[int]) -> list[int]:
        """Bodies that touched one of these in the last step, or that loops or force elements tie to one."""
        world = self.world
        indices = {body & ID_INDEX_MASK for body in bodies}
        found = set()
        rows = world.shapes.rows
        for pair in world.collisions.pairs[world.collisions.lasting]:
            a, b = int(rows["link"][pair["a"]]), int(rows["link"][pair["b"]])
            if pair["count"] and (a in indices) != (b in indices):
                found.add(b if a in indices else a)
        for a, b in self._ties():
            if (a in indices) != (b in indices):
                found.add(b if a in indices else a)
        return [world.forest._id(BODIES, i) for i in sorted(found) if i >= 0]

    def _ties(self) -> Iterator[tuple[int, int]]:
        """Indices of the bodies that a loop or a force element ties together, -1 for the base."""
        forest = self.world.forest
        for loop in forest._tables[LOOPS][: int(forest._pools[LOOPS]["count"])]:
            if loop["next"] == IN_USE:
                yield int(loop["a"]), int(loop["b"])
        there = {-1, *forest.bodies.tolist()} if forest.header["element_count"] else set()
        for a, b in forest._ends[: int(forest.header["element_count"])].tolist():
            if a in there and b in there:
                yield a & ID_INDEX_MASK if a >= 0 else -1, b & ID_INDEX_MASK if b >= 0 else -1

    def is_asleep(self, body: Body | int) -> bool:
        """Whether a body does not move until something wakes it."""
        world = self.world
        return bool(world.solver["slices"][world.forest.tree_of(world._id(body)) & ID_INDEX_MASK]["asleep"])

    def _touching(self, row: int) -> list[int]:
        """Bodies that touched a shape in the last step."""
        world = self.world
        links, pairs, found = world.shapes.rows["link"], world.collisions.pairs, set()
        for pair in pairs[world.collisions.lasting]:
            if pair["count"] and row in (pair["a"], pair["b"]):
                found |= {int(links[pair[side]]) for side in "ab"}
        return [world.forest._id(BODIES, i) for i in sorted(found) if i >= 0]

    def _wake_all(self) -> None:
        """Something acts otherwise on everything."""
        for tree in self.world.forest.trees.tolist():
            self._wake_tree(tree & ID_INDEX_MASK, WOKEN_BY_FORCE)
