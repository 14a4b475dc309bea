"""Loops: what their joints forbid, how that changes, and how far apart the two sides are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.constrained import closed_at, pieces, random_closed
from tests.naive.dynamics import joint_motion
from tests.strategies import random_joint, random_tree

import kinemorph as km
from kinemorph.constraint.loops import loop_drift, loop_errors, loop_jacobian
from kinemorph.structure.loops import ClosedData, Loop, Mechanism

pytestmark = pytest.mark.lane
KINDS = list(km.JointKind)
CONSTRAINING = [kind for kind in KINDS if kind is not km.JointKind.FREE]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_what_the_joint_forbids(kind: km.JointKind, rng: np.random.Generator) -> None:
    model = random_tree(rng, 2)
    joint = random_joint(rng, kind)
    T = joint.forbidden
    q = np.zeros(joint.nq)
    if kind in (km.JointKind.SPHERICAL, km.JointKind.FREE):
        q[-4] = 1.0
    S = joint_motion(Mechanism(model, [Loop(0, 1, joint)]).rows[0], q)[2]
    assert T.shape == (6 - joint.nv, 6)
    np.testing.assert_allclose(T @ T.T, np.eye(len(T)), atol=1e-12)
    np.testing.assert_allclose(T @ S, 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_agrees_with_the_joints_of_the_loops_as_unknowns(kind: km.JointKind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed(rng, random_tree(rng, 8, roots=2), [kind, km.JointKind.REVOLUTE])
    data = ClosedData(closed.mechanism)
    J = loop_jacobian(closed.mechanism, data, closed.q)
    whole = pieces(closed).J
    # what J_C lets through is what some motion of the loop joints makes up for
    nv = closed.mechanism.model.nv
    S = whole[:, nv:]
    reduced = (np.eye(len(S)) - S @ np.linalg.pinv(S)) @ whole[:, :nv]
    assert np.linalg.matrix_rank(J, 1e-9) == np.linalg.matrix_rank(np.vstack([J, reduced]), 1e-9)
    assert np.linalg.matrix_rank(J, 1e-9) == np.linalg.matrix_rank(reduced, 1e-9)
    np.testing.assert_allclose(J @ closed.v, 0.0, atol=1e-11)


@pytest.mark.parametrize("kind", CONSTRAINING)
@pytest.mark.parametrize("seed", range(3))
def test_errors_vanish_when_closed_and_the_jacobian_is_their_derivative(kind: km.JointKind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed(rng, random_tree(rng, 8, roots=2), [kind])
    mechanism, q = closed.mechanism, closed.q
    data = ClosedData(mechanism)
    np.testing.assert_allclose(loop_errors(mechanism, data, q), 0.0, atol=1e-12)
    v, h = rng.normal(size=mechanism.model.nv), 1e-5
    ahead, behind = (loop_errors(mechanism, data, km.integrate(mechanism.model, q, v, s)) for s in (h, -h))
    np.testing.assert_allclose(loop_jacobian(mechanism, data, q) @ v, (ahead - behind) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("kind", CONSTRAINING)
@pytest.mark.parametrize("seed", range(3))
def test_the_drift_is_the_derivative_of_the_jacobian(kind: km.JointKind, seed: int) -> None:
    """For any v, whether it keeps the loops closed or not."""
    rng = np.random.default_rng(seed)
    mechanism, q, _, _ = random_closed(rng, random_tree(rng, 8, roots=2), [kind])
    data = ClosedData(mechanism)
    v, h = rng.normal(size=mechanism.model.nv), 1e-5
    ahead, behind = (loop_jacobian(mechanism, data, km.integrate(mechanism.model, q, v, s)) @ v for s in (h, -h))
    drift = loop_drift(mechanism, data, q, v)
    np.testing.assert_allclose(drift, (ahead - behind) / (2 * h), atol=1e-7 * (1 + np.abs(drift).max()))


def test_a_screw_counts_its_turns() -> None:
    b = km.Builder()
    b.link("nut", None, km.Joint.screw("z", 0.1), inertia=km.Inertia.sphere(1.0, 0.1))
    mechanism = Mechanism(b.build(), [Loop(-1, "nut", km.Joint.screw("z", 0.1))])
    np.testing.assert_allclose(loop_errors(mechanism, ClosedData(mechanism), [40.0]), 0.0, atol=1e-12)


def test_an_axis_that_points_the_wrong_way_is_an_error() -> None:
    b = km.Builder()
    b.link("arm", None, km.Joint.revolute("x"), inertia=km.Inertia.sphere(1.0, 0.1))
    mechanism = Mechanism(b.build(), [Loop(-1, "arm", km.Joint.revolute("z"))])
    assert np.abs(loop_errors(mechanism, ClosedData(mechanism), [np.pi])).max() > 1.0


def test_loops_that_make_no_sense_are_refused(rng: np.random.Generator) -> None:
    model = random_tree(rng, 3)
    revolute = km.Joint.revolute("z")
    for loops, message in (
        ([Loop("nobody", 1, revolute)], "no link 'nobody'"),
        ([Loop(1, 1, revolute)], "both sides are on link 'link1'"),
        ([Loop(None, -1, revolute)], "both sides are on the base"),
        ([Loop(0, 7, revolute)], "not 7"),
        ([Loop(0, 1, km.Joint.revolute("z", damping=1.0))], "no damping"),
        ([Loop(0, 1, revolute, name="link0")], "already a joint 'link0'"),
        ([Loop(0, 1, km.Joint.universal("x", "x"))], "parallel"),
    ):
        with pytest.raises(ValueError, match=message):
            Mechanism(model, loops)
    one, other = Mechanism(model, [Loop(0, 1, revolute)]), Mechanism(model, [Loop(0, 2, revolute)])
    with pytest.raises(ValueError, match="another mechanism"):
        loop_errors(one, ClosedData(other), km.neutral(model))


def test_bad_states_are_named(rng: np.random.Generator) -> None:
    closed = closed_at(rng, model := random_tree(rng, 4), km.neutral(model), [(0, 3, km.Joint.spherical())])
    data = ClosedData(closed.mechanism)
    with pytest.raises(ValueError, match="q has shape"):
        loop_errors(closed.mechanism, data, [0.0])
    with pytest.raises(ValueError, match=r"v\[0\] is nan"):
        loop_drift(closed.mechanism, data, closed.q, np.full(model.nv, np.nan))
