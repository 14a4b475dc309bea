"""Convex polyhedra: rows that know their neighbours, their planes and their Voronoi regions."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest
from tests.geometry.samples import FACES, TETRAHEDRON, binary_stl

from kinemorph._files import FileError
from kinemorph.geometry.meshes.mesh import mesh_of
from kinemorph.geometry.polyhedron import CORE, EDGE, FACE, VERTEX, Polyhedron, core_of
from kinemorph.geometry.shapes import Shape
from kinemorph.jit.api import entry, rows_at
from kinemorph.spatial.pose import Pose

pytestmark = pytest.mark.quick

INT = np.dtype("i4")


def random_hull(n: int, seed: int = 0) -> Polyhedron:
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return Polyhedron.hull(points / np.linalg.norm(points, axis=1)[:, None])


SOLIDS = {
    "box": Polyhedron.box((1.0, 2.0, 3.0)),
    "prism": Polyhedron.prism(0.5, 2.0, 7),
    "cone": Polyhedron.cone(0.5, 2.0, 9),
    "tetrahedron": Polyhedron.of_faces(TETRAHEDRON, FACES),
    "hull": random_hull(40),
    "far hull": random_hull(40).moved(Pose.rpy(0.3, 0.2, 0.1, (100.0, -50.0, 20.0))),
}
CORES = SOLIDS | {
    "polygon": Polyhedron.polygon([(0, 0, 0), (2, 0, 0), (2, 1, 0), (0, 1, 0)]),
    "segment": Polyhedron.segment(2.0),
    "point": Polyhedron.point((1.0, 2.0, 3.0)),
}


@pytest.fixture(params=CORES)
def core(request):
    return CORES[request.param]


@pytest.fixture(params=SOLIDS)
def solid(request):
    return SOLIDS[request.param]


# ------------------------------------------------------------------------------------------------------- adjacency


def edges_of_face(core, f):
    """Edges and whether the face sees them reversed."""
    first, count = core.faces[f]["first"], core.faces[f]["count"]
    return [(int(code) >> 1, bool(code & 1)) for code in core.face_edges[first : first + count]]


def edges_at(core, v):
    first, count = core.vertices[v]["first"], core.vertices[v]["count"]
    return core.edge_at[first : first + count].tolist()


def test_edges_of_a_face_run_round_it_counterclockwise(core):
    for f, face in enumerate(core.faces):
        path = []
        for e, reverse in edges_of_face(core, f):
            edge = core.edges[e]
            assert edge["right" if reverse else "left"] == f
            path.append((edge["head"], edge["tail"]) if reverse else (edge["tail"], edge["head"]))
        assert all(a[1] == b[0] for a, b in zip(path, path[1:] + path[:1], strict=True))
        area = sum(np.cross(core.points[a], core.points[b]) for a, b in path)
        assert area @ face["normal"] > 0.0


def test_every_edge_is_in_two_faces_and_at_two_vertices(core):
    for e, edge in enumerate(core.edges):
        assert e in edges_at(core, edge["tail"])
        assert e in edges_at(core, edge["head"])
    assert len(core.edge_at) == 2 * len(core.edges) == core.vertices["count"].sum()
    if len(core.faces):
        assert sorted(core.face_edges) == list(range(2 * len(core.edges)))


def test_edges_around_a_vertex_turn_counterclockwise(solid):
    for v in range(len(solid.vertices)):
        around = edges_at(solid, v)
        assert len(around) >= 3
        for e, after in zip(around, around[1:] + around[:1], strict=True):
            # The face to the left of an edge that leaves the vertex is to the right of the next one.
            edge, other = solid.edges[e], solid.edges[after]
            left = edge["left"] if edge["tail"] == v else edge["right"]
            right = other["right"] if other["tail"] == v else other["left"]
            assert left == right


def test_euler(solid):
    assert len(solid.vertices) - len(solid.edges) + len(solid.faces) == 2


def test_counts():
    def counts(core):
        return len(core.vertices), len(core.edges), len(core.faces)

    assert counts(SOLIDS["box"]) == (8, 12, 6)
    assert counts(SOLIDS["prism"]) == (14, 21, 9)
    assert counts(SOLIDS["cone"]) == (10, 18, 10)
    assert counts(CORES["polygon"]) == (4, 4, 2)
    assert counts(CORES["segment"]) == (2, 1, 0)
    assert counts(CORES["point"]) == (1, 0, 0)


def test_segment_has_no_faces():
    edge = Polyhedron.segment(3.0).edges[0]
    assert (edge["left"], edge["right"]) == (-1, -1)
    assert edge["length"] == 3.0
    np.testing.assert_array_equal(edge["direction"], (0.0, 0.0, 1.0))
    np.testing.assert_array_equal(edge["left_normal"], np.zeros(3))


# -------------------------------------------------------------------------------------------------------- geometry


def test_planes_and_directions(solid):
    size = np.abs(solid.points).max()
    for f, face in enumerate(solid.faces):
        height = solid.points @ face["normal"] - face["offset"]
        assert np.linalg.norm(face["normal"]) == pytest.approx(1.0)
        assert height.max() <= 1e-13 * size  # convex
        assert np.abs(height[solid.loops[f]]).max() <= 1e-13 * size  # flat
    for edge in solid.edges:
        along = solid.points[edge["head"]] - solid.points[edge["tail"]]
        np.testing.assert_allclose(edge["direction"] * edge["length"], along, atol=1e-14 * size)
        for side in ("left", "right"):
            inward = edge[f"{side}_normal"]
            middle = solid.points[solid.loops[edge[side]]].mean(axis=0)
            assert np.linalg.norm(inward) == pytest.approx(1.0)
            assert abs(inward @ edge["direction"]) < 1e-12
            assert abs(inward @ solid.faces[edge[side]]["normal"]) < 1e-12
            assert inward @ (middle - solid.points[edge["tail"]]) > 0.0


def closest_on_edge(core, edge, p):
    tail = core.points[edge["tail"]]
    return tail + np.clip((p - tail) @ edge["direction"], 0.0, edge["length"]) * edge["direction"]


def regions_of(core, p, slack):
    """Distances to the features in whose Voronoi regions p is, as the module's text defines them."""
    for f, face in enumerate(core.faces):
        sides = [(core.edges[e], "right_normal" if reverse else "left_normal") for e, reverse in edges_of_face(core, f)]
        above = p @ face["normal"] - face["offset"]
        if above >= 0.0 and all(s[n] @ (p - core.points[s["tail"]]) >= -slack for s, n in sides):
            yield above
    for edge in core.edges:
        arm = p - core.points[edge["tail"]]
        if -slack <= edge["direction"] @ arm <= edge["length"] + slack and all(
            edge[n] @ arm <= slack for n in ("left_normal", "right_normal")
        ):
            yield np.linalg.norm(p - closest_on_edge(core, edge, p))
    for v, vertex in enumerate(core.vertices):
        edges = [core.edges[e] for e in edges_at(core, v)]
        if all((1.0 if e["tail"] == v else -1.0) * e["direction"] @ (p - vertex["x"]) <= slack for e in edges):
            yield np.linalg.norm(p - vertex["x"])


