"""Lower triangular 3x3 matrices as tuples, `Tri3`: (xx, yx, yy, zx, zy, zz), row by row."""

from typing import TypeAlias

from kinemorph.jit.api import kernel
from kinemorph.spatial.fused import fma
from kinemorph.spatial.mat3 import Sym3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Scalar, Vec3

Tri3: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]


@kernel
def cholesky(S: Sym3) -> Tri3:
    """L with S = L Lᵀ; entries that are not numbers if S is not positive definite."""
    xx = sqrt(S[0])
    yx, zx = S[1] / xx, S[2] / xx
    yy = sqrt(fma(-yx, yx, S[3]))
    zy = fma(-zx, yx, S[4]) / yy
    return (xx, yx, yy, zx, zy, sqrt(fma(-zy, zy, fma(-zx, zx, S[5]))))


@kernel
def inverse(L: Tri3) -> Tri3:
    x, y, z = 1.0 / L[0], 1.0 / L[2], 1.0 / L[5]
    yx = -y * L[1] * x
    return (x, yx, y, -z * fma(L[4], yx, L[3] * x), -z * L[4] * y, z)


@kernel
def tri_vec(L: Tri3, b: Vec3) -> Vec3:
    """L b"""
    return (L[0] * b[0], fma(L[2], b[1], L[1] * b[0]), fma(L[5], b[2], fma(L[4], b[1], L[3] * b[0])))


@kernel
def tri_tvec(L: Tri3, b: Vec3) -> Vec3:
    """Lᵀ b"""
    return (fma(L[3], b[2], fma(L[1], b[1], L[0] * b[0])), fma(L[4], b[2], L[2] * b[1]), L[5] * b[2])
