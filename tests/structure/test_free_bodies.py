"""Lone bodies: closed forms that agree with the tree algorithms, and forests that are the same without them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.strategies import Rng, random_inertia, random_joint, random_pose
from tests.structure.test_forest import alike, bodies

import kinemorph as km
from kinemorph.constraint.whiten import whiten_free_body_row, whiten_velocity
from kinemorph.jit.api import entry, rows_at
from kinemorph.multibody.algorithms.free_body import (
    FREE_BODY,
    accelerate_tree,
    articulate_tree,
    free_body_link,
    free_body_of,
    jump_tree,
    move_tree,
    unwhiten_free_body,
)
from kinemorph.multibody.layout import LINK_DATA, TREE
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at
from kinemorph.structure.forest import layout as layout

pytestmark = pytest.mark.quick

KINDS = list(km.JointKind)
INDEX = 0xFFFFFFFF
SHOWN = ("R", "p", "w", "v", "al", "a")


def stone(rng: Rng, joint: km.Joint | None = None, inertia: km.Inertia | None = None, at: bool = True) -> km.Model:
    b = km.Builder("stone", gravity=rng.normal(size=3))
    place = random_pose(rng, 0.5) if at else km.Pose()
    b.link("stone", None, joint or km.Joint.free(), place, inertia or random_inertia(rng))
    return b.build()


def header(forest: km.Forest, tree: int) -> Any:
    return forest._tree(tree & INDEX)


def lone(forest: km.Forest) -> list[bool]:
    return [bool(header(forest, int(t))["free_body"]) for t in forest.trees]


def without(forest: km.Forest) -> None:
    """Let the tree algorithms do everything, until trees are made anew."""
    for t in forest.trees:
        header(forest, int(t))["free_body"] = 0


@entry
def _accelerate(address: int, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    accelerate_tree(rows_at(address, 1, TREE)[0], q, v, tau, external, a)


@entry
def _move(address: int, q: Any, v: Any, a: Any) -> None:
    move_tree(rows_at(address, 1, TREE)[0], q, v, a)


@entry
def _whiten(address: int, q: Any, v: Any, n: Any, f: Any, x: Any, z: Any, y: Any, back: Any, dv: Any) -> float:
    """z of v, y of a wrench at x on the link, v of z, and the jump from the impulse of the wrench."""
    tree = rows_at(address, 1, TREE)[0]
    articulate_tree(tree, q)
    whiten_velocity(tree, v, z)
    row, d = free_body_of(tree), free_body_link(tree)
    w, u = unwhiten_free_body(row, load9(d["R"]), load3(z), load3_at(z, 3))
    store3(back, w)
    store3_at(back, 3, u)
    moment, force, at = load3(n), load3(f), load3(x)
    r = (at[0] - d["p"][0], at[1] - d["p"][1], at[2] - d["p"][2])
    moment = (
        moment[0] + r[1] * force[2] - r[2] * force[1],
        moment[1] + r[2] * force[0] - r[0] * force[2],
        moment[2] + r[0] * force[1] - r[1] * force[0],
    )
    nn = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
    ff = f[0] * f[0] + f[1] * f[1] + f[2] * f[2]
    size = whiten_free_body_row(tree, moment, force, at, nn, ff, y, 0)
    for k in range(6):
        row["u"][k] = y[5 - k]
    jump_tree(tree, dv)
    return size


@pytest.mark.lane
@pytest.mark.parametrize("seed", range(6))
def test_a_lone_body_flies_as_the_tree_algorithms_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = stone(rng, at=seed % 2 == 0)
    forest = km.Forest(model.gravity)
    q, v, tau = km.random_configuration(model, rng), rng.normal(size=6), rng.normal(size=6)
    external = rng.normal(size=(1, 6))
    tree = int(forest.add(model, q, v, tau).trees[0])
    address = int(forest._tables[layout.TREES][0]["address"])
    assert header(forest, tree)["free_body"]
    row = rows_at(int(header(forest, tree)["rows"]), 2, LINK_DATA)[1]
    data, a = km.Data(model), np.zeros(6)
    for push in (external, np.zeros((0, 6))):
        expected = km.aba(model, data, q, v, tau, push)
        _accelerate(address, q, v, tau, push, a)
        np.testing.assert_allclose(a, expected, atol=1e-13 * (1.0 + np.abs(expected).max()))
        for field in SHOWN:
            np.testing.assert_allclose(row[field], data.links[0][field], atol=1e-12, err_msg=field)
    forest.forward_dynamics()
    np.testing.assert_array_equal(forest.state(tree).a, a)
    given = rng.normal(size=6)
    km.kinematics(model, data, q, v, given)
    _move(address, q, v, given)
    for field in SHOWN:
        np.testing.assert_allclose(row[field], data.links[0][field], atol=1e-14 * (1.0 + np.abs(row[field]).max()))


@pytest.mark.lane
@pytest.mark.parametrize("seed", range(4))
def test_whitened_numbers_do_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, forest = stone(rng), km.Forest()
    q, v = km.random_configuration(model, rng), rng.normal(size=6)
    tree = int(forest.add(model, q, v).trees[0])
    n, f, x = rng.normal(size=(3, 3))
    z, y, back, dv = np.zeros((4, 6))
    size = _whiten(int(forest._tables[layout.TREES][0]["address"]), q, v, n, f, x, z, y, back, dv)
    assert 0.5 * z @ z == pytest.approx(forest.kinetic_energy(), rel=1e-13)
    np.testing.assert_allclose(back, v, atol=1e-13)
    pose = km.Pose(*_placed(model, q))
    u = pose.rotation @ v[3:] + np.cross(pose.rotation @ v[:3], x - pose.position)
    assert y[::-1] @ z == pytest.approx(n @ pose.rotation @ v[:3] + f @ u, rel=1e-12)
    wrench = np.concatenate([n + np.cross(x - pose.position, f), f])
    expected = km.impulse_response(model, km.Data(model), q, "stone", wrench)
    np.testing.assert_allclose(dv, expected, atol=1e-12 * (1.0 + np.abs(expected).max()))
    assert y @ y <= size
    mass = rows_at(int(header(forest, tree)["free_body"]), 1, FREE_BODY)[0]["mass"]
    np.testing.assert_allclose(y[:3], f[::-1] / np.sqrt(mass), rtol=1e-14)


def _placed(model: km.Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    data = km.Data(model)
    km.kinematics(model, data, q)
    pose = km.pose_of(model, data, "stone")
    return pose.position, pose.rotation


@pytest.mark.lane
def test_who_is_lone() -> None:
    """One link on a free joint in which nothing acts; a body is lone again when it is cut off."""
    rng = np.random.default_rng(1)
    forest = km.Forest()
    for joint in (None, km.Joint.free(armature=0.1), km.Joint.free(damping=0.1), km.Joint.free(stiffness=1.0)):
        forest.add(stone(rng, joint))
    forest.add(stone(rng, km.Joint.spherical()))
    forest.add(stone(rng))
    assert lone(forest) == [True, False, False, False, False, True]
    first, last = (int(forest.members(forest.trees[i])[0]) for i in (0, -1))
    made = forest.connect(first, last, km.Joint.spherical(), (0, 0, 0))
    assert lone(forest) == [False] * 5
    forest.cut(made.joint)
    assert sorted(lone(forest)) == [False] * 4 + [True] * 2
    assert header(forest, forest.tree_of(first))["free_body"]
    assert header(forest, forest.tree_of(last))["free_body"]
    forest.connect(first, last, km.Joint.spherical(), (0, 0, 0), "loop")
    assert header(forest, forest.tree_of(first))["free_body"]
    made = forest.connect(-1, last, km.Joint.revolute("x"), (0, 0, 0), "tree")
    assert not header(forest, forest.tree_of(last))["free_body"]
    forest.reroot(first)
    twin = copy.copy(forest)
    assert lone(twin) == lone(forest)
    assert header(twin, twin.tree_of(first))["free_body"] != header(forest, forest.tree_of(first))["free_body"]


@pytest.mark.lane
def test_the_row_follows_the_links_frame() -> None:
    """A re-root elsewhere on the body moves the link's frame; the body flies on as before."""
    rng = np.random.default_rng(3)
    model, forest = stone(rng), km.Forest()
    body = int(forest.add(model, km.random_configuration(model, rng), rng.normal(size=6)).bodies[0])
    before, energy = bodies(forest), forest.kinetic_energy()
    forest.reroot(body, at=rng.normal(size=3))
    tree = forest.tree_of(body)
    assert header(forest, tree)["free_body"]
    alike(before, bodies(forest))
    assert forest.kinetic_energy() == pytest.approx(energy, rel=1e-12)
    forest.forward_dynamics()
    a = forest.state(tree).a
    assert a is not None
    without(forest)
    forest.forward_dynamics()
    np.testing.assert_allclose(a, forest.state(tree).a, atol=1e-12 * (1.0 + np.abs(a).max()))


