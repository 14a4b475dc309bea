"""Rows of contacts, limits, dry friction, speeds, drives and moments: their products are those of J M⁻¹ Jᵀ."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests import random_worlds
from tests.contact.filled_world import FilledWorld, eased
from tests.contact.random_scenes import inertia, scene
from tests.contact.reach import SAME_TREE, DofConstraintKind

import kinemorph as km

pytestmark = [pytest.mark.lane, pytest.mark.quick]
FAMILIES = {
    "free bodies": {"bodies": 8, "figures": 0, "held": 0, "decades": 2.0},
    "floating figures": {"bodies": 2, "figures": 3, "held": 0},
    "held figures": {"bodies": 2, "figures": 0, "held": 3},
    "joined bodies": {"bodies": 7, "figures": 0, "held": 0, "joined": True},
    "all": {"bodies": 4, "figures": 2, "held": 2, "decades": 2.0},
}
CASES = [(name, seed) for name in FAMILIES for seed in range(4)]
LIMITS = DofConstraintKind.LOWER, DofConstraintKind.UPPER


def filled(name: str, seed: int) -> FilledWorld:
    return FilledWorld(scene(seed, **FAMILIES[name]))


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_products_of_all_rows(name: str, seed: int) -> None:
    """Each with each: contacts, moments and bounds of all trees."""
    found = filled(name, seed)
    rows, jacobians = [], []
    for t in found.touches:
        y = found.rows_of(t, int(t["y"]), 3)
        if y.any():
            rows.append(y)
            jacobians.append(found.contact_jacobian(t)[0])
    assert rows, "nothing touches"
    assert name != "joined bodies" or (found.touches["tree1"] == SAME_TREE).any()
    for r in found.twists:
        t = found.touches[r["contact_constraint"]]
        rows.append(found.rows_of(t, int(r["y"]), 3))
        jacobians.append(found.contact_jacobian(t)[1])
    for b in found.bounds:
        link = found.trees[int(b["tree"])].model.links
        kind = link["kind"][found.trees[int(b["tree"])].model.dofs["link"][b["dof"]]]
        mixed = b["kind"] in LIMITS and kind == km.JointKind.SPHERICAL
        if not mixed and b["kind"] != DofConstraintKind.FAST:  # whose sign is that of the speed to come
            rows.append(found.bound_row(b)[None])
            jacobians.append(found.bound_jacobian(b)[None])
    Y, J = np.concatenate(rows), np.concatenate(jacobians)
    expected = J @ found.inverse @ J.T
    size = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(Y @ Y.T, expected, rtol=1e-9, atol=1e-9 * np.outer(size, size).max())
    assert (np.abs(Y @ Y.T - expected) <= 1e-7 * np.outer(size, size) + 1e-12).all()


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_what_contacts_feel(name: str, seed: int) -> None:
    """Frames, gaps, and the numbers that an iteration uses instead of the rows."""
    found = filled(name, seed)
    for t in found.touches:
        contact = found.contacts[t["contact"]]
        axes = np.array([t["normal"], t["tangent1"], t["tangent2"]])
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        np.testing.assert_array_equal(t["normal"], contact["normal"])
        A = found.rows_of(t, int(t["y"]), 3)
        A = A @ A.T
        if A[0, 0] == 0.0:
            continue
        assert t["normal_coupling1"] == pytest.approx(A[0, 1], rel=1e-9, abs=1e-9 * A[0, 0])
        assert t["normal_coupling2"] == pytest.approx(A[0, 2], rel=1e-9, abs=1e-9 * A[0, 0])
        B = np.array([[t["tangent_mass11"], t["tangent_mass12"]], [t["tangent_mass12"], t["tangent_mass22"]]])
        if np.linalg.cond(A[1:, 1:]) < 1e8:
            np.testing.assert_allclose(B @ A[1:, 1:], np.eye(2), atol=1e-6)
        assert t["least_tangent_mass"] == pytest.approx(1.0 / np.linalg.eigvalsh(A[1:, 1:])[-1], rel=1e-9)
        a, b = found.sides(t)
        same = a.tree == b.tree
        assert t["tree2"] == b.tree
        assert t["tree1"] == (SAME_TREE if same else a.tree)
        inverse, gap = eased(found, t, A)
        assert t["effective_mass"] == pytest.approx(inverse, rel=1e-9)
        assert t["initial_separation"] == pytest.approx(gap, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("tilt", "stuck"), [(1e-2, False), (1e-4, True)])
def test_nothing_is_pushed_through_what_holds_it(tilt: float, stuck: bool) -> None:
    """The tip of a bar on a hinge, 20 mm deep in a wall that faces the hinge but for a small angle."""
    builder = km.Builder("bar")
    bar = km.Shape.sphere(0.1, km.Pose((1.0, 0.0, 0.0)))
    builder.link("bar", None, km.Joint.revolute("z"), inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.1)), shapes=[bar])
    world = km.World(sleep=False, gravity=(0.0, 0.0, 0.0))
    turn = km.Pose.turn((0.0, 0.0, 1.0), tilt).rotation
    world.add_ground(km.Shape.box((1.0, 4.0, 4.0), km.Pose((1.58, 0.0, 0.0), turn)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world.add(builder.build())
    found = FilledWorld(world)
    (t,) = found.touches
    A = found.rows_of(t, int(t["y"]), 3)
    inverse, gap = eased(found, t, A @ A.T)
    assert found.contacts["distance"] == pytest.approx(-0.02, abs=1e-3)
    assert (t["effective_mass"], t["initial_separation"]) == pytest.approx((inverse, gap), rel=1e-6)
    assert gap > -1e-3
    assert bool(inverse == 0.0) is stuck


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_materials_of_contacts(name: str, seed: int) -> None:
    found = filled(name, seed)
    materials = found.solver["materials"]
    twisted = {int(r["contact_constraint"]): r for r in found.twists}
    for i, t in enumerate(found.touches):
        pair = found.pairs[found.contacts[t["contact"]]["pair"]]
        one, other = materials[pair["a"]], materials[pair["b"]]
        rule = dict.fromkeys(("restitution", "rolling", "torsion"), max)
        rule["friction"] = lambda x, y: math.sqrt(x * y)
        expected = {key: rule[key](one[key], other[key]) for key in rule}
        if one["priority"] != other["priority"]:
            first = one if one["priority"] > other["priority"] else other
            expected = {key: first[key] for key in rule}
        R = [found.places["R"][pair[side]].reshape(3, 3) for side in "ab"]
        slip = R[1] @ other["surface"] - R[0] @ one["surface"]  # at priority or not: each surface moves by itself
        assert (t["surface_velocity1"], t["surface_velocity2"]) == pytest.approx(
            (t["tangent1"] @ slip, t["tangent2"] @ slip), abs=1e-12
        )
        y = found.rows_of(t, int(t["y"]), 1)
        if y.any():
            assert t["friction"] == pytest.approx(expected["friction"])
            assert t["restitution"] == expected["restitution"]
        if expected["rolling"] == expected["torsion"] == 0.0:
            assert i not in twisted
        else:
            assert twisted[i]["torsion"] == expected["torsion"]
            assert twisted[i]["rolling"] == expected["rolling"]
            assert twisted[i]["axes"] == (expected["torsion"] > 0.0) + 2 * (expected["rolling"] > 0.0)


@pytest.mark.parametrize(("name", "seed"), [case for case in CASES if case[0] != "free bodies"])
def test_limits_speeds_and_dry_friction_have_their_rows(name: str, seed: int) -> None:
    """All that may be reached within two steps, and no others."""
    found = filled(name, seed)
    rows = {(int(b["tree"]), int(b["dof"]), int(b["kind"])): b for b in found.bounds}
    expected: set[tuple[int, int, int]] = set()
    for t, tree in found.trees.items():
        for k, dof in enumerate(tree.model.dofs):
            link = tree.model.links[dof["link"]]
            if link["kind"] in (7, 8):
                continue
            q, v = tree.q[link["iq"] + k - link["iv"]], tree.v[k]
            near = 0.01 + 2.0 * found.world.dt * abs(v)
            for what, gap in ((DofConstraintKind.LOWER, q - dof["lower"]), (DofConstraintKind.UPPER, dof["upper"] - q)):
                if gap < near:
                    expected.add((t, k, what))
                    assert rows[t, k, what]["initial_separation"] == pytest.approx(gap, abs=1e-12)
            if dof["friction"] > 0.0:
                expected.add((t, k, DofConstraintKind.DRY))
                assert rows[t, k, DofConstraintKind.DRY]["largest_force"] == dof["friction"]
            fast = (t, k, DofConstraintKind.FAST)
            if fast in rows:
                assert np.isfinite(dof["velocity_limit"])
                assert rows[fast]["target"] == dof["velocity_limit"]
                expected.add(fast)
            elif np.isfinite(dof["velocity_limit"]):
                assert abs(v) < 0.5 * dof["velocity_limit"]
    assert expected == {key for key in rows if key[2] != DofConstraintKind.DRIVEN}
    for b in found.bounds:
        y = found.bound_row(b)
        assert b["effective_mass"] == pytest.approx(1.0 / (y @ y), rel=1e-9)


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_largest_speed_works_against_the_speed(speed: float) -> None:
    """A flywheel of 2 kg m² that turns faster than it may: one row, as the speed is, and it is slowed down at once."""
    world = km.World(sleep=False)
    builder = km.Builder("wheel")
    wheel = km.Inertia(1.0, (0.0, 0.0, 0.0), np.diag([1.0, 1.0, 2.0]))
    builder.link("wheel", None, km.Joint.revolute("z", velocity_limit=0.25), inertia=wheel)
    figure = world.add(builder.build(), v=[speed])
    found = FilledWorld(world)
    (row,) = found.bounds
    assert row["kind"] == DofConstraintKind.FAST
    assert found.bound_row(row)[0] == pytest.approx(-np.sign(speed) / math.sqrt(2.0))
    assert row["total_impulse"] == pytest.approx(2.0 * 0.75)
    assert world.forest.velocity(figure.joint("wheel")) == pytest.approx([0.25 * np.sign(speed)])


@pytest.mark.parametrize("seed", range(6))
def test_limits_of_a_ball_joint_are_those_of_its_rotation_vector(seed: int) -> None:
    """A row's velocity is the rate of one number of the rotation vector: by differences, and M of the link alone."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=3)
    phi *= (0.1, 1.0, 2.0)[seed % 3] / np.linalg.norm(phi)
    builder = km.Builder("ball")
    joint = km.Joint(km.JointKind.SPHERICAL, lower=list(phi - 1e-3), upper=list(phi + 2e-3))
    shape = km.Shape.box((0.2, 0.3, 0.4), km.Pose((0.1, 0.2, 0.3)))
    builder.link("ball", None, joint, inertia=inertia(rng, shape, 0.3))
    world = km.World(sleep=False)
    w, x, y, z = np.roll(Rotation.from_rotvec(phi).as_quat(), 1)
    world.add(builder.build(), q=[w, x, y, z])
    found = FilledWorld(world)
    tree = next(iter(found.trees.values()))
    J = np.zeros((3, 3))
    for k in range(3):
        step = Rotation.from_rotvec(1e-6 * np.eye(3)[k])
        up, down = (Rotation.from_rotvec(phi) * turned for turned in (step, step.inv()))
        J[:, k] = (up.as_rotvec() - down.as_rotvec()) / 2e-6
    rows = {(int(b["kind"]), int(b["dof"])): b for b in found.bounds}
    assert set(rows) == {(what, k) for what in LIMITS for k in range(3)}
    Y = np.array([found.bound_row(rows[DofConstraintKind.LOWER, k]) for k in range(3)])
    np.testing.assert_allclose(Y @ Y.T, J @ np.linalg.inv(tree.M) @ J.T, rtol=1e-6, atol=1e-9)
    for k in range(3):
        np.testing.assert_allclose(found.bound_row(rows[DofConstraintKind.UPPER, k]), -Y[k], rtol=1e-12)
        assert rows[DofConstraintKind.LOWER, k]["initial_separation"] == pytest.approx(1e-3)
        assert rows[DofConstraintKind.UPPER, k]["initial_separation"] == pytest.approx(2e-3)


