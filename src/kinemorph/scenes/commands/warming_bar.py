"""What `kinemorph warm` shows while it works."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from kinemorph import _cores
from kinemorph._escaping import terminal
from kinemorph.jit import api
from kinemorph.scenes.commands.warming import Done, cold_exercises, warm

_LOG_PERIOD = 10.0  # seconds between two lines in a log


def run_warming(everything: bool, jobs: int | None) -> bool:
    """Compile what is cold, with one bar. Whether all went well."""
    console = terminal()
    count = processes(jobs)
    if reason := api.no_cache or api.why_not_kept():
        raise ValueError(f"warm: compiled kernels are not kept: {reason}")
    todo, start = cold_exercises(everything), time.monotonic()
    if not todo:
        console.print(f"all kernels are compiled, in {_places()}")
        return True
    try:
        outcomes = with_bar(todo, count)
    except KeyboardInterrupt:
        console.print(f"interrupted; what was compiled so far is kept in {api.kept_folder('kernels').parent}")
        sys.exit(130)
    for name, done in outcomes.items():
        if done.fault:
            console.print(f"[red]{name}[/]: {done.fault}")
    compiled = sum(done.compiled for done in outcomes.values())
    seconds = sum(done.seconds for done in outcomes.values())
    taken = f"{time.monotonic() - start:.0f} s ({seconds:.0f} s of processors)"
    console.print(f"{compiled} kernels compiled in {taken}, kept in {api.kept_folder('kernels').parent}")
    return not any(done.fault for done in outcomes.values())


def _places() -> str:
    pack = api.installed_pack()
    folder = api.kept_folder("kernels").parent
    return f"{pack.folder} and {folder}" if pack and not pack.fault else str(folder)


def processes(jobs: int | None) -> int:
    """In how many processes to compile: one for each core, if nothing is said."""
    count = _cores.jobs() if jobs is None else jobs
    if count < 1:
        raise ValueError(f"warm: kernels cannot be compiled in {count} processes; give --jobs at least 1")
    return count


def with_bar(names: Iterable[str], jobs: int) -> dict[str, Done]:
    """Run exercises in so many processes, with one bar."""
    columns = (TextColumn("compiling kernels"), BarColumn(), TextColumn("{task.completed} of about {task.total}"))
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=Console(stderr=True), transient=True) as bar:
        task, told = bar.add_task("", total=None, left=""), time.monotonic()

        def show(done: int, total: int, left: float) -> None:
            nonlocal told
            text = f"about {left:.0f} s left"
            bar.update(task, completed=done, total=total, left=text)
            if not bar.console.is_terminal and time.monotonic() - told > _LOG_PERIOD:
                told = time.monotonic()
                bar.console.print(f"kinemorph: compiled {done} of about {total} kernels, {text}")

        return warm(names, jobs, show)