def random_forest(rng: Rng) -> km.Forest:
    """Mostly stones, a few chains, and loops between them and to the base."""
    forest = km.Forest(rng.normal(size=3) * 5.0)
    for i in range(9):
        b = km.Builder("plant")
        for k in range(1 if i < 6 else int(rng.integers(2, 4))):
            joint = random_joint(rng, km.JointKind(int(rng.integers(1, 8)))) if k else km.Joint.free()
            b.link(f"l{k}", f"l{k - 1}" if k else None, joint, random_pose(rng, 0.5), random_inertia(rng))
        model = b.build()
        v, tau = rng.normal(size=(2, model.nv))
        forest.add(model, km.random_configuration(model, rng), v, tau)
    return forest


def change(forest: km.Forest, rng: Rng, turn: int) -> np.ndarray:
    """A random edit. Returns what it says of itself."""
    choices = [int(b) for b in forest.bodies] + [-1]
    a, b = (choices[i] for i in rng.permutation(len(choices))[:2])
    joint, at = random_joint(rng, km.JointKind(int(rng.integers(9)))), random_pose(rng, 1.0)
    if turn % 3 == 2:
        names = [int(j) for j in forest.joints]
        made = forest.cut(names[int(rng.integers(len(names)))])
    else:
        made = forest.connect(a, b, joint, at, "loop" if turn % 3 == 0 and len(forest.loops) < 5 else "auto")
    return np.array([*made.impulse, made.energy_lost])


@pytest.mark.parametrize("seed", range(8))
def test_a_forest_is_the_same_without_lone_bodies(seed: int) -> None:
    """Connections, cuts and dynamics of random forests, with the closed forms and without."""
    forest = random_forest(np.random.default_rng(seed))
    twin = copy.deepcopy(forest)
    for turn in range(7):
        without(twin)
        done = [change(f, np.random.default_rng([seed, turn]), turn) for f in (forest, twin)]
        np.testing.assert_allclose(*done, atol=1e-8 * (1.0 + np.abs(done[0]).max()))
        without(twin)
        for f in (forest, twin):
            f.forward_dynamics()
        assert forest.trees.tolist() == twin.trees.tolist()
        fast = 1.0 + max(float(np.abs(forest.twist(b)).max()) for b in forest.bodies)
        alike(bodies(forest), bodies(twin), 1e-8 * fast)
        for t in forest.trees:
            found, expected = forest.state(t), twin.state(t)
            assert found.a is not None
            np.testing.assert_allclose(found.a, expected.a, atol=1e-7 * fast * fast)
        for t in forest.trees:  # go on from the same numbers, so that rounding does not add up
            forest.set_state(int(t), twin.state(t).q, twin.state(t).v)
    assert any(lone(forest))
