"""Words in pictures, at places of the world. Pillow writes them: it comes with the extra `view`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kinemorph._escaping import plain
from kinemorph._extras import require_module
from kinemorph.view.pictures.raster import Camera, Image

INK, HALO = (34, 51, 68), (255, 255, 255)


def captioned(image: Image, camera: Camera, names: Mapping[str, Iterable[float]]) -> Image:
    """A picture with names centred at points of the world, as far inside its edges as they need to be read."""
    height, width = image.shape[:2]
    points = (camera.project(np.array([[*point]], dtype=np.float64), width, height)[0] for point in names.values())
    return draw_captions(image, {name: (float(x), float(y)) for name, (x, y, _) in zip(names, points, strict=True)})


def titled(image: Image, name: str) -> Image:
    """A picture with its name at its lower edge."""
    height, width = image.shape[:2]
    return draw_captions(image, {name: (0.5 * width, float(height))})


def draw_captions(image: Image, names: Mapping[str, tuple[float, float]]) -> Image:
    """A picture with names centred at pixels, or as near to there as they can be read."""
    height, width = image.shape[:2]
    size = max(11, round(height / 42))
    drawing = require_module("PIL.ImageDraw", "view", "names in pictures")
    paper = require_module("PIL.Image", "view", "names in pictures").fromarray(image)
    font = require_module("PIL.ImageFont", "view", "names in pictures").load_default(size)
    pen = drawing.Draw(paper)
    for name, (x, y) in ((plain(name), at) for name, at in names.items()):
        half = 0.5 * pen.textlength(name, font=font) + 3.0
        at = min(max(x, half), width - half), min(max(y, size), height - size)
        pen.text(at, name, INK, font, anchor="mm", stroke_width=2, stroke_fill=HALO)
    return np.asarray(paper)