# ------------------------------------------------------------------------------------------------------------- drives


def arm(seed: int, turned: bool, links: int = 4) -> tuple[km.World, km.Figure]:
    """Hinges and a slider in a row, away from everything: held by the base, or afloat and all turned by a new root."""
    rng = np.random.default_rng(seed)
    builder = km.Builder("arm")
    if turned:
        shape = km.Shape.box((0.2, 0.1, 0.3))
        builder.link("stand", None, km.Joint.free(), inertia=inertia(rng, shape, 0.3))
    for i in range(links):
        axis = rng.normal(size=3)
        joint = km.Joint.prismatic(axis) if i == 1 else km.Joint.revolute(axis, effort_limit=50.0)
        shape = random_worlds.random_shape(rng)
        place = random_worlds.random_pose(rng, 0.3)
        parent = f"l{i - 1}" if i else "stand" if turned else None
        builder.link(f"l{i}", parent, joint, place, inertia(rng, shape, 0.5))
    model = builder.build()
    world = km.World(sleep=False)
    figure = world.add(model, q=km.random_configuration(model, rng), v=0.1 * rng.normal(size=model.nv))
    if turned:
        world.reroot(figure["l3"])
    return world, figure


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rows_of_motors_servos_and_couplings(seed: int, turned: bool) -> None:
    world, figure = arm(seed, turned)
    joints = [figure.joint(f"l{i}") for i in range(4)]
    before = [float(world.forest.position(j)[0]) for j in joints[1:]]
    world.motor(joints[1], 0.7, 30.0)
    world.servo(joints[2], 0.4, stiffness=100.0, damping=2.0, speed=0.1, effort_limit=20.0)
    world.drives.couple(joints[3], joints[2], ratio=-1.5, position=0.2)
    found = FilledWorld(world)
    motor, servo, coupling = (
        next(b for b in found.bounds if found.solver["drives"]["joint"][b["drive"]] == j) for j in joints[1:]
    )
    J = []
    for b in (motor, servo):
        J.append(found.bound_jacobian(b))
    other = found.bound_jacobian(coupling)  # the row has the degree of freedom that follows
    J.append(other + 1.5 * J[1])
    J = np.array(J)
    Y = np.array([found.bound_row(b) for b in (motor, servo, coupling)])
    expected = J @ found.inverse @ J.T
    np.testing.assert_allclose(Y @ Y.T, expected, rtol=1e-9, atol=1e-9 * expected.max())
    assert (motor["target"], motor["smallest_force"], motor["largest_force"]) == (0.7, -30.0, 30.0)
    assert np.isinf(motor["damping"])
    assert servo["initial_separation"] == pytest.approx(0.4 - before[1])
    assert (servo["stiffness"], servo["damping"], servo["target"]) == (100.0, 2.0, 0.1)
    assert (servo["smallest_force"], servo["largest_force"]) == (-20.0, 20.0)
    off = 0.2 - 1.5 * before[1] - before[2]
    assert coupling["target"] == pytest.approx(0.2 * off / world.dt)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_given_forces_accelerate_as_m_inverse_says(seed: int, turned: bool) -> None:
    """Of a drive's force, and of a push on a body: what they change of the velocities of all rows in a step."""
    force, torque, at = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.2, -0.1]), (0.1, 0.2, -0.3)
    speeds = []
    for pushed in (False, True):
        world, figure = arm(seed, turned)
        for i in range(4):
            world.motor(figure.joint(f"l{i}"), 0.0, 0.0)  # a row each, which does nothing
        if pushed:
            world.drives.force(figure.joint("l2"), 70.0)  # no more than its effort acts
            point = figure["l1"].pose.apply(np.array(at))
            world.apply_force(figure["l1"], force, torque, at=point)
        found = FilledWorld(world)
        Y = np.array([found.bound_row(b) for b in found.bounds])
        speeds.append(Y @ found.solver["z"][: found.nz])
    J = np.array([found.bound_jacobian(b) for b in found.bounds])
    side = found.side(int(figure["l1"]) & 0xFFFFFFFF)
    forces = found.jacobian(side, point).T @ np.concatenate([torque, force])
    driven = next(b for b in found.bounds if found.solver["drives"]["joint"][b["drive"]] == figure.joint("l2"))
    forces += 50.0 * found.bound_jacobian(driven)
    difference = found.world.dt * J @ found.inverse @ forces
    np.testing.assert_allclose(speeds[1] - speeds[0], difference, rtol=1e-7, atol=1e-9 * np.abs(difference).max())


@pytest.mark.parametrize(("gap", "near"), [(0.013, True), (0.015, False)])
@pytest.mark.parametrize("upper", [True, False])
def test_a_limit_that_two_steps_reach_has_a_row(upper: bool, gap: float, near: bool) -> None:
    """At 1 rad/s and 2 ms within 10 mrad and two steps."""
    builder = km.Builder("flap")
    builder.link("flap", None, km.Joint.revolute("z", lower=-1.0, upper=1.0), inertia=km.Inertia.box(1.0, (1.0,) * 3))
    world = km.World(dt=2e-3, sleep=False)
    world.add(builder.build(), q=[1.0 - gap if upper else gap - 1.0], v=[1.0 if upper else -1.0])
    rows = FilledWorld(world).bounds["kind"].tolist()
    assert rows == ([DofConstraintKind.UPPER if upper else DofConstraintKind.LOWER] if near else [])
