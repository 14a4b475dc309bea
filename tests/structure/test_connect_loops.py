"""Connecting and cutting where loops are: either side may be hung, and loops stay through everything."""

from __future__ import annotations

import numpy as np
import pytest
from tests.strategies import random_inertia, random_joint, random_pose
from tests.structure.checks import kinetic, momentum, poses, same, twists
from tests.structure.test_random_forest_edits import random_plant

import kinemorph as km

pytestmark = pytest.mark.quick

KINDS = list(km.JointKind)
AWAY = [kind for kind in KINDS if kind not in (km.JointKind.FIXED, km.JointKind.FREE)]


def forest(grounded: bool = False, seed: int = 0) -> tuple[km.Model, km.State]:
    """Chains "a" and "b" of three links each; with `grounded`, chain "b" hangs on the base."""
    rng = np.random.default_rng(seed)
    b = km.Builder("forest")
    for name in "ab":
        for i in range(3):
            joint = km.Joint.revolute("y") if i == 2 or (name == "b" and grounded) else km.Joint.spherical()
            if i == 0 and not (name == "b" and grounded):
                joint = km.Joint.free()
            b.link(f"{name}{i}", f"{name}{i - 1}" if i else None, joint, (0, 0, -0.4 if i else 0), random_inertia(rng))
    model = b.build()
    return model, km.State(km.random_configuration(model, rng), rng.normal(size=model.nv))


def ring() -> tuple[km.Model, km.State]:
    """A floating ring: chain "a" closed by a spherical joint, and chain "b" tied to it by a revolute loop."""
    model, state = forest()
    first = km.connect(model, state, "a0", "a2", km.Joint.spherical(name="ring"), (0.2, 0.1, 0.0), how="loop")
    second = km.connect(first.model, first.state, "a1", "b1", km.Joint.revolute("x", name="tie"), (0, 0, 1), how="loop")
    assert second.model.loop_names == ("ring", "tie")
    return second.model, second.state


def run(model: km.Model, state: km.State, seconds: float = 0.2) -> km.State:
    steps = round(seconds / 2e-4)
    path = km.rollout(model, km.Data(model), state.q, state.v, dt=seconds / steps, steps=steps, every=steps)
    return km.State(path.q[-1], path.v[-1])


def pose_at(joint: km.Joint, rng: np.random.Generator) -> tuple[km.Pose, np.ndarray]:
    """Where a joint puts its link at a random position, and that position."""
    b = km.Builder()
    b.link("l", None, joint, inertia=random_inertia(rng))
    model = b.build()
    q = km.random_configuration(model, rng)
    data = km.Data(model)
    km.kinematics(model, data, q)
    return km.pose_of(model, data, "l"), q


@pytest.mark.parametrize("kind", AWAY, ids=lambda k: k.name)
@pytest.mark.parametrize("floating", ["a", "b"])
def test_a_joint_away_from_its_zero_either_side_hung_moves_as_the_loop(kind: km.JointKind, floating: str) -> None:
    """With only a's tree floating, it is a that is hung: the joint works the other way round, its position stays."""
    rng = np.random.default_rng(5)
    model, state = forest(grounded=True)
    sides = ("a1", "b2") if floating == "a" else ("b2", "a1")
    joint = random_joint(rng, kind)
    data = km.Data(model)
    km.kinematics(model, data, state.q)
    at = random_pose(rng, 0.5)
    moved, q = pose_at(joint, rng)
    on = km.pose_of(model, data, sides[1]).inverse() @ at @ moved
    tree, loop = (km.connect(model, state, *sides, joint, at, how, on) for how in ("tree", "loop"))
    assert len(loop.model.loops) == 1
    np.testing.assert_allclose(tree.impulse, loop.impulse, atol=1e-9)
    assert tree.energy_lost == pytest.approx(loop.energy_lost, abs=1e-9)
    same(twists(tree.model, tree.state), twists(loop.model, loop.state), 1e-9)
    same(poses(tree.model, run(tree.model, tree.state)), poses(loop.model, run(loop.model, loop.state)), 1e-8)
    found = tree.state.q[tree.model.q_slice(tree.joint)]
    if len(q) < 3:  # one axis: the same number; universal: it is turned
        expected = -q[::-1] if kind is km.JointKind.UNIVERSAL and floating == "a" else q
        np.testing.assert_allclose(np.cos(found - expected), 1.0, atol=1e-12)
    np.testing.assert_allclose(km.loop_errors(loop.model, km.Data(loop.model), loop.state.q), 0.0, atol=1e-12)


