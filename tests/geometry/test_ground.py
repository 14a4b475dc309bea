"""Static ground: what is stored of it, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from kinemorph.geometry.ground import MOST_LEAF_TRIANGLES, HalfSpace, HeightField, Terrain
from kinemorph.geometry.meshes.mesh import Mesh, mesh_of
from kinemorph.geometry.shapes import Shape


def rough(n: int, m: int) -> HeightField:
    return HeightField(np.random.default_rng(0).normal(size=(n, m)), (2.0, 3.0))


def test_a_height_field_is_a_mesh_of_two_triangles_a_cell() -> None:
    field = HeightField(np.outer([0.0, 1.0, 0.0], [1.0, 1.0]), (4.0, 2.0))
    np.testing.assert_array_equal(field.mesh.bounds, [(-2.0, -1.0, 0.0), (2.0, 1.0, 1.0)])
    corners = field.mesh.vertices[field.mesh.faces]
    assert len(corners) == 4
    assert (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] > 0.0).all()


@pytest.mark.parametrize("n", [2, 3, 30])
def test_boxes_of_the_tree_hold_what_is_below_them(n: int) -> None:
    mesh = rough(n, n + 1).mesh
    rows = Terrain(mesh)._rows
    triangles, boxes = rows["triangles"], rows["boxes"]
    leaves, count = len(boxes) // 2, len(triangles)
    assert sorted(triangles["face"]) == list(range(len(mesh.faces)))
    for k in range(leaves):
        mine = triangles[k * count // leaves : (k + 1) * count // leaves]
        assert len(mine) <= MOST_LEAF_TRIANGLES
        corners = mesh.vertices[mesh.faces[mine["face"]]].reshape(-1, 3)
        node = leaves + k
        while node:
            assert (boxes["low"][node] <= corners.min(axis=0)).all()
            assert (boxes["high"][node] >= corners.max(axis=0)).all()
            node //= 2


def test_neighbours_are_the_same_as_in_the_grid() -> None:
    """The vertex across a side, the number of a side, and the ring of a vertex; from loose triangles, as STL has."""
    mesh = rough(5, 4).mesh
    loose = Mesh(
        mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * len(mesh.faces), dtype=np.int32).reshape(-1, 3)
    )
    rows = Terrain(loose)._rows
    points, triangles = rows["points"], rows["triangles"]
    assert len(points) == 20
    edges: dict[frozenset[int], list[int]] = {}
    for t in triangles:
        for k in range(3):
            edges.setdefault(frozenset((t["corners"][k], t["corners"][(k + 1) % 3])), []).append(t["corners"][k - 1])
    for t in triangles:
        for k in range(3):
            ends = frozenset((t["corners"][k], t["corners"][(k + 1) % 3]))
            others = [v for v in edges[ends] if v != t["corners"][k - 1]]
            assert t["across"][k] == (others[0] if others else -1)
    assert len(np.unique(triangles["sides"])) == len(edges)
    for v, point in enumerate(points):
        ring = rows["ring"][point["first"] : point["first"] + point["count"]]
        assert sorted(ring) == sorted(w for ends in edges for w in ends if v in ends and w != v)


def test_triangles_without_area_are_left_out() -> None:
    mesh = mesh_of(Shape.box((1.0, 1.0, 1.0)))
    odd = Mesh(mesh.vertices, np.vstack([mesh.faces, [[0, 0, 1], [2, 2, 2]]]).astype(np.int32))
    assert repr(Terrain(odd)) == "Terrain of 12 triangles"


def test_a_hundred_thousand_triangles() -> None:
    terrain = Terrain(rough(224, 225).mesh)
    assert repr(terrain) == f"Terrain of {2 * 223 * 224} triangles"


@pytest.mark.parametrize("ground", [HalfSpace((1.0, 0.0, 1.0), 0.5), rough(3, 4), Terrain(rough(3, 4).mesh)])
def test_a_copy_has_rows_of_its_own(ground: HalfSpace) -> None:
    twin = pickle.loads(pickle.dumps(ground))
    assert repr(twin) == repr(ground)
    assert twin.address != ground.address
    for name, array in ground._rows.items():
        np.testing.assert_array_equal(twin._rows[name], array)
        assert twin._header[name][0] == twin._rows[name].ctypes.data != array.ctypes.data


def test_bad_ground_is_refused() -> None:
    with pytest.raises(ValueError, match="the normal is zero"):
        HalfSpace((0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="offset nan"):
        HalfSpace(offset=np.nan)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        HeightField([1.0, 2.0, 3.0], (1.0, 1.0))
    with pytest.raises(ValueError, match=r"heights\[0, 1\] is nan"):
        HeightField([[1.0, np.nan], [0.0, 0.0]], (1.0, 1.0))
    with pytest.raises(ValueError, match="size"):
        HeightField(np.zeros((2, 2)), (1.0, 0.0))
    with pytest.raises(ValueError, match="none of the 1 faces has an area"):
        Terrain(Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]], np.int32)))
    with pytest.raises(TypeError, match=r"Terrain: expected a km\.Mesh"):
        Terrain(np.zeros((3, 3)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Terrain: the mesh has no faces"):
        Terrain(Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int32)))
    with pytest.raises(ValueError, match="vertex 1 is at"):
        Terrain(Mesh(np.array([(0, 0, 0), (np.nan, 0, 0), (0, 1, 0)]), np.array([[0, 1, 2]], np.int32)))
