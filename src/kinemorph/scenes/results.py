"""A table of experiments: many runs, one after the other, judged on draws that none has seen; and its page.

What is known is in one file of numbers, `results.json`: a run that is in it is not made again, one that was broken off
is resumed. The page is made of these numbers alone, again after each run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console

from kinemorph._files import write_whole
from kinemorph._toml import Toml, checked
from kinemorph.evolve import experiment
from kinemorph.evolve.report import measured
from kinemorph.evolve.rescore import rescore
from kinemorph.evolve.search import Budget
from kinemorph.evolve.settings import Settings
from kinemorph.evolve.store import Store
from kinemorph.scenes.in_mujoco import walks
from kinemorph.scenes.results_page import write_page

NUMBERS = "results.json"
ENOUGH = 1_000_000  # generations: the number of evaluations ends a run


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of these tasks by all of these searches, once for each seed."""

    tasks: tuple[str, ...]
    searches: tuple[str, ...]
    episodes: int
    seeds: tuple[int, ...]
    of_search: dict[str, Any] = {}
    of_task: dict[str, Any] = {}


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rows: tuple[Row, ...]
    draws: int = 64  # that a champion is judged on

    def runs(self, how: dict[str, Any]) -> Iterator[tuple[str, Settings]]:
        """Names and settings of all runs, in the order of rows; seed by seed."""
        for row in self.rows:
            for seed, task, search in product(row.seeds, row.tasks, row.searches):
                budget = Budget(ENOUGH, row.episodes)
                settings = Settings(task, search, seed, budget, row.of_search, row.of_task, **how)
                yield f"{task}-{search}-{row.episodes}-{seed}", settings


def results(file: Path, runs: Path, out: Path, how: dict[str, Any]) -> None:
    """Make all runs of a table that are not made yet, and the page."""
    console = Console(highlight=False, soft_wrap=True)
    toml = Toml(file)
    table: Table = checked(Table, toml.table, toml.where)
    (out / "champions").mkdir(parents=True, exist_ok=True)
    runs.mkdir(parents=True, exist_ok=True)
    for name, settings in table.runs(how):
        known = numbers(out)
        if name in known:
            continue
        console.print(f"[bold]{name}[/] ...")
        with _run(runs / f"{name}.db", settings) as store:
            known[name] = _judged(store, table.draws)
            (out / "champions" / f"{name}.json").write_text(store.genotype(store.last, 0))
        write_whole(out / NUMBERS, json.dumps(known, indent=1, sort_keys=True).encode())
        write_page(known, out)
        console.print(f"  {known[name]['conditions']['held out']['measure']:.3f}")


def numbers(out: Path) -> dict[str, Any]:
    """What is known of all runs so far, by their names."""
    file = out / NUMBERS
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def _run(file: Path, settings: Settings) -> Store:
    """A run that has ended: begun now, or before."""
    store = experiment.resume(file)[0] if file.exists() else experiment.begin(file, settings)
    try:
        if not store.facts.get("ended"):
            experiment.evolve(store, settings)
    except BaseException:
        store.close()
        raise
    return store


def _judged(store: Store, draws: int) -> dict[str, Any]:
    """What there is to say of a run."""
    settings, found = experiment.settings_in(store), rescore(store, draws=draws, walks=walks())
    generations = [json.loads(row["stats"]) for row in store.table("generation")]
    inherited = [one["heritability"] for one in generations if one["heritability"] is not None]
    spent = {g: one["episodes"] for g, one in enumerate(generations)}
    spans = [row["seconds"] for row in store.table("evaluation")]
    lives = len(spans)
    return {
        "task": settings.task, "search": settings.search, "seed": settings.seed, "episodes": settings.budget.episodes,
        "conditions": msgspec.to_builtins(found.conditions),
        "curve": [(spent[g], measure) for g, measure in measured(store)],
        "rejected": {reason: count / lives for reason, count in generations[-1]["rejected"].items()},
        "heritability": float(np.median(inherited)) if inherited else None,
        "generations": len(generations), "hash": store.golden_hash(), "golden": store.golden,
        "rate": lives / sum(spans),
    }  # fmt: skip
