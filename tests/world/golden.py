"""Golden digests: what each scene comes to on this type of processor (`machine`), in `golden.json` beside this file.

python -m tests.world.golden            makes it anew, after a change that is meant to change results
python -m tests.world.golden --check [--cold]    compares; cold: with all kernels compiled anew, which takes minutes
python -m tests.world.golden --digest wall 1.0   prints one digest, or those of "all", for another process
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
from benchmarks.scenes import HOLD, SEVEN, TORQUE

import kinemorph as km
from kinemorph.scenes.structure import chain_bridge, dismount, glued_tower, gripper, train, walker_on_ground

FILE = Path(__file__).with_name("golden.json")
SECONDS = 10.0  # of each scene
CHANGING: dict[str, Callable[[], Any]] = {  # structure that changes by events and controllers
    "walk on ground": walker_on_ground.walker,
    "dismount": dismount.dismount,
    "gripper": gripper.gripper,
    "train": train.train,
    "chain bridge": chain_bridge.bridge,
    "glued tower": glued_tower.tower,
}
SCENES = [*SEVEN, *CHANGING]


def machine() -> str:
    """What bits depend on: on x86_64 whether it can multiply and add in one rounding, as all can since 2013."""
    fused = ", fma" if llvmlite.binding.get_host_cpu_features().get("fma") else ""
    return f"{platform.machine()} {platform.system()}{fused}"


def made(name: str) -> tuple[km.World, Any]:
    """The world of a scene, and the scene."""
    if name in CHANGING:
        changing = CHANGING[name]()
        return changing.world, changing
    scene = SEVEN[name]()
    world = km.World(dt=2e-3)
    world.add_ground()
    world.add(scene.model, q=scene.q, v=scene.v)
    return world, scene


def go(world: km.World, scene: Any, steps: int, step: Callable[[int], None] | None = None) -> None:
    """So many steps, with the torques that a restless scene has, which follow from the time alone.

    `step` makes them; else the world does.
    """
    step = step or world.step
    if not getattr(scene, "restless", False):
        step(steps)
        return
    hold = round(HOLD / world.dt)
    while steps > 0:
        now = int(world._header[0]["steps"])
        part = min(steps, hold - now % hold)
        tree = int(world.forest.trees[0])
        tau = np.zeros(len(world.forest.state(tree).v))
        tau[6:] = TORQUE * np.random.default_rng(now // hold).uniform(-1.0, 1.0, len(tau) - 6)
        world.forest.set_state(tree, tau=tau)
        step(part)
        steps -= part


@functools.cache
def digest(name: str, seconds: float = SECONDS) -> str:
    world, scene = made(name)
    go(world, scene, round(seconds / world.dt))
    return world.hash()


def check() -> int:
    """Compare all scenes with the file. How many differ."""
    golden = json.loads(FILE.read_text())
    if golden["machine"] != machine():
        print(f"the digests are of {golden['machine']}, and this is {machine()}")
        return 1
    wrong = 0
    for name, known in golden["digests"].items():
        same = digest(name) == known
        wrong += not same
        print(f"{name}: {'the same' if same else 'other bits'}", flush=True)
    return wrong


def check_cold() -> int:
    """The same in a process of its own, with a cache of kernels that is empty when it starts."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "tests.world.golden", "--check"]
        return subprocess.run(command, env={**os.environ, "KINEMORPH_CACHE_DIR": cache}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--digest", nargs=2, metavar=("SCENE", "SECONDS"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--cold", action="store_true")
    chosen = parser.parse_args()
    if chosen.digest:
        name, seconds = chosen.digest[0], float(chosen.digest[1])
        print(*(digest(one, seconds) for one in (SCENES if name == "all" else [name])), sep="\n")
        return 0
    if chosen.check or chosen.cold:
        return min(1, check_cold() if chosen.cold else check())
    found = {}
    for name in SCENES:
        found[name] = digest(name)
        print(f"{name}: {found[name]}", file=sys.stderr)
    FILE.write_text(json.dumps({"machine": machine(), "seconds": SECONDS, "digests": found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
