"""From relative addresses to a brain: neurons of all parts in a row, then those of the central brain (Fontijne 4.3).

The central brain sits in the root: its senses are those of the root, its children those of the root, and its parent's
neurons those of the root. Only senses that something listens to are there. A source that does not exist reads 0.
"""

from __future__ import annotations

import contextlib
import struct
from functools import cache
from typing import Any

import numpy as np

from kinemorph.brain import Acted, Brain, Function, Sensed
from kinemorph.brain.layout import EFFECT, FIRST_NEURON_SIGNAL, NEURON, ONE_SIGNAL, SENSE, ZERO_SIGNAL
from kinemorph.creatures.genotype.genotype import FUNCTIONS, From, Genotype, NeuronGene, Source
from kinemorph.creatures.growth.grow import rows_of
from kinemorph.creatures.growth.layout import NEURON_GENE, WIRES
from kinemorph.creatures.settings import Settings
from kinemorph.jit.api import entry, kernel
from kinemorph.multibody.tables import in_one_piece

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
CENTRAL = -1  # instead of the number of a part
PACKED_WIRES, PACKED_GENE = struct.Struct("11i4x3d").pack, struct.Struct("10i3d").pack
INTEGER = np.dtype(np.int64)
KINDS = {kind: k for k, kind in enumerate(From)}
FROM_ONE, LOCAL, PARENT, CHILD, GLOBAL, FIRST_SENSE = range(6)  # of these; the senses are in the order of `Sensed`
SPEED, UP, DIRECTION, PLACE = (int(x) for x in (Sensed.SPEED, Sensed.UP, Sensed.DIRECTION, Sensed.PLACE))
DELAY, BY_SPEED, GRASP = int(Function.DELAY), int(Acted.SPEED), int(Acted.GRASP)
LARGEST_DRIVE_SPEED = 10.0  # rad/s, that a drive of speed is told at most
LARGEST_WEIGHT = 1e6


@cache
def link_names(part: int, dof: int) -> tuple[str, ...]:
    """The links that the degrees of freedom of a part's joint move; the last is the part, which the root is alone."""
    return *(f"part{part}:{k}" for k in range(dof - 1)), f"part{part}"


def brain_of_parts(
    genotype: Genotype, settings: Settings, nodes: Records, parts: Records, links: tuple[str, ...]
) -> Brain:
    """The brain of grown parts, whose links have these names."""
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError, OverflowError, struct.error):
        wires, genes = _rows(genotype)
        counts = [len(node.neurons) for node in genotype.nodes]
        n = sum([counts[node] for node in parts["node"].tolist()]) + len(genotype.neurons)
        most = sum(parts["dof"].tolist()) + (len(parts) if settings.grasps else 0)
        (neurons, senses, effects, first, found), _ = in_one_piece(
            (n, NEURON), (3 * n + most, SENSE), (most, EFFECT), (len(parts) + 2, INTEGER), (2, INTEGER)
        )
        if fill_brain_rows(
            nodes, parts, wires, genes, int(settings.acted), settings.grasps, first, neurons, senses, effects, found
        ):
            heard, done = found.tolist()
            return Brain.known(neurons, senses[:heard], effects[:done], links, float(settings.rate))
    genotype.checked()  # says what is wrong
    raise ValueError(f"genotype {genotype!r} has no brain")


def _rows(genotype: Genotype) -> tuple[Records, Records]:
    """The wires of each node and of the central brain, and all genes of neurons."""
    wires: list[bytes] = []
    genes: list[bytes] = []
    for node in genotype.nodes:
        x, y, z = node.effectors
        addresses = _addresses((x.input, y.input, z.input))
        wires.append(PACKED_WIRES(len(genes), len(node.neurons), *addresses, x.weight, y.weight, z.weight))
        genes += [_gene(neuron) for neuron in node.neurons]
    wires.append(PACKED_WIRES(len(genes), len(genotype.neurons), *NO_EFFECTORS))
    genes += [_gene(neuron) for neuron in genotype.neurons]
    return rows_of(wires, WIRES), rows_of(genes, NEURON_GENE)


def _gene(neuron: NeuronGene) -> bytes:
    return PACKED_GENE(FUNCTIONS[neuron.function], *_addresses(neuron.inputs), *neuron.weights)


def _addresses(inputs: Any) -> tuple[int, ...]:
    a, b, c = inputs
    return KINDS[a.kind], KINDS[b.kind], KINDS[c.kind], a.index, b.index, c.index, a.child, b.child, c.child


NO_EFFECTORS = *_addresses((Source(),) * 3), 0.0, 0.0, 0.0


