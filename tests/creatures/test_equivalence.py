"""Creatures that are alike live the same lives to the bit; others do not."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from kinemorph.brain import Brain, Function, Neuron
from kinemorph.creatures.evaluate import evaluate
from kinemorph.creatures.genotype.equivalence import INPUTS, alike
from kinemorph.creatures.genotype.genotype import ONE, EffectorGene, From, Genotype, NeuronGene, Source
from kinemorph.creatures.genotype.initial_genotypes import founder
from kinemorph.creatures.genotype.small_steps import offspring
from kinemorph.creatures.growth.develop import develop
from kinemorph.creatures.tasks import Locomotion

TASK = Locomotion(seconds=1.0, patience=1.0, moves=False)


def living(count: int) -> list[Genotype]:
    """The first founders that may live, and do."""
    found = []
    for seed in range(1000):
        one = founder(seed)
        if not develop(one).rejected and evaluate(one, TASK, 1).steps > 100:
            found.append(one)
        if len(found) == count:
            break
    return found


def with_neurons(genotype: Genotype, *neurons: NeuronGene) -> Genotype:
    return replace(genotype, neurons=(*genotype.neurons, *neurons))


def test_what_is_not_used_makes_no_other_creature() -> None:
    for one in living(4):
        i = max(range(len(one.nodes)), key=lambda i: 3 - one.nodes[i].dof)
        node = one.nodes[i]
        junk = replace(one, nodes=(*one.nodes, node))
        unheard = with_neurons(one, NeuronGene("wave", (ONE, ONE, ONE), (1.0, 2.0, 3.0)))
        assert alike(develop(one), develop(junk))
        assert alike(develop(one), develop(unheard))
        if node.dof < 3:
            a, b, _ = node.effectors
            idle = replace(node, effectors=(a, b, EffectorGene(Source(From.TOUCH), 3.0)))
            assert alike(develop(one), develop(replace(one, nodes=(*one.nodes[:i], idle, *one.nodes[i + 1 :]))))


def test_what_is_used_does() -> None:
    for one in living(4):
        whole = develop(one)
        i = int(whole.rows["node"][1])
        node = one.nodes[i]
        first, *others = node.effectors
        changes = (
            {"effectors": (EffectorGene(first.input, first.weight + 0.5), *others)},
            {"size": tuple(1.01 * x for x in node.size)},
            {"limits": ((node.limits[0][0] - 0.01, node.limits[0][1]), *node.limits[1:])},
        )
        for change in changes:
            other = replace(one, nodes=(*one.nodes[:i], replace(node, **change), *one.nodes[i + 1 :]))
            assert not alike(whole, develop(other))


def test_children_that_are_alike_live_the_same_life() -> None:
    """Of children by chance; and most of those that are not alike do not, though it is short."""
    rng, told = np.random.default_rng(7), {True: [0, 0], False: [0, 0]}
    for one in living(5):
        parent = evaluate(one, TASK, 3)
        for _ in range(10):
            child, _ = offspring(one, rng)
            if develop(child).rejected:
                continue
            same = evaluate(child, TASK, 3) == parent
            told[alike(develop(one), develop(child))][same] += 1
    assert told[True][False] == 0
    assert told[True][True] >= 5
    assert 4 * told[False][True] < told[False][False]


@pytest.mark.parametrize("function", Function)
def test_inputs_beyond_those_counted_say_nothing(function: Function) -> None:
    """Sources 2 is the neuron; 3, 4 and 5 are senses of three links, here numbers by chance."""
    from kinemorph.brain import Sense, Sensed

    senses = [Sense(Sensed.TOUCH, name) for name in "abc"]
    brain = Brain([Neuron(function, (3, 4, 5), (0.7, -1.3, 0.9))], senses)
    rng = np.random.default_rng(int(function))
    read = rng.normal(0.0, 1.5, (40, 3))
    count = 0 if function is Function.CONSTANT else INPUTS[function]
    said = brain.respond(read)
    for k in range(3):
        other = read.copy()
        other[:, k] = rng.normal(0.0, 1.5, 40)
        assert np.array_equal(said, brain.respond(other)) == (k >= count)
