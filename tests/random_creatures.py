"""Random creatures: genotypes that are drawn, mutated, crossed and grafted grow, develop and live for a second.

    python -m tests.random_creatures 100000 [--seed 0] [--first 0]

Each is made of a seed and a number, so that it can be made again. None may end in a number that is not finite, in an
invalid state, in a hang or in a crash; each rejection has a reason, and how many have which is told. If the process
dies, random-creatures-*.txt in the folder for temporary files has the number of the creature.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.creatures.birth import REASONS as BORN
from kinemorph.creatures.develop import develop
from kinemorph.creatures.evaluate import Score, evaluate
from kinemorph.creatures.exploits import REASONS as LIVED
from kinemorph.creatures.founders import founder
from kinemorph.creatures.genotype import Form, Genotype
from kinemorph.creatures.gentle import offspring
from kinemorph.creatures.initial import random_genotype
from kinemorph.creatures.mate import crossover, graft
from kinemorph.creatures.mutate import mutate
from kinemorph.creatures.settings import Counting, Settings
from kinemorph.creatures.tasks import TASKS

SECONDS = 60.0  # for one creature; more is a hang
TOLD = 1000  # creatures after which it says how far it is
KNOWN = {*BORN.values(), *LIVED, "rigid"} - {""}


def drawn(rng: np.random.Generator, settings: Settings) -> Genotype:
    """A genotype with a past: up to four operators on a random one or a founder."""

    def fresh() -> Genotype:
        return random_genotype(rng, settings) if rng.random() < 0.5 else founder(rng, settings)

    one = fresh()
    for _ in range(int(rng.integers(5))):
        k = int(rng.integers(4))
        if k == 0:
            one = mutate(one, rng, settings=settings)
        elif k == 1:
            one = offspring(one, rng, settings)[0]
        else:
            one = (crossover if k == 2 else graft)(one, fresh(), rng, settings)
    return one


def live(number: int, seed: int = 0) -> Score:
    """One creature: from genes to the end of a second."""
    rng = np.random.default_rng([seed, number])
    settings = Settings(forms=tuple(Form), counting=Counting.USES if rng.random() < 0.5 else Counting.CYCLES)
    genotype = drawn(rng, settings)
    assert Genotype.from_json(genotype.to_json()) == genotype, "its JSON is another one"
    task: Any = TASKS[int(rng.integers(len(TASKS)))]()
    task = replace(task, seconds=1.0, patience=min(task.patience, 1.0), settings=settings)
    phenotype = develop(genotype, task.grown())
    score = evaluate(phenotype, task, number, number=number)
    numbers = [score.value, score.thesis, score.measure, *score.details.values()]
    assert all(math.isfinite(x) for x in numbers), f"a number of {score} is not finite"
    assert score.thesis >= 0.0, f"{score.thesis} is negative"
    reason = score.reason.partition(":")[0]
    assert not reason or reason in KNOWN, f"nobody knows the reason {reason!r}"
    return score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    counted: Counter[str] = Counter()
    start = time.perf_counter()
    with tempfile.NamedTemporaryFile("w", prefix="random-creatures-", suffix=".txt", delete=False) as note:
        for number in range(options.first, options.first + options.count):
            note.seek(0)
            note.write(f"{options.seed} {number}      \n")
            note.flush()
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                score = live(number, options.seed)
                counted[score.reason.partition(":")[0] or "lived"] += 1
            except Exception:  # whatever it is, the number of the creature is wanted
                counted["FAILED"] += 1
                print(f"creature {number} of seed {options.seed}:\n{traceback.format_exc()}", flush=True)
            if (number + 1 - options.first) % TOLD == 0:
                told = ", ".join(f"{what} {n}" for what, n in counted.most_common())
                print(f"{number + 1 - options.first} in {time.perf_counter() - start:.0f} s: {told}", flush=True)
        faulthandler.cancel_dump_traceback_later()
    Path(note.name).unlink()
    print(f"{sum(counted.values())}: " + ", ".join(f"{what} {n}" for what, n in counted.most_common()))
    sys.exit(counted["FAILED"] > 0)


if __name__ == "__main__":
    main()
