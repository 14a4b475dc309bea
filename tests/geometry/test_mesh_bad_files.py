"""Bad and hostile mesh files: each gets one sentence that names the file, the place and the value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.geometry.samples import DAE, FACES, OBJ, TETRAHEDRON, ascii_stl, binary_stl

from kinemorph._files import FileError
from kinemorph.geometry.meshes.mesh import load_mesh, mesh_of
from kinemorph.geometry.shapes import Shape

SOLID = TETRAHEDRON[FACES]
NAN = TETRAHEDRON.copy()
NAN[3, 2] = np.nan
FAR = "<node><scale>1e300 1e300 1e300</scale>"
COUNTS = ("<p>", "<vcount>3 3 3 9</vcount><p>")


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.stl", "", "it has 0 bytes, too few for an STL file"),
        ("none.stl", binary_stl(TETRAHEDRON[:0]), "there are no triangles in it"),
        ("claims.stl", binary_stl(SOLID, 4_000_000_000), "it claims 4000000000 triangles, which take 2000000"),
        ("cut.stl", binary_stl(SOLID)[:-1], "it claims 4 triangles, which take 284 bytes, but it has 283"),
        ("nan.stl", binary_stl(NAN[FACES]), "expected numbers up to 1e+06"),
        ("far.stl", binary_stl(1e9 * SOLID), "[0.0, 0.0, 1000000000.0]; expected numbers up to"),
        ("ascii.stl", ascii_stl(SOLID)[:-20], "there is no 'endsolid' at its end"),
        ("word.stl", ascii_stl(SOLID).replace("1.0", "one", 1), '"one" in a vertex is not a number'),
        ("two.stl", ascii_stl(SOLID[:, :2]), "it has 8 vertices; expected three for each"),
        ("empty.obj", "", "there are no triangles in it"),
        ("nan.obj", OBJ.replace("v 1 0 0", "v nan 0 0"), "vertex 1 is at [nan, 0.0, 0.0]"),
        ("range.obj", OBJ.replace("f 1 3 2", "f 1 3 5"), ":6: a face names the vertices [1, 3, 5], but there are 4"),
        ("zero.obj", OBJ.replace("f 1 3 2", "f 0 3 2"), ":6: a face names the vertices [0, 3, 2], but there are 4"),
        ("back.obj", OBJ.replace("f -3", "f -9"), ":9: a face names the vertices [-4, 3, 4], but there are 4"),
        ("huge.obj", OBJ.replace("f 1 3 2", f"f 1 3 {10**30}"), ':6: "f 1 3 1'),
        ("two.obj", OBJ.replace("f 1 3 2", "f 1 3"), ':6: "f 1 3" is not read as a face'),
        ("word.obj", OBJ.replace("v 1 0 0", "v one 0 0"), ':3: "v one 0 0" is not read as a vertex'),
        ("short.obj", OBJ.replace("v 1 0 0", "v 1 0"), ':3: "v 1 0" is not read as a vertex'),
        ("empty.dae", "", "it is empty"),
        ("cut.dae", DAE[:900], "this is not XML: it ends too early"),
        ("root.dae", "<html/>", ":1: <html>: this is not a COLLADA file"),
        ("bomb.dae", '<!DOCTYPE a [<!ENTITY a "b">]><COLLADA/>', "document types and entities are refused"),
        ("no_mesh.dae", "<COLLADA/>", "there are no triangles in it"),
        ("nan.dae", DAE.replace("0 0 0 1 0 0", "0 0 0 nan 0 0"), "<float_array>: one of its numbers is not finite"),
        ("word.dae", DAE.replace("0 0 0 1 0 0", "0 0 0 one 0 0"), '<float_array>: "one" is not a number'),
        ("range.dae", DAE.replace("<p>0", "<p>7"), "<triangles>: it names the vertex 7, but there are 4"),
        ("negative.dae", DAE.replace("<p>0", "<p>-1"), "<triangles>: it names the vertex -1, but there are 4"),
        ("odd.dae", DAE.replace("3 0</p>", "3</p>"), "<p>: it has 23 indices, which is not a multiple of 2"),
        ("seven.dae", DAE.replace("2 0 3 0</p>", "</p>"), "<triangles>: it has 10 corners; expected three"),
        ("claims.dae", DAE.replace('count="4" stride', 'count="4000000000" stride'), "it takes 4000000000 points"),
        ("link.dae", DAE.replace('url="#shape"', 'url="#nothing"'), 'url="#nothing": there is nothing with this id'),
        ("no_input.dae", DAE.replace('"VERTEX"', '"CORNER"'), 'there is no <input semantic="VERTEX">'),
        ("no_points.dae", DAE.replace('"POSITION"', '"PLACE"'), 'there is no <input semantic="POSITION">'),
        ("matrix.dae", DAE.replace("<node>", "<node><matrix>1 2 3</matrix>"), "<matrix>: it has 3 numbers"),
        ("far.dae", DAE.replace("<node>", FAR * 2).replace("</node>", "</node></node>"), "expected numbers up to"),
        ("itself.dae", DAE.replace("<node>", '<node id="n"><instance_node url="#n"/>'), "perhaps one contains itself"),
        ("counts.dae", DAE.replace("triangles", "polylist").replace(*COUNTS), "do not add up to the 12"),
        ("arm.ply", "ply", 'meshes of type ".ply" are not read; convert it to .stl, .obj, .dae or .msh'),
    ],
)
def test_bad_mesh_is_refused_in_one_sentence(write, name, content, complaint):
    path = write(name, content)
    with pytest.raises(FileError) as caught:
        load_mesh(path)
    message = str(caught.value)
    assert message.startswith(path)
    assert complaint in message
    assert "\n" not in message


def test_nodes_that_multiply_are_refused(write):
    # thirty nodes, each of which shows the next one twice: a thousand million showings from two kilobytes
    nodes = "".join(
        f'<node id="n{i}"><instance_node url="#n{i + 1}"/><instance_node url="#n{i + 1}"/></node>' for i in range(30)
    )
    library = f'<library_nodes>{nodes}<node id="n30"><instance_geometry url="#shape"/></node></library_nodes>'
    text = DAE.replace("<node>", '<node><instance_node url="#n0"/>').replace(
        "<library_visual", f"{library}<library_visual"
    )
    with pytest.raises(FileError, match="more than 10000 nodes"):
        load_mesh(write("laughs.dae", text))


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"arm\.stl: there is no such file"):
        mesh_of(Shape.mesh(tmp_path / "arm.stl"))


def test_flat_scale_is_refused(write):
    with pytest.raises(FileError, match=r"scale \[1.0, 0.0, 1.0\] makes the mesh flat"):
        load_mesh(write("a.obj", OBJ), (1, 0, 1))


@given(kind=st.sampled_from(["a.stl", "b.stl", "c.obj", "d.dae"]), data=st.data())
def test_damaged_mesh_loads_or_is_refused(tmp_path_factory, kind, data):
    good = {
        "a.stl": binary_stl(SOLID),
        "b.stl": ascii_stl(SOLID).encode(),
        "c.obj": OBJ.encode(),
    }
    content = bytearray(good.get(kind, DAE.encode()))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6))
    path = tmp_path_factory.getbasetemp() / f"damaged_{kind}"
    path.write_bytes(content)
    message = str(path)
    try:
        load_mesh(path)
    except FileError as error:
        message = str(error)
    assert message.startswith(str(path))
