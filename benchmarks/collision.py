"""V-Clip against coal (GJK and EPA): distance and depth of hulls of 8 to 2048 vertices.

    python -m benchmarks.collision [--quick] [--json FILE]

Ours runs inside a kernel, pose after pose, as a simulation does; coal is called from Python with prepared
transforms and its own warm start (the cached GJK guess). A call of coal costs something even for two spheres: the rows
named "minus call" take that off its time. "small motion" tumbles by 0.01 rad a step around a gap of a tenth of the
size, "random" jumps to any orientation, "deep" moves slowly while overlapping by a tenth of the size. The accuracy is
the largest difference of the distances.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import coal
import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.measure import Row, arguments, report, time_side_by_side
from kinemorph.collision.narrow.core_pair import evaluate_core_pair
from kinemorph.collision.narrow.core_pairs import CorePairs, make_work
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.jit.api import entry

SIZES = (8, 32, 128, 512, 2048)
POSES = 1024
GAP = 0.2  # a tenth of the size: the hulls are about 2 in diameter
MOTIONS = ("small motion", "random", "deep", "deep random")
ASKED = {"small motion": 0.35, "random": 1.0, "deep": 1.0, "deep random": 1.0}  # of coal's time, at most
FLAT = 2.0  # small motion: 2048 vertices may cost this much of 32
COAL = "coal, from Python"


@entry
def play(n: int, pairs: Any, poses: Any, distances: Any, work: Any) -> None:
    """Evaluate a pair at n poses, one after the other."""
    pair = pairs[0]
    k = 0
    for _ in range(n):
        for c in range(9):
            pair["R"][c] = poses[k, c]
        for c in range(3):
            pair["p"][c] = poses[k, 9 + c]
        evaluate_core_pair(pair, work[0])
        distances[k] = pair["distance"]
        k = k + 1 if k + 1 < poses.shape[0] else 0


def hull(rng: np.random.Generator, n: int) -> Polyhedron:
    """Of n points on the unit sphere, as in Fontijne 2.7."""
    x = rng.normal(size=(n, 3))
    return Polyhedron.hull(x / np.linalg.norm(x, axis=1)[:, None])


def motion(name: str, first: Polyhedron, second: Polyhedron, rng: np.random.Generator) -> Any:
    """Poses of the second hull that keep the gap; in a small motion the last is next to the first."""
    if name.endswith("random"):
        turns = Rotation.random(POSES, random_state=rng)
        way = rng.normal(size=(POSES, 3))
    else:
        phase = 2.0 * np.pi * np.arange(POSES)[:, None] / POSES
        turns = Rotation.from_rotvec(1.0 * np.sin(phase + [0.0, 1.0, 2.0])) * Rotation.random(random_state=rng)
        way = np.array([0.3, 0.2, 1.0]) + 0.5 * np.sin(phase + [3.0, 4.0, 5.0])
    way /= np.linalg.norm(way, axis=1)[:, None]
    pairs = CorePairs([(first, second)] * POSES)
    rows = pairs.rows
    rows["R"] = turns.as_matrix().reshape(POSES, 9)
    away = np.full(POSES, 2.0)
    for _ in range(10):
        rows["p"] = way * away[:, None]
        pairs.update()
        away += (-GAP if name.startswith("deep") else GAP) - rows["distance"]
    return np.ascontiguousarray(np.hstack([rows["R"], rows["p"]]))


def convex(core: Polyhedron) -> Any:
    """The same hull for coal."""
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in core.points:
        points.append(x.copy())
    for t in core.triangles:
        triangles.append(coal.Triangle(*map(int, t)))
    return coal.Convex(points, triangles)


def transforms(poses: Any) -> list[Any]:
    return [coal.Transform3s(pose[:9].reshape(3, 3), pose[9:]) for pose in poses]


def peer(first: Any, second: Any, where: list[Any], distances: Any) -> Callable[[int], None]:
    """coal at n poses, one after the other, each query started from the answer before it."""
    request, result, identity = coal.DistanceRequest(), coal.DistanceResult(), coal.Transform3s()
    request.gjk_initial_guess = coal.GJKInitialGuess.CachedGuess
    request.enable_signed_distance = True
    compute = coal.ComputeDistance(first, second)

    def run(n: int, alive: Any = (first, second)) -> None:  # coal holds bare pointers to its geometries
        for k in range(n):
            result.clear()
            distances[k % POSES] = compute(identity, where[k % POSES], request, result)
            request.updateGuess(result)

    return run


def compare(name: str, n: int, seconds: float, rng: np.random.Generator, floor: float) -> list[Row]:
    first, second = hull(rng, n), hull(rng, n)
    poses = motion(name, first, second, rng)
    pairs, work = CorePairs([(first, second)]).rows, make_work()
    ours, theirs = np.zeros(POSES), np.zeros(POSES)
    coal_run = peer(convex(first), convex(second), transforms(poses), theirs)
    play(POSES, pairs, poses, ours, work)
    coal_run(POSES)
    error = float(np.abs(ours - theirs).max())
    calls = {"ours": lambda k: play(k, pairs, poses, ours, work), "coal": coal_run}
    times = time_side_by_side(calls, seconds)
    case = f"{name}, {n} vertices"
    fell = int(pairs["fallbacks"][0])
    return [
        Row("collision", case, "call", times["ours"], times["coal"], COAL, error),
        Row("collision", case, "minus call", times["ours"], times["coal"] - floor, f"{COAL}; {fell} fallbacks", error),
    ]


def call_floor(seconds: float, rng: np.random.Generator) -> float:
    """What coal takes for two spheres: the price of a call."""
    point = Polyhedron.point()
    poses = motion("small motion", point, point, rng)
    run = peer(coal.Sphere(0.05), coal.Sphere(0.05), transforms(poses), np.zeros(POSES))
    return time_side_by_side({"floor": run}, seconds)["floor"]


def missed(rows: list[Row]) -> list[str]:
    """What was promised and not reached."""
    lines = []
    for row in rows:
        asked = ASKED[row.case.split(",")[0]]
        if row.peer and row.ours > asked * row.peer:
            lines.append(f"{row.case}, {row.metric}: {row.ours / row.peer:.2f} of coal's time, asked for {asked}")
    ours = {row.case: row.ours for row in rows}
    growth = ours["small motion, 2048 vertices"] / ours["small motion, 32 vertices"]
    if growth > FLAT:
        lines.append(f"small motion: 2048 vertices cost {growth:.2f} of 32, asked for at most {FLAT}")
    return lines


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rng = np.random.default_rng(0)
    seconds = 0.2 if options.quick else 1.0
    start = time.perf_counter()
    floor = call_floor(seconds, rng)
    rows = [row for name in MOTIONS for n in SIZES for row in compare(name, n, seconds, rng, floor)]
    report(f"narrow phase: a pair, µs (two spheres cost coal {floor:.2f} µs)", rows, options.json, ("coal", "numba"))
    print("\n".join(missed(rows)) or "all that was promised is reached", f"({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
