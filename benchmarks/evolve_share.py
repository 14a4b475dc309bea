"""How much of a run's processor time is spent inside kernels, and how many lives a second that makes.

    python -m benchmarks.evolve_share [TASK] [--population 300] [--lives 3000]

The default search with its store, computed by this process, so that all of its time is seen: breeding, growing,
building worlds, lives, storing. The same run is made twice: as it is, for how long it takes in all, and with a clock on
every entry into compiled code, where Python calls it, for what is inside; what the clock takes for the call's own is
taken off. Times are of the processor. Beside it: Revolve2's published 1.7 s of a processor for 30 s of life at 1 ms
(17 600 steps a second).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kinemorph._jit import Kernel
from kinemorph.evolve.experiment import begin, evolve, problem_of
from kinemorph.evolve.settings import Settings, checked


def timed(entry: Any, spent: Counter[str]) -> Any:
    """A kernel that says how long it takes."""

    def call(*arguments: Any) -> Any:
        spent["calls"] += 1
        start = time.process_time_ns()
        try:
            return entry(*arguments)
        finally:
            spent[entry.py_func.__name__] += time.process_time_ns() - start

    return call


def cost_of_a_clock() -> float:
    """s, that a clock on a call takes for the call's own."""

    class Nothing:
        py_func = timed

        def __call__(self) -> None:
            pass

    spent: Counter[str] = Counter()
    clocked, count = timed(Nothing(), spent), 20_000
    for _ in range(count):
        clocked()
    return 1e-9 * spent[timed.__name__] / count


def watch_entries(spent: Counter[str]) -> None:
    """Put a clock on every entry into kernels, wherever a module has it by a name."""
    clocks: dict[int, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("kinemorph"):
            for word, value in list(vars(module).items()):
                if isinstance(value, Kernel) and value.is_entry:
                    setattr(module, word, clocks.setdefault(id(value), timed(value, spent)))


def run(of: Settings) -> tuple[float, int, int]:
    """s of the processor for a run, its lives, and their steps."""
    with tempfile.TemporaryDirectory() as folder, begin(Path(folder) / "run.db", of) as store:
        start = time.process_time()
        progress = evolve(store, of)
        total = time.process_time() - start
        return total, progress.episodes, sum(row["steps"] for row in store.table("evaluation"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="locomotion")
    parser.add_argument("--population", type=int, default=300)
    parser.add_argument("--lives", type=int, default=3000)
    given = parser.parse_args()
    of = checked(Settings, {
        "task": given.task, "seed": 1, "budget": {"episodes": given.lives, "generations": 10**6},
        "of_search": {"population": given.population}, "evaluator": "serial",
    })  # fmt: skip
    problem_of(of).warm()
    total, lives, steps = run(of)
    spent: Counter[str] = Counter()
    watch_entries(spent)
    run(of)
    calls = spent.pop("calls")
    inside = 1e-9 * sum(spent.values()) - calls * cost_of_a_clock()
    print(f"{given.task}: {lives} lives, {total:.1f} s of a processor, {lives / total:.1f} a second")
    print(f"inside kernels {100.0 * inside / total:.1f} %; {steps / total:.0f} steps a second (Revolve2: 17600)")
    for name, ns in spent.most_common(8):
        print(f"  {name}: {100.0 * 1e-9 * ns / total:.1f} %")


if __name__ == "__main__":
    main()
