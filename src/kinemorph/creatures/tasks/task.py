"""Task: what a creature is to do, as a class of a few lines; and the stage on which it does it.

A task says what is around the creature (`prepare`), what comes when it wakes (`begin`), and what it was worth (`mark`).
All else is here: the world, settling with motors off, small differences between draws, and what is recorded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph.creatures.episodes.recorder import begin_statistics
from kinemorph.creatures.episodes.script import ASLEEP, AWAKE, Segments, make_segments, run_script
from kinemorph.creatures.growth.develop import Phenotype
from kinemorph.creatures.settings import DEFAULT, Root, Settings, check_members
from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.spatial.arguments.annotated import checked_first, checked_on_failure
from kinemorph.spatial.arguments.annotations import check_fields
from kinemorph.spatial.arguments.checks import check_finite, check_whole, repr_of
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import times
from kinemorph.world.body import Body, Figure
from kinemorph.world.brains.brain_instances import BrainInstance
from kinemorph.world.world import World

Array = npt.NDArray[np.float64]
Vector = tuple[float, float, float]
G = 9.81  # m/s²
GRAVITY_SPREAD = 0.02  # by how much gravity differs
LARGEST_LEVEL = 1e6  # of draws: beyond it friction, knocks and weight are no numbers
HARD_LEVEL = 1.5  # the level beyond which it may differ by more, and knocks may throw a creature up
KNOCKS_PER_LOOK = 3  # times as many knocks as looks, then
SLIP, BOUNCE = 0.1, 0.05  # by how much friction differs, and the mean restitution, where a task says nothing else
SMALLEST_REMAINING_SHARE = 0.05  # share of friction and of weight that is left, at levels of any size
LARGEST_FINE_POWER = 1.5  # power of `fine`, likewise: even more substeps only take longer
START_HEIGHT = 1e-3  # m, above the ground at the start
STILL_TIME = 0.25  # s without motion that end settling
TILT, NUDGE = 0.05, 0.5  # rad and s: how far and how long weight pulls aslant before that
STAY_TIME = 0.5  # s with motors off, in which a settled creature must stay where it is
SHORTEST, LOWEST = 0.4, 0.2  # m: smaller creatures are measured as if they were so long, and so high


NUMBERS = {
    "seconds": (1e-9, 1e9), "dt": (1e-9, 0.1), "patience": (0.0, 1e9), "gravity": (0.0, 1e6), "vary": (0.0, 1e3),
    "slip": (0.0, 1e3), "weigh": (0.0, 1e3), "hop": (0.0, 1e3), "bounce": (0.0, 1e3), "fine": (1.0, 100.0),
    "turn": (0.0, 1e3), "kick": (0.0, 1e3), "light": (0.0, 1.0),
}  # fmt: skip
MOST_EPISODE_STEPS = 1_000_000  # of a life, settling included: a task may be from a file, and films keep every step
COUNTS = {"substeps": (1, 100), "work": (0, 1 << 61), "looks": (1, 1_000_000)}


class Marks(NamedTuple):
    """What a creature has done: what searches compare, the thesis's formula (never negative), what is reported."""

    value: float
    thesis: float
    measure: float


