"""Brain: an immutable description of neurons, senses and effects, to attach to a figure in a world."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.brain.functions import update_neurons
from kinemorph.brain.layout import (
    EFFECT,
    FIRST_NEURON_SIGNAL,
    LONGEST_DELAY_PASSES,
    NEURON,
    ONE_SIGNAL,
    SENSE,
    Acted,
    Function,
    Sensed,
)
from kinemorph.jit.api import entry
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of

Array = npt.NDArray[np.float64]
Records = np.ndarray[tuple[int], np.dtype[np.void]]
MOST_BRAIN_ROWS = 4096  # neurons, senses or effects of a brain
LARGEST_WEIGHT = 1e6  # weight
LARGEST_EFFORT = 1e12  # N m or N
LARGEST_BRAIN_RATE = 1000.0  # Hz
COMPONENTS = Sensed.UP, Sensed.DIRECTION, Sensed.PLACE


@dataclass(frozen=True, slots=True)
class Neuron:
    """One neuron: its function of three inputs, each a source times a weight."""

    function: Function
    sources: tuple[int, int, int] = (0, 0, 0)
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Sense:
    """A quantity of a link, or of the joint that carries it, as an input; `mirrored` reverses its sign."""

    what: Sensed
    link: str
    axis: int = 0
    mirrored: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """An action of weight times a source, clamped to ±1, on the joint that carries a link, or by the link."""

    what: Acted
    link: str
    dof: int = 0
    source: int = 0
    weight: float = 1.0
    effort_limit: float = 0.0  # N m or N
    low: float = -1.0  # rad, m, rad/s or m/s
    high: float = 1.0


@checked_on_failure
class Brain:
    """Neurons that all update at once, `rate` times a second, with their senses and effects.

    A source is an index: 0 reads 0.0; 1 reads 1.0; from 2 on come the neurons in their order, and then the senses.
    `links` are the names of the links of senses and effects.
    """

    __slots__ = ("_made", "_rows", "links", "rate")
    links: tuple[str, ...]
    rate: float  # Hz
    _rows: tuple[Any, Any, Any]  # NEURON, SENSE and EFFECT
    _made: dict[str, Any]  # the same as objects, created on demand

    def __init__(
        self, neurons: Iterable[Neuron] = (), senses: Iterable[Sense] = (), effects: Iterable[Effect] = (),
        rate: float = 25.0,
    ) -> None:  # fmt: skip
        made: dict[str, Any] = {"neurons": tuple(neurons), "senses": tuple(senses), "effects": tuple(effects)}
        _check(**made, rate=float(rate))
        links = dict.fromkeys(one.link for one in (*made["senses"], *made["effects"]))
        number = {name: i for i, name in enumerate(links)}
        neuron_rows = [(n.function, -1, n.sources, 0, n.weights, 0.0) for n in made["neurons"]]
        sense_rows = [(s.what, s.axis, number[s.link], -1.0 if s.mirrored else 1.0) for s in made["senses"]]
        effect_rows = [
            (e.what, e.source, e.dof, 0, e.weight, e.effort_limit, e.low, e.high, number[e.link], -1, 0, 0)
            for e in made["effects"]
        ]
        rows = np.array(neuron_rows, NEURON), np.array(sense_rows, SENSE), np.array(effect_rows, EFFECT)
        delays = rows[0]["function"] == Function.DELAY
        rows[0]["ring"][delays] = np.arange(int(delays.sum()))
        self._set(rows, tuple(links), float(rate), made)

    @staticmethod
    def known(neurons: Any, senses: Any, effects: Any, links: tuple[str, ...], rate: float) -> Brain:
        """From rows that are valid: their links are indices of names. The arrays are kept, not copied."""
        brain = object.__new__(Brain)
        brain._set((neurons, senses, effects), links, rate, {})
        return brain

    def _set(self, rows: tuple[Any, Any, Any], links: tuple[str, ...], rate: float, made: dict[str, Any]) -> None:
        for name, value in (("_rows", rows), ("links", links), ("rate", rate), ("_made", made)):
            object.__setattr__(self, name, value)

    @property
    def neurons(self) -> tuple[Neuron, ...]:
        """All neurons, in the order of their sources."""
        if "neurons" not in self._made:
            rows = self._rows[0]
            wires = zip(rows["function"].tolist(), rows["sources"].tolist(), rows["weights"].tolist(), strict=True)
            self._made["neurons"] = tuple(Neuron(Function(f), tuple(s), tuple(w)) for f, s, w in wires)
        found: tuple[Neuron, ...] = self._made["neurons"]
        return found

    @property
    def senses(self) -> tuple[Sense, ...]:
        """All senses, in the order of their sources."""
        if "senses" not in self._made:
            rows = self._rows[1].tolist()
            self._made["senses"] = tuple(Sense(Sensed(w), self.links[id], a, gain < 0.0) for w, a, id, gain in rows)
        found: tuple[Sense, ...] = self._made["senses"]
        return found

    @property
    def effects(self) -> tuple[Effect, ...]:
        """All effects."""
        if "effects" not in self._made:
            self._made["effects"] = tuple(
                Effect(Acted(what), self.links[link], dof, source, weight, most, low, high)
                for what, source, dof, _, weight, most, low, high, link, *_ in self._rows[2].tolist()
            )
        found: tuple[Effect, ...] = self._made["effects"]
        return found

    @property
    def idle(self) -> bool:
        """Whether it has no effects."""
        return not len(self._rows[2])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a brain does not change: {name} cannot be set; make another one")

    __delattr__ = __setattr__  # type: ignore[assignment]

    @property
    def rows(self) -> tuple[Any, Any, Any]:
        """NEURON, SENSE and EFFECT rows without references to a world: to be copied."""
        return self._rows

    @property
    def ring_count(self) -> int:
        """Number of delay neurons."""
        return 1 + max(self._rows[0]["ring"].tolist(), default=-1)

    def respond(self, sensed: npt.ArrayLike) -> Array:
        """The values of all neurons after each update, from a fresh start, for given values of the senses."""
        read = np.ascontiguousarray(sensed, np.float64)
        count = len(self._rows[1])
        if read.ndim != 2 or read.shape[1] != count or not np.isfinite(read).all():
            raise ValueError(f"brain: respond takes a finite number for each update and each of {count} senses")
        neurons = self._rows[0].copy()
        rings = np.zeros(LONGEST_DELAY_PASSES * self.ring_count)
        values = np.zeros((len(read), len(neurons)))
        signals = np.zeros(FIRST_NEURON_SIGNAL + len(neurons) + read.shape[1])
        signals[ONE_SIGNAL] = 1.0
        run_updates(neurons, rings, signals, read, values, 1.0 / self.rate)
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


def _check(neurons: tuple[Neuron, ...], senses: tuple[Sense, ...], effects: tuple[Effect, ...], rate: float) -> None:
    for what, kind, each in (("neurons", Neuron, neurons), ("senses", Sense, senses), ("effects", Effect, effects)):
        if len(each) > MOST_BRAIN_ROWS:
            raise ValueError(f"brain: {len(each)} {what} are more than {MOST_BRAIN_ROWS}")
        for i, one in enumerate(each):
            if not isinstance(one, kind):
                raise TypeError(f"brain: {what} {i} is {repr_of(one)}, not a {kind.__name__}")
    _check_number("brain: rate", rate, LARGEST_BRAIN_RATE)
    if not rate > 0.0:
        raise ValueError(f"brain: rate {rate} must be positive")
    count = FIRST_NEURON_SIGNAL + len(neurons) + len(senses)
    for i, neuron in enumerate(neurons):
        _check_neuron(f"brain: neuron {i}", neuron, count)
    for i, sense in enumerate(senses):
        _check_sense(f"brain: sense {i}", sense)
    for i, effect in enumerate(effects):
        _check_effect(f"brain: effect {i}", effect, count)


def _check_number(what: str, value: float, most: float) -> None:
    if not isinstance(value, int | float | np.floating) or not (math.isfinite(value) and abs(value) <= most):
        raise ValueError(f"{what} is {value!r}, and must be a number up to {most:g}")


def _check_source(what: str, source: Any, count: int) -> None:
    if not isinstance(source, int | np.integer) or not 0 <= source < count:
        raise ValueError(f"{what}: there is no source {source!r}; they go from 0 to {count - 1}")


def _check_neuron(what: str, n: Neuron, count: int) -> None:
    if n.function not in list(Function):
        raise ValueError(f"{what}: there is no function {n.function!r}")
    if not (isinstance(n.sources, tuple) and isinstance(n.weights, tuple) and len(n.sources) == len(n.weights) == 3):
        raise ValueError(f"{what} has {n.sources!r} and {n.weights!r}, and not three sources and three weights")
    for source, weight in zip(n.sources, n.weights, strict=True):
        _check_source(what, source, count)
        _check_number(f"{what}: a weight", weight, LARGEST_WEIGHT)


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
    _check_source(what, e.source, count)
    for name in ("weight", "effort_limit", "low", "high"):
        most = LARGEST_EFFORT if name == "effort_limit" else LARGEST_WEIGHT
        _check_number(f"{what}: {name}", getattr(e, name), most)
    if e.effort_limit < 0.0 or not e.low <= e.high:
        raise ValueError(
            f"{what}: effort_limit {e.effort_limit} must not be negative, nor low {e.low} above high {e.high}"
        )


@entry
def run_updates(
    neurons: Records, rings: np.ndarray[tuple[int], np.dtype[np.float64]],
    signals: np.ndarray[tuple[int], np.dtype[np.float64]], read: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    values: np.ndarray[tuple[int, int], np.dtype[np.float64]], dt: float,
) -> int:  # fmt: skip
    """Update neurons repeatedly with given senses. Returns the number of values that were NaN."""
    n, lost = neurons.shape[0], 0
    for tick in range(read.shape[0]):
        for j in range(read.shape[1]):
            signals[FIRST_NEURON_SIGNAL + n + j] = read[tick, j]
        lost += update_neurons(neurons, signals, values[tick], rings, dt, tick)
    return lost
