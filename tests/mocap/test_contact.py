"""Contacts: found where feet stand, over any floor, and overruled by a file."""

import numpy as np
import pytest
from tests.mocap.samples import FEET, walk

import kinemorph as km
from kinemorph.mocap.contact import (
    Thresholds,
    apply_hysteresis,
    drop_short_runs,
    find_contacts,
    find_runs,
    read_contacts,
)
from kinemorph.mocap.link_motion import on_link, places_of
from kinemorph.mocap.synthetic_walk import Gait


def test_the_walk_is_left_double_right_double():
    analysis = walk()
    kinds = [phase.kind for phase in analysis.contacts.phases]
    assert "flight" not in kinds
    assert kinds[1:5] == ["left", "double", "right", "double"]
    gait = Gait()
    for side, start in zip(FEET, (gait.stride, 0.5 * gait.stride), strict=True):
        stances = [p for p in find_runs(np.where(analysis.contacts.feet[side], "on", "off")) if p.kind == "on"]
        stance = next(p for p in stances if abs(analysis.t[p.start] - start) < 0.2)
        assert analysis.t[stance.start] == pytest.approx(start, abs=0.06)
        assert analysis.t[stance.end] == pytest.approx(start + gait.stance * gait.stride, abs=0.08)


def test_the_floor_may_be_anywhere_and_slope_a_little():
    analysis = walk()
    places = places_of(analysis.model, analysis.motion, [f"{side} foot" for side in FEET])
    points = {}
    for i, side in enumerate(FEET):
        foot = analysis.body.feet[side]
        ends = on_link(places, i, foot.heel), on_link(places, i, foot.ball)
        points[side] = tuple(end + np.outer(0.7 + 0.02 * end[:, 0], [0.0, 0.0, 1.0]) for end in ends)
    contacts = find_contacts(points, analysis.body.dt)
    assert contacts.slope[0] == pytest.approx(0.02, abs=0.004)
    assert contacts.floor(np.array([[1.0, 0.0, 0.0]]))[0] == pytest.approx(0.72, abs=0.02)
    assert (contacts.kinds == "flight").sum() == 0


def test_hysteresis_keeps_a_contact_that_wavers():
    th = Thresholds()
    height = np.array([0.10, 0.02, 0.03, 0.045, 0.03, 0.06, 0.03, 0.02])
    still = np.zeros(8)
    assert apply_hysteresis(height, still, th).tolist() == [False, True, True, True, True, False, False, True]
    assert apply_hysteresis(np.zeros(3), np.array([0.3, 1.0, 1.3]), th).tolist() == [True, True, False]


def test_short_phases_do_not_count():
    flags = np.array([1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0], dtype=bool)
    assert drop_short_runs(flags, False, 3).tolist() == [True] * 8 + [False] * 4 + [True] + [False] * 3
    assert drop_short_runs(drop_short_runs(flags, False, 3), True, 3).tolist() == [True] * 8 + [False] * 8


def test_a_file_overrules_what_was_found(tmp_path):
    analysis = walk()
    file = tmp_path / "contacts.csv"
    file.write_text("\ufefffoot,start,end\nleft,0.0,2.0\n# the other one\nright, 1.0, 3.0\n")
    contacts = read_contacts(file, analysis.contacts, analysis.t)
    assert [(p.kind, p.start, p.end) for p in contacts.phases] == [
        ("left", 0, 100), ("double", 100, 201), ("right", 201, 301), ("flight", 301, 400),
    ]  # fmt: skip
    again = km.mocap.analyse(analysis.body, contacts=file, motion=analysis.motion, methods=("smooth",))
    assert np.array_equal(again.contacts.feet["left"], contacts.feet["left"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("middle,0,1", "expected a foot (left or right), a start and an end"),
        ("left,0", "expected a foot"),
        ("left,zero,1", "start and end must be seconds"),
        ("left,2,1", "does not end after it starts"),
        ("left,0,inf", "does not end after it starts"),
    ],
)
def test_bad_tables_are_refused_by_line(tmp_path, line, words):
    file = tmp_path / "contacts.csv"
    file.write_text(f"right,0,1\n{line}\n")
    with pytest.raises(km.FileError) as error:
        read_contacts(file, walk().contacts, walk().t)
    assert str(error.value).startswith(f"{file}, line 2: ")
    assert words in str(error.value)
