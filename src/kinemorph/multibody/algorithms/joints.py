"""The nine kinds of joint: transform, motion subspace and bias acceleration."""

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.multibody.layout import JointKind
from kinemorph.spatial.fused import fma
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec, tmul_vec
from kinemorph.spatial.quaternion import to_matrix
from kinemorph.spatial.rows import get, load3, load3_at, load4_at, load9
from kinemorph.spatial.scalar import sincos
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross, scale

FIXED = int(JointKind.FIXED)
REVOLUTE = int(JointKind.REVOLUTE)
PRISMATIC = int(JointKind.PRISMATIC)
SCREW = int(JointKind.SCREW)
CYLINDRICAL = int(JointKind.CYLINDRICAL)
UNIVERSAL = int(JointKind.UNIVERSAL)
PLANAR = int(JointKind.PLANAR)
SPHERICAL = int(JointKind.SPHERICAL)
FREE = int(JointKind.FREE)


@kernel
def axis_rotation(a: Vec3, angle: Scalar) -> Mat3:
    s, c = sincos(angle)
    k = 1.0 - c
    x, y, z = a[0] * k, a[1] * k, a[2] * k
    return (
        c + x * a[0], x * a[1] - s * a[2], x * a[2] + s * a[1],
        y * a[0] + s * a[2], c + y * a[1], y * a[2] - s * a[0],
        z * a[0] - s * a[1], z * a[1] + s * a[0], c + z * a[2],
    )  # fmt: skip


@kernel
def rotate_about_axis(link: Any, angle: Scalar) -> Mat3:
    """Tree rotation followed by a rotation about the joint's axis, from the constants R, Rc and Rs of the row."""
    s, c = sincos(angle)
    k = c - 1.0
    R = link["R"]
    C = link["Rc"]
    S = link["Rs"]
    return (
        fma(s, S[0], fma(k, C[0], R[0])), fma(s, S[1], fma(k, C[1], R[1])), fma(s, S[2], fma(k, C[2], R[2])),
        fma(s, S[3], fma(k, C[3], R[3])), fma(s, S[4], fma(k, C[4], R[4])), fma(s, S[5], fma(k, C[5], R[5])),
        fma(s, S[6], fma(k, C[6], R[6])), fma(s, S[7], fma(k, C[7], R[7])), fma(s, S[8], fma(k, C[8], R[8])),
    )  # fmt: skip


@kernel
def joint_transform(link: Any, q: Any) -> tuple[Mat3, Vec3]:
    """Rotation and position of the link in its parent's frame (SPW eq. 8: tree transform, then joint)."""
    kind = link["kind"]
    k = link["iq"]
    p = load3(link["p"])
    if kind == REVOLUTE:
        return rotate_about_axis(link, get(q, k)), p
    R = load9(link["R"])
    a = load3(link["axis"])
    if kind == FREE:
        return mul(R, to_matrix(load4_at(q, k + 3))), add(p, mul_vec(R, load3_at(q, k)))
    if kind == SPHERICAL:
        return mul(R, to_matrix(load4_at(q, k))), p
    if kind == PRISMATIC:
        return R, axpy(p, get(q, k), mul_vec(R, a))
    if kind == FIXED:
        return R, p
    # one call for all remaining kinds, for small code
    turned = rotate_about_axis(link, get(q, k + 2 if kind == PLANAR else k))
    if kind == SCREW:
        return turned, axpy(p, link["pitch"] * get(q, k), mul_vec(R, a))
    if kind == CYLINDRICAL:
        return turned, axpy(p, get(q, k + 1), mul_vec(R, a))
    if kind == UNIVERSAL:
        return mul(turned, axis_rotation(load3(link["axis2"]), get(q, k + 1))), p
    e = load3(link["axis2"])  # planar
    shift = axpy(scale(e, get(q, k)), get(q, k + 1), cross(a, e))
    return turned, add(p, mul_vec(R, shift))


@kernel
def subspace_column(link: Any, q: Any, index: int) -> tuple[Vec3, Vec3]:
    """One column of the motion subspace (angular, linear), in the link's frame at its origin."""
    kind = link["kind"]
    a = load3(link["axis"])
    zero = (0.0, 0.0, 0.0)
    if kind == REVOLUTE:
        return a, zero
    if kind == PRISMATIC:
        return zero, a
    if kind == SCREW:
        return a, scale(a, link["pitch"])
    if kind == CYLINDRICAL:
        if index == 0:
            return a, zero
        return zero, a
    if kind == UNIVERSAL:
        b = load3(link["axis2"])
        if index == 0:  # the first axis is fixed in the parent
            return tmul_vec(axis_rotation(b, get(q, link["iq"] + 1)), a), zero
        return b, zero
    if kind == PLANAR:
        if index == 2:
            return a, zero
        e = load3(link["axis2"])
        d = e if index == 0 else cross(a, e)  # fixed in the parent
        return zero, tmul_vec(axis_rotation(a, get(q, link["iq"] + 2)), d)
    e = (1.0 if index % 3 == 0 else 0.0, 1.0 if index % 3 == 1 else 0.0, 1.0 if index % 3 == 2 else 0.0)
    if index < 3:
        return e, zero
    return zero, e


@kernel
def bias_acceleration(link: Any, q: Any, v: Any) -> tuple[Vec3, Vec3]:
    """Relative acceleration (angular, of the origin) at constant v, link frame: nonzero for two kinds."""
    k = link["iv"]
    zero = (0.0, 0.0, 0.0)
    if link["kind"] == UNIVERSAL:
        first, _ = subspace_column(link, q, 0)
        return scale(cross(first, load3(link["axis2"])), get(v, k) * get(v, k + 1)), zero
    if link["kind"] == FREE:
        return zero, cross(load3_at(v, k), load3_at(v, k + 3))
    return zero, zero
