"""Overlays of a replay: lines and frames of boxes, which change from frame to frame.

The page's scene tree, the button with the branches in its lower bar, shows and hides each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.spatial.pose import Array

Show = Callable[[int], None]
Colour = tuple[float, float, float]  # red, green, blue: 0 to 1

BAR = 0.012  # of the side of a box: how thick its edges are drawn


@dataclass(frozen=True)
class Lines:
    """Segments: of each frame of the recording an array (m, 2, 3) with their ends, in the world; `width` in pixels."""

    name: str
    colour: Colour
    frames: Sequence[Array]
    width: float = 2.0
    shown: bool = True

    def draw(self, scene: Any, kept: Sequence[int], shift: Array) -> Show:
        """Add it to a scene, and return a function that shows frame k of those kept; the camera is at `shift` then."""
        frames = [np.asarray(self.frames[k], np.float32).reshape(-1, 2, 3) for k in kept]
        nowhere = np.zeros((1, 2, 3), np.float32)  # there must be something
        frames = [points if len(points) else nowhere for points in frames]
        handle = scene.add_line_segments(
            f"/{self.name}", frames[0], _bytes(self.colour), thickness=self.width, thickness_units="screen",
            visible=self.shown,
        )  # fmt: skip

        def show(k: int) -> None:
            handle.position = -shift[k]
            handle.points = frames[k]

        return show


@dataclass(frozen=True)
class Boxes:
    """The edges of boxes: of each frame an array (m, 2, 3) with their lowest and highest corners, in the world."""

    name: str
    colour: Colour
    frames: Sequence[Array]
    shown: bool = True

    def draw(self, scene: Any, kept: Sequence[int], shift: Array) -> Show:
        """Add it to a scene, and return a function that shows frame k of those kept; the camera is at `shift` then."""
        most = max(max(len(self.frames[k]) for k in kept), 1)
        middles, sides = np.zeros((2, len(kept), most, 3), np.float32)
        for row, k in enumerate(kept):
            low, high = np.moveaxis(np.asarray(self.frames[k], np.float64).reshape(-1, 2, 3), 1, 0)
            middles[row, : len(low)], sides[row, : len(low)] = 0.5 * (low + high), high - low
        vertices, faces = cube_frame()
        handle = scene.add_batched_meshes_simple(
            f"/{self.name}", vertices, faces, np.tile([1.0, 0.0, 0.0, 0.0], (most, 1)), middles[0],
            batched_scales=sides[0], batched_colors=_bytes(self.colour), lod="off", cast_shadow=False,
            receive_shadow=False, visible=self.shown,
        )  # fmt: skip

        def show(k: int) -> None:
            handle.position = -shift[k]
            handle.batched_positions = middles[k]
            handle.batched_scales = sides[k]  # a box that is not there has no size

        return show


Overlay = Lines | Boxes


def cube_frame(bar: float = BAR) -> tuple[Array, npt.NDArray[np.int32]]:
    """The twelve edges of a cube of side 1 around the origin as thin bars: vertices and triangles."""
    corners = np.array([[i, j, k] for k in (-0.5, 0.5) for j in (-0.5, 0.5) for i in (-0.5, 0.5)])
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    sides = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)
    vertices: list[Array] = []
    faces: list[npt.NDArray[np.int32]] = []
    for axis in range(3):
        size = np.full(3, bar)
        size[axis] = 1.0 + bar
        for u in (-0.5, 0.5):
            for v in (-0.5, 0.5):
                middle = np.insert([u, v], axis, 0.0)
                faces.append(sides + 8 * len(vertices))
                vertices.append(corners * size + middle)
    return np.concatenate(vertices), np.concatenate(faces)


def _bytes(colour: Colour) -> tuple[int, int, int]:
    r, g, b = (round(255 * c) for c in colour)
    return r, g, b
