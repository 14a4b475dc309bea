"""Closed chains the slow way: dense matrices, joints of loops as unknowns, every equation solved at once.

Nothing is shared with `kinemorph.constraint` but the constants of loops: joints come from `tests.naive.dynamics`, the
motion of points from the functions for trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from tests.naive.dynamics import joint_motion, subspace_rate
from tests.strategies import Rng, random_joint, random_pose

import kinemorph as km

Array = np.ndarray


class Closed(NamedTuple):
    """A model in a state with closed loops; q_loops are the positions of the loop joints."""

    model: km.Model
    q: Array
    v: Array
    q_loops: Array


class Pieces(NamedTuple):
    """J θ̇ = 0 for all joints, those of the loops last (N&Y eq. 11), and J̇ θ̇."""

    J: Array
    drift: Array


def closed_at(rng: Rng, model: km.Model, q: Array, links: list[tuple[int, int, km.Joint]]) -> Closed:
    """Loops between given links, placed so that they are closed at q with their joints anywhere, and a v to match."""
    data = km.Data(model)
    km.kinematics(model, data, q)
    loops, q_loops = [], []
    for i, (a, b, joint) in enumerate(links):
        at_b = random_pose(rng, 0.3)
        x = rng.normal(size=joint.nq)
        x[-4:] /= np.linalg.norm(x[-4:]) if joint.nq in (4, 7) else 1.0
        row = model.with_loops([km.Loop(a, b, joint)]).loop_rows[0]
        R, p, _ = joint_motion(row, x)
        predecessor = km.pose_of(model, data, b) @ at_b @ km.Pose(p, R).inverse()
        loops.append(km.Loop(a, b, joint, km.pose_of(model, data, a).inverse() @ predecessor, at_b, f"closes {i}"))
        q_loops.append(x)
    closed = Closed(model.with_loops(loops), q, np.zeros(model.nv), np.concatenate([*q_loops, []]))
    free = scipy.linalg.null_space(pieces(closed).J, rcond=1e-10)
    v = free @ rng.normal(size=free.shape[1])
    return closed._replace(v=v[: model.nv])


def random_closed(rng: Rng, model: km.Model, kinds: list[km.JointKind]) -> Closed:
    """Loops of the given kinds between random links of a tree, or a link and the base."""
    links = []
    for kind in kinds:
        a, b = rng.choice(np.arange(-1, model.n), 2, replace=False)
        links.append((int(a), int(b), random_joint(rng, kind)))
    return closed_at(rng, model, km.random_configuration(model, rng), links)


def pieces(closed: Closed) -> Pieces:
    model, q, v, q_loops = closed
    data = km.Data(model)
    km.kinematics(model, data, q, v)
    place = {i: km.pose_of(model, data, i) for i in range(-1, model.n)}
    w = {i: km.velocity_of(model, data, i)[:3] for i in range(-1, model.n)}
    J = np.zeros((6 * len(model.loop_rows), model.nv + model.loop_nv))
    drift = np.zeros(len(J))
    for i, loop in enumerate(model.loop_rows):
        a, b = int(loop["a"]), int(loop["b"])
        rows, columns = slice(6 * i, 6 * i + 6), slice(model.nv + loop["iv"], model.nv + loop["iv"] + loop["nv"])
        successor = place[b] @ km.Pose(loop["pb"], loop["Rb"].reshape(3, 3))
        x, R = successor.position, successor.rotation
        on = {link: place[link].inverse().apply(x) for link in (a, b)}
        J[rows, : model.nv] = km.jacobian(model, data, q, b, on[b]) - km.jacobian(model, data, q, a, on[a])
        S = np.kron(np.eye(2), R) @ joint_motion(loop, q_loops)[2]
        J[rows, columns] = -S
        relative = J[rows, : model.nv] @ v
        x_loop = np.linalg.lstsq(S, relative, rcond=None)[0] if S.size else np.zeros(0)
        velocities = np.zeros(model.loop_nv)
        velocities[loop["iv"] : loop["iv"] + loop["nv"]] = x_loop
        own = S @ x_loop
        turning = np.concatenate([np.cross(w[b], own[:3]), np.cross(w[b], own[3:])])
        turning += np.kron(np.eye(2), R) @ subspace_rate(loop, q_loops, velocities)
        # x slides over link a while it moves with link b
        sliding = np.concatenate([np.zeros(3), np.cross(w[a], relative[3:])])
        drift[rows] = (
            km.jacobian_drift(model, data, q, v, b, on[b]) - km.jacobian_drift(model, data, q, v, a, on[a])
            - sliding - turning
        )  # fmt: skip
    return Pieces(J, drift)


def kkt(closed: Closed, tau: Array, external: Array | None = None) -> Array:
    """Accelerations of all joints: M a + h = tau + Jᵀ λ, J a = - J̇ θ̇, joints of loops without mass; least squares."""
    model = closed.model
    data = km.Data(model)
    J, drift = pieces(closed)
    n, nv = J.shape[1], model.nv
    M = np.zeros((n, n))
    M[:nv, :nv] = km.crba(model, data, closed.q)
    h = np.zeros(n)
    forces = np.zeros((model.n, 6)) if external is None else external
    h[:nv] = tau - km.rnea(model, data, closed.q, closed.v, np.zeros(nv), forces)
    K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    return np.linalg.lstsq(K, np.concatenate([h, -drift]), rcond=1e-11)[0][:nv]


def unit_vectors(closed: Closed, coordinates: km.Coordinates, tau: Array) -> Array:
    """Forward dynamics by inverse dynamics with unit accelerations (N&Y section III-B)."""
    model, q, v, _ = closed
    data = km.Data(model)
    J, drift = pieces(closed)
    bias = np.zeros(J.shape[1])
    dependent = list(coordinates.dependent)
    bias[dependent] = np.linalg.lstsq(J[:, dependent], -drift, rcond=1e-11)[0]  # eq. 21
    W, start = coordinates.W, bias[: model.nv]
    b = W.T @ km.rnea(model, data, q, v, start)  # step 2
    columns = [W.T @ km.rnea(model, data, q, v, W @ e + start) - b for e in np.eye(W.shape[1])]  # step 3
    A = np.array(columns).T.reshape(W.shape[1], W.shape[1])
    return W @ np.linalg.solve(A, W.T @ tau - b) + start  # eqs. 24 and 18
