"""Take champions out of runs of evolution, to be shipped with the package as a demonstration.

python -m tools.keep_champions NAME RUN[@GENERATION]... [--behind] [--draw N] [--moments T...]
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from kinemorph._files import write_whole
from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.evolve.experiment import settings_in
from kinemorph.evolve.rescore import champion_of
from kinemorph.evolve.settings import Settings
from kinemorph.evolve.store.run_store import Store
from kinemorph.scenes.creatures.evolved import FOLDER, Cast, measured
from kinemorph.spatial.pose import Array


def typical(found: Mapping[str, Array]) -> int:
    """The draw on which all of them measure what they do in the mean, most nearly: a picture of it promises no more."""
    measures = np.array(list(found.values()))
    apart = np.abs(measures - measures.mean(axis=1, keepdims=True)).sum(axis=0)
    return int(apart.argmin())


def check_progress(found: Mapping[str, Array], champions: Mapping[str, Genotype]) -> None:
    """Refuse champions of generations that show none: one that is there twice, or that is no better than the one
    before."""
    if len({one.line() for one in champions.values()}) < len(champions):
        raise ValueError(f"evolved: two of {', '.join(champions)} are one genotype; name other generations")
    for before, after in pairwise(name for name in champions if name.startswith("generation")):
        old, new = found[before].mean(), found[after].mean()
        if not new > old:
            raise ValueError(f"evolved: {after} measures {new:.3g} in the mean, and {before} {old:.3g}: no progress")


def keep(
    name: str, runs: tuple[str, ...], /, behind: bool = False, draw: int | None = None,
    moments: tuple[float, ...] = (0.0,),
) -> None:  # fmt: skip
    """Take champions out of runs, each said as RUN or RUN@GENERATION, all of the task of the first.

    Without a `draw` they are shown on the most typical one.
    """
    champions: dict[str, Genotype] = {}
    settings: list[Settings] = []
    for place in runs:
        run, _, generation = place.partition("@")
        with Store.open(Path(run)) as store:
            settings.append(settings_in(store))
            at = int(generation) if generation else store.last
            called = f"generation {at}" if generation else f"seed {settings[-1].seed}"
            champions[called] = Genotype.from_json(champion_of(store, at, 0))
    if len({msgspec.json.encode((one.task, one.of_task)) for one in settings}) != 1:
        raise ValueError(f"evolved: runs must be of one task, and there must be one at least: {', '.join(runs)}")
    made = Cast(settings[0].task, settings[0].seed, champions, settings[0].of_task, draw or 0, behind, moments)
    found = measured(made.species, made.seed, champions)
    check_progress(found, champions)
    if draw is None:
        made = replace(made, draw=typical(found))
    FOLDER.mkdir(exist_ok=True)
    write_whole(FOLDER / f"{name}.json", msgspec.json.encode(made))


if __name__ == "__main__":
    import tyro

    tyro.cli(keep)
