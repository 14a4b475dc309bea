"""Pictures of a film from several places, at several times, beside and below each other; and its replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinemorph.view.pictures.picture import body_solids, recorded_solids, save_png
from kinemorph.view.pictures.raster import Camera, Image, Solid, draw
from kinemorph.view.recordings.recording import Recording, level_ground
from kinemorph.view.replays.replay import replay

Point = tuple[float, float, float]
PICTURE_GAP = 4  # pixels between pictures
PAPER = 255


@dataclass(frozen=True)
class View:
    """A picture: when it is, from where one looks, and the box in the world that it shows.

    With several times all of them are in it at once, as under a stroboscope; with `trace`, a body's name, this one is
    so alone, and the others are as at the first time. If it is `near`, what stands beyond the box along x is not drawn.
    What it shows is `room` times as large as the box: bodies are not points.
    """

    times: float | tuple[float, ...]
    direction: Point
    low: Point
    high: Point
    trace: str = ""
    near: bool = False
    room: float = 1.2


def draw_views(
    recording: Recording,
    folder: Path,
    name: str,
    views: Sequence[View],
    *,
    size: tuple[int, int],
    columns: int = 1,
    follow: str | None = None,
    speed: float = 1.0,
) -> tuple[Path, Path]:  # fmt: skip
    """A sheet of pictures, each of a size, in so many columns, and a replay that is so many times as fast as life.

    The replay looks from where the first picture does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures, film = folder / f"{name}.png", folder / f"{name}.html"
    save_png(pictures, arrange_pictures([picture(recording, view, size) for view in views], columns))
    replay(recording, film, direction=views[0].direction, follow=follow, speed=speed)
    return pictures, film


def picture(recording: Recording, view: View, size: tuple[int, int]) -> Image:
    """The picture of a view."""
    if view.trace:
        recording.row(view.trace)  # raises if there is no such body
    ends = np.array([view.low, view.high], float)
    corners = np.array([ends[[i, j, k], [0, 1, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    middle = corners.mean(axis=0)
    camera = Camera.framing(middle + view.room * (corners - middle), view.direction, size[0] / size[1])
    times = view.times if isinstance(view.times, tuple) else (view.times,)
    solids: list[Solid] = []
    for k, t in enumerate(times):
        still, moving = recorded_solids(recording, t)
        if k == 0:
            solids += [s for s in still if not view.near or ends[0, 0] <= s.vertices[:, 0].mean() <= ends[1, 0]]
        elif view.trace:
            moving = body_solids(recording, t)[view.trace]
        solids += moving
    return draw(solids, camera, *size, ground=level_ground(recording))


def arrange_pictures(images: Sequence[Image], columns: int) -> Image:
    """Pictures of one size beside and below each other, with thin gaps."""
    height, width, _ = images[0].shape
    rows = -(-len(images) // columns)
    paper = np.full(
        (rows * (height + PICTURE_GAP) - PICTURE_GAP, columns * (width + PICTURE_GAP) - PICTURE_GAP, 3), PAPER, np.uint8
    )
    for k, image in enumerate(images):
        y, x = (height + PICTURE_GAP) * (k // columns), (width + PICTURE_GAP) * (k % columns)
        paper[y : y + height, x : x + width] = image
    return paper
