"""Random numbers that depend on their purpose alone, never on the process that draws them or the time."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    FOUNDER = 0
    SELECTION = 1
    VARIATION = 2
    DRAW = 3
    VOTE = 4
    HELD_OUT = 5
    ORDER = 6
    TUNING = 7


def _sequence(seed: int, purpose: Purpose, generation: int, individual: int, draw: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(int(purpose), generation, individual, draw))


def stream(seed: int, purpose: Purpose, generation: int = 0, individual: int = 0, draw: int = 0) -> np.random.Generator:
    """The random numbers of one decision."""
    return np.random.default_rng(_sequence(seed, purpose, generation, individual, draw))


def seed_of(seed: int, purpose: Purpose, generation: int = 0, individual: int = 0, draw: int = 0) -> int:
    """A seed for another generator: 63 bits, so that every store and language can keep it."""
    return int(_sequence(seed, purpose, generation, individual, draw).generate_state(1, np.uint64)[0] >> np.uint64(1))
