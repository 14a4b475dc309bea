"""Layout of a brain: rows of neurons, senses and effects.

All inputs of neurons and effects are in one vector, the signals: 0.0, 1.0, the values of all neurons in their order,
and those of all senses. A source is an index into that vector.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Function(IntEnum):
    """Output of a neuron, from its weighted inputs a, b, c, its state S and the time dt between two updates."""

    ADD = 0  # a + b + c
    SUBTRACT = 1  # a - b
    MULTIPLY = 2  # a b
    DIVIDE = 3  # a / (sgn b max(|b|, 1e-3)), sgn 0 = 1
    LESS = 4  # 1 if a < b, else -1
    GREATER = 5  # 1 if a > b, else -1
    MINIMUM = 6  # of a, b, c
    MAXIMUM = 7
    ABSOLUTE = 8  # |a|
    SINE = 9  # sin a
    COSINE = 10  # cos a
    SIGMOID = 11  # 1 / (1 + e^-a)
    DELAY = 12  # a, 1 + ⌊min(|b|, 24)⌋ passes ago; 0 before the first
    INTEGRATE = 13  # S ← S + a dt, held in ±10
    DIFFERENTIATE = 14  # (a - S) / dt, S ← a
    LOGARITHM = 15  # ln max(|a|, 1e-3)
    EXPONENTIAL = 16  # e^a, a held in ±5
    INVERT = 17  # -a
    CONSTANT = 18  # the first weight
    WAVE = 19  # c sin(S + b): oscillators, S ← S + 2π dt a, a held in ±5 Hz
    SAW = 20  # c (2x - 1), x the share of a turn of S + b: from -1 up to 1
    SQUARE = 21  # c for the first half of a turn, -c for the other
    TRIANGLE = 22  # c (1 - 4 |x - ½|): from -1 up to 1 and down again
    SUM_THRESHOLD = 23  # 1 if a + b > c, else -1
    SIGN = 24  # sgn a, 0 of 0
    IF = 25  # b if a > 0, else c
    INTERPOLATE = 26  # b + (c - b) a, a held in 0 to 1
    ATAN = 27  # arctan a
    SMOOTH = 28  # S ← S + (a - S) dt / (dt + min(|b|, 10 s))
    MEMORY = 29  # S ← a while b > 0


class Sensed(IntEnum):
    """Quantities that a sense reads."""

    ANGLE = 0  # rad or m, of one degree of freedom of the joint that carries the link
    SPEED = 1  # rad/s or m/s, likewise
    TOUCH = 2  # force of all contacts of the body, in weights of the whole figure at 9.81 m/s²
    UP = 3  # component of the upward unit vector, in the body's own frame
    DIRECTION = 4  # component of the unit vector to the target, in the body's own frame
    DISTANCE = 5  # m, to the target
    PLACE = 6  # m, coordinate of the target in the world


class Acted(IntEnum):
    """Kinds of effects, driven by x = weight times source, clamped to ±1."""

    TORQUE = 0  # N m or N: most x
    TARGET = 1  # a spring and a damper to a position from low to high, with a force of at most `most`
    SPEED = 2  # a motor that holds a speed from low to high, likewise
    GRASP = 3  # the body holds a touched body while x > 0, and releases it otherwise


NEURON = np.dtype(
    [
        ("function", "i4"),  # Function
        ("ring", "i4"),  # of a delay: its ring buffer of LONGEST_DELAY_PASSES numbers; else -1
        ("sources", "i4", 3),  # indices of a, b and c in the signals
        ("unused", "i4"),
        ("weights", "f8", 3),
        ("state", "f8"),  # S
    ],
    align=True,
)

SENSE = np.dtype(
    [
        ("what", "i4"),  # Sensed
        ("axis", "i4"),  # which component, or degree of freedom
        ("id", "i8"),  # of the joint (ANGLE, SPEED) or of the body; outside of a world, the number of a link
        ("gain", "f8"),  # factor of the value
    ],
    align=True,
)

EFFECT = np.dtype(
    [
        ("what", "i4"),  # Acted
        ("source", "i4"),  # index in the signals
        ("drive", "i4"),  # its row among the DRIVEs; -1 if it has none, as a grasp. Outside, a degree of freedom
        ("generation", "i4"),  # of that row
        ("weight", "f8"),
        ("effort_limit", "f8"),  # N m or N
        ("low", "f8"),  # rad or m, rad/s or m/s
        ("high", "f8"),
        ("body", "i8"),  # of a grasp: id of the body that holds (-1: no grasp; outside, the number of a link),
        ("held", "i8"),  # and of the joint by which it does, -1 if it holds nothing
        ("wants", "i4"),  # of a grasp: 1 while x > 0,
        ("looped", "i4"),  # and whether the joint that holds closed a loop
    ],
    align=True,
)

LONGEST_DELAY_PASSES = 25  # updates of the longest delay
LARGEST_VALUE = 10.0  # largest magnitude of a value
ZERO_SIGNAL, ONE_SIGNAL, FIRST_NEURON_SIGNAL = 0, 1, 2  # indices in the signals: 0.0, 1.0, and the first neuron
