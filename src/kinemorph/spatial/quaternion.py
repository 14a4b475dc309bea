"""Unit quaternions (w, x, y, z) as tuples: rotations of a child's vectors into its parent, with exponential and
logarithm of rotations and of rigid motions. None branches on a value, so all run on SIMD lanes too."""

from typing import TypeAlias

from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3
from kinemorph.spatial.scalar import atan2, sincos, sqrt, where
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross, dot, scale

Quat: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]

SERIES_ANGLE_SQUARED = 0.25  # squared angle below which a series replaces a quotient that cancels


@kernel
def to_matrix(q: Quat) -> Mat3:
    """The rotation matrix of a quaternion of any length: users' quaternions are not always unit. Zero gives NaN."""
    w, x, y, z = q
    s = 2.0 / (w * w + x * x + y * y + z * z)
    a, b, c = s * x, s * y, s * z
    return (
        1.0 - (b * y + c * z), a * y - c * w, a * z + b * w,
        a * y + c * w, 1.0 - (a * x + c * z), b * z - a * w,
        a * z - b * w, b * z + a * w, 1.0 - (a * x + b * y),
    )  # fmt: skip


@kernel
def from_matrix(R: Mat3) -> Quat:
    """The quaternion with w >= 0 of a rotation matrix, from the largest of its four squares (Shepperd)."""
    # 4 times the outer product of q with itself, row by row; every row is parallel to q, the longest is the safest
    ww, xx = 1.0 + R[0] + R[4] + R[8], 1.0 + R[0] - R[4] - R[8]
    yy, zz = 1.0 - R[0] + R[4] - R[8], 1.0 - R[0] - R[4] + R[8]
    wx, wy, wz = R[7] - R[5], R[2] - R[6], R[3] - R[1]
    xy, xz, yz = R[1] + R[3], R[2] + R[6], R[5] + R[7]
    use_x = xx > ww
    best = where(use_x, xx, ww)
    w, x, y, z = where(use_x, wx, ww), where(use_x, xx, wx), where(use_x, xy, wy), where(use_x, xz, wz)
    use_y = yy > best
    best = where(use_y, yy, best)
    w, x, y, z = where(use_y, wy, w), where(use_y, xy, x), where(use_y, yy, y), where(use_y, yz, z)
    use_z = zz > best
    w, x, y, z = where(use_z, wz, w), where(use_z, xz, x), where(use_z, yz, y), where(use_z, zz, z)
    return positive(normalized((w, x, y, z)))


@kernel
def positive(q: Quat) -> Quat:
    """Of the two quaternions of one rotation the one with w >= 0."""
    s = where(q[0] < 0.0, -1.0, 1.0)
    return (q[0] * s, q[1] * s, q[2] * s, q[3] * s)


@kernel
def normalized(q: Quat) -> Quat:
    s = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (q[0] * s, q[1] * s, q[2] * s, q[3] * s)


@kernel
def conjugate(q: Quat) -> Quat:
    return (q[0], -q[1], -q[2], -q[3])


@kernel
def multiply(a: Quat, b: Quat) -> Quat:
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def exp(phi: Vec3) -> Quat:
    """The rotation by |phi| about phi."""
    t2 = dot(phi, phi)
    s, c = sincos(0.5 * sqrt(t2))
    k = half_sinc(t2, s)
    return (c, k * phi[0], k * phi[1], k * phi[2])


@kernel
def half_sinc(t2: Scalar, s: Scalar) -> Scalar:
    """sin(t/2) / t for t² = t2, where s is sin(t/2)."""
    small = t2 < 1e-4
    series = 0.5 - t2 * (1.0 / 48.0 - t2 * (1.0 / 3840.0))
    return where(small, series, s / sqrt(where(small, 1.0, t2)))


@kernel
def log(q: Quat) -> Vec3:
    """The rotation vector of a unit quaternion, no longer than π."""
    w, x, y, z = positive(q)
    n2 = x * x + y * y + z * z
    small = n2 < 1e-8
    n = sqrt(where(small, 1.0, n2))
    k = where(small, 2.0 + n2 * (1.0 / 3.0), 2.0 * atan2(n, w) / n)  # to first order, w = 1 - n²/2
    return (k * x, k * y, k * z)


@kernel
def exp_shift(phi: Vec3, v: Vec3) -> Vec3:
    """Translation of exp [phi; v], a motion with rotation vector phi and linear part v."""
    t2 = dot(phi, phi)
    t = sqrt(t2)
    s, c = sincos(0.5 * t)
    k = half_sinc(t2, s)
    B = 2.0 * k * k  # (1 - cos t) / t²
    small = t2 < SERIES_ANGLE_SQUARED
    series = 1.0 / 6227020800.0 - t2 * (1.0 / 1307674368000.0)
    series = 1.0 / 5040.0 - t2 * (1.0 / 362880.0 - t2 * (1.0 / 39916800.0 - t2 * series))
    series = 1.0 / 6.0 - t2 * (1.0 / 120.0 - t2 * series)
    safe = where(small, 1.0, t2)
    C = where(small, series, (t - 2.0 * s * c) / (safe * sqrt(safe)))  # (t - sin t) / t³
    pv = cross(phi, v)
    return axpy(axpy(v, B, pv), C, cross(phi, pv))


@kernel
def log_shift(phi: Vec3, p: Vec3) -> Vec3:
    """The inverse of `exp_shift`: v for a translation p; |phi| below 2π."""
    t2 = dot(phi, phi)
    small = t2 < SERIES_ANGLE_SQUARED
    series = 1.0 / 47900160.0 + t2 * (691.0 / 1307674368000.0)
    series = 1.0 / 30240.0 + t2 * (1.0 / 1209600.0 + t2 * series)
    series = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * series)
    safe = where(small, 1.0, t2)
    half = 0.5 * sqrt(safe)
    s, c = sincos(half)
    D = where(small, series, (1.0 - half * c / s) / safe)  # (1 - t/2 cot t/2) / t²
    pp = cross(phi, p)
    return axpy(axpy(p, -0.5, pp), D, cross(phi, pp))


@kernel
def rotate(q: Quat, a: Vec3) -> Vec3:
    u = (q[1], q[2], q[3])
    t = scale(cross(u, a), 2.0)
    return add(axpy(a, q[0], t), cross(u, t))
