"""Coordinates of a joint as it was declared, whichever of its two links it carries now.

An edit may invert a joint: it then carries the link that it was declared on (`turned` of its LINK row), and its part of
the state is that of the inverse motion. Code that reads or drives a single joint by name or id (readings, events,
drives, senses, tasks) uses the joint as declared, between the same two bodies, through these functions. Code for a
whole tree, such as limits and springs, uses the rows of the tree, which edits have inverted with the joint.

A degree of freedom as declared is a combination of the link's present ones in joints whose axes turn with the link (a
ball, a free joint, the distances of a planar one).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinemorph.jit.api import entry, kernel
from kinemorph.multibody.algorithms.inversion import inverse_force, inverse_position, inverse_velocity
from kinemorph.multibody.algorithms.joints import FREE, PLANAR, SPHERICAL, UNIVERSAL
from kinemorph.spatial.mat3 import Mat3, tmul_vec
from kinemorph.spatial.quaternion import to_matrix
from kinemorph.spatial.rows import load3_at, load4_at
from kinemorph.spatial.scalar import sincos
from kinemorph.spatial.vec3 import Vec3, cross, neg

Array = NDArray[np.float64]
Six = tuple[float, float, float, float, float, float]
ZERO = (0.0, 0.0, 0.0)


@kernel
def joint_sign(link: Any) -> float:
    """The sign of angles and distances of a joint: -1 if it is inverted, else 1."""
    return -1.0 if link["turned"] != 0 else 1.0


@kernel
def declared_dof(link: Any, dof: int) -> int:
    """Index of a declared degree of freedom among those of the link: an inverted universal joint swaps its axes."""
    return 1 - dof if link["turned"] != 0 and link["kind"] == UNIVERSAL else dof


@kernel
def is_mixed(link: Any, dof: int) -> bool:
    """Whether a declared degree of freedom is a combination (`mixture`) of the link's present ones."""
    kind = link["kind"]
    return link["turned"] != 0 and (kind == SPHERICAL or kind == FREE or (kind == PLANAR and dof < 2))


@kernel
def declared_position(link: Any, q: Any, index: int) -> float:
    """Entry k of the declared position of a joint, from the q of its tree."""
    return inverse_position(link["kind"], q, link["iq"], index) if link["turned"] != 0 else q[link["iq"] + index]


@kernel
def declared_velocity(link: Any, q: Any, v: Any, index: int) -> float:
    """Entry k of the declared velocity of a joint, from the state of its tree."""
    if link["turned"] != 0:
        return inverse_velocity(link["kind"], q, link["iq"], v, link["iv"], index)
    return v[link["iv"] + index]


@kernel
def declared_force(link: Any, q: Any, tau: Any, index: int) -> float:
    """Entry k of the declared forces of a joint, from the tau of its tree."""
    if link["turned"] != 0:
        return inverse_force(link["kind"], q, link["iq"], tau, link["iv"], index)
    return tau[link["iv"] + index]


@kernel
def unit_axis(index: int) -> Vec3:
    return (1.0 if index == 0 else 0.0, 1.0 if index == 1 else 0.0, 1.0 if index == 2 else 0.0)


@kernel
def declared_dof_weights(link: Any, q: Any, index: int) -> Six:
    """Weights of the link's present velocities in a mixed declared one; also its unit force in the link's forces.

    Entry k of the declared velocity is the product of these numbers and the joint's present velocity.
    """
    i = link["iq"]
    if link["kind"] == PLANAR:
        s, c = sincos(q[i + 2])
        if index == 0:
            return -c, -s, inverse_position(PLANAR, q, i, 1), 0.0, 0.0, 0.0
        return s, -c, -inverse_position(PLANAR, q, i, 0), 0.0, 0.0, 0.0
    R: Mat3 = to_matrix(load4_at(q, i if link["kind"] == SPHERICAL else i + 3))
    if index < 3:
        n, f = neg(tmul_vec(R, unit_axis(index))), ZERO
    else:
        e = unit_axis(index - 3)
        n, f = neg(tmul_vec(R, cross(e, load3_at(q, i)))), neg(tmul_vec(R, e))
    return n[0], n[1], n[2], f[0], f[1], f[2]


@kernel
def declared_velocity_drift(link: Any, q: Any, v: Any, index: int) -> float:
    """Rate of a mixed declared velocity while the link's velocities are constant, because its directions turn."""
    if link["kind"] != PLANAR:  # for a ball the turning parts cancel
        return 0.0
    i, j = link["iq"], link["iv"]
    s, c = sincos(q[i + 2])
    dx, dy, w = v[j], v[j + 1], v[j + 2]
    if index == 0:
        return w * (s * dx - c * dy) + w * inverse_velocity(PLANAR, q, i, v, j, 1)
    return w * (c * dx + s * dy) - w * inverse_velocity(PLANAR, q, i, v, j, 0)


@entry
def invert_joint_state(kind: int, nq: int, nv: int, numbers: NDArray[np.float64]) -> int:
    """Invert a joint's q and v, at entries 0 and 7, into entries 13 and 20."""
    for k in range(nq):
        numbers[13 + k] = inverse_position(kind, numbers, 0, k)
    for k in range(nv):
        numbers[20 + k] = inverse_velocity(kind, numbers, 0, numbers, 7, k)
    return 0


def as_declared(link: Any, q: Array, v: Array) -> tuple[Array, Array]:
    """Declared position and velocity of a joint from those of its link, or the other way: copies."""
    if not link["turned"]:
        return q.copy(), v.copy()
    numbers, nq, nv = np.zeros(26), len(q), len(v)
    numbers[:nq], numbers[7 : 7 + nv] = q, v
    invert_joint_state(int(link["kind"]), nq, nv, numbers)
    return numbers[13 : 13 + nq].copy(), numbers[20 : 20 + nv].copy()


def joint_signs(links: Any) -> Array:
    """The sign of the joint of each link (-1.0 for inverted ones)."""
    return np.where(links["turned"] != 0, -1.0, 1.0)
