"""Batches: the same numbers as one state at a time, whatever the batch size and the number of workers."""

from typing import Any

import numpy as np
import pytest
from tests.robots import EMPTY, ROBOTS, load
from tests.strategies import random_pose, random_tree

import kinemorph as km
from kinemorph.jit.api import entry, rows_at
from kinemorph.motion.parallel.batch import LANE_COUNT, TREE_LANES, Workspace
from kinemorph.multibody.algorithms.impulse import apply_point_impulse, articulate, collision_matrix_at
from kinemorph.multibody.algorithms.jacobian import world_point
from kinemorph.multibody.algorithms.kinematics import accelerate_links
from kinemorph.scenes.commands.known_tree import every_joint
from kinemorph.spatial.rows import store6


def states(model: km.Model, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Q = np.stack([km.random_configuration(model, rng) for _ in range(n)]) if n else np.zeros((0, model.nq))
    return Q, rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv))


def close(x: np.ndarray, y: np.ndarray) -> None:
    """The promise: not only within 1e-12, but the same bits."""
    np.testing.assert_array_equal(x, y)


def agree(model: km.Model, n: int) -> None:
    Q, V, U = states(model, n)
    data = km.Data(model)
    close(km.batch.rnea(model, Q, V, U), np.array([km.rnea(model, data, *s) for s in zip(Q, V, U, strict=True)]))
    close(km.batch.crba(model, Q), np.array([km.crba(model, data, q).copy() for q in Q]))
    try:
        expected = np.array([km.aba(model, data, *s) for s in zip(Q, V, U, strict=True)])
    except ArithmeticError:  # joints that move no mass
        with pytest.raises(ArithmeticError, match="not finite"):
            km.batch.aba(model, Q, V, U)
    else:
        smallest = min(np.linalg.eigvalsh(km.crba(model, data, q))[0] for q in Q)
        if smallest > 1e-12:  # else the robot's file describes a singular mass matrix
            close(km.batch.aba(model, Q, V, U), expected)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", [n for n in ROBOTS if n != EMPTY])
def test_every_robot_gives_what_single_states_give(name: str, floating: bool) -> None:
    model = load(name, floating)
    if model.nv:
        agree(model, 5)


