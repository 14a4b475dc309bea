"""Bad and hostile URDF files: each gets one sentence that names the file, the element and the value."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinemorph import _xml
from kinemorph._files import FileError, ModelWarning
from kinemorph.io.urdf.load_urdf import load_urdf, parse_urdf

BAD = Path(__file__).parent / "bad"

# file: line, element, value and what is wrong with it
CORPUS = {
    "all_in_a_cycle": (19, '<joint name="ba">', 'link "a" is its own ancestor (a cycle)'),
    "billion_laughs": (2, "<!DOCTYPE robot>", "document types and entities are refused"),
    "colour": (7, '<color> in <material name="red">', 'rgba="1 0 0": expected 4 numbers'),
    "comma": (17, '<axis> in <joint name="hinge">', 'xyz="1,0 0": expected 3 numbers with spaces between them'),
    "cycle": (25, '<joint name="ba">', 'link "a" is its own ancestor (a cycle)'),
    "duplicate_joint": (25, '<joint name="hinge">', "there is already a joint of this name in line 20"),
    "duplicate_link": (14, '<link name="arm">', "there is already a link of this name in line 8"),
    "empty_number": (10, '<mass> in <link name="arm">', "the attribute 'value' is empty"),
    "external_entity": (2, "<!DOCTYPE robot>", "document types and entities are refused"),
    "flat_box": (5, '<box> in <link name="base">', "size (1.0, 0.0, 1.0) must be positive"),
    "follows_itself": (23, '<mimic> in <joint name="j1">', 'joint "j1" follows itself'),
    "huge_number": (10, '<mass> in <link name="arm">', 'value="1e300": 1e300 is too large'),
    "infinite_position": (17, '<origin> in <joint name="hinge">', 'xyz="0 inf 0": inf is not finite'),
    "joint_type": (14, '<joint name="hinge">', 'type="hinge": there is no such type; use one of revolute, continuous'),
    "limits_swapped": (17, '<limit> in <joint name="hinge">', 'lower="1" is above upper="-1"'),
    "missing_child": (16, '<child> in <joint name="hinge">', 'link="hand": there is no link of this name'),
    "missing_izz": (11, '<inertia> in <link name="arm">', "the attribute 'izz' is missing"),
    "missing_mass": (9, '<inertial> in <link name="arm">', "<mass> is missing"),
    "missing_parent": (15, '<parent> in <joint name="hinge">', 'link="shoulder": there is no link of this name'),
    "nan_mass": (10, '<mass> in <link name="arm">', 'value="nan": nan is not finite'),
    "negative_damping": (17, '<dynamics> in <joint name="hinge">', 'damping="-1" cannot be negative'),
    "negative_effort": (17, '<limit> in <joint name="hinge">', 'effort="-10" cannot be negative'),
    "negative_inertia": (11, '<inertia> in <link name="arm">', 'iyy="-0.1": a moment of inertia cannot be negative'),
    "negative_mass": (10, '<mass> in <link name="arm">', 'value="-2.5": a mass cannot be negative'),
    "negative_radius": (5, '<sphere> in <link name="base">', "size (-1.0,) must be positive"),
    "no_filename": (5, '<mesh> in <link name="base">', "the attribute 'filename' is missing"),
    "no_joint_name": (14, "<joint>", "the attribute 'name' is missing"),
    "no_joint_type": (14, '<joint name="hinge">', "the attribute 'type' is missing"),
    "no_limit": (14, '<joint name="hinge">', "<limit> is missing, which a revolute joint needs"),
    "no_link_attribute": (15, '<parent name="base">', "the attribute 'link' is missing"),
    "no_parent_element": (14, '<joint name="hinge">', "<parent> is missing"),
    "no_shape": (4, '<geometry> in <link name="base">', "it holds 0 shapes; expected one"),
    "not_utf8": (2, "", "this is not XML"),
    "not_xml": (1, "", "this is not XML: syntax error"),
    "overflowing_number": (17, '<limit> in <joint name="hinge">', 'upper="1e999": 1e999 is too large'),
    "own_parent": (14, '<joint name="loop">', 'link "a" is its own ancestor (a cycle)'),
    "path_at_the_top": (5, '<mesh> in <link name="base">', 'filename="/": this is outside the folders'),
    "path_escape": (5, "<mesh>", 'filename="package://../../../../etc/passwd": this is outside the folders'),
    "path_escape_inside": (5, "<mesh>", 'filename="package://bad/../../../../../etc/passwd.stl": this is outside'),
    "path_escape_relative": (5, "<mesh>", 'filename="../../../../../../../../etc/passwd": this is outside the folders'),
    "truncated": (11, "", "this is not XML: it ends too early"),
    "two_attributes": (2, "", "this is not XML: duplicate attribute"),
    "two_inertials": (8, '<link name="arm">', "there are 2 <inertial>"),
    "two_numbers": (17, '<origin> in <joint name="hinge">', 'xyz="0 0": expected 3 numbers'),
    "two_parents": (30, '<joint name="j3">', 'link "b" already hangs on the joint "j2"'),
    "two_roots": (1, '<robot name="bad">', 'there are 2 root links ("left", "right")'),
    "two_shapes": (4, '<geometry> in <link name="base">', "it holds 2 shapes; expected one"),
    "unclosed": (3, "", "this is not XML: mismatched tag"),
    "undeclared_entity": (2, "", "this is not XML: undefined entity"),
    "unknown_encoding": (1, "", "the encoding cannot be read: unknown encoding: klingon"),
    "unknown_shape": (5, '<cone> in <link name="base">', "there is no such shape; use box"),
    "web_mesh": (5, "<mesh>", 'filename="https://example.org/arm.stl": https:// is not read'),
    "word_for_number": (10, '<mass> in <link name="arm">', 'value="heavy": "heavy" is not a number'),
    "wrong_root": (1, "<sdf>", "its outermost element must be <robot>"),
    "xacro": (2, "<xacro:include>", "this is a xacro file; expand it first"),
    "zero_axis": (17, '<axis> in <joint name="hinge">', 'xyz="0 0 0": this vector has no direction'),
}


@pytest.mark.parametrize("name", CORPUS)
def test_bad_file_is_refused_in_one_sentence(name):
    path = BAD / f"{name}.urdf"
    line, element, complaint = CORPUS[name]
    with pytest.raises(FileError) as caught:
        load_urdf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: {element}")
    assert complaint in message
    assert "\n" not in message
    assert len(message) < 500 + len(str(path)) * 3


def test_every_file_of_the_corpus_is_tested():
    assert {path.stem for path in BAD.iterdir()} == {*CORPUS, "empty", "blank"}


@pytest.mark.parametrize("name", ["empty", "blank"])
def test_empty_file_is_refused(name):
    path = BAD / f"{name}.urdf"
    with pytest.raises(FileError, match="it is empty") as caught:
        load_urdf(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"arm\.urdf: there is no such file"):
        load_urdf(tmp_path / "arm.urdf")


def test_folder_is_refused(tmp_path):
    with pytest.raises(FileError, match="this is a folder"):
        load_urdf(tmp_path)


# ------------------------------------------------------------------------------------------------ too much of something


def refused(text: str) -> str:
    with pytest.raises(FileError) as caught:
        parse_urdf(text)
    return str(caught.value)


def test_nesting_of_200000_elements_is_refused():
    n = 200_000
    message = refused('<robot name="deep">' + "<a>" * n + "</a>" * n + "</robot>")
    assert message == "URDF text:1: <a>: elements are nested more than 100 deep"


def test_too_many_elements_are_refused():
    message = refused('<robot name="wide">' + "<a/>" * (_xml.MOST_ELEMENTS + 1) + "</robot>")
    assert message == "URDF text:1: <a>: there are more than 200000 elements"


def test_too_many_bytes_are_refused_without_parsing(tmp_path):
    path = tmp_path / "huge.urdf"
    with path.open("wb") as file:
        file.truncate(_xml.LARGEST_XML_BYTES + 1)
    with pytest.raises(
        FileError,
        match=rf"huge\.urdf: it has {_xml.LARGEST_XML_BYTES + 1} bytes, the limit is {_xml.LARGEST_XML_BYTES}",
    ):
        load_urdf(path)


def test_long_values_are_cut_in_errors():
    message = refused(
        f'<robot name="r"><link name="l"><inertial><mass value="{"x" * 100_000}"/></inertial></link></robot>'
    )
    assert len(message) < 400
    message = refused(f'<robot name="r"><link name="{"x" * 100_000}"><inertial/></link></robot>')
    assert len(message) < 400


def test_long_number_is_refused_at_once():
    refused(f'<robot><link name="a"><inertial><mass value="{"1" * 1_000_000}x"/></inertial></link></robot>')


def test_text_that_cannot_be_encoded_is_refused():
    assert "not a text" in refused('<robot name="\ud800"/>')


def test_bad_mesh_path_of_many_characters_is_refused():
    mesh = f'<mesh filename="{"a/" * 100_000}"/>'
    message = refused(f'<robot><link name="a"><visual><geometry>{mesh}</geometry></visual></link></robot>')
    assert "a path of 200000 characters, the limit is 1000" in message


# ---------------------------------------------------------------------------------------------- meshes out of bounds


def shown(folder: Path, filename: str) -> Path:
    """A URDF file that shows a mesh."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "robot.urdf"
    mesh = f'<mesh filename="{filename}"/>'
    path.write_text(f'<robot><link name="a"><visual><geometry>{mesh}</geometry></visual></link></robot>')
    return path


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_absolute_mesh_path_outside_is_refused(tmp_path, prefix):
    secret = tmp_path / "secret.stl"
    secret.write_text("solid")
    path = shown(tmp_path / "package" / "urdf", f"{prefix}{secret.as_posix()}")
    with pytest.raises(FileError, match="outside the folders that meshes may come from") as caught:
        load_urdf(path)
    assert "<mesh>" in str(caught.value)
    assert load_urdf(path, mesh_root=tmp_path).base_shapes[0].path == secret.resolve()


