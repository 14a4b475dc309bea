"""How each member of an evolvable object is drawn at random, and how it mutates.

`GENES` lists the members of every kind of object, each with `draw`, `change` and its `kind`, which is what rates of
mutation call it. A gene's `change` never gives back what it got unless there is nothing else it could give, and what it
gives is always valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.creatures.genotype.genotype import (
    Connection,
    Direction,
    EffectorGene,
    Gene,
    Genotype,
    NeuronGene,
    Node,
    Source,
    independent,
)
from kinemorph.creatures.settings import Settings

Rng = np.random.Generator
MOST_GENE_DRAWS = 64  # of draws that must fit; then what there was stays


@dataclass(frozen=True)
class Pick:
    """One of the options that a member of `Settings` lists."""

    options: str
    kind: str = "choice"

    def draw(self, rng: Rng, s: Settings) -> Any:
        return pick(rng, getattr(s, self.options))

    def change(self, value: Any, rng: Rng, s: Settings) -> Any:
        others = [option for option in getattr(s, self.options) if option != value]
        return pick(rng, others) if others else value


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` to `high`, or to what a member of `Settings` says. It steps by one, mostly."""

    low: int
    high: int | str
    kind: str = "integer"

    def _high(self, s: Settings) -> int:
        return int(getattr(s, self.high)) if isinstance(self.high, str) else self.high

    def draw(self, rng: Rng, s: Settings) -> int:
        return int(rng.integers(self.low, self._high(s) + 1))

    def change(self, value: int, rng: Rng, s: Settings) -> int:
        high = self._high(s)
        near = [n for n in (value - 1, value + 1) if self.low <= n <= high]
        if near and rng.random() < 0.75:
            return pick(rng, near)
        others = [n for n in range(self.low, high + 1) if n != value]
        return pick(rng, others) if others else value


@dataclass(frozen=True)
class Index(Whole):
    """The number of a neuron, an axis or a child: a small one as a rule."""

    def draw(self, rng: Rng, s: Settings) -> int:
        return int(rng.integers(self.low, min(self._high(s), 3)))


@dataclass(frozen=True)
class Flag:
    share: float  # of those that are drawn
    kind: str = "boolean"

    def draw(self, rng: Rng, s: Settings) -> bool:
        return bool(rng.random() < self.share)

    def change(self, value: bool, rng: Rng, s: Settings) -> bool:
        return not value


@dataclass(frozen=True)
class Sizes:
    """Three half extents, drawn and changed by factors. Mostly one changes, sometimes all."""

    kind: str = "float"

    def draw(self, rng: Rng, s: Settings) -> tuple[float, ...]:
        low, high = s.size
        return tuple([clip(math.exp(x), low, high) for x in rng.uniform(math.log(low), math.log(high), 3).tolist()])

    def change(self, value: tuple[float, ...], rng: Rng, s: Settings) -> tuple[float, ...]:
        which = range(3) if rng.random() < 0.25 else (int(rng.integers(3)),)
        return tuple(factor(x, rng, 0.25 * s.stride, s.size) if k in which else x for k, x in enumerate(value))


@dataclass(frozen=True)
class Factor:
    """A positive number in a range that a member of `Settings` gives, changed by factors."""

    range: str
    drawn: tuple[float, float]
    kind: str = "float"

    def draw(self, rng: Rng, s: Settings) -> float:
        low, high = getattr(s, self.range)
        return clip(float(rng.uniform(*self.drawn)), low, high)

    def change(self, value: float, rng: Rng, s: Settings) -> float:
        return factor(value, rng, 0.15 * s.stride, getattr(s, self.range))


@dataclass(frozen=True)
class Turn:
    """An angle, near a quarter turn or a multiple of one when it is drawn."""

    kind: str = "float"

    def draw(self, rng: Rng, s: Settings) -> float:
        return wrap(0.5 * math.pi * int(rng.integers(4)) + float(rng.normal(0.0, 0.1)))

    def change(self, value: float, rng: Rng, s: Settings) -> float:
        return wrap(value + float(rng.normal(0.0, 0.4 * s.stride)))


@dataclass(frozen=True)
class Towards:
    """A direction, half of the time near an axis when it is drawn: there the middle of a face is."""

    kind: str = "direction"

    def draw(self, rng: Rng, s: Settings) -> Direction:
        if rng.random() < 0.5:
            return random_direction(rng)
        axis = [0.0, 0.0, 0.0]
        axis[int(rng.integers(3))] = 1.0 if rng.random() < 0.5 else -1.0
        return moved_direction((axis[0], axis[1], axis[2]), rng, 0.15)

    def change(self, value: Direction, rng: Rng, s: Settings) -> Direction:
        return moved_direction(value, rng, 0.3 * s.stride)


@dataclass(frozen=True)
class Axes:
    """Three axes of a joint, pairwise more than 30° apart; those of the frame most of the time when drawn."""

    kind: str = "axes"

    def draw(self, rng: Rng, s: Settings) -> tuple[Direction, Direction, Direction]:
        x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        if rng.random() < 0.3:
            for _ in range(MOST_GENE_DRAWS):
                axes = random_direction(rng), random_direction(rng), random_direction(rng)
                if independent(axes):
                    return axes
        order = rng.permutation(3).tolist()
        a, b, c = ((x, y, z)[k] for k in order)
        return a, b, c

    def change(self, value: tuple[Direction, ...], rng: Rng, s: Settings) -> tuple[Direction, ...]:
        if rng.random() < 0.2:  # another order: degrees of freedom that are not used come into play
            k = int(rng.integers(3))
            return (*value[k + 1 :], *value[: k + 1]) if k < 2 else (value[1], value[0], value[2])
        for _ in range(MOST_GENE_DRAWS):
            k = int(rng.integers(3))
            moved = moved_direction(value[k], rng, 0.25 * s.stride) if rng.random() < 0.75 else random_direction(rng)
            a, b, c = (moved if i == k else axis for i, axis in enumerate(value))
            if independent((a, b, c)):
                return a, b, c
        return (value[1], value[0], value[2])


