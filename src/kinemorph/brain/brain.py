"""Brain: neurons, senses and effects, as they are told to a world. It never changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._jit import entry
from kinemorph.brain.functions import think
from kinemorph.brain.layout import EFFECT, FIRST, LONGEST, NEURON, ONE, SENSE, Acted, Function, Sensed

Array = npt.NDArray[np.float64]
Records = np.ndarray[tuple[int], np.dtype[np.void]]
MOST = 4096  # neurons, senses or effects of a brain
HEAVIEST = 1e6  # weight
STRONGEST = 1e12  # N m or N
FASTEST = 1000.0  # Hz
COMPONENTS = Sensed.UP, Sensed.DIRECTION, Sensed.PLACE


@dataclass(frozen=True, slots=True)
class Neuron:
    """One neuron: its function of three inputs, each a source times a weight."""

    function: Function
    sources: tuple[int, int, int] = (0, 0, 0)
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Sense:
    """What is read of a link, or of the joint that carries it; `mirrored` turns the sign round."""

    what: Sensed
    link: str
    axis: int = 0
    mirrored: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """What is done, by weight times a source, held in ±1, in the joint that carries a link, or by the link."""

    what: Acted
    link: str
    dof: int = 0
    source: int = 0
    weight: float = 1.0
    most: float = 0.0  # N m or N
    low: float = -1.0  # rad, m, rad/s or m/s
    high: float = 1.0


class Brain:
    """Neurons that all update at once, `rate` times a second, what they sense, and what they do.

    A source is a number: 0 is nothing, and reads 0.0; 1 is one, and reads 1.0; from 2 on come the neurons in their
    order, and then the senses.
    """

    __slots__ = ("effects", "neurons", "rate", "senses")
    neurons: tuple[Neuron, ...]
    senses: tuple[Sense, ...]
    effects: tuple[Effect, ...]
    rate: float  # Hz

    def __init__(
        self, neurons: Iterable[Neuron] = (), senses: Iterable[Sense] = (), effects: Iterable[Effect] = (),
        rate: float = 25.0,
    ) -> None:  # fmt: skip
        for name, value in (("neurons", neurons), ("senses", senses), ("effects", effects)):
            object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "rate", float(rate))
        self._check()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a brain does not change: {name} cannot be set; make another one")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def _check(self) -> None:
        parts = ("neurons", Neuron, self.neurons), ("senses", Sense, self.senses), ("effects", Effect, self.effects)
        for what, kind, each in parts:
            if len(each) > MOST:
                raise ValueError(f"brain: {len(each)} {what} are more than {MOST}")
            for i, one in enumerate(each):
                if not isinstance(one, kind):
                    raise TypeError(f"brain: {what} {i} is {one!r}, and no {kind.__name__}")
        _number("brain: rate", self.rate, FASTEST)
        if not self.rate > 0.0:
            raise ValueError(f"brain: rate {self.rate} must be positive")
        count = FIRST + len(self.neurons) + len(self.senses)
        for i, neuron in enumerate(self.neurons):
            _check_neuron(f"brain: neuron {i}", neuron, count)
        for i, sense in enumerate(self.senses):
            _check_sense(f"brain: sense {i}", sense)
        for i, effect in enumerate(self.effects):
            _check_effect(f"brain: effect {i}", effect, count)

    def rows(self) -> tuple[Any, Any, Any]:
        """Fresh NEURON, SENSE and EFFECT rows, which know no world yet."""
        neurons, senses = np.zeros(len(self.neurons), NEURON), np.zeros(len(self.senses), SENSE)
        effects = np.zeros(len(self.effects), EFFECT)
        neurons["ring"], rings = -1, 0
        for row, n in zip(neurons, self.neurons, strict=True):
            row["function"], row["sources"], row["weights"] = n.function, n.sources, n.weights
            if n.function == Function.DELAY:
                row["ring"], rings = rings, rings + 1
        for row, s in zip(senses, self.senses, strict=True):
            row["what"], row["axis"], row["id"], row["gain"] = s.what, s.axis, -1, -1.0 if s.mirrored else 1.0
        effects["drive"] = effects["body"] = effects["held"] = -1
        for row, e in zip(effects, self.effects, strict=True):
            row["what"], row["source"], row["weight"] = e.what, e.source, e.weight
            row["most"], row["low"], row["high"] = e.most, e.low, e.high
        return neurons, senses, effects

    def respond(self, sensed: npt.ArrayLike) -> Array:
        """The values of all neurons after each pass, from a fresh start, to what the senses read before it."""
        read = np.ascontiguousarray(sensed, np.float64)
        if read.ndim != 2 or read.shape[1] != len(self.senses) or not np.isfinite(read).all():
            raise ValueError(
                f"brain: respond takes a finite number for each pass and each of {len(self.senses)} senses"
            )
        neurons = self.rows()[0]
        rings = np.zeros(LONGEST * int((neurons["ring"] >= 0).sum()))
        values, signals = np.zeros((len(read), len(neurons))), np.zeros(FIRST + len(neurons) + len(self.senses))
        signals[ONE] = 1.0
        run_passes(neurons, rings, signals, read, values, 1.0 / self.rate)
        return values

    def _key(self) -> tuple[Any, ...]:
        return self.neurons, self.senses, self.effects, self.rate

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Brain) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return Brain, self._key()

    def __copy__(self) -> Brain:
        return self

    def __deepcopy__(self, memo: Any) -> Brain:
        return self

    def __repr__(self) -> str:
        return (
            f"Brain of {len(self.neurons)} neurons, {len(self.senses)} senses and {len(self.effects)} effects "
            f"at {self.rate:g} Hz"
        )


def _number(what: str, value: float, most: float) -> None:
    if not isinstance(value, int | float | np.floating) or not (math.isfinite(value) and abs(value) <= most):
        raise ValueError(f"{what} is {value!r}, and must be a number up to {most:g}")


def _source(what: str, source: Any, count: int) -> None:
    if not isinstance(source, int | np.integer) or not 0 <= source < count:
        raise ValueError(f"{what}: there is no source {source!r}; they go from 0 to {count - 1}")


def _check_neuron(what: str, n: Neuron, count: int) -> None:
    if n.function not in list(Function):
        raise ValueError(f"{what}: there is no function {n.function!r}")
    if not (isinstance(n.sources, tuple) and isinstance(n.weights, tuple) and len(n.sources) == len(n.weights) == 3):
        raise ValueError(f"{what} has {n.sources!r} and {n.weights!r}, and not three sources and three weights")
    for source, weight in zip(n.sources, n.weights, strict=True):
        _source(what, source, count)
        _number(f"{what}: a weight", weight, HEAVIEST)


def _check_sense(what: str, s: Sense) -> None:
    if s.what not in list(Sensed):
        raise ValueError(f"{what}: {s.what!r} cannot be sensed")
    if not isinstance(s.link, str) or not isinstance(s.axis, int | np.integer):
        raise TypeError(f"{what}: a sense has the name of a link and the number of an axis, not {s.link!r}, {s.axis!r}")
    most = 3 if s.what in COMPONENTS else 6
    if not 0 <= s.axis < most:
        raise ValueError(f"{what}: axis {s.axis} is not from 0 to {most - 1}")


def _check_effect(what: str, e: Effect, count: int) -> None:
    if e.what not in list(Acted):
        raise ValueError(f"{what}: there is no {e.what!r} to do")
    if not isinstance(e.link, str) or not isinstance(e.dof, int | np.integer) or not 0 <= e.dof < 6:
        raise ValueError(f"{what}: {e.link!r} and {e.dof!r} are not a link's name and a degree of freedom from 0 to 5")
    _source(what, e.source, count)
    for name, most in (("weight", HEAVIEST), ("most", STRONGEST), ("low", HEAVIEST), ("high", HEAVIEST)):
        _number(f"{what}: {name}", getattr(e, name), most)
    if e.most < 0.0 or not e.low <= e.high:
        raise ValueError(f"{what}: most {e.most} must not be negative, nor low {e.low} above high {e.high}")


@entry
def run_passes(
    neurons: Records, rings: np.ndarray[tuple[int], np.dtype[np.float64]],
    signals: np.ndarray[tuple[int], np.dtype[np.float64]], read: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    values: np.ndarray[tuple[int, int], np.dtype[np.float64]], dt: float,
) -> int:  # fmt: skip
    """Passes over neurons with given senses. Returns how many values would have been no number."""
    n, lost = neurons.shape[0], 0
    for tick in range(read.shape[0]):
        for j in range(read.shape[1]):
            signals[FIRST + n + j] = read[tick, j]
        lost += think(neurons, signals, values[tick], rings, dt, tick)
    return lost
