"""The impulse model beside what Fontijne's thesis has printed of its own (2000, section 3.11).

    python -m benchmarks.thesis [--quick] [--json FILE]

Seconds of computing for one of motion, on one core, with sleep off. Times of the thesis are those of a computer of its
day: read ratios as what a user gets now. Accuracy is the sum of rotations of the wall in rad, and the yaw of the cube
in degrees. `--quick` runs a tenth of each.
"""

from __future__ import annotations

import time

import kinemorph as km
from benchmarks.measure import Row, arguments, report
from kinemorph.scenes import thesis, yardsticks
from kinemorph.scenes.thesis_cube import WATCHED as CUBE
from kinemorph.scenes.thesis_cube import rest
from kinemorph.scenes.thesis_wall import WATCHED as WALL
from kinemorph.scenes.thesis_wall import stand

PEER = "Fontijne 2000, printed"
METRIC = "s for a second"
FREE = {"coins": 1.0 / 2.1, "dominos": 1.0 / 0.25}  # s for a second there, with 18 coins and 150 dominos
ENVELOPE = 1e-3  # m


def of_wall(handling: str, epsilon: float, share: float) -> Row:
    found, his = stand(epsilon, handling, seconds=share * WALL), thesis.TABLE[handling, epsilon]
    peer = None if his is thesis.FAILED else his.seconds / WALL
    case = f"wall, {handling}, {100.0 * epsilon:g} %"
    return Row("thesis", case, METRIC, found.seconds / (share * WALL), peer, PEER, found.rotation)


def of_cube(handling: str, epsilon: float, share: float) -> Row:
    found = rest(epsilon, handling, seconds=share * CUBE)
    case = f"cube, {handling}, {100.0 * epsilon:g} %"
    return Row("thesis", case, METRIC, found.seconds / (share * CUBE), 1.0 / 60.0, PEER, abs(float(found.yaw[-1])))


def of_yardstick(name: str, share: float) -> Row:
    """Free bodies of the yardsticks in the impulse model: the better of two runs, for the first one loads kernels."""
    scene = yardsticks.SEVEN[name]()
    times = []
    for _ in range(2):
        world = km.World(
            contact="impulse", epsilon=ENVELOPE, sleep=False, material=km.Material(yardsticks.FRICTION)
        )  # fmt: skip
        world.add_ground()
        world.add(scene.model, q=scene.q, v=scene.v)
        start = time.perf_counter()
        world.run(share * scene.seconds)
        times.append(time.perf_counter() - start)
    ours = min(times) / (share * scene.seconds)
    return Row("thesis", f"{name}, {1e3 * ENVELOPE:g} mm", METRIC, ours, FREE[name], PEER, None)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    share = 0.1 if options.quick else 1.0
    rows = [of_wall(handling, epsilon, share) for handling, epsilon in thesis.TABLE]
    rows += [of_cube(handling, epsilon, share) for handling, epsilon in thesis.TABLE]
    rows += [of_yardstick(name, share) for name in FREE]
    report("the thesis's simulator: a ratio above 1 is faster", rows, options.json, ("kinemorph", "numba", "numpy"))
    for row in rows:
        print(f"{row.case}: {1.0 / row.ours:.1f} times real time")


if __name__ == "__main__":
    main()
