"""The broad phase as anyone would write it first: every box against every other."""

from __future__ import annotations

import numpy as np


def overlapping(lows: np.ndarray, highs: np.ndarray, handles: np.ndarray | None = None) -> np.ndarray:
    """The pairs (m, 2) of rows, or of their handles, whose boxes overlap or touch, sorted."""
    n = len(lows)
    meet = np.ones((n, n), bool)
    for d in range(3):
        meet &= lows[:, None, d] <= highs[None, :, d]
    ij = np.argwhere(np.triu(meet & meet.T, 1))
    return (ij if handles is None else np.asarray(handles)[ij]).reshape(-1, 2)
