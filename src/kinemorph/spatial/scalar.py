"""Functions of one number in kernels, generic over floats and SIMD lanes."""

import math
from typing import Any

import numpy as np

from kinemorph.jit.api import generic, kernel
from kinemorph.spatial.fused import fma
from kinemorph.spatial.reduction import quarter_turns
from kinemorph.spatial.vec3 import Scalar

ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to the nearest integer
TWO_OVER_PI = 0.6366197723675814
# π/2 in three parts of 33 bits: products with integers below 2^20 are exact
HALF_PI_1 = 1.57079632673412561417e00
HALF_PI_2 = 6.07710050630396597660e-11
HALF_PI_3 = 2.02226624879595063154e-21
REDUCIBLE = 1.0e6  # beyond it the three parts do not suffice
LARGEST_FLOAT = 1.7976931348623157e308


@generic(lanes="kinemorph.spatial.lanes.lane_math")
def sqrt(x: Scalar) -> Scalar:
    return np.sqrt(x)


@generic(lanes="kinemorph.spatial.lanes.lane_math")
def atan2(y: Scalar, x: Scalar) -> Scalar:
    return math.atan2(y, x)


def _type_where(numba: Any, context: Any, condition: Any, yes: Any, no: Any) -> Any:
    float64 = numba.types.float64
    return float64(numba.types.boolean, float64, float64)


def _lower_where(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.select(*args)


@generic(lanes="kinemorph.spatial.lanes.lane_math", emitted=(_type_where, _lower_where))
def where(condition: Any, yes: Scalar, no: Scalar) -> Scalar:
    """`yes` or `no`, both already computed: a choice without a branch."""
    return yes if condition else no


@generic(lanes="kinemorph.spatial.lanes.lane_math")
def sincos(x: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine at the price of one, to 2 ulp."""
    if abs(x) > REDUCIBLE:
        return sincos_huge(x)
    return sincos_reducible(x)


@kernel
def sincos_reducible(x: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of |x| below REDUCIBLE: reduce to ±π/4 (Cody and Waite), then polynomials."""
    n = fma(x, TWO_OVER_PI, ROUND) - ROUND
    r = fma(-n, HALF_PI_3, fma(-n, HALF_PI_2, fma(-n, HALF_PI_1, x)))
    return sincos_of_rest(n, r)


@kernel(inline=False)
def sincos_huge(x: float) -> tuple[float, float]:
    """Sine and cosine of one large number, which is rare."""
    if not abs(x) <= LARGEST_FLOAT:
        return x - x, x - x  # NaN
    n, r = quarter_turns(x)
    return sincos_of_rest(n, r)


@kernel
def sincos_of_rest(n: Scalar, r: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of n quarter turns plus r, |r| up to π/4, by minimax polynomials."""
    z = r * r
    s = fma(1.58969099521155010221e-10, z, -2.50507602534068634195e-08)
    s = fma(s, z, 2.75573137070700676789e-06)
    s = fma(s, z, -1.98412698298579493134e-04)
    s = fma(s, z, 8.33333333332248946124e-03)
    s = fma(s, z, -1.66666666666666324348e-01)
    s = fma(r, z * s, r)
    c = fma(-1.13596475577881948265e-11, z, 2.08757232129817482790e-09)
    c = fma(c, z, -2.75573143513906633035e-07)
    c = fma(c, z, 2.48015872894767294178e-05)
    c = fma(c, z, -1.38888888888741095749e-03)
    c = fma(c, z, 4.16666666666666019037e-02)
    c = 1.0 - fma(-z, z * c, 0.5 * z)
    quadrant = n - 4.0 * ((0.25 * n + ROUND) - ROUND)  # -2 .. 2
    odd = quadrant * quadrant == 1.0
    sin = where(odd, c, s)
    cos = where(odd, s, c)
    sin = where(quadrant < -0.5, -sin, where(quadrant > 1.5, -sin, sin))
    cos = where(quadrant > 0.5, -cos, where(quadrant < -1.5, -cos, cos))
    return sin, cos