@checked_on_failure
@dataclass(frozen=True)
class Task:
    """What a creature is to do. Fields are settings of a task: two of the same class may differ in them."""

    seconds: float = 9.0  # of life, after settling
    dt: float = 5e-3  # s, of a step
    substeps: int = 2  # of contacts in a step
    patience: float = 4.0  # s, that it has to settle; 0: it does not
    work: int = 4_000_000  # budget of a life, in rows of the solver times substeps
    gravity: float = G  # m/s²
    vary: float = 1.0  # by how much of their ranges draws differ: in gravity, ground, bearing and knocks
    slip: float = SLIP  # the range of friction, to each side
    weigh: float = 0.0  # and of gravity, by so much more for each level beyond HARD
    hop: float = 0.0  # m/s for each level beyond HARD: knocks come OFTEN times as often, and throw it up by up to this
    bounce: float = BOUNCE  # restitution of the ground, up to twice as much; of every other draw none
    fine: float = 1.0  # up to so many times as many substeps: contacts are the harder the more there are
    turn: float = 0.0  # rad, to each side: by how much it may look aside at first
    kick: float = 0.0  # m/s, and four times as many rad/s about the vertical: knocks at each look
    root: Root = Root.FREE
    grasps: bool = False  # whether parts without children may hold what they touch
    settings: Settings = DEFAULT  # of growth
    moves: bool = True  # whether its joints must move
    looks: int = 1  # how often in each half of a life the way to the target is written down
    light: float = 1.0  # share of its weight at level 0, from which it rises with the level to all of it at 1
    aim: ClassVar[Vector | None] = None  # m: the target from the start; others come when it wakes
    trials: ClassVar[int] = 0  # catch trials in each race of a search, where the target is not always at one place

    def __post_init__(self) -> None:
        check_members(f"task {self.name}", self, NUMBERS, COUNTS)
        if (self.seconds + self.patience) / self.dt > MOST_EPISODE_STEPS:
            raise ValueError(
                f"task {self.name}: {self.seconds:g} s of life and {self.patience:g} s of patience in steps of"
                f" {self.dt:g} s are more than {MOST_EPISODE_STEPS} steps; make it shorter, or the steps longer"
            )
        if not isinstance(self.root, str) or self.root not in list(Root):
            raise ValueError(f"task {self.name}: root is {repr_of(self.root)}, and must be one of {', '.join(Root)}")
        if not isinstance(self.settings, Settings):
            raise TypeError(
                f"task {self.name}: settings is {repr_of(self.settings)}, and must be kinemorph.creatures.Settings"
            )
        object.__setattr__(self, "root", Root(self.root))
        check_fields(self)

    @property
    def name(self) -> str:
        """What it is called, in tables and files."""
        return "".join(f" {c.lower()}" if c.isupper() else c for c in type(self).__name__).strip()

    def grown(self) -> Settings:
        """The settings by which creatures grow for this task."""
        return _settings_for_task(self.settings, self.root, self.grasps)

    def blinded(self) -> Task:
        """The task of a catch trial, an episode without senses: a creature that succeeds in it did not need them."""
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
SHARED = 1024  # draws by which many live, one after the other: what they have in common is made once


