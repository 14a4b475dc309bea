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
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row, arguments, report, time_side_by_side
from kinemorph.scenes.bounce.collision_experiment import (
    FEW,
    GAIN,
    OBJECTS,
    ROOM,
    STEPS,
    TABLE,
    VERTICES,
    Crowd,
    Measured,
    crowded,
    two_hulls,
)
from kinemorph.scenes.bounce.collision_experiment import draw as draw_measured
from kinemorph.scenes.bounce.simulation import Bounce

ROUNDS = 240  # short ones: on a busy machine some are not interrupted


def stepping(world: Bounce) -> Callable[[int], None]:
    return lambda k: world.advance(world.steps + k)


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
    peer = f"ours, from scratch (the thesis: {GAIN}x)"
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
    clip, walk = (
        {step: dict(zip(*_curve(rows, metric, f"steps of {step:g}", 3))) for step in STEPS}
        for metric in ("V-Clip", "walk (steps)")
    )
    crowds = [Crowd(int(n), 0.0, 0.0, float(y)) for n, y in zip(*_curve(rows, "a step", " m", 0))]
    hashing = {int(row.case.split()[0]): (row.ours, float(row.peer or 0.0)) for row in rows if row.metric == "hashing"}
    folder.mkdir(parents=True, exist_ok=True)
    return draw_measured(Measured(clip, walk, crowds, hashing, 0.0), folder / "bounce.png")


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
    lines.append(f"coherence: {gain:.1f}x (the thesis: {GAIN}x)")
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
