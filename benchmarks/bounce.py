"""Fontijne's measurements of collision detection (2.7) redone: Fig. 2.11, Fig. 2.12, Table 2.1, the gain by coherence.

    python -m benchmarks.bounce [--quick] [--json FILE] [--plot FOLDER]

- Fig. 2.11: V-Clip alone. Two hulls of n random unit vectors move by the rules of `kinemorph bounce`, without hashing,
  in steps of 0, 0.01 and 5. What a step takes without V-Clip is taken off. "walk" is the number of V-Clip steps.
- Table 2.1: worlds for 16 to 4096 objects that are large enough for the same number of pairs an object.
- Fig. 2.12 a: a whole step in these worlds; linear if the time by n + pairs is flat.
- Fig. 2.12 b: a step of 2 to 128 objects with hashing and, as its peer, with all pairs.
- Coherence: boxes and hash of 25 objects in steps of 0.01; the peer builds the hash from scratch at each step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collision import hull
from benchmarks.measure import Row, arguments, report, time_side_by_side
from kinemorph.geometry.convex_parts import Parts
from kinemorph.scenes.bounce.simulation import Bounce

STEPS = (0.0, 0.01, 5.0)
VERTICES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
OBJECTS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
FEW = (2, 4, 8, 16, 32, 64, 128)
ROOM = 12.0  # m, side of the world of two hulls, which are 2 m large
DENSITY = 4.0  # pairs an object
ROUNDS = 240  # short ones: on a busy machine some are not interrupted
THESIS = 3.6  # its gain by coherence
TABLE = {16: 5, 32: 21, 64: 40, 128: 88, 256: 120, 512: 180, 1024: 250, 2048: 320, 4096: 430}  # its world sizes


def stepping(world: Bounce) -> Callable[[int], None]:
    return lambda k: world.advance(world.steps + k)


@cache
def two_hulls(vertices: int) -> list[Parts]:
    rng = np.random.default_rng(vertices)
    return [Parts([hull(rng, vertices)]) for _ in range(2)]


def figure_2_11(seconds: float, quick: bool) -> list[Row]:
    rows = []
    for step in STEPS:
        for n in VERTICES[:: 2 if quick else 1]:
            worlds = {
                "all": Bounce(2, ROOM, step, bodies=two_hulls(n), hashing=False),
                "motion": Bounce(2, ROOM, step, bodies=two_hulls(n), hashing=False, vclip=False),
            }
            times = time_side_by_side({name: stepping(world) for name, world in worlds.items()}, seconds, ROUNDS)
            case = f"2 hulls of {n} vertices, steps of {step:g}"
            clip = max(times["all"] - times["motion"], 1e-3)  # on a busy machine it could come out negative
            rows.append(Row("bounce", case, "V-Clip", clip, None, "", None))
            counted = Bounce(2, ROOM, step, bodies=two_hulls(n), hashing=False)
            counted.advance(4000)
            walk = counted.numbers["walked"] / counted.numbers["updates"]
            rows.append(Row("bounce", case, "walk (steps)", walk, None, "", None))
    return rows


def crowded(n: int, density: float = DENSITY, steps: int = 100) -> tuple[float, float]:
    """The side of a world in which n objects make `density` pairs each, and how many they really make."""
    side, pairs = 4.0 * n ** (1.0 / 3.0), 0.0
    for _ in range(6):
        world = Bounce(n, side)
        counts = []
        for _ in range(10):
            world.advance(world.steps + steps // 10)
            counts.append(world.numbers["pairs"])
        pairs = float(np.mean(counts))
        if abs(pairs / (density * n) - 1.0) < 0.02:
            break
        side *= max(pairs / (density * n), 0.1) ** (1.0 / 3.0)
    return side, pairs


def figure_2_12(seconds: float, quick: bool) -> list[Row]:
    rows = []
    for n in OBJECTS[:: 2 if quick else 1]:
        side, _ = crowded(n)
        world = Bounce(n, side)
        world.advance(50)
        before, start = world.numbers["updates"], world.steps
        times = time_side_by_side({"step": stepping(world)}, seconds, ROUNDS)
        updates = (world.numbers["updates"] - before) / (world.steps - start)
        case = f"{n} objects, world of {side:.3g} m"
        rows.append(Row("bounce", case, "pairs", updates, None, f"the thesis: world of {TABLE[n]}", None))
        rows.append(Row("bounce", case, "a step", times["step"], None, "", None))
        rows.append(Row("bounce", case, "a step by n + pairs", times["step"] / (n + updates), None, "", None))
    for n in FEW[:: 2 if quick else 1]:
        worlds = {name: Bounce(n, hashing=name == "hash") for name in ("hash", "all pairs")}
        times = time_side_by_side({name: stepping(world) for name, world in worlds.items()}, seconds, ROUNDS)
        rows.append(
            Row("bounce", f"{n} objects", "hashing", times["hash"], times["all pairs"], "ours, all pairs", None)
        )
    return rows


def coherence(seconds: float) -> list[Row]:
    worlds = {
        "coherent": Bounce(25, vclip=False),
        "scratch": Bounce(25, vclip=False, coherence=False),
        "motion": Bounce(25, vclip=False, hashing=False),
    }
    times = time_side_by_side({name: stepping(world) for name, world in worlds.items()}, seconds, ROUNDS)
    ours, scratch = (times[name] - times["motion"] for name in ("coherent", "scratch"))
    peer = f"ours, from scratch (the thesis: {THESIS}x)"
    return [
        Row("bounce", "25 objects, steps of 0.01", "hash", ours, scratch, peer, None),
        Row(
            "bounce",
            "25 objects, steps of 0.01",
            "boxes, hash, motion",
            times["coherent"],
            times["scratch"],
            peer,
            None,
        ),
    ]


def draw(rows: list[Row], folder: Path) -> Path:
    """The four plots as one picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    FigureCanvasAgg(figure)
    (clip, walk), (linear, hashing) = figure.subplots(2, 2)
    for step in STEPS:
        for axis, metric in ((clip, "V-Clip"), (walk, "walk (steps)")):
            n, y = _curve(rows, metric, f"steps of {step:g}", 3)
            (line,) = axis.plot(n, y, "o-", markersize=4, label=f"step size {step:g}")
            if step == STEPS[-1]:
                a, b = np.polyfit(np.sqrt(n), y, 1)
                axis.plot(n, a * np.sqrt(n) + b, "--", color=line.get_color(), label=f"{b:.2g} + {a:.2g} √n")
    clip.set(title="Fig. 2.11: V-Clip, two hulls", xlabel="vertices", ylabel="µs an update", ylim=(0.0, None))
    walk.set(title="V-Clip steps", xlabel="vertices", ylabel="steps an update", ylim=(0.0, None))
    n, y = _curve(rows, "a step", " m", 0)
    linear.plot(n, y / 1e3, "o-", markersize=4, label="broad and narrow phase")
    linear.plot(n, n * (y[-1] / n[-1]) / 1e3, "--", color="0.6", label="linear")
    linear.set(title="Fig. 2.12 a: many objects", xlabel="objects", ylabel="ms a step")
    n, y = _curve(rows, "hashing", "objects", 0)
    every = np.array([row.peer for row in rows if row.metric == "hashing"])
    hashing.loglog(n, y, "o-", markersize=4, label="hashing")
    hashing.loglog(n, every, "o-", markersize=4, label="all pairs")
    hashing.set(title="Fig. 2.12 b: with and without hashing", xlabel="objects", ylabel="µs a step")
    for axis in (clip, walk, linear, hashing):
        axis.grid(color="0.92")
        axis.legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "bounce.png"
    figure.savefig(file, dpi=110)
    return file


