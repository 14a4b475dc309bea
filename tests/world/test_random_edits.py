"""Any sequence of edits, steps, snapshots and branches of a world keeps what must be kept."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.random_worlds import GROUNDS, Dice, add_ground, add_something, check, random_joint, random_pose
from tests.strategies import seeds

import kinemorph as km

EXAMPLES = int(os.environ.get("KINEMORPH_MACHINE_EXAMPLES", "10"))
MOST = 14  # bodies


class Machine(RuleBasedStateMachine):
    world: km.World

    @initialize(seed=seeds(), sleep=st.booleans())
    def start(self, seed: int, sleep: bool) -> None:
        rng = Dice(seed)
        self.world = km.World(dt=float(rng.choice((2e-3, 5e-3))), sleep=sleep)
        self.saved: list[tuple[bytes, str, list[km.Body]]] = []
        self.gone: list[km.Body] = []
        note(f"ground: {add_ground(self.world, rng)} of {GROUNDS}")
        for _ in range(int(rng.integers(1, 5))):
            add_something(self.world, rng)

    # --------------------------------------------------------------------------------------------------------- rules

    @rule(seed=seeds())
    def add(self, seed: int) -> None:
        assume(len(self.world.bodies) < MOST)
        add_something(self.world, Dice(seed))

    @rule(seed=seeds())
    def remove(self, seed: int) -> None:
        body = self._body(seed)
        carried = {b.id for b in self.world.bodies}
        self.world.remove(body)
        left = {b.id for b in self.world.bodies}
        assert left < carried
        self.gone.append(body)

    @rule(seed=seeds())
    def connect(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        one, two = self._body(seed), self._body(seed + 1)
        try:
            self.world.connect(one, two, random_joint(rng), two.pose @ random_pose(rng, 0.1))
        except (ValueError, ArithmeticError) as error:
            note(f"refused: {error}")

    @rule(seed=seeds())
    def cut(self, seed: int) -> None:
        assume(len(self.world.forest.joints))
        try:
            self.world.cut(int(np.random.default_rng(seed).choice(self.world.forest.joints)))
        except (ValueError, ArithmeticError) as error:
            note(f"refused: {error}")

    @rule(seed=seeds())
    def reroot(self, seed: int) -> None:
        try:
            self.world.reroot(self._body(seed))
        except (ValueError, ArithmeticError) as error:
            note(f"refused: {error}")

    @rule(count=st.integers(1, 30))
    def step(self, count: int) -> None:
        """With a branch and a loaded twin beside it: all three go the same way."""
        twin, branch = km.World.load(self.world.save()), self.world.branch()
        ends = []
        for world in (self.world, twin, branch):
            try:
                world.step(count)
            except km.WorldError as error:
                ends.append(str(error))
        assert ends in ([], [ends[0]] * 3 if ends else []), ends
        assert self.world.hash() == twin.hash() == branch.hash()

    @rule()
    def save(self) -> None:
        data = self.world.save()
        assert km.World.load(data).save() == data
        self.saved.append((data, self.world.hash(), self.world.bodies))

    @rule(seed=seeds())
    def restore(self, seed: int) -> None:
        assume(self.saved)
        data, digest, bodies = self.saved[seed % len(self.saved)]
        now = self.world.bodies
        self.world.restore(data)
        assert self.world.hash() == digest
        for body in bodies:
            _ = body.pose
        there = {(b.id, b.birth) for b in bodies}
        self.gone = [b for b in (*self.gone, *now) if (b.id, b.birth) not in there]

    # ---------------------------------------------------------------------------------------------------- invariants

    @invariant()
    def all_is_finite_and_there(self) -> None:
        if hasattr(self, "world"):
            check(self.world)

    @invariant()
    def what_is_gone_is_refused(self) -> None:
        for body in getattr(self, "gone", [])[-3:]:
            try:
                _ = body.pose
            except KeyError as error:
                assert body.name in str(error)  # noqa: PT017
            else:
                raise AssertionError(f"{body!r} is gone and answers")

    def _body(self, seed: int) -> km.Body:
        bodies = self.world.bodies
        assume(bodies)
        return bodies[seed % len(bodies)]


Machine.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    **({"phases": [Phase.generate]} if "KINEMORPH_MACHINE_EXAMPLES" in os.environ else {}),
    report_multiple_bugs=False,
)
TestMachine = pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")(Machine.TestCase)
