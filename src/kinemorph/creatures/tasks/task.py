"""Task: what a creature is to do, as a class of a few lines; and the stage on which it does it.

A task says what is around the creature (`prepare`), what comes when it wakes (`begin`), and what it was worth (`mark`).
All else is here: the world, settling with motors off, small differences between draws, and what is watched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph.creatures.develop import Phenotype
from kinemorph.creatures.settings import DEFAULT, Root, Settings, check_members
from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.spatial.pose import Pose
from kinemorph.world.body import Body, Figure
from kinemorph.world.living import live
from kinemorph.world.minds import Mind
from kinemorph.world.world import World

Array = npt.NDArray[np.float64]
Vector = tuple[float, float, float]
G = 9.81  # m/s²
SLIP, BOUNCE = 0.1, 0.05  # by how much friction differs, and the mean restitution, where a task says nothing else
LEAST, MOST = 0.05, 6.0  # share of friction that is left, and power of `fine`, at levels of any size
FALL = 1e-3  # m, above the ground at the start
STILL = 0.25  # s without motion that end settling
TILT, NUDGE = 0.05, 0.5  # rad and s: how far and how long weight pulls aslant before that
WATCH = 0.5  # s with motors off, in which a settled creature must stay where it is
SHORTEST, LOWEST = 0.4, 0.2  # m: smaller creatures are measured as if they were so long, and so high


NUMBERS = {
    "seconds": (1e-9, 1e9), "dt": (1e-9, 0.1), "patience": (0.0, 1e9), "gravity": (0.0, 1e6), "vary": (0.0, 1e3),
    "slip": (0.0, 1e3), "bounce": (0.0, 1e3), "fine": (1.0, 100.0), "turn": (0.0, 1e3), "kick": (0.0, 1e3),
}  # fmt: skip
COUNTS = {"substeps": (1, 100), "work": (0, 1 << 61), "looks": (1, 1_000_000)}


class Marks(NamedTuple):
    """What a creature has done: what searches compare, the thesis's formula (never negative), what is reported."""

    value: float
    thesis: float
    measure: float


@dataclass(frozen=True)
class Task:
    """What a creature is to do. Fields are settings of a task: two of the same class may differ in them."""

    seconds: float = 9.0  # of life, after settling
    dt: float = 5e-3  # s, of a step
    substeps: int = 2  # of contacts in a step
    patience: float = 4.0  # s, that it has to settle; 0: it does not
    work: int = 4_000_000  # budget of a life, in rows of the solver times substeps
    gravity: float = G  # m/s²
    vary: float = 1.0  # by how much of their ranges gravity, friction, restitution and bearing differ between draws
    slip: float = SLIP  # the range of friction, to each side
    bounce: float = BOUNCE  # restitution of the ground, up to twice as much; of every other draw none
    fine: float = 1.0  # up to so many times as many substeps: contacts are the harder the more there are
    turn: float = 0.0  # rad, to each side: by how much it may look aside at first
    kick: float = 0.0  # m/s, and four times as many rad/s about the vertical: knocks at each look
    root: Root = Root.FREE
    grasps: bool = False  # whether parts without children may hold what they touch
    settings: Settings = DEFAULT  # of growth
    moves: bool = True  # whether its joints must move
    looks: int = 1  # how often in each half of a life the way to the target is written down

    def __post_init__(self) -> None:
        check_members(f"task {self.name}", self, NUMBERS, COUNTS)
        if self.root not in list(Root):
            raise ValueError(f"task {self.name}: root {self.root!r} must be one of {', '.join(Root)}")
        if not isinstance(self.settings, Settings):
            raise TypeError(f"task {self.name}: settings {self.settings!r} must be kinemorph.creatures.Settings")
        object.__setattr__(self, "root", Root(self.root))

    @property
    def name(self) -> str:
        """What it is called, in tables and files."""
        return "".join(f" {c.lower()}" if c.isupper() else c for c in type(self).__name__).strip()

    def grown(self) -> Settings:
        """The settings by which creatures grow for this task."""
        return _grown(self.settings, self.root, self.grasps)

    def blinded(self) -> Task:
        """The task of a catch trial, a life without senses: whoever succeeds in that did not need them."""
        return self

    # --------------------------------------------------------------------------------- what a task of one's own says

    def prepare(self, stage: Stage) -> None:
        """What is there before the creature settles: by default ground, if things fall."""
        if self.gravity > 0.0:
            stage.add_ground()

    def begin(self, stage: Stage) -> None:
        """What comes when it wakes, such as a ball and a target."""

    def mark(self, stage: Stage) -> Marks:
        """What it was worth, at the end."""
        raise NotImplementedError


