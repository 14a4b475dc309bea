"""Functions of neurons, of three weighted inputs each, and an update of all neurons."""

from __future__ import annotations

import math
from typing import Any

from kinemorph.brain.layout import FIRST_NEURON_SIGNAL, LARGEST_VALUE, LONGEST_DELAY_PASSES, Function
from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sincos

(
    ADD, SUBTRACT, MULTIPLY, DIVIDE, LESS, GREATER, MINIMUM, MAXIMUM, ABSOLUTE, SINE, COSINE, SIGMOID, DELAY, INTEGRATE,
    DIFFERENTIATE, LOGARITHM, EXPONENTIAL, INVERT, CONSTANT, WAVE, SAW, SQUARE, TRIANGLE, SUM_THRESHOLD, SIGN, IF,
    INTERPOLATE, ATAN, SMOOTH, MEMORY,
) = (int(f) for f in Function)  # fmt: skip
SMALLEST_DIVISOR = 1e-3  # of divisors, and of arguments of logarithms
LARGEST_EXPONENT = 5.0  # largest exponent
LARGEST_FREQUENCY = 5.0  # Hz
LARGEST_INTEGRAL_TIME = 10.0  # s
FULL_TURN = 2.0 * math.pi


@kernel
def clamp(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@kernel(inline=False)
def evaluate_stateless(f: int, a: float, b: float, c: float) -> float:
    """Functions without a state."""
    if f == ADD:
        return a + b + c
    if f == SUBTRACT:
        return a - b
    if f == MULTIPLY:
        return a * b
    if f == DIVIDE:
        return a / (max(b, SMALLEST_DIVISOR) if b >= 0.0 else min(b, -SMALLEST_DIVISOR))
    if f == LESS:
        return 1.0 if a < b else -1.0
    if f == GREATER:
        return 1.0 if a > b else -1.0
    if f == MINIMUM:
        return min(a, b, c)
    if f == MAXIMUM:
        return max(a, b, c)
    if f == ABSOLUTE:
        return abs(a)
    if f == SINE:
        return sincos(a)[0]
    if f == COSINE:
        return sincos(a)[1]
    if f == SIGMOID:
        return 1.0 / (1.0 + math.exp(clamp(-a, -700.0, 700.0)))
    if f == LOGARITHM:
        return math.log(max(abs(a), SMALLEST_DIVISOR))
    if f == EXPONENTIAL:
        return math.exp(clamp(a, -LARGEST_EXPONENT, LARGEST_EXPONENT))
    if f == INVERT:
        return -a
    if f == SUM_THRESHOLD:
        return 1.0 if a + b > c else -1.0
    if f == SIGN:
        return 1.0 if a > 0.0 else -1.0 if a < 0.0 else 0.0
    if f == IF:
        return b if a > 0.0 else c
    if f == INTERPOLATE:
        return b + (c - b) * clamp(a, 0.0, 1.0)
    return math.atan(a)


@kernel
def oscillate(n: Any, a: float, b: float, c: float, dt: float) -> float:
    """An oscillator of frequency a (Hz), phase shift b (rad) and amplitude c; its state is the phase, from 0 to 2π."""
    phase = n["state"] + FULL_TURN * dt * clamp(a, -LARGEST_FREQUENCY, LARGEST_FREQUENCY)
    n["state"] = phase - FULL_TURN * math.floor(phase / FULL_TURN)
    if n["function"] == WAVE:
        return c * sincos(n["state"] + b)[0]
    x = (n["state"] + b) / FULL_TURN
    x -= math.floor(x)
    if n["function"] == SAW:
        return c * (2.0 * x - 1.0)
    if n["function"] == SQUARE:
        return c if x < 0.5 else -c
    return c * (1.0 - 4.0 * abs(x - 0.5))


@kernel
def evaluate_stateful(n: Any, a: float, b: float, rings: Any, dt: float, tick: int) -> float:
    """Functions with a state: delays, integrals and filters."""
    f, before = n["function"], n["state"]
    if f == DELAY:
        ring = rings[LONGEST_DELAY_PASSES * n["ring"] : LONGEST_DELAY_PASSES * (n["ring"] + 1)]
        ago = 1 + int(min(abs(b), LONGEST_DELAY_PASSES - 1.0))
        past = ring[(tick - ago) % LONGEST_DELAY_PASSES]
        ring[tick % LONGEST_DELAY_PASSES] = a
        return past
    if f == DIFFERENTIATE:
        n["state"] = a
        return (a - before) / dt
    if f == INTEGRATE:
        n["state"] = clamp(before + a * dt, -LARGEST_VALUE, LARGEST_VALUE)
    elif f == SMOOTH:
        n["state"] = before + (a - before) * dt / (dt + min(abs(b), LARGEST_INTEGRAL_TIME))
    elif b > 0.0:
        n["state"] = a
    return n["state"]


@kernel(inline=False)
def evaluate_neuron(n: Any, signals: Any, rings: Any, dt: float, tick: int) -> float:
    """The value of a neuron, from the current signals."""
    f = n["function"]
    a = n["weights"][0] * signals[n["sources"][0]]
    b = n["weights"][1] * signals[n["sources"][1]]
    c = n["weights"][2] * signals[n["sources"][2]]
    if WAVE <= f <= TRIANGLE:
        return oscillate(n, a, b, c, dt)
    if f == DELAY or f == INTEGRATE or f == DIFFERENTIATE or f == SMOOTH or f == MEMORY:
        return evaluate_stateful(n, a, b, rings, dt, tick)
    return n["weights"][0] if f == CONSTANT else evaluate_stateless(f, a, b, c)


@kernel(inline=False)
def update_neurons(neurons: Any, signals: Any, fresh: Any, rings: Any, dt: float, tick: int) -> int:
    """Update all neurons at once, from old values. Returns how many were NaN, which become 0."""
    lost = 0
    for i in range(neurons.shape[0]):
        x = evaluate_neuron(neurons[i], signals, rings, dt, tick)
        if not abs(x) <= LARGEST_VALUE:
            if x != x:
                x = 0.0
                lost += 1
            x = clamp(x, -LARGEST_VALUE, LARGEST_VALUE)
        if not abs(neurons[i]["state"]) < math.inf:
            neurons[i]["state"] = 0.0
        fresh[i] = x
    for i in range(neurons.shape[0]):
        signals[FIRST_NEURON_SIGNAL + i] = fresh[i]
    return lost
