"""MJCF files that are wrong, or want what is not there: one sentence that names file, line, element and value."""

import warnings

import mujoco
import pytest

import kinemorph as km

HEAD = '<mujoco>\n<worldbody>\n<body name="b">\n<joint name="j"/>\n<geom name="g" size="0.1"/>\n'
TAIL = "\n</body>\n</worldbody>\n</mujoco>"


def said(text: str, **more: object) -> str:
    with pytest.raises(km.FileError) as found:
        km.parse_mjcf(text, source="bad.xml", **more)
    sentence = str(found.value)
    assert sentence.startswith("bad.xml:")
    assert "\n" not in sentence
    return sentence


IN_BODY = {
    '<geom size="0"/>': "bad.xml:6: <geom> in <body name=\"b\">: size=\"0\": a sphere needs 1 positive number",
    '<geom type="capsule" size="1e-320 1"/>': "too small to be weighed",
    '<geom size="1e-300" mass="1e30"/>': "too small or too large to be weighed",
    '<geom size="a"/>': '"a" is not a number',
    '<geom size="1" colour="red"/>': "there is no attribute 'colour' here",
    '<geom type="cube" size="1"/>': 'type="cube": expected plane or',
    '<geom type="mesh"/>': "the attribute 'mesh' is missing",
    '<geom type="mesh" mesh="m"/>': 'mesh="m": there is no mesh of this name',
    '<geom name="g" size="1"/>': "there is already a geom of this name in line 5",
    '<geom size="1" density="-1"/>': 'density="-1" cannot be negative',
    '<geom size="1" condim="2"/>': "directions 2 must be 1, 3, 4 or 6",
    '<geom size="1" class="c"/>': 'class="c": there is no such class',
    '<geom size="1" euler="1 2 3" zaxis="1 0 0"/>': "zaxis and euler both say how it is turned",
    '<geom size="1" contype="0.5"/>': "expected a whole number",
    '<geom type="capsule" fromto="0 0 0 0 0 0" size="1"/>': "this vector has no direction",
    '<joint name="k" axis="0 0 0"/>': 'axis="0 0 0": this vector has no direction',
    '<joint name="k" range="2 1"/>': 'range="2 1": expected the lower end first',
    '<joint name="k" damping="-1"/>': 'damping="-1" cannot be negative',
    '<joint name="k" type="bolt"/>': 'type="bolt": expected hinge or slide or ball or free',
    '<joint type="slide"/>' * 6: "a body has six joints at most",
    '<joint name="k" type="ball"/><joint name="l"/>': "after a ball a body does not turn in another joint",
    '<joint name="k" type="ball"/><joint name="l" type="ball"/>': "after a ball a body does not turn in another joint",
    "<freejoint/>": "a body that is free has no other joint",
    '<body name="c"><freejoint/></body>': "only what hangs on the world is free",
    '<body name="b"/>': "there is already a body of this name",
    '<inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/>': "a mass cannot be negative",
    '<inertial mass="1" diaginertia="1 1 1"/>': "the attribute 'pos' is missing",
    '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"/>': "both fullinertia and",
    '<site name="s" quat="0 0 0 0"/>': "this vector has no direction",
    '<geom type="plane" size="1 1 1"/>': "a plane cannot move",
    "<wheel/>": "there is no such element in a body",
    '<frame scale="2"/>': "frames that scale",
    '<replicate count="-1"/>': 'count="-1": expected 1 to',
    '<replicate count="90000"><replicate count="200000"/></replicate>': "more than 200000",
    '<replicate count="100000"><replicate count="100000"><geom size="1"/></replicate></replicate>': "more than 200000",
}  # fmt: skip


@pytest.mark.parametrize(("element", "words"), IN_BODY.items(), ids=IN_BODY.keys())
def test_mistake_in_a_body_is_named(element, words):
    assert words in said(HEAD + element + TAIL)


AFTER = {
    '<equality><connect body1="x" anchor="0 0 0"/></equality>': 'body1="x": there is no body of this name',
    '<equality><connect body1="b" body2="b" anchor="0 0 0"/></equality>': "both of its sides are one body",
    '<equality><weld site1="s" site2="t"/></equality>': 'site1="s": there is no site of this name',
    '<equality><joint joint1="x"/></equality>': 'joint1="x": there is no joint of this name',
    '<actuator><motor joint="x"/></actuator>': 'joint="x": there is no joint of this name',
    '<actuator><motor name="a" joint="j"/><motor name="a" joint="j"/></actuator>': "already an actuator of this name",
    '<actuator><motor joint="j" ctrlrange="1 -1"/></actuator>': 'ctrlrange="1 -1": expected the lower end first',
    '<actuator><position joint="j" kv="1" dampratio="1"/></actuator>': "both kv and dampratio",
    '<contact><exclude body1="b" body2="x"/></contact>': 'body2="x": there is no body of this name',
    '<contact><pair geom1="g" geom2="x"/></contact>': 'geom2="x": there is no geom of this name',
    '<keyframe><key qpos="1 2"/></keyframe>': "qpos has 2 numbers; the model has 1",
    '<keyframe><key name="a"/><key name="a"/></keyframe>': "there is already a key of this name",
    '<compiler angle="turns"/>': 'angle="turns": expected degree or radian',
    '<compiler eulerseq="abc"/>': "expected three of x, y, z, X, Y, Z",
    '<compiler coordinate="global"/>': "use local coordinates",
    "<default><default/></default>": "the attribute 'class' is missing",
    '<default><default class="a"/><default class="a"/></default>': "there is already a class",
    "<default>" + "".join(f'<default class="{i}">' for i in range(60)) + "</default>" * 61: "classes lie in each other",
    "<default><wheel/></default>": "there are no defaults of this",
    "<wheels/>": "there is no such section",
    '<asset><mesh name="m"/></asset>': "it has neither a file nor vertices",
    '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/></asset>': "there is no hull around the points",
    '<asset><mesh name="m" file="m.ply"/></asset>': "only .stl, .obj and .msh are read",
    '<asset><mesh name="m" file="/etc/passwd.stl"/></asset>': "outside the folders that files may come from",
    '<asset><mesh name="m" file="m.stl" scale="1 0 1"/></asset>': "makes the mesh flat",
    '<include file="nowhere.xml"/>': "nowhere.xml: there is no such file",
}  # fmt: skip


