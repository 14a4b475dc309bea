"""Problems: the interface of genotypes and tasks to searches and evaluators. Every function is pure."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from kinemorph.spatial.arguments.annotated import not_needed

BLANK = 1 << 16  # draws from this number on are lived with senses that read nothing


class Draw(msgspec.Struct, frozen=True):
    """The circumstances of one evaluation."""

    number: int  # which one of a bank: what is stratified (an octant, a bearing) is so by this number
    seed: int  # of everything that is random in it
    level: float = 1.0  # how hard it is, from 0 to 1, or beyond what is asked: a curriculum raises it

    @property
    def blank(self) -> bool:
        """Whether it is a catch trial: a creature that succeeds without senses did not use them."""
        return self.number >= BLANK


class Outcome(msgspec.Struct, frozen=True):
    """The result of one evaluation."""

    score: float  # what searches compare; it may be negative
    thesis: float = 0.0  # by the thesis's formula; never negative
    measure: float = 0.0  # what is reported: body lengths a second, hit or not
    reason: str = ""  # why it was rejected: an exploit, or faulty
    steps: int = 0
    details: dict[str, float] = {}

    @property
    def faulty(self) -> bool:
        """It could not be evaluated: it ranks last, never breeds and is left out of means."""
        return self.reason.startswith("faulty")


class Descriptor(NamedTuple):
    """One axis of a map of creatures: a number among the details of an outcome."""

    name: str
    low: float
    high: float
    cells: int


class Problem(Protocol):
    """Genotypes are text, so that they can be stored, sent and compared without knowing them.

    Instances are pickled to other processes. What depends on chance gets a generator.
    """

    @property
    def name(self) -> str: ...

    @property
    def descriptors(self) -> tuple[Descriptor, ...]: ...

    def advice(self, search: str) -> dict[str, Any]:
        """Settings of a search that suit this problem; what the user says wins."""
        ...

    def founder(self, rng: np.random.Generator) -> str: ...

    def mutate(self, genotype: str, rng: np.random.Generator) -> tuple[str, str]:
        """Another genotype, and what was done."""
        ...

    @not_needed
    def crossover(self, one: str, other: str, rng: np.random.Generator) -> str: ...

    @not_needed
    def graft(self, one: str, other: str, rng: np.random.Generator) -> str: ...

    def viable(self, genotype: str) -> bool:
        """Whether it is worth an evaluation at all; a stillbirth costs none."""
        ...

    @not_needed
    def numbers(self, genotype: str) -> list[float]:
        """The numbers that can be tuned without changing the body. If the body may be tuned too (`body` of a search's
        `tuning`), this and the next are called with `body=True`."""
        ...

    @not_needed
    def with_numbers(self, genotype: str, numbers: list[float]) -> str: ...

    def evaluate(self, genotype: str, draw: Draw) -> Outcome:
        """The same bits in any process. A budget of steps ends it, never the clock."""
        ...

    def warm(self) -> None:
        """Compile or load every kernel that `evaluate` calls."""
        ...
