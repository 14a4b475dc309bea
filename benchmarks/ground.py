"""Bodies on a landscape, and concave bodies: ours against coal's trees of triangles.

    python -m benchmarks.ground [--quick] [--json FILE]

The ground is hills of 100 000 triangles; a body moves over it by a thousandth of its size a step, about half a
millimetre deep. Ours lists the near triangles and makes contacts, in a kernel; coal is called from Python
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
from kinemorph._jit import entry, rows_at
from kinemorph.collision.core_pairs import make_work
from kinemorph.collision.ground_contacts import ground_contacts
from kinemorph.collision.ground_search import CARRIED, survey
from kinemorph.collision.hull_trees import search
from kinemorph.collision.manifold import POINT, ROOM
from kinemorph.collision.part_pairs import PartPairs
from kinemorph.geometry.ground import GROUND, Ground, HeightField, Terrain
from kinemorph.geometry.mesh import Mesh
from kinemorph.geometry.parts import NODE, PARTS, Parts
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.rows import load3_at, load9

POSES = 1024
MARGIN = 1e-3
COAL = "coal, from Python"


@entry
def glide(
    n: int, address: int, bodies: Any, poses: Any, near: Any, work: Any, contacts: Any, spare: Any, found: Any
) -> None:
    """The contacts of a body with the ground, pose after pose."""
    ground = rows_at(address, 1, GROUND)[0]
    k = 0
    for _ in range(n):
        for c in range(9):
            bodies[0]["R"][c] = poses[k, c]
        for c in range(3):
            bodies[0]["p"][c] = poses[k, 9 + c]
        survey(ground, bodies[0], MARGIN, MARGIN, near[0], work[0])
        found[k] = ground_contacts(ground, bodies[0], near[0], MARGIN, 4, contacts, spare)
        k = k + 1 if k + 1 < poses.shape[0] else 0


@entry
def rattle(n: int, first: int, second: int, poses: Any, near: Any, work: Any, distances: Any) -> None:
    """The distance of two concave bodies, pose after pose."""
    a = rows_at(first, 1, PARTS)[0]
    b = rows_at(second, 1, PARTS)[0]
    nodes1 = rows_at(a["nodes"], a["n"], NODE)
    nodes2 = rows_at(b["nodes"], b["n"], NODE)
    k = 0
    for _ in range(n):
        search(nodes1, nodes2, load9(poses[k]), load3_at(poses[k], 9), 0.0, np.inf, near[0], work[0])
        distances[k] = near[0]["distance"]
        k = k + 1 if k + 1 < poses.shape[0] else 0


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
    ground, work, near = Terrain(field.mesh), make_work(), PartPairs(256)
    poses = np.zeros((POSES, 12))
    poses[:, :9] = np.eye(3).reshape(9)
    bodies = np.zeros(1, CARRIED)
    bodies["core"], bodies["R"] = core.address, poses[0, :9]
    z = 2.0
    for k in range(POSES):
        for _ in range(8):
            poses[k, 9:] = bodies["p"] = (x[k], y[k], z)
            _survey_once(ground.address, bodies, near.header, work)
            z -= float(near.header["distance"][0]) + 5e-4
    return poses


@entry
def _survey_once(address: int, bodies: Any, near: Any, work: Any) -> None:
    survey(rows_at(address, 1, GROUND)[0], bodies[0], 0.0, np.inf, near[0], work[0])


def ours_on(ground: Ground, core: Polyhedron, poses: Any, found: Any) -> Callable[[int], None]:
    bodies, near, work = np.zeros(1, CARRIED), PartPairs(256), make_work()
    bodies["core"] = core.address
    room = np.zeros((2, ROOM), POINT)

    def run(n: int, alive: Any = (ground, core)) -> None:
        glide(n, ground.address, bodies, poses, near.header, work, *room, found)
        assert near.header["missed"][0] == 0

    return run


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
    body, near, work = ring(12), PartPairs(1024), make_work()
    turn = 2.0 * np.pi * np.arange(POSES) / POSES
    links = [Pose.rpy(1.5 + 0.1 * np.sin(t), 0.1 * np.cos(t), 0.0, (2.2, 0.0, 0.0)) for t in turn]
    poses = np.array([np.r_[link.rotation.reshape(9), link.position] for link in links])
    model = triangles(surface(body))
    where = [coal.Transform3s(pose[:9].reshape(3, 3), pose[9:]) for pose in poses]
    request, result, identity = coal.DistanceRequest(), coal.DistanceResult(), coal.Transform3s()
    ours, theirs = np.zeros(POSES), np.zeros(POSES)
    compute = coal.ComputeDistance(model, model)

    def coal_run(n: int) -> None:
        for k in range(n):
            result.clear()
            theirs[k % POSES] = compute(identity, where[k % POSES], request, result)

    calls = {
        "ours": lambda n: rattle(n, body.address, body.address, poses, near.header, work, ours),
        "coal": coal_run,
    }
    for call in calls.values():
        call(POSES)
    assert near.header["missed"][0] == 0
    error = float(np.abs(ours - theirs).max())
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
