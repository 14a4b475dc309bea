"""A table of experiments: many runs, one after the other, judged on draws that none has seen; and its page.

What is known is in one file of numbers, `results.json`: a run that is in it is not made again, one that was broken off
is resumed. The page is made of these numbers alone, again after each run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kinemorph._escaping import in_terminal, terminal
from kinemorph._files import FileError, quoted, write_whole
from kinemorph._toml import Toml, checked
from kinemorph.evolve import experiment
from kinemorph.evolve.ranges import Count, Some
from kinemorph.evolve.report import measured
from kinemorph.evolve.rescore import rescore
from kinemorph.evolve.searches.search import Budget
from kinemorph.evolve.settings import Settings
from kinemorph.evolve.store.run_store import Store
from kinemorph.evolve.trust import Trust
from kinemorph.scenes.creatures.in_mujoco import walks
from kinemorph.scenes.creatures.results_page import PageRequest, write_page

NUMBERS = "results.json"
_LABEL = re.compile(r"[^\W_][\w .+-]{0,39}")
MOST_GENERATIONS = 1_000_000  # generations: the number of evaluations ends a run


class Name(NamedTuple):
    """Which run it is. No two of a table are called the same."""

    task: str
    search: str
    episodes: int
    seed: int

    def __str__(self) -> str:
        return "-".join(map(str, self))


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of these tasks by all of these searches, once for each seed."""

    tasks: tuple[str, ...]
    searches: tuple[str, ...]
    episodes: Count
    seeds: tuple[Some, ...]
    of_search: dict[str, Any] = {}
    of_task: dict[str, Any] = {}
    label: str = ""  # what a search is called whose settings are not the usual ones

    def __post_init__(self) -> None:
        if self.label and not _LABEL.fullmatch(self.label):  # it becomes a part of names of files, and of a page
            what = "begins with a letter or digit, and has these, spaces, and . _ + - alone, 40 at most"
            raise ValueError(f"label is {quoted(self.label)}; a label {what}")
        if self.label and len(self.searches) != 1:
            raise ValueError(f"label is {self.label!r}, a name for one search, and there are {len(self.searches)}")

    def runs(self, how: dict[str, Any]) -> Iterator[tuple[Name, Settings]]:
        """Names and settings of all of them, seed by seed."""
        for seed, task, search in product(self.seeds, self.tasks, self.searches):
            budget = Budget(MOST_GENERATIONS, self.episodes)
            settings = Settings(task, search, seed, budget, self.of_search, self.of_task, **how)
            yield Name(task, self.label or search, self.episodes, seed), settings


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rows: tuple[Row, ...]
    draws: Count = 64  # that a champion is judged on
    asked: tuple[PageRequest, ...] = ()  # of the default search: the page says what of it is reached

    def __post_init__(self) -> None:
        for one in self.asked:
            rows = [row for row in self.rows if one.task in row.tasks and row.episodes == one.episodes]
            usual = [row for row in rows if "default" in row.searches and not row.label]
            if (seeds := len({seed for row in usual for seed in row.seeds})) < one.seeds:
                asked = f"{one.task} with {one.episodes} evaluations is asked for with {one.seeds} seeds"
                raise ValueError(f"{asked}, and rows of the default search have {seeds}; give them more")


def results(file: Path, runs: Path, out: Path, how: dict[str, Any], trust: Trust = ()) -> None:
    """Make all runs of a table that are not made yet, and the page, which has the runs of the table and no others."""
    console = terminal()
    toml = Toml(file)
    table: Table = checked(Table, toml.table, toml.where)
    (out / "champions").mkdir(parents=True, exist_ok=True)
    runs.mkdir(parents=True, exist_ok=True)
    runs_of = _all(toml, table, how, trust)
    for run, settings in runs_of.items():
        known, name = numbers(out), str(run)
        if name in known:
            continue
        console.print(f"[bold]{in_terminal(name)}[/] ...")
        with _run(runs / f"{name}.db", settings, trust) as store:
            known[name] = run._asdict() | _judged(store, table.draws)
            write_whole(out / "champions" / f"{name}.json", store.genotype(store.last, 0).encode())
        write_whole(out / NUMBERS, json.dumps(known, indent=1, sort_keys=True).encode())
        # What a run is called is what the table says: the page's pictures are files of that name.
        page = {str(one): known[str(one)] | one._asdict() for one in runs_of if str(one) in known}
        write_page(page, out, table.asked)
        console.print(f"  {known[name]['conditions']['held out']['measure']:.3f}")


def _all(toml: Toml, table: Table, how: dict[str, Any], trust: Trust) -> dict[Name, Settings]:
    """All runs, in the order of rows. What is wrong with the last one is said before the first begins."""
    found: dict[Name, Settings] = {}
    for k, row in enumerate(table.rows):
        with toml.at(f"rows[{k}]"):
            for name, settings in row.runs(how):
                if found.setdefault(name, settings) != settings:
                    raise ValueError(f"{name} is in a row above with other settings; give this search a label")
                experiment.search_of(settings, experiment.problem_of(settings, trust=trust), trust=trust)
    return found


def numbers(out: Path) -> dict[str, Any]:
    """The results of all runs so far, by name."""
    file = out / NUMBERS
    try:
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    except ValueError as error:
        raise FileError(
            f"{file}: it is damaged ({error}); delete it, and runs that have ended are judged again"
        ) from None
    return found


def _run(file: Path, settings: Settings, trust: Trust) -> Store:
    """A run that has ended: begun now, or before."""
    there = file.exists()
    store = experiment.resume(file, trust)[0] if there else experiment.begin(file, settings, trust=trust)
    try:
        if not store.fact("ended", bool, False):
            experiment.evolve(store, settings)
    except BaseException:
        store.close()
        raise
    return store


def _judged(store: Store, draws: int) -> dict[str, Any]:
    """The results of one run, as JSON data."""
    found = rescore(store, draws=draws, walks=walks())
    generations = [stats for _, stats in store.generations()]
    inherited = [one.heritability for one in generations if one.heritability is not None]
    spent = {g: one.episodes for g, one in enumerate(generations)}
    spans = [row["seconds"] for row in store.table("evaluation")]
    lives = len(spans)
    return {
        "conditions": msgspec.to_builtins(found.conditions),
        "curve": [(spent[g], measure) for g, measure in measured(store)],
        "rejected": {reason: count / lives for reason, count in generations[-1].rejected.items()},
        "heritability": float(np.median(inherited)) if inherited else None,
        "generations": len(generations), "hash": store.golden_hash(), "golden": store.golden,
        "rate": lives / sum(spans),
    }  # fmt: skip