@pytest.mark.parametrize(("section", "words"), AFTER.items(), ids=AFTER.keys())
def test_mistake_elsewhere_is_named(section, words, tmp_path):
    text = (HEAD + TAIL).replace("</mujoco>", section + "</mujoco>")
    assert words in said(text, folder=tmp_path)


UNSUPPORTED = {
    '<tendon><spatial name="t" stiffness="1"><site site="s"/></spatial></tendon>': ("tendon", '<spatial name="t">'),
    '<actuator><muscle name="m" joint="j"/></actuator>': ("actuator", '<muscle name="m">'),
    '<actuator><motor name="m" site="s"/></actuator>': ("actuator", '<motor name="m">'),
    '<actuator><position name="m" joint="j" timeconst="1"/></actuator>': ("actuator", '<position name="m">'),
    '<actuator><motor name="m" tendon="t"/></actuator>': ("tendon", '<motor name="m">'),
    '<equality><tendon tendon1="t"/></equality>': ("equality", "<tendon>"),
    '<equality><joint name="e" joint1="j" joint2="j" polycoef="0 1 2"/></equality>': ("equality", '<joint name="e">'),
    '<extension><plugin plugin="p"/></extension>': ("plugin", "<plugin>"),
    '<deformable><flex name="f"/></deformable>': ("flex", '<flex name="f">'),
    '<option density="1"/>': ("fluid", "<option>"),
    '<worldbody><body name="c" gravcomp="1"/></worldbody>': ("gravcomp", '<body name="c">'),
    '<worldbody><body name="c" mocap="true"/></worldbody>': ("mocap", '<body name="c">'),
    '<worldbody><geom name="h" type="hfield" hfield="x"/></worldbody>': ("hfield", '<geom name="h">'),
    '<worldbody><geom name="h" type="sphere" size="1" adhesion="1"/></worldbody>': ("adhesion", '<geom name="h">'),
    '<worldbody><flexcomp name="f"/></worldbody>': ("flex", '<flexcomp name="f">'),
    '<worldbody><attach model="m" prefix="p"/></worldbody>': ("attach", "<attach>"),
    '<contact><pair geom1="g" geom2="g" friction="1 2"/></contact>': ("pair", "<pair>"),
}  # fmt: skip


@pytest.mark.parametrize(("section", "expected"), UNSUPPORTED.items(), ids=UNSUPPORTED.keys())
def test_what_cannot_be_had_is_refused_or_left_out(section, expected):
    kind, element = expected
    text = (HEAD + TAIL).replace("</mujoco>", section + "</mujoco>")
    sentence = said(text)
    assert element in sentence
    assert sentence.endswith(f'; ignore=("{kind}",) leaves it out')
    with pytest.warns(km.ModelWarning, match="it is left out"):
        model = km.parse_mjcf(text, ignore=(kind,))
    assert model.names == ("b",)


def test_what_is_ignored_must_exist():
    with pytest.raises(ValueError, match="tendons"):
        km.parse_mjcf(HEAD + TAIL, ignore=("tendons",))


def test_tendon_that_does_nothing_is_left_out_with_a_warning():
    tendon = '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
    text = (HEAD + TAIL).replace("</mujoco>", tendon + "</mujoco>")
    with pytest.warns(km.ModelWarning, match="it does nothing by itself"):
        km.parse_mjcf(text)
    assert "strict=True" in said(text, strict=True)


def test_sensors_are_left_out_with_a_warning():
    sensors = '<sensor><jointpos name="p" joint="j"/><jointvel name="v" joint="j"/></sensor>'
    text = (HEAD + TAIL).replace("</mujoco>", sensors + "</mujoco>")
    says = r'<jointpos name="p">: a model has no sensors: it is left out \(the same: <jointvel name="v"> in line'
    with pytest.warns(km.ModelWarning, match=says):
        km.parse_mjcf(text)
    with pytest.warns(km.ModelWarning, match="sensor 'p': a model has no sensors"):
        km.from_mujoco(mujoco.MjModel.from_xml_string(text))


def test_what_only_pictures_show_is_left_out_quietly():
    more = (
        '<visual><map znear="1"/></visual><statistic extent="1"/><size njmax="5"/><asset><texture builtin="flat"/>'
        '<material name="m" rgba="1 0 0 1"/></asset><worldbody><camera/><light/><geom size="1" material="m"/>'
        '</worldbody><custom><text name="a" data="b"/></custom>'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = km.parse_mjcf((HEAD + TAIL).replace("</mujoco>", more + "</mujoco>"))
    assert model.base_shapes[0].colour == (1.0, 0.0, 0.0, 1.0)


def test_spring_by_time_needs_an_inertia():
    slides = '<joint type="slide" springdamper="1 1"/><joint type="slide"/>'
    text = f'<mujoco><worldbody><body name="b">{slides}<geom size="1"/></body></worldbody></mujoco>'
    assert "which needs the inertia at its joint" in said(text)


def test_joint_that_moves_no_mass_warns():
    with pytest.warns(km.ModelWarning, match="it moves no mass"):
        km.parse_mjcf("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>")
