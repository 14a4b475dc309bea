"""Fontijne 2.7: what collision detection costs. Figs. 2.11 and 2.12, table 2.1, and the gain by coherence.

Each time is the best of several rounds, which alternate between what is compared. `python -m benchmarks.bounce` makes
the same with more rounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.scenes.bounce.simulation import Bounce

STEPS = (0.0, 0.01, 5.0)
VERTICES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
OBJECTS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
FEW = (2, 4, 8, 16, 32, 64, 128)
ROOM = 12.0  # m, side of the world of two hulls, which are 2 m large
OBJECT_DENSITY = 4.0  # pairs an object
GAIN = 3.6  # the thesis's, by coherence
TABLE = {16: 5, 32: 21, 64: 40, 128: 88, 256: 120, 512: 180, 1024: 250, 2048: 320, 4096: 430}  # its world sizes
ROUNDS, ROUND = 30, 0.003  # rounds of each measurement, and s that one takes at least


class Crowd(NamedTuple):
    """A row of table 2.1: a world in which each object has DENSITY pairs."""

    objects: int
    side: float  # m
    pairs: float  # in a step
    step: float  # µs


@dataclass(frozen=True)
class Measured:
    """Times in µs: by step size and number of vertices those of V-Clip, and its steps; worlds; hash and all pairs."""

    clip: dict[float, dict[int, float]]
    walk: dict[float, dict[int, float]]
    crowds: list[Crowd]
    hashing: dict[int, tuple[float, float]]
    gain: float  # by coherence; NaN if the machine was too busy to tell


def hull(rng: np.random.Generator, n: int) -> Polyhedron:
    """Of n random points on the unit sphere."""
    x = rng.normal(size=(n, 3))
    return Polyhedron.hull(x / np.linalg.norm(x, axis=1)[:, None])


@cache
def two_hulls(vertices: int) -> list[Parts]:
    rng = np.random.default_rng(vertices)
    return [Parts([hull(rng, vertices)]) for _ in range(2)]


def crowded(n: int, density: float = OBJECT_DENSITY, steps: int = 100) -> tuple[float, float]:
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


def _times(*worlds: Bounce) -> list[float]:
    """µs of a step of each world, side by side."""
    counts = []
    for world in worlds:
        world.advance(world.steps + 20)  # compiles, and settles
        taken = _seconds(world, 5) / 5
        counts.append(max(5, int(ROUND / max(taken, 1e-9))))
    rounds = [[_seconds(world, n) / n for world, n in zip(worlds, counts)] for _ in range(ROUNDS)]
    return (1e6 * np.min(rounds, axis=0)).tolist()


def _seconds(world: Bounce, steps: int) -> float:
    start = time.process_time()  # others on the machine are no part of it
    world.advance(world.steps + steps)
    return time.process_time() - start


def measure(vertices: Iterable[int] = VERTICES, objects: Iterable[int] = OBJECTS, few: Iterable[int] = FEW) -> Measured:
    """All figures of 2.7."""
    clip: dict[float, dict[int, float]] = {step: {} for step in STEPS}
    walk: dict[float, dict[int, float]] = {step: {} for step in STEPS}
    for step in STEPS:
        for n in vertices:
            bodies = two_hulls(n)
            world = Bounce(2, ROOM, step, bodies=bodies, hashing=False)
            both, motion = _times(world, Bounce(2, ROOM, step, bodies=bodies, hashing=False, vclip=False))
            clip[step][n] = max(both - motion, 0.0)
            walk[step][n] = world.numbers["walked"] / max(world.numbers["updates"], 1)
    crowds = []
    for n in objects:
        side, pairs = crowded(n)
        crowds.append(Crowd(n, side, pairs, *_times(Bounce(n, side))))
    hashing = {}
    for n in few:
        ours, every = _times(Bounce(n), Bounce(n, hashing=False))
        hashing[n] = (ours, every)
    coherent, scratch, motion = _times(
        Bounce(25, vclip=False), Bounce(25, vclip=False, coherence=False), Bounce(25, vclip=False, hashing=False)
    )
    hashed = coherent - motion
    return Measured(clip, walk, crowds, hashing, (scratch - motion) / hashed if hashed > 0.05 else float("nan"))


def lines_of(found: Measured) -> list[str]:
    """Table 2.1 in Markdown, and what figs. 2.11 and 2.12 come to, in sentences."""
    lines = ["| objects | side of the world, m (thesis) | pairs in a step | µs a step | ns a step by objects + pairs |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: |")
    for c in found.crowds:
        share = 1e3 * c.step / (c.objects + c.pairs)
        side = f"{c.side:.3g} ({TABLE[c.objects]})" if c.objects in TABLE else f"{c.side:.3g}"
        lines.append(f"| {c.objects} | {side} | {c.pairs:.0f} | {c.step:.3g} | {share:.0f} |")
    lines.append("")
    for step, curve in found.clip.items():
        n, times = list(curve), list(curve.values())
        walk = found.walk[step][n[-1]]
        lines.append(
            f"V-Clip, steps of {step:g}: {times[0]:.3g} µs an update for {n[0]} vertices, {times[-1]:.3g} for {n[-1]}"
            f" ({walk:.3g} of its steps)"
        )
    wins = [n for n, (ours, every) in found.hashing.items() if ours < every]
    most, (ours, every) = list(found.hashing.items())[-1]
    begins = f"from {wins[0]} objects on" if wins else "never"
    lines.append(f"hashing is faster than all pairs {begins}: {every / ours:.3g} times for {most}")
    if found.gain == found.gain:
        lines.append(f"coherence makes the hash of 25 objects {found.gain:.2g} times as fast (thesis: {GAIN:g})")
    return lines


def draw(found: Measured, file: Path) -> Path:
    """Figs. 2.11 and 2.12, beside the steps of V-Clip."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    FigureCanvasAgg(figure)
    (clip, walk), (linear, hashing) = figure.subplots(2, 2)
    for axis, curves in ((clip, found.clip), (walk, found.walk)):
        for step, curve in curves.items():
            n, y = np.array(list(curve)), np.array(list(curve.values()))
            (line,) = axis.plot(n, y, "o-", markersize=4, label=f"step size {step:g}")
            if step == STEPS[-1] and len(n) > 1:
                a, b = np.polyfit(np.sqrt(n), y, 1)
                axis.plot(n, a * np.sqrt(n) + b, "--", color=line.get_color(), label=f"{b:.2g} + {a:.2g} √n")
    clip.set(title="Fig. 2.11: V-Clip, two hulls", xlabel="vertices", ylabel="µs an update", ylim=(0.0, None))
    walk.set(title="V-Clip steps", xlabel="vertices", ylabel="steps an update", ylim=(0.0, None))
    n, y = np.array([c.objects for c in found.crowds]), np.array([c.step for c in found.crowds])
    linear.plot(n, y / 1e3, "o-", markersize=4, label="broad and narrow phase")
    linear.plot(n, n * (y[-1] / n[-1]) / 1e3, "--", color="0.6", label="linear")
    linear.set(title="Fig. 2.12 a: many objects", xlabel="objects", ylabel="ms a step")
    pairs: Any = np.array(list(found.hashing.values()))
    for k, name in enumerate(("hashing", "all pairs")):
        hashing.loglog(list(found.hashing), pairs[:, k], "o-", markersize=4, label=name)
    hashing.set(title="Fig. 2.12 b: with and without hashing", xlabel="objects", ylabel="µs a step")
    for axis in (clip, walk, linear, hashing):
        axis.grid(color="0.92")
        axis.legend(frameon=False)
    figure.savefig(file, dpi=110)
    return file