def _curve(rows: list[Row], metric: str, end: str, word: int) -> tuple[Any, Any]:
    """Number and value of the rows whose case ends so; the number is a word of the case."""
    some = [row for row in rows if row.metric == metric and row.case.endswith(end)]
    return np.array([int(row.case.split()[word]) for row in some]), np.array([row.ours for row in some])


def summary(rows: list[Row]) -> list[str]:
    """The claims of the thesis, in figures."""
    lines = []
    for step in STEPS:
        n, y = _curve(rows, "V-Clip", f"steps of {step:g}", 3)
        power = np.polyfit(np.log(n), np.log(y), 1)[0]
        lines.append(
            f"V-Clip, steps of {step:g}: {y[-1] / y[0]:.2f}x from {n[0]} to {n[-1]} vertices, like n^{power:.2f}"
        )
    n, y = _curve(rows, "a step by n + pairs", " m", 0)
    lines.append(f"a step by n + pairs: {y[-1] / y[0]:.2f}x from {n[0]} to {n[-1]} objects")
    gain = next(row.ratio for row in rows if row.metric == "hash")
    lines.append(f"coherence: {gain:.1f}x (the thesis: {THESIS}x)")
    return lines


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="also draw the figures into a folder")
    options = parser.parse_args()
    seconds = 0.1 if options.quick else 0.6
    rows = figure_2_11(seconds, options.quick) + figure_2_12(seconds, options.quick) + coherence(2 * seconds)
    report("bounce, µs", rows, options.json, ("numba",))
    print("\n".join(summary(rows)))
    if options.plot:
        print(draw(rows, options.plot))


if __name__ == "__main__":
    main()
