"""Pictures of a bounce at a moment: objects, as solids or wires, their boxes, and lines between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kinemorph.scenes.bounce.replay import COLOURS, mesh_of
from kinemorph.scenes.bounce.simulation import Bounce
from kinemorph.spatial.pose import Array, rotation_of_quaternion
from kinemorph.view.pictures.raster import Camera, Image, Solid, draw

Colour = tuple[float, float, float]
BLACK, RED, GREY, BLUE = (0.05, 0.05, 0.08), (0.95, 0.10, 0.10), (0.45, 0.47, 0.52), (0.10, 0.55, 0.75)


@dataclass(frozen=True)
class Sight:
    """A moment of a world. Segments are (m, 2, 3), their ends; boxes likewise, their lowest and highest corners."""

    poses: Array  # (n, 7)
    lines: Array  # between closest points
    boxes: Array


def sight_of_moment(world: Bounce, shift: Iterable[float] = (0.0, 0.0, 0.0)) -> Sight:
    """The poses, lines and boxes of now."""
    move = np.array(list(shift), float)
    contacts = world.close()[2]
    poses = world.poses
    poses[:, :3] += move
    return Sight(
        poses,
        np.stack([contacts["x1"], contacts["x2"]], axis=1) + move,
        np.stack([world.lows, world.highs], axis=1) + move,
    )


def wires(world: Bounce) -> Array:
    """The edges of all objects now, as segments."""
    found = []
    for i, o in enumerate(world.objects):
        for part in world.parts(i):
            ends = part.points[np.column_stack([part.edges["tail"], part.edges["head"]])]
            found.append(ends @ rotation_of_quaternion(*o["q"]).T + o["x"])
    return np.concatenate(found)


# --- pictures ---


def solids(world: Bounce, seen: Sight) -> list[Solid]:
    """The objects as triangles."""
    found = []
    for i, (which, pose) in enumerate(zip(world.which.tolist(), seen.poses, strict=True)):
        mesh = mesh_of(world.bodies[which])
        points = mesh.vertices @ rotation_of_quaternion(*world.objects["q"][i]).T + pose[:3]
        found.append(Solid(points, mesh.faces, np.tile(COLOURS[which % len(COLOURS)], (len(mesh.faces), 1))))
    return found


def sticks(segments: Array, radius: float, colour: Colour) -> list[Solid]:
    """Segments as thin bars of three sides."""
    if not len(segments):
        return []
    along = segments[:, 1] - segments[:, 0]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    helper = np.where(np.abs(along[:, :1]) < 0.8, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    u = np.cross(along, helper)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(along, u)
    turns = [np.cos(a) * u + np.sin(a) * v for a in (0.0, 2.0 * np.pi / 3.0, 4.0 * np.pi / 3.0)]
    points = np.stack([segments[:, e] + radius * turn for e in (0, 1) for turn in turns], axis=1)
    sides = np.array([side for a, b in ((0, 1), (1, 2), (2, 0)) for side in ((a, b, b + 3), (a, b + 3, a + 3))])
    faces = (6 * np.arange(len(segments))[:, None, None] + sides).reshape(-1, 3).astype(np.int32)
    return [Solid(points.reshape(-1, 3), faces, np.tile(colour, (len(faces), 1)))]


def frames(boxes: Array) -> Array:
    """The twelve edges of each box, as segments."""
    ends = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    edges = [(a, b) for a, b in combinations(range(8), 2) if np.abs(ends[a] - ends[b]).sum() == 1]
    corners = np.stack([boxes[:, end, [0, 1, 2]] for end in ends], axis=1)
    return corners[:, np.array(edges)].reshape(-1, 2, 3)


def draw_moment(things: Sequence[Solid], points: Array, direction: Sequence[float], size: tuple[int, int]) -> Image:
    """A picture of things, in which some points just fit."""
    return draw(things, Camera.framing(points, direction, size[0] / size[1]), *size)


def camera_around(*sights: Sight) -> Any:
    """The corners of the boxes of all objects: points for a camera."""
    return np.concatenate([s.boxes.reshape(-1, 3) for s in sights])
