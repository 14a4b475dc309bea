"""From relative addresses to a brain: neurons of all parts in a row, then those of the central brain (Fontijne 4.3).

The central brain sits in the root: its senses are those of the root, its children those of the root, and its parent's
neurons those of the root. Only senses that something listens to are there. A source that does not exist reads 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinemorph.brain import Acted, Brain, Effect, Neuron, Sense, Sensed
from kinemorph.creatures.genotype import FUNCTIONS, From, Genotype, NeuronGene, Source
from kinemorph.creatures.settings import Settings

NOTHING, ONE, FIRST = 0, 1, 2  # sources of a brain: 0 reads 0, 1 reads 1, then neurons, then senses
CENTRAL = -1  # instead of the number of a part
SENSED = {
    From.ANGLE: Sensed.ANGLE,
    From.SPEED: Sensed.SPEED,
    From.TOUCH: Sensed.TOUCH,
    From.UP: Sensed.UP,
    From.DIRECTION: Sensed.DIRECTION,
    From.DISTANCE: Sensed.DISTANCE,
    From.PLACE: Sensed.PLACE,
}
IN_FRAME = (Sensed.UP, Sensed.DIRECTION)  # whose y has the other sign in a mirrored part
JOINT = (Sensed.ANGLE, Sensed.SPEED)
THREE = (Sensed.UP, Sensed.DIRECTION, Sensed.PLACE)
FASTEST = 10.0  # rad/s, that a drive of speed is told at most


def link_name(part: int, dof: int, of: int) -> str:
    """The link that degree of freedom `dof` of a part's joint, which has `of` of them, moves; the last is the part."""
    return f"part{part}" if dof >= of - 1 else f"part{part}:{dof}"


class Wiring:
    """Brain of grown parts: `node`, `parent`, `dof`, `mirrored` and `strength` of each."""

    def __init__(
        self, genotype: Genotype, node: Sequence[int], parent: Sequence[int], dof: Sequence[int],
        mirrored: Sequence[int], strength: Sequence[float],
    ) -> None:  # fmt: skip
        self.genotype, self.node, self.parent, self.dof = genotype, node, parent, dof
        self.mirrored, self.strength = mirrored, strength
        self.children: list[list[int]] = [[] for _ in node]
        self.first: list[int] = []  # of each part, the source that its first neuron is
        at = FIRST
        for i, k in enumerate(node):
            if parent[i] >= 0:
                self.children[parent[i]].append(i)
            self.first.append(at)
            at += len(genotype.nodes[k].neurons)
        self.first.append(at)  # of the central brain, which is at -1
        self.end = at + len(genotype.neurons)
        self.senses: dict[Sense, int] = {}

    def brain(self, settings: Settings) -> Brain:
        neurons = [
            Neuron(FUNCTIONS[gene.function], self._sources(gene, part), gene.weights)
            for part in (*range(len(self.node)), CENTRAL)
            for gene in self._neurons(part)
        ]
        effects = [effect for part in range(1, len(self.node)) for effect in self._effects(part, settings)]
        return Brain(tuple(neurons), tuple(self.senses), tuple(effects), settings.rate)

    def _neurons(self, part: int) -> tuple[NeuronGene, ...]:
        return self.genotype.neurons if part == CENTRAL else self.genotype.nodes[self.node[part]].neurons

    def _sources(self, gene: NeuronGene, part: int) -> tuple[int, int, int]:
        a, b, c = gene.inputs
        return self.source(a, part), self.source(b, part), self.source(c, part)

    def _effects(self, part: int, s: Settings) -> list[Effect]:
        node, dof = self.genotype.nodes[self.node[part]], self.dof[part]
        made = []
        for k in range(dof):
            effector = node.effectors[k]
            low, high = (-FASTEST, FASTEST) if s.acted is Acted.SPEED else node.limits[k]
            source = self.source(effector.input, part)
            name = link_name(part, k, dof)
            made.append(Effect(s.acted, name, 0, source, effector.weight, self.strength[part], low, high))
        if s.grasps and not self.children[part]:
            effector = node.effectors[-1]
            made.append(Effect(Acted.GRASP, f"part{part}", 0, self.source(effector.input, part), effector.weight))
        return made

    def source(self, source: Source, part: int) -> int:
        """What a source means in a part."""
        kind, index = source.kind, source.index
        if kind is From.ONE:
            return ONE
        if kind in SENSED:
            return self._sense(SENSED[kind], index, max(part, 0))
        if kind is From.GLOBAL:
            holder = CENTRAL
        elif kind is From.LOCAL:
            holder = part
        elif kind is From.PARENT:
            if part == 0:
                return NOTHING
            holder = 0 if part == CENTRAL else self.parent[part]
        else:
            children = self.children[max(part, 0)]
            if source.child >= len(children):
                return NOTHING
            holder = children[source.child]
        return self.first[holder] + index if index < len(self._neurons(holder)) else NOTHING

    def _sense(self, what: Sensed, index: int, part: int) -> int:
        dof = self.dof[part]
        if what in JOINT:
            if index >= dof:  # the root has no joint
                return NOTHING
            sense = Sense(what, link_name(part, index, dof))
        else:
            axis = index % 3 if what in THREE else 0
            turned = bool(self.mirrored[part]) and what in IN_FRAME and axis == 1
            sense = Sense(what, f"part{part}", axis, turned)
        return self.end + self.senses.setdefault(sense, len(self.senses))
