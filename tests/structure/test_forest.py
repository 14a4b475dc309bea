"""A live forest: ids that stay, edits that touch nothing else, copies that are copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.strategies import random_inertia, random_joint, random_pose
from tests.structure.checks import poses, twists
from tests.structure.test_connect import JOINTS, moving, two_chains

import kinemorph as km
from kinemorph.structure.forest import layout as layout

pytestmark = pytest.mark.quick

Where = dict[int, tuple[np.ndarray, np.ndarray]]


def stone(mass: float = 1.0) -> km.Model:
    b = km.Builder("stone")
    b.link("stone", joint=km.Joint.free(), inertia=km.Inertia.box(mass, (0.1, 0.2, 0.3)))
    return b.build()


def bodies(forest: km.Forest) -> Where:
    """Pose and twist of every body."""
    return {int(i): (forest.pose(i).matrix(), forest.twist(i)) for i in forest.bodies}


def alike(x: Where, y: Where, tolerance: float = 1e-10, twist: bool = True) -> None:
    assert x.keys() == y.keys()
    for body, (pose, velocity) in x.items():
        np.testing.assert_allclose(y[body][0], pose, atol=tolerance)
        if twist:
            np.testing.assert_allclose(y[body][1], velocity, atol=tolerance)


def tree_bytes(forest: km.Forest, tree: int) -> tuple[int, bytes]:
    """The address of a tree, its constants and its state."""
    row = forest._tables[layout.TREES][tree & 0xFFFFFFFF]
    t = tree & 0xFFFFFFFF
    state = [forest._vector(t, which).tobytes() for which in range(6)]
    return int(row["address"]), forest._links(t).tobytes() + b"".join(state)


@pytest.fixture
def planted() -> tuple[km.Forest, km.Model, km.State, list[int]]:
    model = two_chains()
    state = moving(model)
    forest = km.Forest()
    ids = forest.add(model, state.q, state.v)
    for i in range(4):
        forest.add(stone(1.0 + i), [float(i), 5.0, 0.0, 1.0, 0.0, 0.0, 0.0], np.arange(6.0))
    return forest, model, state, ids.bodies.tolist()


@pytest.mark.lane
def test_bodies_are_where_the_model_says(planted: tuple[km.Forest, km.Model, km.State, list[int]]) -> None:
    forest, model, state, ids = planted
    where, fast = poses(model, state), twists(model, state)
    for name, body in zip(model.names, ids, strict=True):
        np.testing.assert_allclose(forest.pose(body).matrix(), where[name], atol=1e-15)
        np.testing.assert_allclose(forest.twist(body), fast[name], atol=1e-15)
    assert forest.momentum().shape == (6,)
    assert len(forest.bodies) == model.n + 4
    assert len(forest.trees) == 6


@pytest.mark.lane
@pytest.mark.parametrize("how", ["tree", "loop"])
@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: j.kind.name)
def test_a_forest_and_a_model_are_edited_alike(joint: km.Joint, how: str) -> None:
    """One implementation: the same numbers, whichever way it is asked for."""
    model = two_chains()
    state = moving(model, 3)
    forest = km.Forest()
    ids = forest.add(model, state.q, state.v)
    at = km.Pose.turn((1, 2, 3), 0.4, (0.1, 1.0, -0.5))
    live = forest.connect(ids.bodies[2], ids.bodies[4], joint, at, how)
    report = km.connect(model, state, "left2", "right1", joint, at, how)
    np.testing.assert_array_equal(live.impulse, report.impulse)
    assert live.energy_lost == report.energy_lost
    assert live.closes == (how == "loop")
    where, fast = poses(report.model, report.state), twists(report.model, report.state)
    for name, body in zip(model.names, ids.bodies, strict=True):
        np.testing.assert_allclose(forest.pose(body).matrix(), where[name], atol=1e-14)
        np.testing.assert_allclose(forest.twist(body), fast[name], atol=1e-13)
    forest.forward_dynamics()
    a = km.forward_dynamics(
        report.model, km.Data(report.model), report.state.q, report.state.v, np.zeros(report.model.nv)
    )
    found = np.concatenate([forest.state(t).a for t in forest.trees])
    np.testing.assert_allclose(found, a, atol=1e-9 * (1.0 + np.abs(a).max()))
    back, again = forest.cut(live.joint), km.cut(report.model, report.state, report.joint)
    assert back.joint == -1 if how == "loop" else back.joint >= 0
    fast = twists(again.model, again.state)
    for name, body in zip(model.names, ids.bodies, strict=True):
        np.testing.assert_allclose(forest.twist(body), fast[name], atol=1e-12)


@pytest.mark.lane
def test_an_edit_touches_the_trees_that_it_names(planted: tuple[km.Forest, km.Model, km.State, list[int]]) -> None:
    """Other trees stay where they are in memory, bit for bit."""
    forest, _, _, ids = planted
    others = [int(t) for t in forest.trees[2:]]
    before = [tree_bytes(forest, t) for t in others]
    tied = forest.connect(ids[2], ids[4], km.Joint.spherical(), (0.0, 1.0, 0.0))
    forest.reroot(ids[5])
    forest.cut(tied.joint)
    loop = forest.connect(ids[1], ids[3], km.Joint.revolute("x"), (0.0, 1.0, 0.0), "loop")
    forest.cut(loop.joint)
    forest.remove(ids[2])
    assert [tree_bytes(forest, t) for t in others] == before


@pytest.mark.lane
def test_loops_couple_trees_in_an_impact(planted: tuple[km.Forest, km.Model, km.State, list[int]]) -> None:
    """A stone that a loop ties to a chain feels what happens to the chain; one that is not tied does not."""
    forest, _, _, ids = planted
    stones = [int(forest.members(t)[0]) for t in forest.trees[2:]]
    forest.connect(ids[2], stones[0], km.Joint.spherical(), (0.5, 2.0, 0.0), "loop")
    before, p = bodies(forest), forest.momentum()
    change = forest.connect(ids[0], stones[1], km.Joint.fixed(), (0.5, 2.0, 0.0), "loop")
    after = bodies(forest)
    assert change.energy_lost > 0.0
    assert np.abs(after[stones[0]][1] - before[stones[0]][1]).max() > 1e-3
    np.testing.assert_array_equal(after[stones[2]][1], before[stones[2]][1])
    np.testing.assert_allclose(forest.momentum(), p, atol=1e-12 * (1.0 + np.abs(p).max()))


@pytest.mark.lane
def test_stale_ids_are_refused(planted: tuple[km.Forest, km.Model, km.State, list[int]]) -> None:
    forest, _, _, ids = planted
    gone = forest.joint_of(ids[1])
    tree = forest.tree_of(ids[0])
    forest.remove(ids[1])
    for stale in (ids[1], ids[2], 999, -7):
        for use in (forest.pose, forest.remove, forest.reroot, forest.tree_of):
            with pytest.raises(KeyError, match=rf"there is no body {stale} \(any more\)"):
                use(stale)
    with pytest.raises(KeyError, match=rf"no joint {gone} "):
        forest.cut(gone)
    again = forest.add(stone())  # its rows are used again, its ids are new
    assert int(again.bodies[0]) not in ids
    with pytest.raises(KeyError, match=rf"no body {ids[1]} "):
        forest.connect(ids[0], ids[1], km.Joint.fixed(), (0, 0, 0))
    with pytest.raises(KeyError, match=rf"no body {ids[1]} "):
        forest.connect(ids[1], ids[0], km.Joint.fixed(), (0, 0, 0))
    with pytest.raises(KeyError, match=rf"no body {ids[2]} "):
        forest.cut(forest.joint_of(ids[5]), root=ids[2])
    assert forest.tree_of(ids[0]) == tree
    forest.remove(ids[0])
    with pytest.raises(KeyError, match=rf"no tree {tree} "):
        forest.state(tree)
    with pytest.raises(TypeError, match="body is 'left', and must be a whole number"):
        forest.pose("left")  # type: ignore[arg-type]


@pytest.mark.lane
def test_what_cannot_be_is_refused_and_changes_nothing(
    planted: tuple[km.Forest, km.Model, km.State, list[int]],
) -> None:
    forest = planted[0]
    before = [tree_bytes(forest, int(t)) for t in forest.trees]
    tables = [table.tobytes() for table in forest._tables[1:]]
    at = (0.0, 0.0, 0.0)
    for sentence, edit in (
        ("body 1 cannot be connected to itself", lambda: forest.connect(1, 1, km.Joint.fixed(), at)),
        ("the base cannot be connected to itself", lambda: forest.connect(-1, -1, km.Joint.fixed(), at)),
        ("would close a loop", lambda: forest.connect(0, 2, km.Joint.fixed(), at, "tree")),
        ("revolute joint cannot hold body 4", lambda: forest.connect(
            0, 4, km.Joint.revolute("x"), at, on=km.Pose((1, 2, 3)))),
        (r"would be at \[0.0\], outside of its limits", lambda: forest.connect(
            0, 4, km.Joint.revolute("x", lower=0.5, upper=1.0), at)),
        ("has no friction", lambda: forest.connect(0, 2, km.Joint.revolute("x", friction=1.0), at)),
        ("moves as a revolute joint there does not allow", lambda: forest.reroot(2, km.Joint.revolute("x"), at)),
        ("spherical joint needs a place", lambda: forest.reroot(2, km.Joint.spherical())),
        ("does not carry body 0", lambda: forest.cut(forest.joint_of(1), root=0)),
        ("how 'weld' is not one of", lambda: forest.connect(0, 4, km.Joint.fixed(), at, "weld")),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            edit()
    with pytest.raises(TypeError, match=r"joint must be a kinemorph\.Joint"):
        forest.connect(0, 4, "ball", at)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a kinemorph\.Model"):
        forest.add("stone")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"q\[0\] is nan"):
        forest.add(stone(), [np.nan, 0, 0, 1, 0, 0, 0])
    assert [tree_bytes(forest, int(t)) for t in forest.trees] == before
    marks = [table.tobytes() for table in forest._tables[1:]]
    assert marks == tables


@pytest.mark.lane
@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))], ids=["copy", "deepcopy", "pickle"]
)
def test_copies_have_the_same_numbers_and_a_life_of_their_own(again: object) -> None:
    model = two_chains()
    state = moving(model, 2)
    forest = km.Forest((0.0, 1.0, -3.0))
    ids = forest.add(model, state.q, state.v).bodies.tolist()
    doomed = forest.add(stone())
    forest.connect(ids[1], ids[4], km.Joint.spherical(), (0, 1, 0), "loop")
    forest.remove(int(doomed.bodies[0]))
    twin = again(forest)  # type: ignore[operator]
    assert repr(twin) == repr(forest)
    before = bodies(forest)
    alike(before, bodies(twin), 0.0)
    for f in (forest, twin):
        f.forward_dynamics()
    for t in forest.trees:
        np.testing.assert_array_equal(twin.state(t).a, forest.state(t).a)
    twin.cut(twin.loops[0])
    twin.remove(ids[0])
    new = twin.add(stone())
    assert int(new.bodies[0]) != int(doomed.bodies[0])  # a stale id is stale in the copy, too
    alike(before, bodies(forest), 0.0)
    assert len(forest.loops) == 1


@pytest.mark.lane
def test_memory_is_used_again() -> None:
    forest = km.Forest()
    model = two_chains()
    state = moving(model)
    ids = forest.add(model, state.q, state.v).bodies.tolist()

    def round_trip() -> None:
        tied = forest.connect(ids[2], ids[4], km.Joint.spherical(), (0.0, 1.0, 0.0))
        forest.reroot(ids[5])
        forest.cut(tied.joint)
        forest.remove(int(forest.add(stone()).bodies[0]))

    for _ in range(3):
        round_trip()
    memory = forest.memory
    for _ in range(20):
        round_trip()
    assert forest.memory == memory


def test_ten_thousand_bodies_need_less_than_100_mb() -> None:
    forest, model = km.Forest(), stone()
    for _ in range(2000):
        forest.add(model)
    each = forest.memory / 2000
    assert each * 10_000 < 100e6


@pytest.mark.lane
def test_rows_of_another_kind_are_refused() -> None:
    forest, other = km.Forest(), km.Forest()
    forest.add(stone())
    forest.address = other._tables[0].ctypes.data  # no header
    with pytest.raises(RuntimeError):
        forest.forward_dynamics()


@pytest.mark.lane
def test_states_can_be_set() -> None:
    forest = km.Forest((0, 0, 0))
    ids = forest.add(stone())
    tree = int(ids.trees[0])
    forest.set_state(tree, v=[0, 0, 1, 0, 0, 0], tau=[0, 0, 0, 2, 0, 0])
    forest.forward_dynamics()
    np.testing.assert_allclose(forest.state(tree).a, [0, 0, 0, 2, 0, 0], atol=1e-14)
    np.testing.assert_array_equal(forest.velocity(int(ids.joints[0])), [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(forest.position(int(ids.joints[0]))[3:], [1, 0, 0, 0])
    with pytest.raises(ValueError, match="v: expected 6 numbers"):
        forest.set_state(tree, v=[1.0])
    with pytest.raises(ValueError, match="not finite"):
        forest.set_state(tree, q=[np.inf, 0, 0, 1, 0, 0, 0])


def test_joints_of_every_kind_through_a_forest_of_chains() -> None:
    """Random re-roots and connections of chains of every kind of joint leave all bodies where they are."""
    rng = np.random.default_rng(4)
    forest = km.Forest()
    for _ in range(6):
        b = km.Builder("chain")
        for i in range(4):
            joint = random_joint(rng, km.JointKind(int(rng.integers(9)))) if i else km.Joint.free()
            b.link(f"l{i}", f"l{i - 1}" if i else None, joint, random_pose(rng, 0.5), random_inertia(rng))
        model = b.build()
        forest.add(model, km.random_configuration(model, rng), rng.normal(size=model.nv))
    for turn in range(40):
        before = bodies(forest)
        body = int(rng.choice(forest.bodies))
        forest.reroot(body)
        alike(before, bodies(forest), 1e-10)
        a, b = (int(x) for x in rng.choice(forest.bodies, 2, replace=False))
        joint = random_joint(rng, km.JointKind(turn % 9))
        made = forest.connect(a, b, joint, random_pose(rng, 1.0))
        assert made.energy_lost > -1e-9
        if turn % 3:
            forest.cut(made.joint)
        alike(before, bodies(forest), 1e-9, twist=False)


def test_a_quaternion_of_zero_is_refused_by_name():
    b = km.Builder("z")
    b.link("a", joint=km.Joint.free(name="float"), inertia=km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    model = b.build()
    with pytest.raises(ValueError, match="float"):
        km.Forest().add(model, np.zeros(7))
    with pytest.raises(ValueError, match="float"):
        km.reroot(model, km.State(np.zeros(7), np.zeros(6)), "a")
    with pytest.raises(TypeError, match="complex"):
        km.reroot(model, km.State(km.neutral(model) + 0j, np.zeros(6)), "a")


def test_a_knock_adds_to_the_motion_of_what_floats_and_of_all_that_hangs_on_it() -> None:
    forest = km.Forest((0.0, 0.0, 0.0))
    model = two_chains()
    floating = [int(body) for body in forest.add(stone(), q=[1.0, 2.0, 3.0, 0.6, 0.0, 0.8, 0.0]).bodies]
    before = forest.twist(floating[0])
    forest.knock(floating[0], push=(1.0, -2.0, 0.5), turn=(0.1, 0.2, -0.3))
    np.testing.assert_allclose(forest.twist(floating[0]) - before, [0.1, 0.2, -0.3, 1.0, -2.0, 0.5], atol=1e-15)
    held = next(int(b) for b in forest.add(model).bodies if forest.velocity(forest.joint_of(int(b))).size < 6)
    with pytest.raises(ValueError, match="does not float"):
        forest.knock(held, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=r"knock: push: \[nan, 0.0, 0.0\] is not finite"):
        forest.knock(floating[0], (np.nan, 0.0, 0.0), (0.0, 0.0, 0.0))
    forest.remove(floating[0])
    with pytest.raises(KeyError, match="there is no body"):
        forest.knock(floating[0], (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