@entry
def fill_brain_rows(
    nodes: Records, parts: Records, wires: Records, genes: Records, acted: int, grasps: bool, first: Integers,
    neurons: Records, senses: Records, effects: Records, found: Integers,
) -> bool:  # fmt: skip
    """Fill NEURON, SENSE and EFFECT rows, and count the last two in `found`. False if a number is none.

    `first` is for the source that the first neuron of each part is, of the central brain, and the first sense.
    """
    n = parts.shape[0]
    first[0] = FIRST_NEURON_SIGNAL
    for i in range(n):
        first[i + 1] = first[i] + wires[parts[i]["node"]]["count"]
    first[n + 1] = first[n] + wires[wires.shape[0] - 1]["count"]
    k, rings = 0, 0
    for i in range(n + 1):
        part = i if i < n else CENTRAL
        w = wires[node_of(parts, wires, part)]
        for j in range(w["first"], w["first"] + w["count"]):
            gene, row = genes[j], neurons[k]
            row["function"], row["ring"] = gene["function"], -1
            if gene["function"] == DELAY:
                row["ring"], rings = rings, rings + 1
            for m in range(3):
                if not is_address(gene, m) or not abs(gene["weights"][m]) <= LARGEST_WEIGHT:
                    return False
                row["sources"][m] = source_of(parts, wires, first, senses, found, gene, m, part)
                row["weights"][m] = gene["weights"][m]
            k += 1
    for part in range(1, n):
        if not put_effects(nodes, parts, wires, acted, grasps, first, senses, effects, found, part):
            return False
    return True


@kernel
def node_of(parts: Any, wires: Any, part: int) -> int:
    """The node of a part; after all nodes comes the central brain."""
    return parts[part]["node"] if part >= 0 else wires.shape[0] - 1


@kernel
def is_address(gene: Any, count: int) -> bool:
    """Whether kernels can go by an address: those of files are, but a genotype may be made by hand."""
    return gene["index"][count] >= 0 and gene["child"][count] >= 0


@kernel(inline=False)
def put_effects(
    nodes: Any, parts: Any, wires: Any, acted: int, grasps: bool, first: Any, senses: Any, effects: Any, found: Any,
    part: int,
) -> bool:  # fmt: skip
    """Write the effects of the degrees of freedom of a part, and of its grasp if it has no children."""
    p = parts[part]
    w, node = wires[p["node"]], nodes[p["node"]]
    hand = grasps and p["first_child"] < 0
    for k in range(p["dof"] + (1 if hand else 0)):
        grasp = k == p["dof"]
        m = 2 if grasp else k
        if not is_address(w, m) or not abs(w["weights"][m]) <= LARGEST_WEIGHT:
            return False
        row = effects[found[1]]
        found[1] += 1
        row["what"], row["held"], row["low"], row["high"] = GRASP if grasp else acted, -1, -1.0, 1.0
        row["source"], row["weight"] = source_of(parts, wires, first, senses, found, w, m, part), w["weights"][m]
        row["body"] = p["link"] if grasp else p["link"] - p["dof"] + 1 + k
        if not grasp:
            row["effort_limit"] = p["strength"]
            row["low"] = -LARGEST_DRIVE_SPEED if acted == BY_SPEED else node["limits"][k][0]
            row["high"] = LARGEST_DRIVE_SPEED if acted == BY_SPEED else node["limits"][k][1]
    return True


@kernel(inline=False)
def source_of(parts: Any, wires: Any, first: Any, senses: Any, found: Any, gene: Any, count: int, part: int) -> int:
    """The signal that an input of a gene reads in a part."""
    kind, index, child = gene["kind"][count], gene["index"][count], gene["child"][count]
    n, here = parts.shape[0], max(part, 0)
    if kind == FROM_ONE:
        return ONE_SIGNAL
    if kind >= FIRST_SENSE:
        k = sense_of(parts[here], senses, found, kind - FIRST_SENSE, index)
        return first[n + 1] + k if k >= 0 else ZERO_SIGNAL
    holder = part
    if kind == GLOBAL:
        holder = CENTRAL
    elif kind == PARENT:
        if part == 0:
            return ZERO_SIGNAL
        holder = 0 if part == CENTRAL else parts[part]["parent"]
    elif kind == CHILD:
        holder = parts[here]["first_child"]
        for _ in range(child):
            holder = parts[holder]["next_child"] if holder >= 0 else -1
        if holder < 0:
            return ZERO_SIGNAL
    if index >= wires[node_of(parts, wires, holder)]["count"]:
        return ZERO_SIGNAL
    return first[holder if holder >= 0 else n] + index


@kernel
def sense_of(part: Any, senses: Any, found: Any, what: int, index: int) -> int:
    """The place of a sense of a part among the senses, where it may be new; -1 if it has none such."""
    axis, link, gain = 0, part["link"], 1.0
    if what <= SPEED:
        if index >= part["dof"]:  # the root has no joint
            return -1
        link += 1 + index - part["dof"]
    elif what == UP or what == DIRECTION or what == PLACE:
        axis = index % 3
        if part["mirrored"] != 0 and what != PLACE and axis == 1:  # y has the other sign in a mirrored part
            gain = -1.0
    for k in range(found[0]):
        s = senses[k]
        if s["what"] == what and s["axis"] == axis and s["id"] == link and s["gain"] == gain:
            return k
    s = senses[found[0]]
    s["what"], s["axis"], s["id"], s["gain"] = what, axis, link, gain
    found[0] += 1
    return found[0] - 1
