"""Classic mechanisms against closed formulas, dense solvers and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.classic import CLASSIC
from tests.naive.constrained import Closed, kkt

import kinemorph as km
from kinemorph.scenes.robots import mechanisms, parade
from kinemorph.scenes.robots.catalog import UNSTOPPED, folder, robot

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
needs_robots = pytest.mark.skipif(folder() is None, reason="example-robot-data is not installed")


def moving(model: km.Model, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Any velocity that keeps the loops closed."""
    W = km.generalized(model, km.Data(model), q).W
    return W @ rng.normal(size=W.shape[1])


def check_against_peers(model: km.Model, q: np.ndarray, v: np.ndarray, rng: np.random.Generator) -> None:
    """Forward dynamics as a dense solution and as Pinocchio have it, to 1e-7 of the largest acceleration."""
    pytest.importorskip("pinocchio")
    from benchmarks import pinocchio_twin

    tau = rng.normal(size=model.nv)
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, tau)
    wrenches = data.wrenches
    size = np.abs(a).max()
    slow = kkt(Closed(model, q, v, km.loop_positions(model, data, q)), tau)
    np.testing.assert_allclose(a, slow, atol=1e-9 * size)
    peer = pinocchio_twin.Closed(model)
    hinges = (model.loop_rows["kind"] == km.JointKind.REVOLUTE).any()  # two points each: a row too many
    redundant = {"damping": 1e-4, "turns": 500} if data.rank < model.m or hinges else {}
    np.testing.assert_allclose(a, peer.accelerations(q, v, tau, **redundant), atol=1e-7 * size)
    if not redundant:  # then the forces at the loops are as certain as the motion; theirs are in axes of their own
        for i, theirs in zip(peer.loop_of, peer.constraint_data, strict=True):
            length = np.linalg.norm(theirs.contact_force.linear)
            np.testing.assert_allclose(np.linalg.norm(wrenches[i, 3:]), length, rtol=1e-7)


@pytest.mark.parametrize("make", [make for make, _ in CLASSIC])
def test_forward_dynamics_agrees_with_pinocchio(make: object, rng: np.random.Generator) -> None:
    model, q = make()  # type: ignore[operator]
    check_against_peers(model, q, moving(model, q, rng), rng)


@needs_robots
@pytest.mark.parametrize("seed", range(3))
def test_cassie_agrees_with_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, q = mechanisms.hung_cassie(floating=True)
    data = km.Data(model)
    nudged = km.integrate(model, q, 0.1 * rng.normal(size=model.nv))
    q, v = km.project(model, data, nudged, rng.normal(size=model.nv))
    assert km.mobility(model, data, q) == 18  # of 28; a count of rows says 16, but the plantar rods stay in a plane
    check_against_peers(model, q, v, rng)


@needs_robots
@pytest.mark.parametrize("feet", [1, 2, 3, 4])
def test_a_robot_with_pinned_feet_agrees_with_pinocchio(feet: int, rng: np.random.Generator) -> None:
    model = robot("anymal", floating=True)
    q = km.random_configuration(model, rng)
    pinned = mechanisms.held(model, q, FEET[:feet])
    _, v = km.project(pinned, km.Data(pinned), q, rng.normal(size=model.nv))
    check_against_peers(pinned, q, v, rng)


@needs_robots
def test_a_minute_of_cassie_leaves_its_loops_closed() -> None:
    """Hung by its pelvis with its motors off, a tenth of its damping and all of its springs."""
    robot, q = mechanisms.hung_cassie()
    model = robot.with_dofs(damping=0.1 * robot.dofs["damping"], **UNSTOPPED)
    data = km.Data(model)
    path = km.rollout(model, data, q, np.zeros(model.nv), dt=1e-3, steps=60_000, every=500)
    assert path.loop_error < 1e-9
    assert np.abs(km.loop_errors(model, data, path.q[-1])).max() < 1e-9
    assert np.abs(km.loop_jacobian(model, data, path.q[-1]) @ path.v[-1]).max() < 1e-9
    assert np.abs(path.v).max() > 1.0  # it moved
    totals = [km.energy(model, data, *state).total for state in zip(path.q, path.v, strict=True)]
    assert np.diff(totals[2:]).max() < 1e-6 * np.ptp(totals)  # dampers take energy, nothing gives it


