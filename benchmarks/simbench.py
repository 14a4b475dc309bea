"""SimBenchmark's tasks: how far a world is from known answers, beside what that benchmark has published for others.

    python -m benchmarks.simbench [--quick] [--json FILE]

Each task runs a world at 1 ms and returns a mean square error, as that benchmark does (ETH Zürich, 2018,
github.com/leggedrobotics/SimBenchmark). Beside it are the errors published for RaiSim, Bullet, ODE and MuJoCo at the
same step, without error reduction; lower is better. Computing times are not compared. `--quick` runs a tenth of each
task.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.measure import Row, arguments, report
from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.world.body import Body
from kinemorph.world.world import World

TINY = 1e-30
SIMBENCH_DT = 1e-3  # s
G = 9.81  # m/s²
SMOOTH = Material(friction=0.0, restitution=0.0)
ELASTIC = Material(friction=0.0, restitution=1.0)


class Task(NamedTuple):
    """What is asked, for how long, in which unit its error is, and what others have reached."""

    run: Callable[[float], float]
    seconds: float
    unit: str
    published: dict[str, float]


def ball(world: World, at: tuple[float, float, float], mass: float, radius: float, material: Material) -> Body:
    """A ball of a mass (kg)."""
    density = mass / (4.0 / 3.0 * math.pi * radius**3)
    made: Body = world.add(Shape.sphere(radius), at=at, density=density, material=material)
    return made


def rolling(seconds: float) -> float:
    """25 balls of 1 kg on a box of 10 kg that is drawn over the ground with 150 N, aslant.

    The error is that of the box's velocity and of one ball's.
    """
    world = World(dt=SIMBENCH_DT, sleep=False)
    ground = world.add_ground()
    rough = Material(friction=0.8)
    box = world.add(Shape.box((20.0, 20.0, 1.0)), at=(0, 0, 0.5), density=10.0 / 400.0, material=rough)
    world.surfaces.set_pair_material(
        ground, next(id for id in world.shapes.ids if id != ground), Material(friction=0.4)
    )
    balls = [ball(world, (2.0 * i - 4.0, 2.0 * j - 4.0, 1.5), 1.0, 0.5, rough) for i in range(5) for j in range(5)]
    way = np.array([0.5, math.sqrt(0.75), 0.0])
    world.apply_force(box, force=150.0 * way)
    left = 150.0 - 0.4 * 35.0 * G  # N, after what the ground rubs off; a ball takes 2/7 of the box's acceleration
    each = left / (3.5 * 10.0 + 25.0)
    errors = []
    while world.time < seconds - 0.5 * SIMBENCH_DT:
        world.step(10)
        off = box.velocity - 3.5 * each * world.time * way
        lag = balls[7].velocity - each * world.time * way
        errors.append(float(off @ off + lag @ lag))
    return float(np.mean(errors))


def energy_error(world: World, balls: list[Body], mass: float, seconds: float) -> float:
    """The mean square of how far the energy is from what it was."""

    def energy() -> float:
        return world.forest.kinetic_energy() + sum(mass * G * one.position[2] for one in balls)

    start = energy()
    errors = []
    while world.time < seconds - 0.5 * SIMBENCH_DT:
        world.step(10)
        errors.append((energy() - start) ** 2)
    return float(np.mean(errors))


def bouncing(seconds: float) -> float:
    """49 elastic balls that are dropped from 5 m: the energy should stay."""
    world = World(dt=SIMBENCH_DT, sleep=False)
    world.add_ground(material=ELASTIC)
    balls = [ball(world, (0.5 * i, 0.5 * j, 5.0), 10.0, 0.1, ELASTIC) for i in range(7) for j in range(7)]
    return energy_error(world, balls, 10.0, seconds)


def cube_of_balls(lowest: float, material: Material) -> tuple[World, list[Body]]:
    """216 balls, six in each direction, a little apart and a little out of line."""
    world, rng = World(dt=SIMBENCH_DT, sleep=False), np.random.default_rng(0)
    world.add_ground(material=material)
    balls = []
    for i in range(216):
        place = 0.21 * np.array([i % 6, i // 6 % 6, i // 36]) + (0.0, 0.0, lowest)
        x, y, z = (place + rng.uniform(-0.001, 0.001, 3) * (1.0, 1.0, 0.0)).tolist()
        balls.append(ball(world, (x, y, z), 10.0, 0.1, material))
    return world, balls


def heap(seconds: float) -> float:
    """The cube of balls falls apart without friction: the sum of the squares of how deep they overlap, by step."""
    world, _ = cube_of_balls(0.101, SMOOTH)
    errors = []
    while world.time < seconds - 0.5 * SIMBENCH_DT:
        world.step(10)
        depths = np.minimum(world.collisions.contacts["distance"], 0.0)
        errors.append(float(depths @ depths))
    return float(np.mean(errors))


def elastic_heap(seconds: float) -> float:
    """The cube of balls from a metre higher, elastic: the energy should stay."""
    world, balls = cube_of_balls(1.101, ELASTIC)
    return energy_error(world, balls, 10.0, seconds)


TASKS = {
    "rolling": Task(rolling, 4.0, "m²/s²", {"RaiSim": 4.1e-7, "Bullet": 5.7e-9, "MuJoCo": 6.9e-3}),
    "bouncing": Task(bouncing, 20.0, "J²", {"RaiSim": 0.0186, "ODE": 185.0, "Bullet": 75_245.0}),
    "666": Task(heap, 10.0, "m²", {"RaiSim": 1.35e-4, "ODE": 1.55e-4, "MuJoCo": 0.095, "Bullet": 0.38}),
    "elastic 666": Task(elastic_heap, 10.0, "J²", {"RaiSim": 8.4, "ODE": 112.0, "Bullet": 41_498.0}),
}


def of_task(name: str, share: float = 1.0) -> list[Row]:
    """Our error beside each of the published ones."""
    task = TASKS[name]
    error = max(task.run(share * task.seconds), TINY)
    metric = f"mean square error, {task.unit}"
    return [
        Row("simbench", name, metric, error, other, f"{peer}, published", None)
        for peer, other in task.published.items()
    ]


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    start = time.perf_counter()
    rows = [row for name in TASKS for row in of_task(name, 0.1 if options.quick else 1.0)]
    report("SimBenchmark: a ratio above 1 is better than the peer", rows, options.json, ("kinemorph", "numba", "numpy"))
    below = [f"{row.case}: {row.ours:.2g}, {row.peer_name} {row.peer:.2g}" for row in rows if (row.ratio or 0.0) < 1.0]
    print("\n".join(["behind:", *below]) if below else "nothing is behind")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
