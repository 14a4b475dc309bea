"""Picture, replay and brain of a creature."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinemorph._escaping import plain
from kinemorph.creatures.gallery import HANDMADE, ROOMY, handmade
from kinemorph.creatures.genotype.genotype import load_genotype
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.view.pictures.brain_graph import plot_brain
from kinemorph.view.pictures.picture import picture
from kinemorph.view.replays.replay import replay
from kinemorph.world.world import World

TARGET = (3.0, 0.0, 0.3)  # m, what creatures that are shown may look for


def show(file: Path, out: Path, seconds: float, say: Callable[[str], None]) -> None:
    """Leave a picture, a replay and the brain of the creature in a file, or of a handmade one by its name."""
    name = file.stem
    genotype = handmade(str(file)) if str(file) in HANDMADE else load_genotype(file)
    creature = develop(genotype, ROOMY)
    say(f"{plain(name)}: {creature}, {creature.model.mass:.3g} kg; {creature.brain}")
    say(f"key {genotype.key}")
    out.mkdir(parents=True, exist_ok=True)
    image, film, graph = out / f"{name}.png", out / f"{name}.html", out / f"{name}_brain.png"
    picture(creature.model, neutral(creature.model), image)
    plot_brain(graph, creature.brain, name)
    replay(recorded(creature, seconds, name), film, follow="part0")
    say(plain(f"look at {image}, {film} and {graph}"))


def recorded(creature: Phenotype, seconds: float, name: str) -> Any:
    """How a creature moves on the ground, with a target in front of it."""
    from kinemorph.scenes.pictures.film_pictures import film_run

    return film_run(stage(creature), seconds, name)


def stage(creature: Phenotype) -> World:
    """A world with ground, and the creature just above it, which thinks."""
    world = World(dt=5e-3)
    world.add_ground()
    figure = world.add(creature.model, (0.0, 0.0, creature.lift))
    world.brains.attach(figure, creature.brain, TARGET)
    return world
