"""A champion judged again, on draws that no search has seen and in ways that show what its score rests on."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from kinemorph.brain import Brain, Function, Neuron
from kinemorph.brain.layout import FIRST_NEURON_SIGNAL
from kinemorph.creatures.evaluate import evaluate
from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.creatures.tasks import Locomotion
from kinemorph.evolve.creature_problem import Species
from kinemorph.evolve.evaluators.worker import try_episode
from kinemorph.evolve.experiment import problem_in, settings_in
from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.evolve.run import held_out
from kinemorph.evolve.store.run_store import Store
from kinemorph.spatial.arguments.annotated import checked_first

MOST_DRAWS = 4096  # hours of lives


class ConditionScore(msgspec.Struct, frozen=True):
    """The results of a champion under one condition, over all draws."""

    measure: float  # mean; what was rejected counts as nothing
    low: float  # 5 % and 95 % of means over draws drawn again
    high: float
    score: float
    rejected: int
    draws: int
    made: int  # of the draws, those whose life could be made; without one, the numbers above say nothing
    reason: str = ""  # why it was rejected, most often


class Rescored(msgspec.Struct, frozen=True):
    generation: int
    rank: int
    conditions: dict[str, ConditionScore]
    # By part: its effects are gone; by neuron that an effect hears of: it says nothing.
    lesions: dict[str, ConditionScore]


def species_of(store: Store) -> Species:
    """The creatures of a run."""
    problem = problem_in(store)
    if not isinstance(problem, Species):
        raise ValueError(f"{store.file}: it evolves no creatures, but {problem.name}; there is nothing to look at")
    return problem


def champion_of(store: Store, generation: int, rank: int) -> str:
    """The genotype of a creature that came out of a generation at some place, checked for being one."""
    text = store.genotype(generation, rank)
    Genotype.from_json(text, f"{store.file}: the genome at rank {rank} of generation {generation}")
    return text


Elsewhere = Callable[[Species, str, Draw], Outcome]  # a life somewhere else, such as in another engine


@checked_first
def rescore(
    store: Store, generation: int | None = None, rank: int = 0, draws: int = 64, walks: Mapping[str, Elsewhere] = {}
) -> Rescored:
    """Judge one of a run again. The seed of the draws is that of the run, so two rescores are the same.

    Walkers live in the other ways to walk, too.
    """
    if not 1 <= draws <= MOST_DRAWS:
        raise ValueError(f"draws is {draws}, and must be from 1 to {MOST_DRAWS}")
    species, last = species_of(store), store.last
    generation = last if generation is None else generation
    genotype = champion_of(store, generation, rank)
    fresh = held_out(settings_in(store).seed, draws)
    half = dataclasses.replace(species.task, dt=0.5 * species.task.dt, work=2 * species.task.work)
    conditions = {
        "held out": _judged(lambda draw: species.judged(genotype, draw), fresh),
        "half the step": _judged(lambda draw: species.judged(genotype, draw, half), fresh),
        "sensors blanked": _judged(lambda draw: species.judged(genotype, draw, blank=True), fresh),
        "motors off": _judged(lambda draw: species.judged(genotype, draw, motors=False), fresh),
    }
    if isinstance(species.task, Locomotion):
        for name, life in walks.items():
            conditions[name] = _judged(partial(life, species, genotype), fresh)
    return Rescored(generation, rank, conditions, _lesions(species, genotype, fresh[:8]))


def _judged(life: Callable[[Draw], Outcome], draws: Sequence[Draw]) -> ConditionScore:
    """Lives that cannot be made are outcomes like any other, as in a run: they cost no other row of the table."""
    return score_condition([try_episode(life, draw) for draw in draws])


def score_condition(outcomes: list[Outcome]) -> ConditionScore:
    """The mean over draws, with an interval by bootstrap."""
    measures = np.array([0.0 if outcome.reason else outcome.measure for outcome in outcomes])
    again = np.random.default_rng(0).choice(measures, (1000, len(measures))).mean(1)
    low, high = np.quantile(again, (0.05, 0.95))
    score = float(np.mean([outcome.score for outcome in outcomes]))
    reasons = Counter(outcome.reason for outcome in outcomes if outcome.reason)
    made = sum(not outcome.faulty for outcome in outcomes)
    why = reasons.most_common(1)[0][0] if reasons else ""
    return ConditionScore(
        float(measures.mean()), float(low), float(high), score, reasons.total(), len(outcomes), made, why
    )


def _lesions(species: Species, genotype: str, draws: tuple[Draw, ...]) -> dict[str, ConditionScore]:
    whole = develop(Genotype.from_json(genotype), species.settings)
    brain = whole.brain
    brains = {}
    for part in whole.parts[1:]:
        kept = [effect for effect in brain.effects if effect.link not in part.links]
        brains[f"{part.name} limp"] = Brain(brain.neurons, brain.senses, kept, brain.rate)
    for k in _neurons_behind_effectors(brain):
        others = brain.neurons[:k] + (Neuron(Function.CONSTANT, weights=(0.0, 0.0, 0.0)),) + brain.neurons[k + 1 :]
        name = f"neuron {k} ({brain.neurons[k].function.name.lower()}) silent"
        brains[name] = Brain(others, brain.senses, brain.effects, brain.rate)
    return {
        name: _judged(partial(_run_altered_episode, species, _replace_brain(whole, changed)), draws)
        for name, changed in brains.items()
    }


def _run_altered_episode(species: Species, changed: Phenotype, draw: Draw) -> Outcome:
    """Of a creature that is not as its genotype says."""
    score = evaluate(changed, species.task, draw.seed, number=draw.number)
    return Outcome(score.value, score.thesis, float(score.measure), score.reason)


def _neurons_behind_effectors(brain: Brain) -> list[int]:
    """The neurons that an effect hears of, itself or through others."""
    first, sources = FIRST_NEURON_SIGNAL, [effect.source for effect in brain.effects if effect.weight]
    for source in sources:  # grows on the way
        if first <= source < first + len(brain.neurons):
            neuron = brain.neurons[source - first]
            heard = (s for s, weight in zip(neuron.sources, neuron.weights, strict=True) if weight)
            sources += [s for s in dict.fromkeys(heard) if s not in sources]
    return sorted({source - first for source in sources if first <= source < first + len(brain.neurons)})


def _replace_brain(whole: Phenotype, brain: Brain) -> Phenotype:
    """The same creature with another brain."""
    other = develop(whole.genotype, whole.settings)
    other.brain = brain
    return other
