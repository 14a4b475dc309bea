"""What each element of a URDF file becomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinemorph._files import FileError, ModelWarning
from kinemorph.geometry.shapes import Role, ShapeKind
from kinemorph.io.urdf.load_urdf import load_urdf, parse_urdf
from kinemorph.multibody.layout import JointKind

pytestmark = pytest.mark.quick

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = LIMIT) -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*parts: str) -> str:
    return '<robot name="test">' + "".join(parts) + "</robot>"


def one_joint(kind: str = "revolute", inside: str = LIMIT) -> str:
    return robot(link("base"), link("arm"), joint("j", "base", "arm", kind, inside))


def one_link(inside: str) -> str:
    return robot(link("base", inside))


# --------------------------------------------------------------------------------------------------------- joints


@pytest.mark.parametrize(
    ("kind", "ours", "nv"),
    [
        ("revolute", JointKind.REVOLUTE, 1),
        ("continuous", JointKind.REVOLUTE, 1),
        ("prismatic", JointKind.PRISMATIC, 1),
        ("floating", JointKind.FREE, 6),
        ("planar", JointKind.PLANAR, 3),
    ],
)
def test_joint_types(kind, ours, nv):
    model = parse_urdf(one_joint(kind))
    assert (model.links[0]["kind"], model.nv, model.joint_names) == (ours, nv, ("j",))


def test_axis_is_x_where_the_file_says_nothing():
    assert parse_urdf(one_joint()).links[0]["axis"].tolist() == [1.0, 0.0, 0.0]


def test_axis_is_made_a_unit_vector():
    model = parse_urdf(one_joint(inside='<axis xyz="0 3 4"/>' + LIMIT))
    np.testing.assert_allclose(model.links[0]["axis"], [0.0, 0.6, 0.8])


@pytest.mark.parametrize("normal", [(0, 0, 1), (1, 0, 0), (1, 1, 0)])
def test_axis_of_a_planar_joint_is_the_normal(normal):
    row = parse_urdf(one_joint("planar", f'<axis xyz="{normal[0]} {normal[1]} {normal[2]}"/>')).links[0]
    np.testing.assert_allclose(row["axis"], normal / np.linalg.norm(normal))
    assert abs(row["axis"] @ row["axis2"]) < 1e-15


def test_limits():
    dof = parse_urdf(one_joint()).dofs[0]
    assert [dof[name] for name in ("lower", "upper", "effort_limit", "velocity_limit")] == [-1, 2, 3, 4]


def test_missing_limits_of_effort_and_velocity_are_none():
    dof = parse_urdf(one_joint(inside='<limit lower="-1"/>')).dofs[0]
    assert [dof[name] for name in ("lower", "upper", "effort_limit", "velocity_limit")] == [-1, 0, np.inf, np.inf]


def test_continuous_joint_has_no_end_whatever_its_limits_say():
    dof = parse_urdf(one_joint("continuous")).dofs[0]
    assert [dof[name] for name in ("lower", "upper", "effort_limit", "velocity_limit")] == [-np.inf, np.inf, 3, 4]


def test_the_largest_float_is_a_limit():
    assert (
        parse_urdf(one_joint(inside='<limit upper="1" effort="1.7976931348623157e+308"/>')).dofs[0]["effort_limit"]
        > 1e308
    )


def test_damping_and_friction():
    dof = parse_urdf(one_joint(inside=LIMIT + '<dynamics damping="0.5" friction="0.25"/>')).dofs[0]
    assert (dof["damping"], dof["friction"]) == (0.5, 0.25)


def test_origin_places_the_joint_in_its_parent():
    row = parse_urdf(one_joint(inside=LIMIT + '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>')).links[0]
    assert row["p"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(row["R"].reshape(3, 3), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_elements_of_other_programs_are_ignored():
    extra = "<gazebo reference='arm'><a/></gazebo><transmission name='t'/><ros2_control/><sensor/>"
    assert parse_urdf(robot(extra, link("base"), link("arm"), joint("j", "base", "arm"))).nv == 1


# --------------------------------------------------------------------------------------------------------- mimics

FINGERS = [link(name) for name in ("base", "a", "b", "c")]


def follow(source: str, more: str = "") -> str:
    return f'{LIMIT}<mimic joint="{source}"{more}/>'


def test_mimics_come_leaders_first():
    model = parse_urdf(
        robot(
            *FINGERS,
            joint("last", "base", "c", inside=follow("middle", ' multiplier="2" offset="0.5"')),
            joint("middle", "base", "b", inside=follow("first")),
            joint("first", "base", "a"),
        )
    )
    assert [(m.joint, m.source, m.multiplier, m.offset) for m in model.mimics] == [
        ("middle", "first", 1.0, 0.0),
        ("last", "middle", 2.0, 0.5),
    ]
    assert model.nv == 3


def test_mimic_of_a_joint_that_is_not_there_is_left_out_with_a_warning():
    text = robot(*FINGERS[:2], joint("j", "base", "a", inside=follow("thumb")))
    with pytest.warns(
        ModelWarning, match=r'<mimic> in <joint name="j">: joint="thumb": there is no joint of this name'
    ):
        assert parse_urdf(text).mimics == ()


def test_mimic_of_a_fixed_joint_is_left_out_with_a_warning():
    text = robot(*FINGERS[:3], joint("still", "base", "a", "fixed"), joint("j", "a", "b", inside=follow("still")))
    with pytest.warns(ModelWarning, match='joint="still" has not one degree of freedom'):
        assert parse_urdf(text).mimics == ()


def test_mimic_on_a_fixed_joint_means_nothing():
    text = robot(*FINGERS[:3], joint("j", "base", "a"), joint("still", "a", "b", "fixed", follow("j")))
    assert parse_urdf(text).mimics == ()


# -------------------------------------------------------------------------------------------------- base and merging

CAMERA = robot(
    link("base", INERTIAL + '<visual><geometry><box size="1 1 1"/></geometry></visual>'),
    link("arm"),
    link("mount", INERTIAL + '<visual><origin xyz="0 0 1"/><geometry><sphere radius="1"/></geometry></visual>'),
    link("lens", ""),
    joint("j", "base", "arm"),
    joint("weld", "arm", "mount", "fixed", '<origin xyz="1 0 0"/>'),
    joint("screw", "mount", "lens", "fixed", '<origin xyz="0 2 0" rpy="3 0 0"/>'),
)


def test_links_behind_fixed_joints_are_merged_and_leave_frames():
    model = parse_urdf(CAMERA)
    assert model.names == ("arm",)
    assert set(model.frames) == {"base", "arm", "mount", "lens", "weld", "screw"}
    assert {name: link for name, (link, _) in model.frames.items() if link != 0} == {"base": -1}
    assert model.frames["lens"][1].position.tolist() == [1, 2, 0]
    assert model.frames["weld"][1].position.tolist() == [1, 0, 0]
    row = model.links[0]
    assert row["mass"] == 4
    assert row["h"].tolist() == [2, 0, 0]
    assert row["I"].tolist() == [2, 0, 0, 4, 0, 4]
    assert model.shapes[0][0].pose.position.tolist() == [1, 0, 1]


def test_unmerged_links_stay_on_fixed_joints():
    model = parse_urdf(CAMERA, merge_fixed=False)
    assert model.names == ("arm", "mount", "lens")
    assert model.joint_names == ("j", "weld", "screw")
    assert model.links["kind"].tolist() == [JointKind.REVOLUTE, JointKind.FIXED, JointKind.FIXED]
    assert set(model.frames) == {"base", "arm", "mount", "lens"}


def test_root_is_the_world_and_keeps_its_shapes_and_frame():
    model = parse_urdf(CAMERA)
    assert [shape.kind for shape in model.base_shapes] == [ShapeKind.BOX]
    assert model.frames["base"][0] == -1
    assert model.mass == 4  # without the root's


def test_floating_root_has_a_free_joint():
    model = parse_urdf(CAMERA, floating=True)
    assert model.names == ("base", "arm")
    assert model.joint_names == ("root_joint", "j")
    assert (model.nq, model.nv, model.mass) == (8, 7, 6)
    assert model.base_shapes == ()
    assert len(model.shapes[0]) == 1


def test_floating_root_needs_its_joint_name():
    text = robot(link("base"), link("arm"), joint("root_joint", "base", "arm"))
    assert parse_urdf(text).nv == 1
    with pytest.raises(FileError, match=r'<joint name="root_joint">: floating=True needs this name'):
        parse_urdf(text, floating=True)


def test_joint_and_link_of_one_name_leave_one_frame():
    model = parse_urdf(robot(link("base"), link("tool"), joint("tool", "base", "tool", "fixed", "")))
    assert set(model.frames) == {"base", "tool"}
    assert model.n == 0


def test_a_long_chain_is_no_problem():
    n = 3000
    parts = [link("l0"), *(link(f"l{i}") + joint(f"j{i}", f"l{i - 1}", f"l{i}", "fixed", "") for i in range(1, n))]
    model = parse_urdf(robot(*parts), floating=True)
    assert (model.n, model.mass) == (1, 2 * n)


# --------------------------------------------------------------------------------------------------- mass and inertia


def test_inertia_is_moved_by_its_origin():
    inside = '<inertial><origin xyz="0 0 2" rpy="1.5707963267948966 0 0"/><mass value="3"/>'
    inside += '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>'
    row = parse_urdf(one_link(inside), floating=True).links[0]
    np.testing.assert_allclose(row["h"], [0, 0, 6])
    np.testing.assert_allclose(row["I"], [13, 0, 0, 14.5, 0, 2], atol=1e-12)


def test_impossible_inertia_is_used_with_a_warning():
    inside = INERTIAL.replace('izz="1"', 'izz="9"')
    with pytest.warns(
        ModelWarning, match=r'<inertia> in <link name="base">: inertia .* breaks the triangle inequality'
    ):
        model = parse_urdf(one_link(inside), floating=True)
    assert model.links[0]["I"].tolist() == [1, 0, 0, 1, 0, 9]
    with pytest.raises(FileError, match="strict=True"):
        parse_urdf(one_link(inside), floating=True, strict=True)


def test_rounded_zeros_are_no_impossible_inertia():
    inside = INERTIAL.replace('ixx="1"', 'ixx="-1e-20"').replace('iyy="1"', 'iyy="0"').replace('izz="1"', 'izz="1e-19"')
    with pytest.warns(ModelWarning, match="it moves no mass, in one of its directions at least"):  # and that is all
        assert parse_urdf(one_link(inside), floating=True).mass == 2


def test_joint_that_moves_no_mass_is_loaded_with_a_warning():
    text = robot(link("base"), link("arm", ""), joint("j", "base", "arm"))
    with pytest.warns(ModelWarning, match=r'<joint name="j">: it moves no mass, in one of its directions'):
        assert parse_urdf(text).nv == 1


def test_warning_names_the_places_but_not_hundreds_of_them():
    parts = [link(f"l{i}", "") + joint(f"j{i}", "base", f"l{i}") for i in range(300)]
    with pytest.warns(ModelWarning) as caught:
        parse_urdf(robot(link("base"), *parts))
    assert len(caught) == 1
    message = str(caught[0].message)
    assert '<joint name="j0">' in message
    assert "and 293 more" in message
    assert len(message) < 600


# ------------------------------------------------------------------------------------------------------------ shapes


def test_shapes_have_their_roles_sizes_and_places():
    model = parse_urdf(
        one_link(
            '<visual name="v"><origin xyz="1 0 0"/><geometry><cylinder radius="1" length="2"/></geometry></visual>'
            '<collision><geometry><capsule radius="1" length="2"/></geometry></collision>'
            '<collision><geometry><box size="1 2 3"/></geometry></collision>'
        )
    )
    visual, capsule, box = model.base_shapes
    assert (visual.kind, visual.role, visual.size, visual.name) == (ShapeKind.CYLINDER, Role.VISUAL, (1, 2), "v")
    assert visual.pose.position.tolist() == [1, 0, 0]
    assert (capsule.kind, capsule.role, capsule.size) == (ShapeKind.CAPSULE, Role.COLLISION, (1, 2))
    assert (box.kind, box.size) == (ShapeKind.BOX, (1, 2, 3))


def test_colours_come_from_materials_of_the_robot_of_other_links_and_of_the_visual():
    def seen(material: str) -> str:
        return f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'

    red, blue = '<color rgba="1 0 0 1"/>', '<color rgba="0 0 2 0.5"/>'
    model = parse_urdf(
        robot(
            f'<material name="red">{red}</material>',
            link(
                "base",
                seen('<material name="red"/>')
                + seen('<material name="blue"/>')
                + seen(f'<material name="blue">{blue}</material>')
                + seen('<material name="unknown"/>')
                + seen(""),
            ),
        )
    )
    assert [s.colour for s in model.base_shapes] == [(1, 0, 0, 1), (0, 0, 1, 0.5), (0, 0, 1, 0.5), None, None]


def urdf_with_mesh(folder: Path, filename: str, scale: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "robot.urdf"
    path.write_text(one_link(f'<visual><geometry><mesh filename="{filename}"{scale}/></geometry></visual>'))
    return path


@pytest.mark.parametrize(
    "filename",
    [
        "package://arm/meshes/a.stl",
        "package:///arm/meshes/a.stl",
        "model://arm/meshes/a.stl",
        "../meshes/a.stl",
        "file://../meshes/a.stl",
        "..\\meshes\\a.stl",
        "{arm}/meshes/a.stl",
        "file://{arm}/meshes/a.stl",
        "package://beside/a.stl",
    ],
)
def test_mesh_paths(tmp_path, filename):
    for path in (tmp_path / "arm" / "meshes" / "a.stl", tmp_path / "beside" / "a.stl"):
        path.parent.mkdir(parents=True)
        path.touch()
    path = urdf_with_mesh(tmp_path / "arm" / "urdf", filename.format(arm=(tmp_path / "arm").as_posix()))
    (shape,) = load_urdf(path).base_shapes
    place = "beside" if "beside" in filename else "arm/meshes"
    assert shape.path == (tmp_path / place / "a.stl").resolve()


def test_package_dirs_hold_packages_or_are_packages(tmp_path):
    mesh = tmp_path / "ws" / "arm" / "a.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    path = urdf_with_mesh(tmp_path / "elsewhere" / "deep" / "urdf", "package://arm/a.stl", ' scale="1 -1 2"')
    for folder in (tmp_path / "ws", tmp_path / "ws" / "arm"):
        (shape,) = load_urdf(path, package_dirs=[folder]).base_shapes
        assert shape.path == mesh.resolve()
        assert shape.size == (1, -1, 2)


def test_mesh_that_does_not_exist_is_found_missing_only_when_it_is_loaded(tmp_path):
    path = urdf_with_mesh(tmp_path / "arm" / "urdf", "package://arm/meshes/a.stl")
    (shape,) = load_urdf(path).base_shapes
    assert shape.path == (tmp_path / "arm" / "meshes" / "a.stl").resolve()


def test_absolute_mesh_of_another_machine_is_left_out_with_a_warning(tmp_path):
    path = urdf_with_mesh(tmp_path, "file:///no/such/folder/a.stl")
    with pytest.warns(
        ModelWarning, match=r'filename="file:///no/such/folder/a.stl": there is no such file on this machine'
    ):
        assert load_urdf(path).base_shapes == ()


# -------------------------------------------------------------------------------------------------------------- names


def test_name_and_gravity():
    model = parse_urdf(one_joint(), gravity=(0, 0, -1.6))
    assert model.name == "test"
    assert model.gravity.tolist() == [0, 0, -1.6]


def test_robot_without_a_name_is_called_like_its_file(tmp_path):
    path = tmp_path / "crane.urdf"
    path.write_text("<robot>" + link("base") + "</robot>")
    assert load_urdf(path).name == "crane"
    assert load_urdf(str(path)).name == "crane"


def test_names_may_have_any_letters():
    model = parse_urdf(robot(link("основа"), link("bras droit"), joint("épaule", "основа", "bras droit")))
    assert model.joint_names == ("épaule",)
