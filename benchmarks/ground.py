"""Bodies on a landscape, and concave bodies: ours against coal's trees of triangles.

    python -m benchmarks.ground [--quick] [--json FILE]

The ground is hills of 100 000 triangles; a body moves over it by a thousandth of its size a step, about half a
millimetre deep. Ours goes through the dispatch of shapes, in a kernel; coal is called from Python
(BVHModelOBBRSS against a convex, with at most 32 contacts). The accuracy is the share of poses where the two disagree
about touching at all. Two rings of twelve boxes, linked, move as much: our trees of hulls against coal's trees of the
triangles of the same boxes; the accuracy is the largest difference of the distances. A call of coal costs something
even for two spheres: "minus call" takes that off.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import coal
import numpy as np

from benchmarks.collision import call_floor, convex
from benchmarks.measure import Row, arguments, report, time_side_by_side
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.narrow.dispatch import find_contacts
from kinemorph.collision.shapes.shape_rows import COLLISIONS, PAIR, SHAPE_POSE, Candidates, PairQuery, Status
from kinemorph.collision.shapes.shape_table import ShapeTable, Solid
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.ground import Ground, HeightField, Terrain
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.jit.api import entry, rows_at
from kinemorph.spatial.pose import Pose

POSES = 1024
MARGIN = 1e-3
COAL = "coal, from Python"


@entry
def play(n: int, address: int, poses: Any, counts: Any, distances: Any) -> int:
    """Two shapes, the second at one pose after the other: how many contacts they have, and their distance."""
    c = rows_at(address, 1, COLLISIONS)[0]
    place = rows_at(c["places"], 2, SHAPE_POSE)[1]
    pair = rows_at(c["pairs"], 1, PAIR)[0]
    k = 0
    for _ in range(n):
        if c["goes_on"] == 0:
            for i in range(9):
                place["R"][i] = poses[k, i]
            for i in range(3):
                place["p"][i] = poses[k, 9 + i]
        status = find_contacts(c)
        if status != 0:
            return status
        counts[k] = pair["count"]
        distances[k] = pair["distance"]
        k = k + 1 if k + 1 < poses.shape[0] else 0
    return 0


class Two:
    """A fixed shape and one that moves, without a broad phase."""

    def __init__(self, first: Solid, second: Solid, question: PairQuery) -> None:
        table = ShapeTable()
        table.add(first, 0)
        table.add(second, 1)
        self.found = Collisions(table, margin=MARGIN, question=question, candidates=Candidates.ALL)
        self.found.update([Pose(), Pose((0.0, 0.0, 1e3))])  # lists the pair
        self.counts, self.distances = np.zeros(POSES), np.zeros(POSES)

    def run(self, n: int, poses: Any) -> None:
        while play(n, self.found.lend(), poses, self.counts, self.distances) == Status.FULL:
            self.found.grow()


def triangles(mesh: Mesh) -> Any:
    """The same mesh for coal."""
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    points, corners = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in mesh.vertices:
        points.append(x.copy())
    for t in mesh.faces:
        corners.append(coal.Triangle(*map(int, t)))
    model.addSubModel(points, corners)
    model.endModel()
    return model


def over_hills(field: HeightField, core: Polyhedron, rng: np.random.Generator) -> Any:
    """Poses along a circle, with the deepest point half a millimetre below the ground."""
    turn = 2.0 * np.pi * np.arange(POSES) / POSES
    x, y = 0.2 * np.cos(turn) + 3.0, 0.2 * np.sin(turn) - 2.0
    two = Two(Terrain(field.mesh), core, PairQuery.DISTANCE)
    poses = np.zeros((POSES, 12))
    poses[:, :9] = np.eye(3).reshape(9)
    z = 2.0
    for k in range(POSES):
        for _ in range(8):
            poses[k, 9:] = (x[k], y[k], z)
            two.run(1, poses[k : k + 1])
            z -= float(two.distances[0]) + 5e-4
    return poses


def ours_on(ground: Ground, core: Polyhedron, poses: Any, found: Any) -> Callable[[int], None]:
    two = Two(ground, core, PairQuery.CONTACTS)
    two.counts = found
    return lambda n: two.run(n, poses)


def coals_on(model: Any, core: Polyhedron, poses: Any, found: Any) -> Callable[[int], None]:
    shape, identity = convex(core), coal.Transform3s()
    where = [coal.Transform3s(pose[:9].reshape(3, 3), pose[9:]) for pose in poses]
    request, result = coal.CollisionRequest(coal.CollisionRequestFlag.CONTACT, 32), coal.CollisionResult()
    request.security_margin = MARGIN
    compute = coal.ComputeCollision(model, shape)

    def run(n: int, alive: Any = (model, shape)) -> None:
        for k in range(n):
            result.clear()
            found[k % POSES] = compute(identity, where[k % POSES], request, result)

    return run


def compare_ground(name: str, core: Polyhedron, seconds: float, floor: float, rng: np.random.Generator) -> list[Row]:
    field = HeightField(0.05 * rng.normal(size=(224, 225)), (100.0, 100.0))
    poses = over_hills(field, core, rng)
    start = time.perf_counter()
    soup = Terrain(field.mesh)
    built = time.perf_counter() - start
    start = time.perf_counter()
    model = triangles(field.mesh)
    theirs_built = time.perf_counter() - start
    found = {who: np.zeros(POSES) for who in ("soup", "field", "coal")}
    calls = {
        "soup": ours_on(soup, core, poses, found["soup"]),
        "field": ours_on(field, core, poses, found["field"]),
        "coal": coals_on(model, core, poses, found["coal"]),
    }
    for call in calls.values():
        call(POSES)
    touch = found["coal"] > 0
    differ = max(np.mean((found[kind] > 0) != touch) for kind in ("soup", "field"))
    assert touch.mean() > 0.9
    times = time_side_by_side(calls, seconds)
    rows = [Row("ground", f"{name}, building", "s", built, theirs_built, COAL, None)] if name == "box" else []
    for kind in ("soup", "field"):
        case = f"{name} on a {kind}"
        rows += [
            Row("ground", case, "call", times[kind], times["coal"], COAL, differ),
            Row("ground", case, "minus call", times[kind], times["coal"] - floor, COAL, differ),
        ]
    return rows


def ring(n: int) -> Parts:
    box = Polyhedron.box((0.5, 1.2, 0.5))
    turns = [Pose.turn((0, 0, 1), 2.0 * np.pi * k / n) for k in range(n)]
    return Parts([box.moved(turn @ Pose((2.0, 0.0, 0.0))) for turn in turns])


def surface(body: Parts) -> Mesh:
    offsets = np.cumsum([0, *(len(part.points) for part in body.parts)])
    faces = [part.triangles + offset for part, offset in zip(body.parts, offsets, strict=False)]
    return Mesh(np.vstack([part.points for part in body.parts]), np.vstack(faces).astype(np.int32))


def compare_rings(seconds: float, floor: float) -> list[Row]:
    body = ring(12)
    two = Two(body, body, PairQuery.DISTANCE)
    turn = 2.0 * np.pi * np.arange(POSES) / POSES
    links = [Pose.rpy(1.5 + 0.1 * np.sin(t), 0.1 * np.cos(t), 0.0, (2.2, 0.0, 0.0)) for t in turn]
    poses = np.array([np.r_[link.rotation.reshape(9), link.position] for link in links])
    model = triangles(surface(body))
    where = [coal.Transform3s(pose[:9].reshape(3, 3), pose[9:]) for pose in poses]
    request, result, identity = coal.DistanceRequest(), coal.DistanceResult(), coal.Transform3s()
    theirs = np.zeros(POSES)
    compute = coal.ComputeDistance(model, model)

    def coal_run(n: int) -> None:
        for k in range(n):
            result.clear()
            theirs[k % POSES] = compute(identity, where[k % POSES], request, result)

    calls = {"ours": lambda n: two.run(n, poses), "coal": coal_run}
    for call in calls.values():
        call(POSES)
    error = float(np.abs(two.distances - theirs).max())
    times = time_side_by_side(calls, seconds)
    return [
        Row("ground", "linked rings, distance", "call", times["ours"], times["coal"], COAL, error),
        Row("ground", "linked rings, distance", "minus call", times["ours"], times["coal"] - floor, COAL, error),
    ]


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rng = np.random.default_rng(0)
    seconds = 0.3 if options.quick else 1.5
    floor = call_floor(seconds, rng)
    x = rng.normal(size=(128, 3))
    gem = Polyhedron.hull(0.5 * x / np.linalg.norm(x, axis=1)[:, None])
    rows = compare_ground("box", Polyhedron.box((1.0, 1.0, 1.0)), seconds, floor, rng)
    rows += compare_ground("hull of 128", gem, seconds, floor, rng)
    rows += compare_rings(seconds, floor)
    report(
        f"ground and concave bodies: µs (two spheres cost coal {floor:.2f} µs)", rows, options.json, ("coal", "numba")
    )
    slow = [f"{row.case}: {row.ratio:.2f}" for row in rows if row.ratio is not None and row.ratio < 1.0]
    print("slower than coal: " + "; ".join(slow) if slow else "at least as fast as coal everywhere")


if __name__ == "__main__":
    main()
