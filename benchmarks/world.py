"""Worlds beside MuJoCo: the seven yardsticks, a tall stack, a heavy load, sleep, and cost against the number of bodies.

    python -m benchmarks.world [--quick] [--json FILE] [--plot FILE] [--only NAME,NAME]

Both have the same bodies, shapes, masses and friction, start in the same state and make the same steps (2 and 5 ms),
with sleep off but for the row of it. They take turns, a whole scene each; of each stretch of 20 ms the best time
counts, as time of the processor, so that others on the machine disturb little. MuJoCo also is the judge of both, in the
first round: it says how deep bodies overlap and what energy they have, in each one's states. Drift is how far the body
that moves most has come in the last part of the run, when all should be at rest; balls do not count, which roll on for
ever on level ground. Several threads are told by the clock on the wall, best on a machine that has nothing else to do.
Energy gained is the largest rise of the energy from any earlier moment; nothing here should gain
any, but the ant, whose muscles work. PyBullet, where it is installed, is asked for scenes of free bodies.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import mujoco
import numpy as np

import kinemorph as km
from benchmarks import scenes as yardsticks
from benchmarks.measure import Row, arguments, report
from benchmarks.mujoco_twin import twin
from benchmarks.scenes import FRICTION, HOLD, TORQUE, Yardstick

STEPS = 2e-3, 5e-3  # s
BLOCK = 0.02  # s
REST = 15.0  # s, after the time of a yardstick; in the last ten nothing should move
ASKED = {
    "box": (2.0, 1.5),
    "ant": (2.2, 1.8),
    "chain": (2.0, 1.3),
    "wall": (6.0, 4.0),
    "wall and ball": (4.0, 3.0),
    "dominos": (5.0, 3.5),
    "coins": (4.0, 2.5),
}
SCENES: dict[str, Callable[[], Yardstick]] = {
    **yardsticks.SEVEN,
    "stack": yardsticks.stack,
    "heavy": yardsticks.heavy_on_light,
}
ASLEEP = 50.0
TINY = 1e-9
COUNTS = 10, 30, 100, 300, 1000, 3000, 5000
WARM = 5  # steps, after which both know what touches
LONG = 1.0  # s: who takes longer for a step makes two, of which the second counts
MUJOCO, ONE_THREAD = "MuJoCo", "one thread"
TURN = 0.03  # s, of one of several threads: the others come and go with each
CROWDS = 300, 1000, 4000  # bodies, for several threads
SHARED = 1.6  # times as fast, of islands that are apart, where there are enough of them


class Mover(Protocol):
    """Something that moves a yardstick."""

    name: str

    def step(self, count: int) -> None: ...

    def pull(self, torques: Any) -> None: ...

    def state(self) -> tuple[Any, Any]: ...

    def contacts(self) -> int: ...


class Ours:
    name = "kinemorph"

    def __init__(self, yard: Yardstick, dt: float, sleep: bool = False) -> None:
        self.world = km.World(dt=dt, sleep=sleep, material=km.Material(friction=FRICTION))
        self.world.add_ground()
        self.figure = self.world.add(yard.model, q=yard.q, v=yard.v)
        self.model = yard.model

    def step(self, count: int) -> None:
        self.world.step(count)

    def pull(self, torques: Any) -> None:
        self.world.forest.set_state(self.world.forest.trees[0], tau=torques)

    def state(self) -> tuple[Any, Any]:
        states = [self.world.forest.state(int(tree)) for tree in self.world.forest.trees]
        return np.concatenate([s.q for s in states]), np.concatenate([s.v for s in states])

    def contacts(self) -> int:
        return self.world.queries.statistics.awake_contacts


class Theirs:
    name = MUJOCO

    def __init__(self, yard: Yardstick, dt: float, sleep: bool = False) -> None:
        self.model, self.convert = twin(yard.model, dt, FRICTION)
        if sleep:
            self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = self.convert.q(yard.q), self.convert.v(yard.q, yard.v)

    def step(self, count: int) -> None:
        mujoco.mj_step(self.model, self.data, nstep=count)

    def pull(self, torques: Any) -> None:
        self.data.qfrc_applied[:] = self.convert.tau(self.convert.q_back(self.data.qpos), torques)

    def state(self) -> tuple[Any, Any]:
        q = self.convert.q_back(self.data.qpos)
        return q, self.convert.v_back(self.data.qpos, self.data.qvel)

    def contacts(self) -> int:
        return int(self.data.ncon)


class Bullet:
    """PyBullet, for free bodies of one shape each."""

    name = "PyBullet"

    def __init__(self, yard: Yardstick, dt: float) -> None:
        import pybullet

        self.pb, self.client = pybullet, pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*yard.model.gravity.tolist(), physicsClientId=self.client)
        pybullet.setTimeStep(dt, physicsClientId=self.client)
        plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=self.client)
        ids = [pybullet.createMultiBody(0, plane, physicsClientId=self.client)]
        for link, shapes in enumerate(yard.model.shapes):
            q, v = yard.q[7 * link :][:7], yard.v[6 * link :][:6]
            R = km.Pose.quaternion(q[3:]).rotation
            body = pybullet.createMultiBody(
                float(yard.model.links[link]["mass"]), self._shape(shapes[0]), basePosition=q[:3].tolist(),
                baseOrientation=[*q[4:], q[3]], physicsClientId=self.client,
            )  # fmt: skip
            pybullet.resetBaseVelocity(body, (R @ v[3:]).tolist(), (R @ v[:3]).tolist(), physicsClientId=self.client)
            ids.append(body)
        for body in ids:
            pybullet.changeDynamics(body, -1, lateralFriction=FRICTION**0.5, physicsClientId=self.client)

    def _shape(self, shape: km.Shape) -> int:
        pb, size = self.pb, list(shape.size)
        kinds: dict[km.ShapeKind, dict[str, Any]] = {
            km.ShapeKind.BOX: {"shapeType": pb.GEOM_BOX, "halfExtents": [x / 2 for x in size]},
            km.ShapeKind.SPHERE: {"shapeType": pb.GEOM_SPHERE, "radius": size[0]},
            km.ShapeKind.CYLINDER: {"shapeType": pb.GEOM_CYLINDER, "radius": size[0], "height": size[-1]},
            km.ShapeKind.CAPSULE: {"shapeType": pb.GEOM_CAPSULE, "radius": size[0], "height": size[-1]},
        }
        return int(pb.createCollisionShape(**kinds[shape.kind], physicsClientId=self.client))

    def step(self, count: int) -> None:
        for _ in range(count):
            self.pb.stepSimulation(physicsClientId=self.client)

    def close(self) -> None:
        self.pb.disconnect(self.client)


class Judge:
    """MuJoCo's opinion of a state: overlap and energy."""

    def __init__(self, yard: Yardstick, dt: float) -> None:
        self.model, self.convert = twin(yard.model, dt, FRICTION)
        self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        self.data = mujoco.MjData(self.model)
        self.can_rest = [all(shape.kind != km.ShapeKind.SPHERE for shape in shapes) for shapes in yard.model.shapes]

    def look(self, q: Any, v: Any) -> tuple[float, float, Any]:
        """Depth (m) of the deepest overlap, energy (J), and where all bodies are that do not roll on for ever."""
        self.data.qpos[:], self.data.qvel[:] = self.convert.q(q), self.convert.v(q, v)
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        depth = max(0.0, -float(self.data.contact.dist.min(initial=0.0)))
        return depth, float(self.data.energy.sum()), self.data.xpos[1:][self.can_rest]


