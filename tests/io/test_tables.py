"""Tables and trajectories: CSV and HDF5 bring back every number."""

import numpy as np
import pytest
from tests.needs import library

import kinemorph as km


@pytest.mark.parametrize("suffix", ["csv", "h5"])
def test_trajectories_come_back(suffix, tmp_path):
    if suffix == "h5":
        library("h5py")
    model = km.human(limits=False)
    rng = np.random.default_rng(0)
    path = km.rollout(model, km.Data(model), km.neutral(model), rng.normal(size=model.nv), steps=40, every=4)
    file = tmp_path / f"path.{suffix}"
    km.save_trajectory(model, path, file)
    again = km.load_trajectory(model, file)
    for name in ("t", "q", "v"):
        assert np.array_equal(getattr(again, name), getattr(path, name))
    other = km.human(welded=["head"])
    table = km.load_table(file)
    assert "q left shank" in table
    assert "v pelvis.5" in table
    assert len(km.load_trajectory(other, file).q[0]) == other.nq  # by name: a part that is welded is not missed


def test_columns_may_be_texts_and_gaps(tmp_path):
    file = tmp_path / "table.csv"
    km.save_table(
        file, {"time": [0.0, 0.1], 'odd, "name"': [1, 2], "what": ["a", "b,c"], "gap": [np.nan, 2.0]}, {"by": "us"}
    )
    assert file.read_text().startswith("# by: us\n")
    table = km.load_table(file)
    assert set(table) == {"time", 'odd, "name"', "gap"}
    assert np.isnan(table["gap"][0])
    library("h5py")
    km.save_table(tmp_path / "table.h5", {"time": [0.0, 0.1], "what": ["a", "b"]}, {"mass": 3.0})
    assert set(km.load_table(tmp_path / "table.h5")) == {"time"}


def test_tables_of_spreadsheets_are_read(tmp_path):
    """They put a mark before the first name, end lines otherwise, and write in capitals."""
    file = tmp_path / "TABLE.CSV"
    km.save_table(file, {"time": [0.0, 0.1], "x": [1.0, 2.0]})
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert set(km.load_table(file)) == {"time", "x"}


def test_bad_tables_are_refused(tmp_path):
    model = km.human(limits=False)
    (tmp_path / "short.csv").write_text("time,a\n0,1\n1\n")
    with pytest.raises(km.FileError, match=r"short.csv, line 3: 1 cells, and 2 columns"):
        km.load_table(tmp_path / "short.csv")
    (tmp_path / "empty.csv").write_text("# nothing\n")
    with pytest.raises(km.FileError, match="this table is empty"):
        km.load_table(tmp_path / "empty.csv")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    with pytest.raises(km.FileError, match="columns must have different names"):
        km.load_table(tmp_path / "twice.csv")
    (tmp_path / "other.csv").write_text("time\n0\n")
    with pytest.raises(km.FileError, match=r'there is no column "q pelvis.0" of numbers'):
        km.load_trajectory(model, tmp_path / "other.csv")
    (tmp_path / "gap.csv").write_text("time\n\n0\nnan\n")
    with pytest.raises(km.FileError, match='column "time" has a number that is missing'):
        km.load_trajectory(model, tmp_path / "gap.csv")
    with pytest.raises(ValueError, match=r"call it .csv, .h5 or .hdf5"):
        km.save_table(tmp_path / "table.txt", {"a": [1.0]})
    with pytest.raises(ValueError, match="columns must be one-dimensional and of one length"):
        km.save_table(tmp_path / "table.csv", {"a": [1.0], "b": [1.0, 2.0]})
    library("h5py")
    (tmp_path / "bad.h5").write_bytes(b"no")
    with pytest.raises(km.FileError, match="this is not an HDF5 file"):
        km.load_table(tmp_path / "bad.h5")
    with pytest.raises(km.FileError, match="there is no such file"):
        km.load_table(tmp_path / "none.h5")


def test_a_cell_without_end_is_refused(tmp_path):
    (tmp_path / "long.csv").write_text("a,b\n1," + "9" * 200_000 + "\n")
    with pytest.raises(km.FileError, match=r"long\.csv, line 2: field larger than field limit"):
        km.load_table(tmp_path / "long.csv")
