"""OpenSim's inverse dynamics on the same bodies, where its wheel is installed: pip install opensim."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.mocap.samples import walk

import kinemorph as km
from kinemorph.mocap.support import stance_of

osim = pytest.importorskip("opensim", reason="OpenSim is not installed: pip install opensim")


def twin(model: km.Model):
    """The same tree in OpenSim: a free joint, and balls."""
    peer = osim.Model()
    peer.setGravity(osim.Vec3(*map(float, model.gravity)))
    bodies = []
    for i, link in enumerate(model.links):
        m, c = float(link["mass"]), link["h"] / link["mass"]
        I = np.zeros((3, 3))
        I[np.triu_indices(3)] = link["I"]
        I = I + I.T - np.diag(np.diag(I))
        I = I - m * (c @ c * np.eye(3) - np.outer(c, c))  # about the centre of mass
        moments = osim.Inertia(*map(float, (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])))
        body = osim.Body(f"b{i}", m, osim.Vec3(*map(float, c)), moments)
        parent = peer.getGround() if link["parent"] < 0 else bodies[int(link["parent"])]
        angles = Rotation.from_matrix(link["R"].reshape(3, 3)).as_euler("XYZ")
        place = osim.Vec3(*map(float, link["p"])), osim.Vec3(*map(float, angles))
        zero = osim.Vec3(0.0, 0.0, 0.0)
        kind = osim.FreeJoint if link["parent"] < 0 else osim.BallJoint
        joint = kind(f"j{i}", parent, *place, body, zero, zero)
        for k in range(joint.numCoordinates()):  # names must differ
            joint.upd_coordinates(k).setName(f"j{i}c{k}")
        peer.addBody(body)
        peer.addJoint(joint)
        bodies.append(body)
    peer.finalizeConnections()
    return peer


def test_single_support_agrees_with_opensim():
    analysis = walk()
    frames = np.flatnonzero(analysis.contacts.kinds == "left")[::25]
    stance = stance_of(analysis.model, analysis.motion, frames, "left", analysis.ankles["left"][frames])
    model, seen = stance.seen.model, stance.seen
    peer = twin(model)
    state = peer.initSystem()
    solver = osim.InverseDynamicsSolver(peer)
    order = speeds_order(peer, state)
    for k in range(len(frames)):
        slots = {}
        change = np.zeros(peer.getNumSpeeds())
        for i in range(model.n):
            q, v, a = seen.q[k, model.q_slice(i)], seen.v[k, model.v_slice(i)], seen.a[k, model.v_slice(i)]
            turn = Rotation.from_quat(q[-4:], scalar_first=True)
            angles, w, al = turn.as_euler("XYZ"), turn.apply(v[:3]), turn.apply(a[:3])
            values, speeds, changes = [*angles], [*w], [*al]
            if i == 0:  # OpenSim: everything in the world's axes
                linear = turn.apply(a[3:] + np.cross(v[:3], v[3:]))
                values, speeds, changes = [*angles, *q[:3]], [*w, *turn.apply(v[3:])], [*al, *linear]
            joint = peer.getJointSet().get(f"j{i}")
            for c, (x, u) in enumerate(zip(values, speeds, strict=True)):
                coordinate = joint.get_coordinates(c)
                coordinate.setValue(state, float(x), False)
                coordinate.setSpeedValue(state, float(u))
            slots[i] = (changes, turn)
        peer.realizeVelocity(state)
        for i, (changes, _) in slots.items():
            for c, x in enumerate(changes):
                change[order[f"j{i}c{c}"]] = x
        forces = solver.solve(state, osim.Vector.createFromMat(change)).to_numpy()
        for i, (_, turn) in slots.items():
            theirs = np.array([forces[order[f"j{i}c{c}"]] for c in range(6 if i == 0 else 3)])
            mine = stance.tau[k, model.v_slice(i)]
            mine = np.concatenate([turn.apply(mine[:3]), turn.apply(mine[3:])]) if i == 0 else turn.apply(mine)
            assert np.abs(theirs - mine).max() < 1e-8 * analysis.weight, model.joint_names[i]


def speeds_order(peer, state) -> dict[str, int]:
    """Where the speed of each coordinate is in OpenSim's vectors: give each another value, and look."""
    coordinates = peer.getCoordinateSet()
    for k in range(coordinates.getSize()):
        coordinates.get(k).setSpeedValue(state, float(k + 1))
    where = {round(x): k for k, x in enumerate(state.getU().to_numpy())}
    return {coordinates.get(k).getName(): where[k + 1] for k in range(coordinates.getSize())}
