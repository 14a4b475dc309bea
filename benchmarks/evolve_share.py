"""How much of a run's processor time is spent inside kernels, and how many lives a second that makes.

    python -m benchmarks.evolve_share [TASK] [--population 300] [--lives 3000] [--workers 2]

The default search with its store and its workers; time of all processes counts, of workers from when they are ready:
breeding, growing, storing, pipes, limits, building worlds, lives. With no workers this process computes all of it.
Every entry into compiled code has a clock on it, where Python calls it; what clocks take is taken off. Times are of the
processor. Beside it: Revolve2's published 1.7 s of a processor for 30 s of life at 1 ms (17 600 steps a second).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.evolve.evaluators.evaluator import Evaluator, Serial
from kinemorph.evolve.evaluators.processes import Processes
from kinemorph.evolve.experiment import begin, evolve, problem_of
from kinemorph.evolve.problem import Draw, Outcome, Problem
from kinemorph.evolve.settings import Settings, checked
from kinemorph.jit.api import Kernel

NOTE = np.dtype([("ready", "f8"), ("now", "f8"), ("inside", "f8"), ("calls", "i8")])  # s; what a process tells
SPENT: Counter[str] = Counter()  # ns of this process inside each entry, and how many calls


def timed(entry: Any) -> Any:
    """A kernel that says how long it takes."""

    def call(*arguments: Any) -> Any:
        SPENT["calls"] += 1
        start = time.process_time_ns()
        try:
            return entry(*arguments)
        finally:
            SPENT[entry.py_func.__name__] += time.process_time_ns() - start

    return call


def cost_of_a_clock() -> tuple[float, float]:
    """s, that a clock on a call takes for the call's own, and in all."""

    class Nothing:
        py_func = timed

        def __call__(self) -> None:
            pass

    clocked, count, start = timed(Nothing()), 20_000, time.process_time()
    for _ in range(count):
        clocked()
    whole = time.process_time() - start
    del SPENT["calls"]
    return 1e-9 * SPENT.pop(timed.__name__) / count, whole / count


def watch_entries() -> None:
    """Put a clock on every entry into kernels, wherever a module has it by a name."""
    clocks: dict[int, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("kinemorph"):
            for word, value in list(vars(module).items()):
                if isinstance(value, Kernel) and value.is_entry:
                    setattr(module, word, clocks.setdefault(id(value), timed(value)))


@dataclass
class Watched:
    """What a worker needs of a problem. It writes down after each life what its process has spent so far."""

    problem: Problem
    folder: Path

    def warm(self) -> None:
        self.problem.warm()
        watch_entries()
        SPENT.clear()
        self.note = np.memmap(self.folder / str(os.getpid()), NOTE, "w+", shape=1)
        self.note["ready"] = self.note["now"] = time.process_time()

    def evaluate(self, genotype: str, draw: Draw) -> Outcome:
        outcome = self.problem.evaluate(genotype, draw)
        self.note[0] = self.note["ready"][0], time.process_time(), *inside()
        return outcome


def inside() -> tuple[float, int]:
    """s inside kernels, clocks included, and calls of them, in this process."""
    return 1e-9 * sum(ns for name, ns in SPENT.items() if name != "calls"), SPENT["calls"]


def run(of: Settings, workers: int) -> tuple[float, float, float, int, int]:
    """s of this process for a run, of its workers, and inside kernels; its lives, and their steps."""
    with tempfile.TemporaryDirectory() as folder, begin(Path(folder) / "run.db", of) as store:
        notes = Path(folder) / "notes"
        notes.mkdir()
        problem: Any = Watched(problem_of(of), notes)
        evaluator: Evaluator = Processes(problem, workers) if workers else Serial(problem)
        problem.warm()
        start = time.process_time()
        progress = evolve(store, of, evaluator=evaluator)
        here, (within, calls) = time.process_time() - start, inside()
        evaluator.close()
        (notes / str(os.getpid())).unlink()
        told = np.array([np.fromfile(file, NOTE)[0] for file in notes.iterdir()], NOTE)
        there, calls_there = float((told["now"] - told["ready"]).sum()), int(told["calls"].sum())
        own, all_of_it = cost_of_a_clock()
        within += float(told["inside"].sum()) - (calls + calls_there) * own
        steps = sum(row["steps"] for row in store.table("evaluation"))
        return here - calls * all_of_it, there - calls_there * all_of_it, within, progress.episodes, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="locomotion")
    parser.add_argument("--population", type=int, default=300)
    parser.add_argument("--lives", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    of = checked(Settings, {
        "task": given.task, "seed": 1, "budget": {"episodes": given.lives, "generations": 10**6},
        "of_search": {"population": given.population},
    })  # fmt: skip
    here, there, within, lives, steps = run(of, given.workers)
    total = here + there
    who = f"{given.workers} workers and their master" if given.workers else "one process"
    print(f"{given.task}, {who}: {lives} lives, {total:.1f} s of processors, {lives / total:.1f} a second")
    print(f"inside kernels {100.0 * within / total:.1f} %; {steps / total:.0f} steps a second (Revolve2: 17600)")
    print(f"a life: {1e3 * within / lives:.2f} ms in kernels, {1e3 * (total - within) / lives:.2f} in Python")
    if given.workers:
        print(f"the master: {1e3 * here / lives:.2f} ms a life")


if __name__ == "__main__":
    main()
