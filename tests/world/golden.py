"""Golden digests: what each scene comes to on this type of processor, in `golden.json` beside this file.

python -m tests.world.golden            makes it anew, after a change that is meant to change results
python -m tests.world.golden --digest wall 1.0   prints one digest, for another process
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from pathlib import Path

import llvmlite.binding
import numpy as np

import kinemorph as km
from kinemorph.scenes.yardsticks import HOLD, SEVEN, TORQUE, Yardstick

FILE = Path(__file__).with_name("golden.json")
SECONDS = 10.0  # of each scene


def machine() -> str:
    """The type of processor: what it can do decides the code that is made for it."""
    features = hashlib.sha256(llvmlite.binding.get_host_cpu_features().flatten().encode()).hexdigest()[:12]
    return f"{platform.machine()} {platform.system()} {features}"


def made(name: str) -> tuple[km.World, Yardstick]:
    scene = SEVEN[name]()
    world = km.World(dt=2e-3)
    world.add_ground()
    world.add(scene.model, q=scene.q, v=scene.v)
    return world, scene


def go(world: km.World, scene: Yardstick, steps: int) -> None:
    """So many steps, with the torques that a restless scene has, which follow from the time alone."""
    if not scene.restless:
        world.step(steps)
        return
    hold = round(HOLD / world.dt)
    while steps > 0:
        now = int(world._header[0]["steps"])
        part = min(steps, hold - now % hold)
        tree = int(world.forest.trees[0])
        tau = np.zeros(len(world.forest.state(tree).v))
        tau[6:] = TORQUE * np.random.default_rng(now // hold).uniform(-1.0, 1.0, len(tau) - 6)
        world.forest.set_state(tree, tau=tau)
        world.step(part)
        steps -= part


def digest(name: str, seconds: float = SECONDS) -> str:
    world, scene = made(name)
    go(world, scene, round(seconds / world.dt))
    return world.hash()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--digest", nargs=2, metavar=("SCENE", "SECONDS"))
    chosen = parser.parse_args()
    if chosen.digest:
        print(digest(chosen.digest[0], float(chosen.digest[1])))
        return
    found = {}
    for name in SEVEN:
        found[name] = digest(name)
        print(f"{name}: {found[name]}", file=sys.stderr)
    FILE.write_text(json.dumps({"machine": machine(), "seconds": SECONDS, "digests": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
