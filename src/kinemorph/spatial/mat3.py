"""3x3 matrices as tuples: `Mat3` is nine numbers row by row, `Sym3` is (xx, xy, xz, yy, yz, zz)."""

from typing import TypeAlias

from kinemorph.jit.api import kernel
from kinemorph.spatial.fused import fma
from kinemorph.spatial.vec3 import Scalar, Vec3, dot

Mat3: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Sym3: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

IDENTITY: Mat3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def rows(A: Mat3) -> tuple[Vec3, Vec3, Vec3]:
    return (A[0], A[1], A[2]), (A[3], A[4], A[5]), (A[6], A[7], A[8])


@kernel
def columns(A: Mat3) -> tuple[Vec3, Vec3, Vec3]:
    return (A[0], A[3], A[6]), (A[1], A[4], A[7]), (A[2], A[5], A[8])


@kernel
def mul(A: Mat3, B: Mat3) -> Mat3:
    r, s, t = rows(A)
    x, y, z = columns(B)
    return (dot(r, x), dot(r, y), dot(r, z), dot(s, x), dot(s, y), dot(s, z), dot(t, x), dot(t, y), dot(t, z))


@kernel
def mul_vec(A: Mat3, b: Vec3) -> Vec3:
    r, s, t = rows(A)
    return (dot(r, b), dot(s, b), dot(t, b))


@kernel
def tmul_vec(A: Mat3, b: Vec3) -> Vec3:
    """Aᵀ b"""
    x, y, z = columns(A)
    return (dot(x, b), dot(y, b), dot(z, b))


@kernel
def transpose(A: Mat3) -> Mat3:
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@kernel
def skew(a: Vec3) -> Mat3:
    """[a]×, so that [a]× b = a × b"""
    return (0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0)


@kernel
def add9(A: Mat3, B: Mat3) -> Mat3:
    return (
        A[0] + B[0], A[1] + B[1], A[2] + B[2],
        A[3] + B[3], A[4] + B[4], A[5] + B[5],
        A[6] + B[6], A[7] + B[7], A[8] + B[8],
    )  # fmt: skip


@kernel
def cross_sym(a: Vec3, S: Sym3) -> Mat3:
    """[a]× S"""
    return (
        fma(a[1], S[2], -(a[2] * S[1])), fma(a[1], S[4], -(a[2] * S[3])), fma(a[1], S[5], -(a[2] * S[4])),
        fma(a[2], S[0], -(a[0] * S[2])), fma(a[2], S[1], -(a[0] * S[4])), fma(a[2], S[2], -(a[0] * S[5])),
        fma(a[0], S[1], -(a[1] * S[0])), fma(a[0], S[3], -(a[1] * S[1])), fma(a[0], S[4], -(a[1] * S[2])),
    )  # fmt: skip


@kernel
def sub_outer(A: Mat3, a: Vec3, b: Vec3) -> Mat3:
    """A - a bᵀ"""
    return (
        fma(-a[0], b[0], A[0]), fma(-a[0], b[1], A[1]), fma(-a[0], b[2], A[2]),
        fma(-a[1], b[0], A[3]), fma(-a[1], b[1], A[4]), fma(-a[1], b[2], A[5]),
        fma(-a[2], b[0], A[6]), fma(-a[2], b[1], A[7]), fma(-a[2], b[2], A[8]),
    )  # fmt: skip


@kernel
def sym_vec(S: Sym3, b: Vec3) -> Vec3:
    return (dot((S[0], S[1], S[2]), b), dot((S[1], S[3], S[4]), b), dot((S[2], S[4], S[5]), b))


@kernel
def add6(A: Sym3, B: Sym3) -> Sym3:
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


@kernel
def sub_outer_sym(S: Sym3, a: Vec3, b: Vec3) -> Sym3:
    """S - a bᵀ where a and b are parallel, so that the result is symmetric"""
    return (
        fma(-a[0], b[0], S[0]), fma(-a[0], b[1], S[1]), fma(-a[0], b[2], S[2]),
        fma(-a[1], b[1], S[3]), fma(-a[1], b[2], S[4]), fma(-a[2], b[2], S[5]),
    )  # fmt: skip


@kernel
def rotate_sym(R: Mat3, S: Sym3) -> Sym3:
    """R S Rᵀ"""
    r, s, t = rows(R)
    x, y, z = sym_vec(S, r), sym_vec(S, s), sym_vec(S, t)
    return (dot(r, x), dot(s, x), dot(t, x), dot(s, y), dot(t, y), dot(t, z))
