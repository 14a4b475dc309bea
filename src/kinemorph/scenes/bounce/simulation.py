"""Fontijne's bounce (2.6): many objects fly, turn and bounce; the demonstration and the test of the collision folder.

The objects are a cube, a sphere, a cone, a tube, a pyramid and a torus, in three sizes. They move by the rules of the
thesis, which are in `bounce_step`: an object that leaves the world, or penetrates another one, gets a new random
velocity that leads back. Nothing is ever pushed apart, so that penetration, deep and long, is part of the test.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from kinemorph.collision.collisions import Collisions
from kinemorph.collision.shapes.shape_rows import Candidates, PairQuery, Status
from kinemorph.collision.shapes.shape_table import ShapeTable
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.scenes.bounce import oracle
from kinemorph.scenes.bounce.step import BOUNCE, HASHING, OBJECT, VCLIP, advance, broad_phase, narrow_phase, response
from kinemorph.spatial.pose import Array, rotation_of_quaternion

SIZES = (0.5, 1.0, 2.0)  # m, of the cube around a shape
LARGEST_VELOCITY_COMPONENT = 1.0  # m/s, largest component of a velocity
SPIN = 2.0  # rad/s, likewise
LARGEST_GRAVITY_FACTOR = 0.002  # m/s a step, largest gravity factor
SIDE_PER_OBJECT = 3.0  # m, default side of the world for one object: it grows with the cube root of their number
Sides = float | Sequence[float]  # m, of the world: one number for a cube, or width (x), height (y) and depth (z)
SAMPLED = 24  # pairs whose distance is proved at each check
MOST_UPDATES = 1 << 62
NUMBERS = ("updates", "walked", "fallbacks", "rough", "opened")


@lru_cache
def shapes() -> dict[str, Parts]:
    """The six of the thesis, in a cube of side 1 around the origin; all but the torus are convex."""
    golden = 0.5 * (1.0 + math.sqrt(5.0))
    ball = [np.roll((0.0, s, t * golden), k) for s in (-1.0, 1.0) for t in (-1.0, 1.0) for k in range(3)]
    corners = Polyhedron.hull(ball)
    middles = [0.5 * (corners.points[e["tail"]] + corners.points[e["head"]]) for e in corners.edges]
    ball = [0.5 * x / np.linalg.norm(x) for x in (*corners.points, *middles)]
    convex = {
        "cube": Polyhedron.box((1.0, 1.0, 1.0)),
        "sphere": Polyhedron.hull(ball),
        "cone": Polyhedron.cone(0.5, 1.0, 16),
        "tube": Polyhedron.prism(0.3, 1.0, 16),
        "pyramid": Polyhedron.cone(0.5, 0.8, 4),
    }
    return {name: Parts([core]) for name, core in convex.items()} | {"torus": Parts(torus(0.36, 0.14, 10, 6))}


def torus(radius: float, thickness: float, pieces: int, sides: int) -> list[Polyhedron]:
    """A ring around z as convex pieces; `radius` is that of the middle line, `thickness` that of the tube."""
    turn = 2.0 * np.pi * np.arange(sides) / sides
    r, z = radius + thickness * np.cos(turn), thickness * np.sin(turn)
    ends = 2.0 * np.pi * np.arange(pieces + 1) / pieces
    rings = [np.column_stack([r * math.cos(a), r * math.sin(a), z]) for a in ends]
    return [Polyhedron.hull(np.vstack(both)) for both in pairwise(rings)]


def scaled(body: Parts, size: float) -> Parts:
    return Parts([piece.scaled(size) for piece in body.parts])


def sides_of(side: Sides) -> tuple[float, float, float]:
    """Width, height and depth of a world, from those or from the side of a cube."""
    given = np.ravel(np.array(side, dtype=float)).tolist()
    sides = given * 3 if len(given) == 1 else given
    if len(sides) != 3 or not all(0.0 < each < math.inf for each in sides):
        raise ValueError(f"bounce: the world's side is {side} m; expected a positive length, or three for a box")
    return sides[0], sides[1], sides[2]


class Bounce:
    """A world of `count` objects that moves `dt` at each step. All that happens is set by `seed`.

    `side` is that of a cube, or three numbers are the sides of a box: width, height and depth (m).

    `bodies` are what the objects are, in turn; by default the six shapes in three sizes. Without `hashing` the
    distances of all pairs are computed, without `coherence` the hash is built from scratch at each step, and without
    `vclip` nothing but the walls is noticed: that is for measurements.
    """

    def __init__(
        self,
        count: int = 200,
        side: Sides | None = None,
        dt: float = 0.01,
        seed: int = 0,
        *,
        bodies: Sequence[Parts] | None = None,
        hashing: bool = True,
        coherence: bool = True,
        vclip: bool = True,
    ) -> None:
        if not 2 <= count <= 1_000_000:
            raise ValueError(f"bounce: {count} objects; expected 2 to 1000000")
        sides = sides_of(SIDE_PER_OBJECT * count ** (1.0 / 3.0) if side is None else side)
        if not 0.0 <= dt < math.inf:
            raise ValueError(f"bounce: the step size is {dt} s; expected 0 or more")
        rng = np.random.default_rng(seed)
        self.bodies = list(bodies) if bodies else [scaled(shape, s) for s in SIZES for shape in shapes().values()]
        self.which = rng.permutation(np.arange(count) % len(self.bodies))
        self.count, self.sides = count, sides
        self.objects: Any = np.zeros(count, OBJECT)
        self._state: Any = np.zeros(1, BOUNCE)
        b = self._state[0]
        b["n"], b["half"], b["dt"], b["speed"] = count, 0.5 * np.array(sides), dt, LARGEST_VELOCITY_COMPONENT
        b["random"] = rng.integers(1, 1 << 31, 2) % 2147483398 + 1
        b["phases"] = HASHING * hashing + VCLIP * vclip
        table = ShapeTable()
        for i, which in enumerate(self.which.tolist()):
            table.add(self.bodies[which], i)
        candidates = Candidates.CLOSE if hashing else Candidates.ALL
        self.collisions = Collisions(
            table, question=PairQuery.DISTANCE, candidates=candidates, threshold=0.0, from_scratch=not coherence
        )
        self._place(rng, dt)
        b["collisions"] = self.collisions.lend()

    def _place(self, rng: np.random.Generator, dt: float) -> None:
        boxes = self.collisions.boxes
        for o, box, which in zip(self.objects, boxes, self.which, strict=True):
            o["x"] = rng.uniform(-0.5, 0.5, 3) * self.sides
            q = rng.normal(size=4)
            o["q"] = q / np.linalg.norm(q)
            o["v"] = rng.uniform(-LARGEST_VELOCITY_COMPONENT, LARGEST_VELOCITY_COMPONENT, 3)
            o["w"] = rng.uniform(-SPIN, SPIN, 3)
            o["turn"] = turn(dt * o["w"])
            o["gravity"] = rng.uniform(-LARGEST_GRAVITY_FACTOR, LARGEST_GRAVITY_FACTOR)
            o["R"] = rotation_of_quaternion(*o["q"]).ravel()
            nodes = self.bodies[which].nodes
            r = float(np.linalg.norm(np.abs([nodes["low"][0], nodes["high"][0]]).max(axis=0)))
            box["low"], box["high"] = o["x"] - r, o["x"] + r

    def __reduce__(self) -> Any:
        raise TypeError("a Bounce cannot be copied or pickled; make another one with the same seed")

    # --- motion ---

    def advance(self, steps: int = MOST_UPDATES, updates: int = MOST_UPDATES) -> None:
        """Go on until that many steps, or updates of pairs by V-Clip, have been made since the start."""
        while advance(self._state, self.objects, steps, updates) == Status.FULL:
            self.collisions.grow()

    def timed_step(self) -> tuple[float, float, float]:
        """One step, phase by phase: seconds for the boxes and the hash, motion and V-Clip, walls and bounces."""
        clock = [time.perf_counter()]
        for phase in (broad_phase, narrow_phase):
            while phase(self._state, self.objects) == Status.FULL:
                self.collisions.grow()
                clock[-1] = time.perf_counter()
            clock.append(time.perf_counter())
        response(self._state, self.objects)
        clock.append(time.perf_counter())
        broad, narrow, rest = (after - before for before, after in pairwise(clock))
        return broad, narrow, rest

    # --- what can be seen ---

    @property
    def numbers(self) -> dict[str, int]:
        """Counts since the start; `pairs` is that of the last step."""
        counted = {name: self.collisions.numbers[name] for name in NUMBERS}
        counted |= {"pairs": len(self.collisions.pairs), "bounces": int(self._state["bounces"][0])}
        hashed = self._state["phases"][0] & HASHING
        return counted | {"made": self.collisions.broad_phase.pairs_made if hashed else 0}

    @property
    def side(self) -> float:
        """m, the longest one of the world."""
        return max(self.sides)

    @property
    def steps(self) -> int:
        return int(self._state["steps"][0])

    @property
    def updates(self) -> int:
        return self.collisions.numbers["updates"]

    @property
    def lows(self) -> Any:
        """The lowest corners of the boxes of the last step, (n, 3)."""
        return self.collisions.boxes["low"]

    @property
    def highs(self) -> Any:
        return self.collisions.boxes["high"]

    @property
    def poses(self) -> Array:
        """(n, 7): position and quaternion w x y z."""
        return np.hstack([self.objects["x"], self.objects["q"]])

    def close(self) -> tuple[Any, Any, Any]:
        """The pairs of the last step, (m, 2), their PAIR rows, and the CONTACT rows with their closest points."""
        pairs = self.collisions.pairs
        return np.column_stack([pairs["a"], pairs["b"]]), pairs, self.collisions.contacts

    def parts(self, i: int) -> tuple[Polyhedron, ...]:
        """The convex parts of object i."""
        return self.bodies[self.which[i]].parts

    def core(self, i: int, part: int) -> Polyhedron:
        """The convex body of object i that a contact is on: a part, or a hull of several that was not opened."""
        body = self.bodies[self.which[i]]
        return body.parts[part] if part >= 0 else body.cores[-1 - part]


def turn(phi: Array) -> Array:
    """The rotation by |phi| about phi as a quaternion."""
    half = 0.5 * float(np.linalg.norm(phi))
    return np.array([math.cos(half), *(0.5 * np.sinc(half / math.pi) * phi)])


# --- a run, with numbers ---


@dataclass
class Report:
    """The results of a run. All but the times depend on the seed alone."""

    count: int
    sides: tuple[float, float, float]
    steps: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    pairs: float = 0.0  # mean of the steps that were looked at
    checks: int = 0  # steps after which everything was checked
    missed: int = 0  # pairs of boxes that overlap and that the hash did not report
    invalid: int = 0  # checks at which a counter of the hash was wrong
    proved: int = 0  # distances that were proved
    wrong: int = 0  # distances that were not
    worst: float = 0.0  # m, largest error of a proof
    seconds: float = 0.0  # of stepping
    shares: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the broad phase, the narrow phase and the rest

    @property
    def good(self) -> bool:
        return self.missed == self.invalid == self.wrong == 0


def run(
    world: Bounce,
    steps: int = MOST_UPDATES,
    updates: int = MOST_UPDATES,
    *,
    check_every: int = 500,
    watch: Callable[[Bounce, Report], None] | None = None,
) -> Report:
    """Step until `steps` or `updates` are reached; every so often check everything, and call `watch`."""
    if steps == MOST_UPDATES and updates == MOST_UPDATES:
        raise ValueError("bounce: say how many steps or how many updates")
    report = Report(world.count, world.sides)
    world.advance(world.steps)  # compiles
    spent: list[tuple[float, float, float]] = []
    while world.steps < steps and world.updates < updates:
        start = time.perf_counter()
        world.advance(min(world.steps + check_every - 1, steps - 1), updates)
        report.seconds += time.perf_counter() - start
        if world.updates < updates:
            times = world.timed_step()
            spent.append(times)
            report.seconds += sum(times)
        oracle.check(world, report, SAMPLED)
        if watch is not None:
            watch(world, report)
    report.steps, report.numbers = world.steps, world.numbers
    if spent:
        broad, narrow, rest = np.median(spent, axis=0).tolist()  # a step during which others ran does not count
        total = broad + narrow + rest
        report.shares = broad / total, narrow / total, rest / total
    return report
