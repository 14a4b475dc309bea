"""One picture of all demonstrations, made of those that they have left in a folder.

python -m tools.contact_sheet FOLDER runs those that have left none there yet.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._extras import require_module
from kinemorph.scenes.gallery import DEMOS, Demo
from kinemorph.view.pictures.picture import save_png

COLUMNS, WIDTH, HEIGHT, CAPTION = 6, 146, 104, 16  # of the sheet, and pixels of each picture and of its name
SPARE = 0.85  # of a picture, at least, is kept where it is cut
SHADE_STEP = 5  # between shades, invisible, and packs a third better
DPI = 100


def contact_sheet(folder: Path, file: Path) -> Path:
    """A panel of each demonstration's picture, under its name."""
    require_module("matplotlib", "view", "sheets of pictures")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(DEMOS) // COLUMNS)
    width, height = COLUMNS * WIDTH, rows * (HEIGHT + CAPTION)
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
    canvas: Any = FigureCanvasAgg(figure)
    for k, (name, demo) in enumerate(DEMOS.items()):
        x, y = WIDTH * (k % COLUMNS), (HEIGHT + CAPTION) * (k // COLUMNS)
        image = _fitted(panel(folder, demo), WIDTH - 4, HEIGHT - 2)
        h, w = image.shape[:2]
        left, top = x + (WIDTH - w) // 2, y + CAPTION + (HEIGHT - h) // 2
        figure.figimage(image, left, height - top - h)
        figure.text(
            (x + 0.5 * WIDTH) / width, 1.0 - (y + 12.0) / height, name, ha="center", fontsize=7, color="#223344"
        )
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[:, :, :3].astype(int)
    save_png(file, ((image + SHADE_STEP // 2) // SHADE_STEP * SHADE_STEP).astype(np.uint8))
    return file


def panel(folder: Path, demo: Demo) -> Any:
    """The part of a demonstration's picture that stands for it."""
    from matplotlib.image import imread

    image = imread(folder / f"{demo.picture}.png")[:, :, :3]
    k, columns, rows = demo.panel
    h, w = image.shape[0] // rows, image.shape[1] // columns
    y, x = h * (k // columns), w * (k % columns)
    return image[y + 3 : y + h - 3, x + 3 : x + w - 3]


def _fitted(image: Any, width: int, height: int) -> Any:
    """An image, made smaller so that it fits: each pixel the mean of those that it stands for.

    What is a little too wide or too high is cut to fill the place.
    """
    h, w = image.shape[:2]
    if SPARE < (w * height) / (h * width) < 1.0 / SPARE:
        keep_h, keep_w = min(h, round(w * height / width)), min(w, round(h * width / height))
        y, x = (h - keep_h) // 2, (w - keep_w) // 2
        image, h, w = image[y : y + keep_h, x : x + keep_w], keep_h, keep_w
    scale = max(w / width, h / height)
    edges = [np.linspace(0, n, max(1, round(n / scale)) + 1).astype(int) for n in (h, w)]
    sums = np.add.reduceat(np.add.reduceat(image, edges[0][:-1], axis=0), edges[1][:-1], axis=1)
    return sums / (np.diff(edges[0])[:, None, None] * np.diff(edges[1])[None, :, None])


def make_contact_sheet(folder: Path) -> None:
    for name, demo in DEMOS.items():
        if not (folder / f"{demo.picture}.png").exists():
            print(name)
            demo.show(folder, print)
    print(contact_sheet(folder, folder / "demonstrations.png"))


if __name__ == "__main__":
    make_contact_sheet(Path(sys.argv[1]))