def distance(core, p):
    """By brute force: to the surface of a core, from outside."""
    best = [np.linalg.norm(core.points - p, axis=1).min()]
    best += [np.linalg.norm(closest_on_edge(core, edge, p) - p) for edge in core.edges]
    for f, face in enumerate(core.faces):
        above = p @ face["normal"] - face["offset"]
        foot, loop = p - above * face["normal"], core.points[core.loops[f]]
        turns = np.cross(np.roll(loop, -1, axis=0) - loop, foot - loop) @ face["normal"]
        if above >= 0.0 and (turns >= 0.0).all():
            best.append(above)
    return min(best)


def test_voronoi_regions_lead_to_the_closest_feature(core):
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(60):
        p = core.centre + rng.normal(size=3) * (0.1 + 2.0 * core.radius_bound)
        if len(core.faces) and (p @ core.faces["normal"].T <= core.faces["offset"]).all():
            continue  # inside
        slack = 1e-12 * (1.0 + np.abs(p).max())
        regions = list(regions_of(core, p, slack))
        assert regions
        np.testing.assert_allclose(regions, distance(core, p), rtol=1e-9)
        found += 1
    assert found > 20


def test_bounds_centre_and_ball(core):
    low, high = core.bounds
    assert (core.points >= low).all()
    assert (core.points <= high).all()
    arms = np.linalg.norm(core.points - core.centre, axis=1)
    assert arms.max() == pytest.approx(core.radius_bound)
    if len(core.faces) > 2:
        assert (core.faces["normal"] @ core.centre < core.faces["offset"]).all()


