"""A joint is read, set, watched and driven as it was declared, whichever of its two links it carries by now."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.strategies import random_inertia, random_joint, random_pose, seeds
from tests.world.declared_joints import KINDS, Declared, declared, random_tree

import kinemorph as km
from kinemorph.gym.observation_reader import Reading

EXAMPLES = int(os.environ.get("KINEMORPH_MACHINE_EXAMPLES", "25"))
EXACT = 1e-10
FREE, FIXED = km.JointKind.FREE, km.JointKind.FIXED
HELD = [kind for kind in KINDS if kind is not FREE]


def quiet(**more):
    return km.World(gravity=(0, 0, 0), sleep=False, **more)


def two_boxes(joint, root=None):
    """A figure of two links that float, joined by a joint that is named h."""
    inertia = km.Inertia.box(1.0, (0.3, 0.1, 0.1), (0.15, 0, 0))
    b = km.Builder("t")
    b.link("a", None, root or km.Joint.free(), inertia=inertia)
    b.link("b", "a", joint, (0.3, 0, 0), inertia)
    return b.build()


# ---------------------------------------------------------------------------------------------------- what was reported


def test_an_angle_keeps_its_sign_when_the_other_link_is_held():
    model = two_boxes(km.Joint.revolute("y", name="h"))
    q = km.neutral(model)
    q[-1] = 0.5
    world = quiet()
    figure = world.add(model, q=q)
    held = world.connect(None, figure["b"], km.Joint.fixed())
    assert figure.position("h") == pytest.approx([0.5], abs=1e-15)
    before = figure["a"].pose
    world.placement.set_joint(figure.joint("h"), 0.7, 0.2)
    assert (figure.position("h")[0], figure.velocity("h")[0]) == (0.7, 0.2)
    turned = before.rotation.T @ figure["a"].pose.rotation  # b is held, so a goes the other way
    assert np.arctan2(turned[0, 2], turned[0, 0]) == pytest.approx(-0.2, abs=1e-12)
    world.cut(held)
    assert figure.position("h") == pytest.approx([0.7], abs=1e-12)


@pytest.mark.parametrize("grasp", ["a", "b"])
def test_the_free_joint_of_a_robot_that_holds_the_world_says_where_its_body_is(grasp):
    model = two_boxes(km.Joint.revolute("y", name="h"), km.Joint.free(name="root"))
    world = quiet()
    q = km.neutral(model)
    q[:3] = 1.0, 2.0, 3.0
    v = np.arange(1.0, 8.0) / 10.0
    figure = world.add(model, q=q, v=v)
    held = world.connect(None, figure[grasp], km.Joint.spherical())
    for loaded in (figure, km.World.load(world.save()).figure("t")):
        assert loaded.position("root") == pytest.approx(q[:7], abs=1e-12)
        a = loaded["a"]
        R = a.pose.rotation
        assert loaded.velocity("root") == pytest.approx(np.r_[R.T @ a.twist[:3], R.T @ a.twist[3:]], abs=1e-12)
    world.cut(held)
    world.run(0.1)
    assert figure.position("root")[:3] == pytest.approx(figure["a"].position, abs=1e-12)
    world.remove(figure["a"])
    with pytest.raises(KeyError, match="joint"):
        figure.position("root")


# ------------------------------------------------------------------------------------------- events and environments


def crossings(seed, kind, rooted):
    """The event, step, and value of all that one joint's entries do at levels about where they start."""
    rng = np.random.default_rng(seed)
    b = km.Builder("two")
    b.link("base", None, km.Joint.free(), inertia=random_inertia(rng))
    b.link("tip", "base", random_joint(rng, kind), random_pose(rng, 0.4), random_inertia(rng))
    model = b.build()
    q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
    world = quiet(dt=1e-3)
    figure, found = world.add(model, q=q, v=v), []
    if rooted:
        world.reroot(figure["tip"])
    of_q, of_v = figure.position("tip"), figure.velocity("tip")
    for way in (1, -1):
        for k, x in enumerate(of_q):
            event = km.Event.position("tip", x + 0.03 * way, entry=k, direction=way, name=f"q{k} {way}")
            world.when(event, lambda w, m: found.append((m.name, round(w.time / w.dt), m.value)))
        for k, x in enumerate(of_v):
            event = km.Event.velocity("tip", x + 0.03 * way, entry=k, direction=way, name=f"v{k} {way}")
            world.when(event, lambda w, m: found.append((m.name, round(w.time / w.dt), m.value)))
    world.run(0.2)
    return sorted(found)


