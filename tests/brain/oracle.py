"""Neurons in plain Python, from the table of formulas: slow, and written without a look at the kernels."""

from __future__ import annotations

import math
from typing import Any

from kinemorph.brain import Brain
from kinemorph.brain import Function as Fn


def clip(x: float, low: float, high: float) -> float:
    return low if x < low else high if x > high else x


def sgn(x: float) -> float:
    return float(x > 0) - float(x < 0)


class Slow:
    """A brain with its state, one pass at a time."""

    def __init__(self, brain: Brain) -> None:
        self.brain, self.dt = brain, 1.0 / brain.rate
        self.values = [0.0] * len(brain.neurons)
        self.state: list[Any] = [[] if n.function is Fn.DELAY else 0.0 for n in brain.neurons]

    def signals(self, sensed: list[float]) -> list[float]:
        return [0.0, 1.0, *self.values, *sensed]

    def step(self, sensed: list[float]) -> list[float]:
        read = self.signals(sensed)
        new = []
        for i, n in enumerate(self.brain.neurons):
            a, b, c = (w * read[s] for w, s in zip(n.weights, n.sources, strict=True))
            new.append(clip(self.value(i, n.function, n.weights[0], a, b, c), -10.0, 10.0))
        self.values = new
        return new

    def value(self, i: int, f: Fn, w: float, a: float, b: float, c: float) -> float:
        if Fn.WAVE <= f <= Fn.TRIANGLE:
            self.state[i] += 2.0 * math.pi * self.dt * clip(a, -5.0, 5.0)
            turns = ((self.state[i] + b) / (2.0 * math.pi)) % 1.0
            shape = {
                Fn.WAVE: math.sin(self.state[i] + b),
                Fn.SAW: 2.0 * turns - 1.0,
                Fn.SQUARE: 1.0 if turns < 0.5 else -1.0,
                Fn.TRIANGLE: 4.0 * turns - 1.0 if turns < 0.5 else 3.0 - 4.0 * turns,
            }[f]
            return c * shape
        if f is Fn.DELAY:
            self.state[i].append(a)
            ago = 2 + math.floor(clip(abs(b), 0.0, 24.0))
            return float(self.state[i][-ago]) if len(self.state[i]) >= ago else 0.0
        if f is Fn.DIFFERENTIATE:
            old, self.state[i] = self.state[i], a
            return (a - float(old)) / self.dt
        if f in (Fn.INTEGRATE, Fn.SMOOTH, Fn.MEMORY):
            S = self.state[i]
            self.state[i] = {
                Fn.INTEGRATE: clip(S + a * self.dt, -10.0, 10.0),
                Fn.SMOOTH: S + (a - S) * self.dt / (self.dt + clip(abs(b), 0.0, 10.0)),
                Fn.MEMORY: a if b > 0.0 else S,
            }[f]
            return float(self.state[i])
        table = {
            Fn.ADD: lambda: a + b + c, Fn.SUBTRACT: lambda: a - b, Fn.MULTIPLY: lambda: a * b,
            Fn.DIVIDE: lambda: a / ((sgn(b) or 1.0) * max(abs(b), 1e-3)),
            Fn.LESS: lambda: 1.0 if a < b else -1.0, Fn.GREATER: lambda: 1.0 if a > b else -1.0,
            Fn.MINIMUM: lambda: min(a, b, c), Fn.MAXIMUM: lambda: max(a, b, c), Fn.ABSOLUTE: lambda: abs(a),
            Fn.SINE: lambda: math.sin(a), Fn.COSINE: lambda: math.cos(a),
            Fn.SIGMOID: lambda: 0.5 * (1.0 + math.tanh(0.5 * a)),
            Fn.LOGARITHM: lambda: math.log(max(abs(a), 1e-3)), Fn.EXPONENTIAL: lambda: math.exp(clip(a, -5.0, 5.0)),
            Fn.INVERT: lambda: -a, Fn.CONSTANT: lambda: w, Fn.SUM_THRESHOLD: lambda: 1.0 if a + b > c else -1.0,
            Fn.SIGN: lambda: sgn(a), Fn.IF: lambda: b if a > 0 else c,
            Fn.INTERPOLATE: lambda: b + (c - b) * clip(a, 0.0, 1.0), Fn.ATAN: lambda: math.atan2(a, 1.0),
        }  # fmt: skip
        return float(table[f]())
