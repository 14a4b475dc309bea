"""Tables of anthropometry: they add up, agree with themselves, and no inertia is impossible."""

import numpy as np
import pytest

from kinemorph.mocap.body.anthropometry import LANDMARKS, LIMBS, TABLES, table_of
from kinemorph.mocap.body.figure import upright
from kinemorph.mocap.body.inertias import Bone, inertias, solid

DE_LEVA = [table for (name, _), table in TABLES.items() if name == "de Leva"]
EVERY = pytest.mark.parametrize("table", TABLES.values(), ids=[" ".join(key) for key in TABLES])


@EVERY
def test_masses_add_up(table):
    assert table.total() == pytest.approx(1.0, abs=2.5e-3 if table.name == "Dumas" else 2e-4)  # as they are rounded
    assert sum(table.share(s) * (2 if s in LIMBS else 1) for s in table.segments) == pytest.approx(1.0, rel=1e-12)


@EVERY
def test_every_row_names_two_landmarks_and_a_source(table):
    assert len(table.source) > 40
    for row in table.segments.values():
        assert row.start in LANDMARKS
        assert row.end in LANDMARKS
        assert row.start != row.end


@EVERY
def test_inertias_are_physical(table):
    for row in table.segments.values():
        solid(row, 1.0, np.zeros(3), np.array([0.0, 0.0, -0.3]))  # raises if no body has it
        assert 0.0 < row.centre < 1.0


@pytest.mark.parametrize("table", DE_LEVA, ids=lambda table: table.sex)
def test_centres_count_from_the_end_that_is_named(table):
    """The classic error swaps the ends: a limb is heavier at its upper end, the head is about in the middle."""
    for limb in ("forearm", "thigh", "shank", "foot"):
        assert table.segments[limb].centre < 0.5
    assert table.segments["upper arm"].centre > 0.5  # with joint centres as ends, as de Leva says
    rows = [table.segments[name] for name in ("upper trunk", "middle trunk", "lower trunk")]
    starts = np.cumsum([0.0, *(row.length for row in rows)])
    centre = sum(r.mass * (s + r.centre * r.length) for r, s in zip(rows, starts, strict=False)) / sum(
        r.mass for r in rows
    )
    printed = {"male": 0.5138, "female": 0.4964}[table.sex]  # of the whole trunk, from CERV to MIDH
    assert centre / starts[-1] == pytest.approx(printed, abs=0.01)


def test_bodies_have_the_moments_of_textbooks():
    """A man who stands: about 12 kg m² about axes across, 1 to 1.5 about the vertical, his middle at 0.56 height."""
    height, mass = 1.75, 73.0
    for name in ("de Leva", "Winter", "Dumas"):
        bones = upright(height)
        places = {}
        for bone, b in bones.items():
            places[bone] = b.at + (places[b.parent] if b.parent else np.array([0.0, 0.0, 0.53 * height]))
        whole = None
        for bone, inertia in inertias(bones, table_of(name), mass, height).items():
            here = inertia.moved(_shift(places[bone]))
            whole = here if whole is None else whole + here
        assert whole.mass == pytest.approx(mass, rel=1e-12)
        assert 0.53 < whole.com[2] / height < 0.60
        assert 10.0 < whole.matrix[0, 0] < 15.0
        assert 9.0 < whole.matrix[1, 1] < 14.0
        assert 0.7 < whole.matrix[2, 2] < 2.0


@EVERY
def test_bones_that_are_there_or_not_share_the_same_mass(table):
    """A skeleton may have an abdomen, and may lack clavicles and hands: the body is as heavy."""
    bones = upright(1.7)
    more = dict(bones)
    more["abdomen"] = Bone("pelvis", np.array([0.0, 0.0, 0.1]), np.array([0.0, 0.0, 0.12]))
    more["chest"] = Bone("abdomen", np.array([0.0, 0.0, 0.12]), bones["chest"].end)
    fewer = {name: bone for name, bone in bones.items() if not name.endswith(("clavicle", "hand"))}
    for these in (bones, more, fewer):
        found = inertias(these, table, 60.0, 1.7)
        assert set(found) == set(these)
        assert sum(inertia.mass for inertia in found.values()) == pytest.approx(60.0, rel=1e-12)
        assert all(not inertia.fault() for inertia in found.values())
    assert (
        inertias(fewer, table, 60.0, 1.7)["left forearm"].mass > inertias(bones, table, 60.0, 1.7)["left forearm"].mass
    )


def _shift(position):
    from kinemorph.spatial.pose import Pose

    return Pose(position)


@EVERY
def test_bodies_are_the_same_on_both_sides(table):
    found = inertias(upright(1.7), table, 60.0, 1.7)
    mirror = np.diag([1.0, -1.0, 1.0])
    for limb in LIMBS:
        left, right = found[f"left {limb}"], found[f"right {limb}"]
        assert np.allclose(mirror @ left.com, right.com)
        assert np.allclose(mirror @ left.matrix @ mirror, right.matrix)


def test_dumas_puts_centres_beside_the_bones():
    """The calf is behind the line from knee to ankle, and the thigh's mass behind and outside of its own."""
    found = inertias(upright(1.77), table_of("Dumas"), 80.5, 1.77)
    thigh, shank = found["right thigh"], found["right shank"]
    length = 0.245 * 1.77
    assert np.allclose(thigh.com, [-0.041 * length, -0.033 * length, -0.429 * length])
    assert shank.com[0] < 0.0
    share = 80.5 * table_of("Dumas").share("thigh") * length**2
    entries = share * np.array([[0.29**2, 0.02**2, 0.07**2], [0.02**2, 0.30**2, 0.07**2], [0.07**2, 0.07**2, 0.15**2]])
    assert np.allclose(thigh.matrix, entries)
    foot = found["left foot"]
    assert foot.com[0] > 0.4 * 0.076 * 1.77  # in front of the ankle


@pytest.mark.parametrize("name", ["de Leva", "Winter", "Dumas"])
def test_every_table_fits_a_pelvis_whose_root_is_its_waist(name):
    """As in CMU's files: the abdomen hangs on the very joint that the pelvis has, and the hips are below it."""
    bones = {part: Bone(b.parent, b.at - [0.0, 0.0, 0.1 if "thigh" in part else 0.0], b.end)
             for part, b in upright(1.7).items()}  # fmt: skip
    bones["abdomen"] = Bone("pelvis", np.zeros(3), np.array([0.0, 0.0, 0.12]))
    bones["chest"] = Bone("abdomen", np.array([0.0, 0.0, 0.12]), bones["chest"].end)
    found = inertias(bones, table_of(name), 60.0, 1.7)
    assert found["pelvis"].com[2] < 0.0
    assert all(not inertia.fault() for inertia in found.values())


def test_unknown_tables_are_refused_by_name():
    with pytest.raises(ValueError, match=r"there is no table 'Clauser' for sex 'male'; there are 'de Leva' \(male\)"):
        table_of("Clauser")
    with pytest.raises(ValueError, match="for sex 'other'"):
        table_of("de Leva", "other")
