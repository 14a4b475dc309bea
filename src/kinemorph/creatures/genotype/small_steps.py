"""Gentle operators: few changes at a time, where they have an effect. Measured to keep more of what a parent can do.

`offspring` makes children as the recipe does: 60 % change control, 25 % the body, 15 % the structure.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TypeVar

from msgspec.structs import replace

from kinemorph.creatures.genotype.genes import GENES, Rng, clip, nudged, pick
from kinemorph.creatures.genotype.genotype import (
    Connection,
    EffectorGene,
    From,
    Gene,
    Genotype,
    NeuronGene,
    Node,
    Source,
)
from kinemorph.creatures.genotype.graph import mirror_twin, new_limb, reachable_nodes
from kinemorph.creatures.genotype.random_genotype import random_connection, random_object
from kinemorph.creatures.settings import DEFAULT, Settings
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_finite, repr_of

G = TypeVar("G", bound=Gene)
SHARES = (0.60, 0.25, 0.15)  # of control, body, structure
FAR = frozenset({From.DIRECTION, From.DISTANCE, From.UP})  # senses of what is around
FINEST = 0.125  # of the usual steps; each child has a stride of its own between the two, small ones as often as large
SCALING_SHARE = 0.15  # share of changes of the body that scale all of it


class Operator(StrEnum):
    CONTROL = "control"
    BODY = "body"
    STRUCTURE = "structure"


@checked_first
def offspring(
    genotype: Genotype, rng: Rng, settings: Settings = DEFAULT, shares: tuple[float, float, float] = SHARES,
    finest: float = FINEST,
) -> tuple[Genotype, Operator]:  # fmt: skip
    """A child by one of the three operators, drawn by their shares, and which one it was."""
    check_finite("offspring: finest", finest, 1e-6, 1.0)
    if not all(0.0 <= share <= 1e9 for share in shares):
        raise ValueError(f"offspring: shares is {repr_of(shares)}, and must be three numbers from 0 on")
    settings = settings.striding(finest ** float(rng.random()))
    u = float(rng.random()) * math.fsum(shares)
    if u < shares[0]:
        return change_control(genotype, rng, settings), Operator.CONTROL
    if u < shares[0] + shares[1]:
        return change_body(genotype, rng, settings), Operator.BODY
    child = change_structure(genotype, rng, settings)
    return (change_control(child, rng, settings) if rng.random() < 0.5 else child), Operator.STRUCTURE


# ----------------------------------------------------------------------------------------------------------- control

Weighted = tuple[int, str, int]  # a node (-1: the central brain), "effectors" or "neurons", and which of them


def upstream(genotype: Genotype, grasps: bool = False) -> tuple[list[Weighted], list[Weighted]]:
    """Effectors that are used, and neurons from which a way leads to one of them."""
    nodes = reachable_nodes(genotype)
    effectors = [(i, "effectors", k) for i in nodes for k in _used_effectors(genotype.nodes[i], grasps)]
    waiting = [(i, genotype.nodes[i].effectors[k].input) for i, _, k in effectors]
    found: dict[Weighted, None] = {}
    while waiting:
        at, source = waiting.pop()
        for i in _holders(source.kind, at, nodes):
            neurons = genotype.neurons if i < 0 else genotype.nodes[i].neurons
            here = (i, "neurons", source.index)
            if source.index < len(neurons) and here not in found:
                found[here] = None
                waiting.extend((i, each) for each in neurons[source.index].inputs)
    return effectors, list(found)


def _used_effectors(node: Node, grasps: bool) -> list[int]:
    """Effectors of a node that do something: those of its joint, and the last one, if parts may grasp by it."""
    last = len(node.effectors) - 1
    return [*range(node.dof), *([last] if grasps and node.dof <= last else [])]


def _holders(kind: From, at: int, nodes: list[int]) -> list[int]:
    """Nodes (-1: the central brain) that may hold the neuron that a source in a node means."""
    if kind is From.GLOBAL or (kind is From.LOCAL and at < 0):
        return [-1]
    if kind is From.LOCAL:
        return [at]
    return nodes if kind in (From.PARENT, From.CHILD) else []


@checked_first
def change_control(genotype: Genotype, rng: Rng, settings: Settings = DEFAULT) -> Genotype:
    """One to a few weights move that have a say in what an effector does."""
    effectors, neurons = upstream(genotype, settings.grasps)
    for _ in range(1 + int(rng.poisson(1.5))):
        which = pick(rng, effectors if not neurons or rng.random() < 0.5 else neurons)
        genotype = _move_weights(genotype, which, rng, settings)
    return genotype


def _move_weights(genotype: Genotype, which: Weighted, rng: Rng, s: Settings) -> Genotype:
    node, kind, k = which
    owner = genotype if node < 0 else genotype.nodes[node]
    several = getattr(owner, kind)
    if kind == "effectors":
        new = replace(several[k], weight=nudged(several[k].weight, rng, s))
    else:
        new = replace(several[k], weights=GENES[NeuronGene]["weights"].change(several[k].weights, rng, s))
    members = {kind: (*several[:k], new, *several[k + 1 :])}
    if node < 0:
        return replace(genotype, **members)
    return _with_node(genotype, node, replace(genotype.nodes[node], **members))


# -------------------------------------------------------------------------------------------------------------- body


@checked_first
def change_body(genotype: Genotype, rng: Rng, settings: Settings = DEFAULT) -> Genotype:
    """One to a few numbers of the body move that are used; now and then all of it grows or shrinks."""
    if rng.random() < SCALING_SHARE:
        by = math.exp(float(rng.normal(0.0, 0.2 * settings.stride)))
        return replace(genotype, nodes=tuple(_scaled(node, by, settings) for node in genotype.nodes))
    used = reachable_nodes(genotype)
    links = [k for k, c in enumerate(genotype.connections) if c.parent in used]
    for _ in range(1 + int(rng.poisson(0.7))):
        if links and rng.random() < 0.25:
            k = pick(rng, links)
            member = pick(rng, ("direction", "turn", "scale"))
            genotype = _with_connection(genotype, k, _changed(genotype.connections[k], member, rng, settings))
        else:
            i = pick(rng, used)
            member = pick(rng, ("size", "size", "limits", "axes"))
            genotype = _with_node(genotype, i, _changed(genotype.nodes[i], member, rng, settings))
    return genotype


def _scaled(node: Node, by: float, s: Settings) -> Node:
    x, y, z = (clip(e * by, *s.size) for e in node.size)
    return replace(node, size=(x, y, z))


def _changed(thing: G, member: str, rng: Rng, s: Settings) -> G:
    return replace(thing, **{member: GENES[type(thing)][member].change(getattr(thing, member), rng, s)})


# --------------------------------------------------------------------------------------------------------- structure


@checked_first
def change_structure(genotype: Genotype, rng: Rng, settings: Settings = DEFAULT) -> Genotype:
    """One edit of the graph or of the wiring."""
    s, used = settings, reachable_nodes(genotype)
    i = int(pick(rng, used))
    edit = int(rng.integers(12))
    if edit == 0 and len(genotype.nodes[i].neurons) < s.most_neurons:
        return _neuron_before_effector(genotype, i, rng, s)
    if edit in (1, 2):
        return _rewired_effector(genotype, i, edit == 2, rng, s)
    if edit in (3, 4):
        return _other_neuron(genotype, edit == 3, rng, s)
    if edit == 5:
        return _with_node(genotype, i, _changed(genotype.nodes[i], "dof", rng, s))
    if edit == 6 and len(genotype.nodes) < s.most_nodes and len(genotype.connections) < s.most_connections:
        return new_limb(genotype, i, rng, s)
    if edit == 7 and 0 < len(genotype.connections) < s.most_connections:
        return mirror_twin(genotype, int(rng.integers(len(genotype.connections))), s)
    if edit == 8 and len(genotype.connections) > 1:
        k = int(rng.integers(len(genotype.connections)))
        return replace(genotype, connections=(*genotype.connections[:k], *genotype.connections[k + 1 :]))
    if edit == 9 and len(genotype.connections) < s.most_connections:
        c = random_connection(rng, s, len(genotype.nodes))
        return replace(genotype, connections=(*genotype.connections, c))
    if edit == 10 and genotype.connections:
        k = int(rng.integers(len(genotype.connections)))
        return _with_connection(genotype, k, _changed(genotype.connections[k], "reflected", rng, s))
    return _with_node(genotype, i, _changed(genotype.nodes[i], "replication", rng, s))


def _neuron_before_effector(genotype: Genotype, i: int, rng: Rng, s: Settings) -> Genotype:
    """A new neuron takes what an effector took, and drives it."""
    node = genotype.nodes[i]
    k = int(pick(rng, _used_effectors(node, s.grasps)))
    old = node.effectors[k]
    neuron = random_object(NeuronGene, rng, s)
    if rng.random() < 0.75:
        known = [name for name in s.functions if name in ("add", "multiply", "sum_threshold")] or list(s.functions)
        neuron = replace(neuron, function=pick(rng, known))
    neuron = replace(neuron, inputs=(old.input, *neuron.inputs[1:]), weights=(1.0, *neuron.weights[1:]))
    new = replace(old, input=Source(From.LOCAL, len(node.neurons)))
    effectors = (*node.effectors[:k], new, *node.effectors[k + 1 :])
    return _with_node(genotype, i, replace(node, neurons=(*node.neurons, neuron), effectors=effectors))


def _rewired_effector(genotype: Genotype, i: int, sensed: bool, rng: Rng, s: Settings) -> Genotype:
    """An effector gets another source: any, or a sense of the target or of where up is."""
    node = genotype.nodes[i]
    k = int(pick(rng, _used_effectors(node, s.grasps)))
    new = replace(node.effectors[k], input=random_object(Source, rng, s))
    if sensed:
        kinds = [kind for kind in s.sources if kind in FAR] or list(s.sources)
        weight = clip(float(rng.normal(0.0, 2.0)), -s.weight, s.weight)
        new = EffectorGene(Source(pick(rng, kinds), int(rng.integers(3))), weight)
    return _with_node(genotype, i, replace(node, effectors=(*node.effectors[:k], new, *node.effectors[k + 1 :])))


def _other_neuron(genotype: Genotype, rewired: bool, rng: Rng, s: Settings) -> Genotype:
    """Some neuron gets another source, or another function."""
    places = [(-1, k) for k in range(len(genotype.neurons))]
    places += [(i, k) for i, node in enumerate(genotype.nodes) for k in range(len(node.neurons))]
    if not places:
        return genotype
    i, k = pick(rng, places)
    neurons = genotype.neurons if i < 0 else genotype.nodes[i].neurons
    new = neurons[k]
    if rewired:
        at = int(rng.integers(3))
        new = replace(new, inputs=(*new.inputs[:at], random_object(Source, rng, s), *new.inputs[at + 1 :]))
    else:
        new = _changed(new, "function", rng, s)
    changed = (*neurons[:k], new, *neurons[k + 1 :])
    return replace(genotype, neurons=changed) if i < 0 else _with_node(
        genotype, i, replace(genotype.nodes[i], neurons=changed)
    )  # fmt: skip


def _with_node(genotype: Genotype, i: int, node: Node) -> Genotype:
    return replace(genotype, nodes=(*genotype.nodes[:i], node, *genotype.nodes[i + 1 :]))


def _with_connection(genotype: Genotype, k: int, connection: Connection) -> Genotype:
    old = genotype.connections
    return replace(genotype, connections=(*old[:k], connection, *old[k + 1 :]))