def test_triangles_cover_the_faces(solid):
    a, b, c = (solid.points[solid.triangles[:, k]] - solid.centre for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    heights = solid.faces["offset"] - solid.faces["normal"] @ solid.centre
    areas = [
        0.5 * np.linalg.norm(sum(np.cross(x, y) for x, y in zip(loop, np.roll(loop, -1, axis=0), strict=True)))
        for loop in (solid.points[loop] - solid.points[loop[0]] for loop in solid.loops)
    ]
    assert volume == pytest.approx(heights @ areas / 3.0)


def test_moved_and_scaled():
    box = SOLIDS["box"]
    pose = Pose.rpy(0.5, -0.4, 0.3, (1.0, 2.0, 3.0))
    moved = box.moved(pose)
    np.testing.assert_allclose(moved.points, pose.apply(box.points))
    np.testing.assert_allclose(moved.faces["normal"], box.faces["normal"] @ pose.rotation.T, atol=1e-15)
    np.testing.assert_array_equal(moved.face_edges, box.face_edges)
    assert box.scaled(2.0).radius_bound == pytest.approx(2.0 * box.radius_bound)
    with pytest.raises(ValueError, match="factor 0"):
        box.scaled(0.0)


# ---------------------------------------------------------------------------------------------------------- kernels


@entry
def core_sum(address: int):
    core = rows_at(address, 1, CORE)[0]
    vertices = rows_at(core["vertices"], core["n_vertices"], VERTEX)
    edges = rows_at(core["edges"], core["n_edges"], EDGE)
    faces = rows_at(core["faces"], core["n_faces"], FACE)
    edge_at = rows_at(core["edge_at"], core["n_edge_at"], INT)
    total = core["radius_bound"]
    for v in range(core["n_vertices"]):
        total += vertices[v]["x"][0]
        for k in range(vertices[v]["first"], vertices[v]["first"] + vertices[v]["count"]):
            total += edges[edge_at[k]]["length"]
    face_edges = rows_at(core["face_edges"], core["n_edge_at"], INT)
    for f in range(core["n_faces"]):
        for k in range(faces[f]["first"], faces[f]["first"] + faces[f]["count"]):
            total += face_edges[k] * faces[f]["offset"]
    return total


@pytest.mark.lane
def test_kernels_read_a_core_through_its_address(core):
    offsets = np.repeat(core.faces["offset"], core.faces["count"])
    expected = (
        core.radius_bound + core.points[:, 0].sum() + 2.0 * core.edges["length"].sum() + core.face_edges @ offsets
    )
    assert core_sum(core.address) == pytest.approx(expected)


def test_rows_are_read_only(core):
    with pytest.raises(ValueError, match="read-only"):
        core.vertices["x"] = 0.0
    with pytest.raises(AttributeError):
        core.address = 0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda core: pickle.loads(pickle.dumps(core))])
def test_copies_have_rows_of_their_own(copied):
    box = SOLIDS["box"]
    twin = copied(box)
    assert twin.address != box.address
    assert core_sum(twin.address) == core_sum(box.address)
    for name in ("vertices", "edges", "faces", "edge_at", "face_edges"):
        np.testing.assert_array_equal(getattr(twin, name), getattr(box, name))
        assert not np.shares_memory(getattr(twin, name), getattr(box, name))


# ----------------------------------------------------------------------------------------------------------- shapes


def test_cores_of_shapes():
    core, radius = core_of(Shape.sphere(0.3))
    assert (len(core.vertices), radius) == (1, 0.3)
    core, radius = core_of(Shape.capsule(0.2, 1.5))
    assert (core.edges["length"][0], radius) == (1.5, 0.2)
    core, radius = core_of(Shape.box((1.0, 2.0, 3.0)))
    np.testing.assert_array_equal(core.bounds, [(-0.5, -1.0, -1.5), (0.5, 1.0, 1.5)])
    assert radius == 0.0
    core, radius = core_of(Shape.cylinder(0.5, 2.0))
    np.testing.assert_allclose(np.linalg.norm(core.points[:, :2], axis=1), 0.5)
    assert np.ptp(core.points[:, 2]) == 2.0
    assert core_of(Shape.cylinder(0.5, 2.0))[0] is core


def test_core_of_a_mesh_is_its_hull_until_the_file_changes(tmp_path):
    path = tmp_path / "a.stl"
    path.write_bytes(binary_stl(TETRAHEDRON[FACES]))
    core, radius = core_of(Shape.mesh(path))
    assert (len(core.vertices), len(core.faces), radius) == (4, 4, 0.0)
    assert core_of(Shape.mesh(path))[0] is core
    scaled, _ = core_of(Shape.mesh(path, (1.0, 1.0, -2.0)))
    np.testing.assert_array_equal(scaled.bounds, [(0.0, 0.0, -2.0), (1.0, 1.0, 0.0)])
    path.write_bytes(binary_stl(2.0 * TETRAHEDRON[FACES]))
    os.utime(path, ns=(1, 1))
    assert core_of(Shape.mesh(path))[0].bounds[1, 0] == 2.0