def test_the_base_may_be_either_side() -> None:
    model, state = forest()
    reports = [
        km.connect(model, state, *s, km.Joint.spherical(), (0, 0, 1)) for s in (("a2", None), (None, "a2"), ("a2", -1))
    ]
    for report in reports:
        assert not report.model.loops
        same(twists(report.model, report.state), twists(reports[0].model, reports[0].state), 1e-10)


def test_impacts_with_loops_agree_with_a_dense_solution() -> None:
    """All loops hold during the impact, the old ones as well as the new one."""
    mechanism, state = ring()
    tree = mechanism
    report = km.connect(mechanism, state, "b0", "a2", km.Joint.universal(name="new"), (0.3, 0, 0.2), how="loop")
    assert len(report.model.loops) == 3
    J = km.loop_jacobian(report.model, km.Data(report.model), state.q)
    M = km.crba(tree, km.Data(tree), state.q)
    response = np.linalg.solve(M, J.T)
    expected = state.v - response @ np.linalg.pinv(J @ response, rcond=1e-12) @ (J @ state.v)
    np.testing.assert_allclose(report.state.v, expected, atol=1e-9)
    np.testing.assert_allclose(report.jump, expected - state.v, atol=1e-9)
    np.testing.assert_allclose(momentum(report.model, report.state), momentum(mechanism, state), atol=1e-10)
    assert report.energy_lost == pytest.approx(
        kinetic(mechanism, state) - kinetic(report.model, report.state), abs=1e-9
    )


def test_a_connection_that_holds_already_changes_nothing() -> None:
    """The rows of the new joint depend on those of an old one: no impulse, no NaN."""
    mechanism, state = ring()
    data = km.Data(mechanism)
    km.kinematics(mechanism, data, state.q)
    there = km.pose_of(mechanism, data, "a1") @ mechanism.loops[1].at_a
    report = km.connect(mechanism, state, "a1", "b1", km.Joint.revolute("x", name="twin"), there, how="loop")
    np.testing.assert_allclose(report.state.v, state.v, atol=1e-9)
    assert abs(report.energy_lost) < 1e-9
    run(report.model, report.state)


def test_chaining_never_loses_a_loop() -> None:
    mechanism, state = ring()
    names = mechanism.loop_names
    report = km.connect(mechanism, state, None, "b2", km.Joint.spherical(name="hold"), (0, 0, 2))
    assert report.model.loop_names == names
    let_go = km.cut(report.model, report.state, "hold")
    report = km.reroot(let_go.model, let_go.state, "a2")
    assert report.model.loop_names == ("ring",)
    assert "tie" in report.model.joint_names  # it holds chain "b" now that its top is free again
    after = run(report.model, report.state)
    assert max(abs(km.loop_errors(report.model, km.Data(report.model), after.q))) < 1e-10


def test_reroot_keeps_loops_and_motion() -> None:
    mechanism, state = ring()
    for link in ("a2", "b1", "b2"):
        report = km.reroot(mechanism, state, link)
        assert report.model.loop_names == mechanism.loop_names
        assert report.loop_error < 1e-12
        assert report.loop_map.tolist() == [0, 1]
        same(poses(report.model, run(report.model, report.state)), poses(mechanism, run(mechanism, state)), 1e-9)


def test_a_cut_in_the_tree_hangs_on_by_the_loop_with_the_fewest_coordinates() -> None:
    model, state = forest()
    for kind, name in ((km.Joint.spherical, "loose"), (km.Joint.revolute, "tight")):
        report = km.connect(model, state, "a0", "a2", kind(name=name), (0.2, 0.1 * len(name), 0.0), how="loop")
        model, state = report.model, report.state
    whole = model
    report = km.cut(model, state, "a1", allow_free=False)
    assert report.joint == "tight"
    assert report.model.loop_names == ("loose",)
    assert report.loop_map.tolist() == [0, -1]
    assert report.model.nv == whole.nv - 3 + 1
    same(poses(report.model, report.state), poses(model, state), 1e-10)
    same(twists(report.model, report.state), twists(model, state), 1e-9)
    assert report.loop_error < 1e-11
    again = km.cut(report.model, report.state, "tight")
    assert again.joint == "loose"
    assert not again.model.loops


def test_cutting_a_loop_changes_no_velocity() -> None:
    mechanism, state = ring()
    report = km.cut(mechanism, state, "ring")
    assert report.model.loop_names == ("tie",)
    np.testing.assert_array_equal(report.state.v, state.v)
    assert not km.cut(report.model, report.state, "tie").model.loops


