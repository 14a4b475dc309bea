"""Edits of the graph of a genotype that keep it valid: numbers of nodes and neurons follow what comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from kinemorph.creatures.genotype.genes import GENES, Array, Object, Rng, Several, pick
from kinemorph.creatures.genotype.genotype import (
    MOST_CONNECTIONS,
    Connection,
    From,
    Gene,
    Genotype,
    NeuronGene,
    Node,
    Source,
)
from kinemorph.creatures.genotype.random_genotype import random_connection, random_object
from kinemorph.creatures.settings import Settings

G = TypeVar("G", bound=Gene)
COPIED = 0.6  # share of new nodes and neurons that are copies of others


def reachable_nodes(genotype: Genotype) -> list[int]:
    """The nodes that growth can come to, from the first one, in the order in which it does."""
    found = [0]
    for node in found:
        for c in genotype.connections:
            if c.parent == node and c.child not in found:
                found.append(c.child)
    return found


def with_sources(thing: G, kind: type[Gene], turn: Callable[[Source], Source]) -> G:
    """An object in which every source is another one."""
    if isinstance(thing, Source):
        return turn(thing)  # type: ignore[return-value]
    members: dict[str, Any] = {}
    for name, gene in GENES[kind].items():
        if isinstance(gene, Object):
            members[name] = with_sources(getattr(thing, name), gene.of, turn)
        elif isinstance(gene, Several | Array):
            members[name] = tuple(with_sources(one, gene.of, turn) for one in getattr(thing, name))
    return replace(thing, **members) if members else thing


def _without(k: int, *kinds: From) -> Callable[[Source], Source]:
    """Renumber the sources of these kinds after neuron k is removed."""
    return lambda s: replace(s, index=s.index - 1) if s.kind in kinds and s.index > k else s


# ----------------------------------------------------------------------------------------------------------- neurons


def more_neurons(neurons: tuple[NeuronGene, ...], rng: Rng, s: Settings) -> tuple[NeuronGene, ...]:
    """With one neuron more, at the end: a copy or a new one."""
    copied = bool(neurons) and rng.random() < COPIED
    return (*neurons, pick(rng, neurons) if copied else random_object(NeuronGene, rng, s))


def edit_node_neurons(node: Node, rng: Rng, s: Settings) -> Node:
    """One local neuron more or fewer; sources within the node keep to those that they meant."""
    if not node.neurons or (len(node.neurons) < s.most_neurons and rng.random() < 0.5):
        return replace(node, neurons=more_neurons(node.neurons, rng, s))
    k = int(rng.integers(len(node.neurons)))
    fewer = replace(node, neurons=(*node.neurons[:k], *node.neurons[k + 1 :]))
    return with_sources(fewer, Node, _without(k, From.LOCAL))


def edit_global_neurons(genotype: Genotype, rng: Rng, s: Settings) -> Genotype:
    """One neuron of the central brain more or fewer; all sources keep to those that they meant."""
    neurons = genotype.neurons
    if not neurons or (len(neurons) < s.most_neurons and rng.random() < 0.5):
        return replace(genotype, neurons=more_neurons(neurons, rng, s))
    k = int(rng.integers(len(neurons)))
    left = tuple(
        with_sources(n, NeuronGene, _without(k, From.LOCAL, From.GLOBAL)) for i, n in enumerate(neurons) if i != k
    )
    nodes = tuple(with_sources(node, Node, _without(k, From.GLOBAL)) for node in genotype.nodes)
    return replace(genotype, nodes=nodes, neurons=left)


# ------------------------------------------------------------------------------------------- nodes and connections


def edit_nodes(genotype: Genotype, rng: Rng, s: Settings) -> Genotype:
    """One node more, with a connection to it, or one node fewer."""
    count = len(genotype.nodes)
    room = count < s.most_nodes and len(genotype.connections) < s.most_connections
    if count == 1 or (room and rng.random() < 0.5):
        return new_limb(genotype, int(rng.integers(count)), rng, s) if room else genotype
    gone = int(rng.integers(1, count))
    return kept_nodes(genotype, [i for i in range(count) if i != gone])


def new_limb(genotype: Genotype, parent: int, rng: Rng, s: Settings) -> Genotype:
    """With a node more, a copy or a new one, and a connection to it from a parent."""
    count = len(genotype.nodes)
    node = pick(rng, genotype.nodes) if rng.random() < COPIED else random_object(Node, rng, s)
    link = random_connection(rng, s, count + 1, parent=parent, child=count)
    return replace(genotype, nodes=(*genotype.nodes, node), connections=(*genotype.connections, link))


def kept_nodes(genotype: Genotype, keep: Iterable[int]) -> Genotype:
    """The graph of these nodes, in this order, and the connections among them."""
    order = list(keep)
    number = {old: new for new, old in enumerate(order)}
    nodes = tuple(genotype.nodes[i] for i in order)
    return replace(genotype, nodes=nodes, connections=tuple(renumbered(genotype.connections, number)))


def renumbered(connections: Iterable[Connection], number: dict[int, int]) -> list[Connection]:
    """The connections among some nodes, under these nodes' new numbers."""
    return [
        replace(c, parent=number[c.parent], child=number[c.child])
        for c in connections
        if c.parent in number and c.child in number
    ]


def edit_connections(genotype: Genotype, rng: Rng, s: Settings) -> Genotype:
    """One connection more, of any kind or the mirror twin of one, or one fewer."""
    old = genotype.connections
    if not old or (len(old) < s.most_connections and rng.random() < 0.5):
        if old and rng.random() < 0.5:
            return mirror_twin(genotype, int(rng.integers(len(old))), s)
        return replace(genotype, connections=(*old, random_connection(rng, s, len(genotype.nodes))))
    k = int(rng.integers(len(old)))
    return replace(genotype, connections=(*old[:k], *old[k + 1 :]))


def mirror_twin(genotype: Genotype, k: int, s: Settings) -> Genotype:
    """With a connection like k to the other side, and a node that may be used once more."""
    c = genotype.connections[k]
    twin = replace(c, reflected=not c.reflected)
    node = genotype.nodes[c.child]
    node = replace(node, replication=max(node.replication, min(node.replication + 1, s.most_replication)))
    nodes = (*genotype.nodes[: c.child], node, *genotype.nodes[c.child + 1 :])
    return replace(genotype, nodes=nodes, connections=(*genotype.connections, twin))


def trimmed(connections: Iterable[Connection], s: Settings, *parents: Genotype) -> tuple[Connection, ...]:
    """Not more connections than there may be, or than the larger parent has."""
    most = max(s.most_connections, *(len(p.connections) for p in parents))
    return tuple(connections)[: min(most, MOST_CONNECTIONS)]
