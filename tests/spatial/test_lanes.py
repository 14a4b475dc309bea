"""Four numbers in a register: arithmetic as of single numbers, to the last bit, and elementary functions to 2 ulp."""

import math
import operator
import os
import platform
import subprocess
import sys
from fractions import Fraction
from typing import Any

import llvmlite.binding
import mpmath
import numpy as np
import pytest

from kinemorph.jit.api import entry
from kinemorph.spatial.fused import fma
from kinemorph.spatial.lanes import four as lanes
from kinemorph.spatial.lanes import lane_math

pytestmark = pytest.mark.quick

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e-310, 1.7976931348623157e308, 2.5, -3.25]


@entry
def unary(a: Any, out: Any, which: int) -> None:
    for k in range(a.shape[0]):
        x = lanes.load(a, k)
        if which == 0:
            lanes.store(out, k, -x)
        elif which == 1:
            lanes.store(out, k, abs(x))
        elif which == 2:
            lanes.store(out, k, lanes.sqrt(x))
        elif which == 3:
            lanes.store(out, k, lane_math.sin(x))
        elif which == 4:
            lanes.store(out, k, lane_math.cos(x))
        elif which == 5:
            lanes.store(out, k, lane_math.exp(x))
        else:
            lanes.store(out, k, lane_math.log(x))


@entry
def binary(a: Any, b: Any, out: Any, which: int) -> None:
    for k in range(a.shape[0]):
        x = lanes.load(a, k)
        y = lanes.load(b, k)
        one = lanes.splat(1.0)
        if which == 0:
            lanes.store(out, k, x + y)
        elif which == 1:
            lanes.store(out, k, x - y)
        elif which == 2:
            lanes.store(out, k, x * y)
        elif which == 3:
            lanes.store(out, k, x / y)
        elif which == 4:
            lanes.store(out, k, lanes.select(x < y, one, 0.0 * one))
        elif which == 5:
            lanes.store(out, k, lanes.select(x <= y, one, 0.0 * one))
        elif which == 6:
            lanes.store(out, k, lanes.select(x > y, one, 0.0 * one))
        elif which == 7:
            lanes.store(out, k, lanes.select(x >= y, one, 0.0 * one))
        elif which == 8:
            lanes.store(out, k, lanes.select(x == y, one, 0.0 * one))
        elif which == 9:
            lanes.store(out, k, lanes.select(x != y, one, 0.0 * one))
        elif which == 10:
            lanes.store(out, k, lanes.minimum(x, y))
        elif which == 11:
            lanes.store(out, k, lanes.maximum(x, y))
        elif which == 12:
            lanes.store(out, k, lane_math.atan2(x, y))
        else:
            lanes.store(out, k, lanes.select(~((x < y) | (x > y)) & (x == x), one, 0.0 * one))


BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le, operator.gt, operator.ge,
    operator.eq, operator.ne, lambda x, y: np.where(x < y, x, y), lambda x, y: np.where(x > y, x, y), np.arctan2,
    lambda x, y: (~((x < y) | (x > y))) & (x == x),
]  # fmt: skip


def four_by_four(values: Any) -> np.ndarray:
    flat = np.asarray(values, dtype=float)
    return np.concatenate([flat, np.full(-len(flat) % 4, 0.5)]).reshape(-1, 4)


@pytest.mark.lane
@pytest.mark.parametrize("which", range(len(BINARY)))
def test_two_operands_as_numpy_has_them(which: int, rng: np.random.Generator) -> None:
    x = np.concatenate([np.repeat(SPECIAL, len(SPECIAL)), rng.normal(size=40), 1e300 * rng.normal(size=40)])
    y = np.concatenate([np.tile(SPECIAL, len(SPECIAL)), rng.normal(size=80)])
    a, b = four_by_four(x), four_by_four(y)
    out = np.empty_like(a)
    with np.errstate(all="ignore"):
        binary(a, b, out, which)
        expected = np.asarray(BINARY[which](a, b), dtype=float)
    if BINARY[which] is np.arctan2:  # NumPy has its own, which may round otherwise
        np.testing.assert_allclose(out, expected, rtol=3e-16, atol=0.0)
    else:
        np.testing.assert_array_equal(out, expected)


@pytest.mark.lane
@pytest.mark.parametrize(("which", "function"), [(0, np.negative), (1, np.abs), (2, np.sqrt)])
def test_one_operand_as_numpy_has_it(which: int, function: Any, rng: np.random.Generator) -> None:
    a = four_by_four([*SPECIAL, *rng.normal(size=33)])
    out = np.empty_like(a)
    with np.errstate(all="ignore"):
        unary(a, out, which)
        np.testing.assert_array_equal(out, function(a))


