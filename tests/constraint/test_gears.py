"""Joints that follow others: beside the dense equations, with loops and without, and in time."""

from __future__ import annotations

import numpy as np
import pytest

import kinemorph as km

pytestmark = pytest.mark.quick


def geared(seed: int, mimics: list[tuple[str, str, float, float]], loop: bool = False) -> km.Model:
    """A branched arm of seven joints, of which some follow others, perhaps with its tip tied to the base."""
    rng = np.random.default_rng(seed)
    b = km.Builder("geared")
    before = None
    for i in range(7):
        kind = km.Joint.revolute if i % 3 else km.Joint.prismatic
        joint = kind(rng.normal(size=3), name=f"j{i}", damping=0.3 * rng.random())
        b.link(f"l{i}", before, joint, rng.normal(0.0, 0.2, 3), km.Inertia.box(1.0 + i, (0.1, 0.2, 0.3)))
        before = "l1" if i == 3 else f"l{i}"
    for mimic in mimics:
        b.mimic(*mimic)
    if loop:
        b.loop("l6", None, km.Joint.spherical(), at_a=(0.1, 0.0, 0.2))
    return b.build()


SEVERAL = [("j2", "j1", 1.7, 0.2), ("j5", "j4", -0.6, 0.0), ("j4", "j2", 1.1, -0.1)]  # the last one in a row


def ratios(model: km.Model) -> np.ndarray:
    J = np.zeros((len(model.mimics), model.nv))
    for row, m in zip(J, model.mimics):
        row[model.v_slice(m.joint)], row[model.v_slice(m.source)] = 1.0, -m.multiplier
    return J


def state(model: km.Model, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, v = km.follow(model, rng.normal(size=model.nq), rng.normal(size=model.nv))
    return q, v, rng.normal(size=model.nv)


@pytest.mark.parametrize("mimics", [SEVERAL[:1], SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_are_those_of_the_dense_equations(mimics, seed):
    model = geared(seed, mimics)
    q, v, tau = state(model, seed)
    push = np.random.default_rng(seed).normal(size=(model.n, 6))
    a = km.forward_dynamics(model, km.Data(model), q, v, tau, push)
    data, J = km.Data(model), ratios(model)
    M, h = km.crba(model, data, q), km.rnea(model, data, q, v, np.zeros(model.nv), push)
    k = len(J)
    system = np.block([[M, -J.T], [J, np.zeros((k, k))]])
    expected = np.linalg.solve(system, np.concatenate([tau - h, np.zeros(k)]))[: model.nv]
    np.testing.assert_allclose(a, expected, rtol=1e-9, atol=1e-9)


def test_loops_and_gears_hold_together():
    model = geared(4, SEVERAL[:2], loop=True)
    q, v, tau = state(model, 4)
    data = km.Data(model)
    a = km.forward_dynamics(model, data, q, v, tau)
    J = np.vstack([km.loop_jacobian(model, data, q), ratios(model)])
    drift = np.concatenate([km.loop_drift(model, data, q, v), np.zeros(2)])
    M, h = km.crba(model, data, q), km.rnea(model, data, q, v, np.zeros(model.nv))
    k = len(J)
    system = np.block([[M, -J.T], [J, np.zeros((k, k))]])
    expected = np.linalg.solve(system, np.concatenate([tau - h, -drift]))[: model.nv]
    np.testing.assert_allclose(a, expected, rtol=1e-8, atol=1e-8)


def test_a_gear_that_says_what_another_one_said_bears_nothing():
    """A ring of three wheels on the base whose ratios agree: one says nothing new."""
    b = km.Builder("wheels")
    inertia = km.Inertia.cylinder(2.0, 0.1, 0.05)
    for name in "abc":
        b.link(name, joint=km.Joint.revolute("z"), inertia=inertia)
    b.mimic("b", "a", -2.0)
    b.mimic("c", "b", -0.5)
    model = b.build()
    turning = inertia.matrix[2, 2]
    a = km.forward_dynamics(model, km.Data(model), np.zeros(3), np.zeros(3), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(a, np.array([1.0, -2.0, 1.0]) / (turning * (1.0 + 4.0 + 1.0)), rtol=1e-12)


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_motion_keeps_the_ratios(method):
    model = geared(1, SEVERAL)
    q, v, tau = state(model, 1)
    path = km.rollout(model, km.Data(model), q, v, tau, dt=1e-3, steps=1000, every=100, method=method)
    for now, speed in zip(path.q, path.v):
        follows, speeds = km.follow(model, now, speed)
        np.testing.assert_allclose(now, follows, atol=1e-11)
        np.testing.assert_allclose(speed, speeds, atol=1e-10)


def test_no_energy_is_lost_in_gears():
    b = km.Builder("pendulums")
    for name, x in (("left", 0.0), ("right", 1.0)):
        b.link(name, None, km.Joint.revolute("y"), (x, 0, 0), km.Inertia.sphere(1.0, 0.1, (0, 0, -0.5)))
    b.mimic("right", "left", -0.5)
    model = b.build()
    q, v = km.follow(model, [1.0, 0.0], [0.0, 0.0])
    log = km.simulate(model, km.State(q, v), 5.0, tolerance=1e-10)
    energy = [km.energy(model, km.Data(model), q, v).total for q, v in zip(log.q, log.v)]
    assert np.ptp(energy) < 1e-6


def test_an_equality_of_joints_is_a_gear(tmp_path):
    file = tmp_path / "pair.xml"
    file.write_text("""<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint name="a" axis="0 0 1"/><geom type="cylinder" size=".1 .02" mass="2"/></body>
      <body pos="1 0 0"><joint name="b" axis="0 0 1"/><geom type="cylinder" size=".2 .02" mass="1"/></body>
    </worldbody><equality><joint joint1="b" joint2="a" polycoef="0.3 -0.5 0 0 0"/></equality></mujoco>""")
    model = km.load_mjcf(file)
    q, v = km.follow(model, [0.4, 0.0], [1.0, 0.0])
    assert q[1] == pytest.approx(0.3 - 0.5 * 0.4)
    a = km.forward_dynamics(model, km.Data(model), q, v, [1.0, 0.0])
    one, other = 0.5 * 2.0 * 0.1**2, 0.5 * 1.0 * 0.2**2
    np.testing.assert_allclose(a, np.array([1.0, -0.5]) / (one + 0.25 * other), rtol=1e-9)