def test_mesh_through_a_symbolic_link_to_the_outside_is_refused(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.stl").write_text("solid")
    path = shown(tmp_path / "package" / "urdf", "package://package/meshes/secret.stl")
    try:
        (tmp_path / "package" / "meshes").symlink_to(tmp_path / "outside", target_is_directory=True)
    except OSError:
        pytest.skip("this system has no symbolic links")
    with pytest.raises(FileError, match="outside the folders that meshes may come from"):
        load_urdf(path)


def test_package_at_the_top_of_the_file_system_is_none(tmp_path):
    top = Path(tmp_path.anchor)
    folder = next((path for path in top.iterdir() if path.is_dir() and path not in tmp_path.parents), None)
    if folder is None:
        pytest.skip("nothing else at the top of the file system")
    shape = load_urdf(shown(tmp_path / "urdf", f"package://{folder.name}/a.stl")).base_shapes[0]
    assert shape.path is not None
    assert shape.path.is_relative_to(tmp_path.resolve())


def test_mesh_root_is_the_only_root(tmp_path):
    (tmp_path / "only").mkdir()
    path = shown(tmp_path / "urdf", "arm.stl")
    (tmp_path / "urdf" / "arm.stl").write_text("solid")
    with pytest.raises(FileError, match="outside the folders"):
        load_urdf(path, mesh_root=tmp_path / "only")


# -------------------------------------------------------------------------------------------------- random damage

GOOD = b"""<?xml version="1.0"?>
<robot name="good">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.5" rpy="0 0.1 0"/>
      <mass value="2.5"/>
      <inertia ixx="0.1" ixy="0" ixz="1e-3" iyy="0.1" iyz="0" izz="0.05"/>
    </inertial>
    <visual>
      <geometry><cylinder radius="0.1" length="1.0"/></geometry>
      <material name="red"/>
    </visual>
    <collision><geometry><mesh filename="package://good/arm.stl" scale="1 1 1"/></geometry></collision>
  </link>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <origin xyz="0 0 1" rpy="0 0 1.57"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
    <dynamics damping="0.1" friction="0.01"/>
  </joint>
  <joint name="wrist" type="continuous">
    <parent link="arm"/>
    <child link="hand"/>
    <mimic joint="shoulder" multiplier="2" offset="0.5"/>
  </joint>
</robot>
"""


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file after a few bytes were changed, deleted, doubled or swapped."""
    content = bytearray(GOOD)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        length = draw(st.integers(1, 40))
        match draw(st.sampled_from(["flip", "set", "digit", "delete", "double", "cut"])):
            case "flip":
                content[at : at + 1] = bytes([GOOD[at % len(GOOD)] ^ 1 << draw(st.integers(0, 7))])
            case "set":
                content[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case "digit":
                content[at : at + 1] = draw(st.sampled_from([b"e9", b"-", b"9" * 20, b"0", b".", b'"', b"<", b"nan"]))
            case "delete":
                del content[at : at + length]
            case "double":
                content[at:at] = content[at : at + length]
            case "cut":
                del content[max(at, 1) :]
    return bytes(content)


def test_the_good_file_is_good(tmp_path):
    path = tmp_path / "good.urdf"
    path.write_bytes(GOOD)
    assert load_urdf(path).nv == 2


@settings(max_examples=500)
@given(content=damaged(), floating=st.booleans())
def test_damaged_file_loads_or_is_refused(tmp_path_factory, content, floating):
    path = tmp_path_factory.getbasetemp() / "damaged.urdf"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        message = str(path)
        try:
            load_urdf(path, floating)
        except FileError as error:
            message = str(error)
    assert message.startswith(str(path))
