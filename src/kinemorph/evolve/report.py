"""One offline page for runs: curves of all of them, champions that move, descent, rejects, what scores rest on."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from kinemorph._escaping import plain
from kinemorph._files import write_whole
from kinemorph.evolve.experiment import problem_in, settings_in
from kinemorph.evolve.problem import BLANK
from kinemorph.evolve.rescore import Rescored
from kinemorph.evolve.run import HELD_OUT
from kinemorph.evolve.store.run_store import Store, StoreError
from kinemorph.evolve.trust import Trust

_SHOWN_CHAMPIONS = 100  # champions of a run that move on the page, at most: each takes some ten kilobytes
_PAGE = Path(__file__).with_name("report.html")

Film = dict[str, Any]
Filmer = Callable[[Store, int, int], Film | None]  # of a run, a generation and a rank in it


def report(
    runs: list[Path], file: Path, film: Filmer = lambda store, generation, rank: None, trust: Trust = ()
) -> Path:
    """Write the page. Without a `film` bodies do not move; `trust` is as in `Store.open`."""
    data = [_run(path, film, trust) for path in runs]
    # Text of a run must not end the script that it is in.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    nonce = hashlib.sha256(text.encode()).hexdigest()[:32]  # the browser runs no other script than the page's own
    page = _PAGE.read_text("utf-8").replace("NONCE", nonce).replace("/*DATA*/[]", text)
    write_whole(file, page.encode())
    return file


def lineage(store: Store, file: Path) -> Path:
    """The descent of all individuals, as CSV in the ALife data standard's columns for phylogenies."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(["id", "ancestor_list", "origin_time", "operator", "genome_hash"])
    for number, one in store.people().items():
        ancestors = str([*one.parents]) if one.parents else "[none]"
        rows.writerow([number, ancestors, one.generation, one.operator, one.genome_hash.hex()])
    write_whole(file, text.getvalue().encode())  # never through a link that lies beside a run
    return file


def _run(path: Path, film: Filmer, trust: Trust) -> dict[str, Any]:
    with Store.open(path, trust=trust) as store:
        of = settings_in(store)
        generations = [{"g": g, **msgspec.to_builtins(stats)} for g, stats in store.generations()]
        best = {standing.generation: standing.individual for standing in store.standings(rank=0)}
        for one in generations:
            if one["g"] not in best:
                raise StoreError(f"{path}: there is no individual of generation {one['g']}; it is damaged")
        last = store.last
        films = {one: made for one, g in _shown(best).items() if (made := film(store, g, 0)) is not None}
        return {
            "name": plain(path.stem),
            "task": plain(of.task),
            "search": plain(of.search),
            "selects": plain(store.fact("selects", str, "score")),
            "seed": of.seed,
            "golden": store.golden,
            "hash": store.golden_hash(),
            "ended": store.fact("ended", bool, False),
            "processor": store.fact("processor", str),
            "generations": generations,
            "held_out": measured(store),
            "line": _line(store, best[last]),
            "best": [best[one["g"]] for one in generations],
            "films": films,
            "archive": _archive(store, last, film) if of.search == "map-elites" else None,
            "rescore": msgspec.to_builtins(store.fact("rescore", Rescored | None, None)),
        }


def _shown(best: dict[int, int]) -> dict[int, int]:
    """Champions, and a generation of each; of very many some, from the first to the last, the same way apart."""
    found = {one: g for g, one in sorted(best.items(), reverse=True)}
    ones = sorted(found, key=found.__getitem__)
    chosen = ones
    if len(ones) > _SHOWN_CHAMPIONS:
        chosen = [ones[k * (len(ones) - 1) // (_SHOWN_CHAMPIONS - 1)] for k in range(_SHOWN_CHAMPIONS)]
    return {one: found[one] for one in chosen}


def _archive(store: Store, last: int, film: Filmer) -> dict[str, Any] | None:
    """The map of the last generation: the individual of each filled cell, with its film."""
    axes = problem_in(store).descriptors
    if len(axes) != 2:
        return None
    lived: dict[int, list[dict[str, float]]] = {}
    for row in store.details(HELD_OUT):
        lived.setdefault(row[0], []).append(row[1])
    cells = []
    places = math.prod(axis.cells for axis in axes)
    for one in islice((standing for standing in store.standings() if standing.generation == last), places):
        lives = lived.get(one.individual, [])
        if not lives or not all(axis.name in life for axis in axes for life in lives):
            raise StoreError(
                f"{store.file}: nothing says where individual {one.individual} is in the map; it is damaged"
            )
        means = [sum(each[axis.name] for each in lives) / len(lives) for axis in axes]
        shares = [(mean - axis.low) / (axis.high - axis.low) for mean, axis in zip(means, axes)]
        at = [int(min(axis.cells - 1, max(0.0, share * axis.cells))) for share, axis in zip(shares, axes)]
        cells.append({"at": at, "id": one.individual, "score": one.score, "film": film(store, last, one.rank)})
    return {"axes": [axis._asdict() for axis in axes], "cells": cells}


def measured(store: Store) -> list[tuple[int, float]]:
    """By generation, what its best one measured on draws that the search never saw."""
    sums: dict[int, list[float]] = {}
    for row in store.table("evaluation"):
        if HELD_OUT <= row["draw"] < BLANK:
            sums.setdefault(row["g"], []).append(row["measure"])
    return [(g, sum(values) / len(values)) for g, values in sorted(sums.items())]


def _line(store: Store, one: int) -> list[dict[str, Any]]:
    """The champion's descent in the first line, back to its founder."""
    people, line, met = store.people(), [], set[int]()
    while one in people:
        if one in met:
            raise StoreError(f"{store.file}: individual {one} descends from itself; it is damaged")
        met.add(one)
        line.append({"id": one, "g": people[one].generation, "op": people[one].operator})
        if not people[one].parents:
            break
        one = people[one].parents[0]
    return line