_sphere = lru_cache(maxsize=8)(Shape.sphere)  # the same one for all lives, so that worlds know it


@lru_cache(maxsize=64)
def _grown(settings: Settings, root: Root, grasps: bool) -> Settings:
    return replace(settings, root=root, grasps=grasps)


class Stage:
    """One creature in a world, for one task and one draw. What is random in it comes from `rng`."""

    def __init__(self, task: Task, phenotype: Phenotype, seed: int, number: int = 0, level: float = 1.0) -> None:
        self.task, self.phenotype, self.number, self.level = task, phenotype, number, level
        self.rng = np.random.default_rng([seed, number])
        shake = [task.vary * self.chance() for _ in range(3)]
        slip, bounce = (usual + level * (most - usual) for usual, most in ((SLIP, task.slip), (BOUNCE, task.bounce)))
        rough = 0.8 * max(LEAST, 1.0 + slip * shake[0])
        self.soil = Material(friction=rough, restitution=min(1.0, 2.0 * max(0.0, bounce) * max(0.0, shake[1])))
        weight = task.gravity * (1.0 + 0.02 * shake[2])
        finer = task.fine ** min(MOST, task.vary * level * self.rng.random()) if task.fine > 1.0 else 1.0
        self.substeps = min(round(finer * task.substeps), COUNTS["substeps"][1])
        self.world = World((0.0, 0.0, -weight), task.dt, sleep=False, sweeps=True, substeps=self.substeps)
        rows = phenotype.rows
        low, high = phenotype.bounds
        self.length = float((high - low).max())  # m, of the creature as it grew
        free = task.root is Root.FREE
        turn = task.vary * level * task.turn * self.chance() if task.turn else 0.0
        faces = Pose.rpy(0.0, 0.0, turn).rotation
        middle = faces @ (rows["mass"] @ rows["p"]) / rows["mass"].sum()
        at = (-middle[0], -middle[1], FALL - low[2] if task.gravity > 0.0 else 0.0) if free else (0.0, 0.0, 0.0)
        self.notes: dict[str, Any] = {}  # of the task's own
        task.prepare(self)
        self.figure: Figure = self.world.add(phenotype.model, at=Pose(at, faces))
        self.mind: Mind = self.world.think(self.figure, phenotype.brain)
        self.start: Array = np.zeros(3)  # m, centre of mass when it woke
        self.height = 0.0  # m, of its lowest point then
        self.gap = 0.0  # m, to the target then
        self.half = (0, 0.0)  # steps of the first half, and the sum of the gaps to the target then
        self.gaps: list[float] = []  # m, to the target, as often as the task looks
        self.time = 0.0  # s, that it lived after it woke

    def chance(self) -> float:
        """The next random number from -1 to 1."""
        return 2.0 * float(self.rng.random()) - 1.0

    @property
    def parts(self) -> int:
        return len(self.phenotype.rows)

    @property
    def work(self) -> int:
        """The budget of its life: that of the task, for as many substeps as there are."""
        return self.task.work * self.substeps // self.task.substeps

    @property
    def size(self) -> float:
        """m, by which ways are measured: its length, if that is not tiny."""
        return max(self.length, SHORTEST)

    @property
    def tall(self) -> float:
        """m, by which jumps are measured: its height as it grew, if that is not tiny."""
        low, high = self.phenotype.bounds
        return max(float(high[2] - low[2]), LOWEST)

    @property
    def life(self) -> dict[str, Any]:
        """What was watched since it woke: see `kinemorph.Mind.life`."""
        return self.mind.life

    @property
    def centre(self) -> Array:
        """m, the centre of mass."""
        return np.array(self.mind.seen()["centre"])

    @property
    def way(self) -> Array:
        """m, how far that came."""
        return self.centre - self.start

    def late_gap(self) -> float:
        """m, mean distance to the target in the second half of the life."""
        life, (steps, gaps) = self.mind.seen(), self.half
        steps = int(life["steps"]) - steps
        return (float(life["gaps"]) - gaps) / steps if steps else float(life["gap"])

    def add_ground(self) -> None:
        """A floor, of the draw's friction and restitution."""
        self.world.add_ground(material=self.soil)

    def add_ball(self, at: Any, radius: float = 0.1, density: float = 100.0) -> Body:
        """A ball of a density (kg/m³)."""
        ball: Body = self.world.add(_sphere(radius), at=at, density=density, name="ball")
        return ball

    def hand(self) -> Body:
        """The last part that has no children."""
        leaves = set(range(self.parts)) - set(self.phenotype.rows["parent"].tolist())
        return self.figure[f"part{max(leaves)}"]

    def stop_when(self, event: Event) -> None:
        """Let the life end with an event."""
        self.world.when(replace(event, ends=1))

    # ------------------------------------------------------------------------------------------------------- a life

    def settle(self) -> str:
        """Fall to the ground with motors off. Returns why it is rejected, or nothing."""
        if self.task.patience <= 0.0:
            return ""
        self.mind.asleep = True
        self.world.watch_minds(self.work)
        self._nudge()
        self.world.watch_minds(self.work, STILL)
        self.world.run(self.task.patience)
        if self.mind.seen()["still"] < STILL:
            return "budget" if self.spent else "never still"
        before = self.centre
        self.world.watch_minds(self.work)
        self.world.run(WATCH)
        drift = float(np.linalg.norm(self.centre - before))
        self.mind.asleep = False
        return "drifts with motors off" if drift > 0.05 * self.size else ""

    def _nudge(self) -> None:
        """Let weight pull aslant for a while: what only stands while nobody breathes topples now, and not later."""
        world, angle = self.world, float(self.rng.uniform(0.0, 2.0 * np.pi))
        weight = world.gravity
        world.gravity = weight - TILT * weight[2] * np.array((math.cos(angle), math.sin(angle), 0.0))
        world.run(NUDGE)
        world.gravity = weight

    def live(self) -> None:
        """All of its life, or as much as the task and the budget allow."""
        task, world = self.task, self.world
        world.watch_minds()  # for whoever asks where it is
        task.begin(self)
        world.watch_minds(self.work)
        life = self.mind.seen()
        self.start, self.height, self.gap = np.array(life["centre"]), float(life["lowest"]), float(life["gap"])
        woken, half, whole = (round(t / task.dt) for t in (world.time, 0.5 * task.seconds, task.seconds))
        ends = [*_looks(0, half, task.looks), *_looks(half, whole, task.looks)]
        knocks = [(*push, *turn) for push, turn in (self.knocks() for _ in ends[1:])] if task.kick else []
        seen, k, left = live(self.mind, ends, knocks)
        while k < len(ends):  # what cannot go on without Python
            world.step(left)
            life = self.mind.seen()
            seen[k] = life["steps"], life["gap"], life["gaps"]
            k += 1
            if k == len(ends) or round(world.time / task.dt) < woken + ends[k - 1]:
                break
            if task.kick:
                world.forest.knock(self.figure["part0"].id, knocks[k - 1][:3], knocks[k - 1][3:])
            left = ends[k] - ends[k - 1]
        self.gaps = seen[:k, 1].tolist()
        if first := sum(end <= half for end in ends[:k]):
            self.half = int(seen[first - 1, 0]), float(seen[first - 1, 2])
        self.time = (round(world.time / task.dt) - woken) * task.dt

    def knocks(self) -> tuple[Vector, Vector]:
        """The next knock: what it adds to the velocity and to the turning of all of it (m/s, rad/s)."""
        angle, turn = self.chance(), self.chance()
        x, y = math.cos(math.pi * angle), math.sin(math.pi * angle)
        kick = self.task.vary * self.level * self.task.kick
        return (kick * x, kick * y, 0.0), (0.0, 0.0, 4.0 * kick * turn)

    @property
    def early(self) -> bool:
        """Whether an event or the budget ended the life before its time."""
        return self.time < self.task.seconds - 0.5 * self.task.dt

    @property
    def spent(self) -> bool:
        """Whether the budget of work has ended the life."""
        toil = self.world.toil
        return toil["work"] > toil["budget"]


def _looks(start: int, end: int, count: int) -> list[int]:
    """So many numbers of steps after a first one, evenly, up to the last."""
    return [start + round((end - start) * k / count) for k in range(1, count + 1)]


def closeness(mean: float, start: float) -> float:
    """1 at the target, 0 as far as at the start, and less beyond; never less than -1."""
    return max(-1.0, 1.0 - mean / start) if start > 1e-6 else 1.0
