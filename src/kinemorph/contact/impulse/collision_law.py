"""The algebraic law of collisions of Chatterjee and Ruina (Fontijne 3.4.3): an impulse from a velocity and a matrix.

With u the velocity of the contact point, b against a, and K what an impulse makes of it, Δu = K p,

    p_I = -u_n / K_nn n    stops the normal velocity, without friction;
    p_II = -K⁻¹ u          stops all of it;
    p = (1 + e) p_I + κ (p_II - p_I)    with κ = 1 + e_t, or less where that would leave the friction cone.

d = p_II - p_I does nothing along the normal, nᵀ K d = 0: the normal velocity comes out as -e u_n for every κ. And p_I
and d are perpendicular in the metric K, so that twice the energy of a collision changes by

    |p - p_II|² - |p_II|² = (e² - 1) |p_I|² + ((κ - 1)² - 1) |d|²    (in that metric),

which is no gain for 0 ≤ e ≤ 1 and 0 ≤ κ ≤ 2: no friction, no coefficient and no shape can add any.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3

SINGULAR_SHARE = 1e-12  # share of what a trace or a determinant is a difference of, below which it is rounding


@kernel
def pseudo_inverse(a: float, b: float, c: float, size: float) -> tuple[float, float, float]:
    """Of [[a, b], [b, c]], a difference without negative eigenvalues from a matrix whose trace is `size`."""
    trace, determinant = a + c, a * c - b * b
    if not trace > SINGULAR_SHARE * size:
        return 0.0, 0.0, 0.0
    if determinant > SINGULAR_SHARE * trace * trace:
        return c / determinant, -b / determinant, a / determinant
    return a / (trace * trace), b / (trace * trace), c / (trace * trace)  # of rank one: λ v vᵀ; its inverse v vᵀ / λ


@kernel
def collision_impulse(u: Vec3, K: Any, e: float, tangential: float, friction: float) -> Vec3:
    """The impulse on b along the normal and two tangents, for u and K = (nn, n1, n2, 11, 12, 22) along the same.

    `tangential` is e_t. Zero if the sides part, or cannot move along the normal.
    """
    nn, n1, n2, t11, t12, t22 = K
    if not (u[0] < 0.0 and nn > 0.0):
        return (0.0, 0.0, 0.0)
    first = -u[0] / nn  # p_I
    # what slides after p_I, and the matrix that an impulse along the tangents feels if the normal velocity is to stay
    s1, s2 = u[1] + n1 * first, u[2] + n2 * first
    b11, b12, b22 = pseudo_inverse(t11 - n1 * n1 / nn, t12 - n1 * n2 / nn, t22 - n2 * n2 / nn, t11 + t22)
    d1, d2 = -(b11 * s1 + b12 * s2), -(b12 * s1 + b22 * s2)
    dn = -(n1 * d1 + n2 * d2) / nn
    share, beyond = 1.0 + tangential, sqrt(d1 * d1 + d2 * d2) - friction * dn
    if beyond > 0.0:  # on the cone: share |d_t| = μ ((1 + e) p_I + share d_n)
        share = min(share, friction * (1.0 + e) * first / beyond)
    return ((1.0 + e) * first + share * dn, share * d1, share * d2)
