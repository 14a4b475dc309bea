"""Random genotypes: every member of every object is drawn, used or not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from kinemorph.creatures.genotype.genes import GENES, Array, NodeNumber, Object, Rng, Several
from kinemorph.creatures.genotype.genotype import Connection, Gene, Genotype, NeuronGene, Node
from kinemorph.creatures.settings import DEFAULT, Settings
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.seeds import random_stream

G = TypeVar("G", bound=Gene)
Draw = Callable[[Rng, Settings], Any]
LOCAL_NEURONS, GLOBAL_NEURONS = 3, 2  # of a random creature, at most
UNREACHED = 0.2  # share of nodes that nothing leads to on purpose


def random_object(kind: type[G], rng: Rng, s: Settings, **given: Any) -> G:
    """A random object of a kind; `given` members are as they are given."""
    if not given:
        return kind(*[draw(rng, s) for _, draw in _draws(kind)])
    return kind(**given, **{name: draw(rng, s) for name, draw in _draws(kind) if name not in given})


@cache
def _draws(kind: type[Gene]) -> list[tuple[str, Draw]]:
    """How the members of an object are drawn, in their order."""
    return [(name, _draw(gene)) for name, gene in GENES[kind].items()]


def _draw(gene: Any) -> Draw:
    if isinstance(gene, Object):
        return lambda rng, s: random_object(gene.of, rng, s)
    if isinstance(gene, Several):
        return lambda rng, s: tuple([random_object(gene.of, rng, s) for _ in range(gene.count)])
    if isinstance(gene, Array):
        return lambda rng, s: random_neurons(rng, s, LOCAL_NEURONS)
    if isinstance(gene, NodeNumber):
        return _not_drawn
    draw: Draw = gene.draw
    return draw


def _not_drawn(rng: Rng, s: Settings) -> Any:
    raise ValueError("the number of a node is drawn with the graph")


def random_neurons(rng: Rng, s: Settings, most: int) -> tuple[NeuronGene, ...]:
    count = int(rng.integers(1, min(most, s.most_neurons) + 1))
    return tuple(random_object(NeuronGene, rng, s) for _ in range(count))


def random_connection(rng: Rng, s: Settings, nodes: int, **given: Any) -> Connection:
    """A connection between any two of so many nodes."""
    ends = {end: given.pop(end, None) for end in ("parent", "child")}
    numbers = {end: int(rng.integers(nodes)) if i is None else i for end, i in ends.items()}
    return random_object(Connection, rng, s, **numbers, **given)


@checked_first
def random_genotype(seed: int | np.random.Generator, settings: Settings = DEFAULT) -> Genotype:
    """A random creature. Most nodes hang on one before them; a few connections more go anywhere, cycles included."""
    rng, s = random_stream("random_genotype: seed", seed), settings
    count = int(rng.integers(min(2, s.most_nodes), s.most_nodes + 1))
    connections = [
        random_connection(rng, s, count, parent=int(rng.integers(child)), child=child)
        for child in range(1, count)
        if child == 1 or rng.random() >= UNREACHED
    ]
    connections += [random_connection(rng, s, count) for _ in range(int(rng.poisson(1.0)))]
    return Genotype(
        nodes=tuple(random_object(Node, rng, s) for _ in range(count)),
        connections=tuple(connections[: s.most_connections]),
        neurons=random_neurons(rng, s, GLOBAL_NEURONS),
    )
