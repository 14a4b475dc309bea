"""Worlds, models and scores have the same bits whichever kernels BLAS takes for the processor that it finds."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import hashlib, sys
import numpy as np
import kinemorph as km
from kinemorph.creatures.evaluate import evaluate
from kinemorph.creatures.tasks import TASKS
from kinemorph.scenes.thesis import car_track, domino_track
from tests.creatures.golden import creatures

text = []
for scene in (domino_track.dominos(), car_track.track()):
    scene.world.run(0.02)
    text.append(scene.world.hash())
for seed in range(3):
    rng = np.random.default_rng(seed)
    world = km.World()
    pose = km.Pose.turn(rng.normal(size=3), 2.0, rng.normal(size=3))
    body = world.add(km.Shape.box(rng.uniform(0.1, 1.0, 3)), at=pose, twist=rng.normal(size=6))
    world.placement.place(body, at=rng.normal(size=3), twist=rng.normal(size=6))
    world.apply_force(body, rng.normal(size=3), at=rng.normal(size=3))
    world.run(0.02)
    text.append(world.hash())
lives = creatures()
for number in (5, 10, 15, 17):  # their scores used to differ
    for kind in TASKS:
        text.append(repr(evaluate(lives[number], kind(seconds=2.0), number, number=number)))
print(hashlib.sha256(repr(text).encode()).hexdigest())
"""


def _digest(kernels: str) -> str:
    environment = os.environ | {"OPENBLAS_CORETYPE": kernels}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=600, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif("openblas" not in str(np.show_config(mode="dicts")).lower(), reason="NumPy has another BLAS")
def test_bits_do_not_depend_on_the_kernels_of_blas() -> None:
    assert _digest("Prescott") == _digest("Haswell")  # without and with fused multiplication and addition
