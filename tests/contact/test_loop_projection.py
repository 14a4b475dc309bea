"""Rows of trees that loops tie, and rows of force elements: against J P Jᵀ, P the inverse mass that loops leave."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from tests import random_worlds
from tests.contact.filled_world import FilledWorld, eased
from tests.contact.random_scenes import inertia
from tests.contact.reach import SAME_TREE, DofConstraintKind, rows_at

import kinemorph as km

pytestmark = [pytest.mark.lane, pytest.mark.quick]
KINDS = (km.Joint.revolute, km.Joint.spherical, km.Joint.prismatic, km.Joint.fixed, km.Joint.cylindrical)
CASES = [(bodies, loops, seed) for bodies, loops in ((3, 1), (5, 2), (7, 3)) for seed in range(4)]


def mechanism(bodies: int, loops: int, seed: int, held: bool, redundant: bool = False, groups: int = 1) -> km.World:
    """Bodies in a heap, joined to one tree or several and then by loops between two of one; on ground."""
    rng = np.random.default_rng(seed)
    world = km.World(dt=2e-3, sleep=False)
    world.add_ground(material=km.Material(0.6, torsional=0.01, rolling=0.01, directions=6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = []
        for _ in range(bodies):
            shape = km.Shape.box(rng.uniform(0.05, 0.3, 3))
            at = km.Pose(rng.uniform((-0.3, -0.3, 0.0), (0.3, 0.3, 0.1)), random_worlds.random_pose(rng, 1.0).rotation)
            parts.append(world.add(shape, at, mass=inertia(rng, shape, 1.0).mass, twist=0.02 * rng.normal(size=6)))
        for i in range(groups, bodies):
            kind = (km.Joint.revolute, km.Joint.spherical)[int(rng.integers(2))]
            extra = {"friction": 0.1, "lower": -1e-3, "upper": 0.5} if kind is km.Joint.revolute else {}
            world.connect(
                parts[i - groups * int(rng.integers(1, i // groups + 1))],
                parts[i],
                joint(rng, kind, **extra),
                random_worlds.random_pose(rng, 0.2),
            )
        if held:
            world.connect(None, parts[0], joint(rng, km.Joint.revolute), random_worlds.random_pose(rng, 0.2))
        for _ in range(loops):
            a, b = rng.choice(range(int(rng.integers(groups)), bodies, groups), 2, replace=False)
            kind = KINDS[int(rng.integers(len(KINDS)))]
            at = random_worlds.random_pose(rng, 0.2)
            for _ in range(2 if redundant else 1):  # the same joint twice: half of what it forbids is said already
                world.connect(parts[a], parts[b], joint(rng, kind) if not redundant else kind(), at, "loop")
        if not held and bodies > 3:  # something beside it, which touches it
            world.add(km.Shape.sphere(0.2), (0.1, 0.0, 0.05), mass=1.0)
    return world


def joint(rng: np.random.Generator, kind: object, **extra: float) -> km.Joint:
    axis = rng.normal(size=3)
    return kind(**extra) if kind in (km.Joint.spherical, km.Joint.fixed) else kind(axis, **extra)  # type: ignore


def projected(found: FilledWorld) -> tuple[np.ndarray, int]:
    """The inverse mass that loops leave, and how many independent directions they forbid."""
    C = found.loop_jacobian()
    A = C @ found.inverse @ C.T
    w, Q = np.linalg.eigh(A)
    good = w > 1e-10 * w.max()
    half = (Q[:, good] / np.sqrt(w[good])).T @ C @ found.inverse
    return found.inverse - half.T @ half, int(good.sum())


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("bodies", "loops", "seed"), CASES)
def test_rows_are_those_of_the_closed_mechanism(
    bodies: int, loops: int, seed: int, held: bool, redundant: bool
) -> None:
    found = FilledWorld(mechanism(bodies, loops, seed, held, redundant))
    P, rank = projected(found)
    assert sum(int(h["rank"]) for h in found.holds) == rank > 0
    for h in found.holds:
        n, r = int(h["nz"]), int(h["rank"])
        Q = rows_at(int(h["Q"]), r * n, np.dtype(np.float64)).reshape(r, n)
        np.testing.assert_allclose(Q @ Q.T, np.eye(r), atol=1e-9)
    basis = np.zeros((0, found.nz))
    for h in found.holds:
        n, r, o = int(h["nz"]), int(h["rank"]), int(h["offset"])
        Q = np.zeros((r, found.nz))
        Q[:, o : o + n] = rows_at(int(h["Q"]), r * n, np.dtype(np.float64)).reshape(r, n)
        basis = np.concatenate([basis, Q])
    rows, jacobians = [np.zeros((0, found.nz))], [np.zeros((0, found.nv))]
    for t in found.touches:
        y = found.rows_of(t, int(t["y"]), 3)
        if y[0].any() and y[1:].any():
            rows.append(y)
            jacobians.append(found.contact_jacobian(t)[0])
    for r in found.twists:
        t = found.touches[r["contact_constraint"]]
        rows.append(found.rows_of(t, int(r["y"]), 3))
        jacobians.append(found.contact_jacobian(t)[1])
    for b in found.bounds:
        if b["kind"] != DofConstraintKind.FAST and b["effective_mass"] > 0.0:
            rows.append(found.bound_row(b)[None])
            jacobians.append(found.bound_jacobian(b)[None])
    Y, J = np.concatenate(rows), np.concatenate(jacobians)
    assert len(Y) > 0
    whole = np.sqrt(np.diag(J @ found.inverse @ J.T))
    np.testing.assert_allclose((Y / whole[:, None]) @ basis.T, 0.0, atol=1e-9)
    np.testing.assert_allclose(Y @ Y.T / np.outer(whole, whole), J @ P @ J.T / np.outer(whole, whole), atol=1e-8)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("bodies", "loops", "seed"), [case for case in CASES if case[0] > 3])
def test_what_loops_bear_of_a_row_is_kept_behind_it(bodies: int, loops: int, seed: int, groups: int) -> None:
    """The square of a row and of what was taken out of it is that of the row without loops."""
    found = FilledWorld(mechanism(bodies, 2 * loops, seed, False, groups=groups))
    assert len(found.holds) == groups
    seen = 0
    for t in found.touches:
        y = found.rows_of(t, int(t["y"]), 3)
        J = found.contact_jacobian(t)[0]
        before = np.diag(J @ found.inverse @ J.T)
        holds = [int(found.solver["slices"]["projection"][k]) if k >= 0 else -1 for k in (t["tree1"], t["tree2"])]
        ranks = [int(found.holds[h]["rank"]) if h >= 0 else 0 for h in holds]
        count = sum(ranks) if holds[0] != holds[1] else ranks[1]
        if count == 0 or not y[1:].any() or not y[0].any():
            continue
        at = int(t["y"]) + 3 * int(t["length1"] + t["length2"])
        kept = found.Y[at : at + 3 * count].reshape(3, count)
        np.testing.assert_allclose((y**2).sum(axis=1) + (kept**2).sum(axis=1), before, rtol=1e-9)
        seen += 1
        gap = eased(found, t, J @ found.inverse @ J.T)[1]
        if gap <= 0.0:  # what the loops hardly let be pushed apart is pushed so much more gently
            gap *= min(1.0, math.sqrt((y[0] ** 2).sum() / before[0]) / 0.1)
        assert t["initial_separation"] == pytest.approx(gap, rel=1e-6, abs=1e-15)
    assert seen > 0


def test_a_contact_along_which_loops_let_nothing_move_is_left_out() -> None:
    """Three boxes, of which hinges and loops make one rigid body, and the first and the last overlap."""
    world = km.World(sleep=False, gravity=(0.0, 0.0, 0.0))
    places = (0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.0, 0.0, 0.199)
    boxes = [world.add(km.Shape.box((0.2, 0.2, 0.2)), at) for at in places]
    for a, b in ((0, 1), (1, 2)):
        world.connect(boxes[a], boxes[b], km.Joint.revolute("x"))
        world.connect(boxes[a], boxes[b], km.Joint.fixed(), None, "loop")
    found = FilledWorld(world)
    assert len(found.touches) > 0
    for t in found.touches:
        assert t["tree1"] == SAME_TREE
        assert found.contacts[t["contact"]]["distance"] == pytest.approx(-1e-3, abs=1e-9)
        assert not found.rows_of(t, int(t["y"]), 3).any()
        assert t["initial_separation"] >= 1.0  # m, out of reach
        assert t["effective_mass"] == t["total_normal_impulse"] == t["friction"] == 0.0


# ----------------------------------------------------------------------------------------------------- force elements


def tied(seed: int) -> tuple[km.World, list[tuple[km.Body, km.Body | None, np.ndarray, np.ndarray, float, float]]]:
    """Bodies and an arm with springs and dampers between them, in the air."""
    rng = np.random.default_rng(seed)
    world = km.World(sleep=False)
    bodies = []
    for i in range(4):
        shape = km.Shape.box(rng.uniform(0.1, 0.2, 3))
        at = km.Pose((0.6 * i, 0.0, 3.0), random_worlds.random_pose(rng, 1.0).rotation)
        bodies.append(world.add(shape, at, mass=float(10.0 ** rng.uniform(-1, 1)), twist=0.3 * rng.normal(size=6)))
    world.connect(bodies[0], bodies[1], km.Joint.revolute(rng.normal(size=3)), (0.3, 0.0, 3.0))
    told = []
    for a, b in ((0, 2), (1, 3), (2, None), (3, 0), (0, 1)):
        stiffness, damping = float(10.0 ** rng.uniform(1, 6)), float(10.0 ** rng.uniform(-1, 2))
        at_a, at_b = 0.1 * rng.normal(size=3), 0.1 * rng.normal(size=3)
        spring = km.ForceElement.spring("a", "b", stiffness, 0.4, at_a=at_a, at_b=at_b, damping=damping)
        other = None if b is None else bodies[b]
        world.structure.tie(spring, bodies[a], other)
        told.append((bodies[a], other, at_a, at_b, stiffness, damping))
    return world, told


@pytest.mark.parametrize("seed", range(6))
def test_force_elements_are_rows_that_answer_each_other(seed: int) -> None:
    world, told = tied(seed)
    ends = []
    for a, b, at_a, at_b, *_ in told:
        ends.append((a.pose.apply(at_a), at_b if b is None else b.pose.apply(at_b)))
    found = FilledWorld(world)
    assert len(found.pulls) == len(told)
    Y = np.array([found.rows_of(p, int(p["y"]), 1)[0] for p in found.pulls])
    J = []
    for (a, b, *_), (xa, xb) in zip(told, ends, strict=True):
        along = (xb - xa) / np.linalg.norm(xb - xa)
        side_a = found.side(int(a) & 0xFFFFFFFF)
        side_b = found.side(-1 if b is None else int(b) & 0xFFFFFFFF)
        J.append(along @ (found.jacobian(side_b, xb) - found.jacobian(side_a, xa))[3:])
    J = np.array(J)
    np.testing.assert_allclose(Y @ Y.T, J @ found.inverse @ J.T, rtol=1e-9, atol=1e-12)
    v = Y @ found.solver["z"][: found.nz]  # at the end of the step
    for row, y, speed, (xa, xb), (*_, k, c) in zip(found.pulls, Y, v, ends, told, strict=True):
        size, dt = float(y @ y), world.dt
        assert row["size"] == pytest.approx(size, rel=1e-9)
        assert row["force"] == pytest.approx(-k * (np.linalg.norm(xb - xa) - 0.4), rel=1e-9)
        turns = dt * dt * k * size
        share = 0.5 if turns <= 1.0 else 1.0 - 0.5 / turns  # half a step on, or the end of it
        assert row["velocity_gain"] == pytest.approx(dt * (c + share * dt * k), rel=1e-9)
        expected = dt * row["force"] - row["velocity_gain"] * speed
        assert row["p"] == pytest.approx(expected, rel=1e-6, abs=1e-7 * abs(dt * row["force"]))


@pytest.mark.parametrize("seed", range(3))
def test_elements_add_what_m_inverse_says(seed: int) -> None:
    """Velocities at the end are those without elements, and M⁻¹ Jᵀ p of all of them."""
    with_elements = FilledWorld(tied(seed)[0])
    p = with_elements.pulls["p"]
    Y = np.array([with_elements.rows_of(r, int(r["y"]), 1)[0] for r in with_elements.pulls])
    z = with_elements.solver["z"][: with_elements.nz]
    weak, told = tied(seed)
    for row in weak.forest._elements:
        row["stiffness"], row["damping"] = 0.0, 0.0
    without = FilledWorld(weak)
    np.testing.assert_allclose(z - without.solver["z"][: without.nz], p @ Y, rtol=1e-8, atol=1e-10)
    assert len(told) == len(p)


def test_same_tree_marks_contacts_between_links() -> None:
    found = FilledWorld(mechanism(5, 2, 1, True))
    same = [t for t in found.touches if t["tree1"] == SAME_TREE]
    assert same
    assert all(t["length1"] == 0 for t in same)
