"""The measures of a body as a row of numbers: sizes, limits, turns and scales of all that growth uses.

Sizes and scales are there by their logarithms, so that a step of one number means about as much as one of any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from kinemorph.creatures.genotype.genes import clip, wrap
from kinemorph.creatures.genotype.genotype import Genotype, Node
from kinemorph.creatures.genotype.graph import reachable_nodes
from kinemorph.creatures.settings import Settings

USUAL = 0.1  # m, a half extent
FALLOFF_STEPS = 2.0  # steps for a factor of e


def body_measures(genotype: Genotype) -> list[float]:
    """All of them, in the order in which `replace_measures` takes them."""
    used = reachable_nodes(genotype)
    found = [number for i in used for number in _of_node(genotype.nodes[i])]
    for c in genotype.connections:
        if c.parent in used:
            found += (c.turn, FALLOFF_STEPS * math.log(c.scale))
    return found


def replace_measures(genotype: Genotype, numbers: Sequence[float], s: Settings) -> Genotype:
    """The same creature with other measures, each as far as it may go."""
    used, left = reachable_nodes(genotype), iter(numbers)
    nodes, connections = list(genotype.nodes), list(genotype.connections)
    for i in used:
        node = nodes[i]
        x, y, z = (clip(USUAL * math.exp(clip(next(left), -20.0, 20.0) / FALLOFF_STEPS), *s.size) for _ in range(3))
        low, high = s.reach
        moved = [(clip(next(left), -high, -low), clip(next(left), low, high)) for _ in range(node.dof)]
        a, b, c = (*moved, *node.limits[node.dof :])
        nodes[i] = replace(node, size=(x, y, z), limits=(a, b, c))
    for k, connection in enumerate(connections):
        if connection.parent in used:
            turn, scale = wrap(next(left)), math.exp(clip(next(left), -20.0, 20.0) / FALLOFF_STEPS)
            connections[k] = replace(connection, turn=turn, scale=clip(scale, *s.scale))
    return replace(genotype, nodes=tuple(nodes), connections=tuple(connections))


def _of_node(node: Node) -> list[float]:
    sizes = [FALLOFF_STEPS * math.log(extent / USUAL) for extent in node.size]
    return sizes + [limit for pair in node.limits[: node.dof] for limit in pair]
