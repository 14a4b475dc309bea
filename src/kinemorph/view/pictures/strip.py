"""A strip of pictures of a simulation at some moments, all seen by the same camera."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from kinemorph.motion.log import Log
from kinemorph.multibody.checks import Array
from kinemorph.multibody.model.model import Model
from kinemorph.view.pictures.picture import save_png, solids_of
from kinemorph.view.pictures.raster import Camera, Image, draw


def at_time(log: Log, t: float) -> tuple[Model, Array]:
    """The model and the configuration of the last frame that is not later than t."""
    stretch = next((s for s in reversed(log.stretches) if s.t[0] <= t), log.stretches[0])
    return stretch.model, stretch.q[max(int(np.searchsorted(stretch.t, t, side="right")) - 1, 0)]


def strip(
    log: Log,
    times: Sequence[float],
    file: Path | str | None = None,
    *,
    direction: Iterable[float] = (1.0, -1.3, 0.55),
    size: tuple[int, int] = (300, 400),
) -> Image:
    """Draw a simulation at some times, one picture beside the other, into an array and, if given, a PNG file."""
    moments = [solids_of(*at_time(log, t)) for t in times]
    points = np.concatenate([s.vertices for solids in moments for s in solids])
    camera = Camera.framing(points, direction, size[0] / size[1])
    ground = float(points[:, 2].min())
    image = np.concatenate([draw(solids, camera, *size, ground=ground) for solids in moments], axis=1)
    if file is not None:
        save_png(file, image)
    return image
