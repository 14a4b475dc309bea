"""Figures 4.6a, 4.6b and 4.7 of Fontijne's thesis: fitness by generation, with its own algorithm, formulas and budget.

A run is kept in a file, so one that was broken off goes on when its figure is asked for again.
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from kinemorph._files import quoted
from kinemorph.evolve import experiment
from kinemorph.evolve.progress import live_progress
from kinemorph.evolve.searches.search import Budget
from kinemorph.evolve.settings import Settings
from kinemorph.evolve.store.run_store import Store, StoreError, store_errors
from kinemorph.view.pictures.plots import empty_figure

POPULATION = 300  # "as with all evolutions" (4.8.1)


@dataclass(frozen=True)
class Evolution:
    """What a figure shows."""

    what: str
    task: str
    generations: int  # 200 where 4.8 says so; "some 100 are required to get interesting results" (4.6.1)
    rises: str  # what is harder in each generation
    of_task: dict[str, Any] = field(default_factory=dict)


EVOLUTIONS = {
    "fig4.6a": Evolution("hit ball", "hit-ball", 200, "the ball is farther away"),
    "fig4.6b": Evolution("jump straight up", "jump-up", 100, "gravity is higher", {"light": 0.02}),
    "fig4.7": Evolution("locomotion", "locomotion", 100, "ground and knocks are rougher"),
}


class Curve(NamedTuple):
    """By generation, the maximum and the mean of the thesis's fitness."""

    best: list[float]
    mean: list[float]


def look_for(figures: tuple[str, ...]) -> None:
    """Refuse a figure that is not there."""
    for name in figures:
        if name not in EVOLUTIONS:
            raise ValueError(f"thesis: there is no figure {quoted(name)} here; there are {', '.join(EVOLUTIONS)}")


def settings_of(
    figure: str, population: int | None, generations: int | None, seed: int, workers: int | None
) -> Settings:  # fmt: skip
    """The thesis's own search and budget, or a smaller one."""
    of = EVOLUTIONS[figure]
    budget = Budget(of.generations if generations is None else generations)
    people = {"population": POPULATION if population is None else population}
    settings = Settings(of.task, "thesis", seed, budget, people, of.of_task, workers=workers)
    experiment.search_of(settings, experiment.problem_of(settings))  # a population that is none is refused now
    return settings


def evolve(figure: str, settings: Settings, out: Path) -> Path:
    """Make the run of a figure, or what is missing of it, and draw it. Returns the picture."""
    console = Console(highlight=False, soft_wrap=True)
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{_stem(figure)}_{settings.seed}.db"
    of = EVOLUTIONS[figure]
    people, count = int(settings.of_search["population"]), settings.budget.generations or of.generations
    size = f"{count} generations of {people}"
    console.print(f"[bold]{figure}[/]: {of.what}, in each generation {of.rises}; {size}; {file}")
    with _run(file, settings) as store:
        if not store.facts.get("ended"):
            try:
                with live_progress(console, settings.evaluator) as watch:
                    experiment.evolve(store, settings, watch)
            except KeyboardInterrupt:
                console.print(f"stopped; the same command goes on with {file}")
                sys.exit(130)
        curve = curve_of(store)
    console.print(told(curve))
    picture = out / f"{_stem(figure)}.png"
    _write(curve, out / f"{_stem(figure)}.csv")
    draw_fitness(figure, curve, settings, picture)
    console.print(f"look at [bold]{picture}[/]; its champions: kinemorph replay {file}, kinemorph report {file}")
    return picture


def curve_of(store: Store) -> Curve:
    with store_errors(store.file):
        generations = [json.loads(row["stats"]) for row in store.table("generation")]
    return Curve(*([one[name] for one in generations] for name in ("thesis_best", "thesis_mean")))


def told(curve: Curve) -> str:
    """The shape of a curve in one sentence."""
    best = curve.best
    low = min(range(len(best)), key=best.__getitem__)
    return (
        f"highest fitness {best[0]:.3g} in generation 0, {best[low]:.3g} in {low} (the least), {best[-1]:.3g} in"
        f" {len(best) - 1}; the mean from {curve.mean[0]:.3g} to {curve.mean[-1]:.3g}"
    )


def draw_fitness(figure: str, curve: Curve, settings: Settings, file: Path) -> None:
    """Maximum and average fitness for each generation."""
    of, picture = EVOLUTIONS[figure], empty_figure(7.2, 3.6)
    axes = picture.subplots()
    axes.plot(curve.best, label="maximum", linewidth=1.4)
    axes.plot(curve.mean, label="average", linewidth=1.4)
    people = settings.of_search["population"]
    axes.set(xlabel=f"generation ({of.rises} in each)", ylabel="fitness (thesis 4.5)")
    axes.set_title(f"{of.what}: Fontijne {figure.replace('fig', 'fig. ')}; {people} creatures, seed {settings.seed}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    picture.savefig(file, dpi=110)


def _run(file: Path, settings: Settings) -> Store:
    if not file.exists():
        return experiment.begin(file, settings)
    store, before = experiment.resume(file)
    if before.deciding != settings.deciding:
        store.close()
        raise StoreError(f"{file}: this run was begun with other settings; delete it, or name another folder by --out")
    return store


def _write(curve: Curve, file: Path) -> None:
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["generation", *curve._fields])
        rows.writerows([g, *marks] for g, marks in enumerate(zip(*curve)))


def _stem(figure: str) -> str:
    return f"thesis_{figure.replace('.', '_')}"
