"""Concave bodies: trees of convex parts that are opened only where it matters."""

from __future__ import annotations

import importlib.util
import math
import pickle
import sys

import numpy as np
import pytest
from scipy.optimize import nnls
from tests.naive.closest_parts import closest_parts

from kinemorph.geometry.convex_parts import NODE, PARTS, Parts, decompose
from kinemorph.geometry.mass import mass_properties
from kinemorph.geometry.meshes.mesh import Mesh, mesh_of
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Shape
from kinemorph.jit.api import entry, rows_at
from kinemorph.spatial.pose import Pose


def ring(n: int = 12) -> Parts:
    """Fontijne's example, a torus of convex pieces: boxes around the z axis, two metres away from it."""
    box = Polyhedron.box((0.5, 1.2, 0.5))
    return Parts([box.moved(Pose.turn((0, 0, 1), t) @ Pose((2.0, 0.0, 0.0))) for t in 2.0 * np.pi * np.arange(n) / n])


def gap(a: Polyhedron, b: Polyhedron) -> float:
    """The distance of two cores, by least squares: |A s - B t| with s, t >= 0 that each sum to one."""
    weight = 1e5
    sums = np.zeros((2, len(a.points) + len(b.points)))
    sums[0, : len(a.points)] = sums[1, len(a.points) :] = weight
    system = np.vstack([np.hstack([a.points.T, -b.points.T]), sums])
    x, _ = nnls(system, np.r_[np.zeros(3), weight, weight])
    return float(np.linalg.norm(system[:3] @ x))


def test_the_tree_is_in_order():
    body = ring()
    assert len(body.nodes) == len(body.cores) == 23
    assert sorted(body.nodes["part"][body.nodes["part"] >= 0]) == list(range(12))
    for i, node in enumerate(body.nodes):
        if node["first"] < 0:
            assert (node["second"], node["skip"]) == (-1, i + 1)
            assert body.cores[i] is body.parts[node["part"]]
        else:
            first, second = body.nodes[node["first"]], body.nodes[node["second"]]
            assert node["first"] == i + 1
            assert first["skip"] == node["second"]
            assert second["skip"] == node["skip"]
            assert first["parent"] == second["parent"] == i
            assert node["part"] == -1
    assert (body.nodes[0]["parent"], body.nodes[0]["skip"]) == (-1, 23)


@pytest.mark.parametrize("inner", ["hull", "box"])
def test_a_node_holds_all_that_is_below_it(inner):
    radii = np.linspace(0.0, 0.3, 12)
    body = Parts(ring().parts, radii, inner)
    for i, node in enumerate(body.nodes):
        for k in range(i, node["skip"]):
            below = body.nodes[k]
            faces, points = body.cores[i].faces, body.cores[k].points
            assert (points @ faces["normal"].T <= faces["offset"] + 1e-12).all()
            assert (
                np.linalg.norm(points - node["centre"], axis=1) + below["radius"] <= node["radius_bound"] + 1e-12
            ).all()
            assert below["radius"] <= node["radius"]
            assert (node["low"] <= below["low"]).all()
            assert (below["high"] <= node["high"]).all()


@pytest.mark.parametrize("inner", ["hull", "box"])
def test_closest_parts_are_those_of_all_pairs(inner):
    rng = np.random.default_rng(0)
    body = Parts(ring(6).parts, 0.05, inner)
    for _ in range(5):
        other = Parts([Polyhedron.box((0.3, 0.3, 0.3)).moved(Pose(rng.normal(size=3) * 1.5)) for _ in range(3)])
        pairs = [gap(a, b) - 0.05 for a in body.parts for b in other.parts]
        closest = closest_parts(body, other, gap)
        assert closest.exact
        assert closest.distance == pytest.approx(min(pairs), abs=1e-6)


def test_hulls_open_only_below_the_threshold():
    body, calls = ring(), []

    def count(a, b):
        calls.append((a, b))
        return gap(a, b)

    far = closest_parts(body, Parts([Polyhedron.point((0.0, 0.0, 5.0))]), count, threshold=0.1)
    assert not far.exact
    assert far.distance == pytest.approx(4.75, abs=1e-6)  # to the hull's lid: a lower bound
    assert len(calls) == 1

    middle = closest_parts(body, Parts([Polyhedron.point()]), count, threshold=0.1)
    assert not middle.exact  # in the hole: outer hulls overlap it, some inner one is further than the threshold
    assert 0.1 < middle.distance <= 1.75
    exact = closest_parts(body, Parts([Polyhedron.point()]), count)
    assert exact.exact
    assert exact.distance == pytest.approx(1.75, abs=1e-6)
    assert math.isinf(closest_parts(body, body, lambda a, b: math.inf).distance)