@dataclass
class Story:
    """What became of one mover: the best time of each block, and what the judge saw after it."""

    times: Any
    depths: list[float] = field(default_factory=list)
    energies: list[float] = field(default_factory=list)
    places: list[Any] = field(default_factory=list)
    contacts: int = 0

    @property
    def gained(self) -> float:
        """J"""
        energies = np.array(self.energies)
        return float((energies - np.minimum.accumulate(energies)).max())

    @property
    def drift(self) -> float:
        """m, in the last two thirds of the rest: a coin may roll on its rim for some seconds."""
        start = len(self.places) // 3
        return float(np.linalg.norm(self.places[-1] - self.places[start], axis=1).max())


def muscles(yard: Yardstick, seconds: float) -> list[Any]:
    """Torques of a restless yardstick, block by block."""
    if not yard.restless:
        return []
    rng = np.random.default_rng(0)
    dofs = [int(l["iv"]) for l in yard.model.links if l["kind"] == km.JointKind.REVOLUTE]
    found = []
    for _ in range(round(seconds / HOLD)):
        torques = np.zeros(yard.model.nv)
        torques[dofs] = rng.uniform(-TORQUE, TORQUE, len(dofs))
        found += [torques] * round(HOLD / BLOCK)
    return found


def tell(
    yard: Yardstick, dt: float, movers: list[Callable[[], Mover]], rounds: int, rest: float
) -> list[Story]:  # fmt: skip
    """Let each of them move in turn, again and again; the judge looks at the first round, and at the rest after."""
    blocks, each = round(yard.seconds / BLOCK), round(BLOCK / dt)
    pulls = muscles(yard, yard.seconds)
    judge = Judge(yard, dt)
    stories = [Story(np.full(blocks, np.inf)) for _ in movers]
    for turn in range(rounds):
        for make, story in zip(movers, stories, strict=True):
            mover = make()
            for i in range(blocks):
                if pulls:
                    mover.pull(pulls[i])
                start = time.thread_time()
                mover.step(each)
                story.times[i] = min(story.times[i], time.thread_time() - start)
                if turn == 0:
                    depth, energy, _ = judge.look(*mover.state())
                    story.depths.append(depth)
                    story.energies.append(energy)
                    story.contacts = max(story.contacts, mover.contacts())
            for _ in range(round(rest / BLOCK) if turn == 0 and not pulls else 0):
                mover.step(each)
                depth, energy, places = judge.look(*mover.state())
                story.depths.append(depth)
                story.energies.append(energy)
                story.places.append(places)
    return stories


