"""One offline page for runs: curves of all of them, champions that move, descent, rejects, what scores rest on."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinemorph._files import write_whole
from kinemorph.evolve.experiment import problem_of, settings_in
from kinemorph.evolve.problem import BLANK
from kinemorph.evolve.run import HELD_OUT
from kinemorph.evolve.store import Store, said

_SHOWN = 100  # champions of a run that move on the page, at most: each takes some ten kilobytes
_PAGE = Path(__file__).with_name("report.html")

Film = dict[str, Any]
Filmer = Callable[[Store, int, int], Film | None]  # of whom came out of a generation at some place


def report(runs: list[Path], file: Path, film: Filmer = lambda store, generation, rank: None) -> Path:
    """Write the page. Without a `film` bodies do not move."""
    data = [_run(path, film) for path in runs]
    # Text of a run must not end the script that it is in.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    write_whole(file, _PAGE.read_text("utf-8").replace("/*DATA*/[]", text).encode())
    return file


def lineage(store: Store, file: Path) -> Path:
    """The descent of all individuals, as CSV in the ALife data standard's columns for phylogenies."""
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["id", "ancestor_list", "origin_time", "operator", "genome_hash"])
        for one in store.table("individual"):
            ancestors = one["parents"] if one["parents"] != "[]" else "[none]"
            rows.writerow([one["id"], ancestors, one["g"], one["op"], one["genome_hash"].hex()])
    return file


def _run(path: Path, film: Filmer) -> dict[str, Any]:
    with Store.open(path) as store, said(path):
        of, facts = settings_in(store), store.facts
        generations = [{"g": row["g"], **json.loads(row["stats"])} for row in store.table("generation")]
        last = store.last
        people = {row["id"]: row for row in store.table("individual")}
        best = {standing.generation: standing.individual for standing in store.standings(rank=0)}
        films = {one: made for one, g in _shown(best).items() if (made := film(store, g, 0)) is not None}
        return {
            "name": path.stem,
            "task": of.task,
            "search": of.search,
            "seed": of.seed,
            "golden": store.golden,
            "hash": store.golden_hash(),
            "ended": bool(facts.get("ended")),
            "processor": facts["processor"],
            "generations": generations,
            "held_out": measured(store),
            "line": _line(best[last], people),
            "best": [best[one["g"]] for one in generations],
            "films": films,
            "archive": _archive(store, last, film) if of.search == "map-elites" else None,
            "rescore": facts.get("rescore"),
        }


def _shown(best: dict[int, int]) -> dict[int, int]:
    """Champions, and a generation of each; of very many some, from the first to the last, the same way apart."""
    found = {one: g for g, one in sorted(best.items(), reverse=True)}
    ones = sorted(found, key=found.__getitem__)
    chosen = ones if len(ones) <= _SHOWN else [ones[k * (len(ones) - 1) // (_SHOWN - 1)] for k in range(_SHOWN)]
    return {one: found[one] for one in chosen}


def _archive(store: Store, last: int, film: Filmer) -> dict[str, Any] | None:
    """The map of the last generation: in each cell that is filled who lives there, with its film."""
    axes = problem_of(settings_in(store)).descriptors
    if len(axes) != 2:
        return None
    lived: dict[int, list[dict[str, float]]] = {}
    for row in store.table("evaluation"):
        if row["draw"] < HELD_OUT:
            lived.setdefault(row["individual"], []).append(json.loads(row["details"]))
    cells = []
    for one in (standing for standing in store.standings() if standing.generation == last):
        means = [sum(each[axis.name] for each in lived[one.individual]) / len(lived[one.individual]) for axis in axes]
        shares = [(mean - axis.low) / (axis.high - axis.low) for mean, axis in zip(means, axes)]
        at = [min(axis.cells - 1, max(0, int(share * axis.cells))) for share, axis in zip(shares, axes)]
        cells.append({"at": at, "id": one.individual, "score": one.score, "film": film(store, last, one.rank)})
    return {"axes": [axis._asdict() for axis in axes], "cells": cells}


def measured(store: Store) -> list[tuple[int, float]]:
    """By generation, what its best one measured on draws that the search never saw."""
    sums: dict[int, list[float]] = {}
    for row in store.table("evaluation"):
        if HELD_OUT <= row["draw"] < BLANK:
            sums.setdefault(row["g"], []).append(row["measure"])
    return [(g, sum(values) / len(values)) for g, values in sorted(sums.items())]


def _line(one: int, people: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """The champion's descent in the first line, back to its founder."""
    line: list[dict[str, Any]] = []
    while one in people:
        row = people[one]
        line.append({"id": one, "g": row["g"], "op": row["op"]})
        parents = json.loads(row["parents"])
        if not parents:
            break
        one = parents[0]
    return line