@entry
def visited(address: int, closed: int):
    """Walk the tree without a stack, and leave one node closed."""
    header = rows_at(address, 1, PARTS)[0]
    nodes = rows_at(header["nodes"], header["n"], NODE)
    i, leaves = 0, 0
    while i < header["n"]:
        if i == closed:
            i = nodes[i]["skip"]
        else:
            leaves += nodes[i]["part"] >= 0
            i += 1
    return leaves


@pytest.mark.lane
def test_kernels_walk_the_tree_without_a_stack():
    body = ring()
    assert visited(body.address, -1) == 12
    assert visited(body.address, int(body.nodes[0]["second"])) == 6
    assert visited(body.address, 0) == 0
    twin = pickle.loads(pickle.dumps(body))
    assert visited(twin.address, -1) == 12
    assert twin.cores[0].address == twin.nodes[0]["core"] != body.nodes[0]["core"]


def test_bad_input():
    with pytest.raises(ValueError, match="one convex part or more"):
        Parts([])
    with pytest.raises(ValueError, match="one radius or 12, got"):
        Parts(ring().parts, [1.0, 2.0])
    with pytest.raises(ValueError, match="not negative"):
        Parts(ring().parts, -1.0)
    with pytest.raises(ValueError, match="'hull' or 'box', not 'ball'"):
        Parts(ring().parts, inner="ball")
    with pytest.raises(ValueError, match=r"2 points are on one line.*inner='box'"):
        Parts([Polyhedron.point(), Polyhedron.point((1.0, 0.0, 0.0))])
    with pytest.raises(ValueError, match="all in one place"):
        Parts([Polyhedron.point(), Polyhedron.point()], inner="box")


def test_decompose_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(ImportError, match=r"pip install 'kinemorph\[decompose\]'"):
        decompose(mesh_of(Shape.box((1.0, 1.0, 1.0))))


@pytest.mark.skipif(importlib.util.find_spec("coacd") is None, reason="CoACD is not installed")
def test_decompose_cuts_an_angle_into_two():
    outline = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)]
    points = np.array([(x, y, z) for z in (0.0, 1.0) for x, y in outline])
    lid = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
    i = np.arange(6)
    j = (i + 1) % 6
    sides = np.vstack([np.column_stack([i, j, j + 6]), np.column_stack([i, j + 6, i + 6])])
    angle = Mesh(points, np.vstack([lid + 6, lid[:, ::-1], sides]).astype(np.int32))
    body = decompose(angle, concavity=0.1)
    assert len(body.parts) == 2
    assert sum(mass_properties(part).volume for part in body.parts) == pytest.approx(angle.volume, rel=0.01)
    between = np.array([1.4, 1.4, 0.5])  # in the hull, not in the body
    holds = [(core.faces["normal"] @ between < core.faces["offset"]).all() for core in (body.cores[0], *body.parts)]
    assert holds == [True, False, False]
    assert len(decompose(angle, concavity=0.1, max_parts=1).parts) == 1
    with pytest.raises(ValueError, match="concavity 0"):
        decompose(angle, concavity=0.0)


@pytest.mark.skipif(importlib.util.find_spec("coacd") is None, reason="CoACD is not installed")
def test_what_ends_coacd_is_refused():
    box = mesh_of(Shape.box((1.0, 1.0, 1.0)))
    with pytest.raises(ValueError, match="decompose: the mesh has no faces"):
        decompose(Mesh(box.vertices, box.faces[:0]))
    with pytest.raises(ValueError, match=r"decompose: vertex 0 is at .*not finite"):
        decompose(Mesh(box.vertices * np.nan, box.faces))
    with pytest.raises(ValueError, match=r"decompose: face 0 has the vertices .*, but there are only 3"):
        decompose(Mesh(box.vertices[:3], box.faces + 3))
    with pytest.raises(ValueError, match=r"decompose: hull: the \d+ points are flat"):
        decompose(Mesh(box.vertices * [1.0, 1.0, 0.0], box.faces))
    with pytest.raises(ValueError, match="decompose: hull: the points have only one place"):
        decompose(Mesh(box.vertices * 0.0, box.faces))
    with pytest.raises(ValueError, match="max_parts is 0; expected 1 part or more"):
        decompose(box, max_parts=0)
