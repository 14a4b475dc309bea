"""Spatial algebra as Featherstone's book writes it: 6x6 matrices, angular first."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def skew(a: Array) -> Array:
    """[a]×, so that [a]× b = a × b"""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def sym_matrix(S: Array) -> Array:
    """The 3x3 matrix of (xx, xy, xz, yy, yz, zz)."""
    xx, xy, xz, yy, yz, zz = S
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def motion_transform(R: Array, p: Array) -> Array:
    """child_X_parent of motion vectors, for a child with axes R and origin p in its parent (eq. 2.24)."""
    E = R.T
    return np.block([[E, np.zeros((3, 3))], [-E @ skew(p), E]])


def inertia_matrix(I: Array, h: Array, m: float) -> Array:
    """6x6 inertia with second moment I and first moment h about the origin (eq. 2.63)."""
    return np.block([[I, skew(h)], [skew(h).T, m * np.eye(3)]])


def motion_cross(v: Array) -> Array:
    """v× on motion vectors (eq. 2.31)"""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def force_cross(v: Array) -> Array:
    """v×* on force vectors (eq. 2.32)"""
    return -motion_cross(v).T


def homogeneous(R: Array, p: Array) -> Array:
    """4x4 matrix of a pose."""
    X = np.eye(4)
    X[:3, :3] = np.reshape(R, (3, 3))
    X[:3, 3] = p
    return X


def hat(twist: Array) -> Array:
    """4x4 matrix of a motion vector, so that expm(hat(twist)) is the motion."""
    X = np.zeros((4, 4))
    X[:3, :3] = skew(twist[:3])
    X[:3, 3] = twist[3:]
    return X


def vee(X: Array) -> Array:
    """The motion vector of a 4x4 matrix that is nearly a hat."""
    W = 0.5 * (X[:3, :3] - X[:3, :3].T)
    return np.array([W[2, 1], W[0, 2], W[1, 0], *X[:3, 3]])