def test_core_of_a_mesh_with_fewer_vertices(tmp_path):
    path = tmp_path / "ball.stl"
    mesh = mesh_of(Shape.sphere(1.0))
    path.write_bytes(binary_stl(mesh.vertices[mesh.faces]))
    assert len(core_of(Shape.mesh(path))[0].vertices) == len(mesh.vertices)
    assert 20 <= len(core_of(Shape.mesh(path), max_vertices=40)[0].vertices) <= 40


def test_bad_meshes_are_named(tmp_path):
    flat = tmp_path / "flat.stl"
    flat.write_bytes(binary_stl(TETRAHEDRON[FACES][:1]))
    with pytest.raises(ValueError, match=r"flat\.stl.*3 points are flat"):
        core_of(Shape.mesh(flat))
    with pytest.raises(FileError, match="no such file"):
        core_of(Shape.mesh(tmp_path / "missing.stl"))


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Polyhedron.box((1.0, 0.0, 1.0)), "box: y 0"),
        (lambda: Polyhedron.box((1.0, np.nan, 1.0)), "not finite"),
        (lambda: Polyhedron.prism(-1.0, 1.0), "prism: radius -1"),
        (lambda: Polyhedron.prism(1.0, 1.0, 2), "3 sides"),
        (lambda: Polyhedron.cone(1.0, np.inf), "cone: length inf"),
        (lambda: Polyhedron.segment(0.0), "segment: length 0"),
        (lambda: Polyhedron.point((0.0, np.nan, 0.0)), "not finite"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON * np.nan, FACES), "finite vertices"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON[:, :2], FACES), r"shape \(4, 2\)"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON, FACES[:3]), "one face only"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON, FACES[:1]), "do not close"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON, [*FACES[:3], FACES[3, ::-1]]), "turn one of them round"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON, [*FACES[:3], [1, 2, 4]]), "but there are 4"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON, [*FACES[:3], [1, 2, 2]]), "each once"),
        (lambda: Polyhedron.of_faces([*TETRAHEDRON, (5.0, 5.0, 5.0)], FACES), "vertex 4 is in no face"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON, FACES[:, ::-1]), "not convex"),
        (lambda: Polyhedron.of_faces(TETRAHEDRON * (1.0, 1.0, 0.0), FACES), "same place|no area"),
        (lambda: Polyhedron.polygon([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0.9, 0.1, 0)]), "not a convex polygon"),
        (lambda: Polyhedron.polygon([(0, 0, 0), (1, 0, 0), (1, 1, 1), (0, 1, 0)]), "not flat"),
        (lambda: Polyhedron.polygon([(0, 0, 0), (1, 0, 0), (2, 0, 0)]), "no area"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_star_is_not_convex():
    turn = 4.0 * np.pi * np.arange(5) / 5.0
    with pytest.raises(ValueError, match="not a convex polygon"):
        Polyhedron.polygon(np.column_stack([np.cos(turn), np.sin(turn), np.zeros(5)]))


def test_a_dent_is_not_convex():
    box = SOLIDS["box"]
    dented = box.points.copy()
    tip = len(dented)
    loops = [loop for loop in box.loops[1:]] + [
        [a, b, tip] for a, b in zip(box.loops[0], np.roll(box.loops[0], -1), strict=True)
    ]
    inside = box.points[box.loops[0]].mean(axis=0) * 0.5
    with pytest.raises(ValueError, match="hollow at the edge"):
        Polyhedron.of_faces([*dented, inside], loops)


def test_a_ring_is_not_like_a_ball():
    # A square torus: four quadrilaterals around each of four corners.
    ring = [
        (r * x, r * y, z) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1)) for r, z in ((2, 0), (3, 0), (3, 1), (2, 1))
    ]
    loops = [
        [4 * i + j, 4 * i + (j + 1) % 4, 4 * ((i + 1) % 4) + (j + 1) % 4, 4 * ((i + 1) % 4) + j]
        for i in range(4)
        for j in range(4)
    ]
    with pytest.raises(ValueError, match="faces is 0, not 2"):
        Polyhedron.of_faces(ring, loops)