@lru_cache(maxsize=SHARED)
def _seeds(seed: int, number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([seed, number])


@lru_cache(maxsize=SHARED)
def _ground_material(friction: float, restitution: float) -> Material:
    return Material(friction=friction, restitution=restitution)


@lru_cache(maxsize=SHARED)
def _heading_axes(turn: float) -> tuple[Array, Array]:
    """The axes after a turn about z (rad), as given and as a `Pose` keeps them: a rotation to the last bit."""
    faces = Pose.rpy(0.0, 0.0, turn).rotation
    return faces, Pose(rotation=faces).rotation


@lru_cache(maxsize=64)
def _settings_for_task(settings: Settings, root: Root, grasps: bool) -> Settings:
    return replace(settings, root=root, grasps=grasps)


def check_draw(what: str, seed: int, number: int, level: float) -> tuple[int, int, float]:
    """A draw that lives can be made of."""
    whole = check_whole(f"{what}: seed", seed), check_whole(f"{what}: number", number)
    return (*whole, check_finite(f"{what}: level", level, 0.0, LARGEST_LEVEL))


class Notes(dict[str, Any]):
    """What a task notes when it begins, and reads when it marks."""

    def __missing__(self, key: str) -> Any:
        raise KeyError(f"stage: {key!r} is not noted; let the task that marks it begin on it")


@checked_first
class Stage:
    """One creature in a world, for one task and one draw. What is random in it comes from `rng`."""

    def __init__(self, task: Task, phenotype: Phenotype, seed: int, number: int = 0, level: float = 1.0) -> None:
        seed, number, level = check_draw("Stage", seed, number, level)
        self.task, self.phenotype, self.number, self.level = task, phenotype, number, level
        beyond = max(0.0, level - HARD_LEVEL)
        self.hop = task.vary * beyond * task.hop  # m/s, up to which knocks throw it up
        self.rng = np.random.Generator(np.random.PCG64(_seeds(seed, number)))
        shake = [task.vary * self.chance() for _ in range(3)]
        slip, bounce = (usual + level * (most - usual) for usual, most in ((SLIP, task.slip), (BOUNCE, task.bounce)))
        rough = 0.8 * max(SMALLEST_REMAINING_SHARE, 1.0 + slip * shake[0])
        self.soil = _ground_material(rough, min(1.0, 2.0 * max(0.0, bounce) * max(0.0, shake[1])))
        weight = task.gravity * max(SMALLEST_REMAINING_SHARE, 1.0 + (GRAVITY_SPREAD + task.weigh * beyond) * shake[2])
        weight *= 1.0 - (1.0 - task.light) * max(0.0, 1.0 - level)
        finer = task.fine ** min(LARGEST_FINE_POWER, task.vary * level * self.rng.random()) if task.fine > 1.0 else 1.0
        self.substeps = min(round(finer * task.substeps), COUNTS["substeps"][1])
        self.world = World((0.0, 0.0, -weight), task.dt, sleep=False, sweeps=True, substeps=self.substeps)
        self.length = phenotype.length  # m, of the creature as it grew
        faces, turned = _heading_axes(task.vary * level * task.turn * self.chance() if task.turn else 0.0)
        at = np.zeros(3)
        if task.root is Root.FREE:
            at[:2] = (-(times(faces, phenotype.moment)) / phenotype.mass)[:2]
            at[2] = START_HEIGHT - phenotype.lowest if task.gravity > 0.0 else 0.0
        self.notes = Notes()  # of the task's own
        task.prepare(self)
        self.figure: Figure = self.world.add(phenotype.model, at=Pose.known(at, turned))
        self.mind: BrainInstance = self.world.brains.attach(self.figure, phenotype.brain, task.aim)
        self.statistics = begin_statistics(self.world)
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
        return max(self.phenotype.height, LOWEST)

    @property
    def life(self) -> dict[str, Any]:
        """What was recorded since it woke: see `kinemorph.creatures.EpisodeStatistics.of`."""
        return self.statistics.of(self.mind)

    @property
    def cost(self) -> dict[str, float]:
        """Energies and work since it woke: see `kinemorph.creatures.EpisodeStatistics.cost`."""
        return self.statistics.cost

    def seen(self) -> Any:
        """The row of `life`, up to date."""
        return self.statistics.row(self.mind)

    @property
    def centre(self) -> Array:
        """m, the centre of mass."""
        return np.array(self.seen()["centre"])

    @property
    def way(self) -> Array:
        """m, how far that came."""
        return self.centre - self.start

    def late_gap(self) -> float:
        """m, mean distance to the target in the second half of the life."""
        life, (steps, gaps) = self.seen(), self.half
        steps = int(life["steps"]) - steps
        return (float(life["gap_sum"]) - gaps) / steps if steps else float(life["gap"])

    def add_ground(self) -> None:
        """A floor, of the draw's friction and restitution."""
        self.world.add_ground(material=self.soil)

    def add_ball(self, at: Any, radius: float = 0.1, density: float = 100.0) -> Body:
        """A ball of a density (kg/m³)."""
        radius = check_finite("add_ball: radius", radius, 1e-4, 1e4)
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
        """Fall to the ground with motors off. Returns why it is rejected, or nothing.

        At first gravity is tilted, so that a creature in unstable equilibrium topples now and not later.
        """
        task = self.task
        if task.patience <= 0.0:
            return ""
        angle = float(self.rng.uniform(0.0, 2.0 * np.pi))
        x, y, z = straight = self.world.gravity.tolist()
        aslant = x - TILT * z * math.cos(angle), y - TILT * z * math.sin(angle), z
        script = _settling_script(task.dt, task.patience, self.work).copy()
        script["gravity"][:2] = aslant, straight
        made = run_script(self.mind, script)
        still, (_, before, after, _) = script["still"].tolist()[1], script["centre"].tolist()
        if still < STILL_TIME:
            return "budget" if self.spent else "never still"
        if made < len(script):
            self.mind.asleep = False
        return "drifts with motors off" if math.dist(before, after) > 0.05 * self.size else ""

    def live(self) -> None:
        """All of its life, or as much as the task and the budget allow."""
        task, world = self.task, self.world
        begin_statistics(world)  # for monitors that read where it is
        task.begin(self)
        life = self.seen()
        self.start, self.height, self.gap = np.array(life["centre"]), float(life["lowest"]), float(life["gap"])
        woken, half, whole = (round(t / task.dt) for t in (world.time, 0.5 * task.seconds, task.seconds))
        knocked, often = bool(task.kick or self.hop), self.spells // task.looks
        ends, usual = _episode_script(half, whole, self.spells, knocked, self.work)
        script = usual.copy()
        if knocked:
            script["velocity_change"][1:] = self.knocks(len(ends) - 1)
        lived = script[: run_script(self.mind, script)]
        self.gaps = lived["gap"][often - 1 :: often].tolist()
        if first := sum(end <= half for end in ends[: len(lived)]):
            self.half = int(lived["steps_recorded"][first - 1]), float(lived["gap_sum"][first - 1])
        self.time = (round(world.time / task.dt) - woken) * task.dt

    @property
    def spells(self) -> int:
        """Of each half of its life: between any two of them it may be knocked."""
        return self.task.looks * (KNOCKS_PER_LOOK if self.hop else 1)

    def knocks(self, count: int) -> list[tuple[float, ...]]:
        """The next knocks: what each adds to the velocity and to the turning of all of it (m/s, rad/s)."""
        kick = self.task.vary * self.level * self.task.kick
        count = check_whole("knocks: count", count)
        chances = (2.0 * self.rng.random((count, 2)) - 1.0).tolist()
        pushed = [(kick * math.cos(math.pi * angle), kick * math.sin(math.pi * angle)) for angle, _ in chances]
        lifted = (self.hop * self.rng.random(count)).tolist() if self.hop else [0.0] * count
        turned = [4.0 * kick * turn for _, turn in chances]
        return [(*push, up, 0.0, 0.0, turn) for push, up, turn in zip(pushed, lifted, turned, strict=True)]

    @property
    def early(self) -> bool:
        """Whether an event or the budget ended the life before its time."""
        return self.time < self.task.seconds - 0.5 * self.task.dt

    @property
    def spent(self) -> bool:
        """Whether the budget of work has ended the life."""
        return overspent(self.cost)


def overspent(toil: dict[str, float]) -> bool:
    """Whether more work was done than the budget allows, of `kinemorph.creatures.EpisodeStatistics.cost`."""
    return toil["work"] > toil["budget"]


@lru_cache(maxsize=64)
def _settling_script(dt: float, patience: float, work: int) -> Segments:
    """It is nudged, falls until it lies still, should stay where it is, and wakes. Weights are to be filled in."""
    script = make_segments(4)
    script["steps"] = [round(seconds / dt) for seconds in (NUDGE, patience, STAY_TIME, 0.0)]
    script["mind"], script["sets_gravity"] = (ASLEEP, 0, 0, AWAKE), (1, 1, 0, 0)
    script["restarts"], script["budget"], script["until_still"][1] = (1, 1, 1, 0), work, STILL_TIME
    return script


@lru_cache(maxsize=64)
def _episode_script(half: int, whole: int, looks: int, knocked: bool, work: int) -> tuple[list[int], Segments]:
    """A life with so many looks in each half: after how many steps they are, and a script without its knocks."""
    ends = [*_even_steps(0, half, looks), *_even_steps(half, whole, looks)]
    script = make_segments(len(ends))
    script["steps"], script["has_impulse"][1:] = np.diff(ends, prepend=0), knocked
    script["restarts"][0], script["budget"][0] = 1, work
    return ends, script


def _even_steps(start: int, end: int, count: int) -> list[int]:
    """So many numbers of steps after a first one, evenly, up to the last."""
    return [start + round((end - start) * k / count) for k in range(1, count + 1)]


def closeness(mean: float, start: float) -> float:
    """1 at the target, 0 as far as at the start, and less beyond; never less than -1."""
    return max(-1.0, 1.0 - mean / start) if start > 1e-6 else 1.0
