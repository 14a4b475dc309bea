"""Random numbers that are kept with a world: the same ones come again after it was restored."""

from __future__ import annotations

from typing import Any

import numpy as np


def thrown(dice: tuple[int, ...] | None) -> np.random.Generator:
    """A stream of random numbers in a state, or at its start."""
    stream = np.random.Generator(np.random.PCG64(0))
    if dice is not None:
        high, low, high_step, low_step, has, number = dice
        state = {"state": high << 64 | low, "inc": high_step << 64 | low_step}
        stream.bit_generator.state = {"bit_generator": "PCG64", "state": state, "has_uint32": has, "uinteger": number}
    return stream


def dice_of(stream: np.random.Generator) -> tuple[int, ...]:
    """The state of a stream, in numbers of 64 bits."""
    now: Any = stream.bit_generator.state
    low = (1 << 64) - 1
    halves = [part for number in now["state"].values() for part in (number >> 64, number & low)]
    return *halves, now["has_uint32"], now["uinteger"]