# ------------------------------------------------------------------------------------------------------- four bars


def test_four_bar_follows_freudenstein_and_its_energy() -> None:
    """K1 cos θ4 - K2 cos θ2 + K3 = cos(θ2 - θ4), and ½ I(θ2) θ2'² + V(θ2) stays."""
    crank, coupler, rocker, ground = 0.3, 0.8, 0.6, 0.9
    model, q = mechanisms.four_bar(crank, coupler, rocker, ground, 1.0)
    data = km.Data(model)
    v = km.generalized(model, data, q, keep=["crank"]).W @ [-4.0]
    path = km.rollout(model, data, q, v, dt=1e-3, steps=4000, every=10)
    theta2, theta4 = -path.q[:, 0], -path.q[:, 2]
    K1, K2 = ground / crank, ground / rocker
    K3 = (crank**2 - coupler**2 + rocker**2 + ground**2) / (2.0 * crank * rocker)
    left = K1 * np.cos(theta4) - K2 * np.cos(theta2) + K3
    np.testing.assert_allclose(left, np.cos(theta2 - theta4), atol=1e-11)
    assert np.ptp(theta2) > 2.0 * np.pi  # the crank turns all the way
    # velocities of coupler and rocker by the formulas of the velocity triangle
    theta3 = -(path.q[:, 0] + path.q[:, 1])
    w2 = -path.v[:, 0]
    w3 = w2 * crank / coupler * np.sin(theta4 - theta2) / np.sin(theta3 - theta4)
    w4 = w2 * crank / rocker * np.sin(theta2 - theta3) / np.sin(theta4 - theta3)
    np.testing.assert_allclose(-(path.v[:, 0] + path.v[:, 1]), w3, atol=1e-9)
    np.testing.assert_allclose(-path.v[:, 2], w4, atol=1e-9)

    def bar(length: float) -> float:
        """Moment of inertia of a bar about its middle; a kilogram a metre."""
        return length * (length**2 + 0.04**2) / 12.0

    middle = np.stack(
        [
            -crank * np.sin(theta2) * w2 - 0.5 * coupler * np.sin(theta3) * w3,
            crank * np.cos(theta2) * w2 + 0.5 * coupler * np.cos(theta3) * w3,
        ]
    )
    kinetic = 0.5 * (
        (bar(crank) + crank * (crank / 2) ** 2) * w2**2
        + bar(coupler) * w3**2
        + coupler * (middle**2).sum(axis=0)
        + (bar(rocker) + rocker * (rocker / 2) ** 2) * w4**2
    )
    height = (
        crank * 0.5 * crank * np.sin(theta2)
        + coupler * (crank * np.sin(theta2) + 0.5 * coupler * np.sin(theta3))
        + rocker * 0.5 * rocker * np.sin(theta4)
    )
    total = kinetic + 9.81 * height
    np.testing.assert_allclose(total, total[0], rtol=1e-7)


@pytest.mark.parametrize("bars", [(0.3, 0.9, 0.3, 0.9), (0.5, 0.5, 0.5, 0.5)])
@pytest.mark.parametrize("speed", [2.0, -2.0])
def test_a_parallelogram_turns_through_its_flat_configurations(bars: tuple[float, ...], speed: float) -> None:
    """Twelve times flat, where it could fold over as well: without gravity its momentum carries it straight on."""
    scene = mechanisms.four_bar(*bars, angle=0.5)
    model = scene.model.with_gravity((0, 0, 0))
    data = km.Data(model)
    v = km.generalized(model, data, scene.q, keep=["crank"]).W @ [speed]
    path = km.rollout(model, data, scene.q, v, dt=1e-3, steps=20_000, every=20)
    assert path.loop_error < 1e-9
    np.testing.assert_allclose(path.v[:, 0], speed, rtol=1e-4)  # all bars translate or turn alike: the speed stays
    np.testing.assert_allclose(path.q[:, 0], path.q[:, 2], atol=1e-6)  # crank and rocker stay parallel
    assert np.abs(path.q[-1, 0] - path.q[0, 0]) > 12.0 * np.pi
    flat = km.generalized(model, data, np.zeros(3))
    assert flat.mobility == 2  # for an instant
    assert all(np.isfinite(x).all() for x in (flat.H, flat.W, flat.S))


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-6, 1e-4])
def test_a_flat_parallelogram_starts_moving(angle: float) -> None:
    """From the flat configuration itself, and from next to it, under gravity and with a push."""
    model, _ = mechanisms.four_bar(0.3, 0.9, 0.3, 0.9)
    data = km.Data(model)
    q, v = km.project(model, data, [angle, -angle, angle], [1.0, -1.0, 1.0])
    path = km.rollout(model, data, q, v, steps=500, every=5)
    assert np.isfinite(path.q).all()
    assert np.isfinite(path.v).all()
    assert path.loop_error < 1e-9
    assert np.abs(path.v).max() < 100.0