def of_scene(name: str, dt: float, rounds: int, rest: float) -> list[Row]:
    yard = SCENES[name]()
    case = f"{name}, {1e3 * dt:g} ms"
    ours, theirs = tell(yard, dt, [lambda: Ours(yard, dt), lambda: Theirs(yard, dt)], rounds, rest)
    steps = len(ours.times) * round(BLOCK / dt)

    def row(metric: str, mine: float, other: float) -> Row:
        return Row("world", case, metric, max(mine, TINY), max(other, TINY), MUJOCO, None)

    rows = [row("a step", 1e6 * ours.times.sum() / steps, 1e6 * theirs.times.sum() / steps)]
    rows.append(row("contacts, most", ours.contacts, theirs.contacts))
    rows.append(row("penetration, largest, mm", 1e3 * max(ours.depths), 1e3 * max(theirs.depths)))
    rows.append(row("penetration, mean, mm", 1e3 * float(np.mean(ours.depths)), 1e3 * float(np.mean(theirs.depths))))
    if ours.places:
        rows.append(row("drift at rest, mm", 1e3 * ours.drift, 1e3 * theirs.drift))
        rows.append(row("energy gained, J", ours.gained, theirs.gained))
    free = bool((yard.model.links["kind"] == km.JointKind.FREE).all())
    third = of_bullet(yard, dt, rounds) if free else None
    if third is not None:
        rows.append(Row("world", case, "a step", rows[0].ours, third, Bullet.name, None))
    return rows


def of_bullet(yard: Yardstick, dt: float, rounds: int) -> float | None:
    """µs a step, or None if PyBullet is not there."""
    blocks, each = round(yard.seconds / BLOCK), round(BLOCK / dt)
    best = np.full(blocks, np.inf)
    for _ in range(rounds):
        try:
            mover = Bullet(yard, dt)
        except ImportError:
            return None
        for i in range(blocks):
            start = time.thread_time()
            mover.step(each)
            best[i] = min(best[i], time.thread_time() - start)
        mover.close()
    return float(1e6 * best.sum() / (blocks * each))


