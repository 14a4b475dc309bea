"""SDF files: what each element becomes, loops, and one sentence for each bad file."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.strategies import random_pose, random_tree

import kinemorph as km
from kinemorph._files import FileError, ModelWarning
from kinemorph.io.sdf.load_sdf import load_sdf, parse_sdf
from kinemorph.scenes.robots.catalog import cassie, folder

WRITTEN = {
    km.JointKind.REVOLUTE: "revolute",
    km.JointKind.PRISMATIC: "prismatic",
    km.JointKind.FIXED: "fixed",
    km.JointKind.SPHERICAL: "ball",
    km.JointKind.UNIVERSAL: "universal",
    km.JointKind.SCREW: "screw",
}
INERTIAL = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def numbers(values) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def pose(at: km.Pose, attributes: str = "") -> str:
    """A pose with a quaternion x y z w."""
    x = Rotation.from_matrix(at.rotation).as_quat()
    return f'<pose rotation_format="quat_xyzw" {attributes}>{numbers(at.position)} {numbers(x)}</pose>'


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "<axis/>") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def sdf(*parts: str, version: str = "1.9", attributes: str = "") -> str:
    return f'<sdf version="{version}"><model name="test" {attributes}>{"".join(parts)}</model></sdf>'


def chain(kind: str = "revolute", inside: str = "<axis/>") -> str:
    return sdf(link("a"), link("b"), joint("world", "world", "a", "fixed", ""), joint("j", "a", "b", kind, inside))


def square(*more: str) -> str:
    """Four links in a ring: the fourth joint closes it."""
    links = [
        link(name, f"<pose>{x} {y} 0 0 0 0</pose>{INERTIAL}") for name, x, y in zip("abcd", (0, 1, 1, 0), (0, 0, 1, 1))
    ]
    return sdf(*links, *(joint(p + c, p, c) for p, c in ("ab", "bc", "cd", "da")), *more)


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_that_was_written_comes_back(seed: int) -> None:
    """Joint frames away from link frames, poses relative to each other, axes in other frames: the dynamics stay."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 10, list(WRITTEN))
    data = km.Data(tree)
    km.kinematics(tree, data, km.neutral(tree))
    at = [km.pose_of(tree, data, i) for i in range(tree.n)]  # the joint frames, at zero
    on = [random_pose(rng, 0.3) for _ in range(tree.n)]  # where a joint's frame is on its link in the file
    file = [at[i] @ on[i].inverse() for i in range(tree.n)]
    parts = []
    for i, l in enumerate(tree.links):
        I, m = l["I"][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3), l["mass"]
        com = l["h"] / m
        inertia = km.Inertia(m, com, I - m * (com @ com * np.eye(3) - np.outer(com, com))).moved(on[i])
        xx, xy, xz, _, yy, yz, _, _, zz = inertia.matrix.ravel().tolist()
        moments = dict(ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)
        mass = (
            f"<inertial><pose>{numbers(inertia.com)} 0 0 0</pose><mass>{numbers(m)}</mass><inertia>"
            f"{''.join(f'<{name}>{x!r}</{name}>' for name, x in moments.items())}</inertia></inertial>"
        )
        parent = tree.names[l["parent"]] if l["parent"] >= 0 else "world"
        # half of the links are placed in their parent's frame, and some through a frame of the file
        place = (
            pose(file[l["parent"]].inverse() @ file[i], f'relative_to="{parent}"')
            if parent != "world" and i % 2
            else pose(file[i])
        )
        parts.append(link(tree.names[i], place + mass))
        axes = [l["axis"], l["axis2"]]
        tags = "".join(
            f'<{tag}><xyz expressed_in="__model__">{numbers(at[i].rotation @ axis)}</xyz></{tag}>'
            for tag, axis in zip(("axis", "axis2"), axes, strict=True)
        )
        inside = pose(on[i]) + tags + f"<screw_thread_pitch>{2 * np.pi * float(l['pitch'])!r}</screw_thread_pitch>"
        parts.append(joint(tree.joint_names[i] + "!", parent, tree.names[i], WRITTEN[km.JointKind(l["kind"])], inside))
    model = parse_sdf(sdf(*reversed(parts)), merge_fixed=False, gravity=tree.gravity)
    assert isinstance(model, km.Model)
    q, v, tau = km.random_configuration(tree, rng), *rng.normal(size=(2, tree.nv))
    order = [model.joint(name + "!") for name in tree.joint_names]
    where_q = np.concatenate([np.arange(model.nq)[model.q_slice(i)] for i in order])
    where_v = np.concatenate([np.arange(model.nv)[model.v_slice(i)] for i in order])
    q_, v_, tau_ = np.empty(model.nq), np.empty(model.nv), np.empty(model.nv)
    q_[where_q], v_[where_v], tau_[where_v] = q, v, tau
    expected = km.aba(tree, data, q, v, tau)
    a = km.aba(model, km.Data(model), q_, v_, tau_)[where_v]
    np.testing.assert_allclose(a, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_model_stands_as_the_file_places_it() -> None:
    text = sdf(
        "<pose>1 0 0 0 0 1.5707963267948966</pose>",
        link("body", f"<pose>0 2 0 0 0 0</pose>{INERTIAL}"),
        link("arm", f'<pose relative_to="body" degrees="true">0 0 1 0 0 90</pose>{INERTIAL}'),
        joint("j", "body", "arm", inside="<pose>0 0 0.5 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>"),
        '<frame name="tip" attached_to="j"><pose>0 0 1 0 0 0</pose></frame>',
    )
    model = parse_sdf(text)
    data = km.Data(model)
    km.kinematics(model, data, km.neutral(model))
    assert model.joint_names == ("root_joint", "j")
    np.testing.assert_allclose(km.pose_of(model, data, "body").position, [-1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(km.pose_of(model, data, "arm").position, [-1, 0, 1], atol=1e-15)
    np.testing.assert_allclose(km.pose_of(model, data, "arm").rotation[:, 0], [-1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(km.pose_of(model, data, "tip").position, [-1, 0, 2.5], atol=1e-15)
    fixed = parse_sdf(text, floating=False)
    assert (fixed.nv, fixed.frames["body"][0]) == (1, -1)
    assert parse_sdf(text.replace("<pose>1", "<static>true</static><pose>1")).nv == 1


def test_limits_springs_and_damping() -> None:
    model = parse_sdf(
        chain(
            inside="<axis><xyz>0 3 4</xyz><limit><lower>-1</lower><upper>1e16</upper><velocity>3</velocity>"
            "<effort>-1</effort></limit><dynamics><damping>0.1</damping><friction>0.2</friction>"
            "<spring_stiffness>5</spring_stiffness><spring_reference>0.5</spring_reference></dynamics></axis>"
        )
    )
    dof = model.dofs[0]
    found = [
        dof[name] for name in ("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction", "stiffness")
    ]
    assert found == [-1, np.inf, 3, np.inf, 0.1, 0.2, 5]
    assert model.rest.tolist() == [0.5]
    np.testing.assert_allclose(model.links[0]["axis"], [0, 0.6, 0.8])
    both = parse_sdf(
        chain(
            "universal",
            "<axis><xyz>1 0 0</xyz><limit><lower>-inf</lower></limit></axis>"
            "<axis2><xyz>0 1 0</xyz><dynamics><damping>2</damping></dynamics></axis2>",
        )
    )
    assert both.dofs["damping"].tolist() == [0, 2]
    assert both.dofs["lower"].tolist() == [-np.inf, -np.inf]
    ball = parse_sdf(chain("ball", "<axis><dynamics><damping>2</damping></dynamics></axis>"))
    assert ball.dofs["damping"].tolist() == [2, 2, 2]
    assert parse_sdf(chain("continuous", "<axis><limit><lower>1</lower></limit></axis>")).dofs["lower"] == -np.inf
    assert parse_sdf(chain("screw", "<axis/><thread_pitch>-4</thread_pitch>")).links[0]["pitch"] == 0.25


def test_an_axis_of_old_files_is_in_the_frame_of_the_model() -> None:
    turned = f"<pose>0 0 0 1.5707963267948966 0 0</pose>{INERTIAL}"
    inside = "<axis><xyz>0 0 1</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>"
    text = sdf(link("a", turned), joint("j", "world", "a", inside=inside), version="1.6")
    np.testing.assert_allclose(parse_sdf(text).links[0]["axis"], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(
        parse_sdf(text.replace("model_frame>1<", "model_frame>0<")).links[0]["axis"], [0, 0, 1], atol=1e-15
    )

    oldest = text.replace("1.6", "1.4").replace("model_frame>1<", "model_frame>0<")
    np.testing.assert_allclose(parse_sdf(oldest).links[0]["axis"], [0, 1, 0], atol=1e-15)


def test_the_world_may_be_a_child() -> None:
    """A joint says the same from either side."""
    place = "<pose>0 0 0.5 0 0 0</pose>"
    inside = "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper></limit></axis>"
    arm = link("a", "<pose>1 0 0 0.3 0 0</pose>" + INERTIAL)
    usual = parse_sdf(sdf(arm, joint("j", "world", "a", inside=place + inside)))
    other = place.replace("<pose>", '<pose relative_to="a">') + inside.replace("0 1 0", "0 -1 0")
    turned = parse_sdf(sdf(arm, joint("j", "a", "world", inside=other)))
    a = [km.aba(m, km.Data(m), [0.4], [0.7], [0.2]) for m in (usual, turned)]
    np.testing.assert_allclose(*a, rtol=1e-12)
    ring = parse_sdf(square(joint("pin", "c", "world", "ball", "")))
    assert (ring.loop_names, ring.loops[1].a) == (("da", "pin"), None)
    np.testing.assert_allclose(km.loop_errors(ring, km.Data(ring), km.neutral(ring)), 0.0, atol=1e-15)


def test_shapes(tmp_path: Path) -> None:
    kinds = (
        "<box><size>1 2 3</size></box>",
        "<sphere><radius>1</radius></sphere>",
        "<cylinder><radius>1</radius><length>2</length></cylinder>",
        "<capsule><radius>1</radius><length>2</length></capsule>",
        "<mesh><uri>model://test/arm.stl</uri><scale>1 -1 1</scale></mesh>",
    )
    material = "<material><ambient>1 0 0 1</ambient><diffuse>0 1 0</diffuse></material>"
    parts = [
        f'<visual name="v{i}"><pose>{i} 0 0 0 0 0</pose><geometry>{kind}</geometry>{material}</visual>'
        for i, kind in enumerate(kinds)
    ]
    parts += ["<collision name='c'><geometry><plane/></geometry></collision>"]
    with pytest.warns(ModelWarning, match='<plane> in <collision name="c">: this shape is not read'):
        model = parse_sdf(sdf(link("a", INERTIAL + "".join(parts))), folder=tmp_path)
    assert [shape.kind for shape in model.shapes[0]] == ["box", "sphere", "cylinder", "capsule", "mesh"]
    assert [shape.pose.position[0] for shape in model.shapes[0]] == [0, 1, 2, 3, 4]
    assert model.shapes[0][0].colour == (0, 1, 0, 1)
    assert model.shapes[0][4].size == (1, -1, 1)


def test_a_joint_too_many_closes_a_loop() -> None:
    ring = parse_sdf(square())
    assert (ring.loop_names, ring.joint_names) == (("da",), ("root_joint", "ab", "bc", "cd"))
    np.testing.assert_allclose(km.loop_errors(ring, km.Data(ring), km.neutral(ring)), 0.0, atol=1e-15)
    other = parse_sdf(square(), prefer=["da", "cd"])
    assert other.loop_names == ("bc",)  # c hangs on nothing else, so d and a hang on it
    np.testing.assert_allclose(km.loop_errors(other, km.Data(other), km.neutral(other)), 0.0, atol=1e-15)
    held = parse_sdf(square(joint("pin", "world", "c", "ball", "")))
    assert held.loop_names == ("da", "pin")
    assert held.loops[1].a is None


def with_dynamics(inside: str) -> str:
    """A ring whose closing joint has some dynamics."""
    dynamics = f"<child>a</child><axis><dynamics>{inside}</dynamics></axis>"
    return square().replace("<child>a</child><axis/>", dynamics)


def test_what_a_loop_cannot_have_is_said() -> None:
    rough = with_dynamics("<friction>1</friction>")
    with pytest.warns(ModelWarning, match='<joint name="da">: it closes a loop, and such a joint has no friction'):
        assert parse_sdf(rough).loops[0].joint.friction == 0.0
    with pytest.raises(FileError, match=r"strict=True"):
        parse_sdf(rough, strict=True)
    welded = square().replace('type="revolute"', 'type="fixed"')
    with pytest.warns(ModelWarning, match="both of its links are one body already"):
        assert parse_sdf(welded).loops == ()


def test_springs_and_dampers_of_a_loop_are_kept() -> None:
    springy = "<damping>1</damping><spring_stiffness>3</spring_stiffness><spring_reference>0.5</spring_reference>"
    joint = parse_sdf(with_dynamics(springy), strict=True).loops[0].joint
    assert (joint.damping, joint.stiffness, joint.rest) == (1.0, 3.0, 0.5)


def test_a_link_without_inertia_has_that_of_sdf() -> None:
    with pytest.warns(ModelWarning, match='<link name="a">: <inertial> is missing; SDF means 1 kg'):
        assert parse_sdf(sdf(link("a", ""))).mass == 1.0
    with pytest.warns(ModelWarning, match="no <link> elements"):
        assert parse_sdf(sdf()).n == 0


def test_parts_of_an_inertia_that_are_missing_are_those_of_sdf() -> None:
    with pytest.warns(ModelWarning, match='<inertial> in <link name="a">: <mass> is missing; SDF means 1 kg'):
        assert parse_sdf(sdf(link("a", INERTIAL.replace("<mass>2</mass>", "")))).mass == 1.0
    with pytest.warns(ModelWarning, match="<inertia> is missing; SDF means 1 kg m²"):
        model = parse_sdf(sdf(link("a", "<inertial><pose>1 0 0 0 0 0</pose><mass>3</mass></inertial>")))
    M = km.crba(model, km.Data(model), km.neutral(model))
    assert np.allclose(np.diag(M), [1.0, 4.0, 4.0, 3.0, 3.0, 3.0])  # about the link's origin, a metre away
    with pytest.warns(ModelWarning, match="<fluid_added_mass> in .*: it is left out"):
        parse_sdf(sdf(link("a", INERTIAL.replace("<mass>", "<fluid_added_mass/><mass>"))))


BAD = [
    ("<robot/>", "<robot>: this is not an SDF file: its outermost element must be <sdf>"),
    ('<sdf version="1.3"><model name="m"/></sdf>', '<sdf>: version="1.3": versions from 1.4 on are read'),
    (sdf(link("a", INERTIAL.replace("<inertial", '<inertial auto="true"'))), 'auto="true": inertias are not made'),
    ("<sdf><model name='m'/></sdf>", "<sdf>: the attribute 'version' is missing"),
    ('<sdf version="1.6"/>', "it holds 0 models; expected one"),
    ('<sdf version="1.6"><model name="a"/><model name="b"/></sdf>', "it holds 2 models; expected one"),
    (sdf("<include><uri>model://x</uri></include>"), "<include> in <model"),
    (sdf('<model name="inner"/>'), "models inside or from other files are not read"),
    (sdf(link("a"), attributes='placement_frame="a"'), "'placement_frame' is not read"),
    (sdf(link("a"), link("a")), '<link name="a">: there is already a link of this name in line 1'),
    (sdf(link("world")), '<link name="world">: SDF has taken this name'),
    (chain().replace("<mass>2<", "<mass>heavy<", 1), '<mass> in <link name="a">: "heavy": "heavy" is not a number'),
    (chain().replace("<mass>2<", "<mass>nan<", 1), '"nan": nan is not finite'),
    (chain().replace("<mass>2<", "<mass><", 1), '<mass> in <link name="a">: it is empty'),
    (chain().replace("<mass>2<", "<mass>-2<", 1), '"-2": a mass cannot be negative'),
    (chain().replace("<iyy>1<", "<iyy>-1<", 1), '<iyy> in <link name="a">: "-1": a moment of inertia cannot be'),
    (chain().replace("<iyy>1</iyy>", "", 1), '<inertia> in <link name="a">: <iyy> is missing'),
    (chain("hinge"), '<joint name="j">: type="hinge": this type is not read; use one of revolute'),
    (chain().replace("<parent>a<", "<parent>x<"), '<parent> in <joint name="j">: "x": there is no link of this name'),
    (chain().replace("<child>b<", "<child>a<"), 'both of its ends are "a"'),
    (chain(inside=""), '<joint name="j">: <axis> is missing'),
    (chain(inside="<axis><xyz>0 0 0</xyz></axis>"), '<xyz> in <joint name="j">: "0 0 0": this vector has no direction'),
    (chain(inside="<axis><xyz>1,0 0</xyz></axis>"), '"1,0 0": expected 3 numbers with spaces between them'),
    (chain(inside='<axis><xyz expressed_in="x">1 0 0</xyz></axis>'), '"x": there is no link, joint or frame'),
    (chain(inside="<axis><limit><lower>2</lower><upper>1</upper></limit></axis>"), "lower 2 is above upper 1; swap"),
    (chain(inside="<axis><limit><lower>nan</lower></limit></axis>"), '"nan": nan is not finite'),
    (chain(inside="<axis><dynamics><damping>-1</damping></dynamics></axis>"), '"-1": it cannot be negative'),
    (chain("screw", "<axis/><thread_pitch>0</thread_pitch>"), "a screw that never turns"),
    (chain("universal", "<axis/>"), "<axis2> is missing"),
    (chain("universal", "<axis/><axis2/>"), '<joint name="j">: universal joint \'j\': its axes'),
    (square(joint("pin", "world", "c", "universal", "<axis/><axis2/>")), "universal joint 'pin': its axes"),
    (sdf(link("a", "<pose>0 0 0</pose>" + INERTIAL)), '<pose> in <link name="a">: "0 0 0": expected 6 numbers'),
    (sdf(link("a", '<pose degrees="x">0 0 0 0 0 0</pose>' + INERTIAL)), 'degrees="x": write true or false'),
    (sdf(link("a", '<pose rotation_format="m">0 0 0 0 0 0</pose>' + INERTIAL)), "use euler_rpy or quat_xyzw"),
    (
        sdf(link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>' + INERTIAL)),
        "the quaternion is zero",
    ),
    (
        sdf(*(link(x, f'<pose relative_to="{y}">0 0 0 0 0 0</pose>{INERTIAL}') for x, y in ("ab", "ba"))),
        "is where it is relative to itself; break the circle",
    ),
    (sdf('<pose relative_to="a">0 0 0 0 0 0</pose>', link("a")), "a model stands in the world"),
    (sdf("<static>maybe</static>", link("a")), '<static> in <model name="test">: "maybe": write true or false'),
    (sdf(link("a", INERTIAL + "<visual name='v'><geometry/></visual>")), "it holds 0 shapes; expected one"),
    (
        sdf(link("a", INERTIAL + "<visual name='v'><geometry><box><size>1 0 1</size></box></geometry></visual>")),
        "size (1.0, 0.0, 1.0) must be positive",
    ),
    (
        sdf(link("a", INERTIAL + "<visual name='v'><geometry><mesh><uri>model://../../etc/x</uri></mesh></geometry></visual>")),
        '"model://../../etc/x": this is outside the folders',
    ),
    ("<!DOCTYPE sdf><sdf/>", "document types and entities are refused"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "complaint"), BAD, ids=range(len(BAD)))
def test_bad_text_is_refused_in_one_sentence(text: str, complaint: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_sdf(text)
    message = str(caught.value)
    assert message.startswith("SDF text:1: ")
    assert complaint in message
    assert "\n" not in message


def test_a_preferred_joint_must_exist() -> None:
    with pytest.raises(FileError, match='prefer: there is no joint "x"'):
        parse_sdf(square(), prefer=["x"])


@settings(max_examples=300)
@given(st.data())
def test_damaged_text_loads_or_is_refused(data: st.DataObject) -> None:
    good = square('<frame name="f" attached_to="ab"><pose relative_to="c">0 0 0 0 0 1</pose></frame>')
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good)))
        cut = data.draw(st.integers(0, 30))
        new = data.draw(st.sampled_from(["", "<", "a", "world", "nan", "-", "9" * 20, '"', "</pose>", "<joint>"]))
        good = good[:at] + new + good[at + cut :]
    message = "SDF text"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            parse_sdf(good)
        except FileError as error:
            message = str(error)
    assert message.startswith("SDF text")


needs_robots = pytest.mark.skipif(folder() is None, reason="example-robot-data is not installed")


@needs_robots
def test_cassie() -> None:
    model = cassie()
    assert (model.n, model.nv, len(model.loops)) == (23, 28, 4)
    assert set(model.loop_names) == {
        f"{s}-{j}" for s in ("left", "right") for j in ("pitch-rod-joint", "plantar-foot-joint")
    }
    assert model.mass == pytest.approx(32.94, abs=1e-2)
    stiff = {model.joint_names[d["link"]]: d["stiffness"] for d in model.dofs if d["stiffness"]}
    assert stiff == {
        f"{s}-{j}": k for s in ("left", "right") for j, k in (("knee-shin-joint", 1500), ("tarsus-spring-joint", 1250))
    }
    data = km.Data(model)
    km.kinematics(model, data, km.neutral(model))
    # as the file places them
    np.testing.assert_allclose(km.pose_of(model, data, "pelvis").position, [0, 0, 1.01], atol=1e-15)
    np.testing.assert_allclose(km.pose_of(model, data, "left-achilles-rod").position, [-0.049, 0.09, 0.92], atol=1e-14)
    np.testing.assert_allclose(km.pose_of(model, data, "right-foot").position[:2], [-0.29886, -0.1305], atol=1e-4)
    np.testing.assert_allclose(km.loop_errors(model, km.Data(model), km.neutral(model)), 0.0, atol=1e-14)
    assert all(shape.path.is_file() for shapes in model.shapes for shape in shapes if shape.path)


@needs_robots
@pytest.mark.parametrize("name", ["cassie_reduced", "cassie_simple", "cassie_wo_gearbox_spring"])
def test_other_files_of_cassie_close_too(name: str) -> None:
    root = folder()
    assert root is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = load_sdf(root / "cassie_description" / "robots" / f"{name}.sdf")
    assert model.m > 0
    np.testing.assert_allclose(km.loop_errors(model, km.Data(model), km.neutral(model)), 0.0, atol=1e-14)
