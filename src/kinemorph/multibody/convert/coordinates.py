"""Conversion rules for joint coordinates: from ours to another engine's and back.

A rule converts q to the engine's q, and v follows by v' = T(q) v, so a' = T a + Ṫ v, and tau' = T⁻ᵀ tau keeps the
power. All arrays may have leading dimensions; quaternions are w x y z until they are written for an engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinemorph.multibody.checks import Array
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.quaternion_arrays import normalize_all

WXYZ, XYZW, RPY = "wxyz", "xyzw", "rpy"  # how a rotation is written


class Same:
    """The same coordinates on both sides."""

    def q(self, q: Array) -> Array:
        return q

    def q_back(self, q: Array) -> Array:
        return q

    def T(self, q: Array) -> Array | None:
        """None stands for the identity."""
        return None

    def drift(self, q: Array, v: Array) -> Array | float:
        """Ṫ v"""
        return 0.0


class Circle(Same):
    """Angles, each written as cosine and sine."""

    def q(self, q: Array) -> Array:
        return np.stack([np.cos(q), np.sin(q)], axis=-1).reshape(*q.shape[:-1], -1)

    def q_back(self, q: Array) -> Array:
        return np.arctan2(q[..., 1::2], q[..., ::2])


class Planar(Same):
    """x, y, cosine and sine, with the velocity in the link's axes."""

    def q(self, q: Array) -> Array:
        return np.concatenate([q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:])], axis=-1)

    def q_back(self, q: Array) -> Array:
        return np.concatenate([q[..., :2], np.arctan2(q[..., 3:], q[..., 2:3])], axis=-1)

    def T(self, q: Array) -> Array:
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        T = np.zeros((*q.shape[:-1], 3, 3))
        T[..., 0, 0], T[..., 0, 1] = c, s
        T[..., 1, 0], T[..., 1, 1] = -s, c
        T[..., 2, 2] = 1.0
        return T

    def drift(self, q: Array, v: Array) -> Array:
        x, y, _ = np.moveaxis(apply_map(self.T(q), v), -1, 0)
        return v[..., 2:] * np.stack([y, -x, np.zeros_like(x)], axis=-1)


@dataclass(frozen=True)
class Spherical(Same):
    """A rotation. If the engine's link frame differs from ours, its joint frame is rotated in the same way."""

    name: str
    attitude: str
    outside: bool  # angular velocity in the axes of the parent's side, else in those of the link
    frame: Pose  # the engine's frame of the link, in ours

    @cached_property
    def turn(self) -> Array:
        return rotation_quaternion(self.frame.rotation)

    def q(self, q: Array) -> Array:
        turned = quaternion_product(quaternion_conjugate(self.turn), self.sane(q))
        return write_attitude(quaternion_product(turned, self.turn), self.attitude)

    def q_back(self, q: Array) -> Array:
        return quaternion_product(
            quaternion_product(self.turn, self.sane(read_attitude(q, self.attitude))), quaternion_conjugate(self.turn)
        )

    def T(self, q: Array) -> Array:
        return self.axes(q, self.outside)

    def axes(self, q: Array, outside: bool) -> Array:
        """Rotation from the link's axes into the axes of the engine's velocity."""
        R = rotation_matrix(self.sane(q))
        return R if outside else np.broadcast_to(self.frame.rotation.T, R.shape)

    def sane(self, x: Array) -> Array:
        if (x == 0.0).all(axis=-1).any():
            raise ValueError(f"joint {self.name!r}: its quaternion is zero")
        return x