def test_the_last_support_is_cut_only_if_that_is_allowed() -> None:
    model, state = forest(grounded=True)
    with pytest.raises(ValueError, match="'b0' is the last that supports link 'b0'"):
        km.cut(model, state, "b0", allow_free=False)
    held = km.connect(model, state, None, "a1", km.Joint.spherical(name="grip"), (0, 0, 1), how="loop")
    with pytest.raises(ValueError, match="'grip' is the last that supports link 'a"):
        km.cut(held.model, held.state, "grip", allow_free=False)
    twice = km.connect(held.model, held.state, "b2", "a2", km.Joint.spherical(name="more"), (0, 0, 1), how="loop")
    assert km.cut(twice.model, twice.state, "grip", allow_free=False).model.loop_names == ("more",)
    tied = km.connect(model, state, "b2", "a1", km.Joint.spherical(name="tie"), (0, 0, 1), how="loop")
    with pytest.raises(ValueError, match="'b0' is the last that supports link"):
        km.cut(tied.model, tied.state, "b0", allow_free=False)  # what still holds b floats itself
    assert km.cut(tied.model, tied.state, "b0").joint == "tie"


def test_rounding_errors_do_not_grow_with_the_number_of_changes() -> None:
    model, state = forest()
    first, now = poses(model, state), km.State(state.q, 0.0 * state.v)
    for turn in range(60):
        joint = km.Joint.universal("x", "y", name="j")
        joined = km.connect(model, now, "a1", "b2", joint, km.Pose.turn((1, 2, 3), 0.1 * turn))
        turned = km.reroot(joined.model, joined.state, "b1")
        apart = km.cut(turned.model, turned.state, "j")
        model, now = apart.model, apart.state
    same(poses(model, now), first, 1e-13)


def test_forces_are_checked_and_the_old_ones_stay() -> None:
    mechanism, state = ring()
    nv = mechanism.nv
    tau = np.arange(float(nv))
    for change in (
        lambda s: km.connect(mechanism, s, "a0", "b1", km.Joint.spherical(name="n"), (0, 0, 0), how="loop"),
        lambda s: km.cut(mechanism, s, mechanism.loop_names[0]),
    ):
        report = change(km.State(state.q, state.v, tau=tau))
        np.testing.assert_array_equal(report.state.tau, tau)
        assert not np.shares_memory(report.state.tau, tau)
        with pytest.raises(ValueError, match=r"tau\[0\] is nan"):
            change(km.State(state.q, state.v, tau=tau * np.nan))
        with pytest.raises(ValueError, match="tau has shape"):
            change(km.State(state.q, state.v, tau=tau[1:]))
    with pytest.raises(TypeError, match=r"cut: joint is 1.5, and must be a string or a whole number"):
        km.cut(mechanism, state, 1.5)  # type: ignore[arg-type]


def test_a_cut_with_a_root_gives_back_the_old_coordinates() -> None:
    model, state = forest()
    joined = km.connect(model, state, "a1", "b2", km.Joint.revolute("z", name="j"), (0, 0, 1))
    back = km.cut(joined.model, joined.state, "j", root="b0")
    for name in model.joint_names:
        x, y = state.q[model.q_slice(name)].copy(), back.state.q[back.model.q_slice(name)].copy()
        if len(x) >= 4 and x[-4:] @ y[-4:] < 0.0:  # the same rotation
            y[-4:] *= -1.0
        np.testing.assert_allclose(y, x, atol=1e-12, err_msg=name)
    same(poses(back.model, back.state), poses(model, state))
    with pytest.raises(ValueError, match="does not carry 'a0'"):
        km.cut(joined.model, joined.state, "j", root="a0")


def test_what_acts_in_a_joint_is_never_lost_in_silence() -> None:
    model, state = forest(grounded=True)
    damped = km.Joint.revolute("x", damping=0.3, stiffness=2.0, rest=0.1, name="d")
    report = km.connect(model, state, "a1", "b2", damped, (0, 0, 1))  # a floats: a tree, the other way round
    assert report.model.dofs[report.model.v_slice("d")]["damping"] == [0.3]
    assert report.model.rest[report.model.q_slice("d")] == [0.1]
    with pytest.raises(ValueError, match="loop 'a0-b1': a joint that closes a loop has no friction"):
        km.connect(report.model, report.state, "a0", "b1", km.Joint.revolute("x", friction=0.3), (0, 0, 1))
    loop = km.connect(report.model, report.state, "a0", "b1", km.Joint.revolute("x", damping=0.3), (0, 0, 1))
    opened = km.cut(loop.model, loop.state, "d")  # the damped joint of the loop carries the part now
    assert opened.model.dofs[opened.model.v_slice("a0-b1")]["damping"] == [0.3]
    pulled = model.with_dofs(damping=np.where(np.arange(model.nv) < 6, 0.5, 0.0))  # drag on the free joint of a0
    assert km.connect(pulled, state, "b2", "a1", km.Joint.spherical(), (0, 0, 1)).model.loops


