"""Recombination: runs of nodes change places, limbs are grafted, and parts of nodes spread (Fontijne 4.7, 4.9)."""

from __future__ import annotations

from msgspec.structs import replace

from kinemorph.creatures.genotype.genes import Rng
from kinemorph.creatures.genotype.genotype import Connection, Genotype
from kinemorph.creatures.genotype.graph import kept_nodes, reachable_nodes, renumbered, trimmed
from kinemorph.creatures.genotype.random_genotype import random_connection
from kinemorph.creatures.settings import DEFAULT, Settings
from kinemorph.spatial.arguments.annotated import checked_first

SHARED = (("form", "size"), ("dof", "axes", "limits"), ("neurons", "effectors"), ("replication",))  # go together


@checked_first
def crossover(a: Genotype, b: Genotype, rng: Rng, settings: Settings = DEFAULT) -> Genotype:
    """A genotype like `a`, with a run of consecutive nodes of `b`, and b's connections among them."""
    count = min(len(a.nodes), len(b.nodes))
    first = int(rng.integers(count))
    run = range(first, int(rng.integers(first, count)) + 1)

    def inner(c: Connection) -> bool:
        return c.parent in run and c.child in run

    connections = [c for c in a.connections if not inner(c)] + [c for c in b.connections if inner(c)]
    nodes = (*a.nodes[: run.start], *b.nodes[run.start : run.stop], *a.nodes[run.stop :])
    return replace(a, nodes=nodes, connections=trimmed(connections, settings, a, b))


@checked_first
def crossover_within(a: Genotype, b: Genotype, rng: Rng, settings: Settings = DEFAULT) -> Genotype:
    """A genotype like `a`, one of whose nodes has the body, the joint, the control or the limit of any node of `b`.

    This is what the thesis wishes for first: a good local network can spread to other nodes. `b` may be `a` itself.
    """
    at, other = int(rng.integers(len(a.nodes))), b.nodes[int(rng.integers(len(b.nodes)))]
    taken = [group for group in SHARED if rng.random() < 0.4] or [SHARED[int(rng.integers(len(SHARED)))]]
    node = replace(a.nodes[at], **{name: getattr(other, name) for group in taken for name in group})
    return replace(a, nodes=(*a.nodes[:at], node, *a.nodes[at + 1 :]))


@checked_first
def graft(a: Genotype, b: Genotype, rng: Rng, settings: Settings = DEFAULT) -> Genotype:
    """A genotype like `a`, on which a limb of `b` is grown: a node, all that it leads to, and how that is connected.

    Where there is no room, nodes of `a` that nothing leads to make place, then others.
    """
    most = max(settings.most_nodes, len(a.nodes))
    if most < 2:
        return a
    limb = _limb(b, int(rng.integers(len(b.nodes))))[: most - 1]
    stock = _with_room(a, most - len(limb), rng)
    start = len(stock.nodes)
    number = {old: start + new for new, old in enumerate(limb)}
    joint = random_connection(rng, settings, start, parent=int(rng.integers(start)), child=start)
    connections = (*stock.connections, joint, *renumbered(b.connections, number))
    return replace(
        stock, nodes=(*stock.nodes, *(b.nodes[i] for i in limb)), connections=trimmed(connections, settings, a, b)
    )


def _limb(b: Genotype, start: int) -> list[int]:
    """A node and those that it leads to, nearest first."""
    turned = [start, *(i for i in range(len(b.nodes)) if i != start)]
    return [turned[i] for i in reachable_nodes(kept_nodes(b, turned))]


def _with_room(a: Genotype, most: int, rng: Rng) -> Genotype:
    """The graph without so many nodes that at most so many are left; the first one always is."""
    over = len(a.nodes) - most
    if over <= 0:
        return a
    used = set(reachable_nodes(a))
    others = rng.permutation(range(1, len(a.nodes))).tolist()
    gone = set(sorted(others, key=lambda i: i in used)[:over])
    return kept_nodes(a, [i for i in range(len(a.nodes)) if i not in gone])
