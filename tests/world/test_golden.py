"""Determinism: every scene comes to the same bits, however it gets there. See `tests/world/golden.py`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.world.golden import CHANGING, FILE, SCENES, SECONDS, digest, go, machine, made

import kinemorph as km

MOMENTS = 20


@pytest.mark.quick
@pytest.mark.parametrize("name", SCENES)
def test_a_scene_comes_to_its_golden_digest(name):
    golden = json.loads(FILE.read_text())
    if golden["machine"] != machine():
        pytest.skip(f"the digests are of {golden['machine']}, and this is {machine()}")
    assert digest(name) == golden["digests"][name], (
        f"{name} comes to other bits after {SECONDS:g} s; if that is meant, run python -m tests.world.golden"
    )


@pytest.mark.quick
@pytest.mark.parametrize("name", SCENES)
def test_saved_and_restored_at_random_moments_it_is_the_same(name):
    rng = np.random.default_rng(list(name.encode()))
    (world, scene), (used, _) = made(name), made("box")
    total = round(SECONDS / world.dt)
    stops = [*np.sort(rng.integers(1, total, MOMENTS)).tolist(), total]
    at = 0
    for i, stop in enumerate(stops):
        go(world, scene, stop - at)
        at = stop
        if name in CHANGING:  # its events keep what they do, in a used world and in a branch, and are not in the bytes
            used = world.branch() if i % 2 else world
            used.restore(world.save())
            world = used
        elif i % 2:
            world = km.World.load(world.save())
        else:
            used.restore(world.save())
            world, used = used, world
    assert world.hash() == digest(name)


def test_batch_or_alone_it_is_the_same():
    names = [name for name in SCENES if name != "ant"]
    scenes = [made(name) for name in names]
    km.batch.run([world for world, _ in scenes], SECONDS, workers=2)
    assert [world.hash() for world, _ in scenes] == [digest(name) for name in names]


def test_in_batches_between_torques_from_outside_it_is_the_same():
    (ant, scene), (other, _) = made("ant"), made("box")
    go(ant, scene, round(SECONDS / ant.dt), lambda steps: km.batch.run([ant, other], steps * ant.dt, workers=2))
    assert [ant.hash(), other.hash()] == [digest("ant"), digest("box")]


def told_elsewhere(name, seconds, **environment):
    """The digests that a process of its own comes to, of one scene or of all."""
    command = [sys.executable, "-m", "tests.world.golden", "--digest", name, str(seconds)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=1200, check=True
    )
    return done.stdout.split()


def test_in_a_fresh_process_all_scenes_are_the_same():
    assert told_elsewhere("all", SECONDS) == [digest(name) for name in SCENES]


def test_with_kernels_compiled_anew_it_is_the_same(tmp_path):
    """One small scene, for it takes a while; `python -m tests.world.golden --check --cold` does it with all."""
    assert told_elsewhere("box", 0.5, KINEMORPH_CACHE_DIR=str(tmp_path)) == [digest("box", 0.5)]
