"""Broad phase: moving boxes at constant density against coal's AABB tree and MuJoCo, and what coherence gains.

    python -m benchmarks.broad_phase [--quick] [--json FILE]

n boxes fly in a cube that is large enough for 0.5 pairs a box, and bounce at its walls. At each step every engine gets
the same boxes, which is not timed (coal and MuJoCo are told through Python, box by box), and then finds all pairs that
overlap, which is timed:

- ours: `BroadPhase.update` with the boxes as two arrays, and `pairs`, sorted. One call, and all its checks.
- coal: `DynamicAABBTreeCollisionManager.update` and `collide` with its C++ callback that collects pairs: three calls.
- MuJoCo: `mj_collision` for spheres with the same boxes. A contact filter in C (libc's `abs` of an address, which is
  not 0: "discard") ends each pair right after the broad phase, so that no narrow phase is in the figure. One call.

"and no call" takes from each figure what the same calls cost with a single body: what is left is the algorithm.
"grows" is that figure for 4096 boxes by that for 64, for each box and pair: 1 is linear in both. c are the pairs whose
boxes overlap; the close ones, which share a tile and which ours looks at, have a line of their own. Times are lower
quartiles: a longer call is more often interrupted. `accuracy` is the share of pairs on which the two engines disagree.
"""

from __future__ import annotations

import ctypes
import time
from itertools import product
from typing import Any

import coal
import mujoco
import numpy as np

from benchmarks.measure import Row, arguments, report, time_side_by_side
from kinemorph.collision.broad.broad_phase import BroadPhase
from kinemorph.collision.broad.hash_update import rebuild_tables, update_boxes
from kinemorph.jit.api import entry

COUNTS = (16, 64, 256, 1024, 4096)
WARM = 60  # steps before the clock starts: levels settle, tables reach their size
STEPS = (0.01, 0.1)  # of the size of a box
DENSITY = 0.5  # pairs a box
PEERS = ("coal AABB tree", "MuJoCo broad phase")
THESIS = 3.6  # what Fontijne gains by coherence: 25 objects, step 0.01

Array = np.ndarray[Any, np.dtype[np.float64]]