def test_slider_crank_moves_as_its_formula() -> None:
    """x = r cos θ + √(l² - r² sin² θ) along a motion through both dead centres."""
    r, l = 0.2, 0.7
    model, q = mechanisms.slider_crank(r, l)
    data = km.Data(model)
    v = km.generalized(model, data, q, keep=["crank"]).W @ [-9.0]
    path = km.rollout(model, data, q, v, dt=1e-3, steps=3000, every=10)
    theta, w = -path.q[:, 0], -path.v[:, 0]
    s, c = r * np.sin(theta), r * np.cos(theta)
    u = np.sqrt(l**2 - s**2)
    np.testing.assert_allclose(path.q[:, 2], c + u, atol=1e-11)
    np.testing.assert_allclose(path.v[:, 2], -w * s * (1.0 + c / u), atol=1e-9)
    assert np.ptp(theta) > 2.0 * np.pi


# ------------------------------------------------------------------------------------------------------- platforms


def joints_of_stewart(model: km.Model) -> tuple[np.ndarray, np.ndarray]:
    """Where the legs stand on the ground, and where they hold the platform."""
    feet = np.array([model.links[model.link(f"cylinder{i}")]["p"] for i in range(6)])
    return feet, np.array([loop.at_b.position for loop in model.loops])


@pytest.mark.parametrize("seed", range(5))
def test_legs_of_a_stewart_platform_have_the_lengths_of_the_formula(seed: int) -> None:
    """|x + R t_i - f_i|, and its rate, for any pose of the platform."""
    rng = np.random.default_rng(seed)
    model, q = mechanisms.stewart()
    data = km.Data(model)
    feet, tops = joints_of_stewart(model)
    platform = km.Pose.quaternion([1.0, *0.15 * rng.normal(size=3)], [0.0, 0.0, 0.7] + 0.1 * rng.normal(size=3))
    x, y, z, w = Rotation.from_matrix(platform.rotation).as_quat()
    q[model.q_slice("platform")] = [*platform.position, w, x, y, z]
    legs = [name for name in model.joint_names if name != "platform"]
    q = km.close(model, data, q, free=legs)
    leg = platform.apply(tops) - feet
    lengths = np.linalg.norm(leg, axis=1)
    found = [q[model.q_slice(f"piston{i}")][0] for i in range(6)]
    np.testing.assert_allclose(found, lengths, atol=1e-11)
    coordinates = km.generalized(model, data, q, keep=["platform"])
    assert coordinates.independent == tuple(range(*model.v_slice("platform").indices(model.nv)))
    w, u = rng.normal(size=(2, 3))  # twist of the platform in its own axes, which is how its v is written
    v = coordinates.W @ np.concatenate([w, u])
    at_tops = (platform.rotation @ (u[:, None] + np.cross(w, tops).T)).T
    rates = (at_tops * leg).sum(axis=1) / lengths
    np.testing.assert_allclose([v[model.v_slice(f"piston{i}")][0] for i in range(6)], rates, atol=1e-10)


