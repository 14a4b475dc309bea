"""Rigid and articulated inertias in world axes, seen from a point.

A rigid inertia is (I, h, m): second moment `I` (Sym3) and first moment `h` (Vec3) about the point, and the mass.
An articulated inertia is (A, H, M) and maps acceleration to force: [n; f] = [[A, H], [Hᵀ, M]] [α; a].
Shifting to another point needs no rotation, because the axes are the world's everywhere: this is what makes the
passes of `multibody` cheap.
"""

from kinemorph.jit.api import kernel
from kinemorph.spatial.fused import fma
from kinemorph.spatial.mat3 import Mat3, Sym3, add9, cross_sym, mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross, dot


@kernel
def shift_articulated(r: Vec3, A: Sym3, H: Mat3, M: Sym3) -> tuple[Sym3, Mat3, Sym3]:
    """The inertia seen from a point at -r: A - K[r]× + [r]×Hᵀ, K = H + [r]×M, M."""
    K = add9(H, cross_sym(r, M))
    A_shifted = (
        fma(K[2], r[1], fma(-K[1], r[2], fma(r[1], H[2], fma(-r[2], H[1], A[0])))),
        fma(K[0], r[2], fma(-K[2], r[0], fma(r[1], H[5], fma(-r[2], H[4], A[1])))),
        fma(K[1], r[0], fma(-K[0], r[1], fma(r[1], H[8], fma(-r[2], H[7], A[2])))),
        fma(K[3], r[2], fma(-K[5], r[0], fma(r[2], H[3], fma(-r[0], H[5], A[3])))),
        fma(K[4], r[0], fma(-K[3], r[1], fma(r[2], H[6], fma(-r[0], H[8], A[4])))),
        fma(K[7], r[0], fma(-K[6], r[1], fma(r[0], H[7], fma(-r[1], H[6], A[5])))),
    )
    return A_shifted, K, M


@kernel
def shift_rigid(r: Vec3, I: Sym3, h: Vec3, m: Scalar) -> tuple[Sym3, Vec3]:
    """The moments seen from a point at -r: second moment I - [r]×[h]× - [h']×[r]×, first moment h' = h + m r."""
    g = axpy(h, m, r)
    d = dot(r, h) + dot(r, g)
    I_shifted = (
        fma(-r[0], g[0], fma(-h[0], r[0], I[0] + d)),
        fma(-r[0], g[1], fma(-h[0], r[1], I[1])),
        fma(-r[0], g[2], fma(-h[0], r[2], I[2])),
        fma(-r[1], g[1], fma(-h[1], r[1], I[3] + d)),
        fma(-r[1], g[2], fma(-h[1], r[2], I[4])),
        fma(-r[2], g[2], fma(-h[2], r[2], I[5] + d)),
    )
    return I_shifted, g


@kernel
def shift_force(r: Vec3, n: Vec3, f: Vec3) -> Vec3:
    """The moment about a point at -r of a force f with moment n; the force itself stays."""
    return add(n, cross(r, f))


@kernel
def articulated_force(A: Sym3, H: Mat3, M: Sym3, w: Vec3, v: Vec3) -> tuple[Vec3, Vec3]:
    return add(sym_vec(A, w), mul_vec(H, v)), add(tmul_vec(H, w), sym_vec(M, v))
