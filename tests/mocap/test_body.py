"""Skeletons become bodies: names, units, axes, lengths and motion."""

import warnings

import numpy as np
import pytest
from tests.mocap.samples import walk
from tests.mocap_files import recording

import kinemorph as km
from kinemorph.io.motion.bvh import BvhJoint
from kinemorph.mocap.body.skeleton import built_in, match


def skeleton(*names: str) -> km.Bvh:
    joints = [BvhJoint(name, k - 1, (0.0, 1.0, 0.0), ("Xrotation",)) for k, name in enumerate(names)]
    return km.Bvh(tuple(joints), np.zeros((1, len(names))), 0.01, "names")


def spelled(table: str) -> list[str]:
    """All joints that a table names, its first choices."""
    found = []
    rows = built_in()[table]
    for part, value in rows.items():
        if part != "sides":
            for one in [value] if isinstance(value, str) else value:
                first = one.split("|")[0]
                found += [first.replace("*", side) for side in rows["sides"]] if "*" in first else [first]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("table", built_in())
def test_each_table_finds_its_own_skeleton(table):
    bvh = skeleton(*spelled(table))
    assert match(bvh).name == table
    assert match(bvh, table).bones["left thigh"].where >= 0


def test_prefixes_case_and_spaces_do_not_count():
    names = [f"mixamorig:{name.lower()}" for name in spelled("mixamo")]
    assert match(skeleton(*names)).name == "mixamo"


def test_own_tables_and_files_of_them(tmp_path):
    names = spelled("cmu")
    renamed = ["Becken" if name == "Hips" else name for name in names]
    with pytest.raises(ValueError, match="it has no joint for pelvis; name its joints in a TOML file"):
        match(skeleton(*renamed))
    own = {**built_in()["cmu"], "pelvis": "Becken"}
    assert match(skeleton(*renamed), own).bones["pelvis"].where == renamed.index("Becken")
    lines = [f'"{key}" = {value!r}'.replace("'", '"') for key, value in own.items()]
    (tmp_path / "names.toml").write_text("[mine]\n" + "\n".join(lines))
    assert match(skeleton(*renamed), tmp_path / "names.toml").name == "mine"
    (tmp_path / "bad.toml").write_text("[mine\n")
    with pytest.raises(km.FileError, match=r"bad.toml: this is not a TOML file"):
        match(skeleton(*names), tmp_path / "bad.toml")
    with pytest.raises(ValueError, match="there is no table 'puppet' of a skeleton; there are mixamo, cmu"):
        match(skeleton(*names), "puppet")
    with pytest.raises(ValueError, match="there is no bone 'tail'"):
        match(skeleton(*names), {**own, "tail": "Tail"})
    with pytest.raises(ValueError, match="foot must be the name of a joint, or two names, not 3"):
        match(skeleton(*names), {**built_in()["cmu"], "foot": 3})


def test_the_walk_becomes_the_figure_that_walked():
    body = walk().body
    assert body.unit == 0.01
    assert body.height == pytest.approx(1.75, abs=1e-3)
    assert body.fit < 1e-5
    figure = km.human(70.0, 1.75)
    for name in ("left thigh", "right foot", "head", "chest"):
        mine, theirs = (m.links[m.link(name)] for m in (body.model, figure))
        assert mine["mass"] == pytest.approx(theirs["mass"], rel=1e-3)
        assert np.allclose(mine["p"], theirs["p"], atol=1e-4)
        assert np.allclose(mine["h"], theirs["h"], atol=2e-3)


@pytest.mark.parametrize("name", ["01_01.bvh", "Boxing_Toes.bvh"])
def test_joints_are_where_they_were_recorded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", km.ModelWarning)
        bvh = km.load_bvh(recording(name))
    body = km.mocap.body_of(bvh, mass=63.0)
    assert body.model.mass == pytest.approx(63.0)
    assert 1.4 < body.height < 2.0
    assert body.fit < 0.01
    _, places = bvh.world()
    skipped = len(bvh.frames) - len(body.q)
    data = km.Data(body.model)
    found = match(bvh)
    worst = 0.0
    for k in range(0, len(body.q), 97):
        km.kinematics(body.model, data, body.q[k])
        for bone in ("left shank", "right foot", "left forearm", "head"):
            x, y, z = body.unit * places[k + skipped, found.bones[bone].where]
            worst = max(worst, float(np.linalg.norm(km.pose_of(body.model, data, bone).position - [z, x, y])))
    assert worst < 0.06  # arms hang on a chest of one piece; legs are exact
    km.kinematics(body.model, data, body.q[0])
    x, y, z = body.unit * places[skipped, found.bones["left foot"].where]
    assert np.allclose(km.pose_of(body.model, data, "left foot").position, [z, x, y], atol=5e-3)


