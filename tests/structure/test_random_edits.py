"""Any sequence of connections, cuts, re-roots and motion keeps what must be kept."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import HealthCheck, Phase, assume, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.strategies import random_inertia, random_joint, random_pose, seeds
from tests.structure.checks import (
    is_tied,
    kinetic,
    maps_follow,
    masses,
    momentum,
    poses,
    same,
    total_energy,
    twists,
    valid,
)

import kinemorph as km

EXAMPLES = int(os.environ.get("KINEMORPH_MACHINE_EXAMPLES", "25"))
MOST_LOOPS = 4
KINDS = list(km.JointKind)


def random_forest(rng: np.random.Generator, trees: int) -> km.Model:
    """Trees of one to four links, most of them floating."""
    b = km.Builder("forest", gravity=rng.normal(size=3) * 3.0)
    for t in range(trees):
        for i in range(rng.integers(1, 5)):
            kind = km.JointKind(rng.choice(KINDS)) if i or rng.random() < 0.2 else km.JointKind.FREE
            parent = f"t{t}l{rng.integers(i)}" if i else None
            joint = random_joint(rng, kind)
            at = random_pose(rng, 0.5) if i else km.Pose()
            b.link(f"t{t}l{i}", parent, joint, at, random_inertia(rng))
    return b.build()


class Machine(RuleBasedStateMachine):
    @initialize(seed=seeds(), trees=st.integers(1, 3))
    def start(self, seed: int, trees: int) -> None:
        rng = np.random.default_rng(seed)
        self.model: km.Model = random_forest(rng, trees)
        tree = self.model
        self.state = km.State(km.random_configuration(tree, rng), rng.normal(size=tree.nv))
        self.names = set(tree.names)
        self.mass = tree.mass

    # --------------------------------------------------------------------------------------------------------- rules

    @rule(seed=seeds(), kind=st.sampled_from(KINDS), how=st.sampled_from(["auto", "tree", "loop"]))
    def connect(self, seed: int, kind: km.JointKind, how: str) -> None:
        assume(len(self.model.loop_names) < MOST_LOOPS)
        report = self._connected(np.random.default_rng(seed), kind, how)
        self._check(report)
        lost = kinetic(self.model, self.state) - kinetic(report.model, report.state)
        scale = 1.0 + kinetic(self.model, self.state)
        assert lost >= -1e-9 * scale
        assert abs(lost - report.energy_lost) < 1e-8 * scale
        self._keep(report)

    @rule(seed=seeds(), kind=st.sampled_from(KINDS), how=st.sampled_from(["auto", "tree", "loop"]))
    def connect_and_cut(self, seed: int, kind: km.JointKind, how: str) -> None:
        """A cut undoes a connection: structure, coordinates and poses; the velocity jump stays."""
        rng = np.random.default_rng(seed)
        report = self._connected(rng, kind, how)
        before = self.model
        root = None if report.joint in report.model.loop_names else before.names[self._lost(report)]
        back = km.cut(report.model, report.state, report.joint, root=root)
        scale = 1.0 + np.abs(report.state.v).max(initial=0.0)
        same(twists(back.model, back.state), twists(report.model, report.state), 1e-7 * scale)
        if back.model.nv != before.nv:  # the part hangs on by a loop that was there before
            assert back.model.loop_names != self.model.loop_names
            return
        assert back.model.loop_names == self.model.loop_names
        for name, l in zip(before.names, before.links, strict=True):
            i = back.model.link(name)
            new = back.model.links[i]
            assert parent_name(before, l) == parent_name(back.model, new)
            axes = () if l["kind"] == km.JointKind.FREE else ("axis", "axis2", "pitch")
            for field in ("kind", "R", "p", "mass", "h", "I", *axes):
                np.testing.assert_allclose(new[field], l[field], atol=1e-9, err_msg=field)
            old_q, new_q = self.state.q[before.q_slice(before.link(name))], back.state.q[back.model.q_slice(i)]
            if l["kind"] in (km.JointKind.FREE, km.JointKind.SPHERICAL) and old_q[-4:] @ new_q[-4:] < 0.0:
                new_q = np.concatenate([new_q[:-4], -new_q[-4:]])
            np.testing.assert_allclose(new_q, old_q, atol=1e-7)

    @rule(seed=seeds())
    def cut(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        tree = self.model
        held = [n for n, l in zip(tree.joint_names, tree.links, strict=True) if l["parent"] >= 0 or l["kind"] != 8]
        candidates = [*held, *self.model.loop_names]
        assume(candidates)
        joint = str(rng.choice(candidates))
        note(f"cut {joint} of {self.model!r}")
        report = km.cut(self.model, self.state, joint)
        self._check(report)
        assert joint not in report.model.loop_names
        assert report.energy_lost == 0.0
        scale = 1.0 + np.abs(self.state.v).max(initial=0.0)
        same(twists(report.model, report.state), twists(self.model, self.state), 1e-7 * scale)
        self._keep(report)

    @rule(seed=seeds())
    def reroot(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        tree = self.model
        floating = [name for i, name in enumerate(tree.names) if tree.links[top(tree, i)]["kind"] == km.JointKind.FREE]
        assume(floating)
        link = str(rng.choice(floating))
        note(f"reroot {link} of {self.model!r}")
        report = km.reroot(self.model, self.state, link)
        self._check(report)
        assert report.model.loop_names == self.model.loop_names
        scale = 1.0 + np.abs(self.state.v).max(initial=0.0)
        same(twists(report.model, report.state), twists(self.model, self.state), 1e-10 * scale)
        self._keep(report)

    @rule()
    @precondition(lambda self: self.model.nv > 0)
    def simulate(self) -> None:
        data = km.Data(self.model)
        before = total_energy(self.model, self.state)
        note(f"simulate {self.model!r}")
        path = km.rollout(self.model, data, self.state.q, self.state.v, dt=2e-4, steps=10, every=10)
        after = km.State(path.q[-1], path.v[-1], time=self.state.time + path.t[-1])
        scale = 1.0 + abs(before) + kinetic(self.model, self.state)
        assert abs(total_energy(self.model, after) - before) < 1e-6 * scale
        self.state = after

    # ---------------------------------------------------------------------------------------------------- invariants

    @invariant()
    def the_tree_is_valid(self) -> None:
        if hasattr(self, "model"):
            valid(self.model)
            tree = self.model
            assert set(tree.names) == self.names
            assert abs(tree.mass - self.mass) < 1e-12 * self.mass
            assert np.isfinite(self.state.q).all()
            assert np.isfinite(self.state.v).all()

    @invariant()
    def loops_are_closed(self) -> None:
        if hasattr(self, "model"):
            data = km.Data(self.model)
            assert np.abs(km.loop_errors(self.model, data, self.state.q)).max(initial=0.0) < 1e-8

    # ------------------------------------------------------------------------------------------------------- helpers

    def _connected(self, rng: np.random.Generator, kind: km.JointKind, how: str) -> km.ModelEdit:
        """Two links, or a link and the base, by a joint near the first; sometimes away from its zero."""
        tree = self.model
        choices = [*tree.names, None] if rng.random() < 0.3 else list(tree.names)
        assume(len(choices) > 1)
        a, b = (choices[i] for i in rng.permutation(len(choices))[:2])
        data = km.Data(tree)
        km.kinematics(tree, data, self.state.q)
        near = km.pose_of(tree, data, a if a else b)
        at = near @ random_pose(rng, 0.4)
        joint = random_joint(rng, kind)
        on = None
        if rng.random() < 0.5 and b is not None:
            lone = km.Builder()
            lone.link("l", None, joint, inertia=random_inertia(rng))
            model = lone.build()
            moved = km.Data(model)
            km.kinematics(model, moved, km.random_configuration(model, rng))
            # the joint stands at `at`, and its successor is where it would put a link
            on = km.pose_of(tree, data, b).inverse() @ at @ km.pose_of(model, moved, "l")
        note(f"connect {a} {b} {kind.name} {how} of {self.model!r}, loops {self.model.loop_names}")
        try:
            return km.connect(self.model, self.state, a, b, joint, at, how, on)
        except ValueError as error:
            assert how == "tree"
            assert "close a loop" in str(error)  # noqa: PT017
            assume(False)
            raise

    def _lost(self, report: km.ModelEdit) -> int:
        """The link whose joint is gone."""
        tree = self.model
        gone = [i for i in range(tree.n) if (report.v_map[tree.v_slice(i)] == -1).any()]
        assert len(gone) == 1
        return gone[0]

    def _check(self, report: km.ModelEdit) -> None:
        assert report.pose_error < 1e-8
        assert report.twist_error < 1e-7 * (1.0 + np.abs(self.state.v).max(initial=0.0))
        assert report.loop_error < 1e-8
        same(poses(report.model, report.state), poses(self.model, self.state), 1e-8)
        same(masses(report.model, report.state), masses(self.model, self.state), 1e-8)
        maps_follow(self.model, self.state, report)
        if not is_tied(self.model) and not is_tied(report.model):
            p, p_new = momentum(self.model, self.state), momentum(report.model, report.state)
            np.testing.assert_allclose(p_new, p, atol=1e-8 * (1.0 + np.abs(p).max()))

    def _keep(self, report: km.ModelEdit) -> None:
        self.model, self.state = report.model, report.state


def top(tree: km.Model, link: int) -> int:
    while tree.links[link]["parent"] >= 0:
        link = int(tree.links[link]["parent"])
    return link


def parent_name(tree: km.Model, l: np.void) -> str | None:
    return tree.names[l["parent"]] if l["parent"] >= 0 else None


Machine.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    **({"phases": [Phase.generate]} if "KINEMORPH_MACHINE_EXAMPLES" in os.environ else {}),
    report_multiple_bugs=False,
)
TestMachine = Machine.TestCase
