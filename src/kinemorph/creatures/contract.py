"""What a brain is made of, until `kinemorph.brain` is there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto


class Function(IntEnum):
    ADD = 0
    SUBTRACT = auto()
    MULTIPLY = auto()
    DIVIDE = auto()
    LESS = auto()
    GREATER = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    ABSOLUTE = auto()
    SINE = auto()
    COSINE = auto()
    SIGMOID = auto()
    DELAY = auto()
    INTEGRATE = auto()
    DIFFERENTIATE = auto()
    LOGARITHM = auto()
    EXPONENTIAL = auto()
    INVERT = auto()
    CONSTANT = auto()
    WAVE = auto()
    SAW = auto()
    SQUARE = auto()
    TRIANGLE = auto()
    SUM_THRESHOLD = auto()
    SIGN = auto()
    IF = auto()
    INTERPOLATE = auto()
    ATAN = auto()
    SMOOTH = auto()
    MEMORY = auto()


class Sensed(IntEnum):
    ANGLE = 0
    SPEED = auto()
    TOUCH = auto()
    UP = auto()
    DIRECTION = auto()
    DISTANCE = auto()
    PLACE = auto()


class Acted(IntEnum):
    TORQUE = 0
    TARGET = auto()
    SPEED = auto()
    GRASP = auto()


@dataclass(frozen=True)
class Neuron:
    function: Function
    sources: tuple[int, int, int]
    weights: tuple[float, float, float]


@dataclass(frozen=True)
class Sense:
    what: Sensed
    link: str
    axis: int = 0
    mirrored: bool = False


@dataclass(frozen=True)
class Effect:
    what: Acted
    link: str
    dof: int
    source: int
    weight: float
    most: float
    low: float
    high: float


@dataclass(frozen=True)
class Brain:
    neurons: tuple[Neuron, ...]
    senses: tuple[Sense, ...]
    effects: tuple[Effect, ...]
    rate: float = 25.0
