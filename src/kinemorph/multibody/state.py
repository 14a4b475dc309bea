"""State: configuration and velocity of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.spatial.arguments.annotated import checked_on_failure

Array = np.ndarray[Any, np.dtype[np.float64]]


@checked_on_failure
@dataclass(frozen=True, eq=False)
class State:
    """Configuration and velocity of a model, at a time; accelerations and joint forces are carried along if given."""

    q: Array
    v: Array
    a: Array | None = None
    tau: Array | None = None
    time: float = 0.0

    def __post_init__(self) -> None:
        if self.q is None or self.v is None:
            raise TypeError("a State needs q and v; for one at rest, v is zero")
