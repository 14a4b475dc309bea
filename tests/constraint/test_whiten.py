"""Whitened rows and velocities against dense matrices: y = L⁻ᵀ jᵀ and z = L v, with M = Lᵀ L."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.naive.constrained import random_closed
from tests.strategies import Rng, random_joint, random_pose, random_tree

import kinemorph as km
from kinemorph.constraint.closure import prepare_rows, solve_loop_impulses
from kinemorph.constraint.loops import fill_relative_velocities, orient_rows
from kinemorph.constraint.solve import set_dependence
from kinemorph.constraint.whiten import whiten, whiten_velocity
from kinemorph.jit.api import entry, rows_at
from kinemorph.multibody.algorithms.impulse import articulate, propagate_jumps
from kinemorph.multibody.algorithms.kinematics import move_links
from kinemorph.multibody.layout import TREE
from kinemorph.multibody.loop_layout import SIZES, Integers, lay_out, measure_model, place_system, system_bytes
from kinemorph.multibody.system import F8, I8, ROW, SYSTEM

pytestmark = [pytest.mark.lane, pytest.mark.quick]
KINDS = list(km.JointKind)


@entry
def _whiten(address: int, q: Any, Y: Any, V: Any, Z: Any) -> None:
    """All rows y, spread out, and velocities z, one row each."""
    tree = rows_at(address, 1, TREE)[0]
    articulate(tree, q)
    system = rows_at(tree["system"], 1, SYSTEM)[0]
    orient_rows(system)
    whiten(system)
    rows = rows_at(system["rows"], system["m"], ROW)
    path = rows_at(system["path"], system["path_length"], I8)
    numbers = rows_at(system["Y"], system["Y_length"], F8)
    for j in range(system["m"]):
        for e in range(rows[j]["length"]):
            Y[j, path[rows[j]["path"] + e]] = numbers[rows[j]["y"] + e]
    for i in range(V.shape[0]):
        whiten_velocity(tree, V[i], Z[i])


class White(NamedTuple):
    """Rows y and the matrix L of z = L v, with what they are made of."""

    Y: np.ndarray
    L: np.ndarray
    J: np.ndarray
    M: np.ndarray


def whitened(model: km.Model, q: np.ndarray) -> White:
    data = km.Data(model)
    J, M = km.loop_jacobian(model, data, q), km.crba(model, km.Data(model), q).copy()
    Y, Z = np.zeros((model.m, model.nv)), np.zeros((model.nv, model.nv))
    _whiten(data.address, q, Y, np.eye(model.nv), Z)
    return White(Y, Z.T.copy(), J, M)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_one_vector_a_row_does_everything(kind: km.JointKind, seed: int) -> None:
    rng = np.random.default_rng([seed, int(kind)])
    tree = random_tree(rng, 9, roots=2, armature=0.2)
    model, q, _, _ = random_closed(rng, tree, [kind, km.JointKind.REVOLUTE])
    Y, L, J, M = whitened(model, q)
    v = rng.normal(size=model.nv)
    z = L @ v
    assert 0.5 * z @ z == pytest.approx(0.5 * v @ M @ v, rel=1e-12)  # kinetic energy
    np.testing.assert_allclose(Y @ z, J @ v, atol=1e-11)  # velocities of the rows
    G = J @ np.linalg.solve(M, J.T)
    np.testing.assert_allclose(Y @ Y.T, G, atol=1e-11 * (1.0 + np.abs(G).max()))
    np.testing.assert_allclose(L.T @ L, M, atol=1e-12 * np.abs(M).max())
    np.testing.assert_allclose(L.T @ Y.T, J.T, atol=1e-11 * (1.0 + np.abs(J).max()))
    # an impulse λ at the rows makes z ← z + Yᵀ λ
    impulse = rng.normal(size=model.m)
    np.testing.assert_allclose(L @ (v + np.linalg.solve(M, J.T @ impulse)), z + Y.T @ impulse, atol=1e-10)


def test_the_factor_is_that_of_the_mass_matrix(rng: np.random.Generator) -> None:
    """Up to a rotation within joints of several degrees of freedom; where each has one, to the last digits."""
    for kinds in (KINDS, [km.JointKind.REVOLUTE, km.JointKind.PRISMATIC, km.JointKind.SCREW]):
        model, q, _, _ = random_closed(rng, random_tree(rng, 8, kinds, roots=2), [km.JointKind.SPHERICAL])
        _, L, _, M = whitened(model, q)
        other = km.ltl(model, M)
        turn = L @ np.linalg.inv(other)
        np.testing.assert_allclose(turn @ turn.T, np.eye(model.nv), atol=1e-11)
        if len(kinds) == 3:
            np.testing.assert_allclose(L, other, atol=1e-12 * np.abs(M).max())


def test_a_row_has_numbers_for_the_joints_on_its_two_ways_alone(rng: np.random.Generator) -> None:
    """A chain of 10 on the base and one of 4: a row between the ends of one branch and the other tree."""
    b = km.Builder("two trees")
    for i in range(10):
        parent = None if i == 0 else f"long{i - 1}"
        b.link(f"long{i}", parent, km.Joint.revolute("y"), (0, 0, 0.1), km.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    for i in range(4):
        parent = None if i == 0 else f"short{i - 1}"
        b.link(f"short{i}", parent, km.Joint.revolute("x"), (0.3, 0.2, 0), km.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    b.loop("long6", "short1", km.Joint.revolute("z"))
    b.loop("long2", "long4", km.Joint.spherical())
    model = b.build()
    assert model.sizes[0]["path"] == (7 + 2) + 5
    data = km.Data(model)
    q = rng.normal(size=model.nq)
    Y, *_ = whitened(model, q)
    np.testing.assert_array_equal(np.flatnonzero(np.abs(Y[:5]).max(axis=0)), [0, 1, 2, 3, 4, 5, 6, 10, 11])
    assert not Y[5:, 5:].any()
    assert (data.rows["length"][:5] == 9).all()


# ------------------------------------------------------------------------------------------- trees that are apart


@entry
def _place(
    systems: Any, at: int, trees: Integers, offsets: Integers, nv: int, loops: Any, sizes: Any, dependence: float
) -> None:  # fmt: skip
    system = systems[0]
    count = trees.shape[0]
    place_system(system, at, count, nv, loops, sizes[0], dependence)
    to, starts = rows_at(system["trees"], count, I8), rows_at(system["offsets"], count, I8)
    for t in range(count):
        to[t], starts[t] = trees[t], offsets[t]
    lay_out(system, loops)


@entry
def _strike(systems: Any, trees: Integers, Q: Any, V: Any, steps: Any) -> float:
    """Jumps of velocities that close the loops of a system; entries of trees are rows of Q and V."""
    for t in range(trees.shape[0]):
        tree = rows_at(trees[t], 1, TREE)[0]
        articulate(tree, Q[t])
        move_links(tree, Q[t], V[t])
    system = systems[0]
    set_dependence(system, system["dependence"])
    prepare_rows(system, 0.0)
    largest = fill_relative_velocities(system)
    solve_loop_impulses(system)
    for t in range(trees.shape[0]):
        propagate_jumps(rows_at(trees[t], 1, TREE)[0], steps[t])
    return largest


def apart(rng: Rng) -> tuple[list[km.Model], km.Model]:
    """Three models, and the same links as three trees of one model."""
    parts, whole = [], km.Builder("whole")
    for t, n in enumerate((3, 5, 2)):
        part = km.Builder(f"part {t}")
        for i in range(n):
            joint, at = random_joint(rng, KINDS[rng.integers(1, 9)]), random_pose(rng, 0.3)
            inertia = km.Inertia.box(rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5, 3))
            for b in (part, whole):
                b.link(f"{t}.{i}", None if i == 0 else f"{t}.{(i - 1) // (1 + t)}", joint, at, inertia)
        parts.append(part.build())
    return parts, whole.build()


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_rows_of_their_own_feel_each_other_as_those_of_one_model(seed: int) -> None:
    """A system over several trees, each with its header, against one model that has them all."""
    rng = np.random.default_rng(seed)
    parts, whole = apart(rng)
    loops = [
        km.Loop("0.2", "1.4", random_joint(rng, km.JointKind.REVOLUTE), random_pose(rng, 0.3), random_pose(rng, 0.3)),
        km.Loop("2.1", "0.1", random_joint(rng, km.JointKind.UNIVERSAL), random_pose(rng, 0.3), random_pose(rng, 0.3)),
        km.Loop(None, "1.1", random_joint(rng, km.JointKind.SPHERICAL), random_pose(rng, 0.3)),
        km.Loop("1.3", "1.0", random_joint(rng, km.JointKind.PLANAR), random_pose(rng, 0.3)),
    ]
    model = whole.with_loops(loops)
    rows = model.loop_rows.copy()
    for row, loop in zip(rows, loops, strict=True):
        for link, tree, name in (("a", "tree_a", loop.a), ("b", "tree_b", loop.b)):
            row[tree] = 0 if name is None else int(str(name)[0])
            row[link] = -1 if name is None else parts[row[tree]].link(str(name))
    datas = [km.Data(part) for part in parts]
    trees = np.array([data.address for data in datas])
    offsets = np.cumsum([0, *(part.nv for part in parts)])[:-1]
    sizes, systems = np.zeros(1, SIZES), np.zeros(1, SYSTEM)
    measure_model(trees, rows, sizes)
    memory = np.zeros(system_bytes(sizes[0], 3, model.nv), np.uint8)
    _place(systems, memory.ctypes.data, trees, offsets, model.nv, rows, sizes, model.dependence)
    assert sizes[0]["islands"] == 1

    q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
    width = max(max(part.nq, part.nv) for part in parts)
    Q, V, steps = np.zeros((3, width)), np.zeros((3, width)), np.zeros((3, width))
    for t, (part, at) in enumerate(zip(parts, np.cumsum([0, *(part.nq for part in parts)]), strict=False)):
        Q[t, : part.nq] = q[at : at + part.nq]
        V[t, : part.nv] = v[offsets[t] : offsets[t] + part.nv]
    largest = _strike(systems, trees, Q, V, steps)

    J = km.loop_jacobian(model, km.Data(model), q)
    M = km.crba(model, km.Data(model), q)
    expected = -np.linalg.solve(M, J.T @ np.linalg.lstsq(J @ np.linalg.solve(M, J.T), J @ v, rcond=1e-10)[0])
    found = np.concatenate([steps[t, : part.nv] for t, part in enumerate(parts)])
    assert largest == pytest.approx(np.abs(J @ v).max(), rel=1e-9)
    assert systems[0]["rank"] == np.linalg.matrix_rank(J, 1e-9)
    np.testing.assert_allclose(found, expected, atol=1e-9 * (1.0 + np.abs(expected).max()))
