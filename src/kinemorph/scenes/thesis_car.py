"""A car drives into a brick wall: how time in the world and time by the clock go together (Fontijne fig. 3.13).

The thesis's wall was expensive while it stood and cheap once it fell, so that its simulation ran faster as soon as it
got interesting: 94 s for 10 s. The clock is that of the processor, which others do not turn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.scenes.gallery import named
from kinemorph.scenes.wall_and_car import SECONDS

PRINTED = 9.4  # s of computing for one of motion, in the thesis
EVERY = 0.1  # s
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Crash:
    """How a crash went by."""

    model: str
    t: Array  # s, in the world
    took: Array  # s, of computing, up to then
    hit: float  # s, when the car met the wall


def crash(model: str, seconds: float = SECONDS) -> Crash:
    """Let the car drive into the wall, with an eye on the clock. No brick may sleep."""
    demo = named("wall_and_car")
    settings = demo.by_impulses if model == "impulse" else {}
    demo.make(sleep=False, **settings).world.run(seconds)  # loads kernels, some as late as at the crash
    scene = demo.make(sleep=False, **settings)
    t, took = [0.0], [0.0]
    for _ in range(round(seconds / EVERY)):
        begin = time.process_time()
        scene.world.run(EVERY)
        took.append(took[-1] + time.process_time() - begin)
        t.append(t[-1] + EVERY)
    return Crash(model, np.array(t), np.array(took), scene.hit[0])
