"""Creatures to look at: one with its picture, replay and brain; sheets of many; and trials of very many.

python -m kinemorph.scenes.creatures FOLDER draws the sheets of the manual.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.creatures.develop import Phenotype, develop
from kinemorph.creatures.gallery import HANDMADE, ROOMY, handmade
from kinemorph.creatures.genotype import Form, Genotype, load_genotype
from kinemorph.creatures.initial import random_genotype
from kinemorph.creatures.mate import crossover, crossover_within, graft
from kinemorph.creatures.mutate import mutate
from kinemorph.creatures.settings import Settings
from kinemorph.multibody.configuration import neutral
from kinemorph.view.brain_graph import plot_brain
from kinemorph.view.captions import titled
from kinemorph.view.picture import picture, save_png
from kinemorph.view.replay import replay
from kinemorph.world.world import World, WorldError

ALL_FORMS = Settings(forms=tuple(Form))
TILE = (150, 112)  # pixels
FINITE, BOUNDED = ("R", "p", "axis", "mass", "h", "I"), ("armature", "damping", "lower", "upper", "effort")
STEP = 5  # between shades, which nobody sees, and which packs better
TARGET = (3.0, 0.0, 0.3)  # m, what creatures that are shown may look for


def show(file: Path, out: Path, seconds: float, say: Callable[[str], None]) -> None:
    """Leave a picture, a replay and the brain of the creature in a file, or of a handmade one by its name."""
    name = file.stem
    genotype = handmade(str(file)) if str(file) in HANDMADE else load_genotype(file)
    creature = develop(genotype, ROOMY)
    say(f"{name}: {creature}, {creature.model.mass:.3g} kg; {creature.brain}")
    say(f"key {genotype.key}")
    out.mkdir(parents=True, exist_ok=True)
    image, film, graph = out / f"{name}.png", out / f"{name}.html", out / f"{name}_brain.png"
    picture(creature.model, neutral(creature.model), image)
    plot_brain(graph, creature.brain, name)
    replay(recorded(creature, seconds, name), film, follow="part0")
    say(f"look at {image}, {film} and {graph}")


def recorded(creature: Phenotype, seconds: float, name: str) -> Any:
    """How a creature moves on the ground, with a target in front of it."""
    from kinemorph.scenes.filming import film_run

    return film_run(stage(creature), seconds, name)


def stage(creature: Phenotype) -> World:
    """A world with ground, and the creature just above it, which thinks."""
    world = World(dt=5e-3)
    world.add_ground()
    figure = world.add(creature.model, (0.0, 0.0, creature.lift))
    world.think(figure, creature.brain, TARGET)
    return world


# ------------------------------------------------------------------------------------------------------------ sheets


def sheet(
    creatures: Sequence[Phenotype], file: Path, columns: int, tile: tuple[int, int] = TILE, names: Sequence[str] = ()
) -> Path:
    """One picture of many creatures, row by row, with their names if they have any."""
    width, height = tile
    images = [picture(c.model, neutral(c.model), size=tile) for c in creatures]
    if names:
        images = [titled(image, name) for image, name in zip(images, names, strict=True)]
    rows = -(-len(images) // columns)
    whole = np.full((rows * height, columns * width, 3), 255, np.uint8)
    for k, image in enumerate(images):
        y, x = height * (k // columns), width * (k % columns)
        whole[y : y + height, x : x + width] = image
    save_png(file, ((whole.astype(int) + STEP // 2) // STEP * STEP).clip(0, 255).astype(np.uint8))
    return file


def random_creatures(count: int, settings: Settings = ALL_FORMS) -> list[Phenotype]:
    """The first random creatures that may live."""
    found: list[Phenotype] = []
    seed = 0
    while len(found) < count:
        creature = develop(random_genotype(seed, settings), settings)
        if not creature.rejected:
            found.append(creature)
        seed += 1
    return found


def sheets(folder: Path) -> list[Path]:
    """A hundred random creatures, and those made by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [develop(handmade(name), ROOMY) for name in HANDMADE]
    return [
        sheet(random_creatures(100), folder / "creatures_random.png", 10, (96, 80)),
        sheet(made, folder / "creatures_handmade.png", len(made), (192, 160), tuple(HANDMADE)),
    ]


# ------------------------------------------------------------------------------------------------------------ trials


def bred(count: int, seed: int, settings: Settings = ALL_FORMS) -> Any:
    """Genotypes, half of them random, half of them children of those before by any operator: a stream."""
    rng = np.random.default_rng(seed)
    pool = [random_genotype(rng, settings) for _ in range(32)]
    operators: tuple[Callable[..., Genotype], ...] = (crossover, crossover_within, graft)
    for k in range(count):
        i = int(rng.integers(len(pool)))
        if k % 2 == 0:
            child = random_genotype(rng, settings)
        elif rng.random() < 0.5:
            child = mutate(pool[i], rng, settings)
        else:
            other = pool[int(rng.integers(len(pool)))]
            child = operators[int(rng.integers(len(operators)))](pool[i], other, rng, settings)
        pool[i] = child
        yield child


def trial(count: int, seed: int = 0, seconds: float = 0.0, settings: Settings = ALL_FORMS) -> Counter[str]:
    """Grow and develop genotypes, and let those live that may, for so long. Counts what became of them.

    What must not happen raises: an invalid genotype, a number that is not finite, a mass that is not positive.
    """
    told: Counter[str] = Counter()
    for genotype in bred(count, seed, settings):
        if genotype.checked() != genotype:
            raise AssertionError(f"genotype {genotype.key} is not what its file says")
        creature = develop(genotype, settings)
        model, brain = creature.model, creature.brain
        for rows, fields in ((model.links, FINITE), (model.dofs[6:], BOUNDED)):  # six of the root have no bounds
            for field in fields:
                if not np.isfinite(rows[field]).all():
                    raise AssertionError(f"genotype {genotype.key}: {field} is not finite")
        if not (creature.rows["mass"] > 0.0).all():
            raise AssertionError(f"genotype {genotype.key}: a part has no mass")
        if len(brain.effects) != int(creature.rows["dof"].sum()):
            raise AssertionError(f"genotype {genotype.key}: a degree of freedom has no effector")
        told[creature.rejected or (_lived(creature, seconds) if seconds else "may live")] += 1
    return told


def _lived(creature: Phenotype, seconds: float) -> str:
    """How a life of some seconds ended."""
    world = stage(creature)
    try:
        world.run(seconds)
    except WorldError as error:
        return f"faulty: {str(error).split(';')[0]}"
    if not all(np.isfinite(body.position).all() for body in world.bodies):
        raise AssertionError(f"genotype {creature.genotype.key}: a body is nowhere")
    return "lived"


def main(folder: Path) -> None:
    for file in sheets(folder):
        print(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
