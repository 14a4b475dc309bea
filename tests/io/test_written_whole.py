"""What is written is read back as it was, or refused before a file is touched: names, sizes and numbers of any kind."""

import numpy as np
import pytest

import kinemorph as km

NAMES = [
    "a", "a b", " a", "a ", "", " ", "a,b", 'q"', "a\nb", "a\rb", "a\x0cb", "a\u2028b", "#", "#a", "é", "日本", "a/b",
    ".", "..", "a\0", "a\0b", "\ufeffa", "1.5", "nan", "{", "}", "MOTION", "End Site", "x" * 255, "x" * 256, "é" * 128,
    "\ud800", "'", ";", "a:b",
]  # fmt: skip
KEPT = b"it was there"


def written(save, load, path):
    """What is read back of a file, or None if it was refused, in a sentence and without a trace."""
    path.write_bytes(KEPT)
    refusal = None
    try:
        save(path)
    except (ValueError, TypeError) as error:
        refusal = str(error)
    if refusal is not None:
        assert len(refusal) > 12
        assert "\n" not in refusal
        assert path.read_bytes() == KEPT
        assert not [one for one in path.parent.iterdir() if one != path]
        return None
    return load(path)


def markers(names, frames=2, rate=100.0, at=0.0):
    return km.Markers(tuple(names), np.full((frames, len(names), 3), at), rate)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("others", [0, 1, 3])
def test_names_of_markers(name, others, tmp_path):
    names = (name, *(f"m{k}" for k in range(others)))
    found = written(lambda path: km.save_c3d(markers(names), path), km.load_c3d, tmp_path / "x.c3d")
    assert found is None or found.names == names
    assert (found is None) <= (name in ("a ", " ", "", "a\0", "a\0b", "x" * 256, "é" * 128, "\ud800"))


@pytest.mark.parametrize(
    ("count", "length", "frames", "good"),
    [
        (255, 4, 1, True), (256, 4, 1, False), (1000, 4, 1, False), (255, 127, 1, True), (128, 255, 1, True),
        (129, 255, 1, False), (0, 4, 3, True), (1, 4, 0, False), (2, 4, 65535, True), (2, 4, 65536, False),
    ],
)  # fmt: skip
def test_sizes_of_markers(count, length, frames, good, tmp_path):
    given = markers([f"{k:04}".ljust(length, "x") for k in range(count)], frames)
    found = written(lambda path: km.save_c3d(given, path), km.load_c3d, tmp_path / "x.c3d")
    assert (found is not None) is good
    if found is not None:
        assert found.names == given.names
        assert found.positions.shape == given.positions.shape


@pytest.mark.parametrize("number", [1e-5, 1e6, 1e38, 1e39, 1e308, 1e-300, np.nan, np.inf, -np.inf, 3.3e35])
def test_numbers_of_markers(number, tmp_path):
    for given in (
        *([markers("ab", at=number)]), *([markers("ab", rate=number)] if 0.0 < number < np.inf else []),
    ):  # fmt: skip
        found = written(lambda path, given=given: km.save_c3d(given, path), km.load_c3d, tmp_path / "x.c3d")
        if found is not None:
            np.testing.assert_allclose(found.positions, given.positions, rtol=1e-6, atol=1e-40)
            assert found.rate == pytest.approx(given.rate, rel=1e-6)


@pytest.mark.parametrize("save", ["c3d", "table", "bvh"])
def test_what_cannot_be_written_is_told_of(save, tmp_path):
    """`save_c3d` said nothing."""
    bvh = km.load_bvh(km.mocap.walk_file())
    call = {
        "c3d": lambda path: km.save_c3d(markers("a"), path),
        "table": lambda path: km.save_table(path, {"a": [1.0]}),
        "bvh": lambda path: km.save_bvh(km.Bvh(bvh.joints, bvh.frames[:2], bvh.dt), path),
    }[save]
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path / "none" / "x.csv", tmp_path / "folder.csv"):
        with pytest.raises(OSError, match=r"x\.csv|folder\.csv") as caught:
            call(path)
        assert caught.value.filename == str(path)
    assert [one.name for one in tmp_path.rglob("*")] == ["folder.csv"]


@pytest.mark.parametrize("suffix", ["csv", "h5"])
@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("others", [0, 2])
def test_names_of_columns(name, others, suffix, tmp_path):
    """Also a column of gaps alone, which is lines of nothing."""
    columns = {name: [np.nan, 1.0, np.nan]} | {f"c{k}": [1.0, np.nan, 3.0] for k in range(others)}
    found = written(lambda path: km.save_table(path, columns), km.load_table, tmp_path / f"x.{suffix}")
    assert (found is None) == (name == "\ud800" or (suffix == "h5" and (name in ("", ".", "a/b") or "\0" in name)))
    if found is not None:
        assert set(found) == set(columns)
        for each, values in columns.items():
            np.testing.assert_array_equal(found[each], values)


@pytest.mark.parametrize("suffix", ["csv", "h5"])
@pytest.mark.parametrize("name", ["left/knee", "a,b\nc", '"', "#k"])
def test_trajectories_of_joints_of_any_name(name, suffix, tmp_path):
    b = km.Builder("m")
    b.link("l", None, km.Joint.revolute("y", name=name), inertia=km.Inertia.sphere(1.0, 0.1))
    model = b.build()
    path = km.rollout(model, km.Data(model), [0.1], [0.0], steps=3)
    file = tmp_path / f"x.{suffix}"
    found = written(lambda at: km.save_trajectory(model, path, at), lambda at: km.load_trajectory(model, at), file)
    assert (found is None) is (suffix == "h5" and "/" in name)
    if found is not None:
        np.testing.assert_array_equal(found.q, path.q)


@pytest.mark.parametrize("about", [{"a": object()}, {"": 1.0}, {"a": {"b": 1}}], ids=["object", "no name", "table"])
def test_attributes_that_cannot_be(about, tmp_path):
    found = written(lambda path: km.save_table(path, {"a": [1.0]}, about), km.load_table, tmp_path / "x.h5")
    assert found is None or list(found) == ["a"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("at", [0, 3])
def test_names_of_joints_of_bvh(name, at, tmp_path):
    bvh = km.load_bvh(km.mocap.walk_file())
    joints = list(bvh.joints)
    old = joints[at]
    joints[at] = type(old)(name, old.parent, old.offset, old.channels, old.ends)
    given = km.Bvh(tuple(joints), bvh.frames[:2], bvh.dt, "x")
    found = written(lambda path: km.save_bvh(given, path), km.load_bvh, tmp_path / "x.bvh")
    assert found is None or found.names == given.names


@pytest.mark.parametrize(
    "what", [{"dt": 1e-300}, {"dt": 1e308}, {"at": np.nan}, {"at": 1e308}, {"at": np.inf}], ids=str
)
def test_numbers_of_bvh(what, tmp_path):
    bvh = km.load_bvh(km.mocap.walk_file())
    frames = bvh.frames[:2].copy()
    frames[1, 5] = what.get("at", 0.0)
    given = km.Bvh(bvh.joints, frames, what.get("dt", bvh.dt), "x")
    assert written(lambda path: km.save_bvh(given, path), km.load_bvh, tmp_path / "x.bvh") is None
