"""Argument reduction of sine and cosine for huge angles, modulo a quarter turn, with enough bits of π (Payne and
Hanek).

For |x| = m 2^k, with m of 53 bits, only a window of 2/π matters: bits further left give multiples of four quarter
turns, bits further right give less than 2^-126. 192 bits of it times m leave 128 bits: two for the quadrant and 126 for
the rest, enough for the float closest to a multiple of π/2.
"""

import math

import numpy as np

from kinemorph.jit.api import kernel

# 2/π, 64 bits a word, after one word of zeros for exponents below the first bit
WORDS = np.array(
    [
        0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
        0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
        0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
        0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
        0xF0CFBC209AF4361D,
    ],
    dtype=np.uint64,
)  # fmt: skip
HALF_PI = 1.5707963267948966
LOW = np.uint64(0xFFFFFFFF)
ONE, TWO, WORD = np.uint64(1), np.uint64(2), np.uint64(64)
HALF_WORD, TOP = np.uint64(32), np.uint64(62)


@kernel
def multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of a product of two words."""
    a0, a1 = a & LOW, a >> HALF_WORD
    b0, b1 = b & LOW, b >> HALF_WORD
    middle = a1 * b0 + ((a0 * b0) >> HALF_WORD)
    other = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF_WORD) + (other >> HALF_WORD)


@kernel
def window(start: int, i: int) -> np.uint64:
    """64 bits of 2/π from bit start + 64 i on; bit -64 is the first of the table."""
    first = start + 64 * (i + 1)
    word, shift = first >> 6, np.uint64(first & 63)
    if shift == np.uint64(0):
        return WORDS[word]
    return (WORDS[word] << shift) | (WORDS[word + 1] >> (WORD - shift))


@kernel
def quarter_turns(x: float) -> tuple[float, float]:
    """The nearest whole number of quarter turns modulo four, and the angle that is left, for finite |x| above 2^20."""
    m, e = math.frexp(abs(x))
    mantissa = np.uint64(m * 9007199254740992.0)  # 2^53
    start = e - 53 - 2  # products of bits left of it are whole turns
    high, middle, low = window(start, 0), window(start, 1), window(start, 2)
    bottom = mantissa * middle
    rest = bottom + multiply_high(mantissa, low)
    carry = ONE if rest < bottom else ONE - ONE
    top = mantissa * high + multiply_high(mantissa, middle) + carry
    quadrant = float(top >> TOP)
    top = (top << TWO) | (rest >> TOP)
    rest = rest << TWO
    negative = (top >> np.uint64(63)) == ONE  # more than half a quarter: count from the next
    if negative:
        quadrant += 1.0
        rest = ~rest + ONE
        top = ~top + (ONE if rest == ONE - ONE else ONE - ONE)
    r = (float(top) + float(rest) * 5.421010862427522e-20) * 5.421010862427522e-20 * HALF_PI  # 2^-64 twice
    if negative:
        r = -r
    return (-quadrant, -r) if x < 0.0 else (quadrant, r)
