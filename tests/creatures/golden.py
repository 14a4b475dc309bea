"""Golden scores: what fifty creatures are worth in all tasks on this type of processor, in `golden.json` beside this.

python -m tests.creatures.golden            makes it anew, after a change that is meant to change results
python -m tests.creatures.golden --check    compares
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.world.golden import machine

from kinemorph.creatures.evaluate import evaluate
from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.creatures.genotype.initial_genotypes import founder
from kinemorph.creatures.growth.develop import develop
from kinemorph.creatures.tasks import TASKS

FILE = Path(__file__).with_name("golden.json")
COUNT, SECONDS = 50, 2.0  # creatures, and how long they live


def creatures() -> list[Genotype]:
    """The first founders that may live."""
    found: list[Genotype] = []
    seed = 0
    while len(found) < COUNT:
        one = founder(seed)
        if not develop(one).rejected:
            found.append(one)
        seed += 1
    return found


def scores(genotype: Genotype, number: int) -> dict[str, list[Any]]:
    """Of each task: value, reason, and a digest of the whole score."""
    found = {}
    for kind in TASKS:
        score = evaluate(genotype, kind(seconds=SECONDS), number, number=number)
        digest = hashlib.sha256(repr(astuple(score)).encode()).hexdigest()[:12]
        found[kind().name] = [round(score.value, 4), score.reason.partition(":")[0], digest]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    found = [scores(genotype, number) for number, genotype in enumerate(creatures())]
    if not check:
        lines = ",\n".join("  " + json.dumps(one) for one in found)
        FILE.write_text(f'{{"machine": {json.dumps(machine())}, "scores": [\n{lines}\n]}}\n')
        return
    golden = json.loads(FILE.read_text())["scores"]
    other = [k for k in range(COUNT) if golden[k] != found[k]]
    print(f"{COUNT - len(other)} of {COUNT} are the same" + (f"; others: {other}" if other else ""))


if __name__ == "__main__":
    main()
