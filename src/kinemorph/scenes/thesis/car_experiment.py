"""A car drives into a brick wall: how time in the world and time by the clock go together (Fontijne fig. 3.13).

The thesis's wall was expensive while it stood and cheap once it fell, so that its simulation ran faster as soon as it
got interesting: 94 s for 10 s. The clock is that of the processor, which others do not turn.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.scenes.gallery import named
from kinemorph.scenes.thesis.wall_and_car import WALL_AND_CAR_SECONDS

PRINTED = 9.4  # s of computing for one of motion, in the thesis
EVERY = 0.1  # s
RUNS = 3  # of which the best counts
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class CrashRecord:
    """How a crash went by."""

    model: str
    t: Array  # s, in the world
    took: Array  # s, of computing, up to then
    hit: float  # s, when the car met the wall


def measure_crash(model: str, seconds: float = WALL_AND_CAR_SECONDS, runs: int = RUNS) -> CrashRecord:
    """Let the car drive into the wall, with an eye on the clock. No brick may sleep.

    All runs are the same to the bit, so of each tenth of a second the best of them counts: what others do on the
    machine, and kernels that are loaded in the first, are no part of it.
    """
    demo = named("wall_and_car")
    settings = demo.by_impulses if model == "impulse" else {}
    parts = np.full((runs, round(seconds / EVERY)), math.inf)
    for run in parts:
        scene = demo.make(sleep=False, **settings)
        for k in range(len(run)):
            begin = time.process_time()
            scene.world.run(EVERY)
            run[k] = time.process_time() - begin
    took = np.append(0.0, np.cumsum(parts.min(axis=0)))
    return CrashRecord(model, np.linspace(0.0, EVERY * parts.shape[1], len(took)), took, scene.hit[0])