def test_mimics_follow_or_go() -> None:
    b = km.Builder("mimics")
    b.link("top", None, km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    for i, parent in enumerate(("top", "m0", "top")):
        b.link(f"m{i}", parent, km.Joint.revolute("x"), (0.1, 0, 0), km.Inertia.sphere(1.0, 0.1, (0.1, 0, 0)))
    b.mimic("m1", "m2", 2.0, 0.5)
    model = b.build()
    state = km.State(km.follow(model, km.random_configuration(model, np.random.default_rng(0))), np.zeros(model.nv))
    turned = km.reroot(model, state, "m1")
    np.testing.assert_allclose(km.follow(turned.model, turned.state.q), turned.state.q, atol=1e-14)
    assert km.cut(model, state, "m2").model.mimics == ()


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    mechanism, state = ring()
    everything = state.q, state.v, mechanism.loop_rows, mechanism.links
    before = [x.tobytes() for x in everything]
    at = (0.0, 0.0, 0.0)
    ball = km.Joint.spherical()
    with pytest.raises(ValueError, match="the base cannot be connected to itself"):
        km.connect(mechanism, state, None, -1, ball, at)
    with pytest.raises(KeyError, match="no link 'nobody'"):
        km.connect(mechanism, state, "nobody", "a0", ball, at)
    with pytest.raises(ValueError, match="a revolute joint cannot hold link 'b2' where it is now"):
        km.connect(mechanism, state, "a0", "b2", km.Joint.revolute("x"), at, how="loop", on=km.Pose((1, 2, 3)))
    with pytest.raises(ValueError, match="there is already a joint 'tie'"):
        km.connect(mechanism, state, "a0", "b2", km.Joint.spherical(name="tie"), at)
    with pytest.raises(ValueError, match="there is already a joint 'a1'"):
        km.connect(mechanism, state, None, "b2", km.Joint.spherical(name="a1"), at)
    with pytest.raises(
        ValueError, match=r"joint 'a0-b2' would be at \[0.0\], outside of its limits \[0.5\] to \[1.0\]"
    ):
        km.connect(mechanism, state, "a0", "b2", km.Joint.revolute("x", lower=0.5, upper=1.0), at)
    with pytest.raises(ValueError, match="how 'weld' is not one of 'auto', 'tree', 'loop'"):
        km.connect(mechanism, state, "a0", "b2", ball, at, how="weld")
    broken = state.v.copy()
    broken[3] = np.nan
    with pytest.raises(ValueError, match=r"v\[3\] is nan"):
        km.connect(mechanism, km.State(state.q, broken), "a0", "b2", ball, at)
    with pytest.raises(ValueError, match="q has shape"):
        km.cut(mechanism, km.State(state.q[1:], state.v), "a1")
    with pytest.raises(KeyError, match="no joint 'elbow'"):
        km.cut(mechanism, state, "elbow")
    with pytest.raises(ValueError, match=r"loop 'tie' cannot carry link .* for it is open .* km.close"):
        km.cut(mechanism, km.State(km.integrate(mechanism, state.q, np.full(mechanism.nv, 0.1)), state.v), "a1")
    assert [x.tobytes() for x in everything] == before


@pytest.mark.parametrize(
    "kind", [km.JointKind.REVOLUTE, km.JointKind.UNIVERSAL, km.JointKind.SPHERICAL, km.JointKind.SCREW]
)
def test_a_second_joint_where_one_is_holds_what_is_left(kind):
    """Of its rows most follow from the first joint: what rounding leaves of their levers is no row of its own."""
    for seed in range(25):
        rng, forest = np.random.default_rng(seed), km.Forest((0.0, 1.0, -5.0))
        for _ in range(2):
            model = random_plant(rng)
            forest.add(model, km.random_configuration(model, rng), rng.normal(size=model.nv))
        a, b = (int(forest.bodies[i]) for i in rng.permutation(len(forest.bodies))[:2])
        joint, at = random_joint(rng, kind), forest.pose(a) @ random_pose(rng, 0.4)
        forest.connect(a, b, joint, at)
        energy = forest.kinetic_energy()
        change = forest.connect(a, b, km.Joint.fixed(), at)
        assert np.abs(change.impulse).max() < 1e3
        assert -1e-9 * (1.0 + energy) <= change.energy_lost <= (1.0 + 1e-9) * energy
        assert forest.kinetic_energy() == pytest.approx(energy - change.energy_lost, rel=1e-8, abs=1e-8)
