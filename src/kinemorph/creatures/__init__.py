"""Creatures: bodies and brains that grow from a graph of nodes and connections. As `km.creatures`."""

from kinemorph.creatures import tasks
from kinemorph.creatures.episodes.recorder import EpisodeStatistics, begin_statistics
from kinemorph.creatures.evaluate import Audit, Score, audit, evaluate
from kinemorph.creatures.gallery import HANDMADE, ROOMY, handmade
from kinemorph.creatures.genotype.equivalence import alike
from kinemorph.creatures.genotype.genotype import (
    Connection,
    EffectorGene,
    Form,
    From,
    Gene,
    Genotype,
    NeuronGene,
    Node,
    Source,
    load_genotype,
    save_genotype,
)
from kinemorph.creatures.genotype.initial_genotypes import HOLDERS, REACHERS, WALKERS, Routes, founder
from kinemorph.creatures.genotype.mutate import Rates, mutate
from kinemorph.creatures.genotype.random_genotype import random_genotype
from kinemorph.creatures.genotype.recombine import crossover, crossover_within, graft
from kinemorph.creatures.genotype.small_steps import Operator, change_body, change_control, change_structure, offspring
from kinemorph.creatures.growth.birth_checks import Reason
from kinemorph.creatures.growth.develop import Part, Phenotype, develop
from kinemorph.creatures.growth.grow import grow
from kinemorph.creatures.settings import Counting, Root, Settings

__all__ = [
    "Audit", "EpisodeStatistics", "Score", "begin_statistics", "audit", "evaluate", "tasks", "Connection", "Counting",
    "EffectorGene", "Form", "From", "Gene", "Genotype", "HANDMADE", "HOLDERS", "NeuronGene", "Node", "Operator",
    "Part", "Phenotype", "REACHERS", "ROOMY", "Rates", "Reason", "Root", "Routes", "Settings", "Source", "WALKERS",
    "change_body", "change_control", "change_structure", "crossover", "crossover_within", "develop", "founder",
    "graft", "grow", "handmade", "load_genotype", "mutate", "alike", "offspring", "random_genotype", "save_genotype",
]  # fmt: skip
