"""Any sequence of edits of a live forest of many trees keeps what must be kept (DESIGN, structure changes)."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from hypothesis import HealthCheck, Phase, assume, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.strategies import random_inertia, random_joint, random_pose, seeds
from tests.structure.test_forest import alike, bodies, tree_bytes

import kinemorph as km
from kinemorph.structure.forest import layout as layout

EXAMPLES = int(os.environ.get("KINEMORPH_MACHINE_EXAMPLES", "25"))
MOST_LOOPS, MOST_BODIES = 4, 30
KINDS = list(km.JointKind)
INDEX = 0xFFFFFFFF


def random_plant(rng: np.random.Generator) -> km.Model:
    """A tree of one to four links, mostly floating."""
    b = km.Builder("plant")
    for i in range(int(rng.integers(1, 5))):
        kind = km.JointKind(int(rng.choice(KINDS))) if i or rng.random() < 0.2 else km.JointKind.FREE
        parent = f"l{rng.integers(i)}" if i else None
        b.link(f"l{i}", parent, random_joint(rng, kind), random_pose(rng, 0.5), random_inertia(rng))
    return b.build()


class Machine(RuleBasedStateMachine):
    forest: km.Forest

    @initialize(seed=seeds(), trees=st.integers(2, 5))
    def start(self, seed: int, trees: int) -> None:
        self.forest = km.Forest((0.0, 1.0, -5.0))
        self.stale: list[int] = []
        rng = np.random.default_rng(seed)
        for _ in range(trees):
            self._add(rng)

    # --------------------------------------------------------------------------------------------------------- rules

    @rule(seed=seeds())
    def add(self, seed: int) -> None:
        assume(len(self.forest.bodies) < MOST_BODIES)
        before = bodies(self.forest)
        others = self._others(())
        new = self._add(np.random.default_rng(seed))
        after = bodies(self.forest)
        assert set(after) == set(before) | {int(b) for b in new.bodies}
        alike(before, {b: after[b] for b in before}, 0.0)
        self._untouched(others)

    @rule(seed=seeds())
    def remove(self, seed: int) -> None:
        assume(len(self.forest.trees) > 1)
        body = self._body(np.random.default_rng(seed))
        gone = self._carried(body)
        before, others = bodies(self.forest), self._others((self.forest.tree_of(body),))
        lost = {int(j) for j in self.forest.loops}
        note(f"remove {body} of {self.forest!r}")
        self.forest.remove(body)
        self._untouched(others)
        after = bodies(self.forest)
        assert set(after) == set(before) - gone
        alike({b: before[b] for b in after}, after, 1e-9)
        assert {int(j) for j in self.forest.loops} <= lost
        self.stale += sorted(gone)

    @rule(seed=seeds(), kind=st.sampled_from(KINDS), how=st.sampled_from(["auto", "tree", "loop"]))
    def connect(self, seed: int, kind: km.JointKind, how: str) -> None:
        forest, rng = self.forest, np.random.default_rng(seed)
        assume(len(forest.loops) < MOST_LOOPS)
        a, b, joint, at = self._ends(rng, kind)
        before, energy, p, tied = bodies(forest), forest.kinetic_energy(), forest.momentum(), self._tied()
        others = self._others(self._coupled(a, b))
        note(f"connect {a} {b} {kind.name} {how} of {forest!r}")
        try:
            change = forest.connect(a, b, joint, at, how)
        except ValueError as error:
            assert how == "tree"
            assert "close a loop" in str(error)  # noqa: PT017
            alike(before, bodies(forest), 0.0)
            self._untouched(others)
            return
        self._untouched(others)
        alike(before, bodies(forest), 1e-9, twist=False)
        scale = 1.0 + energy
        assert change.energy_lost >= -1e-9 * scale
        assert abs(energy - forest.kinetic_energy() - change.energy_lost) < 1e-8 * scale
        if not tied and not self._tied():
            np.testing.assert_allclose(forest.momentum(), p, atol=1e-9 * (1.0 + np.abs(p).max()))
        assert max(change.pose_error, change.loop_error) < 1e-8

    @rule(seed=seeds(), kind=st.sampled_from(KINDS))
    def connect_and_cut(self, seed: int, kind: km.JointKind) -> None:
        """A cut undoes a connection, but for the jump."""
        forest, rng = self.forest, np.random.default_rng(seed)
        a, b, joint, at = self._ends(rng, kind)
        counts = len(forest.trees), len(forest.loops), len(forest.joints)
        before = bodies(forest)
        held = len(forest.loops) > 0
        forest.connect(a, b, joint, at, "loop")
        after = bodies(forest)
        forest.cut(int(set(map(int, forest.loops)).difference(self._known).pop()))
        alike(after, bodies(forest), 0.0)
        alike(before, bodies(forest), 1e-12, twist=False)
        assert (len(forest.trees), len(forest.loops), len(forest.joints)) == counts or held

    @rule(seed=seeds())
    def cut(self, seed: int) -> None:
        forest, rng = self.forest, np.random.default_rng(seed)
        joint = int(rng.choice(forest.joints))
        row = forest._tables[layout.JOINTS][joint & INDEX]
        named: set[int] = set()
        if row["loop"] < 0:
            named = self._coupled(int(forest.members(self._tree_id(int(row["tree"])))[0]))
        before, others = bodies(forest), self._others(named)
        note(f"cut {joint} of {forest!r}")
        forest.cut(joint)
        self._untouched(others)
        scale = 1.0 + max(np.abs(v).max() for _, v in before.values())
        alike(before, bodies(forest), 1e-7 * scale)
        self._refuses(lambda: forest.cut(joint))

    @rule(seed=seeds())
    def reroot(self, seed: int) -> None:
        """Nothing moves; and back again it is what it was."""
        forest, rng = self.forest, np.random.default_rng(seed)
        body = self._body(rng)
        tree = forest.tree_of(body)
        top = int(forest.members(tree)[0])
        before, others = bodies(forest), self._others((tree,))
        note(f"reroot {body} of {forest!r}")
        forest.reroot(body)
        self._untouched(others)
        assert forest.tree_of(body) == tree
        assert int(forest.members(tree)[0]) == body
        scale = 1.0 + max(np.abs(v).max() for _, v in before.values())
        alike(before, bodies(forest), 1e-9 * scale)
        state = forest.state(tree)
        forest.reroot(top)
        forest.reroot(body)
        again = forest.state(tree)
        np.testing.assert_allclose(again.v, state.v, atol=1e-9 * scale)
        _same_positions(forest, tree, again.q, state.q)

    # ---------------------------------------------------------------------------------------------------- invariants

    @invariant()
    def tables_and_trees_agree(self) -> None:
        if not hasattr(self, "forest"):
            return
        forest = self.forest
        self._known = set(map(int, forest.loops))
        seen: set[int] = set()
        for tree in forest.trees:
            t = int(tree) & INDEX
            links, header = forest._links(t), forest._tree(t)
            assert (links["parent"] < np.arange(len(links))).all()
            assert links[0]["parent"] == -1
            assert (links["parent"][1:] >= 0).all()
            assert bool(header["free_body"]) == (len(links) == 1 and links[0]["kind"] == km.JointKind.FREE)
            for start, size, total in (("iq", "nq", "nq"), ("iv", "nv", "nv")):
                np.testing.assert_array_equal(links[start], np.cumsum(links[size]) - links[size])
                assert links[size].sum() == header[total]
            for i, body in enumerate(forest.members(tree)):
                row = forest._tables[layout.BODIES][int(body) & INDEX]
                assert (row["tree"], row["link"]) == (t, i)
                assert forest.tree_of(body) == tree
            seen.update(int(b) for b in forest.members(tree))
            q, v = forest.state(int(tree)).q, forest.state(int(tree)).v
            assert np.isfinite(q).all()
            assert np.isfinite(v).all()
        assert seen == {int(b) for b in forest.bodies}
        assert len(forest.joints) == len(forest.bodies) + len(forest.loops)

    @invariant()
    def stale_ids_are_refused(self) -> None:
        for body in getattr(self, "stale", [])[-3:]:
            self._refuses(lambda b=body: self.forest.pose(b))
            self._refuses(lambda b=body: self.forest.remove(b))

    # ------------------------------------------------------------------------------------------------------- helpers

    def _add(self, rng: np.random.Generator) -> object:
        model = random_plant(rng)
        return self.forest.add(model, km.random_configuration(model, rng), rng.normal(size=model.nv))

    def _body(self, rng: np.random.Generator) -> int:
        """A body of a tree that floats, so that a free joint takes nothing from it."""
        forest = self.forest
        floating = [
            int(b) for t in forest.trees for b in forest.members(t) if forest._links(int(t) & INDEX)[0]["kind"] == 8
        ]
        assume(floating)
        return int(rng.choice(floating))

    def _ends(self, rng: np.random.Generator, kind: km.JointKind) -> tuple[int, int, km.Joint, km.Pose]:
        choices = [int(b) for b in self.forest.bodies] + ([-1] if rng.random() < 0.3 else [])
        assume(len(choices) > 1)
        a, b = (choices[i] for i in rng.permutation(len(choices))[:2])
        near = self.forest.pose(a if a >= 0 else b)
        return a, b, random_joint(rng, kind), near @ random_pose(rng, 0.4)

    def _carried(self, body: int) -> set[int]:
        """A body and all that it carries."""
        tree = self.forest.tree_of(body)
        members = [int(b) for b in self.forest.members(tree)]
        found = {body}
        for b, l in zip(members, self.forest._links(tree & INDEX), strict=True):
            if l["parent"] >= 0 and members[l["parent"]] in found:
                found.add(b)
        return found

    def _coupled(self, *ends: int) -> set[int]:
        """Trees of bodies, and those that loops couple to them."""
        forest = self.forest
        rows = [forest._tables[layout.LOOPS][forest._tables[layout.JOINTS][j & INDEX]["loop"]] for j in forest.loops]
        pairs = [
            {self._tree_id(int(forest._tables[layout.BODIES][row[s]]["tree"])) for s in "ab" if row[s] >= 0}
            for row in rows
        ]
        found = {forest.tree_of(b) for b in ends if b >= 0}
        while more := {t for pair in pairs for t in pair if found & pair} - found:
            found |= more
        return found

    def _tree_id(self, t: int) -> int:
        return self.forest._id(layout.TREES, t)

    def _others(self, named: object) -> dict[int, tuple[int, bytes]]:
        """What must not change: all trees but those that are named."""
        return {int(t): tree_bytes(self.forest, int(t)) for t in self.forest.trees if int(t) not in set(named)}  # type: ignore[call-overload]

    def _untouched(self, others: dict[int, tuple[int, bytes]]) -> None:
        for tree, content in others.items():
            assert tree_bytes(self.forest, tree) == content

    def _tied(self) -> bool:
        """Whether anything holds a tree to the base."""
        forest = self.forest
        if any(forest._links(int(t) & INDEX)[0]["kind"] != 8 for t in forest.trees):
            return True
        rows = [forest._tables[layout.LOOPS][forest._tables[layout.JOINTS][j & INDEX]["loop"]] for j in forest.loops]
        return any(row["a"] < 0 or row["b"] < 0 for row in rows)

    def _refuses(self, use: Callable[[], object]) -> None:
        before = repr(self.forest)
        try:
            use()
        except KeyError as error:
            assert "any more" in str(error)  # noqa: PT017
        else:
            raise AssertionError("a stale id was taken")
        assert repr(self.forest) == before


def _same_positions(forest: km.Forest, tree: int, q: np.ndarray, p: np.ndarray) -> None:
    """The same positions; a quaternion and its opposite are the same rotation."""
    for l in forest._links(tree & INDEX):
        x, y = q[l["iq"] : l["iq"] + l["nq"]].copy(), p[l["iq"] : l["iq"] + l["nq"]]
        if l["kind"] in (km.JointKind.FREE, km.JointKind.SPHERICAL) and x[-4:] @ y[-4:] < 0.0:
            x[-4:] *= -1.0
        np.testing.assert_allclose(x, y, atol=1e-9)


Machine.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    **({"phases": [Phase.generate]} if "KINEMORPH_MACHINE_EXAMPLES" in os.environ else {}),
    report_multiple_bugs=False,
)
TestMachine = Machine.TestCase
