"""SimBenchmark's tasks: how far a world is from known answers, beside what that benchmark has published for others.

    python -m benchmarks.simbench [--quick] [--json FILE]

Mean square errors at steps of 1 ms, of RaiSim, Bullet, ODE and MuJoCo without error reduction, as they were published
in 2018 (github.com/leggedrobotics/SimBenchmark). Nobody's time is compared. `--quick` runs a tenth of each task.
"""

from __future__ import annotations

import time

from benchmarks.measure import Row, arguments, report
from kinemorph.scenes.simbench import TASKS

TINY = 1e-30


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
