"""Creatures made by hand, as files of the package: those of the thesis's figure 4.1, and a few animals."""

from __future__ import annotations

from pathlib import Path

from kinemorph.creatures.genotype.genotype import Form, Genotype, load_genotype
from kinemorph.creatures.settings import Settings
from kinemorph.spatial.arguments.annotated import checked_first

FOLDER = Path(__file__).with_name("handmade")
HANDMADE = {
    "segments": "figure 4.1: a body segment that repeats itself, with a pair of legs at each",
    "spider": "figure 4.1: a body, and legs that repeat themselves and get smaller",
    "quadruped": "a trunk with two pairs of legs, and a head that turns to the target",
    "worm": "a chain, through which a wave of bending runs",
    "hand": "an arm, and a hand whose fingers close",
}
ROOMY = Settings(forms=tuple(Form), most_nodes=16, most_connections=48, most_parts=48, most_depth=24)
"""Settings under which creatures made by hand grow whole."""


@checked_first
def handmade(name: str) -> Genotype:
    """The genotype of a creature that was made by hand: one of `HANDMADE`."""
    if name not in HANDMADE:
        raise ValueError(f"there is no handmade creature {name!r}; there are {', '.join(HANDMADE)}")
    return load_genotype(FOLDER / f"{name}.json")