@pytest.mark.parametrize("kind", HELD[1:], ids=lambda kind: kind.name.lower())
def test_an_event_of_a_joint_happens_at_the_same_time_whatever_is_the_root(kind):
    for seed in range(3):
        expected, found = (crossings([int(kind), seed], kind, rooted) for rooted in (False, True))
        assert len(expected) > 0
        assert [one[0] for one in found] == [one[0] for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert abs(one[1] - other[1]) <= 2
            assert one[2] == pytest.approx(other[2], abs=5e-3)


@pytest.mark.parametrize("kind", [km.JointKind.REVOLUTE, km.JointKind.PRISMATIC, km.JointKind.SCREW])
def test_environments_read_joints_as_declared(kind):
    rng = np.random.default_rng(int(kind))
    b = km.Builder("three")
    for i in range(3):
        joint = random_joint(rng, kind) if i else km.Joint.free()
        b.link(f"l{i}", f"l{i - 1}" if i else None, joint, random_pose(rng, 0.4), random_inertia(rng))
    model = b.build()
    world = quiet()
    figure = world.add(model, q=km.random_configuration(model, rng), v=rng.normal(size=model.nv))
    reading = Reading(["l1.q", "l1.v", "l2.q", "l2.v"])
    before = reading.read(world)[0]
    for root in ("l2", "l1", "l0"):
        world.reroot(figure[root])
        np.testing.assert_allclose(reading.read(world)[0], before, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------- the family


class Readings(RuleBasedStateMachine):
    """Two random trees are re-rooted, hold on to the world and each other, let go, are cut, set and moved."""

    @initialize(seed=seeds(), root=st.sampled_from(KINDS), sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)))
    def start(self, seed, root, sizes):
        self.rng = np.random.default_rng(seed)
        self.world = quiet(dt=1e-3)
        self.known: dict[str, Declared] = {}
        self.ids: dict[str, int] = {}
        self.figures, self.held = [], []
        for name, kind, size in zip("xy", (FREE, root), sizes, strict=True):
            model, joints = random_tree(self.rng, name, kind, size)
            q, v = km.random_configuration(model, self.rng), self.rng.normal(size=model.nv)
            figure = self.world.add(model, q=q, v=v, name=name)
            self.figures.append(figure)
            self.known |= declared(figure, model, joints)
        self.floating = [name for name, one in self.known.items() if one.joint.kind is FREE and one.a is None]

    def body(self, seed):
        bodies = [body for figure in self.figures for body in figure]
        return bodies[seed % len(bodies)]

    def alive(self, name):
        figure = self.figure_of(name)
        id = self.ids[name] if figure is None else int(figure.joint(name))
        return self.world.forest.has_joint(id) and not self.world.forest.closes_loop(id)

    def figure_of(self, name):
        return next((figure for figure in self.figures if name in figure.joints), None)

    @rule(seed=seeds())
    def reroot(self, seed):
        self.world.reroot(self.body(seed))

    @precondition(lambda self: len(self.held) < 3)
    @rule(seed=seeds(), to=seeds(), kind=st.sampled_from(HELD), base=st.booleans())
    def hold(self, seed, to, kind, base):
        rng = np.random.default_rng(seed)
        a, b = None if base else self.body(to), self.body(seed)
        if a == b:
            return
        joint = random_joint(rng, kind)
        at = b.pose @ random_pose(rng, 0.3)
        change = self.world.connect(a, b, joint, at)
        name = f"held {len(self.ids)}"
        self.ids[name] = int(change.joint)
        on_a = at if a is None else a.pose.inverse() @ at
        self.known[name] = Declared(joint, a, b, on_a, b.pose.inverse() @ at)
        self.held.append(name)

    @precondition(lambda self: self.held)
    @rule(which=seeds())
    def let_go(self, which):
        name = self.held.pop(which % len(self.held))
        if self.world.forest.has_joint(self.ids[name]):
            self.world.cut(self.ids[name])

    @rule(which=seeds())
    def cut(self, which):
        there = [name for name in self.known if name not in self.ids and self.alive(name)]
        if there and which % 3 == 0:
            name = there[which % len(there)]
            self.world.cut(self.figure_of(name).joint(name))

    @precondition(lambda self: not self.held)
    @rule(seed=seeds())
    def set(self, seed):
        rng = np.random.default_rng(seed)
        there = [name for name, one in self.known.items() if self.alive(name) and one.joint.kind not in (FREE, FIXED)]
        if not there:
            return
        name = there[seed % len(there)]
        id = self.ids[name] if name in self.ids else self.figure_of(name).joint(name)
        q, v = self.read(name)
        q, v = rng.normal(size=len(q)), rng.normal(size=len(v))
        if self.known[name].joint.kind is km.JointKind.SPHERICAL:
            q /= np.linalg.norm(q)
        self.world.placement.set_joint(id, q, v)
        now = self.read(name)
        np.testing.assert_allclose(now[0], q, atol=EXACT)
        np.testing.assert_allclose(now[1], v, atol=EXACT)

    @rule(steps=st.integers(1, 5))
    def go_on(self, steps):
        self.world.step(steps)

    def read(self, name):
        figure = self.figure_of(name)
        if figure is None:
            return self.world.forest.position(self.ids[name]), self.world.forest.velocity(self.ids[name])
        return figure.position(name), figure.velocity(name)

    @invariant()
    def readings_are_of_the_joints_as_declared(self):
        for name, one in getattr(self, "known", {}).items():
            if self.alive(name) or name in self.floating:
                assert one.error(*self.read(name)) < EXACT * max(1.0, np.abs(one.b.twist).max()), (name, one.joint)


TestReadings = Readings.TestCase
TestReadings.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)  # fmt: skip
