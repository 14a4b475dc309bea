"""Dynamics of trees as Featherstone's book writes them: 6x6 matrices in body frames, one loop for one equation.

Only a model's constants are shared with kinemorph; kinemorph computes in world axes, with other accelerations.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation
from tests.naive.spatial import (
    force_cross,
    inertia_matrix,
    motion_cross,
    motion_transform,
    skew,
    sym_matrix,
)  # fmt: skip

from kinemorph import JointKind, Model

Array = np.ndarray


def turn(axis: Array, angle: float) -> Array:
    return Rotation.from_rotvec(angle * np.asarray(axis)).as_matrix()


def joint_motion(l: np.void, q: Array) -> tuple[Array, Array, Array]:
    """The joint's rotation, translation and motion subspace (6 x nv, in the link's frame)."""
    kind, a, b = JointKind(l["kind"]), l["axis"], l["axis2"]
    q = q[l["iq"] : l["iq"] + l["nq"]]
    zero, R, p = np.zeros(3), np.eye(3), np.zeros(3)
    columns: list[tuple[Array, Array]] = []
    if kind is JointKind.REVOLUTE:
        R, columns = turn(a, q[0]), [(a, zero)]
    elif kind is JointKind.PRISMATIC:
        p, columns = q[0] * a, [(zero, a)]
    elif kind is JointKind.SCREW:
        R, p, columns = turn(a, q[0]), l["pitch"] * q[0] * a, [(a, l["pitch"] * a)]
    elif kind is JointKind.CYLINDRICAL:
        R, p, columns = turn(a, q[0]), q[1] * a, [(a, zero), (zero, a)]
    elif kind is JointKind.UNIVERSAL:
        R, columns = turn(a, q[0]) @ turn(b, q[1]), [(turn(b, -q[1]) @ a, zero), (b, zero)]
    elif kind is JointKind.PLANAR:
        R, p = turn(a, q[2]), q[0] * b + q[1] * np.cross(a, b)
        columns = [(zero, R.T @ b), (zero, R.T @ np.cross(a, b)), (a, zero)]
    elif kind in (JointKind.SPHERICAL, JointKind.FREE):
        R = Rotation.from_quat(q[-4:], scalar_first=True).as_matrix()
        columns = [(e, zero) for e in np.eye(3)]
        if kind is JointKind.FREE:
            p = q[:3]
            columns += [(zero, e) for e in np.eye(3)]
    S = np.array([[*w, *v] for w, v in columns]).reshape(len(columns), 6).T
    return R, p, S


def subspace_rate(l: np.void, q: Array, v: Array) -> Array:
    """S̊ q̇: what the link's frame sees of the change of S (eq. 3.42). Most joints have a constant S."""
    kind, a, b = JointKind(l["kind"]), l["axis"], l["axis2"]
    q, v = q[l["iq"] : l["iq"] + l["nq"]], v[l["iv"] : l["iv"] + l["nv"]]
    if kind is JointKind.UNIVERSAL:
        first = turn(b, -q[1]) @ a
        return np.concatenate([v[0] * -v[1] * np.cross(b, first), np.zeros(3)])
    if kind is JointKind.PLANAR:
        along = turn(a, -q[2]) @ (v[0] * b + v[1] * np.cross(a, b))
        return np.concatenate([np.zeros(3), -v[2] * np.cross(a, along)])
    return np.zeros(6)


