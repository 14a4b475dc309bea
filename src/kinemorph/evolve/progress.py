"""How far a run is, live on a terminal; in a log, a line now and then."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from kinemorph.evolve.run import Progress

_LOG_PERIOD = 10.0  # seconds between two lines of a log
_LISTED = 6  # reasons of rejection that are shown


@contextlib.contextmanager
def live_progress(console: Console, evaluator: str) -> Iterator[Callable[[Progress], None]]:
    """A function to be called with the progress, as often as one likes."""
    if not console.is_terminal:
        yield _log(console)
        return
    with Live(console=console, refresh_per_second=4) as live:
        last = -math.inf

        def watch(progress: Progress) -> None:
            nonlocal last
            if time.monotonic() - last > 0.25 or progress.spent >= 1.0:
                last = time.monotonic()
                live.update(table(progress))

        yield watch


def _log(console: Console) -> Callable[[Progress], None]:
    last = -math.inf

    def watch(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last > _LOG_PERIOD:
            last = time.monotonic()
            console.print(line(progress))

    return watch


def line(progress: Progress) -> str:
    best, mean = _number(progress.best), _number(progress.mean)
    both = f"{_number(progress.thesis_best)} and {_number(progress.thesis_mean)}"
    formula = f"by the thesis's formula {both}, " if _counts(progress) else ""
    return (
        f"generation {progress.generation}: {progress.episodes} evaluations, {progress.rate:.0f}/s, best {best},"
        f" mean {mean}, {formula}held out {_number(progress.held_out)}, rejected {_rejected(progress)},"
        f" {_time(progress.left)} left"
    )


def table(progress: Progress) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row("generation", str(progress.generation), ProgressBar(1.0, progress.spent, width=40))
    grid.add_row("evaluations", str(progress.episodes), f"{progress.rate:.0f}/s, {_time(progress.left)} left")
    grid.add_row("best", _number(progress.best), f"mean {_number(progress.mean)}")
    if _counts(progress):
        grid.add_row("by the thesis's formula", _number(progress.thesis_best), f"mean {_number(progress.thesis_mean)}")
    grid.add_row("held out", _number(progress.held_out), f"heritability {_number(progress.heritability)}")
    if progress.rejected:
        grid.add_row("rejected", str(progress.rejected.total()), _reasons(progress))
    if not progress.golden:
        grid.add_row("not golden", "", "the clock, memory or a death decided some evaluations")
    return grid


def _counts(progress: Progress) -> bool:
    """Whether the thesis's formula is worth a line: the search selects by it, or it says something."""
    return progress.selects == "thesis" or progress.thesis_best > 0.0


def _rejected(progress: Progress) -> str:
    return f"{progress.rejected.total()} ({_reasons(progress)})" if progress.rejected else "0"


def _reasons(progress: Progress) -> str:
    return ", ".join(f"{reason} {number}" for reason, number in progress.rejected.most_common(_LISTED))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _time(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
