"""Meshes from files and around simple shapes."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.geometry.samples import DAE, FACES, OBJ, TETRAHEDRON, ascii_stl, binary_stl
from tests.robots import ROBOTS, load

from kinemorph._files import FileError
from kinemorph.geometry.meshes.mesh import load_mesh, mesh_of
from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.model.model import Model


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def is_tetrahedron(mesh, scale=1.0):
    assert mesh.vertices.shape == (4, 3)
    assert mesh.faces.shape == (4, 3)
    assert mesh.vertices.dtype == np.float64
    assert mesh.faces.dtype == np.int32
    assert mesh.volume == pytest.approx(scale**3 / 6.0)
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 0], [scale] * 3])


# ------------------------------------------------------------------------------------------------------- good files


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.stl", binary_stl(TETRAHEDRON[FACES])),
        ("solid.stl", binary_stl(TETRAHEDRON[FACES], header=b"solid facet")),
        ("ascii.STL", ascii_stl(TETRAHEDRON[FACES])),
        ("a.obj", OBJ),
        ("a.dae", DAE),
        ("polylist.dae", DAE.replace("triangles", "polylist").replace("<p>", "<vcount>3 3 3 3</vcount><p>")),
        (
            "centimetres.dae",
            DAE.replace('meter="1"', 'meter="0.01"').replace("1 0 0 0 1 0 0 0 1", "100 0 0 0 100 0 0 0 100"),
        ),
        ("no_scene.dae", DAE.replace('<instance_visual_scene url="#scene"/>', "")),
    ],
)
def test_formats(write, name, content):
    is_tetrahedron(load_mesh(write(name, content)))


def test_scale_and_mirror(write):
    path = write("a.stl", binary_stl(TETRAHEDRON[FACES]))
    is_tetrahedron(load_mesh(path, (2, 2, 2)), 2.0)
    mirrored = load_mesh(path, (1, -1, 1))
    assert mirrored.volume == pytest.approx(1 / 6)  # its faces still look outwards
    assert mirrored.bounds[0].tolist() == [0, -1, 0]


def test_a_quad_in_obj_becomes_two_triangles(write):
    mesh = load_mesh(write("quad.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"))
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_a_quad_that_is_not_flat_is_cut_along_its_shorter_diagonal(write):
    mesh = load_mesh(write("bent.obj", "v 0 0 0\nv 1 0 0\nv 2 2 1\nv 0 1 0\nf 1 2 3 4\n"))
    assert mesh.faces.tolist() == [[0, 1, 3], [1, 2, 3]]


def test_polygons_of_many_sizes(write):
    points = "0 0 0 1 0 0 2 1 0 1 2 0 0 1 0"
    text = DAE.replace("0 0 0 1 0 0 0 1 0 0 0 1", points).replace('count="4" stride', 'count="5" stride')
    text = text.replace('<input semantic="NORMAL" source="#none" offset="1"/>', "")
    start, end = text.index("<p>"), text.index("</p>")
    as_list = text[:start] + "<vcount>5 3 2</vcount><p>0 1 2 3 4 0 1 2 0 1" + text[end:]
    mesh = load_mesh(write("list.dae", as_list.replace("triangles", "polylist")))
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 1, 2]]
    one_each = text[:start] + "<p>0 1 2 3 4</p><p>0 1 2" + text[end:]
    assert load_mesh(write("each.dae", one_each.replace("triangles", "polygons"))).faces.tolist() == mesh.faces.tolist()
    strip = text[:start] + "<p>0 1 4 2 3" + text[end:]
    mesh = load_mesh(write("strip.dae", strip.replace("triangles", "tristrips")))
    assert mesh.faces.tolist() == [[0, 1, 4], [4, 1, 2], [4, 2, 3]]


def test_nodes_in_nodes_move_a_mesh(write):
    moves = "<translate>1 0 0</translate><rotate>0 0 1 90</rotate><node><scale>2 2 2</scale>"
    mesh = load_mesh(write("moved.dae", DAE.replace("<node>", f"<node>{moves}").replace("</node>", "</node></node>")))
    np.testing.assert_allclose(mesh.bounds, [[-1, 0, 0], [1, 2, 2]], atol=1e-12)
    assert mesh.volume == pytest.approx(8 / 6)


def test_mirror_in_a_scene_turns_the_faces(write):
    mesh = load_mesh(write("mirror.dae", DAE.replace("<node>", "<node><scale>1 1 -1</scale>")))
    assert mesh.volume == pytest.approx(1 / 6)


def test_colours(write):
    assert load_mesh(write("a.dae", DAE)).colours.tolist() == [[1, 0, 0, 1]] * 4
    assert load_mesh(write("b.dae", DAE.replace('symbol="paint"', 'symbol="other"'))).colours is None
    write("c.mtl", "newmtl red\nKd 1 0 0\nd 0.5\nnewmtl broken\nKd 1\n")
    mesh = load_mesh(write("c.obj", OBJ.replace("f 1 3 2", "mtllib c.mtl\nf 1 3 2\nusemtl red")))
    assert np.isnan(mesh.colours[0]).all()
    assert mesh.colours[1:].tolist() == [[1, 0, 0, 0.5]] * 3
    assert load_mesh(write("d.obj", OBJ.replace("f 1 3 2", "mtllib /etc/passwd\nusemtl red\nf 1 3 2"))).colours is None


def test_points_without_faces_are_dropped(write):
    is_tetrahedron(
        load_mesh(write("a.obj", OBJ.replace("v 0 0 1", "v 0 0 1\nv 9 9 9").replace("f -3 -2 -1", "f 2 3 4")))
    )


def test_mesh_is_kept_until_its_file_changes(write):
    path = write("a.stl", binary_stl(TETRAHEDRON[FACES]))
    first = load_mesh(path)
    assert load_mesh(path) is first
    write("a.stl", binary_stl(2 * TETRAHEDRON[FACES]))
    os.utime(path, ns=(1, 1))
    is_tetrahedron(load_mesh(path), 2.0)


def test_nothing_changes_a_mesh(write):
    mesh = load_mesh(write("a.stl", binary_stl(TETRAHEDRON[FACES])))
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0] = 1.0


# ----------------------------------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    ("shape", "volume", "size"),
    [
        (Shape.box((1, 2, 3)), 6, (1, 2, 3)),
        (Shape.sphere(2), 32 / 3 * np.pi, (4, 4, 4)),
        (Shape.cylinder(2, 5), 20 * np.pi, (4, 4, 5)),
        (Shape.capsule(2, 5), 20 * np.pi + 32 / 3 * np.pi, (4, 4, 9)),
        (Shape.cone(2, 5), 20 / 3 * np.pi, (4, 4, 5)),
    ],
    ids=["box", "sphere", "cylinder", "capsule", "cone"],
)
def test_simple_shapes_become_closed_meshes(shape, volume, size):
    mesh = mesh_of(shape)
    assert 0.97 * volume < mesh.volume <= volume * (1 + 1e-12)
    np.testing.assert_allclose(mesh.bounds, [-np.array(size) / 2, np.array(size) / 2], atol=1e-12)
    edges = np.vstack([mesh.faces[:, [i, (i + 1) % 3]] for i in range(3)])
    assert {tuple(e) for e in edges} == {tuple(e[::-1]) for e in edges}  # every edge is walked once each way
    assert len({tuple(e) for e in edges}) == len(edges)


# ----------------------------------------------------------------------------------------------------------- robots


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")
def test_meshes_of_robots_agree_with_assimp():
    coal = pytest.importorskip("coal")
    loader = coal.MeshLoader()
    meshes = {s.path for name in ROBOTS for shapes in shapes_of(load(name)) for s in shapes if s.path is not None}
    # All of them take half a minute; every ninth has all formats and most programs that write them.
    sample = sorted(meshes)[:: 1 if os.environ.get("KINEMORPH_ALL_MESHES") else 9]
    assert {path.suffix.lower() for path in sample} == {".stl", ".obj", ".dae"}
    for path in sample:
        mesh, other = load_mesh(path), loader.load(str(path), np.ones(3))
        other.computeLocalAABB()
        bounds = np.array([other.aabb_local.min_, other.aabb_local.max_])
        np.testing.assert_allclose(mesh.bounds, bounds, atol=1e-5 * np.abs(bounds).max(), err_msg=str(path))
        assert other.num_tris <= len(mesh.faces) <= 1.1 * other.num_tris  # assimp drops triangles without area


def shapes_of(model: Model) -> list[tuple[Shape, ...]]:
    return [*model.shapes, model.base_shapes]


def msh(vertices, faces, claimed=None):
    head = np.array([claimed or len(vertices), 0, 0, len(faces)], "<i4")
    return head.tobytes() + np.asarray(vertices, "<f4").tobytes() + np.asarray(faces, "<i4").tobytes()


def test_msh_files_have_faces_or_mean_the_hull(write):
    is_tetrahedron(load_mesh(write("a.msh", msh(TETRAHEDRON, FACES))))
    is_tetrahedron(load_mesh(write("points.msh", msh(TETRAHEDRON, []))))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("cut.msh", msh(TETRAHEDRON, FACES)[:-4], r"which take 112 bytes, but it has 108"),
        ("many.msh", msh(TETRAHEDRON, FACES, 2_000_000_000), r"it claims 2000000000 vertices"),
        ("short.msh", b"1234", "too few for an MSH file"),
        ("flat.msh", msh(TETRAHEDRON[:3], []), "there is no hull around the points"),
        (
            "minus.dae",
            DAE.replace('offset="0"', 'offset="-1"').replace('offset="1"', 'offset="-1"'),
            "cannot be negative",
        ),
    ],
)
def test_files_that_lie_about_their_size_are_refused(write, name, content, words):
    with pytest.raises(FileError, match=words):
        load_mesh(write(name, content))
