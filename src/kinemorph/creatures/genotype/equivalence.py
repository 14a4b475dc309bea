"""Whether two creatures behave alike: equal parts, joints, and neurons that act on an effector directly or indirectly.

Much of a genotype is not used: axes beyond a joint's degrees of freedom, inputs that a function does not take, neurons
whose output has no reader. A child that differs from its parent in these alone costs evaluations and is no news.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kinemorph.brain import Function
from kinemorph.brain.layout import FIRST_NEURON_SIGNAL, ZERO_SIGNAL
from kinemorph.creatures.growth.develop import Phenotype
from kinemorph.spatial.arguments.annotated import checked_first

PARENTS = 128  # that are compared with one child after the other, and looked at once
GROWN = ["parent", "form", "half", "rise", "mirrored"]  # of a part, beside what its joint says
ONE_INPUT = {
    Function.ABSOLUTE, Function.SINE, Function.COSINE, Function.SIGMOID, Function.INTEGRATE, Function.DIFFERENTIATE,
    Function.LOGARITHM, Function.EXPONENTIAL, Function.INVERT, Function.CONSTANT, Function.SIGN, Function.ATAN,
}  # fmt: skip
TWO_INPUTS = {
    Function.SUBTRACT, Function.MULTIPLY, Function.DIVIDE, Function.LESS, Function.GREATER, Function.DELAY,
    Function.SMOOTH, Function.MEMORY,
}  # fmt: skip
INPUTS = [1 if f in ONE_INPUT else 2 if f in TWO_INPUTS else 3 for f in Function]

Input = tuple[Any, float]  # a source and its weight


@checked_first
def alike(one: Phenotype, other: Phenotype) -> bool:
    """Whether two creatures that were not rejected are equal in all genes that have an effect."""
    return (
        _parts(one) == _parts(other) and _joints(one) == _joints(other) and _used_neurons(one) == _used_neurons(other)
    )


def _parts(whole: Phenotype) -> list[bytes]:
    return [whole.rows[name].tobytes() for name in GROWN]  # known without a model


@lru_cache(PARENTS)
def _joints(whole: Phenotype) -> tuple[bytes, bytes]:
    return whole.model.links.tobytes(), whole.model.dofs.tobytes()


@lru_cache(PARENTS)
def _used_neurons(whole: Phenotype) -> tuple[Any, ...]:
    """Effects, and the neurons from which a way leads to one of them; senses go by what they read."""
    neurons, senses, effects = (rows.tolist() for rows in whole.brain.rows)
    heard: dict[int, Any] = {}
    waiting: list[int] = []

    def input_of(source: int, weight: float) -> Input:
        if source == ZERO_SIGNAL or weight == 0.0:
            return ZERO_SIGNAL, 0.0
        if source >= FIRST_NEURON_SIGNAL + len(neurons):
            return senses[source - FIRST_NEURON_SIGNAL - len(neurons)], weight
        if source >= FIRST_NEURON_SIGNAL:
            waiting.append(source - FIRST_NEURON_SIGNAL)
        return source, weight

    done = [(what, input_of(source, weight), *rest) for what, source, _, _, weight, *rest in effects]
    while waiting:
        k = waiting.pop()
        if k in heard:
            continue
        function, _, sources, _, weights, _ = neurons[k]
        sources, weights = sources.tolist(), weights.tolist()
        if function == Function.CONSTANT:
            heard[k] = function, weights[0]
        else:
            count = INPUTS[function]
            heard[k] = function, [input_of(*pair) for pair in zip(sources[:count], weights[:count], strict=True)]
    return done, heard, whole.brain.rate
