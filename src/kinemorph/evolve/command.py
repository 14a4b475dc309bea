"""The commands `kinemorph evolve` and `kinemorph rescore`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table

from kinemorph._escaping import in_terminal, lines, terminal
from kinemorph._toml import Toml, checked, merged
from kinemorph.creatures.tasks import Locomotion
from kinemorph.evolve import experiment
from kinemorph.evolve.progress import live_progress
from kinemorph.evolve.rescore import Elsewhere, species_of
from kinemorph.evolve.rescore import rescore as judge_again
from kinemorph.evolve.run import Progress
from kinemorph.evolve.settings import Settings, load_settings
from kinemorph.evolve.store.run_store import Store

Tell = Callable[[object], None]  # takes what a script reads


def run_evolve(
    task: str | None, given: dict[str, Any], out: Path | None, resume: Path | None, tell: Tell | None = None,
    trust: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Begin a run, or go on with one, and show how far it is.

    Modules of the user's own are those in `trust`, and what the command itself names as module:name.
    """
    console = terminal(stderr=tell is not None)
    changes = _drop_unset(given)
    trust = (*trust, *_modules(task, changes.get("search")))
    store, settings = _resume_run(resume, task, changes, trust) if resume else _begin_run(task, changes, out, trust)
    with store:
        of = in_terminal(f"{settings.task}, search {settings.search}, seed {settings.seed}")
        console.print(f"[bold]{in_terminal(store.file)}[/]: {of}")
        try:
            with live_progress(console, settings.evaluator) as watch:
                progress = experiment.evolve(store, settings, watch)
        except KeyboardInterrupt:
            own = f" --trust {' '.join(dict.fromkeys(trust))}" if trust else ""
            console.print(f"stopped; go on with: kinemorph evolve --resume {in_terminal(store.file)}{in_terminal(own)}")
            sys.exit(130)
        console.print(f"done: {progress.episodes} evaluations in {progress.seconds:.0f} s, hash {store.golden_hash()}")
        if not store.golden:
            console.print("not golden: the clock, memory or a death decided some evaluations; see the report")
        if tell is not None:
            tell(_run_summary(store, settings, progress))


def _run_summary(store: Store, settings: Settings, progress: Progress) -> dict[str, Any]:
    """The results of a run, for scripts."""
    numbers = {"best": progress.best, "mean": progress.mean, "held_out": progress.held_out}
    numbers |= {"thesis_best": progress.thesis_best, "thesis_mean": progress.thesis_mean}
    return {
        "run": str(store.file), "task": settings.task, "search": settings.search, "seed": settings.seed,
        "generation": progress.generation, "evaluations": progress.episodes, "seconds": progress.seconds,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "hash": store.golden_hash(), "golden": store.golden,
    }  # fmt: skip


def run_rescore(
    file: Path, generation: int | None, rank: int, draws: int, walks: Mapping[str, Elsewhere], absent: str,
    tell: Tell | None = None, trust: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Judge a champion again, show it, and keep it with the run for its report; `absent` says where no walker lives."""
    console = terminal()
    with Store.open(file, write=True, trust=trust) as store:
        result = judge_again(store, generation, rank, draws, walks)
        store.note("rescore", msgspec.to_builtins(result))
        walker = isinstance(species_of(store).task, Locomotion)
    if tell is not None:
        tell({"run": str(file), **msgspec.to_builtins(result)})
        return
    console.print(
        f"[bold]{in_terminal(file)}[/], generation {result.generation}, rank {result.rank}, "
        f"{draws} draws that no search saw"
    )
    table = Table("", "measure", "5 to 95 %", "score", "rejected", box=None)
    for name, one in {**result.conditions, **result.lesions}.items():
        if not one.made:
            table.add_row(in_terminal(name), "-", "-", "-", f"cannot be made: {in_terminal(one.reason)}")
            continue
        interval, why = f"{one.low:.3f} to {one.high:.3f}", f" ({in_terminal(one.reason)})" if one.reason else ""
        numbers = f"{one.measure:.3f}", interval, f"{one.score:.3f}", f"{one.rejected} of {one.draws}{why}"
        table.add_row(in_terminal(name), *numbers)
    console.print(table)
    if walker and absent:
        console.print(lines(absent), markup=False)


def _modules(*words: str | None) -> list[str]:
    """The modules that words of a command name, as module:name; a file of settings names none."""
    return [word.partition(":")[0] for word in words if word and ":" in word and not word.endswith(".toml")]


def _begin_run(
    task: str | None, changes: dict[str, Any], out: Path | None, trust: tuple[str, ...]
) -> tuple[Store, Settings]:
    if task is None:
        raise ValueError("name a task, a TOML file with settings, or a run to --resume")
    toml = task.endswith(".toml")
    settings = load_settings(task, changes) if toml else checked(Settings, {"task": task} | changes)
    name = settings.task.rpartition(":")[2].lower()
    file = out or Path("out") / f"{name}-{settings.search}-{settings.seed}.db"
    return experiment.begin(file, settings, Toml(task).where if toml else None, trust), settings


def _resume_run(
    file: Path, task: str | None, changes: dict[str, Any], trust: tuple[str, ...]
) -> tuple[Store, Settings]:
    """How it is computed may change from time to time; what is computed may not."""
    if task is not None:
        raise ValueError(f"{file} says itself what its task is; leave out {task!r}")
    store, settings = experiment.resume(file, trust)
    changed = checked(Settings, merged(msgspec.to_builtins(settings), changes))
    if changed.deciding != settings.deciding:
        store.close()
        raise ValueError(f"{file}: only evaluator, workers and address may change when a run is resumed")
    return store, changed


def _drop_unset(table: dict[str, Any]) -> dict[str, Any]:
    """Only what was said in the command."""
    inner = {name: _drop_unset(value) if isinstance(value, dict) else value for name, value in table.items()}
    return {name: value for name, value in inner.items() if value is not None and value != {}}
