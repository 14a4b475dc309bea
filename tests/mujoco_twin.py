"""A model and MuJoCo's of the same machine: all that should be equal, compared at random states."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import kinemorph as km
from kinemorph.multibody.convert.mujoco_names import compiled_names

OFF = mujoco.mjtDisableBit


def gymnasium_files() -> list[Path]:
    """The MJCF files that gymnasium brings along; none where it is not installed."""
    spec = find_spec("gymnasium")
    if spec is None or not spec.submodule_search_locations:
        return []
    return sorted((Path(spec.submodule_search_locations[0]) / "envs/mujoco/assets").glob("*.xml"))


needs_gymnasium = pytest.mark.skipif(not gymnasium_files(), reason="gymnasium is not installed: kinemorph[peers]")


def compiled(text: str) -> Any:
    return mujoco.MjModel.from_xml_string(text)


def without_what_is_ignored(peer: Any) -> None:
    """Switch off, in MuJoCo, what a model leaves out if it is told to."""
    peer.opt.density = peer.opt.viscosity = 0.0
    peer.body_gravcomp[:] = 0.0
    for name in ("stiffness", "damping", "frictionloss", "armature", "stiffnesspoly", "dampingpoly"):
        getattr(peer, f"tendon_{name}")[:] = 0.0
    peer.jnt_stiffnesspoly[:] = 0.0
    peer.dof_dampingpoly[:] = 0.0
    for joint in np.flatnonzero(peer.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        peer.dof_armature[peer.jnt_dofadr[joint] : peer.jnt_dofadr[joint] + 6] = 0.0
    mujoco.mj_setConst(peer, mujoco.MjData(peer))


def assert_equal(
    model: km.Model, peer: Any, rng: np.random.Generator, tolerance: float = 1e-9, states: int = 3
) -> None:
    """Masses, mass matrix, frames of bodies and sites, gravity torques and accelerations."""
    to = km.convert.mujoco(model, peer)
    assert (to.nq, to.nv) == (peer.nq, peer.nv)
    before = int(peer.opt.disableflags)
    peer.opt.disableflags = before | int(OFF.mjDSBL_CONSTRAINT) | int(OFF.mjDSBL_CONTACT) | int(OFF.mjDSBL_ACTUATION)
    for _ in range(states):
        _assert_equal_at(model, peer, to, rng, tolerance)
    peer.opt.disableflags = before


def _assert_equal_at(model: km.Model, peer: Any, to: Any, rng: np.random.Generator, tolerance: float) -> None:
    theirs, data, still = mujoco.MjData(peer), km.Data(model), np.zeros(model.nv)
    q = km.random_configuration(model, rng)
    v, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    theirs.qpos = to.q(q)
    mujoco.mj_forward(peer, theirs)
    gravity = to.tau(q, km.rnea(model, data, q, still, still))
    _assert_near(gravity, theirs.qfrc_bias, tolerance, "gravity torques")
    M = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, theirs, M)
    T = np.array([to.v(q, unit) for unit in np.eye(model.nv)]).T.reshape(peer.nv, model.nv)
    _assert_near(km.crba(model, data, q), T.T @ M @ T, tolerance, "mass matrix")
    moving = peer.body_dofnum[peer.body_weldid] > 0
    _assert_near(model.mass, peer.body_mass[moving].sum(), tolerance, "mass")
    km.kinematics(model, data, q)
    for i, name in enumerate(compiled_names(peer)[0][1:], 1):
        pose = km.pose_of(model, data, name)
        _assert_near(pose.position, theirs.xpos[i], tolerance, f"body {name}")
        _assert_near(pose.rotation.ravel(), theirs.xmat[i], tolerance, f"body {name}")
    bodies = set(compiled_names(peer)[0])
    for i in range(peer.nsite):
        if (name := peer.site(i).name) and name not in bodies:
            _assert_near(km.pose_of(model, data, name).position, theirs.site_xpos[i], tolerance, f"site {name}")
    theirs.qvel = to.v(q, v)
    theirs.qfrc_applied = to.tau(q, tau)
    mujoco.mj_forward(peer, theirs)
    passive, _ = km.passive_forces(model, data, q, v)
    a = km.aba(model, data, q, v, tau + passive)
    _assert_near(to.a(q, v, a), theirs.qacc, tolerance, "accelerations")


def _assert_near(ours: Any, theirs: Any, tolerance: float, what: str) -> None:
    size = max(1.0, np.abs(theirs).max(initial=0.0))
    assert np.abs(np.asarray(ours) - theirs).max(initial=0.0) <= tolerance * size, what