@pytest.mark.parametrize("size", [1, 2, 7, 30, 100])
def test_random_trees_with_all_joint_kinds(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(3):
        model = random_tree(rng, size)
        if model.nv:
            agree(model, 6)


@pytest.mark.parametrize("n", range(1, 18))
def test_any_batch_size(n: int) -> None:
    agree(every_joint(), n)


def test_an_empty_batch_gives_an_empty_result() -> None:
    model = every_joint()
    assert km.batch.aba(model, *states(model, 0)).shape == (0, model.nv)


@pytest.mark.lane
def test_a_few_states_of_every_joint() -> None:
    model = every_joint()
    Q, V, U = states(model, 3)
    data = km.Data(model)
    close(km.batch.aba(model, Q, V, U), np.array([km.aba(model, data, *s) for s in zip(Q, V, U, strict=True)]))


def test_the_number_of_workers_does_not_change_a_bit() -> None:
    model = every_joint()
    Q, V, U = states(model, 131)
    first = km.batch.aba(model, Q, V, U, workers=1)
    for workers in (2, 3, 8):
        assert np.array_equal(first, km.batch.aba(model, Q, V, U, workers=workers))
    one_by_one = np.concatenate([km.batch.aba(model, Q[i : i + 1], V[i : i + 1], U[i : i + 1]) for i in range(131)])
    assert np.array_equal(first, one_by_one)


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_rollouts_follow_single_rollouts(method: str) -> None:
    model = every_joint().with_dofs(damping=0.1, stiffness=0.5)
    Q, V, U = states(model, 7)
    V *= 0.3
    path = km.batch.rollout(model, Q, V, U, dt=1e-3, steps=40, every=8, method=method)
    data = km.Data(model)
    for i in range(7):
        single = km.rollout(model, data, Q[i], V[i], U[i], dt=1e-3, steps=40, every=8, method=method)
        close(path.q[i], single.q)
        close(path.v[i], single.v)
    assert np.array_equal(path.t, single.t)
    q, v = km.batch.step(model, Q, V, U, dt=1e-3, steps=40, method=method)
    assert np.array_equal(q, path.q[:, -1])
    assert np.array_equal(v, path.v[:, -1])


def test_forces_for_every_step() -> None:
    model = every_joint()
    Q, V, _ = states(model, 5)
    U = np.random.default_rng(3).normal(size=(5, 6, model.nv))
    path = km.batch.rollout(model, Q, V, U, dt=1e-3, steps=6)
    q, v = Q, V
    for i in range(6):
        q, v = km.batch.step(model, q, v, U[:, i], dt=1e-3)
    close(path.q[:, -1], q)
    close(path.v[:, -1], v)


@entry
def _lane_kernels(handle: int, q: Any, v: Any, a: Any, joints: Any, dv: Any, K: Any) -> None:
    tree = rows_at(handle, 1, TREE_LANES)[0]
    accelerate_links(tree, q, v, a)
    articulate(tree, q)
    x = world_point(tree, tree["n"] - 1, (0.1, 0.2, 0.3))
    store6(K, collision_matrix_at(tree, tree["n"] - 1, x))
    apply_point_impulse(tree, tree["n"] - 1, x, (0.3, 0.2, 0.1), (1.0, -2.0, 0.5), joints, dv)


def test_kinematics_and_impulse_response_run_on_lanes() -> None:
    model = every_joint()
    Q, V, U = states(model, LANE_COUNT)
    space, data = Workspace(model), km.Data(model)
    dv, K = np.zeros((model.nv, LANE_COUNT)), np.zeros((6, LANE_COUNT))
    _lane_kernels(space.address, *(np.ascontiguousarray(x.T) for x in (Q, V, U, U)), dv, K)
    last = model.n - 1
    for i in range(LANE_COUNT):
        impulse = (0.3, 0.2, 0.1, 1.0, -2.0, 0.5)
        close(dv[:, i], km.impulse_response(model, data, Q[i], last, impulse, (0.1, 0.2, 0.3), U[i]))
        single = km.collision_matrix(model, data, Q[i], last, (0.1, 0.2, 0.3))
        close(K[:, i], single[np.triu_indices(3)])


def test_results_can_go_to_a_given_array() -> None:
    model = every_joint()
    Q, V, U = states(model, 9)
    out = np.empty((9, model.nv))
    assert km.batch.aba(model, Q, V, U, out=out) is out
    with pytest.raises(ValueError, match="writable, contiguous float64"):
        km.batch.aba(model, Q, V, U, out=np.empty((8, model.nv)))


def test_errors_name_the_state() -> None:
    model = every_joint()
    Q, V, U = states(model, 9)
    V[6, 4] = np.nan
    with pytest.raises(ValueError, match=r"V\[6, 4\] is nan"):
        km.batch.aba(model, Q, V, U)
    with pytest.raises(ValueError, match=r"V has shape \(8, 19\), expected \(9, 19\)"):
        km.batch.aba(model, Q, V[:8], U)
    with pytest.raises(ValueError, match="workers 0"):
        km.batch.crba(model, Q, workers=0)
    with pytest.raises(ValueError, match="TAU has shape"):
        km.batch.rollout(model, Q, U, U[:, :3], steps=4)
    with pytest.raises(ValueError, match="method"):
        km.batch.rollout(model, Q, U, steps=4, method="rk5")


def test_inputs_stay_as_they_are() -> None:
    model = every_joint()
    Q, V, U = states(model, 5)
    before = Q.copy(), V.copy(), U.copy()
    km.batch.rollout(model, Q, V, U, steps=3)
    km.batch.aba(model, Q.tolist(), V.astype(np.float32), U)
    assert all(np.array_equal(x, y) for x, y in zip((Q, V, U), before, strict=True))


def geared(rng: np.random.Generator) -> km.Model:
    """A tree in which some joints follow others, in a row, some of them a joint that follows as well."""
    n, free = int(rng.integers(4, 8)), rng.random() < 0.5
    b = km.Builder("hand")
    for i in range(n):
        axis = rng.normal(size=3)
        joint = km.Joint.free() if i == 0 and free else km.Joint.revolute(axis, name=f"joint {i}", damping=0.1)
        if i and rng.random() < 0.3:
            joint = km.Joint.prismatic(axis, name=f"joint {i}", stiffness=5.0)
        above = f"link {rng.integers(i)}" if i else None
        b.link(f"link {i}", above, joint, random_pose(rng), km.Inertia.box(1.0, (0.1, 0.2, 0.3), rng.normal(size=3)))
    followers = rng.permutation(np.arange(2, n))[: rng.integers(1, n - 1)]
    for k in sorted(followers.tolist()):
        source = int(rng.integers(1, k))
        b.mimic(f"joint {k}", f"joint {source}", float(rng.normal()), float(rng.normal()))
    return b.build()


@pytest.mark.parametrize("seed", range(4))
def test_gears_are_honoured_to_the_last_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, batch = geared(rng), int(rng.integers(1, 11))
    starts = [km.follow(model, km.random_configuration(model, rng), rng.normal(size=model.nv)) for _ in range(batch)]
    Q, V = (np.array([start[i] for start in starts]) for i in range(2))
    TAU = rng.normal(size=(batch, model.nv))
    for method in ("rk4", "euler"):
        q, v = km.batch.step(model, Q, V, TAU, dt=2e-3, steps=20, method=method, workers=1 + seed % 2)
        for k in range(batch):
            one = km.step(model, km.Data(model), Q[k], V[k], TAU[k], 2e-3, steps=20, method=method)
            np.testing.assert_array_equal(q[k], one[0])
            np.testing.assert_array_equal(v[k], one[1])
        for m in model.mimics:
            wanted = m.multiplier * q[:, model.q_slice(m.source)] + m.offset
            np.testing.assert_allclose(q[:, model.q_slice(m.joint)], wanted, atol=1e-9)
