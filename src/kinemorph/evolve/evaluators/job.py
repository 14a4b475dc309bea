"""Jobs of an evaluator and their results: an individual, the draws to evaluate it on, and the outcome of each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of


class Job(msgspec.Struct, frozen=True):
    """One genotype on some draws: the unit that is sent, lost and sent again."""

    generation: int
    individual: int
    genotype: str
    draws: tuple[Draw, ...]
    parents: tuple[int, ...] = ()
    operator: str = "founder"
    age: int = 0

    @property
    def key(self) -> tuple[int, int, int]:
        return self.generation, self.individual, self.draws[0].number


class Result(msgspec.Struct, frozen=True):
    """The outcomes of a job. It says whose they are: the order of arrival means nothing."""

    generation: int
    individual: int
    draws: tuple[Draw, ...]
    outcomes: tuple[Outcome, ...]
    attempt: int = 0  # how many times it had been lost before
    golden: bool = True  # false if the clock, memory or a death decided, not the arithmetic
    seconds: float = 0.0  # of the worker's processor; no part of the result's identity

    @property
    def key(self) -> tuple[int, int, int]:
        return self.generation, self.individual, self.draws[0].number


@checked_first
@dataclass(slots=True, eq=False)
class Individual:
    """A genotype with its descent and what it has scored so far."""

    number: int
    generation: int  # in which it was born
    genotype: str
    parents: tuple[int, ...] = ()
    operator: str = "founder"
    age: int = 0
    family: int = 0  # the founder that it descends from by its first parents
    outcomes: dict[Draw, Outcome] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return genome_key(self.genotype)

    @property
    def faulty(self) -> bool:
        return any(outcome.faulty for outcome in self.outcomes.values())

    def job(self, generation: int, draws: tuple[Draw, ...]) -> Job:
        """The job to evaluate it, with its descent for the store."""
        return Job(generation, self.number, self.genotype, draws, self.parents, self.operator, self.age)

    def scores(self, draws: tuple[Draw, ...] | None = None, of: str = "score") -> list[float]:
        """In the order of the draws: scores, or what the thesis's formula says of them."""
        if of not in Outcome.__struct_fields__:
            raise ValueError(f"scores: of is {repr_of(of)}, and must be one of {', '.join(Outcome.__struct_fields__)}")
        return [getattr(self.outcomes[draw], of) for draw in (self.outcomes if draws is None else draws)]

    def fitness(self, of: str = "score", lowest: bool = False) -> float:
        """The mean over its draws, or the lowest; minus infinity if it is faulty or was never evaluated."""
        if self.faulty or not self.outcomes:
            return -np.inf
        return float((min if lowest else mean)(self.scores(of=of)))


def mean(numbers: Sequence[float]) -> float:
    """Of floats, to the bit what NumPy's is, which takes three times as long for a few of them."""
    return float(np.add.reduce(numbers)) / len(numbers)


def genome_key(genotype: str) -> str:
    return hashlib.sha256(genotype.encode()).hexdigest()
