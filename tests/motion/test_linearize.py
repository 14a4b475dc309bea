"""Linear models of a step: as MuJoCo's differences have them, and as the motion itself says."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinemorph as km

ARM = Path(km.__file__).with_name("scenes") / "data" / "arm.urdf"
CHAIN = """<mujoco><option timestep="0.01" integrator="Euler"/><worldbody>{bodies}</worldbody>
<actuator>{motors}</actuator></mujoco>"""


def chain(count: int) -> str:
    bodies, motors = "", ""
    for i in range(count):
        axis = ("0 1 0", "1 0 0", "0 0 1")[i % 3]
        bodies += (
            f'<body name="b{i}" pos="0.3 0 0"><joint name="j{i}" axis="{axis}"/>'
            '<geom type="capsule" fromto="0 0 0 0.3 0.05 0" size="0.04"/>'
        )
        motors += f'<motor joint="j{i}"/>'
    return CHAIN.format(bodies=bodies + "</body>" * count, motors=motors)


def tumbling() -> km.Model:
    b = km.Builder("tumbling")
    b.link("body", joint=km.Joint.free(), inertia=km.Inertia.box(2.0, (0.3, 0.2, 0.1)))
    arm = km.Inertia.rod(0.5, (0, 0, 0), (0.4, 0, 0)) + km.Inertia.sphere(0.1, 0.05)
    b.link("arm", "body", km.Joint.spherical(), (0.2, 0, 0), arm)
    b.link("hand", "arm", km.Joint.revolute("y"), (0.4, 0, 0), km.Inertia.box(0.3, (0.1, 0.1, 0.1), (0.1, 0, 0)))
    return b.build()


def test_it_agrees_with_mujoco() -> None:
    text, n = chain(5), 5
    model, peer = km.parse_mjcf(text), mujoco.MjModel.from_xml_string(text)
    peer.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    rng = np.random.default_rng(1)
    q, v, tau = (rng.normal(size=(3, n)) for _ in range(3))
    A, B = km.batch.linearize(model, q, v, tau, dt=0.01, method="euler")
    for k in range(3):
        data = mujoco.MjData(peer)
        data.qpos, data.qvel, data.ctrl = q[k], v[k], tau[k]
        theirs_a, theirs_b = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
        mujoco.mjd_transitionFD(peer, data, 1e-6, True, theirs_a, theirs_b, None, None)
        np.testing.assert_allclose(A[k], theirs_a, atol=2e-7 * np.abs(theirs_a).max())
        np.testing.assert_allclose(B[k], theirs_b, atol=2e-7 * np.abs(theirs_b).max())


def test_it_agrees_with_derivatives_by_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    text = re.sub("<dynamics[^>]*/>", "", ARM.read_text("utf-8"))  # its forward dynamics knows of no dampers
    model, peer = km.parse_urdf(text), pin.buildModelFromXML(text)
    data, n, dt, rng = peer.createData(), peer.nv, 1e-3, np.random.default_rng(3)
    q, v, tau = rng.normal(size=(3, 4, n))
    A, B = km.batch.linearize(model, q, v, tau, dt=dt, method="euler")
    for k in range(4):
        by_q, by_v, upper = pin.computeABADerivatives(peer, data, q[k], v[k], tau[k])
        inverse = np.triu(upper) + np.triu(upper, 1).T
        end = np.hstack([dt * by_q, np.eye(n) + dt * by_v])  # of the velocity, with which the position goes on
        theirs = np.vstack([np.eye(n, 2 * n) + dt * end, end])
        np.testing.assert_allclose(A[k], theirs, atol=1e-8 * np.abs(theirs).max())
        np.testing.assert_allclose(B[k], np.vstack([dt**2 * inverse, dt * inverse]), atol=1e-8 * dt * inverse.max())


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_it_foretells_where_a_small_change_leads(method: str) -> None:
    model, rng = tumbling(), np.random.default_rng(2)
    n, h = model.nv, 1e-4
    q = km.random_configuration(model, rng)
    v, tau = rng.normal(size=n), rng.normal(size=n)
    A, B = km.batch.linearize(model, [q], [v], [tau], dt=5e-3, steps=4, method=method)
    x, u = h * rng.normal(size=2 * n), h * rng.normal(size=n)

    def after(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        end_q, end_v = km.batch.step(model, [q], [v], [tau], dt=5e-3, steps=4, method=method)
        return end_q[0], end_v[0]

    (q0, v0), (q1, v1) = after(q, v, tau), after(km.integrate(model, q, x[:n]), v + x[n:], tau + u)
    went = np.concatenate([km.difference(model, q0, q1), v1 - v0])
    assert np.abs(went).max() > h
    np.testing.assert_allclose(A[0] @ x + B[0] @ u, went, atol=100.0 * h**2)


def test_forces_act_through_the_mass_matrix() -> None:
    model = tumbling()
    q, v = km.neutral(model), np.zeros(model.nv)
    A, B = km.batch.linearize(model, [q], [v], dt=1e-3, method="euler")
    inverse = np.linalg.inv(km.crba(model, km.Data(model), q))
    np.testing.assert_allclose(B[0, model.nv :], 1e-3 * inverse, atol=1e-8 * np.abs(inverse).max())
    assert A.shape == (1, 20, 20)


def test_what_cannot_be_is_refused() -> None:
    model = tumbling()
    q, v = km.neutral(model), np.zeros(model.nv)
    with pytest.raises(ValueError, match=r"offset 0\.0 must be above 0"):
        km.batch.linearize(model, [q], [v], offset=0.0)
    with pytest.raises(ValueError, match="V has shape"):
        km.batch.linearize(model, [q], [v[:-1]])
    with pytest.raises(ValueError, match=r"is nan|not finite"):
        km.batch.linearize(model, [q], [v * np.nan])
    A, B = km.batch.linearize(model, np.zeros((0, model.nq)), np.zeros((0, model.nv)))
    assert (A.shape, B.shape) == ((0, 20, 20), (0, 20, 10))
