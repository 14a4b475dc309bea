"""Champions of evolution, seen: a life again, bit for bit, while somebody films it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from kinemorph.creatures.develop import develop
from kinemorph.creatures.genotype import Genotype
from kinemorph.creatures.tasks.task import Stage
from kinemorph.evolve.experiment import settings_in
from kinemorph.evolve.problem import Draw
from kinemorph.evolve.rescore import species_of
from kinemorph.evolve.run import held_out
from kinemorph.evolve.species import Species
from kinemorph.evolve.store import Store
from kinemorph.view.film import film
from kinemorph.view.recording import Recording
from kinemorph.view.replay import replay


def filmed(species: Species, genotype: str, draw: Draw, rate: float = 30.0) -> tuple[Recording, float]:
    """A life, and what it measures. It is the very life that was evaluated: who looks on changes nothing."""
    task = species.task
    stage = Stage(task, develop(Genotype.from_json(genotype), species.settings), draw.seed, draw.number, draw.level)
    with film(stage.world, rate=rate, name=task.name) as taken:
        if reason := stage.settle():
            raise ValueError(f"this one does not live: {reason}")
        stage.live()
        measure = float(task.mark(stage).measure)
    return taken.recording, measure


def replay_champion(run: Path, generation: int | None, rank: int, draw: int, out: Path | None) -> None:
    """Write the replay of one of a run, and say what it measures."""
    console = Console(highlight=False, soft_wrap=True)
    with Store.open(run) as store:
        species = species_of(store)
        generation = store.last if generation is None else generation
        genotype = store.genotype(generation, rank)
        on = held_out(settings_in(store).seed, draw + 1)[draw]
    recording, measure = filmed(species, genotype, on)
    outcome = species.evaluate(genotype, on)
    if not outcome.reason and outcome.measure != measure:
        raise RuntimeError(f"filmed it measures {measure}, evaluated {outcome.measure}: they should be the same life")
    file = out or run.with_name(f"{run.stem}-{generation}-{rank}.html")
    replay(recording, file, follow="part0")
    console.print(f"generation {generation}, rank {rank}, draw {draw}: {measure:.3f} {outcome.reason}")
    console.print(f"look at [bold]{file}[/]")
