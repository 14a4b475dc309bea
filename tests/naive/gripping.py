"""Contacts with friction the slow way: dense rows, one after the other, as often as it takes.

Velocities are whitened. A touch has three rows: along its normal it pushes with λ = max(0, -K (v + bias)), or, with an
infinite K, as much as keeps v + bias from being negative; across it Coulomb's law holds, without any softness.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Touch(NamedTuple):
    """One contact: three dense rows of y, and its laws."""

    y: Array
    K: float
    bias: float
    friction: float
    surface: Array


class Answer(NamedTuple):
    z: Array
    impulses: Array


def solve_slowly(z: Array, touches: list[Touch], sweeps: int = 5000, tolerance: float = 1e-13) -> Answer:
    """Velocities after all impulses, from velocities before them. Friction's bound follows its normal at once."""
    z = z.copy()
    p = np.zeros((len(touches), 3))
    for _ in range(sweeps):
        before = z.copy()
        for i, t in enumerate(touches):
            y = t.y[0]
            soft = 1.0 / t.K
            new = max(0.0, p[i, 0] - (y @ z + t.bias + soft * p[i, 0]) / (y @ y + soft))
            z += y * (new - p[i, 0])
            p[i, 0] = new
            rows = t.y[1:]
            most = t.friction * new
            new = rub_slowly(rows @ rows.T, rows @ z + t.surface, p[i, 1:], most)
            z += (new - p[i, 1:]) @ rows
            p[i, 1:] = new
        if np.abs(z - before).max() <= tolerance:
            break
    return Answer(z, p)


def rub_slowly(A: Array, v: Array, p: Array, most: float) -> Array:
    """Impulses across one contact that stop it, or that are as large as they may be and against the slip they leave.

    With slip -σ p the impulse solves (A + σ) p = A p₀ - v, and its size falls as σ rises: bisection.
    """
    w, Q = np.linalg.eigh(A)
    right = Q.T @ (A @ p - v)
    if math.hypot(*(right / w)) <= most:
        return Q @ (right / w)
    if most == 0.0:
        return np.zeros(2)
    (a, b), (x, y) = w.tolist(), right.tolist()
    low, high = 0.0, math.hypot(x, y) / most
    for _ in range(100):
        middle = 0.5 * (low + high)
        if math.hypot(x / (a + middle), y / (b + middle)) > most:
            low = middle
        else:
            high = middle
    return Q @ (right / (w + high))
