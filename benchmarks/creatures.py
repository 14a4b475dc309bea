"""Creatures beside MuJoCo: random ones, each nine seconds of life at 5 ms with its brain, self-collision on.

    python -m benchmarks.creatures [--quick] [--json FILE] [--plot FILE]

Both have the same bodies (ours, exported as MJCF), the same floor and friction, the same start, and the same values for
the same drives. MuJoCo runs twice: with the brain in Python, which reads what the senses read and writes what drives
are told, 25 times a second; and with all that drives are told computed beforehand, by `mujoco.rollout`. An evaluation
also watches the life for exploits, in each step: that is a row of its own, in which both do so, there in Python (the
largest speeds, the deepest overlap, energy, and the work of motors). Times are of the processor, not of the clock, and
each part's best of some rounds counts. Building is from a genotype to a model and a brain, and up to a world with
ground, figure and mind that can make a step; there it is from a file's text to a compiled model and its data. Creatures
that MuJoCo cannot go on with (it says so by a warning) are left out, and counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np
from tests.brain.oracle import Slow

import kinemorph as km
from benchmarks.measure import Row, arguments, report
from kinemorph.brain import Brain
from kinemorph.creatures import begin_statistics
from kinemorph.creatures.evaluate import evaluate
from kinemorph.creatures.genotype.random_genotype import random_genotype
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.creatures.tasks import Locomotion
from kinemorph.geometry.ground import HalfSpace
from kinemorph.scenes.creatures.in_mujoco import Senses, drive_command, effort_shares

SECONDS, DT, RATE = 9.0, 5e-3, 25.0
STEPS, EVERY = round(SECONDS / DT), round(1.0 / RATE / DT)
SOIL = km.Material(friction=0.8)
FAR = np.array([100.0, 0.0, 0.0])
ASKED = {"brain in Python": 5.0, "rollout": 1.5, "build": 3.0, "two workers": 1.8}


def creatures(count: int) -> list[Phenotype]:
    """The first random creatures of two to ten parts that may live."""
    found: list[Phenotype] = []
    seed = 0
    while len(found) < count:
        one = develop(random_genotype(seed))
        if not one.rejected and 2 <= len(one.rows) <= 10:
            found.append(one)
        seed += 1
    return found


class Ours:
    """A creature in a world of ours."""

    def __init__(self, one: Phenotype, watched: bool = False) -> None:
        self.world = km.World(dt=DT, sleep=False, sweeps=True, substeps=2)
        self.world.add_ground(material=SOIL)
        figure = self.world.add(one.model, at=(0.0, 0.0, one.lift))
        self.mind = self.world.brains.attach(figure, one.brain, FAR)
        if watched:
            begin_statistics(self.world)

    def run(self) -> None:
        self.world.step(STEPS)

    def told(self) -> Any:
        """Run, and write down what drives are told in each step."""
        drives, told = self.world.solver["drives"], []
        for _ in range(STEPS // EVERY):
            self.world.step(1)
            told.append(drives["position"][: int(self.world.solver.header["drive_count"][0])].copy())
            self.world.step(EVERY - 1)
        return np.repeat(np.array(told), EVERY, axis=0)


def exported(one: Phenotype, folder: Path) -> str:
    """A creature as the text of an MJCF file, on a floor."""
    floor = km.Floor(HalfSpace(), km.Pose(), SOIL)
    model = one.driven_model.with_equipment(floors=(floor,), actuators=one.driven_model.actuators)
    return km.save_mjcf(model, folder / "creature.xml").read_text("utf-8")


class Watch:
    """What exploits are told by, of a creature in MuJoCo."""

    def __init__(self, model: Any, data: Any) -> None:
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        self.data, self.dt = data, model.opt.timestep
        self.fastest = self.spin = self.depth = self.work = self.surplus = 0.0
        self.start: float | None = None

    def look(self) -> None:
        d = self.data
        self.fastest = max(self.fastest, float(np.abs(d.qvel[:3]).max()))
        self.spin = max(self.spin, float(np.abs(d.qvel[6:]).max()))
        if d.ncon:
            self.depth = max(self.depth, -float(d.contact.dist.min()))
        self.work += self.dt * float(d.actuator_force @ d.actuator_velocity)
        energy = float(d.energy[0] + d.energy[1])
        if self.start is None:
            self.start = energy
        self.surplus = max(self.surplus, energy - self.start - self.work)


class Theirs:
    """The same creature in MuJoCo."""

    def __init__(self, text: str, one: Phenotype) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.model.opt.timestep = DT
        self.data = mujoco.MjData(self.model)
        self.data.qpos[2] = one.lift
        self.brain = one.brain

    def prepare(self) -> None:
        """Look up where everything is that the brain reads and writes."""
        self.senses = Senses(mujoco, self.model, self.data, self.brain.senses, FAR)
        self.effects = effort_shares(self.brain)

    def run(self, watched: bool = False) -> None:
        """With the brain in Python."""
        brain, watch = Slow(self.brain), Watch(self.model, self.data) if watched else None
        for _ in range(STEPS // EVERY):
            sensed = self.senses.read()
            brain.step(sensed)
            signals = brain.signals(sensed)
            for k, share in enumerate(self.effects):
                self.data.ctrl[k] = drive_command(share, signals)
            for _ in range(EVERY):
                mujoco.mj_step(self.model, self.data)
                if watch:
                    watch.look()

    def roll(self, control: Any) -> None:
        """With all control known beforehand."""
        state = np.zeros((1, mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        mujoco.mj_getState(self.model, self.data, state[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.rollout.rollout(self.model, self.data, state, control[None])

    @property
    def lost(self) -> bool:
        return bool(self.data.warning.number.sum() > 0)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """s of this processor, and what came of it."""
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def developed(one: Phenotype) -> Phenotype:
    """The same creature from its genotype: a model and a brain."""
    grown = Phenotype(one.genotype, one.settings)
    assert grown.model.n
    assert not grown.brain.idle
    return grown


def measure(one: Phenotype, folder: Path, rounds: int) -> dict[str, float]:
    """Best times of all parts, for one creature."""
    text = exported(one, folder)
    control = Ours(one).told()
    brain: Brain = one.brain
    best: dict[str, float] = {}

    def note(name: str, seconds: float) -> None:
        best[name] = min(seconds, best.get(name, np.inf))

    for _ in range(rounds):
        seconds, grown = timed(lambda: developed(one))
        note("develop", seconds)
        seconds, ours = timed(lambda grown=grown: Ours(grown))
        note("build", seconds + best["develop"])
        note("run", timed(ours.run)[0])
        note("watched", timed(Ours(grown, watched=True).run)[0])
        seconds, theirs = timed(lambda: Theirs(text, one))
        note("compile", seconds)
        theirs.prepare()
        note("python", timed(theirs.run)[0])
        lost = theirs.lost
        theirs = Theirs(text, one)
        theirs.prepare()
        note("python watched", timed(lambda theirs=theirs: theirs.run(watched=True))[0])
        theirs = Theirs(text, one)
        note("rollout", timed(lambda theirs=theirs: theirs.roll(control))[0])
        best["lost"] = float(lost or theirs.lost)
    return best | {"parts": float(len(one.rows)), "neurons": float(len(brain.neurons))}


def of_worker(job: tuple[int, list[int]]) -> float:
    """Evaluations of some creatures in a process of its own. Returns the seconds of the clock that they took."""
    first, seeds = job
    found = [develop(random_genotype(seed)) for seed in seeds]
    evaluate(found[0], Locomotion(), first)  # loads all kernels
    start = time.perf_counter()
    for one in found:
        evaluate(one, Locomotion(), first)
    return time.perf_counter() - start


def workers(count: int) -> tuple[float, float]:
    """s of the clock for all evaluations by one worker, and by two, the slower of them."""
    seeds, seed = [], 0
    while len(seeds) < count:
        one = develop(random_genotype(seed))
        if not one.rejected:
            seeds.append(seed)
        seed += 1
    context = get_context("spawn")
    best = [np.inf, np.inf]
    with context.Pool(2) as pool:
        for _ in range(3):
            best[0] = min(best[0], pool.map(of_worker, [(0, seeds)], 1)[0])
            best[1] = min(best[1], max(pool.map(of_worker, [(0, seeds[0::2]), (0, seeds[1::2])], 1)))
    return best[0], best[1]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--plot", type=Path, help="write a picture of how the cost grows with the number of parts")
    options = parser.parse_args()
    count, rounds = (12, 2) if options.quick else (200, 3)
    with tempfile.TemporaryDirectory() as folder:
        found = [measure(one, Path(folder), rounds) for one in creatures(count)]
    good = [one for one in found if not one["lost"]]
    total = {name: sum(one[name] for one in good) for name in found[0]}
    rows = []
    for case, peer in (("brain in Python", "python"), ("rollout", "rollout")):
        rows.append(Row("creatures", case, "ms of a life, run", *_ms(total, "run", peer, len(good)), "MuJoCo", None))
    rows.append(
        Row(
            "creatures", "brain and watch in Python", "ms of a life, run and watched",
            *_ms(total, "watched", "python watched", len(good)), "MuJoCo", None,
        )
    )  # fmt: skip
    both = {"a": total["build"] + total["run"], "b": total["compile"] + total["rollout"]}
    rows.append(
        Row("creatures", "rollout", "ms of a life, built and run", *_ms(both, "a", "b", len(good)), "MuJoCo", None)
    )
    rows.append(Row("creatures", "build", "ms, a model", *_ms(total, "develop", "compile", len(good)), "MuJoCo", None))
    rows.append(
        Row("creatures", "build", "ms, up to a step", *_ms(total, "build", "compile", len(good)), "MuJoCo", None)
    )
    for parts in range(2, 11):
        some = [one for one in good if one["parts"] == parts]
        if some:
            names = "run", "rollout", "build", "compile"
            mean = {name: float(np.mean([one[name] for one in some])) for name in names}
            for what, ours, theirs in (("ms of a life, run", *names[:2]), ("ms, up to a step", *names[2:])):
                rows.append(Row("creatures", f"{parts} parts", what, *_ms(mean, ours, theirs, 1), "MuJoCo", None))
    one, two = workers(8 if options.quick else 60)
    rows.append(Row("creatures", "two workers", "s for all evaluations", two, one, "one worker", None))
    lost = len(found) - len(good)
    print(f"{len(found)} creatures; MuJoCo lost {lost} of them; {STEPS / total['run'] * len(good):.0f} steps a second")
    report("Creatures", rows, options.json, ("kinemorph", "numba", "mujoco-core"))
    if options.plot:
        draw(good, options.plot)


def _ms(times: dict[str, float], ours: str, theirs: str, count: int) -> tuple[float, float]:
    return 1e3 * times[ours] / count, 1e3 * times[theirs] / count


def draw(found: list[dict[str, float]], path: Path) -> None:
    """How the cost of building a creature, and of a second of its life, grows with the number of parts."""
    from matplotlib.figure import Figure

    figure = Figure((9.0, 4.2), layout="constrained")
    build, life = figure.subplots(1, 2)
    parts = np.array([one["parts"] for one in found])
    many = [k for k in range(2, 11) if (parts == k).any()]
    lines = (
        (build, "develop", 1.0, "kinemorph, a model and a brain", "C0", ":"),
        (build, "build", 1.0, "kinemorph, up to a step", "C0", "-"),
        (build, "compile", 1.0, "MuJoCo, compiled", "C1", "-"),
        (life, "run", SECONDS, "kinemorph, brain included", "C0", "-"),
        (life, "rollout", SECONDS, "MuJoCo, control precomputed", "C1", "-"),
        (life, "python", SECONDS, "MuJoCo, brain in Python", "C1", ":"),
    )
    for axes, name, seconds, label, colour, dashes in lines:
        ms = np.array([1e3 * one[name] / seconds for one in found])
        axes.plot(parts, ms, ".", color=colour, alpha=0.25)
        axes.plot(many, [np.median(ms[parts == k]) for k in many], dashes, color=colour, label=label)
    build.set(xlabel="parts", ylabel="ms to build", yscale="log")
    life.set(xlabel="parts", ylabel="ms for a second of life", yscale="log")
    for axes in (build, life):
        axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        axes.grid(alpha=0.3, which="both")
    figure.savefig(path)


if __name__ == "__main__":
    main()