def inputs(name: str, rng: np.random.Generator) -> np.ndarray:
    """The whole range, dense where reduction is hard."""
    if name in ("sin", "cos"):
        near = np.arange(1, 400) * (math.pi / 2)
        # the last ones come closest to multiples of π/2; there glibc's cosine is off by 8 ulp
        ends = np.array([1e6, 999999.99, 1000000.01, 1e22, 1.7976931348623157e308, 5e-324, 5.319372648326541e255,
                         6381956970095103.0 * 2.0**797, 22.776546738526])  # fmt: skip
        return np.concatenate(
            [rng.uniform(-10, 10, 800), rng.uniform(-1e6, 1e6, 800), 10 ** rng.uniform(-300, 308, 800),
             near, np.nextafter(near, 0), np.nextafter(near, 1e9), near * 1000.0, ends, -ends]
        )  # fmt: skip
    if name == "exp":
        edges = np.array([709.782712893383, -745.13, -708.4, 1e-320, 0.0, -0.0, 0.34657359, -0.34657359])
        return np.concatenate([rng.uniform(-745, 709.7, 1500), 10 ** rng.uniform(-300, 0, 500), edges])
    return np.concatenate(
        [10 ** rng.uniform(-323, 308, 1500), 1 + 0.3 * rng.normal(size=900).clip(-3, 3), [5e-324, 1.0]]
    )


@pytest.mark.parametrize(("which", "name"), [(3, "sin"), (4, "cos"), (5, "exp"), (6, "log")])
def test_elementary_functions_are_within_2_ulp(which: int, name: str, rng: np.random.Generator) -> None:
    a = four_by_four(inputs(name, rng))
    a = a[(a > 0).all(axis=1)] if name == "log" else a
    out = np.empty_like(a)
    unary(a, out, which)
    with mpmath.workprec(1300):
        function = getattr(mpmath, name)
        for x, y in zip(a.ravel(), out.ravel(), strict=True):
            exact = function(mpmath.mpf(float(x)))
            spacing = mpmath.mpf(float(np.spacing(abs(float(exact)))))
            assert abs(mpmath.mpf(float(y)) - exact) <= 2 * spacing, (name, x, y)


@pytest.mark.lane
def test_special_values_of_elementary_functions() -> None:
    a = np.array([[math.nan, math.inf, -math.inf, 0.0], [-1.0, 710.0, -746.0, 1.0]])
    out = np.empty_like(a)
    with np.errstate(all="ignore"):
        unary(a, out, 5)
        np.testing.assert_array_equal(out[0], [math.nan, math.inf, 0.0, 1.0])
        np.testing.assert_array_equal(out[1, 1:3], [math.inf, 0.0])
        unary(a, out, 6)
        np.testing.assert_array_equal(out[0], [math.nan, math.inf, math.nan, -math.inf])
        assert math.isnan(out[1, 0])
        assert out[1, 3] == 0.0
        unary(a, out, 3)
    np.testing.assert_array_equal(out[0], [math.nan, math.nan, math.nan, 0.0])


def test_a_lane_does_not_see_its_neighbours(rng: np.random.Generator) -> None:
    """A huge or special number in one lane leaves the bits of the others alone."""
    a = rng.uniform(-3, 3, (50, 4))
    b = a.copy()
    b[:, 2] = np.resize([1e300, math.nan, math.inf, 1e7, -0.0], 50)
    for which in (3, 4, 5):
        x, y = np.empty_like(a), np.empty_like(b)
        unary(a, x, which)
        unary(b, y, which)
        np.testing.assert_array_equal(x[:, [0, 1, 3]], y[:, [0, 1, 3]])


@entry
def others(a: Any, flat: Any, out: Any) -> tuple[float, float, float, bool, bool, bool]:
    x = lanes.load(a, 0)
    lanes.store(out, 0, lanes.fma(x, x, 1.0) + 2 * x - 3)
    y = lanes.load_strided(flat, 1, 3)
    lanes.store(out, 1, lanes.replaced(y, 2, -1.0))
    lanes.store_strided(flat, 0, 3, x)
    return (
        lanes.sum_of(x), lanes.min_of(x), lanes.max_of(x), lanes.any_true(x > 3.5),
        lanes.all_true(x > 0.5), lanes.all_true(x > 1.5),
    )  # fmt: skip


