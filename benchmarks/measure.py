"""What all benchmarks share: fair timing, one table, and rows for machines."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kinemorph.scenes.commands.doctor_command import cpu_name


@dataclass(frozen=True)
class Row:
    """One claim: ours against a peer's, in µs if the metric does not say otherwise. ratio > 1: we are faster."""

    benchmark: str
    case: str
    metric: str
    ours: float
    peer: float | None
    peer_name: str
    accuracy: float | None
    ratio: float | None = None

    def __post_init__(self) -> None:
        if self.peer is not None and self.ratio is None:
            object.__setattr__(self, "ratio", self.peer / self.ours)


def time_side_by_side(
    calls: dict[str, Callable[[int], object]], seconds: float = 0.5, rounds: int = 80
) -> dict[str, float]:
    """Best time of one repetition, in µs. Each call gets a number of repetitions; rounds alternate between the calls,
    so that a slow spell of the machine hits all of them, and are short, so that some fall between what else runs."""
    best = dict.fromkeys(calls, float("inf"))
    counts = {}
    for name, call in calls.items():
        call(1)  # compiles
        n = 1
        while True:  # find how many repetitions fill a round
            taken = min(_seconds(call, n) for _ in range(2))  # the first may load machine code
            if taken > 1e-3 or n > 10_000_000:
                break
            n *= 4
        counts[name] = max(1, int(n * seconds / rounds / len(calls) / max(taken, 1e-9)))
    begin = time.perf_counter()
    for done in range(rounds):
        if done >= 5 and time.perf_counter() - begin > 1.5 * seconds:  # calls that take longer than a round
            break
        for name, call in calls.items():
            best[name] = min(best[name], _seconds(call, counts[name]) / counts[name])
    return {name: 1e6 * seconds_each for name, seconds_each in best.items()}


def _seconds(call: Callable[[int], object], n: int) -> float:
    start = time.perf_counter()
    call(n)
    return time.perf_counter() - start


def repeat(function: Callable[..., object], *arguments: object) -> Callable[[int], None]:
    """The function called n times from Python."""

    def run(n: int) -> None:
        for _ in range(n):
            function(*arguments)

    return run


def versions(*packages: str) -> str:
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} missing")
    return ", ".join(found)


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="less time per figure; noisier")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    return parser


def report(title: str, rows: list[Row], json_file: Path | None, packages: tuple[str, ...]) -> None:
    """Print the rows as a table and write them as JSON if asked."""
    console = Console(width=120)
    table = Table(title=title, caption=f"{cpu_name()}; Python {platform.python_version()}, {versions(*packages)}")
    for heading in ("case", "metric"):
        table.add_column(heading)
    for heading in ("ours", "peer", "ratio", "accuracy"):
        table.add_column(heading, justify="right")
    table.add_column("peer is")
    for row in rows:
        table.add_row(
            row.case,
            row.metric,
            f"{row.ours:.3g}",
            "" if row.peer is None else f"{row.peer:.3g}",
            "" if row.ratio is None else f"{row.ratio:.2f}x" if row.ratio < 1e4 else f"{row.ratio:.0e}x",
            "" if row.accuracy is None else f"{row.accuracy:.0e}",
            row.peer_name,
        )
    console.print(table)
    if json_file:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
        console.print(f"{len(rows)} rows in {json_file}")
