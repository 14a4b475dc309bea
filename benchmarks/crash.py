"""A car drives into a brick wall: seconds of computing for one of motion, before and after (Fontijne fig. 3.13).

    python -m benchmarks.crash [--quick] [--json FILE]

One core; no brick sleeps. The thesis took 94 s for ten, most of them while the wall stood. `--quick` makes one run
instead of the best of five.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.measure import Row, arguments, report
from kinemorph.scenes.commands.doctor_command import cpu_name
from kinemorph.scenes.thesis.car_experiment import PRINTED, measure_crash
from kinemorph.scenes.thesis.experiments import crash_times
from kinemorph.scenes.thesis.wall_and_car import WALL_AND_CAR_SECONDS

METRICS = "s for a second, wall stands", "wall falls", "all of it"
MODELS = "impulse", "timestep"
PEER = "Fontijne 2000, printed"
RUNS = 5


@dataclass(frozen=True)
class Timed(Row):
    """A time, and whose: the page says it, for its table may be of another machine than others are."""

    machine: str = ""


def of_model(model: str, runs: int, seconds: float = WALL_AND_CAR_SECONDS) -> list[Timed]:
    times = crash_times(measure_crash(model, seconds, runs))
    peer = PRINTED if model == "impulse" else None
    return [
        Timed("crash", model, metric, ours, peer if metric == METRICS[-1] else None, PEER, None, machine=cpu_name())
        for metric, ours in zip(METRICS, times)
    ]


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rows: list[Row] = [row for model in MODELS for row in of_model(model, 1 if options.quick else RUNS)]
    report("a car drives into a wall: seconds for one of motion", rows, options.json, ("kinemorph", "numba", "numpy"))


if __name__ == "__main__":
    main()
