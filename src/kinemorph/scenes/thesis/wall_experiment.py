"""A wall of 34 bricks that stands: how much it moves, and what that costs (Fontijne table 3.4).

Four rows, of eight bricks each, or of seven and a half one at both ends. Ten times a second it is measured by how far
each brick has come and turned since the time before; the sums of both are what the thesis calls stability.

Other walls, and cubes on each other, show whether this is so of one wall or of all.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.world.body import Body
from kinemorph.world.world import World

SIZE = 1.0  # m, of a brick, which is half as deep and high
ROWS, COLUMNS = 4, 8
WALL_SETTLING_TIME = 2.0  # s, after which it is watched
WALL_WATCH_TIME = 5.0  # s
EVERY = 0.1  # s
BRICK_GAP = 1e-3  # m, between the bricks of a world without an envelope
CUBES = 0  # columns, in place of which there are cubes on each other


@dataclass(frozen=True)
class Standing:
    """How a wall has stood."""

    epsilon: float  # share of the size of a brick; 0 for the other contact model
    handling: str
    boost: float | None
    seconds: float  # of computing
    rotation: float  # rad, sum over all bricks and measurements
    offset: float  # m, likewise
    strikes: int  # collisions
    farthest: float = 0.0  # m, between two looks, of any brick


def thesis_wall(
    epsilon: float, handling: str = "", boost: float | None = None, size: float = SIZE, rows: int = ROWS,
    columns: int = COLUMNS,
) -> tuple[World, list[Body]]:  # fmt: skip
    """The world, and its bricks; without an epsilon that of the default contact model."""
    settings: dict[str, Any] = {"sleep": False}
    if epsilon > 0.0:
        settings |= {"contact": "impulse", "epsilon": epsilon * size, "handling": handling, "boost": boost}
    world = World(**settings)
    world.add_ground()
    gap = 1.2 * epsilon * size or BRICK_GAP
    bricks: list[Body] = []
    half = size if columns == CUBES else 0.5 * size
    for row in range(rows):
        whole = row % 2 == 0 or columns == CUBES
        lengths = [size] * max(columns, 1) if whole else [half, *[size] * (columns - 1), half]
        x = -0.5 * (sum(lengths) + gap * (len(lengths) - 1))
        z = (row + 0.5) * half + (row + 1) * gap
        for length in lengths:
            shape = Shape.box((length, half, half))
            bricks.append(world.add(shape, at=(x + 0.5 * length, 0.0, z), name=f"brick {len(bricks)}"))
            x += length + gap
    return world, bricks


def stand(
    epsilon: float, handling: str = "", boost: float | None = None, seconds: float = WALL_WATCH_TIME,
    size: float = SIZE, rows: int = ROWS, columns: int = COLUMNS,
) -> Standing:  # fmt: skip
    """Let a wall settle, and watch it."""
    world, bricks = thesis_wall(epsilon, handling, boost, size, rows, columns)
    world.run(WALL_SETTLING_TIME)
    before, strikes = [brick.pose for brick in bricks], world.queries.statistics.strikes
    took = rotation = offset = farthest = 0.0
    for _ in range(round(seconds / EVERY)):
        begin = time.perf_counter()
        world.run(EVERY)
        took += time.perf_counter() - begin
        now = [brick.pose for brick in bricks]
        for a, b in zip(before, now, strict=True):
            way = float(np.linalg.norm(b.position - a.position))
            offset, farthest = offset + way, max(farthest, way)
            rotation += 2.0 * math.asin(min(1.0, float(np.linalg.norm(b.rotation - a.rotation)) / math.sqrt(8.0)))
        before = now
    return Standing(
        epsilon, handling, boost, took, rotation, offset, world.queries.statistics.strikes - strikes, farthest
    )
