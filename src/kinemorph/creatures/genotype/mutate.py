"""Mutation: every member of every object changes with its own probability, and at least one does (Fontijne 4.4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import replace

from kinemorph.creatures.genotype.genes import GENES, Array, NodeNumber, Object, Rng, Several, pick
from kinemorph.creatures.genotype.genotype import Gene, Genotype, Node
from kinemorph.creatures.genotype.graph import edit_connections, edit_global_neurons, edit_node_neurons, edit_nodes
from kinemorph.creatures.settings import DEFAULT, Settings
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of

G = TypeVar("G", bound=Gene)
MOST_MUTATION_PASSES = 100  # passes, of which the first one that changes something counts


@checked_first
@dataclass(frozen=True)
class Rates:
    """How likely members are to change: the first that is said of them of

    - `by["Node.size"]`, a member of a kind of object,
    - `by["Node"]`, all members of a kind of object,
    - `by["float"]`, all members of a type (choice, integer, boolean, float, direction, axes, limits, weight, node,
      array),
    - `default`.

    Places in `frozen`, such as "connections", "nodes[0]" or "nodes[2].neurons[0].weights", stay as they are, with all
    that is in them.
    """

    default: float = 0.06
    by: Mapping[str, float] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        known = {name for kind in GENES for name in (kind.__name__, *(f"{kind.__name__}.{m}" for m in GENES[kind]))}
        known |= {gene.kind for genes in GENES.values() for gene in genes.values() if hasattr(gene, "kind")}
        for name, rate in {"default": self.default, **self.by}.items():
            if not 0.0 <= rate <= 1.0:
                raise ValueError(f"rates of mutation: {name} is {rate}, and must be from 0 to 1")
            if name != "default" and name not in known:
                raise ValueError(f"rates of mutation: there is no {name!r}; there are {', '.join(sorted(known))}")

    def of(self, kind: type[Gene], member: str) -> float:
        """Of a member of a kind of object."""
        name, by = kind.__name__, self.by
        if member not in GENES.get(kind, {}):
            raise KeyError(f"rates of mutation: {name} has no member {repr_of(member)}")
        for key in (f"{name}.{member}", name, GENES[kind][member].kind):
            if key in by:
                return by[key]
        return self.default


CONTROL = {"Node": 0.0, "Connection": 0.0, "Genotype": 0.0, "Node.neurons": 0.06, "Genotype.neurons": 0.06}
BODY = {"Source": 0.0, "NeuronGene": 0.0, "EffectorGene": 0.0, "Node.neurons": 0.0, "Genotype.neurons": 0.0}
"""`Rates(by=CONTROL)` changes neurons and effectors only, `Rates(by=BODY)` everything else only."""


@checked_first
def mutate(
    genotype: Genotype, rng: Rng, settings: Settings = DEFAULT, rates: Rates = Rates()  # noqa: B008
) -> Genotype:  # fmt: skip
    """A genotype that differs from this one in at least one member, and is valid."""
    chances = [_rate(rates, kind, member, place) for place, kind, member in mutable_slots(genotype)]
    if not any(chances):
        raise ValueError("mutate: all rates are 0, or all that there is is frozen, so nothing can change")
    for _ in range(MOST_MUTATION_PASSES):
        hits = [x < rate for x, rate in zip(rng.random(len(chances)).tolist(), chances, strict=True)]
        if not any(hits):
            hits[_one_of(rng, chances)] = True
        new = _Pass(rng, settings, hits, len(genotype.nodes)).genotype(genotype)
        if new != genotype and all(value_at(new, place) == value_at(genotype, place) for place in rates.frozen):
            return new
    raise ValueError("mutate: what may change has nothing to change to")


def mutable_slots(thing: Gene, place: str = "") -> Iterator[tuple[str, type[Gene], str]]:
    """All that can mutate, in the order in which a pass comes to it: place, kind of object, member."""
    kind = type(thing)
    for name, gene in GENES[kind].items():
        here = f"{place}.{name}" if place else name
        value = getattr(thing, name)
        if isinstance(gene, Object):
            yield from mutable_slots(value, here)
        elif isinstance(gene, Several | Array):
            for i, one in enumerate(value):
                yield from mutable_slots(one, f"{here}[{i}]")
        if not isinstance(gene, Object | Several):
            yield here, kind, name


def value_at(genotype: Genotype, place: str) -> Any:
    """The value at a place such as "nodes[0].size"; None if there is none."""
    value: Any = genotype
    for step in place.replace("[", ".[").split("."):
        try:
            value = value[int(step[1:-1])] if step.startswith("[") else getattr(value, step)
        except (AttributeError, IndexError, TypeError, ValueError):
            return None
    return value


def _rate(rates: Rates, kind: type[Gene], member: str, place: str) -> float:
    if rates.frozen and any(place.startswith(f) and place[len(f) : len(f) + 1] in ("", ".", "[") for f in rates.frozen):
        return 0.0
    return rates.of(kind, member)


def _one_of(rng: Rng, chances: list[float]) -> int:
    """One of all that may change, in proportion to how likely each is to."""
    at = float(rng.random()) * math.fsum(chances)
    for i, chance in enumerate(chances):
        at -= chance
        if chance > 0.0 and at <= 0.0:
            return i
    return max(i for i, chance in enumerate(chances) if chance > 0.0)


class _Pass:
    """One walk over a genotype, with the decision for each slot made before."""

    def __init__(self, rng: Rng, s: Settings, hits: list[bool], nodes: int) -> None:
        self.rng, self.s, self.nodes = rng, s, nodes
        self.hits = iter(hits)
        self.edits: list[str] = []  # arrays of the genotype whose number of entries changes, at the end

    def genotype(self, old: Genotype) -> Genotype:
        new = self.object(old)
        edits = {"nodes": edit_nodes, "connections": edit_connections, "neurons": edit_global_neurons}
        for name in self.edits:
            new = edits[name](new, self.rng, self.s)
        return new

    def object(self, old: G) -> G:
        members: dict[str, Any] = {}
        neurons_edited = False
        for name, gene in GENES[type(old)].items():
            value = getattr(old, name)
            new = value
            if isinstance(gene, Object):
                new = self.object(value)
            elif isinstance(gene, Several | Array):
                new = tuple([self.object(one) for one in value])
            if not isinstance(gene, Object | Several) and next(self.hits):
                if isinstance(gene, NodeNumber):
                    new = self.other_node(value)
                elif not isinstance(gene, Array):
                    new = gene.change(value, self.rng, self.s)
                elif isinstance(old, Genotype):
                    self.edits.append(name)
                else:
                    neurons_edited = True
            if new != value:
                members[name] = new
        new_object = replace(old, **members) if members else old
        if neurons_edited:
            assert isinstance(new_object, Node)
            return edit_node_neurons(new_object, self.rng, self.s)  # type: ignore[return-value]
        return new_object

    def other_node(self, number: int) -> int:
        others = [i for i in range(self.nodes) if i != number]
        return int(pick(self.rng, others)) if others else number
