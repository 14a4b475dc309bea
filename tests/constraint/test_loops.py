"""Loops: what their joints forbid, how that changes, and how far apart the two sides are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.constrained import closed_at, pieces, random_closed
from tests.naive.dynamics import joint_motion
from tests.strategies import random_joint, random_pose, random_tree

import kinemorph as km

pytestmark = [pytest.mark.lane, pytest.mark.quick]
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
    S = joint_motion(model.with_loops([km.Loop(0, 1, joint)]).loop_rows[0], q)[2]
    assert T.shape == (6 - joint.nv, 6)
    np.testing.assert_allclose(T @ T.T, np.eye(len(T)), atol=1e-12)
    np.testing.assert_allclose(T @ S, 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_agrees_with_the_joints_of_the_loops_as_unknowns(kind: km.JointKind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed(rng, random_tree(rng, 8, roots=2), [kind, km.JointKind.REVOLUTE])
    model = closed.model
    J = km.loop_jacobian(model, km.Data(model), closed.q)
    whole = pieces(closed).J
    # what J_C lets through is what some motion of the loop joints makes up for
    nv = model.nv
    S = whole[:, nv:]
    reduced = (np.eye(len(S)) - S @ np.linalg.pinv(S)) @ whole[:, :nv]
    assert np.linalg.matrix_rank(J, 1e-9) == np.linalg.matrix_rank(np.vstack([J, reduced]), 1e-9)
    assert np.linalg.matrix_rank(J, 1e-9) == np.linalg.matrix_rank(reduced, 1e-9)
    np.testing.assert_allclose(J @ closed.v, 0.0, atol=1e-11)


@pytest.mark.parametrize("kind", CONSTRAINING)
@pytest.mark.parametrize("seed", range(3))
def test_errors_vanish_when_closed_and_the_jacobian_is_their_derivative(kind: km.JointKind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, q, _, _ = random_closed(rng, random_tree(rng, 8, roots=2), [kind])
    data = km.Data(model)
    np.testing.assert_allclose(km.loop_errors(model, data, q), 0.0, atol=1e-12)
    v, h = rng.normal(size=model.nv), 1e-5
    ahead, behind = (km.loop_errors(model, data, km.integrate(model, q, v, s)) for s in (h, -h))
    np.testing.assert_allclose(km.loop_jacobian(model, data, q) @ v, (ahead - behind) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("kind", CONSTRAINING)
@pytest.mark.parametrize("seed", range(3))
def test_the_drift_is_the_derivative_of_the_jacobian(kind: km.JointKind, seed: int) -> None:
    """For any v, whether it keeps the loops closed or not."""
    rng = np.random.default_rng(seed)
    model, q, _, _ = random_closed(rng, random_tree(rng, 8, roots=2), [kind])
    data = km.Data(model)
    v, h = rng.normal(size=model.nv), 1e-5
    ahead, behind = (km.loop_jacobian(model, data, km.integrate(model, q, v, s)) @ v for s in (h, -h))
    drift = km.loop_drift(model, data, q, v)
    np.testing.assert_allclose(drift, (ahead - behind) / (2 * h), atol=1e-7 * (1 + np.abs(drift).max()))


def test_a_screw_counts_its_turns() -> None:
    b = km.Builder()
    b.link("nut", None, km.Joint.screw("z", 0.1), inertia=km.Inertia.sphere(1.0, 0.1))
    b.loop(None, "nut", km.Joint.screw("z", 0.1))
    model = b.build()
    np.testing.assert_allclose(km.loop_errors(model, km.Data(model), [40.0]), 0.0, atol=1e-12)


def test_an_axis_that_points_the_wrong_way_is_an_error() -> None:
    b = km.Builder()
    b.link("arm", None, km.Joint.revolute("x"), inertia=km.Inertia.sphere(1.0, 0.1))
    b.loop(None, "arm", km.Joint.revolute("z"))
    model = b.build()
    assert np.abs(km.loop_errors(model, km.Data(model), [np.pi])).max() > 1.0


def test_loops_that_make_no_sense_are_refused(rng: np.random.Generator) -> None:
    model = random_tree(rng, 3)
    revolute = km.Joint.revolute("z")
    for loops, message in (
        ([km.Loop("nobody", 1, revolute)], "no link 'nobody'"),
        ([km.Loop(1, 1, revolute)], "both sides are on link 'link1'"),
        ([km.Loop(None, -1, revolute)], "both sides are on the base"),
        ([km.Loop(0, 7, revolute)], "not 7"),
        ([km.Loop(0, 1, km.Joint.revolute("z", friction=1.0))], "no friction"),
        ([km.Loop(0, 1, km.Joint.revolute("z", armature=1.0))], "no armature"),
        ([km.Loop(0, 1, revolute, name="link0")], "already a joint 'link0'"),
        ([km.Loop(0, 1, revolute, name="x"), km.Loop(0, 2, revolute, name="x")], "already a joint 'x'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.with_loops(loops)
    with pytest.raises(ValueError, match="parallel"):
        km.Joint.universal("x", "x")
    with pytest.raises(TypeError, match="Loop: joint is 'hinge', and must be a Joint"):
        km.Loop(0, 1, "hinge")
    with pytest.raises(TypeError, match=r"must be kinemorph\.Loop objects, not 'hinge'"):
        model.with_loops(["hinge"])
    one, other = (model.with_loops([km.Loop(0, i, revolute)]) for i in (1, 2))
    with pytest.raises(ValueError, match="another model"):
        km.loop_errors(one, km.Data(other), km.neutral(model))


def test_bad_states_are_named(rng: np.random.Generator) -> None:
    tree = random_tree(rng, 4)
    model, q, _, _ = closed_at(rng, tree, km.neutral(tree), [(0, 3, km.Joint.spherical())])
    data = km.Data(model)
    with pytest.raises(ValueError, match="q has shape"):
        km.loop_errors(model, data, [0.0])
    with pytest.raises(ValueError, match=r"v\[0\] is nan"):
        km.loop_drift(model, data, q, np.full(model.nv, np.nan))


def test_a_model_knows_its_loops_by_name_and_as_they_were_written(rng: np.random.Generator) -> None:
    tree = random_tree(rng, 4)
    joint = km.Joint.universal("x", "y", damping=[1.0, 2.0], stiffness=3.0, name="knuckle")
    at_a, at_b = random_pose(rng), random_pose(rng)
    model = tree.with_loops(
        [km.Loop(None, "link2", km.Joint.revolute("z")), km.Loop("link0", "tool", joint, at_a, at_b)]
    )
    assert model.loop_names == ("loop0", "knuckle")
    assert model.loop("knuckle") == 1
    assert (model.m, model.loop_nq, model.loop_nv) == (5 + 4, 3, 3)
    assert "2 loops (1 revolute, 1 universal)" in repr(model)
    with pytest.raises(KeyError, match="no loop 'knee'; it has loop0, knuckle"):
        model.loop("knee")
    first, second = model.loops
    assert (first.a, first.b, first.name) == (None, "link2", "loop0")
    assert (second.a, second.b, second.joint) == ("link0", "link3", joint)
    q = km.random_configuration(model, rng)
    again = tree.with_loops(model.loops)
    np.testing.assert_allclose(
        km.loop_errors(again, km.Data(again), q), km.loop_errors(model, km.Data(model), q), atol=1e-13
    )
    assert model.with_loops([]).loops == ()
    assert tree.loops == ()