def test_legs_of_a_stewart_platform_carry_its_weight() -> None:
    """Legs without mass: the pistons push with the forces that hold a weight, Σ f_i e_i and Σ r_i × f_i e_i."""
    old, q = mechanisms.stewart()
    feet, tops = joints_of_stewart(old)
    light = old.links.copy()
    for i in range(1, len(light)):
        for field in ("mass", "h", "I"):
            light[i][field] *= 1e-9
    model = km.Model(old.name, light, old.dofs, old.names, old.joint_names, old.rest, old.gravity, loops=old.loops)
    data = km.Data(model)
    pistons = [f"piston{i}" for i in range(6)]
    zero = np.zeros(model.nv)
    forces = km.inverse_dynamics(model, data, q, zero, zero, pistons).efforts
    x = q[:3]
    leg = tops + x - feet
    e = leg / np.linalg.norm(leg, axis=1)[:, None]
    G = np.vstack([e.T, np.cross(tops, e).T])
    np.testing.assert_allclose(forces, np.linalg.solve(G, [0, 0, 5.0 * 9.81, 0, 0, 0]), rtol=1e-6)


# ------------------------------------------------------------------------------------------------- a box in two hands


def test_two_arms_squeeze_a_box_without_moving_it(rng: np.random.Generator) -> None:
    """Six ways to squeeze: they change the forces of the hands, equal and opposite, and no acceleration."""
    model, q = mechanisms.two_arms()
    data = km.Data(model)
    v = moving(model, q, rng)
    W = km.generalized(model, data, q).W
    a = km.forward_dynamics(model, data, q, v, rng.normal(size=model.nv))
    arms = [name for name in model.joint_names if name != "box"]
    plan = km.inverse_dynamics(model, data, q, v, a, arms)
    assert plan.residual < 1e-9
    assert plan.internal.shape == (14, 6)
    km.forward_dynamics(model, data, q, v, plan.tau)
    before, at = data.wrenches, data.rows["x"][model.loop_rows["first"]]
    for squeeze in plan.internal.T:
        tau = plan.tau.copy()
        tau[[k for name in arms for k in range(*model.v_slice(name).indices(model.nv))]] += 10.0 * squeeze
        np.testing.assert_allclose(km.forward_dynamics(model, data, q, v, tau), a, atol=1e-8 * np.abs(a).max())
        change = data.wrenches - before
        assert np.abs(change).max() > 0.1
        moments = change[:, :3] + np.cross(at, change[:, 3:])  # about one point
        np.testing.assert_allclose(moments.sum(axis=0), 0.0, atol=1e-8)
        np.testing.assert_allclose(change[:, 3:].sum(axis=0), 0.0, atol=1e-8)
    assert W.shape[1] == 8


def test_hands_bear_what_a_box_weighs() -> None:
    model, q = mechanisms.two_arms()
    data = km.Data(model)
    zero = np.zeros(model.nv)
    arms = [name for name in model.joint_names if name != "box"]
    plan = km.inverse_dynamics(model, data, q, zero, zero, arms)
    a = km.forward_dynamics(model, data, q, zero, plan.tau)
    np.testing.assert_allclose(a, 0.0, atol=1e-9)
    total = data.wrenches[:, 3:].sum(axis=0)  # on the box, from both hands
    np.testing.assert_allclose(total, [0.0, 0.0, 3.0 * 9.81], atol=1e-9)


# -------------------------------------------------------------------------------------------------------- all together


@needs_robots
def test_the_parade_keeps_loops_closed_and_energy() -> None:
    parts = parade.parade(seconds=0.6)
    assert [part.mobility for part in parts] == [1, 1, 1, 6, 3, 8, 2, 12]
    for part in parts:
        assert part.path.loop_error < 1e-9
        assert np.ptp(part.path.q, axis=0).max() > 0.01  # it moves
        assert part.drift < 1e-4 or part.model.dofs["damping"].any()
    whole = parade.together(parts)
    q = np.concatenate([part.path.q[-1] for part in parts])
    data = km.Data(whole)
    km.kinematics(whole, data, q)
    for part in parts:
        model = part.model
        own = km.Data(model)
        km.kinematics(model, own, part.path.q[-1])
        for i, name in enumerate(model.names):
            found = km.pose_of(whole, data, whole.names.index(f"{part.name}: {name}")).matrix()
            np.testing.assert_allclose(found, (part.place @ km.pose_of(model, own, i)).matrix(), atol=1e-12)
