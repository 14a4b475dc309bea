"""The impulse model beside what Fontijne's thesis has printed of its own (2000, section 3.11).

    python -m benchmarks.thesis [--quick] [--json FILE]

Seconds of computing for one of motion, on one core. Walls, cubes and the free bodies beside MuJoCo never sleep;
demonstrations do as they do in the gallery, with their drivers and events. Times of the thesis are those of a computer
of its day: read ratios as what a user gets now. Accuracy is the sum of rotations of the wall in rad, and the yaw of the
cube in degrees. `--quick` runs a tenth of each.
"""

from __future__ import annotations

import time

import mujoco

import kinemorph as km
from benchmarks import scenes as yardsticks
from benchmarks.measure import Row, arguments, report
from benchmarks.mujoco_twin import twin
from kinemorph.scenes import gallery
from kinemorph.scenes.thesis import experiments
from kinemorph.scenes.thesis.cube_experiment import CUBE_WATCH_TIME as CUBE
from kinemorph.scenes.thesis.cube_experiment import rest
from kinemorph.scenes.thesis.wall_experiment import WALL_WATCH_TIME as WALL
from kinemorph.scenes.thesis.wall_experiment import stand

PEER, MUJOCO = "Fontijne 2000, printed", "MuJoCo"
METRIC = "s for a second"
DEMONSTRATIONS = {"coins": 2.1, "car": 1.1, "dominos": 0.25, "marble": 0.14}  # times real time, there
ASKED = {"coins": 20.0, "car": 50.0, "dominos": 2.0, "marble": 5.0}  # here
SECONDS = {"coins": 3.0, "car": 9.0, "dominos": 11.0, "marble": 50.0}
FREE = ("coins", "dominos")  # yardsticks that MuJoCo knows, too
ENVELOPE = 1e-3  # m


def of_wall(handling: str, epsilon: float, share: float) -> Row:
    found, his = stand(epsilon, handling, seconds=share * WALL), experiments.TABLE[handling, epsilon]
    peer = None if his is experiments.FAILED else his.seconds / WALL
    case = f"wall, {handling}, {100.0 * epsilon:g} %"
    return Row("thesis", case, METRIC, found.seconds / (share * WALL), peer, PEER, found.rotation)


def of_cube(handling: str, epsilon: float, share: float) -> Row:
    found = rest(epsilon, handling, seconds=share * CUBE)
    case = f"cube, {handling}, {100.0 * epsilon:g} %"
    return Row("thesis", case, METRIC, found.seconds / (share * CUBE), 1.0 / 60.0, PEER, abs(float(found.yaw[-1])))


def of_demonstration(name: str, share: float) -> Row:
    """A scene of the gallery with all that drives it: the better of two runs, for the first one loads kernels."""
    demo, times = gallery.named(name), []
    for _ in range(2):
        scene = demo.make(**demo.by_impulses)
        start = time.process_time()
        scene.world.run(share * SECONDS[name])
        times.append(time.process_time() - start)
    ours = min(times) / (share * SECONDS[name])
    return Row("thesis", f"demonstration, {name}", METRIC, ours, 1.0 / DEMONSTRATIONS[name], PEER, None)


def of_yardstick(name: str, share: float) -> Row:
    """Free bodies by impulses beside MuJoCo, which has steps of the same length: the better of two runs of each."""
    scene = yardsticks.SEVEN[name]()
    ours, theirs = [], []
    for _ in range(2):
        world = km.World(
            contact="impulse", epsilon=ENVELOPE, sleep=False, material=km.Material(yardsticks.FRICTION)
        )  # fmt: skip
        world.add_ground()
        world.add(scene.model, q=scene.q, v=scene.v)
        start = time.process_time()
        world.run(share * scene.seconds)
        ours.append(time.process_time() - start)
        peer, convert = twin(scene.model, world.dt, yardsticks.FRICTION)
        data = mujoco.MjData(peer)
        data.qpos[:], data.qvel[:] = convert.q(scene.q), convert.v(scene.q, scene.v)
        start = time.process_time()
        mujoco.mj_step(peer, data, nstep=round(share * scene.seconds / world.dt))
        theirs.append(time.process_time() - start)
    each = share * scene.seconds
    return Row("thesis", f"{name}, {1e3 * ENVELOPE:g} mm", METRIC, min(ours) / each, min(theirs) / each, MUJOCO, None)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    share = 0.1 if options.quick else 1.0
    rows = [of_wall(handling, epsilon, share) for handling, epsilon in experiments.TABLE]
    rows += [of_cube(handling, epsilon, share) for handling, epsilon in experiments.TABLE]
    rows += [of_demonstration(name, share) for name in DEMONSTRATIONS]
    rows += [of_yardstick(name, share) for name in FREE]
    packages = ("kinemorph", "numba", "numpy", "mujoco-core")
    report("the thesis's simulator: a ratio above 1 is faster", rows, options.json, packages)
    for row in rows:
        asked = ASKED.get(row.case.removeprefix("demonstration, "))
        print(f"{row.case}: {1.0 / row.ours:.1f} times real time" + (f" (asked: {asked:g})" if asked else ""))


if __name__ == "__main__":
    main()
