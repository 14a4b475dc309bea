"""Derivatives of functions of time at t = 0, by central differences of fourth order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Curve = Callable[[float], np.ndarray]


def derivative(f: Curve, h: float = 1e-3) -> np.ndarray:
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def second_derivative(f: Curve, h: float = 4e-3) -> np.ndarray:
    return (16.0 * (f(h) + f(-h)) - (f(2.0 * h) + f(-2.0 * h)) - 30.0 * f(0.0)) / (12.0 * h * h)