@dataclass(frozen=True)
class Reaches:
    """Limits of three joints, to both sides of zero."""

    kind: str = "limits"

    def draw(self, rng: Rng, s: Settings) -> tuple[tuple[float, float], ...]:
        low, high = s.reach
        numbers = rng.uniform(max(low, 0.15 * high), high, (3, 2)).tolist()
        return tuple((-a, b) for a, b in numbers)

    def change(self, value: tuple[tuple[float, float], ...], rng: Rng, s: Settings) -> tuple[tuple[float, float], ...]:
        k, upper = int(rng.integers(3)), bool(rng.random() < 0.5)
        return tuple(_reach(pair, upper, rng, s) if i == k else pair for i, pair in enumerate(value))


def _reach(pair: tuple[float, float], upper: bool, rng: Rng, s: Settings) -> tuple[float, float]:
    """A limit moves, on its side of zero."""
    least, most = s.reach
    if upper:
        return pair[0], max(moved(pair[1], rng, 0.3 * s.stride, least, most), pair[0] + least)
    return min(moved(pair[0], rng, 0.3 * s.stride, -most, -least), pair[1] - least), pair[1]


@dataclass(frozen=True)
class Weights:
    """One weight, or `count` of them, of which one changes. `spread` is that of those that are drawn."""

    count: int = 0
    spread: float = 1.0
    kind: str = "weight"

    def draw(self, rng: Rng, s: Settings) -> Any:
        most = s.weight
        numbers = [clip(x, -most, most) for x in rng.normal(0.0, self.spread, max(1, self.count)).tolist()]
        return tuple(numbers) if self.count else numbers[0]

    def change(self, value: Any, rng: Rng, s: Settings) -> Any:
        if not self.count:
            return nudged(value, rng, s)
        k = int(rng.integers(self.count))
        return tuple(nudged(w, rng, s) if i == k else w for i, w in enumerate(value))


@dataclass(frozen=True)
class Object:
    """An evolvable object inside another one."""

    of: type[Gene]


@dataclass(frozen=True)
class Several:
    """As many objects as the member has, always."""

    of: type[Gene]
    count: int


@dataclass(frozen=True)
class Array:
    """Objects whose number mutates (`arrays.py`)."""

    of: type[Gene]
    kind: str = "array"


@dataclass(frozen=True)
class NodeNumber:
    """The number of a node, of those that there are; it is drawn and changed with the graph (`arrays.py`)."""

    kind: str = "node"


GENES: dict[type[Gene], dict[str, Any]] = {
    Source: {"kind": Pick("sources"), "index": Index(0, 8), "child": Index(0, 4)},
    NeuronGene: {"function": Pick("functions"), "inputs": Several(Source, 3), "weights": Weights(3)},
    EffectorGene: {"input": Object(Source), "weight": Weights(spread=1.5)},
    Node: {
        "form": Pick("forms"),
        "size": Sizes(),
        "dof": Whole(1, 3),
        "axes": Axes(),
        "limits": Reaches(),
        "neurons": Array(NeuronGene),
        "effectors": Several(EffectorGene, 3),
        "replication": Whole(1, "most_replication"),
    },
    Connection: {
        "parent": NodeNumber(),
        "child": NodeNumber(),
        "direction": Towards(),
        "turn": Turn(),
        "reflected": Flag(0.3),
        "scale": Factor("scale", (0.7, 1.1)),
        "terminal": Flag(0.05),
    },
    Genotype: {"nodes": Array(Node), "connections": Array(Connection), "neurons": Array(NeuronGene)},
}


# ------------------------------------------------------------------------------------------------------- numbers


def pick(rng: Rng, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def moved(x: float, rng: Rng, spread: float, low: float, high: float) -> float:
    """A number nearby, in a range."""
    step = float(rng.normal(0.0, spread))
    near = clip(x + step, low, high)
    return near if near != x else clip(x - step, low, high)


def factor(x: float, rng: Rng, spread: float, ends: tuple[float, float]) -> float:
    """A positive number by a factor, in a range."""
    by = math.exp(float(rng.normal(0.0, spread)))
    near = clip(x * by, *ends)
    return near if near != x else clip(x / by, *ends)


def nudged(weight: float, rng: Rng, s: Settings, spread: float = 0.4) -> float:
    """A weight nearby; once in twenty times with the other sign. Large weights move farther."""
    start = -weight if rng.random() < 0.05 else weight
    near = moved(start, rng, s.stride * spread * max(1.0, 0.5 * abs(weight)), -s.weight, s.weight)
    return near if near != weight else moved(weight, rng, spread, -s.weight, s.weight)


def wrap(angle: float) -> float:
    """An angle from -π to π."""
    return math.remainder(angle, 2.0 * math.pi)


def random_direction(rng: Rng) -> Direction:
    """A unit vector, all directions alike."""
    while True:
        x, y, z = rng.normal(size=3).tolist()
        length = math.hypot(x, y, z)
        if length > 1e-3:
            return x / length, y / length, z / length


def moved_direction(v: Direction, rng: Rng, spread: float) -> Direction:
    """A unit vector nearby."""
    while True:
        x, y, z = (a + b for a, b in zip(v, rng.normal(0.0, spread, 3).tolist(), strict=True))
        length = math.hypot(x, y, z)
        if length > 1e-3:
            return x / length, y / length, z / length
