"""Elementary functions of four numbers at once, and with them all generic functions of `scalar` and `rows`.

Importing this module is what makes kernels accept lanes. Accuracy is better than 2 ulp everywhere, for huge arguments,
infinities, NaN and denormals as well.
"""

from __future__ import annotations

import math
from typing import Any

from kinemorph.jit.api import for_lanes, kernel
from kinemorph.spatial import rows, scalar
from kinemorph.spatial.lanes import four as lanes
from kinemorph.spatial.scalar import REDUCIBLE, ROUND, sincos_huge, sincos_reducible
from kinemorph.spatial.vec3 import Scalar

INFINITY = math.inf
NAN = math.nan
LN2_HIGH = 6.93147180369123816490e-01  # its last 21 bits are zero: products with exponents are exact
LN2_LOW = 1.90821492927058770002e-10
LOG2_E = 1.44269504088896338700e00
OVERFLOW = 709.782712893384  # exp of more is infinite
UNDERFLOW = -745.133219101941108420  # exp of less is zero
SMALLEST_NORMAL = 2.2250738585072014e-308
TWO_54 = 18014398509481984.0
SQRT_2 = 1.4142135623730951


@kernel
def sincos(x: Scalar) -> tuple[Scalar, Scalar]:
    s, c = sincos_reducible(x)
    if lanes.any_true(abs(x) > REDUCIBLE):  # rare: these lanes one by one
        for i in range(lanes.LANE_COUNT):
            xi = lanes.lane(x, i)
            if abs(xi) > REDUCIBLE:
                si, ci = sincos_huge(xi)
                s = lanes.replaced(s, i, si)
                c = lanes.replaced(c, i, ci)
    return s, c


@kernel
def sin(x: Scalar) -> Scalar:
    return sincos(x)[0]


@kernel
def cos(x: Scalar) -> Scalar:
    return sincos(x)[1]


@kernel
def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Lane by lane: logarithms of rotations need it, nothing in an inner loop does."""
    z = lanes.splat(0.0)
    for i in range(lanes.LANE_COUNT):
        z = lanes.replaced(z, i, math.atan2(lanes.lane(y, i), lanes.lane(x, i)))
    return z


@kernel
def exp(x: Scalar) -> Scalar:
    """e^x: x = k ln 2 + r with |r| below 0.35, a rational function of r, and 2^k in two factors."""
    y = lanes.select(x < UNDERFLOW, lanes.splat(-746.0), x)  # beyond, and for NaN, any number will do until the end
    y = lanes.select(y > OVERFLOW, lanes.splat(710.0), y)
    y = lanes.select(y != y, lanes.splat(0.0), y)
    k = (y * LOG2_E + ROUND) - ROUND
    high = y - k * LN2_HIGH
    low = k * LN2_LOW
    r = high - low
    t = r * r
    c = 4.13813679705723846039e-08 * t - 1.65339022054652515390e-06
    c = c * t + 6.61375632143793436117e-05
    c = c * t - 2.77777777770155933842e-03
    c = c * t + 1.66666666666666019037e-01
    c = r - t * c
    e = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    half = (0.5 * k + ROUND) - ROUND
    e = e * lanes.power_of_two(half) * lanes.power_of_two(k - half)
    e = lanes.select(x > OVERFLOW, lanes.splat(INFINITY), e)
    e = lanes.select(x < UNDERFLOW, lanes.splat(0.0), e)
    return lanes.select(x != x, x, e)


@kernel
def log(x: Scalar) -> Scalar:
    """ln x: exponent and mantissa, and a series in f / (2 + f) for mantissa 1 + f between √½ and √2."""
    tiny = x < SMALLEST_NORMAL
    y = lanes.select(tiny, x * TWO_54, x)
    k = lanes.exponent(y) - 1023.0
    k = lanes.select(tiny, k - 54.0, k)
    m = lanes.mantissa(y)
    big = m > SQRT_2
    m = lanes.select(big, 0.5 * m, m)
    k = lanes.select(big, k + 1.0, k)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = 1.531383769920937332e-01 * w + 2.222219843214978396e-01
    odd = w * (w * odd + 3.999999999940941908e-01)
    even = 1.479819860511658591e-01 * w + 1.818357216161805012e-01
    even = even * w + 2.857142874366239149e-01
    even = z * (w * even + 6.666666666666735130e-01)
    square = 0.5 * f * f
    value = k * LN2_HIGH - ((square - (s * (square + odd + even) + k * LN2_LOW)) - f)
    value = lanes.select(x == 0.0, lanes.splat(-INFINITY), value)
    value = lanes.select(x < 0.0, lanes.splat(NAN), value)
    value = lanes.select(x == INFINITY, x, value)
    return lanes.select(x != x, x, value)


@for_lanes(rows.get)
def _get(a: Any, k: int) -> Scalar:
    return lanes.load(a, k)


@for_lanes(rows.put)
def _put(a: Any, k: int, x: Scalar) -> None:
    lanes.store(a, k, x)


@for_lanes(scalar.sqrt)
def _sqrt(x: Scalar) -> Scalar:
    return lanes.sqrt(x)


@for_lanes(scalar.where)
def _where(condition: Any, yes: Scalar, no: Scalar) -> Scalar:
    return lanes.select(condition, yes, no)


@for_lanes(scalar.sincos)
def _sincos(x: Scalar) -> tuple[Scalar, Scalar]:
    return sincos(x)


@for_lanes(scalar.atan2)
def _atan2(y: Scalar, x: Scalar) -> Scalar:
    return atan2(y, x)
