"""The same numbers as Pinocchio, to 1e-9 of the largest entry: all robots of example-robot-data, all joints."""

import numpy as np
import pytest
from tests.robots import EMPTY, ROBOTS, load
from tests.strategies import random_state

import kinemorph as km

pin = pytest.importorskip("pinocchio")
from tests.pinocchio_model import ANGULAR_FIRST, Twin, random_peer  # noqa: E402

TOLERANCE = 1e-9


def close(result, expected, tolerance=TOLERANCE):
    """Equal up to `tolerance` times the largest entry."""
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


def robot_twin(name, floating, model=None):
    path = str(ROBOTS[name])
    peer = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    return Twin(peer, model)


def random_twin(seed):
    pin.seed(seed)
    return Twin(random_peer(np.random.default_rng(seed), 14, armature=seed % 2 == 1))


def dense(upper):
    """A symmetric matrix of which Pinocchio fills the upper triangle."""
    return np.triu(upper) + np.triu(upper, 1).T


def check_dynamics(twin, rng):
    model, data, peer, peer_data = twin.model, twin.data, twin.peer, twin.peer_data
    _, q, v, a, tau, _ = random_state(rng, model)
    peer_q, T = twin.q(q), twin.T(q)
    peer_v = T @ v
    close(km.rnea(model, data, q, v, a), T.T @ pin.rnea(peer, peer_data, peer_q, peer_v, twin.a(q, v, a)))
    close(km.crba(model, data, q), T.T @ dense(pin.crba(peer, peer_data, peer_q)) @ T)
    if not twin.massless:
        peer_a = pin.aba(peer, peer_data, peer_q, peer_v, np.linalg.solve(T.T, tau))
        close(km.aba(model, data, q, v, tau), twin.a_back(q, v, peer_a))


def check_external_forces(twin, rng):
    model, peer, peer_data = twin.model, twin.peer, twin.peer_data
    _, q, v, a, _, external = random_state(rng, model)
    peer_q, T = twin.q(q), twin.T(q)
    pin.forwardKinematics(peer, peer_data, peer_q)
    forces = [pin.Force.Zero()]
    for i in range(1, peer.njoints):
        moment, force = np.split(external[model.link(peer.names[i])], 2)
        R = peer_data.oMi[i].rotation
        forces.append(pin.Force(R.T @ force, R.T @ moment))
    peer_tau = pin.rnea(peer, peer_data, peer_q, T @ v, twin.a(q, v, a), forces)
    close(km.rnea(model, twin.data, q, v, a, external), T.T @ peer_tau)


def check_frames(twin, rng, most=12):
    model, data, peer, peer_data = twin.model, twin.data, twin.peer, twin.peer_data
    _, q, v, a, *_ = random_state(rng, model)
    peer_q, T = twin.q(q), twin.T(q)
    pin.forwardKinematics(peer, peer_data, peer_q, T @ v, twin.a(q, v, a))
    pin.updateFramePlacements(peer, peer_data)
    pin.computeJointJacobians(peer, peer_data, peer_q)
    km.kinematics(model, data, q, v, a)
    for i in rng.permutation(peer.nframes)[:most].tolist():
        place = f"frame {i}"
        close(km.pose_of(model, data, place).matrix(), peer_data.oMf[i].homogeneous, 1e-12)
        motion = pin.getFrameClassicalAcceleration(peer, peer_data, i, pin.LOCAL_WORLD_ALIGNED).vector
        close(km.acceleration_of(model, data, place), motion[ANGULAR_FIRST])
        J = pin.getFrameJacobian(peer, peer_data, i, pin.LOCAL_WORLD_ALIGNED)
        close(km.jacobian(model, data, q, place), (J @ T)[ANGULAR_FIRST], 1e-12)
        km.kinematics(model, data, q, v, a)  # the Jacobian has placed the links without moving them
    for i in rng.permutation(np.arange(1, peer.njoints))[:most].tolist():
        J = pin.getJointJacobian(peer, peer_data, i, pin.LOCAL_WORLD_ALIGNED)
        close(km.jacobian(model, data, q, peer.names[i]), (J @ T)[ANGULAR_FIRST], 1e-12)


def check_totals(twin, rng):
    model, data, peer, peer_data = twin.model, twin.data, twin.peer, twin.peer_data
    _, q, v, *_ = random_state(rng, model)
    peer_q, peer_v = twin.q(q), twin.T(q) @ v
    close(km.com(model, data, q), pin.centerOfMass(peer, peer_data, peer_q, peer_v))
    close(km.com_velocity(model, data, q, v), peer_data.vcom[0])
    found = km.energy(model, data, q, v)
    close(found.potential, pin.computePotentialEnergy(peer, peer_data, peer_q))
    # not computeKineticEnergy: Pinocchio 4.1 forgets the armature of unaligned revolute and helical joints there
    close(found.kinetic, 0.5 * peer_v @ dense(pin.crba(peer, peer_data, peer_q)) @ peer_v)
    centroidal = pin.computeCentroidalMomentum(peer, peer_data, peer_q, peer_v).vector
    close(km.momentum(model, data, q, v, about="com"), centroidal[ANGULAR_FIRST])
    columns = [km.momentum(model, data, q, unit, "com") for unit in np.eye(model.nv)]  # as the guide says of ccrba
    close(np.transpose(columns), (pin.ccrba(peer, peer_data, peer_q, peer_v) @ twin.T(q))[ANGULAR_FIRST])
    world = sum(peer_data.oMi[i].act(peer.inertias[i] * peer_data.v[i]).vector for i in range(1, peer.njoints))
    close(km.momentum(model, data, q, v), world[ANGULAR_FIRST])


def check_manifold(twin, rng):
    """Steps and differences, 1e-12. A planar joint moves along another curve: its v is constant in the parent."""
    model, peer = twin.model, twin.peer
    _, q, v, *_ = random_state(rng, model)
    v = np.clip(v, -1.5, 1.5)
    v[model.links["kind"][model.dofs["link"]] == km.JointKind.PLANAR] = 0.0
    peer_q, T = twin.q(q), twin.T(q)
    moved = km.integrate(model, q, v)
    peer_moved = pin.integrate(peer, peer_q, T @ v)
    assert pin.isSameConfiguration(peer, twin.q(moved), peer_moved, 1e-12)
    close(km.difference(model, q, moved), np.linalg.solve(T, pin.difference(peer, peer_q, peer_moved)), 1e-12)


CHECKS = [check_dynamics, check_external_forces, check_frames, check_totals, check_manifold]
every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))


@every_check
@pytest.mark.parametrize("seed", range(8))
def test_trees_with_every_kind_of_joint(check, seed):
    check(random_twin(seed), np.random.default_rng(seed))


fixed_and_floating = pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
# Pinocchio's parser refuses the empty file
every_robot = pytest.mark.parametrize("name", [name for name in ROBOTS if name != EMPTY])


@fixed_and_floating
@every_robot
def test_robots(name, floating):
    twin, rng = robot_twin(name, floating), np.random.default_rng(0)
    if twin.model.nv:
        for check in CHECKS:
            check(twin, rng)


@fixed_and_floating
@every_robot
def test_robots_that_kinemorph_reads_itself(name, floating):
    """Our own reader of URDF files and Pinocchio's make the same robot; joints are matched by their names."""
    twin, rng = robot_twin(name, floating, load(name, floating)), np.random.default_rng(0)
    assert twin.model.nv == twin.peer.nv
    if twin.model.nv:
        check_dynamics(twin, rng)
