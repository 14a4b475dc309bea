"""Past one machine: what evolution costs its master, and a simulation of 10 to 10 000 workers from what was measured.

First the costs: of the master for each evaluation (breeding, sorting, storing), of Ray for each task, bytes of a
genotype and a result, and how long evaluations take. Then a discrete-event simulation with stragglers and workers
that die.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import json
import math
import os
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kinemorph.evolve.creature_problem import Species
from kinemorph.evolve.evaluators.evaluator import Serial
from kinemorph.evolve.experiment import problem_of, search_of
from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.evolve.run import Monitor, Run
from kinemorph.evolve.settings import Settings, checked
from kinemorph.evolve.store.run_store import Store


class Instant(Species, frozen=True):
    """Creatures that are bred and stored as always, and judged in no time."""

    def evaluate(self, genotype: str, draw: Draw) -> Outcome:
        number = int.from_bytes(hashlib.blake2b(f"{genotype}{draw.seed}".encode(), digest_size=6).digest(), "big")
        return Outcome(number / 2**48, 0.5, 0.5, "", 1000, {"parts": 3.0, "length": 0.7, "effort": 12.5})


@dataclass(frozen=True)
class Costs:
    """What was measured."""

    master: float  # s for each evaluation
    task: float  # s of the master for each task of Ray
    genotype: int  # bytes
    result: int  # bytes of a draw
    seconds: np.ndarray  # of evaluations
    cold: float = 8.0  # s until a new worker is ready


def measured(episodes: int, lives: int) -> Costs:
    of = checked(Settings, {"task": "locomotion", "seed": 1, "budget": {"episodes": episodes, "generations": 10**6}})
    species = problem_of(of)
    assert isinstance(species, Species)
    instant = Instant(species.task)
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "run.db", {}) as store:
        search: Any = search_of(of, instant)
        run = Run(search, Serial(instant), store, 1, Monitor(draws=0))
        started = time.process_time()
        run.go()
        master = (time.process_time() - started - run.progress.busy) / run.progress.episodes
        champion = search.population[0]
        text = len(champion.genotype)
    species.warm()
    rng, seconds, size = np.random.default_rng(0), [], 0
    while len(seconds) < lives:
        genotype = species.founder(rng)
        if species.viable(genotype):
            started = time.process_time()
            outcome = species.evaluate(genotype, Draw(0, len(seconds)))
            seconds.append(time.process_time() - started)
            size = len(msgspec.msgpack.encode(outcome))
    return Costs(master, ray_task(), text, size, np.array(seconds))


def _nothing(batch: str) -> str:
    return batch


def ray_task(number: int = 2000) -> float:
    """s for each task, of one that does nothing, with a genotype's bytes there and back."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        task = ray.remote(num_cpus=1, max_retries=0)(_nothing)
        ray.get([task.remote("x" * 5000) for _ in range(50)])
        best = math.inf
        for _ in range(3):
            started = time.perf_counter()
            ray.get([task.remote("x" * 5000) for _ in range(number)])
            best = min(best, (time.perf_counter() - started) / number)
        return best
    finally:
        ray.shutdown()


class Cluster:
    """Workers that take jobs from one master, as events in time.

    A worker dies now and then with its task, which is lost and sent again; a new one is there after a while. One
    evaluation in a hundred takes ten times as long.
    """

    def __init__(self, costs: Costs, workers: int, batch: int, mean_life: float, seed: int = 0) -> None:
        self.costs, self.workers, self.batch, self.mean_life = costs, workers, batch, mean_life
        self._rng = np.random.default_rng(seed)

    def takes(self) -> float:
        one = float(self._rng.choice(self.costs.seconds))
        return 10.0 * one if self._rng.random() < 0.01 else one

    def run(self, evaluations: int, window: int, barrier: int | None) -> tuple[float, float]:
        """Evaluations a second, and the idle share. `barrier`: so many evaluations to a generation; None: none."""
        now = master = busy = 0.0
        asked = told = 0
        free = self.workers
        events: list[tuple[float, int, bool]] = []  # when, how many jobs, whether its worker lived
        again: deque[int] = deque()
        while told < evaluations:
            limit = evaluations if barrier is None else min(evaluations, (told // barrier + 1) * barrier)
            while free and (again or (asked < limit and asked - told < window)):
                if again:
                    number = again.popleft()
                else:
                    fair = math.ceil(
                        (limit - asked) / (2 * self.workers)
                    )  # as kinemorph.evolve.evaluators.on_ray has it
                    number = min(self.batch, fair, limit - asked, window - (asked - told))
                    asked += number
                master = max(master, now) + self.costs.task
                length = sum(self.takes() for _ in range(number))
                dies = self._rng.random() < 1.0 - math.exp(-length / self.mean_life)
                lasts = length * self._rng.random() if dies else length
                heapq.heappush(events, (master + lasts, number, not dies))
                free -= 1
                busy += 0.0 if dies else length
            when, number, lived = heapq.heappop(events)
            now = max(now, when)
            if number == 0:
                free += 1
            elif lived:
                master = max(master, now) + number * self.costs.master
                told += number
                free += 1
            else:
                again.append(number)
                heapq.heappush(events, (now + self.costs.cold, 0, True))
        end = max(now, master)
        return evaluations / end, 1.0 - busy / (end * self.workers)


def simulate(costs: Costs) -> list[dict[str, Any]]:
    rows = []
    for workers in (10, 30, 100, 300, 1000, 3000, 10_000):
        number = max(4000, 20 * workers)
        batch = max(1, min(32, math.ceil(0.5 / costs.seconds.mean())))
        cluster = Cluster(costs, workers, batch, mean_life=4 * 3600.0)
        generation = max(300, 4 * workers)
        with_barrier = cluster.run(number, number, generation)
        small = cluster.run(number, number, 300)
        steady = Cluster(costs, workers, batch, 4 * 3600.0).run(number, 2 * batch * workers, None)
        rows.append(
            {"workers": workers, "300": small, "generation": generation, "large": with_barrier, "steady": steady}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=3000)
    parser.add_argument("--lives", type=int, default=200)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    costs = measured(given.episodes, given.lives)
    seconds = costs.seconds
    print(f"master {1e3 * costs.master:.2f} ms an evaluation; Ray {1e3 * costs.task:.2f} ms a task")
    print(f"genotype {costs.genotype} bytes, result {costs.result} bytes a draw")
    mean, median, longest = 1e3 * seconds.mean(), 1e3 * np.median(seconds), 1e3 * seconds.max()
    print(f"evaluation {mean:.1f} ms, median {median:.1f}, longest {longest:.0f}")
    print("\n| workers | generations of 300 | idle | generations of 4 a worker | idle | steady | idle |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = simulate(costs)
    for row in rows:
        cells = [f"{rate:.0f}/s | {100 * idle:.0f} %" for rate, idle in (row["300"], row["large"], row["steady"])]
        print(f"| {row['workers']} | {' | '.join(cells)} |")
    if given.json:
        given.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