class Scene:
    """Cubes that fly in a cube."""

    def __init__(self, n: int, step: float, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.half = rng.uniform(0.25, 0.75, (n, 1))
        near = np.mean((2 * self.half + 2 * self.half.T) ** 3)  # volume in which a second centre makes a pair
        self.size = max(float(n * near / (2 * DENSITY)) ** (1 / 3), 1.0)
        self.centre = rng.uniform(0.0, self.size, (n, 3))
        way = rng.normal(size=(n, 3))
        self.move = 2 * self.half * step * way / np.linalg.norm(way, axis=1, keepdims=True)

    def advance(self) -> Array:
        self.centre = self.centre + self.move
        out = (self.centre < 0.0) | (self.centre > self.size)
        self.move[out] = (np.sign(self.size / 2 - self.centre) * np.abs(self.move))[out]
        return self.centre

    @property
    def boxes(self) -> tuple[Array, Array]:
        return self.centre - self.half, self.centre + self.half


class Ours:
    name = "kinemorph"

    def __init__(self, scene: Scene) -> None:
        self.broad = BroadPhase()
        for low, high in zip(*scene.boxes, strict=True):
            self.broad.add(low, high)

    def tell(self, scene: Scene) -> None:
        self.boxes = scene.boxes

    def find(self) -> None:
        self.broad.update(*self.boxes)
        self.found = self.broad.pairs

    def disagrees(self, pairs: list[tuple[int, int]]) -> float:
        return 0.0


class Coal:
    name = "coal AABB tree"

    def __init__(self, scene: Scene) -> None:
        self.objects = [coal.CollisionObject(coal.Box(2 * r, 2 * r, 2 * r)) for r in scene.half[:, 0]]
        self.tell(scene)
        self.tree = coal.DynamicAABBTreeCollisionManager()
        for body in self.objects:
            self.tree.registerObject(body)
        self.tree.setup()
        self.collect = coal.CollisionCallBackCollect(100 * len(self.objects))

    def tell(self, scene: Scene) -> None:
        for body, centre in zip(self.objects, scene.centre, strict=True):
            body.setTranslation(centre)
            body.computeAABB()

    def find(self) -> None:
        self.tree.update()
        self.collect.init()
        self.tree.collide(self.collect)

    def disagrees(self, pairs: list[tuple[int, int]]) -> float:
        both = [(self.objects[i], self.objects[j]) for i, j in pairs]
        same = sum(self.collect.exist(a, b) or self.collect.exist(b, a) for a, b in both)
        return (len(pairs) + self.collect.numCollisionPairs() - 2 * same) / max(len(pairs), 1)


class MuJoCo:
    name = "MuJoCo broad phase"

    def __init__(self, scene: Scene) -> None:
        ball = "<body><freejoint/><geom type='sphere' size='{}' condim='1'/></body>"
        text = "".join(ball.format(r) for r in scene.half[:, 0])
        text = f"<mujoco><size memory='256M'/><worldbody>{text}</worldbody></mujoco>"  # its own guess is gigabytes
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
        self.discard = prototype(("abs", ctypes.CDLL(None)))

    def tell(self, scene: Scene) -> None:
        self.data.qpos.reshape(-1, 7)[:, :3] = scene.centre
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.set_mjcb_contactfilter(self.discard)

    def find(self) -> None:
        mujoco.mj_collision(self.model, self.data)

    def disagrees(self, pairs: list[tuple[int, int]]) -> None:
        mujoco.set_mjcb_contactfilter(None)  # it does not tell what its broad phase found


def run(n: int, step: float, steps: int, rounds: int = 4) -> tuple[dict[str, float], dict[str, Any], list[float]]:
    """The lower quartile of each engine's times in µs, the share of pairs on which it disagrees with us, and how many
    pairs overlap and are close, on average.

    Engines take turns of many steps: each finds its own memory in the caches, and a slow spell of the machine hits all.
    """
    scene = Scene(n, step)
    engines: list[Any] = [make(scene) for make in (Ours, Coal, MuJoCo)]
    times: dict[str, list[float]] = {engine.name: [] for engine in engines}
    counts = []
    for turn in range(rounds + 1):
        path = [scene.advance() for _ in range(steps // rounds if turn else WARM)]
        for engine in engines:
            for scene.centre in path:
                engine.tell(scene)
                start = time.perf_counter()
                engine.find()
                if turn:
                    times[engine.name].append(time.perf_counter() - start)
        counts.append((len(engines[0].broad.pairs), len(engines[0].broad.close)))
    pairs = engines[0].found.tolist()
    wrong = {engine.name: engine.disagrees(pairs) for engine in engines}
    return (
        {name: 1e6 * float(np.quantile(v, 0.25)) for name, v in times.items()},
        wrong,
        np.mean(counts, axis=0).tolist(),
    )


def against_peers(quick: bool) -> list[Row]:
    rows = []
    floor, _, _ = run(1, 0.01, 2000)
    for peer in PEERS:
        rows.append(Row("broad_phase", "1 box", "the calls alone", floor["kinemorph"], floor[peer], peer, None))
    for step in STEPS:
        bare: dict[int, dict[str, float]] = {}
        counts: dict[int, list[float]] = {}
        for n in COUNTS:
            taken, wrong, counts[n] = run(n, step, max(80, min(2000, (40_000 if quick else 400_000) // n)))
            bare[n] = {name: taken[name] - floor[name] for name in taken}
            for peer in PEERS:
                case, ours = f"{n} boxes, steps of {100 * step:.0f} %", taken["kinemorph"] / n
                rows.append(Row("broad_phase", case, "a box", ours, taken[peer] / n, peer, wrong[peer]))
                ours, theirs = bare[n]["kinemorph"] / n, bare[n][peer] / n
                rows.append(Row("broad_phase", case, "a box, and no call", ours, theirs, peer, None))
        few, many = 64, COUNTS[-1]
        case = f"{few} to {many} boxes, steps of {100 * step:.0f} %"
        for k, what in enumerate(("time by n + c grows", "time by n + close grows")):
            more = (many + counts[many][k]) / (few + counts[few][k])
            growth = {name: bare[many][name] / bare[few][name] / more for name in bare[few]}
            for peer in PEERS if k == 0 else ("",):
                theirs = growth.get(peer)
                rows.append(Row("broad_phase", case, f"{what} (x)", growth["kinemorph"], theirs, peer, None))
    return rows


@entry
def loop_move(count: int, address: int, lows: Any, highs: Any) -> None:
    for k in range(count):
        update_boxes(address, lows[k % lows.shape[0]], highs[k % lows.shape[0]])


@entry
def loop_scratch(count: int, address: int, lows: Any, highs: Any) -> None:
    for _ in range(count):
        rebuild_tables(address)
        update_boxes(address, lows[0], highs[0])  # nothing moves: tests of boxes, and the list of pairs


def coherence(n: int, step: float, seconds: float) -> Row:
    """An update against building all tables from scratch, in a loop inside a kernel."""
    scene = Scene(n, step)
    broad = Ours(scene).broad
    boxes = [scene.boxes for _ in range(max(16, 65536 // n)) if scene.advance() is not None]
    boxes += boxes[::-1]  # there and back: the last frame is the first
    lows, highs = np.array([low for low, _ in boxes]), np.array([high for _, high in boxes])
    for low, high in boxes:  # tables grow here, if they must
        broad.update(low, high)

    def move(count: int) -> None:
        loop_move(count, broad._address, lows, highs)

    def scratch(count: int) -> None:
        broad.update(lows[0], highs[0])
        loop_scratch(count, broad._address, lows, highs)

    times = time_side_by_side({"move": move, "scratch": scratch}, seconds)
    case = f"{n} boxes, steps of {100 * step:.0f} %"
    ours, theirs = times["move"] / n, times["scratch"] / n
    return Row("broad_phase", case, "coherence, a box", ours, theirs, "ours, from scratch each step", None)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rows = against_peers(options.quick)
    for n, step in product((25, 64, 1024, 4096), STEPS):
        rows.append(coherence(n, step, 0.5 if options.quick else 3.0))
    report(
        f"Broad phase (the thesis gains {THESIS}x by coherence)", rows, options.json, ("coal", "mujoco-core", "numba")
    )
    losses = [row for row in rows if row.metric == "a box" and row.ratio is not None and row.ratio < 1.0]
    print(f"at least as fast as the peer in {sum(r.metric == 'a box' for r in rows) - len(losses)} cases;", end=" ")
    print("slower in " + ("none" if not losses else ", ".join(f"{r.case} ({r.peer_name})" for r in losses)))


if __name__ == "__main__":
    main()
