"""A cube that rests, for a minute: whether it spins, and how far it wanders (Fontijne figs. 3.11 and 3.12)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
SIZE = 1.0  # m
DROP = 0.15  # m
CUBE_SETTLING_TIME = 5.0  # s, after which it is watched
CUBE_WATCH_TIME = 60.0  # s
EVERY = 0.1  # s
TILT = (0.05, 0.03, 0.0, 0.0, 0.0, 0.0)  # what it falls with, so that its corners do not land at once


@dataclass(frozen=True)
class Rest:
    """How a cube has rested."""

    epsilon: float  # share of its size
    handling: str
    boost: float | None
    t: Array  # s
    yaw: Array  # degrees, about the vertical, since it had settled
    offset: Array  # m, from where it was then
    seconds: float  # of computing, for the minute

    @property
    def spin(self) -> float:
        """Degrees a minute."""
        return float(self.yaw[-1]) * 60.0 / float(self.t[-1])


def rest(epsilon: float, handling: str, boost: float | None = None, seconds: float = CUBE_WATCH_TIME) -> Rest:
    """Drop a cube, let it settle, and watch it."""
    world = World(contact="impulse", epsilon=epsilon * SIZE, handling=handling, boost=boost, sleep=False)
    world.add_ground()
    cube = world.add(Shape.box((SIZE, SIZE, SIZE)), at=(0.0, 0.0, 0.5 * SIZE + DROP), twist=TILT, name="cube")
    world.run(CUBE_SETTLING_TIME)
    start = cube.pose
    count = round(seconds / EVERY)
    turns, offsets = np.zeros(count), np.zeros(count)
    took = 0.0
    for k in range(count):
        begin = time.perf_counter()
        world.run(EVERY)
        took += time.perf_counter() - begin
        turn = start.rotation.T @ cube.pose.rotation
        turns[k] = math.atan2(turn[1, 0], turn[0, 0])
        offsets[k] = np.linalg.norm(cube.pose.position - start.position)
    t: Array = EVERY * np.arange(1.0, count + 1.0)
    return Rest(epsilon, handling, boost, t, np.degrees(np.unwrap(turns)), offsets, took)