class Tree:
    """Transforms and subspaces of all links at one configuration."""

    def __init__(self, model: Model, q: Array) -> None:
        self.model = model
        self.q = np.asarray(q)
        self.parents = [int(p) for p in model.links["parent"]]
        self.dofs = [slice(int(l["iv"]), int(l["iv"] + l["nv"])) for l in model.links]
        self.X: list[Array] = []  # link_X_parent
        self.S: list[Array] = []
        self.I: list[Array] = []
        self.R: list[Array] = []  # world_R_link
        self.p: list[Array] = []
        for l, parent in zip(model.links, self.parents):
            R, p, S = joint_motion(l, self.q)
            R, p = l["R"].reshape(3, 3) @ R, l["p"] + l["R"].reshape(3, 3) @ p
            self.X.append(motion_transform(R, p))
            self.S.append(S)
            self.I.append(inertia_matrix(sym_matrix(l["I"]), l["h"], l["mass"]))
            base = parent < 0
            self.R.append(R if base else self.R[parent] @ R)
            self.p.append(p if base else self.p[parent] + self.R[parent] @ p)

    def jacobians(self) -> list[Array]:
        """Body Jacobians (6 x nv): J_i = i_X_parent J_parent, with the joint's own columns added."""
        J: list[Array] = []
        for i, parent in enumerate(self.parents):
            Ji = np.zeros((6, self.model.nv)) if parent < 0 else self.X[i] @ J[parent]
            Ji[:, self.dofs[i]] += self.S[i]
            J.append(Ji)
        return J

    def velocities(self, v: Array) -> list[Array]:
        return [J @ v for J in self.jacobians()]


def mass_matrix(model: Model, q: Array) -> Array:
    """Σ Jᵀ I J, and the armatures"""
    tree = Tree(model, q)
    terms = [J.T @ I @ J for J, I in zip(tree.jacobians(), tree.I)]
    return sum(terms, np.diag(model.dofs["armature"]))


def inverse_dynamics(model: Model, q: Array, v: Array, a: Array, external: Array | None = None) -> Array:
    """The recursive Newton-Euler algorithm (table 5.1), spatial accelerations and all."""
    tree = Tree(model, q)
    velocities = tree.velocities(v)
    accelerations: list[Array] = []
    forces: list[Array] = []
    for i, parent in enumerate(tree.parents):
        before = np.array([0.0, 0.0, 0.0, *-model.gravity]) if parent < 0 else accelerations[parent]
        joint = tree.S[i] @ v[tree.dofs[i]]
        rate = subspace_rate(model.links[i], tree.q, v)
        A = tree.X[i] @ before + tree.S[i] @ a[tree.dofs[i]] + rate + motion_cross(velocities[i]) @ joint
        accelerations.append(A)
        force = tree.I[i] @ A + force_cross(velocities[i]) @ tree.I[i] @ velocities[i]
        if external is not None:
            force = force - np.concatenate([tree.R[i].T @ external[i, :3], tree.R[i].T @ external[i, 3:]])
        forces.append(force)
    tau = model.dofs["armature"] * a
    for i in reversed(range(model.n)):
        tau[tree.dofs[i]] += tree.S[i].T @ forces[i]
        if tree.parents[i] >= 0:
            forces[tree.parents[i]] = forces[tree.parents[i]] + tree.X[i].T @ forces[i]
    return tau


def forward_dynamics(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Array:
    """a from M a = tau - bias"""
    bias = inverse_dynamics(model, q, v, np.zeros(model.nv), external)
    return np.linalg.solve(mass_matrix(model, q), tau - bias)


def point_jacobian(model: Model, q: Array, link: int, point: Array) -> Array:
    """6 x nv: angular velocity of a link and velocity of a point on it (link's axes), in world axes."""
    if link < 0:
        return np.zeros((6, model.nv))
    tree = Tree(model, q)
    J = tree.jacobians()[link]
    turned = np.kron(np.eye(2), tree.R[link]) @ J
    turned[3:] -= skew(tree.R[link] @ point) @ turned[:3]
    return turned


def momentum(model: Model, q: Array, v: Array) -> Array:
    """Angular (about the world's origin) and linear momentum, world axes: Σ Xᵀ I v"""
    tree = Tree(model, q)
    total = np.zeros(6)
    for R, p, I, velocity in zip(tree.R, tree.p, tree.I, tree.velocities(v)):
        total += motion_transform(R, p).T @ I @ velocity
    return total


def kinetic_energy(model: Model, q: Array, v: Array) -> float:
    return float(0.5 * v @ mass_matrix(model, q) @ v)


def centre_of_mass(model: Model, q: Array) -> Array:
    tree = Tree(model, q)
    moments = [l["mass"] * p + R @ l["h"] for l, R, p in zip(model.links, tree.R, tree.p)]
    return sum(moments, np.zeros(3)) / model.links["mass"].sum()