@dataclass(frozen=True)
class Free(Spherical):
    """A pose. If the engine's q refers to the world, our joint frame is at `base` there."""

    base: Pose
    position_first: bool  # in q
    angular_first: bool  # in v
    linear_outside: bool  # as `outside`, for the linear velocity

    @cached_property
    def base_turn(self) -> Array:
        return rotation_quaternion(self.base.rotation)

    def q(self, q: Array) -> Array:
        x = self.sane(q[..., 3:])
        p = self.base.apply(q[..., :3] + rotation_matrix(x) @ self.frame.position)
        x = write_attitude(quaternion_product(quaternion_product(self.base_turn, x), self.turn), self.attitude)
        return np.concatenate([p, x] if self.position_first else [x, p], axis=-1)

    def q_back(self, q: Array) -> Array:
        n = len(self.attitude)
        p, x = (q[..., :3], q[..., 3:]) if self.position_first else (q[..., n:], q[..., :n])
        x = quaternion_product(
            quaternion_product(quaternion_conjugate(self.base_turn), self.sane(read_attitude(x, self.attitude))),
            quaternion_conjugate(self.turn),
        )
        p = (p - self.base.position) @ self.base.rotation - rotation_matrix(x) @ self.frame.position
        return np.concatenate([p, x], axis=-1)

    def T(self, q: Array) -> Array:
        x = q[..., 3:]
        angular, linear = (slice(3), slice(3, 6)) if self.angular_first else (slice(3, 6), slice(3))
        B = self.axes(x, self.linear_outside)
        T = np.zeros((*q.shape[:-1], 6, 6))
        T[..., angular, :3] = self.axes(x, self.outside)
        T[..., linear, :3] = B @ np.cross(self.frame.position, np.eye(3))  # the engine's origin c moves with v + w × c
        T[..., linear, 3:] = B
        return T

    def axes(self, q: Array, outside: bool) -> Array:
        A = super().axes(q, outside)
        return self.base.rotation @ A if outside else A

    def drift(self, q: Array, v: Array) -> Array | float:
        if not self.linear_outside:
            return 0.0
        w = v[..., :3]
        c = self.frame.position
        linear = apply_map(self.axes(q[..., 3:], True), np.cross(w, v[..., 3:] + np.cross(w, c)))
        none = np.zeros_like(linear)  # w × w
        return np.concatenate([none, linear] if self.angular_first else [linear, none], axis=-1)


# ------------------------------------------------------------------------------------------- arrays of matrices


def apply_map(T: Array | None, x: Array) -> Array:
    return x if T is None else (T @ x[..., None])[..., 0]


def solve_map(T: Array | None, x: Array) -> Array:
    return x if T is None else np.asarray(np.linalg.solve(T, x[..., None]), dtype=np.float64)[..., 0]


def transpose_map(T: Array | None) -> Array | None:
    return None if T is None else np.swapaxes(T, -1, -2)


# ---------------------------------------------------------------------------------------- arrays of quaternions


def quaternion_product(x: Array, y: Array) -> Array:
    a, b = x[..., :1], y[..., :1]
    u, v = x[..., 1:], y[..., 1:]
    return np.concatenate([a * b - (u * v).sum(axis=-1, keepdims=True), a * v + b * u + np.cross(u, v)], axis=-1)


def quaternion_conjugate(x: Array) -> Array:
    return x * np.array([1.0, -1.0, -1.0, -1.0])


def rotation_matrix(x: Array) -> Array:
    """The rotation matrices of quaternions of any length."""
    x = normalize_all(x)
    w, u = x[..., :1, None], x[..., 1:]
    K = np.cross(np.eye(3), u[..., None, :])  # K a = u × a
    return np.eye(3) + 2.0 * (w * K + K @ K)


def rotation_quaternion(R: Array) -> Array:
    """The quaternion of one rotation matrix."""
    K = np.empty((4, 4))  # 4 times the quaternion's product with its own transpose: all rows are parallel to it
    K[0, 0] = 1.0 + np.trace(R)
    K[0, 1:] = K[1:, 0] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[1:, 1:] = R + R.T + np.eye(3) * (1.0 - np.trace(R))
    x: Array = K[np.argmax(np.diag(K))]
    return x / float(np.linalg.norm(x))


def write_attitude(x: Array, attitude: str) -> Array:
    """Write quaternions as rotations in an engine's convention."""
    if attitude != RPY:
        return x if attitude == WXYZ else np.roll(x, -1, axis=-1)
    R = rotation_matrix(x)
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
    return np.stack([np.arctan2(R[..., 2, 1], R[..., 2, 2]), pitch, np.arctan2(R[..., 1, 0], R[..., 0, 0])], axis=-1)


def read_attitude(x: Array, attitude: str) -> Array:
    """Quaternions from rotations in an engine's convention."""
    if attitude != RPY:
        return x if attitude == WXYZ else np.roll(x, 1, axis=-1)
    about = np.zeros((3, *x.shape[:-1], 4))  # roll about x, then pitch about y, then yaw about z
    for k in range(3):
        about[k, ..., 0], about[k, ..., k + 1] = np.cos(0.5 * x[..., k]), np.sin(0.5 * x[..., k])
    return quaternion_product(about[2], quaternion_product(about[1], about[0]))
