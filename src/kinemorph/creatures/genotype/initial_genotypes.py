"""Founders of a search: long limbs in pairs, and effectors that oscillators or senses of the target drive already.

Random creatures hardly ever have a route from a sense to an effector, and lose it fast; searches that start from
founders with such routes find creatures that look where they go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from kinemorph.creatures.genotype.genes import Rng, clip
from kinemorph.creatures.genotype.genotype import (
    ONE,
    Connection,
    EffectorGene,
    From,
    Genotype,
    NeuronGene,
    Node,
    Source,
)
from kinemorph.creatures.genotype.random_genotype import (
    GLOBAL_NEURONS,
    LOCAL_NEURONS,
    random_connection,
    random_neurons,
    random_object,
)
from kinemorph.creatures.settings import DEFAULT, Settings
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.seeds import random_stream

ALONG, ACROSS = (0.10, 0.25), (0.04, 0.15)  # half extents of parts of founders, m
LOW, HIGH = ([math.log(ends[k]) for ends in (ACROSS, ACROSS, ALONG)] for k in (0, 1))
TWINS = 0.4  # share of connections that have a mirror twin
GRIPS = (0.4, 0.4)  # shares of grasps that keep to the oscillator, or to the angle of their joint
# The first neuron of the central brain: when it mutates, all limbs stay in step.
COMMON_OSCILLATOR = Source(From.GLOBAL, 0)


@checked_first
@dataclass(frozen=True)
class Routes:
    """Shares of effectors by what drives them at first: an oscillator, the direction to the target, their product."""

    oscillator: float
    direction: float
    product: float  # the rest is random
    towards: float = 0.0  # share of directions that turn their part towards the target, not anywhere
    pace: tuple[float, float] = (0.6, 2.5)  # Hz, of oscillators


WALKERS = Routes(0.6, 0.15, 0.2, pace=(1.0, 3.5))  # measured: docs/results/tuning.md
REACHERS = Routes(0.1, 0.6, 0.2, towards=0.5)
HOLDERS = Routes(0.4, 0.3, 0.2)  # creatures that grasp, swing and let go


@checked_first
def founder(seed: int | np.random.Generator, settings: Settings = DEFAULT, routes: Routes = WALKERS) -> Genotype:
    """A genotype to start a search from. It may still be rejected at birth: then draw another one."""
    rng, s = random_stream("founder: seed", seed), settings
    count = int(rng.integers(min(2, s.most_nodes), min(4, s.most_nodes) + 1))
    pace = NeuronGene("constant", (ONE, ONE, ONE), (float(rng.uniform(*routes.pace)), 0.0, 0.0))
    nodes = [_node(rng, s, routes) for _ in range(count)]
    if rng.random() < 0.8:
        nodes[0] = replace(nodes[0], replication=1)
    connections: list[Connection] = []
    for child in range(1, count):
        c = random_connection(rng, s, count, parent=int(rng.integers(child)), child=child, terminal=False)
        connections.append(c)
        if rng.random() < TWINS:
            connections.append(replace(c, reflected=not c.reflected))
            again = min(max(2, nodes[child].replication), s.most_replication)
            nodes[child] = replace(nodes[child], replication=again)
    if rng.random() < 0.4:
        connections.append(random_connection(rng, s, count))
    return Genotype(
        nodes=tuple(nodes),
        connections=tuple(connections[: s.most_connections]),
        neurons=(pace, *random_neurons(rng, s, GLOBAL_NEURONS))[: s.most_neurons],
    )


def _node(rng: Rng, s: Settings, routes: Routes) -> Node:
    """A node with an oscillator at the pace of all, and effectors that are wired."""
    low, high = s.size
    size: Any = tuple([clip(math.exp(x), low, high) for x in rng.uniform(LOW, HIGH).tolist()])
    neurons = list(random_neurons(rng, s, LOCAL_NEURONS))[: max(0, s.most_neurons - 1)]
    clock = Source(From.LOCAL, len(neurons))
    phase = float(rng.uniform(-math.pi, math.pi))
    neurons.append(NeuronGene("wave", (COMMON_OSCILLATOR, ONE, ONE), (1.0, phase, 1.0)))
    effectors = []
    for _ in range(3):
        u = float(rng.random())
        towards = Source(From.DIRECTION, int(rng.integers(3)))
        sign = 1.0 if rng.random() < 0.5 else -1.0
        if u < routes.oscillator:
            effector = EffectorGene(clock, sign * float(rng.uniform(0.5, 2.0)))
        elif u < routes.oscillator + routes.direction:
            effector = EffectorGene(towards, sign * float(rng.uniform(0.5, 3.0)))
        elif u < routes.oscillator + routes.direction + routes.product and len(neurons) < s.most_neurons:
            effector = EffectorGene(Source(From.LOCAL, len(neurons)), sign * float(rng.uniform(0.5, 3.0)))
            neurons.append(NeuronGene("multiply", (clock, towards, ONE), (1.0, 1.0, 0.0)))
        else:
            effector = random_object(EffectorGene, rng, s)
        effectors.append(effector)
    if s.grasps:
        effectors[-1] = _wire_grasp(rng, s, clock, neurons)
    a, b, c = effectors
    node = random_object(Node, rng, s, size=size, neurons=tuple(neurons), effectors=(a, b, c))
    return _turn_towards_target(node, rng, routes.towards) if routes.towards else node


def _wire_grasp(rng: Rng, s: Settings, clock: Source, neurons: list[NeuronGene]) -> EffectorGene:
    """The effector of a grasp: always on, or a neuron that holds until the clock or its joint's angle is far down.

    A hand that holds on does not turn, so what it senses of the way and of up is the same until it lets go.
    """
    u, sign = float(rng.random()), 1.0 if rng.random() < 0.5 else -1.0
    if u >= sum(GRIPS) or len(neurons) >= s.most_neurons:
        return EffectorGene(ONE, 1.0)
    source = clock if u < GRIPS[0] else Source(From.ANGLE, 0)
    neurons.append(NeuronGene("add", (source, ONE, ONE), (sign, float(rng.uniform(0.1, 0.7)), 0.0)))
    return EffectorGene(Source(From.LOCAL, len(neurons) - 1), 1.0)


def _turn_towards_target(node: Node, rng: Rng, share: float) -> Node:
    """Some of the directions that drive an effector directly become those that turn the part towards the target.

    A part stands along z of its joint. A turn about an axis a moves its end along a x z, so that component of the
    direction to the target is what the joint has to follow.
    """
    effectors = list(node.effectors)
    for k, (effector, axis) in enumerate(zip(node.effectors, node.axes, strict=True)):
        if effector.input.kind is not From.DIRECTION or rng.random() >= share:
            continue
        across = (axis[1], -axis[0])
        i = 0 if abs(across[0]) > abs(across[1]) else 1
        effectors[k] = EffectorGene(Source(From.DIRECTION, i), math.copysign(effector.weight, across[i]))
    a, b, c = effectors
    return replace(node, effectors=(a, b, c))
