"""C3D files, written with ezc3d and by us."""

import os

import numpy as np
import pytest

import kinemorph as km


@pytest.fixture
def ezc3d():
    return __import__("ezc3d") if os.environ.get("CI") else pytest.importorskip("ezc3d")


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
    with pytest.raises(km.FileError, match=r"bad.c3d: this is not a C3D file that can be read"):
        km.load_c3d(tmp_path / "bad.c3d")
    with pytest.raises(km.FileError, match="there is no such file"):
        km.load_c3d(tmp_path / "none.c3d")
