"""Seeds given by users, and the random streams that start from them."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from kinemorph.spatial.arguments.checks import repr_of


def random_stream(what: str, seed: np.random.Generator | int | None) -> np.random.Generator:
    """The stream of a seed, or the given stream; without one, a new random stream each time."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is not None and (not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0):
        raise ValueError(
            f"{what} is {repr_of(seed)}, and must be a whole number, 0 or more, or a numpy.random.Generator"
        )
    return np.random.default_rng(None if seed is None else int(seed))
