"""Sine and cosine against many digits: within 2 units in the last place, whatever the argument."""

import math

import mpmath
import numpy as np
import pytest

from kinemorph.jit.api import kernel
from kinemorph.spatial import scalar

ULPS = 2.0


@kernel
def sincos(x):  # generic functions are compiled where a kernel calls them
    return scalar.sincos(x)


@kernel
def where(condition, yes, no):
    return scalar.where(condition, yes, no)


def worst_error(arguments):
    """The largest error of either function, in units in the last place of the exact value."""
    worst = 0.0
    with mpmath.workprec(1200):  # enough to reduce 1e300
        for x in arguments:
            exact = mpmath.mpf(x)
            for value, truth in zip(sincos(float(x)), (mpmath.sin(exact), mpmath.cos(exact))):
                worst = max(worst, float(abs(truth - value)) / math.ulp(float(truth)))
    return worst


def neighbours(x, count=2):
    """x and the floats next to it."""
    found = [x]
    for direction in (-math.inf, math.inf):
        y = x
        for _ in range(count):
            y = math.nextafter(y, direction)
            found.append(y)
    return found


@pytest.mark.lane
def test_angles_of_one_turn_are_exact_to_two_ulps(rng):
    assert worst_error([*np.linspace(-2 * math.pi, 2 * math.pi, 401), *rng.uniform(-7.0, 7.0, 400)]) <= ULPS


def test_angles_up_to_a_million_are_exact_to_two_ulps(rng):
    sign = rng.choice([-1.0, 1.0], 4000)
    assert worst_error(sign * 10.0 ** rng.uniform(-20.0, 6.0, 4000)) <= ULPS


def test_angles_next_to_multiples_of_a_right_angle_are_exact_to_two_ulps(rng):
    turns = [*range(-40, 41), *rng.integers(-636_000, 636_000, 1000).tolist()]
    angles = [x for k in turns for x in neighbours(k * (math.pi / 2))]
    angles += [k * math.pi / 2 + d for k in turns[:81] for d in (1e-12, -1e-12, 1e-8, -1e-8, 1e-4, -1e-4)]
    assert worst_error(angles) <= ULPS


def test_the_switch_to_the_library_at_a_million_is_seamless():
    assert worst_error(neighbours(1e6, 50) + neighbours(-1e6, 50)) <= ULPS


def test_huge_angles_are_exact_to_two_ulps(rng):
    angles = [*10.0 ** rng.uniform(6.0, 300.0, 500), 1e22]
    assert worst_error(angles) <= ULPS


@pytest.mark.parametrize("x", [0.0, 5e-324, -5e-324, 1e-310, 1e-300, -1e-30, 1e-9])
def test_tiny_angles_are_their_own_sine(x):
    s, c = sincos(x)
    assert s == x
    assert c == 1.0


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_what_is_no_angle_gives_nan(x):
    assert all(math.isnan(value) for value in sincos(x))


@pytest.mark.lane
def test_where_chooses():
    assert where(True, 1.0, 2.0) == 1.0
    assert where(False, 1.0, 2.0) == 2.0
