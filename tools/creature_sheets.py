"""Sheets of pictures of creatures, for the manual: a hundred random ones, and those made by hand.

python -m tools.creature_sheets FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kinemorph.creatures.gallery import HANDMADE, ROOMY, handmade
from kinemorph.creatures.genotype.genotype import Form
from kinemorph.creatures.genotype.random_genotype import random_genotype
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.creatures.settings import Settings
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.view.pictures.captions import titled
from kinemorph.view.pictures.picture import picture, save_png

ALL_FORMS = Settings(forms=tuple(Form))
TILE = (150, 112)  # pixels
STRIP = 20  # pixels, below a creature for its name
SHADE_STEP = 5  # between shades, invisible, and packs better


def sheet(
    creatures: Sequence[Phenotype], file: Path, columns: int, tile: tuple[int, int] = TILE, names: Sequence[str] = ()
) -> Path:
    """One picture of many creatures, row by row, with their names if they have any."""
    width, height = tile
    strip = STRIP if names else 0
    images = [picture(c.model, neutral(c.model), size=(width, height - strip)) for c in creatures]
    if names:
        images = [np.pad(image, ((0, strip), (0, 0), (0, 0)), "edge") for image in images]
        images = [titled(image, name) for image, name in zip(images, names, strict=True)]
    rows = -(-len(images) // columns)
    whole = np.full((rows * height, columns * width, 3), 255, np.uint8)
    for k, image in enumerate(images):
        y, x = height * (k // columns), width * (k % columns)
        whole[y : y + height, x : x + width] = image
    save_png(file, ((whole.astype(int) + SHADE_STEP // 2) // SHADE_STEP * SHADE_STEP).clip(0, 255).astype(np.uint8))
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


def main(folder: Path) -> None:
    for file in sheets(folder):
        print(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
