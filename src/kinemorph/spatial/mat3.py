"""3x3 matrices as tuples: `Mat3` is nine numbers row by row, `Sym3` is (xx, xy, xz, yy, yz, zz)."""

from typing import TypeAlias

from kinemorph._jit import kernel
from kinemorph.spatial.vec3 import Scalar, Vec3

Mat3: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Sym3: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

IDENTITY: Mat3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def mul(A: Mat3, B: Mat3) -> Mat3:
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@kernel
def mul_vec(A: Mat3, b: Vec3) -> Vec3:
    return (
        A[0] * b[0] + A[1] * b[1] + A[2] * b[2],
        A[3] * b[0] + A[4] * b[1] + A[5] * b[2],
        A[6] * b[0] + A[7] * b[1] + A[8] * b[2],
    )


@kernel
def tmul_vec(A: Mat3, b: Vec3) -> Vec3:
    """Aᵀ b"""
    return (
        A[0] * b[0] + A[3] * b[1] + A[6] * b[2],
        A[1] * b[0] + A[4] * b[1] + A[7] * b[2],
        A[2] * b[0] + A[5] * b[1] + A[8] * b[2],
    )


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
        A[0] + B[0],
        A[1] + B[1],
        A[2] + B[2],
        A[3] + B[3],
        A[4] + B[4],
        A[5] + B[5],
        A[6] + B[6],
        A[7] + B[7],
        A[8] + B[8],
    )


@kernel
def cross_sym(a: Vec3, S: Sym3) -> Mat3:
    """[a]× S"""
    return (
        a[1] * S[2] - a[2] * S[1],
        a[1] * S[4] - a[2] * S[3],
        a[1] * S[5] - a[2] * S[4],
        a[2] * S[0] - a[0] * S[2],
        a[2] * S[1] - a[0] * S[4],
        a[2] * S[2] - a[0] * S[5],
        a[0] * S[1] - a[1] * S[0],
        a[0] * S[3] - a[1] * S[1],
        a[0] * S[4] - a[1] * S[2],
    )


@kernel
def sub_outer(A: Mat3, a: Vec3, b: Vec3) -> Mat3:
    """A - a bᵀ"""
    return (
        A[0] - a[0] * b[0],
        A[1] - a[0] * b[1],
        A[2] - a[0] * b[2],
        A[3] - a[1] * b[0],
        A[4] - a[1] * b[1],
        A[5] - a[1] * b[2],
        A[6] - a[2] * b[0],
        A[7] - a[2] * b[1],
        A[8] - a[2] * b[2],
    )


@kernel
def sym_vec(S: Sym3, b: Vec3) -> Vec3:
    return (
        S[0] * b[0] + S[1] * b[1] + S[2] * b[2],
        S[1] * b[0] + S[3] * b[1] + S[4] * b[2],
        S[2] * b[0] + S[4] * b[1] + S[5] * b[2],
    )


@kernel
def add6(A: Sym3, B: Sym3) -> Sym3:
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


@kernel
def sub_outer_sym(S: Sym3, a: Vec3, b: Vec3) -> Sym3:
    """S - a bᵀ where a and b are parallel, so that the result is symmetric"""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[0] * b[1],
        S[2] - a[0] * b[2],
        S[3] - a[1] * b[1],
        S[4] - a[1] * b[2],
        S[5] - a[2] * b[2],
    )


@kernel
def rotate_sym(R: Mat3, S: Sym3) -> Sym3:
    """R S Rᵀ"""
    a = sym_vec(S, (R[0], R[1], R[2]))
    b = sym_vec(S, (R[3], R[4], R[5]))
    c = sym_vec(S, (R[6], R[7], R[8]))
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
        R[3] * b[0] + R[4] * b[1] + R[5] * b[2],
        R[6] * b[0] + R[7] * b[1] + R[8] * b[2],
        R[6] * c[0] + R[7] * c[1] + R[8] * c[2],
    )