@pytest.mark.lane
def test_memory_reductions_and_masks() -> None:
    a, flat, out = np.array([[1.0, 2.0, 3.0, 4.0]]), np.arange(12.0), np.empty((2, 4))
    assert others(a, flat, out) == (10.0, 1.0, 4.0, True, True, False)
    np.testing.assert_array_equal(out[0], [1.0, 6.0, 13.0, 22.0])
    np.testing.assert_array_equal(out[1], [1.0, 4.0, -1.0, 10.0])
    np.testing.assert_array_equal(flat[::3], [1.0, 2.0, 3.0, 4.0])


@entry
def stretches(flat: Any, out: Any) -> None:
    lanes.store_from(out, 1, lanes.load_from(flat, 2))
    lanes.store_pairs(out, 5, 8, lanes.load_pairs(flat, 3, 9))
    lanes.store_pair(out, 10, lanes.load_pair(flat, 6))
    lanes.store_from(out, 12, lanes.load_pair(flat, 6))
    lanes.store_from(out, 16, lanes.turned(lanes.three(flat[1], flat[2], flat[3])))


@pytest.mark.lane
def test_stretches_of_flat_memory() -> None:
    """Four in a row, two and two, and two with zeros; nothing beside them is written."""
    flat, out = np.arange(12.0), np.full(20, -1.0)
    stretches(flat, out)
    expected = [-1, 2, 3, 4, 5, 3, 4, -1, 9, 10, 6, 7, 6, 7, 0, 0, 2, 3, 1, 0]
    np.testing.assert_array_equal(out, expected)


@entry
def transposed(a: Any, out: Any) -> None:
    found = lanes.columns(lanes.load(a, 0), lanes.load(a, 1), lanes.load(a, 2), lanes.load(a, 3))
    for k in range(4):
        lanes.store(out, k, found[k])


@pytest.mark.lane
def test_columns_are_the_lanes_of_all_four() -> None:
    a, out = np.arange(16.0).reshape(4, 4), np.zeros((4, 4))
    transposed(a, out)
    np.testing.assert_array_equal(out, a.T)


@entry
def boxed(a: Any) -> Any:
    return lanes.load(a, 0)


def test_lanes_reach_python_as_four_floats() -> None:
    assert tuple(boxed(np.array([[1.0, 2.0, 3.0, 4.0]]))) == (1.0, 2.0, 3.0, 4.0)


@entry
def fused(a: Any, b: Any, c: Any, out: Any) -> float:
    lanes.store(out, 0, fma(lanes.load(a, 0), lanes.load(b, 0), lanes.load(c, 0)))
    return fma(a[0, 0], b[0, 0], c[0, 0])


@pytest.mark.skipif(
    not (platform.machine() in ("arm64", "aarch64") or llvmlite.binding.get_host_cpu_features().get("fma")),
    reason="this processor has no fused multiply-add",
)
def test_fused_multiply_add_rounds_once_in_numbers_and_lanes_alike(rng) -> None:
    for _ in range(100):
        a, b = rng.normal(size=(2, 1, 4))
        c, out = -(a * b), np.empty((1, 4))  # what is left is the rounding error of the product, exactly
        exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a[0], b[0], c[0], strict=True)]
        assert fused(a, b, c, out) == exact[0]
        assert out[0].tolist() == exact


OLD_PROCESSOR = """
import numpy as np
from kinemorph.jit.api import entry
from kinemorph.spatial.lanes import four as lanes, lane_math

@entry
def run(a, out):
    x = lanes.load(a, 0)
    lanes.store(out, 0, lanes.fma(x, x, 1.0) + lane_math.sin(x) / lanes.sqrt(lanes.maximum(x, 0.5)))

a, out = np.array([[0.1, 0.7, 3.0, 1e9]]), np.empty((1, 4))
run(a, out)
assert "fma" not in next(iter(run.inspect_asm().values()))  # neither the instruction nor the slow function
np.testing.assert_allclose(out, a * a + 1.0 + np.sin(a) / np.sqrt(np.maximum(a, 0.5)), rtol=1e-14)
print("avx" in next(iter(run.inspect_asm().values())).lower(), "ymm" in next(iter(run.inspect_asm().values())))
"""


def test_lanes_work_on_processors_without_avx(tmp_path) -> None:
    environment = {**os.environ, "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2", "KINEMORPH_QUIET": "1"}
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the flags are those of x86-64 processors")
    script = tmp_path / "old.py"
    script.write_text(OLD_PROCESSOR)
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "False"  # no 256-bit register was used
