"""BVH files: what is read, round trips, and what is refused with which words."""

import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.mocap_files import recording

import kinemorph as km
from kinemorph.io.motion.bvh import BvhJoint, format_bvh, parse_bvh

SMALL = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Left Leg
  {
    OFFSET 1 -2 0.5
    CHANNELS 3 Yrotation Zrotation Xrotation
    End Site
    {
      OFFSET 0 -3 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.008333
1 90 2 10 20 30 40 50 60
1.5 91 2 11 21 31 41 51 61
"""
REAL = ("01_01.bvh", "01_03.bvh", "Boxing_Toes.bvh")


def test_skeleton_channels_and_frames_are_as_written():
    bvh = parse_bvh(SMALL)
    assert bvh.names == ("Hips", "Left Leg")
    assert bvh.parents == (-1, 0)
    assert bvh.joints[1] == BvhJoint(
        "Left Leg", 0, (1.0, -2.0, 0.5), ("Yrotation", "Zrotation", "Xrotation"), ((0.0, -3.0, 0.0),)
    )
    assert bvh.frames.shape == (2, 9)
    assert bvh.columns(1) == slice(6, 9)
    assert bvh.dt == 0.008333
    assert np.allclose(bvh.t, [0.0, 0.008333])


def test_rotations_apply_in_the_order_of_the_channels():
    rotations, positions = parse_bvh(SMALL).world()
    hips = Rotation.from_euler("ZXY", [10, 20, 30], degrees=True)
    leg = hips * Rotation.from_euler("YZX", [40, 50, 60], degrees=True)
    assert np.allclose(Rotation.from_quat(rotations[0, 1], scalar_first=True).as_matrix(), leg.as_matrix())
    assert np.allclose(positions[0, 1], [1, 90, 2] + hips.apply([1, -2, 0.5]))


def test_text_may_have_other_line_ends_letters_and_braces():
    text = SMALL.replace("Hips\n{", "Hips {").replace("CHANNELS", "channels").replace("\n", "\r\n")
    assert parse_bvh(text).joints == parse_bvh(SMALL).joints
    assert np.array_equal(parse_bvh("\ufeff" + text).frames, parse_bvh(SMALL).frames)


@pytest.mark.parametrize("colon", [":", " : ", "\t:\t", ": ", "  "])
def test_a_colon_needs_no_space(colon):
    text = re.sub(r"(Frames|Frame Time):\s*", rf"\1{colon}", SMALL)
    assert np.array_equal(parse_bvh(text).frames, parse_bvh(SMALL).frames)


@pytest.mark.parametrize("name", REAL)
def test_real_files_survive_the_round_trip(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", km.ModelWarning)
        bvh = km.load_bvh(recording(name))
    km.save_bvh(bvh, tmp_path / name)
    again = km.load_bvh(tmp_path / name)
    assert again.joints == bvh.joints
    assert again.dt == pytest.approx(bvh.dt, rel=1e-9)
    assert np.abs(again.frames - bvh.frames).max() < 1e-6


@settings(max_examples=30)
@given(st.data())
def test_random_skeletons_survive_the_round_trip(data):
    number = st.floats(-1e3, 1e3)
    triple = st.tuples(number, number, number)
    orders = st.permutations(["Xrotation", "Yrotation", "Zrotation", "Xposition", "Yposition"])
    joints = [BvhJoint("root", -1, data.draw(triple), tuple(data.draw(orders)))]
    for k in range(data.draw(st.integers(0, 6))):
        chain = [k]  # depth first, as a file has them
        while chain[-1] > 0:
            chain.append(joints[chain[-1]].parent)
        channels = tuple(data.draw(orders)[: data.draw(st.integers(0, 4))])
        ends = tuple(data.draw(st.lists(triple, max_size=2)))
        joints.append(BvhJoint(f"joint {k}", data.draw(st.sampled_from(chain)), data.draw(triple), channels, ends))
    width = sum(len(joint.channels) for joint in joints)
    frames = np.array(data.draw(st.lists(st.lists(number, min_size=width, max_size=width), max_size=3)))
    bvh = km.Bvh(tuple(joints), frames.reshape(-1, width), data.draw(st.floats(1e-4, 1.0)))
    again = parse_bvh(format_bvh(bvh))
    assert again.names == bvh.names
    assert again.parents == bvh.parents
    for mine, other in zip(again.joints, bvh.joints, strict=True):
        assert mine.channels == other.channels
        assert np.allclose(mine.offset, other.offset, atol=1e-8)
        assert np.allclose(np.array(mine.ends), np.array(other.ends), atol=1e-8)
    assert np.allclose(again.frames, bvh.frames, atol=1e-8)


def test_a_wrong_number_of_frames_is_a_warning_and_all_are_taken():
    with pytest.warns(km.ModelWarning, match=r"line 17: 3 frames are declared, and 2 are there"):
        assert len(parse_bvh(SMALL.replace("Frames: 2", "Frames: 3")).frames) == 2
    with pytest.raises(km.FileError, match="refused because strict=True"):
        parse_bvh(SMALL.replace("Frames: 2", "Frames: 1"), strict=True)


def test_the_boxer_holds_one_frame_more_than_it_declares():
    with pytest.warns(km.ModelWarning, match=r"Boxing_Toes.bvh, line 128: 3069 frames are declared, and 3070 are"):
        assert len(km.load_bvh(recording("Boxing_Toes.bvh")).frames) == 3070


BAD = {
    "empty": ("", "", 1, "the file ends here; expected HIERARCHY"),
    "another format": ("HIERARCHY", "o cube", 1, "this is not a BVH file"),
    "no root": ("ROOT", "JOINT", 2, "expected ROOT and a name"),
    "no name": ("ROOT Hips", "ROOT", 2, "ROOT needs a name"),
    "two names": ("JOINT Left Leg", "JOINT Hips", 6, '"Hips": there is already a joint of this name'),
    "two numbers": ("OFFSET 1 -2 0.5", "OFFSET 1 -2", 8, "OFFSET needs 3 numbers, here are 2"),
    "word": ("OFFSET 1 -2 0.5", "OFFSET 1 -2 half", 8, '"half" is not a number'),
    "infinite": ("OFFSET 1 -2 0.5", "OFFSET 1 -2 inf", 8, '"inf" is not a number that makes sense'),
    "underscore": ("OFFSET 1 -2 0.5", "OFFSET 1 -2 1_0", 8, '"1_0" is not a number that makes sense'),
    "channel": ("Yrotation Zrotation Xr", "Yrotation Wrotation Xr", 9, 'there is no channel "Wrotation"'),
    "twice": ("Yrotation Zrotation Xr", "Yrotation Yrotation Xr", 9, "the channel Yrotation is there twice"),
    "count": ("CHANNELS 3", "CHANNELS 2", 9, 'CHANNELS says "2" and names 3'),
    "no count": ("CHANNELS 3 Yrotation Zrotation Xrotation", "CHANNELS", 9, "says no number and names 0"),
    "stray": ("End Site", "Ent Site", 10, '"Ent Site" does not belong here'),
    "unclosed": ("  }\n}\nMOTION", "MOTION", 13, "the file ends here; expected JOINT, End Site or }"),
    "second root": ("}\nMOTION", "}\nROOT b\nMOTION", 16, "a second ROOT: a file holds one skeleton"),
    "no motion": ("MOTION", "", 17, 'after the skeleton comes MOTION, not "Frames: 2"'),
    "cut off": (SMALL[SMALL.index("MOTION") :], "", 15, "the file ends here; expected MOTION"),
    "no frames": ("Frames: 2\n", "", 17, "after MOTION come the lines"),
    "frames": ("Frames: 2", "Frames: -2", 17, '"-2" is not a number of frames'),
    "many frames": ("Frames: 2", "Frames: " + "9" * 400, 17, "is not a number of frames"),
    "time": ("0.008333", "0", 18, '"0" must be positive'),
    "nan time": ("0.008333", "nan", 18, '"nan" is not a number that makes sense'),
    "short frame": ("1.5 91 2 11", "1.5 91 2", 20, "a frame has 8 numbers; the skeleton has 9 channels"),
    "bad frame": ("1.5 91 2 11", "1.5 x 2 11", 20, 'number 2 of a frame: "x" is not a number'),
    "nan frame": ("1.5 91 2 11", "1.5 nan 2 11", 20, 'number 2 of a frame: "nan" is not a number that makes'),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_refused_in_one_sentence(name, tmp_path):
    old, new, line, words = BAD[name]
    file = tmp_path / f"{name}.bvh"
    file.write_text(SMALL.replace(old, new, 1) if old else "")
    with pytest.raises(km.FileError) as error:
        km.load_bvh(file)
    message = str(error.value)
    assert message.startswith(f"{file}, line {line}: ")
    assert words in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(file))


def test_deep_skeletons_are_read_and_large_ones_refused():
    head = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 0\n"
    joint = "JOINT j{} {{\nOFFSET 0 0 0\nCHANNELS 0\n"
    deep = head + "".join(joint.format(k) for k in range(1500)) + "}\n" * 1501 + "MOTION\nFrames: 0\nFrame Time: 1\n"
    assert len(parse_bvh(deep).joints) == 1501
    wide = head + "".join(joint.format(k) for k in range(3000))
    with pytest.raises(km.FileError, match="there are more than 2000 joints"):
        parse_bvh(wide)


@settings(max_examples=300)
@given(st.data())
def test_mutated_files_are_read_or_refused(data):
    content = bytearray(SMALL.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        what = data.draw(st.sampled_from(["flip", "cut", "insert", "repeat"]))
        if what == "flip":
            content[at] = data.draw(st.integers(0, 255))
        elif what == "cut":
            del content[at : at + data.draw(st.integers(1, 40))]
        elif what == "insert":
            content[at:at] = data.draw(st.sampled_from([b"{", b"}", b"\n", b" 1e9 ", b"JOINT x", b"nan", b"\x00"]))
        else:
            content[at:at] = content[at : at + 60]
        content = content or bytearray(b" ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", km.ModelWarning)
        try:
            bvh = parse_bvh(bytes(content))
        except km.FileError:
            return
    assert np.isfinite(bvh.frames).all()
    assert all(math.isfinite(x) for joint in bvh.joints for x in joint.offset)


def test_frames_must_fit_the_skeleton():
    with pytest.raises(ValueError, match=r"frames have shape \(2, 3\), expected \(frames, 9\)"):
        km.Bvh(parse_bvh(SMALL).joints, np.zeros((2, 3)), 0.01)
    with pytest.raises(KeyError, match="has no joint 'Head'; it has Hips, Left Leg"):
        parse_bvh(SMALL).joint("Head")


def test_lines_may_end_as_on_any_machine():
    text = km.mocap.walk_file().read_bytes().replace(b"\r\n", b"\n")
    plain, *others = (km.parse_bvh(text.replace(b"\n", end)) for end in (b"\n", b"\r\n", b"\r"))
    for other in others:
        assert other.joints == plain.joints
        assert np.array_equal(other.frames, plain.frames)


def test_frames_take_some_time():
    text = km.mocap.walk_file().read_text().replace("Frame Time: 0.01", "Frame Time: 1e-320")
    with pytest.raises(km.FileError, match=r'Frame Time: "1e-320" must be positive, and no less than 1e-06 s'):
        km.parse_bvh(text)
