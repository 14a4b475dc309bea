"""A trial of very many creatures: genotypes that are drawn, mutated, crossed and grafted grow, develop and live.

Each is made of a seed and a number, so that it can be made again. None may end in a number that is not finite, in an
invalid state, in a hang or in a crash; each rejection has a reason, and how many have which is told. If the process
dies, creature-trial-*.txt in the folder for temporary files has the number of the creature.
"""

from __future__ import annotations

import faulthandler
import math
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.creatures.evaluate import Score, evaluate
from kinemorph.creatures.exploits import REASONS as LIVED
from kinemorph.creatures.genotype.genotype import Form, Genotype
from kinemorph.creatures.genotype.initial_genotypes import founder
from kinemorph.creatures.genotype.mutate import mutate
from kinemorph.creatures.genotype.random_genotype import random_genotype
from kinemorph.creatures.genotype.recombine import crossover, crossover_within, graft
from kinemorph.creatures.genotype.small_steps import offspring
from kinemorph.creatures.growth.birth_checks import REASONS as BORN
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.creatures.settings import Counting, Root, Settings
from kinemorph.creatures.tasks import TASKS

HANG = 600.0  # s of the clock, for one creature; the first may compile kernels, on a machine that others use
STANDARD_ERROR = 2  # whatever has taken the place of `sys.stderr`
TOLD = 1000  # creatures after which it says how far it is
KNOWN = {*BORN.values(), *LIVED} - {""}
FINITE, BOUNDED = ("R", "p", "axis", "mass", "h", "I"), ("armature", "damping", "lower", "upper", "effort_limit")


class TrialError(AssertionError):
    """An outcome that no creature may have."""


def draw_genotype(rng: np.random.Generator, settings: Settings) -> Genotype:
    """A genotype with a past: up to four operators on a random one or a founder."""

    def fresh() -> Genotype:
        return random_genotype(rng, settings) if rng.random() < 0.5 else founder(rng, settings)

    one = fresh()
    for _ in range(int(rng.integers(5))):
        k = int(rng.integers(5))
        if k == 0:
            one = mutate(one, rng, settings=settings)
        elif k == 1:
            one = offspring(one, rng, settings)[0]
        else:
            one = (crossover, crossover_within, graft)[k - 2](one, fresh(), rng, settings)
    return one


def live(number: int, seed: int = 0, seconds: float = 1.0) -> Score:
    """One creature: from genes to the end of its time. TrialError says what must not be."""
    rng = np.random.default_rng([seed, number])
    settings = Settings(forms=tuple(Form), counting=Counting.USES if rng.random() < 0.5 else Counting.CYCLES)
    genotype = draw_genotype(rng, settings)
    _require(Genotype.from_json(genotype.to_json()) == genotype, "its JSON is another one")
    task: Any = TASKS[int(rng.integers(len(TASKS)))]()
    task = replace(task, seconds=seconds, patience=min(task.patience, 1.0), settings=settings)
    phenotype = develop(genotype, task.grown())
    _check_grown(phenotype)
    score = evaluate(phenotype, task, number, number=number)
    numbers = [score.value, score.thesis, score.measure, *score.details.values()]
    _require(all(math.isfinite(x) for x in numbers), f"a number of {score} is not finite")
    _require(score.thesis >= 0.0, f"{score.thesis} is negative")
    reason = score.reason.partition(":")[0]
    _require(not reason or reason in KNOWN, f"nobody knows the reason {reason!r}")
    return score


def _check_grown(creature: Phenotype) -> None:
    """Whatever it is rejected for, it has a model and a brain that can be."""
    model, free = creature.model, 6 if creature.settings.root is Root.FREE else 0  # these have no bounds
    for rows, fields in ((model.links, FINITE), (model.dofs[free:], BOUNDED)):
        for field in fields:
            _require(bool(np.isfinite(rows[field]).all()), f"{field} is not finite")
    _require(bool((creature.rows["mass"] > 0.0).all()), "a part has no mass")
    driven = sum(effect.what is creature.settings.acted for effect in creature.brain.effects)
    _require(driven == int(creature.rows["dof"].sum()), "a degree of freedom has no effector")


def _require(fact: bool, otherwise: str) -> None:
    if not fact:
        raise TrialError(otherwise)


def trial(
    count: int, seed: int = 0, first: int = 0, seconds: float = 1.0, say: Callable[[str], None] = print
) -> Counter[str]:
    """Let so many creatures live, one after the other. Counts what became of them; "FAILED" is what must not be."""
    counted: Counter[str] = Counter()
    start = time.perf_counter()
    with tempfile.NamedTemporaryFile("w", prefix="creature-trial-", suffix=".txt", delete=False) as note:
        for done, number in enumerate(range(first, first + count), 1):
            note.seek(0)
            note.write(f"{seed} {number}      \n")
            note.flush()
            faulthandler.dump_traceback_later(HANG, exit=True, file=STANDARD_ERROR)
            try:
                counted[live(number, seed, seconds).reason.partition(":")[0] or "lived"] += 1
            except Exception:  # whatever it is, the number of the creature is wanted
                counted["FAILED"] += 1
                say(f"creature {number} of seed {seed}:\n{traceback.format_exc()}")
            if done % TOLD == 0 or done == count:
                say(f"{done} in {time.perf_counter() - start:.0f} s: {told_counts(counted)}")
        faulthandler.cancel_dump_traceback_later()
    Path(note.name).unlink()
    return counted


def told_counts(counted: Counter[str]) -> str:
    return ", ".join(f"{what} {n}" for what, n in counted.most_common())
