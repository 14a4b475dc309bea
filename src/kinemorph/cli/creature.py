"""The commands `kinemorph creature random`, `creature show` and `creature trial`."""

from __future__ import annotations

import math
import sys
from pathlib import Path


def creature() -> None:
    """Make a random creature, show one, or try very many: creature random, creature show, creature trial."""


def creature_show(file: Path, /, out: Path = Path("out"), seconds: float = 5.0) -> None:
    """Show a creature: its picture, how it moves on the ground, and its brain.

    Args:
        file: The genotype, a JSON file, or the name of a handmade one: segments, spider, quadruped, worm, hand.
        out: Folder for the picture, the replay and the graph.
        seconds: How long the replay is (s).
    """
    from kinemorph._extras import require_view_extra
    from kinemorph._files import can_hold
    from kinemorph.creatures.gallery import HANDMADE
    from kinemorph.io.file_kind import FileKind, expect_kind
    from kinemorph.scenes.creatures import creature_pictures

    if str(file) not in HANDMADE:
        if not file.suffix and not file.exists():
            raise ValueError(f"there is no creature '{file}'; there are {', '.join(HANDMADE)}, or name a JSON file")
        expect_kind(file, FileKind.GENOTYPE, wanted="a genotype")
    require_view_extra("pictures and replays")
    can_hold(out)
    if not 0.0 < seconds < math.inf:
        raise ValueError(f"creature show: seconds {seconds} must be positive")
    creature_pictures.show(file, out, seconds, print)


def creature_random(seed: int = 0, out: Path | None = None, founder: bool = False) -> None:
    """Make a random creature, and write its genotype as JSON. Other seeds follow until one may live.

    Args:
        seed: Of everything that is random; a creature that would be rejected at birth is not taken.
        out: File to write; without one, the genotype is printed.
        founder: Draw it as searches draw theirs: long limbs, and effectors that are wired.
    """
    from kinemorph import creatures
    from kinemorph._escaping import plain
    from kinemorph._files import can_hold

    if seed < 0:
        raise ValueError(f"creature random: seed {seed} must not be negative")
    if out is not None:
        can_hold(out.parent)
    draw = creatures.founder if founder else creatures.random_genotype
    while (grown := creatures.develop(draw(seed))).rejected:
        print(f"kinemorph: seed {seed} is rejected: {grown.rejected}", file=sys.stderr)
        seed += 1
    if out is None:
        print(grown.genotype.to_json())
    else:
        print(plain(f"{creatures.save_genotype(grown.genotype, out)}: {grown}"))


def creature_trial(count: int = 100_000, seed: int = 0, first: int = 0, seconds: float = 1.0) -> None:
    """Grow random, mutated, crossed and grafted genotypes, let them live for a task, and count what became of them.

    Args:
        count: How many genotypes.
        seed: Of everything that is random.
        first: Number of the first one: a seed and a number make the same creature again.
        seconds: How long those live that may (s).
    """
    from kinemorph.scenes.creatures import creature_trial

    if count < 1 or min(seed, first) < 0 or not 0.0 < seconds < math.inf:
        said = f"count {count} and seconds {seconds} must be positive, seed {seed} and first {first} not negative"
        raise ValueError(f"creature trial: {said}")
    if creature_trial.trial(count, seed, first, seconds)["FAILED"]:
        raise SystemExit(1)
