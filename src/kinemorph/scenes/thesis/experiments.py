"""What `kinemorph thesis` does: the experiments of Fontijne 2.7 and 3.11.1, his figures beside ours, and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinemorph.scenes.bounce.collision_experiment import draw as draw_collision
from kinemorph.scenes.bounce.collision_experiment import lines_of, measure
from kinemorph.scenes.thesis.car_experiment import PRINTED, CrashRecord, measure_crash
from kinemorph.scenes.thesis.cube_experiment import Rest, rest
from kinemorph.scenes.thesis.wall_experiment import CUBES, Standing, stand
from kinemorph.view.pictures.plots import plot_over_time
from kinemorph.world.impulse.settings import HANDLINGS

ALL, CLOSEST = HANDLINGS
EPSILONS = 0.1, 0.01, 0.001  # of the size of a body
BOOST = 3.0  # e_max, "usually chosen somewhere between 2 and 5"


@dataclass(frozen=True)
class Printed:
    """A row of table 3.4 as it is in the thesis; nan where the simulation failed."""

    seconds: float
    rotation: float
    offset: float
    strikes: float


FAILED = Printed(*[float("nan")] * 4)
TABLE = {
    (CLOSEST, 0.1): Printed(4.94, 19.6, 23.0, 54330),
    (CLOSEST, 0.01): Printed(17.0, 3.70, 5.61, 153506),
    (CLOSEST, 0.001): FAILED,
    (ALL, 0.1): Printed(27.0, 0.337, 0.543, 917634),
    (ALL, 0.01): Printed(27.1, 1.60, 2.10, 788654),
    (ALL, 0.001): Printed(70.6, 0.226, 0.464, 1688037),
}  # table 3.4, by contact handling and ε
SIZES = 2.0, 0.4, 0.1, 0.05  # m, of bricks
BUILT = (2, 2), (5, 6), (8, 4), (2, CUBES), (8, CUBES)  # rows and columns
Say = Callable[[str], None]


def rests(seconds: float = 60.0) -> list[Rest]:
    """All twelve cubes: three envelopes, both handlings, with and without boosted micro-collisions."""
    return [
        rest(epsilon, handling, boost, seconds)
        for boost in (None, BOOST)
        for handling in (CLOSEST, ALL)
        for epsilon in EPSILONS
    ]


def standings(boost: float | None = None) -> list[Standing]:
    """The six rows of table 3.4, and one of the default contact model."""
    rows = [stand(epsilon, handling, boost) for handling, epsilon in TABLE]
    return rows if boost else [*rows, stand(0.0)]


def others(sizes: Iterable[float] = SIZES, built: Iterable[tuple[int, int]] = BUILT) -> list[list[list[Standing]]]:
    """Other walls and stacks at closest points: of each shape, in each envelope, those of all sizes."""
    return [
        [[stand(epsilon, CLOSEST, size=size, rows=rows, columns=columns) for size in sizes] for epsilon in EPSILONS[1:]]
        for rows, columns in built
    ]


def settings(boost: float | None) -> str:
    return "default" if boost is None else f"e_max {boost:g}"


def cube_lines(found: list[Rest]) -> list[str]:
    """A table of the cubes, in Markdown."""
    lines = ["| settings | contact handling | ε | spin, °/min | largest yaw, ° | largest offset, mm | s for a minute |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for r in found:
        numbers = (
            f"{round(r.spin, 2) + 0.0:.2f} | {np.abs(r.yaw).max():.2f} | {1e3 * r.offset.max():.3g} | {r.seconds:.2f}"
        )
        lines.append(f"| {settings(r.boost)} | {r.handling} | {100 * r.epsilon:g} % | {numbers} |")
    return lines


def wall_lines(found: list[Standing]) -> list[str]:
    """A table of the walls beside that of the thesis, in Markdown: ours, then his in brackets."""
    lines = ["| settings | contact handling | ε | time, s | rotation sum | offset sum | collisions |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for r in found:
        his = TABLE.get((r.handling, r.epsilon))
        pairs = [
            (f"{r.seconds:.2f}", "seconds", "{:g}"),
            (f"{r.rotation:.2g}", "rotation", "{:g}"),
            (f"{r.offset:.2g}", "offset", "{:g}"),
            (f"{r.strikes:,}", "strikes", "{:,.0f}"),
        ]
        cells = []
        for ours, name, form in pairs:
            value = float("nan") if his is None else getattr(his, name)
            printed = "" if his is None else " (failed)" if np.isnan(value) else f" ({form.format(value)})"
            cells.append(ours + printed)
        which = f"{settings(r.boost)} | {r.handling} | {100 * r.epsilon:g} %" if r.epsilon else "contact by steps | | "
        lines.append(f"| {which} | {' | '.join(cells)} |")
    return lines


def crash_times(r: CrashRecord) -> tuple[float, float, float]:
    """s of computing for one of motion: while the wall stands, while it falls, and of all of it."""
    hit = int(np.searchsorted(r.t, r.hit))
    before, after = r.took[hit] / r.t[hit], (r.took[-1] - r.took[hit]) / (r.t[-1] - r.t[hit])
    return float(before), float(after), float(r.took[-1] / r.t[-1])


def other_lines(
    found: list[list[list[Standing]]], sizes: Iterable[float] = SIZES, built: Iterable[tuple[int, int]] = BUILT
) -> list[str]:
    """A table of other walls and stacks, in Markdown: of each row the worst of all sizes."""
    lines = ["| what | ε | farthest in 0.1 s, % of its size | collisions | s of computing, at most |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for (rows, columns), each in zip(built, found, strict=True):
        what = f"{rows} cubes on each other" if columns == CUBES else f"{rows} rows of {columns}"
        for walls in each:
            far = max(100.0 * r.farthest / size for r, size in zip(walls, sizes, strict=True))
            strikes, took = max(r.strikes for r in walls), max(r.seconds for r in walls)
            lines.append(f"| {what} | {100 * walls[0].epsilon:g} % | {far:.1g} | {strikes} | {took:.2f} |")
    return lines


def crash_lines(found: list[CrashRecord]) -> list[str]:
    """A table of crashes, in Markdown."""
    lines = ["| contact model | s for a second, wall stands | wall falls | all of it | thesis |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for r in found:
        numbers = " | ".join(f"{each:.3f}" for each in crash_times(r))
        lines.append(f"| {r.model} | {numbers} | {PRINTED if r.model == 'impulse' else ''} |")
    return lines


def draw_crashes(found: list[CrashRecord], out: Path) -> Path:
    """Fig. 3.13: time by the clock against time in the world."""
    file = out / "thesis_crash.png"
    curves = {f"contact by {r.model}": r.took for r in found}
    marks = [r.hit for r in found if np.isfinite(r.hit)]
    plot_over_time(file, found[0].t, {"computing [s]": curves}, "a car drives into a wall (dotted: it hits)", marks)
    return file


def draw_experiments(found: list[Rest], out: Path) -> list[Path]:
    """Figs. 3.11 and 3.12: a panel for each handling and its settings, a curve for each envelope."""
    files = []
    for name, what, scale in (("yaw", "yaw [degrees]", 1.0), ("offset", "offset [mm]", 1e3)):
        panels: dict[str, dict[str, object]] = {}
        for r in found:
            panel = panels.setdefault(f"{what} {r.handling}, {settings(r.boost)}", {})
            panel[f"ε {100 * r.epsilon:g} %"] = scale * getattr(r, name)
        file = out / f"thesis_{name}.png"
        plot_over_time(file, found[0].t, panels, f"a cube that rests: {name}")  # type: ignore[arg-type]
        files.append(file)
    return files


def thesis(out: Path, say: Say) -> None:
    """All experiments: tables to the terminal and to a file, plots to pictures."""
    out.mkdir(parents=True, exist_ok=True)
    cubes = rests()
    text = ["A cube that rests for a minute (Fontijne figs. 3.11, 3.12):", "", *cube_lines(cubes), ""]
    walls = [*standings(), *standings(BOOST)]
    text += [
        "A wall of 34 bricks for five seconds (Fontijne table 3.4; his numbers in brackets):",
        "",
        *wall_lines(walls),
        "",
        f"Walls of bricks of {', '.join(f'{size:g}' for size in SIZES)} m, and cubes, at closest points:",
        "",
        *other_lines(others()),
    ]
    crashes = [measure_crash("impulse"), measure_crash("timestep")]
    text += ["", "A car drives into a wall (Fontijne fig. 3.13):", "", *crash_lines(crashes)]
    bounces = measure()
    text += [
        "",
        "Objects that bounce, each with 4 pairs (Fontijne table 2.1; figs. 2.11, 2.12):",
        "",
        *lines_of(bounces),
    ]
    file = out / "thesis.md"
    file.write_text("\n".join(text) + "\n", encoding="utf-8")
    for line in text:
        say(line)
    pictures = [
        *draw_experiments(cubes, out),
        draw_crashes(crashes, out),
        draw_collision(bounces, out / "thesis_collision.png"),
    ]
    say(f"\nlook at {', '.join(map(str, [file, *pictures]))}")