def of_sleep(seconds: float, settle: float = 20.0) -> list[Row]:
    """A wall that sleeps, beside one that MuJoCo lets sleep, and one that it does not."""
    yard, dt = yardsticks.wall(), STEPS[0]
    sleepers: dict[str, Mover] = {
        "ours": Ours(yard, dt, sleep=True), "asleep": Theirs(yard, dt, sleep=True), "awake": Theirs(yard, dt),
    }  # fmt: skip
    for mover in sleepers.values():
        mover.step(round(settle / dt))
    best = dict.fromkeys(sleepers, np.inf)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, mover in sleepers.items():
            for _ in range(3):  # at its turn, the first time it finds another's data in the cache
                start = time.thread_time()
                mover.step(200)
                best[name] = min(best[name], 1e6 * (time.thread_time() - start) / 200)
    case = "wall, asleep"
    return [
        Row("world", case, "a step", best["ours"], best["awake"], f"{MUJOCO}, sleep off", None),
        Row("world", case, "a step", best["ours"], best["asleep"], f"{MUJOCO}, sleep on", None),
    ]


def heap(count: int, apart: bool) -> Yardstick:
    """Bodies of four shapes, dropped in a heap, or each for itself on a grid."""
    yard, rng = yardsticks._Yard(f"{count} bodies"), np.random.default_rng(count)
    round_ones = [km.Shape.sphere(0.08), km.Shape.capsule(0.06, 0.12), km.Shape.cylinder(0.07, 0.14)]
    shapes = [km.Shape.box((0.2, 0.15, 0.1)), *round_ones]
    side = int(np.ceil(np.sqrt(count))) if apart else int(np.ceil((count / 2) ** (1 / 3)))
    for i in range(count):
        turn = rng.standard_normal(4)
        x, y, z = i % side, i // side % side, i // side**2
        if apart:
            at = (0.6 * x, 0.6 * (i // side), 0.15)
        else:
            at = (*(0.25 * np.array([x, y]) + 0.03 * rng.random(2)), 0.2 + 0.25 * z)
        yard.body(shapes[i % 4], (at, turn))
    return yard.done(2.0)


def of_count(count: int, apart: bool, seconds: float) -> Row:
    """µs a step once the bodies lie: ours have come to rest, and MuJoCo goes on from there."""
    yard, dt = heap(count, apart), STEPS[0]
    mine = Ours(yard, dt)
    mine.step(round(1.0 / dt))
    q, v = mine.state()
    movers: list[Mover] = [mine, Theirs(replace(yard, q=q, v=v), dt)]
    best = [np.inf, np.inf]
    for i, mover in enumerate(movers):
        mover.step(1)
        took = _took(mover, 1)
        if took > LONG:
            best[i] = 1e6 * took
            continue
        mover.step(WARM)
        end, blocks = time.thread_time() + seconds, 0
        while blocks < 3 or time.thread_time() < end:
            best[i] = min(best[i], 1e6 * _took(mover, 5) / 5)
            blocks += 1
    case = f"{count} bodies, {'apart' if apart else 'in a heap'}"
    return Row("world", case, "a step", best[0], best[1], MUJOCO, None)


def _took(mover: Mover, steps: int) -> float:
    start = time.thread_time()
    mover.step(steps)
    return time.thread_time() - start


def piles(count: int) -> Yardstick:
    """Boxes in piles of three."""
    yard = yardsticks._Yard(f"{count} boxes")
    side = int(np.ceil(np.sqrt(count / 3)))
    for i in range(count):
        at = (0.6 * (i // 3 % side), 0.6 * (i // 3 // side), 0.05 + 0.1 * (i % 3))
        yard.body(km.Shape.box((0.2, 0.15, 0.1)), (at, (1.0, 0.0, 0.0, 0.0)))
    return yard.done(2.0)


def of_threads(case: str, yard: Yardstick, seconds: float) -> Row:
    """µs a step by the clock on the wall, of two threads beside one, once the bodies lie; they take turns."""
    worlds = [Ours(yard, STEPS[0]).world for _ in range(2)]
    worlds[1].threads = 2
    best = [np.inf, np.inf]
    for world in worlds:
        world.step(round(0.6 / STEPS[0]))
    took = min(worlds[0].queries.profile(5).step_time for _ in range(5))
    each = max(5, round(TURN / took))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, world in enumerate(worlds):
            start = time.perf_counter()
            world.step(each)
            best[i] = min(best[i], 1e6 * (time.perf_counter() - start) / each)
    worlds[1].step(25)  # as many as the other one made to find out
    if worlds[0].hash() != worlds[1].hash():
        raise RuntimeError(f"{case}: two threads come to other bits than one")
    return Row("world", case, "a step, two threads, wall time", best[1], best[0], ONE_THREAD, None)


def plot(file: Path, rows: list[Row]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axis = figure.subplots()
    for how, style in (("in a heap", "-"), ("apart", "--")):
        found = [row for row in rows if row.case.endswith(how)]
        counts = [int(row.case.split()[0]) for row in found]
        axis.loglog(counts, [row.ours for row in found], style, marker="o", color="C0", label=f"kinemorph, {how}")
        axis.loglog(counts, [row.peer for row in found], style, marker="s", color="C1", label=f"MuJoCo, {how}")
    axis.set_xlabel("bodies")
    axis.set_ylabel("µs a step of 2 ms")
    axis.grid(True, which="both", alpha=0.3)
    axis.legend()
    figure.savefig(file, dpi=110)
    print(f"picture in {file}")


def missed(rows: list[Row]) -> list[str]:
    """Rows below what is asked."""
    found = []
    for row in rows:
        name, _, step = row.case.partition(", ")
        if row.peer_name != MUJOCO or row.ratio is None:
            if row.peer_name == ONE_THREAD and row.ratio is not None:
                apart, count = "heap" not in row.case, int(row.case.split()[0])
                if apart and count >= CROWDS[1] and row.ratio < SHARED:
                    found.append(f"{row.case}: {row.ratio:.2f} of one thread, asked {SHARED}")
                continue
            if row.case == "wall, asleep" and row.ratio is not None and row.ratio < ASLEEP:
                found.append(f"{row.case}: {row.ratio:.1f} of {row.peer_name}, asked {ASLEEP:g}")
            continue
        if row.metric == "a step" and name in ASKED:
            asked = ASKED[name][step != "2 ms"]
            if row.ratio < asked:
                found.append(f"{row.case}: {row.ratio:.2f}, asked {asked}")
        elif row.metric.startswith(("penetration", "drift", "energy")) and row.ratio < 1.0 and row.ours > 1e-6:
            found.append(f"{row.case}, {row.metric}: {row.ours:.3g}, MuJoCo {row.peer:.3g}")
    return found


def say(what: str, start: float) -> None:
    """What comes now: all of it takes half an hour."""
    print(f"{time.perf_counter() - start:5.0f} s  {what}", file=sys.stderr, flush=True)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a picture of cost against the number of bodies")
    parser.add_argument("--only", metavar="NAME,NAME", help=f"scenes: {', '.join(SCENES)}, asleep, count, threads")
    options = parser.parse_args()
    start = time.perf_counter()
    names = options.only.split(",") if options.only else [*SCENES, "asleep", "count", "threads"]
    rounds, rest = (3, 2.0) if options.quick else (4, REST)
    rows: list[Row] = []
    for name, dt in product((name for name in names if name in SCENES), STEPS):
        say(f"{name}, {1e3 * dt:g} ms", start)
        rows += of_scene(name, dt, rounds, rest)
    if "asleep" in names:
        say("asleep", start)
        rows += of_sleep(0.5 if options.quick else 2.0)
    if "count" in names:
        costs = []
        for apart, count in product((False, True), COUNTS[:4] if options.quick else COUNTS):
            say(f"{count} bodies", start)
            costs.append(of_count(count, apart, 0.5))
        rows += costs
        if options.plot:
            plot(options.plot, costs)
    if "threads" in names:
        seconds = 2.0 if options.quick else 10.0
        crowds = [(f"{count} bodies, apart", heap(count, apart=True)) for count in CROWDS]
        crowds += [("3000 boxes, in piles of three", piles(3000)), ("1000 bodies, in a heap", heap(1000, apart=False))]
        for case, yard in crowds:
            say(f"threads: {case}", start)
            rows.append(of_threads(case, yard, seconds))
    packages = ("kinemorph", "numba", "mujoco-core", "numpy", "pybullet")
    report("Worlds: µs, if nothing else is said; a ratio above 1 is better than the peer", rows, options.json, packages)
    below = missed(rows)
    print("\n".join(["below what is asked:", *below]) if below else "all figures reach what is asked")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