def test_height_and_unit_can_be_given():
    file = km.mocap.walk_file()
    bvh = km.load_bvh(file)
    assert km.mocap.body_of(bvh, height=1.9).height == pytest.approx(1.9)
    assert km.mocap.body_of(bvh, unit=0.0254).height == pytest.approx(1.75 * 2.54, rel=1e-3)
    assert any("centimetres" in note for note in km.mocap.body_of(bvh).notes)
    with pytest.raises(ValueError, match=r"height is -1.0, and must be from"):
        km.mocap.body_of(bvh, height=-1.0)
    with pytest.raises(ValueError, match=r"mass 0.0 must be positive"):
        km.mocap.body_of(bvh, mass=0.0)


def test_skeletons_that_no_body_has_are_refused():
    bvh = km.load_bvh(km.mocap.walk_file())

    def with_offset(name, offset):
        joints = [BvhJoint(j.name, j.parent, offset if j.name == name else j.offset, j.channels) for j in bvh.joints]
        return km.Bvh(tuple(joints), bvh.frames, bvh.dt, "odd")

    with pytest.raises(ValueError, match="left thigh and left shank are in one place: a bone has no length"):
        km.mocap.body_of(with_offset("LeftLeg", (0.0, 0.0, 0.0)))
    with pytest.raises(ValueError, match="left thigh and right thigh are in one place"):
        km.mocap.body_of(with_offset("LeftUpLeg", bvh.joints[bvh.joint("RightUpLeg")].offset))
    with pytest.raises(ValueError, match="its skeleton does not stand upright where no joint is turned"):
        km.mocap.body_of(with_offset("LeftLeg", (0.0, 300.0, 0.0)), up="y")
    with pytest.raises(ValueError, match="up must be 'y' or 'z', not 'x'"):
        km.mocap.body_of(bvh, up="x")
    with pytest.raises(ValueError, match="has no frames"):
        km.mocap.body_of(km.Bvh(bvh.joints, bvh.frames[:0], bvh.dt, "empty"))


def test_few_frames_a_second_are_a_warning():
    bvh = km.load_bvh(km.mocap.walk_file())
    slow = km.Bvh(bvh.joints, bvh.frames[::4], 4 * bvh.dt, "slow")
    with pytest.warns(km.ModelWarning, match="25 frames a second are few"):
        km.mocap.body_of(slow)


def test_a_recording_with_z_up_is_the_same_body():
    bvh = km.load_bvh(km.mocap.walk_file())
    joints = []
    for j in bvh.joints:  # x y z of the file become y z x: as the model's world
        swap = {"X": "Y", "Y": "Z", "Z": "X"}
        channels = tuple(swap[c[0]] + c[1:] for c in j.channels)
        ends = tuple((z, x, y) for x, y, z in j.ends)
        joints.append(BvhJoint(j.name, j.parent, (j.offset[2], j.offset[0], j.offset[1]), channels, ends))
    turned = km.mocap.body_of(km.Bvh(tuple(joints), bvh.frames, bvh.dt, "z up"))
    assert np.allclose(turned.q, walk().body.q, atol=1e-9)
    assert "z is up" in turned.notes[-1]


def test_the_pose_that_converters_put_first_is_left_out():
    body = km.mocap.body_of(km.load_bvh(recording("01_01.bvh")))
    assert len(body.q) == 2751
    assert any("first frame is a pose" in note for note in body.notes)


def test_wrong_arguments_get_a_sentence():
    file = km.mocap.walk_file()
    for arguments, why in (
        ({"mass": float("nan")}, "mass nan must be positive"), ({"height": 1e300}, "height is 1e.300, and must be"),
        ({"mass": "70"}, "mass '70' must be positive"), ({"height": "tall"}, "height is 'tall', and must be from"),
        ({"unit": 1e9}, "the limit is 100 m"), ({"friction": -1.0}, "friction -1.0 must be a number that is not neg"),
        ({"friction": float("nan")}, "friction nan"), ({"cutoff": float("nan")}, "cutoff nan Hz must be positive"),
        ({"cutoff": -2.0}, "cutoff -2 Hz must be positive"), ({"cutoff": "best"}, "cutoff 'best'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=why):
            km.mocap.analyse(file, **arguments)


def test_bones_without_length_are_merged_or_refused():
    """Collarbones that end where they begin belong to the chest; a thigh that does cannot be."""
    from dataclasses import replace

    bvh = km.load_bvh(km.mocap.walk_file())

    def shortened(part: str) -> km.Bvh:
        joints = tuple(replace(j, offset=(0.0, 0.0, 0.0)) if j.name == f"Left{part}" else j for j in bvh.joints)
        return km.Bvh(joints, bvh.frames, bvh.dt, "short")

    whole, merged = (km.mocap.body_of(x) for x in (bvh, shortened("Arm")))
    assert {"left clavicle", "right clavicle"} <= {*whole.model.names}
    assert {*whole.model.names} - {*merged.model.names} == {"left clavicle", "right clavicle"}
    assert merged.model.mass == pytest.approx(whole.model.mass)
    with pytest.raises(ValueError, match="a bone has no length"):
        km.mocap.body_of(shortened("Leg"))
