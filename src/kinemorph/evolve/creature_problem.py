"""Creatures as a problem: how they are founded, varied and judged for a task.

Two ways to vary: `gentle`, few changes at a time where they have an effect, founders with routes from senses to
effectors; and `thesis`, random creatures, each member mutated with its own probability, torques, world coordinates.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from itertools import islice
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from kinemorph._toml import Where, checked, refuse_unknown
from kinemorph.brain import Acted
from kinemorph.creatures.evaluate import evaluate
from kinemorph.creatures.genotype.equivalence import alike
from kinemorph.creatures.genotype.genotype import From, Genotype
from kinemorph.creatures.genotype.initial_genotypes import HOLDERS, REACHERS, WALKERS, founder
from kinemorph.creatures.genotype.mutate import mutate
from kinemorph.creatures.genotype.random_genotype import random_genotype
from kinemorph.creatures.genotype.recombine import crossover, crossover_within, graft
from kinemorph.creatures.genotype.small_steps import FINEST, Weighted, offspring, upstream
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.creatures.growth.measures import body_measures, replace_measures
from kinemorph.creatures.settings import Settings
from kinemorph.creatures.tasks import TASKS, HitBall, Locomotion, Task
from kinemorph.evolve.evaluators.worker import evaluate_episode
from kinemorph.evolve.problem import Descriptor, Draw, Outcome
from kinemorph.evolve.ranges import Share
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_number, check_choice, repr_of

Variant = Literal["gentle", "thesis"]
MOST_CHILD_DRAWS = 8  # at a child that is not its parent again
WARM_EPISODES = 8  # after which no kernel is new, but for rare ones
MOST_CACHED_GENOTYPES = 512  # genotypes kept as objects, and grown: more than are bred before they are evaluated
KINDS: dict[str, type[Task]] = {kind().name.replace(" ", "-"): kind for kind in TASKS}
_EGOCENTRIC = {From.DIRECTION, From.DISTANCE, From.UP, From.SPEED}  # senses that the thesis does not have


@checked_first
class Species(msgspec.Struct, frozen=True):
    """Creatures for a task."""

    task: Task
    variant: Variant = "gentle"
    within: float = 0.5  # share of crossovers that exchange less than whole nodes: the thesis's first wish

    descriptors = (Descriptor("parts", 1.5, 8.5, 7), Descriptor("length", 0.2, 2.2, 10))

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def settings(self) -> Settings:
        """By which creatures grow, and within which they are drawn."""
        return self.task.grown()

    def advice(self, search: str) -> dict[str, Any]:
        """Settings of a search that suit this task (measured: docs/results/tuning.md)."""
        if search not in ("default", "steady"):
            return {}
        if isinstance(self.task, HitBall):
            races = {"ladder": [2, 4, 8], "redraw": 6, "worst": 0.5, "founder_draws": 2}
            mixed = {"crossover": 0.4, "family_until": 0.6}  # several families look at the ball, each in its own way
            return races | mixed | {"blanks": self.task.trials}
        if isinstance(self.task, Locomotion):
            races = {"ladder": [1, 2, 4], "redraw": 6, "worst": 0.3, "founder_draws": 1}
            # What only walks here, and not in MuJoCo, is lost by harder draws: 1.75 times as hard with 100 000.
            hard = {"ramp": 0.4, "hardest": 1.5, "harder": 0.096}
            return races | hard | {"family_until": 0.8, "tuning": {"share": 0.4, "body": True}}
        usual: dict[str, Any] = {"ladder": [1, 3], "redraw": 8, "worst": 0.0, "founder_draws": 1}
        if self.task.grasps:
            usual["founders"] = 1000  # few of them hold on, and fewer let go in time
        if self.task.trials:
            usual |= {"ladder": [2, 4, 8], "worst": 0.5, "blanks": self.task.trials}  # places vary
        return usual

    # ----------------------------------------------------------------------------------------------- variation

    def founder(self, rng: np.random.Generator) -> str:
        if self.variant == "thesis":
            return _cache_genotype(random_genotype(rng, self.settings))
        routes = REACHERS if isinstance(self.task, HitBall) else HOLDERS if self.task.grasps else WALKERS
        return _cache_genotype(founder(rng, self.settings, routes))

    def mutate(self, genotype: str, rng: np.random.Generator) -> tuple[str, str]:
        parent = _parsed(genotype)
        if self.variant == "thesis":
            return _cache_genotype(mutate(parent, rng, self.settings)), "mutation"
        finest = 1.0 if isinstance(self.task, HitBall) else FINEST  # reachers have too few generations for fine steps
        for _ in range(MOST_CHILD_DRAWS):
            child, operator = offspring(parent, rng, self.settings, finest=finest)
            made = _cache_genotype(child)
            if not self._alike(genotype, made):
                break
        return made, operator.value

    def _alike(self, one: str, other: str) -> bool:
        """Whether a child equals its parent in all genes that have an effect."""
        a, b = _grow_cached(one, self.settings), _grow_cached(other, self.settings)
        return not a.rejected and not b.rejected and alike(a, b)

    def crossover(self, one: str, other: str, rng: np.random.Generator) -> str:
        below = self.variant == "gentle" and rng.random() < self.within
        cross = crossover_within if below else crossover
        return _cache_genotype(cross(_parsed(one), _parsed(other), rng, self.settings))

    def graft(self, one: str, other: str, rng: np.random.Generator) -> str:
        return _cache_genotype(graft(_parsed(one), _parsed(other), rng, self.settings))

    def viable(self, genotype: str) -> bool:
        grown = _grow_cached(genotype, self.settings)
        return not grown.rejected and int(grown.rows["dof"].sum()) > 0  # without wiring its brain

    def numbers(self, genotype: str, body: bool = False) -> list[float]:
        """The weights that have a say in what an effector does; and what is measured in the body, if asked."""
        parent = _parsed(genotype)
        weights = [number for place in _places(parent, self.task.grasps) for number in _weights(parent, place)]
        return weights + (body_measures(parent) if body else [])

    def with_numbers(self, genotype: str, numbers: list[float], body: bool = False) -> str:
        child, most = _parsed(genotype), self.settings.weight
        left = [float(as_number(number)) for number in numbers]  # NumPy's are written to no genotype
        if not all(map(math.isfinite, left)):
            raise ValueError(f"with_numbers: numbers is {repr_of(numbers)}, and must be finite numbers")
        if body:
            count = len(body_measures(child))
            if len(left) < count:
                raise ValueError(f"with_numbers: there are {len(left)} numbers, and {count} of them are of the body")
            left, rest = left[: len(left) - count], left[len(left) - count :]
            child = replace_measures(child, rest, self.settings)
        weights = [min(max(number, -most), most) for number in left]
        places = _places(child, self.task.grasps)
        wanted = sum(len(_weights(child, place)) for place in places)
        if len(weights) != wanted:
            raise ValueError(f"with_numbers: {len(weights)} weights are left, and the genotype has {wanted}")
        return _cache_genotype(_replace_weights(child, places, weights))

    # ------------------------------------------------------------------------------------------------- judgement

    def evaluate(self, genotype: str, draw: Draw) -> Outcome:
        """A life. In a catch trial it is worth most, 1, to fail."""
        if not draw.blank:
            return self.judged(genotype, draw)
        blind = self.judged(genotype, draw, self.task.blinded(), blank=True)
        return blind if blind.faulty else replace(blind, reason="", score=max(0.0, 1.0 - blind.measure))

    def judged(self, genotype: str, draw: Draw, task: Task | None = None, **how: bool) -> Outcome:
        """A life; for a rescore in other ways too: another step, sensors blanked, motors off."""
        grown = _grow_cached(genotype, self.settings)
        score = evaluate(grown, task or self.task, draw.seed, number=draw.number, level=draw.level, **how)
        marks = float(score.value), float(score.thesis), float(score.measure)
        return Outcome(*marks, score.reason, score.steps, score.details)

    def warm(self) -> None:
        """Lives of the first founders that can live: kernels load when they are called, and some of them only when
        parts of a creature meet, or when it leaves the ground."""
        rng = np.random.default_rng(0)
        founders = (self.founder(rng) for _ in range(100))
        for genotype in islice(filter(self.viable, founders), WARM_EPISODES):
            evaluate_episode(self, genotype, Draw(0, 0))


class _Ways(msgspec.Struct):
    variant: Variant
    within: Share = 0.5


@checked_first
def creatures(
    table: dict[str, Any], name: str, search: str, own: type[Task] | None = None, where: Where | None = None
) -> Species:
    """The creatures for a task by its name, or for one of the user's own.

    The thesis's searches vary as the thesis does, unless told otherwise.
    """
    kind = own or KINDS[check_choice("creatures: name", name, KINDS)]
    where = where or (lambda place: f"of_task of {name}")
    ways = {key: table[key] for key in ("variant", "within") if key in table}
    usual = "thesis" if search in ("thesis", "sims") else "gentle"
    way = checked(_Ways, {"variant": usual} | ways, where)
    given = {key: value for key, value in table.items() if key not in ways}
    refuse_unknown([field.name for field in dataclasses.fields(kind)], given, where)
    if isinstance(inner := given.get("settings"), dict):
        refuse_unknown([field.name for field in dataclasses.fields(Settings)], inner, where, "settings.")
    task = checked(kind, given, where)
    if way.variant == "thesis" and "settings" not in given:
        sources = tuple(source for source in task.settings.sources if source not in _EGOCENTRIC)
        plain = dataclasses.replace(task.settings, acted=Acted.TORQUE, sources=sources)
        task = dataclasses.replace(task, settings=plain)
    return Species(task, way.variant, way.within)


_known: dict[str, Genotype] = {}  # of this process: the last LIVING that it has told or read


def _cache_genotype(genotype: Genotype) -> str:
    """A genotype as text, which need not be read again here. Operators make sound ones: they are not checked."""
    text = genotype.line()
    _remember(text, genotype)
    return text


def _parsed(text: str) -> Genotype:
    found = _known.get(text) or Genotype.from_json(text)
    _remember(text, found)
    return found


def _remember(text: str, genotype: Genotype) -> None:
    _known.pop(text, None)
    _known[text] = genotype  # the last
    if len(_known) > MOST_CACHED_GENOTYPES:
        del _known[next(iter(_known))]


@functools.lru_cache(maxsize=MOST_CACHED_GENOTYPES)
def _grow_cached(genotype: str, settings: Settings) -> Phenotype:
    """Grown once for all its draws."""
    return develop(_parsed(genotype), settings)


def _places(genotype: Genotype, grasps: bool) -> list[Weighted]:
    effectors, neurons = upstream(genotype, grasps)
    return [*effectors, *neurons]


def _weights(genotype: Genotype, place: Weighted) -> tuple[float, ...]:
    node, kind, k = place
    gene = getattr(genotype if node < 0 else genotype.nodes[node], kind)[k]
    return (gene.weight,) if kind == "effectors" else gene.weights


def _replace_weights(genotype: Genotype, places: list[Weighted], numbers: list[float]) -> Genotype:
    """With these weights in these places; each node is made anew once."""
    left, nodes = iter(numbers), list(genotype.nodes)
    changed: dict[tuple[int, str], list[Any]] = {}
    for node, kind, k in places:
        genes = changed.get((node, kind)) or list(getattr(genotype if node < 0 else nodes[node], kind))
        if kind == "effectors":
            genes[k] = replace(genes[k], weight=next(left))
        else:
            genes[k] = replace(genes[k], weights=tuple([next(left) for _ in genes[k].weights]))
        changed[node, kind] = genes
    for (node, kind), genes in changed.items():
        if node >= 0:
            nodes[node] = replace(nodes[node], **{kind: tuple(genes)})
    central = {kind: tuple(genes) for (node, kind), genes in changed.items() if node < 0}
    return replace(genotype, nodes=tuple(nodes), **central)
