"""C3D files, written with ezc3d and by us."""

import numpy as np
import pytest
from tests.needs import library

import kinemorph as km


@pytest.fixture
def ezc3d():
    return library("ezc3d")


@pytest.mark.parametrize(("unit", "metres"), [("mm", 1e-3), ("m", 1.0), ("cm", 1e-2)])
def test_markers_are_read_in_metres(ezc3d, unit, metres, tmp_path, rng):
    points = np.ones((4, 3, 20))
    points[:3] = rng.normal(size=(3, 3, 20)).astype(np.float32)
    points[:3, 1, 4] = np.nan
    content = ezc3d.c3d()
    content["parameters"]["POINT"]["UNITS"]["value"] = [unit]
    content["parameters"]["POINT"]["RATE"]["value"] = [120.0]
    content["parameters"]["POINT"]["LABELS"]["value"] = ["LHEE", "LTOE", "RHEE"]
    content["data"]["points"] = points
    content.write(str(tmp_path / "walk.c3d"))
    markers = km.load_c3d(tmp_path / "walk.c3d")
    assert markers.names == ("LHEE", "LTOE", "RHEE")
    assert markers.rate == 120.0
    assert markers.positions.shape == (20, 3, 3)
    assert markers.t[-1] == pytest.approx(19 / 120)
    assert np.allclose(markers.marker("RHEE"), metres * points[:3, 2].T, rtol=1e-6)
    assert np.isnan(markers.marker("LTOE")[4]).all()
    assert "3 markers, 20 frames at 120 Hz" in repr(markers)
    with pytest.raises(KeyError, match="there is no marker 'NOSE'; there are LHEE"):
        markers.marker("NOSE")


def test_what_is_written_comes_back(ezc3d, tmp_path, rng):
    markers = km.Markers(("a", "b"), rng.normal(size=(7, 2, 3)), 100.0)
    km.save_c3d(markers, tmp_path / "two.c3d")
    again = km.load_c3d(tmp_path / "two.c3d")
    assert again.names == markers.names
    assert np.allclose(again.positions, markers.positions, atol=1e-6)


def test_bad_files_are_refused(ezc3d, tmp_path):
    (tmp_path / "bad.c3d").write_bytes(b"no c3d" * 200)
    with pytest.raises(km.FileError, match=r"bad.c3d: this is not a C3D file"):
        km.load_c3d(tmp_path / "bad.c3d")
    with pytest.raises(km.FileError, match="there is no such file"):
        km.load_c3d(tmp_path / "none.c3d")


def test_files_that_are_cut_off_or_lie_are_refused_before_they_are_read(ezc3d, tmp_path, rng):
    """The library trusts what a file says, and would crash or never return."""
    km.save_c3d(km.Markers(("a", "b"), rng.normal(size=(40, 2, 3)), 100.0), tmp_path / "two.c3d")
    content = (tmp_path / "two.c3d").read_bytes()
    bad = tmp_path / "bad.c3d"
    for length in range(0, len(content) - 512, 97):  # the last block is not full
        bad.write_bytes(content[:length])
        with pytest.raises(km.FileError, match=r"bad\.c3d: "):
            km.load_c3d(bad)
    for place, value, why in (
        (1, 0, "not a C3D file"), (0, 99, "parameters are not where it says"), (2, 3, "tells of 3 points"),
        (16, 200, "are no frames"), (9, 40, "frames of .* bytes are not all there"), (300, 99, "events"),
        (512 + 5, 0x7F, "parameter at byte"), (512 + 2, 200, "blocks of parameters are not all there"),
    ):  # fmt: skip
        changed = bytearray(content)
        changed[place] = value
        bad.write_bytes(changed)
        with pytest.raises(km.FileError, match=why):
            km.load_c3d(bad)


@pytest.mark.parametrize("shape", [(7, 1, 3), (7, 3, 3), (7, 2), (7, 2, 2), (2, 3), ()])
def test_markers_have_as_many_positions_as_names(shape):
    sentence = r"positions have shape .* \(frames, 2, 3\) for 2 names|positions is array\(0\.\), and must be an array"
    with pytest.raises((TypeError, ValueError), match=sentence):
        km.Markers(("a", "b"), np.zeros(shape), 100.0)
