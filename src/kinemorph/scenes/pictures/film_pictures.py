"""Results of a scene with a world: a film of its bodies, a strip of pictures, and a replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.spatial.pose import Array, Pose
from kinemorph.view.pictures.picture import body_solids, recorded_solid, save_png
from kinemorph.view.pictures.raster import Camera, draw
from kinemorph.view.recordings.film import film
from kinemorph.view.recordings.recording import SOIL, Recording, level_ground, standing_shapes
from kinemorph.view.replays.replay import replay
from kinemorph.world.world import World

FILM_RATE = 60.0  # frames a second


def film_run(world: World, seconds: float, name: str, rate: float = FILM_RATE) -> Recording:
    """Run a world for some seconds, and record the poses and the parents of its bodies."""
    with film(world, rate=rate, name=name) as taken:
        world.run(seconds)
    return taken.recording


def draw_film(
    recording: Recording,
    folder: Path,
    name: str,
    times: Sequence[float],
    *,
    direction: Sequence[float],
    size: tuple[int, int],
    follow: str | None = None,
    beside: str = "",
) -> tuple[Path, Path]:  # fmt: skip
    """A strip of pictures at some times, one below the other if they are wide, and a replay: files in a folder.

    The camera of the pictures looks at all that moves or stands but the body called `beside`; that of the replay may
    `follow` one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures, film = folder / f"{name}.png", folder / f"{name}.html"
    moments = [body_solids(recording, t) for t in times]
    framed = [s for bodies in moments for name, solids in bodies.items() if name != beside for s in solids]
    standing = standing_shapes(recording)
    framed += [recorded_solid(recording, shape) for shape in standing if shape.colour != SOIL]
    points = np.concatenate([s.vertices for s in framed])
    camera = Camera.framing(points, direction, size[0] / size[1])
    axis = 0 if size[0] > size[1] else 1
    still = [recorded_solid(recording, _part(shape, points)) for shape in standing]
    ground = level_ground(recording)
    images = [draw([*still, *chain(*bodies.values())], camera, *size, ground=ground) for bodies in moments]
    save_png(pictures, np.concatenate(images, axis=axis))
    replay(recording, film, direction=direction, follow=follow)
    return pictures, film


def _part(shape: Shape, points: Array) -> Shape:
    """The part of a slope that is below some points; other shapes as they are."""
    if shape.colour != SOIL:
        return shape
    below = shape.pose.inverse().apply(points)
    low, high = below[:, :2].min(axis=0), below[:, :2].max(axis=0)
    middle = shape.pose.apply((*(0.5 * (low + high)), 0.0))
    width, length = np.maximum(1.1 * (high - low), 0.5)
    return replace(shape, size=(float(width), float(length), shape.size[2]), pose=Pose(middle, shape.pose.rotation))
